"""Every hosted page in every state, as the unit tests write them, in all views of Chromium."""

import itertools
import pathlib
import re
import subprocess
import tempfile
import unittest

from browser import Browser, Pages
from machine import BUILD, FOREIGN
from page_checks import CLIPPED, COLORLESS, LARGE_TEXT, PAGE_CHECKS

WIDTHS, SCHEMES = [1280, 320], ["light", "dark"]
# The browser would leave these pages.
AUTOMATIC = re.compile(r'<meta http-equiv="refresh"[^>]*>|<script nonce.*?</script>', re.DOTALL)
IMAGE = '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="40"/>'

# Rows with several values whose label, first value and action are not on one line.
UNEVEN = """
  const top = (element) => {
    const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
    const range = document.createRange();
    range.selectNodeContents(text);
    return range.getClientRects()[0].top;
  };
  return [...document.querySelectorAll(".row:has(.values > :nth-child(2))")].filter((row) => {
    const parts = ["dt > span:last-child", ".value", ".action :is(a, button)"]
      .map((selector) => row.querySelector(selector)).filter(Boolean).map(top);
    return Math.max(...parts) - Math.min(...parts) > 1;
  }).map((row) => row.textContent);
"""


class GalleryCase(unittest.TestCase):
    # Takes long for its number of tests.
    LONG = True

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        run = subprocess.run(
            [BUILD / "dossierPackageTests.xctest", "--testing-library", "swift-testing",
             "--filter", "GalleryTests"],
            env={**FOREIGN, "DOSSIER_PAGES_FOLDER": folder.name}, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
        for path in cls.folder.glob("*.html"):
            path.write_text(AUTOMATIC.sub("", path.read_text()))
        for name in ["logo", "picture"]:
            (cls.folder / f"{name}.svg").write_text(IMAGE)
        cls.pages = Pages(cls.folder)
        cls.addClassCleanup(cls.pages.stop)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.stop)

    def each(self, look, language, check):
        """Opens each page of a look in a language, and checks it."""
        paths = sorted(self.folder.glob(f"{look}.{language}.*.html"))
        self.assertGreater(len(paths), 80)
        for path in paths:
            with self.subTest(path.name):
                self.browser.open(f"{self.pages.origin}/{path.name}")
                check()

    def fits(self, width):
        self.assertLessEqual(
            self.browser.script("return document.documentElement.scrollWidth"), width)


class Views(GalleryCase):
    def test_each_page_is_accessible_in_all_views(self):
        def check():
            for scheme, width in itertools.product(SCHEMES, WIDTHS):
                self.browser.emulate(scheme, width)
                self.assertEqual(self.browser.script(PAGE_CHECKS), [], (scheme, width))
                self.fits(width)
            self.assertLessEqual(self.browser.script(LARGE_TEXT), width)
            self.assertEqual(self.browser.faults_of_views(), [])

        self.each("plain", "en", check)


class Others(GalleryCase):
    def test_each_page_fits_longer_words_and_right_to_left_text(self):
        def check():
            self.assertEqual(self.browser.script(CLIPPED), [])
            self.fits(320)

        self.browser.emulate("light", 320)
        self.each("plain", "en-xa", check)

    def test_each_page_fits_arabic_and_japanese(self):
        def check():
            for width in [390, 1280]:
                self.browser.emulate("light", width)
                self.assertEqual(self.browser.script(CLIPPED), [], width)
                self.fits(width)

        for language in ["ar", "ja"]:
            self.each("plain", language, check)
        # An address is written from left to right, at the start of a page in Arabic.
        self.browser.open(f"{self.pages.origin}/plain.ar.sign-in.html")
        styles = self.browser.script(
            "const style = getComputedStyle(document.getElementById('email'));"
            "return [getComputedStyle(document.body).direction, style.direction, style.textAlign]")
        self.assertEqual(styles, ["rtl", "ltr", "right"])

    def test_each_page_is_readable_in_the_colors_of_an_app(self):
        def check():
            for scheme in SCHEMES:
                self.browser.emulate(scheme, 320)
                self.assertEqual(self.browser.axe_faults(["color-contrast"]), [], scheme)

        self.each("brand", "en", check)

    def test_the_parts_of_a_row_begin_on_one_line(self):
        def check():
            self.assertEqual(self.browser.script(UNEVEN), [])

        self.browser.emulate("light", 1280)
        self.each("plain", "en", check)

    def test_each_button_has_an_edge_without_colors_of_the_page(self):
        def check():
            self.assertEqual(self.browser.script(COLORLESS), [])

        self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "forced-colors", "value": "active"}]})
        self.each("plain", "en", check)
        self.assertTrue(
            self.browser.script("return matchMedia('(forced-colors: active)').matches"))


if __name__ == "__main__":
    unittest.main()
