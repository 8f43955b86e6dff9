"""The stream of an app's events, for back ends."""

import json
import unittest

from asking import MERGE
from machine import wait_until
from streams import Stream, StreamCase
from test_events import EventCase


# The client of each app has an event too.
TYPES = "user.*,session.*"


class FeedStreams(StreamCase, EventCase):
    def feed(self, headers, secret, query="", **fields):
        stream = Stream(self.site, {"access_token": secret}, query, path="/v1/events/stream",
                        **headers, **fields)
        self.addCleanup(stream.close)
        return stream

    def opened(self, headers, secret, query="", **fields):
        stream = self.feed(headers, secret, query, **fields)
        self.assertEqual(stream.status, 200)
        stream.wait("ready")
        return stream

    @staticmethod
    def events(stream):
        return [json.loads(event["data"]) for event in stream.events if event["event"] == "event"]

    def received(self, stream, count):
        wait_until(lambda: len(self.events(stream)) >= count, what=f"{count} events")
        return self.events(stream)

    def users(self, headers, count):
        return [self.expect(self.post("/v1/login/anonymous", {}, headers=headers), 200).json
                for _ in range(count)]

    def test_it_sends_what_the_feed_has_and_goes_on_after_a_break(self):
        headers, secret = self.feed_app("streamed", event_feed=True)
        self.users(headers, 3)
        self.wait_for(headers, secret, ["user.created", "session.created"] * 3, types=TYPES)
        stream = self.opened(headers, secret, f"?since=oldest&types={TYPES}")
        self.received(stream, 6)
        self.users(headers, 2)
        received = self.received(stream, 10)
        self.assertEqual(received, self.all_events(headers, secret, types=TYPES))
        # Each event has the cursor after it. The client goes on after the fourth.
        fourth = [event for event in stream.events if event["event"] == "event"][3]["id"]
        stream.close()
        again = self.opened(headers, secret, f"?types={TYPES}", **{"Last-Event-ID": fourth})
        self.assertEqual(self.received(again, 6), received[4:])
        by_query = self.opened(headers, secret, f"?since={fourth}&types={TYPES}")
        self.assertEqual(self.received(by_query, 6), received[4:])
        self.users(headers, 1)
        for one in [again, by_query]:
            self.assertEqual(len(self.received(one, 8)), 8)
        # A new stream without events has the present cursor.
        now = self.opened(headers, secret, "?since=now")
        self.users(headers, 1)
        self.assertEqual([event["type"] for event in self.received(now, 2)],
                         ["user.created", "session.created"])

    def test_it_sends_thousands_of_events_in_order(self):
        headers, secret = self.feed_app("many", event_feed=True)
        self.users(headers, 1)
        self.wait_for(headers, secret, ["user.created", "session.created"], types=TYPES)
        app = self.site.sql("select app_id from apps where name = 'many'")
        self.site.sql(
            f"insert into feed_events (feed_id, position, event_id, user_id, type, at, data) "
            f"select '{app}', n + 3, lpad(n::text, 24, '0'), null, 'client.changed', now(), "
            f"json_build_object('app', 'many', 'n', n, 'padding', repeat('x', 1000)) "
            f"from generate_series(1, 12000) n")
        self.site.sql(f"update event_feeds set last_position = 12003 where feed_id = '{app}'")
        stream = self.opened(headers, secret, "?since=oldest&types=client.changed")
        received = self.received(stream, 12001)[1:]
        self.assertEqual([event["data"]["n"] for event in received], list(range(1, 12001)))

    def test_filters(self):
        headers, secret = self.feed_app(
            "filtered", event_feed=True, event_types=["metadata.changed"])
        ada, bob = self.users(headers, 2)
        stream = self.opened(headers, secret, f"?since=now&types=metadata.*&user={ada['user_id']}")
        for grant, theme in [(bob, "dark"), (ada, "light"), (bob, "light"), (ada, "dark")]:
            self.expect(self.site.request("PATCH", "/v1/me/metadata", {"theme": theme},
                                          {**headers, **MERGE}, grant["access_token"]), 200)
        received = self.received(stream, 2)
        self.assertEqual([(event["type"], event["data"]["user_id"]) for event in received],
                         [("metadata.changed", ada["user_id"])] * 2)

    def test_callers_who_are_refused(self):
        headers, secret = self.feed_app("guarded", event_feed=True)
        others, other = self.feed_app("strangers", event_feed=True)
        off, closed = self.feed_app("silent")
        grant, = self.users(headers, 1)
        scopeless = self.site.client("--app", "guarded", "scopes=read:users")["secret"]
        foreign = self.read(others, other).json["next"]
        for (fields, token, query), (status, code) in {
                (("guarded", other, "")): (401, None),
                (("guarded", grant["access_token"], "")): (401, None),
                (("guarded", "x", "")): (401, None),
                (("guarded", scopeless, "")): (403, "insufficient_scope"),
                (("silent", closed, "")): (409, "feed_disabled"),
                (("guarded", secret, f"?since={foreign}")): (400, "cursor_invalid"),
                (("guarded", secret, "?since=x")): (400, "cursor_invalid"),
                (("guarded", secret, "?limit=5")): (422, "validation_failed"),
                (("guarded", secret, "?types=user.nothing")): (422, "validation_failed"),
                (("guarded", secret, "?user=x")): (422, "validation_failed")}.items():
            with self.subTest(fields, query=query, status=status):
                stream = self.feed({"Dossier-App": fields}, token, query)
                self.assertEqual(stream.status, status, stream.json)
                if code:
                    self.assertEqual(stream.json["code"], code)

    def test_a_cursor_whose_next_events_were_removed_has_expired(self):
        headers, secret = self.feed_app("forgetful", event_feed=True)
        self.users(headers, 2)
        self.wait_for(headers, secret, ["user.created", "session.created"] * 2, types=TYPES)
        first = self.opened(headers, secret, f"?types={TYPES}")
        first.wait("event")
        cursor = next(event["id"] for event in first.events if event["event"] == "event")
        app = self.site.sql("select app_id from apps where name = 'forgetful'")
        self.site.sql(f"delete from feed_events where feed_id = '{app}' and position < 5")
        refused = self.feed(headers, secret, f"?since={cursor}")
        self.assertEqual((refused.status, refused.json["code"]), (410, "cursor_expired"))
        self.assertIn("oldest_cursor", refused.json)
        # A client that says so by its last event learns it from the stream.
        stream = self.opened(headers, secret, "?since=now", **{"Last-Event-ID": cursor})
        self.assertEqual(json.loads(stream.wait("end")["data"]), {"reason": "cursor_expired"})

    def test_an_app_has_twenty_streams(self):
        headers, secret = self.feed_app("crowded", event_feed=True)
        streams = [self.opened(headers, secret) for _ in range(20)]
        refused = self.feed(headers, secret)
        self.assertEqual((refused.status, refused.json["code"]), (429, "too_many_requests"))
        elsewhere, other = self.feed_app("roomy", event_feed=True)
        self.opened(elsewhere, other)
        streams[0].close()

        def has_room():
            stream = self.feed(headers, secret)
            return stream.status == 200

        wait_until(has_room, what="room for a stream")

    def test_the_metrics_count_streams(self):
        headers, secret = self.feed_app("counted", event_feed=True)
        self.opened(headers, secret)
        grant, = self.users({}, 1)
        self.ready(grant)

        def numbers():
            text = self.expect(self.site.get("/metrics/streams"), 200).body.decode()
            return dict(line.rsplit(" ", 1) for line in text.splitlines() if line[0] != "#")

        found = numbers()
        self.assertGreaterEqual(int(found['dossier_streams{of="feed"}']), 1)
        self.assertGreaterEqual(int(found['dossier_streams{of="user"}']), 1)
        self.assertGreaterEqual(int(found["dossier_streams_users"]), 1)
        self.assertGreaterEqual(int(found["dossier_streams_opened_total"]), 2)
        self.assertGreater(int(found["dossier_streams_read_timestamp_seconds"]), 1_700_000_000)
        before = int(found["dossier_streams_refused_total"])
        self.assertTrue(self.ask(self.head(QUERY_STRING="ticket=x")).startswith(b"Status: 403 "))
        self.assertEqual(int(numbers()["dossier_streams_refused_total"]), before + 1)


if __name__ == "__main__":
    unittest.main()
