"""A browser that several people share: an attacker has copied its cookies before a user signs in."""

import re
import unittest

from authenticator import Authenticator
from hosted import PASSWORD, HostedCase

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class SharedBrowser(HostedCase):
    def setUp(self):
        super().setUp()
        self.email = self.own_email()
        self.expect(self.register(self.email, PASSWORD), 201)
        self.visitor.open("/account")
        self.path = self.visitor.page.path.rsplit("/", 1)[0]
        self.thief = self.copy()

    def copy(self):
        copy = self.new_visitor()
        copy.cookies = dict(self.visitor.cookies)
        return copy

    def send(self, visitor, form, **fields):
        return visitor.send("POST", form.action, visitor.body(form, **fields), False,
                            Origin=visitor.origin, **FORM)

    def stays_out(self, response):
        self.assertEqual(response.headers.get_all("Set-Cookie") or [], [])
        for name in ["sign-in", "password", "factor", "enroll", "recovery-codes",
                     "recovery-codes/file", "consent"]:
            self.shows(self.thief.open(f"{self.path}/{name}"), "Sign-in expired", status=404)
        self.assertEqual(self.thief.open("/account").heading.strip(), "Sign in")

    def test_a_copied_cookie_and_a_wrong_password_open_nothing(self):
        self.visitor.submit(email=self.email)
        self.thief.open(f"{self.path}/password")
        form = self.thief.form("/password")
        self.shows(self.visitor.submit("/password", password=PASSWORD), "Your account")
        response = self.send(self.thief, form, password="nonsense")
        self.shows(response, "Sign-in expired", status=404)
        self.stays_out(response)

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
        response = self.send(self.thief, form, password="nonsense")
        self.shows(response, "Sign-in expired", status=404)
        self.stays_out(response)
        # A second click gets what the first one got.
        second = copy.send("POST", again.action, copy.body(again, password=PASSWORD),
                           Origin=copy.origin, **FORM)
        self.shows(second, "Set up an authenticator app")
        secret = re.search(r"secret=([A-Z2-7]+)", page.body.decode())
        secret = secret[1] if secret else re.search(r"(?:[A-Z2-7]{4} ){6,7}[A-Z2-7]{4}", page.text)[0]
        self.thief.cookies = dict(self.visitor.cookies)
        device = Authenticator({"id": "", "uri": "", "secret": secret.replace(" ", "")})
        self.shows(self.visitor.submit("/enroll", code=device.code()), "Save your recovery codes")
        # Each verified credential makes a new pass.
        self.stays_out(self.send(self.thief, form, password="nonsense"))
        self.shows(self.visitor.submit("/recovery-codes"), "Your account")


if __name__ == "__main__":
    unittest.main()
