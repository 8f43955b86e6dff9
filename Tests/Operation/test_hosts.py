"""Several hosts of workers, on one network with a database: requests go to any of them.

A host, or a node of the database, is cut off: packets vanish, and nothing refuses a connection. Prints
the measured outages.
"""

import json
import time
import unittest

import hosts
from asking import JSON
from cases import Case
from distributed import Client, Ledger, Node
from hosts import Database, Host, Network
from in_doubt import prepared
from machine import HAS_CITUS, wait_until
from spanning import halves, place

REASON = hosts.reason_against()


class Hosts(Case):
    """Hosts with workers and nginx, and the hosts of one database."""

    DATABASES = ["database"]

    @classmethod
    def setUpClass(cls):
        cls.network = Network("app1", "app2", *cls.DATABASES)
        cls.addClassCleanup(cls.network.remove)
        cls.database = Database(cls.network, *cls.DATABASES)
        cls.addClassCleanup(cls.database.stop)
        cls.first = Host(cls.network, "app1", cls.database)
        cls.addClassCleanup(cls.first.stop)
        cls.second = cls.add_host("app2")

    @classmethod
    def add_host(cls, name, **settings):
        """Starts a host with the settings of the first one."""
        shared = {key: cls.first.environment[key] for key in ["DOSSIER_MASTER_KEY", "DOSSIER_MAIL"]}
        host = Host(cls.network, name, cls.database, settings={**shared, **settings}.items())
        cls.addClassCleanup(host.stop)
        return host

    @classmethod
    def tearDownClass(cls):
        """The clean-ups of the class stop everything."""

    @property
    def site(self):
        return self.first

    def load(self, clients):
        ledger = Ledger(clients)
        self.addCleanup(ledger.stop)
        ledger.go_on()
        return ledger

    def end(self, ledger, what, away, since, until):
        """Checks that all is well after a failure, and prints the outages."""
        ledger.go_on()
        ledger.stop()
        nodes = [Node(self.database, *node) for node in self.database.nodes()]
        # Without load, no transaction stays prepared.
        wait_until(lambda: not prepared(nodes), seconds=300, what="the end of all commits")
        ledger.report(what, away, since, until)
        faults = [text for host in [self.first, self.second] for text in host.faults()]
        self.assertEqual(ledger.unexpected(), set(), faults)
        self.assertEqual(halves(self.database.sql), set())
        self.assertEqual(ledger.lost(), [])


@unittest.skipIf(REASON, REASON)
class OneDatabase(Hosts):
    def test_requests_of_a_user_may_go_to_any_host(self):
        grant = self.expect(self.register("ada@example.com"), 201).json
        token = grant["access_token"]
        path = "/v1/me/properties/a"
        self.expect(self.second.request("PUT", path, {"value": 1}, JSON, token), 200)
        self.assertEqual(self.expect(self.first.get(path, token=token), 200).json["value"], 1)
        body = {"refresh_token": grant["refresh_token"]}
        renewed = self.expect(self.first.request("POST", "/v1/token/refresh", body, JSON), 200).json
        # A repetition at another host gets the same answer.
        again = self.expect(self.second.request("POST", "/v1/token/refresh", body, JSON), 200).json
        self.assertEqual(again["refresh_token"], renewed["refresh_token"])
        # Each host knows at once that a session has ended.
        token = renewed["access_token"]
        self.expect(self.second.get("/v1/me", token=token), 200)
        self.expect(self.first.request("POST", "/v1/logout", token=token), 204)
        self.expect(self.second.get("/v1/me", token=token), 401)

    def test_failures_count_on_all_hosts_together(self):
        app = self.first.add_app("guarded", failures_per_ip=4)
        body = {"email": "grace@example.com", "password": "a wrong one"}
        statuses = [host.request("POST", "/v1/login/password", body, {**JSON, **app}).status
                    for _ in range(3) for host in [self.first, self.second]]
        self.assertEqual(statuses, [401] * 4 + [429] * 2)

    def test_metrics_are_those_of_the_host(self):
        name = 'dossier_requests_total{route="GET /v1/me/properties",status_class="2xx"}'
        token = self.first.login()["access_token"]
        for _ in range(5):
            self.expect(self.first.get("/v1/me/properties", token=token), 200)
        self.assertEqual(self.first.metric(name), 5)
        self.assertNotIn(name, self.second.get("/metrics").body.decode())

    def test_the_doctor_names_hosts_with_other_settings(self):
        self.network.numbers["app3"] = 99
        self.network.add("app3")
        self.add_host("app3", DOSSIER_ISSUER="https://other.example.com")
        run = self.second.dossier("doctor", check=False)
        faults = {row["what"]: row["fault"] for row in json.loads(run.stdout)}
        self.assertIn("another value of issuer than those of app", faults["host app3"])

    def test_a_host_that_is_cut_off_fails_alone(self):
        clients = [Client(host, host.name, host.login(), across=host.name)
                   for host in [self.first, self.second] for _ in range(8)]
        workers = [sorted(host.workers()) for host in [self.first, self.second]]
        ledger = self.load(clients)
        since = time.monotonic()
        self.network.cut("app1")
        try:
            ledger.wait_for("app1", 100, 503)
            ledger.wait_for("app2", 400, 200)
        finally:
            self.network.connect("app1")
        until = time.monotonic()
        self.end(ledger, "a host cut off", "app1", since, until)
        self.assertEqual(ledger.outage("app2", since)[1], 0)
        self.assertEqual([sorted(host.workers()) for host in [self.first, self.second]], workers)
        for host in [self.first, self.second]:
            host.wait_until_ready()


@unittest.skipIf(REASON, REASON)
@unittest.skipUnless(HAS_CITUS, "Citus is not installed")
class DistributedDatabase(Hosts):
    DATABASES = ["coordinator", "node1", "node2"]

    def clients(self, count=8):
        """Signs in users of each node, half at each host."""
        names = {"first": "node1", "second": "node2"}
        waiting = dict.fromkeys(names.values(), count)
        clients = []
        while any(waiting.values()):
            host = [self.first, self.second][len(clients) % 2]
            grant = host.login()
            node = names[place(self.database, grant["user_id"])]
            if waiting[node]:
                waiting[node] -= 1
                clients.append(Client(host, node, grant))
        return clients

    def test_a_node_that_is_cut_off_fails_its_users(self):
        ledger = self.load(self.clients())
        since = time.monotonic()
        self.network.cut("node1")
        try:
            ledger.wait_for("node1", 200, 503)
            ledger.wait_for("node2", 800, 200)
        finally:
            self.network.connect("node1")
        until = time.monotonic()
        self.end(ledger, "a node cut off", "node1", since, until)
        # The workers have found out which node it is.
        failed = ledger.count("node2", 503, since=since)
        self.assertLess(failed, ledger.count("node2", 200, since=since) / 10)

    def test_a_host_that_is_cut_off_fails_alone(self):
        clients = [Client(host, host.name, host.login(), across=host.name)
                   for host in [self.first, self.second] for _ in range(4)]
        ledger = self.load(clients)
        since = time.monotonic()
        self.network.cut("app1")
        try:
            ledger.wait_for("app1", 100, 503)
            ledger.wait_for("app2", 400, 200)
        finally:
            self.network.connect("app1")
        until = time.monotonic()
        self.end(ledger, "a host cut off, distributed", "app1", since, until)
        self.assertEqual(ledger.outage("app2", since)[1], 0)


if __name__ == "__main__":
    unittest.main()
