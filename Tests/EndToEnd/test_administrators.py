"""Administrators: the command line, and the app of their users, which no request selects."""

import re
import secrets
import subprocess
import unittest

from asking import JSON
from cases import Case
from machine import BUILD

OPERATORS = "0" * 23 + "1"


class Administrators(Case):
    def address(self):
        return f"{secrets.token_hex(6)}@example.com"

    def create(self, *arguments, role="owner"):
        return self.site.dossier("administrator", "create", self.address(), "--role", role, *arguments)

    def refused(self, status, *arguments):
        run = self.site.dossier("administrator", *arguments, check=False)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stderr

    def test_the_command_line_makes_changes_and_deletes_them(self):
        made = self.create()
        self.assertEqual([made["role"], made["app_ids"], made["disabled"]], ["owner", [], False])
        self.assertRegex(made["link"], r"^https?://[\w.:-]+/console/-/start#ds_admin_[\w-]+$")
        self.assertNotIn("secret", made)
        listed = {one["email"]: one for one in self.site.dossier("administrator", "list")}
        self.assertEqual(listed[made["email"]]["id"], made["id"])
        self.assertEqual(self.site.dossier("administrator", "show", made["email"])["id"], made["id"])
        app = next(app for app in self.site.dossier("app", "list") if app["name"] == "default")
        helper = self.create("--app", "default", "--network", "192.0.2.0/24", role="support")
        self.assertEqual(helper["app_ids"], [app["id"]])
        changed = self.site.dossier(
            "administrator", "set", helper["email"], "--role", "viewer", "--all-apps", "--any-network")
        self.assertEqual([changed["role"], changed["app_ids"], changed["networks"]], ["viewer", [], []])
        again = self.site.dossier("administrator", "link", helper["email"])
        self.assertNotEqual(again["link"], helper["link"])
        self.assertTrue(self.site.dossier("administrator", "disable", helper["email"])["disabled"])
        self.refused(10, "link", helper["email"])
        self.assertFalse(self.site.dossier("administrator", "enable", helper["email"])["disabled"])
        self.refused(23, "delete", helper["email"])
        self.site.dossier("administrator", "delete", helper["email"], "--yes")
        self.refused(10, "show", helper["email"])
        users = self.site.sql(f"select count(*) from users where user_id = '{helper['id']}'")
        self.assertEqual(users.strip(), "0")
        self.refused(11, "create", made["email"], "--role", "viewer")
        self.refused(12, "create", self.address(), "--role", "king")
        self.refused(12, "create", "no-address", "--role", "viewer")
        self.refused(12, "set", made["email"], "--network", "everywhere")
        self.refused(10, "create", self.address(), "--role", "viewer", "--app", "nowhere")

    def test_the_last_owner_stays(self):
        keeper = self.create()
        for one in self.site.dossier("administrator", "list"):
            if one["id"] != keeper["id"]:
                self.site.dossier("administrator", "delete", one["id"], "--yes")
        for arguments in [["disable", keeper["id"]], ["delete", keeper["id"], "--yes"],
                          ["set", keeper["id"], "--role", "admin"],
                          ["set", keeper["id"], "--app", "default"]]:
            self.assertIn("No owner of all apps would be left.", self.refused(11, *arguments))

    def test_a_link_is_stored_as_a_hash_alone(self):
        made = self.create()
        token = made["link"].partition("#")[2]
        rows = self.site.sql("select row_to_json(a) from administrators a")
        self.assertNotIn(token, rows)
        self.assertNotIn(token[10:40], rows)
        self.assertIn("link_hash", rows)

    def test_the_routes_need_an_operator(self):
        secret = self.site.client("--app", "default", "scopes=" + ",".join(self.site.SCOPES))["secret"]
        for method, path in [("GET", ""), ("POST", ""), ("GET", f"/{OPERATORS}"),
                             ("DELETE", f"/{OPERATORS}"), ("POST", f"/{OPERATORS}/link")]:
            for headers in [{}, {"Authorization": f"Bearer {secret}"}]:
                answer = self.site.request(
                    method, f"/v1/administrators{path}", {} if method == "POST" else None,
                    {**JSON, **headers})
                self.assertIn(answer.status, [401, 403], answer.body)

    def test_no_route_selects_the_app(self):
        """Each route of each wire, by name, id and host."""
        listing = subprocess.run([BUILD / "dossierd", "routes", "--all"], check=True,
                                 capture_output=True, text=True).stdout
        for line in listing.splitlines():
            route, access = line.split("\t")[:2]
            method, _, pattern = route.partition(" ")
            if "{app}" not in pattern and "{tenant}" not in pattern and not pattern.startswith("/v1/"):
                continue
            if access in ["operator", "loopback"] and pattern.startswith("/v1/"):
                continue
            # These pages are for administrators, and read an app by routes of `/v1`.
            if pattern.startswith("/console/"):
                continue
            for name in ["operators", OPERATORS]:
                path = re.sub(r"\{(app|tenant)\}", name, pattern)
                path = re.sub(r"\{\w+\}", "65f1c0de65f1c0de65f1c0de", path)
                body = {} if method in ["POST", "PUT", "PATCH"] else None
                headers = {**JSON, "Dossier-App": name} if pattern == path or "{app}" not in pattern else JSON
                if "{app}" not in pattern and "{tenant}" not in pattern and name == OPERATORS:
                    continue
                with self.subTest(route=f"{method} {path}"):
                    answer = self.site.request(method, path, body, headers)
                    # OAuth's error for an unknown client, which the SDK of Parra reads.
                    is_unknown = answer.status == 400 and answer.json["error"] == "invalid_client"
                    self.assertTrue(answer.status in [401, 404, 422] or is_unknown, answer.body)
                    self.assertNotIn("access_token", str(answer.body))
                    if access == "open" and pattern.startswith("/v1/login"):
                        self.assertEqual(answer.status, 404, answer.body)
                        self.assertEqual(answer.json["code"], "app_not_found")

    def test_the_app_stays_as_it_is(self):
        run = self.site.dossier("app", "delete", "operators", "--yes", check=False)
        self.assertNotEqual(run.returncode, 0, run.stdout)
        self.assertEqual(
            self.site.sql(f"select name from apps where app_id = '{OPERATORS}'").strip(), "operators")
        for setting in ["sign_up=immediate", "mfa=off"]:
            run = self.site.dossier("app", "set", "--app", "operators", setting, check=False)
            self.assertEqual(run.returncode, 12, run.stdout + run.stderr)
            self.assertIn("fixed", run.stderr)
        run = self.site.dossier("app", "host", "add", "--app", "operators", "a.example.com", check=False)
        self.assertEqual(run.returncode, 12, run.stdout + run.stderr)
        run = self.site.dossier("app", "create", "operators", check=False)
        self.assertEqual(run.returncode, 11, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
