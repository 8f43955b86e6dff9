"""The page of the event feed at the console."""

import unittest

from console import ConsoleCase
from test_events import EventCase


class Console(EventCase, ConsoleCase):
    SETTINGS = {**EventCase.SETTINGS, **ConsoleCase.SETTINGS}

    def test_a_viewer_reads_the_events_of_the_last_day(self):
        headers, secret = self.feed_app("watched", event_feed=True)
        user = self.expect(self.register("watched@example.com", headers=headers), 201).json["user_id"]
        types = "user.*,session.*"
        self.wait_for(headers, secret, ["user.created", "session.created"], types=types)
        visitor = self.administrator("viewer", "--app", "watched")
        page = visitor.open("/console/watched/events?types=user.*")
        self.assertEqual(page.status, 200, page.text)
        self.assertIn("sign_up", page.text)
        self.assertIn(user, page.text)
        self.assertNotIn("session.created", page.text)
        self.assertNotIn("watched@example.com", page.text)
        page = visitor.open("/console/watched/events")
        self.assertIn("session.created", page.text)
        for wrong in ["types=user.nothing", "since=x"]:
            page = visitor.open(f"/console/watched/events?{wrong}")
            self.assertEqual(len(page.errors), 1, page.text)
        # Older events are not shown, and further pages are.
        app = self.site.sql("select app_id from apps where name = 'watched'")
        self.site.sql(
            "insert into feed_events (feed_id, position, event_id, user_id, type, at, data) "
            f"select '{app}', 100 + n, lpad(n::text, 24, '0'), null, 'client.changed', now(), "
            f"json_build_object('app', 'watched', 'n', 'number ' || n) from generate_series(1, 60) n")
        self.site.sql(f"update event_feeds set last_position = 160 where feed_id = '{app}'")
        self.site.sql(
            "update feed_events set at = now() - interval '2 days' "
            f"where feed_id = '{app}' and position <= 2")
        page = visitor.open("/console/watched/events")
        self.assertNotIn("sign_up", page.text)
        self.assertNotIn("number 60", page.text)
        page = visitor.open(page.links["Next page"])
        self.assertIn("number 60", page.text)
        self.assertIn("First page", page.links)
        elsewhere, _ = self.feed_app("unwatched")
        owner = self.administrator("owner", "--app", "unwatched")
        self.assertIn("This app keeps no events for back ends.",
                      owner.open("/console/unwatched/events").text)
        self.assertEqual(visitor.open("/console/unwatched/events").status, 404)


if __name__ == "__main__":
    unittest.main()
