"""Tests readiness, and the reasons that operators see if a worker is not ready."""

import json
import secrets
import shutil
import subprocess
import unittest

from asking import JSON
from cases import Administration, Case
from machine import (
    AS_POSTGRES, BUILD, IS_ROOT, TOOLS, free_port, is_listening, wait_until)


class Readiness(Case):
    def setUp(self):
        self.begun = len(self.site.log_lines())

    def log_lines(self, *words):
        """Returns the log lines since the start of the test that contain all words."""
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
            # The first failure may occur on the old connection.
            self.post("/v1/login/anonymous", {})
            return self.log_lines("POST /v1/login/anonymous", *words)

        wait_until(failed, what=f"a line with {words}")

    def test_an_unavailable_database_is_reported_with_its_reason(self):
        wait_until(lambda: self.site.metric("dossier_database_up") == 2, what="both connected")
        self.site.stop_postgres()
        self.failed_anonymous_login("database: 08", "'status': 503")
        self.not_ready("not ready: database: ", "No such file")
        self.assertEqual(self.site.metric("dossier_database_up"), 0)
        self.assertGreater(self.site.metric('dossier_database_failures_total{reason="connection"}'), 0)
        wait_until(lambda: len(self.log_lines("the database is unavailable", "No such file")) == 2,
                   what="a line of each worker")
        # Each worker tries repeatedly, but logs it once.
        for _ in range(20):
            self.post("/v1/login/anonymous", {})
        self.assertEqual(len(self.log_lines("the database is unavailable", "No such file")), 2)
        self.site.start_postgres()
        self.site.wait_until_ready()
        wait_until(lambda: len(self.log_lines("the database is connected")) >= 2, what="both connected")

    def test_a_role_without_login_is_reported(self):
        self.site.sql("alter role server nologin")
        self.addCleanup(self.site.sql, "alter role server login")
        self.reconnect()
        self.not_ready("database: ", "is not permitted to log in")
        wait_until(lambda: self.log_lines("the database is unavailable", "is not permitted to log in"),
                   what="the reason in the log")
        self.failed_anonymous_login("is not permitted to log in")
        self.site.sql("alter role server login")
        self.site.wait_until_ready()

    def test_too_many_connections_are_reported(self):
        self.site.sql("alter role server connection limit 1")
        self.addCleanup(self.site.sql, "alter role server connection limit -1")
        self.reconnect()
        wait_until(lambda: self.log_lines("too many connections for role"), what="the reason in the log")
        self.failed_anonymous_login("too many connections")
        self.site.sql("alter role server connection limit -1")
        self.site.wait_until_ready()

    def test_a_read_only_server_is_reported(self):
        self.site.sql("alter role server set default_transaction_read_only = on")
        self.addCleanup(self.site.sql, "alter role server reset default_transaction_read_only")
        self.reconnect()
        self.not_ready("read_only: the server is read-only")
        self.failed_anonymous_login("database: 25006", "read-only transaction")
        self.assertGreater(self.site.metric('dossier_database_failures_total{reason="read_only"}'), 0)
        wait_until(lambda: self.log_lines("not ready: read_only"), what="the reason in the log")
        self.site.sql("alter role server reset default_transaction_read_only")
        self.reconnect()
        self.site.wait_until_ready()

    def test_an_older_schema_is_reported_and_prevents_a_reload(self):
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

    def test_missing_privileges_are_reported(self):
        self.site.sql("revoke insert on users from server")
        self.addCleanup(self.site.sql, "grant insert on users to server")
        self.not_ready("grants: the role server may not read and change table users",
                       "--grant-to server")
        self.failed_anonymous_login("42501")
        self.site.sql("grant insert on users to server")
        self.site.wait_until_ready()

    def test_commands_report_missing_privileges_and_a_refused_role(self):
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

    SETTINGS = {"DOSSIER_LOCK_SECONDS": "1"}

    def expect_reports(self, *words):
        """Waits until readiness and the doctor report the words, and the metrics the last one."""
        *words, reason = words

        def has_words(text):
            return text and all(word in text for word in words)

        def is_reported():
            answer = self.site.get("/readyz")
            return answer.status == 503 and has_words(answer.body.decode())

        wait_until(is_reported, what=f"not ready: {words}")
        run = self.site.dossier("doctor", check=False)
        self.assertEqual(run.returncode, 24, run.stderr)
        faults = {row["what"]: row["fault"] for row in json.loads(run.stdout)}
        # The check of writes is not reached if reads fail too, as those that Citus cannot plan.
        self.assertTrue(has_words(faults["writes" if "writes" in faults else "database"]), faults)
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

    def test_a_lock_that_is_not_released(self):
        with self.site.locked("documents"):
            self.refused_write("database: 55P03")
        self.expect(self.site.request("PUT", "/v1/me/custom-data", {}, JSON, self.token), 200)

    @unittest.skipUnless(IS_ROOT, "a small disk takes a mount")
    def test_a_full_disk_is_reported_and_needs_no_restart(self):
        small = self.site.folder / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=700", "small", small], check=True)
        try:
            shutil.chown(small, "postgres")
            for _, port in self.site.nodes():
                space = small / str(port)
                space.mkdir(mode=0o700)
                shutil.chown(space, "postgres")
                self.site.sql(f"create tablespace small location '{space}'", port)
            self.site.move_tables(["documents", "hosts"], "small")
            self.refused_write("database: 53100")
            # The filler also takes the space that PostgreSQL frees meanwhile.
            subprocess.run(["dd", "if=/dev/zero", f"of={small}/filler"], stderr=subprocess.DEVNULL)
            self.expect(self.site.get("/v1/me", token=self.token), 200)
            self.expect_reports("the disk of PostgreSQL is full", "53100", "disk_full")
            answer = self.site.request(
                "PUT", "/v1/me/custom-data", {"text": secrets.token_hex(300_000)}, JSON, self.token)
            self.expect(answer, 503, "database_unavailable")
            self.assertIn("The disk of the database is full.", answer.json["detail"])
            # Free space is enough. No write has to succeed first.
            self.site.move_tables(["documents", "hosts"], "pg_default")
            self.site.wait_until_ready()
            wait_until(lambda: self.site.request(
                "PUT", "/v1/me/custom-data", {}, JSON, self.token).status < 300, what="a write")
            for _, port in self.site.nodes():
                self.site.sql("drop tablespace small", port)
        finally:
            subprocess.run(["umount", "-l", small], check=True)


class AtTheStart(Case):
    def test_a_connection_pooler_is_reported(self):
        port, folder = free_port(), self.site.folder
        pooler = folder / "pgbouncer"
        pooler.mkdir()
        for mode, ignored, words in [
            (mode, *row) for mode in ["session", "transaction", "statement"]
            for row in [("", "for PgBouncer, set `pooler`"), ("options", "not ready: pooler: ")]
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
                    started.wait(120)

    def test_a_database_without_tables_and_an_unknown_app_are_reported(self):
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

    def test_dossierd_reports_a_stopped_database_and_waits_for_it(self):
        count = len(self.site.messages())
        self.site.stop_postgres()
        self.restart(ready=False)
        wait_until(lambda: any("the database is unavailable: " in line
                               for line in self.site.messages()[count:]), what="the reason")
        self.site.start_postgres()
        self.site.wait_until_ready()


if __name__ == "__main__":
    unittest.main()
