"""Users who have only an account at an issuer, and the end of accounts."""

import json
import unittest

from connections import IDENTITIES
from test_connections_accounts import RESTORE_FIRST, AccountCase


class WithoutAddress(AccountCase):
    """Users whom an issuer gave no address."""

    def setUp(self):
        super().setUp()
        self.never.is_new(self.own_email())
        self.signed_in_at(self.never)

    def test_all_pages_of_the_account_open(self):
        self.settings(mfa="optional", email_code=True)
        page = self.visitor.open("/account")
        self.assertIn("Ada Lovelace", page.text)
        paths = {path.split("?")[0] for path in page.links.values() if path.startswith("/account/")}
        self.assertTrue(paths)
        for path in sorted(paths):
            page = self.visitor.open(path)
            self.assertEqual(page.status, 200, path)
            self.assertNotIn("None", page.text)

    def test_an_address_is_added(self):
        email = "added-" + self.own_email()
        self.visitor.open("/account/address")
        self.visitor.submit(email=email)
        # A digit is missing: the field keeps the others.
        page = self.visitor.submit(code="1234 567")
        self.assertEqual(page.forms[0].fields["code"], "1234 567")
        self.visitor.submit(code=self.mailed_code(email))
        stored = self.stored(self.owner(self.never), "email, email_verified")
        self.assertEqual(stored, f"{email}|t")
        # The next sign-in at the issuer keeps it.
        self.assertEqual(self.signed_in_at(self.never, self.new_visitor())["email"], email)

    def test_a_removed_address_can_be_restored_before_another_is_added(self):
        for email in ["one-" + self.own_email(), "two-" + self.own_email()]:
            self.visitor.open("/account/address")
            self.visitor.submit(email=email)
            self.visitor.submit(code=self.mailed_code(email))
        user = self.owner(self.never)
        self.site.sql("delete from identities "
                      f"where provider = 'email' and user_id = '{user}'")
        self.visitor.open("/account/address")
        self.shows(self.visitor.submit(email="three-" + self.own_email()),
                   "Change your email address", RESTORE_FIRST)

    def test_a_second_account_is_linked_though_no_mail_can_tell(self):
        self.trusted.is_new()
        page = self.link_here(self.trusted)
        self.assertEqual(page.heading.strip(), IDENTITIES, page.text)
        self.assertEqual(self.owner(self.trusted), self.owner(self.never))

    def test_the_account_is_deleted(self):
        user = self.owner(self.never)
        self.shows(self.visitor.open("/account/delete"), "Delete account")
        self.assertIn(user, self.visitor.page.text)
        self.shows(self.visitor.submit(confirmation="x"), "Delete account",
                   "Type it exactly as shown.")
        self.shows(self.visitor.submit(confirmation=user), "Account deleted")
        self.assertIsNone(self.owner(self.never))
        # The next sign-in makes a new account.
        self.assertNotEqual(self.signed_in_at(self.never)["sub"], user)


class Ends(AccountCase):
    """The end of an account, and of the secrets that it needs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.apple = cls.connect("apple", email_trust="verified")

    def granted(self):
        """Signs a person in at Apple. Returns the user."""
        self.apple.is_new(self.own_email())
        self.signed_in_at(self.apple)
        return self.owner(self.apple)

    def test_an_export_has_the_identities_and_no_tokens(self):
        user = self.granted()
        text = self.site.dossier("user", "export", user, output="text")
        found = json.dumps(json.loads(text))
        self.assertIn(self.apple.person.subject, found)
        for word in ["refresh_token", "sealed", "r-", *self.apple.tokens]:
            self.assertNotIn(f'"{word}', found)

    def test_no_secret_is_stored_or_shown(self):
        issuer = self.connect("oidc", "sealed")
        stored = self.site.sql("select connections::text from connections")
        for secret in [issuer.secret, self.apple.client_key.private.splitlines()[1]]:
            self.assertNotIn(secret, stored)
        shown = json.dumps([self.site.dossier("connection", "list"), self.site.dossier(
            "connection", "show", "sealed"), self.site.dossier("connection", "show", "apple")])
        self.assertNotIn(issuer.secret, shown)
        self.assertNotIn("PRIVATE KEY", shown)


if __name__ == "__main__":
    unittest.main()
