#!/usr/bin/env python3
"""Compares the rate of PATCH /v1/me/metadata with and without the event feed.

    Tests/Benchmarks/feed.py [--users 1000] [--seconds 6] [--rounds 3]

The app publishes changes of metadata in every second round. Needs a release build, as run.py does.
"""

import argparse
import random
import subprocess

from bench import HERE, Bench
from asking import MERGE
from machine import wait_until

NEWEST = "select coalesce(max(last_position), 0) from event_feeds"


def switch(bench, is_on):
    """Switches the feed, and waits until each worker knows."""
    bench.site.set_app(event_feed=is_on, event_types=["metadata.changed"] if is_on else [])
    grant = bench.site.login()

    def knows():
        counts = []
        for _ in range(2):
            counts.append(int(bench.site.sql(NEWEST)))
            for _ in range(8):
                bench.site.request("PATCH", "/v1/me/metadata", {"n": random.random()}, MERGE,
                                   grant["access_token"])
            wait_until(lambda: bench.site.sql("select count(*) from unpublished_changes") == "0",
                       what="published events")
        return counts[1] - counts[0] >= 8 if is_on else counts[1] == counts[0]

    wait_until(knows, seconds=300, what="the setting in each worker")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--users", type=int, default=1_000)
    options.add_argument("--seconds", type=int, default=6, help="of each measurement")
    options.add_argument("--rounds", type=int, default=3)
    options = options.parse_args()
    subprocess.run(["make", "-s", "-C", HERE], check=True)
    bench = Bench(options.users, options.seconds)
    try:
        ratios = []
        for _ in range(options.rounds):
            rates = []
            for is_on in [False, True]:
                switch(bench, is_on)
                result = bench.wrk(bench.site.port, bench.tokens, "PATCH", "/v1/me/metadata")
                rates.append(result["rate"])
                print("processor time a request: " + ", ".join(
                    f"{kind} {time:.0f} us" for kind, time in result["processor_us"].items()))
            ratios.append(rates[1] / rates[0])
            print(f"without {rates[0]:.0f}, with the feed {rates[1]:.0f} requests/s: {ratios[-1]:.2f}")
        print(f"median (aim 0.75): {sorted(ratios)[len(ratios) // 2]:.2f}")
    finally:
        bench.stop()


if __name__ == "__main__":
    main()
