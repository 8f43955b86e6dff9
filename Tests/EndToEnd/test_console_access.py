"""The console: permissions, connections, token issuers, conflicts, and forms that wait."""

import json
import unittest

from connections import ConnectionCase
from console import ConsoleCase
from machine import wait_until
from test_console_browser import ConsoleBrowserCase
from test_webhooks import WebhookCase

SCOPES = {"read:orders": "See orders", "write:orders": "Change orders", "delete:orders": ""}


class PermissionCase(ConsoleCase):
    def setUp(self):
        super().setUp()
        name = f"Orders {self.new_address().partition('@')[0]}"
        self.api = self.send("POST", "/v1/resource-servers", {
            "app": "default", "name": name, "identifier": f"https://{name.split()[1]}.example.com",
            "scopes": SCOPES})

    def send(self, method, path, body=None):
        arguments = ["-"] if body is not None else []
        given = {"given": json.dumps(body)} if body is not None else {}
        return self.site.dossier("api", method, path, *arguments, **given)

    def role(self, name, app="default"):
        return self.site.dossier("role", "create", "--app", app, name)["id"]

    def scopes(self, path):
        """Returns the scopes at the API of the test."""
        found = self.send("GET", path)
        return sorted(scope for item in found if item["resource_server"] == self.api["id"]
                      for scope in item.get("scopes", [item.get("scope")]))


class Permissions(PermissionCase):
    def test_the_permissions_of_a_role(self):
        role = self.role("permitted")
        visitor = self.administrator("admin", "--app", "default")
        path = f"/console/default/roles/{role}"
        page = visitor.open(path)
        page = visitor.open(page.links["Permissions"])
        self.assertIn(self.api["identifier"], page.text)
        form = f"/permissions/{self.api['id']}"
        page = visitor.open(f"{path}{form}")
        self.assertIn("read:orders – See orders", page.text)
        page = visitor.submit(form, **{"scopes:read:orders": "true", "scopes:delete:orders": "true"})
        self.assertIn(f"The permissions are saved: {self.api['name']}", page.text)
        self.assertIn("read:orders", page.text)
        stored = f"/v1/roles/{role}/permissions"
        self.assertEqual(self.scopes(stored), ["delete:orders", "read:orders"])
        # A change of another administrator stays.
        visitor.open(f"{path}{form}")
        self.send("PUT", f"{stored}/{self.api['id']}", {"scopes": ["read:orders", "write:orders"]})
        page = visitor.submit(form, **{"scopes:read:orders": None})
        self.assertIn("The permissions are saved:", page.text)
        self.assertEqual(self.scopes(stored), ["write:orders"])
        visitor.open(f"{path}{form}")
        self.assertIn("Nothing has changed.", visitor.submit(form).text)
        # The page of the role tells who has changed what.
        self.assertIn("write:orders", visitor.open(path).text)

    def test_the_users_of_a_role(self):
        role, email = self.role("shared"), self.own_email()
        user = self.user(email=email)
        visitor = self.administrator("admin", "--app", "default")
        page = visitor.open(f"/console/default/roles/{role}/users")
        self.assertIn("No user has this role.", page.text)
        for wrong, words in {"": "Enter an address or an ID.", "0" * 24: "No user of this app has it.",
                             "nobody@example.com": "No user of this app has it."}.items():
            page = visitor.submit("/users", user=wrong)
            self.assertEqual((page.status, page.errors), (422, [words]))
        for name in [email, user.upper()]:
            page = visitor.submit("/users", user=name)
            self.assertIn("The user has the role:", page.text)
            self.assertEqual(page.links[email], f"/console/default/users/{user}")
            self.assertEqual([item["id"] for item in self.send("GET", f"/v1/roles/{role}/users")], [user])
            page = visitor.submit("/users/remove")
            self.assertIn("The user no longer has the role.", page.text)
            self.assertNotIn(email, page.links)

    def test_permissions_without_a_role(self):
        user = self.user()
        visitor = self.administrator("admin", "--app", "default")
        page = visitor.open(f"/console/default/users/{user}/roles")
        visitor.open(page.links["Permissions without a role"])
        form = f"/permissions/{self.api['id']}"
        visitor.open(f"/console/default/users/{user}{form}")
        page = visitor.submit(form, **{"scopes:write:orders": "true"})
        self.assertIn("The permissions are saved:", page.text)
        self.assertEqual(self.scopes(f"/v1/users/{user}/permissions"), ["write:orders"])
        self.assertIn("given directly", visitor.open(f"/console/default/users/{user}/roles").text)

    def test_the_apis_of_an_application(self):
        client = self.site.dossier("client", "create", "--app", "default", "Nightly", "kind=machine")["id"]
        visitor = self.administrator("admin", "--app", "default")
        path = f"/console/default/applications/{client}"
        page = visitor.open(visitor.open(path).links["API access"])
        self.assertIn("gets tokens by its secret", page.text)
        form = f"/grants/{self.api['id']}"
        visitor.open(f"{path}{form}")
        self.age()
        page = visitor.submit(form, **{"scopes:read:orders": "true"})
        self.shows(page, "Confirm that it is you", status=403)
        self.forget_steps()
        visitor.submit("/confirm", password="administrators use long sentences",
                       code=visitor.authenticator.code())
        page = visitor.submit(form)
        self.assertIn("The permissions are saved:", page.text)
        self.assertEqual(self.scopes(f"/v1/clients/{client}/grants"), ["read:orders"])
        visitor.open(f"{path}{form}")
        page = visitor.submit("/remove")
        self.assertIn(f"Removed: {self.api['name']}", page.text)
        self.assertEqual(self.send("GET", f"/v1/clients/{client}/grants"), [])
        # An API without scopes can be allowed too.
        visitor.open(f"{path}{form}")
        self.assertIn("Without scopes", visitor.submit(form).text)
        public = self.site.dossier("client", "create", "--app", "default", "Mobile", "kind=native")["id"]
        page = visitor.open(f"/console/default/applications/{public}/grants")
        self.assertIn("This application has no secret", page.text)

    def test_other_roles_and_apps_are_refused(self):
        role, user = self.role("refused"), self.user()
        client = self.site.dossier("client", "create", "--app", "default", "Reader", "kind=machine")["id"]
        lists = [f"roles/{role}/permissions", f"roles/{role}/users", f"users/{user}/permissions",
                 f"applications/{client}/grants"]
        admin = self.administrator("admin", "--app", "default")
        for name in ["viewer", "support"]:
            visitor = self.administrator(name, "--app", "default")
            for path in lists:
                page = visitor.open(f"/console/default/{path}")
                self.assertEqual(page.status, 200, page.text)
                self.assertIn("An admin or owner can change the", page.text)
                self.assertFalse([form for form in page.forms if path in form.action], path)
                if path.endswith("/users"):
                    continue
                form = f"/console/default/{path}/{self.api['id']}"
                self.assertEqual(visitor.open(form).status, 403)
                # The form of another administrator is refused.
                admin.open(form)
                fields = {**admin.form(form).fields, "scopes:read:orders": "true"}
                visitor.page = admin.page
                self.assertEqual(visitor.submit(form, **fields).status, 403)
        self.assertEqual([self.scopes(f"/v1/{path}") for path in [
            f"roles/{role}/permissions", f"users/{user}/permissions", f"clients/{client}/grants"]],
            [[], [], []])
        self.site.create_app("others")
        for path in lists:
            self.assertEqual(admin.open(f"/console/others/{path}").status, 404)
        owner = self.administrator()
        for path in lists[:2] + lists[3:]:
            self.assertEqual(owner.open(f"/console/others/{path}").status, 404, path)
        # Nor does an API of another app have a form.
        other = self.role("elsewhere", app="others")
        page = owner.open(f"/console/others/roles/{other}/permissions/{self.api['id']}")
        self.assertEqual(page.status, 404)


class Connections(ConnectionCase, ConsoleCase):
    SETTINGS = {**ConnectionCase.SETTINGS, **ConsoleCase.SETTINGS}

    def test_a_connection_is_checked(self):
        issuer = self.connect("oidc", "checked")
        visitor = self.administrator("admin", "--app", "default")
        path = "/console/default/connections/checked"
        page = visitor.open(path)
        self.assertIn(issuer.redirect_uri, page.text)
        page = visitor.submit("/check")
        self.assertEqual(page.status, 200, page.text)
        self.assertIn("Users can sign in by this connection.", page.text)
        self.assertIn("Discovery", page.text)
        self.assertNotIn("Wrong", page.text)
        secret = self.site.folder / "wrong-secret"
        secret.write_text("another secret of the service")
        self.change(issuer, client_secret=f"@{secret}")
        visitor.open(path)
        page = visitor.submit("/check")
        self.assertIn("1 check fails.", page.text)
        self.assertIn("compare client_id and client_secret", page.text)
        viewer = self.administrator("viewer", "--app", "default")
        page = viewer.open(path)
        self.assertIn(issuer.redirect_uri, page.text)
        self.assertFalse([form for form in page.forms if form.action.endswith("/check")])

    def test_a_token_issuer_from_the_form_to_its_deletion(self):
        visitor = self.administrator("admin", "--app", "default")
        page = visitor.open("/console/default/issuers")
        visitor.open(page.links["Create token issuer"])
        page = visitor.submit("/new", name="own-server", issuer="https://own.example.com", audience="game")
        self.assertEqual(page.status, 422)
        self.assertIn("Send exactly one of", " ".join(page.errors))
        page = visitor.submit("/new", secret="0123456789" * 4)
        self.assertIn("Created own-server", page.text)
        stored = self.site.dossier("issuer", "show", "own-server", "--app", "default")
        self.assertEqual([stored["issuer"], stored["keys"]], ["https://own.example.com", "secret"])
        self.assertNotIn("0123456789", visitor.open("/console/default/issuers/own-server").text)
        page = visitor.submit("/own-server", audience="other")
        self.assertIn("The changes are saved.", page.text)
        viewer = self.administrator("viewer", "--app", "default")
        page = viewer.open("/console/default/issuers/own-server")
        self.assertFalse([form for form in page.forms if "/issuers" in form.action])
        visitor.open("/console/default/issuers/own-server/delete")
        self.assertIn("Deleted own-server", visitor.submit("/delete", confirmation="own-server").text)


class Conflicts(ConsoleCase):
    def put(self, path, text):
        return self.site.dossier("api", "PUT", path, "-", given=text)

    def test_properties_are_not_overwritten(self):
        user, visitor = self.user(), self.administrator("admin")
        path = f"/console/default/users/{user}/properties"
        stored = f"/v1/users/{user}/properties"
        visitor.open(path)
        self.put(f"{stored}/level", '{"value": 1}')
        page = visitor.submit("/properties", key="level", value="2")
        self.assertEqual(page.status, 409)
        self.assertIn("Someone has changed level since you opened the page: now its value is 1.",
                      page.errors[0])
        self.assertEqual(visitor.form("/properties").fields["value"], "2")
        self.assertEqual(self.site.dossier("api", "GET", stored), {"level": 1})
        # The page shows the value now, so the same form replaces it.
        self.assertIn("The property level is set.", visitor.submit("/properties").text)
        self.put(f"{stored}/level", '{"value": 3}')
        self.assertEqual(visitor.submit("/properties/remove").status, 409)
        self.assertEqual(self.site.dossier("api", "GET", stored), {"level": 3})
        self.assertIn("is removed", visitor.submit("/properties/remove").text)
        # Another property may change meanwhile.
        visitor.open(path)
        self.put(f"{stored}/other", '{"value": true}')
        self.assertIn("is set", visitor.submit("/properties", key="mine", value="x").text)
        self.assertEqual(self.site.dossier("api", "GET", stored), {"mine": "x", "other": True})

    def test_schemas_are_not_overwritten(self):
        self.addCleanup(self.site.dossier, "schema", "delete", "--yes", "custom-data", check=False)
        stored = "/v1/schemas/custom-data"
        path = "/console/default/schemas/custom-data"
        visitor = self.administrator("admin")
        visitor.open(path)
        theirs = {"type": "object", "maxProperties": 5}
        self.put(stored, json.dumps(theirs))
        page = visitor.submit(path, schema='{"type": "object", "required": ["a"]}')
        self.assertEqual(page.status, 412)
        self.assertIn("The schema has changed since you opened it. Nothing was saved.", page.errors)
        self.assertIn("maxProperties", page.text)
        self.assertEqual(self.site.dossier("api", "GET", stored), theirs)
        page = visitor.submit(path, fill="merged")
        self.assertIn("Nothing is saved yet.", page.text)
        merged = {"type": "object", "required": ["a"], "maxProperties": 5}
        self.assertEqual(json.loads(visitor.form(path).fields["schema"]), merged)
        self.assertIn("The schema is saved.", visitor.submit(path).text)
        self.assertEqual(self.site.dossier("api", "GET", stored), merged)
        for choice, expected in [("theirs", theirs), ("mine", {"minProperties": 1})]:
            visitor.open(path)
            self.put(stored, json.dumps(theirs))
            self.assertEqual(visitor.submit(path, schema='{"minProperties": 1}').status, 412)
            visitor.submit(path, fill=choice)
            visitor.submit(path)
            self.assertEqual(self.site.dossier("api", "GET", stored), expected)
        visitor.open(path)
        self.put(stored, "true")
        page = visitor.submit("/remove")
        self.assertEqual(page.status, 412)
        self.assertIn("Nothing was removed", page.errors[0])
        self.assertIn("The schema is removed.", visitor.submit("/remove").text)

    def test_the_versions_of_schemas_in_the_api(self):
        app = self.site.add_app("versions")
        secret = self.site.client("--operator")["secret"]

        def ask(method, body=None, **fields):
            return self.site.request(
                method, "/v1/schemas/metadata", body,
                {**app, "Content-Type": "application/json", **fields}, secret)
        first = self.expect(ask("PUT", {"maxProperties": 1}, **{"If-None-Match": "*"}), 201)
        self.assertEqual(ask("PUT", {"maxProperties": 2}, **{"If-None-Match": "*"}).status, 412)
        tag = first.headers["ETag"]
        self.assertEqual(ask("GET").headers["ETag"], tag)
        second = self.expect(ask("PUT", {"maxProperties": 2}, **{"If-Match": tag}), 200)
        self.assertNotEqual(second.headers["ETag"], tag)
        for method, body in [("PUT", {"maxProperties": 3}), ("DELETE", None)]:
            answer = self.expect(ask(method, body, **{"If-Match": tag}), 412, "precondition_failed")
            self.assertEqual(f'"{answer.json["current_version"]}"', second.headers["ETag"])
        self.expect(ask("DELETE", **{"If-Match": second.headers["ETag"]}), 204)


class Receivers(WebhookCase, ConsoleCase):
    FURTHER = ConsoleCase.SETTINGS

    def test_the_overview_names_receivers_that_fail(self):
        headers = self.app("failing")
        self.receiver.answer = lambda _: (410, {}, b"")
        gone = self.webhook(types="user.*")
        idle = self.webhook(url=f"{self.receiver.url}/idle", types="session.ended")
        off = self.webhook("enabled=false", url=f"{self.receiver.url}/off", types="user.*")
        self.sign_up("failing-one", headers)
        wait_until(lambda: not self.command("show", gone)["enabled"])
        visitor = self.administrator("admin", "--app", "failing")
        page = visitor.open("/console/failing")
        self.assertEqual(
            page.links[f"{self.receiver.url}/failing"], f"/console/failing/webhooks/{gone['id']}")
        self.assertIn("is disabled, and its receiver failed: status 410", page.text)
        for name in ["idle", "off"]:
            self.assertNotIn(f"{self.receiver.url}/{name}", page.links)
        wait_until(lambda: self.site.sql(
            "update webhook_progress set failures = 20, failing_since = now(), last_error = 'status 503' "
            f"where webhook_id = '{idle['id']}' returning 'failed'") == "failed")
        page = visitor.open("/console/failing")
        self.assertRegex(page.text, r"/idle\s+has failed since [-\d: ]+: status 503")
        support = self.administrator("support", "--app", "failing")
        self.assertNotIn(f"{self.receiver.url}/idle", support.open("/console/failing").links)


class Waiting(ConsoleCase):
    def test_a_form_over_the_limit_of_requests_is_kept(self):
        visitor, user = self.administrator(), self.user()
        visitor.open(f"/console/default/users/{user}")
        used = self.site.sql(
            "update rate_limits set theoretical_arrival_at = now() + interval '1 hour' "
            "returning 'used'")
        self.assertIn("used", used)
        page = self.shows(visitor.submit("/profile", nickname="kept"), "Try again later", status=429)
        self.assertIn("Your entries are kept.", page.text)
        self.assertIn("Retry-After", page.headers)
        # A second try keeps them too.
        page = self.shows(visitor.submit("/kept"), "Try again later", status=429)
        self.site.sql("delete from rate_limits")
        self.shows(visitor.submit("/kept"), "Change the profile of a user?")
        self.assertIsNone(self.site.dossier("user", "show", user)["nickname"])
        self.assertIn("The profile is saved.", visitor.submit("/profile").text)
        self.assertEqual(self.site.dossier("user", "show", user)["nickname"], "kept")

    def test_a_form_without_the_database_is_kept(self):
        visitor, user = self.administrator(), self.user()
        visitor.open(f"/console/default/users/{user}")
        with self.site.without_postgres():
            page = self.shows(visitor.submit("/profile", nickname="waits"), "Try again later", status=503)
            self.assertIn("Your entries are kept.", page.text)
        self.shows(visitor.submit("/kept"), "Change the profile of a user?")
        self.assertIn("The profile is saved.", visitor.submit("/profile").text)
        self.assertEqual(self.site.dossier("user", "show", user)["nickname"], "waits")

    def test_the_page_of_kept_forms_takes_no_others(self):
        visitor, user = self.administrator(), self.user()
        visitor.open(f"/console/default/users/{user}")
        form = visitor.form("/profile")
        form.action = "/console/-/kept"
        page = visitor.submit("/kept", kept="bm90aGluZw")
        self.assertEqual(page.heading.strip(), "Overview")
        visitor.open(f"/console/default/users/{user}")
        visitor.form("/profile").action = "/console/-/kept"
        self.assertEqual(visitor.submit("/kept", origin="https://evil.example").status, 403)


class Browser(PermissionCase, ConsoleBrowserCase):
    def test_the_pages_in_all_views(self):
        role, user = self.role("seen"), self.user()
        client = self.site.dossier("client", "create", "--app", "default", "Seen", "kind=machine")["id"]
        self.site.dossier(
            "connection", "create", "seen", "--app", "default", "preset=oidc", "client_id=x",
            "issuer=https://127.0.0.1:1", check=False)
        self.sign_in_here()
        for path in [f"roles/{role}", f"roles/{role}/permissions", f"roles/{role}/users",
                     f"roles/{role}/permissions/{self.api['id']}", f"users/{user}/permissions",
                     f"applications/{client}/grants", f"applications/{client}/grants/{self.api['id']}",
                     "issuers", "issuers/new", "connections/seen"]:
            self.browser.open(f"{self.server}/console/default/{path}")
            self.look()
        self.browser.open(f"{self.server}/console/default/roles/{role}/permissions/{self.api['id']}")
        box = self.browser.find("[name='scopes:write:orders']")
        box.click()
        self.press_in(f"Permissions at {self.api['name']}", "Save")
        self.assertIn("The permissions are saved", self.text())
        self.assertEqual(self.scopes(f"/v1/roles/{role}/permissions"), ["write:orders"])


if __name__ == "__main__":
    unittest.main()
