"""Addresses that are confirmed and passwords that are reset by mail."""

import mailbox
import re
import shutil
import subprocess
import tempfile
import unittest

from cases import Case, in_parallel
from machine import free_port, is_listening, wait_until


class Mail(Case):
    def audit(self, grant):
        return [event["action"] for event in self.expect(self.me(grant, "/audit"), 200).json]

    def identities(self, grant):
        return self.expect(self.me(grant, "/identities"), 200).json

    def test_registering_an_unconfirmed_address_first_takes_nothing_from_its_owner(self):
        attacker = self.expect(self.register("owner@example.com", "attackers pass"), 201).json
        owner = self.expect(self.register("OWNER@example.com", "rightful password"), 201).json
        self.assertNotEqual(attacker["user_id"], owner["user_id"])
        # Until somebody proves it, both come in, each to its own user.
        for grant, password in [(attacker, "attackers pass"), (owner, "rightful password")]:
            login = self.expect(self.login("owner@example.com", password), 200)
            self.assertEqual(login.json["user_id"], grant["user_id"])
        token = self.site.mailed("OWNER@example.com", "dct")
        self.expect(self.confirm(token, owner), 204)
        self.expect(self.login("owner@example.com", "attackers pass"), 401, "wrong_credentials")
        self.expect(self.login("owner@example.com", "rightful password"), 200)
        # Without a way in it is anonymous again, and keeps its session.
        lost = self.me(attacker).json
        self.assertEqual((lost["email"], lost["email_verified"], lost["anonymous"]),
                         (None, False, True))
        self.assertEqual([i["provider"] for i in self.identities(attacker)], ["anonymous"])
        self.assertIn("unlink", self.audit(attacker))
        # What was mailed for the attacker's user is of no use any more.
        first = self.site.mails("owner@example.com")
        self.assertEqual(len(first), 1)
        taken = self.confirm(self.token_in(first[0]), attacker)
        self.expect(taken, 400, "mail_token_invalid")
        self.expect(self.confirm(token, owner), 400, "mail_token_invalid")

    @staticmethod
    def token_in(mail):
        return next(word for word in mail.split() if word.startswith("d") and "_" in word)

    def test_many_confirm_one_address_at_once_and_one_has_it(self):
        answers = in_parallel(8, lambda i: self.register("race@example.com", f"password {i}!"))
        self.assertEqual({answer.status for answer in answers}, {201})
        # Each has a mail of its own, which is of use to itself alone.
        self.site.mailed("race@example.com", "dct", 8)
        tokens = [self.token_in(mail) for mail in self.site.mails("race@example.com")]
        self.assertEqual(len(set(tokens)), 8)
        grants = {answer.json["user_id"]: answer.json for answer in answers}
        owners = [grants[self.owner(token)] for token in tokens]
        outcomes = in_parallel(8, lambda i: self.confirm(tokens[i], owners[i]))
        statuses = sorted(answer.status for answer in outcomes)
        self.assertEqual((statuses[0], set(statuses[1:]) <= {400, 409}), (204, True), statuses)
        holders = self.site.sql("select count(*) from identity_subjects where provider = 'email' "
                                "and subject = 'race@example.com'")
        self.assertEqual(holders, "1")
        # Registering was a guess each time.
        self.site.sql("delete from attempts")
        ways = [self.login("race@example.com", f"password {i}!").status for i in range(8)]
        self.assertEqual(sorted(ways), [200] + [401] * 7)

    def test_addresses_compare_as_people_do(self):
        self.expect(self.register("Ünï@Example.com"), 201)
        self.expect(self.login(" u\u0308NI\u0308@example.COM "), 200)

    def test_a_token_of_a_mail_works_once_and_not_forever(self):
        grant = self.expect(self.register("once@example.com"), 201).json
        first = self.site.mailed("once@example.com", "dct")
        self.expect(self.post("/v1/confirm/request", {"email": "once@example.com"}), 202)
        second = self.site.mailed("once@example.com", "dct", 2)
        # The newer takes the place of the older when its mail was accepted.
        wait_until(lambda: self.site.sql(
            "select count(*) from mail_tokens t join users using (user_id) "
            "where users.email = 'once@example.com'") == "1", what="the end of the older token")
        self.expect(self.confirm(first, grant), 400, "mail_token_invalid")
        self.site.sql("update mail_tokens set expires_at = now()")
        self.expect(self.confirm(second, grant), 400, "mail_token_invalid")
        for token in ["", "x", second.replace("dct", "dpr"), second[:-2]]:
            self.expect(self.confirm(token, grant), 400, "mail_token_invalid")

    def test_where_confirming_is_asked_for_nobody_comes_in_before(self):
        self.site.sql("insert into apps (app_id, name, settings) values (new_object_id(), 'careful', "
                      "'{\"email_confirmation_required\": true, \"failures_per_address\": 1000}')")
        app = {"Dossier-App": "careful"}
        answer = self.expect(self.register("care@example.com", headers=app), 202)
        self.assertEqual(answer.body, b"")
        self.expect(self.login("care@example.com", headers=app), 403, "email_unconfirmed")
        self.expect(self.login("care@example.com", "wrong", headers=app), 401, "wrong_credentials")
        token = self.site.mailed("care@example.com", "dct")
        self.expect(self.confirm(token, headers=app), 401, "claimant_unproved")
        self.expect(self.confirm(token, password="wrong horse", headers=app), 401,
                    "claimant_unproved")
        self.expect(self.confirm(token, password="correct horse", headers=app), 204)
        self.expect(self.login("care@example.com", headers=app), 200)
        # Taken or not, a registration is answered alike, and so is the login after it.
        self.expect(self.register("care@example.com", "another one", headers=app), 202)
        self.expect(self.login("care@example.com", "another one", headers=app), 403,
                    "email_unconfirmed")

    def test_a_password_is_changed_by_who_knows_it_and_ends_other_sessions(self):
        grant = self.confirmed("change@example.com")
        other = self.expect(self.login("change@example.com"), 200).json

        def change(current, new):
            return self.post("/v1/password/change", {"current_password": current,
                             "new_password": new}, token=grant["access_token"])

        self.expect(change("wrong horse", "battery staple"), 401, "wrong_credentials")
        self.expect(change("correct horse", "short"), 422, "invalid")
        self.renewed(change("correct horse", "battery staple"), grant)
        self.expect(self.me(grant), 200)
        self.expect(self.me(other), 401, "session_ended")
        self.expect(self.login("change@example.com"), 401, "wrong_credentials")
        self.expect(self.login("change@example.com", "battery staple"), 200)
        self.assertIn("password_change", self.audit(grant))
        anonymous = self.site.login()
        refused = self.post("/v1/password/change", {"current_password": "", "new_password":
                            "battery staple"}, token=anonymous["access_token"])
        self.expect(refused, 401, "wrong_credentials")

    def test_a_password_is_reset_by_who_reads_the_mail_and_ends_every_session(self):
        grant = self.confirmed("reset@example.com")
        for address in ["Reset@example.com", "nobody@example.com"]:
            answer = self.expect(self.post("/v1/password/reset-request", {"email": address}), 202)
            self.assertEqual(answer.body, b"")
        # It goes to the address as it was registered.
        token = self.site.mailed("reset@example.com", "dpr")
        self.assertEqual(self.site.mails("nobody@example.com"), [])
        short = self.post("/v1/password/reset", {"token": token, "password": "short"})
        self.expect(short, 422, "invalid")
        body = {"token": token, "password": "battery staple"}
        self.expect(self.post("/v1/password/reset", body), 200)
        self.expect(self.post("/v1/password/reset", body), 400, "mail_token_invalid")
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        self.expect(self.login("reset@example.com"), 401, "wrong_credentials")
        again = self.expect(self.login("reset@example.com", "battery staple"), 200).json
        self.assertIn("password_reset", self.audit(again))
        # It proves the address, too.
        self.expect(self.register("unproved@example.com"), 201)
        self.expect(self.post("/v1/password/reset-request", {"email": "unproved@example.com"}), 202)
        body = {"token": self.site.mailed("unproved@example.com", "dpr"), "password": "my own words"}
        self.expect(self.post("/v1/password/reset", body), 200)
        grant = self.expect(self.login("unproved@example.com", "my own words"), 200).json
        self.assertTrue(self.me(grant).json["email_verified"])

    def test_mail_to_one_address_is_limited(self):
        statuses = [self.post("/v1/password/reset-request", {"email": "flood@example.com"}).status
                    for _ in range(12)]
        self.assertEqual(statuses, [202] * 10 + [429] * 2)


class WithoutMail(Case):
    SETTINGS = {"DOSSIER_MAIL": ""}

    def test_a_deployment_without_mail_says_so(self):
        self.expect(self.register("mute@example.com"), 201)
        for path in ["/v1/confirm/request", "/v1/password/reset-request"]:
            answer = self.post(path, {"email": "mute@example.com"})
            self.expect(answer, 503, "mail_not_configured")


class ThroughARelay(Case):
    """A real SMTP server, of Debian's python3-aiosmtpd, that keeps what it takes in a Maildir."""

    @classmethod
    def setUpClass(cls):
        cls.box = tempfile.mkdtemp(prefix="dossier-mail-")
        port = free_port()
        cls.relay = subprocess.Popen(
            ["/usr/bin/python3", "-m", "aiosmtpd", "-n", "-l", f"127.0.0.1:{port}",
             "-c", "aiosmtpd.handlers.Mailbox", cls.box + "/mail"], stderr=subprocess.DEVNULL)
        cls.SETTINGS = {"DOSSIER_MAIL": f"smtp://127.0.0.1:{port}", "DOSSIER_MAIL_TLS": "optional"}
        wait_until(lambda: is_listening(port), what="the relay")
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.relay.terminate()
        cls.relay.wait(10)
        shutil.rmtree(cls.box)

    def test_what_is_mailed_arrives_and_confirms(self):
        grant = self.expect(self.register("far@example.com"), 201).json
        box = mailbox.Maildir(self.box + "/mail", create=False)
        wait_until(lambda: len(box) == 1, what="the mail")
        message = next(iter(box))
        self.assertEqual((message["X-RcptTo"], message["To"]), ("far@example.com",) * 2)
        token = re.search(r"dct_[\w-]+", message.get_payload())[0]
        self.expect(self.confirm(token, grant), 204)


if __name__ == "__main__":
    unittest.main()
