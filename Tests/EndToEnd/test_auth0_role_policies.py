"""The effect of roles and permissions on the tokens of users."""

from hosted import PASSWORD
from openid import Party, claims
from test_auth0_roles import RoleCase


class Policies(RoleCase):
    """The scopes and permissions of users' tokens, at an API with both switches."""

    SCOPE = "openid offline_access read:posts write:posts"

    def setUp(self):
        super().setUp()
        self.set(enforce="true", dialect="access_token_authz")

    def set(self, enforce, dialect):
        self.site.dossier(
            "resource-server", "set", self.api_id(), f"enforce_policies={enforce}",
            f"token_dialect={dialect}")

    def allowed(self, tokens):
        access = claims(tokens["access_token"])
        self.assertEqual(access["scope"], tokens["scope"])
        return tokens["scope"].split(), access.get("permissions")

    def refreshed(self, party, tokens, **fields):
        return self.expect(party.token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"], **fields), 200).json

    def test_a_user_gets_the_scopes_of_its_roles_and_permissions(self):
        email, user = self.user()
        path = f"users/auth0%7C{user}"
        tokens, party = self.tokens(email, scope=self.SCOPE, audience=self.API)
        self.assertEqual(self.allowed(tokens), (["openid", "offline_access"], []))
        role = self.role("read:posts")
        self.expect(self.call("POST", f"{path}/roles", {"roles": [role]}), 204)
        self.expect(self.call("POST", f"{path}/permissions", self.names("write:posts")), 201)
        tokens = self.refreshed(party, tokens)
        self.assertEqual(self.allowed(tokens), (self.SCOPE.split(), ["read:posts", "write:posts"]))
        # The permissions do not depend on the scopes of the request.
        tokens = self.refreshed(party, tokens, scope="openid read:posts")
        self.assertEqual(
            self.allowed(tokens), (["openid", "read:posts"], ["read:posts", "write:posts"]))
        self.expect(self.call("DELETE", f"roles/{role}/permissions", self.names("read:posts")), 204)
        tokens = self.refreshed(party, tokens)
        self.assertEqual(
            self.allowed(tokens), (["openid", "offline_access", "write:posts"], ["write:posts"]))
        self.expect(self.call("DELETE", f"{path}/permissions", self.names("write:posts")), 204)
        tokens = self.refreshed(party, tokens)
        self.assertEqual(self.allowed(tokens), (["openid", "offline_access"], []))
        for body, expected in [({"roles": [role]}, ["write:posts"]), (None, [])]:
            if body:
                self.call("POST", f"roles/{role}/permissions", self.names("write:posts"))
                self.expect(self.call("POST", f"{path}/roles", body), 204)
            else:
                self.expect(self.call("DELETE", f"roles/{role}"), 200)
            tokens = self.refreshed(party, tokens)
            self.assertEqual(self.allowed(tokens)[1], expected)

    def test_the_two_switches_are_independent(self):
        email, user = self.user()
        self.call("POST", f"users/auth0%7C{user}/permissions", self.names("read:posts"))
        tokens, party = self.tokens(email, scope=self.SCOPE, audience=self.API)
        for enforce, dialect, expected in [
                ("false", "access_token_authz", (self.SCOPE.split(), ["read:posts"])),
                ("true", "access_token", (["openid", "offline_access", "read:posts"], None)),
                ("false", "access_token", (self.SCOPE.split(), None))]:
            self.set(enforce, dialect)
            tokens = self.refreshed(party, tokens)
            self.assertEqual(self.allowed(tokens), expected)

    def test_a_direct_grant_gets_no_further_scopes(self):
        email, user = self.user()
        self.site.dossier("client", "set", self.web["id"], "password_grant=true")
        self.call("POST", f"users/auth0%7C{user}/permissions", self.names("read:posts"))
        tokens = self.expect(Party(self, self.web).token(
            grant_type="password", username=email, password=PASSWORD, scope=self.SCOPE,
            audience=self.API), 200).json
        self.assertEqual(
            self.allowed(tokens), (["openid", "offline_access", "read:posts"], ["read:posts"]))

    def test_a_client_gets_the_scopes_of_its_grant_as_permissions(self):
        machine = self.new_client("machine")
        self.site.dossier("client", "grant", machine["id"], self.api_id(), "--scope", "read:posts")
        for dialect, expected in [("access_token_authz", ["read:posts"]), ("access_token", None)]:
            self.set("true", dialect)
            tokens = self.expect(Party(self, machine).token(
                grant_type="client_credentials", audience=self.API), 200).json
            self.assertEqual(self.allowed(tokens), (["read:posts"], expected))

    def test_clients_set_the_switches_and_replace_the_scopes(self):
        _, user = self.user()
        server = self.site.dossier(
            "resource-server", "create", "https://switched.example.com", "--app", "default",
            "name=Switched", "scopes.a=", "scopes.b=")["id"]
        names = self.names("a", "b", audience="https://switched.example.com")
        self.expect(self.call("POST", f"users/auth0%7C{user}/permissions", names), 201)
        path = f"resource-servers/{server}"
        for body in [{"enforce_policies": "true"}, {"enforce_policies": None}, {"token_dialect": 1},
                     {"token_dialect": "rfc9068_profile"}, {"token_dialect": None},
                     {"scopes": [{"value": "a b"}]}]:
            with self.subTest(body):
                self.refused(self.call("PATCH", path, body), 400, "invalid_body")
        self.assertEqual(self.permissions(f"users/auth0%7C{user}"), ["a", "b"])
        changed = self.expect(self.call("PATCH", path, {
            "enforce_policies": True, "token_dialect": "access_token_authz",
            "scopes": [{"value": "b"}, {"value": "c"}]}), 200).json
        self.assertEqual((changed["enforce_policies"], changed["token_dialect"]),
                         (True, "access_token_authz"))
        shown = self.site.dossier("resource-server", "show", server)
        self.assertEqual((shown["enforce_policies"], shown["token_dialect"]),
                         (True, "access_token_authz"))
        self.assertEqual(self.site.sql(
            f"select scope from user_permissions where resource_server_id = '{server}'"), "b")

    def test_no_permission_outlives_its_scope_or_its_api(self):
        _, user = self.user()
        path, audience = f"users/auth0%7C{user}", "https://short.example.com"
        server = self.site.dossier(
            "resource-server", "create", audience, "--app", "default", "name=Short", "scopes.a=",
            "scopes.b=")["id"]
        role = self.role()
        names = self.names("a", "b", audience=audience)
        self.expect(self.call("POST", f"roles/{role}/permissions", names), 201)
        self.expect(self.call("POST", f"{path}/permissions", names), 201)
        self.site.dossier("resource-server", "set", server, "scopes.a=null")
        self.site.dossier("resource-server", "set", server, "scopes.a=")
        self.assertEqual(self.permissions(f"roles/{role}"), ["b"])
        self.assertEqual(self.permissions(path), ["b"])
        # The worker that removed a scope may have ended before the users lost it.
        self.site.dossier("resource-server", "set", server, "scopes.a=null")
        self.site.sql("insert into user_permissions (user_id, resource_server_id, scope) "
                      f"values ('{user}', '{server}', 'a')")
        self.assertEqual(self.permissions(path), ["b"])
        self.site.dossier("resource-server", "set", server, "scopes.a=")
        self.assertEqual(self.permissions(path), ["b"])
        self.site.dossier("resource-server", "delete", "--yes", server)
        self.assertEqual(self.permissions(f"roles/{role}"), [])
        self.assertEqual(self.permissions(path), [])
        self.assertEqual(self.site.sql(
            f"select count(*) from user_permissions where user_id = '{user}'"), "0")
