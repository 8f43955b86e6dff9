"""Clients that write continuously, and record the acknowledged writes."""

import pathlib
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/EndToEnd"))
from asking import MERGE
from machine import wait_until


class Writing:
    def __init__(self, site, clients=6):
        self.site, self.stopping = site, False
        self.tokens = [site.login()["access_token"] for _ in range(clients)]
        self.acknowledged = [0] * clients
        self.statuses = []
        # The times of acknowledged and of failed writes.
        self.times, self.failures = [], []
        self.threads = [
            threading.Thread(target=self.run, args=[index]) for index in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, index):
        turn = 0
        while not self.stopping:
            turn += 1
            try:
                answer = self.site.request(
                    "PATCH", "/v1/me/metadata", {"turn": turn}, MERGE, self.tokens[index])
                self.statuses.append(answer.status)
                if answer.status == 200:
                    self.acknowledged[index] = turn
                (self.times if answer.status == 200 else self.failures).append(time.monotonic())
            except Exception as error:
                self.statuses.append(repr(error))

    def go_on(self, count=100):
        """Waits for this number of further acknowledged writes."""
        goal = self.statuses.count(200) + count
        wait_until(lambda: self.statuses.count(200) >= goal, what="acknowledged writes")

    def go_on_after(self, moment, count=100):
        """Waits for this number of acknowledged writes after a moment, and for ready workers."""
        wait_until(lambda: sum(at > moment for at in self.times) >= count,
                   what="acknowledged writes")
        self.site.wait_until_ready()

    def longest_pause(self, since):
        """Returns the longest time in seconds, after `since`, in which no write was acknowledged."""
        times = [since, *(at for at in self.times if at > since)]
        return max(after - before for before, after in zip(times, times[1:]))

    def last_failure(self, since):
        """Returns how many seconds after `since` the last write failed."""
        return max([at - since for at in self.failures], default=0)

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join()

    def lost(self):
        """Returns the clients with an acknowledged write that is not stored."""
        stored = [self.stored(token) for token in self.tokens]
        return [pair for pair in zip(stored, self.acknowledged) if pair[0] < pair[1]]

    def stored(self, token):
        """Returns the stored turn of a client, once reads succeed again."""
        answer = None

        def is_read():
            nonlocal answer
            answer = self.site.get("/v1/me/metadata", token=token)
            return answer.status == 200

        wait_until(is_read, what="a read after the failure")
        return answer.json.get("turn", 0)
