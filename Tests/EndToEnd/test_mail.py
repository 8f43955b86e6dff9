"""Verification of addresses and resets of passwords by mail."""

import email
import email.policy
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

    def test_a_registered_address_is_refused(self):
        owner = self.expect(self.register("owner@example.com", "the first password"), 201).json
        # Verified or not, and with any password.
        for verify in [lambda: None, lambda: self.expect(
                self.verify(self.site.mailed("owner@example.com", "ds_verify"), owner), 204)]:
            verify()
            for password in ["another password", "the first password"]:
                self.expect(self.register("OWNER@example.com", password), 409, "email_taken")
            self.expect(self.login("owner@example.com", "another password"), 401,
                        "wrong_credentials")
            login = self.expect(self.login("owner@example.com", "the first password"), 200).json
            self.assertEqual(login["user_id"], owner["user_id"])
        self.expect(self.me(owner), 200)

    def test_one_of_concurrent_registrations_gets_the_address(self):
        answers = in_parallel(8, lambda i: self.register("race@example.com", f"password of many {i}!"))
        self.assertEqual(sorted(answer.status for answer in answers), [201] + [409] * 7)
        for table, member in [("users", "email"), ("identity_subjects", "subject")]:
            self.assertEqual(self.site.sql(
                f"select count(*) from {table} where {member} = 'race@example.com'"), "1")
        # Registering was a guess each time.
        self.site.sql("delete from rate_limits")
        logins = in_parallel(8, lambda i: self.login("race@example.com", f"password of many {i}!").status)
        self.assertEqual([status == 200 for status in logins],
                         [answer.status == 201 for answer in answers])

    def test_addresses_are_compared_without_case_and_form(self):
        self.expect(self.register("Uni@MÜNCHEN.example"), 201)
        self.expect(self.login(" UNI@mu\u0308nchen.EXAMPLE "), 200)

    def test_a_mailed_token_works_once_and_expires(self):
        grant = self.expect(self.register("once@example.com"), 201).json
        first = self.site.mailed("once@example.com", "ds_verify")
        self.site.add_tokens("once@example.com", 47)
        for count in [2, 3, 4]:
            self.expect(self.post("/v1/email/verify/request", {"email": "once@example.com"}), 202)
            second = self.site.mailed("once@example.com", "ds_verify", count)
        # One token too many replaces the first one when its mail was accepted.
        wait_until(lambda: self.site.sql(
            "select count(*) from mail_tokens t join users using (user_id) "
            "where users.email = 'once@example.com'") == "50", what="the end of the first token")
        self.expect(self.verify(first, grant), 400, "mail_token_invalid")
        self.site.sql("update mail_tokens set expires_at = now()")
        self.expect(self.verify(second, grant), 400, "mail_token_invalid")
        for token in ["", "x", second.replace("ds_verify", "ds_reset"), second[:-2]]:
            self.expect(self.verify(token, grant), 400, "mail_token_invalid")

    def test_a_code_creates_the_user_with_verify_first(self):
        app = self.site.add_app("careful", sign_up="verify_first", failures_per_ip=1000)
        email = "care@example.com"
        answer = self.expect(self.register(email, headers=app), 202)
        self.assertEqual(set(answer.json), {"flow", "expires_in"})
        code = self.mailed_code(email)
        self.assertEqual(self.site.sql(f"select count(*) from users where email = '{email}'"), "0")
        self.expect(self.login(email, headers=app), 401, "wrong_credentials")
        enter = ("/v1/login/code", {"flow": answer.json["flow"], "code": code})
        grant = self.expect(self.post(*enter, headers=app), 200).json
        self.assertTrue(self.me(grant, headers=app).json["email_verified"])
        self.expect(self.post(*enter, headers=app), 401, "code_invalid")
        self.assertEqual(self.expect(self.login(email, headers=app), 200).json["user_id"],
                         grant["user_id"])
        # The answer is the same for a free and a taken address. Only the mail differs.
        again = self.expect(self.register(email, "another one", headers=app), 202)
        self.assertEqual(set(again.json), {"flow", "expires_in"})
        wait_until(lambda: any("tried to use this email address" in mail for mail in self.site.mails(email)),
                   what="the mail to the owner")
        self.assertEqual(self.codes(email), [code])
        self.expect(self.login(email, "another one", headers=app), 401, "wrong_credentials")

    def test_an_existing_user_verifies_with_link_and_password(self):
        app = self.site.add_app("stricter", failures_per_ip=1000)
        email = "before@example.com"
        grant = self.expect(self.register(email, headers=app), 201).json
        self.site.set_app("stricter", sign_up="verify_first")
        self.expect(self.login(email, headers=app), 403, "email_unverified")
        self.expect(self.login(email, "wrong horse", headers=app), 401, "wrong_credentials")
        token = self.site.mailed(email, "ds_verify")
        self.expect(self.verify(token, headers=app), 401, "sign_in_to_verify")
        self.expect(self.verify(token, password="wrong horse", headers=app), 401,
                    "wrong_credentials")
        verified = self.expect(self.verify(token, password="correct horse", headers=app), 200).json
        self.assertEqual(verified["user_id"], grant["user_id"])
        self.assertTrue(self.me(verified, headers=app).json["email_verified"])
        self.expect(self.login(email, headers=app), 200)

    def test_a_password_change_requires_the_password_and_ends_other_sessions(self):
        grant = self.verified("change@example.com")
        other = self.expect(self.login("change@example.com"), 200).json

        def change(current, new):
            return self.post("/v1/password/change", {"current_password": current,
                             "new_password": new}, token=grant["access_token"])

        self.expect(change("wrong horse", "battery staple"), 401, "wrong_credentials")
        self.expect(change("correct horse", "short"), 422, "validation_failed")
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

    def test_a_reset_requires_the_mail_and_ends_every_session(self):
        grant = self.verified("reset@example.com")
        for address in ["Reset@example.com", "nobody@example.com"]:
            answer = self.expect(self.post("/v1/password/reset-request", {"email": address}), 202)
            self.assertEqual(answer.body, b"")
        # The mail is sent to the address as registered.
        token = self.site.mailed("reset@example.com", "ds_reset")
        self.assertEqual(self.site.mails("nobody@example.com"), [])
        short = self.post("/v1/password/reset", {"token": token, "password": "short"})
        self.expect(short, 422, "validation_failed")
        body = {"token": token, "password": "battery staple"}
        self.expect(self.post("/v1/password/reset", body), 200)
        self.expect(self.post("/v1/password/reset", body), 400, "mail_token_invalid")
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        self.expect(self.login("reset@example.com"), 401, "wrong_credentials")
        again = self.expect(self.login("reset@example.com", "battery staple"), 200).json
        self.assertIn("password_reset", self.audit(again))
        # It verifies the address, too.
        self.expect(self.register("unproved@example.com"), 201)
        self.expect(self.post("/v1/password/reset-request", {"email": "unproved@example.com"}), 202)
        token = self.site.mailed("unproved@example.com", "ds_reset")
        grant = self.expect(self.reset(token, "my own words"), 200).json
        self.assertTrue(self.me(grant).json["email_verified"])
        self.expect(self.login("unproved@example.com", "my own words"), 200)

    def test_mail_to_one_address_is_limited(self):
        statuses = [self.post("/v1/password/reset-request", {"email": "flood@example.com"}).status
                    for _ in range(12)]
        self.assertEqual(statuses, [202] * 10 + [429] * 2)


class WithoutMail(Case):
    SETTINGS = {"DOSSIER_MAIL": ""}

    def test_a_deployment_without_mail_reports_it(self):
        self.expect(self.register("mute@example.com"), 201)
        for path in ["/v1/email/verify/request", "/v1/password/reset-request"]:
            answer = self.post(path, {"email": "mute@example.com"})
            self.expect(answer, 503, "mail_not_configured")


class ThroughARelay(Case):
    """A real SMTP server (Debian's python3-aiosmtpd) that stores mail in a Maildir."""

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
        cls.relay.wait(120)
        shutil.rmtree(cls.box)

    def test_mail_reaches_the_relay_and_verifies_the_address(self):
        grant = self.expect(self.register("far@example.com"), 201).json
        box = mailbox.Maildir(self.box + "/mail", create=False)
        wait_until(lambda: len(box) == 1, what="the mail")
        message = email.message_from_bytes(
            box.get_bytes(next(iter(box.keys()))), policy=email.policy.default)
        self.assertEqual((message["X-RcptTo"], message["To"]), ("far@example.com",) * 2)
        token = re.search(r"ds_verify_[\w-]+", message.get_body(["plain"]).get_content())[0]
        self.expect(self.verify(token, grant), 204)


if __name__ == "__main__":
    unittest.main()
