"""Tests dossierd on inherited sockets, as from systemd, and its messages to systemd."""

import base64
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from deployment import Deployment
from machine import BUILD, wait_until


class Activation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        path = str(pathlib.Path(folder.name) / "notify")
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.bind(path)
        os.chmod(path, 0o777)
        self.manager.settimeout(120)
        self.site = Deployment(activated=True, settings=[("NOTIFY_SOCKET", path)])
        self.addCleanup(self.site.stop)

    def test_passed_sockets_survive_a_restart_and_systemd_is_notified(self):
        self.assertEqual(self.manager.recv(100), b"READY=1")
        self.assertEqual(len(self.site.workers()), 2)
        token = self.site.login()["access_token"]
        for _ in range(8):
            self.assertEqual(self.site.get("/v1/me", token=token).status, 200)
        self.site.supervisor.send_signal(signal.SIGTERM)
        self.assertEqual(self.manager.recv(100), b"STOPPING=1")
        self.assertEqual(self.site.supervisor.wait(120), 0)
        # Requests of this time wait in the sockets for the next start.
        answers = []
        clients = [
            threading.Thread(target=lambda: answers.append(self.site.get("/v1/me", token=token).status))
            for _ in range(8)]
        for client in clients:
            client.start()
        self.site.start_dossierd()
        for client in clients:
            client.join()
        self.assertEqual(answers, [200] * 8)
        self.assertEqual(self.manager.recv(100), b"READY=1")

    def test_workers_on_passed_sockets_are_replaced(self):
        before = self.site.workers()
        self.site.supervisor.send_signal(signal.SIGHUP)
        wait_until(lambda: len(self.site.workers()) == 2 and not set(before) & set(self.site.workers()),
                   what="new workers")
        self.assertEqual(self.site.get("/healthz").status, 200)

    def test_systemd_shows_why_a_reload_was_refused(self):
        self.assertEqual(self.manager.recv(100), b"READY=1")
        reload = [BUILD / "dossierd", "reload", str(self.site.supervisor.pid)]
        self.site.sql("alter table schema_migrations rename to away")
        refused = subprocess.run(reload, capture_output=True, text=True)
        self.site.sql("alter table away rename to schema_migrations")
        self.assertEqual(refused.returncode, 1)
        status = self.manager.recv(2000).decode()
        self.assertIn("STATUS=the old workers keep running: ", status)
        self.assertIn("not ready: schema", status)
        subprocess.run(reload, check=True)
        self.assertEqual(self.manager.recv(100), b"STATUS=2 workers replaced")

    def end(self):
        """Ends dossierd during its delay after an error. Returns its exit status."""
        self.assertIsNone(self.site.supervisor.poll())
        self.site.supervisor.terminate()
        return self.site.supervisor.wait(120)

    def start_wrongly(self, words, setting, value):
        self.site.supervisor.terminate()
        self.site.supervisor.wait(120)
        count = len(self.site.messages())
        self.site.environment[setting] = value
        self.site.start_dossierd()
        wait_until(lambda: any(words in line for line in self.site.messages()[count:]), what=words)

    def test_dossierd_delays_its_exit_if_the_database_contradicts_the_settings(self):
        """A fast end would let systemd restart it five times a second for waiting clients.

        systemd would then close the sockets.
        """
        self.start_wrongly(
            "no worker can start", "DOSSIER_MASTER_KEY", base64.b64encode(os.urandom(32)).decode())
        wait_until(lambda: self.site.messages()[-1] == "ended", what="the end of the workers")
        self.assertEqual(self.end(), 0)

    def test_sockets_that_differ_from_the_settings_are_refused(self):
        for setting, value, told in [("DOSSIER_SOCKET_DIRECTORY", "/run/elsewhere", "/run/elsewhere/"),
                                     ("DOSSIER_LISTEN", "127.0.0.1:9700", "127.0.0.1:9700")]:
            with self.subTest(setting):
                before = self.site.environment.get(setting, "")
                self.start_wrongly("/worker-0.sock, but nginx uses", setting, value)
                self.site.environment[setting] = before
                self.assertIn(told, self.site.messages()[-1])
                self.end()


if __name__ == "__main__":
    unittest.main()
