"""The command line and the limits of a server that deploy/up started."""

import http.client
import json
import subprocess

from machine import FOREIGN, free_port, functions, wait_until
from test_deploy import Case


class Command(Case):
    LONG = True

    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.addCleanup(functions, 'stop_all "$1" 2>/dev/null', self.data)
        started = functions(
            """
            start_postgres "$1"
            make_database "$1" >/dev/null
            export DOSSIER_ARGON2_MEMORY=20480 DOSSIER_LOG=errors
            start_workers "$1" "$2" 2
            start_nginx "$1" "$2"
            wait_ready "$1" "$2"
            /usr/sbin/nginx -t -e stderr -c "$1/nginx.conf" 2>&1
            """, self.data, self.port, stderr=subprocess.PIPE, timeout=180)
        self.assertEqual(started.returncode, 0, started.stderr)
        self.checked = started.stdout

    def dossier(self, *arguments):
        run = subprocess.run([self.data / "dossier", *arguments, "--json"], capture_output=True,
                             text=True, env={**FOREIGN, "DOSSIER_ISSUER": "https://elsewhere.example"})
        self.assertIn(run.returncode, (0, 24), run.stderr)
        return json.loads(run.stdout)

    def test_the_command_has_the_settings_of_its_server(self):
        client = self.dossier("client", "create", "an app", "kind=native")
        self.assertEqual(client["domain"], f"localhost:{self.port}")
        user = self.dossier("user", "create", "email=ada@example.com", "--mail")
        wait_until(lambda: any("ada@example.com" in path.read_text()
                               for path in (self.data / "mail").glob("*.eml")), what="the mail")
        self.assertEqual(self.dossier("user", "show", "ada@example.com")["id"], user["id"])
        faults = {row["what"]: row["fault"] for row in self.dossier("doctor")}
        for what in ["settings", "socket 0", "socket 1", "mail", "database", "hosts"]:
            self.assertIsNone(faults[what], what)
        self.assertNotIn("socket 2", faults)
        # Two hosts with other values of this one would differ, which the row "hosts" tells.
        settings = (self.data / "settings.conf").read_text()
        self.assertIn("\nargon2_memory = 20480\n", settings)
        self.assertIn("\nlog = errors\n", settings)
        self.refuses_no_suite_of_tests()
        self.assertNotIn("[warn]", self.checked)

    def refuses_no_suite_of_tests(self):
        """Asks more often than one network may by default."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        statuses = set()
        for number in range(330):
            body = json.dumps({"email": f"guest{number}@example.com", "password": "correct horse"})
            for path, given in [("register", body if number < 130 else None), ("login/anonymous", "{}")]:
                if given:
                    connection.request("POST", f"/v1/{path}", given,
                                       {"Content-Type": "application/json"})
                    answer = connection.getresponse()
                    answer.read()
                    statuses.add((path, answer.status))
        self.assertEqual(statuses, {("register", 201), ("login/anonymous", 200)})
