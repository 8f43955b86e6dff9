"""The hosted pages in Chromium: with and without scripts, narrow and wide, light and dark."""

import unittest

from hosted import PASSWORD
from hosted_browser import BrowserCase, LookingCase
from page_checks import LONG_WORDS


class WithScripts(LookingCase):
    def test_sign_up_and_sign_in(self):
        email = self.own_email()
        self.settings(email_code=True, support_url="help@example.com",
                      terms_url="https://example.com/terms")
        self.open("/account")
        self.look("Sign in")
        self.send(email="")
        self.look("Sign in", "Enter your email address.")
        self.press("Create account")
        self.look("Create account")
        self.send(email=email, new_password="short")
        self.look("Create account", "The password needs at least 8 characters.")
        # A script shows the password, and hides it before the form is sent.
        self.browser.type("#new_password", PASSWORD)
        self.browser.find(".reveal").click()
        self.assertEqual(self.browser.find("#new_password").get_attribute("type"), "text")
        self.send(email=email)
        self.look("Your account")
        self.press("Sign out")
        self.look("You're signed out of Dossier")
        self.press("Sign in again")
        self.send(email=email)
        self.look("Enter your password")
        self.send(password="wrong horse")
        self.look("Enter your password",
                  "Email address or password is wrong.")
        # Back shows the form again, and a reload sends none.
        self.browser.driver.back()
        self.browser.wait(lambda: self.heading() in ["Enter your password", "Sign in"], "a form")
        self.browser.driver.forward()
        self.browser.wait(lambda: self.heading() == "Enter your password", "the form")
        self.press("Email me a code")
        self.look("Enter the code")
        self.send(code="1")
        self.look("Enter the code", "The code must have 8 digits.")
        self.send(code=self.mailed_code(email))
        self.assertEqual(self.heading(), "Your account")
        self.quiet()

    def test_forgotten_password_and_mailed_links(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.open("/account")
        self.send(email=email)
        self.press("Forgot your password?")
        self.look("Reset your password")
        self.send(email=email)
        self.look("Check your email")
        path = self.link(email, "ds_reset")
        self.open(path)
        self.look("Choose a new password")
        self.send(new_password="password123")
        self.look("Choose a new password", "This password is too common, or it has been leaked. Choose another one.")
        self.browser.driver.delete_all_cookies()
        self.open(path)
        self.send(new_password="another horse")
        self.look("Your password has been changed")
        self.open("/u/reset?token=used")
        self.look("Link expired")
        email = "second-" + email
        self.expect(self.register(email, PASSWORD), 201)
        self.open(self.link(email, "ds_verify"))
        self.look("Verify your email address")
        self.send(password="wrong horse")
        self.look("Verify your email address", "The password is wrong.")
        self.send(password=PASSWORD)
        self.look("Email address verified")
        self.open("/u/nothing/here")
        self.look("Page not found")
        self.quiet()

    def test_second_factor(self):
        self.settings(mfa="required")
        email = self.sign_up_here(heading="Set up an authenticator app")
        self.set_up_authenticator()
        self.assertEqual(self.heading(), "Your account")
        self.open("/account/switch")
        self.look("Choose an account")
        self.press("Use another account")
        self.send(email=email)
        self.send(password=PASSWORD)
        self.look("Confirm your sign-in")
        self.press("Use a recovery code")
        self.look("Recovery code")
        self.send(recovery_code="x")
        self.look("Recovery code", "This code is wrong or has been used. Try another one.")
        self.press("Cancel")
        self.assertEqual(self.heading(), "Sign in")
        self.quiet()

    def test_the_account(self):
        self.settings(mfa="optional")
        email = self.sign_up_here()
        for path, heading in [
                ("profile", "Name, language and time zone"), ("picture", "Picture"),
                ("address", "Change your email address"), ("password", "Change your password"),
                ("authenticator", "Set up an authenticator app"),
                ("recovery-codes", "Replace your recovery codes"),
                ("sessions", "Devices and sessions"), ("identities", "Linked accounts"),
                ("applications", "Connected apps"), ("data", "Your data"),
                ("delete", "Delete account"), ("confirm", "Confirm that it's you")]:
            self.open(f"/account/{path}")
            self.look(heading)
        self.open("/account/delete")
        self.send(confirmation="x")
        self.look("Delete account", "Type it exactly as shown.")
        self.send(confirmation=email)
        self.look("Account deleted")
        self.quiet()


class Looks(LookingCase):
    def test_a_sign_in_that_cannot_continue(self):
        email = self.own_email()
        user = self.expect(self.register(email, PASSWORD), 201).json["user_id"]
        self.settings(email_code=True, failures_per_identifier=3)
        self.open("/account")
        self.site.sql("update authorizations set expires_at = now()")
        self.send(email=email)
        self.look("Sign in", "This sign-in has expired. Start again.")
        self.send(email=email)
        self.press("Email me a code")
        self.send(code="0000 0001" if self.mailed_code(email) == "0000 0000" else "0000 0000")
        self.look("Enter the code", "This code is wrong. Check the code or request a new one. 4 tries left.")
        self.site.sql("update authentication_flows set expires_at = now()")
        self.send(code="0000 0000")
        self.look("Enter the code", "This code has expired. Request a new one.")
        self.site.sql(f"update users set blocked_at = now() where user_id = '{user}'")
        self.open("/account")
        self.send(email=email)
        self.send(password=PASSWORD)
        self.look("Account blocked")
        self.open("/account")
        self.send(email="stranger@example.com")
        for _ in range(4):
            self.send(password="wrong horse")
        error = self.browser.text(".problem")
        self.assertRegex(error, r"^Too many attempts\. Try again in \d+ \w+\.$")
        self.look("Enter your password", error)
        self.browser.driver.delete_all_cookies()
        self.browser.driver.refresh()
        self.look("Start again in this browser")
        self.site.set_app(sign_up="verify_first")
        self.addCleanup(self.site.set_app, sign_up="immediate")
        email = "unverified-" + email
        key = self.site.client("--app", "default", "scopes=create:users")["secret"]
        self.expect(self.post("/v1/users", {"email": email, "password": PASSWORD}, token=key), 201)
        self.open("/account")
        self.send(email=email)
        self.send(password=PASSWORD)
        self.look("Check your email")
        self.quiet()

    def test_each_color_of_an_app_is_readable(self):
        self.settings(brand_color="#ffdd00", corner_radius=0, display_name="Nordwind")
        for color in ["#ffdd00", "#000000", "#ffffff"]:
            self.site.set_app(brand_color=color)
            self.open("/account")
            self.look("Sign in")
            self.send(email="")
            self.look("Sign in", "Enter your email address.")
        self.quiet()

    def test_other_languages_fit(self):
        self.browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": 320, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        self.open("/account")
        self.press("Deutsch")
        for heading in ["Anmelden", "Konto erstellen"]:
            self.open("/account")
            if heading != self.heading():
                self.press(heading)
            self.assertEqual(self.heading(), heading)
            self.assertEqual(self.browser.script(LONG_WORDS), [])
            self.assertLessEqual(
                self.browser.script("return document.documentElement.scrollWidth"), 320)

    def test_recovery_codes_are_printed_without_buttons(self):
        self.settings(mfa="required")
        self.sign_up_here(heading="Set up an authenticator app")
        self.send(code=self.new_authenticator().code())
        self.assertEqual(self.heading(), "Save your recovery codes")
        self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        text = self.browser.text("body")
        for code in self.browser.all(".codes code"):
            self.assertIn(code.text, text)
        self.assertIn("Dossier", text)
        self.assertFalse([item for item in self.browser.all("button") if item.is_displayed()])


class WithoutScripts(BrowserCase):
    def setUp(self):
        super().setUp()
        self.browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})

    def test_each_step_works(self):
        self.settings(email_code=True)
        self.open("/account")
        self.assertEqual(self.browser.all(".reveal"), [])
        email = self.sign_up_here()
        self.assertEqual({cookie["name"].split("-")[2] for cookie in self.browser.driver.get_cookies()},
                         {"browser", "pass", "signin"})
        for cookie in self.browser.driver.get_cookies():
            self.assertTrue(cookie["secure"] and cookie["httpOnly"])
            self.assertEqual(cookie["sameSite"], "Lax")
        self.press("Sign out")
        self.press("Sign in again")
        self.send(email=email)
        self.press("Email me a code")
        self.send(code=self.mailed_code(email))
        self.assertEqual(self.heading(), "Your account")
        self.press("Deutsch")
        self.assertEqual(self.browser.find("html").get_attribute("lang"), "de")


if __name__ == "__main__":
    unittest.main()
