"""Mail that waits in the database while the relay is unavailable."""

import email
import email.policy
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import unittest

from aiosmtpd.controller import Controller

from cases import Administration, Case
from machine import free_port, new_folder, wait_until
from test_operation import KEY, dossierd


class Inbox:
    """The mail that the test relay accepted. It refuses addresses that begin with `nobody`."""

    def __init__(self):
        self.messages = []

    async def handle_RCPT(self, server, session, envelope, address, options):
        if address.startswith("nobody"):
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        message = email.message_from_bytes(envelope.content, policy=email.policy.default)
        self.messages.append((envelope.rcpt_tos[0], message))
        return "250 OK"

    def tokens(self, address):
        texts = [message.get_body(["plain"]).get_content()
                 for to, message in self.messages if to == address]
        return re.findall(r"\bds_(?:verify|reset)_[\w-]+", "\n".join(texts))


class Strict(Inbox):
    """Refuses clients whose name has no dot, when they name a recipient."""

    def __init__(self):
        super().__init__()
        self.names, self.recipients = [], []

    async def handle_RCPT(self, server, session, envelope, address, options):
        if "." not in session.host_name:
            return f"504 5.5.2 <{session.host_name}>: Helo command rejected: need fully-qualified hostname"
        self.recipients.append(address)
        return await super().handle_RCPT(server, session, envelope, address, options)

    async def handle_DATA(self, server, session, envelope):
        self.names.append(session.host_name)
        return await super().handle_DATA(server, session, envelope)


class Outbox(Administration):
    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.relay, cls.inbox = None, Inbox()
        cls.SETTINGS = {
            "DOSSIER_MAIL": f"smtp://127.0.0.1:{cls.port}", "DOSSIER_MAIL_TLS": "optional"}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.stop_relay()

    def setUp(self):
        self.site.sql("delete from mail_outbox")
        self.stop_relay()

    @classmethod
    def start_relay(cls):
        cls.relay = Controller(cls.inbox, hostname="127.0.0.1", port=cls.port)
        cls.relay.start()

    @classmethod
    def stop_relay(cls):
        if cls.relay:
            cls.relay.stop()
        cls.relay = None

    def queue(self, address):
        return [mail for mail in self.site.dossier("mail", "list") if mail["to"] == address]

    def wait_for_attempt(self, address, attempts=1):
        """Waits until the only mail to an address was tried without success. Returns it."""
        def is_tried():
            found = self.queue(address)
            return found and found[0]["attempts"] >= attempts and found[0]["last_error"]

        wait_until(is_tried, what=f"an attempt for {address}")
        mail, = self.queue(address)
        return mail

    def received(self, address, count=1):
        wait_until(lambda: len(self.inbox.tokens(address)) >= count, what=f"mail to {address}")
        return self.inbox.tokens(address)[-1]

    def test_mail_survives_an_outage_of_the_relay_and_of_every_worker(self):
        grant = self.expect(self.register("ada@example.com"), 201).json
        mail = self.wait_for_attempt("ada@example.com")
        self.assertEqual((mail["app"], mail["kind"]), ("default", "verify"))
        self.assertIsNotNone(mail["next_attempt_at"])
        # The error is in plain words.
        self.assertRegex(mail["last_error"], "^Failed to connect to ")
        # The database reveals neither the code nor the recipient.
        sealed = bytes.fromhex(self.site.sql("select encode(sealed, 'hex') from mail_outbox"))
        for secret in [b"ds_verify_", b"ada@example.com"]:
            self.assertNotIn(secret, sealed)
        # The process that accepted the request is not needed any more.
        for worker in self.site.workers():
            os.kill(worker, signal.SIGKILL)
        self.restart()
        # On a slow machine the time of the next attempt may have come.
        self.site.sql("update mail_outbox set next_attempt_at = now() + interval '1 day'")
        self.start_relay()
        self.assertEqual(self.site.dossier("mail", "retry", mail["id"]), {"mails": 1})
        self.expect(self.verify(self.received("ada@example.com"), grant), 204)
        wait_until(lambda: not self.queue("ada@example.com") or
                   self.queue("ada@example.com")[0]["kind"] == "change", what="its end in the queue")
        # The transaction that verified the address queued a notice.
        wait_until(lambda: len([to for to, _ in self.inbox.messages if to == "ada@example.com"]) == 2,
                   what="the notice")

    def test_a_request_for_unsent_mail_does_not_invalidate_the_earlier_code(self):
        self.start_relay()
        grant = self.expect(self.register("grace@example.com"), 201).json
        first = self.received("grace@example.com")
        wait_until(lambda: not self.queue("grace@example.com"), what="the relay's word")
        self.stop_relay()
        # A stranger.
        self.expect(self.post("/v1/email/verify/request", {"email": "grace@example.com"}), 202)
        self.wait_for_attempt("grace@example.com")
        self.expect(self.verify(first, grant), 204)
        # The use of the first code also ends the code in the queued mail, so that mail is dropped. A
        # node that holds the code may be late, so a worker looks twice, after any number of attempts.
        codes = lambda: [mail for mail in self.queue("grace@example.com") if mail["kind"] == "verify"]
        self.site.dossier("mail", "retry", "--all")
        wait_until(lambda: [mail["last_error"] for mail in codes()] == ["no valid token"],
                   what="the first look at the useless mail")
        self.site.dossier("mail", "retry", "--all")
        wait_until(lambda: codes() == [], what="the end of the useless mail")

    def test_one_token_too_many_ends_the_first_when_the_relay_accepts_it(self):
        self.start_relay()
        grant = self.expect(self.register("joan@example.com"), 201).json
        first = self.received("joan@example.com")
        self.site.add_tokens("joan@example.com", 47)
        for count in [2, 3, 4]:
            self.expect(self.post("/v1/email/verify/request", {"email": "joan@example.com"}), 202)
            last = self.received("joan@example.com", count)
            wait_until(lambda: not self.queue("joan@example.com"), what="the relay's word")
        self.expect(self.verify(first, grant), 400, "mail_token_invalid")
        self.expect(self.verify(last, grant), 204)

    def test_mail_that_the_relay_refuses_is_abandoned_listed_and_dropped(self):
        self.start_relay()
        self.expect(self.register("nobody@example.com"), 201)
        mail = self.wait_for_attempt("nobody@example.com")
        self.assertIsNone(mail["next_attempt_at"])
        self.assertIn("550", mail["last_error"])
        wait_until(lambda: any("mail is abandoned: " in line for line in self.site.messages()),
                   what="a line of the log")
        text = self.site.get("/metrics").body.decode()
        self.assertRegex(text, r"(?m)^dossier_mails_abandoned_total [1-9]")
        self.refused(23, "mail", "delete", "--all", words="--yes")
        self.refused(64, "mail", "delete", words="--all")
        self.refused(10, "mail", "delete", "0" * 24, "--yes")
        self.site.dossier("mail", "delete", mail["id"], "--yes")
        self.assertEqual(self.queue("nobody@example.com"), [])

    def test_the_queue_is_listed_in_pages(self):
        addresses = {f"many{index}@example.com" for index in range(5)}
        for address in addresses:
            self.expect(self.register(address), 201)
        whole = self.site.dossier("mail", "list")
        found, after = [], []
        while True:
            run = self.site.dossier("mail", "list", "--limit", 2, *after, check=False)
            self.assertLessEqual(len(json.loads(run.stdout)), 2)
            found += json.loads(run.stdout)
            more = re.search(r"there may be more: (--cursor) (\w+)", run.stderr)
            if not more:
                break
            after = more.groups()
        self.assertEqual([mail["id"] for mail in found], [mail["id"] for mail in whole])
        self.assertLessEqual(addresses, {mail["to"] for mail in found})

    def test_expired_mail_is_removed_and_reported(self):
        self.expect(self.register("late@example.com"), 201)
        mail = self.wait_for_attempt("late@example.com")
        self.site.sql("update mail_outbox set expires_at = now()")
        wait_until(lambda: any(mail["id"] in line and "it has expired" in line
                               for line in self.site.messages()), what="a line about it")
        self.assertEqual(self.queue("late@example.com"), [])

    def test_the_length_and_age_of_the_queue_are_metrics(self):
        self.expect(self.register("old@example.com"), 201)
        self.wait_for_attempt("old@example.com")
        self.site.sql("update mail_outbox set created_at = now() - interval '1 hour'")

        def shows():
            return (self.site.metric("dossier_mail_queue") == 1
                    and self.site.metric("dossier_mail_queue_oldest_seconds") >= 3600)

        wait_until(shows, what="the queue in the metrics")


class LocalRelay(Case):
    """A relay like Debian's Postfix: a certificate that it has signed itself, and full names only."""

    @classmethod
    def setUpClass(cls):
        folder = new_folder()
        cls.addClassCleanup(shutil.rmtree, folder)
        files = [folder / "relay.key", folder / "relay.pem"]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                        "-subj", "/CN=debian", "-keyout", files[0], "-out", files[1]],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files[1], files[0])
        cls.inbox = Strict()
        relay = Controller(cls.inbox, hostname="127.0.0.1", port=free_port(), tls_context=context,
                           require_starttls=True)
        relay.start()
        cls.addClassCleanup(relay.stop)
        cls.SETTINGS = {"DOSSIER_MAIL": f"smtp://127.0.0.1:{relay.port}", "DOSSIER_MAIL_TLS": "optional",
                        "DOSSIER_ISSUER": "https://users.example.com"}
        super().setUpClass()

    def test_mail_is_sent_by_the_name_of_the_issuer_or_of_the_setting(self):
        self.expect(self.register("ada@example.com"), 201)
        wait_until(lambda: self.inbox.names == ["users.example.com"], what="the mail")
        # The relay has it before the queue has forgotten it.
        wait_until(lambda: not self.site.dossier("mail", "list"), what="an empty queue")
        self.restart(DOSSIER_MAIL_CLIENT_NAME="users")
        self.expect(self.register("grace@example.com"), 201)
        error = lambda: [mail["last_error"] for mail in self.site.dossier("mail", "list")]
        wait_until(lambda: any(error()), what="the refusal")
        # It is not abandoned, so it is sent after the operator has set another name.
        mail, = self.site.dossier("mail", "list")
        self.assertIn("504 5.5.2 <users>", mail["last_error"])
        self.assertIsNotNone(mail["next_attempt_at"])
        self.restart(DOSSIER_MAIL_CLIENT_NAME="[192.0.2.1]")
        self.site.dossier("mail", "retry", "--all")
        wait_until(lambda: self.inbox.names[1:] == ["[192.0.2.1]"], what="the mail")


class Settings(unittest.TestCase):
    def test_invalid_mail_settings_are_refused(self):
        for mail, words in [("ftp://x", "smtp://host"), ("/nonexistent", "there is no folder"),
                            ("smtp://host:25/path", "smtp://host"), ("/dev/null", "no folder")]:
            self.refuse(words, DOSSIER_MAIL=mail)
        self.refuse("a b is neither a host name", DOSSIER_MAIL="smtp://host", DOSSIER_MAIL_CLIENT_NAME="a b")

    def refuse(self, words, **settings):
        refused = dossierd("config", DOSSIER_DATABASE="x", DOSSIER_MASTER_KEY=KEY, **settings)
        self.assertEqual(refused.returncode, 78, settings)
        self.assertIn("mail: ", refused.stderr)
        self.assertIn(words, refused.stderr)


if __name__ == "__main__":
    unittest.main()
