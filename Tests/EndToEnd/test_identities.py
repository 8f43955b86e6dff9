"""Ways in, linking, mail, API keys and what guards them."""

import statistics
import time
import unittest

from cases import Case, in_parallel
from deployment import JSON
from issuers import Key, KeyServer, claims, secret_token


class Identities(Case):
    SETTINGS = {"DOSSIER_ISSUER_NETWORK": "any"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = KeyServer()
        cls.key = Key(cls.site.folder, "one")
        cls.keys.keys = [cls.key.jwk, {"kty": "oct", "kid": "leaked", "k": "c2VjcmV0", "alg": "HS256"}]
        for name, audience, where in [("web", "app", f"'{cls.keys.url}', null"),
                                      ("file", "file", f"null, '{{\"keys\": []}}'")]:
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

    def link(self, grant, **body):
        return self.post("/v1/me/identities", body, token=grant["access_token"])

    def unlink(self, grant, identity):
        return self.site.request(
            "DELETE", f"/v1/me/identities/{identity}", token=grant["access_token"])

    def audit(self, grant):
        return [event["action"] for event in self.expect(self.me(grant, "/audit"), 200).json]

    def jwt(self, subject, **others):
        return self.key.token(claims(subject, **others))

    def login_jwt(self, token, **options):
        return self.post("/v1/login/jwt", {"token": token}, **options)

    # The story

    def test_an_anonymous_user_becomes_permanent_and_keeps_what_it_has(self):
        grant = self.site.login()
        path = "/v1/me/custom-data"
        token = grant["access_token"]
        self.expect(self.site.request("PUT", path, {"level": 7}, JSON, token), 201)
        self.assertEqual([i["provider"] for i in self.identities(grant)], ["anonymous"])
        linked = self.link(
            grant, provider="password", email="grown@example.com", password="correct horse")
        self.assertEqual([i["provider"] for i in self.expect(linked, 200).json], ["password"])
        me = self.me(grant).json
        self.assertEqual(
            (me["anonymous"], me["email"], me["email_verified"]), (False, "grown@example.com", False))
        # Same session, same data.
        self.assertEqual(self.site.get(path, token=token).json, {"level": 7})
        self.expect(self.refresh(grant), 200)
        token = self.site.mailed("grown@example.com", "dct")
        self.expect(self.post("/v1/confirm", {"token": token}), 204)
        self.assertTrue(self.me(grant).json["email_verified"])
        again = self.expect(self.login("Grown@Example.com"), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])
        self.assertEqual(self.site.get(path, token=again["access_token"]).json, {"level": 7})
        # A second user on the device; both are listed, there and back without passwords.
        secret = grant["device_secret"]
        device = {"Dossier-Device": secret}
        self.confirmed("second@example.com")
        second = self.expect(self.login("second@example.com", headers=device), 200).json

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
        self.expect(self.login("second@example.com", headers=device), 200)
        self.assertEqual(states(), {one: "inactive", two: "active"})
        self.assertLessEqual({"login", "link", "email_confirm", "device_switch"},
                             set(self.audit(grant)))

    # Addresses of mail

    def test_registering_an_unconfirmed_address_first_takes_nothing_from_its_owner(self):
        attacker = self.expect(self.register("owner@example.com", "attackers pass"), 201).json
        owner = self.expect(self.register("OWNER@example.com", "owners password"), 201).json
        self.assertNotEqual(attacker["user_id"], owner["user_id"])
        # Until somebody proves it, both come in, each to its own user.
        for grant, password in [(attacker, "attackers pass"), (owner, "owners password")]:
            login = self.expect(self.login("owner@example.com", password), 200)
            self.assertEqual(login.json["user_id"], grant["user_id"])
        token = self.site.mailed("OWNER@example.com", "dct")
        self.expect(self.post("/v1/confirm", {"token": token}), 204)
        self.expect(self.login("owner@example.com", "attackers pass"), 401, "wrong_credentials")
        self.expect(self.login("owner@example.com", "owners password"), 200)
        self.expect(self.register("Owner@Example.com"), 409, "email_taken")
        lost = self.me(attacker).json
        self.assertEqual((lost["email"], self.identities(attacker)), (None, []))
        # What was mailed for the attacker's user is of no use any more.
        first = self.site.mails("owner@example.com")
        self.assertEqual(len(first), 1)
        taken = self.post("/v1/confirm", {"token": self.token_in(first[0])})
        self.expect(taken, 400, "mail_token_invalid")
        self.expect(self.post("/v1/confirm", {"token": token}), 400, "mail_token_invalid")

    @staticmethod
    def token_in(mail):
        return next(word for word in mail.split() if word.startswith("d") and "_" in word)

    def test_many_confirm_one_address_at_once_and_one_has_it(self):
        answers = in_parallel(8, lambda i: self.register("race@example.com", f"password {i}!"))
        self.assertEqual({answer.status for answer in answers}, {201})
        # Each has a mail of its own; the four newest claims can log in meanwhile.
        self.site.mailed("race@example.com", "dct", 8)
        tokens = [self.token_in(mail) for mail in self.site.mails("race@example.com")]
        self.assertEqual(len(set(tokens)), 8)
        outcomes = in_parallel(8, lambda i: self.post("/v1/confirm", {"token": tokens[i]}))
        statuses = sorted(answer.status for answer in outcomes)
        self.assertEqual((statuses[0], set(statuses[1:]) <= {400, 409}), (204, True), statuses)
        holders = self.site.sql("select count(*) from identity_subjects where provider = 'email' "
                                "and subject = 'race@example.com'")
        self.assertEqual(holders, "1")
        ways = [self.login("race@example.com", f"password {i}!").status for i in range(8)]
        self.assertEqual(sorted(ways), [200] + [401] * 7)

    def test_addresses_compare_as_people_do(self):
        self.expect(self.register("Ünï@Example.com"), 201)
        self.expect(self.login(" u\u0308NI\u0308@example.COM "), 200)

    def test_a_token_of_a_mail_works_once_and_not_forever(self):
        self.expect(self.register("once@example.com"), 201)
        first = self.site.mailed("once@example.com", "dct")
        self.expect(self.post("/v1/confirm/request", {"email": "once@example.com"}), 202)
        second = self.site.mailed("once@example.com", "dct", 2)
        self.expect(self.post("/v1/confirm", {"token": first}), 400, "mail_token_invalid")
        self.site.sql("update mail_tokens set expires_at = now()")
        self.expect(self.post("/v1/confirm", {"token": second}), 400, "mail_token_invalid")
        for token in ["", "x", second.replace("dct", "dpr"), second[:-2]]:
            self.expect(self.post("/v1/confirm", {"token": token}), 400, "mail_token_invalid")

    def test_where_confirming_is_asked_for_nobody_comes_in_before(self):
        self.site.sql("insert into apps (app_id, name, settings) values (new_object_id(), 'careful', "
                      "'{\"email_confirmation_required\": true, \"failures_per_address\": 1000}')")
        self.site.settle()
        app = {"Dossier-App": "careful"}
        answer = self.expect(self.register("care@example.com", headers=app), 202)
        self.assertEqual(answer.body, b"")
        self.expect(self.login("care@example.com", headers=app), 403, "email_unconfirmed")
        self.expect(self.login("care@example.com", "wrong", headers=app), 401, "wrong_credentials")
        token = self.site.mailed("care@example.com", "dct")
        self.expect(self.post("/v1/confirm", {"token": token}, headers=app), 204)
        self.expect(self.login("care@example.com", headers=app), 200)
        # Taken or not, a registration is answered alike, and changes nothing.
        self.expect(self.register("care@example.com", "another one", headers=app), 202)
        self.expect(self.login("care@example.com", "another one", headers=app), 401)

    # Passwords

    def test_a_password_is_changed_by_who_knows_it_and_ends_other_sessions(self):
        grant = self.confirmed("change@example.com")
        other = self.expect(self.login("change@example.com"), 200).json

        def change(current, new):
            return self.post("/v1/password/change", {"current_password": current,
                             "new_password": new}, token=grant["access_token"])

        self.expect(change("wrong horse", "battery staple"), 401, "wrong_credentials")
        self.expect(change("correct horse", "short"), 422, "invalid")
        self.expect(change("correct horse", "battery staple"), 204)
        self.expect(self.me(grant), 200)
        self.expect(self.me(other), 401, "session_ended")
        self.expect(self.login("change@example.com"), 401, "wrong_credentials")
        self.expect(self.login("change@example.com", "battery staple"), 200)
        self.assertIn("password_change", self.audit(grant))
        anonymous = self.site.login()
        refused = self.post("/v1/password/change", {"current_password": "", "new_password":
                            "battery staple"}, token=anonymous["access_token"])
        self.expect(refused, 401, "wrong_credentials")

    def test_a_password_is_reset_by_who_reads_the_mail_and_ends_every_session(self):
        grant = self.confirmed("reset@example.com")
        for address in ["Reset@example.com", "nobody@example.com"]:
            answer = self.expect(self.post("/v1/password/reset-request", {"email": address}), 202)
            self.assertEqual(answer.body, b"")
        token = self.site.mailed("Reset@example.com", "dpr")
        self.assertEqual(self.site.mails("nobody@example.com"), [])
        short = self.post("/v1/password/reset", {"token": token, "password": "short"})
        self.expect(short, 422, "invalid")
        body = {"token": token, "password": "battery staple"}
        self.expect(self.post("/v1/password/reset", body), 204)
        self.expect(self.post("/v1/password/reset", body), 400, "mail_token_invalid")
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        self.expect(self.login("reset@example.com"), 401, "wrong_credentials")
        again = self.expect(self.login("reset@example.com", "battery staple"), 200).json
        self.assertIn("password_reset", self.audit(again))
        # It proves the address, too.
        self.expect(self.register("unproved@example.com"), 201)
        self.expect(self.post("/v1/password/reset-request", {"email": "unproved@example.com"}), 202)
        body = {"token": self.site.mailed("unproved@example.com", "dpr"), "password": "my own words"}
        self.expect(self.post("/v1/password/reset", body), 204)
        grant = self.expect(self.login("unproved@example.com", "my own words"), 200).json
        self.assertTrue(self.me(grant).json["email_verified"])

    # Tokens of issuers

    def test_a_token_of_an_issuer_is_a_way_in(self):
        token = self.jwt("sub-1", name="Grace", email="grace@example.com", handle="amazing")
        grant = self.expect(self.login_jwt(token), 200).json
        me = self.me(grant).json
        self.assertEqual((me["name"], me["nickname"], me["email"], me["email_verified"]),
                         ("Grace", "amazing", "grace@example.com", False))
        again = self.expect(self.login_jwt(self.jwt("sub-1")), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])
        self.assertEqual(self.identities(grant)[0]["provider"], "jwt:web")
        answers = in_parallel(8, lambda _: self.login_jwt(self.jwt("sub-race")))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len({answer.json["user_id"] for answer in answers}), 1)

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

    def test_an_issuer_that_is_away(self):
        server = KeyServer()
        key = Key(self.site.folder, "away")
        server.is_broken = True
        self.site.sql(
            "insert into issuers (app_id, name, issuer, audience, jwks_url) select app_id, 'away', "
            f"'https://away.example.com', 'app', '{server.url}' from apps where name = 'default'")
        token = key.token(claims("x", issuer="https://away.example.com"))
        answer = self.expect(self.login_jwt(token), 503, "issuer_unavailable")
        self.assertIn("Retry-After", answer.headers)
        self.assertNotIn("127.0.0.1", answer.body.decode())
        server.is_broken = False
        server.keys = [key.jwk]
        for _ in range(6):
            self.expect(self.login_jwt(token), 200)
        # Kept by each of the two workers.
        self.assertLessEqual(server.asked, 4)
        server.stop()
        self.expect(self.login_jwt(token), 200)

    # Linking

    def test_an_identity_belongs_to_one_user(self):
        one = self.expect(self.login_jwt(self.jwt("linked")), 200).json
        two = self.site.login()
        taken = self.link(two, provider="jwt", token=self.jwt("linked"))
        self.expect(taken, 409, "identity_taken")
        self.assertTrue(self.me(two).json["anonymous"])
        self.assertEqual([i["provider"] for i in self.identities(two)], ["anonymous"])
        # One's own again changes nothing.
        same = self.expect(self.link(one, provider="jwt", token=self.jwt("linked")), 200)
        self.assertEqual(len(same.json), 1)
        self.confirmed("taken@example.com")
        taken = self.link(
            two, provider="password", email="Taken@example.com", password="correct horse")
        self.expect(taken, 409, "identity_taken")
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

    def test_many_link_one_identity_at_once_and_one_wins(self):
        grants = [self.site.login() for _ in range(32)]
        token = self.jwt("wanted")
        answers = in_parallel(
            32, lambda index: self.link(grants[index], provider="jwt", token=token))
        self.assertEqual(sorted(answer.status for answer in answers), [200] + [409] * 31)
        winner = next(g for g, answer in zip(grants, answers) if answer.status == 200)
        self.assertEqual(self.login_jwt(token).json["user_id"], winner["user_id"])
        permanent = [grant for grant in grants if not self.me(grant).json["anonymous"]]
        self.assertEqual(permanent, [winner])

    def test_the_last_identity_stays(self):
        grant = self.confirmed("last@example.com")
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
        other = self.confirmed("other@example.com")
        self.expect(self.unlink(grant, self.identities(other)[0]["id"]), 404, "not_found")

    def test_an_unlinked_address_is_free_again(self):
        grant = self.confirmed("free@example.com")
        self.expect(self.link(grant, provider="jwt", token=self.jwt("free")), 200)
        password = next(i["id"] for i in self.identities(grant) if i["provider"] == "password")
        self.expect(self.unlink(grant, password), 204)
        self.assertIsNone(self.me(grant).json["email"])
        self.expect(self.login("free@example.com"), 401, "wrong_credentials")
        self.confirmed("Free@example.com", "somebody elses")
        self.assertIn("unlink", self.audit(grant))

    # API keys

    def test_an_api_key_is_shown_once_disabled_and_deleted(self):
        grant = self.confirmed("keys@example.com")
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
        for wrong in ["", "x", made["key"][:-1], made["key"].replace("dak", "drt")]:
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

    def test_a_user_has_no_more_api_keys_than_it_may(self):
        grant = self.site.login()
        answers = in_parallel(24, lambda index: self.post(
            "/v1/me/api-keys", {"name": f"k{index}"}, token=grant["access_token"]))
        self.assertEqual(sorted(answer.status for answer in answers), [201] * 20 + [409] * 4)
        self.assertFalse(self.me(grant).json["anonymous"])

    # Sessions and the trail

    def test_a_user_sees_and_ends_own_sessions(self):
        grant = self.confirmed("sessions@example.com")
        others = [self.expect(self.login("sessions@example.com"), 200).json for _ in range(3)]
        listed = self.expect(self.me(grant, "/sessions"), 200).json
        self.assertEqual(len(listed), 4)
        self.assertEqual([s["device_id"] for s in listed if s["current"]], [grant["device_id"]])
        self.assertEqual({s["address"] for s in listed}, {"127.0.0.1"})
        ended = next(s["id"] for s in listed if s["device_id"] == others[0]["device_id"])
        token = grant["access_token"]
        self.expect(self.site.request("DELETE", f"/v1/me/sessions/{ended}", token=token), 204)
        self.expect(self.me(others[0]), 401, "session_ended")
        again = self.site.request("DELETE", f"/v1/me/sessions/{ended}", token=token)
        self.expect(again, 404, "not_found")
        stranger = self.site.login()["access_token"]
        foreign = next(s["id"] for s in listed if s["current"])
        refused = self.site.request("DELETE", f"/v1/me/sessions/{foreign}", token=stranger)
        self.expect(refused, 404, "not_found")
        self.expect(self.site.request("DELETE", "/v1/me/sessions", token=token), 204)
        self.assertEqual([self.me(g).status for g in [grant, *others]], [200, 401, 401, 401])

    def test_the_audit_trail_tells_who_did_what_and_has_pages(self):
        grant = self.confirmed("trail@example.com")
        self.expect(self.login("trail@example.com", "wrong horse"), 401)
        events = self.expect(self.me(grant, "/audit"), 200).json
        self.assertEqual([e["action"] for e in events], ["login_failure", "email_confirm", "login"])
        self.assertEqual(events[0]["actor"], "anyone")
        self.assertEqual(events[0]["address"], "127.0.0.1")
        self.site.sql(
            "insert into audit (user_id, event_id, app_id, action, actor) select "
            f"'{grant['user_id']}', lpad(to_hex(g), 24, '0'), app_id, 'x', 'user' "
            "from apps, generate_series(1, 150) g where name = 'default'")
        first = self.me(grant, "/audit")
        self.assertEqual(len(first.json), 100)
        link = first.headers["Link"]
        self.assertIn('rel="next"', link)
        rest = self.site.get(link[1:link.index(">")], token=grant["access_token"])
        self.assertEqual(len(self.expect(rest, 200).json), 53)
        self.assertNotIn("Link", rest.headers)
        ids = [e["id"] for e in first.json + rest.json]
        self.assertEqual(len(set(ids)), 153)
        self.expect(self.me(grant, "/audit?page=2"), 422, "invalid")

    # Guards

    def test_guesses_are_limited_for_known_and_unknown_alike(self):
        self.confirmed("guessed@example.com")
        for address in ["guessed@example.com", "unknown@example.com"]:
            answers = in_parallel(16, lambda i: self.login(address, f"wrong horse {i}"))
            statuses = sorted(answer.status for answer in answers)
            self.assertEqual(statuses, [401] * 10 + [429] * 6, address)
            refused = self.expect(self.login(address, "correct horse"), 429, "too_many_attempts")
            self.assertGreater(int(refused.headers["Retry-After"]), 60)
        self.site.sql("update failures set until = now()")
        self.expect(self.login("guessed@example.com"), 200)
        # A success forgives.
        for _ in range(3):
            for _ in range(9):
                self.expect(self.login("guessed@example.com", "wrong"), 401)
            self.expect(self.login("guessed@example.com"), 200)

    def test_one_network_address_is_limited_over_all_identifiers(self):
        self.site.sql("insert into apps (app_id, name, settings) values (new_object_id(), 'narrow', "
                      "'{\"failures_per_address\": 5}')")
        self.site.settle()
        app = {"Dossier-App": "narrow"}
        statuses = [self.login(f"a{i}@example.com", "x" * 8, headers=app).status for i in range(7)]
        self.assertEqual(statuses, [401] * 5 + [429] * 2)

    def test_known_and_unknown_addresses_take_alike_long(self):
        self.confirmed("timed@example.com")
        self.site.set_app(failures_per_identifier=10_000)
        self.site.settle()
        times = {"timed@example.com": [], "untimed@example.com": []}
        for _ in range(25):
            for address, list_ in times.items():
                start = time.monotonic()
                self.expect(self.login(address, "wrong horse"), 401, "wrong_credentials")
                list_.append(time.monotonic() - start)
        known, unknown = (statistics.median(list_) for list_ in times.values())
        # Argon2id is most of it; without it the one would take a tenth of the other.
        self.assertLess(abs(known - unknown), 0.4 * max(known, unknown), (known, unknown))
        self.site.set_app(failures_per_identifier=10)
        self.site.settle()

    def test_mail_to_one_address_is_limited(self):
        statuses = [self.post("/v1/password/reset-request", {"email": "flood@example.com"}).status
                    for _ in range(12)]
        self.assertEqual(statuses, [202] * 10 + [429] * 2)

    def test_ways_in_that_are_off_are_off(self):
        self.site.sql(
            "insert into apps (app_id, name, settings) values (new_object_id(), 'closed', "
            "'{\"anonymous\": false, \"password\": false, \"jwt\": false, \"api_key\": false}')")
        self.site.settle()
        app = {"Dossier-App": "closed"}
        credentials = {"email": "a@b.c", "password": "correct horse"}
        for path, body in {
            "/v1/login/anonymous": {}, "/v1/register": credentials,
            "/v1/login/password": credentials, "/v1/login/jwt": {"token": "x"},
            "/v1/login/api-key": {"key": "x"}, "/v1/confirm/request": {"email": "a@b.c"},
            "/v1/password/reset-request": {"email": "a@b.c"},
        }.items():
            with self.subTest(path):
                self.expect(self.post(path, body, headers=app), 403, "way_in_closed")


class WithoutMail(Case):
    SETTINGS = {"DOSSIER_MAIL": ""}

    def test_a_deployment_without_mail_says_so(self):
        self.expect(self.register("mute@example.com"), 201)
        for path in ["/v1/confirm/request", "/v1/password/reset-request"]:
            answer = self.post(path, {"email": "mute@example.com"})
            self.expect(answer, 503, "mail_not_configured")


if __name__ == "__main__":
    unittest.main()
