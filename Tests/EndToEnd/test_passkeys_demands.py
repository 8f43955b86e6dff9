"""Apps and clients that demand passkeys, on the pages in Chromium."""

import unittest
import urllib.parse

from hosted import PASSWORD
from openid import claims
from passkeys import RP_ID
from test_openid_requests import RequestCase
from test_openid_step_up import MFA
from test_passkeys_browser import SIGN_IN, PasskeyBrowserCase

CONFIRM = "Confirm that it's you"
STEP = "Confirm your sign-in"
SIGN_UP = "Sign up with a passkey"
INSTEAD = "Use a password instead"


class Requests(RequestCase):
    """`acr_values=phr` without a page."""

    def test_a_silent_request_gets_the_error_of_a_second_factor(self):
        email, _ = self.user()
        self.tokens(email)
        self.settings(passkey="optional", passkey_rp_id=RP_ID)
        answer = self.answered(acr_values="phr", prompt="none")
        self.assertEqual((answer["error"], answer["error_description"]),
                         ("login_required", "Multifactor authentication required"))
        # A session with a code of an app is not enough.
        self.site.sql("update sessions set amr = 'pwd mfa otp'")
        self.assertEqual(self.answered(acr_values=f"x phr {MFA}", prompt="none")["error"],
                         "login_required")
        self.assertEqual(self.finished(acr_values=f"{MFA} phr", prompt="none")["acr"], MFA)
        self.site.sql("update sessions set amr = 'pwd pop user mfa'")
        self.assertEqual(self.finished(acr_values="phr", prompt="none")["acr"], "phr")
        for values in [MFA, None, "phrh"]:
            self.assertEqual(self.finished(acr_values=values, prompt="none")["acr"], MFA)

    def test_an_app_without_passkeys_ignores_the_value(self):
        email, _ = self.user()
        self.tokens(email)
        self.assertNotIn("acr", self.finished(acr_values="phr", prompt="none"))
        path = "/.well-known/openid-configuration"
        self.assertEqual(self.site.get(path).json["acr_values_supported"], [MFA])
        self.settings(passkey="optional", passkey_rp_id=RP_ID)
        self.assertEqual(self.site.get(path).json["acr_values_supported"], [MFA, "phr"])
        # This client allows no passwords, and so no passkeys.
        self.site.dossier("client", "set", self.web["id"], 'connections=["email_code"]')
        self.addCleanup(self.site.dossier, "client", "set", self.web["id"], "connections=null")
        answer = self.answered(self.web, acr_values="phr", prompt="none")
        self.assertNotEqual(answer.get("error_description"), "Multifactor authentication required")


class DemandCase(PasskeyBrowserCase):
    def use(self, mode):
        """Sets how the app uses passkeys for one test."""
        self.site.set_app(passkey=mode)
        self.addCleanup(self.site.set_app, passkey="optional")

    def finished(self):
        """Waits until the app has its response; returns the claims of the ID token."""
        tokens = self.expect(self.party.exchange(self.query()["code"]), 200).json
        return claims(tokens["id_token"])

    def query(self):
        driver = self.browser.driver
        self.browser.wait(lambda: driver.current_url.startswith(self.home + "?"), "the app")
        return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(driver.current_url).query))

    def labels(self):
        """Returns the buttons and links of the page that are shown, from above."""
        return [item.text.strip() for item in self.browser.all("main button, main a")
                if item.is_displayed()]

    def is_asked(self, label):
        """Waits for a button of a passkey, which the script shows."""
        self.browser.wait(lambda: label in self.labels(), f"the button {label}")

    def begin_locked(self, **parameters):
        """Opens the sign-in of the app, whose field of the address gets no answer of the device."""
        self.forget_session()
        self.lock(True)
        self.begin(**parameters)
        self.browser.wait(lambda: self.heading() == "Sign in", "the sign-in")


class OfClients(DemandCase):
    def test_a_session_without_a_passkey_steps_up(self):
        self.sign_up_here()
        self.add_passkey()
        self.begin(acr_values="phr")
        self.assertEqual(self.heading(), CONFIRM)
        self.assertFalse(self.browser.has("#password"))
        self.press(SIGN_IN)
        found = self.finished()
        self.assertEqual((found["acr"], found["amr"]), ("phr", ["pop", "user", "mfa"]))
        # The next request needs no page.
        self.begin(acr_values="phr", prompt="none")
        self.assertEqual(self.finished()["acr"], "phr")
        self.begin(prompt="none")
        self.assertEqual(self.finished()["acr"], MFA)
        self.assertEqual(self.browser.complaints(), [])

    def test_a_user_without_a_passkey_adds_one(self):
        self.sign_up_here()
        self.begin(acr_values="phr")
        self.assertEqual(self.heading(), CONFIRM)
        self.send(password=PASSWORD)
        self.assertEqual(self.heading(), STEP)
        self.assertIn("Add a passkey to continue", self.browser.text("main"))
        # A prompt that the user cancels leaves the page as it was.
        self.lock(True)
        self.browser.find("form[data-passkey] button").click()
        self.is_asked("Add a passkey")
        self.lock(False)
        self.press("Add a passkey")
        self.is_asked(SIGN_IN)
        self.assertEqual(len(self.credentials()), 1)
        self.press(SIGN_IN)
        self.assertEqual(self.finished()["acr"], "phr")

    def test_a_password_is_followed_by_the_passkey(self):
        email = self.sign_up_here()
        self.add_passkey()
        self.begin_locked(acr_values="phr")
        self.assertEqual(self.labels()[0], SIGN_IN)
        self.enter_password(email)
        self.assertEqual(self.heading(), STEP)
        self.lock(False)
        self.press(SIGN_IN)
        self.assertEqual(self.finished()["acr"], "phr")

    def test_a_user_who_cancels_gets_no_code(self):
        self.sign_up_here()
        self.begin(acr_values="phr")
        self.send(password=PASSWORD)
        self.assertEqual(self.heading(), STEP)
        self.press("Cancel")
        self.assertEqual(self.query()["error"], "access_denied")

    def test_an_unknown_passkey_is_reported_where_it_was_asked_for(self):
        email = self.sign_up_here()
        self.add_passkey()
        self.begin_locked(acr_values="phr")
        self.enter_password(email)
        self.site.sql("update passkeys set passkey_id = 'ffffffffffffffffffffffff'")
        self.lock(False)
        self.press(SIGN_IN)
        self.assertEqual(self.heading(), STEP)
        self.assertEqual(len(self.browser.all(".problem, .error")), 1)


class First(DemandCase):
    def setUp(self):
        super().setUp()
        self.use("first")

    def test_the_passkey_stands_before_the_address(self):
        self.begin()
        self.is_asked(SIGN_IN)
        labels = self.labels()
        self.assertLess(labels.index(SIGN_IN), labels.index("Continue"))
        kinds = {item.text.strip(): item.get_attribute("class")
                 for item in self.browser.all("main button")}
        self.assertNotIn("secondary", kinds[SIGN_IN] or "")
        self.assertIn("secondary", kinds["Continue"])
        self.use("optional")
        self.begin()
        self.is_asked(SIGN_IN)
        labels = self.labels()
        self.assertGreater(labels.index(SIGN_IN), labels.index("Continue"))

    def test_a_new_user_is_asked_for_a_passkey_after_the_address(self):
        self.begin()
        self.press("Create account")
        self.assertFalse(self.browser.has("#new_password"))
        self.send(email="x")
        self.assertEqual(len(self.browser.all(".problem, .error")), 1)
        self.send(email=self.own_email())
        self.is_asked(SIGN_UP)
        self.assertIn(self.own_email(), self.browser.text("main"))
        self.press(SIGN_UP)
        self.assertEqual(self.finished()["email"], self.own_email())
        self.assertEqual(len(self.credentials()), 1)

    def test_a_new_user_takes_a_password_instead(self):
        self.begin()
        self.press("Create account")
        self.send(email=self.own_email())
        self.press(INSTEAD)
        self.assertEqual(self.browser.find("#email").get_attribute("value"), self.own_email())
        self.send(new_password="short")
        self.assertEqual(len(self.browser.all(".problem, .error")), 1)
        self.send(new_password=PASSWORD)
        self.assertEqual(self.finished()["email"], self.own_email())

    def test_a_taken_address_is_reported(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.begin()
        self.press("Create account")
        self.send(email=email)
        self.press(SIGN_UP)
        self.assertEqual(self.heading(), "Create account")
        self.assertTrue(self.browser.has("#email"))
        self.assertEqual(len(self.browser.all(".problem, .error")), 1)


class Required(DemandCase):
    def member(self):
        """Creates a user with a passkey and a verified address, whom no mail takes over."""
        email = self.sign_up_here()
        self.add_passkey()
        self.site.sql(f"update users set email_verified = true where email = '{email}'")
        return email

    def test_a_new_user_needs_a_passkey(self):
        self.use("required")
        self.begin()
        self.press("Create account")
        self.send(email=self.own_email())
        self.is_asked(SIGN_UP)
        self.assertNotIn(INSTEAD, self.labels())
        address = self.browser.driver.current_url.removesuffix("/passkey")
        self.browser.driver.get(f"{address}/password")
        self.assertFalse(self.browser.has("#new_password"))
        self.browser.driver.get(f"{address}/passkey")
        self.press(SIGN_UP)
        self.assertEqual(self.finished()["amr"], ["pop", "user", "mfa"])

    def test_a_password_user_adds_a_passkey_and_then_uses_it(self):
        email = self.sign_up_here()
        self.use("required")
        self.begin_locked()
        self.enter_password(email)
        self.assertEqual(self.heading(), STEP)
        self.assertIn("Add a passkey to continue", self.browser.text("main"))
        self.lock(False)
        self.press("Add a passkey")
        self.assertEqual(self.finished()["amr"], ["pwd", "pop", "user", "mfa"])
        self.begin_locked()
        self.enter_password(email)
        self.assertEqual(self.heading(), STEP)
        self.assertNotIn("Add a passkey", self.labels())
        self.lock(False)
        self.press("Use a passkey")
        self.assertEqual(self.finished()["email"], email)

    def test_a_lost_device_is_replaced_by_a_mailed_code(self):
        self.settings(email_code=True)
        email = self.member()
        self.use("required")
        self.cdp("WebAuthn.clearCredentials", authenticatorId=self.device)
        self.begin_locked()
        self.send(email=email)
        self.press("Email me a code")
        self.send(code=self.mailed_code(email))
        self.assertEqual(self.heading(), STEP)
        self.is_asked("Use a passkey")
        self.lock(False)
        self.press("Add a passkey")
        self.assertEqual(self.finished()["email"], email)
        self.assertEqual(len(self.credentials()), 1)
        self.assertEqual(self.site.sql(
            "select count(*) from passkeys p join users u using (user_id)"
            f" where u.email = '{email}'"), "2")

    def test_a_lost_device_is_replaced_after_a_reset(self):
        email = self.member()
        self.use("required")
        self.cdp("WebAuthn.clearCredentials", authenticatorId=self.device)
        self.begin_locked()
        self.send(email=email)
        self.press("Forgot your password?")
        self.press("Send link")
        token = self.site.mailed(email, "ds_reset")
        self.open(f"/u/reset?token={token}")
        self.send(new_password="battery staple twice")
        self.assertEqual(self.heading(), STEP)
        self.lock(False)
        self.press("Add a passkey")
        self.assertEqual(self.finished()["email"], email)


if __name__ == "__main__":
    unittest.main()
