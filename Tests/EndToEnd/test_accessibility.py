"""Tests the sample page with axe: light and dark."""

import unittest

from web import WebCase


class Accessible(WebCase):
    # Takes long for its number of tests.
    LONG = True

    def check(self):
        """Checks the open page in both color schemes, and whether it fits a narrow window."""
        self.assertEqual(self.browser.faults_of_views(), [])
        self.browser.emulate("light", 400)
        self.assertLessEqual(self.browser.script("return document.documentElement.scrollWidth"), 400)

    def test_the_sample_page(self):
        self.browser.open(f"{self.pages.origin}/?server={self.server}")
        self.browser.wait(lambda: "No user" in self.browser.text("#said"), "the page")
        self.check()

    def test_the_sample_page_that_asks_for_a_password(self):
        self.browser.open(f"{self.pages.origin}/?server={self.server}#reset=ds_reset_x")
        self.browser.wait(lambda: self.browser.find("#answer").is_displayed(), "the form")
        self.check()

    def test_the_sample_page_of_a_user_and_an_error(self):
        self.browser.open(f"{self.pages.origin}/?server={self.server}")
        self.browser.find("#anonymous").click()
        self.browser.wait(lambda: self.browser.find("#profile").is_displayed(), "a user")
        self.browser.script("document.getElementById('conflict').hidden = false;"
                            "document.querySelector('#conflict p').textContent = 'Somebody else did.'")
        self.browser.find("#property [value=read]").click()
        self.browser.wait(lambda: "not_found" in self.browser.text("#said"), "a refusal")
        self.check()


if __name__ == "__main__":
    unittest.main()
