#!/usr/bin/env python3
"""Measures what grows with the users, and computes it for more of them.

    Tests/Benchmarks/growth.py [--users 1000000] [--plan 2 10 50] [--connections 1 2 4] [--json FILE]

Loads users, and measures the size of each index. Builds a search index, and sends requests meanwhile.
Replaces all events by new ones, and looks how the table grows. Makes a dump, a restore and a base backup.
The last table has the figures for the millions of users of `--plan`, in proportion to the users. Needs a
release build, nginx and PostgreSQL, and twice the disk of the users in the folder of temporary files.
"""

import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import threading
import time

from capacity import Measured
from asking import MERGE
from machine import BUILD, TOOLS

INDEXES = """
select relname || '.' || indexrelname, pg_relation_size(indexrelid) from pg_stat_user_indexes
where pg_relation_size(indexrelid) > 1000000 order by 2 desc
"""
# As the maintenance does, with the events of a new day after each turn.
TURN = """
insert into audit (user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
select user_id, lpad(to_hex({second} + g / 100), 8, '0') || substr(md5(g || '{second}'), 1, 16), app_id,
  'login', 'user', substr(md5(g::text), 1, 24), substr(md5(g::text), 1, 24), '10.1.2.3',
  'Notes/4.12.3 CFNetwork/1496.0.7 Darwin/23.5.0', '{{"provider": "password"}}'
from (select user_id, app_id, row_number() over () as g
  from (select user_id, app_id from users order by md5(user_id || '{second}') limit {count}) u) u
"""
DELETE = """
do $$ begin for page in 1..{pages} loop
  perform remove_event(k.user_id, k.event_id) from (
    select user_id, event_id from audit
    where app_id = (select app_id from apps where name = 'default') and not pending
    order by event_id limit 1000) k;
  commit;
end loop; end $$
"""


def timed(work, *arguments):
    """Returns the seconds that a call takes."""
    started = time.monotonic()
    work(*arguments)
    return time.monotonic() - started


class Requests:
    """Sends requests one after another until it is stopped, and has their times in milliseconds."""

    def __init__(self, site, grant):
        self.site, self.grant, self.times, self.is_over = site, grant, {"GET": [], "PATCH": []}, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        number = 0
        while not self.is_over:
            number += 1
            for method, path in [("GET", "/v1/me"), ("PATCH", "/v1/me/metadata")]:
                body = {"group": number} if method == "PATCH" else None
                seconds = timed(lambda: self.site.request(
                    method, path, body, MERGE if body else None, self.grant["access_token"]))
                self.times[method].append(seconds * 1000)
            time.sleep(0.005)

    def stop(self):
        """Returns the median and the 99th percentile of each kind."""
        self.is_over = True
        self.thread.join()
        return {method: (statistics.median(times), statistics.quantiles(times, n=100)[98])
                for method, times in self.times.items()}


def build_indexes(site, users, connections):
    """Returns the users a second for each number of connections, with the times of requests."""
    grant = site.login()
    rest = Requests(site, grant)
    time.sleep(5)
    print(f"requests without a build: {shown(rest.stop())}", flush=True)
    rates = {}
    for count in connections:
        requests = Requests(site, grant)
        seconds = timed(lambda: site.dossier(
            "index", "create", "metadata.group", "kind=number", "--connections", count, timeout=36_000))
        print(f"index create --connections {count}: {users / seconds:.0f} users a second, {seconds:.0f} s; "
              f"requests meanwhile: {shown(requests.stop())}", flush=True)
        rates[count] = users / seconds
        seconds = timed(lambda: site.dossier(
            "index", "delete", "metadata.group", "--yes", "--connections", count, timeout=36_000))
        print(f"index delete: {users / seconds:.0f} users a second", flush=True)
    return rates


def shown(times):
    return ", ".join(f"{method} p50 {middle:.1f} ms, p99 {high:.1f} ms"
                     for method, (middle, high) in times.items())


def turn_over(site, users):
    """Replaces all events, by tenths.

    Returns the events deleted a second, and the megabytes of the rows and of the indexes at each turn.
    More turns would delete no events, since the new ones are of today.
    """
    def size():
        return [int(size) / 1e6 for size in site.sql(
            "select pg_table_size('audit'), pg_indexes_size('audit')").split("|")]

    share = users // 10
    newest = int(time.time())
    sizes, deleted = [size()], 0.0
    for turn in range(10):
        site.sql(TURN.format(second=newest + turn * share, count=share))
        deleted += timed(site.sql, DELETE.format(pages=share // 1000))
        site.sql("vacuum audit")
        sizes.append(size())
    return 10 * (share // 1000) * 1000 / deleted, sizes


def back_up(site):
    """Returns the rates of a dump, a restore and a base backup, in bytes of the database a second."""
    size = int(site.sql("select pg_database_size('dossier')"))
    folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
    server = ["-h", site.folder, "-U", "owner"]
    try:
        def tool(name, *words):
            subprocess.run([TOOLS / name, *server, *words], check=True, stdout=subprocess.DEVNULL)

        dump = timed(tool, "pg_dump", "-Fd", "-j2", "-Z1", "-f", folder / "dump", "dossier")
        stored = sum(file.stat().st_size for file in (folder / "dump").iterdir())
        base = timed(tool, "pg_basebackup", "-D", folder / "base", "-X", "none", "-c", "fast")
        shutil.rmtree(folder / "base")
        tool("createdb", "restored")
        restore = timed(tool, "pg_restore", "-j2", "-d", "restored", folder / "dump")
        tool("dropdb", "restored")
    finally:
        shutil.rmtree(folder)
    return {"size": size, "dump": size / dump, "restore": size / restore, "base": size / base,
            "stored": stored / size}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, default=1_000_000)
    options.add_argument("--plan", type=float, nargs="+", default=[2, 10, 50], help="millions of users")
    options.add_argument("--connections", type=int, nargs="+", default=[1, 2, 4])
    options.add_argument("--json", type=pathlib.Path)
    options = options.parse_args()
    site = Measured(False)
    try:
        site.fill(options.users)
        total = int(site.sql("select pg_database_size('dossier')"))
        print(f"{total / options.users:.0f} bytes a user in all")
        sizes = {name: int(size) for name, size in
                 (row.split("|") for row in site.sql(INDEXES).splitlines())}
        for name, size in sizes.items():
            print(f"{size / options.users:6.1f} bytes a user: {name}", flush=True)
        rates = build_indexes(site, options.users, options.connections)
        deletions, turns = turn_over(site, options.users)
        print(f"{deletions:.0f} old events deleted a second; rows and indexes in MB after each tenth: "
              + ", ".join(f"{rows:.0f} + {indexes:.0f}" for rows, indexes in turns), flush=True)
        backup = back_up(site)
        hash_time = json.loads(subprocess.run(
            [BUILD / "dossier", "calibrate", "--target", "10", "--json"], check=True, capture_output=True).stdout)
    finally:
        site.stop()
    report(options, total, max(rates.values()), deletions, backup, hash_time)
    if options.json:
        options.json.write_text(json.dumps(
            {"users": options.users, "size": total, "indexes": sizes, "index_create": rates, "deletions": deletions,
             "turns": turns, "backup": backup, "hash": hash_time}, indent=2))


def report(options, total, rate, deletions, backup, hash_time):
    """Prints the plan. All lines are in proportion to the users, as far as the machine has the memory."""
    def line(name, values):
        print(f"| {name} | " + " | ".join(values) + " |")

    print(f"\nmeasured with {options.users} users; a hash of the least cost takes "
          f"{hash_time['microseconds'] / 1000:.0f} ms")
    line("millions of users", [f"{users:g}" for users in options.plan])
    print("|---|" + "---:|" * len(options.plan))
    sizes = [users * 1e6 * total / options.users for users in options.plan]
    line("disk, GB", [f"{size / 1e9:.0f}" for size in sizes])
    line("a dump, GB", [f"{size * backup['stored'] / 1e9:.0f}" for size in sizes])
    for name, key in [("dump", "dump"), ("restore of a dump", "restore"), ("base backup", "base")]:
        line(f"{name}, hours", [f"{size / backup[key] / 3600:.1f}" for size in sizes])
    line("index create, minutes", [f"{users * 1e6 / rate / 60:.1f}" for users in options.plan])
    line("deletion of a day's events, one a user, minutes",
         [f"{users * 1e6 / deletions / 60:.1f}" for users in options.plan])


if __name__ == "__main__":
    main()
