"""When the types of a webhook start, and how far a webhook is behind."""

import datetime
import re

from asking import MERGE
from machine import wait_until
from test_webhooks import WebhookCase


class Starting(WebhookCase):
    """Workers know a change of a webhook after a while."""

    FURTHER = {"DOSSIER_APP_CACHE_TTL_MS": "7000"}

    def starts(self, request, status):
        """Sends a request. Tests that the answer has the time twice the setting later."""
        before = datetime.datetime.now(datetime.timezone.utc)
        answer = self.expect(request(), status).json
        after = datetime.datetime.now(datetime.timezone.utc)
        start = datetime.datetime.fromisoformat(answer["starts_at"])
        pause = datetime.timedelta(seconds=14)
        self.assertLessEqual(before + pause, start)
        self.assertLessEqual(start, after + pause)
        return answer

    def test_a_new_type_has_the_time_of_its_start(self):
        headers = self.app("starting")
        body = {"url": f"{self.receiver.url}/starting", "types": ["user.created"]}
        made = self.starts(lambda: self.post(
            "/v1/webhooks", body, headers=headers, token=self.operator), 201)
        path = f"/v1/webhooks/{made['id']}"

        def patch(body):
            return self.site.request("PATCH", path, body, {**headers, **MERGE}, self.operator)

        self.starts(lambda: patch({"types": ["metadata.changed"]}), 200)
        self.assertNotIn("starts_at", self.expect(patch({"description": "x"}), 200).json)
        read = self.site.request("GET", path, None, headers, self.operator)
        self.assertNotIn("starts_at", self.expect(read, 200).json)


class Lags(WebhookCase):
    def test_the_lag_counts_events_that_wait_or_have_no_delivery(self):
        headers = self.app("lagging")
        webhook = self.webhook(types="user.*")
        self.sign_up("lagging-first", headers)
        self.got("user.created")
        wait_until(lambda: self.command("show", webhook)["lag_seconds"] == 0)
        self.receiver.answer = lambda _: (503, {}, b"later")
        self.sign_up("lagging-second", headers)
        self.got("user.created", "user.created")
        self.site.sql("update webhook_deliveries set at = at - interval '2 hours' "
                      f"where state = 'waiting' and {self.waiting()}")

        def lag():
            return self.command("show", webhook)["lag_seconds"]

        self.assertGreaterEqual(lag(), 7_200)

        def metric():
            text = self.site.get("/metrics").body.decode()
            found = re.search(r'dossier_webhook_lag_seconds\{app="lagging",webhook="%s"\} (\d+)'
                              % webhook["id"], text)
            return int(found[1]) if found else 0

        wait_until(lambda: metric() >= 7_200)
        # A disabled webhook has an event without a delivery.
        self.receiver.answer = self.receiver.accept
        self.hurry()
        wait_until(lambda: lag() == 0)
        self.command("set", webhook, "enabled=false")
        self.sign_up("lagging-third", headers)
        wait_until(lambda: self.site.sql(
            "select count(*) from feed_events join apps on feed_id = app_id "
            "where name = 'lagging' and type = 'user.created'") == "3")
        self.site.sql("update feed_events set at = at - interval '3 hours' where position = ("
                      "select max(position) from feed_events f join apps on feed_id = app_id "
                      "where name = 'lagging' and type = 'user.created') and type = 'user.created' "
                      "and feed_id = (select app_id from apps where name = 'lagging')")
        self.assertGreaterEqual(lag(), 10_800)
