"""Costs of hashes, and the rotation of signing keys."""


import base64
import json
import signal
import unittest

from cases import Administration, in_parallel
from machine import wait_until


def key_of(grant):
    """The id of the key that signed an access token."""
    head = grant["access_token"].split(".")[0]
    return json.loads(base64.urlsafe_b64decode(head + "=="))["kid"]


class Costs(Administration):
    def test_a_hash_of_another_cost_is_made_anew_at_login(self):
        self.expect(self.register("ada@example.com"), 201)
        self.assertIn("$m=19456,t=2,p=1$", self.site.sql("select hash from passwords"))
        self.restart(DOSSIER_ARGON2_PASSES="3", DOSSIER_ARGON2_MEMORY="20480")
        self.expect(self.login("ada@example.com", "wrong horse"), 401)
        self.assertIn("$m=19456,t=2,p=1$", self.site.sql("select hash from passwords"))
        for _ in range(2):
            self.expect(self.login("ada@example.com"), 200)
            self.assertIn("$m=20480,t=3,p=1$", self.site.sql("select hash from passwords"))


class Rotation(Administration):
    def replace_workers(self):
        before = set(self.site.workers())
        self.site.supervisor.send_signal(signal.SIGHUP)
        wait_until(lambda: not before & set(self.site.workers()), what="the end of the old workers")

    def test_a_new_key_signs_soon_and_nobody_is_logged_out(self):
        users = [self.site.login() for _ in range(6)]
        old = self.site.dossier("key", "list")[0]["id"]
        self.assertEqual({key_of(user) for user in users}, {old})
        keys = self.site.dossier("key", "rotate")
        new = keys[0]["id"]
        self.assertEqual([(key["id"], key["current"]) for key in keys], [(new, True), (old, False)])
        self.assertIsNone(keys[0]["retires_at"])
        self.assertNotIn("private", str(keys))
        # All look at it before it signs, which is 30 s after it was made: KeyringTests have the time
        # in between by a clock of their own. New workers look at once.
        for _ in range(4):
            self.assertEqual(key_of(self.site.login()), old)
        self.site.sql("update signing_keys set created_at = created_at - interval '30 seconds'")
        self.replace_workers()
        for _ in range(12):
            fresh = self.expect(self.refresh(users[0]), 200).json
            users[0] = {**users[0], **fresh}
            self.assertEqual(key_of(fresh), new)
            for user in users:
                self.expect(self.me(user), 200)
        # When its time has passed the old key is no key any more; sessions go on.
        self.site.sql("update signing_keys set retires_at = now() where retires_at is not null")
        self.replace_workers()
        self.expect(self.me(users[1]), 401, "token_invalid")
        for user in users[1:]:
            fresh = self.expect(self.refresh(user), 200).json
            self.assertEqual(key_of(fresh), new)
            self.expect(self.me(fresh), 200)
        self.assertEqual([key["id"] for key in self.site.dossier("key", "list")], [new])
        fact = next(fact for fact in self.trail() if fact["action"] == "key_rotate")
        self.assertEqual((fact["app"], fact["detail"]), ("default", {"key_id": new}))

    def test_rotations_at_once_leave_one_current_key(self):
        self.site.dossier("app", "create", "busy")
        key = self.site.client("--operator")["key"]
        answers = in_parallel(8, lambda _: self.site.request(
            "POST", "/v1/keys/rotate", headers={"Dossier-App": "busy"}, token=key))
        self.assertEqual({answer.status for answer in answers}, {200})
        keys = self.site.dossier("key", "list", "--app", "busy")
        self.assertEqual([key["current"] for key in keys], [True] + [False] * 7)


if __name__ == "__main__":
    unittest.main()
