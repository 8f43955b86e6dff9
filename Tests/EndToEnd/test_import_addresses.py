"""An import keeps each address with one user."""

import unittest

from test_import import HASHES, PASSWORD, ImportCase


class Addresses(ImportCase):
    def faults(self, results):
        return [[(fault["pointer"], fault["code"]) for fault in row.get("errors", [])]
                for row in results]

    def test_an_address_belongs_to_one_user_verified_or_not(self):
        other = [{"provider": "jwt:web", "subject": "other"}]
        made = self.load([{"email": "c@example.com", "password_hash": HASHES["2b"]}])[0]["id"]
        self.expect(self.sign_in("c@example.com"), 200)
        taken = self.load([{"email": "C@example.com", "email_verified": True},
                           {"email": "c@example.com", "identities": other},
                           {"id": f"{self.apps + 3000:024x}", "email": "c@example.com"}], status=17)
        self.assertEqual(self.faults(taken), [
            [("/email", "exists")], [("/email", "exists")], [("/email", "email_taken")]])
        # The row is of the user whom the import has made.
        [updated] = self.load([{"email": "c@example.com", "password_hash": HASHES["scrypt"],
                                "identities": other}], "--update-existing")
        self.assertEqual((updated["status"], updated["id"]), ("updated", made))
        self.assertEqual(self.sql("select count(*) from users where app_id = {app}"), "1")
        self.assertEqual(self.sql("select count(*) from identity_subjects where app_id = {app}"), "2")

    def providers(self):
        """Returns the provider of the identity of each address, sorted by address."""
        # Two reads, since Citus does not join them.
        providers = dict(self.pairs("identity_id, provider from identities where app_id = {app}"))
        subjects = self.pairs("subject, identity_id from identity_subjects "
                              "where app_id = {app} and provider = 'email' order by subject")
        return [f"{subject} {providers[identity]}" for subject, identity in subjects]

    def pairs(self, text):
        return [line.split("|") for line in self.sql(f"select {text}").splitlines()]

    def test_each_address_belongs_to_the_identity_of_its_row(self):
        web = [{"provider": "jwt:web", "subject": name} for name in "btn"]
        self.load([
            {"email": "both@example.com", "password_hash": HASHES["2b"], "identities": web[:1]},
            {"email": "told@example.com", "identities": web[1:2]}, {"email": "mail@example.com"},
            {"identities": web[2:]}])
        self.assertEqual(self.providers(), [
            "both@example.com password", "mail@example.com password", "told@example.com jwt:web"])
        # The users exist now. Each keeps its identities.
        self.load([
            {"email": "new@example.com", "identities": web[2:]},
            {"email": "changed@example.com", "identities": web[1:2]},
            {"email": "both@example.com", "password_hash": HASHES["2b"], "identities": web[:1]},
            {"email": "mail@example.com"}], "--update-existing")
        self.assertEqual(self.providers(), [
            "both@example.com password", "changed@example.com jwt:web",
            "mail@example.com password", "new@example.com jwt:web"])
        self.assertEqual(self.sql("select count(*) from identities where app_id = {app}"), "5")

    def test_a_row_does_not_change_a_user_who_only_registered_its_address(self):
        email = "early@example.com"
        thief = self.sign_up_here(email, "what the thief chose")
        row = {"email": email, "password_hash": HASHES["2b"], "metadata": {"secret": 1}}
        refused = self.load([row], "--update-existing", status=17)
        self.assertEqual(self.faults(refused), [[("/email", "email_taken")]])
        self.assertEqual(self.mine(thief, "/metadata").json, {})
        self.assertEqual(self.load([row], "--skip-existing")[0]["status"], "skipped")
        # A row with the id of the user is intended for that user.
        [updated] = self.load([{"id": thief["user_id"], **row}], "--update-existing")
        self.assertEqual(updated["status"], "updated")
        self.expect(self.mine(thief), 200)

    def test_a_row_that_verifies_an_address_takes_the_user_over(self):
        email = "planted@example.com"
        thief = self.sign_up_here(email, "what the thief chose")
        link = self.post("/v1/me/identities", {"provider": "api-key", "name": "planted"},
                         token=thief["access_token"], headers=self.headers)
        key = {"key": self.expect(link, 201).json["key"]}
        [updated] = self.load([{"email": email, "email_verified": True, "metadata": {"secret": 1}}],
                              "--update-existing")
        self.assertEqual((updated["status"], updated["id"]), ("updated", thief["user_id"]))
        self.expect(self.mine(thief), 401, "session_ended")
        self.expect(self.sign_in(email, "what the thief chose"), 401, "wrong_credentials")
        self.expect(self.post("/v1/login/api-key", key, headers=self.headers), 401)
        self.assertEqual(self.sql(
            "select string_agg(distinct action || coalesce(' ' || (detail ->> 'reason'), ''), ', ') "
            "from audit where app_id = {app} and actor = 'operator:tester' and user_id <> app_id"),
            "account_takeover, device_remove, session_end account_takeover, unlink, user_import")
        owner = self.reset_by_mail(email, "what the owner chose", headers=self.headers)
        self.assertEqual(self.mine(owner, "/metadata").json, {"secret": 1})
        # A verified user keeps everything.
        self.load([{"email": email, "email_verified": True, "name": "Ada"}], "--update-existing")
        self.assertEqual(self.mine(owner).json["name"], "Ada")

    def test_the_password_of_a_row_survives_its_takeover(self):
        grant = self.sign_up_here("moves@example.com", "what somebody chose")
        self.load([{"email": "moves@example.com", "email_verified": True,
                    "password_hash": HASHES["2b"]}], "--update-existing")
        self.expect(self.mine(grant), 401)
        self.expect(self.sign_in("moves@example.com", "what somebody chose"), 401)
        self.expect(self.sign_in("moves@example.com"), 200)

    def test_a_changed_address_revokes_tokens_mailed_to_the_old_one(self):
        grant = self.sign_up_here("before@example.com", PASSWORD)
        token = self.site.mailed("before@example.com", "ds_verify")
        row = {"id": grant["user_id"], "email": "before@example.com"}
        # Like rows of a nightly import.
        self.load([row], "--update-existing")
        self.expect(self.verify(token, grant, headers=self.headers), 204)
        asked = self.expect(self.post("/v1/me/email", {"email": "pending@example.com"},
                                      token=grant["access_token"], headers=self.headers), 202).json
        code = self.mailed_code("pending@example.com")
        self.load([{**row, "email": "after@example.com"}], "--update-existing")
        self.expect(self.post("/v1/me/email/verify", {"flow": asked["flow"], "code": code},
                              token=grant["access_token"], headers=self.headers), 401, "code_invalid")
        self.assertEqual(self.mine(grant).json["email"], "after@example.com")
        self.expect(self.sign_in("after@example.com"), 200)
        # The former address is free.
        self.sign_up_here("before@example.com", PASSWORD)

    def test_a_former_address_is_reserved_for_its_user(self):
        user = self.load([{"email": "now@example.com", "email_verified": True}])[0]["id"]
        former = {"email": "former@example.com", "email_verified": True}
        self.sql("insert into identity_subjects (app_id, provider, subject, user_id, identity_id, "
                 "reserved_until) select app_id, provider, 'former@example.com', user_id, identity_id, "
                 "now() + interval '1 day' from identity_subjects where app_id = {app}")
        for flags in [[], ["--update-existing"]]:
            refused = self.load([former], *flags, status=17)
            self.assertEqual(self.faults(refused), [[("/email", "email_taken")]])
        self.assertEqual(self.load([{"id": user, **former}], "--update-existing")[0]["status"],
                         "updated")
        subjects = "select string_agg(subject, ' ' order by subject) from identity_subjects " \
                   "where app_id = {app} and reserved_until is null"
        self.assertEqual(self.sql(subjects), "former@example.com")
        self.sql("insert into identity_subjects (app_id, provider, subject, user_id, identity_id, "
                 "reserved_until) select app_id, provider, 'expired@example.com', user_id, identity_id, "
                 "now() - interval '1 day' from identity_subjects where app_id = {app}")
        [made] = self.load([{"email": "expired@example.com"}])
        self.assertEqual((made["status"], made["id"] != user), ("created", True))
        self.assertEqual(self.sql(subjects), "expired@example.com former@example.com")


if __name__ == "__main__":
    unittest.main()
