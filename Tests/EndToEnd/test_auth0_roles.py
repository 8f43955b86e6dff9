"""Roles and permissions on the Management API."""

import secrets

from cases import in_parallel
from test_auth0 import Auth0Case


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
        self.site.create_app("other-app")
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
        self.site.create_app("third-app")
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
                     {"name": "a", "description": "x" * 501}, []]:
            with self.subTest(body):
                self.refused(self.call("POST", "roles", body), 400, "invalid_body")
        entry = {**self.names("read:posts")["permissions"][0], "other": 1}
        for path, body in [
                (f"{user}/roles", {"roles": ["x"], "other": 1}),
                (f"roles/{role}/users", {"users": ["x"], "other": 1}),
                (f"{user}/permissions", {**self.names("read:posts"), "other": 1}),
                (f"{user}/permissions", {"permissions": [entry]})]:
            with self.subTest(path):
                answer = self.call("POST", path, body)
                self.refused(answer, 400, "invalid_body")
                self.assertIn("Additional properties not allowed: other", answer.json["message"])
        made = self.expect(self.call("POST", "roles", {"name": "Reported", "type": "b"}), 200).json
        self.assertEqual(made["ignored_members"], ["type"])
        # A back end sends what it has read.
        answer = self.call("PATCH", f"roles/{made['id']}", {**made, "other": 1})
        self.assertEqual(self.expect(answer, 200).json["ignored_members"], ["other"])
        path = f"resource-servers/{self.api_id()}"
        answer = self.call("PATCH", path, {"identifier": "https://other.example.com"})
        self.assertIn("'The identifier cannot change' on property identifier.",
                      answer.json["message"])
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

    def test_concurrent_creations_keep_the_limit_of_roles(self):
        app = self.site.sql(f"select app_id from roles where role_id = '{self.role()[4:]}'")
        count = int(self.site.sql(f"select count(*) from roles where app_id = '{app}'"))
        self.addCleanup(self.site.sql, "delete from roles where name ~ '^(spare|last) '")
        self.site.sql(
            f"insert into roles (app_id, role_id, name) select '{app}', lpad(to_hex(g), 24, '0'), "
            f"'spare ' || g from generate_series(1, {999 - count}) g")
        answers = in_parallel(8, lambda n: self.call("POST", "roles", {"name": f"last {n}"}))
        self.assertEqual(sorted(answer.status for answer in answers), [200] + [400] * 7)

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
        self.site.dossier("resource-server", "set", server, "scopes.read:posts=null")
        self.assertEqual(self.site.sql("select distinct scope from user_permissions"), "write:posts")
        self.assertEqual(self.site.sql("select count(*) from user_permissions"),
                         self.site.sql("select count(*) from users"))
        self.site.dossier("resource-server", "delete", "--yes", server)
        self.assertEqual(self.site.sql("select count(*) from user_permissions"), "0")
