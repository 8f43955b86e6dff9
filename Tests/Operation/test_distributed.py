"""Nodes of a distributed database fail under load: no acknowledged write is lost.

Writes that span nodes are committed on all of them, or on none. Some tests hold such a commit until a
node fails in the middle of it. Prints the measured outages of the users of the node, and of the others.
"""

import signal
import sys
import time
import unittest

from distributed import Ledger, Node, clients_of_nodes
from asking import JSON
from cluster import SOCKETS
from deployment import IMPATIENT, Deployment
from in_doubt import HeldLink, frozen_before_commit, frozen_between_commits, prepared
from machine import HAS_CITUS, wait_until
from spanning import halves


@unittest.skipUnless(HAS_CITUS, "Citus is not installed")
class Distributed(unittest.TestCase):
    def setUp(self):
        self.site = Deployment(citus=True, settings=IMPATIENT)
        self.addCleanup(self.site.stop)
        self.coordinator, *self.nodes = [Node(self.site, *node) for node in self.site.nodes()]
        self.workers = sorted(self.site.workers())
        # Until `settle`, so that a test sees the transactions in doubt.
        self.set_interval("-1")
        self.in_doubt = set()
        self.ledger = Ledger(clients_of_nodes(self.site, 12))
        self.addCleanup(self.ledger.stop)
        self.ledger.go_on()

    def set_interval(self, value):
        """Sets the time between two times that Citus settles transactions."""
        self.coordinator.sql(f"alter system set citus.recover_2pc_interval = '{value}'")
        self.coordinator.sql("select pg_reload_conf()")

    def prepared(self):
        return prepared([self.coordinator, *self.nodes])

    def settle(self):
        """Lets Citus settle the transactions in doubt, with the interval of the guide."""
        self.set_interval("5s")
        wait_until(lambda: not self.in_doubt & self.prepared(), seconds=300,
                   what="the end of commits in doubt")

    def survive(self, what, away, since, until):
        """Checks that all is well after a failure, and prints the outages."""
        self.ledger.go_on()
        self.settle()
        self.ledger.go_on()
        self.ledger.stop()
        # Without load, no transaction stays prepared.
        wait_until(lambda: not self.prepared(), seconds=300, what="the end of all commits")
        print(f"{what}: {len(self.in_doubt)} transactions in doubt", file=sys.stderr)
        self.ledger.report(what, away, since, until)
        self.assertEqual(self.ledger.unexpected(), set(), self.site.faults())
        self.assertEqual(halves(self.site.sql), set())
        self.assertEqual(self.ledger.lost(), [])
        self.assertEqual(sorted(self.site.workers()), self.workers)
        self.site.wait_until_ready()

    def stored(self, link):
        """Returns whether a held link is stored, whose parts are all there or all absent."""
        answer = self.site.request("POST", "/v1/login/password", link.credentials, JSON)
        self.assertIn(answer.status, (200, 401), answer.body)
        if answer.status == 200:
            self.assertEqual(answer.json["user_id"], link.guest["user_id"])
        return answer.status == 200

    def connections(self):
        """Returns the connections of the workers, by the processes that serve them."""
        return set(self.site.sql("select pid from pg_stat_activity where application_name = "
                                 "'dossierd'").split())

    def test_a_node_is_killed_and_returns(self):
        away, other = self.nodes
        link = HeldLink(self.site, away, other)
        before = self.connections()
        since = time.monotonic()
        away.kill()
        link.allow()
        # Unless this machine is so busy that the coordinator has not waited for the second node.
        is_committed = link.is_committed()
        link.release()
        self.ledger.wait_for(away.data.name, 100, 503)
        self.ledger.wait_for(other.data.name, 100, 200)
        away.start()
        until = time.monotonic()
        first = prepared([away])
        self.ledger.go_on()
        # The others were under way.
        self.in_doubt = first & prepared([away])
        self.assertIn((away.data.name, link.gid), self.in_doubt)
        self.survive("a node killed", away.data.name, since, until)
        self.assertEqual(self.stored(link), is_committed)
        # Citus reports success of a commit that it settles later.
        self.assertIn(link.status, (200, 503) if is_committed else (503,))
        # No connection to the coordinator was lost, and no user of the other node noticed.
        if link.status == 200:
            self.assertLessEqual(before, self.connections())
        self.assertEqual(self.ledger.outage(other.data.name, since)[1], 0)

    def test_the_coordinator_is_killed_and_returns(self):
        link = frozen_before_commit(self.site, self.coordinator, self.nodes)
        since = link.since
        self.coordinator.kill()
        link.release()
        for node in self.nodes:
            self.ledger.wait_for(node.data.name, 100, 503)
        # The second node prepares its part without the coordinator.
        wait_until(lambda: link.parts() == 2, what="both parts of the held link")
        self.in_doubt = prepared(self.nodes)
        self.coordinator.start()
        until = time.monotonic()
        self.survive("the coordinator killed", None, since, until)
        # The coordinator had not committed.
        self.assertEqual((link.status, self.stored(link)), (503, False))

    def test_the_coordinator_and_a_node_are_killed_between_two_commits(self):
        away, other = self.nodes
        link = frozen_between_commits(self.site, away, other)
        since = link.since
        self.coordinator.kill()
        away.kill()
        link.release()
        for node in self.nodes:
            self.ledger.wait_for(node.data.name, 100, 503)
        away.start()
        self.in_doubt = prepared(self.nodes)
        self.assertIn((away.data.name, link.gid), self.in_doubt)
        self.coordinator.start()
        until = time.monotonic()
        self.survive("the coordinator and a node killed", None, since, until)
        self.assertTrue(self.stored(link))

    def test_a_node_freezes_and_continues(self):
        away, other = self.nodes
        link = frozen_between_commits(self.site, away, other)
        since = link.since
        try:
            link.release()
            self.ledger.wait_for(away.data.name, 200, 503)
            self.ledger.wait_for(other.data.name, 400, 200)
            found = time.monotonic()
            self.ledger.wait_for(other.data.name, 400, 200)
        finally:
            away.signal(signal.SIGCONT)
        until = time.monotonic()
        self.survive("a node frozen", away.data.name, since, until)
        # The coordinator had committed, and the response may have been late.
        self.assertTrue(self.stored(link))
        # Once the workers know the node, it holds up no user of the other one. A loaded machine
        # may answer late.
        failed = [response for response in self.ledger.responses if response.status == 503
                  and response.group == other.data.name and found < response.start < until]
        self.assertLess(len(failed), 40)

    def test_shards_move_to_a_new_node(self):
        port = 5435
        self.add_node("third", port)
        since = time.monotonic()
        self.site.sql("select citus_rebalance_start()")
        state = "select state from citus_rebalance_status() order by job_id desc limit 1"
        wait_until(lambda: self.site.sql(state) in ("finished", "failed", "cancelled"), seconds=600,
                   what="the end of the moves")
        until = time.monotonic()
        self.assertEqual(self.site.sql(state), "finished")
        moved = self.site.sql("select count(*) from pg_dist_shard_placement p join pg_dist_shard s "
                              f"using (shardid) where s.shardminvalue is not null and p.nodeport = {port}")
        self.assertGreater(int(moved), 0)
        self.survive("shards moved", None, since, until)

    def add_node(self, name, port):
        """Makes a PostgreSQL with the roles of the guide, and adds it to the coordinator's nodes."""
        data = self.site.folder / name
        self.site.make_data(data)
        node = Node(self.site, data, port)
        node.start()
        self.addCleanup(self.site.stop_node, data, "immediate")
        self.site.make_database(port)
        node.sql("create extension citus")
        self.site.sql(f"select citus_add_node('{SOCKETS}', {port})")
        self.nodes.append(node)


if __name__ == "__main__":
    unittest.main()
