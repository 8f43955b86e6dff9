"""Pages and errors of the account, of mailed links and of sign-outs in Chromium, in all views."""

import unittest

from hosted import PASSWORD
from hosted_browser import LookingCase
from openid import OpenIDCase

WRONG_CODE = "This code is wrong. Check the code or request a new one. 4 tries left."


class StateCase(LookingCase):
    def age(self, email):
        self.site.sql("update sessions s set authenticated_at = now() - interval '1 day' from users u "
                      f"where u.user_id = s.user_id and u.email = '{email}'")

    def other_code(self, code):
        """Returns a code other than this one."""
        return "00000000" if code != "0000 0000" else "11111111"


class MailedLinks(StateCase):
    def test_a_restored_address(self):
        email = self.own_email()
        grant = self.verified(email, PASSWORD)
        self.change_email(grant, "new-" + email)
        self.open(self.link(email, "ds_restore"))
        self.look("Restore your email address")
        self.send(new_password="short")
        self.look("Restore your email address", "The password needs at least 8 characters.")
        self.send(new_password="another horse")
        self.look("Email address restored")
        self.quiet()

    def test_an_address_is_verified_by_the_session_or_rejected(self):
        email = self.sign_up_here()
        self.open(self.link(email, "ds_verify"))
        self.look("Verify your email address")
        self.assertEqual(self.browser.all("#password"), [])
        self.press("Verify email address")
        self.look("Email address verified")
        self.browser.driver.delete_all_cookies()
        email = "second-" + email
        self.expect(self.register(email, PASSWORD), 201)
        self.open(self.link(email, "ds_verify"))
        self.press("I didn't sign up")
        self.look("Reset your password")
        self.press("Send link")
        self.look("Check your email")
        self.quiet()

    def test_a_registration_that_is_verified_first(self):
        self.settings(sign_up="verify_first")
        email = self.sign_up_here(heading="Verify your email address")
        self.look("Verify your email address")
        wrong = self.other_code(self.mailed_code(email))
        self.send(code=wrong)
        self.look("Verify your email address", WRONG_CODE)
        for _ in range(4):
            self.send(code=wrong)
        self.look("Verify your email address", "Too many wrong codes. Request a new one.")
        self.quiet()


class Account(StateCase):
    def test_errors_of_each_change(self):
        email = self.sign_up_here()
        self.open("/account/profile")
        self.send(name="x" * 301)
        self.look("Name, language and time zone", "Enter a name of at most 300 characters.")
        self.open("/account/picture")
        self.press("Upload")
        self.look("Picture", "Choose an image file.")
        self.open("/account/address")
        self.send(email="x")
        self.look("Change your email address", "Enter an address like name@example.com.")
        self.send(email="new-" + email)
        self.look("Verify your email address")
        wrong = self.other_code(self.mailed_code("new-" + email))
        self.send(code=wrong)
        self.look("Verify your email address", WRONG_CODE)
        self.site.sql("update authentication_flows set expires_at = now()")
        self.send(code=wrong)
        self.look("Verify your email address", "This code has expired. Request a new one.")
        self.open("/account/password")
        self.browser.type("#password", "wrong horse")
        self.send(new_password="another horse")
        self.look("Change your password", "The password is wrong.")
        self.age(email)
        self.open("/account/delete")
        self.send(password="wrong horse")
        self.look("Confirm that it's you", "The password is wrong.")
        self.quiet()

    def test_the_authenticator(self):
        email = self.sign_up_here()
        self.settings(mfa="optional", email_code=True)
        self.open("/account/authenticator")
        self.press("Continue")
        factor = self.set_up_authenticator()
        self.open("/account/recovery-codes")
        self.press("Create new codes")
        self.look("Save your recovery codes")
        self.press("I've saved my codes")
        # A session from when the app had no second factors asks for the code alone.
        self.site.sql("update sessions set amr = 'pwd'")
        self.open("/account/authenticator")
        self.look("Confirm that it's you")
        self.assertEqual(self.browser.all("#password"), [])
        self.send(code=factor.wrong())
        self.look("Confirm that it's you", "This code is wrong. Check the code, or wait for the next one.")
        self.site.sql("update second_factors set last_step = 0")
        self.send(code=factor.code())
        self.look("Turn off the authenticator app")
        self.browser.driver.delete_all_cookies()
        self.open("/account")
        self.send(email=email)
        self.send(password=PASSWORD)
        self.send(code=factor.wrong())
        self.look("Confirm your sign-in", "This code is wrong. Check the code, or wait for the next one.")
        self.site.sql("update second_factors set last_step = 0")
        self.send(code=factor.code())
        self.open("/account/authenticator")
        self.press("Turn off")
        self.assertEqual(self.heading(), "Your account")
        self.quiet()

    def test_a_code_confirms_only_a_verified_address(self):
        email = self.sign_up_here()
        self.settings(email_code=True)
        self.age(email)
        self.open("/account/delete")
        self.look("Confirm that it's you")
        self.assertNotIn("Email me a code", self.browser.text("main"))
        self.site.sql(f"update users set email_verified = true where email = '{email}'")
        self.open("/account/delete")
        self.press("Email me a code")
        self.look("Confirm that it's you")
        wrong = self.other_code(self.mailed_code(email))
        self.send(code=wrong)
        self.look("Confirm that it's you", WRONG_CODE)
        self.quiet()

    def test_an_identity_is_unlinked(self):
        email = self.sign_up_here()
        user = self.site.sql(f"select user_id from users where email = '{email}'")
        self.site.sql(
            "insert into identities (user_id, identity_id, app_id, provider, subject) select user_id, "
            "'0123456789abcdef01234567', app_id, 'jwt:https://contoso.example', 'ada' from users "
            f"where user_id = '{user}'")
        self.open("/account/identities")
        self.look("Linked accounts")
        self.press("Unlink")
        self.look("Unlink an account")
        self.assertIn("contoso.example", self.browser.text("main"))
        self.press("Unlink")
        self.look("Linked accounts")
        self.assertIn("None yet", self.browser.text("main"))
        self.quiet()


class Failures(StateCase):
    def test_pages_of_failures(self):
        self.open("/u/0123456789abcdef01234567/sign-in")
        self.look("Start again in this browser")
        self.open("/account")
        self.open("/u/0123456789abcdef01234567/sign-in")
        self.look("Sign-in expired")
        self.open("/account")
        self.browser.script("document.getElementsByName('csrf')[0].value = 'x'")
        self.send(email="ada@example.com")
        self.look("Request not accepted")
        self.settings(sign_in_pages_per_ip=1)
        self.addCleanup(self.site.sql, "delete from rate_limits")
        for _ in range(3):
            self.browser.driver.delete_all_cookies()
            self.open("/account")
        self.look("Too many attempts")
        self.quiet()

    def test_the_service_is_unavailable(self):
        self.open("/account")
        self.browser.find("#email").send_keys("ada@example.com")
        self.site.sql("alter table authorizations rename to gone")
        self.addCleanup(self.site.sql, "alter table if exists gone rename to authorizations")
        self.press("Continue")
        self.look("Temporarily unavailable")
        self.site.sql("alter table gone rename to authorizations")

    def test_two_tabs_and_a_form_that_is_sent_twice(self):
        driver = self.browser.driver
        self.open("/account")
        first = driver.current_window_handle
        driver.switch_to.new_window("tab")
        email = self.sign_up_here()
        driver.switch_to.window(first)
        self.send(email="bob@example.com")
        self.look("Choose an account")
        # Two clicks without our script, of which the browser follows the second.
        self.open("/account/address")
        self.browser.type("#email", "new-" + email)
        before = self.browser.find("html")
        self.browser.script("const form = document.forms[0]; form.submit(); form.submit();")
        self.left(before)
        self.look("Verify your email address")
        self.mailed_code("new-" + email)
        self.send(code=self.mailed_code("new-" + email))
        self.assertEqual(self.heading(), "Your account")
        self.assertEqual(len(self.codes("new-" + email)), 1)


class SignOut(OpenIDCase, StateCase):
    def test_the_question_and_the_last_page(self):
        email = self.sign_up_here()
        self.site.dossier("client", "set", self.spa["id"], "logout_urls=https://app.example.com/bye")
        self.open(f"/oidc/logout?client_id={self.spa['id']}")
        self.look("Sign out of Dossier?")
        self.press("Stay signed in")
        self.assertEqual(self.heading(), "Your account")
        self.open("/account/switch")
        self.press("Use another account")
        self.press("Create account")
        self.send(email="second-" + email, new_password=PASSWORD)
        self.open(f"/oidc/logout?client_id={self.spa['id']}")
        self.press("Sign out")
        self.look("You're signed out of Dossier")
        self.assertIn("Other accounts in this browser are still signed in", self.browser.text("main"))
        back = next(link for link in self.browser.all(".links a") if "Back to" in link.text)
        self.assertEqual((back.text, back.get_attribute("href")),
                         ("Back to single_page", "https://app.example.com/bye"))
        self.press("Choose an account")
        self.look("Choose an account")
        self.quiet()


if __name__ == "__main__":
    unittest.main()
