"""Tests the mailed link that restores a former address for 7 days after any change."""

import unittest

from cases import Case
from machine import wait_until

MINE, THEIRS = "my old house", "thiefs house"


class EmailRestore(Case):
    def setUp(self):
        self.site.sql("delete from rate_limits")

    def restore(self, token, password=MINE):
        return self.post("/v1/email/restore", {"token": token, "password": password})

    def moved(self, old, new):
        """Creates a user with a changed address. Returns it and the token that restores the old one."""
        grant = self.verified(old)
        self.change_email(grant, new)
        return grant, self.site.mailed(old, "ds_restore")

    def address(self, grant):
        me = self.expect(self.me(grant), 200).json
        return me["email"], me["email_verified"]

    def audit(self, grant):
        return [event["action"] for event in self.expect(self.me(grant, "/audit"), 200).json]

    def unlink(self, grant, provider="password"):
        identity, = [i for i in self.me(grant, "/identities").json if i["provider"] == provider]
        self.expect(self.site.request("DELETE", f"/v1/me/identities/{identity['id']}",
                                      token=grant["access_token"]), 204)

    def key_of(self, grant):
        return self.expect(self.post("/v1/me/api-keys", {"name": "only"},
                                     token=grant["access_token"]), 201).json["key"]

    def words(self, email):
        """Returns the text of all mails to an address, with single spaces."""
        return " ".join("".join(self.site.mails(email)).split())

    def expire(self, user, email):
        """Expires a restore link."""
        self.site.sql(
            "update mail_tokens set expires_at = now() where purpose = 'restore' "
            f"and user_id = '{user}' and email = '{email}'; "
            f"update identity_subjects set reserved_until = now() where user_id = '{user}' "
            f"and subject = '{email}' and reserved_until is not null")

    # A change

    def test_the_recipient_at_the_old_address_restores_the_account(self):
        thief, token = self.moved("mine@example.com", "thief@example.com")
        key = self.key_of(thief)
        self.expect(self.restore(token, "short"), 422, "validation_failed")
        grant = self.expect(self.restore(token), 200).json
        self.assertEqual(grant["user_id"], thief["user_id"])
        # All credentials of the thief are revoked.
        self.expect(self.me(thief), 401, "session_ended")
        self.expect(self.refresh(thief), 401, "refresh_token_invalid")
        self.expect(self.post("/v1/login/api-key", {"key": key}), 401, "wrong_credentials")
        for email in ["mine@example.com", "thief@example.com"]:
            self.expect(self.login(email), 401, "wrong_credentials")
        again = self.expect(self.login("mine@example.com", MINE), 200).json
        self.assertEqual(self.address(again), ("mine@example.com", True))
        self.assertIn("email_restore", self.audit(grant))
        self.expect(self.restore(token), 400, "mail_token_invalid")

    def test_a_link_is_valid_for_7_days(self):
        grant, token = self.moved("late@example.com", "later@example.com")
        self.assertEqual(self.site.sql(
            "select round(extract(epoch from max(expires_at) - now()) / 86400) from mail_tokens "
            "where purpose = 'restore'"), "7")
        self.expire(grant["user_id"], "late@example.com")
        self.expect(self.restore(token), 400, "mail_token_invalid")
        self.assertEqual(self.address(grant), ("later@example.com", True))

    def test_the_former_address_is_reserved_for_its_user_as_long_as_the_link(self):
        grant, _ = self.moved("reserved@example.com", "present@example.com")
        other = self.verified("other@example.com")
        link = {"provider": "password", "email": "reserved@example.com", "password": THEIRS}

        self.expect(self.register("Reserved@example.com", THEIRS), 409, "email_taken")
        self.expect(self.link(self.site.login(), **link), 409, "email_taken")
        # A code can be mailed to the address, but does not give it to another user.
        asked = self.post("/v1/me/email", {"email": "reserved@example.com"},
                          token=other["access_token"])
        body = {"flow": self.expect(asked, 202).json["flow"],
                "code": self.mailed_code("reserved@example.com")}
        self.expect(self.post("/v1/me/email/verify", body, token=other["access_token"]), 409,
                    "email_taken")
        # No user signs in by it, and no mail is sent for it.
        self.expect(self.login("reserved@example.com"), 401, "wrong_credentials")
        self.expect(self.post("/v1/password/reset-request", {"email": "reserved@example.com"}), 202)
        # The user can use the address again.
        self.change_email(grant, "reserved@example.com")
        self.assertEqual(self.address(grant), ("reserved@example.com", True))
        self.change_email(grant, "present@example.com")
        self.assertEqual(self.site.tokens("reserved@example.com", "ds_reset"), [])
        self.expire(grant["user_id"], "reserved@example.com")
        self.assertNotEqual(
            self.expect(self.register("reserved@example.com", THEIRS), 201).json["user_id"],
            grant["user_id"])

    def test_a_code_cannot_register_a_reserved_address_with_verify_first(self):
        app = self.site.add_app("careful", sign_up="verify_first", email_code=True)
        grant = self.sign_up("held@example.com", headers=app)
        self.change_email(grant, "holder@example.com", headers=app)
        self.site.mailed("held@example.com", "ds_restore")
        body = {"email": "held@example.com"}
        for ask in [lambda: self.register("held@example.com", THEIRS, headers=app),
                    lambda: self.post("/v1/login/code/request", body, headers=app)]:
            count = len(self.codes("held@example.com"))
            flow = self.expect(ask(), 202).json["flow"]
            code = self.mailed_code("held@example.com", count + 1)
            self.expect(self.enter(flow, code, headers=app), 409, "email_taken")
        self.assertEqual(self.site.sql("select string_agg(user_id, ' ') from identity_subjects "
                                       "where subject = 'held@example.com'"), grant["user_id"])

    def test_a_restore_link_survives_later_changes_of_an_attacker(self):
        thief, token = self.moved("victim@example.com", "step1@example.com")
        self.change_email(thief, "step2@example.com")
        second = self.site.mailed("step1@example.com", "ds_restore")
        # The address is unlinked.
        self.key_of(thief)
        self.unlink(thief)
        self.expect(self.restore(token), 200)
        self.expect(self.login("victim@example.com", MINE), 200)
        self.expect(self.restore(second), 400, "mail_token_invalid")

    def test_a_restore_link_survives_the_use_of_a_later_link(self):
        thief, token = self.moved("first@example.com", "second@example.com")
        self.change_email(thief, "third@example.com")
        self.expect(self.restore(self.site.mailed("second@example.com", "ds_restore"), THEIRS), 200)
        thief = self.expect(self.login("second@example.com", THEIRS), 200).json
        self.change_email(thief, "fourth@example.com")
        younger = self.site.mailed("second@example.com", "ds_restore", 2)
        self.expect(self.restore(token), 200)
        # Links that were mailed later are useless.
        self.expect(self.me(thief), 401, "session_ended")
        self.expect(self.restore(younger, THEIRS), 400, "mail_token_invalid")
        grant = self.expect(self.login("first@example.com", MINE), 200).json
        self.assertEqual(self.address(grant), ("first@example.com", True))

    def test_the_address_that_a_link_displaces_gets_a_mail(self):
        _, token = self.moved("displacing@example.com", "displaced@example.com")
        count = len(self.site.mails("displaced@example.com"))
        self.expect(self.restore(token), 200)
        wait_until(lambda: len(self.site.mails("displaced@example.com")) > count,
                   what="the mail to the address that is displaced")
        # It restores nothing for the thief.
        self.assertEqual(self.site.tokens("displaced@example.com", "ds_restore"), [])

    # An unlinked address

    def test_the_recipient_at_an_unlinked_address_restores_it(self):
        thief = self.verified("unlinked@example.com")
        key = self.key_of(thief)
        self.unlink(thief)
        self.assertEqual(self.address(thief), (None, False))
        # One mail reports it, with a link that is valid as long as after a change.
        token = self.site.mailed("unlinked@example.com", "ds_restore")
        self.assertEqual(self.site.sql(
            "select purpose, round(extract(epoch from expires_at - now()) / 86400) "
            f"from mail_tokens where user_id = '{thief['user_id']}'"), "restore|7")
        self.expect(self.register("unlinked@example.com", THEIRS), 409, "email_taken")
        # The account cannot get another address until the link has expired.
        answer = self.expect(self.post("/v1/me/identities", {
            "provider": "password", "email": "thiefs@example.com", "password": "correct horse"},
            token=thief["access_token"]), 409, "email_restore_pending")
        self.assertIn(answer.json["until"], answer.json["detail"])
        self.expect(self.restore(token), 200)
        self.expect(self.me(thief), 401, "session_ended")
        self.expect(self.post("/v1/login/api-key", {"key": key}), 401, "wrong_credentials")
        grant = self.expect(self.login("unlinked@example.com", MINE), 200).json
        self.assertEqual(grant["user_id"], thief["user_id"])
        self.assertEqual(self.address(grant), ("unlinked@example.com", True))
        # The account works: its password can be reset.
        again = self.reset_by_mail("unlinked@example.com", "another house")
        self.assertLessEqual({"unlink", "email_restore"}, set(self.audit(again)))
        self.expect(self.restore(token), 400, "mail_token_invalid")

    def test_an_account_with_a_pending_restore_links_no_other_address(self):
        attacker, token = self.moved("attacker@example.com", "attackers@example.com")
        self.key_of(attacker)
        self.unlink(attacker)
        second = self.site.mailed("attackers@example.com", "ds_restore")
        link = {"provider": "password", "email": "pre-hijacked@example.com",
                "password": "correct horse"}
        path = ("/v1/me/identities", link)
        self.expect(self.post(*path, token=attacker["access_token"]), 409, "email_restore_pending")
        self.assertEqual(self.address(attacker), (None, False))
        # The victim gets an account of its own.
        self.expect(self.register("pre-hijacked@example.com", "victims house"), 201)
        victim = self.reset_by_mail("pre-hijacked@example.com", "victims pass")
        self.assertNotEqual(victim["user_id"], attacker["user_id"])
        # The account gets an address again when each link has expired.
        link["email"] = "next@example.com"
        self.expire(attacker["user_id"], "attacker@example.com")
        self.expect(self.restore(token), 400, "mail_token_invalid")
        self.expect(self.post(*path, token=attacker["access_token"]), 409, "email_restore_pending")
        self.expire(attacker["user_id"], "attackers@example.com")
        self.expect(self.restore(second), 400, "mail_token_invalid")
        self.expect(self.post(*path, token=attacker["access_token"]), 200)

    def test_an_unverified_address_that_was_unlinked_gets_no_link_and_is_free(self):
        grant = self.expect(self.register("claimant@example.com"), 201).json
        self.key_of(grant)
        self.unlink(grant)
        self.assertEqual(self.site.sql(
            f"select count(*) from mail_tokens where user_id = '{grant['user_id']}'"), "0")
        self.expect(self.register("claimant@example.com", THEIRS), 201)

    def test_an_address_removed_by_a_client_gets_a_mail_without_a_link(self):
        grant = self.verified("by-program@example.com")
        self.key_of(grant)
        count = len(self.site.mails("by-program@example.com"))
        key = self.site.client("--app", "default", "scopes=update:users")["secret"]
        identity, = [i for i in self.me(grant, "/identities").json if i["provider"] == "password"]
        self.expect(self.site.request(
            "DELETE", f"/v1/users/{grant['user_id']}/identities/{identity['id']}", token=key), 204)
        wait_until(lambda: "can't undo this" in self.words("by-program@example.com"),
                   what="the mail to the owner")
        self.assertGreater(len(self.site.mails("by-program@example.com")), count)
        self.assertEqual(self.site.tokens("by-program@example.com", "ds_restore"), [])

    def test_a_deleted_user_reserves_no_address(self):
        grant, token = self.moved("gone@example.com", "gone-too@example.com")
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)
        self.expect(self.restore(token), 400, "mail_token_invalid")
        for email in ["gone@example.com", "gone-too@example.com"]:
            self.expect(self.register(email, THEIRS), 201)

    def test_the_owner_at_a_restorable_address_learns_of_the_deletion(self):
        thief, _ = self.moved("robbed@example.com", "robber@example.com")
        self.expect(self.site.request("DELETE", "/v1/me", token=thief["access_token"]), 204)
        for email in ["robbed@example.com", "robber@example.com"]:
            wait_until(lambda: "all its data were deleted" in self.words(email),
                       what=f"the mail to {email}")


if __name__ == "__main__":
    unittest.main()
