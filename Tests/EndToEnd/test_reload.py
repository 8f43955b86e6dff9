"""Reloads: new workers take over if all of them become ready; otherwise the old ones keep serving."""

import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from asking import JSON
from cases import in_parallel
from deployment import Deployment
from machine import BUILD, IS_ROOT, wait_until
from fastcgi import records, responses


class Reload(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        self.settings = self.folder / "dossier.conf"
        self.settings.write_text("log = requests\n")
        # Releases are often installed behind a link.
        self.program = self.folder / "dossierd"
        self.point_to(BUILD / "dossierd")
        self.site = Deployment(
            program=self.program, arguments=["--config", str(self.settings)])
        self.addCleanup(self.site.stop)
        self.token = self.site.login()["access_token"]

    def point_to(self, program):
        self.program.unlink(missing_ok=True)
        self.program.symlink_to(program)

    def reload(self):
        return subprocess.run(
            [BUILD / "dossierd", "reload", str(self.site.supervisor.pid)],
            capture_output=True, text=True, timeout=120)

    def refused(self, *words):
        """Asserts that a reload is refused, with its reason, and changes nothing."""
        before = self.site.workers()
        reload = self.reload()
        self.assertEqual(reload.returncode, 1)
        for word in words:
            self.assertIn(word, reload.stderr)
            self.assertTrue(any("the old workers keep running" in line and word in line
                                for line in self.site.messages()))
        self.assert_only(before)
        for _ in range(20):
            self.assertEqual(self.site.get("/v1/me", token=self.token).status, 200)

    def assert_only(self, workers):
        """Waits until no other workers run, and asserts that these do."""
        wait_until(lambda: set(self.site.workers()) <= set(workers), what="the end of the others")
        self.assertEqual(sorted(self.site.workers()), sorted(workers))

    def succeeds(self):
        before = self.site.workers()
        reload = self.reload()
        self.assertEqual((reload.returncode, reload.stderr), (0, ""))
        after = set(self.site.workers()) - set(before)
        self.assertEqual(len(after), 2)
        self.assert_only(after)
        self.assertEqual(self.site.get("/v1/me", token=self.token).status, 200)

    def test_invalid_settings_change_nothing(self):
        self.settings.write_text("logg = requests\n")
        self.refused("there is no setting logg", "exit 78")
        # A signal, whose result no client awaits.
        before = self.site.workers()
        count = len(self.site.messages())
        self.site.supervisor.send_signal(signal.SIGHUP)
        wait_until(
            lambda: any("keep running" in line for line in self.site.messages()[count:]), what="the word")
        self.assert_only(before)
        # The replacement of a dead worker uses the settings in force.
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: len(self.site.workers()) == 2 and before[0] not in self.site.workers(),
                   what="another worker")
        for _ in range(20):
            self.assertEqual(self.site.get("/v1/me", token=self.token).status, 200)
        self.assertFalse(any("exit 78" in line for line in self.site.messages()[count + 3:]))
        self.settings.write_text("log = requests\n")
        self.succeeds()
        # No worker of earlier reloads is left.
        self.succeeds()

    def test_a_reload_reads_the_file_of_a_secret_again(self):
        secret = self.folder / "database"
        secret.write_text(self.site.conninfo("server") + "\n")
        self.settings.write_text(f"log = requests\ndatabase_file = {secret}\n")
        del self.site.environment["DOSSIER_DATABASE"]
        self.site.supervisor.send_signal(signal.SIGTERM)
        self.site.supervisor.wait(120)
        self.site.start_dossierd()
        self.site.wait_until_ready()
        # A store of secrets makes a user for some time, and then another.
        self.site.sql("create role successor login in role server")
        secret.write_text(self.site.conninfo("successor") + "\n")
        self.succeeds()
        self.site.login()

        def users():
            return self.site.sql("select string_agg(distinct usename, ',') from pg_stat_activity "
                                 "where application_name like 'dossierd%'")

        wait_until(lambda: users() == "successor", what="connections of the other user")
        secret.write_text("host=/nowhere\n")
        self.refused("database")

    def test_a_reload_starts_the_new_program_behind_the_link(self):
        release = self.folder / "release-2"
        release.write_text("#!/bin/sh\necho this is release 2 >&2\nexit 3\n")
        release.chmod(0o755)
        self.point_to(release)
        self.refused("exit 3: this is release 2")
        self.program.unlink()
        self.refused("No such file or directory")
        self.point_to(BUILD / "dossierd")
        self.succeeds()

    def test_one_worker_runs_maintenance_after_reloads(self):
        def maintenance_workers():
            lines = [pathlib.Path(f"/proc/{worker}/cmdline").read_bytes().split(b"\0")
                     for worker in self.site.workers()]
            return sum(b"--maintenance" in line for line in lines)

        self.assertEqual(maintenance_workers(), 1)
        for _ in range(2):
            self.succeeds()
            self.assertEqual(maintenance_workers(), 1)

    def test_a_database_that_refuses_new_workers(self):
        # Open connections stay open: those of each worker, and on Citus those to the user's node.
        in_parallel(16, lambda _: self.site.get("/v1/me", token=self.token))
        self.site.sql("alter role server nologin")
        self.refused("not ready: database: ", "not permitted to log in")
        self.site.sql("alter role server login")
        self.succeeds()

    def start_with(self, database):
        """Restarts dossierd with a database that a reload can change."""
        self.site.supervisor.send_signal(signal.SIGTERM)
        self.site.supervisor.wait(120)
        self.site.environment.pop("DOSSIER_DATABASE", None)
        self.settings.write_text(f"database = {database}\n")
        self.site.start_dossierd()

    def test_no_request_reaches_the_old_workers_after_a_corrected_password(self):
        rules = self.site.folder / "postgres/pg_hba.conf"
        self.site.sql("alter role server password 'right'")
        rules.write_text("local all server scram-sha-256\n" + rules.read_text())
        self.site.sql("select pg_reload_conf()")
        database = self.site.conninfo("server")
        self.start_with(f"{database} password=wrong")
        wait_until(lambda: b"password authentication" in self.site.get("/readyz").body,
                   what="the reason")
        before = self.site.workers()
        answers, stopping, is_corrected = [], threading.Event(), threading.Event()

        def ask():
            while not stopping.is_set():
                began = is_corrected.is_set()
                answers.append((began, self.site.request(
                    "POST", "/v1/login/anonymous", {}, JSON).status))

        clients = [threading.Thread(target=ask) for _ in range(8)]
        for client in clients:
            client.start()
        # nginx has connections by then.
        wait_until(lambda: len(answers) > 100, what="answers")
        self.settings.write_text(f"database = {database} password=right\n")
        reload = self.reload()
        is_corrected.set()
        self.assertEqual((reload.returncode, reload.stderr), (0, ""))
        wait_until(lambda: not set(before) & set(self.site.workers()), what="the end of the old ones")
        stopping.set()
        for client in clients:
            client.join()
        # Of a connection on which a request crossed the worker's request to close it, one.
        late = [status for began, status in answers if began and status != 200]
        self.assertLessEqual(len(late), 2 * len(clients))
        self.assertLessEqual(set(late), {503})

    def test_reloads_lose_no_write(self):
        statuses, stopping = [], threading.Event()

        def ask():
            while not stopping.is_set():
                statuses.append(self.site.request(
                    "POST", "/v1/login/anonymous", {}, JSON).status)

        clients = [threading.Thread(target=ask) for _ in range(8)]
        for client in clients:
            client.start()
        for _ in range(8):
            self.succeeds()
        stopping.set()
        for client in clients:
            client.join()
        self.assertEqual(set(statuses), {200}, len(statuses))

    def test_settings_that_need_a_restart_are_reported(self):
        self.settings.write_text("socket_mode = 0600\nconnections = 400\n")
        self.refused("socket_mode is '0600' and was '0660' at the start: that needs a restart")

    def test_a_reload_requires_a_dossierd_process_of_the_same_user(self):
        with subprocess.Popen(["sleep", "60"]) as other:
            reload = subprocess.run(
                [BUILD / "dossierd", "reload", str(other.pid)], capture_output=True, text=True)
            other.kill()
        self.assertEqual(reload.returncode, 1)
        self.assertIn("is not a running dossierd", reload.stderr)
        if IS_ROOT:
            before = self.site.workers()
            reload = subprocess.run(
                ["setpriv", "--reuid=nobody", "--clear-groups", BUILD / "dossierd", "reload",
                 str(self.site.supervisor.pid)], capture_output=True, text=True)
            self.assertEqual(reload.returncode, 1)
            self.assertIn("only root and the user of dossierd", reload.stderr)
            self.assert_only(before)

    def test_a_taken_control_socket_does_not_prevent_serving(self):
        (self.folder / "thief").mkdir()
        thief = self.folder / "thief/dossierd"
        thief.write_text(
            "#!/usr/bin/python3\n"
            "import os, socket, sys\n"
            "name = f'\\0dossierd-{os.getpid()}'.ljust(108, '\\0')\n"
            "thief = socket.socket(socket.AF_UNIX)\n"
            "thief.bind(name)\n"
            "os.set_inheritable(thief.fileno(), True)\n"
            f"os.execv('{BUILD}/dossierd', sys.argv)\n")
        thief.chmod(0o755)
        site = Deployment(program=thief)
        self.addCleanup(site.stop)
        self.assertTrue(any("will not reach this" in line for line in site.messages()))
        self.assertEqual(site.get("/healthz").status, 200)

    def test_workers_start_if_the_name_of_the_program_has_no_folder(self):
        unnamed = self.folder / "unnamed"
        unnamed.write_text(f'#!/bin/bash\nPATH=/nowhere exec -a dossierd {BUILD}/dossier "$@"\n')
        unnamed.chmod(0o755)
        site = Deployment(program=unnamed)
        self.addCleanup(site.stop)
        self.assertEqual(site.get("/healthz").status, 200)

    def test_an_old_supervisor_does_not_remove_the_sockets_of_a_new_one(self):
        old = self.site.supervisor
        # A second one on live sockets is refused.
        second = subprocess.run(
            self.site.command, env=self.site.environment, capture_output=True, text=True, timeout=120)
        self.assertEqual(second.returncode, 1)
        self.assertIn("is in use", second.stdout)
        # An open connection keeps the old worker alive.
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.site.socket(0)))
            client.sendall(records())
            self.assertIn(b"200 OK", responses(client))
            old.send_signal(signal.SIGTERM)
            wait_until(lambda: not self.site.socket(1).exists(), what="the end of the old sockets")
            self.site.start_dossierd()
            wait_until(lambda: self.site.socket(1).exists() and self.site.get("/readyz").status == 200,
                       what="the new one")
            self.assertIsNone(old.poll())
        self.assertEqual(old.wait(120), 0)
        for index in range(2):
            self.assertTrue(self.site.socket(index).exists())
        for _ in range(20):
            self.assertEqual(self.site.get("/v1/me", token=self.token).status, 200)


if __name__ == "__main__":
    unittest.main()
