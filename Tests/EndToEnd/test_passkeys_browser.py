"""Passkeys on the pages in Chromium, with its virtual authenticator.

A request that fills the field of the address is answered as soon as the
page is open, if the authenticator has a passkey.
"""

import pathlib
import tempfile
import unittest
import urllib.parse

from browser import Pages
from hosted import PASSWORD
from hosted_browser import BrowserCase
from openid import OpenIDCase, Party
from passkey_device import DeviceCase
from passkeys import RP_ID

OFFER = "Sign in faster with a passkey"
SIGN_IN = "Sign in with a passkey"


class PasskeyBrowserCase(DeviceCase, OpenIDCase, BrowserCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(passkey="optional", passkey_rp_id=RP_ID)
        folder = tempfile.TemporaryDirectory(prefix="dossier-pages-")
        cls.addClassCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "index.html").write_text(
            "<!doctype html><title>App</title><h1>App</h1>")
        cls.pages = Pages(folder.name)
        cls.addClassCleanup(cls.pages.stop)
        cls.home = f"{cls.pages.origin}/index.html"
        cls.app = cls.new_client("single_page", f"callback_urls={cls.home}")
        cls.site.dossier("client", "set", cls.app["id"], "confirm_sign_in=false")

    def setUp(self):
        super().setUp()
        # An address of IP is no domain of passkeys.
        self.server = f"http://localhost:{self.site.port}"
        self.enable_device()

    def forget_session(self):
        """Deletes the cookies, and so signs out; the passkeys stay."""
        self.cdp("Network.clearBrowserCookies")

    def arrives(self, heading):
        self.browser.wait(lambda: self.heading() == heading, f"the page {heading}")

    def add_passkey(self):
        self.open("/account/passkeys/new")
        self.press("Add a passkey")
        self.assertEqual(self.heading(), "Passkeys")

    def begin(self, **parameters):
        """Opens the sign-in of the app."""
        self.party = Party(self, self.app, redirect=self.home, **parameters)
        self.open(self.party.path)

    def came_back(self):
        """Waits until the app has its response; returns the claims of the user."""
        driver = self.browser.driver
        self.browser.wait(lambda: driver.current_url.startswith(self.home + "?"), "the app")
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(driver.current_url).query))
        tokens = self.expect(self.party.exchange(query["code"]), 200).json
        return self.userinfo(tokens["access_token"]).json

    def enter_password(self, email):
        """Signs in at the pages with the password."""
        self.send(email=email)
        self.send(password=PASSWORD)


class Account(PasskeyBrowserCase):
    def test_a_password_user_adds_a_passkey_and_signs_in_by_autofill(self):
        email = self.sign_up_here()
        self.open("/account/passkeys")
        self.assertIn("None yet", self.browser.text("main"))
        self.press("Add a passkey")
        self.press("Add a passkey")
        self.assertEqual(self.heading(), "Passkeys")
        self.assertIn("The passkey has been added.", self.browser.text("main"))
        self.assertEqual(len(self.credentials()), 1)
        self.forget_session()
        self.open("/account")
        self.arrives("Your account")
        self.assertIn(email, self.browser.text("main"))
        self.assertEqual(self.browser.complaints(), [])
        # The device has one.
        self.open("/account/passkeys/new")
        self.browser.find("form[data-passkey] button").click()
        self.browser.wait(lambda: self.browser.all(".notice.warning"), "the notice")
        self.assertEqual(self.browser.text(".notice.warning"),
                         "This device already has a passkey for your account.")

    def test_a_passkey_is_renamed_and_removed(self):
        self.sign_up_here()
        self.add_passkey()
        self.press("Change")
        self.send(name="Old laptop")
        self.assertEqual(self.heading(), "Passkeys")
        self.assertIn("Old laptop", self.browser.text(".rows"))
        self.press("Change")
        [credential] = self.credentials()
        self.press("Remove")
        self.assertIn("The passkey has been removed.", self.browser.text("main"))
        self.browser.wait(lambda: not self.credentials(), "the removal on the device")
        # Another device still has it. There, the page reports it to the browser as unknown.
        self.cdp("WebAuthn.addCredential", authenticatorId=self.device, credential=credential)
        self.forget_session()
        self.open("/account")
        self.browser.wait(lambda: "isn't known here" in self.browser.text("main"), "the error")
        self.browser.wait(lambda: not self.credentials(), "the removal on the device")

    def test_a_user_without_a_password_confirms_with_the_passkey(self):
        self.open("/account")
        self.press("Create account")
        self.browser.type("#email", self.own_email())
        self.press("Sign up with a passkey")
        self.assertEqual(self.heading(), "Your account")
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day'")
        self.open("/account/passkeys/new")
        self.assertEqual(self.heading(), "Confirm that it's you")
        self.press("Use a passkey")
        self.assertEqual(self.heading(), "Add a passkey")
        # The last login method stays.
        self.site.sql("delete from identities where provider = 'email'")
        self.open("/account/passkeys")
        self.press("Change")
        self.press("Remove")
        self.assertEqual(len(self.browser.all(".problem, .error")), 1)


class SignIn(PasskeyBrowserCase):
    def test_one_divider_stands_above_all_other_ways(self):
        self.settings(email_code=True)
        self.begin()
        self.send(email=self.own_email())
        self.assertEqual(self.heading(), "Enter your password")
        labels = [item.text for item in self.browser.all("main button")]
        self.assertIn("Email me a code", labels)
        self.assertIn(SIGN_IN, labels)
        self.assertEqual([item.text for item in self.browser.all(".or") if item.is_displayed()], ["or"])

    def test_the_offer_and_its_three_answers(self):
        email = self.sign_up_here()
        for answer, note in [("Remind me later", "passkeyLater"),
                             ("Not on this device", "passkeyNever")]:
            self.forget_session()
            self.begin()
            self.enter_password(email)
            self.assertEqual(self.heading(), OFFER)
            self.press(answer)
            self.came_back()
            # The browser remembers the answer.
            self.begin(prompt="login")
            self.send(password=PASSWORD)
            self.came_back()
            self.open("/account")
            names = [cookie["name"] for cookie in self.browser.driver.get_cookies()]
            self.assertTrue(any(note in name for name in names), names)
        self.forget_session()
        self.begin()
        self.enter_password(email)
        self.press("Create a passkey")
        user = self.came_back()
        self.assertEqual(len(self.credentials()), 1)
        # From now on without the password, and without an offer.
        self.forget_session()
        self.begin()
        self.assertEqual(self.came_back()["sub"], user["sub"])

    def test_a_user_signs_up_and_in_without_a_password(self):
        self.begin()
        self.press("Create account")
        self.browser.type("#email", self.own_email())
        self.press("Sign up with a passkey")
        user = self.came_back()
        self.assertEqual(user["email"], self.own_email())
        self.forget_session()
        self.begin()
        self.assertEqual(self.came_back()["sub"], user["sub"])
        self.assertEqual(self.browser.complaints(), [])

    def test_a_cancelled_prompt_leaves_the_page_as_it_was(self):
        email = self.sign_up_here()
        self.add_passkey()
        self.lock(True)
        self.forget_session()
        self.begin()
        self.send(email=email)
        # The button can be used again.
        for _ in range(2):
            self.browser.find("form[data-passkey] button").click()
            self.assertEqual(self.heading(), "Enter your password")
        self.lock(False)
        self.press(SIGN_IN)
        self.came_back()

    def test_a_passkey_is_the_second_step(self):
        email = self.sign_up_here()
        self.add_passkey()
        self.settings(mfa="required")
        self.lock(True)
        self.forget_session()
        self.begin()
        self.enter_password(email)
        self.lock(False)
        self.press("Use a passkey")
        self.came_back()

    def test_pages_without_scripts_or_at_an_address_of_ip_have_the_other_ways(self):
        email = self.sign_up_here()
        self.add_passkey()
        self.forget_session()
        self.open("/account")
        self.arrives("Your account")
        self.forget_session()
        self.cdp("Emulation.setScriptExecutionDisabled", value=True)
        self.open("/account")
        self.assertFalse(self.browser.find(".passkey").is_displayed())
        self.cdp("Emulation.setScriptExecutionDisabled", value=False)
        self.server = f"http://127.0.0.1:{self.site.port}"
        self.begin()
        self.assertFalse(self.browser.find(".passkey").is_displayed())
        self.enter_password(email)
        self.came_back()

    def test_another_user_of_the_browser_signs_in_with_an_own_passkey(self):
        first = self.sign_up_here()
        self.add_passkey()
        first_credential = self.credentials()[0]
        self.cdp("WebAuthn.clearCredentials", authenticatorId=self.device)
        self.forget_session()
        second = self.sign_up_here(f"second-{self.own_email()}")
        self.add_passkey()
        for credential, email in [(first_credential, first), (self.credentials()[0], second)]:
            self.cdp("WebAuthn.clearCredentials", authenticatorId=self.device)
            self.cdp("WebAuthn.addCredential", authenticatorId=self.device, credential=credential)
            self.forget_session()
            self.begin()
            self.assertEqual(self.came_back()["email"], email)

    def test_a_page_from_right_to_left(self):
        self.sign_up_here()
        self.open("/account?lang=ar")
        self.open("/account/passkeys/new")
        self.browser.find("form[data-passkey] button").click()
        self.browser.wait(lambda: len(self.credentials()) == 1, "the passkey")
        self.assertEqual(self.browser.script("return document.dir"), "rtl")


if __name__ == "__main__":
    unittest.main()
