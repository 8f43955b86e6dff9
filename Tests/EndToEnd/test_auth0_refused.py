"""Features of Auth0 that this server lacks: each SDK gets an error that it understands."""

import json
import unittest
import urllib.parse

from openid import FORM, Party
from test_auth0 import START, Auth0Case

JSON = {"Content-Type": "application/json"}
ORIGIN = "https://app.example.com"

PROGRAM = START + """
from auth0.authentication.back_channel_login import BackChannelLogin
from auth0.authentication.pushed_authorization_requests import PushedAuthorizationRequests
try:
    from auth0.authentication.exceptions import Auth0Error
except ImportError:
    from auth0.exceptions import Auth0Error

def refused(call, *arguments, **named):
    try:
        raise SystemExit("%s passes: %s" % (call, call(*arguments, **named)))
    except Auth0Error as error:
        return error.status_code, error.error_code

ways = {"client_secret": site["secret"], "protocol": "http"}
push = PushedAuthorizationRequests(domain, site["client"], **ways)
assert refused(push.pushed_authorization_request, "code", "https://app.example.com/cb") == (
    403, "unauthorized_client")
login = BackChannelLogin(domain, site["client"], **ways)
assert refused(login.back_channel_login, "1-2", "{}", "openid") == (403, "unauthorized_client")
# The client is not of the profile auth0.
assert refused(token.backchannel_login, "x") == (400, "unsupported_grant_type")
assert refused(token.access_token_for_connection, "a", "b", "c", "d") == (
    400, "unsupported_grant_type")
print("done")
"""


class Refused(Auth0Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.dossier("client", "set", cls.page["id"], f"cors_origins={ORIGIN}")

    def post(self, path, body, headers=JSON):
        return self.site.request("POST", path, body, headers)

    def test_version_4(self):
        self.run_program("4.13.0", PROGRAM)

    def test_version_6(self):
        self.run_program("6.8.0", PROGRAM)

    def test_endpoints_of_other_grants(self):
        client = {"client_id": self.page["id"]}
        for path in ["/oauth/device/code", "/oauth/par", "/bc-authorize", "/mfa/associate",
                     "/mfa/challenge", "/otp/challenge"]:
            with self.subTest(path):
                for body, headers in [(json.dumps(client), JSON), ("", JSON), ("", {}),
                                      (urllib.parse.urlencode(client), FORM)]:
                    answer = self.post(path, body, {**headers, "Origin": ORIGIN})
                    self.error(answer, 403, "unauthorized_client")
                    # Without this header, SDKs in browsers report a network error and retry.
                    self.assertEqual(answer.headers["Access-Control-Allow-Origin"], ORIGIN)
                asked = self.site.request("OPTIONS", path, headers={
                    "Origin": ORIGIN, "Access-Control-Request-Method": "POST",
                    "Access-Control-Request-Headers": "auth0-client,content-type"})
                self.assertIn(asked.status, [200, 204])
                self.assertEqual(asked.headers["Access-Control-Allow-Origin"], ORIGIN)
                self.error(self.post(path, "{"), 400, "invalid_request")
        self.error(self.site.get("/mfa/authenticators"), 403, "unauthorized_client")
        self.error(self.site.get("/mfa/authenticators", token="x"), 403, "unauthorized_client")
        for path in ["/bc-authorize/x", "/passkey/x", "/mfa/x", "/otp/x"]:
            self.error(self.post(path, "{}"), 404, "not_found")

    def test_other_grants(self):
        party = Party(self, self.page)
        # Only native apps exchange the tokens of SDKs.
        self.error(party.token(grant_type="urn:ietf:params:oauth:grant-type:token-exchange"), 403,
                   "unauthorized_client")
        # The app uses no passkeys.
        self.error(party.token(grant_type="urn:okta:params:oauth:grant-type:webauthn"), 403,
                   "unauthorized_client")
        for path in ["/passkey/register", "/passkey/challenge"]:
            self.error(self.post(path, {"client_id": self.page["id"]}), 404, "not_found")
        for grant in ["urn:ietf:params:oauth:grant-type:device_code",
                      "urn:openid:params:grant-type:ciba",
                      "http://auth0.com/oauth/grant-type/mfa-oob"]:
            self.error(party.token(grant_type=grant), 403, "unsupported_grant_type")

    def test_a_session_is_not_transferred(self):
        tokens, party = self.tokens(client=self.page, scope="openid offline_access")
        host = urllib.parse.urlsplit(self.issuer).netloc
        self.error(party.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"],
                               audience=f"urn:{host}:session_transfer"), 403, "access_denied")
        self.expect(party.token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"]), 200)

    def test_parameters_of_the_browser(self):
        for parameters, code in [
                ({"organization": "org_1"}, "invalid_request"),
                ({"organization": "org_1", "invitation": "x"}, "invalid_request"),
                ({"request_uri": "urn:x"}, "request_uri_not_supported"),
                ({"connection": "google-oauth2"}, "invalid_request"),
                # The app uses no passkeys.
                ({"audience": f"{self.issuer}me/"}, "invalid_target")]:
            party = Party(self, self.page, **parameters)
            answer = party.answer(self.visitor.open(party.path))
            self.assertEqual((answer["error"], answer["state"]), (code, party.parameters["state"]))
        # These parameters belong to other features, and have no effect.
        party = Party(self, self.page, organization="", dpop_jkt="A" * 43, connection="",
                      connection_scope="x", session_transfer_token="x", acr_values="x", display="page")
        self.assertEqual(self.visitor.open(party.path).heading, "Sign in")

    def test_paths_of_other_products(self):
        for method, path in [("GET", "/me/v1/authentication-methods"),
                             ("POST", "/me/v1/connected-accounts/connect")]:
            problem = self.expect(self.site.request(method, path, token="x"), 404).json
            for name in ["type", "title", "status", "detail"]:
                self.assertIn(name, problem)
        token = self.back_end_token()
        for path in ["organizations", "guardian/enrollments/x", "jobs/x"]:
            body = self.expect(self.management("GET", path, token=token), 404).json
            self.assertEqual((body["statusCode"], body["error"]), (404, "Not Found"))
        # Paths that have other methods
        for method, path in [("POST", "users/auth0|x/authentication-methods"),
                             ("PUT", "users/auth0|x/authentication-methods"),
                             ("DELETE", "users/auth0|x/authentication-methods"),
                             ("PATCH", "sessions/x"), ("PATCH", "refresh-tokens/x"),
                             ("POST", "refresh-tokens/revoke")]:
            with self.subTest(f"{method} {path}"):
                body = self.expect(self.management(method, path, {}, token), 404).json
                self.assertEqual((body["statusCode"], body["error"]), (404, "Not Found"))
        for path in ["/samlp/x", "/wsfed/x", "/oauth/nothing"]:
            self.expect(self.site.get(path), 404)


if __name__ == "__main__":
    unittest.main()
