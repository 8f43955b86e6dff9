"""Tests the console for support: the rights, a verification email, files, versions and merges."""

import csv
import io
import json
import unittest

from console import ConsoleCase, quoted
from test_console_browser import ConsoleBrowserCase


class Rights(ConsoleCase):
    def test_a_refusal_names_who_can_and_asks_for_no_password(self):
        support = self.administrator("support")
        email = self.own_email()
        user = self.user(email=email)
        self.age()
        path = f"/console/default/users/{user}"
        for page in [f"{path}/delete", f"{path}/merge", f"{path}/export", f"{path}/sign-in/factors",
                     "/console/default/users/new", quoted("/console/default/users/bulk", action="block")]:
            shown = self.shows(support.open(page), "Not allowed", status=403)
            self.assertIn("Your role (support) is not enough for this. An admin or owner can do it. "
                          "An owner can change your role.", shown.text)
        self.assertIn("Support, an admin or an owner can do it.",
                      self.administrator("viewer").open(f"{path}/block").text)
        # Those who may are asked for the password.
        admin = self.administrator("admin")
        self.age()
        self.shows(admin.open(f"{path}/delete"), "Confirm that it is you")

    def test_pages_say_what_another_role_can_do(self):
        self.settings(document_versions_kept=5)
        support = self.administrator("support")
        user = self.user()
        self.site.dossier("api", "PUT", f"/v1/users/{user}/metadata", "-", given='{"theme": "dark"}')
        path = f"/console/default/users/{user}"
        for page, words in {
                "/console/default/users": "An admin or owner can create users, export this list as CSV",
                path: "An admin or owner can change the address and the profile",
                f"{path}/custom-data": "An admin or owner can change it.",
                f"{path}/metadata/versions": "An admin or owner can restore a version.",
                f"{path}/properties": "An admin or owner can change properties.",
                f"{path}/roles": "An admin or owner can change the roles.",
                "/console/default/settings/document": "An admin or owner can change settings.",
                "/console/default/branding": "An admin or owner can change the look.",
        }.items():
            self.assertIn(words, support.open(page).text, page)
            self.assertNotIn(words, self.visitor_of("admin").open(page).text, page)

    def visitor_of(self, role):
        self.known = getattr(self, "known", {})
        if role not in self.known:
            self.known[role] = self.administrator(role)
        return self.known[role]


class Verification(ConsoleCase):
    def test_support_sends_a_verification_email(self):
        support = self.administrator("support")
        email = self.own_email()
        self.expect(self.register(email), 201)
        self.site.mailed(email, "ds_verify")
        user = self.site.dossier("user", "show", email)["id"]
        path = f"/console/default/users/{user}"
        support.open(path)
        page = support.submit("/verify/request")
        self.assertIn(f"It goes to {email}", page.text)
        token = self.site.mailed(email, "ds_verify", count=2)
        grant = self.expect(self.login(email), 200).json
        self.expect(self.post("/v1/email/verify", {"token": token}, token=grant["access_token"]), 204)
        self.assertTrue(self.site.dossier("user", "show", user)["email_verified"])
        self.assertNotIn("Send a verification email", support.open(path).text)
        self.assertIn("Email to verify an address sent", support.open(f"{path}/history").text)
        # The command line sends it too. It does not go to a verified address, and viewers send none.
        other = self.user()
        support.open(f"/console/default/users/{other}")
        self.site.dossier("user", "verify-email", other, "--mail")
        self.site.mailed(self.site.dossier("user", "show", other)["email"], "ds_verify")
        self.site.dossier("user", "verify-email", other)
        run = self.site.dossier("user", "verify-email", other, "--mail", check=False)
        self.assertIn("verified already", run.stderr)
        page = support.submit("/verify/request")
        self.assertEqual((page.status, page.errors), (422, ["The email address is verified already. "
                         "Send no email: the user has verified the address, or an operator has."]))
        self.assertNotIn("Send a verification email",
                         self.administrator("viewer").open(f"/console/default/users/{self.user()}").text)

    def test_the_check_offers_the_email(self):
        support = self.administrator("support")
        email = self.own_email()
        self.expect(self.register(email), 201)
        user = self.site.dossier("user", "show", email)["id"]
        self.settings(sign_up="verify_first")
        page = support.open(quoted("/console/default/sign-in-check", user=email))
        self.assertIn("Send a verification email", page.text)
        self.assertIn(f"It goes to {email}", support.submit(f"/users/{user}/verify/request").text)


class Table(ConsoleCase):
    def rows(self, page):
        self.assertEqual(page.headers["Content-Type"], "text/csv")
        self.assertEqual(page.headers["Content-Disposition"], 'attachment; filename="users.csv"')
        return list(csv.DictReader(io.StringIO(page.body.decode())))

    def test_the_list_is_exported_for_a_spreadsheet(self):
        admin = self.administrator("admin")
        email = self.own_email()
        self.expect(self.register(email), 201)
        user = self.site.dossier("user", "show", email)
        self.site.dossier("api", "PATCH", f"/v1/users/{user['id']}", "-",
                          given=json.dumps({"name": '=cmd|"x" Exportwort'}))
        admin.open(quoted("/console/default/users", filter='names = "exportwort"'))
        [row] = self.rows(admin.submit("/users/export"))
        login = self.site.dossier("api", "GET", f"/v1/users/{user['id']}/logins")["last_login_at"]
        self.assertEqual(row, {
            "email": email, "name": '\'=cmd|"x" Exportwort', "created_at": user["created_at"],
            "email_verified": "false", "blocked": "false", "last_login_at": login, "id": user["id"]})
        [event] = self.site.dossier("audit", "--app", "default", "--action", "users_export")
        self.assertEqual(event["detail"], {"count": 1, "format": "csv", "members": ["names"]})
        # All users, in pages of the database.
        self.site.sql(
            "insert into users (user_id, app_id, anonymous, name) select new_object_id(), app_id, "
            "true, 'Many' from apps, generate_series(1, 205) where apps.name = 'default'")
        admin.open(quoted("/console/default/users", filter='name = "Many"', sort="created_at"))
        rows = self.rows(admin.submit("/users/export"))
        self.assertEqual(len({row["id"] for row in rows}), 205)
        # A password is needed, and a role.
        admin.open("/console/default/users")
        self.age()
        self.shows(admin.submit("/users/export"), "Confirm that it is you", status=403)
        self.assertNotIn("Export CSV", self.administrator("support").open("/console/default/users").text)
        key = self.site.client("--app", "default", "scopes=read:users")["secret"]
        found = self.expect(self.site.get("/v1/users/export?filter=name+%3D+%22Many%22", token=key), 200)
        self.assertEqual(len(found.body.splitlines()), 206)
        self.expect(self.site.get("/v1/users/export?limit=5&x=1", token=key), 422)
        self.expect(self.site.get("/v1/users/export?filter=x", token=key), 422, "filter_invalid")
        other = self.site.client("--app", "default", "scopes=update:users")["secret"]
        self.expect(self.site.get("/v1/users/export", token=other), 403, "insufficient_scope")


class Filter(ConsoleCase):
    def test_the_fields_of_the_filter_stay_filled(self):
        visitor = self.administrator()
        asked = {"filter": 'name ^= "A" or name ^= "B"', "state": "blocked", "sort": "created_at",
                 "to": "2999-12-31"}
        page = visitor.open(quoted("/console/default/users", **asked))
        fields = visitor.form("/console/default/users").fields
        self.assertEqual({name: fields[name] for name in asked}, asked)
        self.assertIn('No user matches (name ^= "A" or name ^= "B") and created_at <= '
                      '"2999-12-31T23:59:59.999999Z" and blocked = true', page.text)

    def test_the_number_of_matches_and_the_bulk_actions(self):
        visitor = self.administrator()
        self.site.sql(
            "insert into users (user_id, app_id, anonymous, name) select new_object_id(), app_id, "
            "true, 'Counted' from apps, generate_series(1, 52) where apps.name = 'default'")
        page = visitor.open(quoted("/console/default/users", filter='names = "counted"'))
        self.assertIn("52 users", page.text)
        # Nothing is chosen before the administrator has chosen it.
        self.assertEqual(visitor.form("/bulk").fields["action"], "")
        page = visitor.open("/console/default/users/bulk?scope=all&action=")
        self.shows(page, "Bulk actions")
        self.assertIn("You have chosen no action.", page.text)


class Versions(ConsoleCase):
    def test_versions_and_merges_say_what_and_when(self):
        self.settings(document_versions_kept=5)
        admin = self.administrator("admin")
        mine, theirs = self.own_email(), f"other-{self.own_email()}"
        users = [self.verified(email)["user_id"] for email in [mine, theirs]]
        for body in [{"theme": "dark"}, {"theme": "light", "seat": {"row": 7}}, {"seat": {"row": 8}}]:
            self.site.dossier(
                "api", "PUT", f"/v1/users/{users[0]}/metadata", "-", given=json.dumps(body))
        path = f"/console/default/users/{users[0]}"
        page = admin.open(f"{path}/metadata/versions")
        for words in ['seat.row: 7 → 8', 'theme removed: "light"', 'theme: "dark" → "light"',
                      'seat added: {"row":7}', "the oldest version that is kept"]:
            self.assertIn(words, page.text)
        newest = max(int(link) for link in page.links if link.isdigit())
        page = admin.open(f"{path}/metadata/versions/{newest}")
        self.assertIn("What this version changed", page.text)
        self.assertIn("Last change:", admin.open(path).text)
        # The merge says which document is newer.
        self.site.dossier("api", "PUT", f"/v1/users/{users[1]}/metadata", "-", given='{"theme": "new"}')
        self.site.sql(f"update documents set updated_at = '2001-02-03T04:05:06Z' where user_id = '{users[0]}'")
        page = admin.open(quoted(f"{path}/merge", other=theirs))
        self.assertRegex(page.text, f"Keep that of {mine}, of 2001-02-03 04:05\\s")
        self.assertRegex(page.text, f"Take that of {theirs}, of [0-9: -]+ \\(the newer one\\)")
        self.assertIn(f"Merge {theirs} into {mine}", page.text)


class Browser(ConsoleBrowserCase):
    """The console in Chromium."""

    def test_a_selection_shows_the_bar_and_a_color_has_a_picker(self):
        self.sign_in_here()
        self.user()
        self.open("/console/default/users")
        shown = lambda: self.browser.find("#bulk .selected").is_displayed()
        self.assertFalse(shown())
        self.browser.all("input[form=bulk]")[0].click()
        self.assertTrue(shown())
        self.open("/console/default/branding")
        picker = self.browser.find("input[type=color]")
        self.browser.script(
            "arguments[0].value = '#123456'; arguments[0].dispatchEvent(new Event('input'))", picker)
        self.assertEqual(self.browser.find("#brand_color").get_attribute("value"), "#123456")


if __name__ == "__main__":
    unittest.main()
