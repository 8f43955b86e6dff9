"""The API of an app's `/v1`, for which clients get tokens without a registration of it."""

import re
import subprocess
import unittest

from asking import JSON, MERGE
from cases import Administration
from hosted import PASSWORD
from machine import BUILD, wait_until
from openid import CALLBACK, OpenIDCase, Party, claims, verified
from test_openid_hosts import HostCase
from test_openid_libraries import BROWSER, LibraryCase

DATA = "read:current_user update:current_user_metadata"
SCOPES = ["read:current_user", "create:current_user_metadata", "update:current_user_metadata",
          "delete:current_user_metadata", "update:current_user_identities"]

# The program knows an issuer, a client id and scopes.
AUTHLIB = BROWSER + """
import requests
from authlib.common.security import generate_token
from authlib.integrations.requests_client import OAuth2Session

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
meta = requests.get(site["issuer"] + ".well-known/openid-configuration").json()
scope = "openid email offline_access read:current_user update:current_user_metadata"
assert set(scope.split()) <= set(meta["scopes_supported"]), meta["scopes_supported"]
session = OAuth2Session(
    site["client"], scope=scope, redirect_uri=site["callback"], code_challenge_method="S256",
    token_endpoint_auth_method="none")
verifier = generate_token(48)
url, state = session.create_authorization_url(
    meta["authorization_endpoint"], code_verifier=verifier)
token = session.fetch_token(
    meta["token_endpoint"], authorization_response=sign_in(url), code_verifier=verifier)
for turn in range(2):
    assert token["scope"] == scope, token
    me = session.get(site["issuer"] + "v1/me")
    assert (me.status_code, me.json()["email"]) == (200, site["email"]), me.text
    changed = session.patch(
        site["issuer"] + "v1/me/metadata", json={"turn": turn},
        headers={"Content-Type": "application/merge-patch+json"})
    assert (changed.status_code, changed.json()) == (200, {"turn": turn}), changed.text
    assert session.get(meta["userinfo_endpoint"]).json()["email"] == site["email"]
    token = session.refresh_token(meta["token_endpoint"], refresh_token=token["refresh_token"])
print("done")
"""


class Libraries(LibraryCase):
    def test_authlib_with_an_issuer_a_client_id_and_scopes(self):
        self.run_party(AUTHLIB, self.spa, email=self.user()[0])


class UserDataCase(OpenIDCase):
    def me(self, tokens, path="", method="GET", body=None, headers=None, **options):
        headers = {**(MERGE if method == "PATCH" else JSON), **(headers or {})}
        return self.site.request(method, f"/v1/me{path}", body, headers,
                                 token=tokens["access_token"], **options)

    def own_api(self, app="default"):
        servers = self.site.dossier("resource-server", "list", "--app", app)
        return next(server for server in servers if server["identifier"] == "/")

    def remarks(self, client):
        return [line["remark"] for line in self.site.log_lines()
                if f"the client {client['id']} does not get" in line.get("remark", "")]

    def new_remark(self, client, *before):
        found = []

        def is_there():
            found[:] = [one for one in self.remarks(client) if one not in before]
            return found

        wait_until(is_there, what="a remark in the log")
        return found[-1]


class Audiences(UserDataCase):
    def test_the_issuer_is_the_audience_with_and_without_slash_and_by_default(self):
        own = [self.issuer, self.issuer + "userinfo"]
        for number, named in enumerate([
                {}, {"audience": self.issuer}, {"audience": self.issuer[:-1]},
                {"resource": self.issuer}, {"resource": self.issuer[:-1]},
                {"audience": self.issuer + "userinfo"}, {"audience": ""}]):
            email = f"{number}-{self.own_email()}"
            self.user(email)
            tokens, party = self.tokens(email, visitor=self.new_visitor(),
                                        scope=f"openid offline_access {DATA}", **named)
            self.assertEqual(tokens["scope"], f"openid offline_access {DATA}", named)
            access = verified(tokens["access_token"], self.keys)
            self.assertEqual((access["aud"], tokens["expires_in"]), (own, 86_400))
            self.assertEqual(self.expect(self.me(tokens), 200).json["email"], email)
            self.expect(self.me(tokens, "/metadata", "PATCH", {"a": 1}), 200)
            self.expect(self.userinfo(tokens["access_token"]), 200)
            refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
            self.error(party.token(**refresh, audience=self.API), 400, "invalid_target")
            again = self.expect(party.token(**refresh, **named), 200).json
            self.assertEqual(claims(again["access_token"])["aud"], own)
            self.expect(self.me(again), 200)

    def test_a_token_is_for_one_api(self):
        tokens, _ = self.tokens(audience=self.API, scope="openid read:posts")
        answer = self.expect(self.me(tokens), 401, "token_invalid")
        self.assertIn(f"The token is for the audience {self.API}", answer.json["detail"])
        email = "other-" + self.own_email()
        _, user = self.user(email)
        tokens, _ = self.tokens(email, visitor=self.new_visitor(), scope=f"openid {DATA}")
        answer = self.site.get(f"/api/v2/users/auth0%7C{user}", token=tokens["access_token"])
        self.assertEqual(answer.status, 401, answer.body)

    def test_a_token_without_its_scopes_is_told_which_one(self):
        tokens, _ = self.tokens(scope="openid")
        answer = self.expect(self.me(tokens), 403, "insufficient_scope")
        self.assertEqual(answer.json["scope"], "read:current_user")

    def test_a_machine_gets_no_data_of_users(self):
        api = self.own_api()
        self.site.dossier("client", "grant", self.machine["id"], api["id"], "--scope", SCOPES[0])
        tokens = self.expect(Party(self, self.machine).token(
            grant_type="client_credentials", audience=self.issuer), 200).json
        self.assertEqual(claims(tokens["access_token"])["aud"], self.issuer)
        self.expect(self.me(tokens), 401, "token_invalid")


class Scopes(UserDataCase):
    def test_the_api_has_each_scope_that_a_route_asks_for(self):
        listing = subprocess.run([BUILD / "dossierd", "routes", "--all"], check=True,
                                 capture_output=True, text=True).stdout
        asked = {scope for line in listing.splitlines() if " /v1/me" in line
                 for scope in re.findall(r"\buser ([a-z]+:\S+)", line)}
        self.assertEqual(asked, set(SCOPES) - {SCOPES[1], SCOPES[3]})
        self.assertEqual(list(self.own_api()["scopes"]), SCOPES)
        found = self.site.get("/.well-known/openid-configuration").json["scopes_supported"]
        self.assertEqual(set(found) - set(SCOPES),
                         {"openid", "profile", "email", "phone", "offline_access"})

    def test_each_scope_allows_its_routes_and_no_others(self):
        deletions = [("DELETE", path) for path in ["/custom-data", "/properties", "/picture"]]
        calls = {
            "read:current_user": [("GET", ""), ("GET", "/metadata"), ("GET", "/sessions")],
            "update:current_user_metadata": [("PATCH", "/metadata"), ("PUT", "/metadata"),
                                             *deletions],
            "delete:current_user_metadata": deletions,
            "create:current_user_metadata": [],
            # At last, since it ends the account.
            "update:current_user_identities": [("POST", "/api-keys"), ("DELETE", "")],
        }
        bodies = {"POST": {"name": "key"}, "PATCH": {"a": 1}, "PUT": {"b": 2}}
        for scope, allowed in calls.items():
            email = f"{SCOPES.index(scope)}-{self.own_email()}"
            self.user(email)
            first = self.expect(self.login(email, PASSWORD), 200).json
            for path in ["/metadata", "/custom-data"]:
                self.expect(self.me(first, path, "PUT", {"c": 3}), 200)
            tokens, _ = self.tokens(email, visitor=self.new_visitor(), scope=scope)
            for method, path in sorted({call for own in calls.values() for call in own}, key=str):
                if (method, path) not in allowed:
                    answer = self.me(tokens, path, method, bodies.get(method))
                    self.expect(answer, 403, "insufficient_scope")
            for method, path in allowed:
                answer = self.me(tokens, path, method, bodies.get(method))
                self.assertIn(answer.status, [200, 201, 204], (scope, method, path, answer.body))

    def test_a_scope_that_does_not_exist_is_an_invalid_scope(self):
        place = f"the API {self.issuer}"
        for scope, named, text in [
                ("openid read:nothing", {}, f"The scope read:nothing does not exist at {place}."),
                ("read:posts a\"b é", {}, f"The scopes read:posts a?b ?? do not exist at {place}."),
                (f"openid {DATA}", {"audience": self.API},
                 f"The scopes {DATA} do not exist at the API {self.API}."),
                (" ".join(f"s{number}" for number in range(150)), {},
                 "The scopes s0 s1 s2 s3 s4 s5 s6 s7 s8 s9 and 140 more do not exist at "
                 f"{place}.")]:
            party = Party(self, self.spa, scope=scope, **named)
            answer = party.answer(self.visitor.open(party.path))
            self.assertEqual((answer["error"], answer["error_description"]),
                             ("invalid_scope", text))
            self.assertEqual(answer["state"], party.parameters["state"])

    def test_an_unknown_scope_at_the_token_endpoint(self):
        email, _ = self.user()
        tokens, party = self.tokens(email, scope=f"openid offline_access {DATA}")
        refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        text = f"The scope read:nothing does not exist at the API {self.issuer}."
        self.error(party.token(**refresh, scope="openid read:nothing"), 400, "invalid_scope", text)
        # The refusal did not use the token.
        before = self.remarks(self.spa)
        less = self.expect(party.token(**refresh, scope="openid email read:current_user"), 200).json
        self.assertEqual(less["scope"], "openid read:current_user")
        self.assertTrue(self.new_remark(self.spa, *before).endswith("the scopes email"))
        client = self.new_client("native", "password_grant=true")
        ask = {"grant_type": "password", "username": email, "password": PASSWORD}
        party = Party(self, client)
        self.error(party.token(**ask, scope="openid read:nothing"), 400, "invalid_scope", text)
        tokens = self.expect(party.token(**ask, scope=f"openid {DATA}"), 200).json
        self.assertEqual(tokens["scope"], f"openid {DATA}")
        self.expect(self.me(tokens), 200)

    def test_a_scope_that_is_not_granted_is_named(self):
        """Libraries send scopes that give nothing here, and clients of Auth0 any scopes."""
        client = self.new_client("single_page", f"callback_urls={CALLBACK}", "claims_profile=auth0")
        hostile = 'a"b\n{"level":"error"}'
        email, _ = self.user()
        tokens, party = self.tokens(
            email, client, scope=f"openid address {DATA} offline_access read:nothing {hostile}")
        self.assertEqual(tokens["scope"], f"openid {DATA} offline_access")
        remark = self.new_remark(client)
        self.assertEqual(remark, f"the client {client['id']} does not get the scopes address "
                                 'read:nothing a?b?{?level?:?error?}')
        again = self.expect(party.token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"],
            scope="openid read:nothing"), 200).json
        self.assertEqual(again["scope"], "openid")
        self.assertTrue(self.new_remark(client, remark).endswith("the scopes read:nothing"))
        before = self.remarks(self.web)
        tokens, _ = self.tokens(email, self.web, visitor=self.new_visitor(),
                                scope="openid address picture")
        self.assertEqual(tokens["scope"], "openid")
        self.assertTrue(self.new_remark(self.web, *before).endswith("the scopes address picture"))


class Operators(Administration, UserDataCase):
    def test_it_cannot_be_deleted_and_keeps_its_scopes(self):
        servers = self.site.dossier("resource-server", "list", "--app", "default")
        for server in servers:
            if server["identifier"] not in ["/", "api/v2/"]:
                continue
            self.refused(11, "resource-server", "delete", server["id"], "--yes",
                         words="Each app has this API")
            self.refused(12, "resource-server", "set", server["id"], "scopes.x=X",
                         words="Each app has this API with these scopes.")
        self.assertEqual(self.own_api()["name"], "Your data")
        self.refused(12, "resource-server", "create", self.issuer, "--app", "default", "name=x",
                     words="must not be an address of this server")
        self.refused(11, "resource-server", "create", "/", "--app", "default", "name=x")

    def test_its_lifetime_and_its_consent_can_change(self):
        app = "changes"
        self.site.create_app(app)
        self.site.dossier("app", "host", "set", "--app", app, "changes.example")
        api = self.own_api(app)
        client = self.new_client("single_page", f"callback_urls={CALLBACK}", app=app)
        host = f"changes.example:{self.site.port}"
        email = self.own_email()
        self.register(email, PASSWORD, headers={"Dossier-App": app})
        self.site.dossier("resource-server", "set", api["id"], "token_seconds=600",
                          "skips_consent=false", "allows_offline_access=false")
        self.restart()
        party = Party(self, client, host=host, scope=f"openid offline_access {DATA}")
        visitor = self.new_visitor(host=host)
        page = self.signed_in(party, email, visitor=visitor)
        self.assertIn("wants access", page.heading)
        for text in ["Your data", "See your profile and your data",
                     "Change your profile and your data"]:
            self.assertIn(text, page.body.decode())
        code = party.code(visitor.submit("/consent", button="allow"))
        tokens = self.expect(party.exchange(code), 200).json
        self.assertEqual((tokens["expires_in"], tokens["scope"], "refresh_token" in tokens),
                         (600, f"openid {DATA}", False))
        self.assertTrue(self.new_remark(client).endswith("the scopes offline_access"))
        self.assertEqual(self.site.sql("select audience, scope from consents"), f"/|openid {DATA}")


class Registered(UserDataCase):
    """An operator has registered the issuer without its slash, as guides said before."""

    def test_it_goes_on_to_work_beside_the_own_api(self):
        bare = self.issuer[:-1]
        self.site.dossier("resource-server", "create", bare, "--app", "default", "name=Dossier",
                          "scopes.read:current_user=Read your data", "scopes.own=Own",
                          "allows_offline_access=true", "token_seconds=700")
        email, _ = self.user()
        tokens, party = self.tokens(email, audience=bare,
                                    scope="openid offline_access read:current_user own")
        self.assertEqual((tokens["scope"], tokens["expires_in"]),
                         ("openid offline_access read:current_user own", 700))
        self.assertEqual(claims(tokens["access_token"])["aud"], [bare, self.issuer + "userinfo"])
        self.expect(self.me(tokens), 200)
        again = self.expect(party.token(grant_type="refresh_token", audience=bare,
                                        refresh_token=tokens["refresh_token"]), 200).json
        self.expect(self.me(again), 200)
        for named in [{}, {"audience": self.issuer}]:
            tokens, _ = self.tokens(email, visitor=self.new_visitor(), scope=DATA, **named)
            self.assertEqual((tokens["scope"], tokens["expires_in"]), (DATA, 86_400))
            self.expect(self.me(tokens), 200)


class Hosts(HostCase):
    def test_each_host_gets_tokens_for_its_own_issuer_only(self):
        for app, name in [("one", "one.example"), ("one", "eins.example"), ("two", "two.example")]:
            _, _, tokens = self.new_user_at(app, name, scope=f"openid {DATA}")
            self.assertEqual(claims(tokens["access_token"])["aud"],
                             [self.issuer_at(name), self.issuer_at(name) + "userinfo"])
            for host, owner in [("one.example", "one"), ("eins.example", "one"),
                                ("two.example", "two")]:
                answer = self.site.get("/v1/me", token=tokens["access_token"],
                                       headers=self.at(host))
                # The hosts of an app have one API.
                self.assertEqual(answer.status, 200 if owner == app else 401, (name, host))
            answer = self.site.get("/v1/me", token=tokens["access_token"])
            self.assertEqual(answer.status, 401)
        for other in ["two.example", "eins.example"]:
            for audience in [self.issuer_at(other), self.issuer_at(other)[:-1]]:
                party = Party(self, self.clients["one"], host=self.host("one.example"),
                              audience=audience, scope=DATA)
                page = self.new_visitor(host=party.host).open(party.path)
                self.assertEqual(party.answer(page)["error"], "invalid_target")


if __name__ == "__main__":
    unittest.main()
