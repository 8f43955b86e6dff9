"""Deleted users stay deleted: the ledger of erasures, what the audit log keeps, lists of devices."""

import json
import subprocess
import time
import unittest

from asking import ADDRESS
from cases import Case
from machine import BUILD, TOOLS


class Erasures(Case):
    def setUp(self):
        self.ledger = self.site.folder / f"{self._testMethodName}.ndjson"

    def user(self, name, **fields):
        return self.expect(self.register(f"{name}@example.com", **fields), 201).json

    def delete(self, user):
        self.site.dossier("user", "delete", "--yes", user["user_id"])

    def erase(self, *words, check=True):
        return self.site.dossier("erase", *words, check=check)

    def lines(self):
        return [json.loads(line) for line in self.ledger.read_text().splitlines()]

    def saved(self):
        """Saves the database, and returns a function that restores it."""
        dump = self.site.folder / f"{self._testMethodName}.dump"

        def tool(name, *words):
            subprocess.run([TOOLS / name, "-h", self.site.folder, "-U", "owner", *words],
                           check=True, capture_output=True)

        tool("pg_dump", "-Fc", "-f", dump, "dossier")
        return lambda: tool("pg_restore", "--clean", "--if-exists", "-1", "-d", "dossier", dump)

    def there(self, user):
        return self.site.sql(f"select count(*) from users where user_id = '{user['user_id']}'") == "1"

    def test_a_ledger_has_each_deletion_once_and_no_personal_data(self):
        users = [self.user(f"ledger{number}") for number in range(3)]
        self.delete(users[0])
        added = self.erase("--record", self.ledger)["added"]
        self.assertGreaterEqual(added, 1)
        self.assertEqual(self.ledger.stat().st_mode & 0o777, 0o600)
        self.assertEqual(self.erase("--record", self.ledger)["added"], 0)
        self.delete(users[1])
        token = users[2]["access_token"]
        self.expect(self.site.request("DELETE", "/v1/me", token=token), 204)
        # A run that was killed has left the start of a line.
        with self.ledger.open("a") as file:
            file.write('{"user_id":"0123')
        self.assertEqual(self.erase("--record", self.ledger)["added"], 2)
        lines = self.lines()
        ids = [line["user_id"] for line in lines]
        self.assertEqual(ids[-3:], [user["user_id"] for user in users])
        self.assertEqual(len(set(line["event_id"] for line in lines)), len(lines))
        self.assertEqual([line["actor"] for line in lines[-3:]],
                         ["operator:tester"] * 2 + ["user"])
        self.assertEqual({tuple(line) for line in lines},
                         {("user_id", "event_id", "at", "actor")})
        self.assertNotIn("example.com", self.ledger.read_text())

    def test_old_deletions_leave_the_ledger(self):
        user = self.user("old")
        self.delete(user)
        self.erase("--record", self.ledger)
        count = len(self.lines())
        old = {**self.lines()[-1], "event_id": f"{int(time.time()) - 3 * 86_400:08x}" + "0" * 16}
        self.ledger.write_text(json.dumps(old) + "\n" + self.ledger.read_text())
        self.assertEqual(self.erase("--record", self.ledger, "--keep-days", 2),
                         {"added": 0, "removed": 1})
        self.assertEqual((len(self.lines()), old in self.lines()), (count, False))
        self.assertEqual(self.ledger.stat().st_mode & 0o777, 0o600)

    def test_deleted_users_are_deleted_again_after_a_restore(self):
        stays, gone, again, merged = [
            self.user(f"restored-{name}") for name in ["stays", "gone", "again", "merged"]]
        restore = self.saved()
        for user in [gone, again]:
            self.delete(user)
        self.site.dossier("user", "merge", "--yes", merged["user_id"], "into", stays["user_id"],
                          check=False)
        self.erase("--record", self.ledger)
        restore()
        self.assertTrue(self.there(gone) and self.there(again))
        run = self.erase("--replay", self.ledger, check=False)
        self.assertEqual(run.returncode, 23, run.stderr)
        self.assertTrue(self.there(gone))
        counts = self.erase("--replay", self.ledger, "--yes")
        self.assertEqual((counts["erased"], counts["created_again"]), (2, 0))
        self.assertEqual([self.there(user) for user in [stays, gone, again]], [True, False, False])
        self.expect(self.login("restored-stays@example.com"), 200)
        self.expect(self.login("restored-gone@example.com"), 401, "wrong_credentials")
        event, = self.site.dossier("audit", "--user", gone["user_id"], "--action", "user_delete")
        self.assertEqual((event["actor"], event["detail"]["reason"], event["detail"]["erased_by"]),
                         ("operator:tester", "replay", "operator:tester"))
        # A second run finds no user. The ledger gets the new events too, which name the same users.
        self.assertEqual(self.erase("--replay", self.ledger, "--yes")["erased"], 0)
        self.assertEqual(self.erase("--record", self.ledger)["added"], 2)
        self.assertEqual(self.erase("--replay", self.ledger, "--yes")["erased"], 0)

    def test_a_user_who_was_created_again_stays(self):
        user = self.user("reborn")["user_id"]
        self.site.dossier("user", "delete", "--yes", user)
        self.erase("--record", self.ledger)
        line = json.dumps({"id": user, "email": "reborn@example.com"})
        self.site.dossier("user", "import", "-", given=line + "\n", output="text")
        self.assertTrue(self.there({"user_id": user}))
        counts = self.erase("--replay", self.ledger, "--yes")
        self.assertEqual((counts["erased"], counts["created_again"]), (0, 1))
        self.assertTrue(self.there({"user_id": user}))

    def test_killed_replays_complete_at_the_next_run(self):
        users = [self.user(f"killed{number}") for number in range(12)]
        restore = self.saved()
        for user in users:
            self.delete(user)
        self.erase("--record", self.ledger)
        restore()
        kills = 0
        for delay in [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4]:
            with subprocess.Popen([BUILD / "dossier", "erase", "--replay", self.ledger, "--yes"],
                                  env=self.site.environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as run:
                try:
                    run.wait(delay)
                except subprocess.TimeoutExpired:
                    run.kill()
                    kills += 1
        self.erase("--replay", self.ledger, "--yes")
        self.assertEqual([user for user in users if self.there(user)], [], kills)

    def test_a_damaged_ledger_deletes_nobody(self):
        user = self.user("damaged")
        line = json.dumps({"user_id": user["user_id"], "event_id": "0" * 24,
                           "at": "2026-01-01T00:00:00Z", "actor": "user"})
        for text in ["{}", "", "null", line[:-2], line.replace("user_id", "user"), line + line,
                     line.replace('"actor": "user"', '"actor": "a\\u001bb"'), "x" * 2_000,
                     line.replace("2026-01-01T00:00:00Z", "today")]:
            self.ledger.write_text(f"{line}\n{text}\n{line}\n")
            run = self.erase("--replay", self.ledger, "--yes", check=False)
            self.assertEqual(run.returncode, 21, (text, run.stderr))
            self.assertIn("line 2", run.stderr)
        self.assertTrue(self.there(user))
        run = self.erase("--replay", self.site.folder / "none", "--yes", check=False)
        self.assertEqual(run.returncode, 21, run.stderr)
        for words in [[], ["--record", "a", "--replay", "b"], ["--record", "a", "--keep-days", "0"]]:
            self.assertEqual(self.erase(*words, check=False).returncode, 64)

    def test_the_audit_log_keeps_no_addresses_of_deleted_users(self):
        for kept, name in [("without_addresses", "addresses"), ("none", "nothing")]:
            self.site.dossier("app", "set", f"deleted_user_events={kept}")
            place = {ADDRESS: "203.0.113.99"}
            user = self.user(name, headers=place)
            self.expect(self.login(f"{name}@example.com", headers=place), 200)
            before = self.site.dossier("audit", "--user", user["user_id"])
            self.assertIn("203.0.113.99", {event["address"] for event in before})
            run = subprocess.run([BUILD / "dossier", "user", "delete", "--yes", user["user_id"]],
                                 env=self.site.environment, capture_output=True, text=True)
            self.assertIn("for 365 days", run.stderr)
            self.assertIn("without addresses" if kept != "none" else "event of the deletion",
                          run.stderr)
            after = self.site.dossier("audit", "--user", user["user_id"])
            self.assertEqual({event["address"] for event in after}, {None})
            count = 1 if kept == "none" else len(before) + 1
            self.assertEqual((len(after), after[0]["action"]), (count, "user_delete"))
            # The actor of the deletion stays.
            self.assertRegex(after[0]["agent"], "^dossier ")
        # A user who deletes the own account leaves no address either.
        user = self.user("own", headers={ADDRESS: "203.0.113.99"})
        self.expect(self.site.request("DELETE", "/v1/me", token=user["access_token"],
                                      headers={ADDRESS: "203.0.113.99"}), 204)
        event, = self.site.dossier("audit", "--user", user["user_id"])
        self.assertEqual((event["action"], event["address"], event["agent"]),
                         ("user_delete", None, None))

    def test_lists_of_devices_lose_the_user(self):
        first, = [self.user("first")]
        device = {"Dossier-Device": first["device_secret"]} if "device_secret" in first else {}
        count = self.site.sql("select count(*) from devices where "
                              f"user_ids @> array['{first['user_id']}'] collate \"C\"")
        self.assertEqual(count, "1", device)
        self.delete(first)
        count = self.site.sql("select count(*) from devices where "
                              f"user_ids @> array['{first['user_id']}'] collate \"C\"")
        self.assertEqual(count, "0")


if __name__ == "__main__":
    unittest.main()
