"""Clients that write one after the other, and remember what was acknowledged."""

import pathlib
import sys
import threading

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
            except Exception as error:
                self.statuses.append(repr(error))

    def go_on(self, count=100):
        """Waits until so many more writes were acknowledged."""
        goal = self.statuses.count(200) + count
        wait_until(lambda: self.statuses.count(200) >= goal, what="acknowledged writes")

    def stop(self):
        self.stopping = True
        for thread in self.threads:
            thread.join()

    def lost(self):
        """Clients of whom something is not stored that was acknowledged."""
        stored = [self.site.get("/v1/me/metadata", token=token).json["turn"]
                  for token in self.tokens]
        return [pair for pair in zip(stored, self.acknowledged) if pair[0] < pair[1]]
