"""The APIs of other services, which a new app does not offer."""

import subprocess
import unittest

from asking import JSON
from cases import Case
from cluster import WIRES
from machine import BUILD

ID = "65f1c0de65f1c0de65f1c0de"


class ClosedWires(Case):
    def routes(self):
        """Returns all routes of these APIs, also those of later versions, and the setting of each."""
        listing = subprocess.run([BUILD / "dossierd", "routes", "--all"], check=True,
                                 capture_output=True, text=True).stdout
        prefixes = {"/api/client/v2.0/app": "app_services", "/v1/tenants": "parra", "/auth/": "parra",
                    "/api/v2": "auth0_management", "/dbconnections": "auth0_dbconnections"}
        found = []
        for line in listing.splitlines():
            method, _, path = line.split("\t")[0].partition(" ")
            setting = next((name for prefix, name in prefixes.items() if path.startswith(prefix)), None)
            if setting:
                found.append((setting, method, path))
        return found

    def ask(self, method, pattern, app):
        parts = {"{app}": app, "{tenant}": app}
        path = "/".join(parts.get(part, ID) if part.startswith("{") else part
                        for part in pattern.split("/"))
        body = {} if method in ["POST", "PUT", "PATCH"] else None
        return self.site.request(method, path, body, {**JSON, "Host": f"{app}.example.com"})

    def test_a_new_app_offers_none_of_them(self):
        self.site.dossier("app", "create", "plain")
        self.site.dossier("app", "host", "add", "--app", "plain", "plain.example.com")
        routes = self.routes()
        self.assertEqual({setting for setting, _, _ in routes}, set(WIRES))
        self.assertGreater(len(routes), 100)
        for _, method, path in routes:
            with self.subTest(route=f"{method} {path}"):
                answer = self.ask(method, path, "plain")
                # OAuth's error for an unknown client, which the SDK of Parra reads.
                isUnknown = answer.status == 400 and answer.json["error"] == "invalid_client"
                self.assertTrue(answer.status == 404 or isUnknown, answer.body)

    def test_each_setting_opens_its_own_api(self):
        self.site.dossier("app", "create", "single")
        self.site.dossier("app", "host", "add", "--app", "single", "single.example.com")
        probes = {"app_services": ("GET", "/api/client/v2.0/app/{app}/location"),
                  "parra": ("GET", "/v1/tenants/{tenant}/applications/x/app-info"),
                  "auth0_management": ("GET", "/api/v2/users"),
                  "auth0_dbconnections": ("POST", "/dbconnections/signup")}
        for setting in WIRES:
            self.site.dossier("app", "set", "--app", "single", f"{setting}=true")
            with self.subTest(setting=setting):
                opened = [name for name, probe in probes.items()
                          if self.ask(*probe, "single").status != 404]
                self.assertEqual(opened, [setting])
            self.site.dossier("app", "set", "--app", "single", f"{setting}=null")

    def test_the_page_about_errors_is_open(self):
        self.site.dossier("app", "create", "paged")
        answer = self.site.get("/api/client/v2.0/logs", headers={"Host": "paged.example.com"})
        self.assertEqual(answer.status, 200)


if __name__ == "__main__":
    unittest.main()
