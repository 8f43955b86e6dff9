#!/usr/bin/env python3
"""Measures what users take on the disk, and what requests and searches cost PostgreSQL with many
users.

    Tests/Benchmarks/capacity.py [--users 1000000] [--few 1000] [--citus] [--requests 100]
                                 [--rounds 3]

Loads both numbers of users, with --citus on three nodes of this machine. Each request is one of
another user. The table has the ratio of the processor time for many users to that for few, and what
the nodes do for a request: statements, pages that they read or change, bytes of WAL after a
checkpoint. Needs a release build, nginx, PostgreSQL and pg_stat_statements.
"""

import argparse
import json
import os
import pathlib
import statistics
import urllib.parse

from bench import children
from load import TABLES, load
from asking import ADDRESS, JSON, MERGE
from deployment import Deployment

PASSWORD = "correct horse"
# Each request, and the member whose value it changes.
KINDS = {
    "GET /v1/me": None,
    "GET /v1/device": None,
    "GET /v1/me/sessions": None,
    "PATCH /v1/me/metadata": "counter",
    "PUT /v1/me/properties/level": "value",
    "POST /v1/token/refresh": None,
    "POST /v1/login/password": None,
}
# Searches by a back end, each with the filter for the address of a user.
SEARCHES = {
    "GET /v1/users, email =": lambda email: f'email = "{email}"',
    "GET /v1/users, email ^=": lambda email: f'email ^= "{email[:10]}"',
    "GET /v1/users, name ^=": lambda email: f'name ^= "G{email[:5]}"',
    "GET /v1/users, names ^=": lambda email: f'names ^= "f{email[7:12]}"',
    "GET /v1/users, phone ^=, none found": lambda email: 'phone ^= "+1"',
    "GET /v1/users, page of a third": lambda email: 'email_domain = "example.com"',
}


def nanoseconds(pids):
    """Returns the processor time of those of these processes that still run."""
    total = 0
    for pid in pids:
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                text = pathlib.Path(f"/proc/{pid}/task/{thread}/schedstat").read_text()
                total += int(text.split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return total


class Measured(Deployment):
    """A deployment with users, and some of them who are signed in."""

    TIMED = ["program", "nginx", "postgres"]
    # The connection of a measurement, and the requests so far.
    client, sent = None, 0

    def __init__(self, citus, **settings):
        super().__init__(settings={"DOSSIER_LOG": "errors", "DOSSIER_APP_CACHE_TTL_MS": "5000",
                                   **settings}.items(), citus=citus)
        # Citus creates it on the other nodes too.
        self.sql("create extension pg_stat_statements")

    def fill(self, users):
        self.users = users
        load(self, users)

    def connections(self):
        options = super().connections()
        libraries = "citus,pg_stat_statements" if self.citus else "pg_stat_statements"
        return (options.replace("-c shared_preload_libraries=citus", "")
                + f" -c shared_preload_libraries={libraries} -c shared_buffers=1GB"
                " -c max_wal_size=4GB")

    def sign_in(self, count):
        """Signs in users of all ages, each on a device of their own."""
        low, high = (int(self.sql(f"select {end}(user_id) from users")[:8], 16)
                     for end in ("min", "max"))
        found = [row.split("|") for row in self.sql(" union all ".join(
            f"(select user_id, email from users where user_id >= '{place:08x}' order by user_id limit 1)"
            for place in range(low, high, (high - low) // count)[:count])).splitlines()]
        self.request("POST", "/v1/register", {"email": "a@example.com", "password": PASSWORD}, JSON)
        ids = ",".join(f"'{user}'" for user, _ in found)
        self.sql(f"""update passwords set hash = '{self.sql(
            "select hash from passwords join users using (user_id) where email = 'a@example.com'")}'
            where user_id in ({ids})""")
        self.grants = [{"email": email, "address": f"10.0.{n // 250}.{n % 250}"}
                       for n, (_, email) in enumerate(found)]
        for grant in self.grants:
            self.one("POST /v1/login/password", grant)
        self.reader = self.dossier("client", "create", "reader", "kind=machine", "--app", "default",
                                   "scopes=read:users")["secret"]

    def one(self, kind, grant):
        method, path = kind.partition(",")[0].split()
        headers = {**(MERGE if method == "PATCH" else JSON), ADDRESS: grant["address"]}
        self.sent += 1
        body = {KINDS[kind]: self.sent} if KINDS.get(kind) else None
        if kind in SEARCHES:
            path += "?" + urllib.parse.urlencode({"filter": SEARCHES[kind](grant["email"])})
            headers["Authorization"] = f"Bearer {self.reader}"
        elif path == "/v1/login/password":
            body = {"email": grant["email"], "password": PASSWORD}
        elif path == "/v1/token/refresh":
            body = {"refresh_token": grant["refresh_token"]}
        else:
            headers["Authorization"] = f"Bearer {grant['access_token']}"
        if "device_secret" in grant and kind not in SEARCHES:
            headers["Dossier-Device"] = grant["device_secret"]
        answer = self.request(method, path, body, headers, connection=self.client)
        assert answer.status == 200, (kind, answer.status, answer.body)
        if method == "POST":
            grant.update(answer.json)

    def pids(self, kind):
        if kind == "program":
            return self.workers()
        if kind == "nginx":
            return children(self.nginx.pid)
        return [child for data, _ in self.nodes()
                for child in children(int((data / "postmaster.pid").read_text().split()[0]))]

    def measure(self, kind):
        """Returns the cost of one request of a kind."""
        ports = [port for _, port in self.nodes()]
        for port in ports:
            self.sql("checkpoint; select pg_stat_statements_reset()", port)
        wal = self.wal()
        self.client = self.connection()
        started = {name: nanoseconds(self.pids(name)) for name in self.TIMED}
        for grant in self.grants:
            self.one(kind, grant)
        ended = {name: nanoseconds(self.pids(name)) for name in self.TIMED}
        self.client.close()
        self.client = None
        result = {name: (ended[name] - started[name]) / 1000 / len(self.grants)
                  for name in self.TIMED}
        result["WAL"] = (self.wal() - wal) / len(self.grants)
        for port in ports:
            calls, pages = map(float, self.sql("""
                select sum(calls), sum(shared_blks_hit + shared_blks_read) from pg_stat_statements
                where query not like '%pg_stat_statements%'""", port).split("|"))
            name = "coordinator" if port == ports[0] else "nodes"
            result[name] = result.get(name, 0) + calls / len(self.grants)
            result["pages"] = result.get("pages", 0) + pages / len(self.grants)
        return result

    def wal(self):
        """Returns the bytes of WAL that all nodes have written."""
        return sum(float(self.sql("select pg_current_wal_insert_lsn() - '0/0'", port))
                   for _, port in self.nodes())

    def sizes(self):
        """Returns the bytes of a user in each table and its indexes."""
        kind = "citus" if self.citus else "pg"
        rows = [(table, *map(int, self.sql(
            f"select {kind}_table_size('{table}'), {kind}_total_relation_size('{table}')").split("|")))
            for table in TABLES]
        return {table: (rows_size / self.users, (total - rows_size) / self.users)
                for table, rows_size, total in rows}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, default=1_000_000)
    options.add_argument("--few", type=int, default=1_000)
    options.add_argument("--citus", action="store_true")
    options.add_argument("--requests", type=int, default=100, help="of each kind, a round")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--json", type=pathlib.Path)
    options = options.parse_args()
    sites = []
    try:
        for users in (options.few, options.users):
            sites.append(Measured(options.citus))
            sites[-1].fill(users)
        sizes = sites[1].sizes()
        report_sizes(sizes)
        # Tokens do not live as long as a load takes.
        for site in sites:
            site.sign_in(options.requests)
        # Alternating, so that a slower machine slows both.
        rounds = [{kind: [site.measure(kind) for site in sites] for kind in [*KINDS, *SEARCHES]}
                  for _ in range(options.rounds)]
    finally:
        for site in sites:
            site.stop()
    report(options, sizes, rounds)


def report_sizes(sizes):
    print(f"| {'bytes of a user':20} |  rows | indexes |")
    print(f"|{'-' * 22}|------:|--------:|")
    for table, (rows, indexes) in sizes.items():
        print(f"| {table:20} | {rows:5.0f} | {indexes:7.0f} |")
    rows, indexes = (sum(size[part] for size in sizes.values()) for part in (0, 1))
    print(f"| {'all':20} | {rows:5.0f} | {indexes:7.0f} |\n", flush=True)


def report(options, sizes, rounds):
    def median(kind, side, name):
        return statistics.median(result[kind][side][name] for result in rounds)

    # A ratio compares the many users with the few.
    print(f"| {options.users} users | program us | nginx us | postgres us | ratio | pages | ratio "
          "| statements | of the other nodes | WAL bytes |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for kind in [*KINDS, *SEARCHES]:
        times = [median(kind, 1, name) for name in Measured.TIMED]
        ratio = statistics.median(
            sum(result[kind][1][name] for name in Measured.TIMED)
            / sum(result[kind][0][name] for name in Measured.TIMED) for result in rounds)
        pages = [median(kind, side, "pages") for side in (0, 1)]
        nodes = median(kind, 1, "nodes") if options.citus else 0
        print(f"| {kind} | " + " | ".join(f"{time:.0f}" for time in times)
              + f" | {ratio:.2f} | {pages[1]:.1f} | {pages[1] / pages[0]:.2f} "
              f"| {median(kind, 1, 'coordinator'):.1f} | {nodes:.1f} | {median(kind, 1, 'WAL'):.0f} |")
    if options.json:
        options.json.write_text(json.dumps({"sizes": sizes, "rounds": rounds}, indent=2))


if __name__ == "__main__":
    main()
