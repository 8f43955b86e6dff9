"""Nodes of a distributed database fail under load: no acknowledged write is lost.

Prints the measured outages of the users of the node, and of the others.
"""

import signal
import time
import unittest

from distributed import Ledger, Node, clients_of_nodes
from cluster import SOCKETS
from deployment import IMPATIENT, Deployment
from machine import HAS_CITUS, wait_until


@unittest.skipUnless(HAS_CITUS, "Citus is not installed")
class Distributed(unittest.TestCase):
    def setUp(self):
        self.site = Deployment(citus=True, settings=IMPATIENT)
        self.addCleanup(self.site.stop)
        self.coordinator, *self.nodes = [Node(self.site, *node) for node in self.site.nodes()]
        self.workers = sorted(self.site.workers())
        self.ledger = Ledger(clients_of_nodes(self.site, 12))
        self.addCleanup(self.ledger.stop)
        self.ledger.go_on()

    def survive(self, what, away, since, until):
        """Checks that all is well after a failure, and prints the outages."""
        self.ledger.go_on()
        wait_until(lambda: self.in_doubt() == 0, seconds=300, what="the end of commits in doubt")
        self.ledger.go_on()
        self.ledger.stop()
        self.ledger.report(what, away, since, until)
        self.assertEqual(self.ledger.unexpected(), set(), self.site.faults())
        self.assertEqual(self.ledger.lost(), [])
        self.assertEqual(sorted(self.site.workers()), self.workers)
        self.site.wait_until_ready()

    def in_doubt(self):
        """Returns the number of transactions that are prepared, on all nodes."""
        return sum(int(node.sql("select count(*) from pg_prepared_xacts"))
                   for node in [self.coordinator, *self.nodes])

    def connections(self):
        """Returns the connections of the workers, by the processes that serve them."""
        return set(self.site.sql("select pid from pg_stat_activity where application_name = "
                                 "'dossierd'").split())

    def test_a_node_is_killed_and_returns(self):
        away, other = self.nodes
        before = self.connections()
        since = time.monotonic()
        away.kill()
        self.ledger.wait_for(away.data.name, 100, 503)
        self.ledger.wait_for(other.data.name, 100, 200)
        away.start()
        until = time.monotonic()
        self.survive("a node killed", away.data.name, since, until)
        # No connection to the coordinator was lost, and no user of the other node noticed.
        self.assertLessEqual(before, self.connections())
        self.assertEqual(self.ledger.outage(other.data.name, since)[1], 0)

    def test_the_coordinator_is_killed_and_returns(self):
        since = time.monotonic()
        self.coordinator.kill()
        for node in self.nodes:
            self.ledger.wait_for(node.data.name, 100, 503)
        self.coordinator.start()
        until = time.monotonic()
        self.survive("the coordinator killed", None, since, until)

    def test_a_node_freezes_and_continues(self):
        away, other = self.nodes
        since = time.monotonic()
        away.signal(signal.SIGSTOP)
        try:
            self.ledger.wait_for(away.data.name, 200, 503)
            self.ledger.wait_for(other.data.name, 400, 200)
            found = time.monotonic()
            self.ledger.wait_for(other.data.name, 400, 200)
        finally:
            away.signal(signal.SIGCONT)
        until = time.monotonic()
        self.survive("a node frozen", away.data.name, since, until)
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
