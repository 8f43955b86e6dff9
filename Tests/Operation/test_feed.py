"""The event feed while workers, nodes and the coordinator are killed: each event is there once, in order.

A thousand users write, on one PostgreSQL and on a distributed database.
"""

import collections
import contextlib
import json
import os
import random
import signal
import threading
import unittest

from distributed import Node
from asking import MERGE
from deployment import IMPATIENT, Deployment
from machine import HAS_CITUS, wait_until

USERS = 1_000
THREADS = 16


class Writers:
    """Threads that change the metadata of users in a random order, and keep what was acknowledged."""

    def __init__(self, site, count):
        self.site, self.is_over = site, False
        self.grants = [site.login() for _ in range(count)]
        # The versions of the acknowledged writes of each user.
        self.versions = collections.defaultdict(list)
        self.statuses = collections.Counter()
        self.locks = [threading.Lock() for _ in self.grants]
        self.threads = [threading.Thread(target=self.write) for _ in range(THREADS)]
        for thread in self.threads:
            thread.start()

    def write(self):
        turn = 0
        while not self.is_over:
            turn += 1
            place = random.randrange(len(self.grants))
            grant = self.grants[place]
            # One write at a time, so that the order of a user's versions is that of the responses.
            with self.locks[place], contextlib.suppress(OSError):
                answer = self.site.request(
                    "PATCH", "/v1/me/metadata", {"turn": turn}, MERGE, grant["access_token"])
                self.statuses[answer.status] += 1
                if answer.status == 200:
                    version = int(answer.headers["ETag"].strip('"'))
                    self.versions[grant["user_id"]].append(version)

    def go_on(self, count=500):
        """Waits for this number of further acknowledged writes."""
        goal = self.statuses[200] + count
        wait_until(lambda: self.statuses[200] >= goal, seconds=600, what="acknowledged writes")

    def stop(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


class FeedCase(unittest.TestCase):
    CITUS = False

    def setUp(self):
        self.site = Deployment(citus=self.CITUS, settings=IMPATIENT)
        self.addCleanup(self.site.stop)
        self.nodes = [Node(self.site, *node) for node in self.site.nodes()]
        if self.CITUS:
            self.nodes[0].sql("alter system set citus.recover_2pc_interval = '5s'")
            self.nodes[0].sql("select pg_reload_conf()")
        self.site.set_app(event_feed=True, event_types=["metadata.changed"])
        probe = self.site.login()

        def is_on():
            self.site.request("PATCH", "/v1/me/metadata", {"n": random.random()}, MERGE,
                              probe["access_token"])
            return self.site.sql("select count(*) from feed_events where type = 'metadata.changed'") != "0"

        wait_until(is_on, what="the feed")
        # Each worker knows the setting after two times the lifetime of its cache.
        wait_until(lambda: all(is_on() for _ in range(20)), what="the feed of each worker")
        self.first = int(self.site.sql("select last_position from event_feeds limit 1"))
        self.writers = Writers(self.site, USERS)
        self.addCleanup(self.writers.stop)

    def kill_workers(self):
        """Kills each worker, one of which publishes."""
        for worker in self.site.workers():
            os.kill(worker, signal.SIGKILL)
            self.writers.go_on(200)

    def outage(self, node):
        node.kill()
        wait_until(lambda: self.writers.statuses[503] > 0, seconds=600, what="failures")
        node.start()
        self.writers.statuses[503] = 0
        self.writers.go_on()

    def published(self):
        """Returns the events of the feed, once nothing waits any more."""
        self.writers.stop()
        self.site.wait_until_ready()
        waiting = ("select (select count(*) from audit where pending) "
                   "+ (select count(*) from unpublished_changes)")
        wait_until(lambda: self.site.sql(waiting) == "0", seconds=600, what="all events in the feed")
        rows = self.site.sql(
            "select position, event_id, type, coalesce(user_id, ''), data from feed_events "
            "where feed_id = (select app_id from apps where name = 'default') order by position")
        return [(int(position), event, kind, user, json.loads(data)) for position, event, kind, user, data
                in (line.split("|", 4) for line in rows.splitlines())]

    def check(self):
        events = self.published()
        positions = [position for position, *_ in events]
        self.assertEqual(positions, list(range(1, len(events) + 1)))
        self.assertEqual(int(self.site.sql(
            "select last_position from event_feeds where feed_id = "
            "(select app_id from apps where name = 'default')")), len(events))
        self.assertEqual(len({event for _, event, *_ in events}), len(events))
        users = collections.Counter(user for _, _, kind, user, _ in events if kind == "user.created")
        for grant in self.writers.grants:
            self.assertEqual(users[grant["user_id"]], 1)
        told = collections.defaultdict(list)
        for _, _, kind, user, data in events:
            if kind == "metadata.changed":
                told[user].append(data["version"])
        count = 0
        for user, versions in self.writers.versions.items():
            # Each once, in order. A write whose response was lost may be there too.
            self.assertEqual(told[user], sorted(set(told[user])), user)
            self.assertLessEqual(set(versions), set(told[user]), user)
            count += len(versions)
        self.assertGreater(count, 1_000)
        self.assertLessEqual(set(self.writers.statuses), {200, 503})
        print(f"{count} acknowledged writes of {len(self.writers.versions)} users, {len(events)} events, "
              f"responses {dict(self.writers.statuses)}")


class OneDatabase(FeedCase):
    def test_workers_and_the_database_are_killed(self):
        self.writers.go_on()
        self.kill_workers()
        self.outage(self.nodes[0])
        self.kill_workers()
        self.check()


@unittest.skipUnless(HAS_CITUS, "Citus is not installed")
class Distributed(FeedCase):
    CITUS = True

    def test_workers_nodes_and_the_coordinator_are_killed(self):
        self.writers.go_on()
        self.kill_workers()
        for node in self.nodes[1:] + self.nodes[:1]:
            self.outage(node)
            self.kill_workers()
        self.check()


if __name__ == "__main__":
    unittest.main()
