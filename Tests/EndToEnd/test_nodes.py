"""Tests databases that are distributed over several nodes, and nodes that are away."""

import contextlib
import json
import subprocess
import unittest

from asking import JSON
from cases import Case
from deployment import IMPATIENT, Deployment
from machine import BUILD, HAS_CITUS, ROOT, wait_until


def property_of(site, grant):
    """Writes a property of a user. Returns the answer."""
    return site.request(
        "PUT", "/v1/me/properties/a", {"value": 1}, JSON, grant["access_token"])


class AwayNode(Case):
    """A function fails for one user, as a coordinator of Citus does if a node is away."""

    @classmethod
    def setUpClass(cls):
        # Tables that are distributed have no triggers.
        cls.site = Deployment(citus=False)

    def connections(self):
        found = self.site.sql("select pid from pg_stat_activity where application_name = 'dossierd'")
        return set(found.split())

    def test_a_node_that_is_away_fails_its_users_and_leaves_the_connections(self):
        away, other = self.site.login(), self.site.login()
        self.site.sql(f"""
            create function fail() returns trigger language plpgsql as $$ begin
              if new.user_id = '{away["user_id"]}' then
                raise 'connection to the remote node failed' using errcode = '08006';
              end if;
              return new;
            end $$;
            create trigger fail before insert or update on properties
              for each row execute function fail()""")
        self.addCleanup(self.site.sql, "drop trigger fail on properties; drop function fail()")
        for _ in range(8):
            self.expect(property_of(self.site, other), 200)
        before = self.connections()
        for _ in range(8):
            answer = self.expect(property_of(self.site, away), 503, "database_unavailable")
            self.assertEqual(answer.headers["Retry-After"], "1")
            self.expect(property_of(self.site, other), 200)
        self.assertLessEqual(before, self.connections())
        self.expect(self.site.get("/readyz"), 200)


@unittest.skipUnless(HAS_CITUS, "Citus is not installed")
class Nodes(Case):
    @classmethod
    def setUpClass(cls):
        cls.site = Deployment(citus=True, settings=IMPATIENT)

    def findings(self, check=True):
        """Returns the faults of the doctor by what it has examined."""
        run = self.site.dossier("doctor", check=check)
        rows = run if check else json.loads(run.stdout)
        return {row["what"]: row["fault"] for row in rows}

    @contextlib.contextmanager
    def without_node(self, users):
        """Kills a node. At the end, starts it and waits until all users are served."""
        data, port = self.site.nodes()[1]
        self.site.stop_node(data, "immediate")
        try:
            yield port
        finally:
            self.site.start_node(data, port)
        for user in users:
            wait_until(lambda: property_of(self.site, user).status == 200, what="the node")

    def test_a_node_that_is_killed_fails_only_its_users_until_it_is_back(self):
        users = [self.site.login() for _ in range(24)]
        for user in users:
            self.expect(property_of(self.site, user), 200)
        with self.without_node(users):
            statuses = [property_of(self.site, user).status for user in users]
            self.assertEqual(set(statuses), {200, 503})
            # A user who was served has its rows on another node.
            for user, status in zip(users, statuses):
                self.assertEqual(property_of(self.site, user).status, status)

    def test_an_upgrade_can_grant_privileges(self):
        """The role may change tables of both kinds, which Citus refuses in one parallel transaction."""
        for command in ["up", "verify"]:
            subprocess.run([BUILD / "dossier-migrate", command, "--quiet", "--grant-to", "server",
                            "--migrations", ROOT / "migrations", "--database",
                            self.site.conninfo("owner")], check=True, capture_output=True)

    def test_the_doctor_names_each_node(self):
        nodes = {what: fault for what, fault in self.findings().items() if what.startswith("node ")}
        self.assertEqual(len(nodes), 2)
        self.assertEqual(set(nodes.values()), {None})

    def test_the_doctor_names_a_node_that_is_away(self):
        users = [self.site.login() for _ in range(24)]
        with self.without_node(users) as port:
            faults = self.findings(check=False)
        away = [what for what, fault in faults.items() if fault and "does not answer: its" in fault]
        self.assertEqual([what.rsplit(":")[-1] for what in away], [str(port)])
        self.assertIn("one of its nodes, does not answer", faults["mail queue"])
        self.assertIsNone(faults["database"])

    def test_a_database_that_is_distributed_otherwise_is_refused(self):
        self.site.sql("select undistribute_table('rate_limits')")
        self.addCleanup(self.site.sql, "select create_distributed_table('rate_limits', 'subject', "
                        "colocate_with => 'none')")
        answer = self.site.get("/readyz")
        self.assertEqual(answer.status, 503)
        self.assertIn(b"rate_limits is not distributed yet; run dossier-migrate distribute",
                      answer.body)
