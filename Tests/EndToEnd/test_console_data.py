"""The console: documents and their versions, records, settings, and what each role may do."""

import json
import re
import unittest

from asking import JSON
from console import ConsoleCase


class Documents(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.visitor = self.administrator()
        self.user_id = self.user()
        self.path = f"/console/default/users/{self.user_id}"

    def stored(self, document="metadata"):
        return self.site.dossier("api", "GET", f"/v1/users/{self.user_id}/{document}")

    def test_one_save_replaces_both_metadata(self):
        self.visitor.open(self.path)
        page = self.visitor.submit(
            "/metadata", user_metadata='{"a": 1}', app_metadata='{"plan": "premium"}')
        self.assertIn("Saved.", page.text)
        self.assertEqual(self.stored(), {"a": 1})
        self.assertEqual(self.stored("app-metadata"), {"plan": "premium"})
        self.assertIn("Nothing has changed.", self.visitor.submit("/metadata").text)

    def test_neither_metadata_is_saved_if_one_is_refused(self):
        schema = json.dumps({"properties": {"plan": {"enum": ["premium"]}}})
        self.site.dossier("schema", "set", "app-metadata", "-", given=schema)
        self.addCleanup(self.site.dossier, "schema", "delete", "--yes", "app-metadata")
        self.visitor.open(self.path)
        page = self.visitor.submit(
            "/metadata", user_metadata='{"a": 1}', app_metadata='{"plan": "other"}')
        self.assertEqual(page.status, 422)
        self.assertTrue(page.errors[0].startswith("/plan: "), page.errors)
        self.assertEqual([self.stored(), self.stored("app-metadata")], [{}, {}])

    def test_an_error_names_line_and_column_and_keeps_the_text(self):
        self.visitor.open(self.path)
        text = '{\r\n  "a": 1,\r\n  "b": }\r\n'
        page = self.visitor.submit("/metadata", user_metadata=text)
        self.assertEqual(page.status, 422)
        self.assertIn("Line 3, column 8", page.errors[0])
        self.assertIn('"b": }', self.visitor.form("/metadata").fields["user_metadata"])
        page = self.visitor.submit("/metadata", user_metadata="[1]")
        self.assertIn("must be an object", page.errors[0])
        self.assertEqual(self.stored(), {})

    def test_two_administrators_edit_one_document(self):
        first, second = self.visitor, self.administrator()
        start = {"theme": "dark", "plan": "a", "note": "x"}
        self.site.dossier("api", "PUT", f"/v1/users/{self.user_id}/metadata", "-", given=json.dumps(start))
        first.open(self.path)
        second.open(self.path)
        theirs = {**start, "theme": "light", "plan": "b"}
        self.assertIn("Saved.", first.submit("/metadata", user_metadata=json.dumps(theirs)).text)
        mine = {**start, "plan": "c", "note": "y"}
        page = second.submit("/metadata", user_metadata=json.dumps(mine))
        self.assertEqual(page.status, 412)
        self.assertEqual(
            page.errors, ["user_metadata has changed since you opened it. Nothing was saved."])
        # The reason stands once, and the view says who was faster, if versions are kept.
        self.assertEqual(page.text.count("has changed since"), 1)
        self.assertIn("user_metadata: saved by someone else", page.text)
        # Nothing is lost, and both are shown.
        self.assertEqual(self.stored(), theirs)
        self.assertEqual(json.loads(second.form("/metadata").fields["user_metadata"]), mine)
        self.assertIn("/plan", page.text)
        # A second save without a choice is refused like the first one.
        self.assertEqual(second.submit("/metadata").status, 412)
        page = second.submit("/metadata", fill="merged")
        self.assertIn("Nothing is saved yet.", page.text)
        self.assertEqual(self.stored(), theirs)
        merged = json.loads(second.form("/metadata").fields["user_metadata"])
        self.assertEqual(merged, {"theme": "light", "plan": "c", "note": "y"})
        self.assertIn("Saved.", second.submit("/metadata").text)
        self.assertEqual(self.stored(), merged)

    def test_theirs_and_mine(self):
        for choice, expected in [("theirs", {"a": 2}), ("mine", {"a": 3})]:
            self.site.dossier("api", "PUT", f"/v1/users/{self.user_id}/metadata", "-", given='{"a": 1}')
            self.visitor.open(self.path)
            self.site.dossier("api", "PUT", f"/v1/users/{self.user_id}/metadata", "-", given='{"a": 2}')
            self.assertEqual(self.visitor.submit("/metadata", user_metadata='{"a": 3}').status, 412)
            self.visitor.submit("/metadata", fill=choice)
            self.visitor.submit("/metadata")
            self.assertEqual(self.stored(), expected)

    def test_custom_data_and_its_versions(self):
        self.settings(document_versions_kept=5)
        page = self.visitor.open(f"{self.path}/custom-data")
        for number in range(3):
            self.visitor.open(f"{self.path}/custom-data")
            self.visitor.submit("/custom-data", custom_data=json.dumps({"level": number}))
        page = self.visitor.open(f"{self.path}/custom-data/versions")
        self.assertIn(self.visitor.address, page.text.partition("By")[2])
        number = min(int(link) for link in page.links if link.isdigit())
        page = self.visitor.open(f"{self.path}/custom-data/versions/{number}")
        self.assertIn("From this version to the stored one", page.text)
        self.assertIn("An admin or owner can restore a version.",
                      self.administrator("support").open(f"{self.path}/custom-data/versions/{number}").text)
        page = self.visitor.submit(f"/versions/{number}")
        self.assertIn("is restored as a new version", page.text)
        self.assertEqual(self.stored("custom-data"), {"level": 0})

    def test_the_writes_of_a_session_are_undone(self):
        self.settings(document_versions_kept=5)
        email = self.own_email()
        grants = [self.expect(self.register(email), 201).json]
        grants.append(self.expect(self.login(email), 200).json)
        user = grants[0]["user_id"]
        session = next(one["id"] for one in self.me(grants[1], "/sessions").json if one["current"])
        for grant, body in [(grants[0], {"a": "old", "b": 1}), (grants[1], {"a": "<b>new", "b": 2}),
                            (grants[0], {"a": "<b>new", "b": 3})]:
            self.expect(self.site.request(
                "PUT", "/v1/me/metadata", body, JSON, grant["access_token"]), 200)
        path = f"/console/default/users/{user}"
        page = self.visitor.open(f"{path}/sessions")
        self.assertIn(f"{path}/sessions/{session}/undo", page.body.decode())
        page = self.visitor.open(f"{path}/history")
        self.assertIn("What this session changed", page.text)
        undo = f"{path}/sessions/{session}/undo"
        # The role support sees the changes.
        support = self.administrator("support")
        page = support.open(undo)
        self.assertIn("<b>new", page.text)
        self.assertNotIn("Undo these changes", page.text)
        self.assertEqual(self.administrator("viewer").open(undo).status, 403)
        page = self.visitor.open(undo)
        self.assertIn("Conflicts", page.text)
        stale = json.dumps({"a": "<b>new", "b": 4})
        self.site.dossier("api", "PUT", f"/v1/users/{user}/metadata", "-", given=stale)
        page = self.visitor.submit("/undo")
        self.assertEqual(page.status, 412)
        self.assertIn("Check the changes again", page.text)
        page = self.visitor.submit("/undo", **{"conflict:metadata:0": "true"})
        self.assertIn("The writes of the session are undone.", page.text)
        self.assertEqual(self.site.dossier("api", "GET", f"/v1/users/{user}/metadata"),
                         {"a": "old", "b": 1})
        self.assertEqual(self.visitor.open(f"{path}/sessions/{'f' * 24}/undo").status, 404)

    def test_without_stored_versions_the_page_leads_to_the_setting(self):
        page = self.visitor.open(f"{self.path}/metadata/versions")
        self.assertIn("(document_versions_kept) is 0", page.text)
        page = self.visitor.open(next(
            link for link in page.links.values() if link.endswith("/settings/document")))
        self.assertIn("document_versions_kept", page.text)
        # The editor says so too.
        page = self.visitor.open(self.path)
        self.assertTrue(page.links["No earlier versions are kept"].endswith("/settings/document"))
        self.settings(document_versions_kept=5)
        page = self.visitor.open(self.path)
        self.assertIn("Earlier versions of user_metadata", page.links)
        self.assertIn("(document_versions_kept) is 5",
                      self.visitor.open(f"{self.path}/metadata/versions").text)

    def test_the_page_of_a_user_names_what_is_where(self):
        for path, body in [("metadata", {"theme": "dark"}), ("app-metadata", {"plan": "pro"}),
                           ("custom-data", {"score": 1}), ("properties", {"level": 7})]:
            self.site.dossier(
                "api", "PUT", f"/v1/users/{self.user_id}/{path}", "-", given=json.dumps(body))
        support = self.administrator("support")
        text = support.open(self.path).text.partition("Profile")[2]
        places = ["Metadata (user_metadata)", "Choices of the user", '"theme"',
                  "App metadata (app_metadata)", "Decisions of the app's owner", '"plan"',
                  "Other data", "Custom data (custom_data)", "score", "Data of the app about the user",
                  "Properties", "level", "Single values by key"]
        self.assertEqual(sorted(places, key=text.index), places)
        self.assertIn("Data of the app about the user", support.open(f"{self.path}/custom-data").text)
        self.assertIn("No earlier values are kept", support.open(f"{self.path}/properties").text)
        self.assertNotIn("theme", self.administrator("viewer").open(self.path).text)
        self.assertIn("Data such as a theme", support.open("/console/default/search?q=theme").text)

    def test_the_data_of_a_user_are_exported(self):
        path = self.visitor.open(self.path).links["Export data"]
        page = self.visitor.open(path)
        self.assertEqual(page.headers["Content-Disposition"], f'attachment; filename="{self.user_id}.json"')
        self.assertEqual(json.loads(page.body)["profile"]["id"], self.user_id)
        self.assertEqual(self.administrator("support").open(path).status, 403)
        self.site.sql("update sessions set authenticated_at = authenticated_at - interval '11 minutes'")
        self.assertEqual(self.visitor.open(path).heading.strip(), "Confirm that it is you")

    def test_the_profile_is_not_overwritten(self):
        self.visitor.open(self.path)
        self.site.dossier("api", "PATCH", f"/v1/users/{self.user_id}", "-", given='{"name": "Grace"}')
        # Fields that only one of the two has changed are kept.
        page = self.visitor.submit("/profile", nickname="amazing")
        self.assertIn("The profile is saved.", page.text)
        shown = lambda: [self.site.dossier("user", "show", self.user_id)[name]
                         for name in ["name", "nickname", "phone"]]
        self.assertEqual(shown(), ["Grace", "amazing", None])
        # A field that both have changed is shown, with the value of the other one.
        self.site.dossier("api", "PATCH", f"/v1/users/{self.user_id}", "-",
                          given='{"nickname": "Kimi", "given_name": "Grace"}')
        page = self.visitor.submit("/profile", nickname="mine", phone="+44 (20) 7946-0123")
        self.assertEqual(page.status, 412)
        self.assertEqual(
            [error for error in page.errors if "Meanwhile" in error],
            ["Meanwhile it became “Kimi”. Saving again replaces that."])
        self.assertEqual([self.visitor.form("/profile").fields[name]
                          for name in ["nickname", "given_name", "phone"]], ["mine", "Grace", "+442079460123"])
        self.assertEqual(shown(), ["Grace", "Kimi", None])
        page = self.visitor.submit("/profile")
        self.assertIn("The profile is saved.", page.text)
        self.assertEqual(shown(), ["Grace", "mine", "+442079460123"])


class Rights(ConsoleCase):
    # The pages, and the least role that sees each.
    PAGES = {
        "/console/default": "viewer", "/console/default/users": "viewer",
        "/console/default/users/{user}": "viewer",
        "/console/default/users/{user}/sessions": "viewer",
        "/console/default/users/{user}/sign-in": "viewer",
        "/console/default/users/{user}/roles": "viewer",
        "/console/default/users/{user}/history": "viewer",
        "/console/default/users/{user}/devices": "viewer",
        "/console/default/users/{user}/applications": "viewer",
        "/console/default/users/{user}/emails": "support",
        "/console/default/sign-in-check": "support",
        "/console/default/sign-in-check?user={user}": "support",
        "/console/default/search?q=x": "viewer", "/console/-/search?q=x": "viewer",
        "/console/default/schemas/metadata": "viewer",
        "/console/-/administrators": "deployment", "/console/-/me": "viewer",
        "/console/default/users/{user}/custom-data": "support",
        "/console/default/users/{user}/properties": "support",
        "/console/default/users/{user}/metadata/versions": "support",
        "/console/default/roles": "viewer", "/console/default/apis": "viewer",
        "/console/default/applications": "viewer", "/console/default/connections": "viewer",
        "/console/default/settings": "viewer", "/console/default/settings/account": "viewer",
        "/console/default/custom-data": "viewer",
        "/console/default/audit": "viewer", "/console/default/transfer": "admin",
        "/console/default/indexes": "viewer", "/console/default/issuers": "viewer",
        "/console/default/users/{user}/permissions": "viewer",
        "/console/default/events": "viewer",
        "/console/default/webhooks": "admin", "/console/default/log-streams": "admin",
        "/console/default/schemas": "viewer", "/console/default/keys": "owner",
        "/console/default/branding": "viewer", "/console/default/mail": "viewer",
        "/console/-/outbox": "deployment", "/console/-/health": "deployment", "/console/-/apps": "viewer",
        "/console/-/limits": "viewer",
    }
    ROLES = ["viewer", "support", "admin", "owner", "deployment"]

    def test_each_page_for_each_role(self):
        user, commands = self.user(), set()
        for role in self.ROLES:
            arguments = [] if role == "deployment" else ["--app", "default"]
            visitor = self.administrator("owner" if role == "deployment" else role, *arguments)
            for path, least in self.PAGES.items():
                allowed = self.ROLES.index(role) >= self.ROLES.index(least)
                with self.subTest(role=role, path=path):
                    page = visitor.open(path.replace("{user}", user))
                    self.assertEqual(page.status, 200 if allowed else 403, page.text)
                    self.assertEqual(len(re.findall(b"<h1>", page.body)), 1)
                    commands |= set(re.findall(
                        r"^dossier (?:[a-z][a-z-]* ){1,2}", self.commands(page), re.MULTILINE))
        for command in sorted(commands):
            self.site.dossier(*command.split()[1:], "--help", output="text")

    def commands(self, page):
        """Returns the commands that a page shows."""
        return page.text.partition("Command line")[2]

    def test_forms_need_the_right_of_their_operation(self):
        viewer, support = [self.administrator(role, "--app", "default") for role in ["viewer", "support"]]
        user = self.user()
        path = f"/console/default/users/{user}"
        page = viewer.open(path)
        actions = [form.action for form in page.forms]
        self.assertFalse([action for action in actions if path in action], actions)
        self.assertNotIn("Delete", page.links)
        page = support.open(path)
        self.assertEqual(page.links["Block"], f"{path}/block")
        self.assertNotIn(f"{path}/metadata", [form.action for form in page.forms])
        # A question without its right is refused before it is asked.
        page = support.open(f"{path}/delete")
        self.assertEqual(page.status, 403)
        self.assertIn("Your role (support)", page.text)

    def test_an_app_of_others_is_unknown(self):
        self.site.dossier("app", "create", "elsewhere")
        visitor = self.administrator("owner", "--app", "default")
        unknown = visitor.open("/console/nowhere/users")
        other = visitor.open("/console/elsewhere/users")
        self.assertEqual((unknown.status, other.status), (404, 404))
        self.assertEqual(unknown.text.replace("nowhere", ""), other.text.replace("elsewhere", ""))
        page = visitor.open("/console/-/apps")
        self.assertNotIn("elsewhere", page.text)
        client = self.site.dossier("client", "create", "--app", "elsewhere", "x", "kind=native")
        self.assertEqual(visitor.open(f"/console/default/applications/{client['id']}").status, 404)


class Records(ConsoleCase):
    def test_an_application_from_the_form_to_its_deletion(self):
        visitor = self.administrator()
        page = visitor.open("/console/default/applications")
        visitor.open(page.links["Create application"])
        page = visitor.submit("/new", name="", kind="web")
        self.assertEqual(page.status, 422)
        page = visitor.submit("/new", name="Reports", kind="web")
        self.assertIn("Created Reports", page.text)
        self.assertIn("The secret is shown only now.", page.text)
        path = page.path.split("?")[0]
        self.assertNotIn("shown only now", visitor.open(path).text)
        page = visitor.submit(path, callback_urls="https://a.example.com/cb\r\nhttps://b.example.com/cb")
        self.assertIn("The changes are saved.", page.text)
        shown = self.site.dossier("client", "show", path.split("/")[-1])
        self.assertEqual(shown["callback_urls"], ["https://a.example.com/cb", "https://b.example.com/cb"])
        page = visitor.submit(path, callback_urls="nonsense here")
        self.assertEqual(page.status, 422)
        self.assertIn("nonsense here", visitor.form(path).fields["callback_urls"])
        self.assertIn("CLIENT_ID=", visitor.open(f"{path}/start").text)
        self.assertIn("shown only now", self.confirmed(visitor, f"{path}/secret").text)
        visitor.open(f"{path}/delete")
        self.assertIn("Deleted Reports", visitor.submit("/delete", confirmation="Reports").text)
        self.assertEqual(visitor.open(path).status, 404)

    def test_a_new_application_has_its_type_and_its_urls(self):
        visitor = self.administrator()
        visitor.open("/console/default/applications/new")
        # The type is in sight, and none is chosen.
        body = visitor.page.body.decode()
        self.assertLess(body.index('id="kind"'), body.index("<summary>Advanced") if
                        "<summary>Advanced" in body else len(body))
        page = visitor.submit("/new", name="Shop")
        self.assertEqual(page.status, 422)
        page = visitor.submit("/new", name="Shop", kind="single_page",
                              callback_urls="http://localhost:3317/*")
        self.assertEqual(page.status, 422)
        self.assertIn("Only http://localhost:* is a pattern", page.errors[0])
        page = visitor.submit("/new", name="Shop", kind="single_page",
                              callback_urls="http://localhost:*\r\nhttps://shop.example.com/cb")
        self.assertIn("Created Shop", page.text)
        path = page.path.split("?")[0]
        client = path.rsplit("/", 1)[1]
        page = visitor.open(f"{path}/start")
        # The own library stands first, and the page says what a sign-out needs.
        text = page.text
        self.assertLess(text.index("dossier.js"), text.index("oidc-client-ts"))
        self.assertLess(text.index("oidc-client-ts"), text.index("auth0-spa-js"))
        self.assertIn(f'signInRedirect(dossier, {{ client: "{client}" }})', text)
        self.assertIn("Allowed Logout URLs", text)
        self.site.dossier("client", "set", client, "logout_urls=https://shop.example.com/")
        self.assertNotIn("Allowed Logout URLs", visitor.open(f"{path}/start").text)

    def test_a_connection_takes_its_service_from_its_name(self):
        visitor = self.administrator()
        visitor.open("/console/default/connections/new")
        self.assertEqual(visitor.form("/new").fields["preset"], "")
        page = visitor.submit("/new", name="google", client_id="1", client_secret="2")
        self.assertIn("Created google", page.text)
        self.addCleanup(self.site.dossier, "connection", "delete", "google", "--yes", check=False)
        self.assertEqual(self.site.dossier("connection", "show", "google")["preset"], "google")

    def test_a_user_without_a_password_gets_a_link(self):
        visitor, email = self.administrator("admin"), self.own_email()
        visitor.open("/console/default/users/new")
        page = visitor.submit("/new", email=email)
        self.assertIn("No email was sent yet.", page.text)
        self.assertIn("The email is on its way.", visitor.submit("/sign-in/reset").text)

    def test_a_record_is_not_overwritten(self):
        visitor = self.administrator()
        client = self.site.dossier("client", "create", "--app", "default", "Mobile", "kind=native")
        path = f"/console/default/applications/{client['id']}"
        visitor.open(path)
        self.site.dossier("client", "set", client["id"], "description=theirs")
        page = visitor.submit(path, description="mine")
        self.assertEqual(page.status, 412)
        self.assertIn("Now it is “theirs”.", page.errors)
        self.assertEqual(visitor.form(path).fields["description"], "mine")
        self.assertIn("saved", visitor.submit(path).text)

    def test_settings_have_a_form_for_each_subject(self):
        visitor = self.administrator()
        page = visitor.open("/console/default/settings")
        subjects = [link for link in page.links.values() if "/settings/" in link]
        self.assertGreater(len(subjects), 10)
        for path in subjects:
            page = visitor.open(path)
            self.assertEqual(page.status, 200)
            # A form that is sent as it is changes nothing.
            self.assertIn("Nothing has changed.", visitor.submit(path).text, path)
        path = "/console/default/settings/account"
        visitor.open(path)
        page = visitor.submit(path, password_min_length="0")
        self.assertEqual(page.status, 422)
        self.assertEqual(len(page.errors), 1, page.errors)
        page = visitor.submit(path, password_min_length="12")
        self.assertIn("Saved: Password min length.", visitor.submit("/apply").text)
        self.addCleanup(self.site.set_app, password_min_length=8)
        self.assertEqual(self.site.dossier("app", "show")["settings"]["password_min_length"], 12)


if __name__ == "__main__":
    unittest.main()
