"""Imports that are killed, resumed or refused."""

import random
import signal
import subprocess
import unittest

from machine import BUILD, wait_until
from test_import import ImportCase, lines


class Runs(ImportCase):
    def test_an_import_that_is_killed_and_resumed_writes_each_row_once(self):
        count = 6_000
        rows = [{"email": f"u{n}@example.com", "name": f"User {n}", "metadata": {"n": n}}
                if n % 50 else {"email": "no"} for n in range(count)]
        self.path.write_text(lines(rows))
        command = [BUILD / "dossier", "user", "import", self.path, "--app", self.app, "--results",
                   self.told, "--batch", "40", "--resume"]
        self.told.unlink(missing_ok=True)
        kills, interrupted, status = 0, 0, None
        rows_told = lambda: self.told.read_text().count("\n") if self.told.exists() else 0
        while status not in (0, 17):
            child = subprocess.Popen(
                command, env=self.site.environment, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE)
            number = signal.SIGINT if kills % 4 == 3 else signal.SIGKILL
            # Within the next tenth of the rows, or before the first of them.
            goal = rows_told() + (random.randrange(600) if kills % 5 else 0)
            wait_until(lambda: kills < 14 and rows_told() >= goal or child.poll() is not None,
                       600, "rows of the import")
            if child.poll() is None:
                child.send_signal(number)
                kills += 1
            status = child.wait()
            interrupted += status == 18
            child.stderr.close()
            self.assertIn(status, (0, 17, 18, -signal.SIGKILL, -signal.SIGINT))
        self.assertGreaterEqual(kills, 10)
        self.assertEqual(status, 17)
        self.assertEqual([r["line"] for r in self.results()], list(range(1, count + 1)))
        good = count - count // 50
        self.assertEqual(self.sql("select count(*) || ' ' || count(distinct email) from users "
                                  "where app_id = {app}"), f"{good} {good}")
        told = {r["id"] for r in self.results() if r["status"] == "created"}
        there = set(self.sql("select user_id from users where app_id = {app}").split())
        self.assertEqual(told, there)
        # Once more: nothing is left to do.
        again = self.dossier(*map(str, command[1:]), status=17)
        self.assertIn(b"0 rows now", again.stderr)
        self.assertEqual(len(self.results()), count)
        events = self.sql("select action from audit where app_id = {app} and user_id = {app} "
                         "and action like 'users_import%' order by event_id").split()
        self.assertEqual(events, ["users_import_begin", "users_import"])

    def test_the_second_of_two_concurrent_runs_stops(self):
        count = 3_000
        self.path.write_text(lines({"name": f"User {n}"} for n in range(count)))
        command = [BUILD / "dossier", "user", "import", self.path, "--app", self.app, "--batch",
                   "20", "--resume"]
        runs = [subprocess.Popen(command, env=self.site.environment, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL) for _ in range(3)]
        statuses = [run.wait(120) for run in runs]
        self.assertIn(0, statuses)
        self.assertLessEqual(set(statuses), {0, 19})
        self.assertEqual(self.sql("select count(*) || ' ' || count(distinct name) from users "
                                  "where app_id = {app}"), f"{count} {count}")

    def test_a_different_input_is_not_resumed(self):
        self.load([{"name": "one"}, {"name": "two"}])
        self.path.write_text(lines([{"name": "other"}, {"name": "two"}, {"name": "three"}]))
        command = ["user", "import", str(self.path), "--app", self.app, "--resume"]
        self.dossier(*command, status=19)
        # A longer file is resumed. Standard input has a name of its own.
        self.path.write_text(lines([{"name": "one"}, {"name": "two"}, {"name": "three"}]))
        self.dossier(*command)
        self.assertEqual(len(self.exported()), 3)
        self.dossier("user", "import", "-", "--app", self.app, input=b'{"name":"four"}\n')
        self.dossier("user", "import", "-", "--app", self.app, "--resume",
                     input=b'{"name":"four"}\n{"name":"five"}')
        self.assertEqual(sorted(u["name"] for u in self.exported()),
                         ["five", "four", "one", "three", "two"])

    def test_missing_and_unwritable_files_are_reported(self):
        self.dossier("user", "import", "/nowhere/at/all", "--app", self.app, status=21)
        self.path.write_text("{}")
        self.dossier("user", "import", str(self.path), "--app", self.app, "--results", "/dev/full",
                     status=21)
        self.dossier("user", "export", "--all", "--app", self.app, "--output", "/dev/full", status=21)
        self.dossier("user", "import", str(self.path), "--app", "no-such-app", status=10)


if __name__ == "__main__":
    unittest.main()
