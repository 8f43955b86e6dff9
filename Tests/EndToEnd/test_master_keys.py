"""The master key: a wrong one, a change, and its loss."""

import base64
import os
import unittest

from cases import Administration
from connections import ConnectionCase


def new_key():
    return base64.b64encode(os.urandom(32)).decode()


class MasterKeys(Administration):
    def setUp(self):
        self.key = self.site.environment["DOSSIER_MASTER_KEY"]

    def test_a_wrong_master_key_is_refused_and_writes_nothing(self):
        self.site.login()
        keys = self.site.dossier("key", "list")
        other = new_key()
        for command in [["key", "rotate"], ["key", "list"], ["app", "create", "sealed"]]:
            self.refused(78, *command, words="master_key: the secrets in the database are encrypted",
                         DOSSIER_MASTER_KEY=other)
        self.assertEqual(self.site.dossier("key", "list"), keys)
        self.restart(ready=False, DOSSIER_MASTER_KEY=other)
        self.assertEqual(self.site.supervisor.wait(120), 78)
        self.assertTrue(any("no worker can start: " in line and "encrypted with the master key" in line
                            for line in self.site.messages()))
        self.site.environment["DOSSIER_MASTER_KEY"] = self.key
        self.site.start_dossierd()
        self.site.wait_until_ready()
        self.site.login()

    def test_the_master_key_is_checked_without_a_stored_fingerprint(self):
        self.site.login()
        self.site.sql("delete from master_keys")
        self.refused(78, "app", "list", words="this master key does not decrypt the signing key",
                     DOSSIER_MASTER_KEY=new_key())
        self.site.dossier("app", "list")
        self.assertEqual(self.site.sql("select count(*) from master_keys"), "1")

    def test_sessions_survive_a_change_of_the_master_key(self):
        grant = self.expect(self.register("ada@example.com"), 201).json
        secret = os.urandom(32)
        path = self.site.folder / "secret"
        path.write_bytes(secret)
        path.chmod(0o644)
        self.site.dossier(
            "issuer", "create", "sealed", "issuer=https://sealed", "audience=a", f"secret=@{path}")
        program = self.site.client("--operator")
        new = new_key()
        # All workers know the new key before any worker encrypts with it.
        for keys in [f"{self.key},{new}", f"{new},{self.key}"]:
            self.restart(DOSSIER_MASTER_KEY=keys)
            grant = {**grant, **self.expect(self.refresh(grant), 200).json}
            self.expect(self.me(grant), 200)
        self.assertEqual(self.site.sql("select count(*) from master_keys"), "2")
        # The old key alone cannot decrypt what the new key encrypted.
        self.refused(78, "app", "list", DOSSIER_MASTER_KEY=self.key)
        told = self.site.dossier("key", "reencrypt")
        self.assertEqual(told["discarded"], [])
        # The signing key of each app, and the secret of the issuer.
        signing = int(self.site.sql("select count(*) from signing_keys"))
        self.assertEqual(told["reencrypted"], signing + 1)
        self.assertEqual(told["clients"], 1)
        self.assertEqual(self.site.sql("select count(*) from master_keys"), "1")
        self.expect(self.site.get("/v1/apps", token=program["secret"]), 200)
        # The old key now decrypts nothing. Credentials that it issued are refused without it.
        self.restart(DOSSIER_MASTER_KEY=new)
        self.key = new
        self.expect(self.me(grant), 200)
        self.expect(self.refresh(grant), 200)
        self.expect(self.site.get("/v1/apps", token=program["secret"]), 401, "client_unknown")
        self.expect(self.login("ada@example.com"), 200)

    def test_users_sign_in_again_after_the_master_key_is_lost(self):
        grant = self.expect(self.register("grace@example.com"), 201).json
        new = new_key()
        self.refused(78, "key", "reencrypt", words="encrypted with", DOSSIER_MASTER_KEY=new)
        self.refused(23, "key", "reencrypt", "--discard-lost", words="--yes", DOSSIER_MASTER_KEY=new)
        told = self.site.dossier("key", "reencrypt", "--discard-lost", "--yes", DOSSIER_MASTER_KEY=new)
        self.assertEqual(told["reencrypted"], 0)
        self.assertTrue(any(name.startswith("signing_key ") for name in told["discarded"]))
        self.restart(DOSSIER_MASTER_KEY=new)
        self.expect(self.me(grant), 401, "token_invalid")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        again = self.expect(self.login("grace@example.com"), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])
        self.assertIn("master_key_reencrypt", [event["action"] for event in self.audit_events()])

    def test_the_next_login_replaces_a_removed_signing_key(self):
        self.site.dossier("app", "create", "shown")
        app = {"Dossier-App": "shown"}
        grant = self.expect(self.register("key@example.com", headers=app), 201).json
        key = self.site.dossier("key", "list", "--app", "shown")[0]["id"]
        self.refused(23, "key", "delete", key, "--app", "shown", words="--yes")
        self.refused(10, "key", "delete", "nothing", "--app", "shown", "--yes")
        self.site.dossier("key", "delete", key, "--app", "shown", "--yes")
        self.assertEqual(self.site.dossier("key", "list", "--app", "shown"), [])
        # Workers notice by themselves; new ones look at once.
        self.restart()
        self.expect(self.me(grant, headers=app), 401, "token_invalid")
        self.expect(self.login("key@example.com", headers=app), 200)
        self.assertNotEqual(self.site.dossier("key", "list", "--app", "shown")[0]["id"], key)


class Connections(ConnectionCase):
    def test_users_sign_in_by_a_connection_after_a_change_of_the_master_key(self):
        upstream = self.connect("oidc", "upstream")
        apple = self.connect("apple", "apple")
        old, new = self.site.environment["DOSSIER_MASTER_KEY"], new_key()
        # All workers know the new key before any worker encrypts with it.
        for keys in [f"{old},{new}", f"{new},{old}"]:
            self.restart(DOSSIER_MASTER_KEY=keys)
        self.assertEqual(self.site.dossier("key", "reencrypt")["discarded"], [])
        self.restart(DOSSIER_MASTER_KEY=new)
        for issuer in [upstream, apple]:
            issuer.is_new()
            # The check of a new connection has sent an unknown code.
            issuer.refusals.clear()
            self.assertTrue(self.signed_in_at(issuer, self.new_visitor())["sub"])
            self.assertEqual(issuer.refusals, [])


if __name__ == "__main__":
    unittest.main()
