"""Applications with Auth0's Python SDK, in two versions, sign users in by the browser."""

import unittest

from openid import CALLBACK, LOGOUT
from test_auth0 import Auth0Case
from test_openid_libraries import BROWSER

START = BROWSER + """
import base64, hashlib, json, secrets, urllib.parse, urllib.request
from auth0.authentication import GetToken, RevokeToken, Users
from auth0.authentication.token_verifier import AsymmetricSignatureVerifier, TokenVerifier
try:
    from auth0.authentication.exceptions import Auth0Error
except ImportError:
    from auth0.exceptions import Auth0Error

domain = "127.0.0.1:%d" % site["port"]
issuer = "http://%s/" % domain
verifier = TokenVerifier(AsymmetricSignatureVerifier(issuer + ".well-known/jwks.json"),
                         issuer, site["app"])

def authorize(**parameters):
    \"\"\"Sends the browser to sign in; the code.\"\"\"
    state = secrets.token_urlsafe(8)
    parameters = {"response_type": "code", "client_id": site["app"], "state": state,
                  "redirect_uri": site["callback"], "scope": "openid profile email offline_access",
                  **parameters}
    url = sign_in(issuer + "authorize?" + urllib.parse.urlencode(parameters))
    assert url.startswith(site["callback"]), url
    answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    assert answer["state"] == state, answer
    return answer["code"]

def refused(call, *arguments, **named):
    \"\"\"The error of a call that must fail.\"\"\"
    try:
        raise SystemExit("%s passes: %s" % (call, call(*arguments, **named)))
    except Auth0Error as error:
        return error.status_code, error.error_code, error.message

def check(tokens, **options):
    user = verifier.verify(tokens["id_token"], **options)
    assert user["sub"].startswith("auth0|") and user["email"] == site["email"], user
    assert isinstance(user["updated_at"], str) and user["email_verified"] is False, user
    info = Users(domain, protocol="http").userinfo(tokens["access_token"])
    assert {name: user[name] for name in info} == info, (user, info)
    return user["sub"]

def refresh_and_revoke(get, revoke, tokens):
    again = get.refresh_token(tokens["refresh_token"])
    assert again["refresh_token"] != tokens["refresh_token"] and again["id_token"], again
    check(again)
    assert get.refresh_token(again["refresh_token"], scope="openid email")["scope"] == "openid email"
    revoke.revoke_refresh_token(again["refresh_token"])
    revoke.revoke_refresh_token("unknown")
    assert refused(get.refresh_token, again["refresh_token"]) == (
        403, "invalid_grant", "Unknown or invalid refresh token.")

def log_out():
    query = urllib.parse.urlencode({"client_id": site["app"], "returnTo": site["logout"]})
    page = visitor.open("/v2/logout?" + query)
    assert (page.status, page.location) == (302, site["logout"]), page.status
    silent = visitor.open("/authorize?" + urllib.parse.urlencode({
        "response_type": "code", "client_id": site["app"], "redirect_uri": site["callback"],
        "scope": "openid", "prompt": "none", "code_challenge_method": "S256",
        "code_challenge": "A" * 43}))
    assert "error=login_required" in silent.location, silent.location
"""

PUBLIC = START + """
ways = {"client_id": site["app"], "protocol": "http"}
get, revoke = GetToken(domain, **ways), RevokeToken(domain, **ways)
proof, nonce = secrets.token_urlsafe(32), secrets.token_urlsafe(8)
challenge = base64.urlsafe_b64encode(hashlib.sha256(proof.encode()).digest()).rstrip(b"=").decode()
proven = {"code_challenge": challenge, "code_challenge_method": "S256"}
code = authorize(nonce=nonce, max_age=3600, **proven)
tokens = get.authorization_code_pkce(code_verifier=proof, code=code, redirect_uri=site["callback"])
assert tokens["token_type"] == "Bearer" and tokens["expires_in"] == 86400, tokens
assert tokens["scope"] == "openid profile email offline_access", tokens
subject = check(tokens, nonce=nonce, max_age=3600)
code = authorize(**proven)
assert refused(get.authorization_code_pkce, proof, "x" + code, site["callback"]) == (
    403, "invalid_grant", "Invalid authorization code")
assert refused(get.authorization_code_pkce, "x" * 43, code, site["callback"]) == (
    403, "invalid_grant", "Failed to verify code verifier")
code = authorize(audience=site["api"], scope="openid profile email offline_access "
                 "read:current_user update:current_user_metadata", **proven)
tokens = get.authorization_code_pkce(proof, code, site["callback"])
assert check(tokens) == subject
# The refreshed token is for the Management API, as in Auth0's tutorial.
again = get.refresh_token(tokens["refresh_token"])
change = urllib.request.Request(
    site["api"] + "users/" + urllib.parse.quote(subject), b'{"user_metadata": {"theme": "dark"}}',
    {"Authorization": "Bearer " + again["access_token"], "Content-Type": "application/json"},
    method="PATCH")
assert json.load(urllib.request.urlopen(change))["user_metadata"] == {"theme": "dark"}
# Older apps name this audience, and scopes that do not exist, also at a refresh.
code = authorize(audience=issuer + "userinfo", scope="openid profile email offline_access picture",
                 **proven)
tokens = get.authorization_code_pkce(proof, code, site["callback"])
tokens = get.refresh_token(tokens["refresh_token"], scope="openid profile email picture")
assert tokens["scope"] == "openid profile email", tokens
refresh_and_revoke(get, revoke, tokens)
log_out()
print("done")
"""

CONFIDENTIAL = START + """
ways = {"client_id": site["app"], "client_secret": site["key"], "protocol": "http"}
get, revoke = GetToken(domain, **ways), RevokeToken(domain, **ways)
# This call of the SDK sends no verifier.
tokens = get.authorization_code(authorize(), site["callback"])
check(tokens)
wrong = GetToken(domain, site["app"], client_secret="wrong", protocol="http")
assert refused(wrong.authorization_code, authorize(), site["callback"]) == (
    401, "access_denied", "Unauthorized")
refresh_and_revoke(get, revoke, tokens)
log_out()
print("done")
"""


class Flow(Auth0Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.application = cls.new_client(
            "web", f"callback_urls={CALLBACK}", settings=["claims_profile=auth0"])
        for client in [cls.application, cls.page]:
            cls.site.dossier("client", "set", client["id"], f"logout_urls={LOGOUT}")

    def run_flow(self, version, program, client):
        email, _ = self.user()
        self.run_program(version, program, email=email, app=client["id"], key=client.get("secret"),
                         callback=CALLBACK, logout=LOGOUT)

    def test_version_4_of_a_public_application(self):
        self.run_flow("4.13.0", PUBLIC, self.page)

    def test_version_6_of_a_public_application(self):
        self.run_flow("6.8.0", PUBLIC, self.page)

    def test_version_4_of_a_confidential_application(self):
        self.run_flow("4.13.0", CONFIDENTIAL, self.application)

    def test_version_6_of_a_confidential_application(self):
        self.run_flow("6.8.0", CONFIDENTIAL, self.application)


if __name__ == "__main__":
    unittest.main()
