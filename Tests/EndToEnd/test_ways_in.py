"""Mails about changed credentials, what a new password revokes, and refused passwords."""

import unittest

from asking import JSON
from machine import wait_until
from issuers import IssuerCase, claims


class WaysIn(IssuerCase):
    def call(self, grant, method, path, body=None):
        return self.site.request(
            method, path, body, JSON if body is not None else {}, grant["access_token"])

    def make_key(self, grant):
        return self.expect(self.call(grant, "POST", "/v1/me/api-keys", {"name": "cron"}), 201).json

    def change(self, grant, new="battery staple", **others):
        answer = self.call(grant, "POST", "/v1/password/change", {
            "current_password": "correct horse", "new_password": new, **others})
        if answer.status == 200:
            self.renewed(answer, grant)
        return answer

    def key_status(self, key):
        return self.post("/v1/login/api-key", {"key": key}).status

    # Mails to the owner

    def expect_mail(self, email, words, count=1):
        """Waits for `count` mails with these words to the address; returns one of them."""
        wait_until(lambda: sum(words in mail for mail in self.site.mails(email)) >= count,
                   what=f"{count} mails that say {words!r}")
        return next(mail for mail in self.site.mails(email) if words in mail)

    def test_every_change_of_a_login_method_is_mailed_to_the_owner(self):
        email = "told@example.com"
        grant = self.verified(email)
        self.expect_mail(email, "This email address was verified")
        made = self.make_key(grant)
        mail = self.expect_mail(email, "An API key can now be used")
        self.assertIn("Not you? Reset your password with this email address.", mail)
        # The mail contains no text chosen by the caller.
        self.assertNotIn("cron", mail)
        path = f"/v1/me/api-keys/{made['id']}"
        for _ in range(2):
            self.expect(self.call(grant, "PATCH", path, {"disabled": True}), 204)
        self.expect_mail(email, "An API key of your account was disabled")
        self.expect(self.call(grant, "PATCH", path, {"disabled": False}), 204)
        self.expect_mail(email, "An API key of your account can be used again")
        self.expect(self.call(grant, "DELETE", path), 204)
        self.expect_mail(email, "An API key can no longer be used")
        token = self.key.token(claims("told"))
        self.expect(self.link(grant, provider="jwt", token=token), 200)
        self.expect_mail(email, "An account at issuer.example.com can now be used")
        self.expect(self.change(grant), 200)
        self.expect_mail(email, "The password of your account was changed")
        self.reset_by_mail(email, "another staple")
        self.expect_mail(email, "Someone chose a new password for your account")
        grant = self.expect(self.login(email, "another staple"), 200).json
        identities = self.expect(self.me(grant, "/identities"), 200).json
        for provider in ["jwt:https://issuer.example.com", "password"]:
            if provider == "password":
                # The removal also removes the address, which still gets the notice.
                token = self.key.token(claims("told again"))
                self.expect(self.link(grant, provider="jwt", token=token), 200)
            found = next(i["id"] for i in identities if i["provider"] == provider)
            self.expect(self.call(grant, "DELETE", f"/v1/me/identities/{found}"), 204)
        self.expect_mail(email, "An account at issuer.example.com can no longer be used")
        # The notice has the restore link.
        self.assertIn("ds_restore_", self.expect_mail(email, "is no longer the email address of your"))
        # One mail for each change. Disabling the key again changed nothing.
        told = [mail for mail in self.site.mails(email) if "of your account was disabled" in mail]
        self.assertEqual(len(told), 1)
        actions = [event["action"] for event in self.me(grant, "/audit?limit=100").json]
        self.assertEqual(
            (actions.count("api_key_disable"), actions.count("api_key_enable")), (1, 1))

    def test_the_deletion_of_an_account_is_mailed_to_its_owner(self):
        for index, delete in enumerate([
            lambda grant: self.call(grant, "DELETE", "/v1/me"),
            lambda grant: self.site.request(
                "DELETE", f"/v1/users/{grant['user_id']}",
                token=self.site.client("--operator")["secret"]),
        ]):
            email = f"gone{index}@example.com"
            self.expect(delete(self.verified(email)), 204)
            mail = self.expect_mail(email, "Your account and all its data were deleted")
            self.assertIn("Tell the people who run Dossier", mail)

    def test_changes_by_a_client_are_mailed_to_the_owner(self):
        email = "program@example.com"
        grant = self.verified(email)
        made = self.make_key(grant)
        key = self.site.client("--operator")["secret"]
        path = f"/v1/users/{grant['user_id']}/identities/{made['id']}"
        self.expect(self.site.request("DELETE", path, token=key), 204)
        self.expect_mail(email, "An API key can no longer be used")

    def test_an_unverified_address_gets_no_reports(self):
        email = "unproved@example.com"
        grant = self.expect(self.register(email), 201).json
        self.make_key(grant)
        self.expect(self.call(grant, "DELETE", "/v1/me"), 204)
        # A later mail has arrived, so an earlier one would have arrived too.
        self.verified("after@example.com")
        self.expect_mail("after@example.com", "This email address was verified")
        self.assertNotIn("your account", "".join(self.site.mails(email)).lower())

    def test_an_app_sets_the_text_of_the_mail(self):
        self.site.dossier("app", "create", "wordy")
        self.site.dossier("app", "set", "--app", "wordy", "change_subject=Look: {{app}}",
                          "change_text=<<{{change}}|{{advice}}|{{email}}|{{app}}>>")
        app = {"Dossier-App": "wordy"}
        grant = self.expect(self.register("wordy@example.com", headers=app), 201).json
        token = self.site.mailed("wordy@example.com", "ds_verify")
        self.expect(self.verify(token, grant, headers=app), 204)
        mail = self.expect_mail("wordy@example.com", "<<This email address was verified")
        self.assertRegex(mail, r"\|Reset your [^|]*\|wordy at example dot com\|wordy>>")

    # What a new password revokes

    def test_a_new_password_ends_api_keys_unless_they_are_kept(self):
        grant = self.verified("keys@example.com")
        one, two = self.make_key(grant), self.make_key(grant)
        self.expect(self.change(grant, "wrong", keep_api_keys="yes"), 422, "validation_failed")
        self.expect(self.change(grant, keep_api_keys=True), 200)
        self.assertEqual([self.key_status(made["key"]) for made in [one, two]], [200, 200])
        self.renewed(self.call(grant, "POST", "/v1/password/change", {
            "current_password": "battery staple", "new_password": "correct horse",
            "keep_api_keys": False}), grant)
        self.assertEqual([self.key_status(made["key"]) for made in [one, two]], [401, 401])
        self.assertEqual(self.me(grant, "/api-keys").json, [])
        self.assertEqual([i["provider"] for i in self.me(grant, "/identities").json], ["password"])
        three = self.make_key(grant)
        self.expect(self.change(grant), 200)
        self.assertEqual(self.key_status(three["key"]), 401)

    def test_sessions_of_an_api_key_end_with_it(self):
        self.site.sql("delete from rate_limits")
        grant = self.verified("opened@example.com")
        program = self.site.client(
            "--app", "default", "scopes=update:users,read:users")["secret"]

        def live(session):
            return self.me(session).status == 200

        ends = [
            ("api_key_disable", lambda made: self.call(
                grant, "PATCH", f"/v1/me/api-keys/{made['id']}", {"disabled": True})),
            ("api_key_delete", lambda made: self.call(
                grant, "DELETE", f"/v1/me/api-keys/{made['id']}")),
            ("api_key_delete", lambda made: self.call(
                grant, "DELETE", f"/v1/me/identities/{made['id']}")),
            ("api_key_delete", lambda made: self.call(
                {"access_token": program}, "DELETE",
                f"/v1/users/{grant['user_id']}/identities/{made['id']}")),
        ]
        other = self.make_key(grant)
        spared = self.expect(self.post("/v1/login/api-key", {"key": other["key"]}), 200).json
        for number, (reason, end) in enumerate(ends):
            with self.subTest(number=number):
                made = self.make_key(grant)
                opened = [self.expect(self.post("/v1/login/api-key", {"key": made["key"]}), 200)
                          .json for _ in range(2)]
                # Reauthentication by a key binds the session to that key.
                proved = self.expect(self.login("opened@example.com"), 200).json
                self.renewed(self.post(
                    "/v1/reauthenticate", {"provider": "api-key", "key": made["key"]},
                    token=proved["access_token"]), proved)
                self.expect(end(made), 204)
                for session in [*opened, proved]:
                    self.expect(self.me(session), 401, "session_ended")
                    self.expect(self.refresh(session), 401, "refresh_token_invalid")
                self.assertTrue(live(grant) and live(spared))
                reasons = self.site.sql(
                    "select count(*) from audit where action = 'session_end' and "
                    f"user_id = '{grant['user_id']}' and detail ->> 'reason' = '{reason}'")
                self.assertEqual(int(reasons), 3 * max(1, number))
        # A session of a key stays when the key is enabled again, and ends with the key. The session itself is
        # never fresh, since the user has a password.
        path = f"/v1/me/api-keys/{other['id']}"
        self.expect(self.call(spared, "PATCH", path, {"disabled": False}), 401, "reauthentication_required")
        self.expect(self.call(grant, "PATCH", path, {"disabled": False}), 204)
        self.assertTrue(live(spared))
        self.expect(self.call(grant, "DELETE", path), 204)
        self.assertFalse(live(spared))
        self.assertTrue(live(grant))

    def test_sessions_without_a_recorded_key_end_with_any_key(self):
        grant = self.verified("older@example.com")
        one, two = self.make_key(grant), self.make_key(grant)
        opened = self.expect(self.post("/v1/login/api-key", {"key": one["key"]}), 200).json
        self.site.sql("update sessions set key_id = null "
                      f"where user_id = '{grant['user_id']}' and provider = 'api-key'")
        self.expect(self.call(grant, "DELETE", f"/v1/me/api-keys/{two['id']}"), 204)
        self.expect(self.me(opened), 401, "session_ended")
        self.expect(self.me(grant), 200)

    def test_a_reset_ends_api_keys(self):
        grant = self.verified("thief@example.com")
        made = self.make_key(grant)
        self.reset_by_mail("thief@example.com", "battery staple")
        self.assertEqual(self.key_status(made["key"]), 401)
        grant = self.expect(self.login("thief@example.com", "battery staple"), 200).json
        self.assertEqual([i["provider"] for i in self.me(grant, "/identities").json], ["password"])

    # Common and personal passwords

    def fault(self, answer):
        errors = self.expect(answer, 422, "validation_failed").json["errors"]
        self.assertEqual(len(errors), 1, errors)
        self.assertTrue(errors[0]["detail"])
        return errors[0]["pointer"], errors[0]["code"]

    BAD = [("password", "common"), ("PASSWORD1", "common"), ("qwertyuiop", "common"),
           ("iloveyou1", "common"), ("1234567890", "common"),
           ("Password1!", "common"), ("letmein123", "common"), ("Margaret of 2026", "personal"),
           ("x-MARGARET@example.COM-x", "personal"),
           ("my default secret", "personal"), ("dossier of secrets", "personal"),
           ("87654321", "common"), ("asdasdasd", "common"), ("Michelle", "common")]

    def test_a_short_name_counts_as_a_word_of_its_own_only(self):
        for password, status in [("administrators horse 77", 201), ("horse of ADMIN 77", 422),
                                 ("admin2026-horses", 422), ("the badmins of 77", 201)]:
            answer = self.register("admin@example.com", password)
            self.expect(answer, status)
            if status == 422:
                self.assertIn("must not contain admin,", answer.json["errors"][0]["detail"])
            else:
                user = answer.json["user_id"]
                self.site.dossier("user", "delete", "--yes", user)

    def test_every_route_refuses_common_passwords(self):
        self.site.set_app(mail_from_name="Dossier")
        email = "margaret@example.com"
        grant = self.verified(email)
        anonymous = self.site.login()
        key = self.site.client("--operator")["secret"]
        self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
        token = self.site.mailed(email, "ds_reset")
        for password, code in self.BAD:
            with self.subTest(password=password):
                self.assertEqual(
                    self.fault(self.register(email, password)), ("/password", code))
                self.assertEqual(
                    self.fault(self.change(grant, password)), ("/new_password", code))
                self.assertEqual(
                    self.fault(self.post("/v1/password/reset", {
                        "token": token, "password": password})), ("/password", code))
                self.assertEqual(
                    self.fault(self.call(anonymous, "POST", "/v1/me/identities", {
                        "provider": "password", "email": email, "password": password})),
                    ("/password", code))
                self.assertEqual(
                    self.fault(self.post("/v1/users", {"email": email, "password": password},
                                         token=key)), ("/password", code))
        self.expect(self.change(grant, "margarine is not in it"), 200)

    def test_an_app_can_accept_weak_passwords_of_six_characters(self):
        # The setting has a shortest length of its own.
        app = self.site.add_app("weak", weak_passwords=True, password_min_length=12)
        for index, password in enumerate(["sekrit", "passw0rd", "pa55word", "margaret"]):
            email = f"margaret-{index}@example.com"
            self.expect(self.register(email, password, headers=app), 201)
            self.expect(self.login(email, password, headers=app), 200)
        for password in ["sekri", "x" * 1_025]:
            self.assertEqual(
                self.fault(self.register("short@example.com", password, headers=app)),
                ("/password", "length"))
        # Another app keeps its rules.
        self.assertEqual(self.fault(self.register("strong@example.com", "passw0rd")),
                         ("/password", "common"))

    def test_short_names_are_allowed_in_passwords(self):
        # Less than four bytes before the @.
        self.expect(self.register("ada@example.com", "adamant as a rock"), 201)
        self.expect(self.register("adam@example.com", "adam as a rock"), 422, "validation_failed")
        self.expect(self.register("adam@example.com", "adamant as a rock"), 201)


if __name__ == "__main__":
    unittest.main()
