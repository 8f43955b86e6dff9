"""Second factors at the hosted pages."""

import re
import unittest
import urllib.parse

from PIL import Image, ImageDraw
from pyzbar import pyzbar

from authenticator import Authenticator
from hosted import PASSWORD, HostedCase


def scanned(page):
    """Returns the content of the QR code of a page, as a camera reads it."""
    svg = re.search(rb'<svg class="qr"[^>]* viewBox="0 0 (\d+) \1"[^>]*><path d="([^"]+)"', page.body)
    scale, size = 4, int(svg[1])
    image = Image.new("L", (size * scale, size * scale), 255)
    runs = re.findall(r"M(\d+) (\d+)h(\d+)v1H\1z", svg[2].decode())
    for left, top, width in (map(int, run) for run in runs):
        ImageDraw.Draw(image).rectangle(
            [left * scale, top * scale, (left + width) * scale - 1, (top + 1) * scale - 1], fill=0)
    [code] = pyzbar.decode(image, symbols=[pyzbar.ZBarSymbol.QRCODE])
    return code.data.decode()


class SecondFactors(HostedCase):
    def enrolled(self, email):
        """Signs up, and turns a second factor on at the account page."""
        self.settings(mfa="optional")
        self.sign_up(email)
        self.shows(self.visitor.open("/account/authenticator"), "Set up an authenticator app")
        page = self.visitor.submit("/account/authenticator")
        self.shows(page, "Set up an authenticator app")
        secret = re.search(r"Key\s*([A-Z2-7 ]{32,})", page.text)[1].replace(" ", "").strip()
        uri = urllib.parse.urlsplit(scanned(page))
        self.assertEqual((uri.scheme, uri.netloc), ("otpauth", "totp"))
        self.assertEqual(urllib.parse.unquote(uri.path), f"/Dossier:{email}")
        self.assertEqual(urllib.parse.parse_qs(uri.query)["secret"], [secret])
        factor = Authenticator({"id": "", "uri": "", "secret": secret})
        self.shows(self.visitor.submit("/set-up", code="123"), "Set up an authenticator app",
                   "The code must have 6 digits.")
        self.shows(self.visitor.submit("/set-up", code=factor.wrong()),
                   "Set up an authenticator app", "This code is wrong. Check the code, or wait for the next one.")
        page = self.visitor.submit("/set-up", code=factor.code())
        self.shows(page, "Save your recovery codes")
        codes = self.saved_codes(page)
        page = self.shows(self.visitor.submit("/recovery-codes/new"), "Your account")
        self.assertIn("Your authenticator app is on.", page.text)
        return factor, codes

    def saved_codes(self, page):
        """Returns the recovery codes of a page, after a comparison with its file."""
        codes = re.findall(r"<code>([^<]+)</code>", page.body.decode())
        self.assertEqual(len(codes), 10)
        file = self.visitor.open(page.links["Download"])
        self.assertEqual(file.status, 200)
        self.assertEqual(file.headers["Content-Type"], "text/plain; charset=utf-8")
        self.assertEqual(file.headers["Content-Disposition"],
                         'attachment; filename="recovery-codes.txt"')
        self.assertEqual(file.headers["Cache-Control"], "no-store")
        self.assertEqual(file.headers["X-Content-Type-Options"], "nosniff")
        lines = file.body.decode().splitlines()
        self.assertEqual(lines[0], "Recovery codes - Dossier")
        self.assertRegex(lines[1], r"^Saved on \d+ \w+ \d{4}, \d\d:\d\d UTC$")
        self.assertEqual(lines[-10:], codes)
        # Another browser gets nothing at the same URL.
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
                   "The code must have 6 digits.")
        self.shows(visitor.submit("/factor", code=factor.wrong()), "Confirm your sign-in",
                   "This code is wrong. Check the code, or wait for the next one.")
        # A code is valid once, and this one has confirmed the factor. The test forgets that.
        self.site.sql("update second_factors set last_step = 0")
        self.shows(visitor.submit("/factor", code=factor.code()), "Your account")
        visitor = self.new_visitor()
        self.sign_in(email, visitor=visitor)
        self.shows(visitor.open(visitor.page.links["Use a recovery code"]), "Recovery code")
        self.shows(visitor.submit("/recovery", recovery_code="abcd"), "Recovery code",
                   "This code is wrong or has been used. Try another one.")
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
        for code, error in [("", "The code must have 6 digits."),
                            ("abcd", "This code is wrong. Check the code, or wait for the next one.")]:
            self.shows(earlier.submit("/confirm", code=code), "Confirm that it's you", error)
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
                   "Set up an authenticator app", "This code is wrong. Check the code, or wait for the next one.")
        page = self.visitor.submit("/enroll", code=factor.code())
        self.shows(page, "Save your recovery codes")
        codes = self.saved_codes(page)
        self.shows(self.visitor.submit("/recovery-codes"), "Your account")
        # The file is deleted with the page.
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

    def test_an_app_that_requires_a_second_factor_lets_its_users_replace_it(self):
        email = self.own_email()
        old, codes = self.enrolled(email)
        self.settings(mfa="required")
        self.assertIn("Replace", self.visitor.open("/account").links)
        page = self.shows(self.visitor.open("/account/authenticator"), "Replace your authenticator app")
        self.assertIn("you can't turn the app off", page.text)
        self.assertEqual([form.action for form in page.forms if "remove" in form.action], [])
        page = self.shows(self.visitor.submit("/account/authenticator"), "Set up an authenticator app")
        # The old app works until then.
        self.assertEqual(self.factors(email), 1)
        secret = re.search(r"Key\s*([A-Z2-7 ]{32,})", page.text)[1].replace(" ", "").strip()
        new = Authenticator({"id": "", "uri": "", "secret": secret})
        page = self.shows(self.visitor.submit("/set-up", code=new.code()), "Save your recovery codes")
        self.assertNotEqual(self.saved_codes(page), codes)
        self.shows(self.visitor.submit("/recovery-codes/new"), "Your account")
        self.assertEqual(self.factors(email), 1)
        self.site.sql("update second_factors set last_step = 0")
        visitor = self.new_visitor()
        self.sign_in(email, visitor=visitor)
        self.shows(visitor.submit("/factor", code=old.code()), "Confirm your sign-in",
                   "This code is wrong. Check the code, or wait for the next one.")
        self.shows(visitor.submit("/factor", code=new.code()), "Your account")

    def factors(self, email):
        """Returns how many authenticator apps a user has."""
        return int(self.site.sql(
            "select count(*) from second_factors f join users u on u.user_id = f.user_id "
            f"where u.email = '{email}' and f.confirmed_at is not null"))

    def test_no_form_turns_off_the_only_second_factor_that_an_app_requires(self):
        email = self.own_email()
        self.enrolled(email)
        page = self.visitor.open("/account/authenticator")
        self.settings(mfa="required")
        self.visitor.page = page
        self.shows(self.visitor.submit("/authenticator/remove"), "Replace your authenticator app")
        self.assertEqual(self.factors(email), 1)

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
