"""Sign-in with tokens of issuers: their rules, their keys and slow issuers."""

import concurrent.futures
import hashlib
import json
import time
import unittest

from cases import in_parallel
from machine import wait_until
from issuers import Key, KeyServer, claims, encode, secret_token
from test_identities import IdentityCase


class IssuerTokens(IdentityCase):
    def test_no_token_header_crashes_a_worker(self):
        before = self.site.workers()
        for head in [b'{"alg": 9223372036854775808}', b'{"alg": "ES256", "kid": [1e300]}',
                     b'{"alg": 1e-9223372036854775808}']:
            token = f"{encode(head)}.{encode(claims('anyone'))}.{encode(b'x')}"
            self.expect(self.site.request("GET", "/v1/me", token=token), 401)
            self.expect(self.login_jwt(token), 401)
        self.assertEqual(self.site.workers(), before)

    def test_a_token_must_be_signed_by_the_algorithm_in_its_header(self):
        payload = claims("algorithms")
        self.expect(self.post("/v1/login/jwt", {"token": self.key.token(payload)}), 200)
        for algorithm in ["RS384", "RS512", "PS256", "ES256", "none"]:
            token = self.key.token(payload, alg=algorithm)
            self.expect(self.post("/v1/login/jwt", {"token": token}), 401, "external_token_invalid")
        # If a key has no `alg`, one user's token does not decide the algorithm for others.
        key = Key(self.site.folder, "unsaid")
        jwk = {name: value for name, value in key.jwk.items() if name != "alg"}
        self.site.add_issuer("unsaid", "https://unsaid.example.com", jwks={"keys": [jwk]})
        payload = claims("unsaid", "https://unsaid.example.com")
        for algorithm, status in [("RS512", 401), ("RS256", 200), ("PS256", 401), ("RS256", 200)]:
            token = key.token(payload, alg=algorithm)
            self.expect(self.post("/v1/login/jwt", {"token": token}), status)

    def test_a_token_of_an_issuer_signs_in(self):
        token = self.jwt("sub-1", name="Grace", email="grace@example.com", handle="amazing")
        grant = self.expect(self.login_jwt(token), 200).json
        me = self.me(grant).json
        self.assertEqual((me["name"], me["nickname"], me["email"], me["email_verified"]),
                         ("Grace", "amazing", "grace@example.com", False))
        again = self.expect(self.login_jwt(self.jwt("sub-1")), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])
        self.assertEqual(self.identities(grant)[0]["provider"], "jwt:https://issuer.example.com")
        answers = in_parallel(8, lambda _: self.login_jwt(self.jwt("sub-race")))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len({answer.json["user_id"] for answer in answers}), 1)

    def test_invalid_profile_claims_are_ignored(self):
        for subject, locale, zone, taken in [
            ("l-1", "de-CH", "Europe/Zurich", ("de-CH", "Europe/Zurich")),
            ("l-2", "de_CH", "Zurich", (None, None)), ("l-3", "Deutsch", 7, (None, None)),
        ]:
            token = self.jwt(subject, name="Grace", locale=locale, zoneinfo=zone)
            me = self.me(self.expect(self.login_jwt(token), 200).json).json
            self.assertEqual((me["name"], me["locale"], me["zone"]), ("Grace", *taken))

    def test_tokens_that_break_a_rule_are_refused(self):
        now = int(time.time())
        good = self.jwt("sub-2")
        head, payload, signature = good.split(".")
        other = Key(self.site.folder, "other")
        for name, token in {
            "another key": other.token(claims("sub-2"), "one"),
            "an unknown key": other.token(claims("sub-2")),
            "changed": ".".join([head, self.jwt("sub-3").split(".")[1], signature]),
            "unsigned": f"eyJhbGciOiJub25lIn0.{payload}.",
            "expired": self.jwt("sub-2", exp=now - 61),
            "not yet": self.jwt("sub-2", nbf=now + 90),
            "audience": self.jwt("sub-2", audience="another"),
            "no audience": self.jwt("sub-2", audience=[]),
            "unsigned, no audience": f"eyJhbGciOiJub25lIn0.{encode(claims('x', audience=[]))}.",
            "an audience that is no text": self.jwt("sub-2", audience=["app", 7]),
            "issuer": self.jwt("sub-2", issuer="https://evil.example.com"),
            "no subject": self.jwt(""),
            "no expiry": self.key.token({"iss": "https://issuer.example.com", "sub": "x",
                                         "aud": "app"}),
            "the public key as a secret": secret_token(claims("sub-2"), b"secret"),
            "keys of another issuer": self.jwt("sub-2", audience="file"),
            "no token": "x.y.z",
        }.items():
            with self.subTest(name):
                answer = self.login_jwt(token)
                self.expect(answer, 401, "external_token_invalid")
                self.assertTrue(answer.json["detail"])
        self.expect(self.login_jwt(good), 200)
        self.expect(self.login_jwt(self.jwt("sub-2", audience=["another", "app"])), 200)

    def test_a_nonce_binds_a_token_to_its_request(self):
        digest = hashlib.sha256(b"n-1").hexdigest()
        plain, hashed = self.jwt("nonce", nonce="n-1"), self.jwt("nonce", nonce=digest)
        grants = [self.expect(self.post("/v1/login/jwt", {"token": token, "nonce": "n-1"}), 200).json
                  for token in (plain, hashed)]
        # An app that has no nonce sends none, also if its SDK has made one.
        self.expect(self.login_jwt(plain), 200)
        for token, nonce in [
            (plain, "n-2"), (plain, "N-1"), (plain, digest), (plain, ""), (self.jwt("nonce"), "n-1"),
            (self.jwt("nonce", nonce=""), ""), (self.jwt("nonce", nonce=7), "7"),
            (self.jwt("nonce", nonce=["n-1"]), "n-1"),
            (self.jwt("nonce", nonce=digest.upper()), "n-1"),
            # Equal texts of Unicode, and not of bytes.
            (self.jwt("nonce", nonce="\u00e9"), "e\u0301"),
        ]:
            with self.subTest(nonce=nonce):
                answer = self.post("/v1/login/jwt", {"token": token, "nonce": nonce})
                self.expect(answer, 401, "external_token_invalid")
                self.assertIn("nonce", answer.json["detail"])
        self.expect(self.post("/v1/login/jwt", {"token": plain, "nonce": 1}), 422)
        access = grants[1]["access_token"]
        fresh = self.jwt("nonce", nonce=digest, auth_time=int(time.time()))
        other = self.jwt("other nonce", nonce=digest)
        for path, token, status in [("/v1/me/identities", other, 200),
                                    ("/v1/reauthenticate", fresh, 200)]:
            with self.subTest(path):
                body = {"provider": "jwt", "token": token}
                self.expect(self.post(path, {**body, "nonce": "n-2"}, token=access), 401,
                            "external_token_invalid")
                answer = self.expect(self.post(path, {**body, "nonce": "n-1"}, token=access), status)
                access = answer.json["access_token"]

    def test_a_document_without_keys_is_an_outage(self):
        """Such as the page of a proxy: it is no key set, and replaces none."""
        server = KeyServer()
        self.addCleanup(server.stop)
        key = Key(self.site.folder, "page")
        server.keys = None
        self.add_issuer("page", "https://page.example.com", server.url)
        token = key.token(claims("x", issuer="https://page.example.com"))
        self.expect(self.login_jwt(token), 503, "issuer_unavailable")

    def test_a_token_with_unsupported_header_parameters_is_refused(self):
        for head in [{"crit": ["exp"], "exp": 1}, {"crit": []}, {"crit": ["b64"], "b64": True},
                     {"b64": False}, {"typ": "at+jwt"}, {"typ": "application/at+jwt"},
                     {"typ": "dpop+jwt"}, {"typ": "logout+jwt"}, {"typ": ""}, {"typ": 7}]:
            with self.subTest(head=head):
                token = self.key.token(claims("headed"), **head)
                answer = self.expect(self.login_jwt(token), 401, "external_token_invalid")
                word = "typ" if "typ" in head else "crit" if "crit" in head else "b64"
                self.assertIn(word, answer.json["detail"])
        for head in [{}, {"typ": "JWT"}, {"typ": "jwt"}, {"typ": "application/jwt"}]:
            self.expect(self.login_jwt(self.key.token(claims("headed"), **head)), 200)

    def add_issuer(self, name, issuer, url):
        self.site.add_issuer(name, issuer, jwks_url=url)

    def test_a_user_belongs_to_the_iss_of_its_issuer(self):
        other = Key(self.site.folder, "theirs")
        server = KeyServer()
        server.keys = [self.key.jwk, other.jwk]
        add = lambda name, issuer: self.site.dossier(
            "issuer", "create", name, f"issuer={issuer}", "audience=app", f"jwks_url={server.url}")
        remove = lambda name: self.site.dossier("issuer", "delete", name, "--yes")  # noqa: E731
        ours, theirs = "https://ours.example.com", "https://theirs.example.com"
        add("partner", ours)
        token = self.jwt("s-1", issuer=ours)
        first = self.expect(self.login_jwt(token), 200).json["user_id"]
        remove("partner")
        self.expect(self.login_jwt(token), 401, "external_token_invalid")
        # Another issuer gets the name, but not the users.
        add("partner", theirs)
        stranger = self.expect(self.login_jwt(other.token(claims("s-1", issuer=theirs))), 200).json
        self.assertNotEqual(stranger["user_id"], first)
        # The first issuer gets another name and keeps its users.
        add("renamed", ours)
        self.assertEqual(self.expect(self.login_jwt(token), 200).json["user_id"], first)
        server.stop()

    def test_requests_to_an_unavailable_issuer_back_off(self):
        server = KeyServer()
        key = Key(self.site.folder, "away")
        server.is_broken = True
        self.add_issuer("away", "https://away.example.com", server.url)
        token = key.token(claims("x", issuer="https://away.example.com"))
        for _ in range(60):
            answer = self.expect(self.login_jwt(token), 503, "issuer_unavailable")
            self.assertIn(int(answer.headers["Retry-After"]), range(1, 62))
            self.assertNotIn("127.0.0.1", answer.body.decode())
        # Each of the two workers pauses for 2, 4, 8 … 60 seconds: this holds for ten minutes.
        self.assertLess(server.asked, 30)
        server.is_broken = False
        server.keys = [key.jwk]
        wait_until(lambda: all(self.login_jwt(token).status == 200 for _ in range(6)), seconds=130,
                   what="both workers to try again")
        asked = server.asked
        for _ in range(6):
            self.expect(self.login_jwt(token), 200)
        # Kept by each of the two workers.
        self.assertEqual(server.asked, asked)
        server.stop()
        self.expect(self.login_jwt(token), 200)

    def test_concurrent_sign_ins_fetch_the_keys_of_an_issuer_once(self):
        server = KeyServer()
        key = Key(self.site.folder, "slow")
        server.keys = [key.jwk]
        server.gate.clear()
        self.add_issuer("slow", "https://slow.example.com", server.url)
        token = key.token(claims("x", issuer="https://slow.example.com"))
        with concurrent.futures.ThreadPoolExecutor(24) as threads:
            logins = [threads.submit(self.login_jwt, token) for _ in range(24)]
            wait_until(lambda: server.asked, what="a fetch")
            server.gate.set()
            self.assertEqual({login.result().status for login in logins}, {200})
        # One for each of the two workers.
        self.assertLessEqual(server.asked, 2)
        server.stop()

    def test_slow_issuers_do_not_delay_mail(self):
        """The fetches time out after 5 s, so a slow machine needs more than one round."""
        server = KeyServer()
        for index in range(8):
            self.add_issuer(f"slow{index}", f"https://slow{index}.example.com", server.url)
        with concurrent.futures.ThreadPoolExecutor(16) as threads:
            for attempt in range(5):
                server.gate.clear()
                asked = server.asked
                logins = [threads.submit(self.login_jwt, self.jwt(
                    "x", issuer=f"https://slow{index % 8}.example.com")) for index in range(16)]
                # All threads of both workers are busy.
                wait_until(lambda: server.asked >= asked + 4 or all(l.done() for l in logins),
                           what="the fetches")
                address = f"unhindered{attempt}@example.com"
                self.expect(self.register(address), 201)
                self.site.mailed(address, "ds_verify")
                is_held_up = any(login.done() for login in logins)
                server.gate.set()
                concurrent.futures.wait(logins)
                if not is_held_up:
                    break
                # Failed fetches are cached, so the next round needs new URLs.
                self.site.sql(
                    "update issuers set attributes = attributes || jsonb_build_object('jwks_url', "
                    f"(attributes ->> 'jwks_url') || '?{attempt}') where name like 'slow_'")
        server.stop()
        self.assertFalse(is_held_up)


if __name__ == "__main__":
    unittest.main()
