"""The operator's commands for clients, APIs and grants."""

import hashlib
import json
import os
import unittest

from cases import Administration


class ClientCommands(Administration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.dossier("app", "create", "other")

    def test_a_client_belongs_to_the_default_app_unless_another_is_named(self):
        for arguments, app in [([], "default"), (["--app", "other"], "other"), (["--operator"], None)]:
            made = self.site.dossier("client", "create", "the back end", "kind=machine", *arguments)
            self.assertEqual(made["app"], app)
        self.refused(64, "client", "create", "x", "--operator", "--app", "other", words="--app")
        # Its domain is read before it is stored, so that no secret is lost.
        self.site.sql("alter view app_records rename to away")
        try:
            self.refused(22, "client", "create", "lost", "kind=web")
        finally:
            self.site.sql("alter view away rename to app_records")
        self.assertNotIn("lost", [row["name"] for row in self.site.dossier("client", "list")])

    def test_a_client_brings_its_id_and_its_secret_in_a_file(self):
        secret = "s" * 64
        digest = hashlib.sha256(secret.encode()).hexdigest()
        path = os.path.join(self.site.folder, "client-secret")
        for id, name, text in [("FromAFile", "secret", secret + "\r\n"),
                               ("FromADigest", "secret_sha256", digest)]:
            with open(path, "w") as file:
                file.write(text)
            arguments = ["client", "create", "moved", "kind=web", f"id={id}", f"{name}=@{path}"]
            made = self.site.dossier(*arguments)
            self.assertEqual((made["id"], "secret" in made), (id, False))
            self.refused(11, *arguments, words="already has this id")
        self.assertEqual(self.site.dossier("client", "create", "moved", "kind=web", "id=ByInput",
                                           "secret=@-", given=secret)["id"], "ByInput")
        self.refused(12, "client", "create", "x", "kind=web", "id=a b", words="/id")
        self.refused(12, "client", "create", "x", "kind=native", f"secret=@{path}",
                     words="/secret")
        self.refused(21, "client", "create", "x", "kind=web", "secret=@/nowhere", words="/nowhere")
        self.refused(12, "client", "create", "x", "kind=web", f"secret=@{path}",
                     f"secret_sha256=@{path}", words="/secret_sha256")
        # Other users see the arguments of a command.
        self.refused(64, "client", "create", "x", "kind=web", f"secret={secret}", words="secret=@FILE")

    def test_a_changed_setting_is_printed_without_the_others(self):
        said = self.site.dossier("app", "set", "session_days=30", output="table")
        self.assertEqual([line.split()[0] for line in said.splitlines()],
                         ["name", "version", "settings.session_days"])
        self.assertRegex(said, r"(?m)^settings\.session_days +30$")
        self.assertGreater(len(self.site.dossier("app", "set", "session_days=null")["settings"]), 50)
        client = self.site.dossier("client", "create", "brief", "kind=web")["id"]
        said = self.site.dossier("client", "set", client, "pkce=optional", output="table")
        self.assertEqual([line.split()[0] for line in said.splitlines()],
                         ["id", "name", "version", "pkce"])

    def test_the_commands_of_clients(self):
        made = self.site.dossier(
            "client", "create", "--app", "default", "web app", "kind=web",
            "callback_urls=https://a.example/cb,https://b.example/cb", "scopes=read:users")
        self.assertEqual(made["callback_urls"],
                         ["https://a.example/cb", "https://b.example/cb"])
        self.assertEqual((made["kind"], made["scopes"], len(made["secret"])),
                         ("web", ["read:users"], 64))
        client = made["id"]
        listed = self.site.dossier("client", "list", "--app", "default")
        self.assertEqual(next(row["kind"] for row in listed if row["id"] == client), "web")
        changed = self.site.dossier(
            "client", "set", client, "name=site", "callback_urls=https://c.example/cb",
            "pkce=optional", 'claims={"plan":"app_metadata./plan"}', "--if-version", "1")
        self.assertEqual(
            (changed["name"], changed["callback_urls"], changed["scopes"],
             changed["chosen"]),
            ("site", ["https://c.example/cb"], ["read:users"],
             ["callback_urls", "pkce", "claims"]))
        self.refused(13, "client", "set", client, "pkce=null", "--if-version", "1")
        self.refused(12, "client", "set", client, "pkce=maybe", words="/pkce")
        self.assertEqual(self.site.dossier("client", "show", client), changed)
        rotated = self.site.dossier("client", "rotate", "--yes", client)
        user = f"/v1/users/{self.site.login()['user_id']}"
        self.expect(self.site.get(user, token=made["secret"]), 401, "client_unknown")
        self.expect(self.site.get(user, token=rotated["secret"]), 200)
        self.assertTrue(self.site.dossier("client", "disable", client)["disabled"])
        self.expect(self.site.get(user, token=rotated["secret"]), 401, "client_unknown")
        self.assertFalse(self.site.dossier("client", "enable", client)["disabled"])
        self.expect(self.site.get(user, token=rotated["secret"]), 200)
        self.site.dossier("client", "delete", "--yes", client)
        self.refused(10, "client", "delete", client, "--yes")
        self.refused(10, "client", "disable", "x")
        actions = [event["action"] for event in self.audit_events("--app", "default")
                   if event["detail"].get("client_id") == client]
        # A deletion disables the client first.
        self.assertEqual(actions, ["client_delete", "client_change", "client_change", "client_change",
                                   "client_secret_rotate", "client_change", "client_create"])

    def test_a_client_that_signs_users_in_is_shown_with_its_domain(self):
        for kind, remark in [("native", ""), ("web", "dossier: the secret is not shown again\n"),
                             ("machine", "dossier: the secret is not shown again\n")]:
            run = self.site.dossier(
                "client", "create", "--app", "other", kind, f"kind={kind}", "refresh_token_days=7",
                "callback_urls=https://a.example/cb\nhttps://b.example/cb", check=False)
            self.assertEqual((run.returncode, run.stderr), (0, remark))
            made = json.loads(run.stdout)
            self.assertEqual((made["refresh_token_days"], made["callback_urls"]),
                             (7, ["https://a.example/cb", "https://b.example/cb"]))
            domain = None if kind == "machine" else "127.0.0.1:8080"
            self.assertEqual(made.get("domain"), domain)
            self.site.dossier("app", "host", "set", "--app", "other", "id.example")
            self.addCleanup(self.site.dossier, "app", "host", "set", "--app", "other")
            shown = self.site.dossier("client", "show", made["id"])
            self.assertEqual(shown.get("domain"), domain and "id.example:8080")
            self.site.dossier("app", "host", "set", "--app", "other")

    def test_the_commands_of_apis_and_grants(self):
        api = self.site.dossier(
            "resource-server", "create", "https://cli.example", "name=Orders",
            "scopes.read:orders=See your orders", "scopes.write:orders=", "token_seconds=600",
            "allows_offline_access=true", "claims.plan=app_metadata./plan",
            'claims.tier={"value":1}')
        self.assertEqual(api["scopes"], {"read:orders": "See your orders", "write:orders": ""})
        self.assertEqual(api["claims"], {"plan": "app_metadata./plan", "tier": {"value": 1}})
        self.assertEqual((api["app"], api["token_seconds"], api["allows_offline_access"]),
                         ("default", 600, True))
        changed = self.site.dossier(
            "resource-server", "set", api["id"], "scopes.write:orders=null", "claims.plan=null",
            "skips_consent=false", "name=Order API")
        self.assertEqual(
            (changed["scopes"], changed["claims"], changed["skips_consent"], changed["name"]),
            ({"read:orders": "See your orders"}, {"tier": {"value": 1}}, False, "Order API"))
        for name in [api["id"], "https://cli.example", "Order API"]:
            self.assertEqual(self.site.dossier("resource-server", "show", name), changed)
        self.assertIn(changed, self.site.dossier("resource-server", "list", "--app", "default"))
        self.refused(11, "resource-server", "create", "https://cli.example", "name=x")
        self.refused(64, "resource-server", "set", api["id"], "claims.plan")
        client = self.site.client("--app", "default")["id"]
        granted = self.site.dossier(
            "client", "grant", client, api["id"], "--scope", "read:orders")
        self.assertEqual(granted["scopes"], ["read:orders"])
        self.refused(12, "client", "grant", client, api["id"], "--scope", "x", words="/scopes/0")
        self.assertEqual(self.site.dossier("client", "grants", client), [granted])
        self.assertEqual(self.site.dossier(
            "client", "grant", client, "https://cli.example", "--scope", "read:orders"), granted)
        # A name that two have is refused, and a name that none has is not found.
        self.site.dossier("app", "create", "cli")
        self.site.dossier("resource-server", "create", "https://cli.example", "--app", "cli", "name=Other")
        self.refused(11, "resource-server", "show", "https://cli.example", words="by its id")
        self.assertEqual(
            self.site.dossier("resource-server", "show", "https://cli.example", "--app", "cli")["name"],
            "Other")
        self.refused(10, "resource-server", "show", "https://cli.example.com")
        self.site.dossier("client", "revoke", client, "Order API")
        self.assertEqual(self.site.dossier("client", "grants", client), [])
        self.site.dossier("resource-server", "delete", "--yes", api["id"])
        self.refused(10, "resource-server", "show", api["id"])
        events = [event for event in self.audit_events("--app", "default")
                  if event["detail"].get("resource_server_id") == api["id"]]
        self.assertEqual(events[0]["detail"]["before"]["identifier"], api["identifier"])
        self.assertEqual([event["action"] for event in events], [
            "resource_server_delete", "client_grant_remove", "client_grant_set",
            "client_grant_set", "resource_server_change", "resource_server_create"])

    def test_invalid_arguments_of_commands_are_refused(self):
        self.refused(64, "client", "create", "x", "--app", "default", "--operator")
        self.refused(12, "client", "create", "x", "kind=spa", words="/kind")
        self.refused(12, "client", "create", "x", "scopes=read:users", words="/kind")
        self.refused(12, "client", "create", "x", "kind=machine", "scopes=read:all",
                     words="/scopes/0")
        self.refused(12, "client", "create", "x", "kind=machine", "--operator", "scopes=read:users",
                     words="/scopes")
        self.refused(12, "client", "create", "x", "kind=web", "--operator", words="/kind")
        self.refused(12, "client", "create", "", "kind=machine", "--operator", words="/name")
        self.refused(12, "client", "create", "x", "kind=native", "callback_urls=app",
                     words="/callback_urls")
        self.refused(10, "client", "create", "x", "kind=machine", "--app", "nope")
        self.refused(10, "client", "list", "--app", "nope")
        made = self.site.client("--operator")
        event = next(event for event in self.audit_events()
                     if event["detail"].get("client_id") == made["id"])
        self.assertEqual((event["app"], event["user_id"], event["actor"]),
                         (None, None, "operator:tester"))
        self.assertRegex(event["agent"], r"^dossier \(.+\)$")


if __name__ == "__main__":
    unittest.main()
