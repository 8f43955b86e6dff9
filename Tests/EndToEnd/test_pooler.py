"""Requests through PgBouncer in transaction mode, whose sessions of the server are few."""

import concurrent.futures
import unittest

from asking import MERGE
from cases import Case
from deployment import IMPATIENT, Deployment
from machine import wait_until
from poolers import version

# Fewer than two workers would open by themselves.
SESSIONS = 6


class Pooled(Case):
    kind = "unprepared"

    @classmethod
    def setUpClass(cls):
        cls.site = Deployment(settings=IMPATIENT, pooler=cls.kind, pooled_sessions=SESSIONS)

    def setUp(self):
        self.token = self.expect(self.register(self.own_email()), 201).json["access_token"]

    def patch(self, change):
        return self.site.request("PATCH", "/v1/me/metadata", change, MERGE, self.token)

    def metadata(self):
        return self.expect(self.site.get("/v1/me/metadata", token=self.token), 200).json

    def test_users_sign_in_and_store_documents(self):
        self.expect(self.login(self.own_email()), 200)
        self.expect(self.patch({"theme": "dark"}), 200)
        self.assertEqual(self.metadata(), {"theme": "dark"})
        self.expect(self.site.request("DELETE", "/v1/me", token=self.token), 204)
        self.expect(self.login(self.own_email()), 401, "wrong_credentials")

    def test_many_writes_at_once_share_few_sessions(self):
        def write(number):
            # A read for each write.
            self.expect(self.site.get("/v1/me", token=self.token), 200)
            wait_until(lambda: self.patch({f"k{number}": number}).status == 200, what="a write")

        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            list(pool.map(write, range(150)))
        self.assertEqual(self.metadata(), {f"k{number}": number for number in range(150)})
        self.assertLessEqual(self.site.pooler.sessions(), SESSIONS)

    def test_a_write_that_waits_for_a_lock_is_ended_and_the_next_one_succeeds(self):
        self.expect(self.patch({"a": 1}), 200)
        with self.site.locked("documents"):
            self.expect(self.patch({"a": 2}), 503, "overloaded")
        wait_until(lambda: self.patch({"a": 3}).status == 200, what="a write")
        self.assertEqual(self.metadata(), {"a": 3})

    def test_a_refused_transaction_leaves_nothing_behind(self):
        # The second registration fails after the first statements of its transaction.
        self.expect(self.register(self.own_email()), 409, "email_taken")
        self.expect(self.patch({"a": 1}), 200)
        # Maintenance may have a transaction for a moment.
        wait_until(lambda: self.site.sql(
            "select count(*) from pg_stat_activity where state like 'idle in transaction%' "
            "and usename = 'server'") == "0", what="the end of all transactions")

    def test_workers_restart(self):
        self.expect(self.patch({"kept": True}), 200)
        self.restart()
        self.assertEqual(self.metadata(), {"kept": True})
        self.expect(self.patch({"kept": None}), 200)

    def test_the_pooler_and_the_server_are_replaced(self):
        self.expect(self.patch({"kept": True}), 200)
        self.site.pooler.stop()
        wait_until(lambda: self.site.get("/v1/me", token=self.token).status == 503, what="the outage")
        self.site.pooler.start()
        self.site.wait_until_ready()
        wait_until(lambda: self.site.get("/v1/me", token=self.token).status == 200, what="a read")
        self.assertEqual(self.metadata(), {"kept": True})
        self.site.stop_postgres()
        wait_until(lambda: self.site.get("/v1/me", token=self.token).status == 503, what="the outage")
        self.site.start_postgres()
        self.site.wait_until_ready()
        wait_until(lambda: self.patch({"later": 1}).status == 200, what="a write")
        self.assertEqual(self.metadata(), {"kept": True, "later": 1})

    def test_the_command_line_works(self):
        users = self.site.dossier("user", "list", "--filter", f'email = "{self.own_email()}"')
        self.assertEqual([user["email"] for user in users], [self.own_email()])

    def test_a_role_without_the_settings_is_reported(self):
        def restart_pooler(ready):
            self.site.pooler.stop()
            self.site.pooler.start()
            self.restart(ready=ready)

        self.site.sql("alter role server set timezone = 'Asia/Tokyo'")
        self.site.sql("alter role server reset lock_timeout")
        try:
            restart_pooler(ready=False)
            words = ("not ready: pooler: ", "alter role server set lock_timeout = '1000'; "
                     "alter role server set timezone = 'UTC'")
            wait_until(lambda: all(word in self.site.get("/readyz").body.decode() for word in words),
                       what="the reason")
        finally:
            self.site.pooler.set_role()
            restart_pooler(ready=True)


@unittest.skipUnless(version() >= (1, 21), "this PgBouncer keeps no prepared statements")
class Prepared(Pooled):
    kind = "prepared"


if __name__ == "__main__":
    unittest.main()
