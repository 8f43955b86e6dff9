"""Tests workers that accept no connections or do not respond."""

import contextlib
import os
import re
import signal
import socket
import time
import unittest

from asking import JSON, MERGE
from deployment import Deployment
from machine import free_port, wait_until


class Silence(unittest.TestCase):
    """Tests workers that do not respond, like those of a host without power."""

    def deploy(self, **options):
        # A test does not wait as long as a client.
        site = Deployment(nginx=[("fastcgi_read_timeout 15s", "fastcgi_read_timeout 1500ms"),
                                 ("fastcgi_read_timeout 35s", "fastcgi_read_timeout 60s")], **options)
        self.addCleanup(site.stop)
        return site

    def test_a_frozen_worker_is_replaced_before_its_clients_give_up(self):
        # nginx waits far longer than the test, so only the supervisor can free its clients.
        site = Deployment(nginx=[("fastcgi_read_timeout 15s", "fastcgi_read_timeout 600s")])
        self.addCleanup(site.stop)
        frozen, *_ = workers = site.workers()
        os.kill(frozen, signal.SIGSTOP)
        self.addCleanup(self.thaw, frozen)
        # Each request has a connection of its own, so nginx asks both workers.
        for _ in range(8):
            connection = site.connection()
            answer = site.request("GET", "/v1/me", None, JSON, connection=connection)
            self.assertEqual(answer.status, 401, answer.body)
            connection.close()
        wait_until(lambda: frozen not in site.workers() and len(site.workers()) == len(workers),
                   what="another worker")
        self.assertIn(f"worker {frozen} has not responded for 3 s, and is killed", site.messages())
        self.assertIn(f"worker {frozen} ended: ", " ".join(site.messages()))
        # Those that respond, also while they are idle, stay.
        time.sleep(4)
        self.assertLessEqual(set(workers) - {frozen}, set(site.workers()))

    @staticmethod
    def thaw(process):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)

    def test_a_host_that_accepts_no_connections_delays_few_requests(self):
        # Its queue is full, so further connections are not even refused.
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(0)
            port = silent.getsockname()[1]
            waiting = []
            self.addCleanup(lambda: [connection.close() for connection in waiting])
            while True:
                connection = socket.socket()
                waiting.append(connection)
                connection.settimeout(0.5)
                try:
                    connection.connect(("127.0.0.1", port))
                except TimeoutError:
                    break
            # Only one worker, since a second would use the next port, which may be in use.
            site = self.deploy(
                workers=1, settings=[("DOSSIER_LISTEN", f"127.0.0.1:{free_port()}")])
            upstream = site.folder / "upstream.conf"
            line = re.search("  server .*\n", upstream.read_text())[0]
            # The line that another host prints.
            silent_line = re.sub(r"server \S+", f"server 127.0.0.1:{port}", line)
            upstream.write_text(upstream.read_text().replace(line, silent_line + line))
            site.reload_nginx()
            began = time.monotonic()
            for index in range(60):
                for method, path, body, status in [("GET", "/v1/me", None, 401),
                                                   ("POST", "/v1/login/anonymous", {}, 200)]:
                    connection = site.connection()
                    answer = site.request(method, path, body, JSON, connection=connection)
                    self.assertEqual(answer.status, status, (index, method, answer.body))
                    connection.close()
            passed = time.monotonic() - began
            log = (site.folder / "nginx.log").read_text()
            tried = len(re.findall(f"while connecting to upstream.*127.0.0.1:{port}", log))
            # Once by each of nginx's two processes, and again after 30 seconds each.
            self.assertIn(tried, range(1, 2 * (2 + int(passed / 30)) + 1))

    def test_only_reads_without_a_response_are_sent_to_another_worker(self):
        site = self.deploy(settings=[("DOSSIER_STALL_SECONDS", "0")])
        token = site.login()["access_token"]
        stopped = site.workers()[0]
        os.kill(stopped, signal.SIGSTOP)
        try:
            for _ in range(6):
                connection = site.connection()
                self.assertEqual(site.get("/v1/me", token=token, connection=connection).status, 200)
                connection.close()
            # nginx does not repeat a write that the worker may have done.
            statuses = []
            for index in range(6):
                connection = site.connection()
                answer = site.request("PATCH", "/v1/me/metadata", {"turn": index}, MERGE, token,
                                      connection=connection)
                statuses.append(answer.status)
                connection.close()
            self.assertEqual(set(statuses), {200, 503})
        finally:
            os.kill(stopped, signal.SIGCONT)


if __name__ == "__main__":
    unittest.main()
