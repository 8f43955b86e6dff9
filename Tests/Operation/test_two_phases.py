"""Transactions that write on several nodes of a distributed database are committed in two phases.

Citus decides that itself. It commits in one phase if the first write on a node follows a read there of
another range of shards. A failure between the commits of two nodes then leaves one half for ever.
"""

import re
import unittest

from distributed import Node
from cases import Case
from deployment import IMPATIENT, Deployment
from in_doubt import HeldLink, prepared
from machine import HAS_CITUS, wait_until
from spanning import PASSWORD, halves

STATEMENT = re.compile(r"(?m)^(\d+) NOTICE:  issuing ((?:.*)(?:\n(?!\d+ [A-Z]+:).*)*)")
WRITE = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM) public\.(\w+?)_(\d+)\b")


class Trace:
    """Reads in the coordinator's log which commands it sends to the nodes."""

    def __init__(self, site):
        self.nodes = dict(row.split("|") for row in site.sql(
            "select shardid, groupid from pg_dist_placement").splitlines())
        for setting in ["citus.log_remote_commands = on", "log_min_messages = notice",
                        "log_line_prefix = '%p '"]:
            site.sql(f"alter system set {setting}")
        site.sql("select pg_reload_conf()")
        self.log = open(site.nodes()[0][0] / "server.log")

    def commits(self):
        """Returns how each transaction since the last call ended that wrote on several nodes.

        Those without two phases have the tables, each with the group of its node.
        """
        written, found = {}, []
        for process, command in STATEMENT.findall(self.log.read()):
            end = re.match("COMMIT|PREPARE|ROLLBACK", command)
            if command.startswith("BEGIN"):
                written.setdefault(process, set())
            # A statement that is a transaction of its own has no beginning and no end.
            elif process in written and not end:
                written[process] |= {(self.nodes[shard], table)
                                     for table, shard in WRITE.findall(command)}
            rows = written.pop(process, set()) if end else set()
            if len({node for node, _ in rows}) > 1:
                found.append(end[0] if end[0] == "PREPARE" else (end[0], *sorted(rows)))
        return found


@unittest.skipUnless(HAS_CITUS, "Citus is not installed")
class TwoPhases(Case):
    @classmethod
    def setUpClass(cls):
        cls.site = Deployment(citus=True)
        cls.addClassCleanup(cls.site.stop)
        cls.trace = Trace(cls.site)

    @classmethod
    def tearDownClass(cls):
        """The clean-up of the class stops everything."""

    def check(self, request):
        """Repeats a request until 40 transactions have written on several nodes."""
        self.trace.commits()
        found = []
        for number in range(1_000):
            request({"email": f"{self._testMethodName}-{number}@example.com".replace("_", "-"),
                     "password": PASSWORD})
            found += self.trace.commits()
            if len(found) >= 40:
                break
        self.assertGreaterEqual(len(found), 40)
        others = [way for way in found if way != "PREPARE"]
        self.assertEqual(set(others), set(), f"{len(others)} of {len(found)} transactions")

    def guest(self):
        """Signs in a guest. The commits of the trace are those of later requests."""
        grant = self.site.login()
        self.trace.commits()
        return grant, {"headers": {"Dossier-Device": grant["device_secret"]}}

    def test_registration(self):
        self.check(lambda body: self.expect(self.post("/v1/register", body), 201))

    def test_registration_on_a_device(self):
        self.check(lambda body: self.expect(
            self.post("/v1/register", body, **self.guest()[1]), 201))

    def test_sign_in_of_a_guest(self):
        self.check(lambda _: self.site.login())

    def test_sign_in_of_a_guest_on_a_device(self):
        self.check(lambda _: self.expect(
            self.post("/v1/login/anonymous", {}, **self.guest()[1]), 200))

    def test_sign_in_by_password_on_a_device(self):
        body = {"email": "device@example.com", "password": PASSWORD}
        self.expect(self.post("/v1/register", body), 201)
        self.check(lambda _: self.expect(
            self.post("/v1/login/password", body, **self.guest()[1]), 200))

    def test_link_of_an_address(self):
        self.check(lambda body: self.expect(self.link(self.guest()[0], provider="password", **body), 200))

    def test_change_of_a_password(self):
        def change(body):
            grant = self.expect(self.post("/v1/register", body), 201).json
            self.trace.commits()
            self.expect(self.post("/v1/password/change", {
                "current_password": PASSWORD, "new_password": "another " + PASSWORD},
                token=grant["access_token"]), 200)

        self.check(change)

    def test_deletion_of_a_user(self):
        def delete(body):
            grant = self.expect(self.post("/v1/register", body), 201).json
            self.trace.commits()
            self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)

        self.check(delete)


@unittest.skipUnless(HAS_CITUS, "Citus is not installed")
class Halves(unittest.TestCase):
    def test_a_node_that_fails_during_a_commit_leaves_no_half_of_a_link(self):
        site = Deployment(citus=True, settings=IMPATIENT)
        self.addCleanup(site.stop)
        coordinator, first, second = nodes = [Node(site, *node) for node in site.nodes()]
        coordinator.sql("alter system set citus.recover_2pc_interval = '5s'")
        coordinator.sql("select pg_reload_conf()")
        # The transaction locks the device on the second node before it writes there.
        link = HeldLink(site, first, second, device=second)
        second.kill()
        link.release()
        second.start()
        site.wait_until_ready()
        wait_until(lambda: not prepared(nodes), seconds=300, what="the end of all commits")
        self.assertEqual(halves(site.sql), set(), f"{link.gid}, response {link.status}")


if __name__ == "__main__":
    unittest.main()
