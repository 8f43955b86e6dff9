"""What deploy/up makes on the machine: whose folders, sockets and processes."""

import os
import pathlib
import pwd
import stat
import subprocess
import tempfile
import unittest

from machine import IS_ROOT, SERVER_USER, free_port, functions


def described(path):
    found = os.lstat(path)
    return stat.S_IMODE(found.st_mode), pwd.getpwuid(found.st_uid).pw_name


class Deploy(unittest.TestCase):
    def setUp(self):
        data = tempfile.TemporaryDirectory(dir="/tmp", prefix="dossier-deploy-")
        self.addCleanup(data.cleanup)
        self.data = pathlib.Path(data.name)
        self.data.chmod(0o755)
        self.sockets = pathlib.Path(functions('socket_folder "$1"', self.data).stdout.strip())
        self.addCleanup(functions, 'rm -rf "$1"', self.sockets)

    def refused(self, words):
        made = functions('make_socket_folders "$1" 2>&1', self.data)
        self.assertEqual(made.returncode, 77, made.stdout)
        self.assertIn(words, made.stdout)

    def test_folders_of_sockets_are_closed_to_others(self):
        for _ in range(2):
            # A second time they are found as they were made.
            functions('make_socket_folders "$1"', self.data, check=True)
            if IS_ROOT:
                self.assertEqual(self.sockets.parent, pathlib.Path("/run"))
                self.assertEqual(described(self.sockets), (0o755, "root"))
                self.assertEqual(described(self.sockets / "postgres"), (0o750, "postgres"))
                self.assertEqual(described(self.sockets / "workers"), (0o750, SERVER_USER))
            else:
                for folder in [self.sockets, self.sockets / "postgres", self.sockets / "workers"]:
                    self.assertEqual(described(folder), (0o700, SERVER_USER))

    def test_who_made_the_folder_first_does_not_get_the_sockets(self):
        self.sockets.mkdir()
        self.sockets.chmod(0o777)
        self.refused("777")
        self.sockets.rmdir()
        other = self.data / "other"
        other.mkdir(mode=0o700)
        self.sockets.symlink_to(other)
        self.refused("symbolic link")
        self.sockets.unlink()
        if IS_ROOT:
            self.sockets.mkdir()
            self.sockets.chmod(0o755)
            os.chown(self.sockets, pwd.getpwnam("nobody").pw_uid, -1)
            self.refused("nobody")

    def test_nothing_that_serves_runs_as_root_and_only_nginx_reaches_the_workers(self):
        port = free_port()
        self.addCleanup(functions, 'stop_all "$1" 2>/dev/null', self.data)
        started = functions(
            """
            start_postgres "$1"
            make_database "$1" >/dev/null
            start_workers "$1" "$2" 2
            start_nginx "$1" "$2"
            wait_ready "$1" "$2"
            """, self.data, port, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(started.returncode, 0, started.stderr)
        for index in range(2):
            self.assertEqual(
                described(self.sockets / f"workers/worker-{index}.sock"), (0o660, SERVER_USER))
        self.assertEqual(described(self.data / "master-key"), (0o600, SERVER_USER))
        supervisor = int((self.data / "supervisor.pid").read_text())
        children = pathlib.Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text()
        processes = [supervisor, *map(int, children.split())]
        self.assertEqual(len(processes), 3)
        for process in processes:
            status = pathlib.Path(f"/proc/{process}/status").read_text()
            user = {int(word) for word in status.split("\nUid:")[1].split("\n")[0].split()}
            self.assertEqual(user, {pwd.getpwnam(SERVER_USER).pw_uid})
        if IS_ROOT:
            # dossierd may not change the schema.
            for role, may in [("dossier_server", True), ("dossier_owner", False)]:
                asked = functions(
                    '$(as_server) psql -h "$1" -U "$2" -d dossier -Atc "select 1" 2>&1',
                    self.sockets / "postgres", role)
                self.assertEqual(asked.returncode == 0, may, asked.stdout)
            # Another user of the machine gets to no socket.
            for path in [self.sockets / "workers/worker-0.sock",
                         self.sockets / "postgres/.s.PGSQL.5432"]:
                for user, may in [("nobody", False), (SERVER_USER, True)]:
                    found = functions(
                        'setpriv --reuid="$1" --regid="$(id -g "$1")" --clear-groups test -S "$2"',
                        user, path)
                    self.assertEqual(found.returncode == 0, may, (user, path))


if __name__ == "__main__":
    unittest.main()
