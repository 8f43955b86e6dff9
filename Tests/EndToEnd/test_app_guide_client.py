"""The page of README.md, which signs in with dossier.js, and its everyday tasks, word for word."""

import contextlib
import re
import subprocess
import unittest

import readme_page
from hosted import PASSWORD
from machine import is_listening, wait_until
from readme_page import README
from test_app_guides import PAGE, AppCase


class ClientPage(AppCase):
    @contextlib.contextmanager
    def served_page(self, client):
        """Serves the page as README says, with another client than `demo`."""
        text = readme_page.page(f"127.0.0.1:{self.site.port}").replace('"demo"', f'"{client}"')
        (self.folder / "index.html").write_text(text)
        start, = re.findall(r"(?m)^python3 -m http\.server .*$", README)
        with subprocess.Popen(self.written(start).split(), cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_until(lambda: is_listening(self.port), what="the page")
                yield
            finally:
                process.terminate()

    def demo(self):
        """Creates the client as deploy/up does."""
        pages = "http://localhost:*,http://127.0.0.1:*"
        self.site.dossier("client", "create", "--app", "default", "demo", "id=demo", "kind=single_page",
                          f"callback_urls={pages}", f"logout_urls={pages}")
        self.addCleanup(self.site.dossier, "client", "delete", "demo", "--yes")

    def note(self):
        return self.browser.find("[name=note]").get_property("value")

    def save_note(self, note):
        self.browser.type("[name=note]", note)
        self.press("Save")

    def test_the_page_of_the_readme_works_twice(self):
        self.demo()
        self.expect(self.register(readme_page.EMAIL, readme_page.PASSWORD), 201)
        with self.served_page("demo"):
            for _ in range(2):
                before = self.refreshes()
                readme_page.Visit(self.browser, self.home).walk()
                # The code of the sign-in, and the refresh.
                wait_until(lambda: self.refreshes() == before + 2, what="two refreshes")
            self.assertEqual([line for line in self.browser.complaints()
                              if not any(words in line for words in ["412", "favicon"])], [])

    def test_the_everyday_tasks_of_the_readme(self):
        self.demo()
        found = re.findall(r"(?m)^(?:await |)(signInRedirect\(.*|location\.href = .*);$", README)
        sign_up, switch, account = found
        server = f"http://127.0.0.1:{self.site.port}"

        def run(task):
            self.browser.open(self.home)
            self.waits("Hello" if task is account else "You are signed out.")
            self.browser.evaluate(f"""
                const {{ Dossier }} = await import("{server}/dossier.js");
                const {{ signInRedirect }} = await import("{server}/dossier-redirect.js");
                const dossier = new Dossier("{server}");
                {self.written(task)};
                """)

        with self.served_page("demo"):
            run(sign_up)
            self.waits("Sign up to continue")
            run(switch)
            self.waits("Continue to")
            self.press("Create account")
            self.fill(email=self.email, new_password=PASSWORD)
            self.waits(f"Hello {self.email}")
            run(account)
            self.waits("Your account")
            self.press("Back to demo")
            self.waits(f"Hello {self.email}")

    def test_a_page_with_a_client_of_its_own(self):
        self.register_client(PAGE, "Register the page")
        with self.served_page(self.values["CLIENT_ID"]):
            self.browser.open(self.home)
            self.waits("You are signed out.")
            self.press("Sign in")
            self.waits("Continue to")
            self.press("Create account")
            self.fill(email=self.email, new_password=PASSWORD)
            self.waits(f"Hello {self.email}")
            self.assertEqual(self.browser.driver.current_url, self.home)
            self.save_note("dark")
            self.waits("Saved.")
            # Another tab needs no sign-in. Its access token is near its end, so it refreshes.
            first = self.browser.driver.current_window_handle
            self.browser.driver.switch_to.new_window("tab")
            self.browser.open(self.home)
            self.waits(f"Hello {self.email}")
            self.assertEqual(self.note(), "dark")
            before = self.refreshes()
            self.browser.script(
                "const now = Date.now.bind(Date); Date.now = () => now() + 25 * 3600 * 1000;")
            self.save_note("light")
            self.waits("Saved.")
            wait_until(lambda: self.refreshes() == before + 1, what="a refresh")
            second = self.site.sql("select string_agg(style, ' ' order by style) from sessions "
                                   f"join users using (user_id) where email = '{self.email}' and ended_at is null")
            self.assertEqual(second, "openid pages")
            self.press("Sign out")
            self.waits("You are signed out.")
            self.assertEqual(self.browser.driver.current_url, self.home)
            self.assertEqual(self.site.sql(
                "select count(*) from sessions join users using (user_id) "
                f"where email = '{self.email}' and ended_at is null"), "0")
            self.browser.driver.switch_to.window(first)
            self.save_note("blue")
            self.waits("Error: The user was signed out elsewhere.")
            # The user goes back, and is asked for the password the next time.
            self.press("Sign in")
            self.waits("Continue to")
            self.browser.driver.back()
            self.waits("You are signed out.")
            self.press("Sign in")
            self.fill(email=self.email)
            self.fill(password=PASSWORD)
            self.waits(f"Hello {self.email}")
            # A forgotten password. The link of the email opens in another tab, and ends in the app.
            self.press("Sign out")
            self.waits("You are signed out.")
            self.press("Sign in")
            self.fill(email=self.email)
            self.browser.wait(lambda: self.browser.has("#password"), "the password")
            self.press("Forgot your password?")
            self.browser.wait(lambda: self.browser.has("#email"), "the address")
            self.browser.find("#email").submit()
            link = self.link(self.email, "ds_reset")
            self.browser.driver.switch_to.new_window("tab")
            self.browser.open(f"http://127.0.0.1:{self.site.port}{link}")
            self.fill(new_password=PASSWORD + "!")
            self.waits(f"Hello {self.email}")
            self.assertEqual(self.browser.driver.current_url, self.home)
            # A session that has ended elsewhere.
            self.site.dossier("user", "logout", self.email, "--yes")
            self.save_note("red")
            self.waits("Error: ")
            self.assertTrue(self.browser.find("#sign-in").is_displayed())


if __name__ == "__main__":
    unittest.main()
