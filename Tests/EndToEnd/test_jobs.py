"""Jobs of administrators, by the command line and over HTTP."""

import json
import os
import pathlib
import signal
import tempfile
import unittest

from asking import JSON
from cases import Administration
from machine import wait_until


def jobs_of(site, job, state=None):
    """Waits until a job has ended, or is in a state. Returns it."""
    def ended():
        shown = site.dossier("job", "show", job)
        return shown if shown["state"] == (state or shown["state"]) and (
            state or shown["state"] != "running") else None
    found = []
    wait_until(lambda: found.append(ended()) or found[-1], what=f"the job {job}")
    return found[-1]


class JobCase(Administration):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, text):
        path = self.folder / "input"
        path.write_text(text)
        return str(path)

    def results(self, job):
        path = self.folder / "results"
        self.site.dossier("job", "results", job, "--output", str(path), output=None)
        return [json.loads(line) for line in path.read_text().splitlines()]

    def count(self, condition):
        return int(self.site.sql(f"select count(*) from users where {condition}"))


class Jobs(JobCase):
    """The command line."""

    def test_an_import_whose_worker_is_killed_goes_on(self):
        count = 12_000
        rows = [{"email": f"killed-{n}@example.com"} if n % 100 else {"email": "no"}
                for n in range(count)]
        path = self.file("".join(json.dumps(row) + "\n" for row in rows))
        job = self.site.dossier("job", "start", "import", "--input", path)["id"]
        checked = jobs_of(self.site, job)
        self.assertEqual(checked["state"], "checked", checked)
        counts = {"rows": count, "created": count - 120, "updated": 0, "skipped": 0, "failed": 120}
        self.assertEqual(checked["counts"], counts)
        self.assertEqual(len(checked["errors"]), 100)
        self.assertEqual(checked["errors"][1]["line"], 101)
        self.assertEqual(self.count("email like 'killed-%'"), 0)
        self.site.dossier("job", "run", job)
        # Some rows are written, and not all.
        wait_until(lambda: self.site.dossier("job", "show", job)["done"] > 0, what="rows")
        before = self.site.workers()
        for worker in before:
            os.kill(worker, signal.SIGKILL)
        self.assertLess(self.count("email like 'killed-%'"), count - 120)
        wait_until(lambda: not set(self.site.workers()) & set(before), what="other workers")
        ended = jobs_of(self.site, job)
        self.assertEqual((ended["state"], ended["counts"]), ("done", counts))
        self.assertEqual([result["line"] for result in self.results(job)], list(range(1, count + 1)))
        self.assertEqual(self.count("email like 'killed-%'"), count - 120)
        self.assertEqual(
            self.site.sql(f"select claim > 2 from jobs where job_id = '{job}'"), "t")

    def test_changes_and_exports(self):
        self.site.sql(
            "insert into users (user_id, app_id, anonymous, name) select new_object_id(), app_id, "
            "true, 'Bulk' from apps, generate_series(1, 250) where apps.name = 'default'")
        job = self.site.dossier("job", "start", "block", "--filter", 'name = "Bulk"')
        self.assertEqual((job["kind"], job["action"], job["total"]), ("bulk", "block", 250))
        ended = jobs_of(self.site, job["id"])
        self.assertEqual((ended["state"], ended["counts"]), ("done", {"done": 250}))
        self.assertEqual(self.count("name = 'Bulk' and blocked_at is not null"), 250)
        results = self.results(job["id"])
        self.assertEqual({result["outcome"] for result in results}, {"done"})
        ids = [result["id"] for result in results]
        self.assertEqual(len(set(ids)), 250)
        # The users of a file; one of them does not exist.
        path = self.file("\n".join(ids[:2] + ["5eed00000000000000009999"]))
        job = self.site.dossier("job", "start", "unblock", "--users", path)["id"]
        ended = jobs_of(self.site, job)
        self.assertEqual(ended["counts"], {"done": 2, "failed": 1})
        self.assertEqual(ended["errors"], [
            {"id": "5eed00000000000000009999", "outcome": "failed", "error": "not_found"}])
        job = self.site.dossier("job", "start", "export", "--filter", 'name = "Bulk"')["id"]
        jobs_of(self.site, job)
        exported = self.results(job)
        self.assertEqual({user["id"] for user in exported}, set(ids))
        self.assertEqual(sum(user["blocked"] for user in exported), 248)
        listed = [one["id"] for one in self.site.dossier("job", "list")]
        self.assertEqual(listed, sorted(listed, reverse=True))
        self.assertIn(job, listed)
        # Deletion needs a confirmation, and removes all.
        path = self.file("\n".join(ids))
        self.refused(23, "job", "start", "delete", "--users", path)
        job = self.site.dossier("job", "start", "delete", "--users", path, "--yes")["id"]
        self.assertEqual(jobs_of(self.site, job)["counts"], {"done": 250})
        self.assertEqual(self.count("name = 'Bulk'"), 0)
        self.refused(11, "job", "stop", job, words="does not run")
        self.site.dossier("job", "delete", job, "--yes")
        self.refused(10, "job", "show", job)
        self.assertEqual(self.site.sql(f"select count(*) from job_parts where job_id = '{job}'"), "0")
        actions = {event["action"] for event in self.audit_events("--app", "default", "--action", "job_*")}
        self.assertLessEqual({"job_start", "job_end", "job_download", "job_remove"}, actions)

    def test_over_http(self):
        operator = self.site.client("--operator")["secret"]
        program = self.site.client("--app", "default", "scopes=read:users,update:users")

        def ask(method, path, body=None, key=operator):
            return self.site.request(
                method, path, body, {**JSON, "Dossier-App": "default"} if body else
                {"Dossier-App": "default"}, key)

        made = self.expect(ask("POST", "/v1/jobs", {"kind": "export"}), 201).json
        jobs_of(self.site, made["id"])
        results = self.expect(ask("GET", f"/v1/jobs/{made['id']}/results"), 200)
        self.assertEqual(results.headers["Content-Type"], "application/octet-stream")
        self.assertEqual(
            int(results.headers["Content-Length"]),
            self.expect(ask("GET", f"/v1/jobs/{made['id']}"), 200).json["result_bytes"])
        # API clients of an app, and callers without a key, are refused.
        self.expect(ask("POST", "/v1/jobs", {"kind": "export"}, program["secret"]), 403)
        self.expect(ask("GET", "/v1/jobs", key=program["secret"]), 403)
        self.expect(ask("GET", f"/v1/jobs/{made['id']}/results", key=None), 401)


if __name__ == "__main__":
    unittest.main()
