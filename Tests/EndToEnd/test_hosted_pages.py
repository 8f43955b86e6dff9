"""Signing in at the hosted pages, without scripts."""

import re
import unittest

from authenticator import Authenticator
from cases import in_parallel
from hosted import PASSWORD, HostedCase, Visitor


class SignIn(HostedCase):
    def test_a_new_user_signs_up_signs_out_and_signs_in(self):
        email = self.own_email()
        self.shows(self.visitor.open("/account"), "Sign in")
        page = self.sign_up(email)
        self.assertEqual(page.path, "/account")
        self.assertIn(email, page.text)
        self.assertIn("Not confirmed", page.text)
        self.shows(self.visitor.submit("/account/sign-out"), "You are signed out")
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
        wrong = "Email address or password is wrong. Try again or reset the password."
        page = self.visitor.submit("/password", password="wrong horse")
        self.shows(page, "Enter your password", wrong)
        self.assertEqual(page.forms[0].fields["password"], "")
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
                ({"email": "new-" + email, "new_password": "short"},
                 ["The password needs at least 8 characters."]),
                ({"email": "new-" + email, "new_password": "password123"},
                 ["This password is common or leaked. Choose another."]),
                ({"email": "new-" + email, "new_password": f"new-{email} 1"},
                 ["The password contains your address or the name of the app. Choose another."]),
                ({"email": "new-" + email, "new_password": "x" * 1025},
                 ["The password is too long."]),
                ({"email": email, "new_password": PASSWORD},
                 ["This address has an account. Sign in."])]:
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
            texts = [page.text.replace(address, "") for page in [first, second]]
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

    def test_a_blocked_user_learns_it_with_the_right_password(self):
        email = self.own_email()
        user = self.expect(self.register(email, PASSWORD), 201).json["user_id"]
        self.site.sql(f"update users set blocked_at = now() where user_id = '{user}'")
        self.visitor.open("/account")
        self.visitor.submit(email=email)
        self.shows(self.visitor.submit("/password", password="wrong horse"), "Enter your password",
                   "Email address or password is wrong. Try again or reset the password.")
        self.shows(self.visitor.submit("/password", password=PASSWORD), "Account blocked",
                   status=403)

    def test_a_mailed_code_signs_in(self):
        email = self.own_email()
        self.settings(email_code=True)
        self.visitor.open("/account")
        self.visitor.submit(email=email)
        page = self.visitor.submit("/code/send")
        self.shows(page, "Enter the code")
        self.assertIn(f"If {email} can be used here, a code is on its way.", page.text)
        self.shows(self.visitor.submit("/code", code="12"), "Enter the code",
                   "The code has 8 digits.")
        code = self.mailed_code(email)
        wrong = "0000 0000" if code != "0000 0000" else "1111 1111"
        self.shows(self.visitor.submit("/code", code=wrong), "Enter the code",
                   "The code is wrong. Use the newest mail.")
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
        self.shows(page, "Enter the code", "Too many wrong codes. Send a new one.")

    def test_a_registration_that_is_verified_first(self):
        email = self.own_email()
        self.settings(sign_up="verify_first")
        self.visitor.open("/account")
        self.visitor.open(self.visitor.page.links["Create account"])
        page = self.visitor.submit(email=email, new_password=PASSWORD)
        self.shows(page, "Confirm your email address")
        page = self.visitor.submit("/code", code=self.mailed_code(email))
        self.shows(page, "Your account")
        self.assertIn("Confirmed", page.text)

    def test_an_address_that_is_not_verified_gets_a_mail(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.settings(sign_up="verify_first")
        page = self.sign_in(email)
        self.shows(page, "Check your mail")
        self.assertIn("needs a confirmed address", page.text)
        path = self.link(email, "ds_verify", 2)
        # The browser has just sent the password. Another one has not, nor for another address.
        stranger = self.new_visitor()
        self.assertIn("password", self.shows(
            stranger.open(path), "Confirm your email address").forms[0].fields)
        stranger.cookies.update(self.visitor.cookies, **{
            name: value for name, value in stranger.cookies.items() if "browser" in name})
        self.assertIn("password", stranger.open(path).forms[0].fields)
        page = self.visitor.open(path)
        self.assertNotIn("password", self.shows(page, "Confirm your email address").forms[0].fields)
        self.shows(self.visitor.submit("/verify"), "Address confirmed")
        self.shows(self.sign_in(email), "Your account")
        self.assertIn("Confirmed", self.visitor.page.text)

    def test_an_app_without_registration(self):
        self.settings(sign_up="closed")
        page = self.visitor.open("/account")
        self.assertNotIn("Create account", page.links)
        page = self.visitor.open(page.path.replace("sign-in", "sign-up"))
        self.shows(page, "Sign in")


class Flow(HostedCase):
    """Steps that come too early, too late, twice or from elsewhere."""

    def path(self, name):
        return re.sub(r"[a-z-]+$", name, self.visitor.page.path)

    def test_a_page_that_comes_too_early_leads_to_the_present_one(self):
        self.visitor.open("/account")
        for name in ["password", "code", "factor", "recovery", "enroll", "recovery-codes",
                     "mail-sent", "choose", "consent", "confirm"]:
            self.shows(self.visitor.open(self.path(name)), "Sign in")

    def test_back_to_the_address(self):
        self.visitor.open("/account")
        self.visitor.submit(email="ada@example.com")
        page = self.visitor.open(self.visitor.page.links["Change"])
        self.shows(page, "Sign in")
        self.assertEqual(page.forms[0].fields["email"], "ada@example.com")
        page = self.visitor.submit(email="bob@example.com")
        self.assertEqual(page.forms[0].fields["email"], "bob@example.com")

    def test_a_form_that_is_sent_twice_acts_once(self):
        email = self.own_email()
        self.visitor.open("/account")
        self.visitor.open(self.visitor.page.links["Create account"])
        form = self.visitor.form()
        body = self.visitor.body(form, email=email, new_password=PASSWORD)
        visitors = []
        for _ in range(2):
            visitor = Visitor(self.site.port)
            visitor.cookies = dict(self.visitor.cookies)
            visitors.append(visitor)
        pages = in_parallel(2, lambda index: visitors[index].send(
            "POST", form.action, body, Origin=visitors[index].origin,
            **{"Content-Type": "application/x-www-form-urlencoded"}))
        for page in pages:
            self.shows(page, "Your account")
        self.assertEqual(self.site.sql(
            "select count(*) from sessions s join users u using (user_id) "
            f"where u.email = '{email}'").strip(), "1")

    def test_a_flow_does_not_continue_in_another_browser(self):
        self.visitor.open("/account")
        other = self.new_visitor()
        other.open("/u/reset")
        page = other.open(self.visitor.page.path)
        self.shows(page, "Sign-in expired", status=404)
        other.page = self.visitor.page
        page = other.submit(email="ada@example.com")
        self.shows(page, "Sign-in expired", status=404)

    def test_a_browser_without_cookies(self):
        self.visitor.open("/account")
        path = self.visitor.page.path
        page = self.new_visitor().open(path)
        self.shows(page, "Cookies are needed", status=403)
        self.assertEqual(page.links["Reload"], path)

    def test_forms_of_other_sites_are_refused(self):
        self.visitor.open("/account")
        form = self.visitor.form()
        for origin in ["https://evil.example", "null", "http://127.0.0.1.evil.example"]:
            self.shows(self.visitor.submit(email="ada@example.com", origin=origin),
                       "Not accepted", status=403)
            self.visitor.open(form.action)
        for token in ["", "x", form.fields["csrf"][:-1], form.fields["csrf"] + "0", None]:
            self.shows(self.visitor.submit(email="ada@example.com", csrf=token),
                       "Not accepted", status=403)
            self.visitor.open(form.action)
        # Without the field of the origin, the token suffices.
        self.shows(self.visitor.submit(email="ada@example.com", origin=None), "Enter your password")

    def test_an_expired_sign_in_begins_again(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.visitor.open("/account")

        # The address of the form is kept, and then that of the state.
        for send in [lambda: self.visitor.submit(email=email),
                     lambda: self.visitor.submit("/password", password=PASSWORD),
                     lambda: self.visitor.open(self.visitor.page.path)]:
            old = self.visitor.page.path
            self.site.sql("update authorizations set expires_at = now()")
            page = self.shows(send(), "Sign in", "This sign-in has expired. Start again.")
            self.assertNotEqual(page.path.split("/")[2], old.split("/")[2])
            self.assertEqual(page.forms[0].fields["email"], email)
            self.shows(self.visitor.submit(email=email), "Enter your password")
        # Another browser begins nothing.
        other = self.new_visitor()
        other.open("/u/reset")
        self.shows(other.open(old), "Sign-in expired", status=404)
        self.shows(self.visitor.submit("/password", password=PASSWORD), "Your account")

    def test_a_sign_in_in_another_tab_is_offered(self):
        email = self.own_email()
        self.visitor.open("/account")
        tab = self.visitor.page
        self.sign_up(email)
        self.visitor.page = tab
        page = self.visitor.submit(email="bob@example.com")
        self.shows(page, "Choose an account")
        self.assertIn(email, page.text)
        self.shows(self.visitor.submit("/choose"), "Your account")

    def test_headers_of_pages(self):
        page = self.visitor.open("/account")
        self.assertEqual(page.headers["Cache-Control"], "no-store")
        self.assertEqual(page.headers["Referrer-Policy"], "same-origin")
        self.assertEqual(page.headers.get_all("X-Content-Type-Options"), ["nosniff"])
        self.assertEqual(page.headers.get_all("Content-Security-Policy"), [
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
            "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"])
        self.assertNotIn("Cross-Origin-Opener-Policy", page.headers)
        for path in re.findall(r'(?:href|src)="(/u/assets/[^"]+)"', page.body.decode()):
            asset = self.visitor.open(path)
            self.assertEqual(asset.status, 200)
            self.assertIn("immutable", asset.headers["Cache-Control"])

    def test_long_input_never_looks_like_a_dead_worker(self):
        """Pages repeat input in the header of a response, whose length nginx bounds."""
        self.visitor.open("/u/reset")
        for length in [300, 3_000, 12_000]:
            self.shows(self.visitor.submit("/forgot", email="x" * length),
                       "Reset your password", "Enter an address like name@example.com.")
        client = self.site.dossier("client", "create", "--app", "default", "--kind", "single_page",
                                   "--callback", "https://app.example.com/cb", "long")
        self.site.dossier("client", "set", client["id"], "logout_urls=https://app.example.com/")
        query = (f"client_id={client['id']}&post_logout_redirect_uri=https://app.example.com/"
                 "&redirect_uri=https://app.example.com/cb&response_type=code&prompt=none&state=")
        for path in ["/oidc/logout", "/authorize"]:
            for state in ["%25" * 2_048, "A" * 2_048, "A" * 9_000]:
                page = self.new_visitor().open(f"{path}?{query}{state}")
                self.assertLess(page.status, 500, (path, len(state), page.text))
        form = f"{query}{'%25' * 4_000}"
        page = self.new_visitor().send("POST", "/authorize", form, **{
            "Content-Type": "application/x-www-form-urlencoded"})
        self.assertLess(page.status, 500, page.text)
        self.assertNotIn("too big header", (self.site.folder / "nginx.log").read_text())

    def test_pages_of_unknown_paths(self):
        for path in ["/u", "/u/nothing", "/u/x/y", "/account/nothing", "/u/done/x",
                     "/u/avatar/x.png", "/u/assets/x.css", "/u/0123/sign-in"]:
            with self.subTest(path):
                page = self.visitor.open(path)
                self.assertEqual((page.status, page.heading), (404, "Page not found"))

    def test_other_pages_cannot_read_these(self):
        self.settings(allowed_origins=["https://app.example.com"])
        self.visitor.headers["Origin"] = "https://app.example.com"
        for path in ["/account", "/account/switch", "/u/reset"]:
            self.visitor.open(path)
            for page in self.visitor.trace:
                self.assertNotIn("Access-Control-Allow-Origin", page.headers)


class Languages(HostedCase):
    def test_the_language_of_the_browser_and_the_one_that_was_chosen(self):
        visitor = self.new_visitor(Accept_Language="fr, de-AT;q=0.9, en;q=0.8")
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

    def test_settings_that_pages_could_not_show_are_refused(self):
        for setting in ["brand_color=red", "brand_color=#12345", "corner_radius=23",
                        "logo_url=http://example.com/logo.png", "logo_url=javascript:alert(1)",
                        "support_url=nobody", "terms_url=/terms", "default_language=fr"]:
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
        self.assertEqual(subjects, ["Adresse für default bestätigen",
                                    "Passwort für default zurücksetzen"])


class MailedLinks(HostedCase):
    def test_a_link_verifies_an_address_by_the_session_of_its_user(self):
        email = self.own_email()
        self.sign_up(email)
        path = self.link(email, "ds_verify")
        for _ in range(2):
            page = self.visitor.open(path)
            self.shows(page, "Confirm your email address")
            self.assertNotIn("password", page.forms[0].fields)
        self.shows(self.visitor.submit("/verify"), "Address confirmed")
        self.assertIn("Confirmed", self.visitor.open("/account").text)
        self.shows(self.visitor.open(path), "Link expired", status=404)

    def test_a_link_verifies_an_address_by_the_password_in_another_browser(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.visitor.open(self.link(email, "ds_verify"))
        self.shows(self.visitor.submit("/verify", password=""), "Confirm your email address",
                   "Enter your password.")
        self.shows(self.visitor.submit("/verify", password="wrong horse"),
                   "Confirm your email address", "The password is wrong.")
        self.shows(self.visitor.submit("/verify", password=PASSWORD), "Address confirmed")

    def test_a_reader_who_did_not_sign_up_chooses_a_password(self):
        email = self.own_email()
        grant = self.expect(self.register(email, "password of another"), 201).json
        self.visitor.open(self.link(email, "ds_verify"))
        page = self.visitor.submit("/verify/disown")
        self.shows(page, "Reset your password")
        self.assertEqual(page.forms[0].fields["email"], email)
        self.shows(self.visitor.submit("/forgot"), "Check your mail")
        self.visitor.open(self.link(email, "ds_reset"))
        self.shows(self.visitor.submit("/reset", new_password=PASSWORD), "Password saved")
        self.expect(self.me(grant), 401)
        self.shows(self.sign_in(email), "Your account")

    def test_a_forgotten_password(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        self.visitor.open("/account")
        self.visitor.submit(email=email)
        page = self.visitor.open(self.visitor.page.links["Forgot your password?"])
        self.shows(page, "Reset your password")
        self.assertEqual(page.forms[0].fields["email"], email)
        self.shows(self.visitor.submit(email=""), "Reset your password", "Enter your email address.")
        self.shows(self.visitor.submit(email=email), "Check your mail")
        self.shows(self.visitor.submit("/mail-sent"), "Check your mail")
        path = self.link(email, "ds_reset", 2)
        self.shows(self.visitor.open(path), "Choose a new password")
        self.shows(self.visitor.submit(new_password="short"), "Choose a new password",
                   "The password needs at least 8 characters.")
        self.shows(self.visitor.submit(new_password=""), "Choose a new password",
                   "Enter your password.")
        self.shows(self.visitor.submit(new_password="another horse"), "Password saved")
        self.shows(self.visitor.open(path), "Link expired", status=404)
        self.shows(self.visitor.open(self.visitor.page.links["Request a new link"]),
                   "Reset your password")
        self.shows(self.sign_in(email, "another horse", self.new_visitor()), "Your account")

    def test_a_changed_address_is_restored(self):
        email = self.own_email()
        grant = self.verified(email, PASSWORD)
        self.change_email(grant, "new-" + email)
        path = self.link(email, "ds_restore")
        self.shows(self.visitor.open(path), "Restore your email address")
        self.shows(self.visitor.submit(new_password="short"), "Restore your email address",
                   "The password needs at least 8 characters.")
        self.shows(self.visitor.submit(new_password="another horse"), "Address restored")
        self.assertIn(email, self.visitor.open("/account").text)
        self.expect(self.me(grant), 401)

    def test_links_that_nobody_was_sent(self):
        for path in ["/u/verify", "/u/restore"]:
            for query in ["", "?token=", "?token=ds_verify_x", "?token=%00", "?token=a&token=b"]:
                with self.subTest(path + query):
                    self.shows(self.visitor.open(path + query), "Link expired", status=404)


class SecondFactors(HostedCase):
    def enrolled(self, email):
        """Signs up, and turns a second factor on at the account page."""
        self.settings(mfa="optional")
        self.sign_up(email)
        self.shows(self.visitor.open("/account/authenticator"), "Set up an authenticator app")
        page = self.visitor.submit("/account/authenticator")
        self.shows(page, "Set up an authenticator app")
        secret = re.search(r"Key\s*([A-Z2-7 ]{32,})", page.text)[1].replace(" ", "").strip()
        factor = Authenticator({"id": "", "uri": "", "secret": secret})
        self.shows(self.visitor.submit("/set-up", code="123"), "Set up an authenticator app",
                   "The code has 6 digits.")
        self.shows(self.visitor.submit("/set-up", code=factor.wrong()),
                   "Set up an authenticator app", "The code is wrong. Wait for the next one.")
        page = self.visitor.submit("/set-up", code=factor.code())
        self.shows(page, "Save your recovery codes")
        codes = self.saved_codes(page)
        self.shows(self.visitor.submit("/recovery-codes/new"), "Your account")
        return factor, codes

    def saved_codes(self, page):
        """Returns the recovery codes of a page, after a comparison with its file."""
        codes = re.findall(r"<code>([^<]+)</code>", page.body.decode())
        self.assertEqual(len(codes), 10)
        file = self.visitor.open(page.links["Download"])
        self.assertEqual(file.status, 200)
        self.assertEqual(file.headers["Content-Type"], "text/plain; charset=utf-8")
        self.assertEqual(file.headers["Content-Disposition"],
                         'attachment; filename="default-recovery-codes.txt"')
        self.assertEqual(file.headers["Cache-Control"], "no-store")
        self.assertEqual(file.headers["X-Content-Type-Options"], "nosniff")
        lines = file.body.decode().splitlines()
        self.assertEqual(lines[0], "Recovery codes - default")
        self.assertRegex(lines[1], r"^Saved \d+ \w+ \d{4}, \d\d:\d\d UTC$")
        self.assertEqual(lines[-10:], codes)
        # Another browser gets nothing by the same address.
        stranger = self.new_visitor().open(page.links["Download"])
        self.assertNotIn(codes[0], stranger.body.decode())
        self.visitor.page = page
        return codes

    def test_a_code_and_a_recovery_code_complete_a_sign_in(self):
        email = self.own_email()
        factor, codes = self.enrolled(email)
        visitor = self.new_visitor()
        page = self.sign_in(email, visitor=visitor)
        self.shows(page, "Confirm your sign-in")
        self.shows(visitor.submit("/factor", code="1"), "Confirm your sign-in",
                   "The code has 6 digits.")
        self.shows(visitor.submit("/factor", code=factor.wrong()), "Confirm your sign-in",
                   "The code is wrong. Wait for the next one.")
        self.shows(visitor.submit("/factor", code=factor.code(1)), "Your account")
        visitor = self.new_visitor()
        self.sign_in(email, visitor=visitor)
        self.shows(visitor.open(visitor.page.links["Use a recovery code"]), "Recovery code")
        self.shows(visitor.submit("/recovery", recovery_code="abcd"), "Recovery code",
                   "This code is wrong or used. Try another.")
        self.shows(visitor.submit("/recovery", recovery_code=codes[0]), "Your account")
        self.assertIn("9 codes left", visitor.page.text)

    def test_a_recovery_code_confirms_an_earlier_sign_in(self):
        email = self.own_email()
        _, codes = self.enrolled(email)
        self.settings(mfa="off")
        earlier = self.new_visitor()
        self.shows(self.sign_in(email, visitor=earlier), "Your account")
        self.settings(mfa="optional")
        earlier.open("/account/address")
        for code, error in [("", "The code has 6 digits."),
                            ("abcd", "The code is wrong. Wait for the next one.")]:
            self.shows(earlier.submit("/confirm", code=code), "Confirm that it is you", error)
        self.shows(earlier.submit("/confirm", code=codes[0]), "Change your email address")

    def test_an_app_that_requires_a_second_factor(self):
        email = self.own_email()
        self.settings(mfa="required")
        self.visitor.open("/account")
        self.visitor.open(self.visitor.page.links["Create account"])
        page = self.visitor.submit(email=email, new_password=PASSWORD)
        self.shows(page, "Set up an authenticator app")
        secret = re.search(r"Key\s*([A-Z2-7 ]{32,})", page.text)[1].replace(" ", "").strip()
        factor = Authenticator({"id": "", "uri": "", "secret": secret})
        self.shows(self.visitor.submit("/enroll", code=factor.wrong()),
                   "Set up an authenticator app", "The code is wrong. Wait for the next one.")
        page = self.visitor.submit("/enroll", code=factor.code())
        self.shows(page, "Save your recovery codes")
        codes = self.saved_codes(page)
        self.shows(self.visitor.submit("/recovery-codes"), "Your account")
        # The file is gone with the page.
        self.assertNotIn(codes[0], self.visitor.open(page.links["Download"]).body.decode())

    def test_a_factor_is_turned_off_and_codes_are_replaced(self):
        self.enrolled(self.own_email())
        self.shows(self.visitor.open("/account/recovery-codes"), "Replace your recovery codes")
        page = self.visitor.submit("/account/recovery-codes")
        self.saved_codes(self.shows(page, "Save your recovery codes"))
        self.shows(self.visitor.open("/account/recovery-codes/file"),
                   "Replace your recovery codes")
        self.shows(self.visitor.open("/account/authenticator"), "Turn off the authenticator app")
        page = self.visitor.submit("/authenticator/remove")
        self.shows(page, "Your account")
        self.assertIn("Set up", page.links)

    def test_the_next_user_of_a_browser_gets_no_codes(self):
        self.enrolled(self.own_email())
        self.visitor.open("/account/recovery-codes")
        page = self.shows(self.visitor.submit("/account/recovery-codes"), "Save your recovery codes")
        paths = [page.path, page.links["Download"]]
        self.visitor.open("/account")
        self.visitor.submit("/account/sign-out")
        self.sign_up("next-" + self.own_email())
        for path in paths:
            page = self.visitor.open(path)
            self.assertNotIn("<code>", page.body.decode())
            self.assertIn("text/html", page.headers["Content-Type"])


if __name__ == "__main__":
    unittest.main()
