"""What became of emails: kept for seven days, without their texts."""

import unittest

from aiosmtpd.controller import Controller

from cases import Administration
from console import ConsoleCase, quoted
from machine import free_port, wait_until
from test_outbox import Inbox

MASKED = "g…@example.com"


class Deliveries(Administration):
    """A relay that accepts all emails but those to `nobody…`."""

    @classmethod
    def setUpClass(cls):
        port = free_port()
        cls.inbox = Inbox()
        cls.relay = Controller(cls.inbox, hostname="127.0.0.1", port=port)
        cls.relay.start()
        cls.SETTINGS = {"DOSSIER_MAIL": f"smtp://127.0.0.1:{port}", "DOSSIER_MAIL_TLS": "optional"}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.relay.stop()

    def of(self, user):
        return self.site.dossier("mail", "list", "--user", user)

    def wait(self, user, state="sent", count=1):
        """Waits for emails in a state. Returns them, the newest first."""
        wait_until(lambda: sum(mail["state"] == state for mail in self.of(user)) >= count,
                   what=f"{count} emails that are {state}")
        return [mail for mail in self.of(user) if mail["state"] == state]

    def test_a_sent_email_is_listed_without_its_text(self):
        email = "grace@example.com"
        grant = self.expect(self.register(email), 201).json
        [mail] = self.wait(email)
        self.assertEqual(
            [mail[name] for name in ["app", "kind", "to", "user_id", "attempts", "answer", "last_error"]],
            ["default", "verify", MASKED, grant["user_id"], 1, "250 OK", None])
        self.assertIsNotNone(mail["ended_at"])
        self.assertEqual(self.of(grant["user_id"]), [mail])
        [token] = self.inbox.tokens(email)
        stored = self.site.sql("select * from mail_deliveries") + self.site.dossier(
            "api", "GET", "/v1/mails?state=sent", output="text", check=False).stdout
        self.assertIn(MASKED, stored)
        for secret in [token, email, "grace@"]:
            self.assertNotIn(secret, stored)
        # The lists of the deployment.
        listed = lambda *words: [one["id"] for one in self.site.dossier("mail", "list", *words)]
        self.assertIn(mail["id"], listed("--state", "sent"))
        self.assertIn(mail["id"], listed("--state", "sent", "--app", "default"))
        self.assertNotIn(mail["id"], listed("--state", "failed") + listed("--state", "waiting"))
        self.site.add_app("elsewhere")
        self.assertEqual(listed("--state", "sent", "--app", "elsewhere"), [])
        self.refused(12, "mail", "list", "--state", "lost", words="state must be one of")
        self.refused(64, "mail", "list", "--state", "sent", "--user", email)

    def test_pages_of_sent_emails(self):
        for number in range(4):
            email = f"page{number}@example.com"
            self.expect(self.register(email), 201)
            self.wait(email)
        everything = self.site.dossier("mail", "list", "--state", "sent", "--all")
        ids = [mail["id"] for mail in everything]
        self.assertEqual(ids, sorted(ids, reverse=True))
        found, cursor = [], []
        while len(found) < 4:
            page = self.site.dossier("mail", "list", "--state", "sent", "--limit", "2", *cursor)
            found += [mail["id"] for mail in page]
            cursor = ["--cursor", found[-1]]
        self.assertEqual(found, ids[:4])

    def test_an_email_that_expires_has_failed(self):
        email = "nobody.home@example.com"
        self.expect(self.register(email), 201)
        [mail] = self.wait(email, "failed")
        self.assertEqual((mail["next_attempt_at"], mail["ended_at"]), (None, None))
        self.assertIn("550 no such mailbox", mail["last_error"])
        self.site.sql("update mail_outbox set expires_at = now()")
        self.restart()
        wait_until(lambda: self.of(email)[0]["ended_at"], what="the end of the email")
        [ended] = self.of(email)
        self.assertEqual((ended["id"], ended["state"], ended["to"], ended["answer"]),
                         (mail["id"], "failed", "n…@example.com", None))
        self.assertIn("550 no such mailbox", ended["last_error"])
        self.assertIn(mail["id"], [one["id"] for one in self.site.dossier("mail", "list", "--state", "failed")])

    def test_the_check_of_a_sign_in_has_the_emails(self):
        email = "new.here@example.com"
        self.site.add_app("first", sign_up="verify_first")
        app = {"Dossier-App": "first"}
        self.expect(self.register(email, headers=app), 202)
        explain = lambda: self.site.dossier("user", "explain", email, "--app", "first")
        wait_until(lambda: explain()["mails"], what="the email")
        # No user has the address yet.
        found = explain()
        self.assertIsNone(found["user_id"])
        [mail] = found["mails"]
        self.assertEqual((mail["mail"]["kind"], mail["mail"]["user_id"]), ("code", None))
        self.assertRegex(
            mail["text"],
            r"^An email with a code was sent to n…@example\.com at \S+: the mail server answered 250 OK\.$")
        shown = self.site.dossier("user", "explain", email, "--app", "first", check=False, output="text")
        self.assertIn(mail["text"], shown.stderr)

    def test_a_code_for_a_user_is_an_email_of_the_user(self):
        email = "coded@example.com"
        self.site.dossier("app", "set", "--app", "default", "email_code=true")
        user = self.expect(self.register(email), 201).json["user_id"]
        self.wait(email)
        self.expect(self.post("/v1/login/code/request", {"email": email}), 202)
        mails = self.wait(email, count=2)
        self.assertEqual([(mail["kind"], mail["user_id"]) for mail in mails], [("code", user), ("verify", user)])

    def test_the_deletion_of_a_user_deletes_them(self):
        email = "leaving@example.com"
        grant = self.expect(self.register(email), 201).json
        self.wait(email)
        # One of the same address without a user.
        self.site.sql("insert into mail_deliveries select app_id, repeat('a', 24), app_id, 'code', recipient, "
                      "recipient_hash, 1, true, answer, created_at, ended_at from mail_deliveries "
                      f"where user_id = '{grant['user_id']}'")
        self.assertEqual(len(self.of(email)), 2)
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)
        self.assertEqual(self.site.sql("select count(*) from mail_deliveries where recipient = 'l…@example.com'"), "0")

    def test_only_support_sees_them(self):
        user = self.expect(self.register("guarded@example.com"), 201).json
        path = f"/v1/users/{user['user_id']}/mails"
        reader = self.site.client("scopes=read:users")["secret"]
        self.expect(self.site.get(path, token=reader), 200)
        other = self.site.client("scopes=read:events")["secret"]
        self.expect(self.site.get(path, token=other), 403, "insufficient_scope")
        self.expect(self.site.get(path, token=user["access_token"]), 401)
        self.expect(self.site.get(path), 401)
        self.expect(self.site.get(f"/v1/users/{'a' * 24}/mails", token=reader), 404)


class Pages(ConsoleCase):
    def test_support_sees_the_emails_of_a_user(self):
        email = self.new_address()
        user = self.user(email=email)
        support = self.administrator("support")
        path = f"/console/default/users/{user}/emails"
        self.assertIn("No email was sent to this user", support.open(path).text)
        self.site.dossier("user", "password", user, "--mail", "--app", "default")
        wait_until(lambda: "Sent" in support.open(path).text.partition("Answer of the mail server")[2],
                   what="the email")
        page = support.open(path)
        self.assertIn(f"{email[0]}…@example.com", page.text)
        self.assertIn("stored in the folder", page.text)
        self.assertNotIn("ds_reset", page.text)
        # So does the check of the sign-in.
        page = support.open(quoted("/console/default/sign-in-check", user=email))
        self.assertIn("Emails of the last 7 days", page.text)
        # A viewer sees neither the tab nor the page.
        viewer = self.administrator("viewer")
        self.assertNotIn(path, viewer.open(f"/console/default/users/{user}").links.values())
        self.assertEqual(viewer.open(path).status, 403)

    def test_the_outbox_has_filters(self):
        email = self.new_address()
        user = self.user(email=email)
        self.site.dossier("user", "password", user, "--mail", "--app", "default")
        owner = self.administrator()
        path = "/console/-/outbox"
        masked = f"{email[0]}…@example.com"
        sent = lambda **more: owner.open(quoted(path, state="sent", **more))
        wait_until(lambda: masked in sent().text, what="the email")
        self.assertIn(masked, sent(app="default").text)
        self.assertIn(f"/console/default/users/{user}", sent().body.decode())
        self.assertNotIn("Try again", sent().text)
        self.assertIn("No email of the last 7 days is in this state.",
                      owner.open(quoted(path, state="failed")).text)
        page = sent(app="no-such-app")
        self.assertEqual(page.errors, ["No app has this name."])
        self.assertIn("dossier mail list --state sent --app default", sent(app="default").text)

    def test_an_administrator_chooses_the_language_of_emails(self):
        owner = self.administrator()
        page = owner.open("/console/-/me")
        self.assertIn("Deutsch", page.text)
        page = owner.submit("/me/language", language="de")
        self.assertIn("The language is saved.", page.text)
        self.assertEqual(owner.form("/me/language").fields["language"], "de")
        self.assertEqual(self.site.sql("select locale from users join administrators using (user_id) "
                                       f"where users.email = '{owner.address}'"), "de")


if __name__ == "__main__":
    unittest.main()
