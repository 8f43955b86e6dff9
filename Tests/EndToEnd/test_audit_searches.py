"""Searches of the audit log, by the API and by the command line."""

import json
import re
import subprocess
import threading

from asking import ADDRESS
from cases import Administration
from machine import BUILD


class AuditSearches(Administration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = cls.site.client("--operator")["secret"]
        cls.app = cls.site.add_app("searched")

    def search(self, status=200, code=None, key=None, **query):
        words = "&".join(f"{name}={value}" for name, value in {"app": "searched", **query}.items())
        answer = self.site.request("GET", f"/v1/audit?{words}", token=key or self.operator)
        self.link = answer.headers["Link"]
        return self.expect(answer, status, code).json

    def add(self, count, action="added", actor="user", second=1_700_000_000, address="192.0.2.1"):
        """Adds events of users of the app, one in each second."""
        self.site.sql(
            "insert into audit (user_id, event_id, app_id, action, actor, address, at) select "
            "new_object_id(), to_hex(" f"{second}" " + g) || right(new_object_id(), 16), app_id, "
            f"'{action}', '{actor}', '{address}', to_timestamp({second} + g) "
            f"from apps, generate_series(0, {count - 1}) g where name = 'searched'")

    def test_events_are_found_by_action_actor_user_session_and_network(self):
        place = {**self.app, ADDRESS: "203.0.113.9"}
        grant = self.expect(self.register("one@example.com", headers=place), 201).json
        other = self.expect(self.register("two@example.com", headers=self.app), 201).json
        self.site.dossier("user", "block", "--yes", "--app", "searched", other["user_id"])
        [login] = self.search(action="login", user=grant["user_id"])
        self.assertEqual((login["session_id"] is not None, login["address"]), (True, "203.0.113.9"))
        mine = self.search(user=grant["user_id"])
        self.assertEqual({event["user_id"] for event in mine}, {grant["user_id"]})
        self.assertEqual(self.search(session=login["session_id"]),
                         [event for event in mine if event["session_id"] == login["session_id"]])
        blocks = self.search(actor="operator", action="user_*", user=other["user_id"])
        self.assertEqual([event["action"] for event in blocks], ["user_block"])
        started = {event["action"] for event in self.search(action="user_*")}
        self.assertIn("user_block", started)
        self.assertTrue(all(action.startswith("user_") for action in started), started)
        for network in ["203.0.113.9", "203.0.113.0/24"]:
            found = self.search(network=network)
            self.assertEqual({event["address"] for event in found}, {"203.0.113.9"})
        self.assertEqual(self.search(network="198.51.100.0/24"), [])
        self.assertEqual(self.search(action="nothing_like_it*"), [])
        self.assertEqual(self.search(action="*"), self.search())
        # All apps, and the deployment.
        path = f"/v1/audit?action=login&user={grant['user_id']}"
        everywhere = self.expect(self.site.request("GET", path, token=self.operator), 200).json
        self.assertEqual(everywhere, [login])

    def test_a_period_includes_both_ends_and_both_orders_have_pages(self):
        self.add(5, "timed", second=1_700_000_000)
        newest = self.search(action="timed", limit=2)
        pages = [newest]
        while self.link:
            cursor = re.search("cursor=([0-9a-f]+)", self.link)[1]
            self.assertIn("action=timed", self.link)
            pages.append(self.search(action="timed", limit=2, cursor=cursor))
        times = [event["at"] for page in pages for event in page]
        self.assertEqual((times, len(times)), (sorted(times, reverse=True), 5))
        first = self.search(action="timed", limit=2, order="oldest")
        cursor = re.search("cursor=([0-9a-f]+)", self.link)[1]
        second = self.search(action="timed", limit=2, order="oldest", cursor=cursor)
        self.assertEqual([event["at"] for event in first + second], times[:0:-1])
        # 2023-11-14T22:13:20Z and the four seconds after it.
        for period, count in [
                ({"from": "2023-11-14T22:13:22Z"}, 3), ({"to": "2023-11-14T22:13:22Z"}, 3),
                ({"from": "2023-11-14T22:13:21Z", "to": "2023-11-14T22:13:22Z"}, 2),
                ({"from": "2023-11-14", "to": "2023-11-14"}, 5), ({"to": "2023-11-13"}, 0),
                ({"from": "2023-11-15"}, 0), ({"from": "0001-01-01", "to": "9999-12-31"}, 5)]:
            self.assertEqual(len(self.search(action="timed", **period)), count, period)

    def test_a_search_without_an_index_stops_after_many_events(self):
        self.add(100_000, "noise", actor="many", second=1_600_000_000)
        self.add(1, "needle", actor="many", second=1_500_000_000, address="198.51.100.77")
        query = {"actor": "many", "network": "198.51.100.77"}
        self.assertEqual(self.search(**query), [])
        cursor = re.search("cursor=([0-9a-f]+)", self.link)[1]
        self.assertEqual(int(cursor[:8], 16), 1_600_000_000)
        [found] = self.search(**query, cursor=cursor)
        self.assertEqual((found["action"], self.link), ("needle", None))
        run = self.site.dossier("audit", "--app", "searched", "--actor", "many", "--network",
                                "198.51.100.77", check=False)
        self.assertEqual(json.loads(run.stdout), [])
        self.assertIn(f"read 100000 events, up to 2020-09-13T12:26:40+00:00; continue: --cursor {cursor}",
                      run.stderr)
        everything = self.site.dossier("audit", "--app", "searched", "--actor", "many", "--network",
                                       "198.51.100.77", "--all")
        self.assertEqual(everything, [found])

    def test_wrong_conditions_are_refused_by_name(self):
        for query in [{"action": "A"}, {"user": "x"}, {"session": "x"}, {"network": "10.0.0.0/33"},
                      {"from": "yesterday"}, {"to": "2026-13-01"}, {"order": "random"},
                      {"actor": ""}, {"actor": "x" * 101}, {"more": "1"}, {"cursor": "x"}]:
            [name] = query
            errors = self.search(422, "validation_failed", **query)["errors"]
            self.assertEqual([error["pointer"] for error in errors], [f"/{name}"])
        errors = self.search(422, action="A", user="x")["errors"]
        self.assertEqual({error["pointer"] for error in errors}, {"/action", "/user"})
        client = self.site.client("--app", "searched", "scopes=read:logs_users")["secret"]
        self.search(403, "insufficient_scope", key=client)
        self.refused(12, "audit", "--network", "x", words="network")
        self.refused(64, "audit", "--order", "random")
        self.refused(64, "audit", "--follow", "--from", "2026-01-31")

    def test_the_command_has_the_same_conditions(self):
        self.expect(self.register("said@example.com", headers=self.app), 201)
        events = self.audit_events("--app", "searched", "--user", "said@example.com", "--action",
                                   "log*", "--order", "oldest", "--from", "2020-01-01")
        self.assertEqual({event["action"] for event in events}, {"login"})
        first = self.site.dossier("audit", "--app", "searched", "--actor", "user", "--limit", "1",
                                  check=False)
        self.assertEqual(len(json.loads(first.stdout)), 1)
        self.assertIn("there may be more: --cursor ", first.stderr)

    def test_new_events_are_followed(self):
        run = subprocess.Popen(
            [BUILD / "dossier", "audit", "--app", "searched", "--action", "login", "--follow", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.site.environment)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        stop = threading.Timer(120, run.kill)
        stop.start()
        self.addCleanup(stop.cancel)
        self.assertIn("follows the audit log", run.stderr.readline())
        for number in range(2):
            grant = self.expect(self.register(f"new-{number}@example.com", headers=self.app), 201)
            event = json.loads(run.stdout.readline())
            self.assertEqual((event["action"], event["user_id"]), ("login", grant.json["user_id"]))
