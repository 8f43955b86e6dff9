"""OpenID Connect: sign-in for applications with code and PKCE."""

import base64
import json
import time
import urllib.parse

from openid import CALLBACK, FORM, WRONG_SECRET, Party, OpenIDCase, claims, verified


class Discovery(OpenIDCase):
    def test_the_discovery_document_describes_the_server(self):
        answer = self.expect(self.site.get("/.well-known/openid-configuration"), 200)
        found = answer.json
        origin = found["issuer"].rstrip("/")
        self.assertEqual(found["issuer"], f"http://127.0.0.1:{self.site.port}/")
        self.assertEqual(found["authorization_endpoint"], f"{origin}/authorize")
        self.assertEqual(found["code_challenge_methods_supported"], ["S256"])
        self.assertEqual(found["response_types_supported"], ["code"])
        for name in ["token", "userinfo", "revocation", "introspection", "end_session"]:
            path = urllib.parse.urlsplit(found[f"{name}_endpoint"]).path
            self.assertNotEqual(self.site.request("POST", path, "", FORM).status, 404, path)

    def test_pages_of_all_origins_may_read_the_discovery_documents(self):
        for path in ["openid-configuration", "jwks.json"]:
            answer = self.site.get(f"/.well-known/{path}", headers={"Origin": "https://x.example"})
            self.assertEqual(answer.headers.get_all("Access-Control-Allow-Origin"), ["*"])

    def test_pages_of_a_callback_may_read_the_endpoints(self):
        for origin, expected in [("https://app.example.com", ["https://app.example.com"]),
                                 ("https://app.example.com.evil.example", None),
                                 ("com.Example.my-app://cb", None)]:
            answer = self.site.get("/userinfo", headers={"Origin": origin})
            self.assertEqual(answer.headers.get_all("Access-Control-Allow-Origin"), expected)

    def test_the_key_set_has_rsa_keys_only(self):
        for key in self.keys:
            self.assertEqual((key["kty"], key["alg"], key["use"]), ("RSA", "RS256", "sig"))
            self.assertTrue(key["kid"])

    def test_tokens_of_earlier_keys_stay_valid(self):
        tokens, _ = self.tokens()
        self.site.dossier("key", "rotate", "--app", "default")
        keys = self.site.get("/.well-known/jwks.json").json["keys"]
        self.assertEqual(len(keys), len(self.keys) + 1)
        self.assertEqual(verified(tokens["id_token"], keys)["sub"],
                         self.userinfo(tokens["access_token"]).json["sub"])


class Claims(OpenIDCase):
    def claims(self, scope):
        """Returns the claims of an ID token, which are those of `/userinfo`, and the scopes."""
        party = Party(self, self.spa, scope=scope)
        tokens = self.expect(party.exchange(party.code(self.visitor.open(party.path))), 200).json
        found, read = claims(tokens["id_token"]), self.userinfo(tokens["access_token"]).json
        own = {"iss", "aud", "exp", "iat", "auth_time", "nonce", "sid", "acr", "amr", "at_hash"}
        self.assertEqual({name: found[name] for name in set(found) - own}, read)
        return {name: read[name] for name in set(read) - {"sub"}}, tokens["scope"]

    def test_the_scopes_phone_and_address(self):
        email, user = self.user()
        self.tokens(email)
        self.assertEqual(self.claims("openid phone address"), ({}, "openid phone"))
        self.site.sql(f"update users set phone = '+442079460123' where user_id = '{user}'")
        known = {"phone_number": "+442079460123", "phone_number_verified": False}
        self.assertEqual(self.claims("openid phone"), (known, "openid phone"))
        self.assertFalse(set(known) & set(self.claims("openid profile email")[0]))
        described = self.site.get("/.well-known/openid-configuration").json
        self.assertLessEqual(set(known), set(described["claims_supported"]))
        self.assertIn("phone", described["scopes_supported"])
        self.assertNotIn("address", described["scopes_supported"])


class CodeFlow(OpenIDCase):
    def test_a_page_signs_a_user_in_with_code_and_pkce(self):
        email, user = self.user()
        party = Party(self, self.spa)
        page = self.signed_in(party, email)
        answer = party.answer(page)
        self.assertEqual(answer["iss"], self.issuer)
        self.assertEqual(answer["state"], party.parameters["state"])
        tokens = self.expect(party.exchange(answer["code"]), 200).json
        self.assertEqual(tokens["token_type"], "Bearer")
        self.assertEqual(tokens["expires_in"], 86_400)
        self.assertEqual(tokens["scope"], "openid profile email")
        self.assertNotIn("refresh_token", tokens)
        identity = verified(tokens["id_token"], self.keys)
        self.assertEqual(
            {name: identity[name] for name in ["iss", "sub", "aud", "nonce", "name", "email",
                                               "email_verified", "nickname"]},
            {"iss": self.issuer, "sub": user, "aud": self.spa["id"],
             "nonce": party.parameters["nonce"], "name": email, "email": email,
             "email_verified": False, "nickname": email.split("@")[0]})
        self.assertLess(abs(identity["auth_time"] - time.time()), 100)
        self.assertLessEqual(identity["auth_time"], identity["iat"])
        self.assertIsInstance(identity["updated_at"], int)
        access = verified(tokens["access_token"], self.keys)
        self.assertEqual(access["aud"], [self.issuer, self.issuer + "userinfo"])
        self.assertEqual(access["azp"], self.spa["id"])
        info = self.expect(self.userinfo(tokens["access_token"]), 200).json
        self.assertEqual(info, {name: identity[name] for name in info})
        path = urllib.parse.urlsplit(info["picture"]).path
        picture = self.expect(self.site.get(path), 200)
        self.assertTrue(picture.body.startswith(b"\x89PNG"))

    def test_the_next_sign_in_needs_no_page(self):
        email, _ = self.user()
        self.tokens(email)
        party = Party(self, self.spa, prompt="none")
        page = self.visitor.open(party.path)
        self.assertEqual(page.status, 302)
        self.expect(party.exchange(party.code(page)), 200)

    def test_a_code_survives_sign_ins_in_other_tabs_until_a_sign_out(self):
        email, _ = self.user()
        first = Party(self, self.spa)
        code = first.code(self.signed_in(first, email))
        for _ in range(2):
            second = Party(self, self.spa, prompt="login")
            later = second.code(self.signed_in(second, email))
        tokens = self.expect(first.exchange(code), 200).json
        self.assertEqual(claims(tokens["id_token"])["nonce"], first.parameters["nonce"])
        third = Party(self, self.spa, prompt="login")
        third.code(self.signed_in(third, email))
        # The account page ends the session that replaced the one of the code.
        self.visitor.open("/account")
        self.visitor.submit("/account/sign-out")
        fourth = Party(self, self.spa)
        self.expect(fourth.exchange(fourth.code(self.signed_in(fourth, email))), 200)
        self.error(second.exchange(later), 400, "invalid_grant")

    def test_a_confidential_client_authenticates_in_either_way(self):
        email, _ = self.user()
        party = Party(self, self.web)
        code = party.code(self.signed_in(party, email))
        refused = party.exchange(code, client_secret=None)
        self.error(refused, 401, "invalid_client", WRONG_SECRET)
        self.assertEqual(refused.headers["WWW-Authenticate"], 'Basic realm="oauth"')
        self.error(party.exchange(code, client_secret="wrong"), 401, "invalid_client")
        self.expect(party.exchange(code), 200)
        party = Party(self, self.web)
        code = party.code(self.visitor.open(party.path))
        basic = base64.b64encode(f"{self.web['id']}:{self.web['secret']}".encode()).decode()
        answer = party.exchange(code, client_secret=None, client_id=None,
                                headers={"Authorization": f"Basic {basic}"})
        self.expect(answer, 200)

    def test_the_token_endpoint_accepts_json(self):
        email, _ = self.user()
        party = Party(self, self.spa)
        code = party.code(self.signed_in(party, email))
        answer = self.post("/oauth/token", {
            "grant_type": "authorization_code", "client_id": self.spa["id"], "code": code,
            "code_verifier": party.verifier, "redirect_uri": CALLBACK, "audience": None,
            "organization": None, "scope": ""})
        self.expect(answer, 200)

    def test_a_resource_server_gets_its_scopes_and_audience(self):
        tokens, _ = self.tokens(
            audience=self.API, scope="openid read:posts read:posts")
        self.assertEqual(tokens["scope"], "openid read:posts")
        access = claims(tokens["access_token"])
        self.assertEqual(access["aud"], [self.API, self.issuer + "userinfo"])
        self.assertEqual(access["scope"], "openid read:posts")

    def test_claims_come_from_the_profile_and_the_documents(self):
        email, user = self.user()
        self.site.dossier("client", "set", self.web["id"],
                          'claims={"https://x/plan":"app_metadata./plan","theme":"metadata./ui/theme",'
                          '"who":"profile.email","kind":{"value":7},"none":"metadata./none",'
                          '"photo":"profile.picture"}')
        self.addCleanup(self.site.dossier, "client", "set", self.web["id"], "claims=null")
        grant = self.expect(self.login(email, "correct horse battery"), 200).json
        self.expect(self.site.request("PUT", "/v1/me/metadata", {"ui": {"theme": "dark"}},
                                      {"Content-Type": "application/json"},
                                      token=grant["access_token"]), 200)
        program = self.new_client("machine", "scopes=update:users_app_metadata")
        self.expect(self.site.request("PUT", f"/v1/users/{user}/app-metadata", {"plan": ["gold"]},
                                      {"Content-Type": "application/json"},
                                      token=program["secret"]), 200)
        # A stored document may be deeper than the body of a request.
        deep = '{"deep": %s}' % ("[" * 70 + "]" * 70)
        self.site.sql(f"update documents set body = body || '{deep}' where user_id = '{user}'")
        tokens, _ = self.tokens(email, self.web)
        identity = claims(tokens["id_token"])
        self.assertEqual(
            {name: identity.get(name) for name in ["https://x/plan", "theme", "who", "kind", "none"]},
            {"https://x/plan": ["gold"], "theme": "dark", "who": email, "kind": 7, "none": None})
        self.assertEqual(identity["photo"], identity["picture"])
        self.assertTrue(identity["photo"].startswith(self.issuer), identity["photo"])


class Machines(OpenIDCase):
    def test_a_machine_gets_the_scopes_of_its_grant(self):
        party = Party(self, self.machine)
        ask = {"grant_type": "client_credentials", "audience": self.API}
        self.error(party.token(**ask), 400, "invalid_target")
        self.site.dossier("client", "grant", self.machine["id"], self.api["id"],
                          "--scope", "read:posts")
        self.expect(party.token(grant_type="client_credentials", resource=self.API), 200)
        tokens = self.expect(party.token(**ask), 200).json
        self.assertEqual((tokens["scope"], "id_token" in tokens), ("read:posts", False))
        access = verified(tokens["access_token"], self.keys)
        self.assertEqual((access["sub"], access["aud"], access["gty"]),
                         (f"{self.machine['id']}@clients", self.API, "client-credentials"))
        self.error(party.token(**ask, scope="read:posts write:posts a"), 400, "invalid_scope",
                   "Client has not been granted scopes: write:posts, a")
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)
        self.assertEqual(self.site.get("/v1/me", token=tokens["access_token"]).status, 401)

    def test_a_token_of_a_machine_lives_as_long_as_its_grant(self):
        machine = self.new_client("machine")

        def ask(path, token):
            body = {"client_id": machine["id"], "client_secret": machine["secret"], "token": token}
            return self.site.request("POST", path, urllib.parse.urlencode(body), FORM)

        for end in [
                ("client", "revoke", machine["id"], self.api["id"]),
                ("client", "grant", machine["id"], self.api["id"], "--scope", "write:posts")]:
            self.site.dossier("client", "grant", machine["id"], self.api["id"], "--scope",
                              "read:posts")
            token = self.expect(Party(self, machine).token(
                grant_type="client_credentials", audience=self.API), 200).json["access_token"]
            self.assertTrue(ask("/oauth/introspect", token).json["active"])
            # It has no session to end.
            self.error(ask("/oauth/revoke", token), 400, "unsupported_token_type")
            self.site.dossier(*end)
            self.assertEqual(ask("/oauth/introspect", token).json, {"active": False})

    def test_clients_of_the_profile_auth0_get_the_refusals_of_auth0(self):
        client = self.new_client("web", f"callback_urls={CALLBACK}", settings=["claims_profile=auth0"])
        party = Party(self, client)
        self.error(party.exchange("x"), 403, "invalid_grant", "Invalid authorization code")
        self.error(party.token(grant_type="implicit"), 403, "unsupported_grant_type")
        self.error(party.token(grant_type="password", username="a", password="b"), 403,
                   "unauthorized_client")
        refused = party.exchange("x", client_secret="wrong")
        self.error(refused, 401, "access_denied", "Unauthorized")
        self.assertIsNone(refused.headers["WWW-Authenticate"])
        machine = Party(self, self.new_client("machine", settings=["claims_profile=auth0"]))
        self.error(machine.token(grant_type="client_credentials", audience=self.API), 403,
                   "access_denied")

    def test_each_kind_of_client_has_its_grants(self):
        self.error(Party(self, self.spa).token(grant_type="client_credentials", audience=self.API),
                   400, "unauthorized_client")
        self.error(Party(self, self.machine).token(grant_type="authorization_code", code="x"),
                   400, "unauthorized_client")
        self.error(Party(self, self.spa).token(grant_type="password", username="a", password="b"),
                   400, "unauthorized_client")
        self.error(Party(self, self.spa).token(grant_type="implicit"), 400,
                   "unsupported_grant_type")
        self.error(Party(self, self.spa).token(), 400, "invalid_request")
        self.error(Party(self, {"id": "x"}).token(grant_type="refresh_token"), 401,
                   "invalid_client")


class Answers(OpenIDCase):
    def test_every_answer_of_the_endpoints_is_json(self):
        for method, path, body, headers, status in [
                ("POST", "/oauth/token", "a=b&a=c", FORM, 400),
                ("POST", "/oauth/token", "{", {"Content-Type": "application/json"}, 400),
                ("POST", "/oauth/token", "", {}, 415),
                ("POST", "/oauth/token", "x" * 70_000, FORM, 413),
                ("POST", "/oauth/token", "x" * 3_000_000, FORM, 413),
                ("GET", "/oauth/token", None, {}, 405),
                ("GET", "/oauth/nothing", None, {}, 404),
                ("GET", "/userinfo", None, {}, 401),
                ("GET", "/userinfo", None, {"Authorization": "Bearer a.b.c"}, 401),
                ("GET", "/.well-known/nothing", None, {}, 404)]:
            answer = self.site.request(method, path, body, headers)
            self.assertEqual(answer.status, status, (method, path[:40], answer.body[:200]))
            self.assertIn("error_description", json.loads(answer.body), path[:40])
