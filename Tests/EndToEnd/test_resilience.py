"""Tests failures of parts of the deployment under load."""

import json
import os
import signal
import socket
import struct
import threading
import unittest

from asking import JSON, MERGE
from deployment import Deployment
from machine import wait_until
from fastcgi import records, responses


class Load:
    """Clients that read and write continuously, and keep every response."""

    def __init__(self, site, clients=8):
        self.site, self.answers, self.stopping = site, [], False
        self.tokens = [site.login()["access_token"] for _ in range(clients)]
        self.threads = [
            threading.Thread(target=self.run, args=[token]) for token in self.tokens]
        for thread in self.threads:
            thread.start()

    def run(self, token):
        turn = 0
        while not self.stopping:
            turn += 1
            try:
                if turn % 4 == 0:
                    answer = self.site.request(
                        "PATCH", "/v1/me/metadata", {"turn": turn}, MERGE, token)
                else:
                    answer = self.site.get("/v1/me", token=token)
                self.answers.append((answer.status, answer.headers))
            except Exception as error:
                self.answers.append((repr(error), {}))

    def go_on(self, count=100):
        """Waits for `count` further responses."""
        goal = len(self.answers) + count
        wait_until(lambda: len(self.answers) >= goal, what="answers under load")

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join()
        return self.answers


class Resilience(unittest.TestCase):
    def setUp(self):
        # A worker that ends is not killed because the machine is busy.
        self.site = Deployment(settings=[("DOSSIER_DRAIN_SECONDS", "600")])
        self.addCleanup(self.site.stop)

    def test_postgresql_restarts_under_load(self):
        workers = sorted(self.site.workers())
        load = Load(self.site)
        load.go_on()
        self.site.stop_postgres()
        load.go_on()
        refused = self.site.get("/v1/me", token=load.tokens[0])
        self.assertEqual(refused.status, 503, refused.body)
        self.assertEqual(refused.headers["Retry-After"], "1")
        self.assertEqual(self.site.get("/readyz").status, 503)
        self.assertEqual(self.site.get("/healthz").status, 200)
        self.site.start_postgres()
        self.site.wait_until_ready()
        # Every worker reconnects; then no request is refused.
        last = lambda: {status for status, _ in load.answers[-200:]}
        wait_until(lambda: last() == {200}, what="answers to all")
        load.go_on(200)
        answers = load.stop()
        self.assertEqual({status for status, _ in answers}, {200, 503})
        for status, headers in answers:
            if status == 503:
                self.assertEqual(headers["Retry-After"], "1")
        self.assertEqual(last(), {200})
        self.assertEqual(sorted(self.site.workers()), workers)

    def test_sighup_under_load_fails_no_request(self):
        before = set(self.site.workers())
        load = Load(self.site)
        load.go_on()
        self.site.supervisor.send_signal(signal.SIGHUP)
        wait_until(lambda: not before & set(self.site.workers()), what="the end of the old workers")
        load.go_on()
        answers = load.stop()
        self.assertEqual({status for status, _ in answers}, {200})
        self.assertEqual(len(self.site.workers()), 2)

    def test_a_killed_worker_is_replaced_while_others_serve(self):
        first, other = self.site.workers()
        load = Load(self.site)
        load.go_on()
        os.kill(first, signal.SIGKILL)
        replaced = lambda: first not in self.site.workers() and len(self.site.workers()) == 2
        wait_until(replaced, what="another worker")
        load.go_on()
        answers = load.stop()
        # The healthy one is the same process, and the other is a new one.
        self.assertIn(other, self.site.workers())
        new = next(pid for pid in self.site.workers() if pid != other)
        # The log shows that the new worker serves.
        wait_until(lambda: any(line["pid"] == new for line in self.site.logged()), what="its answers")
        failed = [status for status, _ in answers if status != 200]
        # At most the requests of the killed worker fail: one for each client.
        self.assertLessEqual(len(failed), len(load.tokens))
        self.assertLessEqual(set(failed), {502, 503})

    def test_sigterm_under_load_completes_accepted_requests(self):
        # The kernel accepts connections for a worker, so all requests are accepted before the signal.
        # They take a while, since passwords are hashed one after the other.
        clients = [socket.socket(socket.AF_UNIX) for _ in range(16)]
        for index, client in enumerate(clients):
            self.addCleanup(client.close)
            client.settimeout(120)
            client.connect(str(self.site.socket(index % 2)))
            body = json.dumps({"email": f"term{index}@example.com", "password": "correct horse"}).encode()
            client.sendall(records(path="/v1/register", content_length=len(body), body=body))
        self.site.supervisor.send_signal(signal.SIGTERM)
        for client in clients:
            self.assertIn(b"Status: 201", responses(client))
            client.close()
        self.assertEqual(self.site.supervisor.wait(120), 0)
        self.assertEqual(self.site.get("/v1/me").status, 503)
        self.assertEqual(self.site.get("/v1/me").headers["Retry-After"], "1")
        self.assertFalse(self.site.socket(0).exists())


class Connections(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = Deployment()

    @classmethod
    def tearDownClass(cls):
        cls.site.stop()

    def test_many_requests_on_one_connection(self):
        token = self.site.login()["access_token"]
        client = self.site.connection()
        statuses = {
            self.site.get("/v1/me", token=token, connection=client).status for _ in range(2000)}
        self.assertEqual(statuses, {200})
        client.close()

    def test_a_hundred_concurrent_connections(self):
        token = self.site.login()["access_token"]
        clients = [self.site.connection() for _ in range(100)]
        for client in clients:
            client.request("GET", "/v1/me", headers={"Authorization": f"Bearer {token}"})
        statuses = set()
        for client in clients:
            response = client.getresponse()
            response.read()
            statuses.add(response.status)
            client.close()
        self.assertEqual(statuses, {200})

    def test_aborted_requests_do_not_affect_others(self):
        token = self.site.login()["access_token"]
        request = f"GET /v1/me HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        for index in range(200):
            with socket.create_connection(("127.0.0.1", self.site.port)) as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                client.sendall(request if index % 2 else request[: index % len(request)])
        workers = self.site.workers()
        self.assertEqual(self.site.get("/v1/me", token=token).status, 200)
        self.assertEqual(len(workers), 2)

    def test_a_body_over_the_limit_of_nginx_gets_an_error_of_the_api(self):
        token = self.site.login()["access_token"]
        body = b'{"a":"' + b"x" * (1 << 20) + b'"}'
        answer = self.site.request("PUT", "/v1/me/custom-data", body, JSON, token)
        self.assertEqual((answer.status, answer.json["code"]), (413, "body_too_large"))

    def test_errors_of_nginx_are_problems_too(self):
        for path, headers, status, code in [
            ("/" + "x" * 20_000, {}, 414, "uri_too_long"),
            ("/v1/me", {"X-Long": "x" * 20_000}, 431, "header_too_large"),
        ]:
            answer = self.site.get(path, headers=headers)
            self.assertEqual((answer.status, answer.json["code"]), (status, code))

    # FastCGI, without nginx between

    def worker(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(120)
        client.connect(str(self.site.socket(0)))
        return client

    def assert_closed(self, client):
        """Asserts a closed connection. Unread data makes the close a reset."""
        try:
            self.assertEqual(client.recv(100), b"")
        except ConnectionResetError:
            pass

    def test_records_that_arrive_byte_by_byte_do_not_delay_others(self):
        with self.worker() as slow:
            request = records()
            for start in range(0, len(request), 5):
                slow.send(request[start:start + 5])
                with self.worker() as other:
                    other.sendall(records())
                    # This one gets its response before the slow one.
                    self.assertIn(b"200 OK", responses(other))
            self.assertIn(b"200 OK", responses(slow))
            # The connection stays open.
            slow.sendall(records())
            self.assertIn(b"200 OK", responses(slow))

    def test_truncated_records_are_dropped(self):
        whole = records(content_length=2, body=b"{}")
        for length in range(1, len(whole), 7):
            with self.worker() as client:
                client.sendall(whole[:length])
        for garbage in [b"\xff" * 64, b"GET / HTTP/1.1\r\n\r\n", bytes(64)]:
            with self.worker() as client:
                client.sendall(garbage)
                self.assert_closed(client)
        with self.worker() as client:
            client.sendall(whole)
            self.assertIn(b"access_token", responses(client))

    def test_a_client_that_keeps_sending_invalid_records_is_disconnected(self):
        begin, end = records()[:16], b"\x01\x04\x00\x01\x00\x00\x00\x00" + records()[-8:]
        half = b"\x01\x04\x00\x01\x00\x01\x00\x00\x05"
        unfit = b"\x01\x01\x00\x01\x00\x00\x00\x00"
        for faults in [begin + half + end, unfit + end, begin + unfit + end]:
            with self.subTest(faults), self.worker() as client:
                client.sendall(faults)

                def is_closed():
                    try:
                        client.send(b"x")
                        return False
                    except OSError:
                        return True

                wait_until(is_closed, what="the end of the connection")
                self.assertEqual(self.site.get("/healthz").status, 200)

    def test_a_body_that_never_ends_is_aborted(self):
        with self.worker() as client:
            client.sendall(records(content_length=2, body=b"{}")[:-8])
            self.assert_closed(client)

    def test_a_body_shorter_than_stated_is_refused(self):
        with self.worker() as client:
            client.sendall(records(content_length=9, body=b"{}"))
            self.assertIn(b"body_truncated", responses(client))

    # Operation

    def test_metrics_are_summed_over_workers_and_logs_have_no_secrets(self):
        grant = self.site.login()
        for _ in range(40):
            client = self.site.connection()
            self.site.get("/v1/me", token=grant["access_token"], connection=client)
            client.close()
        prefix = 'dossier_requests_total{route="GET /v1/me",status_class="2xx"} '
        # Each worker returns the sum.
        counts = {
            int(line.removeprefix(prefix)) for _ in range(8)
            for line in self.site.get("/metrics").body.decode().splitlines()
            if line.startswith(prefix)}
        self.assertEqual(len(counts), 1)
        self.assertGreaterEqual(counts.pop(), 40)

        def mine():
            return [row for row in self.site.logged() if row.get("user") == grant["user_id"]]

        wait_until(lambda: len(mine()) >= 40, what="the lines of the log")
        self.assertGreater(mine()[0]["db_duration_us"], 0)
        text = (self.site.folder / "dossierd.log").read_text()
        for secret in [grant["access_token"], grant["refresh_token"], "correct horse", "@example"]:
            self.assertNotIn(secret, text)


if __name__ == "__main__":
    unittest.main()
