"""Mailed links at the hosted pages."""

import unittest

from hosted import PASSWORD, HostedCase


class MailedLinks(HostedCase):
    def test_a_link_verifies_an_address_by_the_session_of_its_user(self):
        email = self.own_email()
        self.sign_up(email)
        path = self.link(email, "ds_verify")
        for _ in range(2):
            page = self.visitor.open(path)
            self.shows(page, "Verify your email address")
            self.assertNotIn("password", page.forms[0].fields)
        page = self.shows(self.visitor.submit("/verify"), "Email address verified")
        self.assertEqual(page.links["Dossier"], "/")
        self.assertIn("Verified", self.visitor.open("/account").text)
        # A used link of a verified address says so, in every browser.
        self.shows(self.visitor.open(path), "Already verified")
        self.shows(self.new_visitor().open(path), "Already verified")
        forged = path[:-4] + "AAAA"
        self.shows(self.new_visitor().open(forged), "Link expired", status=404)
        self.site.sql(f"update users set email_verified = false where email = '{email}'")
        self.shows(self.visitor.open(path), "Link expired", status=404)

    def test_a_link_verifies_an_address_by_the_password_in_another_browser(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.visitor.open(self.link(email, "ds_verify"))
        self.shows(self.visitor.submit("/verify", password=""), "Verify your email address",
                   "Enter your password.")
        self.shows(self.visitor.submit("/verify", password="wrong horse"),
                   "Verify your email address", "The password is wrong.")
        self.shows(self.visitor.submit("/verify", password=PASSWORD), "Email address verified")

    def test_a_recipient_who_did_not_sign_up_chooses_a_password(self):
        email = self.own_email()
        grant = self.expect(self.register(email, "password of another"), 201).json
        self.visitor.open(self.link(email, "ds_verify"))
        page = self.visitor.submit("/verify/disown")
        self.shows(page, "Reset your password")
        self.assertEqual(page.forms[0].fields["email"], email)
        self.shows(self.visitor.submit("/forgot"), "Check your email")
        self.visitor.open(self.link(email, "ds_reset"))
        self.shows(self.visitor.submit("/reset", new_password=PASSWORD), "Your account")
        self.expect(self.me(grant), 401)

    def test_a_forgotten_password(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.visitor.open("/account")
        self.visitor.submit(email=email)
        page = self.visitor.open(self.visitor.page.links["Forgot your password?"])
        self.shows(page, "Reset your password")
        self.assertEqual(page.forms[0].fields["email"], email)
        self.shows(self.visitor.submit(email=""), "Reset your password", "Enter your email address.")
        self.shows(self.visitor.submit(email=email), "Check your email")
        self.shows(self.visitor.submit("/mail-sent"), "Check your email")
        path = self.link(email, "ds_reset", 2)
        self.shows(self.visitor.open(path), "Choose a new password")
        self.shows(self.visitor.submit(new_password="short"), "Choose a new password",
                   "The password needs at least 8 characters.")
        self.shows(self.visitor.submit(new_password=""), "Choose a new password",
                   "Enter your password.")
        # In the browser that has asked for the link, the user is signed in.
        self.shows(self.visitor.submit(new_password="another horse"), "Your account")
        self.shows(self.visitor.open(path), "Link expired", status=404)
        self.shows(self.visitor.open(self.visitor.page.links["Request a new link"]),
                   "Reset your password")
        self.shows(self.sign_in(email, "another horse", self.new_visitor()), "Your account")

    def test_a_changed_address_is_restored(self):
        email = self.own_email()
        grant = self.verified(email, PASSWORD)
        self.change_email(grant, "new-" + email)
        path = self.link(email, "ds_restore")
        self.shows(self.visitor.open(path), "Restore your email address")
        self.shows(self.visitor.submit(new_password="short"), "Restore your email address",
                   "The password needs at least 8 characters.")
        self.shows(self.visitor.submit(new_password="another horse"), "Email address restored")
        self.assertIn(email, self.visitor.open("/account").text)
        self.expect(self.me(grant), 401)

    def test_forged_links(self):
        for path in ["/u/verify", "/u/restore"]:
            for query in ["", "?token=", "?token=ds_verify_x", "?token=%00", "?token=a&token=b"]:
                with self.subTest(path + query):
                    self.shows(self.visitor.open(path + query), "Link expired", status=404)


if __name__ == "__main__":
    unittest.main()
