"""The operator's commands for users and the audit log."""

import json
import re
import unittest

from cases import Administration
from machine import wait_until


class UserCommands(Administration):
    def test_users_are_listed_in_pages_and_shown(self):
        self.site.dossier("app", "create", "pages")
        app = {"Dossier-App": "pages"}
        ids = [self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200).json["user_id"]
               for _ in range(5)]
        first = self.site.dossier("user", "list", "--app", "pages", "--limit", "3", check=False)
        self.assertEqual([user["id"] for user in json.loads(first.stdout)], ids[:1:-1])
        cursor = re.search("--cursor (\\S+),", first.stderr)[1]
        rest = self.site.dossier("user", "list", "--app", "pages", "--cursor", cursor)
        self.assertEqual([user["id"] for user in rest], ids[1::-1])
        shown = self.site.dossier("user", "show", ids[0], "--app", "pages")
        self.assertEqual((shown["anonymous"], shown["login_count"]), (True, 1))
        self.assertEqual([row["provider"] for row in shown["identities"]], ["anonymous"])
        self.assertEqual(len(shown["sessions"]), 1)
        self.refused(10, "user", "show", ids[0])
        self.refused(64, "user", "list", "--limit", "0")
        self.refused(12, "user", "list", "--cursor", "x", words="cursor")

    def test_a_user_is_blocked_unblocked_and_logged_out(self):
        grant = self.verified("ada@example.com")
        blocked = self.site.dossier("user", "block", "--yes", "ADA@example.com")
        self.assertEqual((blocked["id"], blocked["blocked"]), (grant["user_id"], True))
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.login("ada@example.com"), 401, "wrong_credentials")
        self.site.dossier("user", "block", "--yes", grant["user_id"])
        self.assertFalse(self.site.dossier("user", "unblock", "ada@example.com")["blocked"])
        # The sessions have ended for good.
        self.expect(self.me(grant), 401, "session_ended")
        again = self.expect(self.login("ada@example.com"), 200).json
        self.site.dossier("user", "logout", "--yes", "ada@example.com")
        self.expect(self.me(again), 401, "session_ended")
        self.expect(self.refresh(again), 401, "refresh_token_invalid")
        events = [(event["action"], event["actor"]) for event in
                  self.audit_events("--user", "ada@example.com")
                  if event["actor"] == "operator:tester"]
        self.assertEqual(
            sorted(events), [("device_remove", "operator:tester")] * 2
            + [("session_end", "operator:tester")] * 2 + [("user_block", "operator:tester"),
                            ("user_unblock", "operator:tester")])

    def test_the_sessions_of_a_user_are_listed_and_one_is_ended(self):
        first = self.expect(self.register("grace@example.com"), 201).json
        second = self.expect(self.login("grace@example.com"), 200).json
        rows = self.site.dossier("session", "list", "grace@example.com")
        self.assertEqual(len(rows), 2)
        # Words that other programs have do the same.
        self.assertEqual(self.site.dossier("users", "sessions", "grace@example.com"), rows)
        self.site.dossier("session", "end", "grace@example.com", rows[0]["id"])
        self.assertEqual(sorted([self.me(first).status, self.me(second).status]), [200, 401])
        [left] = self.site.dossier("session", "list", first["user_id"])
        self.assertEqual(left["id"], rows[1]["id"])
        self.refused(10, "session", "end", "grace@example.com", rows[0]["id"])

    def test_an_address_verified_by_the_operator_revokes_nothing_until_a_reset(self):
        grant = self.expect(self.register("told@example.com"), 201).json
        key = self.expect(self.post("/v1/me/api-keys", {"name": "x"},
                                    token=grant["access_token"]), 201).json["key"]
        verified = self.site.dossier("user", "verify-email", "told@example.com")
        self.assertEqual((verified["id"], verified["email"], verified["email_verified"]),
                         (grant["user_id"], "told@example.com", True))
        self.expect(self.me(grant), 200)
        again = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
        # Again, it changes nothing.
        self.site.dossier("user", "verify-email", grant["user_id"])
        self.expect(self.me(again), 200)
        count = [event["action"] for event in self.audit_events("--user", grant["user_id"])]
        self.assertEqual(count.count("email_verify"), 1)
        # An attacker may have created the user, so the recipient of the mail takes the account over.
        self.reset_by_mail("told@example.com", "another horse")
        self.expect(self.post("/v1/login/api-key", {"key": key}), 401, "wrong_credentials")
        count = [event["action"] for event in self.audit_events("--user", grant["user_id"])]
        self.assertEqual(count.count("account_takeover"), 1)
        self.refused(10, "user", "verify-email", self.site.login()["user_id"])
        self.refused(10, "user", "verify-email", "0" * 24)

    def test_a_user_is_deleted_and_its_audit_log_is_kept(self):
        grant = self.verified("gone@example.com")
        self.refused(23, "user", "delete", "gone@example.com", words=grant["user_id"])
        self.expect(self.me(grant), 200)
        self.site.dossier("user", "delete", "gone@example.com", "--yes")
        self.expect(self.me(grant), 401, "session_ended")
        self.refused(10, "user", "show", grant["user_id"])
        event = self.audit_events("--user", grant["user_id"])[0]
        self.assertEqual((event["action"], event["actor"]), ("user_delete", "operator:tester"))
        self.expect(self.register("gone@example.com"), 201)
        self.refused(10, "user", "delete", grant["user_id"], "--yes")
        self.refused(10, "audit", "--user", "0" * 24)

    def test_any_request_of_the_management_api_can_be_sent(self):
        user = self.site.login()["user_id"]
        path = f"/v1/users/{user}/app-metadata"

        def api(*words, **options):
            return self.site.dossier("api", *words, **options)

        self.assertEqual(api("put", path, "-", given='{"plan": "free"}'), {"plan": "free"})
        self.assertEqual(api("PATCH", path, "-", given='{"plan": null, "seats": 4}'), {"seats": 4})
        self.assertEqual(
            api("PATCH", path, "-", given='[{"op": "add", "path": "/seats", "value": 5}]'),
            {"seats": 5})
        self.assertEqual(api("GET", path), {"seats": 5})
        self.refused(13, "api", "PUT", path, "-", "--if-version", "1", given="{}")
        self.refused(12, "api", "PUT", path, "-", given="{", words="At byte 1")
        self.refused(10, "api", "GET", path, "--app", "nope")
        self.refused(10, "api", "GET", "/v1/nowhere", words="Path: /v1/nowhere")
        # The operator may not use the routes of users and devices.
        self.refused(1, "api", "GET", "/v1/me", words="The access token is missing.")
        event = self.audit_events("--user", user)[0]
        self.assertEqual((event["action"], event["actor"]), ("data_change", "operator:tester"))
        self.assertRegex(event["agent"], r"^dossier \(.+\)$")

    def test_the_audit_log_has_pages(self):
        first = self.site.dossier("audit", "--limit", "2", check=False)
        cursor = re.search("--cursor ([0-9a-f]{24})", first.stderr)[1]
        second = self.audit_events("--limit", "2", "--cursor", cursor)
        ids = [event["id"] for event in json.loads(first.stdout) + second]
        self.assertEqual(ids, sorted(set(ids), reverse=True))
        self.refused(12, "audit", "--cursor", "x", words="cursor")
        self.refused(10, "audit", "--app", "nope")

    def test_all_sessions_of_an_app_or_an_issuer_are_ended(self):
        app, other = self.site.add_app("ending"), self.site.add_app("staying")
        for name in ["ending", "staying"]:
            self.site.add_issuer("web", app=name, jwks={"keys": []})

        def login(headers):
            return self.expect(self.post("/v1/login/anonymous", {}, headers=headers), 200).json

        def link(grant, issuer):
            # As if the user had linked a token of the issuer.
            self.site.sql(
                "insert into identities (user_id, identity_id, app_id, provider, subject) select "
                f"user_id, new_object_id(), app_id, 'jwt:{issuer}', user_id from users "
                f"where user_id = '{grant['user_id']}'; "
                "insert into identity_subjects (app_id, provider, subject, user_id, identity_id) "
                "select app_id, provider, subject, user_id, identity_id from identities "
                f"where user_id = '{grant['user_id']}' and provider like 'jwt:%'")
            return grant

        def statuses(*grants, headers=app):
            return [self.me(grant, headers=headers).status for grant in grants]

        one = link(login(app), "https://issuer.example.com")
        removed = link(login(app), "https://removed.example.com")
        neither, elsewhere = login(app), link(login(other), "https://issuer.example.com")
        # More users than one batch.
        self.site.sql("insert into users (user_id, app_id, anonymous) select new_object_id(), app_id, "
                      "true from apps, generate_series(1, 2100) where name = 'ending'")
        late = link(login(app), "https://issuer.example.com")
        # A list takes as many pages as it needs.
        whole = [user["id"] for user in
                 self.site.dossier("user", "list", "--app", "ending", "--all")]
        self.assertEqual((len(whole), len(set(whole))), (2104, 2104))
        part = self.site.dossier("user", "list", "--app", "ending", "--limit", 150, check=False)
        self.assertEqual([user["id"] for user in json.loads(part.stdout)], whole[:150])
        self.assertIn(f"--cursor {whole[149]}.", part.stderr)
        end = ["session", "end-all", "--app", "ending", "--yes"]
        self.refused(10, *end, "--issuer", "nobody")
        self.assertEqual(statuses(one, removed, neither, late), [200] * 4)
        self.assertEqual(self.site.dossier(*end, "--issuer", "web"),
                         {"app": "ending", "sessions": 2})
        self.assertEqual(statuses(one, removed, neither, late), [401, 200, 200, 401])
        self.assertEqual(self.site.dossier(*end, "--issuer", "https://removed.example.com"),
                         {"app": "ending", "sessions": 1})
        self.assertEqual(self.site.dossier(*end), {"app": "ending", "sessions": 1})
        self.assertEqual(statuses(one, removed, neither, late), [401] * 4)
        self.assertEqual(self.site.dossier(*end), {"app": "ending", "sessions": 0})
        self.assertEqual(statuses(elsewhere, headers=other), [200])
        events = self.audit_events("--app", "ending")
        self.assertEqual(
            [(event["actor"], event["detail"]) for event in events if event["action"] == "sessions_end"],
            [("operator:tester", {"sessions": 0}), ("operator:tester", {"sessions": 1}),
             ("operator:tester", {"sessions": 1, "issuer": "https://removed.example.com"}),
             ("operator:tester", {"sessions": 2, "issuer": "web"})])
        ended = [event for event in events if event["action"] == "session_end"]
        self.assertEqual({event["user_id"] for event in ended},
                         {grant["user_id"] for grant in [one, removed, neither, late]})
        self.assertEqual({event["detail"]["reason"] for event in ended}, {"sessions_end"})

    def test_a_command_that_cannot_mail_creates_no_user(self):
        create = ["user", "create", "email=unmailed@example.com", "--mail"]
        for _ in range(2):
            self.refused(78, *create, DOSSIER_MAIL="")
            self.refused(10, "user", "show", "unmailed@example.com")
        before = self.site.sql("select count(*) from users")
        self.refused(12, "user", "create", "name=Nobody", "--mail", words="email")
        self.assertEqual(self.site.sql("select count(*) from users"), before)
        self.site.dossier(*create)
        wait_until(lambda: self.site.mails("unmailed@example.com"), what="the mail")

    def test_a_mail_that_fails_after_the_user_was_created_names_the_user(self):
        self.site.sql("alter table mail_outbox rename to away")
        try:
            run = self.site.dossier("user", "create", "email=late@example.com", "--mail", check=False)
        finally:
            self.site.sql("alter table away rename to mail_outbox")
        self.assertNotEqual(run.returncode, 0)
        user = self.site.dossier("user", "show", "late@example.com")["id"]
        self.assertIn(f"The user {user} exists. Mail the link later: dossier user password {user} --mail",
                      run.stderr)
        self.site.dossier("user", "password", user, "--mail")
        wait_until(lambda: self.site.mails("late@example.com"), what="the mail")

    def test_what_cannot_be_undone_asks_first(self):
        """Without a terminal and --yes, each command ends with 23 and changes nothing."""
        grant = self.verified("asked@example.com")
        user, token = grant["user_id"], grant["access_token"]
        self.site.dossier("index", "create", "metadata.asked")
        client = self.site.dossier("client", "create", "asked", "kind=machine")
        role = self.site.dossier("role", "create", "asked")
        api = self.site.dossier(
            "resource-server", "create", "https://asked.example.com", "--app", "default",
            "name=asked")
        for command in [
            ["user", "block", user], ["user", "logout", user], ["user", "delete", user],
            ["user", "second-factors", "remove", user], ["session", "end-all", "--app", "default"],
            ["index", "delete", "metadata.asked"], ["schema", "delete", "metadata"],
            ["client", "delete", client["id"]], ["client", "rotate", client["id"]],
            ["role", "delete", role["id"]], ["resource-server", "delete", api["id"]],
            ["issuer", "remove", "web"],
        ]:
            self.refused(23, *command, words="--yes")
        self.expect(self.site.get("/v1/me", token=token), 200)
        self.expect(self.site.get(f"/v1/users", token=client["secret"]), 403)
        self.assertIn("metadata.asked", [row["path"] for row in self.site.dossier("index", "list")])


if __name__ == "__main__":
    unittest.main()
