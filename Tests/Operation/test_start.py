"""Starts the server by `deploy/up` as README.md says, and follows its first chapters."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from first_minute import FirstMinute, README
from guide import ROOT, commands
from machine import free_port, is_listening, wait_until


class Start(FirstMinute, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        up, = commands("Build it", README)
        cls.folder = tempfile.mkdtemp(prefix="dossier-start-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chmod(cls.folder, 0o755)
        cls.port = free_port()
        cls.log = os.path.join(cls.folder, "log")
        # The release build exists already.
        command = up.split("#")[0].strip() + f" --release --port {cls.port} --data {cls.folder}/data"
        # The programs of the test build are not those of deploy/up, which takes DOSSIER_… for settings.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DOSSIER_")}
        with open(cls.log, "wb") as log:
            cls.server = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=ROOT, env=environment,
                                          stdout=log, stderr=log, start_new_session=True)
        cls.addClassCleanup(cls.stop)
        # A build from nothing takes minutes.
        wait_until(lambda: cls.server.poll() is not None or "Ctrl-C stops" in cls.said(), 3600, "deploy/up")
        if cls.server.poll() is not None:
            raise AssertionError(cls.said())

    @classmethod
    def said(cls):
        with open(cls.log) as log:
            return log.read()

    @classmethod
    def stop(cls):
        # As Ctrl-C does.
        os.killpg(cls.server.pid, signal.SIGINT)
        cls.server.wait(120)
        if is_listening(cls.port):
            raise AssertionError("nginx still listens: " + cls.said())

    def test_what_it_prints(self):
        said = self.said()
        requests, = commands("Try it", README)
        self.assertIn(requests.replace("localhost:8080", f"localhost:{self.port}"), said.replace("\n  ", "\n"))
        self.assertIn("The release build of Dossier", said)
        for command in re.findall(r"(?m)(/\S*/(?:dossier|psql) .*)$", said):
            # A connection to Google would remain.
            if "connection create" not in command:
                self.run_script(f"{command} <<<'select 1'")


if __name__ == "__main__":
    unittest.main()
