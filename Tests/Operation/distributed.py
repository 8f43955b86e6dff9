"""The nodes of a distributed database, and clients that keep a ledger of acknowledged writes."""

import collections
import contextlib
import os
import signal
import sys
import threading
import time

from high_availability import descendants  # it finds the modules of EndToEnd
from asking import JSON, MERGE
from machine import wait_until
from spanning import Spanning, place


class Node:
    """One PostgreSQL of a deployment."""

    def __init__(self, site, data, port):
        self.site, self.data, self.port = site, data, port

    def processes(self):
        return descendants(int((self.data / "postmaster.pid").read_text().split()[0]))

    def signal(self, number):
        """Sends a signal to all processes, as if the machine did."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def kill(self):
        # A stopped process starts no other.
        self.signal(signal.SIGSTOP)
        postmaster = self.processes()[0]
        self.signal(signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f"/proc/{postmaster}"), what="the end of a node")

    def start(self):
        self.site.start_node(self.data, self.port)

    def sql(self, text):
        return self.site.sql(text, self.port)


def clients_of_nodes(site, count):
    """Signs in this number of users of each node."""
    waiting = {data.name: count for data, _ in site.nodes()[1:]}
    clients = []
    while any(waiting.values()):
        grant = site.login()
        node = place(site, grant["user_id"])
        if waiting[node]:
            waiting[node] -= 1
            clients.append(Client(site, node, grant))
    return clients


# The group of the requests that may need all nodes.
ACROSS = "several nodes"

SUCCESS = (200, 201)

Response = collections.namedtuple("Response", "start end group status what")


class Ledger:
    """Clients that write and refresh continuously, in groups that may fail apart."""

    def __init__(self, clients):
        self.clients, self.responses = clients, []
        self.across = sorted({client.across for client in clients} - {client.group for client in clients})
        self.groups = sorted({client.group for client in clients})
        for client in self.clients:
            client.responses = self.responses
            client.start()

    def count(self, group, *statuses, since=0):
        """Returns how many requests of a group got one of these statuses."""
        return sum(response.group == group and response.status in statuses
                   and response.start >= since for response in list(self.responses))

    def wait_for(self, group, count, *statuses):
        """Waits for this number of further responses to the users of a group."""
        since = time.monotonic()
        wait_until(lambda: self.count(group, *statuses, since=since) >= count, seconds=600,
                   what=f"{count} responses {statuses} to users of {group}")

    def go_on(self, count=100):
        """Waits for this number of further successes of each group, and some on several nodes."""
        for group in self.groups:
            self.wait_for(group, count, *SUCCESS)
        for group in self.across:
            self.wait_for(group, count // 2, *SUCCESS)
        since = time.monotonic()
        wait_until(lambda: {"register", "link"} <= self.kinds(since), seconds=600,
                   what="a registration and a link")

    def kinds(self, since):
        """Returns which requests succeeded since a time."""
        return {response.what for response in list(self.responses)
                if response.start >= since and response.status in SUCCESS}

    def stop(self):
        for client in self.clients:
            client.stopping = True
        for client in self.clients:
            client.join()

    def unexpected(self):
        """Returns the responses other than a success or an error of an unavailable service."""
        return {(response.status, response.what) for response in self.responses
                if response.status not in (*SUCCESS, 503)}

    def lost(self):
        """Returns the acknowledged writes that are not stored."""
        return [found for client in self.clients for found in client.lost()]

    def print_writes(self):
        """Prints how many writes spanned nodes, and of how many the client had no response."""
        for what in ["register", "link", "sign in"]:
            found = [response.status for response in self.responses if response.what == what]
            succeeded = sum(status in SUCCESS for status in found)
            print(f"{what}: {succeeded} acknowledged, {len(found) - succeeded} failed", file=sys.stderr)

    def outage(self, group, since):
        """Returns the seconds between the first and the last failed request of a group.

        The second value is the number of failed requests, and the third the time that the slowest
        request took.
        """
        mine = [response for response in self.responses
                if response.group == group and response.end >= since]
        failed = [response for response in mine if response.status not in SUCCESS]
        length = (max(response.end for response in failed)
                  - min(response.start for response in failed)) if failed else 0
        return length, len(failed), max(response.end - response.start for response in mine)

    def report(self, what, away, since, until):
        """Prints the outage of the group that fails, and of the others."""
        self.print_writes()
        for group in [*self.groups, *self.across]:
            length, failed, slowest = self.outage(group, since)
            users = (f"writes to {group}" if group in self.across else "its users" if group == away
                     else "other users" if away else f"users of {group}")
            print(f"{what} for {until - since:.1f} s: {users}: outage {length:.1f} s, {failed} failed, "
                  f"{self.count(group, *SUCCESS, since=since)} succeeded, slowest {slowest:.2f} s, "
                  f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)


class Client(threading.Thread):
    """A user who writes metadata and a property, and refreshes the tokens now and then.

    The client also makes other users, whose rows span nodes. `across` is the group of these requests.
    """

    stopping = False

    def __init__(self, site, group, grant, across=ACROSS):
        super().__init__()
        self.site, self.group, self.grant, self.across = site, group, grant, across
        self.responses = []
        self.metadata = self.property = 0
        self.spanning = Spanning(self)

    def run(self):
        turn = 0
        while not self.stopping:
            turn += 1
            if self.send("metadata", "PATCH", "/v1/me/metadata", {"turn": turn}, MERGE):
                self.metadata = turn
            if self.send("property", "PUT", "/v1/me/properties/turn", {"value": turn}, JSON):
                self.property = turn
            self.send("read", "GET", "/v1/me", None, {})
            if turn % 20 == 0:
                self.refresh()
            self.spanning.write(turn)

    def send(self, what, method, path, body, headers):
        """Sends a request of the user. Returns whether it succeeded."""
        answer = self.ask(what, method, path, body, headers, self.grant["access_token"], self.group)
        return answer is not None and answer.status == 200

    def refresh(self):
        """Refreshes the tokens, and repeats a request that failed."""
        body = {"refresh_token": self.grant["refresh_token"]}
        while not self.stopping:
            answer = self.ask("refresh", "POST", "/v1/token/refresh", body, JSON, None, self.group)
            if answer and answer.status == 200:
                self.grant = answer.json
            if not answer or answer.status != 503:
                return

    def ask(self, what, method, path, body, headers, token, group):
        """Sends a request, and keeps the time and the status of its response. Returns the response."""
        start, answer = time.monotonic(), None
        try:
            answer = self.site.request(method, path, body, headers, token)
            status = answer.status
        except Exception as error:
            status = repr(error)
        self.responses.append(Response(start, time.monotonic(), group, status, what))
        return answer

    def lost(self):
        token = self.grant["access_token"]
        metadata = self.site.get("/v1/me/metadata", token=token)
        value = self.site.get("/v1/me/properties/turn", token=token)
        found = self.spanning.lost()
        if metadata.status != 200 or metadata.json.get("turn", 0) < self.metadata:
            found.append((self.group, "metadata", self.metadata, metadata.body))
        if self.property and (value.status != 200 or value.json["value"] < self.property):
            found.append((self.group, "property", self.property, value.body))
        return found
