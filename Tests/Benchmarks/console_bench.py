#!/usr/bin/env python3
"""Measures the pages of the console with many users and events.

    Tests/Benchmarks/console_bench.py [--users 1000000] [--events 10000000] [--rounds 9] [--citus]

Each page is one of another user or search in each round. The table has the median and the longest
time in ms that a client waits, the size of the HTML, and what PostgreSQL does for the page: statements,
and pages that it reads. Needs a release build, nginx, PostgreSQL and pg_stat_statements.
"""

import argparse
import statistics
import sys
import time
import urllib.parse

from capacity import Measured
from load import everywhere
from console import ConsoleCase

# The events of a user, beside the one that each user has, are spread over the days after its creation.
EVENTS = """
insert into audit (user_id, event_id, app_id, at, action, actor, session_id, address, agent, detail)
select user_id, lpad(to_hex(at), 8, '0') || substr(md5(user_id || n), 1, 16), app_id, to_timestamp(at),
  (array['login', 'metadata_update', 'logout', 'password_wrong'])[1 + n % 4], 'user',
  substr(user_id, 1, 8) || substr(md5(substr(user_id, 9)), 17, 16), '10.1.2.3',
  'Notes/4.12.3 CFNetwork/1496.0.7 Darwin/23.5.0', '{{}}'
from (select user_id, app_id, n, extract(epoch from created_at)::bigint + n * 3600 as at
  from users, generate_series(1, {count}) as n
  where user_id >= '{low}' and user_id < '{high}') as events
"""
STEPS = 50


class Console(ConsoleCase):
    """An administrator at a deployment that is measured."""

    def __init__(self, site):
        super().__init__()
        type(self).site = site

    def runTest(self):
        """Is no test."""


def add_events(site, users, count):
    """Gives each user this many more events."""
    started = time.monotonic()
    everywhere(site, "alter database dossier set session_replication_role = replica")
    low, high = (int(site.sql(f"select {end}(user_id) from users")[:8], 16) for end in ("min", "max"))
    places = [f"{low + (high + 1 - low) * step // STEPS:08x}" for step in range(STEPS + 1)]
    for first, last in zip(places, places[1:]):
        site.sql(EVENTS.format(count=count, low=first, high=last))
    everywhere(site, "alter database dossier reset session_replication_role")
    site.sql("vacuum analyze audit")
    print(f"added {users * count} events in {time.monotonic() - started:.0f} s", file=sys.stderr)


def pages(email, user, day):
    """Returns the path of each page, by what it shows, for one user and one day."""
    def console(path, **query):
        return f"/console/default{path}" + (f"?{urllib.parse.urlencode(query)}" if query else "")

    def found(text):
        return console("/search", q=text)

    return {
        "overview": console(""),
        "users, newest": console("/users"),
        "users, filter by address": console("/users", filter=f'email ^= "{email[:6]}"'),
        "users, filter by domain": console("/users", filter='email_domain = "example.com"'),
        "users, filter by name": console("/users", filter=f'name ^= "G{email[:5]}"'),
        "users, blocked": console("/users", filter='created_at >= "1970-01-01T00:00:00Z" and blocked = true'),
        "users, not verified": console(
            "/users", filter='created_at >= "1970-01-01T00:00:00Z" and email_verified = false '
            'and anonymous = false'),
        "search, id": found(user),
        "search, address": found(email),
        "search, beginning of a name": found(f"G{email[:5]}"),
        "search, domain": found("@example.com"),
        "search, nothing": found("zzzzzzzz"),
        "user": console(f"/users/{user}"),
        "user, sessions": console(f"/users/{user}/sessions"),
        "user, history": console(f"/users/{user}/history"),
        "audit log": console("/audit"),
        "audit log, action": console("/audit", action="logout"),
        "audit log, day": console("/audit", **{"from": day, "to": day}),
    }


def measure(site, visitor, path):
    """Returns the time in ms, bytes, statements and read pages of one page."""
    for _, port in site.nodes():
        site.sql("select pg_stat_statements_reset()", port)
    started = time.monotonic()
    page = visitor.open(path)
    spent = (time.monotonic() - started) * 1000
    assert page.status == 200, (path, page.status, page.text)
    calls, read = map(float, site.sql(
        """select coalesce(sum(calls), 0), coalesce(sum(shared_blks_hit + shared_blks_read), 0)
        from pg_stat_statements where query not like '%pg_stat_statements%'
        and query !~* '^(begin|commit|set)'""").split("|"))
    return spent, len(page.body), calls, read


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, default=1_000_000)
    options.add_argument("--events", type=int, default=10_000_000)
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--citus", action="store_true")
    options = options.parse_args()
    site = Measured(options.citus, **Console.SETTINGS)
    try:
        site.fill(options.users)
        add_events(site, options.users, max(options.events // options.users - 1, 0))
        console = Console(site)
        visitor = console.administrator()
        rows = [row.split("|") for row in site.sql(
            "select email, user_id, created_at::date from users "
            f"where email is not null order by md5(user_id) limit {options.rounds + 1}").splitlines()]
        rounds = [{name: measure(site, visitor, path) for name, path in pages(*row).items()}
                  for row in rows]
    finally:
        site.stop()
    report(options, rounds[1:])


def report(options, rounds):
    print(f"| {options.users} users, {options.events} events | median ms | longest ms | KB | statements "
          "| pages |")
    print("|---|---:|---:|---:|---:|---:|")
    for name in rounds[0]:
        spent, size, calls, read = zip(*(row[name] for row in rounds))
        print(f"| {name} | {statistics.median(spent):.0f} | {max(spent):.0f} "
              f"| {statistics.median(size) / 1024:.0f} | {statistics.median(calls):.0f} "
              f"| {statistics.median(read):.0f} |")


if __name__ == "__main__":
    main()
