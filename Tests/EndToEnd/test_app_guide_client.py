"""The page of a guide that signs in with dossier.js, word for word."""

import subprocess
import unittest

from hosted import PASSWORD
from machine import is_listening, wait_until
from test_app_guides import PAGE, AppCase, steps


class ClientPage(AppCase):
    def test_a_page_with_dossier_js(self):
        self.register_client(PAGE, "Register the page")
        file, text = [(name, text) for name, _, text in steps(PAGE, "Use dossier.js")][0]
        (self.folder / file).write_text(self.written(text).replace("CLIENT_ID", self.values["CLIENT_ID"]))
        start = list(steps(PAGE, "Run it"))[0][2]
        with subprocess.Popen(self.written(start).split(), cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_until(lambda: is_listening(self.port), what="the page")
                self.browser.open(self.home)
                self.waits("You are signed out.")
                self.press("Sign in")
                self.waits("Continue to")
                self.press("Create account")
                self.fill(email=self.email, new_password=PASSWORD)
                self.waits(f"Hello {self.email}")
                self.assertEqual(self.browser.driver.current_url, self.home)
                self.save("dark")
                self.waits("Saved.")
                # Another tab needs no sign-in. Its access token is near its end, so it refreshes.
                first = self.browser.driver.current_window_handle
                self.browser.driver.switch_to.new_window("tab")
                self.browser.open(self.home)
                self.waits(f"Hello {self.email}")
                self.assertEqual(self.theme(), "dark")
                before = self.refreshes()
                self.browser.script(
                    "const now = Date.now.bind(Date); Date.now = () => now() + 25 * 3600 * 1000;")
                self.save("light")
                self.waits("Saved.")
                wait_until(lambda: self.refreshes() == before + 1, what="a refresh")
                second = self.site.sql("select string_agg(style, ' ' order by style) from sessions "
                                       "where ended_at is null")
                self.assertEqual(second, "openid pages")
                self.press("Sign out")
                self.waits("You are signed out.")
                self.assertEqual(self.browser.driver.current_url, self.home)
                self.assertEqual(self.site.sql(
                    "select count(*) from sessions where ended_at is null"), "0")
                self.browser.driver.switch_to.window(first)
                self.save("blue")
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
                self.save("red")
                self.waits("Error: ")
                self.assertTrue(self.browser.find("#sign-in").is_displayed())
            finally:
                process.terminate()


if __name__ == "__main__":
    unittest.main()
