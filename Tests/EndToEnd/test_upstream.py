"""The issuers of these tests themselves, by the client of another author: Authlib."""

import hmac
import json
import os
import pathlib
import subprocess
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request

from machine import TOOLS_FOLDER
from upstream import SigningKey, Upstream
from upstream_issuer import Refused
from upstream_presets import PRESETS

CALLBACK = "https://rp.example.com/u/callback/it"
# Signs in at each issuer of its list. Prints the profile, or the error that Authlib raised.
AUTHLIB = """
import html, json, os, re, sys, time, urllib.parse
import hashlib, hmac
import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session
from authlib.jose import JsonWebKey, jwt
from authlib.oidc.core import CodeIDToken

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

def secret(site):
    if site["preset"] != "apple":
        return site["client_secret"]
    now = int(time.time())
    return jwt.encode({"alg": "ES256", "kid": site["key_id"]}, {
        "iss": site["team_id"], "sub": site["client_id"], "aud": "https://appleid.apple.com",
        "iat": now, "exp": now + 300}, site["client_secret"]).decode()

def response(answer):
    if answer.status_code == 302:
        return answer.headers["Location"]
    assert answer.status_code == 200, answer.text
    action = re.search('action="([^"]*)"', answer.text)[1]
    fields = re.findall('name="([^"]*)" value="([^"]*)"', answer.text)
    fields = {html.unescape(name): html.unescape(value) for name, value in fields}
    return action + "?" + urllib.parse.urlencode(fields)

def sign_in(site, method):
    if site["openid"]:
        base = site["issuer"].replace("{tenantid}", "common")
        meta = requests.get(base + "/.well-known/openid-configuration").json()
        assert meta["issuer"] == site["issuer"], meta
    else:
        meta = {f"{name}_endpoint": site[f"{name}_url"]
                for name in ["authorization", "token", "userinfo"]}
    session = OAuth2Session(site["client_id"], secret(site), scope=site["scope"],
                            redirect_uri=site["callback"], code_challenge_method="S256",
                            token_endpoint_auth_method=method)
    verifier, nonce = generate_token(48), generate_token()
    more = {"response_mode": "form_post"} if site["preset"] == "apple" else {}
    url, state = session.create_authorization_url(
        meta["authorization_endpoint"], code_verifier=verifier, nonce=nonce, **more)
    back = response(requests.get(url, allow_redirects=False))
    assert back.startswith(site["callback"] + "?"), back
    told = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(back).query))
    if meta.get("authorization_response_iss_parameter_supported"):
        assert told["iss"] == meta["issuer"], told
    token = session.fetch_token(meta["token_endpoint"], authorization_response=back,
                                code_verifier=verifier, headers={"Accept": "application/json"})
    found = {}
    if site["openid"]:
        keys = JsonWebKey.import_key_set(requests.get(meta["jwks_uri"]).json())
        claims = jwt.decode(
            token["id_token"], keys, claims_cls=CodeIDToken,
            claims_options={"iss": {"value": site["iss"]}, "aud": {"value": site["client_id"]}},
            claims_params={"nonce": nonce, "client_id": site["client_id"],
                           "access_token": token["access_token"]})
        claims.validate()
        found = dict(claims)
    if "userinfo_endpoint" in meta:
        params = {}
        if site["preset"] == "facebook":
            params["appsecret_proof"] = hmac.new(
                site["client_secret"].encode(), token["access_token"].encode(),
                hashlib.sha256).hexdigest()
        answer = session.get(meta["userinfo_endpoint"], params=params)
        assert answer.status_code == 200, answer.text
        if site["openid"]:
            assert answer.json()["sub"] == found["sub"], answer.text
        found |= answer.json()
        if site["preset"] == "github":
            found["emails"] = session.get(meta["userinfo_endpoint"] + "/emails").json()
    return found

for site in json.loads(sys.argv[1]):
    try:
        said = sign_in(site, site["method"])
    except Exception as error:
        said = {"failed": type(error).__name__, "text": str(error)}
    print(json.dumps(said))
"""


class Issuers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Upstream()
        cls.addClassCleanup(cls.server.stop)

    def add(self, preset, name=None, **options):
        issuer = self.server.add(preset, name, **options)
        issuer.redirect_uri = CALLBACK
        return issuer

    def site(self, issuer, **changes):
        return {"openid": issuer.kind.is_openid, "scope": " ".join(issuer.kind.scopes),
                "callback": CALLBACK, "iss": issuer.issuer, "method": issuer.authentication[0],
                **issuer.settings, **changes}

    def sign_in(self, *sites):
        folders = [pathlib.Path(__file__).parent, TOOLS_FOLDER / "relying-parties"]
        run = subprocess.run(
            [TOOLS_FOLDER / "bin/python", "-B", "-W", "ignore", "-c", AUTHLIB, json.dumps(sites)],
            capture_output=True, text=True, timeout=120,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, folders))})
        self.assertEqual(run.returncode, 0, run.stderr)
        return [json.loads(line) for line in run.stdout.splitlines()]

    def test_a_client_of_another_author_signs_in_at_each(self):
        issuers = [self.add(preset, algorithm=algorithm) for preset, algorithm in zip(
            PRESETS, ["ES256", *["RS256"] * len(PRESETS)])]
        sites = [self.site(issuer, method=method) for issuer in issuers
                 for method in issuer.authentication]
        found = self.sign_in(*sites)
        self.assertEqual(len(found), len(sites))
        for site, profile in zip(sites, found):
            issuer = self.server.issuers[site["preset"]]
            with self.subTest(issuer.name, method=site["method"]):
                self.assertEqual(issuer.refusals, [], profile)
                member = profile.get("data", profile)
                subject = member.get("sub", member.get("id"))
                self.assertEqual(str(subject), issuer.person.subject, profile)
                self.assertIn(issuer.person.email, json.dumps(profile))
        self.assertEqual(found[0]["iss"], issuers[0].base)
        microsoft = next(one for one in found if "tid" in one)
        self.assertIn(microsoft["tid"], microsoft["iss"])

    def test_each_lie_is_one(self):
        lies = {
            "honest": {}, "another iss": {"claims": {"iss": "https://evil.example.com"}},
            "another audience": {"claims": {"aud": "another"}},
            "two audiences": {"claims": {"aud": ["another", "more"], "azp": "another"}},
            "another nonce": {"claims": {"nonce": "x"}}, "no nonce": {"claims": {"nonce": None}},
            "expired": {"claims": {"exp": 1}}, "at_hash": {"claims": {"at_hash": "x"}},
            "unsigned": {"signing": "none"}, "the public key": {"signing": "HS256"},
            "an unknown key": {"signing": "unknown"}, "userinfo": {"userinfo": {"sub": "x"}},
            "the issuer": {"discovery": {"issuer": "https://evil.example.com"}},
            "iss": {"callback": {"iss": "https://evil.example.com"}},
            "an error": {"callback": {"code": None, "error": "access_denied"}},
            "no keys": {"keys": {"keys": []}}}
        sites = []
        for name, lie in lies.items():
            issuer = self.add("oidc", f"lying-{name.replace(' ', '-')}")
            issuer.lie(**lie)
            sites.append(self.site(issuer))
        for name, profile in zip(lies, self.sign_in(*sites)):
            self.assertEqual("failed" in profile, name != "honest", (name, profile))

    def test_each_rule_of_the_token_endpoint_holds(self):
        issuer = self.add("oidc", "strict")
        query = {"client_id": issuer.client_id, "redirect_uri": CALLBACK, "response_type": "code",
                 "state": "s", "scope": "openid profile email", "code_challenge_method": "S256",
                 # The SHA-256 of "verifier".
                 "code_challenge": "iMnq5o6zALKXGivsnlom_0F5_WYda32GHkxlV7mq7hQ"}

        def code():
            reply = issuer.authorize(query)
            split = urllib.parse.urlsplit(reply.fields["Location"])
            return urllib.parse.parse_qs(split.query)["code"][0]

        def token(code, **changes):
            body = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK,
                    "code_verifier": "verifier", "client_id": issuer.client_id,
                    "client_secret": issuer.secret, **changes}
            body = {name: value for name, value in body.items() if value is not None}
            try:
                return urllib.request.urlopen(
                    f"{issuer.base}/token", urllib.parse.urlencode(body).encode()).status
            except urllib.error.HTTPError as error:
                with error:
                    return json.load(error)["error"]

        used = code()
        self.assertEqual(token(used), 200)
        self.assertEqual(token(used), "invalid_grant")
        for error, changes in [
            ("invalid_grant", {"code_verifier": "another"}), ("invalid_grant", {"code_verifier": None}),
            ("invalid_grant", {"redirect_uri": CALLBACK + "/"}),
            ("invalid_grant", {"redirect_uri": None}), ("invalid_client", {"client_secret": "x"}),
            ("invalid_client", {"client_secret": None}), ("invalid_client", {"client_id": "x"}),
            ("unsupported_grant_type", {"grant_type": "password"})]:
            self.assertEqual(token(code(), **changes), error, changes)
        for missing in ["client_id", "redirect_uri", "state", "scope", "code_challenge"]:
            url = f"{issuer.base}/authorize?" + urllib.parse.urlencode(
                {name: value for name, value in query.items() if name != missing})
            with self.assertRaises(urllib.error.HTTPError, msg=missing) as caught:
                urllib.request.urlopen(url)
            caught.exception.close()

    def test_apple_s_secret_is_verified(self):
        issuer = self.add("apple", "strict-apple")
        stranger = SigningKey("ES256", "stranger")
        now = int(time.time())
        good = {"iss": issuer.team_id, "sub": issuer.client_id, "aud": "https://appleid.apple.com",
                "iat": now, "exp": now + 300}

        def refused(key=issuer.client_key, kid=issuer.key_id, **changes):
            try:
                issuer.check_assertion(key.token({**good, **changes}, kid=kid), issuer.client_id)
            except Refused:
                return True
            return False

        self.assertFalse(refused())
        for changes in [{"key": stranger}, {"kid": "another"}, {"iss": "another"}, {"sub": "another"},
                        {"aud": "https://example.com"}, {"exp": now - 1}, {"exp": now + 20_000_000}]:
            self.assertTrue(refused(**changes), changes)

    def test_apis_of_presets_want_what_the_real_ones_want(self):
        facebook, github = self.add("facebook", "strict-facebook"), self.add("github", "strict-github")

        def status(url, **fields):
            try:
                with urllib.request.urlopen(urllib.request.Request(url, headers=fields)) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, json.load(error)

        token = facebook.native_access_token()
        bearer = {"Authorization": f"Bearer {token}"}
        proof = hmac.new(facebook.secret.encode(), token.encode(), "sha256").hexdigest()
        for query, code in [("", 400), ("?appsecret_proof=x", 400), (f"?appsecret_proof={proof}", 200)]:
            self.assertEqual(status(f"{facebook.base}/me{query}", **bearer)[0], code)
        for client in [facebook.client_id, "another"]:
            inspected = facebook.native_access_token(client)
            query = urllib.parse.urlencode({
                "input_token": inspected, "access_token": f"{facebook.client_id}|{facebook.secret}"})
            data = status(f"{facebook.base}/debug_token?{query}")[1]["data"]
            self.assertEqual((data["app_id"], data["is_valid"]), (client, True))
        query = urllib.parse.urlencode({"input_token": token, "access_token": "another|secret"})
        self.assertIn("error", status(f"{facebook.base}/debug_token?{query}")[1])
        token = github.native_access_token()
        self.assertEqual(status(f"{github.base}/user")[0], 401)
        for fields, code in [({"User-Agent": ""}, 403), ({}, 200)]:
            fields["Authorization"] = f"Bearer {token}"
            self.assertEqual(status(f"{github.base}/user", **fields)[0], code)


if __name__ == "__main__":
    unittest.main()
