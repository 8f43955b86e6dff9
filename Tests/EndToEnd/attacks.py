"""Attacks by which one anonymous user could make a server unavailable to all others."""

import http.client
import json
import multiprocessing
import time

from asking import ADDRESS, JSON, MERGE

LARGE = json.dumps({f"k{number}": 0 for number in range(61_000)}, separators=(",", ":"))
"""A document of about 660 KB."""


class Attack:
    """Sends requests of one user on many connections, continuously, below the rate limit of nginx."""

    RATE = 95
    """Requests a second; nginx allows 100."""

    def __init__(self, name, connections, method, path, body=None, headers=None, document=LARGE):
        self.name, self.connections, self.document = name, connections, document
        self.method, self.path, self.body, self.headers = method, path, body, headers or {}

    def against(self, site, address="203.0.113.9"):
        return Attacker(self, site, address)


ATTACKS = [
    Attack("merge patches of a large document", 30, "PATCH", "/v1/me/custom-data",
           b'{"a":"26 bytes of a patch"}', MERGE),
    Attack("replacements of a large document", 60, "PUT", "/v1/me/custom-data",
           LARGE.encode(), JSON),
    Attack("exports", 80, "GET", "/v1/me/export"),
    Attack("reads of a large document", 60, "GET", "/v1/me/custom-data"),
    Attack("updates by operators", 60, "POST", "/v1/me/custom-data/update",
           b'{"update":{"$inc":{"k1":1}}}', JSON),
    Attack("small writes of one row", 200, "PATCH", "/v1/me/metadata", b'{"a":1}', MERGE),
]


class Attacker:
    """A context in which a separate process attacks."""

    def __init__(self, attack, site, address):
        self.attack, self.port, self.address = attack, site.port, {ADDRESS: address}
        self.site = site
        self.answered = multiprocessing.Value("i", 0)
        self.refused = multiprocessing.Value("i", 0)
        self.ended = multiprocessing.Event()
        self.process = multiprocessing.Process(target=self.run, daemon=True)

    def __enter__(self):
        grant = self.site.request("POST", "/v1/login/anonymous", {}, {**JSON, **self.address}).json
        self.token = {"Authorization": f"Bearer {grant['access_token']}", **self.address}
        if self.attack.document:
            answer = self.site.request(
                "PUT", "/v1/me/custom-data", self.attack.document.encode(), {**JSON, **self.token})
            assert answer.status == 200, answer.body
        self.process.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.process.join()

    def run(self):
        import threading
        self.turn, self.lock = time.monotonic(), threading.Lock()
        threads = [threading.Thread(target=self.ask) for _ in range(self.attack.connections)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def pace(self):
        """Waits for the turn of the next request."""
        with self.lock:
            self.turn = max(self.turn + 1 / Attack.RATE, time.monotonic() - 1)
            delay = self.turn - time.monotonic()
        if delay > 0:
            self.ended.wait(delay)

    def ask(self):
        attack = self.attack
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        while not self.ended.is_set():
            self.pace()
            try:
                client.request(attack.method, attack.path, attack.body,
                               {**attack.headers, **self.token})
                answer = client.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                client.close()
                continue
            with self.lock:
                self.answered.value += 1
                self.refused.value += answer.status >= 400
        client.close()
