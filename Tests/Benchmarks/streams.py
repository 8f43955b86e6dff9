#!/usr/bin/env python3
"""Measures the memory and the processor time of dossier-streams and nginx with idle streams.

    Tests/Benchmarks/streams.py [--streams 1000] [--seconds 60]

Each user has ten streams, through nginx. Each stream takes a descriptor here, two of nginx and one of the
program: `ulimit -n` must allow 12,000 for 10,000 streams. Needs a release build, as run.py does.
"""

import argparse
import os
import pathlib
import re
import socket
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("DOSSIER_TEST_BUILD", str(HERE.parents[1] / ".build/release"))
sys.path.insert(0, str(HERE.parent / "EndToEnd"))
from deployment import Deployment  # noqa: E402
from streams import StreamCase  # noqa: E402


class Idle(StreamCase):
    # So that none of them has the descriptors of all streams.
    NGINX_PROCESSES = 4

    def processes(self):
        """Returns the processes of the program, and those of nginx."""
        nginx = self.site.nginx.pid
        children = pathlib.Path(f"/proc/{nginx}/task/{nginx}/children").read_text().split()
        return {"the program": [self.program.pid], "nginx": [nginx, *map(int, children)]}

    @staticmethod
    def memory(processes):
        """Returns the private memory of processes, in KiB."""
        texts = [pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in processes]
        return sum(int(size) for text in texts for size in re.findall(r"Private_\w+: +(\d+)", text))

    @staticmethod
    def seconds(processes):
        """Returns the processor time of processes."""
        texts = [pathlib.Path(f"/proc/{pid}/schedstat").read_text() for pid in processes]
        return sum(int(text.split()[0]) for text in texts) / 1e9

    def measure(self, count, seconds):
        # The first streams fill tables and caches.
        clients = self.open(100)
        programs = self.processes()
        before = {name: self.memory(pids) for name, pids in programs.items()}
        clients += self.open(count)
        print(f"{count} streams of {count // 10} users")
        start = {name: self.seconds(pids) for name, pids in programs.items()}
        used = {name: self.memory(pids) for name, pids in programs.items()}
        time.sleep(seconds)
        for name, pids in programs.items():
            share = 100 * (self.seconds(pids) - start[name]) / seconds
            print(f"{name}: {(used[name] - before[name]) / count:.1f} KiB a stream, "
                  f"{self.memory(pids)} KiB in all; idle: {share:.2f} % of a core")
        for client in clients:
            client.close()

    def open(self, count):
        """Opens streams, and waits for the first event of each."""
        clients = []
        for _ in range(count // 10):
            token = self.site.login()["access_token"]
            request = (f"GET /v1/me/events HTTP/1.1\r\nHost: 127.0.0.1:{self.site.port}\r\n"
                       f"Authorization: Bearer {token}\r\n\r\n").encode()
            for _ in range(10):
                client = socket.create_connection(("127.0.0.1", self.site.port), timeout=300)
                client.sendall(request)
                clients.append(client)
        for client in clients:
            received = b""
            while b"event: ready" not in received:
                part = client.recv(4_096)
                assert part, received
                received += part
        return clients


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--streams", type=int, default=1_000)
    options.add_argument("--seconds", type=int, default=60, help="of the measurement of idle streams")
    options = options.parse_args()
    Deployment.nginx_connections = 2 * options.streams + 1_000
    Idle.setUpClass()
    try:
        Idle("measure").measure(options.streams, options.seconds)
    finally:
        Idle.tearDownClass()


if __name__ == "__main__":
    main()
