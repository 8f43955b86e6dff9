"""A browser on the hosted pages, and what users do there."""

import itertools

from selenium.webdriver.common.keys import Keys

from authenticator import Authenticator
from browser import Browser
from hosted import PASSWORD, HostedCase
from page_checks import LARGE_TEXT, PAGE_CHECKS

# The errors of the page without their links: in the summary, else above the fields and at them.
ERRORS = """
const all = (selector) => [...document.querySelectorAll(selector)];
if (all(".summary").length) return all(".summary li").map((item) => item.innerText);
return all(".problem, .error").map((item) => {
  const copy = item.cloneNode(true);
  for (const part of copy.querySelectorAll("a, .hidden")) part.remove();
  return copy.textContent.trim();
});
"""
VIEWS = list(itertools.product(["light", "dark"], [1280, 320]))


class BrowserCase(HostedCase):
    # Takes long for its number of tests.
    LONG = True
    # Whether the browser records where it is sent.
    RECORDS = False
    # Whether the frames of other sites have cookies.
    THIRD_PARTY_COOKIES = True

    def setUp(self):
        super().setUp()
        self.server = f"http://127.0.0.1:{self.site.port}"
        self.browser = Browser(records=self.RECORDS, third_party_cookies=self.THIRD_PARTY_COOKIES)
        self.addCleanup(self.browser.stop)

    def open(self, path):
        self.browser.open(self.server + path)

    def heading(self):
        return self.browser.text("h1")

    def send(self, **fields):
        """Types into the fields of a form, and presses Enter in the last one."""
        for name, value in fields.items():
            field = self.browser.find(f"#{name}")
            if field.get_attribute("readonly") is None:
                field.send_keys(Keys.CONTROL, "a")
                field.send_keys(value)
        before = self.browser.find("html")
        field.send_keys(Keys.ENTER)
        self.left(before)

    def press(self, label):
        """Presses a button, or follows a link."""
        before = self.browser.find("html")
        self.browser.press(label)
        self.left(before)

    def left(self, page):
        def is_gone():
            try:
                page.is_enabled()
                return False
            except Exception:
                return self.browser.has("h1")
        self.browser.wait(is_gone, "the next page")

    def sign_up_here(self, email=None, heading="Your account"):
        """Creates an account, and returns its address."""
        email = email or self.own_email()
        self.open("/account")
        self.press("Create account")
        self.send(email=email, new_password=PASSWORD)
        self.assertEqual(self.heading(), heading)
        return email

    def new_authenticator(self):
        """Returns an authenticator with the secret that the page shows."""
        secret = self.browser.text(".key code").replace(" ", "")
        return Authenticator({"id": "", "uri": "", "secret": secret})


class LookingCase(BrowserCase):
    """Looks at each page in all views."""

    def look(self, heading, *errors):
        """Looks at the page in all views."""
        self.assertEqual(self.heading(), heading)
        self.assertEqual(self.browser.script(ERRORS), list(errors))
        if errors:
            self.assertTrue(self.browser.driver.title.startswith("Error: "))
            self.browser.wait(lambda: self.browser.script(
                "return document.activeElement.matches("
                "  ':is(.summary, .problem, [aria-invalid=true])')"), "the focus")
        for scheme, width in VIEWS:
            self.browser.emulate(scheme, width)
            with self.subTest(heading, errors=errors, scheme=scheme, width=width):
                self.assertEqual(self.browser.script(PAGE_CHECKS), [])
                self.assertLessEqual(
                    self.browser.script("return document.documentElement.scrollWidth"), width)
                self.assertLessEqual(self.browser.script(LARGE_TEXT), width)
                # The stylesheet of this server applies.
                self.assertNotEqual(self.browser.script(
                    "return getComputedStyle(document.querySelector('main')).maxWidth"), "none")
        self.assertEqual(self.browser.faults_of_views(), [], (heading, errors))
        self.browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def set_up_authenticator(self):
        """Enters the first code of the authenticator that the page shows, and returns it."""
        self.look("Set up an authenticator app")
        factor = self.new_authenticator()
        self.send(code=factor.wrong())
        self.look("Set up an authenticator app", "This code is wrong. Check the code, or wait for the next one.")
        self.send(code=factor.code())
        self.look("Save your recovery codes")
        self.press("I've saved my codes")
        return factor

    def quiet(self):
        """Checks that the console is silent, but for the statuses of error pages."""
        self.assertEqual([line for line in self.browser.complaints()
                          if "the server responded with a status of 4" not in line], [])
