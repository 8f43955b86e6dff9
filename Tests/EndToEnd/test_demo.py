"""The page of `deploy/up --demo` in Chromium."""

import json
import subprocess

from browser import Browser
from machine import functions, free_port
from test_deploy import Case


class Demo(Case):
    LONG = True
    PASSWORD = "correct horse battery"

    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.addCleanup(functions, 'stop_all "$1" 2>/dev/null', self.data)
        started = functions(
            """
            start_postgres "$1"
            make_database "$1" >/dev/null
            start_workers "$1" "$2" 1
            start_nginx "$1" "$2" yes
            wait_ready "$1" "$2"
            register_demo "$1" "$2"
            register_demo "$1" "$2"
            """, self.data, self.port, stderr=subprocess.PIPE, timeout=180)
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

    def test_a_user_signs_up_edits_metadata_switches_and_signs_out(self):
        self.browser.open(f"http://127.0.0.1:{self.port}/demo/")
        self.status("signed out")
        self.press("#sign-up")
        self.fill(email="ada@example.com", new_password=self.PASSWORD)
        self.status("You are signed in.")
        self.assertEqual(self.browser.find("#email").text, "ada@example.com")
        self.browser.wait(
            lambda: self.browser.script("return document.images[0].naturalWidth"), "the picture")
        self.browser.script('document.getElementById("text").value = \'{"theme": "dark"}\'')
        self.press("#metadata button")
        self.status("Saved.")
        text = self.browser.find("#text").get_property("value")
        self.assertEqual(json.loads(text), {"theme": "dark"})
        self.browser.script('document.getElementById("text").value = \'{"theme"\'')
        self.press("#metadata button")
        self.status("Error: ")
        # Another user of the same browser, and back.
        self.press("#switch")
        self.press("form[action$='/another'] button")
        self.fill(email="grace@example.com")
        self.browser.driver.back()
        self.press("a[href$='/sign-up']")
        self.fill(email="grace@example.com", new_password=self.PASSWORD)
        self.status("You are signed in.")
        self.assertEqual(self.browser.find("#email").text, "grace@example.com")
        self.press("#sign-out")
        self.status("signed out")
        self.press("#sign-in")
        # Ada is still signed in, and is not signed in silently.
        self.browser.wait(lambda: self.browser.has("h1"), "a page")
        self.assertNotIn("/demo/", self.browser.driver.current_url)
        self.assertEqual([line for line in self.browser.complaints()
                          if "400" not in line and "favicon" not in line], [])
