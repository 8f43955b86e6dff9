"""The import of applications, APIs, grants and roles from an export of Auth0."""

import hashlib
import json
import unittest
import urllib.parse

from cases import Administration
from openid import claims

SECRET = "aZ-_9" * 12 + "shop"
SHOP = "Xk2mQ8vTn4Rb6Lc1Zs5Yd9Wf3Hg7Jp0E"
PAGE = "Pp1oN3mL5kJ7iH9gF2eD4cB6aZ8yX0wV"
API = "https://orders.shop.example.com"
TENANT = "https://shop.eu.auth0.com/api/v2/"
SCOPES = [{"value": "read:orders", "description": "See orders"}, {"value": "write:orders"}]

# As the Deploy CLI writes them, with invented values.
FILES = {
    "tenant.json": {"friendly_name": "Shop", "session_lifetime": 168},
    "clients/Shop.json": {
        "allowed_clients": [], "allowed_logout_urls": ["https://shop.example.com/bye"],
        "app_type": "regular_web", "callbacks": ["https://shop.example.com/cb"],
        "client_aliases": [], "client_id": SHOP, "client_secret": SECRET,
        "cross_origin_authentication": False,
        "grant_types": ["authorization_code", "implicit", "refresh_token", "client_credentials"],
        "is_first_party": True, "is_token_endpoint_ip_header_trusted": False,
        "jwt_configuration": {"alg": "RS256", "lifetime_in_seconds": 36000, "secret_encoded": False},
        "name": "Shop", "native_social_login": {"apple": {"enabled": False}},
        "oidc_conformant": True, "refresh_token": {"rotation_type": "non-rotating"},
        "sso_disabled": False, "token_endpoint_auth_method": "client_secret_post"},
    "clients/Page.json": {
        "app_type": "spa", "callbacks": ["https://shop.example.com/"], "client_id": PAGE,
        "client_secret": "p" * 64, "grant_types": ["authorization_code", "implicit", "refresh_token"],
        "name": "Page", "oidc_conformant": True, "token_endpoint_auth_method": "none",
        "web_origins": ["https://shop.example.com"]},
    "clients/Robot.json": {
        "app_type": "non_interactive", "grant_types": ["client_credentials"], "name": "Robot"},
    "clients/All Applications.json": {"name": "All Applications", "global": True},
    "resource-servers/Orders.json": {
        "name": "Orders", "identifier": API, "allow_offline_access": True, "scopes": SCOPES,
        "signing_alg": "RS256", "skip_consent_for_verifiable_first_party_clients": True,
        "token_lifetime": 86400, "token_lifetime_for_web": 7200},
    "resource-servers/Auth0 Management API.json": {
        "name": "Auth0 Management API", "identifier": TENANT, "is_system": True},
    "grants/Robot-Orders.json": {"client_id": "Robot", "audience": API, "scope": ["read:orders"]},
    "grants/Shop-Orders.json": {"client_id": SHOP, "audience": API, "scope": ["read:orders"]},
    "grants/Robot-Management.json": {
        "client_id": "Robot", "audience": TENANT, "scope": ["read:users"]},
    "roles/Clerk.json": {"name": "Clerk", "description": "Sells", "permissions": [
        {"permission_name": "read:orders", "resource_server_identifier": API},
        {"permission_name": "read:users", "resource_server_identifier": TENANT}]},
    "connections/google-oauth2.json": {
        "name": "google-oauth2", "strategy": "google-oauth2",
        "options": {"client_secret": "##CONNECTIONS_GOOGLE_OAUTH2_SECRET##"}},
    "database-connections/Username-Password-Authentication/database.json": {
        "name": "Username-Password-Authentication", "strategy": "auth0",
        "options": {"passwordPolicy": "good"}},
    "rules/a.json": {"name": "a"},
}


class Import(Administration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = cls.site.client("--operator")["secret"]

    def setUp(self):
        super().setUp()
        self.app = "app-" + hashlib.sha256(self.id().encode()).hexdigest()[:12]
        self.site.create_app(self.app)
        self.folder = self.site.folder / self.app
        self.folder.mkdir()

    def write(self, files):
        """Writes an export. Ids are those of this test, since they are unique in the deployment."""
        for name, value in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(value if isinstance(value, str) else self.own(json.dumps(value)))

    def own(self, text):
        return text.replace(SHOP, self.shop).replace(PAGE, self.page)

    @property
    def shop(self):
        return SHOP[:-12] + self.app[4:]

    @property
    def page(self):
        return PAGE[:-12] + self.app[4:]

    def run_import(self, *arguments, path=None, **options):
        return self.site.dossier("client", "import", "--app", self.app, *arguments,
                                 path or self.folder, **options)

    def actions(self, rows):
        return {(row["kind"], row["name"]): row["action"] for row in rows}

    def ask(self, path):
        return self.expect(self.site.request("GET", path, token=self.operator), 200).json

    def fails(self, status, words, *arguments, path=None):
        run = self.run_import(*arguments, path=path, check=False)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        self.assertIn(words, run.stderr)
        return run

    def test_a_path_without_objects_is_refused(self):
        folder = self.site.folder / "without-objects"
        folder.mkdir()
        self.fails(12, "no file *.json has an application", path=folder)
        (folder / "tenant.yaml").write_text("clients: []\n")
        self.fails(12, "no file *.json has an application", path=folder)
        self.fails(12, "tenant.yaml is YAML; convert it to JSON", path=folder / "tenant.yaml")

    def test_grants_that_stay_and_a_late_secret_are_reported(self):
        export = self.site.folder / "late-secret.json"
        web = {"client_id": "late-secret", "name": "Late", "app_type": "regular_web",
               "grant_types": ["authorization_code", "client_credentials"]}
        export.write_text(json.dumps([web]))
        made, = self.run_import(path=export)
        self.assertEqual((made["action"], made["ignored_members"]),
                         ("created", ["grant_types (refresh_token stays)"]))
        export.write_text(json.dumps([{**web, "client_secret": "s" * 40}]))
        same, = self.run_import(path=export)
        self.assertEqual((same["action"], same["ignored_members"]),
                         ("unchanged", ["grant_types (refresh_token stays)", "client_secret"]))

    def test_an_export_of_the_deploy_cli(self):
        self.write(FILES)
        count = len(self.ask("/v1/clients"))
        run = self.run_import("--dry-run", check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        for name in ["tenant.json", "rules/"]:
            self.assertIn(f"not imported: {name}", run.stderr)
        plan = json.loads(run.stdout)
        self.assertEqual(self.actions(plan), {
            ("resource_server", API): "create", ("resource_server", TENANT): "not imported",
            ("client", "Shop"): "create", ("client", "Page"): "create", ("client", "Robot"): "create",
            ("client", "All Applications"): "not imported", ("role", "Clerk"): "create",
            ("client_grant", f"Robot at {API}"): "create",
            ("client_grant", f"{self.shop} at {API}"): "create",
            ("client_grant", f"Robot at {TENANT}"): "not imported",
            ("connection", "google-oauth2"): "not imported",
            ("connection", "Username-Password-Authentication"): "not imported"})
        by_name = {row["name"]: row for row in plan}
        self.assertEqual(set(by_name["Shop"]["ignored_members"]), {
            "allowed_clients", "client_aliases", "cross_origin_authentication",
            "grant_types.implicit", "is_token_endpoint_ip_header_trusted",
            "jwt_configuration.lifetime_in_seconds", "jwt_configuration.secret_encoded",
            "native_social_login", "refresh_token", "sso_disabled"})
        self.assertEqual(set(by_name["Page"]["ignored_members"]),
                         {"client_secret", "grant_types.implicit"})
        self.assertEqual(by_name[API]["ignored_members"], ["token_lifetime_for_web"])
        self.assertEqual(by_name["Clerk"]["ignored_members"], ["permissions.1"])
        self.assertEqual(len(self.ask("/v1/clients")), count)

        done = {row["name"]: row for row in self.run_import()}
        self.assertEqual({row["action"] for row in done.values()}, {"created", "not imported"})
        self.assertEqual((done["Shop"]["id"], done["Page"]["id"]), (self.shop, self.page))
        # Only an application that brought no secret gets one.
        self.assertEqual([name for name, row in done.items() if "secret" in row], ["Robot"])
        for id, secret in [(self.shop, SECRET), (done["Robot"]["id"], done["Robot"]["secret"])]:
            self.assertEqual(self.token(id, secret)["scope"], "read:orders")
        shown = self.ask(f"/v1/clients/{self.page}")
        self.assertEqual((shown["kind"], shown["web_origins"]),
                         ("single_page", ["https://shop.example.com"]))
        role, = self.site.dossier("role", "list", "--app", self.app)
        shown = self.site.dossier("role", "show", "--app", self.app, role["id"])
        self.assertEqual((shown["description"], [one["scope"] for one in shown["permissions"]]),
                         ("Sells", ["read:orders"]))

        again = self.run_import()
        self.assertEqual({row["action"] for row in again}, {"unchanged", "not imported"})
        self.assertEqual(self.ask(f"/v1/clients/{self.shop}")["version"], 1)

        changed = json.loads(json.dumps(FILES))
        changed["clients/Shop.json"]["callbacks"].append("https://shop.example.com/cb2")
        changed["resource-servers/Orders.json"]["scopes"].append({"value": "delete:orders"})
        changed["roles/Clerk.json"]["permissions"][0]["permission_name"] = "delete:orders"
        self.write(changed)
        rows = {row["name"]: row for row in self.run_import() if row["action"] == "changed"}
        self.assertEqual({name: row["changes"] for name, row in rows.items()},
                         {"Shop": ["callback_urls"], API: ["scopes"], "Clerk": ["permissions"]})
        # An application that exists keeps its secret, and a role its permissions.
        self.assertEqual(self.token(self.shop, SECRET)["scope"], "read:orders")
        shown = self.site.dossier("role", "show", "--app", self.app, role["id"])
        self.assertEqual([one["scope"] for one in shown["permissions"]],
                         ["delete:orders", "read:orders"])

    def token(self, id, secret):
        host = f"{self.app}.example:{self.site.port}"
        self.site.dossier("app", "host", "set", "--app", self.app, f"{self.app}.example")
        body = urllib.parse.urlencode({
            "grant_type": "client_credentials", "client_id": id, "client_secret": secret,
            "audience": API})
        answer = self.site.request("POST", "/oauth/token", body, {
            "Content-Type": "application/x-www-form-urlencoded", "Host": host})
        return claims(self.expect(answer, 200).json["access_token"])

    def test_lists_of_the_management_api_and_a_tenant_in_json(self):
        clients = [FILES["clients/Shop.json"], FILES["clients/Page.json"]]
        servers = {"resource_servers": [FILES["resource-servers/Orders.json"]], "total": 1}
        self.write({"clients.json": clients, "servers.json": servers,
                    "roles.json": [{"id": "rol_x1", "name": "Clerk", "description": "Sells"}]})
        self.assertEqual({row["action"] for row in self.run_import()}, {"created"})
        # The same as one file, with a byte order mark, from standard input.
        tenant = {"tenant": {"friendly_name": "x"}, "clients": clients, "rules": [], "roles": [],
                  "resourceServers": servers["resource_servers"],
                  "clientGrants": [FILES["grants/Shop-Orders.json"]],
                  "databases": [{"name": "Username-Password-Authentication", "strategy": "auth0"}]}
        rows = self.run_import(path="-", given="\ufeff" + self.own(json.dumps(tenant)))
        self.assertEqual([row["action"] for row in rows],
                         ["unchanged", "unchanged", "unchanged", "created", "not imported"])

    def test_every_fault_is_found_before_anything_is_written(self):
        elsewhere = "Taken" + self.app[4:]
        self.site.dossier("client", "create", "x", "kind=machine", f"id={elsewhere}")
        self.write({
            **FILES, "clients/Taken.json": {"name": "Taken", "client_id": elsewhere},
            "clients/Bad.json": {"name": "Bad", "callbacks": ["https://*.example.com/cb"],
                                 "client_secret": "short"},
            "clients/Twice.json": {"name": "Twice", "client_id": SHOP},
            "clients/Old.json": {"name": "Old", "jwt_configuration": {"alg": "HS256"}},
            "resource-servers/Bad.json": {"identifier": "a b"},
            "grants/Lost.json": {"client_id": "Nobody", "audience": API, "scope": []},
            "grants/Scope.json": {"client_id": "Shop", "audience": API, "scope": ["x"]},
            "roles/Bad.json": {"name": "Bad", "permissions": [
                {"permission_name": "x", "resource_server_identifier": API}]}})
        run = self.fails(12, "Nothing was changed.")
        for line in ["clients/Taken.json /client_id: An application of another app has this id.",
                     "clients/Bad.json /callbacks: ", "clients/Bad.json /client_secret: ",
                     "clients/Twice.json /client_id: ", "clients/Old.json /jwt_configuration: ",
                     "resource-servers/Bad.json /identifier: ", "grants/Lost.json /client_id: ",
                     "grants/Scope.json /scope/0: ", "roles/Bad.json /permissions/0: "]:
            self.assertIn(line, run.stderr)
        self.write({"clients/Mask.json": '{"name": "##SHOP_NAME##"}',
                    "clients/Mark.json": '{"name": "x", "callbacks": ["a@@URLS@@"]}'})
        run = self.fails(12, "clients/Mask.json: Replace the placeholder ##SHOP_NAME## ")
        self.assertIn("clients/Mark.json: Replace the placeholder @@URLS@@ ", run.stderr)
        for files, words in [
                ({"clients/Shop.json": '{"name": '}, "clients/Shop.json /name: A value"),
                ({"clients/Shop.json": "[]"}, "clients/Shop.json: This member must be an object"),
                ({"clients/Shop.json": '{"name": "x"}', "more.json": "[1]"}, "more.json /0: "),
                ({"more.json": '{"clients": {}}'}, "more.json /clients: "),
                ({"more.json": json.dumps([{"name": "x", "app_type": "spa"}] * 1001)},
                 "An export may have at most 1000 objects of one kind."),
                ({"more.json": " " * 8_388_609}, "more.json is longer")]:
            self.write(files)
            self.fails(12, words)
        self.fails(21, "cannot be read", path="/nowhere")
        self.assertEqual(self.ask(f"/v1/clients?app={self.app}"), [])
        self.assertEqual(self.site.dossier("role", "list", "--app", self.app), [])

    def test_what_can_be_imported_is_imported_without_what_is_refused(self):
        old = "https://old.shop.example.com"
        permission = {"permission_name": "read:old", "resource_server_identifier": old}
        self.write({
            **FILES,
            "resource-servers/Old.json": {"name": "Old", "identifier": old, "signing_alg": "HS256",
                                          "scopes": [{"value": "read:old"}]},
            "clients/Wild.json": {"name": "Wild", "app_type": "regular_web",
                                  "callbacks": ["https://*.shop.example.com/cb"]},
            "clients/Calls.json": {"name": "Calls", "oidc_logout": {"backchannel_logout_urls": [
                "https://a.shop.example.com/out", "https://b.shop.example.com/out"]}},
            "clients/Mask.json": {"name": "Mask", "client_secret": "##MASK_SECRET##"},
            "grants/User.json": {"client_id": "Robot", "audience": API, "scope": [],
                                 "subject_type": "user"},
            "grants/Wild.json": {"client_id": "Wild", "audience": API, "scope": []},
            "grants/Old.json": {"client_id": "Robot", "audience": old, "scope": ["read:old"]},
            "roles/Old.json": {"name": "Old", "permissions": [permission]}})
        self.fails(12, "--skip-refused imports the other objects.")
        self.assertEqual(self.ask(f"/v1/clients?app={self.app}"), [])

        refused = [
            ("resource_server", old, "/signing_alg: "), ("client", "Wild", "/callbacks: "),
            ("client", "Calls", "/oidc_logout: "), ("client", "Mask", ": Replace the placeholder"),
            ("client_grant", f"Robot at {API}", "/subject_type: "),
            ("client_grant", f"Wild at {API}",
             "/client_id: The export has this application, but it is refused itself."),
            ("client_grant", f"Robot at {old}",
             "/scope/0: The export has this API, but it is refused itself."),
            ("role", "Old", "/permissions/0: The export has this API, but it is refused itself.")]
        for arguments, made in [(["--dry-run"], "create"), ([], "created"), ([], "unchanged")]:
            run = self.fails(17, "clients/Wild.json /callbacks: ", "--skip-refused", *arguments)
            rows = json.loads(run.stdout)
            left = {(row["kind"], row["name"]): row["note"] for row in rows
                    if row["action"] == "refused"}
            self.assertEqual(len(left), len(refused), left)
            for kind, name, note in refused:
                self.assertIn(note, left[kind, name])
                self.assertIn(note.rpartition(": ")[2], run.stderr)
            self.assertEqual({row["action"] for row in rows}, {made, "refused", "not imported"})
            self.assertEqual([row["name"] for row in rows if row["action"] == made],
                             [API, "Page", "Robot", "Shop", f"Robot at {API}",
                              f"{self.shop} at {API}", "Clerk"])
        self.assertEqual([row["name"] for row in self.ask(f"/v1/clients?app={self.app}")],
                         ["Page", "Robot", "Shop"])
        # A reference to an application that the app has already is no fault.
        self.write({"resource-servers/Old.json": {"name": "Old", "identifier": old,
                                                  "scopes": [{"value": "read:old"}]},
                    "clients/Robot.json": {"name": "Robot", "app_type": "non_interactive",
                                           "jwt_configuration": {"alg": "HS256"}}})
        run = self.run_import("--skip-refused", check=False)
        self.assertEqual(run.returncode, 17, run.stderr)
        actions = self.actions(json.loads(run.stdout))
        for name, action in [(("client", "Robot"), "refused"), (("resource_server", old), "created"),
                             (("client_grant", f"Robot at {old}"), "created"),
                             (("role", "Old"), "created")]:
            self.assertEqual(actions[name], action)

    def test_a_run_that_stops_is_continued_by_the_next(self):
        self.write(FILES)
        self.site.sql("alter table role_permissions add constraint stop check (false) not valid")
        try:
            run = self.fails(17, "role Clerk: ")
        finally:
            self.site.sql("alter table role_permissions drop constraint stop")
        self.assertIn("the next run continues", run.stderr)
        done = self.actions(json.loads(run.stdout))
        self.assertEqual((done["client", "Shop"], done["role", "Clerk"]), ("created", "create"))
        # The secret that the stopped run made is printed.
        self.assertTrue(any("secret" in row for row in json.loads(run.stdout)))
        done = self.actions(self.run_import())
        self.assertEqual((done["client", "Shop"], done["role", "Clerk"]), ("unchanged", "changed"))
        self.assertEqual(set(self.actions(self.run_import()).values()), {"unchanged", "not imported"})


if __name__ == "__main__":
    unittest.main()
