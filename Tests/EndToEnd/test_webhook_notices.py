"""Emails to administrators about webhooks whose receivers fail."""

import secrets

from machine import wait_until
from test_webhooks import WebhookCase


class Notices(WebhookCase):
    def administrator(self, role, *arguments):
        """Creates an administrator. Returns the address."""
        address = f"{secrets.token_hex(6)}@example.com"
        self.site.dossier("administrator", "create", address, "--role", role, *arguments)
        return address

    def administrators(self, app):
        """Returns the addresses of those who get emails about an app, and of those who do not."""
        other = self.site.add_app(f"{app}-other") and f"{app}-other"
        told = [self.administrator("owner"), self.administrator("admin"),
                self.administrator("admin", "--app", app)]
        others = [self.administrator("viewer"), self.administrator("support"),
                  self.administrator("owner", "--app", other), self.administrator("admin")]
        [disabled] = [one["id"] for one in self.site.dossier("administrator", "list")
                      if one["email"] == others[-1]]
        self.site.dossier("administrator", "disable", disabled)
        return told, others

    def subjects(self, address):
        return [str(mail["Subject"]) for mail in self.site.mail_messages(address)]

    def wait_for(self, addresses, *subjects):
        for address in addresses:
            wait_until(lambda: len(self.subjects(address)) >= len(subjects),
                       what=f"{subjects} to {address}")
            self.assertEqual(self.subjects(address), list(subjects))

    def fail_often(self, webhook, headers, name):
        """Lets the receiver fail until the webhook counts as failing."""
        self.receiver.answer = lambda _: (500, {}, b"broken")
        for number in range(6):
            self.sign_up(f"{name}-{number}", headers)

        def failures():
            self.hurry()
            return self.command("show", webhook)["status"]["failures"]

        wait_until(lambda: failures() >= 20)
        wait_until(lambda: self.planned() != "")

    def planned(self):
        """Returns in how many hours the next email is due."""
        return self.site.sql(
            "select coalesce(round(extract(epoch from notice_due_at - now()) / 3600)::text, '') "
            f"from webhook_progress where {self.waiting()}")

    def let_time_pass(self):
        self.site.sql("update webhook_progress set notice_due_at = now() - interval '1 second' "
                      f"where notice_due_at is not null and {self.waiting()}")

    def test_a_failing_webhook_is_mailed_after_an_hour_and_each_day(self):
        headers = self.app("ailing")
        told, others = self.administrators("ailing")
        # One of them has chosen a language.
        german = self.administrator("admin")
        self.site.sql(f"update users set locale = 'de' where email = '{german}'")
        webhook = self.webhook(types="user.*", url=f"{self.receiver.url}/ailing?key=hidden-part")
        self.fail_often(webhook, headers, "ailing")
        self.assertEqual(self.planned(), "1")
        self.let_time_pass()
        fails = "A webhook of ailing fails"
        self.wait_for(told, fails)
        self.wait_for([german], "Ein Webhook von ailing schlägt fehl")
        self.assertEqual(self.planned(), "24")
        [text] = self.site.mails(told[0])
        self.assertIn(self.receiver.url, text)
        self.assertIn("The last failure: status 500.", text)
        self.assertNotIn("hidden-part", text)
        self.let_time_pass()
        self.wait_for(told, fails, fails)
        # A success ends the emails.
        self.receiver.answer = self.receiver.accept
        self.hurry()
        wait_until(lambda: self.planned() == "")
        # A later email shows that nothing else was sent.
        self.receiver.answer = lambda _: (410, {}, b"")
        self.sign_up("ailing-last", headers)
        self.wait_for(told, fails, fails, "A webhook of ailing is disabled")
        for address in others:
            self.assertEqual(self.subjects(address), [])

    def test_a_disabled_webhook_is_mailed_at_once(self):
        headers = self.app("ended")
        told, others = self.administrators("ended")
        webhook = self.webhook(types="user.*")
        self.fail_often(webhook, headers, "ended")
        self.site.sql("update webhook_progress set failing_since = now() - interval '6 days' "
                      f"where {self.waiting()}")

        def is_enabled():
            self.hurry()
            return self.command("show", webhook)["enabled"]

        wait_until(lambda: not is_enabled())
        disabled = "A webhook of ended is disabled"
        self.wait_for(told, disabled)
        self.assertEqual(self.planned(), "")
        for address in others:
            self.assertEqual(self.subjects(address), [])

    def test_a_webhook_that_an_operator_disables_is_not_mailed(self):
        headers = self.app("stopped")
        told = self.administrator("owner")
        webhook = self.webhook(types="user.*")
        self.fail_often(webhook, headers, "stopped")
        self.command("set", webhook, "enabled=false")
        self.let_time_pass()
        wait_until(lambda: self.planned() == "")
        self.assertEqual(self.subjects(told), [])
