"""Clients that sign an assertion with their own key instead of sending a secret."""

import base64
import concurrent.futures
import hashlib
import hmac
import json
import subprocess
import time
import unittest
import urllib.parse
import uuid

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from jwks import of_curve, of_rsa
from machine import TOOLS_FOLDER
from openid import FORM, OpenIDCase, Party, claims

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
PYTHON = """
import json, sys
from auth0.authentication import GetToken
site = json.loads(sys.argv[1])
token = GetToken(site["domain"], site["client"], client_assertion_signing_key=site["key"],
                 protocol="http")
print(json.dumps(token.client_credentials(site["api"])))
"""


def part(value):
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


class AssertionCase(OpenIDCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rsa, cls.ec = rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1())
        cls.other = ec.generate_private_key(ec.SECP256R1())
        keys = [of_rsa(cls.rsa), of_curve(cls.ec)]
        cls.back_end = cls.new_client("machine")
        cls.site.dossier("client", "set", cls.back_end["id"],
                         f"assertion_keys={json.dumps({'keys': keys})}")
        cls.site.dossier("client", "grant", cls.back_end["id"], cls.api["id"],
                         "--scope", "read:posts")

    def claims(self, **changes):
        now = int(time.time())
        claims = {"iss": self.back_end["id"], "sub": self.back_end["id"], "aud": self.issuer,
                  "iat": now, "exp": now + 180, "jti": str(uuid.uuid4()), **changes}
        return {name: value for name, value in claims.items() if value is not None}

    def assertion(self, key=None, algorithm="ES256", headers=None, **changes):
        return jwt.encode(self.claims(**changes), key or self.ec, algorithm, headers)

    def send(self, assertion, **fields):
        return Party(self, {"id": None}).token(**{
            "grant_type": "client_credentials", "audience": self.API,
            "client_assertion_type": TYPE, "client_assertion": assertion, **fields})


class Assertions(AssertionCase):
    def test_an_assertion_replaces_the_secret(self):
        for key, algorithm in [(self.rsa, "RS256"), (self.rsa, "PS256"), (self.ec, "ES256")]:
            for fields in [{}, {"client_id": self.back_end["id"]}]:
                tokens = self.expect(self.send(self.assertion(key, algorithm), **fields), 200).json
                self.assertEqual(tokens["scope"], "read:posts")
        self.expect(self.send(self.assertion(aud=[self.issuer])), 200)
        # The secret stays valid.
        self.expect(Party(self, self.back_end).token(
            grant_type="client_credentials", audience=self.API), 200)
        described = self.site.get("/.well-known/openid-configuration").json
        self.assertIn("private_key_jwt", described["token_endpoint_auth_methods_supported"])

    def test_invalid_assertions_are_refused(self):
        now = int(time.time())
        public = self.ec.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        head = part({"alg": "HS256", "typ": "JWT"}) + "." + part(self.claims())
        forged = base64.urlsafe_b64encode(
            hmac.digest(public, head.encode(), hashlib.sha256)).rstrip(b"=").decode()
        good = self.assertion()
        for number, wrong in enumerate([
                self.assertion(self.other), self.assertion(aud="https://other.example/"),
                self.assertion(aud=None), self.assertion(aud=self.API),
                self.assertion(aud=self.issuer + "oauth/token"), self.assertion(aud=[]),
                self.assertion(aud=self.issuer[:-1]),
                self.assertion(aud=[self.issuer, "https://other.example/"]),
                self.assertion(jti=None), self.assertion(jti=""), self.assertion(jti=1),
                self.assertion(exp=now - 1), self.assertion(exp=now + 3600),
                self.assertion(exp=1e300), self.assertion(exp="soon"),
                self.assertion(nbf=now + 3600), self.assertion(iat=now + 3600),
                self.assertion(iss=self.spa["id"]), self.assertion(headers={"crit": ["x"]}),
                f"{head}.{forged}", part({"alg": "none"}) + "." + part(self.claims()) + ".",
                good[:-3] + "AAA", "x" * 20_000, "a.b.c"]):
            with self.subTest(number):
                answer = self.send(wrong, client_id=self.back_end["id"])
                self.assertEqual((answer.status, answer.json["error"]), (401, "invalid_client"))
        # Another client cannot use the assertion.
        for client in [self.machine, self.web]:
            answer = self.send(self.assertion(iss=client["id"], sub=client["id"]))
            self.assertEqual((answer.status, answer.json["error"]), (401, "invalid_client"))
        answer = self.send(good, client_id=self.machine["id"])
        self.assertEqual((answer.status, answer.json["error"]), (401, "invalid_client"))
        for fields in [{"client_assertion_type": "password"}, {"client_assertion_type": None},
                       {"client_id": self.back_end["id"],
                        "client_secret": self.back_end["secret"]}]:
            answer = self.send(good, **fields)
            self.assertEqual((answer.status, answer.json["error"]), (400, "invalid_request"))
        # Without a client_id, the assertion names the client.
        for wrong in ["nothing", self.assertion(exp=None), self.assertion(sub=None)]:
            answer = self.send(wrong)
            self.assertEqual((answer.status, answer.json["error"]), (401, "invalid_client"))

    def test_an_assertion_is_accepted_once(self):
        first = self.assertion()
        self.expect(self.send(first), 200)
        # The same assertion, and others with its id: at all endpoints, and with another lifetime.
        name = claims(first)["jti"]
        now = int(time.time())
        for used in [first, self.assertion(self.rsa, "RS256", jti=name),
                     self.assertion(jti=name, exp=now + 290)]:
            answer = self.send(used)
            self.assertEqual((answer.status, answer.json["error"]), (401, "invalid_client"))
        answer = self.site.request("POST", "/oauth/revoke", urllib.parse.urlencode({
            "token": "x", "client_assertion_type": TYPE, "client_assertion": first}), FORM)
        self.assertEqual((answer.status, answer.json["error"]), (401, "invalid_client"))
        # A used id is compared by bytes, and belongs to one client.
        self.expect(self.send(self.assertion(jti="\u00e9" + name)), 200)
        self.expect(self.send(self.assertion(jti="e\u0301" + name)), 200)
        second = self.new_client("machine")
        self.site.dossier("client", "set", second["id"],
                          f"assertion_keys={json.dumps({'keys': [of_curve(self.other)]})}")
        self.site.dossier("client", "grant", second["id"], self.api["id"], "--scope", "read:posts")
        own = self.assertion(self.other, jti=name, iss=second["id"], sub=second["id"])
        self.expect(self.send(own), 200)
        # A refused assertion uses no id up.
        name = str(uuid.uuid4())
        self.assertEqual(self.send(self.assertion(self.other, jti=name)).status, 401)
        self.expect(self.send(self.assertion(jti=name)), 200)

    def test_of_many_requests_with_one_assertion_one_is_accepted(self):
        assertion = self.assertion()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            sent = [pool.submit(self.send, assertion) for _ in range(16)]
            statuses = sorted(answer.result().status for answer in sent)
        self.assertEqual(statuses, [200] + [401] * 15)

    def test_a_used_id_is_remembered_until_the_assertion_expires(self):
        self.site.sql("delete from rate_limits")
        self.expect(self.send(self.assertion(exp=int(time.time()) + 200)), 200)
        left = self.site.sql("select max(theoretical_arrival_at) - now() between interval '200 s' "
                             "and interval '261 s' from rate_limits")
        self.assertEqual(left, "t")

    def test_a_client_sends_a_bounded_number_of_assertions(self):
        self.expect(self.send(self.assertion()), 200)
        self.site.sql("update rate_limits set theoretical_arrival_at = now() + interval '1 hour'")
        answer = self.send(self.assertion())
        self.assertEqual((answer.status, answer.json["error"]), (429, "too_many_attempts"))
        self.assertTrue(answer.headers["Retry-After"])
        # A stranger without its key does not use the limit up, or learn of it.
        self.assertEqual(self.send(self.assertion(self.other)).status, 401)
        self.site.sql("delete from rate_limits")
        self.expect(self.send(self.assertion()), 200)

    def test_assertion_keys_must_be_public_keys(self):
        own = of_curve(self.ec)
        for keys, words in [({"keys": []}, "can verify"), ({"key": [own]}, "can verify"),
                            ({"keys": [{"kty": "oct", "k": "AAAA"}]}, "not public"),
                            ({"keys": [{**own, "d": "AAAA"}]}, "not public"),
                            ({"keys": [{**of_rsa(self.rsa), "p": "AQAB"}]}, "not public"),
                            ({"keys": [{**own, "x5t": "A" * 65_536}]}, "65536 bytes")]:
            with self.subTest(words, keys=str(keys)[:80]):
                run = self.site.dossier("client", "set", self.machine["id"],
                                        f"assertion_keys={json.dumps(keys)}", check=False)
                self.assertEqual(run.returncode, 12, run.stderr)
                self.assertIn("assertion_keys", run.stderr)
                self.assertIn(words, run.stderr)


class Libraries(AssertionCase):
    # The SDK names the issuer with https, also where its requests use http.
    SETTINGS = {"DOSSIER_ISSUER": "https://127.0.0.1:{port}"}

    def test_auth0_python_signs_assertions(self):
        pem = self.rsa.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()).decode()
        site = {"domain": f"127.0.0.1:{self.site.port}", "client": self.back_end["id"],
                "key": pem, "api": self.API}
        for version in ["4.13.0", "6.8.0"]:
            run = subprocess.run(
                [TOOLS_FOLDER / "bin/python", "-B", "-c", PYTHON, json.dumps(site)],
                capture_output=True, text=True, timeout=120,
                env={"PYTHONPATH": str(TOOLS_FOLDER / f"auth0-{version}")})
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(json.loads(run.stdout)["scope"], "read:posts")


if __name__ == "__main__":
    unittest.main()
