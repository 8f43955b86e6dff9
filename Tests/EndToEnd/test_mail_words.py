"""Links to a page of the app in mails, the language of mails, and the effects of a link."""

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
        self.site.dossier("app", "set", f"email_link_base_url={page}")
        self.addCleanup(self.site.dossier, "app", "set", "email_link_base_url=null")
        grant = self.verified("linked@example.com")
        self.expect(self.post("/v1/password/reset-request", {"email": "linked@example.com"}), 202)
        reset = self.site.mailed("linked@example.com", "ds_reset")
        self.change_email(grant, "moved@example.com")
        restore = self.site.mailed("linked@example.com", "ds_restore")
        mails = "\n".join(self.site.mails("linked@example.com"))
        for name, token in [("verify", "ds_verify_"), ("reset", reset), ("restore", restore)]:
            self.assertIn(f"\n{page}#{name}={token}", mails)
        # A code is entered where it was asked for.
        for mail in self.site.mails("moved@example.com"):
            self.assertNotIn(page, mail)

    def test_email_link_base_url_must_be_a_url(self):
        for page in ["http://app.example.com/", "app.example.com", "https://", "https://a.b/#c",
                     "https://a.b/ c", "javascript:alert(1)"]:
            self.refused(12, "app", "set", f"email_link_base_url={page}", words="email_link_base_url")
        for page in ["http://127.0.0.1:9000/", "http://localhost:9000", "https://a.example", ""]:
            self.site.dossier("app", "set", f"email_link_base_url={page}")

    def test_mail_is_in_the_language_of_its_recipient(self):
        self.site.dossier("app", "set", """texts={
            "de": {"resetMailSubject": "Neues Passwort", "resetMailText": "Hallo {{email}}: {{link}}",
                   "changeMailText": "Geändert: {{change}}"},
            "nl-BE": {"resetMailText": "Hoi {{token}}"}}""")
        self.addCleanup(self.site.dossier, "app", "set", "texts=null")
        for n, (locale, words) in enumerate([("de-AT", "Hallo "), ("de", "Hallo "), ("DE", "Hallo "),
                              ("nl-BE", "Hoi "), ("nl-NL", "Open this link"),
                              ("fr", "Ouvrez ce lien"), (None, "Open this link")]):
            with self.subTest(locale):
                email = f"reader-{n}@example.com"
                grant = self.verified(email)
                if locale:
                    self.patch(grant, {"locale": locale})
                self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
                token = self.site.mailed(email, "ds_reset")
                self.assertTrue(any(mail.startswith(words) and token in mail
                                    for mail in self.site.mails(email)), self.site.mails(email))
        # Notices to the owner are in that language too.
        grant = self.verified("owner@example.com")
        self.patch(grant, {"locale": "de"})
        self.expect(self.post("/v1/me/api-keys", {"name": "x"}, token=grant["access_token"]), 201)
        wait_until(lambda: any(mail.startswith("Geändert:")
                               for mail in self.site.mails("owner@example.com")), what="the mail")

    def test_invalid_mail_templates_are_refused(self):
        for value in ["[]", '{"de": 1}', '{"de_AT": {}}', '{"x": {}}', '{"de": {"mail_from": "x"}}',
                      '{"de": {"resetMailText": "{{tokn}}"}}', '{"de": {"resetMailText": "{{token"}}',
                      '{"de": {"resetMailSubject": "two\\nlines"}}', '{"de": {"resetMailText": ""}}']:
            self.refused(12, "app", "set", f"texts={value}", words="/settings/texts")
        for setting in ["reset_text={{tokn}}", "code_text={{token}}", "change_subject={{x",
                        "code_subject={{code}}", "reset_subject={{token}}", "verify_subject={{link}}"]:
            self.refused(12, "app", "set", setting, words="This text is not a valid template")
        self.site.dossier("app", "set", "reset_text=Use {{ token }} or {{link}}")
        self.site.dossier("app", "set", "reset_text=null")

    def test_a_patch_removes_one_language_or_text(self):
        self.site.dossier("app", "set", 'texts={"de": {}, "fr": {"help": "x", "terms": "y"}}')
        self.addCleanup(self.site.dossier, "app", "set", "texts=null")
        self.site.dossier("app", "set", 'texts={"de": null, "fr": {"help": null}}')
        self.assertEqual(self.site.sql("select settings -> 'texts' from apps "
                                       "where name = 'default'"), '{"fr": {"terms": "y"}}')

    def test_an_app_without_texts_of_its_own_mails_in_german_too(self):
        app = self.site.add_app("german", default_language="de", display_name="Nordwind")
        email = "deutsch@example.com"
        self.expect(self.register(email, headers=app), 201)
        self.site.mailed(email, "ds_verify")
        message = self.site.mail_messages(email)[-1]
        self.assertEqual(message["Subject"], "E-Mail-Adresse für Nordwind bestätigen")
        self.assertEqual(message["From"].addresses[0].display_name, "Nordwind")
        self.assertIn("\nNicht angefordert? Diese E-Mail ignorieren.\n", self.site.mails(email)[-1])
        # The locale of the user decides, and a text of the operator before the default one.
        grant = self.expect(self.login(email, headers=app), 200).json
        self.expect(self.site.request("PATCH", "/v1/me", {"locale": "en-GB"}, {**JSON, **app},
                                      grant["access_token"]), 200)
        for subject, settings in [("Reset your Nordwind password", {}),
                                  ("Neu: Nordwind", {"reset_subject": "Neu: {{app}}"})]:
            self.site.set_app("german", **settings)
            count = len(self.site.tokens(email, "ds_reset"))
            self.expect(self.post("/v1/password/reset-request", {"email": email}, headers=app), 202)
            self.site.mailed(email, "ds_reset", count + 1)
            self.assertEqual(self.site.mail_messages(email)[-1]["Subject"], subject)

    def test_subjects_and_texts_are_in_any_script(self):
        app = self.site.add_app("scripts", display_name="Nordwind")
        for locale, subject, words in [
                ("ja", "Nordwindのパスワードの再設定", "お心当たりがない場合は"),
                ("ar-EG", "أعد تعيين كلمة مرورك في Nordwind", "تجاهل هذه الرسالة"),
                ("pt-BR", "Redefina sua senha de Nordwind", "Ignore este e-mail")]:
            email = f"{locale}@example.com"
            self.expect(self.register(email, headers=app), 201)
            self.site.mailed(email, "ds_verify")
            grant = self.expect(self.login(email, headers=app), 200).json
            self.expect(self.site.request("PATCH", "/v1/me", {"locale": locale}, {**JSON, **app},
                                          grant["access_token"]), 200)
            self.expect(self.post("/v1/password/reset-request", {"email": email}, headers=app), 202)
            self.site.mailed(email, "ds_reset")
            message = self.site.mail_messages(email)[-1]
            self.assertEqual(message["Subject"], subject)
            self.assertIn(words, message.get_body(["plain"]).get_content())
            html = message.get_body(["html"]).get_content()
            tag = locale.split("-")[0]
            direction = "rtl" if tag == "ar" else "ltr"
            self.assertIn(f'<html lang="{tag}" dir="{direction}">', html)


class Links(Administration):
    """Tests that a link of a user with a session or the password verifies and revokes nothing."""

    def story(self, email):
        """A user with a session, an API key and a link."""
        grant = self.expect(self.register(email), 201).json
        key = self.expect(self.post("/v1/me/api-keys", {"name": "x"},
                                    token=grant["access_token"]), 201).json["key"]
        return grant, key, self.site.mailed(email, "ds_verify")

    def assert_nothing_ended(self, email, grant, key):
        self.assertTrue(self.expect(self.me(grant), 200).json["email_verified"])
        grant.update(self.expect(self.refresh(grant), 200).json)
        self.expect(self.post("/v1/login/api-key", {"key": key}), 200)
        self.expect(self.login(email), 200)

    def test_the_link_alone_changes_nothing(self):
        grant, _, token = self.story("alone@example.com")
        stranger = self.site.login()
        neighbour = self.site.login(grant["device_secret"])
        device = {"Dossier-Device": neighbour["device_secret"]}
        for options in [{}, {"grant": stranger}, {"grant": neighbour}, {"headers": device}]:
            with self.subTest(options):
                self.expect(self.verify(token, **options), 401, "sign_in_to_verify")
        self.expect(self.verify(token, password="wrong horse"), 401, "wrong_credentials")
        self.assertFalse(self.me(grant).json["email_verified"])
        # The token stays valid.
        self.expect(self.verify(token, grant), 204)
        self.expect(self.verify(token, grant), 400, "mail_token_invalid")

    def test_the_session_of_the_user_verifies_and_ends_nothing(self):
        grant, key, token = self.story("session@example.com")
        self.expect(self.verify(token, grant), 204)
        self.assert_nothing_ended("session@example.com", grant, key)

    def test_the_password_verifies_on_another_device_and_signs_in_there(self):
        email = "phone@example.com"
        laptop, key, token = self.story(email)
        phone = self.expect(self.verify(token, password="correct horse"), 200).json
        self.assertEqual(phone["user_id"], laptop["user_id"])
        self.assertNotEqual(phone["device_id"], laptop["device_id"])
        self.expect(self.me(phone), 200)
        self.assert_nothing_ended(email, laptop, key)

    def test_a_guest_links_an_address_verifies_it_and_stays_signed_in(self):
        for way in ["session", "password"]:
            with self.subTest(way):
                email = f"guest-{way}@example.com"
                guest = self.site.login()
                self.expect(self.link(guest, provider="password", email=email,
                                      password="correct horse"), 200)
                token = self.site.mailed(email, "ds_verify")
                if way == "session":
                    self.expect(self.verify(token, guest), 204)
                else:
                    self.expect(self.verify(token, password="correct horse"), 200)
                self.assertTrue(self.expect(self.me(guest), 200).json["email_verified"])
                self.expect(self.refresh(guest), 200)

    def test_a_browser_verifies_with_the_password(self):
        page = {"Origin": "https://app.example.com"}
        self.site.set_app(allowed_origins=[page["Origin"]])
        made = self.expect(self.register(
            "cookie@example.com", headers={"Dossier-Device": "cookie", **page}), 201)
        cookie = {"Cookie": made.headers["Set-Cookie"].split(";")[0]}
        token = self.site.mailed("cookie@example.com", "ds_verify")
        shown = {"password": "correct horse"}
        self.expect(self.verify(token, headers=cookie, **shown), 403, "origin_forbidden")
        # The cookie names the device; it is no session.
        self.expect(self.verify(token, headers={**cookie, **page}), 401, "sign_in_to_verify")
        answer = self.expect(self.verify(token, headers={**cookie, **page}, **shown), 200)
        self.assertNotIn("refresh_token", answer.json)
        self.assertEqual(answer.json["device_id"], made.json["device_id"])
        self.assertRegex(answer.headers["Set-Cookie"], "^__Host-dossier-device-[0-9a-f]{24}=ds_device_")
        self.assertTrue(self.me(answer.json).json["email_verified"])


if __name__ == "__main__":
    unittest.main()
