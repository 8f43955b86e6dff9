"""Unrequested mails, the language of mails, and the device and time that they name."""

import re
import unittest

from cases import Case
from machine import wait_until

FIREFOX = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"}
TIME = r"\d{1,2} \w+ \d{4}, \d\d:\d\d UTC"


class MailOccasions(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True, new_device_mail=True, unknown_address_mail=True)

    def setUp(self):
        self.site.sql("delete from rate_limits")

    def subjects(self, email):
        return [str(mail["Subject"]) for mail in self.site.mail_messages(email)]

    def wait_for(self, email, subject, count=1):
        wait_until(lambda: self.subjects(email).count(subject) >= count,
                   what=f"{count} mails to {email}: {subject}")

    def reset(self, email, **options):
        return self.expect(
            self.post("/v1/password/reset-request", {"email": email}, **options), 202)

    # New devices

    def test_a_sign_in_on_a_new_device_is_mailed_once(self):
        email = "devices@example.com"
        self.verified(email)
        grant = self.expect(self.login(email, headers=FIREFOX), 200).json
        self.wait_for(email, "New sign-in to Dossier")
        device = {"Dossier-Device": grant["device_secret"]}
        self.expect(self.login(email, headers=device), 200)
        # A later mail shows that the sign-in on the known device has sent none.
        self.reset(email)
        self.site.mailed(email, "ds_reset")
        self.assertEqual(self.subjects(email).count("New sign-in to Dossier"), 1)
        [text] = [mail for mail in self.site.mails(email) if "on a new device" in mail]
        self.assertRegex(text, f"on a new device: Firefox on Linux\\.\n\nTime: {TIME}\\.")

    def test_an_unverified_address_gets_no_mail_about_sign_ins(self):
        email = "unverified@example.com"
        self.expect(self.register(email), 201)
        self.expect(self.login(email), 200)
        self.reset(email)
        self.site.mailed(email, "ds_reset")
        self.assertNotIn("New sign-in to Dossier", self.subjects(email))

    def test_a_blocked_user_is_refused(self):
        """The mail needs an answer of the database before that about the user is read."""
        self.addCleanup(self.site.set_app, mfa="off")
        for mfa in ["off", "optional"]:
            with self.subTest(mfa):
                self.site.set_app(mfa=mfa)
                email = f"blocked-{mfa}@example.com"
                user = self.verified(email)["user_id"]
                asked = self.post("/v1/login/code/request", {"email": email})
                flow, code = self.expect(asked, 202).json["flow"], self.mailed_code(email)
                self.site.dossier("user", "block", "--yes", user)
                self.expect(self.enter(flow, code), 401)

    # Addresses without a user

    def test_an_unknown_address_gets_a_mail_that_says_so(self):
        self.reset("nobody@example.com")
        self.wait_for("nobody@example.com", "Sign-in attempt at Dossier")
        [mail] = self.site.mails("nobody@example.com")
        self.assertNotIn("nobody", mail)

    def test_an_unknown_address_gets_a_mail_if_sign_up_is_closed(self):
        app = self.site.add_app("shut", sign_up="closed", email_code=True,
                                unknown_address_mail=True)
        body = {"email": "stranger@example.com"}
        self.expect(self.post("/v1/login/code/request", body, headers=app), 202)
        self.wait_for("stranger@example.com", "Sign-in attempt at shut")

    def test_an_unknown_address_gets_no_mail_by_default(self):
        app = self.site.add_app("silent")
        self.reset("unheard@example.com", headers=app)
        # The queue is empty once the request has been handled.
        wait_until(lambda: self.site.sql("select count(*) from mail_outbox where kind = 'request'") == "0",
                   what="an empty queue")
        self.assertEqual(self.site.mails("unheard@example.com"), [])

    # Languages

    def test_a_mail_is_in_the_language_of_the_client(self):
        for number, (field, words) in enumerate([
                ("de-AT,de;q=0.9,en;q=0.8", "Diesen Code"), ("nl, de;q=0.5", "Diesen Code"),
                ("en;q=0.2, de;q=0.1", "Enter this code"), ("de;q=0", "Enter this code"),
                ("x" * 4000, "Enter this code"), (";;,,=", "Enter this code")]):
            with self.subTest(field[:30]):
                email = f"language-{number}@example.com"
                self.expect(self.post("/v1/login/code/request", {"email": email},
                                      headers={"Accept-Language": field}), 202)
                self.mailed_code(email)
                [mail] = self.site.mails(email)
                self.assertTrue(mail.startswith(words), mail)

    def test_a_later_mail_is_in_the_language_of_the_client_too(self):
        self.reset("spaeter@example.com", headers={"Accept-Language": "de"})
        self.wait_for("spaeter@example.com", "Anmeldeversuch bei Dossier")

    # What a code names

    def test_a_mail_names_time_and_device_without_text_of_the_client(self):
        for number, (agent, device) in enumerate([
                (FIREFOX["User-Agent"], "Firefox on Linux"),
                ("Visit evil.example now", "an unknown device"),
                ("evil.example/1.0 (iPhone)", "iPhone")]):
            email = f"agent-{number}@example.com"
            self.expect(self.post("/v1/login/code/request", {"email": email},
                                  headers={"User-Agent": agent}), 202)
            self.mailed_code(email)
            [mail] = self.site.mails(email)
            self.assertRegex(mail, f"Request: {TIME}, {re.escape(device)}\\.\n")
            self.assertNotIn("evil", mail)

    # Addresses that mail cannot reach

    def test_an_undeliverable_address_is_refused_if_mail_is_configured(self):
        address = "jürgen@example.com"
        grant = self.verified("reachable@example.com")
        for path in ["/v1/password/reset-request", "/v1/login/code/request",
                     "/v1/email/verify/request"]:
            answer = self.expect(self.post(path, {"email": address}), 422)
            self.assertIn("ASCII", answer.body.decode(), path)
        self.expect(self.post("/v1/me/email", {"email": address}, token=grant["access_token"]), 422)
        app = self.site.add_app("first", sign_up="verify_first")
        self.expect(self.register(address, headers=app), 422)


if __name__ == "__main__":
    unittest.main()
