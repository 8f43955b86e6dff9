"""Tests what the doctor reports about workers, settings, mail and nginx."""

import json
import re
import unittest

from aiosmtpd.controller import Controller

from cases import Administration
from machine import free_port, wait_until
from test_outbox import Inbox, Strict


class Doctor(Administration):
    def test_the_doctor_reports_faults(self):
        well = self.site.dossier("doctor")
        self.assertEqual([finding for finding in well if finding["fault"]], [])
        names = {finding["what"] for finding in well}
        nodes = {name for name in names if name.startswith("node ")}
        self.assertEqual(len(nodes), 2 if self.site.citus else 0)
        self.assertEqual(names - nodes,
                         {"settings", "lists", "socket 0", "socket 1", "files", "database",
                          "connections", "clock", "mail", "mail queue", "writes", "hosts"})
        for what, words, settings in [
            ("settings", "picture_program /nonexistent", {"DOSSIER_PICTURE_PROGRAM": "/nonexistent"}),
            ("socket 2", "is dossierd running?", {"DOSSIER_WORKERS": "3"}),
            ("connections", "max_connections",
             {"DOSSIER_WRITE_CONNECTIONS": "64", "DOSSIER_WORKERS": "8"}),
            ("database", "app: there is no app", {"DOSSIER_APP": "nobody"}),
            ("database", "No such file", {"DOSSIER_DATABASE": "host=/nowhere"}),
            ("mail", "the setting mail is empty", {"DOSSIER_MAIL": ""}),
            ("mail", "connect", {"DOSSIER_MAIL": f"smtp://127.0.0.1:{free_port()}"}),
        ]:
            run = self.site.dossier("doctor", check=False, **settings)
            self.assertEqual(run.returncode, 24, run.stderr)
            found = {finding["what"]: finding["fault"] for finding in json.loads(run.stdout)}
            self.assertIn(words, found[what])

    def test_the_doctor_checks_the_relay_and_the_sender(self):
        relay = Controller(Inbox(), hostname="127.0.0.1", port=free_port())
        relay.start()
        self.addCleanup(relay.stop)

        def faults(**settings):
            settings = {"DOSSIER_MAIL": f"smtp://127.0.0.1:{relay.port}", **settings}
            run = self.site.dossier("doctor", check=False, **settings)
            return {row["what"]: row["fault"] for row in json.loads(run.stdout) if row["fault"]}

        # The error is that of the relay or libcurl, without a chain of our own.
        fault, = [text for what, text in faults().items() if what == "mail"]
        self.assertRegex(fault, r"^[A-Z][\w ,.:()-]+$")
        self.assertEqual(set(faults(DOSSIER_MAIL_TLS="optional")), {"app default"})
        self.assertIn("mail_from=", faults(DOSSIER_MAIL_TLS="optional")["app default"])
        self.site.set_app(mail_from="no-reply@example.com")
        self.addCleanup(self.site.set_app, mail_from="no-reply@localhost")
        self.assertEqual(faults(DOSSIER_MAIL_TLS="optional"), {})
        # The relay looks at the name in EHLO when it gets a recipient, as Postfix does.
        inbox = Strict()
        strict = Controller(inbox, hostname="127.0.0.1", port=free_port())
        strict.start()
        self.addCleanup(strict.stop)
        optional = {"DOSSIER_MAIL": f"smtp://127.0.0.1:{strict.port}", "DOSSIER_MAIL_TLS": "optional"}
        self.assertIn("504 5.5.2 <users>", faults(**optional, DOSSIER_MAIL_CLIENT_NAME="users")["mail"])
        self.assertEqual(faults(**optional, DOSSIER_MAIL_CLIENT_NAME="users.example.com"), {})
        self.assertEqual(inbox.recipients, ["postmaster@example.com"])

    def test_invalid_stored_settings_are_reported_and_replaced_by_safe_ones(self):
        self.site.sql("update apps set settings = settings || '{\"switching\": 7}' "
                      "where name = 'default'")
        cure = ("app", "set", "--app", "default", "switching=null")
        self.addCleanup(self.site.dossier, *cure)

        def complaints():
            self.site.get("/v1/me")
            return [text for text in self.site.messages() if "stored settings" in text]

        wait_until(complaints, what="a line of the log")
        self.assertIn("default", complaints()[0])
        self.assertRegex(complaints()[0], r": switching$")
        shown = self.site.dossier("app", "show")
        self.assertEqual(shown["settings"]["switching"], "reauthenticate")
        run = self.site.dossier("doctor", check=False)
        self.assertEqual(run.returncode, 24, run.stderr)
        fault, = [row["fault"] for row in json.loads(run.stdout) if row["what"] == "app default"]
        self.assertIn("dossier " + " ".join(cure), fault)
        # Each worker logs it once.
        self.assertLessEqual(len(complaints()), 2)
        self.site.dossier(*cure)
        self.assertTrue(all(row["fault"] is None for row in self.site.dossier("doctor")))

    def test_the_doctor_checks_the_nginx_upstream(self):
        folder = self.site.folder / "etc-nginx"
        (folder / "conf.d").mkdir(parents=True)
        upstream = (self.site.folder / "upstream.conf").read_text()
        server = (self.site.folder / "dossier.conf").read_text()

        def faults(upstream, server):
            (folder / "conf.d/upstream.conf").write_text(upstream)
            (folder / "conf.d/dossier.conf").write_text(server)
            run = self.site.dossier("doctor", "--nginx", folder, check=False)
            found = [row for row in json.loads(run.stdout) if row["what"] == "nginx"]
            self.assertEqual(run.returncode, 24 if any(row["fault"] for row in found) else 0)
            return [row["fault"] for row in found]

        self.assertEqual(faults(upstream, server), [None])
        first, second = re.findall(r"  server unix:.*\n", upstream)
        for text, other, words in [
            (upstream.replace(first, "#" + first), server, "worker-0.sock: write what `dossierd up"),
            (upstream.replace(second, second + second.replace("-1.", "-7.")), server, "no worker"),
            ("", server, "nginx has no upstream dossier_workers"),
            (upstream, server.replace("fastcgi_pass ", "# fastcgi_pass "), "no server of nginx passes"),
        ]:
            fault, = faults(text, other)
            self.assertIn(words, fault)


if __name__ == "__main__":
    unittest.main()
