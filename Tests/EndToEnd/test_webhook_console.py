"""Webhooks at the console, and who sees their URLs."""

from console import ConsoleCase
from machine import wait_until
from test_webhooks import WebhookCase


class Console(WebhookCase, ConsoleCase):
    FURTHER = ConsoleCase.SETTINGS

    def test_an_administrator_looks_after_a_webhook(self):
        self.name = "console"
        visitor = self.administrator("admin", "--app", "default")
        visitor.open("/console/default/webhooks")
        self.assertIn("This app has no webhooks.", visitor.page.text)
        visitor.open("/console/default/webhooks/new")
        page = visitor.submit("/new", url="https://127.0.0.1/", types="user.*")
        self.assertEqual(page.status, 422, page.text)
        self.assertIn("not one of the internet", page.text)
        page = visitor.submit("/new", url=f"{self.receiver.url}/console", types="user.*")
        self.assertIn("whsec_", page.text)
        path = page.path.split("?")[0]
        page = visitor.open(path)
        self.assertNotIn("whsec_", page.text)
        self.assertIn("Active", page.text)
        page = visitor.submit("/test")
        self.assertIn("The test has arrived: status 200", page.text)
        self.got("webhook.test")
        self.user()
        self.got("webhook.test", "user.created")
        wait_until(lambda: "Delivered" in visitor.open(path).text)
        self.assertIn("user.created", visitor.page.text)
        self.receiver.answer = lambda _: (503, {}, b"")
        visitor.open(path)
        self.assertIn("The test has failed: status 503", visitor.submit("/test").text)
        page = self.confirmed(visitor, f"{path}/secret")
        self.assertIn("The key before signs too for 24 hours.", page.text)
        self.assertIn("whsec_", page.text)
        page = visitor.open("/console/default/webhooks")
        self.assertIn(f"{self.receiver.url}/console", page.text)

    def test_an_administrator_sends_events_again(self):
        headers = self.app("again")
        webhook = self.webhook(types="user.*")
        self.sign_up("again-first", headers)
        first = self.got("user.created")[0]
        wait_until(lambda: self.deliveries(webhook, state="delivered"))
        visitor = self.administrator("admin", "--app", "again")
        path = f"/console/again/webhooks/{webhook['id']}"
        visitor.open(path)
        page = visitor.submit("/retry")
        self.assertIn("The delivery is sent again: user.created", page.text)
        again = self.got("user.created", "user.created")
        self.assertEqual(again[1].id, first.id)
        self.shows(visitor.open(f"{path}/replay"), f"Replay to {self.receiver.url}/again")
        self.assertIn("The receiver gets all events since the day again", visitor.page.text)
        page = visitor.submit("/replay", since="")
        self.assertEqual((page.status, page.errors), (422, ["Since: Choose a day."]))
        page = visitor.submit("/replay", since="2020-01-31")
        self.assertIn("Events of that time were removed", page.text)
        today = self.site.sql("select (now() at time zone 'UTC')::date - 1")
        visitor.open(f"{path}/replay")
        page = visitor.submit("/replay", since=today)
        self.assertIn("Events to send again: 1.", page.text)
        again = self.got("user.created", "user.created", "user.created")
        self.assertEqual(again[2].id, first.id)
        actions = [event["action"] for event in self.site.dossier("audit", "--app", "again")]
        self.assertLessEqual({"webhook_retry", "webhook_replay"}, set(actions))

    def test_only_those_who_may_change_a_webhook_see_the_path_of_its_url(self):
        self.app("veiled")
        webhook = self.webhook(url=f"{self.receiver.url}/hidden-path?key=hidden-query")
        self.command("set", webhook, f"url={self.receiver.url}/hidden-other?key=hidden-query")
        self.command("delete", webhook, "--yes", output="text")
        path = f"/console/veiled/webhooks/{webhook['id']}"
        for role in ("viewer", "support", "admin", "owner"):
            with self.subTest(role):
                visitor = self.administrator(role, "--app", "veiled")
                page = visitor.open("/console/veiled/audit?action=webhook_*")
                self.assertIn(self.receiver.url, page.text)
                sees = role in ("admin", "owner")
                for word in (b"hidden-path", b"hidden-other", b"hidden-query"):
                    self.assertEqual(word in page.body, sees, (role, word))
                page = visitor.open("/console/veiled/webhooks")
                self.assertEqual(page.status, 200 if sees else 403, page.text)
                for further in ("", "/replay", "/secret"):
                    page = visitor.open(path + further)
                    self.assertEqual(page.status, 404 if sees else 403, (role, further, page.text))
