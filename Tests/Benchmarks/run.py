#!/usr/bin/env python3
"""Compares the product with two C programs that run the same query, through the same nginx.

    Tests/Benchmarks/run.py [--users 1000] [--large 1000000] [--seconds 6] [--rounds 5]
                            [--json FILE]

Needs a release build (swift build -c release), wrk, gcc, nginx and PostgreSQL. Only ratios within one
run are meaningful, since nginx, PostgreSQL, wrk and the program share the machine.
"""

import argparse
import json
import pathlib
import subprocess
import urllib.parse

from bench import HERE
from passkey_bench import PasskeyBench
from wire_bench import SERVICES

PACED = "GET /v1/me, paced"
LOADED = PACED + ", beside 4 searches, {}"


def median(results):
    return sorted(results, key=lambda result: result["rate"])[len(results) // 2]


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, default=1_000)
    options.add_argument("--large", type=int, default=1_000_000, help="0 leaves it out")
    options.add_argument("--seconds", type=int, default=6, help="of each measurement")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--json", type=pathlib.Path)
    options = options.parse_args()
    subprocess.run(["make", "-s", "-C", HERE], check=True)

    sites = []
    try:
        bench = PasskeyBench(options.users, options.seconds)
        sites.append(bench)
        threads = bench.yardstick("yardstick_threads", 1, keep=False)
        loop = bench.yardstick("yardstick_loop", 2, keep=True)
        script = bench.pgbench_script()
        address = bench.site.sql("select min(email) from users")
        measures = {
            "GET /v1/me, threads": lambda: bench.wrk(threads, bench.bare),
            "GET /v1/me, loop": lambda: bench.wrk(loop, bench.bare),
            "GET /v1/me, product": lambda: bench.wrk(bench.site.port, bench.tokens),
            "PATCH /v1/me/metadata, product": lambda: bench.wrk(
                bench.site.port, bench.tokens, "PATCH", "/v1/me/metadata"),
            "the statement of the PATCH, pgbench": lambda: {"rate": bench.pgbench(script)},
            "POST /v1/token/refresh, product": bench.refresh,
            "the write of a refresh, pgbench": lambda: {"rate": bench.pgbench(HERE / "refresh.sql")},
            "POST /v1/login/anonymous, product": bench.anonymous_logins,
            "the writes of a login, pgbench": lambda: {"rate": bench.pgbench(HERE / "login.sql")},
            "POST /v1/login/password, product": bench.password_logins,
            "POST /v1/login/passkey": bench.passkey_logins,
            "POST /v1/login/jwt, of a connection": bench.token_logins,
            "the callback of a connection": bench.callbacks,
            "GET /v1/device, 2 users": bench.device_users,
            "PUT /v1/device/active": bench.switches,
            "POST /v1/token/refresh, cookie": bench.cookie_refreshes,
            "POST /v1/login/code/request, until mailed": bench.mails,
            "App Services, anonymous login": lambda: bench.anonymous_logins(
                f"{SERVICES}/auth/providers/anon-user/login"),
            "App Services, findOne": bench.find_one,
            "GET /authorize": bench.authorizations,
            "POST /oauth/token, client_credentials": bench.client_tokens,
            "POST /oauth/token, refresh_token": bench.client_refreshes,
            "GET /api/v2/users/{id}": bench.managed_user,
            "PATCH /api/v2/users/{id}, user_metadata": lambda: bench.managed_user(
                "PATCH", '{"user_metadata":{"theme":"light"}}'),
            "POST /api/v2/users": bench.created_users,
            "GET /api/v2/users, page of 50": lambda: bench.managed_users("per_page=50"),
            "GET /api/v2/users, q=email": lambda: bench.managed_users(
                urllib.parse.urlencode({"q": f'email:"{address}"'})),
            "GET /api/v2/users-by-email": lambda: bench.managed_users(
                urllib.parse.urlencode({"email": address}), "users-by-email"),
        }
        if options.large:
            large = PasskeyBench(options.large, options.seconds)
            sites.append(large)
            measures[f"GET /v1/me, product, {options.large} users"] = lambda: large.wrk(
                large.site.port, large.tokens)
            large.index()
            few, all_ = "metadata.group = 7", 'metadata.theme = "dark"'
            searches = f"GET /v1/users, {{}}, {options.large} users"
            measures[searches.format("few found")] = lambda: large.search(few, 8)
            measures[searches.format("page of all")] = lambda: large.search(all_, 8)
            measures[PACED] = large.paced
            measures[LOADED.format("few found")] = lambda: large.paced_while_searched(few, 4)
            measures[LOADED.format("page of all")] = lambda: large.paced_while_searched(all_, 4)
        # Alternating, so that a slower machine slows all of them.
        results = [{name: measure() for name, measure in measures.items()}
                   for _ in range(options.rounds)]
        memory, own = bench.memory()
        start = bench.start_time()
    finally:
        for site in sites:
            site.stop()

    def ratio(name, other):
        """Returns the median of the rounds' ratios, since a slow round affects both sides."""
        ratios = sorted(result[name]["rate"] / result[other]["rate"] for result in results)
        return ratios[len(ratios) // 2]

    table = {name: median([result[name] for result in results]) for name in measures}
    product = "GET /v1/me, product"
    ratios = {
        "product / C loop (aim 0.9)": ratio(product, "GET /v1/me, loop"),
        "product / C threads (aim 1.5)": ratio(product, "GET /v1/me, threads"),
        "p99 / p50 (aim <= 3)": table[product]["p99_us"] / table[product]["p50_us"],
        "PATCH / pgbench (aim 0.9)": ratio(
            "PATCH /v1/me/metadata, product", "the statement of the PATCH, pgbench"),
        "refresh / pgbench (aim 0.9)": ratio(
            "POST /v1/token/refresh, product", "the write of a refresh, pgbench"),
        "anonymous login / pgbench (aim 0.7)": ratio(
            "POST /v1/login/anonymous, product", "the writes of a login, pgbench"),
        "worker, MB (aim <= 60)": memory,
        "of these its own (aim <= 20)": own,
        "start to first answer, ms (aim <= 100)": start * 1000,
    }
    if options.large:
        ratios[f"cost at {options.large} / {options.users} users (aim <= 1.1)"] = ratio(
            product, f"GET /v1/me, product, {options.large} users")

    # The processor time is that of one request.
    kinds = ["program", "nginx", "postgres"]
    print(f"| {'what':48} | requests/s | p50 us | p99 us | "
          + " | ".join(f"{kind} us" for kind in kinds) + " |")
    print(f"|{'-' * 50}|-----------:|-------:|-------:|"
          + "|".join("-" * (len(kind) + 4) + ":" for kind in kinds) + "|")
    for name, result in table.items():
        times = result.get("processor_us", {})
        print(f"| {name:48} | {result['rate']:10.0f} | {result.get('p50_us', ''):>6} "
              f"| {result.get('p99_us', ''):>6} | "
              + " | ".join(f"{times[kind]:{len(kind) + 3}.1f}" if kind in times
                           else " " * (len(kind) + 3) for kind in kinds) + " |")
    print()
    for name, ratio in ratios.items():
        print(f"- {name}: {ratio:.2f}")
    if options.json:
        options.json.write_text(json.dumps({"table": table, "ratios": ratios}, indent=2))


if __name__ == "__main__":
    main()
