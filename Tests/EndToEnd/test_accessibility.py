"""Pages that people read have no fault that axe finds: light and dark, wide and narrow."""

import itertools

import unittest

from test_reference import TOOLS_FOLDER
from web import WebCase

AXE = TOOLS_FOLDER / "axe.min.js"
SCHEMES, WIDTHS = ["light", "dark"], [1280, 400]


class Accessible(WebCase):
    # Takes long for its number of tests.
    LONG = True

    def check(self, *views):
        """Looks at the page that is open, in these schemes and widths or in all."""
        self.browser.script(AXE.read_text())
        for scheme, width in views or itertools.product(SCHEMES, WIDTHS):
            self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "prefers-color-scheme", "value": scheme}]})
            self.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
            with self.subTest(scheme=scheme, width=width):
                self.assertEqual(self.browser.script(
                    "return [matchMedia('(prefers-color-scheme: dark)').matches, innerWidth]"),
                    [scheme == "dark", width])
                passed, found = self.browser.evaluate("""
                    const { violations, passes } = await axe.run();
                    return [passes.length, violations.map(({ id, nodes }) =>
                      `${id}: ${nodes.length}, ${nodes[0].html} ${nodes[0].failureSummary}`)];
                    """)
                self.assertGreater(passed, 10)
                self.assertEqual(found, [])

    def test_the_reference(self):
        self.browser.open(f"{self.server}/reference")
        self.browser.script("for (const part of document.querySelectorAll('details')) part.open = true")
        # It is long: axe takes its time for each view.
        self.check(("light", 400), ("dark", 1280))

    def test_the_reference_for_users_while_it_is_searched(self):
        self.browser.open(f"{self.server}/reference?for=users#postRegister")
        self.browser.type("nav input", "email_taken")
        self.check(("light", 1280), ("dark", 400))

    def test_what_a_kind_of_problem_means(self):
        for code in ["invalid", "not_found"]:
            self.browser.open(f"{self.server}/problems/{code}")
            self.check()

    def test_the_sample_page(self):
        self.browser.open(f"{self.pages.origin}/?server={self.server}")
        self.browser.wait(lambda: "No user" in self.browser.find("#said").text, "the page")
        self.check()

    def test_the_sample_page_that_asks_for_a_password(self):
        self.browser.open(f"{self.pages.origin}/?server={self.server}#reset=ds_reset_x")
        self.browser.wait(lambda: self.browser.find("#answer").is_displayed(), "the form")
        self.check()

    def test_the_sample_page_of_a_user_and_a_refusal(self):
        self.browser.open(f"{self.pages.origin}/?server={self.server}")
        self.browser.find("#anonymous").click()
        self.browser.wait(lambda: self.browser.find("#profile").is_displayed(), "a user")
        self.browser.script("document.getElementById('conflict').hidden = false;"
                            "document.querySelector('#conflict p').textContent = 'Somebody else did.'")
        self.browser.find("#property [value=read]").click()
        self.browser.wait(lambda: "not_found" in self.browser.find("#said").text, "a refusal")
        self.check()


if __name__ == "__main__":
    unittest.main()
