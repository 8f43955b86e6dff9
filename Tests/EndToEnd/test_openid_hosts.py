"""Apps with host names: each host is an issuer, and other apps refuse its credentials."""

import json
import time
import unittest
import urllib.parse
import uuid

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

from hosted import PASSWORD
from jwks import of_curve
from openid import CALLBACK, FORM, INVALID_CODE, LOGOUT, OpenIDCase, Party, claims
from test_openid_assertions import TYPE
from test_openid_backchannel import BackChannelCase


class HostCase(OpenIDCase):
    """Two apps of one deployment, each with its own host names."""

    HOSTS = {"one": ["one.example", "eins.example"], "two": ["two.example"]}
    ORIGIN = "https://app.example.com"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.clients, cls.backs, cls.apis = {}, {}, {}
        cls.key = ec.generate_private_key(ec.SECP256R1())
        keys = [of_curve(cls.key)]
        for app, hosts in cls.HOSTS.items():
            cls.site.create_app(app)
            cls.site.dossier("app", "host", "set", "--app", app, *hosts)
            cls.clients[app] = cls.new_client("single_page", f"callback_urls={CALLBACK}", app=app)
            cls.site.dossier("client", "set", cls.clients[app]["id"], f"logout_urls={LOGOUT}/{app}")
            cls.backs[app] = cls.new_client("machine", "scopes=read:users", app=app)
            servers = cls.site.dossier("resource-server", "list", "--app", app)
            cls.apis[app] = next(one for one in servers if one["identifier"] == "api/v2/")
            cls.site.dossier("client", "grant", cls.backs[app]["id"], cls.apis[app]["id"],
                             "--scope", "read:users")
        cls.site.dossier("client", "set", cls.clients["one"]["id"], f"web_origins={cls.ORIGIN}")
        cls.site.dossier("client", "set", cls.backs["one"]["id"],
                         f"assertion_keys={json.dumps({'keys': keys})}")

    def host(self, name):
        return f"{name}:{self.site.port}"

    def at(self, name):
        return {"Host": self.host(name)}

    def issuer_at(self, name):
        return f"http://{self.host(name)}/"

    def new_user_at(self, app, name=None, visitor=None, **parameters):
        """Signs a new user in at a host. Returns the browser, the request and the tokens."""
        host = self.host(name or self.HOSTS[app][0])
        visitor = visitor or self.new_visitor(host=host)
        email = f"{app}-{self.own_email()}"
        self.register(email, PASSWORD, headers={"Dossier-App": app})
        party = Party(self, self.clients[app], host=host, **parameters)
        page = self.signed_in(party, email, visitor=visitor)
        return visitor, party, self.expect(party.exchange(party.code(page)), 200).json

    def form(self, path, host, **fields):
        return self.site.request("POST", path, urllib.parse.urlencode(fields),
                                 {**FORM, **self.at(host)})


class Apps(HostCase):
    def setUp(self):
        super().setUp()
        self.victim, self.party, self.tokens_of_one = self.new_user_at(
            "one", scope="openid profile email offline_access")
        self.thief = self.new_visitor(host=self.host("two.example"))
        self.thief.cookies = dict(self.victim.cookies)

    def tearDown(self):
        # The attacker did not sign the user out.
        self.assertEqual(self.userinfo(self.tokens_of_one["access_token"],
                                       headers=self.at("one.example")).status, 200)
        super().tearDown()

    def test_a_foreign_port_is_not_repeated(self):
        for name in [f"one.example:{port}" for port in ["1", "666", "65535"]]:
            found = self.site.get("/.well-known/openid-configuration", headers={"Host": name})
            self.assertEqual(self.expect(found, 200).json["issuer"], self.issuer_at("one.example"))

    def test_apps_have_their_own_issuers_keys_and_users(self):
        keys = {}
        for app in self.HOSTS:
            host = self.HOSTS[app][0]
            issuer = self.site.get("/.well-known/openid-configuration",
                                   headers=self.at(host)).json["issuer"]
            self.assertEqual(issuer, self.issuer_at(host))
            _, _, tokens = self.new_user_at(app)
            self.assertEqual(claims(tokens["id_token"])["iss"], issuer)
            keys[app] = {key["kid"] for key in self.site.get(
                "/.well-known/jwks.json", headers=self.at(host)).json["keys"]}
        self.assertFalse(keys["one"] & keys["two"])

    def test_access_tokens(self):
        token = self.tokens_of_one["access_token"]
        there = self.at("two.example")
        for headers in [there, {}, {**there, "Dossier-App": "one"}]:
            self.assertEqual(self.userinfo(token, headers=headers).status, 401)
        user = claims(token)["sub"]
        for path in ["/v1/me", "/v1/me/metadata", f"/api/v2/users/auth0%7C{user}"]:
            for headers in [there, {**there, "Dossier-App": "two"}]:
                self.assertEqual(self.site.get(path, token=token, headers=headers).status, 401, path)
        # The field selects the app of the token, which lacks the scope.
        headers = {**there, "Dossier-App": "one"}
        self.expect(self.site.get("/v1/me", token=token, headers=headers), 403, "insufficient_scope")
        path = f"/api/v2/users/auth0%7C{user}"
        self.assertEqual(self.site.get(path, token=token, headers=headers).status, 401)
        back = self.backs["two"]
        answer = self.form("/oauth/introspect", "two.example", client_id=back["id"],
                           client_secret=back["secret"], token=token)
        self.assertEqual(answer.json, {"active": False})
        self.expect(self.form("/oauth/revoke", "two.example", client_id=self.clients["two"]["id"],
                              token=token), 200)

    def test_refresh_tokens(self):
        token, back = self.tokens_of_one["refresh_token"], self.backs["two"]
        for client, status in [("one", 401), ("two", 400)]:
            answer = self.form("/oauth/token", "two.example", grant_type="refresh_token",
                               client_id=self.clients[client]["id"], refresh_token=token)
            self.assertEqual(answer.status, status, answer.body)
        answer = self.form("/oauth/introspect", "two.example", client_id=back["id"],
                           client_secret=back["secret"], token=token)
        self.assertEqual(answer.json, {"active": False})
        self.form("/oauth/revoke", "two.example", client_id=self.clients["two"]["id"], token=token)
        headers = {**self.at("two.example"), "Content-Type": "application/json"}
        answer = self.site.request("POST", "/v1/token/refresh", {"refresh_token": token}, headers)
        self.assertEqual(answer.status, 401)
        self.tokens_of_one = self.expect(
            self.party.token(grant_type="refresh_token", refresh_token=token), 200).json

    def test_codes(self):
        mixed = Party(self, self.clients["one"], prompt="none")
        code = mixed.code(self.victim.open(mixed.path))
        mixed.host = self.host("two.example")
        for client in ["one", "two"]:
            mixed.client = self.clients[client]
            answer = mixed.exchange(code)
            self.error(answer, *((401, "invalid_client") if client == "one"
                                 else (400, "invalid_grant")))
        mixed.client, mixed.host = self.clients["one"], self.host("one.example")
        self.expect(mixed.exchange(code), 200)

    def test_browsers(self):
        silent = Party(self, self.clients["two"], prompt="none")
        self.assertEqual(silent.answer(self.thief.open(silent.path))["error"], "login_required")
        hint = Party(self, self.clients["two"], id_token_hint=self.tokens_of_one["id_token"])
        self.assertEqual(hint.answer(self.thief.open(hint.path))["error"], "invalid_request")
        self.assertEqual(self.thief.open(Party(self, self.clients["one"]).path).status, 404)
        self.shows(self.thief.open("/account"), "Sign in")
        # The authorization of the user, with all cookies, in a page and in a form.
        self.victim.open(Party(self, self.clients["one"], prompt="login").path)
        self.assertIn(self.thief.open(self.victim.page.path).status, [403, 404])
        form = self.victim.form()
        page = self.thief.send(
            "POST", form.action, self.victim.body(form, email="x@example.com"),
            Origin=self.thief.origin, **FORM)
        self.assertIn(page.status, [403, 404])

    def test_sign_outs(self):
        hint = urllib.parse.urlencode({"id_token_hint": self.tokens_of_one["id_token"]})
        session = urllib.parse.urlencode(
            {"logout_hint": claims(self.tokens_of_one["id_token"])["sid"]})
        for path in [f"/oidc/logout?{hint}", f"/oidc/logout?{session}", "/v2/logout"]:
            self.thief.open(path)
        for fields in [{"returnTo": f"{LOGOUT}/one"},
                       {"returnTo": f"{LOGOUT}/one", "client_id": self.clients["two"]["id"]},
                       {"client_id": self.clients["one"]["id"]}]:
            page = self.thief.send("GET", "/v2/logout?" + urllib.parse.urlencode(fields))
            self.assertIn(page.status, [200, 303, 404], fields)
            self.assertNotIn(LOGOUT, page.location or "")

    def test_messages_to_web_origins(self):
        page = self.victim.open(
            Party(self, self.clients["one"], prompt="none", response_mode="web_message").path)
        self.assertEqual(page.status, 200)
        page = self.thief.open(
            Party(self, self.clients["two"], prompt="none", response_mode="web_message").path)
        self.assertEqual((page.status, page.location), (400, None))

    def test_back_ends(self):
        def ask(host, **fields):
            return self.form("/oauth/token", host, **{
                "grant_type": "client_credentials",
                "audience": self.issuer_at(host) + "api/v2/", **fields})

        secret = {"client_id": self.backs["one"]["id"], "client_secret": self.backs["one"]["secret"]}
        token = self.expect(ask("one.example", **secret), 200).json["access_token"]
        self.error(ask("two.example", **secret), 401, "invalid_client")
        now = int(time.time())
        for host in ["one.example", "two.example"]:
            assertion = jwt.encode(
                {"iss": self.backs["one"]["id"], "sub": self.backs["one"]["id"], "iat": now,
                 "exp": now + 100, "aud": self.issuer_at(host), "jti": str(uuid.uuid4())}, self.key, "ES256")
            signed = {"client_assertion": assertion, "client_assertion_type": TYPE}
            self.error(ask("two.example", **signed), 401, "invalid_client")
            self.assertEqual(ask("one.example", **signed).status, 200 if host[0] == "o" else 401)
        for path in ["/api/v2/users", "/v1/users"]:
            for host, app in [("two.example", None), ("two.example", "one"), ("two.example", "two")]:
                headers = {**self.at(host), **({"Dossier-App": app} if app else {})}
                answer = self.site.get(path, token=token, headers=headers)
                self.assertIn(answer.status, [401, 403], (path, app, answer.body))
        self.assertEqual(self.site.get("/api/v2/users", token=token,
                                       headers=self.at("one.example")).status, 200)

    def test_an_unknown_host_does_not_change_the_issuer(self):
        headers = {"Host": "evil.example"}
        found = self.site.get("/.well-known/openid-configuration", headers=headers).json
        self.assertNotIn("evil", json.dumps(found))


class Issuers(HostCase):
    """Two hosts of one app: a client uses only its own issuer."""

    def setUp(self):
        super().setUp()
        self.visitor, self.party, self.tokens_of_one = self.new_user_at(
            "one", scope="openid offline_access")

    def test_a_code_is_exchanged_at_its_issuer(self):
        party = Party(self, self.clients["one"], prompt="none", host=self.host("eins.example"))
        page = self.visitor.open(party.path)
        self.assertEqual(party.answer(page)["iss"], self.issuer_at("one.example"))
        code = party.code(page)
        self.error(party.exchange(code), 400, "invalid_grant", INVALID_CODE)
        party.host = self.host("one.example")
        tokens = self.expect(party.exchange(code), 200).json
        self.assertEqual(claims(tokens["id_token"])["iss"], self.issuer_at("one.example"))

    def test_a_page_of_another_host_does_not_change_the_issuer(self):
        party = Party(self, self.clients["one"], prompt="login")
        self.visitor.open(party.path)
        self.visitor.submit(email=f"one-{self.own_email()}")
        other = self.new_visitor(host=self.host("eins.example"))
        other.cookies, other.page = dict(self.visitor.cookies), self.visitor.page
        page = other.submit("/password", password=PASSWORD)
        self.assertEqual(party.answer(page)["iss"], self.issuer_at("one.example"))

    def test_tokens_are_valid_only_at_their_issuer(self):
        here, there = "one.example", "eins.example"
        back, token = self.backs["one"], self.tokens_of_one["refresh_token"]

        def refresh(host, token):
            return self.form("/oauth/token", host, grant_type="refresh_token", refresh_token=token,
                             client_id=self.clients["one"]["id"])

        self.error(refresh(there, token), 400, "invalid_grant", "Unknown or invalid refresh token.")
        tokens = self.expect(refresh(here, token), 200).json
        self.assertEqual(self.userinfo(tokens["access_token"], headers=self.at(there)).status, 401)
        for host, active in [(there, False), (here, True)]:
            answer = self.form("/oauth/introspect", host, client_id=back["id"],
                               client_secret=back["secret"], token=tokens["access_token"])
            self.assertEqual(answer.json["active"], active, host)
        for token in [tokens["access_token"], tokens["refresh_token"]]:
            self.expect(self.form("/oauth/revoke", there, client_id=self.clients["one"]["id"],
                                  token=token), 200)
        self.assertEqual(self.userinfo(tokens["access_token"], headers=self.at(here)).status, 200)
        hint = Party(self, self.clients["one"], id_token_hint=tokens["id_token"])
        stranger = self.new_visitor(host=self.host(there))
        self.assertEqual(hint.answer(stranger.open(hint.path))["error"], "invalid_request")


class Messages(BackChannelCase, HostCase):
    def test_a_message_has_the_issuer_of_the_session(self):
        self.set_logout_url(self.clients["one"])
        for name in self.HOSTS["one"]:
            _, _, tokens = self.new_user_at("one", name)
            keys = self.site.get("/.well-known/jwks.json", headers=self.at(name)).json["keys"]
            identity = claims(tokens["id_token"])
            # The command line knows no host.
            self.site.dossier("user", "logout", "--yes", "--app", "one", identity["sub"])
            found = self.message(keys)
            self.assertEqual((found["iss"], found["sid"]), (self.issuer_at(name), identity["sid"]))


if __name__ == "__main__":
    unittest.main()
