"""The page of `deploy/up` in Chromium."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from browser import Browser, Pages
from machine import ROOT, functions, free_port
from passkey_device import DeviceCase
from test_deploy import Case


class DemoCase(Case):
    """The server of `deploy/up`, and a browser."""

    LONG = True
    PASSWORD = "correct horse battery"
    # Variables of `deploy/up`.
    SETTINGS = ""

    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.addCleanup(functions, 'stop_all "$1" 2>/dev/null', self.data)
        started = functions(
            self.SETTINGS + """
            start_postgres "$1"
            make_database "$1" >/dev/null
            start_workers "$1" "$2" 1
            start_nginx "$1" "$2"
            wait_ready "$1" "$2"
            register_demo "$1" "http://localhost:$2"
            register_demo "$1" "http://localhost:$2"
            """, self.data, self.port, stderr=subprocess.PIPE, timeout=600)
        self.assertEqual(started.returncode, 0, started.stderr)
        self.browser = Browser()
        self.addCleanup(self.browser.stop)

    def status(self, words):
        def shows():
            found = self.browser.all("#status")
            return found and words in found[0].text
        self.browser.wait(shows, words)

    def fill(self, **fields):
        for name, value in fields.items():
            self.browser.wait(lambda: self.browser.has(f"#{name}"), name)
            field = self.browser.find(f"#{name}")
            if field.get_attribute("readonly") is None:
                field.clear()
                field.send_keys(value)
        before = self.browser.driver.current_url
        field.submit()
        self.browser.wait(lambda: self.browser.driver.current_url != before, "the next page")

    def press(self, selector):
        self.browser.wait(lambda: self.browser.has(selector), selector)
        self.browser.find(selector).click()

    def set(self, name, value):
        """Changes a setting in the form, as a user does."""
        if name == "theme":
            self.browser.find(f"[name=theme][value={value}]").click()
        else:
            self.browser.type(f"#{name}", value)

    def save(self, said, **settings):
        for name, value in settings.items():
            self.set(name, value)
        self.browser.script("document.getElementById('status').textContent = ''")
        self.press("#settings button")
        self.status(said)

    def stored(self):
        return json.loads(self.browser.find("#stored").get_property("textContent"))

    def scheme(self):
        return self.browser.script("return getComputedStyle(document.documentElement).colorScheme")

    def open(self, said):
        self.browser.open(f"http://localhost:{self.port}/demo/")
        self.status(said)

    def sign_up(self, email):
        self.press("#sign-up")
        self.fill(email=email, new_password=self.PASSWORD)
        self.status("You're signed in.")

    def quiet(self):
        self.assertEqual([line for line in self.browser.complaints()
                          if not any(words in line for words in ["400", "412", "favicon"])], [])

    def unknown_page(self, **fields):
        """Returns the type and the text of the response to an unknown page of the demo."""
        url = f"http://localhost:{self.port}/demo/nope"
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(urllib.request.Request(url, headers=fields))
        self.assertEqual(caught.exception.code, 404)
        return caught.exception.headers["Content-Type"], caught.exception.read().decode()


class Demo(DeviceCase, DemoCase):
    def test_a_user_signs_up_and_in_with_a_passkey_at_localhost(self):
        self.enable_device()
        self.browser.open(f"http://localhost:{self.port}/demo/")
        self.status("You're signed out.")
        self.press("#sign-up")
        self.browser.wait(lambda: self.browser.has("#email"), "the page")
        self.browser.type("#email", "ada@example.com")
        self.press("form[data-passkey] button")
        self.status("You're signed in.")
        self.assertEqual(len(self.credentials()), 1)
        self.press("#sign-out")
        self.status("You're signed out.")
        self.cdp("Network.clearBrowserCookies")
        # The field of the address takes the passkey by itself.
        self.press("#sign-in")
        self.status("You're signed in.")
        self.assertEqual(self.browser.text("#name"), "ada@example.com")
        self.quiet()

    def test_a_page_at_another_port_is_the_same_client(self):
        kind, text = self.unknown_page(Accept="text/html")
        self.assertEqual(kind, "text/html; charset=utf-8")
        self.assertIn("Page not found", text)
        self.assertIn("application/problem+json", self.unknown_page()[0])
        with tempfile.TemporaryDirectory(prefix="dossier-page-") as folder:
            page = pathlib.Path(folder) / "my/page"
            shutil.copytree(ROOT / "deploy/demo", page)
            code = (page / "demo.js").read_text()
            self.assertIn("issuer = location.origin;", code)
            (page / "demo.js").write_text(code.replace(
                "issuer = location.origin;", f'issuer = "http://localhost:{self.port}";'))
            pages = Pages(folder)
            self.addCleanup(pages.stop)
            self.browser.open(f"{pages.origin}/my/page/")
            self.status("You're signed out.")
            self.sign_up("ada@example.com")
            self.assertEqual(self.stored(), {})
            self.press("#sign-out")
            self.status("You're signed out.")
            self.assertEqual(self.browser.driver.current_url, f"{pages.origin}/my/page/")

    def test_a_user_signs_up_chooses_a_theme_switches_and_signs_out(self):
        self.open("You're signed out.")
        self.sign_up("ada@example.com")
        self.assertEqual(self.browser.text("#name"), "ada@example.com")
        self.browser.wait(
            lambda: self.browser.script("return document.images[0].naturalWidth"), "the picture")
        # The account page leads back.
        self.press("#account")
        self.browser.wait(lambda: self.browser.has("a[href$='/demo/']"), "the way back")
        self.press("a[href$='/demo/']")
        self.status("You're signed in.")
        # The theme of the metadata is that of the page, also when it is opened again.
        self.assertEqual(self.scheme(), "light dark")
        self.save("Saved.", theme="dark", note="Buy milk")
        self.assertEqual(self.stored(), {"theme": "dark", "note": "Buy milk"})
        self.open("You're signed in.")
        self.assertEqual(self.scheme(), "dark")
        self.assertEqual(self.browser.find("#note").get_property("value"), "Buy milk")
        # Another user of the same browser, and back.
        self.press("#switch")
        self.press("form[action$='/another'] button")
        self.fill(email="grace@example.com")
        self.browser.driver.back()
        self.press("a[href$='/sign-up']")
        self.fill(email="grace@example.com", new_password=self.PASSWORD)
        self.status("You're signed in.")
        self.assertEqual(self.browser.text("#name"), "grace@example.com")
        self.assertEqual(self.scheme(), "light dark")
        self.press("#sign-out")
        self.status("You're signed out.")
        self.press("#sign-in")
        # Ada is still signed in, and is not signed in silently.
        self.browser.wait(lambda: self.browser.has("h1"), "a page")
        self.assertNotIn("/demo/", self.browser.driver.current_url)
        self.quiet()

    def test_two_tabs_change_the_same_settings(self):
        self.open("You're signed out.")
        self.sign_up("ada@example.com")
        self.save("Saved.", note="Buy milk")
        first = self.browser.driver.current_window_handle
        # The user needs no second sign-in.
        self.press("#second")
        self.browser.wait(lambda: len(self.browser.driver.window_handles) == 2, "the tab")
        second = next(tab for tab in self.browser.driver.window_handles if tab != first)
        self.browser.driver.switch_to.window(second)
        self.status("You're signed in.")
        self.save("Saved.", note="Buy bread")
        self.browser.driver.switch_to.window(first)
        self.save("Another tab was faster.", note="Buy cheese")
        self.assertEqual(self.browser.text("#versions").split("\n"), [
            "Before", "note: Buy milk", "Theirs, stored now", "note: Buy bread",
            "Yours", "note: Buy cheese"])
        self.assertEqual(self.browser.faults_of_views(), [])
        self.press("#keep-mine")
        self.status("Saved.")
        self.assertEqual(self.stored()["note"], "Buy cheese")
        self.assertFalse(self.browser.find("#conflict").is_displayed())
        # The other tab changes another setting, which is no conflict.
        self.browser.driver.switch_to.window(second)
        self.save("Saved.", theme="light")
        self.assertEqual(self.stored(), {"theme": "light", "note": "Buy cheese"})
        # The first tab wants both, and drops one.
        self.browser.driver.switch_to.window(first)
        self.save("Another tab was faster.", theme="dark", note="Buy tea")
        self.assertIn("theme: light", self.browser.text("#versions"))
        self.press("#keep-theirs")
        self.status("Saved.")
        self.assertEqual(self.stored(), {"theme": "light", "note": "Buy tea"})
        self.assertEqual(self.scheme(), "light")
        self.quiet()

    def test_the_page_is_accessible_and_fits(self):
        self.open("You're signed out.")
        self.assertEqual(self.browser.faults_of_views(), [])
        self.sign_up("ada@example.com")
        self.assertEqual(self.browser.faults_of_views(), [])
        for scheme in ["light", "dark"]:
            self.browser.emulate(scheme, 320)
            self.assertLessEqual(
                self.browser.script("return document.documentElement.scrollWidth"), 320)


class PrintedLines(unittest.TestCase):
    """The lines of an OpenID library that `deploy/up` prints."""

    # Takes the place of the library, which is at npm, and tells what the lines do.
    LIBRARY = """
      export class UserManager {
        constructor(settings) { this.settings = settings; }
        async signinCallback() { return `callback ${location.search}`; }
        async getUser() { return location.user; }
        async signinRedirect() { return `redirect to ${this.settings.redirect_uri}`; }
      }"""

    def test_they_sign_in_once(self):
        run = functions("tell_start http://localhost:8080 dossier", check=True)
        lines = "\n".join(re.findall(r"(?m)^  (import .*|const .*|history\..*)$", run.stdout))
        self.assertEqual(lines.count("\n"), 3, run.stdout)
        with tempfile.TemporaryDirectory(prefix="dossier-lines-") as folder:
            library, page = pathlib.Path(folder) / "library.mjs", pathlib.Path(folder) / "page.mjs"
            library.write_text(self.LIBRARY)
            for search, user, said in [
                    ("", None, "redirect to http://localhost:5173/app"),
                    # A query of the page itself is no response.
                    ("?tab=2", None, "redirect to http://localhost:5173/app"),
                    ("?code=c&state=s", None, "callback ?code=c&state=s"), ("", "ada", "ada")]:
                place = {"origin": "http://localhost:5173", "pathname": "/app", "search": search, "user": user}
                page.write_text(
                    f"globalThis.location = {json.dumps(place)};\n"
                    "globalThis.history = { replaceState: (state, title, url) => console.log(url) };\n"
                    + lines.replace('"oidc-client-ts"', '"./library.mjs"') + "\nconsole.log(user);\n")
                run = subprocess.run(["node", page], capture_output=True, text=True)
                self.assertEqual((run.stdout, run.stderr), (f"/app\n{said}\n", ""))


if __name__ == "__main__":
    unittest.main()
