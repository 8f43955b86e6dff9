"""Roles and permissions on the command line."""

from test_auth0_roles import RoleCase


class CommandLine(RoleCase):
    """The operator's commands, and the native routes below them."""

    def test_roles_of_a_user(self):
        email, user = self.user()
        server, dossier = self.api_id(), self.site.dossier
        role = dossier("role", "create", "editor", "description=Writes posts")
        self.assertEqual((role["name"], role["description"], role["version"]),
                         ("editor", "Writes posts", 1))
        dossier("role", "permit", role["id"], server, "--scope", "read:posts",
                "--scope", "write:posts")
        dossier("role", "permit", role["id"], server, "--scope", "write:posts")
        shown = dossier("role", "set", role["id"], "name=author")
        self.assertEqual((shown["name"], shown["description"], shown["version"]),
                         ("author", "Writes posts", 2))
        other = dossier("role", "create", "another")
        for words in [["create", "author"], ["set", other["id"], "name=author"]]:
            run = dossier("role", *words, check=False)
            self.assertEqual(run.returncode, 11, run.stderr)
            self.assertIn("already has a role with that name", run.stderr)
        names = [one["name"] for one in dossier("role", "list")]
        self.assertEqual(names, sorted(names))
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
        dossier("role", "delete", "--yes", role["id"])
        self.assertEqual([one for one in dossier("role", "list") if one["name"] == "author"], [])

    def test_a_client_of_the_app_needs_the_scopes_for_users(self):
        _, user = self.user()
        role = self.role()[4:]
        for scope, status in [("read:users", 403), ("update:users", 204)]:
            secret = self.new_client("machine", f"scopes={scope}")["secret"]
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
