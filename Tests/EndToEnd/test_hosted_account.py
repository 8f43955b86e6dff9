"""The account page, without scripts."""

import base64
import json
import os
import re
import unittest

from hosted import PASSWORD, HostedCase


class Account(HostedCase):
    def age(self, email):
        """Makes the sign-in of a user too old for sensitive changes."""
        self.site.sql("update sessions s set authenticated_at = now() - interval '1 day' from users u "
                      f"where u.user_id = s.user_id and u.email = '{email}'")

    def stored(self, column):
        return self.site.sql(f"select {column} from users where email = '{self.own_email()}'")

    def test_the_name_the_language_and_the_zone(self):
        self.sign_up(self.own_email())
        self.visitor.open("/account/profile")
        # The page is then in the language of the profile, until the user chooses one below the page.
        self.shows(self.visitor.submit(name=" Ada Lovelace ", locale="de",
                                       zone="America/Argentina/Buenos_Aires"), "Konto")
        self.shows(self.visitor.open(self.visitor.page.links["English"]), "Your account")
        self.assertIn("Ada Lovelace", self.visitor.page.text)
        self.assertIn("Deutsch", self.visitor.page.text)
        self.assertIn("America/Argentina/Buenos Aires", self.visitor.page.text)
        page = self.visitor.open("/account/profile")
        self.assertEqual(page.forms[0].fields["name"], "Ada Lovelace")
        self.assertEqual(page.forms[0].fields["locale"], "de")
        self.assertEqual(page.forms[0].fields["zone"], "America/Argentina/Buenos_Aires")
        self.assertIn('<option value="Europe/Oslo">', page.body.decode())
        page = self.visitor.submit(name="x" * 301, zone="Europe/Oslo")
        self.shows(page, "Name, language and time zone",
                   "Enter a name of at most 300 characters.")
        self.assertEqual(page.forms[0].fields["name"], "x" * 301)
        self.assertEqual(page.forms[0].fields["zone"], "Europe/Oslo")
        # The rule of the API holds for a form that no browser sends.
        page = self.visitor.submit(name="Ada", zone="Mars/Olympus")
        self.shows(page, "Name, language and time zone",
                   "Your account was changed in the meantime. Try again.")
        self.assertEqual(self.stored("zone"), "America/Argentina/Buenos_Aires")
        # An old zone that the app has set stays until the user chooses another one.
        self.site.sql(f"update users set zone = 'Asia/Calcutta' where email = '{self.own_email()}'")
        page = self.visitor.open("/account/profile")
        self.assertEqual(page.forms[0].fields["zone"], "Asia/Calcutta")
        self.shows(self.visitor.submit(name="Ada"), "Your account")
        self.assertEqual(self.stored("zone"), "Asia/Calcutta")
        self.visitor.open("/account/profile")
        self.shows(self.visitor.submit(name="", locale="", zone=""), "Your account")
        self.assertEqual(self.stored("zone"), "")
        self.assertIn("Not set", self.visitor.page.text)

    def test_markup_in_a_name_is_text(self):
        self.sign_up(self.own_email())
        self.visitor.open("/account/profile")
        page = self.visitor.submit(name='<img src=x onerror="alert(1)">')
        self.assertNotIn(b"<img src=x", page.body)
        self.assertIn('<img src=x onerror="alert(1)">', page.text)

    def test_the_picture(self):
        self.sign_up(self.own_email())
        self.visitor.open("/account/picture")
        page = self.visitor.upload("/picture", "picture", b"")
        self.shows(page, "Picture", "Choose an image file.")
        page = self.visitor.upload("/picture", "picture", b"no picture")
        self.shows(page, "Picture", "We can't read this file as an image. Choose another one.")
        # A generated picture, which the decoder accepts like any other.
        name = base64.urlsafe_b64encode(os.urandom(16)).decode().rstrip("=")
        generated = self.site.get(f"/u/avatar/{name}.png")
        self.assertEqual(generated.headers["Content-Type"], "image/png")
        picture = generated.body
        self.shows(self.visitor.upload("/picture", "picture", picture), "Your account")
        path = re.search(r'src="(/v1/pictures/[^"]+)"', self.visitor.page.body.decode())[1]
        self.assertEqual(self.site.get(path).status, 200)
        self.visitor.open("/account/picture")
        self.shows(self.visitor.submit("/picture/remove"), "Your account")
        self.assertNotIn(b"/v1/pictures/", self.visitor.page.body)

    def test_the_address(self):
        email = self.own_email()
        self.expect(self.register("taken-" + email, PASSWORD), 201)
        self.sign_up(email)
        self.visitor.open("/account/address")
        for address, error in [
                ("", "Enter your email address."),
                ("x", "Enter an address like name@example.com."),
                (email, "This is already your email address."),
                ("taken-" + email, "An account with this email address already exists.")]:
            self.shows(self.visitor.submit(email=address), "Change your email address", error)
        self.shows(self.visitor.submit(email="new-" + email), "Verify your email address")
        self.shows(self.visitor.submit("/code", code="1"), "Verify your email address",
                   "The code must have 8 digits.")
        self.shows(self.visitor.submit("/send"), "Verify your email address")
        code = self.mailed_code("new-" + email, 2)
        wrong = "00000000" if code != "0000 0000" else "11111111"
        self.shows(self.visitor.submit("/code", code=wrong), "Verify your email address",
                   "This code is wrong. Check the code or request a new one. 4 tries left.")
        page = self.visitor.submit("/code", code=code)
        self.shows(page, "Your account")
        self.assertIn("new-" + email, page.text)
        self.assertIn("Verified", page.text)

    def test_an_address_is_verified_by_a_link(self):
        email = self.own_email()
        page = self.sign_up(email)
        self.assertNotIn("Otherwise you can't get back", page.text)
        page = self.shows(self.visitor.submit("/address/verify"), "Your account")
        self.assertIn("We've sent a link to your email address.", page.text)
        # The first mail is that of the registration.
        self.shows(self.visitor.open(self.link(email, "ds_verify", 2)), "Verify your email address")
        self.shows(self.visitor.submit("/verify"), "Email address verified")
        page = self.visitor.open("/account")
        self.assertNotIn("Not verified", page.text)
        self.assertEqual([form.action for form in page.forms if "verify" in form.action], [])

    def test_the_password(self):
        email = self.own_email()
        self.sign_up(email)
        self.visitor.open("/.well-known/change-password")
        self.shows(self.visitor.page, "Change your password")
        self.shows(self.visitor.submit(password="", new_password=""), "Change your password",
                   "Enter your password.", "Enter your password.")
        self.shows(self.visitor.submit(password="wrong horse", new_password="another horse"),
                   "Change your password", "The password is wrong.")
        self.shows(self.visitor.submit(password=PASSWORD, new_password="short"),
                   "Change your password", "The password needs at least 8 characters.")
        self.shows(self.visitor.submit(password=PASSWORD, new_password="another horse"),
                   "Your account")
        self.assertIn("Your password has been changed.", self.visitor.page.text)
        self.shows(self.sign_in(email, "another horse", self.new_visitor()), "Your account")

    def test_sessions(self):
        email = self.own_email()
        self.visitor.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0"
        self.sign_up(email)
        others = [self.new_visitor(), self.new_visitor()]
        for other in others:
            self.sign_in(email, visitor=other)
        page = self.visitor.open("/account/sessions")
        self.shows(page, "Devices and sessions")
        # The session of this device comes first, though it is the oldest one.
        self.assertRegex(page.text, r"(?s)Firefox on Linux.*This device.*Unknown device")
        self.visitor.submit("/sessions/end")
        self.shows(self.visitor.page, "Devices and sessions")
        self.visitor.submit("/sessions/end-others")
        self.shows(self.visitor.page, "Devices and sessions")
        for other in others:
            self.shows(other.open("/account"), "Sign in")
        self.shows(self.visitor.open("/account"), "Your account")

    def test_sensitive_changes_ask_for_the_password_again(self):
        email = self.own_email()
        self.settings(mfa="optional", email_code=True)
        self.sign_up(email)
        for path in ["/account/address", "/account/authenticator", "/account/delete"]:
            self.age(email)
            self.shows(self.visitor.open(path), "Confirm that it's you")
            self.shows(self.visitor.submit("/confirm", password=""), "Confirm that it's you",
                       "Enter your password.")
            self.shows(self.visitor.submit("/confirm", password="wrong horse"),
                       "Confirm that it's you", "The password is wrong.")
            page = self.visitor.submit("/confirm", password=PASSWORD)
            self.assertEqual((page.status, page.path), (200, path))
        self.age(email)
        self.visitor.open("/account/sessions")
        self.visitor.open("/account/confirm?to=/account/sessions")
        self.shows(self.visitor.submit("/cancel"), "Your account")

    def test_a_mailed_code_confirms_the_user(self):
        email = self.own_email()
        self.settings(email_code=True)
        self.verified(email, PASSWORD)
        self.sign_in(email)
        self.age(email)
        self.visitor.open("/account/address")
        self.shows(self.visitor.submit("/confirm/send"), "Confirm that it's you")
        code = self.mailed_code(email)
        wrong = "00000000" if code != "0000 0000" else "11111111"
        self.shows(self.visitor.submit("/confirm", code=wrong), "Confirm that it's you",
                   "This code is wrong. Check the code or request a new one. 4 tries left.")
        self.shows(self.visitor.submit("/confirm", code=code), "Change your email address")

    def test_a_confirmation_leads_to_no_other_server(self):
        email = self.own_email()
        self.sign_up(email)
        for target in ["//evil.example", "https://evil.example", "/v1/me", "/account//../x",
                       "javascript:alert(1)", "/accountx"]:
            self.visitor.open(f"/account/confirm?to={target}")
            self.visitor.submit("/confirm", follow=False, password=PASSWORD)
            location = self.visitor.page.location
            self.assertTrue(location == "/account" or location.startswith("/account/"), location)

    def test_the_data_and_the_deletion(self):
        email = self.own_email()
        self.sign_up(email)
        page = self.visitor.open("/account/data")
        data = self.visitor.open(page.links["Download your data"])
        self.assertEqual(json.loads(data.body)["profile"]["email"], email)
        self.assertIn("account.json", data.headers["Content-Disposition"])
        self.shows(self.visitor.open("/account/delete"), "Delete account")
        self.shows(self.visitor.submit(confirmation="x"), "Delete account",
                   "Type it exactly as shown.")
        self.shows(self.visitor.submit(confirmation=email), "Account deleted")
        self.shows(self.visitor.open("/account"), "Sign in")
        self.expect(self.login(email, PASSWORD), 401)

    def test_identities_and_applications(self):
        self.sign_up(self.own_email())
        self.assertIn("None yet", self.visitor.open("/account/identities").text)
        self.assertIn("None yet", self.visitor.open("/account/applications").text)
        other = "0123456789abcdef01234567"
        self.shows(self.visitor.open(f"/account/identities/{other}"), "Linked accounts")
        self.shows(self.visitor.open(f"/account/applications/{other}"), "Connected apps")

    def test_a_form_of_one_user_changes_no_other(self):
        first, second = self.own_email(), "second-" + self.own_email()
        self.sign_up(first)
        self.visitor.open("/account/profile")
        page = self.visitor.page
        self.visitor.open("/account/switch")
        self.visitor.submit("/another")
        self.visitor.open(self.visitor.page.links["Create account"])
        self.shows(self.visitor.submit(email=second, new_password=PASSWORD), "Your account")
        self.visitor.page = page
        self.shows(self.visitor.submit(name="Eve"), "Request not accepted", status=403)


class Chooser(HostedCase):
    def test_users_of_one_browser(self):
        first, second = "first-" + self.own_email(), "second-" + self.own_email()
        self.sign_up(first)
        self.visitor.open("/account/switch")
        self.visitor.submit("/another")
        self.visitor.open(self.visitor.page.links["Create account"])
        self.shows(self.visitor.submit(email=second, new_password=PASSWORD), "Your account")
        self.assertIn(second, self.visitor.page.text)
        # Switches without a password.
        page = self.visitor.open("/account/switch")
        self.shows(page, "Choose an account")
        form = next(form for form in page.forms if first in form.label)
        self.visitor.page.forms = [form]
        self.shows(self.visitor.submit(), "Your account")
        self.assertIn(first, self.visitor.page.text)
        # After a sign-out no other user is signed in silently.
        self.visitor.submit("/account/sign-out")
        self.shows(self.visitor.open("/account"), "Choose an account")
        self.assertIn("Signed out", self.visitor.page.text)
        form = next(form for form in self.visitor.page.forms if first in form.label)
        self.visitor.page.forms = [form]
        page = self.visitor.submit()
        self.shows(page, "Sign in")
        self.assertEqual(page.forms[0].fields["email"], first)

    def test_sign_out_of_all(self):
        for index in range(2):
            self.visitor.open("/account/switch")
            if index:
                self.visitor.submit("/another")
            self.visitor.open(self.visitor.page.links["Create account"])
            self.visitor.submit(email=f"{index}-{self.own_email()}", new_password=PASSWORD)
        self.visitor.open("/account/switch")
        self.shows(self.visitor.submit("/switch/sign-out"), "Choose an account")
        self.shows(self.visitor.open("/account"), "Sign in")
        self.visitor.open("/account/switch")
        for _ in range(2):
            self.visitor.submit("/switch/remove")
        self.shows(self.visitor.page, "Sign in")


if __name__ == "__main__":
    unittest.main()
