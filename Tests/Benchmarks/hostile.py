#!/usr/bin/env python3
"""Measures how one user can harm others, with one request or with many at once.

    Tests/Benchmarks/hostile.py [--rounds 3] [--tries 30] [requests] [attacks]

Needs a release build, as run.py does.

`requests` prints how long one request occupies the loop of a worker, and its memory. The requests are
those of Tests/EndToEnd/test_hostile.py. Each is sent twice:

- Alone. The result is the processor time of the loop's thread in all turns.
- While another client repeatedly requests `/healthz` of the same worker, which uses no database. The
  result is its longest wait. PostgreSQL, nginx and other threads share the processors meanwhile.

`attacks` runs each attack of Tests/EndToEnd/attacks.py as one anonymous user. Meanwhile another user
from another network writes, reads and signs in, one request after another. The script prints how long
that user waits and how often it is refused. No other user may be refused, and each small write must
succeed within 250 ms. The clients of the attack use the same processors.
"""

import argparse
import multiprocessing
import os
import pathlib
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("DOSSIER_TEST_BUILD", str(HERE.parents[1] / ".build/release"))
sys.path.insert(0, str(HERE.parent / "EndToEnd"))
from asking import ADDRESS, JSON, MERGE  # noqa: E402
from attacks import ATTACKS  # noqa: E402
from deployment import Deployment  # noqa: E402
from machine import wait_until  # noqa: E402
from test_hostile import Memory, array, hostile  # noqa: E402


class Watch:
    """Sends requests continuously, and records the slowest response.

    It is a separate process, since a thread would wait while this program reads a long response.
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
    """Returns the processor time of the loops' threads, in seconds."""
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


class Bystander:
    """Another user, which sends one request after another."""

    def __init__(self, site):
        self.site, self.address = site, {ADDRESS: "198.51.100.7"}
        self.token = site.login()["access_token"]
        site.request("POST", "/v1/register", self.account, {**JSON, **self.address})
        self.times = {"small write": [], "read": [], "anonymous login": [], "password login": []}
        self.refusals = dict.fromkeys(self.times, 0)

    account = {"email": "bystander@example.com", "password": "correct horse"}

    def ask(self, name, *request):
        start = time.monotonic()
        answer = self.site.request(*request)
        self.times[name].append(time.monotonic() - start)
        self.refusals[name] += answer.status != 200

    def ask_all(self, turn):
        headers = {"Authorization": f"Bearer {self.token}", **self.address}
        self.ask("small write", "PATCH", "/v1/me/metadata", {"turn": turn}, {**MERGE, **headers})
        self.ask("read", "GET", "/v1/me", None, headers)
        self.ask("anonymous login", "POST", "/v1/login/anonymous", {}, {**JSON, **self.address})
        self.ask("password login", "POST", "/v1/login/password", self.account,
                 {**JSON, **self.address})


def attacked(attack, tries):
    site = Deployment()
    try:
        bystander = Bystander(site)
        if attack is None:
            for turn in range(tries):
                bystander.ask_all(turn)
            return bystander, 0, 0
        with attack.against(site) as attacker:
            wait_until(lambda: attacker.answered.value >= attack.connections, what="the attack")
            for turn in range(tries):
                bystander.ask_all(turn)
            return bystander, attacker.answered.value, attacker.refused.value
    finally:
        site.stop()


def print_attacks(tries):
    print(f"| {'attack':35} | another's       | refused | p50, ms | most, ms | attacker's refused |")
    print(f"|{'-' * 37}|-----------------|--------:|--------:|---------:|-------------------:|")
    for attack in [None, *ATTACKS]:
        bystander, answered, refused = attacked(attack, tries)
        for name, times in bystander.times.items():
            print(f"| {attack.name if attack else 'none':35} | {name:15} "
                  f"| {bystander.refusals[name]:3}/{len(times):3} "
                  f"| {statistics.median(times) * 1000:7.0f} | {max(times) * 1000:8.0f} "
                  f"| {refused:9}/{answered:8} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tries", type=int, default=30)
    parser.add_argument("parts", nargs="*", choices=["requests", "attacks", []])
    options = parser.parse_args()
    parts = options.parts or ["requests", "attacks"]
    if "requests" in parts:
        print_requests(options.rounds)
    if "attacks" in parts:
        print_attacks(options.tries)


def print_requests(rounds):
    site = Deployment(workers=1)
    try:
        token = site.login()["access_token"]
        cases = hostile(f'{{"a":{array("0", 690_000)}}}')
        results = {name: [measure(site, token, document, request) for _ in range(rounds)]
                   for name, document, request, _ in cases}
    finally:
        site.stop()
    print(f"| {'request':35} | status | loop's processor, ms | slowest other, ms | in all, ms "
          "| memory / bytes sent or stored |")
    print(f"|{'-' * 37}|-------:|---------------------:|------------------:|-----------:"
          "|------------------------------:|")
    for name, measured in results.items():
        used, waited, took, grown, status = (max(values) for values in zip(*measured))
        print(f"| {name:35} | {status:6} | {used * 1000:20.1f} | {waited * 1000:17.1f} "
              f"| {took * 1000:10.1f} | {grown:29.1f} |")


if __name__ == "__main__":
    main()
