"""The operator's command line on users and the audit trail."""

import json
import re
import unittest

from cases import Administration


class UserCommands(Administration):
    def test_users_are_listed_in_pages_and_shown(self):
        self.site.dossier("app", "create", "pages")
        app = {"Dossier-App": "pages"}
        ids = [self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200).json["user_id"]
               for _ in range(5)]
        first = self.site.dossier("user", "list", "--app", "pages", "--count", "3", check=False)
        self.assertEqual([user["id"] for user in json.loads(first.stdout)], sorted(ids)[:3])
        cursor = re.search("--after ([0-9a-f]{24})", first.stderr)[1]
        rest = self.site.dossier("user", "list", "--app", "pages", "--after", cursor)
        self.assertEqual([user["id"] for user in rest], sorted(ids)[3:])
        shown = self.site.dossier("user", "show", ids[0], "--app", "pages")
        self.assertEqual((shown["anonymous"], shown["login_count"]), (True, 1))
        self.assertEqual([row["provider"] for row in shown["identities"]], ["anonymous"])
        self.assertEqual(len(shown["sessions"]), 1)
        self.refused(10, "user", "show", ids[0])
        self.refused(64, "user", "list", "--count", "0")
        self.refused(64, "user", "list", "--after", "x")

    def test_a_user_is_blocked_unblocked_and_logged_out(self):
        grant = self.confirmed("ada@example.com")
        blocked = self.site.dossier("user", "block", "ADA@example.com")
        self.assertEqual((blocked["id"], blocked["blocked"]), (grant["user_id"], True))
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.login("ada@example.com"), 401, "wrong_credentials")
        self.site.dossier("user", "block", grant["user_id"])
        self.assertFalse(self.site.dossier("user", "unblock", "ada@example.com")["blocked"])
        # The sessions have ended for good.
        self.expect(self.me(grant), 401, "session_ended")
        again = self.expect(self.login("ada@example.com"), 200).json
        self.site.dossier("user", "logout", "ada@example.com")
        self.expect(self.me(again), 401, "session_ended")
        self.expect(self.refresh(again), 401, "refresh_token_invalid")
        facts = [(fact["action"], fact["actor"]) for fact in
                 self.trail("--user", "ada@example.com") if fact["actor"] == "operator"]
        self.assertEqual(
            sorted(facts), [("session_end", "operator")] * 2 + [("user_block", "operator"),
                            ("user_logout", "operator"), ("user_unblock", "operator")])

    def test_an_address_is_confirmed_and_its_rivals_lose_it(self):
        rival = self.expect(self.register("claimed@example.com", "a rivals password"), 201).json
        grant = self.expect(self.register("claimed@example.com"), 201).json
        self.refused(14, "user", "confirm", "claimed@example.com", words=rival["user_id"])
        confirmed = self.site.dossier("user", "confirm", grant["user_id"])
        self.assertEqual(
            (confirmed["email"], confirmed["email_verified"]), ("claimed@example.com", True))
        self.expect(self.login("claimed@example.com", "a rivals password"), 401)
        self.expect(self.login("claimed@example.com"), 200)
        self.site.dossier("user", "confirm", "claimed@example.com")
        count = [fact["action"] for fact in self.trail("--user", grant["user_id"])]
        self.assertEqual(count.count("email_confirm"), 1)
        self.refused(10, "user", "confirm", rival["user_id"])
        self.refused(10, "user", "confirm", "0" * 24)

    def test_a_user_is_deleted_and_its_trail_stays(self):
        grant = self.confirmed("gone@example.com")
        self.site.dossier("user", "delete", "gone@example.com")
        self.expect(self.me(grant), 401, "session_ended")
        self.refused(10, "user", "show", grant["user_id"])
        fact = self.trail("--user", grant["user_id"])[0]
        self.assertEqual((fact["action"], fact["actor"]), ("user_delete", "operator"))
        self.expect(self.register("gone@example.com"), 201)
        self.refused(10, "user", "delete", grant["user_id"])
        self.refused(10, "audit", "--user", "0" * 24)

    def test_the_trail_has_pages(self):
        first = self.site.dossier("audit", "--count", "2", check=False)
        cursor = re.search("--before ([0-9a-f]{24})", first.stderr)[1]
        second = self.trail("--count", "2", "--before", cursor)
        ids = [fact["id"] for fact in json.loads(first.stdout) + second]
        self.assertEqual(ids, sorted(set(ids), reverse=True))
        self.refused(64, "audit", "--before", "x")
        self.refused(10, "audit", "--app", "nope")


if __name__ == "__main__":
    unittest.main()
