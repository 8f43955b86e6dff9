"""Costs of hashes, and the rotation of signing keys."""


import base64
import json
import signal
import unittest

import jwt

from cases import Administration, in_parallel
from machine import wait_until


def key_of(grant):
    """Returns the id of the key that signed an access token."""
    head = grant["access_token"].split(".")[0]
    return json.loads(base64.urlsafe_b64decode(head + "=="))["kid"]


class Costs(Administration):
    def test_a_login_replaces_a_hash_of_another_cost(self):
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

    def test_a_new_key_signs_soon_and_sessions_stay_valid(self):
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
        for key, age in [(old, 90), (new, 30)]:
            self.site.sql(f"update signing_keys set created_at = now() - interval '{age} seconds' "
                          f"where key_id = '{key}'")
        self.replace_workers()
        for _ in range(12):
            fresh = self.expect(self.refresh(users[0]), 200).json
            users[0] = {**users[0], **fresh}
            self.assertEqual(key_of(fresh), new)
            for user in users:
                self.expect(self.me(user), 200)
        # After its time, the old key is refused, and sessions continue.
        self.site.sql("update signing_keys set retires_at = now() where retires_at is not null")
        self.replace_workers()
        self.expect(self.me(users[1]), 401, "token_invalid")
        for user in users[1:]:
            fresh = self.expect(self.refresh(user), 200).json
            self.assertEqual(key_of(fresh), new)
            self.expect(self.me(fresh), 200)
        self.assertEqual([key["id"] for key in self.site.dossier("key", "list")], [new])
        event = next(event for event in self.audit_events() if event["action"] == "key_rotate")
        self.assertEqual((event["app"], event["detail"]), ("default", {"key_id": new, "purpose": "access"}))

    def test_concurrent_rotations_leave_one_current_key(self):
        self.site.dossier("app", "create", "busy")
        key = self.site.client("--operator")["secret"]
        answers = in_parallel(8, lambda _: self.site.request(
            "POST", "/v1/keys/rotate", headers={"Dossier-App": "busy"}, token=key))
        self.assertEqual({answer.status for answer in answers}, {200})
        keys = self.site.dossier("key", "list", "--app", "busy")
        self.assertEqual([key["current"] for key in keys], [True] + [False] * 7)


class PublicKeys(Administration):
    """Tests a back end that verifies tokens by itself, with a common library."""

    def keys_of(self, app):
        return self.expect(self.site.get(f"/v1/apps/{app}/jwks.json"), 200)

    def verified(self, token, app="default"):
        url = f"http://127.0.0.1:{self.site.port}/v1/apps/{app}/jwks.json"
        key = jwt.PyJWKClient(url).get_signing_key_from_jwt(token)
        url = "http://127.0.0.1:8080"
        return jwt.decode(token, key.key, algorithms=["ES256"], issuer=url, audience=url)

    def test_a_back_end_verifies_tokens_with_the_public_keys(self):
        grant = self.site.login()
        answer = self.keys_of("default")
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(answer.headers["Cache-Control"], "public, max-age=30")
        # Another test may have made further keys.
        key = next(key for key in answer.json["keys"] if key["kid"] == key_of(grant))
        self.assertEqual(set(key), {"kty", "crv", "x", "y", "kid", "alg", "use"})
        claims = self.verified(grant["access_token"])
        self.assertEqual(claims["sub"], grant["user_id"])
        # A changed claim makes the signature invalid.
        head, body, signature = grant["access_token"].split(".")
        other = json.loads(base64.urlsafe_b64decode(body + "=="))
        other["sub"] = "0" * 24
        body = base64.urlsafe_b64encode(json.dumps(other).encode()).rstrip(b"=").decode()
        with self.assertRaises(jwt.InvalidSignatureError):
            self.verified(f"{head}.{body}.{signature}")
        # It cannot see that the session has ended.
        self.expect(self.post("/v1/logout", token=grant["access_token"]), 204)
        self.expect(self.me(grant), 401, "session_ended")
        self.assertEqual(self.verified(grant["access_token"])["sub"], grant["user_id"])

    def test_each_app_has_keys_of_its_own(self):
        shop = self.site.add_app("shop")
        self.assertEqual(self.keys_of("shop").json, {"keys": []})
        grant = self.expect(self.post("/v1/login/anonymous", {}, headers=shop), 200).json
        self.verified(grant["access_token"], "shop")
        self.site.login()
        with self.assertRaises(jwt.PyJWKClientError):
            self.verified(grant["access_token"])
        self.expect(self.site.get("/v1/apps/nobody/jwks.json"), 404, "app_not_found")
        # The path where clients of OpenID Connect look has no keys that they cannot use.
        keys = self.expect(self.site.get("/.well-known/jwks.json"), 200).json["keys"]
        self.assertEqual({key["alg"] for key in keys}, {"RS256"})

    def test_a_key_is_published_before_it_signs(self):
        self.site.login()
        new = self.site.dossier("key", "rotate")[0]
        shown = [key["kid"] for key in self.keys_of("default").json["keys"]]
        self.assertEqual((shown[0], len(shown)), (new["id"], 2))
        key = self.site.client("--operator")["secret"]
        listed = self.expect(self.site.get("/v1/keys", token=key), 200).json
        # Those of OpenID Connect are published elsewhere.
        self.assertEqual([k["public_key"] for k in listed if k["public_key"]["alg"] == "ES256"],
                         self.keys_of("default").json["keys"])
        # A retired key is not published.
        self.site.sql("update signing_keys set retires_at = now() where retires_at is not null")
        self.assertEqual([k["kid"] for k in self.keys_of("default").json["keys"]], [new["id"]])
        # Workers would sign with it for a while.
        self.restart()


if __name__ == "__main__":
    unittest.main()
