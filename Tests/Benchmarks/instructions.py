#!/usr/bin/env python3
"""Counts the cost of one request in a worker and in the C loop: instructions in user space,
allocations and their bytes. Unlike times, these do not depend on the load of the machine.

    Tests/Benchmarks/instructions.py [--requests 500] [--log] [--keep FOLDER] [--json FILE]

Needs a release build (swift build -c release), valgrind, gcc, nginx and PostgreSQL. FOLDER gets
callgrind's files, for callgrind_annotate.
"""

import argparse
import json
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

import bench as base
import wire_bench as wires
from asking import MERGE
from deployment import Deployment
from machine import BUILD, wait_until

COUNTER = base.YARDSTICKS / "allocations.so"
KINDS = ["GET /v1/me", "GET /v1/me/metadata", "PATCH /v1/me/metadata", "POST /v1/token/refresh",
         "App Services login", "App Services findOne", "GET /authorize", "POST /oauth/token", "404",
         "GET /v1/me, C loop"]
# A line of callgrind_annotate with the cost of a signature, ES256 or RS256.
SIGNATURE = re.compile(r"^ *([\d,]+) .*CCryptoBoringSSL_(?:ECDSA|ecdsa|RSA)_\w*sign\w*", re.M)


class Watched(Deployment):
    """One worker under a program that measures it."""

    # A start under valgrind takes long.
    patience = 180

    def __init__(self, program, wrapper, environment, settings):
        self.program, self.wrapper = program, wrapper
        self.watching = environment
        super().__init__(workers=1, settings=settings.items())

    def start_dossierd(self):
        self.supervisor = subprocess.Popen(
            [*self.wrapper, self.program, "run"], env={**self.environment, **self.watching},
            stdout=self.log, stderr=self.log)
        self.processes.append(self.supervisor)
        wait_until(lambda: self.workers(), self.patience, "a worker")
        wait_until(self.socket(0).exists, self.patience, "its socket")


class Requests:
    """Sends requests of each kind, one after the other, between two calls of `counted`."""

    def __init__(self, bench, count):
        site = bench.site
        self.bench, self.site, self.count = bench, site, count
        wires.offer_services(site)
        self.grants = [site.login() for _ in range(20)]
        self.connection = site.connection(120)
        for grant in self.grants:
            self.call(grant, "insertOne", document={"userId": grant["user_id"], "color": "blue"})

    def call(self, grant, name, **arguments):
        """An operation of App Services on the custom data of a user."""
        self.send("POST", f"{wires.SERVICES}/functions/call", 200,
                  wires.service_call(name, **arguments), {"Content-Type": "application/json"},
                  grant["access_token"])

    def send(self, method, path, status, body=None, headers=None, token=None):
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        text = answer.read()
        assert answer.status == status, text
        return text

    def one(self, kind, number):
        grant = self.grants[number % len(self.grants)]
        token = grant["access_token"]
        if kind == "404":
            self.send("GET", "/v1/nothing", 404, token=token)
        elif kind.endswith("/authorize"):
            self.send("GET", self.bench.authorization(), 303)
        elif kind.endswith("/oauth/token"):
            self.send("POST", "/oauth/token", 200, self.bench.client_grant(),
                      {"Content-Type": "application/json"})
        elif kind.endswith("findOne"):
            self.call(grant, "findOne", query={"userId": grant["user_id"]})
        elif kind.endswith("login"):
            self.send("POST", f"{wires.SERVICES}/auth/providers/anon-user/login", 200,
                      "{}", {"Content-Type": "application/json"})
        elif kind.startswith("PATCH"):
            self.send("PATCH", kind.split()[1], 200, f'{{"counter":{number}}}', MERGE, token)
        elif kind.startswith("POST"):
            body = json.dumps({"refresh_token": grant["refresh_token"]})
            answer = self.send("POST", "/v1/token/refresh", 200, body,
                               {"Content-Type": "application/json"})
            grant["refresh_token"] = json.loads(answer)["refresh_token"]
        else:
            self.send("GET", kind.split()[1], 200, token=token)

    def measure(self, kind, counter):
        for number in range(200):
            self.one(kind, number)
        counter.start()
        for number in range(self.count):
            self.one(kind, number)
        return [value / self.count for value in counter.stop()]


class YardstickRequests(Requests):
    def __init__(self, bench, count, port):
        super().__init__(bench, count)
        site = bench.site
        self.connection.close()
        site.port, port = port, site.port
        self.connection = site.connection(120)
        site.port = port
        for grant in self.grants:
            claims = base.claims(grant["access_token"])
            grant["access_token"] = f"{claims['sub']}.{claims['sid']}"


class Instructions:
    """Returns Callgrind's count of a process, and the part of signatures."""

    def __init__(self, pid, folder):
        self.pid, self.folder, self.dumps = str(pid), folder, 0

    def control(self, option):
        subprocess.run(["callgrind_control", option, self.pid], check=True, capture_output=True)

    def start(self):
        self.control("-i=on")
        self.control("-z")

    def stop(self):
        self.dumps += 1
        self.control("-d")
        file = self.folder / f"callgrind.{self.pid}.{self.dumps}"
        pattern = re.compile(r"^(?:totals|summary): (\d+)", re.M)
        wait_until(lambda: file.exists() and pattern.search(file.read_text()), 60, "the dump")
        self.control("-i=off")
        costs = subprocess.run(
            ["callgrind_annotate", "--inclusive=yes", "--threshold=100", file],
            check=True, capture_output=True, text=True).stdout
        signing = [int(cost.replace(",", "")) for cost in SIGNATURE.findall(costs)]
        return [int(pattern.search(file.read_text()).group(1)), max(signing, default=0)]


class Allocations:
    """Returns the counts of allocations.so for a process."""

    def __init__(self, pid, folder):
        self.file = folder / f"allocations.{pid}"

    def start(self):
        self.before = struct.unpack("2Q", self.file.read_bytes())

    def stop(self):
        after = struct.unpack("2Q", self.file.read_bytes())
        return [new - old for new, old in zip(after, self.before)]


def measured(folder, program, requests, wrapper, environment, counter, settings):
    """Returns the count of each kind of request, measured by `counter`."""
    results = {}
    site = Watched(program, wrapper, environment, settings)
    bench = wires.WireBench.__new__(wires.WireBench)
    bench.site, bench.processes, bench.served = site, [], {}
    try:
        sender = Requests(bench, requests)
        watched = counter(site.workers()[0], folder)
        for kind in KINDS[:-1]:
            results[kind] = sender.measure(kind, watched)
        port = bench.yardstick("yardstick_loop", 1, keep=True, wrapper=wrapper,
                               environment=environment)
        sender = YardstickRequests(bench, requests, port)
        watched = counter(bench.processes[0].pid, folder)
        results[KINDS[-1]] = sender.measure("GET /v1/me", watched)
    finally:
        bench.stop()
    return results


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--requests", type=int, default=500, help="of each kind")
    options.add_argument("--log", action="store_true", help="with a line logged of each request")
    options.add_argument("--keep", type=pathlib.Path)
    options.add_argument("--json", type=pathlib.Path)
    options = options.parse_args()
    subprocess.run(["make", "-s", "-C", base.HERE], check=True)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="dossier-instructions-"))
    settings = {"DOSSIER_LOG": "requests" if options.log else "errors",
                "DOSSIER_PICTURE_PROGRAM": str(BUILD / "dossier-pictures"),
                "DOSSIER_APP_CACHE_TTL_MS": "5000"}
    try:
        # Valgrind does not read the debug information of Swift's compiler.
        program = folder / "dossierd"
        subprocess.run(["strip", "-g", "-o", program, BUILD / "dossierd"], check=True)
        valgrind = ["valgrind", "-q", "--tool=callgrind", "--trace-children=yes",
                    "--instr-atstart=no", f"--callgrind-out-file={folder}/callgrind.%p"]
        instructions = measured(
            folder, program, options.requests, valgrind, {}, Instructions, settings)
        counted = {"LD_PRELOAD": str(COUNTER), "ALLOCATIONS": str(folder / "allocations")}
        allocations = measured(
            folder, program, options.requests, [], counted, Allocations, settings)
        if options.keep:
            shutil.copytree(folder, options.keep, dirs_exist_ok=True)
    finally:
        shutil.rmtree(folder)
    table = {kind: {"instructions": instructions[kind][0], "signing": instructions[kind][1],
                    "allocations": allocations[kind][0],
                    "bytes": allocations[kind][1]} for kind in KINDS}
    print(f"| {'a request':24} | instructions | to sign | allocations | bytes |")
    print(f"|{'-' * 26}|-------------:|--------:|------------:|------:|")
    for kind, row in table.items():
        share = row["signing"] / row["instructions"]
        print(f"| {kind:24} | {row['instructions']:12.0f} | {share:7.0%} | {row['allocations']:11.1f} "
              f"| {row['bytes']:5.0f} |")
    if options.json:
        options.json.write_text(json.dumps(table, indent=2))


if __name__ == "__main__":
    main()
