"""Measurements of devices that several users share, and of mail."""

import json
import random
import time

from wire_bench import WireBench, wait_for_success
from asking import ADDRESS, JSON
from machine import wait_until

DEVICES = 256
ORIGIN = "https://app.example.com"


def line(body, **fields):
    """A request in a file of them, with its header fields."""
    return "\t".join([body, *(f"{name}: {value}" for name, value in fields.items())])


class DeviceBench(WireBench):
    def devices(self):
        """The secrets of devices, each with the two users who are signed in; made once."""
        if not hasattr(self, "shared"):
            self.shared = []
            for _ in range(DEVICES):
                first = self.site.login()
                second = self.site.login(first["device_secret"])
                self.shared.append(
                    (second["device_secret"], [first["user_id"], second["user_id"]]))
        return self.shared

    def device_users(self):
        lines = [line("", **{"Dossier-Device": secret}) for secret, _ in self.devices()]
        return self.requests("/v1/device", self.file("devices", lines), METHOD="GET")

    def switches(self):
        # Each thread of the client chooses one of the users, so that most requests are a switch.
        lines = [line(json.dumps({"user_id": user}), **{"Dossier-Device": secret})
                 for secret, users in self.devices() for user in users]
        return self.requests("/v1/device/active", self.file("switches", lines), METHOD="PUT")

    def cookie_refreshes(self):
        if not hasattr(self, "cookies"):
            self.site.set_app(allowed_origins=[ORIGIN])

            def signed_in():
                return self.site.request("POST", "/v1/login/anonymous", {}, {
                    **JSON, "Origin": ORIGIN, "Dossier-Device": "cookie"})

            wait_for_success(self.site, signed_in)
            cookies = [signed_in().headers["Set-Cookie"].split(";")[0] for _ in range(1_000)]
            self.cookies = self.file("cookies", [
                line("{}", Origin=ORIGIN, Cookie=cookie) for cookie in cookies])
        return self.requests("/v1/token/refresh", self.cookies)

    def mails(self):
        """Requests for mailed codes, until all mails are sent; the rate is that of the mails."""
        self.site.set_app(email_code=True)
        wait_for_success(self.site, lambda: self.site.request(
            "POST", "/v1/login/code/request", {"email": "first@example.com"},
            {**JSON, ADDRESS: f"10.1.{random.randrange(256)}.{random.randrange(256)}"}))
        lines = self.file("mails", 2 * ['{"email": "UNIQUE@example.com"}'])
        sent, before, started = self.sent(), self.processor(self.site.port), time.monotonic()
        result = self.requests("/v1/login/code/request", lines, clients=8, ADDRESS_FIELD=ADDRESS)
        wait_until(lambda: self.site.sql("select count(*) from mail_outbox") == "0", 600,
                   "the mails")
        seconds, after = time.monotonic() - started, self.processor(self.site.port)
        mails = self.sent() - sent
        result["rate"] = mails / seconds
        result["processor_us"] = {kind: (after[kind] - before[kind]) / mails for kind in after}
        return result

    def sent(self):
        return sum(1 for _ in self.site.mail.glob("*.eml"))
