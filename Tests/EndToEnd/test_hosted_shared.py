"""A browser that several people share: an attacker has copied its cookies before a user signs in."""

import re
import unittest

from authenticator import Authenticator
from hosted import PASSWORD, HostedCase
from openid import FORM, OpenIDCase, Party


class Copies:
    def copy(self, *names):
        """Returns a browser with these cookies of the visitor, or with all."""
        copy = self.new_visitor()
        copy.cookies = {name: value for name, value in self.visitor.cookies.items()
                        if not names or name in names}
        return copy

    def send(self, visitor, form, button=None, **fields):
        body = visitor.body(form, button, **fields)
        return visitor.send("POST", form.action, body, False, Origin=visitor.origin, **FORM)

    def stays_without_cookies(self, response):
        self.shows(response, "Sign-in expired", status=404)
        self.assertEqual(response.headers.get_all("Set-Cookie") or [], [])


class SharedBrowser(Copies, HostedCase):
    def setUp(self):
        super().setUp()
        self.email = self.own_email()
        self.expect(self.register(self.email, PASSWORD), 201)
        self.visitor.open("/account")
        self.path = self.visitor.page.path.rsplit("/", 1)[0]
        self.thief = self.copy()

    def stays_out(self, response):
        self.stays_without_cookies(response)
        for name in ["sign-in", "password", "factor", "enroll", "recovery-codes",
                     "recovery-codes/file", "consent"]:
            self.shows(self.thief.open(f"{self.path}/{name}"), "Sign-in expired", status=404)
        self.assertEqual(self.thief.open("/account").heading.strip(), "Sign in")

    def test_a_copied_cookie_and_a_wrong_password_open_nothing(self):
        self.visitor.submit(email=self.email)
        self.thief.open(f"{self.path}/password")
        form = self.thief.form("/password")
        self.shows(self.visitor.submit("/password", password=PASSWORD), "Your account")
        self.stays_out(self.send(self.thief, form, password="nonsense"))

    def test_a_copied_cookie_shows_no_second_factor(self):
        self.settings(mfa="required")
        self.visitor.submit(email=self.email)
        # The pass of an earlier sign-in in the same authorization is of no use later.
        self.thief.open(f"{self.path}/password")
        form = self.thief.form("/password")
        again = self.visitor.form("/password")
        copy = self.copy()
        page = self.visitor.submit("/password", password=PASSWORD)
        self.shows(page, "Set up an authenticator app")
        self.stays_out(self.send(self.thief, form, password="nonsense"))
        # A second click gets what the first one got.
        second = copy.send("POST", again.action, copy.body(again, password=PASSWORD),
                           Origin=copy.origin, **FORM)
        self.shows(second, "Set up an authenticator app")
        self.thief.cookies = dict(self.visitor.cookies)
        self.enroll()
        # Each verified credential makes a new pass.
        self.stays_out(self.send(self.thief, form, password="nonsense"))
        self.shows(self.visitor.submit("/recovery-codes"), "Your account")

    def enroll(self):
        page = self.visitor.page
        secret = re.search(r"secret=([A-Z2-7]+)", page.body.decode())
        secret = secret[1] if secret else re.search(r"(?:[A-Z2-7]{4} ){6,7}[A-Z2-7]{4}", page.text)[0]
        device = Authenticator({"id": "", "uri": "", "secret": secret.replace(" ", "")})
        self.shows(self.visitor.submit("/enroll", code=device.code()), "Save your recovery codes")

    def test_a_copied_cookie_repeats_no_form_without_a_secret(self):
        self.settings(mfa="required")
        self.visitor.submit(email=self.email)
        self.visitor.submit("/password", password=PASSWORD)
        self.enroll()
        # The thief knows the token of all forms of the authorization, and can count its steps.
        form = self.visitor.form("/recovery-codes")
        browser = self.copy()
        self.shows(self.visitor.submit("/recovery-codes"), "Your account")
        self.stays_out(self.send(self.thief, form))
        self.send(browser, form)
        self.shows(browser.open("/account"), "Your account")


class SharedBrowserOfClient(Copies, OpenIDCase):
    BROWSER = "__Host-dossier-browser"

    def setUp(self):
        super().setUp()
        self.site.dossier("client", "set", self.web["id"], "first_party=false")
        self.email, _ = self.user()

    def click(self, party, action, button=None):
        """Clicks twice. Checks that both responses have one code, and that a thief gets none."""
        form = self.visitor.form(action)
        browser, thief = self.copy(), self.copy(self.BROWSER)
        code = party.code(self.visitor.submit(action, button=button))
        self.stays_without_cookies(self.send(thief, form, button))
        self.assertEqual(party.code(self.send(browser, form, button)), code)

    def test_a_consent_after_a_password(self):
        party = Party(self, self.web)
        self.signed_in(party, self.email)
        self.click(party, "/consent", "allow")

    def test_a_consent_and_a_choice_of_a_user_who_is_signed_in(self):
        self.sign_in(self.email)
        party = Party(self, self.web)
        self.visitor.open(party.path)
        self.click(party, "/consent", "allow")
        party = Party(self, self.web, prompt="select_account")
        self.visitor.open(party.path)
        self.click(party, "/choose")

    def test_a_choice_that_leads_to_a_consent(self):
        self.sign_in(self.email)
        self.visitor.open(Party(self, self.web, prompt="select_account").path)
        form, browser = self.visitor.form("/choose"), self.copy()
        for visitor in [self.visitor, browser]:
            page = self.send(visitor, form)
            self.assertTrue(page.location.endswith("/consent"), page.location)


if __name__ == "__main__":
    unittest.main()
