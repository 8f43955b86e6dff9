"""Grants by which a client signs users in by password without the pages."""

import json
import unittest

from asking import ADDRESS, JSON
from cases import in_parallel
from hosted import PASSWORD
from openid import WRONG_SECRET, OpenIDCase, Party, claims, verified

PREFIX = "http://auth0.com/oauth/grant-type/"
REALM = "Username-Password-Authentication"


class DirectCase(OpenIDCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True)
        for client in [cls.spa, cls.web, cls.native]:
            cls.site.dossier(
                "client", "set", client["id"], "password_grant=true", "email_code_grant=true")

    def setUp(self):
        super().setUp()
        self.site.sql("delete from rate_limits")

    def password(self, email, password=PASSWORD, client=None, headers=None, **fields):
        return Party(self, client or self.spa).token(headers, **{
            "grant_type": "password", "username": email, "password": password,
            "scope": "openid email", **fields})

    def start(self, email, client=None, **fields):
        client = client or self.spa
        body = {"client_id": client["id"], "client_secret": client.get("secret"),
                "connection": "email", "email": email, "send": "code", **fields}
        return self.site.request("POST", "/passwordless/start", body, JSON)

    def code(self, email, code, client=None, **fields):
        return Party(self, client or self.spa).token(**{
            "grant_type": PREFIX + "passwordless/otp", "username": email, "otp": code,
            "realm": "email", "scope": "openid email", **fields})

    def set(self, client, *settings):
        """Changes settings of a client for one test."""
        self.site.dossier("client", "set", client["id"], *settings)
        for setting in settings:
            name = setting.split("=")[0]
            before = "true" if name.endswith("_grant") else "null"
            self.addCleanup(self.site.dossier, "client", "set", client["id"], f"{name}={before}")


class Passwords(DirectCase):
    def test_a_password_gets_the_tokens_of_a_session(self):
        email, user = self.user()
        for realm in [{}, {"grant_type": PREFIX + "password-realm", "realm": REALM}]:
            tokens = self.expect(self.password(email, **realm), 200).json
            self.assertEqual((tokens["scope"], tokens["token_type"], "refresh_token" in tokens),
                             ("openid email", "Bearer", False))
            identity = verified(tokens["id_token"], self.keys)
            self.assertEqual(
                (identity["sub"], identity["aud"], identity["email"], identity["amr"]),
                (user, self.spa["id"], email, ["pwd"]))
            self.assertNotIn("nonce", identity)
            self.assertEqual(self.userinfo(tokens["access_token"]).json["sub"], user)
            session = claims(tokens["access_token"])["sid"]
            self.assertEqual(session, identity["sid"])
            self.assertEqual(
                self.site.sql(
                    "select client_id, audience, style, browser_id is null, "
                    f"round(extract(epoch from expires_at - created_at)) from sessions "
                    f"where session_id = '{session}'"),
                f"{self.spa['id']}|/|openid|t|86400")
            self.assertEqual(
                self.site.sql(f"select detail from audit where user_id = '{user}' and "
                              "action = 'login' order by event_id desc limit 1"),
                json.dumps({"provider": "password", "client_id": self.spa["id"]}))

    def test_json_with_nulls_and_unknown_members(self):
        email, _ = self.user()
        answer = self.post("/oauth/token", {
            "grant_type": "password", "client_id": self.spa["id"], "username": email,
            "password": PASSWORD, "scope": None, "audience": None, "realm": None,
            "organization": None, "device": "x"})
        tokens = self.expect(answer, 200).json
        self.assertEqual((tokens["scope"], "id_token" in tokens), ("", False))

    def test_scopes_and_audience_match_the_code_flow(self):
        email, _ = self.user()
        answer = self.password(
            email, audience=self.API, scope="openid read:posts offline_access")
        tokens = self.expect(answer, 200).json
        self.assertEqual(tokens["scope"], "openid read:posts offline_access")
        access = verified(tokens["access_token"], self.keys)
        self.assertEqual(access["aud"], [self.API, self.issuer + "userinfo"])
        again = self.expect(Party(self, self.spa).token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"]), 200).json
        self.assertEqual(again["scope"], tokens["scope"])
        # Another client cannot use the token.
        self.error(Party(self, self.native).token(
            grant_type="refresh_token", refresh_token=again["refresh_token"]), 400, "invalid_grant")
        self.error(self.password(email, audience="https://unknown.example/"), 400, "invalid_target")
        # Older apps name the endpoint with the claims as an API.
        self.expect(self.password(email, audience=self.issuer + "userinfo"), 200)

    def test_the_session_ends_by_revocation_and_sign_out_everywhere(self):
        email, user = self.user()
        for end in ["revoke", "sign-out"]:
            tokens = self.expect(self.password(email), 200).json
            self.assertEqual(self.userinfo(tokens["access_token"]).status, 200)
            if end == "revoke":
                self.expect(self.post("/oauth/revoke", {
                    "client_id": self.spa["id"], "token": tokens["access_token"]}), 200)
            else:
                self.site.dossier("user", "logout", "--yes", user)
            self.assertEqual(self.userinfo(tokens["access_token"]).status, 401, end)

    def test_other_apis_refuse_the_token(self):
        email, _ = self.user()
        tokens = self.expect(self.password(email, scope="openid offline_access"), 200).json
        self.assertEqual(self.site.get("/v1/me", token=tokens["access_token"]).status, 403)
        self.assertEqual(
            self.post("/v1/token/refresh", {"refresh_token": tokens["refresh_token"]}).status, 401)

    def test_wrong_passwords_and_unknown_users_answer_alike(self):
        email, _ = self.user()
        answers = [self.password(address, word) for address, word in [
            (email, "wrong"), ("nobody@example.com", PASSWORD), ("not an address", "x"),
            ("x" * 60_000, "x"), (email, "x" * 60_000), ("\u00e4@\u00f6", "\U0001f600" * 300)]]
        for answer in answers:
            self.error(answer, 400, "invalid_grant", "Wrong email or password.")
            self.assertEqual(answer.body, answers[0].body)

    def test_only_the_correct_password_reveals_a_block(self):
        email, user = self.user()
        self.site.dossier("user", "block", "--yes", "--app", "default", user)
        self.error(self.password(email, "wrong"), 400, "invalid_grant", "Wrong email or password.")
        self.error(self.password(email), 400, "invalid_grant", "user is blocked")

    def test_an_unverified_user_of_an_app_that_requires_it(self):
        email, _ = self.user()
        self.settings(sign_up="verify_first")
        self.error(self.password(email), 400, "invalid_grant")

    def test_guesses_count_together_with_those_of_other_apis(self):
        email, _ = self.user()
        self.settings(failures_per_identifier=3)
        place = {ADDRESS: "203.0.113.77"}
        for _ in range(2):
            self.error(self.password(email, "wrong", headers=place), 400, "invalid_grant")
        self.expect(self.login(email, "wrong", headers=place), 401, "wrong_credentials")
        answer = self.password(email, headers=place)
        self.error(answer, 429, "too_many_attempts")
        self.assertGreater(int(answer.headers["Retry-After"]), 0)
        # The user still signs in from elsewhere.
        self.expect(self.password(email, headers={ADDRESS: "198.51.100.7"}), 200)

    def test_concurrent_sign_ins(self):
        email, user = self.user()
        answers = in_parallel(6, lambda index: self.password(email))
        self.assertEqual([answer.status for answer in answers], [200] * 6)
        sessions = {claims(answer.json["access_token"])["sid"] for answer in answers}
        self.assertEqual(len(sessions), 6)
        for answer in answers:
            self.assertEqual(self.userinfo(answer.json["access_token"]).json["sub"], user)


class Clients(DirectCase):
    def test_only_clients_that_the_operator_allows(self):
        email, _ = self.user()
        other = self.new_client("single_page")
        ask = {"client": other}
        self.error(self.password(email, **ask), 400, "unauthorized_client")
        self.error(self.start(email, **ask), 400, "unauthorized_client")
        self.error(self.code(email, "12345678", **ask), 400, "unauthorized_client")
        for grant in ["mfa-otp", "mfa-recovery-code"]:
            self.error(Party(self, other).token(
                grant_type=PREFIX + grant, mfa_token="x", otp="1", recovery_code="x"),
                400, "unauthorized_client")
        # Each setting allows its own grant.
        self.site.dossier("client", "set", other["id"], "password_grant=true")
        self.expect(self.password(email, **ask), 200)
        self.error(self.start(email, **ask), 400, "unauthorized_client")

    def test_third_parties_and_machines_are_refused(self):
        email, _ = self.user()
        self.set(self.spa, "first_party=false")
        self.error(self.password(email), 400, "unauthorized_client")
        self.error(self.start(email), 400, "unauthorized_client")
        self.site.dossier("client", "set", self.machine["id"], "password_grant=true")
        self.error(self.password(email, client=self.machine), 400, "unauthorized_client")

    def test_the_login_methods_of_client_and_app_apply(self):
        email, _ = self.user()
        self.set(self.spa, 'connections=["email_code"]')
        self.error(self.password(email), 400, "unauthorized_client")
        self.expect(self.start(email), 200)
        self.set(self.native, 'connections=["password"]')
        self.error(self.start(email, client=self.native), 400, "unauthorized_client")
        self.site.set_app(email_code=False)
        self.addCleanup(self.site.set_app, email_code=True)
        self.error(self.start(email), 400, "unauthorized_client")

    def test_a_confidential_client_needs_its_secret(self):
        email, _ = self.user()
        self.expect(self.password(email, client=self.web), 200)
        self.expect(self.start(email, client=self.web), 200)
        bare = {"id": self.web["id"]}
        self.error(self.password(email, client=bare), 401, "invalid_client", WRONG_SECRET)
        self.error(self.start(email, client=bare), 401, "invalid_client", WRONG_SECRET)

    def test_malformed_requests(self):
        email, _ = self.user()
        for fields in [
                {"username": None}, {"password": None}, {"username": ""},
                {"grant_type": PREFIX + "password-realm"},
                {"grant_type": PREFIX + "password-realm", "realm": "employees"},
                {"grant_type": PREFIX + "password-realm", "realm": REALM.lower()},
                {"grant_type": PREFIX + "passwordless/otp", "realm": "email"},
                {"grant_type": PREFIX + "passwordless/otp", "realm": "sms", "otp": "1"},
                {"grant_type": PREFIX + "mfa-otp", "otp": "1"},
                {"grant_type": PREFIX + "mfa-otp", "mfa_token": "x"},
                {"grant_type": PREFIX + "mfa-recovery-code", "mfa_token": "x"}]:
            self.error(self.password(email, **fields), 400, "invalid_request")
        for kind in ["Password", "password-realm", PREFIX + "mfa-oob", PREFIX]:
            self.error(self.password(email, grant_type=kind), 400, "unsupported_grant_type")

    def test_the_discovery_document_names_the_grants(self):
        found = self.site.get("/.well-known/openid-configuration").json["grant_types_supported"]
        self.assertEqual(found, ["authorization_code", "refresh_token", "client_credentials", *[
            "password", PREFIX + "password-realm", PREFIX + "passwordless/otp",
            PREFIX + "mfa-otp", PREFIX + "mfa-recovery-code",
            "urn:ietf:params:oauth:grant-type:token-exchange",
            "urn:okta:params:oauth:grant-type:webauthn"]])


if __name__ == "__main__":
    unittest.main()
