"""Jobs at the console: changes of many users, imports and exports."""

import json
import unittest

from console import ConsoleCase, quoted
from test_console_browser import ConsoleBrowserCase
from test_jobs import JobCase, jobs_of


class Console(JobCase, ConsoleCase):
    """The console, without scripts."""

    def test_a_change_over_two_pages_of_users(self):
        admin = self.administrator("admin")
        self.site.sql(
            "insert into users (user_id, app_id, anonymous, name) select new_object_id(), app_id, "
            "true, 'Two pages' from apps, generate_series(1, 60) where apps.name = 'default'")
        page = admin.open(quoted("/console/default/users", filter='name = "Two pages"'))
        self.assertIn("All that match this filter", page.text)
        form = admin.form("/bulk")
        page = admin.open(quoted(
            form.action, filter=form.fields["filter"], action="block", scope="all"))
        self.shows(page, "Block: confirm")
        self.assertIn("60 users", page.text)
        self.assertEqual(page.text.count("GuestTwo pages"), 5, page.text)
        page = admin.submit("/bulk")
        self.assertIn("The job has begun", page.text)
        job = page.path.split("/")[-1].split("?")[0]
        jobs_of(self.site, job)
        page = admin.open(page.path.split("?")[0])
        self.assertIn("Done", page.text)
        self.assertEqual(self.count("name = 'Two pages' and blocked_at is not null"), 60)
        # Chosen users, and a deletion whose number is typed.
        ids = self.site.sql("select user_id from users where name = 'Two pages' limit 2").split()
        chosen = {f"user:{user}": "true" for user in ids}
        page = admin.open(quoted("/console/default/users/bulk", action="delete", **chosen))
        self.assertIn("2 users", page.text)
        self.shows(admin.submit("/bulk", count="3"), "Delete: confirm",
                   "Type the number of users.", status=422)
        page = admin.submit("/bulk", count="2")
        jobs_of(self.site, page.path.split("/")[-1].split("?")[0])
        self.assertEqual(self.count("name = 'Two pages'"), 58)
        actors = {event["actor"].split(":")[0] for event in self.audit_events("--app", "default")
                  if event["action"] == "user_block"}
        self.assertIn("administrator", actors)
        # No user, and too many.
        self.assertIn("no user", admin.open("/console/default/users/bulk?action=block").text)
        self.assertNotIn("/bulk", self.administrator("viewer").open("/console/default/users").body.decode())

    def test_an_import_by_upload(self):
        admin = self.administrator("admin")
        page = self.shows(admin.open("/console/default/transfer"), "Import and export")
        page = admin.submit("/transfer/import", format="dossier", existing="skip")
        self.assertIn("Takes input", page.text)
        job = page.path.split("/")[-1].split("?")[0]
        self.shows(admin.upload("/input", "file", b""), "Import Takes input",
                   "Choose a file that is not empty.", status=422)
        lines = [json.dumps({"email": f"upload-{n}@example.com"}) for n in range(20)] + ["{"]
        text = "\n".join(lines).encode()
        admin.upload("/input", "file", text[:100])
        page = admin.upload("/input", "file", text[100:])
        self.assertIn("Uploaded", page.text)
        self.assertNotIn("Start the import", page.text)
        page = admin.submit("/start")
        if "Refresh" in page.headers:
            self.assertEqual(page.headers["Refresh"], f"5; url={page.path.split('?')[0]}")
        self.assertEqual(jobs_of(self.site, job)["state"], "checked")
        page = admin.open(page.path.split("?")[0])
        self.assertIn("Start the import", page.text)
        self.assertEqual(self.count("email like 'upload-%'"), 0)
        self.assertIn("21", page.text)
        page = admin.submit("/start", dry_run="false")
        self.assertEqual(jobs_of(self.site, job)["counts"]["created"], 20)
        page = admin.open(page.path.split("?")[0])
        self.assertEqual(self.count("email like 'upload-%'"), 20)
        results = admin.open(page.links["Download the results"])
        self.assertIn(f"default-{job}.ndjson", results.headers["Content-Disposition"])
        self.assertEqual(len(results.body.splitlines()), 21)
        admin.open(page.path)
        self.shows(admin.submit("/remove"), "Import and export")
        self.refused(10, "job", "show", job)

    def test_roles_and_recent_authentication(self):
        for role in ("viewer", "support"):
            visitor = self.administrator(role)
            page = visitor.open("/console/default/transfer")
            self.assertEqual(page.status, 403, role)
            self.assertNotIn("/transfer", visitor.open("/console/default").body.decode())
        admin = self.administrator("admin")
        admin.open("/console/default/transfer")
        self.site.sql("update sessions set authenticated_at = authenticated_at - interval '11 minutes'")
        # The form waits for the confirmation, and nothing has begun.
        before = self.site.sql("select count(*) from jobs")
        self.shows(admin.submit("/transfer/export"), "Confirm that it is you", status=403)
        self.assertEqual(self.site.sql("select count(*) from jobs"), before)
        page = admin.open("/console/default/transfer")
        self.assertIn("Confirm that it is you", page.links)
        self.assertEqual([form.action for form in page.forms if "transfer" in form.action], [])
        job = self.site.dossier("job", "start", "export")["id"]
        jobs_of(self.site, job)
        self.shows(admin.open(f"/console/default/transfer/{job}/results"), "Confirm that it is you")
        # A forged form, and one of another site.
        other = self.administrator("admin")
        other.open("/console/default/transfer")
        self.assertEqual(
            other.submit("/transfer/export", origin="https://evil.example").status, 403)
        self.assertEqual(other.open("/console/default/transfer").status, 200)
        self.assertEqual(other.submit("/transfer/export", token="x").status, 403)


class Browser(ConsoleBrowserCase, JobCase):
    """The console in Chromium."""

    def test_a_change_and_an_import(self):
        self.sign_in_here()
        self.site.sql(
            "insert into users (user_id, app_id, anonymous, name) select new_object_id(), app_id, "
            "true, 'Chromium' from apps, generate_series(1, 55) where apps.name = 'default'")
        self.open(quoted("/console/default/users", filter='name = "Chromium"'))
        self.browser.choose("#action", "block")
        self.press("All that match this filter")
        self.assertEqual(self.heading(), "Block: confirm")
        self.assertIn("55 users", self.text())
        self.look()
        self.press("Block")
        # The page loads itself again until the job has ended.
        self.browser.wait(lambda: "Done" in self.browser.text(".tag"), "the end of the job")
        self.assertEqual(self.count("name = 'Chromium' and blocked_at is not null"), 55)
        self.look()
        # Two chosen users.
        self.open(quoted("/console/default/users", filter='name = "Chromium"'))
        for box in self.browser.all("input[form=bulk]")[:2]:
            box.click()
        self.browser.choose("#action", "unblock")
        self.press("Selected users")
        self.assertIn("2 users", self.text())
        self.press("Unblock")
        self.browser.wait(lambda: "Done" in self.browser.text(".tag"), "the end of the job")
        self.assertEqual(self.count("name = 'Chromium' and blocked_at is null"), 2)
        # An import.
        self.open("/console/default/transfer")
        self.look()
        self.press("Continue")
        path = self.file("".join(
            json.dumps({"email": f"chromium-{n}@example.com"}) + "\n" for n in range(30)) + "{")
        self.browser.find("#file").send_keys(path)
        self.press("Upload the file")
        self.look()
        self.press("Dry run")
        self.browser.wait(
            lambda: self.browser.has("form[action$='/start'] button.primary")
            and "Dry run done" in self.text(), "the dry run")
        self.assertIn("Failed", self.text())
        self.assertEqual(self.count("email like 'chromium-%'"), 0)
        self.press("Start the import")
        self.browser.wait(lambda: self.browser.text(".tag") == "Done", "the import")
        self.assertEqual(self.count("email like 'chromium-%'"), 30)
        self.look()


if __name__ == "__main__":
    unittest.main()
