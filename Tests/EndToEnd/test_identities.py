"""Tokens of issuers, linking and API keys."""

import unittest

from cases import Case, in_parallel
from asking import JSON
from issuers import Key, KeyServer, claims


class IdentityCase(Case):
    """Tests in an app with issuers of tokens."""

    SETTINGS = {"DOSSIER_ISSUER_NETWORK": "any"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = KeyServer()
        cls.key = Key(cls.site.folder, "one")
        cls.keys.keys = [cls.key.jwk, {"kty": "oct", "kid": "leaked", "k": "c2VjcmV0", "alg": "HS256"}]
        claims = {"nickname": "handle"}
        cls.site.add_issuer("web", jwks_url=cls.keys.url, claims=claims)
        cls.site.add_issuer("file", audience="file", jwks={"keys": []}, claims=claims)

    @classmethod
    def tearDownClass(cls):
        cls.keys.stop()
        super().tearDownClass()

    def identities(self, grant):
        return self.expect(self.me(grant, "/identities"), 200).json

    def jwt(self, subject, **others):
        return self.key.token(claims(subject, **others))

    def login_jwt(self, token, **options):
        return self.post("/v1/login/jwt", {"token": token}, **options)


class Identities(IdentityCase):
    def unlink(self, grant, identity):
        return self.site.request(
            "DELETE", f"/v1/me/identities/{identity}", token=grant["access_token"])

    def audit(self, grant):
        return [event["action"] for event in self.expect(self.me(grant, "/audit"), 200).json]

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

    # Linking

    def test_an_identity_belongs_to_one_user(self):
        one = self.expect(self.login_jwt(self.jwt("linked")), 200).json
        two = self.site.login()
        taken = self.link(two, provider="jwt", token=self.jwt("linked"))
        self.expect(taken, 409, "identity_taken")
        self.assertTrue(self.me(two).json["anonymous"])
        self.assertEqual([i["provider"] for i in self.identities(two)], ["anonymous"])
        # Linking an own identity again changes nothing.
        self.expect(self.link(one, provider="jwt", token=self.jwt("linked")), 200)
        self.assertEqual(len(self.identities(one)), 1)
        self.expect(self.link(one, provider="password", email="linked@example.com",
                              password="correct horse"), 200)
        twice = self.link(one, provider="password", email="more@example.com",
                          password="correct horse")
        self.expect(twice, 409, "identity_exists")
        self.assertEqual(len(self.identities(one)), 2)
        self.expect(self.link(one, provider="carrier pigeon"), 422, "validation_failed")
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

    def test_an_unlinked_identity_ends_the_sessions_that_it_opened(self):
        owner = self.verified("robbed@example.com")
        self.expect(self.link(owner, provider="jwt", token=self.jwt("stolen")), 200)
        thief = self.expect(self.login_jwt(self.jwt("stolen")), 200).json
        other = self.expect(self.login("robbed@example.com"), 200).json
        own = self.expect(self.login_jwt(self.jwt("stolen")), 200).json
        [identity] = [i["id"] for i in self.identities(own) if i["provider"].startswith("jwt:")]
        self.expect(self.unlink(own, identity), 204)
        self.expect(self.me(thief), 401, "session_ended")
        self.expect(self.refresh(thief), 401, "refresh_token_invalid")
        # The session of the request and those of other identities stay.
        for grant in [own, other]:
            self.expect(self.me(grant), 200)
        self.assertEqual(self.site.sql(
            "select detail ->> 'reason' from audit where action = 'session_end' and user_id = "
            f"'{thief['user_id']}' order by event_id desc limit 1"), "unlink")

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
        # An identity of another user is not found.
        other = self.verified("other@example.com")
        self.expect(self.unlink(grant, self.identities(other)[0]["id"]), 404, "not_found")

    def test_an_unlinked_address_is_free_after_its_restore_link_expires(self):
        grant = self.verified("free@example.com")
        self.expect(self.link(grant, provider="jwt", token=self.jwt("free")), 200)
        password = next(i["id"] for i in self.identities(grant) if i["provider"] == "password")
        self.expect(self.unlink(grant, password), 204)
        self.assertIsNone(self.me(grant).json["email"])
        self.expect(self.login("free@example.com"), 401, "wrong_credentials")
        # The mailed link restores the address for a week.
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
        self.expect(self.post("/v1/me/api-keys", {"name": ""}, token=token), 422, "validation_failed")

    def test_the_number_of_api_keys_of_a_user_is_limited(self):
        grant = self.site.login()
        answers = in_parallel(24, lambda index: self.post(
            "/v1/me/api-keys", {"name": f"k{index}"}, token=grant["access_token"]))
        self.assertEqual(sorted(answer.status for answer in answers), [201] * 20 + [409] * 4)
        self.assertFalse(self.me(grant).json["anonymous"])


if __name__ == "__main__":
    unittest.main()
