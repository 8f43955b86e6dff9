"""What operators see: settings, sockets, routes that are theirs."""

import os
import re
import socket
import subprocess
import tempfile
import unittest

from deployment import BUILD, ROOT

KEY = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="


def dossierd(*arguments, **environment):
    return subprocess.run(
        [BUILD / "dossierd", *arguments], capture_output=True, text=True, timeout=20,
        env={"PATH": os.environ["PATH"], **environment})


class Documentation(unittest.TestCase):
    def test_the_readme_has_every_code_and_every_route(self):
        readme = (ROOT / "README.md").read_text()
        source = (ROOT / "Sources/RESTWire/ProblemType.swift").read_text()
        codes = set(re.findall(r'^  case \w+ = "([a-z_.]+)"', source, re.M))
        self.assertGreater(len(codes), 50)
        self.assertEqual([code for code in sorted(codes) if f"`{code}`" not in readme], [])
        for line in dossierd("routes").stdout.splitlines():
            path = line.split("\t")[0].split(" ")[1]
            # Of a family, the table has what its paths begin with.
            family = re.sub(r"^(/v1/users/\{user\})/.*", r"\1", path)
            family = re.sub(r"/\{\w+\}.*$", "", family) or path
            self.assertIn(family, readme, path)


class Settings(unittest.TestCase):
    def test_flags_go_over_the_environment_over_the_file_and_secrets_are_hidden(self):
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

    def test_everything_that_is_wrong_is_told_at_once(self):
        refused = dossierd(
            "run", "--set", "nope=1", "--set", "workers=x", DOSSIER_WORKER="2",
            DOSSIER_MASTER_KEY="c2hvcnQ=", DOSSIER_SOCKET_MODE="9", DOSSIER_LISTEN="here")
        self.assertEqual(refused.returncode, 78)
        for words in ["no setting nope", "no setting DOSSIER_WORKER", "workers is x",
                      "database is not set", "master_key must be", "socket_mode is 9",
                      "listen is here"]:
            self.assertIn(words, refused.stdout)

    def test_nothing_starts_without_the_lists_of_zones_and_languages(self):
        settings = {"DOSSIER_DATABASE": "x", "DOSSIER_MASTER_KEY": KEY,
                    "DOSSIER_SOCKET_DIRECTORY": "/tmp/nowhere", "PATH": os.environ["PATH"]}
        for folder, package in [("zoneinfo", "tzdata"), ("iso-codes", "iso-codes")]:
            for command in ["dossierd run", "dossierd worker", "dossier user import /dev/null"]:
                with self.subTest(package=package, command=command):
                    program, *words = command.split()
                    # For this one process the folder is empty.
                    refused = subprocess.run(
                        ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]),
                         "sh", "-c", f'mount -t tmpfs none /usr/share/{folder} && exec "$@"', "-",
                         BUILD / program, *words],
                        capture_output=True, text=True, timeout=20, env=settings)
                    self.assertEqual(refused.returncode, 78, refused.stdout + refused.stderr)
                    self.assertIn(f"Debian's package {package}", refused.stdout + refused.stderr)

    def test_a_secret_comes_from_a_file(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write(KEY + "\n")
            file.flush()
            shown = dossierd("config", DOSSIER_MASTER_KEY_FILE=file.name, DOSSIER_DATABASE="x")
        self.assertEqual(shown.returncode, 0, shown.stdout)

    def test_a_socket_in_use_is_not_taken_over(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder, socket.socket(socket.AF_UNIX) as other:
            other.bind(f"{folder}/worker-0.sock")
            other.listen()
            refused = dossierd(
                "run", DOSSIER_SOCKET_DIRECTORY=folder, DOSSIER_DATABASE="x",
                DOSSIER_MASTER_KEY=KEY, DOSSIER_WORKERS="1")
            self.assertEqual(refused.returncode, 1)
            self.assertIn("is in use", refused.stdout)

    def test_the_upstream_names_every_worker(self):
        shown = dossierd(
            "upstream", DOSSIER_DATABASE="x", DOSSIER_MASTER_KEY=KEY, DOSSIER_WORKERS="3",
            DOSSIER_LISTEN="127.0.0.1:9000")
        for port in [9000, 9001, 9002]:
            self.assertIn(f"server 127.0.0.1:{port} ", shown.stdout)


if __name__ == "__main__":
    unittest.main()
