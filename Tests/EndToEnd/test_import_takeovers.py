"""Rows of an import for users whom an attacker has prepared."""

import base64
import json
import unittest

from asking import MERGE
from authenticator import Authenticator, FactorCase
from issuers import IssuerCase, claims

MINE, THEIRS = "correct horse", "another horse altogether"
HASH = "$6$salt$" + "a" * 85 + "."


class ImportTakeovers(IssuerCase):
    def imported(self, row, **options):
        return self.site.dossier(
            "user", "import", "-", "--update-existing", given=json.dumps(row) + "\n", **options)

    def token(self, subject):
        return {"token": self.key.token(claims(subject))}

    def key_of(self, grant):
        return self.expect(self.post("/v1/me/api-keys", {"name": "cron"},
                                     token=grant["access_token"]), 201).json["key"]

    def key_login(self, key):
        return self.post("/v1/login/api-key", {"key": key})

    def assert_ended(self, *grants):
        for grant in grants:
            self.expect(self.me(grant), 401, "session_ended")
            self.expect(self.refresh(grant), 401, "refresh_token_invalid")

    def ended(self, user):
        """Returns the actors and reasons of ended sessions and revoked keys in the audit log."""
        return self.site.sql(
            "select string_agg(told, '; ' order by told) from (select actor || ': ' || "
            "string_agg(distinct action || coalesce(' ' || (detail ->> 'provider'), '') "
            "|| coalesce(' ' || (detail ->> 'reason'), ''), ', ') as told from audit "
            f"where user_id = '{user['user_id']}' "
            "and action in ('unlink', 'device_remove', 'session_end') group by actor) ends")

    def test_a_row_does_not_change_a_user_who_only_registered_its_address(self):
        email = "arrives@example.com"
        thief = self.expect(self.register(email, THEIRS), 201).json
        run = self.imported({"email": email, "password_hash": HASH, "metadata": {"secret": 1}},
                            check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("/email: Another user has this address.", run.stderr)
        self.assertEqual(self.me(thief, "/metadata").json, {})
        self.expect(self.login(email, THEIRS), 200)
        self.assertEqual(self.site.sql(f"select count(*) from users where email = '{email}'"), "1")

    def test_a_row_does_not_change_an_imported_user_who_linked_its_address(self):
        email = "boss@example.com"
        issuer = claims("x")["iss"]
        self.imported({"name": "M", "identities": [{"provider": f"jwt:{issuer}", "subject": "m"}]})
        thief = self.expect(self.post("/v1/login/jwt", self.token("m")), 200).json
        link = self.link(thief, provider="password", email=email, password=THEIRS)
        thief = self.expect(link, 200).json
        # A row with the id does not change who has chosen the address.
        self.imported({"id": thief["user_id"], "email": email})
        run = self.imported({"email": email, "metadata": {"secret": 1}}, check=False)
        self.assertIn("/email: Another user has this address.", run.stderr)
        self.assertEqual(self.me(thief, "/metadata").json, {})

    def test_a_row_changes_the_user_to_whom_an_operator_gave_the_address(self):
        for number, given in enumerate(["created", "moved"]):
            with self.subTest(given):
                email = f"given-{number}@example.com"
                first = email if given == "created" else f"first-{email}"
                user = {"email": first, "password": MINE}
                program = self.site.client(
                    "--app", "default", "scopes=create:users,update:users")["secret"]
                made = self.expect(self.post("/v1/users", user, token=program), 201).json
                if given == "moved":
                    self.expect(self.site.request("PATCH", f"/v1/users/{made['id']}",
                                                  {"email": email}, MERGE, program), 200)
                self.imported({"email": email, "metadata": {"plan": number}})
                grant = self.expect(self.login(email, MINE), 200).json
                self.assertEqual(self.me(grant, "/metadata").json, {"plan": number})

    def test_a_row_that_verifies_the_address_takes_the_account_over(self):
        for number, named in enumerate([True, False]):
            with self.subTest(named=named):
                email = f"verified-by-row-{number}@example.com"
                thief = self.expect(self.register(email, THEIRS), 201).json
                self.expect(self.link(thief, provider="jwt", **self.token(email)), 200)
                key = self.key_of(thief)
                row = {"email": email, "email_verified": True, "metadata": {"secret": 1}}
                self.imported({"id": thief["user_id"], **row} if named else row)
                self.assert_ended(thief)
                self.expect(self.key_login(key), 401)
                self.expect(self.login(email, THEIRS), 401, "wrong_credentials")
                stranger = self.expect(self.post("/v1/login/jwt", self.token(email)), 200).json
                self.assertNotEqual(stranger["user_id"], thief["user_id"])
                # The owner signs in by mail, and nothing further is revoked.
                owner = self.reset_by_mail(email, MINE)
                self.assertEqual(owner["user_id"], thief["user_id"])
                self.assertTrue(self.me(owner).json["email_verified"])
                self.assertEqual(self.me(owner, "/metadata").json, {"secret": 1})
                actions = [event["action"] for event in self.me(owner, "/audit?limit=100").json]
                self.assertEqual(actions.count("account_takeover"), 1)

    def test_a_row_that_links_something_revokes_what_the_guest_had(self):
        issuer = claims("x")["iss"]
        for name, row in [
                ("password", {"email": "row-links@example.com", "password_hash": HASH}),
                ("jwt", {"identities": [{"provider": f"jwt:{issuer}", "subject": "row-links"}]})]:
            with self.subTest(name):
                thief = self.site.login()
                key = self.key_of(thief)
                other = self.expect(self.key_login(key), 200).json
                self.imported({"id": thief["user_id"], **row})
                self.expect(self.key_login(key), 401, "wrong_credentials")
                self.assert_ended(thief, other)
                self.assertEqual(self.ended(thief), "operator:tester: device_remove, session_end link, "
                                 "unlink api-key")
                self.assertEqual(self.site.sql(
                    "select anonymous, (select string_agg(provider, ' ') from identities i "
                    "where i.user_id = u.user_id) from users u "
                    f"where user_id = '{thief['user_id']}'"),
                    "f|" + ("password" if name == "password" else f"jwt:{issuer}"))
        grant = self.expect(self.post("/v1/login/jwt", self.token("row-links")), 200).json
        self.assertEqual(grant["user_id"], thief["user_id"])

    def test_a_row_that_links_nothing_first_revokes_nothing(self):
        guest = self.site.login()
        key = self.key_of(guest)
        other = self.expect(self.key_login(key), 200).json
        self.imported({"id": guest["user_id"], "name": "Guest"})
        owner = self.expect(self.post("/v1/login/jwt", self.token("known")), 200).json
        self.imported({"id": owner["user_id"], "email": "known@example.com", "password_hash": HASH})
        for grant in [guest, other, owner]:
            self.expect(self.me(grant), 200)
        self.expect(self.key_login(key), 200)

    def test_a_row_keeps_the_restore_link_of_the_owner(self):
        thief = self.verified("robbed@example.com", MINE)
        self.change_email(thief, "robber@example.com")
        token = self.site.mailed("robbed@example.com", "ds_restore")
        # Such rows are imported every night.
        for email in ["robber@example.com", "elsewhere@example.com"]:
            self.imported({"id": thief["user_id"], "email": email})
        body = {"token": token, "password": "my old house"}
        self.expect(self.post("/v1/email/restore", body), 200)
        self.expect(self.login("robbed@example.com", "my old house"), 200)

    def test_a_row_that_blocks_a_user_ends_the_sessions(self):
        user = self.expect(self.register("blocked-by-row@example.com", MINE), 201).json
        self.imported({"id": user["user_id"], "blocked": True})
        self.expect(self.me(user), 401)
        self.assertEqual(self.site.sql(
            "select actor || ' ' || (detail ->> 'reason') from audit "
            f"where user_id = '{user['user_id']}' and action = 'session_end'"), "operator:tester blocked")


class FactorTakeovers(FactorCase):
    def take_over(self, email, **members):
        """Imports a row that verifies the address of a user with a second factor."""
        thief = self.expect(self.register(email, THEIRS), 201).json
        authenticator, codes = self.protected(thief)
        row = {"email": email, "email_verified": True, **members}
        self.site.dossier("user", "import", "-", "--update-existing", given=json.dumps(row) + "\n")
        self.expect(self.me(thief), 401, "session_ended")
        return authenticator, codes

    def test_a_row_that_verifies_the_address_removes_second_factors(self):
        email = "guarded@example.com"
        self.take_over(email)
        self.expect_mail(email, "This email address is now verified.")
        owner = self.sign_in_by_code(email)
        self.assertEqual(self.factors(owner)["second_factors"], [])

    def test_the_second_factor_of_the_row_replaces_them(self):
        email, secret = "brought@example.com", bytes(range(20))
        theirs, codes = self.take_over(
            email, totp_secrets=[base64.b32encode(secret).decode().rstrip("=")])
        own = Authenticator({"id": "", "uri": "", "secret": base64.b32encode(secret).decode()})
        asked = self.post("/v1/login/code/request", {"email": email})
        flow = self.expect(asked, 202).json["flow"]
        flow = self.asked(self.enter(flow, self.mailed_code(email)))
        for code in [theirs.code(), codes[0]]:
            self.expect(self.prove(flow, code), 401, "code_invalid")
        self.expect(self.prove(flow, own.code()), 200)


if __name__ == "__main__":
    unittest.main()
