#!/usr/bin/env python3
"""Measures how soon the verifier of the guide refuses the token of an ended session.

    Tests/Benchmarks/revocations.py [--sessions 200]

Half of the sessions end by a logout, whose event wakes the publisher. Half end because their user is
blocked, which the publisher finds at its next look. The requests go through nginx. Needs a release
build, as run.py does.
"""

import argparse
import os
import pathlib
import random
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("DOSSIER_TEST_BUILD", str(HERE.parents[1] / ".build/release"))
sys.path.insert(0, str(HERE.parent / "EndToEnd"))
from asking import MERGE  # noqa: E402
from machine import wait_until  # noqa: E402
from test_events import EventCase, programs  # noqa: E402


def share(times, part):
    """Returns the time within which a part of the sessions is refused."""
    return sorted(times)[min(len(times) - 1, int(part * len(times)))]


class Revocations(EventCase):
    def measure(self, count):
        headers, secret = self.feed_app("measured", revocation_feed=True)
        operator = self.site.client("--operator")["secret"]
        scope = {"__name__": "verifier"}
        exec(compile(programs()[1], "verifier.py", "exec"), scope)  # The code that readers copy.
        verifier = scope["Verifier"](self.base, "measured", secret, self.base)
        wait_until(lambda: self.has_feed(headers, secret))
        verifier.read()
        threading.Thread(target=verifier.follow, daemon=True).start()
        times = {"logout": [], "block": []}
        for number in range(count):
            grant = self.post("/v1/login/anonymous", {}, headers=headers).json
            token = grant["access_token"]
            verifier.verify(token)
            # At any moment between two polls.
            time.sleep(random.uniform(0, 1.5))
            way = "logout" if number % 2 else "block"
            if way == "logout":
                self.expect(self.post("/v1/logout", headers=headers, token=token), 204)
            else:
                self.expect(self.site.request(
                    "PATCH", f"/v1/users/{grant['user_id']}", {"blocked": True},
                    {**headers, **MERGE}, operator), 200)
            times[way].append(self.refused_after(verifier, token, scope["jwt"].PyJWTError))
        times["all"] = times["logout"] + times["block"]
        for way, found in times.items():
            print(f"{way}: {len(found)} sessions, refused within {share(found, 0.5):.2f} s (p50), "
                  f"{share(found, 0.99):.2f} s (p99), {max(found):.2f} s at most")

    def has_feed(self, headers, secret):
        return self.site.request("GET", "/v1/revocations", headers=headers, token=secret).status == 200

    def refused_after(self, verifier, token, error):
        """Returns the seconds until the verifier refuses a token."""
        start = time.monotonic()
        while True:
            try:
                verifier.verify(token)
            except error:
                return time.monotonic() - start
            time.sleep(0.005)


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sessions", type=int, default=200)
    options = options.parse_args()
    Revocations.setUpClass()
    try:
        Revocations("measure").measure(options.sessions)
    finally:
        Revocations.tearDownClass()


if __name__ == "__main__":
    main()
