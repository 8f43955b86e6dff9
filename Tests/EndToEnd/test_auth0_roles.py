"""Roles and permissions on the Management API, and in the tokens of users."""

import secrets

from hosted import PASSWORD
from openid import Party, claims
from test_auth0 import START, Auth0Case

VERSION_4 = START + """
from auth0.management import Roles, Users
from auth0.exceptions import Auth0Error
roles, users = [kind(domain, access, protocol="http") for kind in (Roles, Users)]
read, write = [{"resource_server_identifier": site["audience"], "permission_name": name}
               for name in ("read:posts", "write:posts")]
names = lambda page: [permission["permission_name"] for permission in page["permissions"]]
made = roles.create({"name": "editor 4", "description": "Edits posts"})
role = made["id"]
assert role.startswith("rol_") and made["description"] == "Edits posts", made
try:
    roles.create({"name": "editor 4"})
    raise AssertionError("created twice")
except Auth0Error as error:
    assert error.status_code == 409, error
assert roles.get(role) == made
page = roles.list(name_filter="EDITOR 4")
assert (page["roles"], page["start"], page["limit"], page["total"]) == ([made], 0, 25, 1), page
assert roles.list(name_filter="editor 4", include_totals=False) == [made]
assert roles.update(role, {"name": "chief 4"}) == {**made, "name": "chief 4"}
assert roles.add_permissions(role, [read, write]) == {}
page = roles.list_permissions(role)
assert names(page) == ["read:posts", "write:posts"] and page["total"] == 2, page
assert page["permissions"][0]["resource_server_name"] == "Posts", page
assert page["permissions"][0]["description"] == "Read your posts", page
roles.remove_permissions(role, [write])
assert names(roles.list_permissions(role)) == ["read:posts"]
user = users.create({"connection": "Username-Password-Authentication", "email": email,
                     "password": site["password"]})["user_id"]
users.add_roles(user, [role])
assert [found["id"] for found in users.list_roles(user)["roles"]] == [role]
assert [found["email"] for found in roles.list_users(role)["users"]] == [email]
users.remove_roles(user, [role])
assert roles.list_users(role)["total"] == 0
assert roles.add_users(role, [user]) == {}
page = roles.list_users(role, take=1)
assert page["users"][0]["user_id"] == user and set(page["users"][0]) == {
    "user_id", "email", "name", "picture"}, page
assert users.add_permissions(user, [read, write]) == {}
found = {one["permission_name"]: sorted(source["source_type"] for source in one["sources"])
         for one in users.list_permissions(user)["permissions"]}
assert found == {"read:posts": ["DIRECT", "ROLE"], "write:posts": ["DIRECT"]}, found
users.remove_permissions(user, [read, write])
assert names(users.list_permissions(user)) == ["read:posts"]
assert roles.delete(role) == {}
for call in (lambda: roles.get(role), lambda: users.add_roles(user, [role])):
    try:
        call()
        raise AssertionError("found")
    except Auth0Error as error:
        assert (error.status_code, error.error_code) == (404, "inexistent_role"), error
assert names(users.list_permissions(user)) == [] and users.list_roles(user)["roles"] == []
print("done")
"""

VERSION_6 = START + """
from auth0.management import Auth0
from auth0.management.core.api_error import ApiError
from auth0.management.types import PermissionRequestPayload
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
read = PermissionRequestPayload(
    resource_server_identifier=site["audience"], permission_name="read:posts")
role = client.roles.create(name="editor 6", description="Edits posts").id
assert client.roles.get(role).name == "editor 6"
assert [found.id for found in client.roles.list(name_filter="editor 6")] == [role]
assert client.roles.update(role, description="Writes").description == "Writes"
client.roles.permissions.add(role, permissions=[read])
assert [one.permission_name for one in client.roles.permissions.list(role)] == ["read:posts"]
made = [client.users.create(connection="Username-Password-Authentication", email=mail,
                            password=site["password"]).user_id for mail in (email, "2" + email)]
client.roles.users.assign(role, users=made)
assert sorted(user.user_id for user in client.roles.users.list(role, take=1)) == sorted(made)
user = made[0]
assert [found.id for found in client.users.roles.list(user)] == [role]
client.users.roles.delete(user, roles=[role])
assert list(client.users.roles.list(user)) == []
client.users.roles.assign(user, roles=[role])
client.users.permissions.create(user, permissions=[read])
assert [one.permission_name for one in client.users.permissions.list(user)] == ["read:posts"]
client.users.permissions.delete(user, permissions=[read])
client.roles.permissions.delete(role, permissions=[read])
assert list(client.users.permissions.list(user)) == []
client.roles.delete(role)
try:
    client.roles.get(role)
    raise AssertionError("found")
except ApiError as error:
    assert error.status_code == 404 and error.body["errorCode"] == "inexistent_role", error
print("done")
"""


class RoleCase(Auth0Case):
    SCOPES = Auth0Case.SCOPES + [
        "read:roles", "create:roles", "update:roles", "delete:roles", "read:role_members",
        "create:role_members", "delete:role_members", "update:resource_servers"]

    def setUp(self):
        super().setUp()
        self.token = self.back_end_token()

    def call(self, method, path, body=None, token=None, **options):
        return self.management(method, path, body, token or self.token, **options)

    def role(self, *scopes):
        body = {"name": secrets.token_hex(8)}
        role = self.expect(self.call("POST", "roles", body), 200).json["id"]
        if scopes:
            self.expect(self.call("POST", f"roles/{role}/permissions", self.names(*scopes)), 201)
        return role

    def names(self, *scopes, audience=None):
        return {"permissions": [
            {"resource_server_identifier": audience or self.API, "permission_name": scope}
            for scope in scopes]}

    def api_id(self):
        servers = self.site.dossier("resource-server", "list")
        return next(server["id"] for server in servers if server["identifier"] == self.API)

    def permissions(self, path):
        return [one["permission_name"] for one in
                self.expect(self.call("GET", f"{path}/permissions"), 200).json]


class Python(RoleCase):
    def test_version_4(self):
        self.run_program("4.13.0", VERSION_4)

    def test_version_6(self):
        self.run_program("6.8.0", VERSION_6)


class Requests(RoleCase):
    def test_each_route_needs_its_scope(self):
        role, (_, user) = self.role("read:posts"), self.user()
        user, permissions = f"users/auth0%7C{user}", self.names("read:posts")
        ids, members = {"roles": [role]}, {"users": [user.split("/")[1].replace("%7C", "|")]}
        for method, path, body, choices in [
                ("GET", "roles", None, ["read:roles"]),
                ("POST", "roles", {"name": "scoped"}, ["create:roles"]),
                ("GET", f"roles/{role}", None, ["read:roles"]),
                ("PATCH", f"roles/{role}", {"description": "x"}, ["update:roles"]),
                ("GET", f"roles/{role}/permissions", None, ["read:roles"]),
                ("POST", f"roles/{role}/permissions", permissions, ["update:roles"]),
                ("DELETE", f"roles/{role}/permissions", permissions, ["update:roles"]),
                ("GET", f"roles/{role}/users", None, ["read:role_members", "read:users read:roles"]),
                ("POST", f"roles/{role}/users", members, ["create:role_members", "update:roles"]),
                ("GET", f"{user}/roles", None, ["read:role_members", "read:users read:roles"]),
                ("POST", f"{user}/roles", ids, ["create:role_members", "update:users"]),
                ("DELETE", f"{user}/roles", ids, ["delete:role_members", "update:users"]),
                ("GET", f"{user}/permissions", None, ["read:users"]),
                ("POST", f"{user}/permissions", permissions, ["update:users"]),
                ("DELETE", f"{user}/permissions", permissions, ["update:users"]),
                ("DELETE", f"roles/{role}", None, ["delete:roles"])]:
            enough = {scope for choice in choices for scope in choice.split()}
            others = " ".join(scope for scope in self.SCOPES if scope not in enough)
            with self.subTest(f"{method} {path}"):
                self.refused(self.call(method, path, body, self.back_end_token(scope=others)),
                             403, "insufficient_scope")
                for part in {scope for choice in choices for scope in choice.split()
                             if scope not in choices}:
                    self.refused(self.call(method, path, body, self.back_end_token(scope=part)),
                                 403, "insufficient_scope")
                for choice in choices:
                    answer = self.call(method, path, body, self.back_end_token(scope=choice))
                    self.assertIn(answer.status, [200, 201, 204], answer.body)

    def test_roles_of_other_apps_and_unknown_ones_are_not_found(self):
        self.site.dossier("app", "create", "other-app")
        self.site.sql(
            "insert into roles (app_id, role_id, name) select app_id, repeat('ab', 12), 'theirs' "
            "from apps where name = 'other-app'")
        email, user = self.user()
        permissions = self.names("read:posts")
        for role in ["rol_" + "ab" * 12, "rol_" + "cd" * 12, "ab" * 12, "rol_x", "rol_%00", "%FF"]:
            for method, path, body in [
                    ("GET", f"roles/{role}", None), ("PATCH", f"roles/{role}", {"name": "mine"}),
                    ("DELETE", f"roles/{role}", None), ("GET", f"roles/{role}/permissions", None),
                    ("POST", f"roles/{role}/permissions", permissions),
                    ("DELETE", f"roles/{role}/permissions", permissions),
                    ("GET", f"roles/{role}/users", None),
                    ("POST", f"roles/{role}/users", {"users": [f"auth0|{user}"]})]:
                with self.subTest(f"{method} {path}"):
                    answer = self.call(method, path, body)
                    self.assertIn(answer.status, [400, 404] if "%" in role else [404], answer.body)
            if "%" not in role:
                self.refused(self.call("POST", f"users/auth0%7C{user}/roles", {"roles": [role]}),
                             404, "inexistent_role")
        self.assertEqual(self.site.sql("select name from roles where role_id = repeat('ab', 12)"),
                         "theirs")
        self.assertNotIn("theirs", [role["name"] for role in self.call("GET", "roles").json])
        # A list is assigned as a whole.
        own = self.role()
        self.refused(self.call("POST", f"users/auth0%7C{user}/roles",
                               {"roles": [own, "rol_" + "cd" * 12]}), 404, "inexistent_role")
        self.assertEqual(self.call("GET", f"users/auth0%7C{user}/roles").json, [])

    def test_users_of_other_apps_and_unknown_ones_are_not_found(self):
        role = self.role("read:posts")
        self.site.dossier("app", "create", "third-app")
        other = self.site.dossier("user", "create", "--app", "third-app", "email=a@example.com")
        for user in [f"auth0|{other['id']}", "auth0|" + "ab" * 12, "auth0|nobody"]:
            path = "users/" + user.replace("|", "%7C")
            for method, body in [("GET", None), ("POST", {"roles": [role]}),
                                 ("DELETE", {"roles": [role]})]:
                self.refused(self.call(method, f"{path}/roles", body), 404, "inexistent_user")
            for method, body in [("GET", None), ("POST", self.names("read:posts")),
                                 ("DELETE", self.names("read:posts"))]:
                self.refused(self.call(method, f"{path}/permissions", body), 404, "inexistent_user")
            self.refused(self.call("POST", f"roles/{role}/users", {"users": [user]}),
                         404, "inexistent_user")
        self.assertEqual(self.site.sql(
            f"select count(*) from user_roles where role_id = '{role[4:]}'"), "0")

    def test_hostile_bodies(self):
        role, (_, user) = self.role(), self.user()
        user = f"users/auth0%7C{user}"
        lists = [{}, [], None, "x", 1, {"NAME": []}, {"NAME": {}}, {"NAME": [1]}, {"NAME": "x"},
                 {"NAME": [None]}, {"NAME": [{}]}, {"NAME": ["x"], "other": 1}]
        for name, path in [("roles", f"{user}/roles"), ("users", f"roles/{role}/users"),
                           ("permissions", f"roles/{role}/permissions"),
                           ("permissions", f"{user}/permissions")]:
            bodies = [{key.replace("NAME", name): value for key, value in body.items()}
                      if isinstance(body, dict) else body for body in lists]
            bodies.append({name: ["rol_" + "ab" * 12] * 2000})
            if name == "permissions":
                bodies += [
                    self.names("no:scope"), self.names(""), self.names("é"),
                    self.names("read:posts", audience="https://nowhere.example.com"),
                    self.names("read:posts", audience="é\n"), self.names("openid"),
                    {name: [{"resource_server_identifier": self.API}]},
                    {name: [{"resource_server_identifier": 1, "permission_name": 2}]},
                    {name: self.names("read:posts")[name] * 400}]
            for body in bodies:
                with self.subTest(f"{path} {str(body)[:60]}"):
                    answer = self.site.request(
                        "POST", f"/api/v2/{path}", body, {"Content-Type": "application/json"},
                        token=self.token)
                    if name == "permissions" and str(body).count("read:posts") == 400:
                        # A permission may be there several times.
                        self.expect(answer, 201)
                    else:
                        self.refused(answer, 400, "invalid_body")
        for body in [{}, {"name": ""}, {"name": 1}, {"name": "x" * 101}, {"name": "a\nb"},
                     {"name": "a", "description": "x" * 501}, {"name": "a", "type": "b"}, []]:
            with self.subTest(body):
                self.refused(self.call("POST", "roles", body), 400, "invalid_body")
        for query in ["page=-1", "per_page=101", "page=20", "include_totals=x", "name_filter=%FF"]:
            self.assertEqual(self.call("GET", f"roles?{query}").status, 400, query)
        for query in ["take=0", "take=101", "take=x", "from=x", "take=5&from=%00"]:
            self.assertEqual(self.call("GET", f"roles/{role}/users?{query}").status, 400, query)

    def test_a_user_has_a_limited_number_of_roles(self):
        _, user = self.user()
        app = self.site.sql("select app_id from apps where name = 'default'")
        self.site.sql(
            "insert into roles (app_id, role_id, name) select "
            f"'{app}', lpad(to_hex(g), 24, 'e'), 'many ' || g from generate_series(1, 101) g")
        ids = [f"rol_{number:x}".replace("rol_", "rol_" + "e" * (24 - len(f"{number:x}")))
               for number in range(1, 102)]
        path = f"users/auth0%7C{user}/roles"
        self.expect(self.call("POST", path, {"roles": ids[:100]}), 204)
        self.refused(self.call("POST", path, {"roles": ids[100:]}), 400, "invalid_body")
        self.expect(self.call("POST", path, {"roles": ids[:100]}), 204)
        pages = [self.call("GET", f"{path}?page={page}&per_page=40").json for page in range(4)]
        self.assertEqual([len(page) for page in pages], [40, 40, 20, 0])
        names = [role["name"] for page in pages for role in page]
        self.assertEqual(names, sorted(names))

    def test_pages_of_the_users_of_a_role(self):
        role, users = self.role(), []
        for number in range(5):
            _, user = self.user(f"{number}{self.own_email()}")
            users.append(f"auth0|{user}")
        self.expect(self.call("POST", f"roles/{role}/users", {"users": users}), 200)
        seen, query = [], "take=2"
        for length in [2, 2, 1]:
            page = self.expect(self.call("GET", f"roles/{role}/users?{query}"), 200).json
            self.assertEqual(len(page["users"]), length)
            seen += [user["user_id"] for user in page["users"]]
            query = f"take=2&from={page.get('next')}"
        self.assertNotIn("next", page)
        self.assertEqual(sorted(seen), sorted(users))
        page = self.call("GET", f"roles/{role}/users?include_totals=true&per_page=2&page=2").json
        self.assertEqual((len(page["users"]), page["start"], page["limit"], page["total"]),
                         (1, 4, 2, 5))

    def test_changes_are_audited(self):
        role, (_, user) = self.role("read:posts"), self.user()
        for method in ["POST", "DELETE"]:
            self.expect(self.call(method, f"users/auth0%7C{user}/roles", {"roles": [role]}), 204)
        # Nothing changes, so there is no event.
        self.expect(self.call("DELETE", f"users/auth0%7C{user}/roles", {"roles": [role]}), 204)
        self.call("POST", f"users/auth0%7C{user}/permissions", self.names("write:posts"))
        self.expect(self.call("DELETE", f"roles/{role}"), 200)
        events = self.site.sql(
            "select action || ' ' || actor from audit "
            f"where user_id = '{user}' and action like 'user_%' order by event_id")
        client = f"client:{self.back_end['id']}"
        self.assertEqual(events.split("\n"), [
            f"user_roles_change {client}", f"user_roles_change {client}",
            f"user_permissions_change {client}"])
        events = self.site.sql(
            f"select action from audit where detail ->> 'role_id' = '{role[4:]}' order by event_id")
        self.assertEqual(events.split(), ["role_create", "role_permissions_change", "role_delete"])


class ManyUsers(RoleCase):
    """Roles and scopes with more users than one statement changes."""

    def test_a_role_and_a_scope_are_removed_from_all_users(self):
        role, server = self.role()[4:], self.api_id()
        self.site.sql(
            "insert into users (user_id, app_id, anonymous) select lpad(to_hex(g), 24, '0'), app_id, "
            "true from apps, generate_series(1, 2500) g where name = 'default'; "
            f"insert into user_roles (user_id, role_id) select user_id, '{role}' from users; "
            "insert into user_permissions (user_id, resource_server_id, scope) "
            f"select user_id, '{server}', scope from users, "
            "unnest('{read:posts,write:posts}'::text[]) scope")
        self.expect(self.call("DELETE", f"roles/rol_{role}"), 200)
        self.assertEqual(self.site.sql("select count(*) from user_roles"), "0")
        self.site.dossier("resource-server", "set", server, "--remove-scope", "read:posts")
        self.assertEqual(self.site.sql("select distinct scope from user_permissions"), "write:posts")
        self.assertEqual(self.site.sql("select count(*) from user_permissions"),
                         self.site.sql("select count(*) from users"))
        self.site.dossier("resource-server", "delete", server)
        self.assertEqual(self.site.sql("select count(*) from user_permissions"), "0")


class Policies(RoleCase):
    """The scopes and permissions of users' tokens, at an API with both switches."""

    SCOPE = "openid offline_access read:posts write:posts"

    def setUp(self):
        super().setUp()
        self.set(enforce="true", dialect="access_token_authz")

    def set(self, enforce, dialect):
        self.site.dossier("resource-server", "set", self.api_id(), "--enforce-policies", enforce,
                          "--token-dialect", dialect)

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
            "resource-server", "create", "--app", "default", "--scope", "a", "--scope", "b",
            "https://switched.example.com", "Switched")["id"]
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
            "resource-server", "create", "--app", "default", "--scope", "a", "--scope", "b",
            audience, "Short")["id"]
        role = self.role()
        names = self.names("a", "b", audience=audience)
        self.expect(self.call("POST", f"roles/{role}/permissions", names), 201)
        self.expect(self.call("POST", f"{path}/permissions", names), 201)
        self.site.dossier("resource-server", "set", server, "--remove-scope", "a")
        self.site.dossier("resource-server", "set", server, "--scope", "a")
        self.assertEqual(self.permissions(f"roles/{role}"), ["b"])
        self.assertEqual(self.permissions(path), ["b"])
        # The worker that removed a scope may have ended before the users lost it.
        self.site.dossier("resource-server", "set", server, "--remove-scope", "a")
        self.site.sql("insert into user_permissions (user_id, resource_server_id, scope) "
                      f"values ('{user}', '{server}', 'a')")
        self.assertEqual(self.permissions(path), ["b"])
        self.site.dossier("resource-server", "set", server, "--scope", "a")
        self.assertEqual(self.permissions(path), ["b"])
        self.site.dossier("resource-server", "delete", server)
        self.assertEqual(self.permissions(f"roles/{role}"), [])
        self.assertEqual(self.permissions(path), [])
        self.assertEqual(self.site.sql(
            f"select count(*) from user_permissions where user_id = '{user}'"), "0")


class CommandLine(RoleCase):
    """The operator's commands, and the native routes below them."""

    def test_roles_of_a_user(self):
        email, user = self.user()
        server, dossier = self.api_id(), self.site.dossier
        role = dossier("role", "create", "--description", "Writes posts", "editor")
        self.assertEqual((role["name"], role["description"], role["version"]),
                         ("editor", "Writes posts", 1))
        dossier("role", "permit", role["id"], server, "--scope", "read:posts",
                "--scope", "write:posts")
        dossier("role", "permit", role["id"], server, "--scope", "write:posts")
        shown = dossier("role", "set", role["id"], "--name", "author")
        self.assertEqual((shown["name"], shown["description"], shown["version"]),
                         ("author", "Writes posts", 2))
        shown = dossier("role", "show", role["id"])
        self.assertEqual([one["scope"] for one in shown["permissions"]], ["write:posts"])
        dossier("user", "roles", "add", email, role["id"])
        dossier("user", "permit", email, server, "--scope", "read:posts", "--scope", "write:posts")
        self.assertEqual([one["name"] for one in dossier("user", "roles", "list", email)], ["author"])
        self.assertEqual([one["id"] for one in dossier("role", "users", role["id"])], [user])
        found = {one["scope"]: (one["direct"], one["roles"])
                 for one in dossier("user", "permissions", email)}
        self.assertEqual(found, {"read:posts": (True, []), "write:posts": (True, ["author"])})
        dossier("user", "permit", email, server)
        dossier("user", "roles", "remove", email, role["id"])
        self.assertEqual(dossier("user", "permissions", email), [])
        dossier("role", "delete", role["id"])
        self.assertEqual([one for one in dossier("role", "list") if one["name"] == "author"], [])

    def test_a_client_of_the_app_needs_the_scopes_for_users(self):
        _, user = self.user()
        role = self.role()[4:]
        for scope, status in [("read:users", 403), ("update:users", 204)]:
            secret = self.new_client("machine", "--scope", scope)["secret"]
            for method in ["PUT", "DELETE"]:
                answer = self.site.request(
                    method, f"/v1/users/{user}/roles/{role}", None, token=secret)
                self.expect(answer, status)
            answer = self.site.request(
                "PUT", f"/v1/users/{user}/permissions/{self.api_id()}",
                {"scopes": ["read:posts"]}, {"Content-Type": "application/json"}, token=secret)
            self.expect(answer, status)
            status = 403 if status == 204 else 200
            self.expect(self.site.get(f"/v1/users/{user}/permissions", token=secret), status)
            self.expect(self.site.get("/v1/roles", token=secret), 403)
