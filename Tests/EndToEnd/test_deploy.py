"""Tests the owners of the folders, sockets and processes of deploy/up."""

import contextlib
import http.client
import json
import os
import pathlib
import pwd
import stat
import subprocess
import tempfile
import unittest

from machine import FOREIGN, IS_ROOT, ROOT, SERVER_USER, free_port, functions, wait_until


def described(path):
    found = os.lstat(path)
    return stat.S_IMODE(found.st_mode), pwd.getpwuid(found.st_uid).pw_name


class Case(unittest.TestCase):
    def setUp(self):
        data = tempfile.TemporaryDirectory(dir="/tmp", prefix="dossier-deploy-")
        self.addCleanup(data.cleanup)
        self.data = pathlib.Path(data.name)
        self.data.chmod(0o755)
        self.sockets = pathlib.Path(functions('socket_folder "$1"', self.data).stdout.strip())
        self.addCleanup(functions, 'rm -rf "$1"', self.sockets)


class Deploy(Case):
    # Takes long for its number of tests.
    LONG = True

    def refused(self, words):
        made = functions('make_socket_folders "$1" 2>&1', self.data)
        self.assertEqual(made.returncode, 77, made.stdout)
        self.assertIn(words, made.stdout)

    def test_socket_folders_are_inaccessible_to_other_users(self):
        for _ in range(2):
            # The second call finds them unchanged.
            functions('make_socket_folders "$1"', self.data, check=True)
            if IS_ROOT:
                self.assertEqual(self.sockets.parent, pathlib.Path("/run"))
                self.assertEqual(described(self.sockets), (0o755, "root"))
                self.assertEqual(described(self.sockets / "postgres"), (0o750, "postgres"))
                self.assertEqual(described(self.sockets / "workers"), (0o750, SERVER_USER))
            else:
                for folder in [self.sockets, self.sockets / "postgres", self.sockets / "workers"]:
                    self.assertEqual(described(folder), (0o700, SERVER_USER))

    def test_a_socket_folder_made_by_another_user_is_refused(self):
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

    def test_no_server_runs_as_root_and_only_nginx_reaches_the_workers(self):
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
        asked = subprocess.run(
            [ROOT / "deploy/psql", "--data", self.data, "-Atc", "select name from apps order by name"],
            capture_output=True, text=True)
        self.assertEqual((asked.stdout, asked.stderr), ("default\noperators\n", ""))
        for log in ["dossierd.log", "nginx-error.log", "postgres-log/log"]:
            self.assertEqual(described(self.data / log)[0], 0o640, log)
        self.check_stream(port)
        for name in ["worker-0", "worker-1", "streams"]:
            self.assertEqual(
                described(self.sockets / f"workers/{name}.sock"), (0o660, SERVER_USER))
        self.assertEqual(described(self.data / "master-key"), (0o600, SERVER_USER))
        supervisor = int((self.data / "supervisor.pid").read_text())
        children = pathlib.Path(f"/proc/{supervisor}/task/{supervisor}/children").read_text()
        processes = [supervisor, *map(int, children.split())]
        self.assertEqual(len(processes), 3)
        processes.append(int((self.data / "streams.pid").read_text()))
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
            # Another user of the machine cannot reach any socket.
            for path in [self.sockets / "workers/worker-0.sock",
                         self.sockets / "postgres/.s.PGSQL.5432"]:
                for user, may in [("nobody", False), (SERVER_USER, True)]:
                    found = functions(
                        'setpriv --reuid="$1" --regid="$(id -g "$1")" --clear-groups test -S "$2"',
                        user, path)
                    self.assertEqual(found.returncode == 0, may, (user, path))

    def check_stream(self, port):
        """Checks that nginx reaches the program with the streams of changes."""
        def ask(method, path, body=None, **headers):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            self.addCleanup(client.close)
            client.request(method, path, body, headers)
            return client.getresponse()

        answer = ask("POST", "/v1/login/anonymous", "{}", **{"Content-Type": "application/json"})
        token = json.loads(answer.read())["access_token"]

        def stream():
            return ask("GET", "/v1/me/events", Authorization=f"Bearer {token}")

        # It may start a moment after the workers.
        wait_until(lambda: stream().status == 200, what="streams")
        self.assertIn(b"event: ready\n", iter(stream().readline, b""))

    @unittest.skipUnless(IS_ROOT, "root alone trusts no other user")
    def test_root_refuses_a_folder_of_another_user(self):
        folder = self.data / "data"
        folder.mkdir()
        with subprocess.Popen(["sleep", "600"]) as victim:
            self.addCleanup(victim.kill)
            (folder / "supervisor.pid").write_text(f"{victim.pid}\n")
            for owned in [folder, self.data]:
                os.chown(owned, pwd.getpwnam("nobody").pw_uid, -1)
                for script in ["up", "down"]:
                    run = subprocess.run(
                        [ROOT / "deploy" / script, "--data", folder], capture_output=True, text=True,
                        timeout=120)
                    self.assertEqual(run.returncode, 77, run.stderr)
                    self.assertIn(f"{owned} belongs to the user nobody", run.stderr)
                os.chown(owned, 0, -1)
            self.data.chmod(0o777)
            run = subprocess.run([ROOT / "deploy/down", "--data", folder], capture_output=True,
                                 text=True, timeout=120)
            self.assertEqual(run.returncode, 77, run.stderr)
            self.assertIn(f"chmod go-w {self.data}", run.stderr)
            # /tmp, where all may write, has the bit that lets only owners rename.
            self.data.chmod(0o1777)
            functions('refuse_foreign_folder "$1"', folder, check=True)
            self.assertIsNone(victim.poll())
            victim.kill()

    def test_a_pid_file_that_disappears_is_not_an_error(self):
        file = self.data / "nginx.pid"
        # Like nginx, which removes the file when it ends.
        run = functions(
            '''
            (for turn in $(seq 300); do echo 1 >"$1"; : >"$1"; rm -f "$1"; done) &
            while kill -0 $! 2>/dev/null; do running "$1" nginx || true; done
            ''', file, stderr=subprocess.PIPE, timeout=300)
        self.assertEqual((run.returncode, run.stdout, run.stderr), (0, "", ""))

    def test_a_pid_file_of_another_program_names_no_process_of_ours(self):
        file = self.data / "nginx.pid"
        file.write_text(f"{os.getpid()}\n")
        for program, code in [("nginx", 1), ("python3", 0)]:
            self.assertEqual(functions('running "$1" "$2"', file, program).returncode, code)

    def test_a_build_is_reported_only_if_something_is_built(self):
        products = ["dossier-pictures", "dossier"]
        targets = ", ".join(f'.executableTarget(name: "{name}")' for name in products)
        (self.data / "Package.swift").write_text(
            "// swift-tools-version:6.0\nimport PackageDescription\n"
            f'let package = Package(name: "small", targets: [{targets}])\n')
        for name in products:
            (self.data / "Sources" / name).mkdir(parents=True)
            (self.data / "Sources" / name / "main.swift").write_text("print(1)\n")

        def builds(name):
            run = functions('here=$1; "build_$2"; "$programs/dossier"', self.data, name, stderr=subprocess.PIPE,
                            timeout=900)
            self.assertEqual((run.returncode, run.stdout), (0, "1\n"), run.stderr)
            return run.stderr.count("building")

        self.assertEqual([builds("debug"), builds("debug"), builds("release")], [1, 0, 1])
        # The file runs as other programs by the names of links.
        for name in ["dossierd", "dossier-migrate", "dossier-streams"]:
            self.assertEqual(os.readlink(self.data / ".build/release" / name), "dossier")
        # The first goes on where `swift build` has ended, and the other needs no toolchain.
        libraries = {name: subprocess.run(["ldd", self.data / ".build" / name / "dossier"], capture_output=True,
                                          text=True, check=True).stdout for name in ["debug", "release"]}
        self.assertEqual(["libswiftCore" in libraries[name] for name in libraries], [True, False])
        (self.data / "Sources/dossier/main.swift").write_text("prind(1)\n")
        run = functions('here=$1; build_debug', self.data, stderr=subprocess.PIPE, timeout=900)
        self.assertEqual(run.returncode, 70)
        self.assertIn("prind", run.stderr)


class LocalPages(Case):
    """Development servers choose their ports, so pages of this machine are allowed by default."""

    LOCAL = ["http://localhost:*", "http://127.0.0.1:*"]

    def start(self, port):
        started = functions(
            """
            start_postgres "$1"
            make_database "$1" >/dev/null
            start_workers "$1" "$2" 1
            start_nginx "$1" "$2"
            wait_ready "$1" "$2"
            "$1/dossier" app show --json
            """, self.data, port, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(started.returncode, 0, started.stderr)
        return json.loads(started.stdout.splitlines()[-1])["settings"]["allowed_origins"]

    def stop(self):
        functions('stop_all "$1" 2>/dev/null', self.data)

    def origin_that_may_read(self, port, origin):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as connection:
            connection.request("GET", "/v1/me", headers={"Origin": origin})
            return connection.getresponse().headers["Access-Control-Allow-Origin"]

    def test_local_pages_are_allowed_until_the_operator_changes_the_setting(self):
        port = free_port()
        self.addCleanup(self.stop)
        self.assertEqual(self.start(port), self.LOCAL)
        for origin, may in [("http://localhost:5173", True), ("http://127.0.0.1:9000", True),
                            ("https://app.example.com", False), ("http://192.168.0.2:9000", False)]:
            self.assertEqual(self.origin_that_may_read(port, origin), origin if may else None)
        self.stop()
        self.assertEqual(self.start(port), self.LOCAL)
        # A second start keeps the setting, also after a reset to the default (no origins).
        for origins, left in [("https://app.example.com", ["https://app.example.com"]), ("null", [])]:
            subprocess.run([self.data / "dossier", "app", "set", f"allowed_origins={origins}"],
                           env=FOREIGN, check=True, capture_output=True)
            self.stop()
            self.assertEqual(self.start(port), left)


class SampleData(Case):
    """deploy/up --seed, and psql on the running database."""

    PASSWORD = "correct horse battery"

    def post(self, path, body, **headers):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port)) as connection:
            headers = {"Content-Type": "application/json", **headers}
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200)
            return json.loads(answer.read())

    def get(self, path, **headers):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port)) as connection:
            connection.request("GET", path, headers=headers)
            return json.loads(connection.getresponse().read())

    def psql(self, *words, data=None):
        return subprocess.run(
            [ROOT / "deploy/psql", "--data", data or self.data, "-XAtq", *words],
            capture_output=True, text=True, timeout=120)

    def seed(self):
        run = functions(
            'add_sample_data "$1" "$2" 2>&1', self.data, self.port, timeout=120)
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def test_sample_users_can_sign_in_and_are_added_once(self):
        self.port = free_port()
        self.assertEqual(self.psql().returncode, 69)
        self.addCleanup(functions, 'stop_all "$1" 2>/dev/null', self.data)
        started = functions(
            """
            start_postgres "$1"
            make_database "$1" >/dev/null
            start_workers "$1" "$2" 1
            start_nginx "$1" "$2"
            wait_ready "$1" "$2"
            """, self.data, self.port, stderr=subprocess.PIPE, timeout=120)
        self.assertEqual(started.returncode, 0, started.stderr)
        self.assertIn(self.PASSWORD, self.seed())
        counts = "select (select count(*) from users), (select count(*) from devices), " \
            "(select count(*) from documents), (select count(*) from properties) > 20, " \
            "(select max(n) from (select count(*) n from device_accounts group by device_id) d)"
        made = self.psql("-c", counts)
        self.assertEqual((made.stdout, made.stderr), ("10|4|25|t|2\n", ""))
        token = self.post("/v1/login/password", {
            "email": "grace@example.org", "password": self.PASSWORD})["access_token"]
        bearer = {"Authorization": f"Bearer {token}"}
        self.assertEqual(self.get("/v1/me", **bearer)["name"], "Grace Hopper")
        self.assertEqual(self.get("/v1/me/metadata", **bearer)["theme"], "dark")
        self.assertEqual(self.get("/v1/me/custom-data", **bearer)["level"], 2)
        before = self.psql("-c", counts).stdout
        self.assertIn("exist already", self.seed())
        self.assertEqual(self.psql("-c", counts).stdout, before)
        self.assertEqual(self.psql(data=self.data / "none").returncode, 66)


if __name__ == "__main__":
    unittest.main()
