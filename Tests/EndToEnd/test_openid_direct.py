"""Grants by which a client signs users in without the pages, as Auth0's SDKs send them."""

import json
import os
import subprocess
import sys
import unittest

from asking import ADDRESS, JSON
from authenticator import FactorCase
from cases import in_parallel
from hosted import PASSWORD
from machine import TOOLS_FOLDER
from openid import OpenIDCase, Party, claims, verified

PREFIX = "http://auth0.com/oauth/grant-type/"
REALM = "Username-Password-Authentication"

# The program has a deployment and an address; its output is a line of JSON for each step.
SDK = """
import json, sys
from auth0.authentication import GetToken, Passwordless, RevokeToken
try:
    from auth0.authentication.exceptions import Auth0Error
except ImportError:
    from auth0.exceptions import Auth0Error

site = json.loads(sys.argv[1])
ways = {"client_id": site["client"], "client_secret": site["secret"], "protocol": "http"}
get = GetToken(site["domain"], **ways)

tokens = get.login(
    username=site["email"], password=site["password"], realm=site["realm"],
    scope="openid email offline_access", audience=site["api"])
assert tokens["token_type"] == "Bearer" and isinstance(tokens["expires_in"], int), tokens
again = get.refresh_token(tokens["refresh_token"])
assert again["refresh_token"] != tokens["refresh_token"], again
RevokeToken(site["domain"], **ways).revoke_refresh_token(again["refresh_token"])
try:
    get.refresh_token(again["refresh_token"])
    raise SystemExit("a token that was revoked is valid")
except Auth0Error as error:
    assert (error.status_code, error.error_code) == (403, "invalid_grant"), vars(error)
try:
    get.login(username=site["email"], password="wrong", realm=site["realm"])
    raise SystemExit("a wrong password is right")
except Auth0Error as error:
    assert error.message == "Wrong email or password.", vars(error)

started = Passwordless(site["domain"], **ways).email(site["email"], send="code")
assert started["email"] == site["email"], started
print("started", flush=True)
code = sys.stdin.readline().strip()
tokens = get.passwordless_login(
    username=site["email"], otp=code, realm="email", scope="openid", audience="")
assert tokens["id_token"], tokens
try:
    get.passwordless_login(
        username=site["email"], otp=code, realm="email", scope="openid", audience="")
    raise SystemExit("a code is valid twice")
except Auth0Error as error:
    assert error.message == "Wrong email or verification code.", vars(error)
print("done")
"""


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
                    "select client_id, coalesce(audience, ''), style, browser_id is null, "
                    f"round(extract(epoch from expires_at - created_at)) from sessions "
                    f"where session_id = '{session}'"),
                f"{self.spa['id']}||openid|t|86400")
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
            email, audience=self.API, scope="openid read:posts delete:posts offline_access")
        tokens = self.expect(answer, 200).json
        self.assertEqual(tokens["scope"], "openid read:posts offline_access")
        access = verified(tokens["access_token"], self.keys)
        self.assertEqual(access["aud"], [self.API, self.issuer + "userinfo"])
        again = self.expect(Party(self, self.spa).token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"]), 200).json
        self.assertEqual(again["scope"], tokens["scope"])
        # Another client cannot use the token.
        self.error(Party(self, self.native).token(
            grant_type="refresh_token", refresh_token=again["refresh_token"]), 403, "invalid_grant")
        self.error(self.password(email, audience="https://unknown.example/"), 403, "access_denied")
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
                self.site.dossier("user", "logout", user)
            self.assertEqual(self.userinfo(tokens["access_token"]).status, 401, end)

    def test_other_apis_refuse_the_token(self):
        email, _ = self.user()
        tokens = self.expect(self.password(email, scope="openid offline_access"), 200).json
        self.assertEqual(self.site.get("/v1/me", token=tokens["access_token"]).status, 401)
        self.assertEqual(
            self.post("/v1/token/refresh", {"refresh_token": tokens["refresh_token"]}).status, 401)

    def test_wrong_passwords_and_unknown_users_answer_alike(self):
        email, _ = self.user()
        answers = [self.password(address, word) for address, word in [
            (email, "wrong"), ("nobody@example.com", PASSWORD), ("not an address", "x"),
            ("x" * 60_000, "x"), (email, "x" * 60_000), ("\u00e4@\u00f6", "\U0001f600" * 300)]]
        for answer in answers:
            self.error(answer, 403, "invalid_grant", "Wrong email or password.")
            self.assertEqual(answer.body, answers[0].body)

    def test_only_the_correct_password_reveals_a_block(self):
        email, user = self.user()
        self.site.dossier("user", "block", "--app", "default", user)
        self.error(self.password(email, "wrong"), 403, "invalid_grant", "Wrong email or password.")
        self.error(self.password(email), 403, "unauthorized", "user is blocked")

    def test_an_unverified_user_of_an_app_that_requires_it(self):
        email, _ = self.user()
        self.settings(sign_up="verify_first")
        self.error(self.password(email), 403, "unauthorized")

    def test_guesses_count_together_with_those_of_other_apis(self):
        email, _ = self.user()
        self.settings(failures_per_identifier=3)
        place = {ADDRESS: "203.0.113.77"}
        for _ in range(2):
            self.error(self.password(email, "wrong", headers=place), 403, "invalid_grant")
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
        self.error(self.password(email, **ask), 403, "unauthorized_client")
        self.error(self.start(email, **ask), 403, "unauthorized_client")
        self.error(self.code(email, "12345678", **ask), 403, "unauthorized_client")
        for grant in ["mfa-otp", "mfa-recovery-code"]:
            self.error(Party(self, other).token(
                grant_type=PREFIX + grant, mfa_token="x", otp="1", recovery_code="x"),
                403, "unauthorized_client")
        # Each setting allows its own grant.
        self.site.dossier("client", "set", other["id"], "password_grant=true")
        self.expect(self.password(email, **ask), 200)
        self.error(self.start(email, **ask), 403, "unauthorized_client")

    def test_third_parties_and_machines_are_refused(self):
        email, _ = self.user()
        self.set(self.spa, "first_party=false")
        self.error(self.password(email), 403, "unauthorized_client")
        self.error(self.start(email), 403, "unauthorized_client")
        self.site.dossier("client", "set", self.machine["id"], "password_grant=true")
        self.error(self.password(email, client=self.machine), 403, "unauthorized_client")

    def test_the_login_methods_of_client_and_app_apply(self):
        email, _ = self.user()
        self.set(self.spa, 'connections=["email_code"]')
        self.error(self.password(email), 403, "unauthorized_client")
        self.expect(self.start(email), 200)
        self.set(self.native, 'connections=["password"]')
        self.error(self.start(email, client=self.native), 403, "unauthorized_client")
        self.site.set_app(email_code=False)
        self.addCleanup(self.site.set_app, email_code=True)
        self.error(self.start(email), 403, "unauthorized_client")

    def test_a_confidential_client_needs_its_secret(self):
        email, _ = self.user()
        self.expect(self.password(email, client=self.web), 200)
        self.expect(self.start(email, client=self.web), 200)
        bare = {"id": self.web["id"]}
        self.error(self.password(email, client=bare), 401, "access_denied", "Unauthorized")
        self.error(self.start(email, client=bare), 401, "access_denied", "Unauthorized")

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
            self.error(self.password(email, grant_type=kind), 403, "unsupported_grant_type")

    def test_the_discovery_document_names_the_grants(self):
        found = self.site.get("/.well-known/openid-configuration").json["grant_types_supported"]
        self.assertEqual(found, ["authorization_code", "refresh_token", "client_credentials", *[
            "password", PREFIX + "password-realm", PREFIX + "passwordless/otp",
            PREFIX + "mfa-otp", PREFIX + "mfa-recovery-code"]])


class Factors(FactorCase, DirectCase):
    def required(self, answer, kind="challenge"):
        self.error(answer, 403, "mfa_required")
        self.assertEqual(answer.json["mfa_requirements"], {kind: [{"type": "otp"}]})
        self.assertNotIn("access_token", answer.json)
        return answer.json["mfa_token"]

    def prove_by(self, token, client=None, **fields):
        kind = "mfa-otp" if "otp" in fields else "mfa-recovery-code"
        return Party(self, client or self.spa).token(
            grant_type=PREFIX + kind, mfa_token=token, **fields)

    def protected_user(self):
        email = self.own_email()
        grant = self.verified(email, PASSWORD)
        authenticator, codes = self.protected(grant)
        self.later(grant["user_id"])
        return email, grant["user_id"], authenticator, codes

    def test_a_code_of_an_authenticator_completes_a_password(self):
        email, user, authenticator, _ = self.protected_user()
        token = self.required(self.password(
            email, audience=self.API, scope="openid read:posts offline_access"))
        self.assertNotIn(email, token)
        self.error(self.prove_by(token, otp=authenticator.wrong()), 403, "invalid_grant",
                   "Invalid otp_code.")
        tokens = self.expect(self.prove_by(token, otp=authenticator.code()), 200).json
        # The second step has the scopes and the audience of the first.
        self.assertEqual(tokens["scope"], "openid read:posts offline_access")
        access = verified(tokens["access_token"], self.keys)
        self.assertEqual((access["sub"], access["aud"][0]), (user, self.API))
        self.assertEqual(claims(tokens["id_token"])["amr"], ["pwd", "mfa", "otp"])
        self.expect(Party(self, self.spa).token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"]), 200)
        # The token was used up.
        self.later(user)
        self.error(self.prove_by(token, otp=authenticator.code()), 403, "invalid_grant")

    def test_a_recovery_code_completes_once(self):
        email, _, _, codes = self.protected_user()
        token = self.required(self.password(email))
        self.error(self.prove_by(token, recovery_code="x"), 403, "invalid_grant",
                   "MFA Authorization rejected.")
        self.expect(self.prove_by(token, recovery_code=codes[0]), 200)
        token = self.required(self.password(email))
        self.error(self.prove_by(token, recovery_code=codes[0]), 403, "invalid_grant")

    def test_a_mailed_code_asks_for_the_factor_too(self):
        email, user, authenticator, _ = self.protected_user()
        self.expect(self.start(email), 200)
        token = self.required(self.code(email, self.mailed_code(email)))
        tokens = self.expect(self.prove_by(token, otp=authenticator.code()), 200).json
        self.assertEqual(claims(tokens["id_token"])["sub"], user)

    def test_foreign_and_damaged_tokens(self):
        email, _, authenticator, _ = self.protected_user()
        token = self.required(self.password(email))
        code = authenticator.code()
        flow = self.asked(self.login(email, PASSWORD))
        middle = len(token) // 2
        changed = token[:middle] + ("A" if token[middle] != "A" else "B") + token[middle + 1:]
        for wrong in ["x", "\u00e4", token[:-4], token + "AAAA", changed, flow, "A" * 60_000]:
            self.error(self.prove_by(wrong, otp=code), 403, "invalid_grant", "Malformed mfa_token")
        self.error(self.prove_by(token, otp=code, client=self.native), 403, "invalid_grant",
                   "Malformed mfa_token")
        # The pages and the other APIs refuse it.
        self.assertEqual(self.prove(token, code).status, 401)
        self.expect(self.prove_by(token, otp=code), 200)

    def test_a_new_password_ends_the_first_step(self):
        email, user, authenticator, _ = self.protected_user()
        token = self.required(self.password(email))
        self.site.dossier("user", "password", user, "--from", "-", given="another horse battery\n")
        self.error(self.prove_by(token, otp=authenticator.code()), 403, "invalid_grant")

    def test_codes_are_limited(self):
        email, user, authenticator, _ = self.protected_user()
        token = self.required(self.password(email))
        self.settings(failures_per_identifier=2)
        for _ in range(2):
            self.error(self.prove_by(token, otp=authenticator.wrong()), 403, "invalid_grant")
        self.error(self.prove_by(token, otp=authenticator.code()), 429, "too_many_attempts")

    def test_an_app_that_requires_a_factor_from_a_user_without_one(self):
        email, _ = self.user()
        self.set_mfa("required")
        token = self.required(self.password(email), "enroll")
        self.error(self.prove_by(token, otp="123456"), 403, "invalid_grant",
                   "The user must first set up a second factor at the pages.")


class EmailCodes(DirectCase):
    def test_known_and_unknown_addresses_answer_alike(self):
        email = self.own_email()
        user = self.verified(email, PASSWORD)["user_id"]
        found = [self.expect(self.start(address), 200).json
                 for address in [email, "new@example.com"]]
        for address, body in zip([email, "new@example.com"], found):
            self.assertEqual((sorted(body), body["email"], body["email_verified"], len(body["_id"])),
                             (["_id", "email", "email_verified"], address, False, 24))
        tokens = self.expect(self.code(email, self.mailed_code(email)), 200).json
        identity = claims(tokens["id_token"])
        self.assertEqual((identity["sub"], identity["email_verified"], identity["amr"]),
                         (user, True, ["otp"]))
        made = self.expect(self.code(
            "New@Example.com", self.mailed_code("new@example.com")), 200).json
        self.assertNotEqual(claims(made["id_token"])["sub"], user)

    def test_only_the_newest_code_works_and_only_once(self):
        email = self.own_email()
        wrong = (403, "invalid_grant", "Wrong email or verification code.")
        self.error(self.code(email, "12345678"), *wrong)
        self.start(email)
        first = self.mailed_code(email)
        self.start(email)
        second = self.mailed_code(email, 2)
        if first != second:
            self.error(self.code(email, first), *wrong)
        self.error(self.code("other-" + email, second), *wrong)
        self.expect(self.code(email, second), 200)
        self.error(self.code(email, second), *wrong)

    def test_a_code_allows_five_tries(self):
        email = self.own_email()
        self.start(email)
        right = self.mailed_code(email)
        for _ in range(5):
            self.error(self.code(email, "x"), 403, "invalid_grant")
        self.error(self.code(email, right), 403, "invalid_grant")

    def test_a_code_of_another_api_requires_its_flow(self):
        email = self.own_email()
        flow = self.expect(self.post("/v1/login/code/request", {"email": email}), 202).json["flow"]
        code = self.mailed_code(email)
        # A stranger who knows the address cannot use up the tries of that flow.
        for _ in range(6):
            self.error(self.code(email, code), 403, "invalid_grant")
        self.expect(self.enter(flow, code), 200)

    def test_concurrent_uses_of_one_code_sign_in_once(self):
        email = self.own_email()
        self.start(email)
        code = self.mailed_code(email)
        answers = in_parallel(4, lambda index: self.code(email, code))
        self.assertEqual(sorted(answer.status for answer in answers), [200, 403, 403, 403])

    def test_a_code_takes_an_unverified_account_over(self):
        email, user = self.user()
        attacker = self.expect(self.password(email), 200).json
        self.start(email)
        tokens = self.expect(self.code(email, self.mailed_code(email)), 200).json
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 200)
        # Sessions that are older than the verification have ended.
        self.assertEqual(self.userinfo(attacker["access_token"]).status, 401)
        self.error(self.password(email), 403, "invalid_grant")

    def test_malformed_starts(self):
        email = self.own_email()
        for fields in [{"email": None}, {"email": "x"}, {"email": "a@b\r\nBcc: c@d"}, {"email": 1},
                       {"connection": "sms"}, {"connection": None}, {"send": "link"},
                       {"send": None}, {"client_id": None}]:
            self.error(self.start(**{"email": email, **fields}), 400, "invalid_request")
        self.error(self.start("x"), 400, "invalid_request", self.post(
            "/v1/login/code/request", {"email": "x"}).json["errors"][0]["detail"])
        self.error(self.start(email, client_id="x"), 401, "invalid_client")
        self.assertEqual(self.codes(email), [])

    def test_mail_to_an_address_is_limited(self):
        email = self.own_email()
        answer = None
        for _ in range(100):
            answer = self.start(email)
            if answer.status != 200:
                break
        self.error(answer, 429, "too_many_attempts")


class SDKs(DirectCase):
    def run_sdk(self, folder):
        email = self.own_email()
        self.verified(email, PASSWORD)
        site = {"domain": f"127.0.0.1:{self.site.port}", "client": self.web["id"],
                "secret": self.web["secret"], "email": email, "password": PASSWORD,
                "realm": REALM, "api": self.API}
        program = subprocess.Popen(
            [sys.executable, "-B", "-c", SDK, json.dumps(site)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(TOOLS_FOLDER / folder)})
        self.addCleanup(program.kill)
        first = program.stdout.readline()
        code = self.mailed_code(email) if first == "started\n" else ""
        output, errors = program.communicate(code + "\n", timeout=120)
        self.assertEqual((first + output).split(), ["started", "done"], errors)

    def test_auth0_python_4(self):
        self.run_sdk("auth0-4.13.0")

    def test_auth0_python_6(self):
        self.run_sdk("auth0-6.8.0")


if __name__ == "__main__":
    unittest.main()
