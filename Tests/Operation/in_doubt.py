"""Transactions that are prepared on a node, whose coordinator has not committed them there yet."""

import contextlib
import itertools
import signal
import subprocess
import threading
import time

from asking import JSON
from machine import TOOLS, wait_until
from spanning import PASSWORD, place

# The lock for which a held commit waits.
LOCK = 20_260

# A superuser may add a trigger to a shard, which Citus hides and protects.
HIDDEN = ("set citus.enable_ddl_propagation = off; set citus.override_table_visibility = off; "
          "set citus.enable_manual_changes_to_shards = on; ")

# The trigger runs when the node prepares the transaction.
TRIGGER = """
create or replace function wait_for_test() returns trigger language plpgsql as $$ begin
  perform pg_advisory_lock_shared({lock});
  perform pg_advisory_unlock_shared({lock});
  return null;
end $$;
drop trigger if exists wait_for_test on {shard};
create constraint trigger wait_for_test after insert on {shard}
deferrable initially deferred for each row when (new.subject = '{email}')
execute function wait_for_test();
"""


def prepared(nodes):
    """Returns the transactions that are prepared, each with the name of its node."""
    return {(node.data.name, gid) for node in nodes
            for gid in node.sql("select gid from pg_prepared_xacts").splitlines()}


class Session:
    """A session of psql, which answers sooner than a new one."""

    def __init__(self, node):
        self.psql = subprocess.Popen(
            [TOOLS / "psql", "-h", node.site.folder, "-p", str(node.port), "-U", "owner",
             "-d", "dossier", "-Atq"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def rows(self, query):
        print(f"{query};\nselect 'end';", file=self.psql.stdin, flush=True)
        # The output ends early if the server was killed.
        lines = itertools.takewhile(lambda line: line != "end\n", self.psql.stdout)
        return [line.rstrip("\n") for line in lines]

    def close(self):
        if self.psql.returncode is None:
            with contextlib.suppress(BrokenPipeError):
                self.psql.communicate()


class HeldLink:
    """A link of an address to a guest, which one node has prepared and another one has not.

    The rows of the guest are on `first`, and the subject of the address is on `second`. `device` is the
    node of the guest's device. `second` waits in its trigger, so the coordinator waits with the commit
    until `release`.
    """

    numbers = itertools.count()

    def __init__(self, site, first, second, device=None):
        self.first, self.second, device = first, second, device or first
        self.status = self.gid = None
        # The server ends a commit that waits for too long, as on a machine that is too busy.
        for _ in range(20):
            self.guest = next(
                grant for grant in iter(site.login, None)
                if place(site, grant["user_id"]) == first.data.name
                and place(site, grant["device_id"], "devices") == device.data.name)
            self.email = next(
                email for email in map("held-{}@example.com".format, self.numbers)
                if place(site, email, "identity_subjects") == second.data.name
                and self.shard_range(site, "identity_subjects", email)
                != self.shard_range(site, "devices", self.guest["device_id"]))
            self.hold(site)
            if self.gid:
                return
        raise AssertionError(f"no link was held; the last one was answered with {self.status}")

    @staticmethod
    def shard_range(site, table, key):
        """Returns the first hash of the shard of a key. Citus uses it to decide on a two-phase commit."""
        return site.sql("select shardminvalue from pg_dist_shard where shardid = "
                        f"get_shard_id_for_distribution_column('{table}', '{key}')")

    def hold(self, site):
        """Sends the link, and waits until the first node has prepared it or the link has failed."""
        self.shard = "identity_subjects_" + site.sql(
            f"select get_shard_id_for_distribution_column('identity_subjects', '{self.email}')")
        self.second.sql(HIDDEN + TRIGGER.format(lock=LOCK, shard=self.shard, email=self.email))
        self.lock, self.watch = Session(self.second), Session(self.first)
        self.lock.rows(f"select pg_advisory_lock({LOCK})")
        self.request = threading.Thread(target=self.send, args=[site])
        self.request.start()
        wait_until(lambda: self.is_held() or not self.request.is_alive(), what="a held commit")
        if not self.gid:
            self.release()

    def send(self, site):
        body = {"provider": "password", **self.credentials}
        self.status = site.request("POST", "/v1/me/identities", body, JSON,
                                   self.guest["access_token"]).status

    def is_held(self):
        """Returns whether the first node has replied that it is prepared, and the second one waits."""
        self.gid = None
        for query in self.lock.rows(
                "select query from pg_stat_activity where wait_event = 'advisory' "
                "and query ~ '^(COMMIT$|PREPARE TRANSACTION )'"):
            if query == "COMMIT":
                # The coordinator commits in one phase, so the first node may have committed.
                self.gid = query
                return True
            # The last number counts the connections of the transaction.
            transaction = query.split("'")[1].rsplit("_", 1)[0] + "_"
            found = self.watch.rows(
                "select gid from pg_prepared_xacts join pg_stat_activity on query = "
                "'PREPARE TRANSACTION ' || quote_literal(gid) where wait_event = 'ClientRead' "
                f"and starts_with(gid, '{transaction}')")
            self.gid = found[0] if found else None
        return self.gid is not None

    @property
    def credentials(self):
        return {"email": self.email, "password": PASSWORD}

    def parts(self):
        """Returns the number of nodes that have prepared the transaction."""
        transaction = self.gid.rsplit("_", 1)[0] + "_"
        return sum(gid.startswith(transaction) for _, gid in prepared([self.first, self.second]))

    def has_subject(self):
        """Returns whether the second node has committed."""
        return self.second.sql(HIDDEN + f"select 1 from {self.shard} where subject = '{self.email}'") == "1"

    def is_committed(self):
        """Returns whether the second node commits before the request ends."""
        wait_until(lambda: self.has_subject() or not self.request.is_alive(), what="a commit")
        return self.has_subject()

    def allow(self):
        """Lets the second node go on."""
        self.lock.close()

    def release(self):
        """Lets the second node go on, and waits for the response to the link."""
        self.allow()
        self.watch.close()
        self.request.join()


def frozen_before_commit(site, coordinator, nodes):
    """Freezes the coordinator before it commits. Returns the link, of which a part is prepared."""
    while True:
        link = HeldLink(site, *nodes)
        link.since = time.monotonic()
        coordinator.signal(signal.SIGSTOP)
        if link.is_held():
            return link
        coordinator.signal(signal.SIGCONT)
        link.release()


def frozen_between_commits(site, away, other):
    """Freezes a node before it commits. Returns the link, which all others have committed."""
    while True:
        link = HeldLink(site, away, other)
        link.since = time.monotonic()
        away.signal(signal.SIGSTOP)
        link.allow()
        if link.is_committed():
            return link
        away.signal(signal.SIGCONT)
        link.release()
