"""Signing in and registering at the hosted pages, and their languages, without scripts."""

import json
import re
import unittest

from hosted import PASSWORD, HostedCase


class SignIn(HostedCase):
    def test_a_new_user_signs_up_signs_out_and_signs_in(self):
        email = self.own_email()
        self.shows(self.visitor.open("/account"), "Sign in")
        page = self.sign_up(email)
        self.assertEqual(page.path, "/account")
        self.assertIn(email, page.text)
        self.assertIn("Not verified", page.text)
        self.shows(self.visitor.submit("/account/sign-out"), "You're signed out of Dossier")
        self.shows(self.visitor.open("/account"), "Sign in")
        page = self.visitor.submit(email=f" {email.upper()} ")
        self.shows(page, "Enter your password")
        self.shows(self.visitor.submit("/password", password=PASSWORD), "Your account")

    def test_each_error_of_an_address_and_a_password_is_shown_beside_its_field(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.visitor.open("/account")
        self.shows(self.visitor.submit(email=""), "Sign in", "Enter your email address.")
        page = self.visitor.submit(email="ada@")
        self.shows(page, "Sign in", "Enter an address like name@example.com.")
        self.assertEqual(page.forms[0].fields["email"], "ada@")
        self.shows(self.visitor.submit(email=email), "Enter your password")
        self.shows(self.visitor.submit("/password", password=""), "Enter your password",
                   "Enter your password.")
        wrong = "Email address or password is wrong."
        page = self.visitor.submit("/password", password="wrong horse")
        self.shows(page, "Enter your password", wrong)
        self.assertEqual(page.forms[0].fields["password"], "")
        # The error needs no link, since the page has it below the field.
        self.assertEqual(page.body.count(b'/forgot"'), 1)
        # A reload shows the same page, and sends no form.
        self.shows(self.visitor.open(page.path), "Enter your password", wrong)
        self.shows(self.visitor.submit("/password", password=PASSWORD), "Your account")

    def test_each_error_of_a_new_account_is_shown(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.visitor.open("/account")
        self.visitor.open(self.visitor.page.links["Create account"])
        for fields, errors in [
                ({"email": "", "new_password": ""},
                 ["Enter your email address.", "Enter your password."]),
                ({"email": "x", "new_password": PASSWORD},
                 ["Enter an address like name@example.com."]),
                ({"email": "x", "new_password": "short"},
                 ["Enter an address like name@example.com.",
                  "The password needs at least 8 characters."]),
                ({"email": "new-" + email, "new_password": "short"},
                 ["The password needs at least 8 characters."]),
                ({"email": "new-" + email, "new_password": "password123"},
                 ["This password is too common, or it has been leaked. Choose another one."]),
                ({"email": "new-" + email, "new_password": f"new-{email} 1"},
                 ["The password contains your email address or the name of the app. Choose another one."]),
                ({"email": "new-" + email, "new_password": "x" * 1025},
                 ["The password is too long."]),
                ({"email": email, "new_password": PASSWORD},
                 ["An account with this email address already exists."])]:
            page = self.visitor.submit(**fields)
            self.shows(page, "Create account", *errors)
            self.assertEqual(page.forms[0].fields["email"], fields["email"])

    def test_known_and_unknown_addresses_look_the_same(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        seen = []
        for address in [email, "nobody-" + email[7:]]:
            visitor = self.new_visitor()
            visitor.open("/account")
            first = visitor.submit(email=address)
            second = visitor.submit("/password", password="wrong horse")
            # The pages name the time, to the minute.
            texts = [re.sub(r"\S+ \S+ \S+ \d\d:\d\d UTC", "", page.text.replace(address, ""))
                     for page in [first, second]]
            seen.append((texts, [page.status for page in [first, second]],
                         [sorted(page.headers.keys()) for page in [first, second]]))
        self.assertEqual(*seen)

    def test_too_many_wrong_passwords_show_the_time_to_wait(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.visitor.open("/account")
        self.visitor.submit(email=email)
        for _ in range(40):
            page = self.visitor.submit("/password", password="wrong horse")
            if page.status == 429:
                break
        self.assertRegex(page.errors[0], r"Too many attempts\. Try again in \d+ \w+\.")
        self.assertGreater(int(page.headers["Retry-After"]), 0)
        self.assertIn("Forgot your password?", page.links)

    def test_the_correct_password_reveals_that_a_user_is_blocked(self):
        email = self.own_email()
        user = self.expect(self.register(email, PASSWORD), 201).json["user_id"]
        self.site.sql(f"update users set blocked_at = now() where user_id = '{user}'")
        self.visitor.open("/account")
        self.visitor.submit(email=email)
        self.shows(self.visitor.submit("/password", password="wrong horse"), "Enter your password",
                   "Email address or password is wrong.")
        self.shows(self.visitor.submit("/password", password=PASSWORD), "Account blocked",
                   status=403)

    def test_a_mailed_code_signs_in(self):
        email = self.own_email()
        self.settings(email_code=True)
        self.visitor.open("/account")
        self.visitor.submit(email=email)
        page = self.visitor.submit("/code/send")
        self.shows(page, "Enter the code")
        self.assertIn("If an account exists for this address, we've sent a code.", page.text)
        self.assertEqual(page.forms[0].fields["email"], email)
        self.shows(self.visitor.submit("/code", code="12"), "Enter the code",
                   "The code must have 8 digits.")
        code = self.mailed_code(email)
        wrong = "0000 0000" if code != "0000 0000" else "1111 1111"
        self.shows(self.visitor.submit("/code", code=wrong), "Enter the code",
                   "This code is wrong. Check the code or request a new one. 4 tries left.")
        self.shows(self.visitor.submit("/code/send"), "Enter the code")
        code = self.mailed_code(email, 2)
        self.shows(self.visitor.submit("/code", code=code.replace(" ", "-")), "Your account")

    def test_too_many_wrong_codes(self):
        email = self.own_email()
        self.settings(email_code=True, password=False)
        self.visitor.open("/account")
        self.shows(self.visitor.submit(email=email), "Enter the code")
        wrong = "00000000" if self.mailed_code(email) != "0000 0000" else "11111111"
        for _ in range(5):
            page = self.visitor.submit("/code", code=wrong)
        self.shows(page, "Enter the code", "Too many wrong codes. Request a new one.")

    def test_a_registration_that_is_verified_first(self):
        email = self.own_email()
        self.settings(sign_up="verify_first")
        self.visitor.open("/account")
        self.visitor.open(self.visitor.page.links["Create account"])
        page = self.visitor.submit(email=email, new_password=PASSWORD)
        self.shows(page, "Verify your email address")
        page = self.visitor.submit("/code", code=self.mailed_code(email))
        self.shows(page, "Your account")
        self.assertIn("Verified", page.text)

    def registers(self, email):
        """Begins a registration, which waits for a code."""
        self.visitor.open("/account")
        self.visitor.open(self.visitor.page.links["Create account"])
        page = self.visitor.submit(email=email, new_password=PASSWORD)
        return self.shows(page, "Verify your email address")

    def test_a_registration_gets_a_new_code(self):
        email = self.own_email()
        self.settings(sign_up="verify_first")
        self.registers(email)
        first = self.mailed_code(email)
        wrong = "00000000" if first != "0000 0000" else "11111111"
        for _ in range(5):
            page = self.visitor.submit("/code", code=wrong)
        self.shows(page, "Verify your email address", "Too many wrong codes. Request a new one.")
        self.shows(self.visitor.submit("/send-again"), "Verify your email address")
        second = self.mailed_code(email, 2)
        if first != second:
            self.shows(self.visitor.submit("/code", code=first), "Verify your email address",
                       "This code is wrong. Check the code or request a new one. 4 tries left.")
        self.shows(self.visitor.submit("/code", code=second), "Your account")
        # The password is that of the registration.
        self.shows(self.sign_in(email, visitor=self.new_visitor()), "Your account")

    def test_new_codes_of_a_registration_are_limited_and_alike_for_a_known_address(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.settings(sign_up="verify_first")
        for address in ["new-" + email, email]:
            self.registers(address)
            self.shows(self.visitor.submit("/send-again"), "Verify your email address")
            for _ in range(20):
                page = self.visitor.submit("/send-again")
                if page.status == 429:
                    break
            self.assertRegex(page.errors[0], r"Too many attempts\. Try again in \d+ \w+\.")

    def test_an_expired_code_of_a_registration_leads_back_to_its_form(self):
        email = self.own_email()
        self.settings(sign_up="verify_first")
        self.registers(email)
        self.site.sql("update authentication_flows set expires_at = now() where purpose = 'register'")
        page = self.shows(self.visitor.submit("/send-again"), "Create account",
                          "This sign-in has expired. Start again.")
        self.assertEqual(page.forms[0].fields["email"], email)

    def test_an_address_that_is_not_verified_gets_a_mail(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.settings(sign_up="verify_first")
        page = self.sign_in(email)
        self.shows(page, "Check your email")
        self.assertIn("needs a verified email address", page.text)
        path = self.link(email, "ds_verify", 2)
        # The browser has just sent the password. Another one has not, nor for another address.
        stranger = self.new_visitor()
        self.assertIn("password", self.shows(
            stranger.open(path), "Verify your email address").forms[0].fields)
        stranger.cookies.update(self.visitor.cookies, **{
            name: value for name, value in stranger.cookies.items() if "browser" in name})
        self.assertIn("password", stranger.open(path).forms[0].fields)
        page = self.visitor.open(path)
        self.assertNotIn("password", self.shows(page, "Verify your email address").forms[0].fields)
        self.shows(self.visitor.submit("/verify"), "Email address verified")
        self.shows(self.sign_in(email), "Your account")
        self.assertIn("Verified", self.visitor.page.text)

    def test_an_app_without_registration(self):
        self.settings(sign_up="closed")
        page = self.visitor.open("/account")
        self.assertNotIn("Create account", page.links)
        page = self.visitor.open(page.path.replace("sign-in", "sign-up"))
        self.shows(page, "Sign in")


class Languages(HostedCase):
    def test_the_language_of_the_browser_and_the_chosen_language(self):
        visitor = self.new_visitor(Accept_Language="nl, de-AT;q=0.9, en;q=0.8")
        page = visitor.open("/account")
        self.assertEqual((page.language, page.heading), ("de", "Anmelden"))
        page = visitor.open(page.links["English"])
        self.assertEqual((page.language, page.heading), ("en", "Sign in"))
        self.assertEqual(visitor.submit(email="").errors, ["Enter your email address."])

    def test_the_default_language_and_the_branding(self):
        self.settings(default_language="de", display_name="Nordwind", brand_color="#ffdd00",
                      support_url="help@example.com", terms_url="https://example.com/terms",
                      privacy_url="https://example.com/privacy")
        page = self.visitor.open("/account")
        self.assertEqual(page.title, "Anmelden - Nordwind")
        self.assertEqual(page.links["Hilfe"], "mailto:help@example.com")
        self.assertEqual(page.links["Nutzungsbedingungen"], "https://example.com/terms")
        self.assertEqual(page.links["Datenschutz"], "https://example.com/privacy")
        path = re.search(r'href="(/u/assets/[^"]+)"', page.body.decode())[1]
        self.assertIn(b"--accent: #ffdd00", self.visitor.open(path).body)

    def test_an_app_has_texts_and_a_language_of_its_own(self):
        self.settings(texts={"en": {"signIn": "Come in"}, "de": {"cancel": "Halt"},
                             "nl": {"languageName": "Nederlands", "signIn": "Aanmelden"},
                             "it": {"signIn": "Accedi"}})
        page = self.visitor.open("/account")
        self.shows(page, "Come in")
        self.assertEqual(page.headers["Content-Language"], "en")
        # A language without a name is for emails only.
        self.assertEqual(self.new_visitor(Accept_Language="it").open("/account").language, "en")
        page = self.new_visitor(Accept_Language="nl-BE").open("/account")
        self.shows(page, "Aanmelden")
        self.assertEqual((page.language, page.headers["Content-Language"]), ("nl", "nl"))
        # A text that the language lacks is in English.
        self.assertIn("Create account", page.links)
        self.assertIn("Nederlands", self.visitor.page.links)
        found = self.visitor.open("/.well-known/openid-configuration").body
        self.assertEqual(json.loads(found)["ui_locales_supported"],
                         ["en", "ar", "de", "es", "fr", "ja", "pt", "nl"])

    def test_invalid_texts_are_refused(self):
        for value, words in [
                ('{"de": {"sign": "x"}}', "de: sign is no key of a text."),
                ('{"de": {"consent": "{{app}} {{x}}"}}',
                 "de: consent has the unknown placeholder {{x}}; it may have {{app}} {{client}}."),
                ('{"ar": {"sessionCount": {"one": "x"}}}', "an object of plural forms with other."),
                ('{"ja": {"sessionCount": {"one": "x", "other": "x"}}}',
                 "ja: sessionCount one must be a plural category of this language (other)")]:
            run = self.site.dossier("app", "set", f"texts={value}", check=False)
            self.assertEqual(run.returncode, 12, run.stdout + run.stderr)
            self.assertIn(words, run.stderr)

    def test_pages_are_in_right_to_left_and_in_wide_languages(self):
        for language, direction, heading in [("ar", "rtl", "تسجيل الدخول"), ("ja", "ltr", "サインイン")]:
            page = self.new_visitor(Accept_Language=language).open("/account")
            self.shows(page, heading)
            html = page.body.decode()
            self.assertIn(f'<html lang="{language}" dir="{direction}">', html)
            self.assertEqual(page.headers["Content-Language"], language)

    def test_invalid_branding_settings_are_refused(self):
        for setting in ["brand_color=red", "brand_color=#12345", "corner_radius=23",
                        "logo_url=http://example.com/logo.png", "logo_url=javascript:alert(1)",
                        "support_url=nobody", "terms_url=/terms", "default_language=f"]:
            run = self.site.dossier("app", "set", setting, check=False)
            self.assertEqual(run.returncode, 12, setting + run.stdout + run.stderr)

    def test_mails_are_in_the_language_of_the_page(self):
        email = self.own_email()
        visitor = self.new_visitor(Accept_Language="de-AT, en;q=0.5")
        visitor.open("/account")
        visitor.open(visitor.page.links["Konto erstellen"])
        self.shows(visitor.submit(email=email, new_password=PASSWORD), "Konto")
        self.site.mailed(email, "ds_verify")
        # The mail of a forgotten password is composed later, by any worker.
        visitor = self.new_visitor()
        visitor.open("/account")
        visitor.open(visitor.page.links["Deutsch"])
        visitor.submit(email=email)
        visitor.open(visitor.page.links["Passwort vergessen?"])
        visitor.submit("/forgot")
        self.site.mailed(email, "ds_reset")
        subjects = [message["Subject"] for message in self.site.mail_messages(email)]
        self.assertEqual(subjects, ["E-Mail-Adresse für Dossier bestätigen",
                                    "Passwort für Dossier zurücksetzen"])


if __name__ == "__main__":
    unittest.main()
