"""Tests the death of workers: its report, the replacement, and the effect on other requests."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from asking import JSON, MERGE
from deployment import Deployment
from machine import BUILD, IS_ROOT, wait_until
from fastcgi import records, responses

FATAL = r"""
echo 'Swift/Dictionary.swift:830: Fatal error: Duplicate values for key: "ada@example.com"' >&2
printf . >&4
kill -ILL $$
"""


class Crashes(unittest.TestCase):
    def setUp(self):
        self.site = Deployment()
        self.addCleanup(self.site.stop)

    def kill(self, number):
        """Ends a worker by a signal and waits for the next one. Returns the log line about it."""
        before = self.site.workers()
        os.kill(before[0], number)
        wait_until(lambda: len(set(self.site.workers()) - set(before)) == 1, what="another worker")
        said = [line for line in self.site.messages() if line.startswith(f"worker {before[0]} ended")]
        self.assertEqual(len(said), 1, self.site.messages())
        return said[0]

    def test_the_log_of_a_crash_has_no_memory_contents(self):
        token = self.site.login()["access_token"]
        for number, name in [
            (signal.SIGSEGV, "Segmentation fault"), (signal.SIGILL, "Illegal instruction"),
            (signal.SIGABRT, "Aborted"), (signal.SIGTRAP, "Trace/breakpoint trap")]:
            for _ in range(4):
                self.site.get("/v1/me", token=token)
            self.assertIn(f"ended: signal {number.value} ({name});", self.kill(number))
        # This fails unless every line is JSON.
        self.assertNotIn(token, str(self.site.log_lines()))

    def test_processes_write_no_core_and_their_memory_is_unreadable(self):
        for process in [self.site.supervisor.pid, *self.site.workers()]:
            folder = pathlib.Path(f"/proc/{process}")
            limits = (folder / "limits").read_text()
            self.assertRegex(limits, r"Max core file size +0 +0 ")
            # If a process can be dumped, these files belong to its user.
            self.assertEqual((folder / "mem").stat().st_uid, 0)
            status = (folder / "status").read_text()
            if IS_ROOT:
                self.assertNotRegex(status, r"(?m)^Uid:\s.*\b0\b")

    def test_replacements_after_the_first_are_delayed(self):
        self.assertRegex(self.kill(signal.SIGKILL), r"starting another$")
        # Until one slot has lost two workers. Workers that lived for long do not count.
        wait_until(
            lambda: re.search(r"starting another in \d+ ms$", self.kill(signal.SIGKILL)),
            what="a seat that waits")

    def test_a_write_that_a_dead_worker_may_have_read_is_not_repeated(self):
        first, other = self.site.workers()
        tokens = [self.site.login()["access_token"] for _ in range(16)]
        answers = {}

        def write(index):
            answer = self.site.request(
                "PUT", "/v1/me/metadata", {"a": index}, {**JSON, "X-Request-Id": f"put-{index}"},
                tokens[index])
            answers[f"put-{index}"] = (answer.status, answer.json.get("code"))

        writers = [threading.Thread(target=write, args=[index]) for index in range(16)]
        with self.site.locked("documents"):
            for writer in writers:
                writer.start()
            # A worker has four write connections, so both workers have some of five writes.
            wait_until(lambda: self.site.waiting() > 4, what="writes of both workers")
            os.kill(first, signal.SIGSEGV)
            wait_until(lambda: answers, what="an answer to what the first worker had")
        for writer in writers:
            writer.join()
        lost = {name for name, answer in answers.items() if answer == (503, "server_unavailable")}
        self.assertTrue(lost)
        self.assertLess(len(lost), 16)
        self.assertEqual(lost & {line["request"] for line in self.site.logged()}, set())
        self.assertIn(other, self.site.workers())

    def test_a_read_of_a_dead_worker_is_sent_to_another(self):
        tokens = [self.site.login()["access_token"] for _ in range(8)]
        for token in tokens:
            self.assertIn(
                self.site.request("PUT", "/v1/me/metadata", {"a": 1}, JSON, token).status, (200, 201))
        for method in ["GET", "HEAD"]:
            first = self.site.workers()[0]
            answers = []

            def read(token):
                answers.append(self.site.request(method, "/v1/me/metadata", token=token))

            # All reads of a worker are on one connection: the first one waits, and the rest behind it.
            with self.site.locked("documents"):
                readers = [threading.Thread(target=read, args=[token]) for token in tokens]
                for reader in readers:
                    reader.start()
                wait_until(lambda: self.site.waiting() == 2, what="reads of both workers")
                os.kill(first, signal.SIGKILL)
                wait_until(lambda: first not in self.site.workers(), what="the end of the worker")
            for reader in readers:
                reader.join()
            # Each gets a response from a worker, at least that PostgreSQL was too slow.
            self.assertEqual(len(answers), 8)
            for answer in answers:
                self.assertIsNotNone(answer.headers["X-Request-Id"], answer.body)

    def test_a_request_that_crashes_workers_reaches_at_most_two(self):
        site = Deployment(workers=3)
        self.addCleanup(site.stop)
        token = site.login()["access_token"]
        reading = ("select pid from pg_stat_activity where wait_event_type = 'Lock' "
                   "and query like '%documents%'")

        def kill_each_worker(method, body):
            """Kills each worker that the request reaches. Returns their number and the response."""
            workers, answers = [], []
            sent = threading.Thread(target=lambda: answers.append(site.request(
                method, "/v1/me/metadata", body, MERGE if body else {}, token)))
            with site.locked("documents"):
                sent.start()
                while True:
                    wait_until(lambda: answers or site.sql(reading), what="an answer or a reader")
                    if answers:
                        break
                    backend = int(site.sql(reading).split("\n")[0])
                    workers.append(client_of(site, backend))
                    os.kill(workers[-1], signal.SIGKILL)
                    wait_until(lambda: workers[-1] not in site.workers(), what="the worker's end")
                    # PostgreSQL would keep the connection for as long as its statement waits.
                    site.sql(f"select pg_terminate_backend({backend}, 60000)")
            sent.join()
            wait_until(lambda: len(site.workers()) == 3, what="three workers")
            return len(workers), answers[0]

        for method, body, count in [("GET", None, 2), ("HEAD", None, 2), ("PATCH", {"a": 1}, 1)]:
            for _ in range(20):
                number, answer = kill_each_worker(method, body)
                self.assertEqual(answer.status, 503)
                self.assertLessEqual(number, count)
                # A worker answers when PostgreSQL ends a statement that has waited for too long.
                if not answer.headers["X-Request-Id"]:
                    break
            self.assertEqual(number, count, method)

    def test_a_request_without_a_reachable_worker_is_sent_to_another(self):
        # Without its file, no client can connect to the socket.
        self.site.socket(0).unlink()
        for index in range(8):
            for method in ["GET", "DELETE"]:
                connection = self.site.connection()
                self.assertEqual(
                    self.site.request(method, "/v1/me", connection=connection).status, 401)
                connection.close()


class Releases(unittest.TestCase):
    """Tests deployments that start dossierd under another name."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir="/tmp")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o755)
        self.folder = pathlib.Path(folder.name)

    def script(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
        return path

    def deploy(self, **options):
        site = Deployment(**options)
        self.addCleanup(site.stop)
        return site

    def test_a_crash_message_is_shortened_to_its_source_location(self):
        program = self.folder / "dossierd"
        program.symlink_to(BUILD / "dossierd")
        site = self.deploy(program=program)
        # The next worker prints the crash message that Swift's runtime would print.
        program.unlink()
        program.symlink_to(self.script("fatal", FATAL))
        os.kill(site.workers()[0], signal.SIGKILL)
        wait_until(lambda: any("Dictionary" in line for line in site.messages()), what="words")
        said = next(line for line in site.messages() if "Dictionary" in line)
        self.assertIn("ended: signal 4 (Illegal instruction): Swift/Dictionary.swift:830;", said)
        # Also for workers that died before the supervisor checked their readiness.
        wait_until(lambda: str(site.messages()).count("Dictionary") > 4, what="more of them")
        self.assertNotIn("ada@example", str(site.log_lines()))

    def test_nginx_does_not_wait_for_a_worker_that_cannot_start(self):
        program = self.folder / "dossierd"
        program.symlink_to(BUILD / "dossierd")
        site = self.deploy(program=program)
        program.unlink()
        program.symlink_to(self.script("broken", "exit 3\n"))
        os.kill(site.workers()[0], signal.SIGKILL)
        wait_until(lambda: any("exit 3; starting another in" in message
                               for message in site.messages()), what="a worker that cannot start")
        with socket.socket(socket.AF_UNIX) as client:
            # The time limit only prevents a hang.
            client.settimeout(120)
            client.connect(str(site.socket(0)))
            self.assertEqual(client.recv(1), b"")
        for _ in range(8):
            self.assertEqual(site.get("/v1/me").status, 401)
            answer = site.request("POST", "/v1/login/anonymous", {}, JSON)
            self.assertIn(answer.status, [200, 503], answer.body)
        program.unlink()
        program.symlink_to(BUILD / "dossierd")
        site.wait_until_ready()

    def test_the_event_loop_waits_if_no_descriptors_are_free(self):
        site = self.deploy(
            program=self.script("few", f'ulimit -n 64; exec {BUILD}/dossierd "$@"\n'),
            settings=[("DOSSIER_STALL_SECONDS", "0")])
        self.assertTrue(any("only 64 files may be open" in line for line in site.messages()))
        worker = site.workers()[0]
        os.kill(worker, signal.SIGSTOP)
        clients = []
        for _ in range(100):
            client = socket.socket(socket.AF_UNIX)
            self.addCleanup(client.close)
            client.connect(str(site.socket(0)))
            clients.append(client)
        before = waits(worker)
        os.kill(worker, signal.SIGCONT)
        # A loop that spins never waits.
        wait_until(lambda: waits(worker) > before + 8, what="a loop that waits")
        for client in clients[:-1]:
            client.close()
        clients[-1].settimeout(120)
        clients[-1].sendall(records())
        self.assertIn(b"200 OK", responses(clients[-1]))


def client_of(site, backend):
    """Returns the worker that a backend of PostgreSQL serves."""
    # Each end of a Unix socket names the other end.
    ends = subprocess.run(["ss", "-xpnH"], capture_output=True, text=True, check=True).stdout
    sockets = {}
    for line in ends.splitlines():
        words = line.split()
        owner = re.search(r"pid=(\d+)", line)
        if owner:
            sockets[words[5]] = (int(owner[1]), words[7])
    workers = set(site.workers())
    for process, other in sockets.values():
        if process == backend and other in sockets and sockets[other][0] in workers:
            return sockets[other][0]
    raise AssertionError(f"no worker is connected to {backend}")


def waits(process):
    """Returns how often the process's main thread has waited."""
    status = pathlib.Path(f"/proc/{process}/task/{process}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


if __name__ == "__main__":
    unittest.main()
