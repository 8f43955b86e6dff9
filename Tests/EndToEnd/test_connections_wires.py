"""Sign-in at issuers by `/authorize`, by `/v1` for native apps, and as Auth0 and Parra exchange."""

import hashlib
import json
import unittest
import urllib.parse

from asking import JSON
from connections import SIGN_IN, ConnectionCase, browse
from openid import FORM, Party, base64url, claims
from test_auth0 import Auth0Case
from test_pictures import png
from upstream_presets import CONSUMERS, TENANT

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
TYPES = "http://auth0.com/oauth/token-type/"
REDIRECT = "com.example.app://signed-in"
VERIFIER = "v" * 43
CHALLENGE = base64url(hashlib.sha256(VERIFIER.encode()).digest())


class Authorize(ConnectionCase):
    """`connection` at `/authorize`."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.google = cls.connect("google", email_trust="verified", connection_scopes=[
            "https://www.googleapis.com/auth/calendar.readonly"])
        cls.upstream = cls.connect("oidc", "upstream")

    def straight(self, **parameters):
        """Opens a request that shows no page. Returns the URL at the issuer, and the request."""
        party = Party(self, self.spa, **parameters)
        answer = self.visitor.open(party.path, follow=False)
        while (answer.location or "").startswith("/"):
            answer = self.visitor.open(answer.location, follow=False)
        return answer, party

    def test_a_connection_is_named_by_its_name_or_auth0_s(self):
        self.google.is_new("ada@gmail.com")
        for name in ["google", "google-oauth2"]:
            self.visitor = self.new_visitor()
            answer, party = self.straight(connection=name)
            self.assertTrue(answer.location.startswith(self.google.base + "/authorize?"), answer.text)
            told = self.identity(self.come_back(browse(answer.location)), party)
            self.assertEqual(told["email"], "ada@gmail.com")

    def test_other_names_are_refused(self):
        for name in ["unknown", "GOOGLE", "google-oauth2 ", "github", "a" * 300, "googl\u00e9", "%00"]:
            answer, party = self.straight(connection=name)
            self.assertEqual(party.answer(answer)["error"], "invalid_request", name)
        for name in ["facebook", "windowslive", "apple"]:
            answer, party = self.straight(connection=name)
            told = party.answer(answer)
            self.assertEqual((told["error"], told["error_description"]),
                             ("invalid_request", "the connection was not found"))

    def test_a_client_without_the_connection(self):
        strict = self.new_client("single_page", "callback_urls=https://app.example.com/callback")
        self.site.dossier("client", "set", strict["id"], 'connections=["password"]')
        party = Party(self, strict, connection="google")
        self.assertEqual(party.answer(self.visitor.open(party.path))["error"], "invalid_request")

    def test_scopes_of_the_issuer_are_from_the_operator_s_list(self):
        allowed, other = ("https://www.googleapis.com/auth/" + name
                          for name in ["calendar.readonly", "gmail.readonly"])
        answer, _ = self.straight(connection="google", connection_scope=f"{allowed} {other}")
        scope = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(answer.location).query))["scope"]
        self.assertIn(allowed, scope.split(" "))
        self.assertNotIn(other, scope)

    def test_a_session_is_not_asked_again(self):
        self.google.is_new("bob@gmail.com")
        answer, party = self.straight(connection="google")
        self.identity(self.come_back(browse(answer.location)), party)
        before = len(self.google.requests)
        answer, party = self.straight(connection="google")
        self.assertTrue(party.code(answer))
        self.assertEqual(len(self.google.requests), before)


class Picture(Auth0Case, ConnectionCase):
    """The picture of a person at an issuer, which no program fetches."""

    URL = "https://img.example.com/e.png"

    def test_a_new_user_has_the_picture_of_the_issuer(self):
        upstream = self.connect("oidc", "upstream", email_trust="verified")
        upstream.is_new(self.own_email(), picture=self.URL)
        page, party = self.go(upstream)
        tokens = self.expect(party.exchange(party.code(page)), 200).json
        user = claims(tokens["id_token"])["sub"]

        def shown(token):
            found = self.management("GET", f"users/auth0|{user}", token=self.back_end_token())
            listed = self.management("GET", "users?" + urllib.parse.urlencode(
                {"q": f'email:"{upstream.person.email}"'}), token=self.back_end_token())
            return [self.expect(self.userinfo(tokens["access_token"]), 200).json["picture"],
                    self.expect(found, 200).json["picture"],
                    self.expect(listed, 200).json[0]["picture"], self.me(token).json["picture"]]

        def grant():
            body = {"connection": "upstream", "id_token": upstream.native_token()}
            return self.expect(self.post("/v1/login/connection", body), 200).json

        mine = grant()
        self.assertEqual(claims(tokens["id_token"])["picture"], self.URL)
        self.assertEqual(shown(mine), [self.URL] * 4)
        # The pages load no image of another server.
        page = self.visitor.open("/account")
        self.assertNotIn("img.example.com", page.body.decode() + str(page.headers))
        # It is taken once, and the picture that the user uploads replaces it.
        upstream.person.picture = "https://img.example.com/other.png"
        mine = grant()
        self.assertEqual(shown(mine), [self.URL] * 4)
        path = self.expect(self.site.request(
            "PUT", "/v1/me/picture", png(10, 10), {"Content-Type": "image/png"},
            mine["access_token"]), 200).json["picture"]
        self.assertTrue(path.startswith("/v1/pictures/"), path)
        for picture in shown(mine):
            self.assertTrue(picture.endswith(path), picture)
        self.expect(self.site.request("DELETE", "/v1/me/picture", token=mine["access_token"]), 204)
        self.assertIsNone(self.me(mine).json["picture"])

    def test_a_picture_that_is_no_https_url_is_left_out(self):
        upstream = self.connect("oidc", "insecure", email_trust="verified")
        for picture in ["http://img.example.com/e.png", "javascript:alert(1)", "//img", 7, "x" * 3000]:
            upstream.is_new(picture=picture)
            body = {"connection": "insecure", "id_token": upstream.native_token()}
            grant = self.expect(self.post("/v1/login/connection", body), 200).json
            self.assertIsNone(self.me(grant).json["picture"], picture)


class Management(Auth0Case, ConnectionCase):
    """Connections and identities in Auth0's API."""

    SCOPES = [*Auth0Case.SCOPES, "read:connections", "read:logs"]

    def test_the_api_shows_the_identity_as_auth0_does(self):
        self.google = self.connect("google", email_trust="verified")
        self.upstream = self.connect("oidc", "upstream")
        self.google.is_new("eve@gmail.com", picture="https://img.example.com/e.png")
        user = self.signed_in_at(self.google)["sub"]
        shown = self.expect(self.management(
            "GET", f"users/auth0|{user}", token=self.back_end_token()), 200).json
        [identity] = [one for one in shown["identities"] if one["isSocial"]]
        self.assertEqual(
            (identity["provider"], identity["connection"], identity["user_id"], identity["isSocial"]),
            ("google-oauth2", "google-oauth2", self.google.person.subject, True))
        text = json.dumps(shown)
        for token in self.google.tokens:
            self.assertNotIn(token, text)
        self.assertNotIn("access_token", text)
        found = self.expect(self.management(
            "GET", "connections", token=self.back_end_token()), 200).json
        self.assertEqual({one["name"] for one in found} & {"google-oauth2", "upstream"},
                         {"google-oauth2", "upstream"})
        self.assertNotIn(self.google.secret, json.dumps(found))
        logs = self.expect(self.management(
            "GET", f"users/auth0|{user}/logs", token=self.back_end_token()), 200).json
        login = next(log for log in logs if log["type"] == "s")
        self.assertEqual(login["connection"], "google-oauth2")

    def test_a_search_finds_the_users_of_all_tenants(self):
        """Each tenant of Microsoft has an issuer of its own."""
        microsoft, other = self.connect("microsoft"), self.connect("github")
        users = []
        for tenant in [TENANT, CONSUMERS]:
            microsoft.is_new(f"{tenant}@example.com", tenant=tenant)
            users.append(self.signed_in_at(microsoft, self.new_visitor())["sub"])
        other.is_new()
        self.signed_in_at(other, self.new_visitor())
        for q in ['identities.connection:"windowslive"', 'identities.provider:"windowslive"',
                  'identities.connection:"microsoft"',
                  '_exists_:email AND identities.connection:"windowslive"']:
            with self.subTest(q):
                found = self.expect(self.management(
                    "GET", "users?" + urllib.parse.urlencode({"q": q}),
                    token=self.back_end_token()), 200).json
                self.assertEqual({user["user_id"] for user in found},
                                 {f"auth0|{user}" for user in users})
                for user in found:
                    [one] = [one for one in user["identities"] if one["isSocial"]]
                    self.assertEqual(one["connection"], "windowslive")
        others = 'NOT identities.connection:"windowslive" AND identities.connection:"github"'
        found = self.expect(self.management(
            "GET", "users?" + urllib.parse.urlencode({"q": others}), token=self.back_end_token()), 200)
        self.assertEqual(len(found.json), 1)

    def test_a_linked_user_brings_the_identity_and_its_profile(self):
        """Users of two connections become one, by whose identities both sign in."""
        first = self.connect("oidc", "first", email_trust="verified")
        second = self.connect("oidc", "second", email_trust="verified")
        first.is_new("first-" + self.own_email())
        second.is_new("second-" + self.own_email(), name="Second")
        primary = self.signed_in_at(first)["sub"]
        secondary = self.signed_in_at(second, self.new_visitor())["sub"]
        path = f"users/auth0|{primary}/identities"
        self.expect(self.management(
            "POST", path, {"provider": "auth0", "user_id": secondary}, self.back_end_token()), 201)
        shown = self.expect(self.management(
            "GET", f"users/auth0|{primary}", token=self.back_end_token()), 200).json
        [own, linked] = sorted(
            (one for one in shown["identities"] if one["connection"] in ["first", "second"]),
            key=lambda one: one["connection"])
        self.assertNotIn("profileData", own)
        self.assertEqual(linked["user_id"], second.person.subject)
        profile = linked["profileData"]
        self.assertEqual((profile["name"], profile["email"]), ("Second", second.person.email))
        for issuer in [first, second]:
            self.assertEqual(self.signed_in_at(issuer, self.new_visitor())["sub"], primary)
        # The claims of the last sign-in are shown.
        second.person.name = "Renamed"
        self.signed_in_at(second, self.new_visitor())
        shown = self.expect(self.management(
            "GET", f"users/auth0|{primary}", token=self.back_end_token()), 200).json
        self.assertIn("Renamed", [one.get("profileData", {}).get("name")
                                  for one in shown["identities"]])


class Native(ConnectionCase):
    """Native apps: the code of an SDK, and the link of an account that exists."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = cls.connect("oidc", "upstream", email_trust="verified", label="Upstream & Co")
        cls.apple = cls.connect("apple", email_trust="verified", audiences=["com.example.app"])
        cls.apple.native_clients = ["com.example.app"]
        cls.hidden = cls.connect("oidc", "hidden", enabled=False)

    def setUp(self):
        super().setUp()
        for issuer in [self.upstream, self.apple]:
            issuer.is_new(f"{issuer.name}-{self.own_email()}")

    def code(self, **more):
        return self.upstream.native_code(redirect_uri=REDIRECT, code_challenge=CHALLENGE, **more)

    def enter(self, code, **body):
        return self.post("/v1/login/connection", {
            "connection": "upstream", "code": code, "redirect_uri": REDIRECT,
            "code_verifier": VERIFIER, **body})

    def test_the_buttons_of_an_app(self):
        found = self.expect(self.site.get("/v1/connections/public"), 200).json
        self.assertEqual([(one["name"], one["label"], one["preset"]) for one in found],
                         [("upstream", "Upstream & Co", "oidc"), ("apple", "Apple", "apple")])
        text = json.dumps(found)
        for word in [self.upstream.client_id, self.upstream.secret, self.upstream.base]:
            self.assertNotIn(word, text)

    def test_the_code_of_an_sdk_signs_in(self):
        grant = self.expect(self.enter(self.code(nonce="n-1"), nonce="n-1"), 200).json
        me = self.me(grant).json
        self.assertEqual((me["email"], me["email_verified"], me["name"]),
                         (self.upstream.person.email, True, "Ada Lovelace"))
        [identity] = [one for one in self.me(grant, "/identities").json if one["connection"]]
        self.assertEqual((identity["connection"], identity["email"], identity["name"]),
                         ("upstream", self.upstream.person.email, "Ada Lovelace"))
        again = self.expect(self.enter(self.code()), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])

    def test_a_code_that_does_not_fit_is_refused(self):
        used = self.code()
        self.expect(self.enter(used), 200)
        self.upstream.is_new()
        for body in [{"code": used}, {"code": "forged"}, {"code_verifier": "w" * 43},
                     {"redirect_uri": "https://evil.example.com"}, {"nonce": "another"}]:
            answer = self.enter(body.pop("code", None) or self.code(nonce="n-1"), **body)
            self.expect(answer, 401, "external_token_invalid")
        for body, status in [({"connection": "unknown"}, 404), ({"connection": "hidden"}, 404),
                             ({"connection": 7}, 422), ({"code": ""}, 422), ({"code": "c" * 5000}, 422),
                             ({"code": None}, 422), ({"more": 1}, 422)]:
            self.assertEqual(self.enter(**{"code": self.code(), **body}).status, status, body)
        self.assertIsNone(self.owner(self.upstream))

    def test_an_account_with_the_address_is_linked_after_a_sign_in(self):
        email = self.own_email()
        owner = self.verified(email)
        self.upstream.is_new(email)
        answer = self.expect(self.enter(self.code()), 409, "account_exists")
        flow = answer.json["flow"]
        self.assertNotIn("access_token", answer.json)
        # A stranger who learns the flow links nothing to an own account.
        stranger = self.expect(self.register("stranger-" + email), 201).json
        self.assertGreaterEqual(self.attach(stranger, provider="pending", flow=flow).status, 400)
        self.assertIsNone(self.owner(self.upstream))
        grant = self.expect(self.login(email), 200).json
        self.expect(self.attach(grant, provider="pending", flow=flow), 200)
        self.assertEqual(self.owner(self.upstream), owner["user_id"])
        self.assertGreaterEqual(self.attach(grant, provider="pending", flow=flow).status, 400)
        self.assertGreaterEqual(self.attach(grant, provider="pending", flow="x").status, 400)

    def test_a_guest_keeps_id_and_data(self):
        guest = self.site.login()
        path = "/v1/me/custom-data"
        self.expect(self.site.request("PUT", path, {"level": 7}, JSON, guest["access_token"]), 200)
        token = self.upstream.native_token()
        self.expect(self.attach(guest, provider="jwt", token=token), 200)
        self.assertEqual(self.owner(self.upstream), guest["user_id"])
        grant = self.expect(self.enter(self.code()), 200).json
        self.assertEqual(grant["user_id"], guest["user_id"])
        self.assertEqual(self.me(grant, "/custom-data").json, {"level": 7})

    def test_an_id_token_and_a_redirect_are_one_identity(self):
        told = self.signed_in_at(self.upstream)
        grant = self.expect(self.post(
            "/v1/login/jwt", {"token": self.upstream.native_token()}), 200).json
        self.assertEqual(grant["user_id"], told["sub"])
        # The token of the app on the device has another audience.
        self.signed_in_at(self.apple, self.new_visitor())
        user = self.owner(self.apple)
        token = self.apple.native_token(aud="com.example.app")
        grant = self.expect(self.post("/v1/login/jwt", {"token": token}), 200).json
        self.assertEqual(grant["user_id"], user)
        token = self.apple.native_token(aud="com.evil.app")
        self.expect(self.post("/v1/login/jwt", {"token": token}), 401, "external_token_invalid")

    def test_a_nonce_binds_a_token_to_its_request(self):
        guest, token = self.site.login(), self.upstream.native_token(nonce="n-1")
        for nonce in ["n-2", "N-1"]:
            for answer in [self.post("/v1/login/jwt", {"token": token, "nonce": nonce}),
                           self.attach(guest, provider="jwt", token=token, nonce=nonce)]:
                self.expect(answer, 401, "external_token_invalid")
        self.assertIsNone(self.owner(self.upstream))
        for stated in ["n-1", hashlib.sha256(b"n-1").hexdigest()]:
            token = self.upstream.native_token(nonce=stated)
            self.expect(self.post("/v1/login/jwt", {"token": token, "nonce": "n-1"}), 200)

    def test_the_only_identity_cannot_be_unlinked(self):
        grant = self.expect(self.enter(self.code()), 200).json
        [identity] = self.me(grant, "/identities").json
        path = f"/v1/me/identities/{identity['id']}"
        answer = self.site.request("DELETE", path, token=grant["access_token"])
        self.expect(answer, 409, "last_identity")
        self.assertEqual(self.owner(self.upstream), grant["user_id"])

    def test_a_token_of_an_issuer_follows_the_same_rules_of_addresses(self):
        """An unverified address is not taken, and one that has an account is a conflict."""
        email = self.own_email()
        self.verified(email)
        self.upstream.is_new(email)
        answer = self.post("/v1/login/jwt", {"token": self.upstream.native_token()})
        self.expect(answer, 409, "account_exists")
        self.upstream.is_new("unverified-" + email, verified=False)
        grant = self.expect(self.post(
            "/v1/login/jwt", {"token": self.upstream.native_token()}), 200).json
        self.assertIsNone(self.me(grant).json["email"])


class Codes(ConnectionCase):
    """Links of accounts at a service whose SDK gives codes only."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.github = cls.connect("github", email_trust="verified")

    def setUp(self):
        super().setUp()
        self.github.is_new(self.own_email())

    def evidence(self):
        return {"connection": "github", "redirect_uri": REDIRECT,
                "code": self.github.native_code(redirect_uri=REDIRECT)}

    def test_a_guest_with_a_code_keeps_id_and_data(self):
        guest = self.site.login()
        user, path = guest["user_id"], "/v1/me/custom-data"
        self.expect(self.site.request("PUT", path, {"level": 7}, JSON, guest["access_token"]), 200)
        grant = self.expect(self.attach(
            guest, provider="connection", **self.evidence()), 200).json
        self.assertEqual((grant["user_id"], self.owner(self.github)), (user, user))
        again = self.expect(self.post("/v1/login/connection", self.evidence()), 200).json
        self.assertEqual(again["user_id"], user)
        self.assertEqual(self.me(again, "/custom-data").json, {"level": 7})

    def test_a_user_with_another_address_links(self):
        owner = self.expect(self.register("another-" + self.own_email()), 201).json
        user = owner["user_id"]
        self.expect(self.attach(owner, provider="connection", **self.evidence()), 200)
        self.assertEqual(self.owner(self.github), user)
        thief = self.site.login()
        answer = self.attach(thief, provider="connection", **self.evidence())
        self.expect(answer, 409, "identity_taken")
        self.assertEqual(self.owner(self.github), user)

    def test_evidence_that_does_not_fit_links_nothing(self):
        guest = self.site.login()
        for body, status in [
                ({"code": "forged"}, 401), ({"redirect_uri": "https://evil.example.com"}, 401),
                ({"connection": "unknown"}, 404), ({"connection": None}, 422),
                ({"code": None}, 422), ({"id_token": "x.y.z"}, 422), ({"code": ""}, 422),
                ({"code": "c" * 5000}, 422), ({"more": 1}, 422)]:
            evidence = {**self.evidence(), **body}
            answer = self.attach(guest, provider="connection", **{
                name: value for name, value in evidence.items() if value is not None})
            self.assertEqual(answer.status, status, (body, answer.body))
        self.assertIsNone(self.owner(self.github))
        self.expect(self.me(guest), 200)


class Exchange(Auth0Case, ConnectionCase):
    """The native exchange of Auth0's SDKs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.google = cls.connect("google", email_trust="verified", audiences=["ios.apps.example.com"])
        cls.apple = cls.connect("apple", email_trust="verified", audiences=["com.example.app"])
        cls.apple.native_clients = ["com.example.app"]
        cls.facebook = cls.connect("facebook")

    def setUp(self):
        super().setUp()
        self.google.is_new(f"{self.own_email().split('@')[0]}@gmail.com")
        self.apple.is_new("apple-" + self.own_email())
        self.facebook.is_new("facebook-" + self.own_email())

    def exchange(self, kind, token, as_json=False, **more):
        body = {"grant_type": EXCHANGE, "client_id": self.native["id"], "subject_token": token,
                "subject_token_type": TYPES + kind, "scope": "openid profile email offline_access",
                **more}
        if as_json:
            return self.site.request("POST", "/oauth/token", json.dumps(body), JSON)
        return self.site.request("POST", "/oauth/token", urllib.parse.urlencode(body), FORM)

    def test_each_type_by_a_form_and_by_json(self):
        for as_json in [False, True]:
            self.google.is_new(f"google-{as_json}-exchange@gmail.com".lower())
            self.apple.is_new(f"apple-{as_json}-{self.own_email()}".lower())
            self.facebook.is_new(f"facebook-{as_json}-{self.own_email()}".lower())
            name = json.dumps({"name": {"firstName": "Grace", "lastName": "Hopper"}})
            found = {
                "google": self.exchange("google-id-token", self.google.native_token(
                    aud="ios.apps.example.com"), as_json),
                "apple": self.exchange("apple-authz-code", self.apple.native_code(
                    "com.example.app"), as_json, user_profile=name),
                "facebook": self.exchange("facebook-info-session-access-token",
                                          self.facebook.native_access_token(), as_json)}
            for preset, answer in found.items():
                with self.subTest(preset, as_json=as_json):
                    tokens = self.expect(answer, 200).json
                    self.assertTrue(tokens["refresh_token"])
                    user = claims(tokens["id_token"])["sub"]
                    self.assertEqual(self.owner(self.upstreams.issuers[preset]), user)
            self.assertEqual(claims(found["apple"].json["id_token"])["name"], "Grace Hopper")
            self.assertEqual(self.apple.refusals, [])

    def test_tokens_of_other_apps_are_refused(self):
        """Any app of Facebook has access tokens of its users; so has an app of Google ID tokens."""
        for kind, token in [
                ("facebook-info-session-access-token",
                 self.facebook.native_access_token("another-app")),
                ("facebook-info-session-access-token", "forged"),
                ("google-id-token", self.google.native_token(aud="another-app")),
                ("google-id-token", self.apple.native_token()),
                ("apple-authz-code", "forged"),
                ("apple-authz-code", self.apple.native_code("com.evil")),
                ("google-id-token", "x.y.z")]:
            answer = self.exchange(kind, token)
            self.assertIn(answer.status, [400, 403], answer.body)
            self.assertIn(answer.json["error"], ["invalid_grant", "invalid_request", "access_denied"])
        answer = self.exchange("unknown", "x")
        self.assertIn(answer.status, [400, 403])
        for issuer in [self.google, self.apple, self.facebook]:
            self.assertIsNone(self.owner(issuer))

    def test_a_profile_of_the_device_is_unsigned(self):
        """It may name a new user, and nothing more."""
        victim = self.own_email()
        self.verified(victim)
        for profile in ['{"email": "' + victim + '"}', "no JSON", "[]", '{"name": "x"}',
                        json.dumps({"name": {"firstName": "n" * 10_000}})]:
            self.apple.is_new(None)
            answer = self.exchange("apple-authz-code", self.apple.native_code("com.example.app"),
                                   user_profile=profile)
            self.assertIn(answer.status, [200, 400], answer.body)
            if answer.status == 200:
                self.assertNotIn("email", claims(answer.json["id_token"]))
            else:
                self.assertIsNone(self.owner(self.apple))
        self.expect(self.exchange("apple-authz-code", self.apple.native_code("com.example.app")), 200)


class SignUp(ConnectionCase):
    def test_the_page_of_sign_up_has_the_buttons(self):
        issuer = self.connect("oidc", "upstream")
        issuer.is_new()
        party = Party(self, self.spa)
        self.shows(self.visitor.open(party.path), SIGN_IN)
        page = self.visitor.open(self.visitor.page.links["Create account"])
        url = self.follow(issuer, page)
        self.assertTrue(party.code(self.come_back(browse(url))))


if __name__ == "__main__":
    unittest.main()
