"""Tokens of issuers, linking and API keys."""

import concurrent.futures
import json
import time
import unittest

from cases import Case, in_parallel
from asking import JSON
from machine import wait_until
from issuers import Key, KeyServer, claims, encode, secret_token


class Identities(Case):
    SETTINGS = {"DOSSIER_ISSUER_NETWORK": "any"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = KeyServer()
        cls.key = Key(cls.site.folder, "one")
        cls.keys.keys = [cls.key.jwk, {"kty": "oct", "kid": "leaked", "k": "c2VjcmV0", "alg": "HS256"}]
        for name, audience, where in [("web", "app", f"'{cls.keys.url}', null"),
                                      ("file", "file", "null, '{\"keys\": []}'")]:
            cls.site.sql(
                "insert into issuers (app_id, name, issuer, audience, jwks_url, jwks, claims) "
                f"select app_id, '{name}', 'https://issuer.example.com', '{audience}', {where}, "
                "'{\"nickname\": \"handle\"}' from apps where name = 'default'")

    @classmethod
    def tearDownClass(cls):
        cls.keys.stop()
        super().tearDownClass()

    def identities(self, grant):
        return self.expect(self.me(grant, "/identities"), 200).json

    def unlink(self, grant, identity):
        return self.site.request(
            "DELETE", f"/v1/me/identities/{identity}", token=grant["access_token"])

    def audit(self, grant):
        return [event["action"] for event in self.expect(self.me(grant, "/audit"), 200).json]

    def jwt(self, subject, **others):
        return self.key.token(claims(subject, **others))

    def login_jwt(self, token, **options):
        return self.post("/v1/login/jwt", {"token": token}, **options)

    def test_no_token_header_crashes_a_worker(self):
        before = self.site.workers()
        for head in [b'{"alg": 9223372036854775808}', b'{"alg": "ES256", "kid": [1e300]}',
                     b'{"alg": 1e-9223372036854775808}']:
            token = f"{encode(head)}.{encode(claims('anyone'))}.{encode(b'x')}"
            self.expect(self.site.request("GET", "/v1/me", token=token), 401)
            self.expect(self.login_jwt(token), 401)
        self.assertEqual(self.site.workers(), before)

    # The story

    def test_an_anonymous_user_becomes_permanent_and_keeps_its_data(self):
        grant = self.site.login()
        path = "/v1/me/custom-data"
        token = grant["access_token"]
        self.expect(self.site.request("PUT", path, {"level": 7}, JSON, token), 200)
        self.assertEqual([i["provider"] for i in self.identities(grant)], ["anonymous"])
        guest = dict(grant)
        self.expect(self.link(grant, provider="password", email="grown@example.com",
                              password="correct horse"), 200)
        self.assertEqual([i["provider"] for i in self.identities(grant)], ["password"])
        me = self.me(grant).json
        self.assertEqual(
            (me["anonymous"], me["email"], me["email_verified"]), (False, "grown@example.com", False))
        # A new session, the same user and data.
        self.assertEqual(
            (grant["user_id"], grant["device_id"]), (guest["user_id"], guest["device_id"]))
        self.assertEqual(self.me(grant, "/custom-data").json, {"level": 7})
        self.expect(self.me(guest), 401, "session_ended")
        self.expect(self.refresh(guest), 401, "refresh_token_invalid")
        token = self.site.mailed("grown@example.com", "ds_verify")
        self.expect(self.verify(token, grant), 204)
        self.expect(self.refresh(grant), 200)
        self.assertTrue(self.me(grant).json["email_verified"])
        again = self.expect(self.login("Grown@Example.com"), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])
        self.assertEqual(self.site.get(path, token=again["access_token"]).json, {"level": 7})
        # A second user on the device; both are listed, there and back without passwords.
        device = {"Dossier-Device": grant["device_secret"]}
        self.verified("second@example.com")
        second = self.expect(self.login("second@example.com", headers=device), 200).json
        device["Dossier-Device"] = second["device_secret"]

        def states():
            return {user["user_id"]: user["state"] for user in
                    self.site.get("/v1/device", headers=device).json["users"]}

        def switch(user):
            return self.site.request(
                "PUT", "/v1/device/active", {"user_id": user}, {**JSON, **device})

        one, two = grant["user_id"], second["user_id"]
        self.assertEqual(states(), {one: "inactive", two: "active"})
        self.expect(self.me(self.expect(switch(one), 200).json), 200)
        self.expect(switch(two), 200)
        self.expect(self.post(f"/v1/device/users/{two}/logout", headers=device), 200)
        self.assertEqual(states(), {one: "active", two: "logged_out"})
        self.expect(self.site.request("DELETE", f"/v1/device/users/{two}", headers=device), 200)
        self.assertEqual(states(), {one: "active"})
        second = self.expect(self.login("second@example.com", headers=device), 200).json
        device["Dossier-Device"] = second["device_secret"]
        self.assertEqual(states(), {one: "inactive", two: "active"})
        self.assertLessEqual({"login", "link", "email_verify", "device_switch"},
                             set(self.audit(grant)))

    # Tokens of issuers

    def test_a_token_must_be_signed_by_the_algorithm_in_its_header(self):
        payload = claims("algorithms")
        self.expect(self.post("/v1/login/jwt", {"token": self.key.token(payload)}), 200)
        for algorithm in ["RS384", "RS512", "PS256", "ES256", "none"]:
            token = self.key.token(payload, alg=algorithm)
            self.expect(self.post("/v1/login/jwt", {"token": token}), 401, "external_token_invalid")
        # If a key has no `alg`, one user's token does not decide the algorithm for others.
        key = Key(self.site.folder, "unsaid")
        jwk = {name: value for name, value in key.jwk.items() if name != "alg"}
        self.site.sql(
            "insert into issuers (app_id, name, issuer, audience, jwks) select app_id, 'unsaid', "
            f"'https://unsaid.example.com', 'app', '{json.dumps({'keys': [jwk]})}' "
            "from apps where name = 'default'")
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
        self.site.sql(
            "insert into issuers (app_id, name, issuer, audience, jwks_url) select app_id, "
            f"'{name}', '{issuer}', 'app', '{url}' from apps where name = 'default'")

    def test_a_user_belongs_to_the_iss_of_its_issuer(self):
        other = Key(self.site.folder, "theirs")
        server = KeyServer()
        server.keys = [self.key.jwk, other.jwk]
        add = lambda name, issuer: self.site.dossier(  # noqa: E731
            "issuer", "add", name, "--issuer", issuer, "--audience", "app", "--jwks-url", server.url)
        remove = lambda name: self.site.dossier("issuer", "remove", name)  # noqa: E731
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
                self.site.sql(f"update issuers set jwks_url = jwks_url || '?{attempt}' "
                              "where name like 'slow_'")
        server.stop()
        self.assertFalse(is_held_up)

    # Linking

    def test_an_identity_belongs_to_one_user(self):
        one = self.expect(self.login_jwt(self.jwt("linked")), 200).json
        two = self.site.login()
        taken = self.link(two, provider="jwt", token=self.jwt("linked"))
        self.expect(taken, 409, "identity_taken")
        self.assertTrue(self.me(two).json["anonymous"])
        self.assertEqual([i["provider"] for i in self.identities(two)], ["anonymous"])
        # One's own again changes nothing.
        self.expect(self.link(one, provider="jwt", token=self.jwt("linked")), 200)
        self.assertEqual(len(self.identities(one)), 1)
        self.expect(self.link(one, provider="password", email="linked@example.com",
                              password="correct horse"), 200)
        twice = self.link(one, provider="password", email="more@example.com",
                          password="correct horse")
        self.expect(twice, 409, "identity_exists")
        self.assertEqual(len(self.identities(one)), 2)
        self.expect(self.link(one, provider="carrier pigeon"), 422, "invalid")
        # Both lead to the same user.
        self.assertEqual(self.login("linked@example.com").json["user_id"], one["user_id"])
        self.assertEqual(self.login_jwt(self.jwt("linked")).json["user_id"], one["user_id"])

    def test_one_of_concurrent_links_of_an_identity_succeeds(self):
        grants = [self.site.login() for _ in range(32)]
        token = self.jwt("wanted")
        answers = in_parallel(
            32, lambda index: self.link(grants[index], provider="jwt", token=token))
        self.assertEqual(sorted(answer.status for answer in answers), [200] + [409] * 31)
        winner = next(g for g, answer in zip(grants, answers) if answer.status == 200)
        self.assertEqual(self.login_jwt(token).json["user_id"], winner["user_id"])
        permanent = [grant for grant in grants if not self.me(grant).json["anonymous"]]
        self.assertEqual(permanent, [winner])

    def test_the_last_identity_cannot_be_removed(self):
        grant = self.verified("last@example.com")
        password = self.identities(grant)[0]["id"]
        self.expect(self.unlink(grant, password), 409, "last_identity")
        self.expect(self.link(grant, provider="jwt", token=self.jwt("last")), 200)
        ids = [identity["id"] for identity in self.identities(grant)]
        answers = in_parallel(2, lambda index: self.unlink(grant, ids[index]))
        self.assertEqual(sorted(answer.status for answer in answers), [204, 409])
        self.assertEqual(len(self.identities(grant)), 1)
        self.expect(self.unlink(grant, "0" * 24), 404, "not_found")
        anonymous = self.site.login()
        only = self.identities(anonymous)[0]["id"]
        self.expect(self.unlink(anonymous, only), 409, "last_identity")
        # Another's is not there.
        other = self.verified("other@example.com")
        self.expect(self.unlink(grant, self.identities(other)[0]["id"]), 404, "not_found")

    def test_an_unlinked_address_is_free_after_its_restore_link_expires(self):
        grant = self.verified("free@example.com")
        self.expect(self.link(grant, provider="jwt", token=self.jwt("free")), 200)
        password = next(i["id"] for i in self.identities(grant) if i["provider"] == "password")
        self.expect(self.unlink(grant, password), 204)
        self.assertIsNone(self.me(grant).json["email"])
        self.expect(self.login("free@example.com"), 401, "wrong_credentials")
        # For a week the mail that went there restores it.
        self.site.mailed("free@example.com", "ds_restore")
        self.expect(self.register("Free@example.com", "somebody elses"), 409, "email_taken")
        self.site.sql("update identity_subjects set reserved_until = now() "
                      f"where user_id = '{grant['user_id']}' and reserved_until is not null")
        self.verified("Free@example.com", "somebody elses")
        self.assertIn("unlink", self.audit(grant))

    # API keys

    def test_an_api_key_is_returned_once_and_can_be_disabled_and_deleted(self):
        grant = self.verified("keys@example.com")
        token = grant["access_token"]
        made = self.expect(self.post("/v1/me/api-keys", {"name": "cron"}, token=token), 201).json
        listed = self.expect(self.me(grant, "/api-keys"), 200).json
        self.assertEqual([(key["id"], key["name"], key["disabled"]) for key in listed],
                         [(made["id"], "cron", False)])
        self.assertNotIn(made["key"], str(listed))
        dump = self.site.sql("select api_keys::text from api_keys")
        self.assertNotIn(made["key"], dump)

        def login(key=made["key"]):
            return self.post("/v1/login/api-key", {"key": key})

        self.assertEqual(self.expect(login(), 200).json["user_id"], grant["user_id"])
        for wrong in ["", "x", made["key"][:-1], made["key"].replace("ds_apikey", "ds_refresh")]:
            self.expect(login(wrong), 401, "wrong_credentials")
        path = f"/v1/me/api-keys/{made['id']}"
        self.expect(self.site.request("PATCH", path, {"disabled": True}, JSON, token), 204)
        self.expect(login(), 401, "wrong_credentials")
        self.expect(self.site.request("PATCH", path, {"disabled": False}, JSON, token), 204)
        self.expect(login(), 200)
        other = self.site.login()["access_token"]
        self.expect(self.site.request("PATCH", path, {"disabled": True}, JSON, other), 404)
        self.expect(self.site.request("DELETE", path, token=other), 404, "not_found")
        self.expect(self.site.request("DELETE", path, token=token), 204)
        self.expect(login(), 401, "wrong_credentials")
        self.expect(self.post("/v1/me/api-keys", {"name": ""}, token=token), 422, "invalid")

    def test_the_number_of_api_keys_of_a_user_is_limited(self):
        grant = self.site.login()
        answers = in_parallel(24, lambda index: self.post(
            "/v1/me/api-keys", {"name": f"k{index}"}, token=grant["access_token"]))
        self.assertEqual(sorted(answer.status for answer in answers), [201] * 20 + [409] * 4)
        self.assertFalse(self.me(grant).json["anonymous"])


if __name__ == "__main__":
    unittest.main()
