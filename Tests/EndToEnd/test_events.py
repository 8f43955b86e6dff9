"""The event feed and the revocation feed, and the programs of their guide."""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from asking import MERGE
from cases import Case
from machine import BUILD, ROOT, wait_until

GUIDE = ROOT / "Sources/RESTWire/RESTWire.docc/Events.md"
PASSWORD = "correct horse"


def programs():
    """Returns the Python programs of the guide, in their order."""
    return re.findall(r"(?ms)^```python\n(.*?)^```$", GUIDE.read_text())


class EventCase(Case):
    SETTINGS = {"DOSSIER_ISSUER": "http://127.0.0.1:{port}"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.base = f"http://127.0.0.1:{cls.site.port}"

    def feed_app(self, name, **settings):
        """Creates an app with a feed. Returns its headers, and the secret of a client with the scopes."""
        headers = self.site.add_app(name, **settings)
        secret = self.site.client(
            "--app", name, "scopes=read:events,read:revocations,delete:users")["secret"]
        return headers, secret

    def read(self, headers, secret, path="/v1/events", status=200, code=None, **query):
        words = "&".join(f"{name}={value}" for name, value in query.items())
        answer = self.site.request("GET", f"{path}?{words}", headers=headers, token=secret)
        return self.expect(answer, status, code)

    def all_events(self, headers, secret, **query):
        page = self.read(headers, secret, **query).json
        events = page["events"]
        while page["more"]:
            page = self.read(headers, secret, **{**query, "since": page["next"]}).json
            events += page["events"]
        return events

    def wait_for(self, headers, secret, expected, **query):
        """Waits until the feed has these types, in this order."""
        def found():
            return [event["type"] for event in self.all_events(headers, secret, **query)]
        wait_until(lambda: found() == expected, what=f"{expected}, not {found()}")
        return self.all_events(headers, secret, **query)


class Feed(EventCase):
    def test_a_back_end_reads_what_has_happened_in_order_and_without_text_of_users(self):
        headers, secret = self.feed_app(
            "fed", event_feed=True, event_types=["metadata.changed"])
        grant = self.expect(self.register("secretive@example.com", headers=headers), 201).json
        token = grant["access_token"]
        for value in ("first words", "second words"):
            self.expect(self.site.request(
                "PATCH", "/v1/me/metadata", {"text": value}, {**headers, **MERGE}, token), 200)
        self.expect(self.site.request(
            "PATCH", "/v1/me", {"name": "Secret Name"}, {**headers, **MERGE}, token), 200)
        self.expect(self.site.request("PATCH", "/v1/me/properties", {"secret_key": "hidden words"},
                                      {**headers, **MERGE}, token), 200)
        self.expect(self.post("/v1/logout", headers=headers, token=token), 204)
        self.expect(self.login("secretive@example.com", "wrong", headers=headers), 401)
        user = grant["user_id"]
        self.expect(self.site.request(
            "DELETE", f"/v1/users/{user}", headers=headers, token=secret), 204)
        wait_until(lambda: any(
            event["type"] == "user.deleted" for event in self.all_events(headers, secret)))
        events = self.all_events(headers, secret)
        types = [event["type"] for event in events]
        self.assertEqual(sorted(types), sorted([
            "client.changed", "user.created", "session.created", "metadata.changed",
            "metadata.changed", "user.updated", "session.ended", "login.failed", "user.deleted"]))
        self.assertEqual([event["data"]["version"] for event in events
                          if event["type"] == "metadata.changed"], [1, 2])
        [ended] = [event["data"] for event in events if event["type"] == "session.ended"]
        self.assertEqual((ended["user_id"], ended["reason"]), (user, "logout"))
        self.assertEqual({event["data"]["app"] for event in events}, {"fed"})
        text = json.dumps(events)
        for word in ("secretive", "Secret", "words", "hidden", "secret_key", PASSWORD, "127.0.0.1"):
            self.assertNotIn(word, text)
        self.assertEqual(len({event["id"] for event in events}), len(events))
        # The log does not keep what the user has changed, since data_event_days is 0.
        self.assertEqual(self.site.sql(
            f"select count(*) from audit where user_id = '{user}' and action = 'data_change'"), "0")
        found = self.wait_for(headers, secret, ["session.created"], types="session.created")
        self.assertEqual(found, [event for event in events if event["type"] == "session.created"])
        self.assertEqual(self.all_events(headers, secret, user="0" * 24), [])

    def test_a_session_that_ends_right_before_its_user_is_deleted_is_an_event(self):
        headers, secret = self.feed_app("brief", event_feed=True)
        for number in range(10):
            grant = self.expect(self.register(f"brief{number}@example.com", headers=headers), 201).json
            self.expect(self.post("/v1/logout", headers=headers, token=grant["access_token"]), 204)
            self.expect(self.site.request(
                "DELETE", f"/v1/users/{grant['user_id']}", headers=headers, token=secret), 204)
        types = "session.ended,user.deleted"
        wait_until(lambda: len(self.all_events(headers, secret, types=types)) == 20)
        events = self.all_events(headers, secret, types=types)
        for deleted in [event["data"] for event in events if event["type"] == "user.deleted"]:
            user = deleted["user_id"]
            self.assertEqual([event["type"] for event in events if event["data"]["user_id"] == user],
                             ["session.ended", "user.deleted"])
        for ended in [event for event in events if event["type"] == "session.ended"]:
            self.assertEqual(set(ended["data"]),
                             {"app", "user_id", "session_id", "device_id", "reason"})
            self.assertEqual((ended["id"], ended["data"]["reason"]),
                             ("evt_" + ended["data"]["session_id"], "logout"))
        wait_until(lambda: self.site.sql("select count(*) from unpublished_changes") == "0")

    def test_pages_continue_at_their_cursor(self):
        headers, secret = self.feed_app("paged", event_feed=True)
        for number in range(3):
            self.expect(self.register(f"page{number}@example.com", headers=headers), 201)
        everything = self.wait_for(headers, secret, ["session.created"] * 3, types="session.*")
        page = self.read(headers, secret, types="session.*", limit=2).json
        self.assertEqual((page["events"], page["more"]), (everything[:2], True))
        answer = self.read(headers, secret, types="session.*", limit=2, since=page["next"])
        self.assertEqual(answer.json["events"], everything[2:])
        self.assertEqual(answer.headers["Retry-After"], "5")
        empty = self.read(headers, secret, since="now").json
        self.assertEqual((empty["events"], empty["more"]), ([], False))
        self.expect(self.register("page-after@example.com", headers=headers), 201)
        self.wait_for(headers, secret, ["session.created"], since=empty["next"], types="session.*")
        self.assertEqual(self.all_events(headers, secret, since="2020-01-31")[0]["id"],
                         self.all_events(headers, secret)[0]["id"])

    def test_wrong_cursors_and_callers_are_refused(self):
        headers, secret = self.feed_app("refusing", event_feed=True)
        others, foreign = self.feed_app("foreign", event_feed=True)
        self.expect(self.register("refused@example.com", headers=headers), 201)
        wait_until(lambda: self.all_events(headers, secret))
        cursor = self.read(headers, secret).json["next"]
        raw = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        for index in (0, 7, 8, len(raw) - 1):
            flipped = bytearray(raw)
            flipped[index] ^= 1
            text = base64.urlsafe_b64encode(flipped).decode().rstrip("=")
            self.read(headers, secret, since=text, status=400, code="cursor_invalid")
        for text in ("", "-1", "9" * 30, "x" * 5_000, "2026-13-01", "%C3%A9"):
            self.read(headers, secret, since=text, status=400, code="cursor_invalid")
        self.read(others, foreign, since=cursor, status=400, code="cursor_invalid")
        self.read(others, secret, status=401)
        self.read(headers, secret, types="user.*,,", status=422)
        self.read(headers, secret, types="user.nothing", status=422)
        self.read(headers, secret, limit="1001", status=422)
        self.read(headers, secret, cursor="x", status=422)
        scopeless = self.site.client("--app", "refusing", "scopes=read:users")
        self.read(headers, scopeless["secret"], status=403, code="insufficient_scope")
        # A client that is disabled between two pages.
        client = self.site.client("--app", "refusing", "scopes=read:events")
        self.read(headers, client["secret"])
        self.site.dossier("client", "set", client["id"], "disabled=true")
        self.read(headers, client["secret"], status=401)
        self.read(headers, secret, "/v1/revocations", status=409, code="feed_disabled")
        off, closed = self.feed_app("closed")
        self.read(off, closed, status=409, code="feed_disabled")
        # After the removal of old events, the cursor before them has expired.
        oldest = self.read(headers, secret, limit=1).json["next"]
        for number in range(2):
            self.expect(self.register(f"later{number}@example.com", headers=headers), 201)
        wait_until(lambda: len(self.all_events(headers, secret, types="session.*")) == 3)
        self.site.sql("delete from feed_events where feed_id in (select app_id from apps "
                      "where name = 'refusing') and position <= 3")
        problem = self.read(headers, secret, since=oldest, status=410, code="cursor_expired").json
        self.assertEqual(self.all_events(headers, secret, since=problem["oldest_cursor"]),
                         self.all_events(headers, secret, since="oldest"))

    def test_an_app_without_feeds_writes_nothing_for_them(self):
        headers, _ = self.feed_app("quiet")
        grant = self.expect(self.register("quiet@example.com", headers=headers), 201).json
        self.expect(self.site.request("PATCH", "/v1/me", {"name": "Q"}, {**headers, **MERGE},
                                      grant["access_token"]), 200)
        self.assertEqual(self.site.sql(
            "select count(*) from audit a join apps using (app_id) where name = 'quiet' "
            "and (pending or ordinal is not null)"), "0")
        self.assertEqual(self.site.sql(
            "select count(*) from feed_events f join apps on feed_id = app_id where name = 'quiet'"), "0")

    def test_the_command_follows_the_feed(self):
        headers, secret = self.feed_app("followed", event_feed=True)
        self.expect(self.register("one@example.com", headers=headers), 201)
        self.wait_for(headers, secret, ["session.created"], types="session.*")
        command = [BUILD / "dossier", "events", "--app", "followed", "--types", "session.*"]
        once = subprocess.run(command, env=self.site.environment, capture_output=True, check=True)
        self.assertEqual([json.loads(line)["type"] for line in once.stdout.splitlines()],
                         ["session.created"])
        follower = subprocess.Popen(
            [*command, "--since", "oldest", "--follow"], env=self.site.environment,
            stdout=subprocess.PIPE)
        self.addCleanup(follower.stdout.close)
        self.addCleanup(follower.wait)
        self.addCleanup(follower.kill)
        self.assertIn(b"session.created", follower.stdout.readline())
        self.expect(self.register("two@example.com", headers=headers), 201)
        self.assertIn(b"session.created", follower.stdout.readline())

    def test_the_metrics_count_events(self):
        headers, secret = self.feed_app("counted-events", event_feed=True)
        self.expect(self.register("metric@example.com", headers=headers), 201)
        self.wait_for(headers, secret, ["session.created"], types="session.*")
        text = self.site.get("/metrics").body.decode()
        count = re.search(r"(?m)^dossier_events_published_total (\d+)$", text)
        self.assertGreater(int(count[1]), 0)
        self.assertIn("dossier_events_oldest_pending_seconds", text)


class Guide(EventCase):
    def run_program(self, text, **environment):
        folder = tempfile.TemporaryDirectory(prefix="dossier-events-")
        self.addCleanup(folder.cleanup)
        program = pathlib.Path(folder.name) / "program.py"
        program.write_text(text)
        return folder.name, subprocess.Popen(
            [sys.executable, "-B", program], cwd=folder.name, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env={**os.environ, "B": self.base, **environment})

    def test_the_loop_of_the_guide_copies_users(self):
        self.site.set_app(event_feed=True)
        self.addCleanup(self.site.set_app, event_feed=None)
        secret = self.site.client("--app", "default", "scopes=read:events,delete:users")["secret"]
        wait_until(lambda: self.site.request("GET", "/v1/events", token=secret).status == 200)
        made = self.site.client("--app", "default", "scopes=create:users,delete:users")["secret"]
        first = self.expect(self.post("/v1/users", {"email": "copied@example.com"}, token=made), 201)
        # It waits for five seconds after an empty page.
        loop = programs()[0].replace("time.sleep(5)", "time.sleep(0.1)")
        folder, run = self.run_program(loop, SECRET=secret)

        def stop():
            run.kill()
            run.wait()
            run.stdout.close()
        self.addCleanup(stop)

        def users():
            self.assertIsNone(run.poll(), run.poll() is not None and run.stdout.read())
            query = ["sqlite3.connect('users.db', timeout=30).execute('select id from users')"]
            found = subprocess.run(
                [sys.executable, "-c", f"import sqlite3; print([id for [id] in {query[0]}])"],
                cwd=folder, capture_output=True, text=True)
            return found.stdout

        def has(answer):
            return answer.json["id"] in users()
        wait_until(lambda: has(first))
        second = self.expect(self.post("/v1/users", {"email": "second@example.com"}, token=made), 201)
        self.expect(self.site.request(
            "DELETE", f"/v1/users/{first.json['id']}", token=made), 204)
        wait_until(lambda: has(second) and not has(first))

    def test_the_verifier_of_the_guide_refuses_ended_sessions(self):
        self.site.set_app(revocation_feed=True)
        self.addCleanup(self.site.set_app, revocation_feed=None)
        secret = self.site.client("--app", "default", "scopes=read:revocations,delete:users")["secret"]
        wait_until(lambda: self.site.request("GET", "/v1/revocations", token=secret).status == 200)
        scope = {}
        exec(compile(programs()[1], "verifier.py", "exec"), scope)  # The code that readers copy.
        verifier = scope["Verifier"](self.base, "default", secret, self.base)
        verifier.read()
        invalid = scope["jwt"].InvalidTokenError
        grants = [self.site.login() for _ in range(3)]
        tokens = [grant["access_token"] for grant in grants]
        for token, grant in zip(tokens, grants):
            self.assertEqual(verifier.verify(token)["sub"], grant["user_id"])

        def refused(token):
            verifier.read()
            try:
                verifier.verify(token)
            except invalid:
                return True
            return False
        self.expect(self.post("/v1/logout", token=tokens[0]), 204)
        wait_until(lambda: refused(tokens[0]))
        self.assertFalse(refused(tokens[1]))
        self.expect(self.site.request(
            "DELETE", f"/v1/users/{grants[1]['user_id']}", token=secret), 204)
        wait_until(lambda: refused(tokens[1]))
        self.assertFalse(refused(tokens[2]))
        # A verifier that starts now knows the same.
        fresh = scope["Verifier"](self.base, "default", secret, self.base)
        fresh.read()
        for token in tokens[:2]:
            with self.assertRaises(invalid):
                fresh.verify(token)
        self.assertEqual(fresh.verify(tokens[2])["sub"], grants[2]["user_id"])
        # Nothing is new: 304. A verifier that has not read for long asks the service.
        answer = self.site.request(
            "GET", f"/v1/revocations?since={fresh.next}", token=secret,
            headers={"If-None-Match": fresh.tag})
        self.expect(answer, 304)
        stale = scope["Verifier"](self.base, "default", secret, self.base)
        with self.assertRaises(invalid):
            stale.verify(tokens[0])
        self.assertEqual(stale.verify(tokens[2])["sub"], grants[2]["user_id"])
        _, run = self.run_program(
            programs()[1] + programs()[2], SECRET=secret, ISSUER=self.base,
            TOKEN=self.site.login()["access_token"])
        out, _ = run.communicate(timeout=60)
        self.assertRegex(out.decode(), r"^[0-9a-f]{24}\n$")
        # A removed key is refused, and its tokens with it.
        kid = scope["jwt"].get_unverified_header(tokens[2])["kid"]
        self.site.dossier("key", "rotate", "--app", "default")
        self.site.dossier("key", "remove", kid, "--app", "default", "--yes")
        wait_until(lambda: refused(tokens[2]))
        self.assertIn(kid, verifier.removed)


if __name__ == "__main__":
    unittest.main()
