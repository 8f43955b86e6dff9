"""Tests the streams of changes through nginx, and the program that holds them."""

import json
import select
import signal
import time
import unittest

from asking import ADDRESS, JSON
from machine import wait_until
from streams import StreamCase


class Streams(StreamCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.backend = cls.site.client(
            "--app", "default", "scopes=update:users,update:users_app_metadata")["secret"]

    def setUp(self):
        self.grant = self.expect(self.register(self.own_email()), 201).json

    def test_a_change_arrives_with_its_version_and_a_cursor(self):
        stream = self.ready(self.grant)
        self.assertEqual(stream.headers["Content-Type"], "text/event-stream")
        self.assertEqual(stream.headers["Cache-Control"], "no-store")
        self.patch(self.grant, "dark")
        change = stream.wait("change")
        self.assertEqual(json.loads(change["data"]), {"metadata": {"version": 1}})
        changes = self.me(self.grant, f"/changes?since={change['id']}")
        self.assertEqual(self.expect(changes, 200).json["changed"], {})

    def test_head_does_not_wait_for_events(self):
        answer = self.site.request("HEAD", "/v1/me/events", token=self.grant["access_token"])
        self.assertEqual((answer.status, answer.body), (200, b""))

    def test_nothing_is_missed_between_two_streams(self):
        for way in ["Last-Event-ID", "since"]:
            with self.subTest(way):
                stream = self.ready(self.grant)
                self.patch(self.grant, f"first {way}")
                cursor = stream.wait("change")["id"]
                stream.close()
                self.patch(self.grant, f"second {way}")
                self.expect(self.site.request(
                    "PUT", "/v1/me/properties/volume", {"value": way}, JSON,
                    token=self.grant["access_token"]), 200)
                again = (self.ready(self.grant, **{"Last-Event-ID": cursor}) if way != "since"
                         else self.ready(self.grant, f"?since={cursor}"))
                again.wait("change")
                self.assertEqual(again.changed(), {"metadata", "properties"})
                self.assertEqual([event["event"] for event in again.events], ["ready", "change"])
                again.close()

    def test_a_cursor_of_another_user_or_none_makes_every_part_differ(self):
        other = self.expect(self.post("/v1/login/anonymous", {}), 200).json
        foreign = self.ready(other).wait("ready")["id"]
        for cursor in [foreign, "x", "A" * 12_000]:
            with self.subTest(cursor[:20]):
                stream = self.ready(self.grant, **{"Last-Event-ID": cursor})
                stream.wait("change")
                self.assertEqual(len(stream.changed()), 11)
                stream.close()
        refused = self.stream(self.grant, f"?since={foreign}")
        self.assertEqual((refused.status, refused.json["code"]), (400, "cursor_invalid"))
        long = self.stream(self.grant, **{"Last-Event-ID": "A" * 65_536})
        self.assertEqual((long.status, long.json["code"]), (431, "header_too_large"))
        unknown = self.stream(self.grant, "?until=now")
        self.assertEqual((unknown.status, unknown.json["code"]), (422, "validation_failed"))

    def test_hidden_app_metadata_never_appears(self):
        self.site.set_app(app_metadata_readable=False)
        self.addCleanup(self.site.set_app, app_metadata_readable=True)
        stream = self.ready(self.grant)
        broken = self.ready(self.grant, **{"Last-Event-ID": "x"})
        self.expect(self.site.request(
            "PUT", f"/v1/users/{self.grant['user_id']}/app-metadata", {"plan": "pro"}, JSON,
            token=self.backend), 200)
        self.patch(self.grant, "dark")
        for one in [stream, broken]:
            one.wait_changed("metadata")
            self.assertNotIn("app_metadata", one.changed())

    def test_the_end_of_the_session_ends_its_stream_alone(self):
        other = self.expect(self.login(self.own_email()), 200).json
        ended, stays = self.ready(self.grant), self.ready(other)
        self.expect(self.post("/v1/logout", token=self.grant["access_token"]), 204)
        self.assertEqual(json.loads(ended.wait("end")["data"]), {"reason": "logout"})
        wait_until(lambda: ended.is_over, what="the end of the stream")
        stays.wait_changed("sessions")
        refused = self.stream(self.grant)
        self.assertEqual((refused.status, refused.json["code"]), (401, "session_ended"))
        self.site.dossier("user", "block", self.grant["user_id"], "--yes")
        self.assertEqual(json.loads(stays.wait("end")["data"]), {"reason": "blocked"})

    def test_the_end_of_the_user_ends_the_stream(self):
        stream = self.ready(self.grant)
        self.site.dossier("user", "delete", self.grant["user_id"], "--yes")
        self.assertIn("reason", json.loads(stream.wait("end")["data"]))

    def test_a_user_has_ten_streams(self):
        streams = [self.ready(self.grant) for _ in range(10)]
        refused = self.stream(self.grant)
        self.assertEqual((refused.status, refused.json["code"]), (429, "too_many_requests"))
        self.assertIn("Retry-After", refused.headers)
        streams[0].close()

        def opens():
            stream = self.stream(self.grant)
            if stream.status == 200:
                stream.wait("ready")
            return stream.status == 200

        wait_until(opens, what="room for a stream")

    def test_a_network_has_500_streams(self):
        address, clients = "192.0.2.7", []
        for _ in range(50):
            grant = self.expect(self.post("/v1/login/anonymous", {}), 200).json
            head = self.head(QUERY_STRING=self.query(grant), REMOTE_ADDR=address)
            for _ in range(10):
                client = self.connect()
                self.addCleanup(client.close)
                client.sendall(head)
                clients.append(client)
        for client in clients:
            self.assertTrue(client.recv(64).startswith(b"Status: 200 "))
        grant = self.expect(self.post("/v1/login/anonymous", {}), 200).json
        refused = self.stream(grant, **{ADDRESS: address})
        self.assertEqual((refused.status, refused.json["code"]), (429, "too_many_requests"))
        self.ready(grant, **{ADDRESS: "192.0.2.8"})

    def test_a_page_of_an_allowed_origin_may_read_it(self):
        self.site.set_app(allowed_origins=["https://app.example.com"])
        self.addCleanup(self.site.set_app, allowed_origins=[])
        allowed = self.ready(self.grant, Origin="https://app.example.com").headers
        self.assertEqual(allowed.get_all("Access-Control-Allow-Origin"), ["https://app.example.com"])
        self.assertEqual(allowed.get_all("Vary"), ["Origin"])
        other = self.ready(self.grant, Origin="https://evil.example.com").headers
        self.assertIsNone(other["Access-Control-Allow-Origin"])
        for headers in [allowed, other]:
            self.assertIn("X-Request-Id", headers)
            self.assertEqual(headers.get_all("X-Content-Type-Options"), ["nosniff"])
            self.assertIsNone(headers["X-Accel-Redirect"])

    def test_the_longest_header_of_the_answer_fits_the_buffer_of_nginx(self):
        origin = "https://" + ".".join(["a" * 63] * 3 + ["b" * 61])
        self.site.set_app(allowed_origins=[origin])
        self.addCleanup(self.site.set_app, allowed_origins=[])
        cursor = self.ready(self.grant).wait("ready")["id"]
        fields = {"Origin": origin, "X-Request-Id": "r" * 128, "Last-Event-ID": cursor}
        stream = self.ready(self.grant, **fields)
        self.assertEqual(stream.headers["Access-Control-Allow-Origin"], origin)
        refused = self.site.get("/v1/me/events", headers=fields, token="none")
        self.expect(refused, 401, "token_invalid")

    def test_clients_cannot_reach_the_program_with_or_without_a_ticket(self):
        query = self.query(self.grant)
        for path in ["/-/streams/open", f"/-/streams/open?{query}", "/-/streams/open?metrics", "/-/streams/"]:
            self.expect(self.site.get(path), 404, "not_found")

    def test_other_tickets_are_refused(self):
        query = self.query(self.grant)
        flipped = query[:40] + ("A" if query[40] != "A" else "B") + query[41:]
        cursor = self.query(self.grant, "?since=" + self.ready(self.grant).wait("ready")["id"])
        self.assertTrue(query.startswith("ticket=") and cursor.startswith("ticket="))
        for wrong in ["", "ticket=", flipped, query[:-4], query + "AAAA", query[7:], "x=1&" + query,
                      "ticket=" + "A" * 20_000]:
            with self.subTest(wrong[:60]):
                answer = self.ask(self.head(QUERY_STRING=wrong))
                self.assertTrue(answer.startswith(b"Status: 403 "), answer)
                self.assertNotIn(b"event:", answer)

    def test_old_tickets_are_refused_and_each_is_of_one_session(self):
        with self.connect() as client:
            client.sendall(self.head(QUERY_STRING=self.sealed(self.grant)))
            self.assertTrue(client.recv(64).startswith(b"Status: 200 "))
        for wrong in [self.sealed(self.grant, lifetime=-1), self.sealed(self.grant, name="stream"),
                      self.sealed(self.grant, session=None), self.sealed(self.grant, expires_at="x")]:
            answer = self.ask(self.head(QUERY_STRING=wrong))
            self.assertTrue(answer.startswith(b"Status: 403 "), answer)
        # A session does not open the stream of another user.
        other = self.expect(self.post("/v1/login/anonymous", {}), 200).json
        mixed = self.sealed(self.grant, user=other["user_id"])
        answer = self.ask(self.head(QUERY_STRING=mixed))
        self.assertIn(b"event: end\n", answer)
        self.assertNotIn(b"event: ready\n", answer)

    def test_a_stream_ends_with_its_access_token(self):
        query = self.sealed(self.grant, expires_at=int(time.time()) + 3)
        answer = self.ask(self.head(QUERY_STRING=query))
        self.assertTrue(answer.endswith(b"event: reconnect\ndata: {}\n\n"), answer)

    def test_no_head_stops_the_program(self):
        good = self.head(QUERY_STRING=self.query(self.grant))
        for wrong in [b"x", b":", b"0:,", b"-1:,", b"99999:", b"123456:", b"5:a\0b\0c,", b"4:a\0b\0;",
                      b"1:\0,", good[:-1] + b";", b"\xff" * 70_000, b"GET / HTTP/1.1\r\n\r\n"]:
            with self.subTest(wrong[:20]):
                client = self.connect()
                self.addCleanup(client.close)
                try:
                    client.sendall(wrong)
                    answer = client.recv(64)
                except (BrokenPipeError, ConnectionResetError):
                    answer = b""
                self.assertFalse(answer.startswith(b"Status: 200"), answer)
        # One that ends in the middle, and one that arrives byte by byte.
        client = self.connect()
        client.sendall(good[:50])
        client.close()
        with self.connect() as client:
            for byte in good:
                client.sendall(bytes([byte]))
            self.assertTrue(client.recv(64).startswith(b"Status: 200 "))
        self.ready(self.grant)

    def test_a_client_that_does_not_read_is_dropped_and_delays_nobody(self):
        stream = self.ready(self.grant)
        silent = self.connect()
        self.addCleanup(silent.close)
        silent.sendall(self.head(QUERY_STRING=self.query(self.grant)))
        poll = select.poll()
        poll.register(silent, select.POLLHUP | select.POLLRDHUP)
        count = 0

        def is_dropped():
            nonlocal count
            count += 1
            self.patch(self.grant, f"theme {count}")
            stream.wait("change", count)
            return poll.poll(0)

        wait_until(is_dropped, what="the end of the silent client")
        self.assertGreater(count, 1)

    def test_a_stream_survives_an_outage_of_the_database(self):
        stream = self.ready(self.grant)
        with self.site.without_postgres():
            self.assertFalse(stream.is_over)
        self.patch(self.grant, "dark")
        stream.wait_changed("metadata")
        self.assertEqual({event["event"] for event in stream.events}, {"ready", "change"})


class Ends(StreamCase):
    def setUp(self):
        self.grant = self.expect(self.register(self.own_email()), 201).json

    def test_sigterm_lets_clients_connect_again(self):
        streams = [self.ready(self.grant) for _ in range(3)]
        self.program.send_signal(signal.SIGTERM)
        for stream in streams:
            stream.wait("reconnect")
        self.assertEqual(self.program.wait(120), 0)
        wait_until(lambda: all(stream.is_over for stream in streams), what="the ends of streams")
        self.start_streams()
        self.ready(self.grant)

    def test_without_the_program_clients_get_503_until_it_is_back(self):
        stream = self.ready(self.grant)
        self.program.kill()
        self.program.wait(120)
        wait_until(lambda: stream.is_over, what="the end of the stream")
        refused = self.stream(self.grant)
        self.assertEqual((refused.status, refused.json["code"]), (503, "server_unavailable"))
        self.assertIn("Retry-After", refused.headers)
        # Other requests go on.
        self.expect(self.me(self.grant, "/changes"), 200)
        self.start_streams()
        self.ready(self.grant)

    def test_it_refuses_to_start_twice(self):
        before = self.program
        with self.assertRaises(AssertionError):
            self.start_streams()
            wait_until(lambda: self.program.poll() is not None, what="the end of the second")
            self.assertTrue(self.accepts())
        self.assertNotEqual(self.program.returncode, 0)
        type(self).program = before
        self.ready(self.grant)


if __name__ == "__main__":
    unittest.main()
