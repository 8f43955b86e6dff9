"""The page of README.md in Chromium: sign-in, profile, a conflict of two tabs, refresh and sign-out."""

import re

from machine import ROOT

README = (ROOT / "README.md").read_text()
EMAIL, PASSWORD = "ada@example.org", "correct horse battery"


def page(server):
    """Returns the page for a server at a host and port."""
    text, = re.findall(r"(?s)```html\n(.*?)```", README)
    return text.replace("localhost:8080", server)


class Visit:
    """The user of the page at `home`, who has an account."""

    def __init__(self, browser, home):
        self.browser, self.home = browser, home

    def shows(self, words):
        self.browser.wait(
            lambda: self.browser.has("#status") and self.browser.text("#status") == words, words)

    def fill(self, name, value):
        self.browser.wait(lambda: self.browser.has(f"#{name}:not([readonly])"), name)
        self.browser.type(f"#{name}", value)
        self.browser.find(f"#{name}").submit()

    def save(self, note, words):
        self.browser.script("document.getElementById('status').textContent = ''")
        self.browser.type("[name=note]", note)
        self.browser.find("#settings button").click()
        self.shows(words)

    def walk(self):
        driver = self.browser.driver
        self.browser.open(self.home)
        self.shows("You are signed out.")
        self.browser.find("#sign-in").click()
        self.fill("email", EMAIL)
        self.fill("password", PASSWORD)
        self.shows(f"Hello {EMAIL}")
        assert driver.current_url == self.home, driver.current_url
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")
        self.browser.open(self.home)
        self.shows(f"Hello {EMAIL}")
        self.save("one", "Saved.")
        driver.close()
        driver.switch_to.window(first)
        self.save("two", 'Another tab has saved "one". Save again to replace it.')
        self.save("two", "Saved.")
        # The access token has expired.
        self.browser.script(
            "const now = Date.now.bind(Date); Date.now = () => now() + 25 * 3600 * 1000;")
        self.save("three", "Saved.")
        self.browser.open(self.home)
        self.shows(f"Hello {EMAIL}")
        assert self.browser.find("[name=note]").get_property("value") == "three"
        self.browser.find("#sign-out").click()
        self.shows("You are signed out.")
