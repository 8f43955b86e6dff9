"""Tests that a stolen session cannot take an address from its owner for good."""

import json
import unittest

from asking import MERGE
from cases import Case
from hosted import PASSWORD
from machine import wait_until
from test_auth0_identities import LinkCase

NEW_PASSWORD = "owners own password"


class Unlinks(LinkCase):
    def owner(self, name):
        """Signs up by an issuer, then links and verifies an address. Returns it, and the grant."""
        email = f"{name}@example.com"
        grant = self.partner_sign_in("sub-" + name)
        identity = {"provider": "password", "email": email, "password": PASSWORD}
        grant.update(self.expect(
            self.post("/v1/me/identities", identity, token=grant["access_token"]), 200).json)
        self.expect(self.verify(self.site.mailed(email, "ds_verify"), grant), 204)
        return email, grant

    def unlink_address(self, user, token):
        path = f"users/auth0%7C{user}/identities/auth0/{user}"
        self.expect(self.management("DELETE", path, token=token), 200)

    def restore(self, email):
        token = self.site.mailed(email, "ds_restore")
        answer = self.post("/v1/email/restore", {"token": token, "password": NEW_PASSWORD})
        return self.expect(answer, 200).json

    def test_an_owner_can_restore_an_address_after_the_new_one_was_unlinked(self):
        email, grant = self.owner("changed")
        tokens = self.page_tokens(email)
        self.change_email(self.expect(self.login(email, PASSWORD), 200).json, "thief@example.com")
        self.unlink_address(grant["user_id"], tokens["access_token"])
        # The thief cannot link a user of its own meanwhile.
        other, _ = self.user("second-thief@example.com")
        body = {"link_with": self.page_tokens(other)["id_token"]}
        answer = self.management(
            "POST", f"users/auth0%7C{grant['user_id']}/identities", body, tokens["access_token"])
        self.assertEqual(answer.status, 409, answer.body)
        self.assertEqual(self.restore(email)["user_id"], grant["user_id"])

    def test_a_back_end_that_unlinks_keeps_the_former_address(self):
        email, grant = self.owner("helped")
        self.change_email(grant, "other@example.com")
        self.unlink_address(grant["user_id"], self.back_end_token())
        self.assertEqual(self.restore(email)["user_id"], grant["user_id"])

    def test_the_owner_of_an_address_is_told_of_its_unlink(self):
        email, grant = self.owner("told")
        self.unlink_address(grant["user_id"], self.page_tokens(email)["access_token"])
        words = "An email address with a password can no longer be used to sign in"
        wait_until(lambda: any(words in " ".join(mail.split()) for mail in self.site.mails(email)),
                   what="a mail about it")

    def test_an_issuers_identity_that_has_the_address_leaves_a_way_back(self):
        email = "imported@example.com"
        row = {"email": email, "email_verified": True,
               "identities": [{"provider": "jwt:https://partner.example", "subject": "sub-own"}]}
        self.site.dossier("user", "import", "-", given=json.dumps(row) + "\n")
        grant = self.partner_sign_in("sub-own")
        self.expect(Case.link(self, grant, provider="jwt", token=self.partner_token("sub-thief")), 200)
        own = next(one for one in self.me(grant, "/identities").json if one["subject"] == "sub-own")
        self.expect(self.site.request("DELETE", f"/v1/me/identities/{own['id']}",
                                      token=grant["access_token"]), 204)
        self.assertIsNone(self.me(grant).json["email"])
        self.assertEqual(self.restore(email)["user_id"], grant["user_id"])
        self.expect(self.me(grant), 401, "session_ended")


class Holders(Case):
    def test_a_takeover_revokes_the_former_addresses_of_the_earlier_holder(self):
        earlier = self.verified("earlier@example.com", PASSWORD)
        self.change_email(earlier, "second@example.com")
        token = self.site.mailed("earlier@example.com", "ds_restore")
        client = self.site.client("--app", "default", "scopes=update:users")["secret"]
        path = f"/v1/users/{earlier['user_id']}"
        self.expect(self.site.request("PATCH", path, {"email": "new@example.com"}, MERGE, client), 200)
        grant = self.reset_by_mail("new@example.com", NEW_PASSWORD)
        self.assertEqual(grant["user_id"], earlier["user_id"])
        answer = self.post("/v1/email/restore", {"token": token, "password": PASSWORD})
        self.expect(answer, 400, "mail_token_invalid")
        self.expect(self.me(grant), 200)


if __name__ == "__main__":
    unittest.main()
