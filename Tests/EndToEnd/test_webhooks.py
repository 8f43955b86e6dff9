"""Webhooks: signatures, order, attempts, rotation, replay, and hostile receivers and URLs."""

import base64
import os
import signal
import socket
import subprocess
import sys
import threading

from asking import MERGE
from machine import TOOLS_FOLDER, new_folder, wait_until
from receiver import Receiver, make_certificate, own_address
from test_events import EventCase

sys.path.append(str(TOOLS_FOLDER / "standardwebhooks"))
from standardwebhooks.webhooks import Webhook, WebhookVerificationError  # noqa: E402


class WebhookCase(EventCase):
    # Whether receivers may have the address of this machine.
    IS_ALLOWED = True
    FURTHER = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = new_folder()
        address = own_address()
        cls.files = make_certificate(cls.folder, "receiver", f"IP:{address}")
        cls.receiver = Receiver(cls.files)
        cls.SETTINGS = {
            **EventCase.SETTINGS, **cls.FURTHER, "DOSSIER_OUTGOING_AUTHORITIES": str(cls.files[1]),
            "DOSSIER_OUTGOING_NETWORKS": f"{address}/32" if cls.IS_ALLOWED else ""}
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

    def webhook(self, *arguments, types="user.*,session.*", url=None):
        """Creates a webhook with a path of its own. Returns it with its secret."""
        url = url or f"{self.receiver.url}/{self.name}"
        return self.site.dossier(
            "webhook", "create", url, f"types={types}", "--app", self.name, *arguments)

    def command(self, verb, webhook, *arguments, **options):
        return self.site.dossier(
            "webhook", verb, webhook["id"], "--app", self.name, *arguments, **options)

    def sign_up(self, name, headers):
        return self.expect(self.register(f"{name}@example.com", headers=headers), 201).json

    def got(self, *types, of=None):
        """Waits until the receiver has these types. Returns the messages."""
        def found():
            return [message for message in self.receiver.at(f"/{self.name}")
                    if of is None or message.user == of]
        wait_until(lambda: [message.type for message in found()] == list(types),
                   what=f"{types}, not {[message.type for message in found()]}")
        return found()

    def waiting(self):
        return f"webhook_id in (select webhook_id from webhooks join apps using (app_id) " \
               f"where name = '{self.name}')"

    def hurry(self):
        """Makes all waiting deliveries of the app due, as if their pause were over."""
        self.site.sql(
            "update webhook_deliveries set due_at = now() - interval '1 second' "
            f"where state = 'waiting' and claimed_until is null and {self.waiting()}")
        self.site.sql(f"update webhook_progress set not_before = null where {self.waiting()}")

    def deliveries(self, webhook, **query):
        return self.command("deliveries", webhook, *[
            word for name, value in query.items() for word in (f"--{name}", value)])


class Deliveries(WebhookCase):
    def test_events_arrive_signed_and_without_text_of_users(self):
        headers = self.app("signed")
        webhook = self.webhook()
        self.assertRegex(webhook["secret"], r"^whsec_")
        user = self.sign_up("secretive-hook", headers)["user_id"]
        messages = self.got("user.created", "session.created")
        for message in messages:
            event = Webhook(webhook["secret"]).verify(message.body, message.headers)
            self.assertEqual((event["id"], event["data"]["user_id"]), (message.id, user))
            self.assertEqual(message.headers["content-type"], "application/json")
            self.assertNotIn(b"secretive", message.body)
            with self.assertRaises(WebhookVerificationError):
                Webhook("whsec_" + base64.b64encode(b"x" * 32).decode()).verify(
                    message.body, message.headers)
        self.assertEqual(len({message.id for message in messages}), 2)
        wait_until(lambda: len(self.deliveries(webhook, state="delivered")) == 2)
        rows = self.deliveries(webhook)
        self.assertEqual([row["type"] for row in rows], ["session.created", "user.created"])
        self.assertEqual({row["event"] for row in rows}, {message.id for message in messages})
        self.assertEqual({(row["status"], row["answer"], row["attempts"]) for row in rows},
                         {(200, "ok", 1)})
        shown = self.command("show", webhook)
        self.assertEqual((shown["status"]["state"], shown["status"]["waiting"]), ("active", 0))
        self.assertNotIn("secret", shown)
        # A change of data is published, since a webhook wants it.
        self.command("set", webhook, "types=metadata.changed")
        token = self.expect(self.login("secretive-hook@example.com", headers=headers), 200).json
        self.expect(self.site.request("PATCH", "/v1/me/metadata", {"a": 1}, {**headers, **MERGE},
                                      token["access_token"]), 200)
        self.got("user.created", "session.created", "metadata.changed")

    def test_both_keys_sign_after_a_rotation(self):
        headers = self.app("rotated")
        webhook = self.webhook()
        secret = self.command("secret", webhook)["secret"]
        self.sign_up("rotated-hook", headers)
        for message in self.got("user.created", "session.created"):
            self.assertEqual(len(message.headers["webhook-signature"].split()), 2)
            for key in (webhook["secret"], secret):
                Webhook(key).verify(message.body, message.headers)
        actions = {event["action"] for event in self.site.dossier("audit", "--app", self.name)}
        self.assertLessEqual({"webhook_create", "webhook_secret_rotate"}, actions)

    def test_ed25519(self):
        headers = self.app("pairs")
        webhook = self.webhook("signature=ed25519", types="user.*")
        self.sign_up("pairs-hook", headers)
        [message] = self.got("user.created")
        version, signature = message.headers["webhook-signature"].split(",")
        self.assertEqual(version, "v1a")
        raw = base64.b64decode(webhook["secret"].removeprefix("whpk_"))
        key = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + raw).decode()
        path = self.folder / "key.pem"
        path.write_text(f"-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n")
        (self.folder / "signature").write_bytes(base64.b64decode(signature))
        (self.folder / "signed").write_bytes(
            f"{message.id}.{message.headers['webhook-timestamp']}.".encode() + message.body)
        subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", path, "-in",
             self.folder / "signed", "-sigfile", self.folder / "signature"], check=True,
            capture_output=True)

    def test_a_failure_delays_no_other_user_and_keeps_the_order_of_its_user(self):
        headers = self.app("ordered")
        failing = set()
        self.receiver.answer = lambda message: (
            (503, {}, b"later") if message.user in failing else self.receiver.accept(message))
        webhook = self.webhook(types="user.*,session.*")
        first = self.sign_up("ordered-first", headers)
        self.got("user.created", "session.created", of=first["user_id"])
        failing.add(first["user_id"])
        self.expect(self.post("/v1/logout", headers=headers, token=first["access_token"]), 204)
        self.got("user.created", "session.created", "session.ended", of=first["user_id"])
        self.expect(self.login("ordered-first@example.com", headers=headers), 200)
        second = self.sign_up("ordered-second", headers)
        self.got("user.created", "session.created", of=second["user_id"])
        wait_until(lambda: len(self.deliveries(webhook, state="waiting")) == 2)
        wait_until(lambda: self.deliveries(webhook, state="waiting")[1]["error"] == "status")
        failing.clear()
        self.hurry()
        messages = self.got("user.created", "session.created", "session.ended", "session.ended",
                            "session.created", of=first["user_id"])
        self.assertEqual(messages[2].id, messages[3].id)

    def test_a_killed_worker_sends_the_same_id_again(self):
        headers = self.app("killed")
        gate = threading.Event()

        def answer(message):
            gate.wait(120)
            return self.receiver.accept(message)

        self.receiver.answer = answer
        webhook = self.webhook(types="user.*")
        self.sign_up("killed-hook", headers)
        [first] = self.got("user.created")
        for worker in self.site.workers():
            os.kill(worker, signal.SIGKILL)
        gate.set()
        self.site.wait_until_ready()
        # As if the half minute of the attempt were over.
        self.site.sql("update webhook_deliveries set due_at = now(), claimed_until = now() "
                      f"where state = 'waiting' and {self.waiting()}")
        again = self.got("user.created", "user.created")
        self.assertEqual(again[1].id, first.id)
        wait_until(lambda: [row["attempts"] for row in self.deliveries(webhook, state="delivered")]
                   == [2])

    def test_events_survive_an_outage_of_postgres(self):
        headers = self.app("outlasting")
        self.webhook(types="user.*")
        self.sign_up("outlasting-one", headers)
        self.got("user.created")
        with self.site.without_postgres():
            pass
        self.sign_up("outlasting-two", headers)
        self.got("user.created", "user.created")

    def test_a_receiver_that_is_gone_disables_the_webhook(self):
        headers = self.app("gone")
        self.receiver.answer = lambda _: (410, {}, b"")
        webhook = self.webhook(types="user.*")
        self.sign_up("gone-one", headers)
        wait_until(lambda: not self.command("show", webhook)["enabled"])
        self.assertEqual(self.command("show", webhook)["status"]["state"], "disabled")
        self.receiver.answer = self.receiver.accept
        self.sign_up("gone-two", headers)
        self.command("set", webhook, "enabled=true")
        messages = self.got("user.created", "user.created")
        self.assertEqual([row["status"] for row in self.deliveries(webhook, state="failed")], [410])
        self.command("retry", webhook, self.deliveries(webhook, state="failed")[0]["id"])
        again = self.got("user.created", "user.created", "user.created")
        self.assertEqual(again[2].id, messages[0].id)

    def test_a_receiver_names_the_pause(self):
        headers = self.app("pausing")
        self.receiver.answer = lambda _: (429, {"Retry-After": "3600"}, b"slowly")
        webhook = self.webhook(types="user.*")
        self.sign_up("pausing-one", headers)
        self.got("user.created")
        wait_until(lambda: self.command("show", webhook)["status"]["not_before"])
        self.assertEqual(self.site.sql(
            "select count(*) from webhook_progress natural join webhook_deliveries "
            "where least(due_at, not_before) > now() + interval '50 minutes' "
            f"and {self.waiting()}"), "1")
        self.receiver.answer = self.receiver.accept
        self.hurry()
        self.got("user.created", "user.created")
        wait_until(lambda: not self.command("show", webhook)["status"]["not_before"])

    def test_only_one_delivery_tries_a_receiver_that_fails(self):
        headers = self.app("failing")
        self.receiver.answer = lambda _: (500, {}, b"broken")
        webhook = self.webhook(types="user.*")
        for number in range(6):
            self.sign_up(f"failing-{number}", headers)

        def failures():
            self.hurry()
            return self.command("show", webhook)["status"]["failures"]

        wait_until(lambda: failures() >= 20)
        shown = self.command("show", webhook)
        self.assertEqual((shown["status"]["state"], shown["enabled"]), ("failing", True))
        self.site.sql("update webhook_progress set failing_since = now() - interval '6 days' "
                      f"where {self.waiting()}")
        wait_until(lambda: failures() and not self.command("show", webhook)["enabled"])
        self.receiver.answer = self.receiver.accept
        self.command("set", webhook, "enabled=true")
        self.hurry()
        wait_until(lambda: len(self.deliveries(webhook, state="delivered")) == 6)

    def test_at_most_four_at_once(self):
        headers = self.app("many")
        gate, busy = threading.Event(), threading.Event()

        def answer(message):
            if self.receiver.at_once == 4:
                busy.set()
            gate.wait(120)
            return self.receiver.accept(message)

        webhook = self.webhook(types="user.*")
        self.receiver.most_at_once = 0
        self.receiver.answer = answer
        for number in range(8):
            self.sign_up(f"many-{number}", headers)
        self.assertTrue(busy.wait(120))
        # Requests go on meanwhile, also those of other webhooks.
        self.assertEqual(self.site.get("/readyz").status, 200)
        gate.set()
        wait_until(lambda: len(self.deliveries(webhook, state="delivered")) == 8)
        self.assertEqual(self.receiver.most_at_once, 4)

    def test_replay_and_test(self):
        headers = self.app("replayed")
        webhook = self.webhook(types="user.*,session.*")
        self.sign_up("replayed-hook", headers)
        first = self.got("user.created", "session.created")
        answer = self.command("replay", webhook, "--since", "oldest", "--type", "user.*")
        self.assertEqual((answer["deliveries"], answer["more"]), (1, False))
        again = self.got("user.created", "session.created", "user.created")
        self.assertEqual(again[2].id, first[0].id)
        tested = self.command("test", webhook)
        self.assertEqual((tested["delivered"], tested["status"], tested["answer"]),
                         (True, 200, "ok"))
        message = self.got("user.created", "session.created", "user.created", "webhook.test")[3]
        Webhook(webhook["secret"]).verify(message.body, message.headers)
        run = self.command("replay", webhook, "--since", "2020-01-31", check=False)
        self.assertIn("Events of that time were removed", run.stderr)
        run = self.command("replay", webhook, "--since", "oldest", "--type", "user.none",
                           check=False)
        self.assertIn("no such type", run.stderr)

    def test_a_backlog_of_one_user_delays_no_other_and_is_not_replayed(self):
        headers = self.app("backlog")
        webhook = self.webhook(types="user.created")
        self.sign_up("backlog-first", headers)
        self.got("user.created")
        # A user whose first delivery waits for a later attempt.
        self.site.sql(f"""
            insert into webhook_deliveries (webhook_id, delivery_id, event_id, user_id, type, at, data, due_at)
            select '{webhook['id']}', lpad(to_hex(n + 1000), 24, '0'), lpad(to_hex(n), 24, '0'), '{'0' * 24}',
              'user.created', now(), '{{}}', now() + case when n = 1 then interval '1 day' else interval '0' end
            from generate_series(1, 10000) n;
            update webhook_progress set last_delivery = 20000 where webhook_id = '{webhook['id']}'""")
        self.sign_up("backlog-second", headers)
        self.got("user.created", "user.created")
        self.assertEqual(len(self.deliveries(webhook, state="waiting", limit=5)), 5)
        run = self.command("replay", webhook, "--since", "oldest", check=False)
        self.assertIn("Wait for the number of seconds", run.stderr)

    def test_an_app_has_a_limited_number(self):
        headers = self.app("limited")
        for number in range(20):
            self.webhook(url=f"{self.receiver.url}/{number}")
        self.expect(self.post(
            "/v1/webhooks", {"url": self.receiver.url, "types": ["user.*"]}, headers=headers,
            token=self.operator), 409, "too_many_webhooks")
        for types in ([], ["user.none"], ["user.created,session.ended"]):
            self.expect(self.post(
                "/v1/webhooks", {"url": self.receiver.url, "types": types}, headers=headers,
                token=self.operator), 422, "unknown_event_type")

    def test_others_are_refused(self):
        headers, secret = self.feed_app("guarded", event_feed=True)
        self.name = "guarded"
        webhook = self.webhook()
        grant = self.sign_up("guarded-hook", headers)
        others = self.site.add_app("guarded-other")
        path = f"/v1/webhooks/{webhook['id']}"
        routes = [("GET", path), ("PATCH", path), ("DELETE", path), ("GET", f"{path}/status"),
                  ("POST", f"{path}/secret"), ("POST", f"{path}/test"),
                  ("GET", f"{path}/deliveries"), ("POST", f"{path}/replay"),
                  ("POST", f"{path}/deliveries/{'0' * 24}/retry")]
        for method, route in routes:
            body = {"PATCH": {"description": "x"}}.get(method)
            if route.endswith("replay"):
                body = {"since": "oldest"}
            kind = MERGE if method == "PATCH" else {"Content-Type": "application/json"} if body else {}
            for token, status in ((None, 401), (grant["access_token"], 403), (secret, 403)):
                answer = self.site.request(method, route, body, {**headers, **kind}, token)
                self.assertIn(answer.status, (status, 401), (method, route, answer.body))
            answer = self.site.request(method, route, body, {**others, **kind}, self.operator)
            self.expect(answer, 404)


class Hostile(WebhookCase):
    def refuse(self, result, error, status=None):
        self.assertEqual((result["delivered"], result["error"], result["status"]),
                         (False, error, status))

    def result(self, url):
        webhook = self.webhook(url=url)
        try:
            return self.command("test", webhook)
        finally:
            self.command("delete", webhook, "--yes", output="text")

    def test_urls(self):
        headers = self.app("urls")
        for url in [
            "http://example.com/", "https://127.0.0.1/", "https://[::1]/",
            "https://[::ffff:7f00:1]/", "https://[::ffff:127.0.0.1]/", "https://0x7f000001/",
            "https://2130706433/", "https://0177.0.0.1/", "https://127.1/", "https://0/",
            "https://169.254.169.254/latest/", "https://[fe80::1]/", "https://[fe80::1%25eth0]/",
            "https://[64:ff9b::7f00:1]/", "https://[64:ff9b::a9fe:a9fe]/", "https://0.0.0.0/",
            "https://[::]/", "https://[::7f00:1]/", "https://10.0.0.1/", "https://192.168.1.1/",
            "https://localhost/", "https://a.localhost/", "https://u:p@example.com/",
            "https://u@example.com/", "https://example.com:80/", "https://example.com:22/",
            "https://example.com:65536/", "https://example.com:0443/x", "https://example.com:/",
            "https://example.com\\@127.0.0.1/", "https://example.com/#a", "https:///", "https://",
            "https://exa mple.com/", "https://ex\u00e4mple.com/", "ftp://example.com/",
            "https://example.com.:443/", "https://example.com/\u00df",
        ]:
            answer = self.post("/v1/webhooks", {"url": url, "types": ["user.*"]}, headers=headers,
                               token=self.operator)
            self.assertEqual(answer.status, 422, (url, answer.body))
            self.assertEqual(answer.json["code"], "url_not_allowed", (url, answer.body))
        self.expect(self.post(
            "/v1/webhooks", {"url": "https://example.com/" + "a" * 2_030, "types": ["user.*"]},
            headers=headers, token=self.operator), 422, "validation_failed")
        for url in ["https://example.com/", "https://example.com:443/a?b=c", "https://1.1.1.1:8443/",
                    "https://[2606:4700:4700::1111]/", "https://0x7f.example.com/"]:
            self.expect(self.post("/v1/webhooks", {"url": url, "types": ["user.*"]},
                                  headers=headers, token=self.operator), 201)

    def test_receivers(self):
        self.app("receivers")
        url = f"{self.receiver.url}/receivers"
        self.receiver.answer = lambda _: (302, {"Location": "https://127.0.0.1/"}, b"")
        self.refuse(self.result(url), "status", 302)

        def endless(file):
            file.write(b"HTTP/1.1 200 OK\r\n")
            for number in range(1_000_000):
                file.write(b"X-%d: %s\r\n" % (number, b"x" * 100))

        self.receiver.answer = lambda _: endless
        self.refuse(self.result(url), "answer_too_large")

        # Only the first 4 KB are read.
        self.receiver.answer = lambda _: (200, {}, b"y" * 5_000_000)
        result = self.result(url)
        self.assertEqual((result["delivered"], result["answer"]), (True, "y" * 512))
        self.receiver.answer = lambda _: (200, {"Content-Encoding": "gzip"}, b"\x1f\x8b\0\xff")
        self.assertTrue(self.result(url)["delivered"])

        stop = threading.Event()

        def slow(file):
            file.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n")
            while not stop.wait(1):
                file.write(b"z")
                file.flush()

        self.receiver.answer = lambda _: slow
        self.refuse(self.result(url), "timed_out")
        stop.set()

    def test_a_certificate_of_another_name_or_authority(self):
        self.app("certificates")
        other = Receiver(make_certificate(self.folder, "other", "DNS:other.example.com"))
        self.addCleanup(other.stop)
        self.refuse(self.result(other.url), "untrusted_certificate")
        self.assertEqual(other.messages, [])

    def test_a_closed_port(self):
        self.app("closed")
        with socket.socket() as probe:
            probe.bind((own_address(), 0))
            port = probe.getsockname()[1]
        self.refuse(self.result(f"https://{own_address()}:{port}/"), "unreachable")


class Internal(WebhookCase):
    """The operator allows no internal networks."""

    IS_ALLOWED = False

    def test_names_with_an_internal_address(self):
        headers = self.app("internal")
        self.expect(self.post(
            "/v1/webhooks", {"url": self.receiver.url, "types": ["user.*"]}, headers=headers,
            token=self.operator), 422, "url_not_allowed")
        name = socket.gethostname()
        webhook = self.webhook(url=f"https://{name}:{self.receiver.port}/")
        result = self.command("test", webhook)
        self.assertEqual((result["error"], result["status"]), ("address_not_allowed", None))
        self.assertEqual(self.receiver.messages, [])
