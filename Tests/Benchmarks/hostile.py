#!/usr/bin/env python3
"""What one request can do to others: how long it holds the loop of a worker, and its memory.

    Tests/Benchmarks/hostile.py [--rounds 3]

Needs a release build, as run.py does. The requests are those of Tests/EndToEnd/test_hostile.py. Each is
made alone, for the time that the loop's thread has a processor, in all its turns: the loop cannot be held
longer by what it does itself. And it is made while another client asks the same worker for `/healthz`,
which touches no database, again and again: the longest that it waits has in it that the threads that
calculate, PostgreSQL, nginx and this program want processors too.
"""

import argparse
import multiprocessing
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("DOSSIER_TEST_BUILD", str(HERE.parents[1] / ".build/release"))
sys.path.insert(0, str(HERE.parent / "EndToEnd"))
from asking import JSON  # noqa: E402
from deployment import Deployment  # noqa: E402
from test_hostile import Memory, array, hostile  # noqa: E402


class Watch:
    """Asks all the time, and knows how long the slowest answer took.

    A process of its own: a thread would wait while this program reads and checks a long answer.
    """

    def __init__(self, site):
        self.site = site
        self.slowest = multiprocessing.Value("d", 0.0)
        self.begun, self.ended = multiprocessing.Event(), multiprocessing.Event()
        self.process = multiprocessing.Process(target=self.run)

    def run(self):
        while not self.ended.is_set():
            start = time.monotonic()
            client = self.site.connection()
            client.request("GET", "/healthz")
            client.getresponse().read()
            client.close()
            if self.begun.is_set():
                self.slowest.value = max(self.slowest.value, time.monotonic() - start)
            self.begun.set()

    def __enter__(self):
        self.process.start()
        self.begun.wait()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.process.join()


def processor(site):
    """Seconds that the threads of the loops have had a processor."""
    return sum(int(pathlib.Path(f"/proc/{worker}/task/{worker}/schedstat").read_text().split()[0])
               for worker in site.workers()) / 1e9


def measure(site, token, document, request):
    method, path, body, kind = request

    def prepare():
        site.request("DELETE", "/v1/me/custom-data", token=token)
        site.request("PUT", "/v1/me/custom-data", document.encode(), JSON, token)

    def ask():
        return site.request(method, f"/v1/me/{path}", body.encode(), kind, token)

    prepare()
    before = processor(site)
    ask()
    used = processor(site) - before
    prepare()
    memory = Memory(site)
    with Watch(site) as watch:
        start = time.monotonic()
        answer = ask()
        took = time.monotonic() - start
    grown = memory.grown() / Memory.length(body, document)
    return used, watch.slowest.value, took, grown, answer.status


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
    print(f"| {'request':35} | status | loop's processor, ms | slowest other, ms | in all, ms "
          "| memory / bytes sent or stored |")
    print(f"|{'-' * 37}|-------:|---------------------:|------------------:|-----------:"
          "|------------------------------:|")
    for name, rounds in results.items():
        used, waited, took, grown, status = (max(values) for values in zip(*rounds))
        print(f"| {name:35} | {status:6} | {used * 1000:20.1f} | {waited * 1000:17.1f} "
              f"| {took * 1000:10.1f} | {grown:29.1f} |")


if __name__ == "__main__":
    main()
