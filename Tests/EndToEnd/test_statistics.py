"""The numbers of an app by day, the overview with its charts, and the health of the deployment."""

import json
import os
import re
import signal
import time

from console import ConsoleCase
from machine import wait_until
from test_console_browser import ConsoleBrowserCase

HOUR = 3600


class Statistics(ConsoleCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = cls.site.client("--operator")["secret"]

    def read(self, app, status=200, code=None, key=None, **query):
        words = "&".join(f"{name}={value}" for name, value in query.items())
        answer = self.site.request(
            "GET", f"/v1/statistics?{words}", headers={"Dossier-App": app}, token=key or self.operator)
        return self.expect(answer, status, code).json

    def totals(self, app):
        """Returns the numbers of yesterday and today together: a test may run at midnight."""
        days = self.read(app)["days"][-2:]
        return [sum(day[name] for day in days)
                for name in ["sign_ups", "sign_ins", "failures", "rate_limits"]]

    def count(self):
        """Lets new workers count at once."""
        # Events of the last ten seconds count later: one may still be on its way. The first worker may
        # have counted up to them before they move to an earlier time.
        self.site.sql(
            "delete from count_progress; delete from daily_counts; "
            "update audit set event_id = to_hex(('x' || left(event_id, 8))::bit(32)::bigint - 60) "
            "|| right(event_id, 16); update users set created_at = now() - interval '60 s'")
        self.site.supervisor.send_signal(signal.SIGHUP)

    def wait_for(self, app, numbers):
        wait_until(lambda: self.totals(app) == numbers, what=f"{numbers}, not {self.totals(app)}")

    def maintenance_worker(self):
        for worker in self.site.workers():
            with open(f"/proc/{worker}/cmdline", "rb") as line:
                if b"--maintenance" in line.read():
                    return worker
        return None

    def test_events_count_once_also_if_the_worker_is_killed(self):
        headers = self.site.add_app("counted")
        for name in ["one", "two"]:
            self.expect(self.register(f"{name}@example.com", headers=headers), 201)
        self.expect(self.login("one@example.com", "correct horse", headers=headers), 200)
        self.expect(self.login("one@example.com", "wrong", headers=headers), 401)
        self.count()
        self.wait_for("counted", [2, 3, 1, 0])
        self.expect(self.login("two@example.com", "correct horse", headers=headers), 200)
        # Only the new event is older than the mark of the last run, so it counts after the mark.
        self.site.sql("update audit set event_id = to_hex(extract(epoch from now())::bigint - 11) "
                      "|| right(event_id, 16) where ctid = (select ctid from audit "
                      "where action = 'login' order by event_id desc limit 1)")
        self.site.sql("update count_progress set counted_to = "
                      "to_hex(extract(epoch from now())::bigint - 30) || repeat('0', 16)")
        wait_until(lambda: self.maintenance_worker(), what="the worker that counts")
        os.kill(self.maintenance_worker(), signal.SIGKILL)
        self.wait_for("counted", [2, 4, 1, 0])

    def test_the_night_counts_users_and_yesterday_again(self):
        headers = self.site.add_app("nightly")
        self.expect(self.register("three@example.com", headers=headers), 201)
        self.site.sql(
            "insert into audit (user_id, event_id, app_id, action, actor) select new_object_id(), "
            f"to_hex({int(time.time()) // 86400 * 86400 - HOUR} + g) || right(new_object_id(), 16), "
            "app_id, 'login', 'user' from apps, generate_series(1, 5) g where name = 'nightly'")
        # Before 03:00, the night is not counted yet.
        if time.gmtime().tm_hour >= 3:
            self.count()
            wait_until(lambda: self.read("nightly")["users"] == 1, what="the night")
            day = self.read("nightly")["days"][-2]
            self.assertEqual([day["sign_ins"], day["users"]], [5, 1])
            shown = self.site.dossier("statistics", "--app", "nightly")
            self.assertEqual([shown["users"], len(shown["days"])], [1, 30])

    def test_the_days_of_a_request(self):
        self.site.add_app("asked")
        days = self.read("asked", **{"from": "2024-02-28", "to": "2024-03-01"})["days"]
        self.assertEqual([day["day"] for day in days], ["2024-02-28", "2024-02-29", "2024-03-01"])
        self.assertEqual(days[0]["sign_ins"], 0)
        self.assertIsNone(days[0]["active_users"])
        self.assertEqual(len(self.read("asked")["days"]), 30)
        for query in [{"from": "2024-03-01", "to": "2024-02-28"}, {"from": "yesterday"},
                      {"from": "2023-01-01", "to": "2024-03-01"}, {"limit": "1"},
                      {"from": "2024-03-01T00:00:00Z"}]:
            with self.subTest(query):
                self.read("asked", 422, "validation_failed", **query)

    def test_who_may_read_them(self):
        headers = self.site.add_app("private")
        grant = self.expect(self.register("four@example.com", headers=headers), 201).json
        self.read("private", 401, key=grant["access_token"])
        program = self.site.client("--app", "private")["secret"]
        for path in ["/v1/statistics", "/v1/doctor"]:
            for key in [None, grant["access_token"], program]:
                answer = self.site.request("GET", path, headers={"Dossier-App": "private"}, token=key)
                self.assertIn(answer.status, (401, 403), f"{path} {key}")


class Overview(ConsoleCase):
    def test_what_needs_attention_comes_first(self):
        visitor = self.administrator()
        page = visitor.open("/console/default")
        self.assertIn("New users", page.text)
        self.assertIn("so far", page.text)
        self.assertNotIn("rate limit in the last hour", page.text)
        self.site.sql(
            "insert into audit (user_id, event_id, app_id, action, actor, address) select app_id, "
            "new_object_id(), app_id, 'rate_limited', 'unauthenticated', '203.0.113.9' from apps "
            "where name = 'default'")
        self.site.sql("insert into hosts (name, version, master_key, settings, seen_at) values "
                      "('elder', '0.0.1', '', '{}', now())")
        page = visitor.open("/console/-/health")
        self.assertIn("elder", page.text)
        # A worker may show a result of the last minute.
        wait_until(lambda: "host elder" in visitor.open("/console/default?days=7").text, 70,
                   "the finding of another host")
        page = visitor.page
        self.assertIn("1 address has reached a rate limit in the last hour", page.text)
        self.assertLess(page.text.index("host elder"), page.text.index("New users"))
        viewer = self.administrator("viewer", "--app", "default")
        page = viewer.open("/console/default")
        self.assertNotIn("elder", page.text)
        self.assertIn("1 address has reached", page.text)
        self.assertEqual(viewer.open("/console/-/health").status, 403)

    def test_a_day_without_a_count_is_no_zero(self):
        visitor = self.administrator("viewer")
        self.site.create_app("uncounted")
        page = visitor.open("/console/uncounted")
        self.assertRegex(" ".join(page.text.split()), "Sign-ins ?– counted within ten minutes")
        day = int(time.time()) // 86_400 * 86_400
        self.site.sql("insert into count_progress (app_id, counted_to) select app_id, "
                      f"'{day + 3_900:x}' || repeat('0', 16) from apps where name = 'uncounted'")
        page = visitor.open("/console/uncounted")
        self.assertRegex(" ".join(page.text.split()), "Sign-ins ?0 today until 01:05 UTC")
        # Nor is the number of users before the app began.
        self.site.sql("insert into daily_counts (app_id, day, name, value) select app_id, "
                      "current_date - 1, 'users', 0 from apps where name = 'uncounted'")
        page = visitor.open("/console/uncounted")
        self.assertNotIn("about 0", page.text)
        self.assertRegex(" ".join(page.text.split()), "Users ?0 now")

    def test_the_number_of_users_is_at_least_that_of_the_list(self):
        visitor = self.administrator("viewer")
        self.site.create_app("counted")

        def add(count):
            self.site.sql(f"insert into users (user_id, app_id, anonymous) select new_object_id(), app_id, true from apps, "
                          f"generate_series(1, {count}) where name = 'counted'")

        def number(path=""):
            return " ".join(visitor.open(f"/console/counted{path}").text.split())

        add(5)
        self.site.sql("insert into daily_counts (app_id, day, name, value) select app_id, "
                      "current_date - 1, 'users', 3 from apps where name = 'counted'")
        self.assertRegex(number(), "Users ?5 now")
        self.assertIn("5 users", number("/users"))
        add(46)
        self.assertRegex(number(), "Users ?more than 5 counted")
        self.assertNotIn("About 3 users", number("/users"))
        self.site.sql("update daily_counts set value = 52 where name = 'users'")
        self.assertRegex(number(), "Users ?about 52 on ")
        self.assertIn("About 52 users on ", number("/users"))

    def test_the_doctor_is_the_same_everywhere(self):
        operator = self.site.client("--operator")["secret"]
        report = self.expect(self.site.get("/v1/doctor", token=operator), 200).json
        self.assertTrue(report["ready"])
        found = {one["what"]: one["fault"] for one in report["findings"]}
        said = {row["what"]: row["fault"] for row in json.loads(
            self.site.dossier("doctor", check=False).stdout)}
        self.assertLessEqual(set(found), set(said))
        for name in ["database", "writes", "clock", "mail queue"]:
            self.assertEqual(found[name], said[name], name)
        self.assertRegex(report["database"]["version"], r"^\d+")
        for query in ["max_age=-1", "max_age=x", "max_age=301", "age=1"]:
            answer = self.site.get(f"/v1/doctor?{query}", token=operator)
            self.expect(answer, 422, "validation_failed")


class Pictures(ConsoleBrowserCase):
    def test_the_overview_and_the_health_in_all_views(self):
        self.sign_in_here()
        self.site.sql(
            "insert into daily_counts (app_id, day, name, value) select app_id, current_date - g, n, "
            "(500 + 300 * sin(g / 3.0) + length(n) * 10)::bigint from apps, generate_series(0, 89) g, "
            "unnest('{sign_ups,sign_ins,failures,rate_limits}'::text[]) n where name = 'default' "
            "on conflict (app_id, day, name) do update set value = excluded.value; "
            # After 03:00 UTC, those of yesterday are counted already.
            "delete from daily_counts where name in ('users', 'active_users'); "
            "insert into daily_counts (app_id, day, name, value) select app_id, current_date - g, n, "
            "12345 - 50 * g from apps, generate_series(1, 89) g, "
            "unnest('{users,active_users}'::text[]) n where name = 'default'; "
            # A day that is not counted has no bar.
            f"insert into count_progress (app_id, counted_to) select app_id, '{int(time.time()):x}' || "
            "repeat('0', 16) from apps where name = 'default' "
            "on conflict (app_id) do update set counted_to = excluded.counted_to")
        self.expect(self.register(self.own_email(), "correct horse battery"), 201)
        self.browser.open(self.server + "/console/default/users")
        self.assertIn("1 user\n", self.text())
        for path in ["/console/default?days=90", "/console/default?days=7", "/console/default/users",
                     "/console/-/health"]:
            self.browser.open(self.server + path)
            self.look()
        self.browser.open(self.server + "/console/default?days=90")
        self.assertEqual(len(self.browser.all(".chart rect")), 90)
        self.assertEqual(self.browser.script(
            "return [...document.querySelectorAll('.chart')].every((chart) => "
            "chart.querySelector('title').textContent.includes('at most'))"), True)
        folder = os.environ.get("DOSSIER_PICTURES")
        for (scheme, width) in [("light", 1280), ("dark", 390)] if folder else []:
            self.browser.emulate(scheme, width)
            for name, path in [("overview", "/console/default?days=90"), ("health", "/console/-/health")]:
                self.browser.open(self.server + path)
                self.browser.driver.save_screenshot(f"{folder}/{name}-{width}-{scheme}.png")
