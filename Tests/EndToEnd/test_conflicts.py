"""Tests conflicts of transactions, and a database server that does not respond."""

import os
import pathlib
import signal

from asking import MERGE
from cases import Case, Held, in_parallel
from cluster import CITUS
from machine import wait_until


class Conflicts(Case):
    def test_the_isolation_level_of_the_server_does_not_matter(self):
        self.site.sql("alter role server set default_transaction_isolation = 'serializable'")
        self.addCleanup(
            self.site.sql, "alter role server reset default_transaction_isolation")
        self.restart()
        token = self.site.login()["access_token"]

        def ask(number):
            # All requests have one address, whose row counts its users.
            if number % 2:
                return self.post("/v1/login/anonymous", {})
            return self.site.request(
                "PATCH", "/v1/me/metadata", {f"k{number}": number}, MERGE, token)

        answers = in_parallel(120, ask)
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len(self.site.get("/v1/me/metadata", token=token).json), 60)


class Locks(Case):
    SETTINGS = {"DOSSIER_LOCK_SECONDS": "1"}

    def test_a_write_that_stays_locked_is_refused_for_now(self):
        token = self.site.login()["access_token"]
        with self.site.locked("documents"):
            answer = self.site.request("PATCH", "/v1/me/metadata", {"a": 1}, MERGE, token)
        self.expect(answer, 503, "overloaded")
        self.assertEqual(answer.headers["Retry-After"], "1")
        wait_until(lambda: any("55P03" in str(line) for line in self.site.logged()), what="the reason")

    def test_a_change_of_a_user_that_stays_locked_is_refused_for_now(self):
        grant = self.expect(self.register("held@example.com"), 201).json
        with Held(self.site, f"select from users where user_id = '{grant['user_id']}' for update"):
            answer = self.post("/v1/me/api-keys", {"name": "held"}, token=grant["access_token"])
        # A node of Citus does not know the limit of the lock, so the time of the statement ends there.
        code, state = (("database_unavailable", "57014") if CITUS in os.environ
                       else ("overloaded", "55P03"))
        self.expect(answer, 503, code)
        wait_until(lambda: any("POST /v1/me/api-keys" in str(line) and state in str(line)
                               for line in self.site.logged()), what="the reason")
        answer = self.post("/v1/me/api-keys", {"name": "free"}, token=grant["access_token"])
        self.expect(answer, 201)


class Silence(Case):
    """Suspends PostgreSQL as on a frozen machine: connections stay open without a response."""

    SETTINGS = {"DOSSIER_LOCK_SECONDS": "1"}

    def server(self):
        """Returns the processes of PostgreSQL."""
        main = int((self.site.folder / "postgres/postmaster.pid").read_text().split()[0])
        children = pathlib.Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return [main, *map(int, children)]

    def send(self, number):
        for process in self.stopped:
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass

    def test_requests_are_refused_until_the_database_responds_again(self):
        token = self.site.login()["access_token"]
        workers = sorted(self.site.workers())
        # Each worker has all kinds of connections.
        in_parallel(16, lambda number: self.site.request(
            "PATCH", "/v1/me/metadata", {"a": number}, MERGE, token))
        self.stopped = self.server()
        self.send(signal.SIGSTOP)
        self.addCleanup(self.send, signal.SIGCONT)
        asked = [
            lambda: self.site.request("PATCH", "/v1/me/metadata", {"a": 0}, MERGE, token),
            lambda: self.site.get("/v1/me", token=token),
            lambda: self.site.get("/v1/me/export", token=token),
            lambda: self.post("/v1/login/anonymous", {}),
        ]
        # The first requests detect the failure; later ones are refused at once.
        for _ in range(3):
            for answer in in_parallel(16, lambda number: asked[number % len(asked)]()):
                self.expect(answer, 503)
                self.assertEqual(answer.headers["Retry-After"], "1")
        self.assertEqual(self.site.get("/readyz").status, 503)
        # The limit in the guide: a read takes at most 1 s, plus 1 s without a response.
        wait_until(lambda: any("no answer within 2.0 seconds" in line
                               for line in self.site.messages()), what="the reason in the log")
        self.send(signal.SIGCONT)
        self.site.wait_until_ready()
        wait_until(lambda: all(ask().status == 200 for ask in asked * 4), what="answers to all")
        self.assertEqual(sorted(self.site.workers()), workers)
