"""The master key: a wrong one does no harm, it can be changed, and what is left when it is lost."""

import base64
import os
import unittest

from cases import Administration


def new_key():
    return base64.b64encode(os.urandom(32)).decode()


class MasterKeys(Administration):
    def setUp(self):
        self.key = self.site.environment["DOSSIER_MASTER_KEY"]

    def test_another_master_key_starts_nothing_and_writes_nothing(self):
        self.site.login()
        keys = self.site.dossier("key", "list")
        other = new_key()
        for command in [["key", "rotate"], ["key", "list"], ["app", "create", "sealed"]]:
            self.refused(78, *command, words="master_key: the secrets in the database are sealed",
                         DOSSIER_MASTER_KEY=other)
        self.assertEqual(self.site.dossier("key", "list"), keys)
        self.restart(ready=False, DOSSIER_MASTER_KEY=other)
        self.assertEqual(self.site.supervisor.wait(120), 78)
        self.assertTrue(any("no worker can start: " in line and "sealed with the master key" in line
                            for line in self.site.messages()))
        self.site.environment["DOSSIER_MASTER_KEY"] = self.key
        self.site.start_dossierd()
        self.site.wait_until_ready()
        self.site.login()

    def test_a_database_that_was_sealed_before_it_knew_by_what_is_looked_at(self):
        self.site.login()
        self.site.sql("delete from master_keys")
        self.refused(78, "app", "list", words="was sealed with another master key",
                     DOSSIER_MASTER_KEY=new_key())
        self.site.dossier("app", "list")
        self.assertEqual(self.site.sql("select count(*) from master_keys"), "1")

    def test_a_master_key_is_changed_and_nobody_is_logged_out(self):
        grant = self.expect(self.register("ada@example.com"), 201).json
        secret = os.urandom(32)
        path = self.site.folder / "secret"
        path.write_bytes(secret)
        path.chmod(0o644)
        self.site.dossier("issuer", "add", "sealed", "--issuer", "https://sealed", "--audience", "a",
                          "--secret-file", path)
        program = self.site.client("--operator")
        new = new_key()
        # Everywhere it is known before it seals anywhere.
        for keys in [f"{self.key},{new}", f"{new},{self.key}"]:
            self.restart(DOSSIER_MASTER_KEY=keys)
            grant = {**grant, **self.expect(self.refresh(grant), 200).json}
            self.expect(self.me(grant), 200)
        self.assertEqual(self.site.sql("select count(*) from master_keys"), "2")
        # The old key alone cannot decrypt what the new key encrypted.
        self.refused(78, "app", "list", DOSSIER_MASTER_KEY=self.key)
        told = self.site.dossier("key", "reencrypt")
        self.assertEqual(told["discarded"], [])
        self.assertEqual(told["resealed"], 2)
        self.assertEqual(told["clients"], 1)
        self.assertEqual(self.site.sql("select count(*) from master_keys"), "1")
        self.expect(self.site.get("/v1/apps", token=program["secret"]), 200)
        # Now the old one opens nothing; what was issued by it is refused without it.
        self.restart(DOSSIER_MASTER_KEY=new)
        self.key = new
        self.expect(self.me(grant), 200)
        self.expect(self.refresh(grant), 200)
        self.expect(self.site.get("/v1/apps", token=program["secret"]), 401, "client_unknown")
        self.expect(self.login("ada@example.com"), 200)

    def test_when_it_is_lost_all_log_in_anew_with_the_passwords_that_they_have(self):
        grant = self.expect(self.register("grace@example.com"), 201).json
        new = new_key()
        self.refused(78, "key", "reencrypt", words="sealed with", DOSSIER_MASTER_KEY=new)
        self.refused(23, "key", "reencrypt", "--discard-lost", words="--yes", DOSSIER_MASTER_KEY=new)
        told = self.site.dossier("key", "reencrypt", "--discard-lost", "--yes", DOSSIER_MASTER_KEY=new)
        self.assertEqual(told["resealed"], 0)
        self.assertTrue(any(name.startswith("signing_key ") for name in told["discarded"]))
        self.restart(DOSSIER_MASTER_KEY=new)
        self.expect(self.me(grant), 401, "token_invalid")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        again = self.expect(self.login("grace@example.com"), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])
        self.assertIn("master_key_reseal", [fact["action"] for fact in self.trail()])

    def test_a_signing_key_is_removed_and_the_next_login_makes_another(self):
        self.site.dossier("app", "create", "shown")
        app = {"Dossier-App": "shown"}
        grant = self.expect(self.register("key@example.com", headers=app), 201).json
        key = self.site.dossier("key", "list", "--app", "shown")[0]["id"]
        self.refused(23, "key", "remove", key, "--app", "shown", words="--yes")
        self.refused(10, "key", "remove", "nothing", "--app", "shown", "--yes")
        self.site.dossier("key", "remove", key, "--app", "shown", "--yes")
        self.assertEqual(self.site.dossier("key", "list", "--app", "shown"), [])
        # Workers notice by themselves; new ones look at once.
        self.restart()
        self.expect(self.me(grant, headers=app), 401, "token_invalid")
        self.expect(self.login("key@example.com", headers=app), 200)
        self.assertNotEqual(self.site.dossier("key", "list", "--app", "shown")[0]["id"], key)


if __name__ == "__main__":
    unittest.main()
