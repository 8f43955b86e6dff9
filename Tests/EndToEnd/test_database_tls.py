"""A database on another machine: over TCP, with TLS, a password and a certificate that is verified."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from cases import Case
from deployment import Deployment
from machine import BUILD, HAS_TLS, IS_ROOT, ROOT, SERVER_USER

ACT_AS = ROOT / "deploy/debian/act-as"


@unittest.skipUnless(HAS_TLS, "this PostgreSQL was built without TLS")
class DatabaseTLS(Case):
    @classmethod
    def setUpClass(cls):
        cls.site = Deployment(tls=True)

    def setUp(self):
        # As /root: only its owner may look into it.
        home = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(home.cleanup)
        self.home = home.name

    def acting(self, *command, **environment):
        """Runs a command as the wrappers of the package do, for an operator who is logged in as root."""
        return subprocess.run(
            [ACT_AS, SERVER_USER, *command], capture_output=True, text=True, cwd="/",
            env={**self.site.environment, "HOME": self.home, **environment})

    def test_all_connections_are_encrypted_and_others_are_refused(self):
        self.site.login()
        ways = self.site.sql(
            "select distinct ssl, client_addr is null from pg_stat_ssl "
            "join pg_stat_activity using (pid) where usename = 'server'")
        self.assertEqual(ways, "t|f")
        plain = self.acting(BUILD / "dossier", "app", "list", DOSSIER_DATABASE=(
            self.site.conninfo("server").replace("verify-full", "disable")))
        self.assertNotEqual(plain.returncode, 0)
        self.assertIn("no encryption", plain.stderr)

    def test_root_runs_commands_as_a_user_without_its_certificates(self):
        for mode in ["verify-full", "require"]:
            databases = {
                "DOSSIER_DATABASE": self.site.conninfo("server").replace("verify-full", mode),
                "DOSSIER_MIGRATE_DATABASE": self.site.conninfo("owner").replace("verify-full", mode)}
            listed = self.acting(BUILD / "dossier", "app", "list", "--json", **databases)
            self.assertEqual(listed.returncode, 0, listed.stderr)
            self.assertEqual([app["name"] for app in json.loads(listed.stdout)], ["default"])
            verified = self.acting(
                BUILD / "dossier-migrate", "verify", "--grant-to", "server",
                "--migrations", ROOT / "migrations", **databases)
            self.assertEqual(verified.returncode, 0, verified.stderr)

    def test_only_settings_and_terminal_variables_of_root_are_passed_on(self):
        # These variables would redirect libpq and curl, or make them read root's files.
        mine = {"PGHOST": "nowhere", "PGUSER": "root", "PGSERVICEFILE": "/root/x",
                "PGSSLCERT": "/root/x", "XDG_CONFIG_HOME": "/root/x", "CURL_HOME": "/root/x",
                "SSL_CERT_FILE": "/root/x", "LD_LIBRARY_PATH": "/root/x", "TMPDIR": "/root/x",
                "https_proxy": "http://nowhere", "MAIL": "/root/x"}
        passing = {"DOSSIER_APP": "a\nb=c", "LC_ALL": "C.UTF-8", "TERM": "dumb", "TZ": "UTC"}
        seen = subprocess.run(
            [ACT_AS, SERVER_USER, "/usr/bin/env", "-0"], capture_output=True, text=True, check=True,
            env={"PATH": os.environ["PATH"], "HOME": self.home, **mine, **passing}).stdout
        found = dict(line.split("=", 1) for line in seen.split("\0") if line)
        for name, value in passing.items():
            self.assertEqual(found[name], value)
        if IS_ROOT:
            self.assertEqual(set(mine) & set(found), set())
            self.assertEqual(found["USER"], SERVER_USER)
            self.assertNotEqual(found["HOME"], self.home)
            self.assertEqual(set(found) - set(passing),
                             {"HOME", "USER", "LOGNAME", "SHELL", "PATH"})
        else:
            # Without another user, nothing is removed.
            self.assertEqual(found["HOME"], self.home)

    def test_the_package_wrappers_use_act_as(self):
        for name, user in [("dossier", "dossier"), ("dossier-migrate", "dossier-owner")]:
            wrapper = pathlib.Path(ROOT / "deploy/debian" / name).read_text()
            self.assertIn(f'exec /usr/share/dossier/act-as {user} /usr/lib/dossier/{name} "$@"',
                          wrapper)



if __name__ == "__main__":
    unittest.main()
