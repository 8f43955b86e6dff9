#!/usr/bin/env python3
"""Measures the memory and the processor time of dossier-streams with idle streams.

    Tests/Benchmarks/streams.py [--streams 1000] [--seconds 60]

Each user has ten streams, as nginx connects them; nginx itself is left out. Needs a release build, as
run.py does.
"""

import argparse
import os
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("DOSSIER_TEST_BUILD", str(HERE.parents[1] / ".build/release"))
sys.path.insert(0, str(HERE.parent / "EndToEnd"))
from streams import StreamCase  # noqa: E402


class Idle(StreamCase):
    def memory(self):
        """Returns the private memory of the program, in KiB."""
        text = pathlib.Path(f"/proc/{self.program.pid}/smaps_rollup").read_text()
        return sum(int(size) for size in re.findall(r"Private_\w+: +(\d+)", text))

    def seconds(self):
        """Returns the processor time of the program."""
        text = pathlib.Path(f"/proc/{self.program.pid}/schedstat").read_text()
        return int(text.split()[0]) / 1e9

    def measure(self, count, seconds):
        # The first streams fill tables and caches.
        clients = self.open(10)
        before = self.memory()
        clients += self.open(count)
        used = self.memory() - before
        print(f"{count} streams of {count // 10} users: {used / count:.1f} KiB a stream, "
              f"{self.memory()} KiB in all")
        start = self.seconds()
        time.sleep(seconds)
        print(f"idle: {100 * (self.seconds() - start) / seconds:.2f} % of a core, "
              f"{self.memory()} KiB in all")
        for client in clients:
            client.close()

    def open(self, count):
        """Opens streams, and waits for the first event of each."""
        clients = []
        for _ in range(count // 10):
            grant = self.site.login()
            head = self.head(QUERY_STRING=self.query(grant))
            for _ in range(10):
                client = self.connect()
                client.sendall(head)
                clients.append(client)
        for client in clients:
            received = b""
            while b"event: ready" not in received:
                received += client.recv(4_096)
        return clients


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--streams", type=int, default=1_000)
    options.add_argument("--seconds", type=int, default=60, help="of the measurement of idle streams")
    options = options.parse_args()
    Idle.setUpClass()
    try:
        Idle("measure").measure(options.streams, options.seconds)
    finally:
        Idle.tearDownClass()


if __name__ == "__main__":
    main()
