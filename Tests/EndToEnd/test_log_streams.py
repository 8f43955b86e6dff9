"""Log streams: order, outages, secrets, syslog, lines of the log, and what the feed has lost."""

import json
import os
import re
import signal
import threading

from asking import JSON, MERGE
from console import ConsoleCase
from log_systems import Batch, Syslog
from machine import new_folder, wait_until
from receiver import Receiver, make_certificate, own_address
from test_events import EventCase

SECRET = "Bearer secretive-header-5be0"


class LogStreamCase(EventCase):
    FURTHER = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = new_folder()
        address = own_address()
        cls.files = make_certificate(cls.folder, "receiver", f"IP:{address}")
        cls.receiver = Receiver(cls.files, message=Batch)
        cls.syslog = Syslog(cls.folder / "log")
        cls.SETTINGS = {
            **EventCase.SETTINGS, **cls.FURTHER, "DOSSIER_OUTGOING_AUTHORITIES": str(cls.files[1]),
            "DOSSIER_OUTGOING_NETWORKS": f"{address}/32",
            "DOSSIER_SYSLOG_SOCKET": str(cls.syslog.path)}
        super().setUpClass()
        cls.operator = cls.site.client("--operator")["secret"]

    @classmethod
    def tearDownClass(cls):
        cls.receiver.stop()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        self.receiver.answer = self.receiver.accept

    def app(self, name, **settings):
        self.name = name
        return self.site.add_app(name, **settings)

    def stream(self, name="siem", *attributes, kind="http"):
        """Creates a log stream; one with a URL has a path of its own."""
        place = [f"url={self.receiver.url}/{self.name}/{name}"] if kind == "http" else []
        return self.site.dossier(
            "log-stream", "create", name, f"kind={kind}", *place, *attributes, "--app", self.name,
            given=SECRET)

    def command(self, verb, stream, *arguments, **options):
        return self.site.dossier(
            "log-stream", verb, stream["id"], "--app", self.name, *arguments, **options)

    def status(self, stream):
        return self.command("show", stream)["status"]

    def sign_up(self, *names, headers):
        return [self.expect(self.register(f"{name}@example.com", headers=headers), 201)
                .json["user_id"] for name in names]

    def got(self, name="siem"):
        """Returns the events that a path has got, in their order."""
        return [event for batch in self.receiver.at(f"/{self.name}/{name}")
                for event in batch.events]

    def users(self, name="siem", type="user.created"):
        return [event["data"]["user_id"] for event in self.got(name) if event["type"] == type]

    def wait_for(self, expected, name="siem"):
        wait_until(lambda: self.users(name) == expected,
                   what=f"{expected}, not {self.users(name)}")

    def hurry(self, stream):
        """Ends the pause and the claim of a stream, as if their time were over."""
        self.site.sql("update log_stream_progress set not_before = null, "
                      "leased_until = least(leased_until, now()) "
                      f"where stream_id = '{stream['id']}'")


class Streams(LogStreamCase):
    def test_events_arrive_once_in_order_and_compressed(self):
        headers = self.app("ordered")
        stream = self.stream("siem", "header_name=Authorization", "header_value=@-")
        users = self.sign_up(*[f"ordered-{number}" for number in range(12)], headers=headers)
        self.wait_for(users)
        wait_until(lambda: self.status(stream)["lag_seconds"] == 0)
        events, batches = self.got(), self.receiver.at("/ordered/siem")
        self.assertEqual(len({event["id"] for event in events}), len(events))
        self.assertEqual(self.users(type="session.created"), users)
        for batch in batches:
            self.assertEqual(
                [batch.headers[name] for name in
                 ("authorization", "content-type", "content-encoding")],
                [SECRET, "application/x-ndjson", "gzip"])
            self.assertLessEqual(len(batch.events), 500)
            self.assertTrue(all(re.fullmatch(r"evt_[0-9a-f]{24}", event["id"])
                                for event in batch.events))
        # Users write no part of it.
        self.assertNotIn("ordered-", "".join(line for batch in batches for line in batch.lines)
                         .replace('"app":"ordered"', ""))
        status = self.status(stream)
        self.assertEqual((status["state"], status["failures"], status["lost_events"]),
                         ("active", 0, 0))
        self.assertGreaterEqual(self.site.metric("dossier_log_stream_events_total"), len(events))

    def test_the_secret_is_nowhere_to_read(self):
        headers = self.app("secrets")
        stream = self.stream("siem", "header_name=X-Key", "header_value=@-")
        self.sign_up("secrets-one", headers=headers)
        wait_until(self.got)
        self.command("set", stream, "header_value=@-", given=SECRET)
        self.command("test", stream)
        answers = [stream, self.command("show", stream), *self.site.dossier(
            "log-stream", "list", "--app", self.name), *self.site.dossier(
                "audit", "--app", self.name)]
        self.assertNotIn("secretive-header", str(answers) + str(self.site.logged()))
        self.assertTrue(self.command("show", stream)["has_header_value"])
        self.assertEqual(self.site.sql(
            "select count(*) from log_streams where encode(header_value, 'escape') like "
            "'%secretive%' or attributes::text like '%secretive%'"), "0")
        actions = [event["action"] for event in self.site.dossier("audit", "--app", self.name)]
        self.assertIn("log_stream_create", actions)
        self.assertIn("log_stream_change", actions)

    def test_the_secret_goes_to_no_other_place(self):
        self.app("elsewhere")
        stream = self.stream("siem", "header_name=X-Key", "header_value=@-")
        for change in (f"url={self.receiver.url}/other", "header_name=X-Other"):
            run = self.command("set", stream, change, check=False)
            self.assertIn("Send it again", run.stderr)
        self.command("set", stream, f"url={self.receiver.url}/other", "header_value=@-", given=SECRET)

    def test_a_failure_keeps_the_position_and_delays_no_other_stream(self):
        headers = self.app("failing")
        answers = {"/failing/moved": (302, {"Location": f"{self.receiver.url}/secret"}, b""),
                   "/failing/missing": (404, {}, b"no"), "/failing/broken": (500, {}, b"no")}
        broken = dict(answers)
        stop = threading.Event()

        def answer(batch):
            if batch.path == "/failing/slow" and not stop.is_set():
                stop.wait(120)
            return broken.get(batch.path, (204, {}, b""))

        self.receiver.answer = answer
        streams = {name: self.stream(name) for name in
                   ("moved", "missing", "broken", "slow", "siem")}
        users = self.sign_up("failing-one", headers=headers)
        wait_until(lambda: self.receiver.at("/failing/slow"))
        users += self.sign_up("failing-two", headers=headers)
        self.wait_for(users)
        for name, status in (("moved", 302), ("missing", 404), ("broken", 500)):
            wait_until(lambda: self.status(streams[name])["state"] == "failing")
            found = self.status(streams[name])
            self.assertEqual(found["last_error"], f"status {status}")
            self.assertIsNotNone(found["not_before"])
            self.assertEqual(self.site.sql(
                "select not_before - last_failure_at from log_stream_progress "
                f"where stream_id = '{streams[name]['id']}'"), "00:01:00")
        self.assertEqual(self.receiver.at("/secret"), [])
        # The receiver of the hanging one is away longer than an attempt may take.
        wait_until(lambda: self.status(streams["slow"])["last_error"] == "timed_out")
        broken.clear()
        stop.set()
        for name in ("moved", "missing", "broken", "slow"):
            before = len(self.users(name))
            self.hurry(streams[name])
            wait_until(lambda: self.users(name)[before:] == users,
                       what=f"{users} after {self.users(name)}")
            wait_until(lambda: self.status(streams[name])["state"] == "active")

    def test_a_change_of_the_place_is_tried_at_once(self):
        headers = self.app("changed")
        self.receiver.answer = lambda batch: (503 if batch.path.endswith("siem") else 200, {}, b"")
        stream = self.stream()
        users = self.sign_up("changed-one", headers=headers)
        wait_until(lambda: self.status(stream)["failures"])
        self.command("set", stream, f"url={self.receiver.url}/changed/other")
        self.wait_for(users, "other")

    def test_a_killed_worker_loses_nothing(self):
        headers = self.app("killed")
        gate = threading.Event()

        def answer(batch):
            gate.wait(120)
            return self.receiver.accept(batch)

        self.receiver.answer = answer
        stream = self.stream()
        users = self.sign_up("killed-one", headers=headers)
        wait_until(lambda: self.users() == users)
        for worker in self.site.workers():
            os.kill(worker, signal.SIGKILL)
        self.site.wait_until_ready()
        users += self.sign_up("killed-two", headers=headers)
        self.assertEqual(self.users(), users[:1])  # The claim still counts.
        gate.set()
        self.hurry(stream)
        self.wait_for(users[:1] + users)

    def test_a_worker_ends_alone(self):
        headers = self.app("taken-over")
        stream, users = self.stream(), []
        for number in range(3):
            users += self.sign_up(f"taken-over-{number}", headers=headers)
            os.kill(self.site.workers()[number % 2], signal.SIGKILL)
            self.hurry(stream)
            wait_until(lambda: [user for index, user in enumerate(self.users())
                                if user not in self.users()[:index]] == users)

    def test_a_receiver_that_is_killed_loses_nothing(self):
        headers = self.app("outlasting")
        first = Receiver(self.files, message=Batch)
        # A worker that keeps its connection would reach a thread that the stop does not end.
        first.answer = lambda _: (200, {"Connection": "close"}, b"")
        stream = self.stream("siem", "types=user.created")
        self.command("set", stream, f"url={first.url}/outlasting/siem")
        one = self.sign_up("outlasting-one", headers=headers)
        wait_until(lambda: first.at("/outlasting/siem"))
        first.stop()
        two = self.sign_up("outlasting-two", headers=headers)
        wait_until(lambda: self.status(stream)["last_error"] == "unreachable")
        second = Receiver(self.files, message=Batch, port=first.port)
        self.addCleanup(second.stop)
        self.hurry(stream)
        wait_until(lambda: second.at("/outlasting/siem"))
        [event] = second.at("/outlasting/siem")[0].events
        self.assertEqual([event["data"]["user_id"]], two)
        self.assertEqual(len(first.at("/outlasting/siem")[0].events), len(one))

    def test_events_survive_an_outage_of_postgres(self):
        headers = self.app("postgres")
        stream = self.stream()
        users = self.sign_up("postgres-one", headers=headers)
        self.wait_for(users)
        with self.site.without_postgres():
            pass
        users += self.sign_up("postgres-two", headers=headers)
        # The outage may have come before the position was stored.
        self.hurry(stream)
        wait_until(lambda: self.users()[-1:] == users[1:])
        self.assertEqual([user for index, user in enumerate(self.users())
                          if user not in self.users()[:index]], users)

    def test_what_the_feed_has_lost_is_told(self):
        headers = self.app("lost")
        self.receiver.answer = lambda _: (503, {}, b"")
        stream = self.stream("siem", "types=user.created")
        self.sign_up("lost-one", "lost-two", headers=headers)
        wait_until(lambda: self.status(stream)["failures"])
        app = "(select app_id from apps where name = 'lost')"
        count = int(self.site.sql(f"select last_position from event_feeds where feed_id = {app}"))
        self.site.sql(f"delete from feed_events where feed_id = {app}")
        users = self.sign_up("lost-three", headers=headers)
        self.receiver.answer = self.receiver.accept
        before = len(self.got())
        self.hurry(stream)
        wait_until(lambda: users[0] in self.users())
        events = self.got()[before:]
        marks = [event for event in events if event["type"] == "log_stream.events_lost"]
        self.assertEqual([mark["data"] for mark in marks], [{"app": "lost", "count": count}])
        self.assertEqual(events.index(marks[0]), 0)
        status = self.status(stream)
        self.assertEqual((status["state"], status["lost_events"]), ("active", count))
        self.assertIsNotNone(status["lost_at"])
        self.assertTrue(any(f"has lost {count} events" in text for text in self.site.messages()))

    def test_types_and_a_disabled_stream(self):
        headers = self.app("types")
        stream = self.stream("siem", "types=user.created", "enabled=false")
        users = self.sign_up("types-one", headers=headers)
        other = self.stream("other")
        users += self.sign_up("types-two", headers=headers)
        self.wait_for(users[1:], "other")
        self.assertEqual((self.got(), self.status(stream)["state"]), ([], "disabled"))
        self.command("set", stream, "enabled=true")
        self.wait_for(users)
        self.assertEqual({event["type"] for event in self.got()}, {"user.created"})
        self.command("delete", other, "--yes", output="text")

    def test_lag_is_a_metric(self):
        headers = self.app("lagging")
        self.receiver.answer = lambda _: (503, {}, b"")
        stream = self.stream("siem", "types=user.created")
        self.sign_up("lagging-one", headers=headers)
        wait_until(lambda: self.status(stream)["failures"])
        self.site.sql("update feed_events set at = at - interval '20 minutes' where feed_id = "
                      "(select app_id from apps where name = 'lagging')")
        wait_until(lambda: self.site.metric("dossier_log_stream_lag_seconds") > 900)
        self.assertGreater(self.status(stream)["lag_seconds"], 900)
        self.receiver.answer = self.receiver.accept
        self.hurry(stream)
        wait_until(lambda: self.site.metric("dossier_log_stream_lag_seconds") < 900)


class Local(LogStreamCase):
    def lines(self):
        return [line for line in self.site.log_lines() if line.get("stream") == self.name]

    def test_lines_of_the_log(self):
        headers = self.app("lines")
        stream = self.stream("lines", kind="file")
        users = self.sign_up(*[f"lines-{number}" for number in range(5)], headers=headers)

        def found():
            return [line["event"]["data"]["user_id"] for line in self.lines()
                    if line["event"]["type"] == "user.created"]

        wait_until(lambda: found() == users, what=f"{users}, not {found()}")
        wait_until(lambda: self.status(stream)["lag_seconds"] == 0)
        self.assertLessEqual({line["pid"] for line in self.lines()}, set(self.site.workers()))
        ids = [line["event"]["id"] for line in self.lines()]
        self.assertEqual(len(set(ids)), len(ids))
        # A command has no log; a worker has.
        self.assertEqual(self.command("test", stream)["error"], "no_log")
        answer = self.post(f"/v1/log-streams/{stream['id']}/test", headers=headers,
                           token=self.operator)
        self.assertTrue(self.expect(answer, 200).json["delivered"])
        self.assertEqual(self.lines()[-1]["event"]["type"], "log_stream.test")

    def messages(self):
        return [message for message in self.syslog.messages
                if message.json["stream"] == self.name]

    def test_syslog(self):
        headers = self.app("syslog")
        stream = self.stream("syslog", kind="syslog")
        users = self.sign_up(*[f"syslog-{number}" for number in range(5)], headers=headers)

        def found():
            return [message.json["event"]["data"]["user_id"] for message in self.messages()
                    if message.id == "user.created"]

        wait_until(lambda: found() == users, what=f"{users}, not {found()}")
        for message in self.messages():
            event = message.json["event"]
            self.assertEqual((message.facility, message.severity, message.app, message.id),
                             (10, 6, "dossier", event["type"]))
            self.assertIn(int(message.process), self.site.workers())
            self.assertEqual(message.time, event["timestamp"].replace("+00:00", "Z"))
            self.assertEqual(message.data["origin"]["software"], "Dossier")
        numbers = [int(message.data["meta"]["sequenceId"]) for message in self.messages()]
        self.assertEqual(numbers, sorted(set(numbers)))
        # Its owner restarts.
        self.syslog.stop()
        users += self.sign_up("syslog-late", headers=headers)
        wait_until(lambda: self.status(stream)["last_error"] == "unreachable")
        self.syslog.start()
        self.hurry(stream)
        wait_until(lambda: found() == users)

    def test_a_syslog_without_room_delays_nothing(self):
        headers = self.app("full")
        self.syslog.stop()
        import socket
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as silent:
            silent.bind(str(self.syslog.path))
            self.syslog.path.chmod(0o666)
            stream, lines = self.stream("full", kind="syslog"), self.stream("full-lines", kind="file")
            self.site.sql("""
                insert into feed_events (feed_id, position, event_id, user_id, type, at, data)
                select app_id, g, lpad(to_hex(g), 24, '0'), null, 'user.created', now() + interval
                '1 second', '{}' from apps, generate_series(1, 2000) g where name = 'full';
                insert into event_feeds (feed_id, last_position) select app_id, 2000 from apps
                where name = 'full' on conflict (feed_id) do update set last_position = 2000""")
            wait_until(lambda: self.status(stream)["last_error"] == "timed_out")
            self.assertEqual(self.status(lines)["lag_seconds"], 0)
        self.syslog.start()
        self.hurry(stream)
        wait_until(lambda: self.status(stream)["state"] == "active" and
                   len(self.messages()) > 0 and
                   self.messages()[-1].data["meta"]["sequenceId"] == "2000")


class Rules(LogStreamCase):
    def create(self, status, code=None, headers=None, **body):
        answer = self.post("/v1/log-streams", body, headers=headers, token=self.operator)
        return self.expect(answer, status, code)

    def test_faults(self):
        headers = self.app("faults")
        url, secret = "https://example.com/", {"header_name": "X-Key", "header_value": "k"}
        for body, pointer in [
            ({"kind": "http"}, "/url"), ({"kind": "http", "url": url, "header_name": "X"}, "/header_value"),
            ({"kind": "http", "url": url, "header_value": "x"}, "/header_name"),
            ({"kind": "http", "url": url, **secret, "header_name": "Host"}, "/header_name"),
            ({"kind": "http", "url": url, **secret, "header_name": "content-length"}, "/header_name"),
            ({"kind": "http", "url": url, **secret, "header_name": "Proxy-Authorization"}, "/header_name"),
            ({"kind": "http", "url": url, **secret, "header_name": "X:Y"}, "/header_name"),
            ({"kind": "http", "url": url, **secret, "header_value": "a\r\nb: c"}, "/header_value"),
            ({"kind": "http", "url": url, **secret, "header_value": "\u00e9"}, "/header_value"),
            ({"kind": "http", "url": url, **secret, "header_value": " x"}, "/header_value"),
            ({"kind": "file", "url": url}, "/url"), ({"kind": "syslog", **secret}, "/header_name"),
            ({"kind": "smoke"}, "/kind"), ({}, "/kind"), ({"kind": "file", "name": "A b"}, "/name"),
        ]:
            answer = self.create(422, "validation_failed", headers, **{"name": "x", **body})
            self.assertIn(pointer, [error["pointer"] for error in answer.json["errors"]], body)
        for url in ("http://example.com/", "https://127.0.0.1/", "https://[::1]/",
                    "https://169.254.169.254/", "https://10.0.0.1/", "https://u@example.com/"):
            self.create(422, "url_not_allowed", headers, name="x", kind="http", url=url)
        self.create(422, "unknown_event_type", headers, name="x", kind="file", types=["user.none"])

    def test_an_app_has_a_limited_number(self):
        headers = self.app("limited")
        for number in range(5):
            self.create(201, None, headers, name=f"stream-{number}", kind="file", enabled=False)
            if not number:
                self.create(422, "validation_failed", headers, name="stream-0", kind="file")
        self.create(409, "too_many_log_streams", headers, name="more", kind="file")

    def test_others_are_refused(self):
        headers, secret = self.feed_app("guarded", event_feed=True)
        self.name = "guarded"
        stream = self.stream("siem", kind="file")
        grant = self.expect(self.register("guarded@example.com", headers=headers), 201).json
        others = self.site.add_app("guarded-other")
        path = f"/v1/log-streams/{stream['id']}"
        for method, route in [
            ("GET", "/v1/log-streams"), ("POST", "/v1/log-streams"), ("GET", path),
            ("PATCH", path), ("DELETE", path), ("GET", f"{path}/status"), ("POST", f"{path}/test"),
        ]:
            body = {"PATCH": {"description": "x"}}.get(method)
            if (method, route) == ("POST", "/v1/log-streams"):
                body = {"name": "more", "kind": "file"}
            kind = MERGE if method == "PATCH" else JSON if body else {}
            for token in (None, grant["access_token"], secret):
                answer = self.site.request(method, route, body, {**headers, **kind}, token)
                self.assertIn(answer.status, (401, 403), (method, route, answer.body))
            if route != "/v1/log-streams":
                self.expect(self.site.request(
                    method, route, body, {**others, **kind}, self.operator), 404)
        self.assertEqual(len(self.site.dossier("log-stream", "list", "--app", "guarded")), 1)


class Console(LogStreamCase, ConsoleCase):
    FURTHER = ConsoleCase.SETTINGS

    def test_only_those_who_may_change_a_log_stream_see_the_path_of_its_url(self):
        self.app("logveil")
        self.stream("hidden-path")
        for role, sees in [("viewer", False), ("support", False), ("admin", True), ("owner", True)]:
            with self.subTest(role):
                visitor = self.administrator(role, "--app", "logveil")
                page = visitor.open("/console/logveil/audit?action=log_stream_*")
                self.assertIn(self.receiver.url, page.text)
                self.assertEqual(f"{self.receiver.url}/" in page.text, sees, page.text)
                page = visitor.open("/console/logveil/log-streams")
                self.assertEqual(page.status, 200 if sees else 403, page.text)
        # A back end that reads events of the audit log sees the origin too.
        secret = self.site.client("--app", "logveil", "scopes=read:users,read:logs_users")["secret"]
        created = next(event["id"] for event in self.site.dossier("audit", "--app", "logveil")
                       if event["action"] == "log_stream_create")
        answer = self.expect(self.site.get(
            f"/v1/search?q={created}", headers={"Dossier-App": "logveil"}, token=secret), 200)
        self.assertIn(self.receiver.url, answer.body.decode())
        self.assertNotIn("hidden-path", json.dumps(answer.json).replace('"name": "hidden-path"', ""))

    def test_an_administrator_looks_after_a_log_stream(self):
        self.name = "default"
        visitor = self.administrator("admin", "--app", "default")
        visitor.open("/console/default/log-streams")
        self.assertIn("This app has no log streams.", visitor.page.text)
        visitor.open("/console/default/log-streams/new")
        page = visitor.submit("/new", name="siem", kind="http", url="https://127.0.0.1/")
        self.assertEqual(page.status, 422, page.text)
        self.assertIn("not one of the internet", page.text)
        page = visitor.submit(
            "/new", name="siem", kind="http", url=f"{self.receiver.url}/default/siem",
            header_name="Authorization", header_value=SECRET)
        path = page.path.split("?")[0]
        self.assertNotIn("secretive", page.body.decode())
        self.assertIn("Active", page.text)
        self.assertIn("The test has arrived.", visitor.submit("/test").text)
        user = self.user()
        self.wait_for([user])
        self.receiver.answer = lambda _: (503, {}, b"")
        visitor.open(path)
        self.assertIn("The test has failed: status 503", visitor.submit("/test").text)
        self.user()
        wait_until(lambda: "Failing" in visitor.open(path).text)
        self.assertIn("status 503", visitor.page.text)
        self.assertNotIn("secretive", visitor.page.body.decode())
        page = visitor.open("/console/default/log-streams")
        self.assertIn("siem", page.text)
