"""Tests readiness, and the reasons that operators see if a worker is not ready."""

import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import tempfile
import unittest

from aiosmtpd.controller import Controller

from asking import JSON, MERGE
from cases import Administration, Case
from deployment import Deployment
from machine import (
    AS_POSTGRES, BUILD, IS_ROOT, TOOLS, free_port, is_listening, wait_until)
from test_outbox import Inbox


class Readiness(Case):
    def setUp(self):
        self.begun = len(self.site.log_lines())

    def said(self, *words):
        """Lines of the log since the test began that have all of the words."""
        return [line for line in self.site.log_lines()[self.begun:]
                if all(word in str(line) for word in words)]

    def reconnect(self):
        self.site.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'server'")

    def not_ready(self, *words):
        def answers():
            answer = self.site.get("/readyz")
            return answer.status == 503 and all(word in answer.body.decode() for word in words)

        wait_until(answers, what=f"not ready: {words}")

    def failed_anonymous_login(self, *words):
        """Waits until a write is refused and its log line has the reason."""
        def failed():
            # The first to fail may do so with the connection that it had.
            self.post("/v1/login/anonymous", {})
            return self.said("POST /v1/login/anonymous", *words)

        wait_until(failed, what=f"a line with {words}")

    def test_a_database_that_is_away_is_told_with_its_reason_when_that_changes(self):
        wait_until(lambda: self.site.metric("dossier_database_up") == 2, what="both connected")
        self.site.stop_postgres()
        self.failed_anonymous_login("database: 08", "'status': 503")
        self.not_ready("not ready: database: ", "No such file")
        self.assertEqual(self.site.metric("dossier_database_up"), 0)
        self.assertGreater(self.site.metric('dossier_database_failures_total{reason="connection"}'), 0)
        wait_until(lambda: len(self.said("the database is away", "No such file")) == 2,
                   what="a line of each worker")
        # Each worker tries repeatedly, but logs it once.
        for _ in range(20):
            self.post("/v1/login/anonymous", {})
        self.assertEqual(len(self.said("the database is away", "No such file")), 2)
        self.site.start_postgres()
        self.site.wait_until_ready()
        wait_until(lambda: len(self.said("the database is connected")) >= 2, what="both connected")

    def test_a_role_that_is_let_in_no_more_is_told(self):
        self.site.sql("alter role server nologin")
        self.addCleanup(self.site.sql, "alter role server login")
        self.reconnect()
        self.not_ready("database: ", "is not permitted to log in")
        wait_until(lambda: self.said("the database is away", "is not permitted to log in"),
                   what="the reason in the log")
        self.failed_anonymous_login("is not permitted to log in")
        self.site.sql("alter role server login")
        self.site.wait_until_ready()

    def test_too_many_connections_are_told(self):
        self.site.sql("alter role server connection limit 1")
        self.addCleanup(self.site.sql, "alter role server connection limit -1")
        self.reconnect()
        wait_until(lambda: self.said("too many connections for role"), what="the reason in the log")
        self.failed_anonymous_login("too many connections")
        self.site.sql("alter role server connection limit -1")
        self.site.wait_until_ready()

    def test_a_server_that_takes_no_writes_is_told(self):
        self.site.sql("alter role server set default_transaction_read_only = on")
        self.addCleanup(self.site.sql, "alter role server reset default_transaction_read_only")
        self.reconnect()
        self.not_ready("read_only: the server takes no writes")
        self.failed_anonymous_login("database: 25006", "read-only transaction")
        self.assertGreater(self.site.metric('dossier_database_failures_total{reason="read_only"}'), 0)
        wait_until(lambda: self.said("not ready: read_only"), what="the reason in the log")
        self.site.sql("alter role server reset default_transaction_read_only")
        self.reconnect()
        self.site.wait_until_ready()

    def test_an_older_schema_is_told_and_no_worker_is_replaced_by_one_that_needs_a_newer(self):
        newest = self.site.sql("select max(version) from schema_migrations")
        self.site.sql("create table kept as select * from schema_migrations")
        self.site.sql("grant all on kept to server")
        self.site.sql(f"delete from schema_migrations where version = {newest}")
        self.not_ready("schema: it has migration", f"needs {newest}; run dossier-migrate up")
        reload = subprocess.run(
            [BUILD / "dossierd", "reload", str(self.site.supervisor.pid)],
            capture_output=True, text=True, timeout=120)
        self.assertEqual(reload.returncode, 1)
        self.assertIn("not ready: schema: ", reload.stderr)
        self.site.sql(f"insert into schema_migrations select * from kept where version = {newest}")
        self.site.sql("drop table kept")
        self.site.wait_until_ready()

    def test_missing_rights_are_told(self):
        self.site.sql("revoke insert on users from server")
        self.addCleanup(self.site.sql, "grant insert on users to server")
        self.not_ready("grants: the role server may not read and change table users",
                       "--grant-to server")
        self.failed_anonymous_login("42501")
        self.site.sql("grant insert on users to server")
        self.site.wait_until_ready()

    def test_what_a_program_of_the_command_line_misses_is_told_too(self):
        for sql, back, status, words in [
            ("revoke insert on users from server", "grant insert on users to server", 22, "grants: "),
            ("alter role server nologin", "alter role server login", 15, "is not permitted to log in"),
        ]:
            self.site.sql(sql)
            refused = self.site.dossier("app", "list", check=False)
            self.site.sql(back)
            self.assertEqual(refused.returncode, status, refused.stderr)
            self.assertIn(words, refused.stderr)


class Reasons(Administration):
    """Tests the reason in the log line of a request that the database refused."""

    def told(self, *words):
        """Readiness, the doctor and the metrics have the words, of which the last is the metric's."""
        *words, reason = words

        def has_words(text):
            return text and all(word in text for word in words)

        def says_so():
            answer = self.site.get("/readyz")
            return answer.status == 503 and has_words(answer.body.decode())

        wait_until(says_so, what=f"not ready: {words}")
        run = self.site.dossier("doctor", check=False)
        self.assertEqual(run.returncode, 24, run.stderr)
        faults = {row["what"]: row["fault"] for row in json.loads(run.stdout)}
        self.assertTrue(has_words(faults["writes"]), faults)
        self.assertGreater(
            self.site.metric(f'dossier_database_failures_total{{reason="{reason}"}}'), 0)

    def refused_write(self, *words):
        token = self.token
        wait_until(
            lambda: self.site.request(
                "PUT", "/v1/me/custom-data", {"text": secrets.token_hex(300_000)}, JSON,
                token).status == 503, what="a refused write")
        wait_until(lambda: any(all(word in str(line) for word in words)
                               for line in self.site.logged() if line["status"] == 503),
                   what=f"a line with {words}")

    def setUp(self):
        self.token = self.site.login()["access_token"]

    def test_a_wrong_password(self):
        before = self.site.environment["DOSSIER_DATABASE"]
        rules = self.site.folder / "postgres/pg_hba.conf"
        kept = rules.read_text()
        self.site.sql("alter role server password 'right'")
        rules.write_text("local all server scram-sha-256\n" + kept)
        self.site.sql("select pg_reload_conf()")
        try:
            self.restart(DOSSIER_DATABASE=f"{before} password=right")
            self.restart(ready=False, DOSSIER_DATABASE=f"{before} password=wrong")
            wait_until(lambda: "password authentication failed" in
                       self.site.get("/readyz").body.decode(), what="the reason")
            self.refused_write("password authentication failed")
        finally:
            rules.write_text(kept)
            self.site.sql("select pg_reload_conf()")
            self.restart(DOSSIER_DATABASE=before)

    def test_a_lock_that_is_not_given_up(self):
        with self.site.locked("documents"):
            self.refused_write("database: 55P03")
        self.expect(self.site.request("PUT", "/v1/me/custom-data", {}, JSON, self.token), 200)

    @unittest.skipUnless(IS_ROOT, "a small disk takes a mount")
    def test_a_full_disk_is_told_reads_go_on_and_nothing_has_to_be_restarted(self):
        small = self.site.folder / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "small", small], check=True)
        try:
            shutil.chown(small, "postgres")
            self.site.sql(f"create tablespace small location '{small}'")
            for table in ["documents", "hosts"]:
                self.site.sql(f"alter table {table} set tablespace small")
            self.refused_write("database: 53100")
            # The filler also takes the space that PostgreSQL frees meanwhile.
            subprocess.run(["dd", "if=/dev/zero", f"of={small}/filler"], stderr=subprocess.DEVNULL)
            self.expect(self.site.get("/v1/me", token=self.token), 200)
            self.told("the disk of PostgreSQL is full", "53100", "disk_full")
            answer = self.site.request(
                "PUT", "/v1/me/custom-data", {"text": secrets.token_hex(300_000)}, JSON, self.token)
            self.expect(answer, 503, "database_unavailable")
            self.assertIn("The disk of the database is full.", answer.json["detail"])
            # An operator who frees space has done enough: no request has to write first.
            for table in ["documents", "hosts"]:
                self.site.sql(f"alter table {table} set tablespace pg_default")
            self.site.wait_until_ready()
            wait_until(lambda: self.site.request(
                "PUT", "/v1/me/custom-data", {}, JSON, self.token).status < 300, what="a write")
            self.site.sql("drop tablespace small")
        finally:
            subprocess.run(["umount", "-l", small], check=True)


class CopiedDeployment(Deployment):
    """A deployment on a PostgreSQL whose files a test can remove."""

    def __init__(self, folder):
        self.tools = folder / "usr/lib/postgresql/15/bin"
        self.tools.mkdir(parents=True)
        # PostgreSQL finds its other files from the place of its program.
        for name in ["postgres", "pg_ctl", "initdb"]:
            shutil.copy2(TOOLS / name, self.tools)
        self.libraries = self.tools.parent / "lib"
        self.put_libraries()
        (folder / "usr/share/postgresql").mkdir(parents=True)
        (folder / "usr/share/postgresql/15").symlink_to("/usr/share/postgresql/15")
        super().__init__()

    def put_libraries(self):
        self.libraries.symlink_to(TOOLS.parent / "lib")


class Upgraded(Reasons):
    """PostgreSQL whose packages are upgraded while it runs."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(dir="/tmp")
        cls.addClassCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        cls.site = CopiedDeployment(pathlib.Path(folder.name))

    def test_a_library_that_does_not_fit_is_told_and_a_restart_ends_it(self):
        self.site.libraries.unlink()
        self.site.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'server'")

        def refused():
            answer = self.site.request("PATCH", "/v1/me/metadata", {"a": 1}, MERGE, self.token)
            self.assertEqual(answer.status, 503, answer.body)
            return "one of its own files" in answer.json.get("detail", "")

        wait_until(refused, what="a refused write")
        wait_until(lambda: any("database: 58P01" in str(line) for line in self.site.logged()),
                   what="a line with the reason")
        # The connection for reads may be on its way.
        wait_until(lambda: self.site.get("/v1/me", token=self.token).status == 200, what="a read")
        self.told("restart it (systemctl restart postgresql)", "58P01", "files")
        self.site.put_libraries()
        with self.site.without_postgres():
            pass
        answer = self.site.request("PATCH", "/v1/me/metadata", {"a": 1}, MERGE, self.token)
        self.assertIn(answer.status, (200, 201))

    # These tests of the base class have nothing to do with upgrades.
    test_a_wrong_password = None
    test_a_lock_that_is_not_given_up = None
    test_a_full_disk_is_told_reads_go_on_and_nothing_has_to_be_restarted = None


class Doctor(Administration):
    def test_it_says_what_is_wrong(self):
        well = self.site.dossier("doctor")
        self.assertEqual([finding for finding in well if finding["fault"]], [])
        self.assertEqual({finding["what"] for finding in well},
                         {"settings", "lists", "socket 0", "socket 1", "files", "database",
                          "connections", "clock", "mail", "mail queue", "writes", "hosts"})
        for what, words, settings in [
            ("settings", "picture_program /nonexistent", {"DOSSIER_PICTURE_PROGRAM": "/nonexistent"}),
            ("socket 2", "is dossierd running?", {"DOSSIER_WORKERS": "3"}),
            ("connections", "max_connections", {"DOSSIER_WRITE_CONNECTIONS": "64"}),
            ("database", "app: there is no app", {"DOSSIER_APP": "nobody"}),
            ("database", "No such file", {"DOSSIER_DATABASE": "host=/nowhere"}),
            ("mail", "the setting mail is empty", {"DOSSIER_MAIL": ""}),
            ("mail", "connect", {"DOSSIER_MAIL": f"smtp://127.0.0.1:{free_port()}"}),
        ]:
            run = self.site.dossier("doctor", check=False, **settings)
            self.assertEqual(run.returncode, 24, run.stderr)
            found = {finding["what"]: finding["fault"] for finding in json.loads(run.stdout)}
            self.assertIn(words, found[what])

    def test_it_asks_the_relay_and_looks_from_whom_mail_is(self):
        relay = Controller(Inbox(), hostname="127.0.0.1", port=free_port())
        relay.start()
        self.addCleanup(relay.stop)

        def faults(**settings):
            run = self.site.dossier(
                "doctor", check=False, DOSSIER_MAIL=f"smtp://127.0.0.1:{relay.port}", **settings)
            return {row["what"]: row["fault"] for row in json.loads(run.stdout) if row["fault"]}

        # The fault has the words of the relay or libcurl, not a chain of our own errors.
        fault, = [text for what, text in faults().items() if what == "mail"]
        self.assertRegex(fault, r"^[A-Z][\w ,.:()-]+$")
        self.assertEqual(set(faults(DOSSIER_MAIL_TLS="optional")), {"app default"})
        self.assertIn("mail_from=", faults(DOSSIER_MAIL_TLS="optional")["app default"])
        self.site.set_app(mail_from="no-reply@example.com")
        self.addCleanup(self.site.set_app, mail_from="no-reply@localhost")
        self.assertEqual(faults(DOSSIER_MAIL_TLS="optional"), {})

    def test_settings_that_cannot_be_are_told_and_the_safest_count(self):
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

    def test_it_looks_at_what_nginx_is_told(self):
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
            ("", server, "there is no upstream dossier_workers"),
            (upstream, server.replace("fastcgi_pass ", "# fastcgi_pass "), "no server passes"),
        ]:
            fault, = faults(text, other)
            self.assertIn(words, fault)


class AtTheStart(Case):
    def test_a_pooler_is_told(self):
        port, folder = free_port(), self.site.folder
        pooler = folder / "pgbouncer"
        pooler.mkdir()
        for mode, ignored, words in [
            (mode, *row) for mode in ["session", "transaction", "statement"]
            for row in [("", "PgBouncer is not supported"), ("options", "not ready: pooler: ")]
        ]:
            with self.subTest(mode=mode, ignored=ignored):
                (pooler / "ini").write_text(
                    f"[databases]\ndossier = host={folder}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
                    f"listen_port = {port}\nunix_socket_dir =\nauth_type = any\n"
                    f"auth_file = {pooler}/users\npool_mode = {mode}\n"
                    f"ignore_startup_parameters = {ignored}\n")
                # The connection string of the pooler's database names its role.
                text = (pooler / "ini").read_text().replace(
                    f"host={folder}", f"host={folder} user=server")
                (pooler / "ini").write_text(text)
                (pooler / "users").write_text("")
                started = subprocess.Popen(
                    [*AS_POSTGRES, "pgbouncer", pooler / "ini"], stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL)
                before = self.site.environment["DOSSIER_DATABASE"]
                try:
                    wait_until(lambda: is_listening(port), what="PgBouncer")
                    self.restart(ready=False, DOSSIER_DATABASE=
                                 f"host=127.0.0.1 port={port} user=server dbname=dossier")
                    wait_until(lambda: words in self.site.get("/readyz").body.decode(), what=words)
                finally:
                    self.restart(DOSSIER_DATABASE=before)
                    started.terminate()
                    started.wait(60)

    def test_a_database_without_tables_and_an_unknown_app_are_told(self):
        subprocess.run([TOOLS / "createdb", "-h", self.site.folder, "-U", "owner", "empty"],
                       check=True)
        for setting, value, words in [
            ("DOSSIER_DATABASE", self.site.conninfo("server").replace("dbname=dossier", "dbname=empty"),
             "not ready: schema: there are no tables"),
            ("DOSSIER_APP", "nobody", "not ready: app: there is no app nobody"),
        ]:
            with self.subTest(setting):
                before = self.site.environment.get(setting)
                self.restart(ready=False, **{setting: value})
                wait_until(lambda: words in self.site.get("/readyz").body.decode(), what=words)
                wait_until(lambda: any(words in line for line in self.site.messages()), what=words)
                self.restart(**{setting: before})

    def test_a_database_that_is_down_is_told_and_waited_for(self):
        count = len(self.site.messages())
        self.site.stop_postgres()
        self.restart(ready=False)
        wait_until(lambda: any("the database is away: " in line
                               for line in self.site.messages()[count:]), what="the reason")
        self.site.start_postgres()
        self.site.wait_until_ready()


if __name__ == "__main__":
    unittest.main()
