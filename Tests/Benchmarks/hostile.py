#!/usr/bin/env python3
"""What one request can do to others: how long it holds the loop of a worker, and its memory.

    Tests/Benchmarks/hostile.py [--rounds 3]

Needs a release build, as run.py does. The requests are those of Tests/EndToEnd/test_hostile.py. While
one is under way, another client asks the same worker for `/healthz`, which touches no database, again
and again: the longest that it waits is how long the loop was held, and what the machine adds.
"""

import argparse
import os
import pathlib
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("DOSSIER_TEST_BUILD", str(HERE.parents[1] / ".build/release"))
sys.path.insert(0, str(HERE.parent / "EndToEnd"))
from asking import JSON  # noqa: E402
from deployment import Deployment  # noqa: E402
from test_hostile import Memory, array, hostile  # noqa: E402


class Watch:
    """Asks all the time, and knows how long the slowest answer took."""

    def __init__(self, site):
        self.site, self.longest, self.ended = site, 0.0, False
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ended:
            start = time.monotonic()
            self.site.get("/healthz")
            self.longest = max(self.longest, time.monotonic() - start)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.thread.join()


def measure(site, token, document, request):
    method, path, body, kind = request
    site.request("DELETE", "/v1/me/custom-data", token=token)
    site.request("PUT", "/v1/me/custom-data", document.encode(), JSON, token)
    memory = Memory(site)
    with Watch(site) as watch:
        start = time.monotonic()
        answer = site.request(method, f"/v1/me/{path}", body.encode(), kind, token)
        took = time.monotonic() - start
    return watch.longest, took, memory.grown() / Memory.length(body, document), answer.status


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    site = Deployment(workers=1)
    try:
        token = site.login()["access_token"]
        cases = hostile(f'{{"a":{array("0", 690_000)}}}')
        results = {name: [measure(site, token, document, request) for _ in range(options.rounds)]
                   for name, document, request, _ in cases}
    finally:
        site.stop()
    print(f"| {'request':28} | status | on the loop, ms | in all, ms | memory / bytes sent or stored |")
    print(f"|{'-' * 30}|-------:|----------------:|-----------:|-------------------------------:|")
    for name, rounds in results.items():
        held, took, grown, status = (max(values) for values in zip(*rounds))
        print(f"| {name:28} | {status:6} | {held * 1000:15.1f} | {took * 1000:10.1f} | {grown:30.1f} |")


if __name__ == "__main__":
    main()
