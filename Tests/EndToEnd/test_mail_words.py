"""Links to a page of the app in mails, mails in the reader's language, and who follows a link."""

import unittest

from asking import JSON
from cases import Administration
from machine import wait_until


class MailWords(Administration):
    def patch(self, grant, body):
        return self.expect(self.site.request(
            "PATCH", "/v1/me", body, JSON, grant["access_token"]), 200)

    def test_links_lead_to_the_page_of_the_app_with_the_token_in_the_fragment(self):
        page = "https://app.example.com/account?from=mail"
        self.site.dossier("app", "set", "default", f"mail_page={page}", "email_code=true")
        self.addCleanup(self.site.dossier, "app", "set", "default", "mail_page=null")
        grant = self.confirmed("linked@example.com")
        self.expect(self.post("/v1/password/reset-request", {"email": "linked@example.com"}), 202)
        reset = self.site.mailed("linked@example.com", "dpr")
        self.expect(self.post("/v1/me/email", {"email": "moved@example.com"},
                              token=grant["access_token"]), 202)
        change = self.site.mailed("moved@example.com", "dna")
        self.expect(self.post("/v1/me/email/confirm", {"token": change},
                              token=grant["access_token"]), 204)
        restore = self.site.mailed("linked@example.com", "doa")
        mails = "\n".join(self.site.mails("linked@example.com") + self.site.mails("moved@example.com"))
        for name, token in [("confirm", "dct_"), ("reset", reset), ("email", change),
                            ("restore", restore)]:
            self.assertIn(f"\n{page}#{name}={token}", mails)

    def test_a_page_is_a_page(self):
        for page in ["http://app.example.com/", "app.example.com", "https://", "https://a.b/#c",
                     "https://a.b/ c", "javascript:alert(1)"]:
            self.refused(12, "app", "set", "default", f"mail_page={page}", words="mail_page")
        for page in ["http://127.0.0.1:9000/", "http://localhost:9000", "https://a.example", ""]:
            self.site.dossier("app", "set", "default", f"mail_page={page}")

    def test_mail_is_in_the_language_of_its_reader(self):
        self.site.dossier("app", "set", "default", """mail_translations={
            "de": {"reset_subject": "Neues Passwort", "reset_text": "Hallo {{email}}: {{link}}",
                   "change_text": "Geändert: {{change}}"},
            "pt-BR": {"reset_text": "Oi {{token}}"}}""")
        self.addCleanup(self.site.dossier, "app", "set", "default", "mail_translations=null")
        for n, (locale, words) in enumerate([("de-AT", "Hallo "), ("de", "Hallo "), ("DE", "Hallo "),
                              ("pt-BR", "Oi "), ("pt-PT", "Hello,"), ("fr", "Hello,"),
                              (None, "Hello,")]):
            with self.subTest(locale):
                email = f"reader-{n}@example.com"
                grant = self.confirmed(email)
                if locale:
                    self.patch(grant, {"locale": locale})
                self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
                token = self.site.mailed(email, "dpr")
                self.assertTrue(any(mail.startswith(words) and token in mail
                                    for mail in self.site.mails(email)), self.site.mails(email))
        # The owner hears of changes in it, too.
        grant = self.confirmed("owner@example.com")
        self.patch(grant, {"locale": "de"})
        self.expect(self.post("/v1/me/api-keys", {"name": "x"}, token=grant["access_token"]), 201)
        wait_until(lambda: any(mail.startswith("Geändert:")
                               for mail in self.site.mails("owner@example.com")), what="the mail")

    def test_words_that_nobody_could_be_sent_are_refused(self):
        for value in ["[]", '{"de": 1}', '{"de_AT": {}}', '{"x": {}}', '{"de": {"mail_from": "x"}}',
                      '{"de": {"reset_text": "{{tokn}}"}}', '{"de": {"reset_text": "{{token"}}',
                      '{"de": {"reset_subject": "two\\nlines"}}', '{"de": {"reset_text": ""}}']:
            self.refused(12, "app", "set", "default", f"mail_translations={value}",
                         words="mail_translations")
        for setting in ["reset_text={{tokn}}", "code_text={{token}}", "change_subject={{x"]:
            self.refused(12, "app", "set", "default", setting, words="Nobody can be sent this")
        self.site.dossier("app", "set", "default", "reset_text=Use {{ token }} or {{link}}")
        self.site.dossier("app", "set", "default", "reset_text=null")


class Links(Administration):
    """Who follows the link of a mail where the account was made is logged in by it."""

    def test_the_claimant_s_device_confirms_and_is_logged_in(self):
        grant = self.expect(self.register("device@example.com"), 201).json
        key = self.expect(self.post("/v1/me/api-keys", {"name": "x"},
                                    token=grant["access_token"]), 201).json["key"]
        token = self.site.mailed("device@example.com", "dct")
        # Nowhere else.
        stranger = self.site.login()
        for device in [None, stranger["device_secret"]]:
            headers = {"Dossier-Device": device} if device else {}
            self.expect(self.confirm(token, headers=headers), 401, "claimant_unproved")
        self.expect(self.confirm(token, headers={"Dossier-Device": "ddv_x"}), 401, "device_unknown")
        headers = {"Dossier-Device": grant["device_secret"]}
        # Somebody else's session there is no proof of this user's.
        other = self.site.login(grant["device_secret"])
        headers = {"Dossier-Device": other["device_secret"]}
        self.expect(self.confirm(token, other, headers=headers), 401, "claimant_unproved")
        answer = self.expect(self.confirm(token, headers=headers), 200).json
        self.assertEqual((answer["user_id"], answer["device_id"]),
                         (grant["user_id"], grant["device_id"]))
        self.assertTrue(self.me(answer).json["email_verified"])
        # As when a code logs in: what was there before the proof logs in no more.
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.post("/v1/login/api-key", {"key": key}), 401, "wrong_credentials")
        self.expect(self.login("device@example.com"), 401, "wrong_credentials")
        self.expect(self.confirm(token, headers={"Dossier-Device": answer["device_secret"]}), 400,
                    "mail_token_invalid")

    def test_the_browser_s_cookie_does_the_same(self):
        page = {"Origin": "https://app.example.com"}
        self.site.set_app(allowed_origins=[page["Origin"]])
        made = self.expect(self.register(
            "cookie@example.com", headers={"Dossier-Device": "cookie", **page}), 201)
        cookie = {"Cookie": made.headers["Set-Cookie"].split(";")[0]}
        token = self.site.mailed("cookie@example.com", "dct")
        self.expect(self.confirm(token, headers=cookie), 403, "origin_forbidden")
        answer = self.expect(self.confirm(token, headers={**cookie, **page}), 200)
        self.assertNotIn("refresh_token", answer.json)
        self.assertRegex(answer.headers["Set-Cookie"], "^__Host-dossier-device-[0-9a-f]{24}=ddv_")
        self.assertTrue(self.me(answer.json).json["email_verified"])


if __name__ == "__main__":
    unittest.main()
