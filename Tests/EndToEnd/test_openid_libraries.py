"""Relying parties built with libraries from PyPI sign in, refresh, revoke and sign out."""

import json
import os
import pathlib
import subprocess
import tempfile

from openid import CALLBACK, LOGOUT, OpenIDCase
from machine import TOOLS_FOLDER

# The browser of both programs: a function from a URL to the URL of the response.
BROWSER = """
import json, os, sys, urllib.parse
from hosted import Visitor
from openid import target

site = json.loads(sys.argv[1])
visitor = Visitor(site["port"])

def sign_in(url):
    split = urllib.parse.urlsplit(url)
    page = visitor.open(f"{split.path}?{split.query}")
    if page.status == 200 and "wants access" not in page.heading:
        visitor.submit(email=site["email"])
        page = visitor.submit("/password", password=site["password"])
    if "wants access" in page.heading:
        page = visitor.submit("/consent", button="allow")
    return target(page)
"""

AUTHLIB = BROWSER + """
import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oidc.core import CodeIDToken

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
meta = requests.get(site["issuer"] + ".well-known/openid-configuration").json()
assert meta["issuer"] == site["issuer"]
session = OAuth2Session(
    site["client"], site["secret"], scope="openid profile email offline_access",
    redirect_uri=site["callback"], code_challenge_method="S256",
    token_endpoint_auth_method=site["method"])
verifier, nonce = generate_token(48), generate_token()
url, state = session.create_authorization_url(
    meta["authorization_endpoint"], code_verifier=verifier, nonce=nonce)
token = session.fetch_token(
    meta["token_endpoint"], authorization_response=sign_in(url), code_verifier=verifier)
keys = JsonWebKey.import_key_set(requests.get(meta["jwks_uri"]).json())
claims = jwt.decode(
    token["id_token"], keys, claims_cls=CodeIDToken,
    claims_options={"iss": {"value": site["issuer"]}},
    claims_params={"nonce": nonce, "client_id": site["client"],
                   "access_token": token["access_token"]})
claims.validate()
info = session.get(meta["userinfo_endpoint"]).json()
assert info["sub"] == claims["sub"] and info["email"] == site["email"], info
found = session.introspect_token(meta["introspection_endpoint"], token["access_token"]).json()
assert found["active"], found
first = token["refresh_token"]
token = session.refresh_token(meta["token_endpoint"], refresh_token=first)
assert token["refresh_token"] != first
assert session.get(meta["userinfo_endpoint"]).status_code == 200
answer = session.revoke_token(meta["revocation_endpoint"], token=token["refresh_token"])
assert answer.status_code == 200, answer.text
assert session.get(meta["userinfo_endpoint"]).status_code == 401
bye = urllib.parse.urlencode({
    "id_token_hint": token["id_token"], "post_logout_redirect_uri": site["logout"]})
split = urllib.parse.urlsplit(meta["end_session_endpoint"])
assert visitor.open(f"{split.path}?{bye}").location == site["logout"]
print("done")
"""

IDPYOIDC = BROWSER + """
import requests
from idpyoidc.client.rp_handler import RPHandler

handler = RPHandler(base_url="https://app.example.com", client_configs={"dossier": {
    "issuer": site["issuer"], "client_id": site["client"], "client_secret": site["secret"],
    "redirect_uris": [site["callback"]], "post_logout_redirect_uris": [site["logout"]],
    "application_type": "web", "client_type": "oidc",
    "response_types_supported": ["code"],
    "token_endpoint_auth_methods_supported": ["client_secret_basic"],
    "client_authn_methods": {
        "client_secret_basic": "idpyoidc.client.client_auth.ClientSecretBasic",
        "bearer_header": "idpyoidc.client.client_auth.BearerHeader"},
    "add_ons": {"pkce": {
        "function": "idpyoidc.client.oauth2.add_on.pkce.add_support",
        "kwargs": {"code_challenge_length": 64, "code_challenge_method": "S256"}}},
    "services": {
        "discovery": {"class": "idpyoidc.client.oidc.provider_info_discovery.ProviderInfoDiscovery"},
        "authorization": {"class": "idpyoidc.client.oidc.authorization.Authorization"},
        "accesstoken": {"class": "idpyoidc.client.oidc.access_token.AccessToken"},
        "refresh": {"class": "idpyoidc.client.oidc.refresh_access_token.RefreshAccessToken"},
        "userinfo": {"class": "idpyoidc.client.oidc.userinfo.UserInfo"},
        "revoke": {"class": "idpyoidc.client.oauth2.token_revocation.TokenRevocation"},
        "end_session": {"class": "idpyoidc.client.oidc.end_session.EndSession"}}}})
url = handler.begin(
    issuer_id="dossier", req_args={"scope": ["openid", "profile", "email", "offline_access"]})
url = url["url"] if isinstance(url, dict) else url
response = sign_in(url)
values = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(response).query))
result = handler.finalize(values["iss"], values)
assert "error" not in result, result
assert result["userinfo"]["email"] == site["email"], result
assert result["id_token"]["sub"] == result["userinfo"]["sub"]
refreshed = handler.refresh_access_token(values["state"])
assert refreshed["access_token"] != result["token"], refreshed
client = handler.get_client_from_session_key(values["state"])
service = client.get_service("token_revocation")
info = service.get_request_parameters(request_args={"token": refreshed["refresh_token"]})
answer = requests.request(info["method"], info["url"], data=info["body"], headers=info["headers"])
assert (answer.status_code, answer.text) == (200, ""), answer.text
info = client.get_service("userinfo").get_request_parameters(
    request_args={"access_token": refreshed["access_token"]}, state=values["state"])
assert requests.get(info["url"], headers=info["headers"]).status_code == 401
bye = handler.logout(values["state"], post_logout_redirect_uri=site["logout"])
split = urllib.parse.urlsplit(bye["url"])
location = visitor.open(f"{split.path}?{split.query}").location
assert location and location.startswith(site["logout"]), location
print("done")
"""


class LibraryCase(OpenIDCase):
    """Tests that run a relying party in a process of its own."""

    def run_party(self, program, client, **options):
        site = {
            "port": self.site.port, "issuer": self.issuer,
            "password": "correct horse battery", "client": client["id"],
            "secret": client.get("secret"), "callback": CALLBACK, "logout": LOGOUT, **options}
        # idpyoidc writes its keys into the working folder.
        folder = tempfile.TemporaryDirectory(prefix="dossier-party-")
        self.addCleanup(folder.cleanup)
        folders = [pathlib.Path(__file__).parent, TOOLS_FOLDER / "relying-parties"]
        run = subprocess.run(
            [TOOLS_FOLDER / "bin/python", "-B", "-c", program, json.dumps(site)],
            capture_output=True, text=True, timeout=120, cwd=folder.name,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))})
        self.assertEqual(run.stdout.strip().splitlines()[-1:], ["done"], run.stdout + run.stderr)


class Libraries(LibraryCase):
    def test_authlib_as_a_confidential_client(self):
        email, _ = self.user()
        for method in ["client_secret_basic", "client_secret_post"]:
            self.run_party(AUTHLIB, self.web, email=email, method=method)

    def test_idpyoidc_as_a_confidential_client(self):
        self.run_party(IDPYOIDC, self.web, email=self.user()[0])
