"""Tests settings, sockets and the documentation for operators."""

import hashlib
import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import unittest
import urllib.parse

from machine import AS_SERVER, BUILD, ROOT, TEXTS

KEY = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="


def dossierd(*arguments, stdin=subprocess.DEVNULL, board=False, **environment):
    """Runs dossierd. `board` gives it the descriptors that a worker inherits."""
    give = ["bash", "-c", 'exec 3<>"$0" 4>/dev/null; exec "$@"'] if board else []
    with tempfile.NamedTemporaryFile() as file:
        file.truncate(256 * 2048 * 8)
        return subprocess.run(
            [*give, *([file.name] if board else []), BUILD / "dossierd", *arguments],
            capture_output=True, text=True, timeout=120, stdin=stdin,
            env={"PATH": os.environ["PATH"], **TEXTS, **environment})


class Programs(unittest.TestCase):
    """One file has several programs, and its name says which of them runs."""

    def test_each_name_is_a_program_and_others_are_refused(self):
        names = ["dossier", "dossierd", "dossier-migrate", "dossier-streams"]
        for name in names:
            run = subprocess.run([BUILD / name, "--help"], capture_output=True, text=True, check=True)
            self.assertRegex(run.stdout, rf"(?m)^USAGE: {name} ")
        self.assertEqual({os.path.realpath(BUILD / name) for name in names}, {os.path.realpath(BUILD / "dossier")})
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/dossier-server"
            os.symlink(BUILD / "dossierd", path)
            run = subprocess.run([path, "--help"], capture_output=True, text=True)
        self.assertEqual((run.returncode, run.stdout), (64, ""))
        self.assertIn("as dossier, dossierd, dossier-migrate or dossier-streams, not as dossier-server", run.stderr)


class Documentation(unittest.TestCase):
    def test_the_readme_is_short_and_copies_no_generated_table(self):
        readme = (ROOT / "README.md").read_text()
        self.assertLess(len(re.sub(r"(?ms)^```.*?^```$", "", readme).split()), 900)
        routes = {line.split("\t")[0] for line in dossierd("routes").stdout.splitlines()}
        self.assertGreater(len(routes), 80)
        self.assertLess(sum(f"`{route}`" in readme for route in routes), 3)

    def test_links_in_the_documentation_have_targets(self):
        # Build output and sources of packages are in folders whose names begin with a dot.
        pages = [path for path in ROOT.rglob("*.md")
                 if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)]
        self.assertGreater(len(pages), 7)
        for page in pages:
            text = re.sub(r"(?ms)^```.*?^```$", "", page.read_text())
            for target in re.findall(r"\]\(([^)#:]+)\)", text):
                self.assertTrue((page.parent / urllib.parse.unquote(target)).exists(), (page, target))

    def test_the_operators_guide_lists_every_setting_as_printed(self):
        guide = (ROOT / "deploy/README.md").read_text()
        table = guide.split("<!-- what `dossierd settings` prints -->\n")[1].split("<!--")[0]
        self.assertEqual(table, dossierd("settings").stdout)

    def test_the_shipped_settings_file_is_valid(self):
        shipped = (ROOT / "deploy/dossier.conf").read_text()
        # Includes the settings in comments.
        shipped = re.sub(r"(?m)^# (\w+ = )", r"\1", shipped)
        with tempfile.TemporaryDirectory() as folder:
            for name, text in [("master-key", KEY), ("mail-password", KEY),
                               ("otlp-headers", "authorization=Bearer x")]:
                with open(f"{folder}/{name}", "w") as file:
                    file.write(text)
            path, breached = f"{folder}/dossier.conf", f"{folder}/breached-passwords"
            with open(f"{folder}/list", "w") as file:
                file.write(hashlib.sha1(b"password").hexdigest() + ":3\n")
            subprocess.run([BUILD / "dossier", "breached-password", "build", f"{folder}/list", breached],
                           check=True, capture_output=True)
            shipped = shipped.replace("/etc/dossier", folder).replace("/var/lib/dossier/pictures", folder)
            with open(path, "w") as file:
                file.write(shipped.replace("/var/lib/dossier/breached-passwords", breached))
            shown = dossierd("config", DOSSIER_CONFIG=path)
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        self.assertIn(f"workers = 2    # {path}:", shown.stdout)


class Settings(unittest.TestCase):
    def test_a_value_and_its_file_in_one_source_are_refused(self):
        with tempfile.NamedTemporaryFile("w") as key, tempfile.NamedTemporaryFile("w") as file:
            key.write(KEY + "\n")
            key.flush()
            file.write(f"database = x\nmaster_key_file = {key.name}\n")
            file.flush()
            shown = dossierd("config", "--config", file.name)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn(f"master_key = ********    # {file.name}:2 ({key.name})", shown.stdout)
            file.write(f"master_key = {KEY}\n")
            file.flush()
            refused = dossierd("config", "--config", file.name)
            self.assertEqual(refused.returncode, 78)
            self.assertIn("both master_key_file and master_key are set", refused.stderr)
            refused = dossierd("config", "--set", "master_key_file=/nonexistent")
            self.assertIn("the file /nonexistent cannot be read", refused.stderr)

    def test_flags_override_the_environment_and_the_file_and_secrets_are_hidden(self):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(f"# ours\nmaster_key = {KEY}\nworkers = 3\nissuer = https://file\napp = file\n")
            file.flush()
            shown = dossierd(
                "config", "--config", file.name, "--set", "issuer=https://flag",
                DOSSIER_ISSUER="https://environment", DOSSIER_APP="environment",
                DOSSIER_DATABASE="postgres://u:hunter2@h/d")
        self.assertEqual(shown.returncode, 0, shown.stdout)
        self.assertIn("issuer = https://flag    # --set", shown.stdout)
        self.assertIn("app = environment    # DOSSIER_APP", shown.stdout)
        self.assertIn("workers = 3    # " + file.name + ":3", shown.stdout)
        self.assertNotIn(KEY, shown.stdout)
        self.assertNotIn("hunter2", shown.stdout)

    def test_all_errors_are_reported_together(self):
        refused = dossierd(
            "run", "--set", "nope=1", "--set", "workers=x", DOSSIER_WORKER="2",
            DOSSIER_MASTER_KEY="c2hvcnQ=", DOSSIER_SOCKET_MODE="9", DOSSIER_LISTEN="here")
        self.assertEqual(refused.returncode, 78)
        for words in ["no setting nope", "no setting DOSSIER_WORKER", "workers is x",
                      "database is not set", "master_key must be", "socket_mode is 9",
                      "listen is here"]:
            self.assertIn(words, refused.stdout)

    def test_dossierd_requires_the_reference_data_packages(self):
        settings = {"DOSSIER_DATABASE": "x", "DOSSIER_MASTER_KEY": KEY,
                    "DOSSIER_SOCKET_DIRECTORY": "/tmp/nowhere", "PATH": os.environ["PATH"], **TEXTS}
        for folder, package in [("share/zoneinfo", "tzdata"), ("share/iso-codes", "iso-codes"),
                                ("lib/python3/dist-packages/zxcvbn", "python3-zxcvbn")]:
            for command in ["dossierd run", "dossierd worker", "dossier user import /dev/null"]:
                with self.subTest(package=package, command=command):
                    program, *words = command.split()
                    # For this one process the folder is empty.
                    refused = subprocess.run(
                        ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]),
                         "sh", "-c", f'mount -t tmpfs none /usr/{folder} && exec "$@"', "-",
                         BUILD / program, *words],
                        capture_output=True, text=True, timeout=120, env=settings)
                    self.assertEqual(refused.returncode, 78, refused.stdout + refused.stderr)
                    self.assertIn(f"Debian's package {package}", refused.stdout + refused.stderr)

    def test_a_secret_is_read_from_a_file(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(KEY + "\n")
            file.flush()
            shown = dossierd("config", DOSSIER_MASTER_KEY_FILE=file.name, DOSSIER_DATABASE="x")
        self.assertEqual(shown.returncode, 0, shown.stdout)

    def test_credentials_override_the_file_and_the_environment_overrides_them(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in [("master_key", KEY + "\n"), ("issuer", "http://credential"),
                               ("app", "credential"), ("unrelated", "x")]:
                pathlib.Path(folder, name).write_text(text)
            file = pathlib.Path(folder, "dossier.conf")
            file.write_text("database = x\nissuer = http://file\nmaster_key_file = /nowhere\n")
            shown = dossierd("config", "--config", file, CREDENTIALS_DIRECTORY=folder,
                             DOSSIER_APP="environment")
            self.assertEqual(shown.returncode, 0, shown.stderr)
            self.assertIn(f"issuer = http://credential    # credential ({folder}/issuer)", shown.stdout)
            self.assertIn("app = environment ", shown.stdout)
            self.assertNotIn(KEY, shown.stdout)
            pathlib.Path(folder, "issuer").write_bytes(b"\xff")
            refused = dossierd("config", "--config", file, CREDENTIALS_DIRECTORY=folder)
            self.assertEqual(refused.returncode, 78)
            self.assertIn(f"credential: the file {folder}/issuer cannot be read", refused.stderr)

    def test_a_socket_in_use_is_not_taken_over(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as other:
            other.bind(f"{folder}/worker-0.sock")
            other.listen()
            refused = dossierd(
                "run", DOSSIER_SOCKET_DIRECTORY=folder, DOSSIER_DATABASE="x",
                DOSSIER_MASTER_KEY=KEY, DOSSIER_WORKERS="1")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("is in use", refused.stdout)

    def test_a_socket_group_that_cannot_be_set_is_reported(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            os.chmod(folder, 0o777)
            refused = subprocess.run(
                [*AS_SERVER, BUILD / "dossierd", "run"], capture_output=True, text=True, timeout=120,
                env={"PATH": os.environ["PATH"], "DOSSIER_SOCKET_DIRECTORY": folder,
                     "DOSSIER_DATABASE": "x", "DOSSIER_MASTER_KEY": KEY, "DOSSIER_WORKERS": "1",
                     "DOSSIER_SOCKET_GROUP": "shadow", **TEXTS})
            self.assertEqual(refused.returncode, 1, refused.stdout)
            self.assertIn("(socket_group)", refused.stdout)
            self.assertIn("must be a member of that group", refused.stdout)
            self.assertEqual(os.listdir(folder), [])

    def test_a_worker_reports_why_it_cannot_start(self):
        refused = dossierd("worker", DOSSIER_DATABASE="x", DOSSIER_MASTER_KEY=KEY)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("descriptor 0 is not a listening socket", refused.stdout)
        # A failure of the database does not mention the socket.
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("")
            listener.listen()
            refused = dossierd(
                "worker", "--slot", "0", "--when-ready", DOSSIER_DATABASE="host=/nowhere",
                DOSSIER_MASTER_KEY=KEY, stdin=listener, board=True)
        self.assertEqual(refused.returncode, 69, refused.stderr)
        self.assertIn("not ready: database: ", refused.stderr)
        self.assertNotIn("descriptor", refused.stderr)

    def test_a_secret_set_twice_is_reported_on_standard_error(self):
        refused = dossierd(
            "config", DOSSIER_DATABASE="x", DOSSIER_MASTER_KEY=KEY,
            DOSSIER_MASTER_KEY_FILE="/dev/null")
        self.assertEqual(refused.returncode, 78)
        self.assertIn("both DOSSIER_MASTER_KEY and DOSSIER_MASTER_KEY_FILE are set", refused.stderr)
        self.assertNotIn("both", refused.stdout)

    def test_settings_that_need_a_restart_are_marked(self):
        shown = dossierd(
            "config", "--set", "log=errors", DOSSIER_DATABASE="x", DOSSIER_MASTER_KEY=KEY,
            DOSSIER_WORKERS="3", DOSSIER_APP="mine").stdout
        for setting, is_fixed in [("workers", True), ("app", True), ("log", False),
                                  ("socket_mode", True), ("issuer", False)]:
            line = next(line for line in shown.splitlines() if line.startswith(f"{setting} ="))
            self.assertEqual("needs a restart" in line, is_fixed, line)

    def test_a_missing_picture_program_is_reported_at_the_start(self):
        refused = dossierd(
            "config", DOSSIER_DATABASE="x", DOSSIER_MASTER_KEY=KEY,
            DOSSIER_PICTURE_PROGRAM="/nonexistent")
        self.assertEqual(refused.returncode, 78)
        self.assertIn("picture_program /nonexistent is not an executable program", refused.stderr)

    def test_listen_accepts_ipv4_and_ipv6_and_nginx_gets_reachable_addresses(self):
        for listen, told in [
            ("127.0.0.1:9000", "127.0.0.1:9001"), ("[::1]:9000", "[::1]:9001"),
            ("0.0.0.0:9000", "127.0.0.1:9001"), ("[::]:9000", "[::1]:9001")]:
            shown = dossierd(
                "upstream", DOSSIER_DATABASE="x", DOSSIER_MASTER_KEY=KEY, DOSSIER_WORKERS="2",
                DOSSIER_LISTEN=listen)
            self.assertIn(f"server {told} ", shown.stdout)
        for listen in ["::1:9000", "[::1]", "localhost:9000", "127.0.0.1:65535", "127.0.0.1:0"]:
            refused = dossierd(
                "upstream", DOSSIER_DATABASE="x", DOSSIER_MASTER_KEY=KEY, DOSSIER_WORKERS="2",
                DOSSIER_LISTEN=listen)
            self.assertEqual((refused.returncode, refused.stdout), (78, ""), listen)
            self.assertIn(f"listen is {listen}", refused.stderr)

    def test_the_number_of_passed_sockets_must_match_the_workers(self):
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("")
            listener.listen()
            with subprocess.Popen(
                ["bash", "-c", 'exec 3<&0; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" run',
                 BUILD / "dossierd"],
                stdin=listener, stdout=subprocess.PIPE, text=True,
                env={"PATH": os.environ["PATH"], "DOSSIER_DATABASE": "x",
                     "DOSSIER_MASTER_KEY": KEY, "DOSSIER_WORKERS": "4", **TEXTS}) as refused:
                said = json.loads(refused.stdout.readline())
                self.assertIn("1 sockets were given and workers is 4", said["message"])
                # It delays its exit, so that systemd does not restart it in a loop.
                refused.terminate()
                self.assertEqual(refused.wait(), -15)

    def test_the_socket_unit_matches_the_printed_one(self):
        shown = dossierd(
            "socket-unit", DOSSIER_DATABASE="x", DOSSIER_MASTER_KEY=KEY, DOSSIER_WORKERS="2")
        self.assertEqual(shown.stdout, (ROOT / "deploy/systemd/dossierd.socket").read_text())

    def test_the_upstream_names_every_worker(self):
        shown = dossierd(
            "upstream", DOSSIER_DATABASE="x", DOSSIER_MASTER_KEY=KEY, DOSSIER_WORKERS="3",
            DOSSIER_LISTEN="127.0.0.1:9000")
        for port in [9000, 9001, 9002]:
            self.assertIn(f"server 127.0.0.1:{port} ", shown.stdout)


if __name__ == "__main__":
    unittest.main()
