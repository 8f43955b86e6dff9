"""Sign-in by each preset, and what the issuer is asked."""

import re
import time
import unittest
import urllib.parse

from connections import CONTINUE, SIGN_IN, TITLES, ConnectionCase, browse
from machine import wait_until
from upstream_presets import PRESETS

# Issuers whose word about an address is taken, for an address as below.
TRUSTED = {"google", "apple", "microsoft", "github", "gitlab", "discord", "linkedin", "slack", "x"}


class Presets(ConnectionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for position, preset in enumerate(PRESETS):
            trust = {"email_trust": "verified"} if preset in TRUSTED else {}
            cls.connect(preset, position=position, **trust)

    def test_a_person_signs_in_at_each_twice(self):
        for preset, issuer in self.upstreams.issuers.items():
            with self.subTest(preset):
                domain = "gmail.com" if preset == "google" else "example.com"
                issuer.is_new(f"ada-{preset}@{domain}", picture="https://img.example.com/a.png")
                visitor = self.new_visitor()
                told = self.signed_in_at(issuer, visitor)
                self.assertEqual(issuer.refusals, [])
                self.assertEqual(told["name"], "Ada Lovelace")
                email = told.get("email")
                self.assertEqual(email, issuer.person.email if preset in TRUSTED else None)
                if email:
                    self.assertTrue(told["email_verified"])
                self.assertEqual(list(self.identities(issuer)), [issuer.person.subject])
                self.shows(visitor.open("/account"), "Your account")
                # A later name of the issuer changes nothing.
                issuer.person.name, issuer.person.given = "Augusta King", "Augusta"
                again = self.signed_in_at(issuer, self.new_visitor())
                self.assertEqual((again["sub"], again["name"]), (told["sub"], "Ada Lovelace"))

    def test_each_issuer_is_asked_by_its_rules(self):
        for preset, issuer in self.upstreams.issuers.items():
            with self.subTest(preset):
                issuer.is_new(f"bob-{preset}@example.com")
                url, party = self.begin(issuer, self.new_visitor())
                query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
                self.assertLessEqual(len(query["state"]), 1024)
                self.assertNotIn(party.parameters["state"], query["state"])
                # LinkedIn returns none.
                self.assertEqual("nonce" in query, issuer.kind.is_openid and preset != "linkedin")
                if issuer.kind.needs_pkce:
                    self.assertEqual(query["code_challenge_method"], "S256")
                # Only a request to confirm the user sends these.
                for name in ["max_age", "login_hint", "id_token_hint"]:
                    self.assertNotIn(name, query)

    def test_each_sign_in_has_a_state_a_nonce_and_a_verifier_of_its_own(self):
        issuer = self.upstreams.issuers["oidc"]
        found = [dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(
            self.begin(issuer, self.new_visitor())[0]).query)) for _ in range(3)]
        for name in ["state", "nonce", "code_challenge"]:
            self.assertEqual(len({one[name] for one in found}), 3, name)

    def test_the_buttons_are_in_the_order_of_the_operator(self):
        page = self.visitor.open("/account")
        self.shows(page, SIGN_IN)
        def buttons(page):
            return re.findall(r'href="[^"?]*/connect/([^"?]*)', page.body.decode())

        self.assertEqual(buttons(page), list(self.upstreams.issuers))
        for preset, title in TITLES.items():
            self.assertIn(CONTINUE.format(title), " ".join(page.text.split()))
        page = self.visitor.open(page.links["Create account"])
        self.assertEqual(buttons(page), list(self.upstreams.issuers))

    def test_apples_secret_is_made_for_each_request(self):
        """The test issuer verifies the signature, `iss`, `sub`, `aud`, `kid` and the time."""
        import jwt
        issuer = self.upstreams.issuers["apple"]
        issuer.is_new("apple-secret@example.com")
        before = len(issuer.asked("token"))
        self.signed_in_at(issuer)
        [request] = issuer.asked("token")[before:]
        claims = jwt.decode(request.form["client_secret"], options={"verify_signature": False})
        self.assertLessEqual(claims["exp"] - claims["iat"], 300)
        self.assertLessEqual(abs(claims["iat"] - time.time()), 60)

    def test_a_secret_of_any_characters_is_sent(self):
        for index, method in enumerate(["client_secret_basic", "client_secret_post"]):
            issuer = self.upstreams.add("oidc", f"secretive-{index}")
            issuer.redirect_uri = f"{self.issuer}u/callback/{issuer.name}"
            issuer.authentication, issuer.secret = (method,), "s+ %3A:/=&é"
            issuer.is_new()
            self.create(issuer, position=100)
            # The check of the command sends a code that the issuer has not made.
            issuer.refusals.clear()
            self.signed_in_at(issuer, self.new_visitor())
            self.assertEqual(issuer.refusals, [])

    def test_no_secret_and_no_token_is_logged(self):
        issuer = self.upstreams.issuers["oidc"]
        issuer.is_new()
        self.signed_in_at(issuer)
        request = issuer.asked("token")[-1]
        access = list(issuer.tokens)[-1]
        wait_until(lambda: any("/u/callback" in line["route"] for line in self.site.logged()),
                   what="the line of the callback")
        log = (self.site.folder / "dossierd.log").read_text()
        for word in [issuer.secret, access, request.form["code"], request.form["code_verifier"],
                     issuer.person.subject]:
            self.assertNotIn(word, log)

    def test_the_metadata_of_an_issuer_is_read_once(self):
        """Each of the two workers keeps it."""
        issuer = self.upstreams.issuers["gitlab"]
        for _ in range(4):
            issuer.is_new()
            self.signed_in_at(issuer, self.new_visitor())
        found = issuer.asked(".well-known/openid-configuration")
        # One is the check of the command.
        self.assertLessEqual(len(found), 3)
        self.assertLessEqual(len(issuer.asked("jwks")), 3)

    def test_starting_writes_nothing(self):
        issuer = self.upstreams.issuers["oidc"]
        page = self.visitor.open("/account")
        path = self.button(issuer.name, page)
        tables = ["authorizations", "authentication_flows", "users", "identities", "sessions"]

        def count():
            return [self.site.sql(f"select count(*) from {table}") for table in tables]

        before = count()
        for _ in range(3):
            self.assertEqual(self.visitor.open(path, follow=False).status, 302)
        self.assertEqual(count(), before)

    def test_two_tabs_of_one_browser_sign_in(self):
        issuer = self.upstreams.issuers["oidc"]
        issuer.is_new()
        first, one = self.begin(issuer)
        second, two = self.begin(issuer)
        told = [self.identity(self.come_back(browse(url)), party)
                for url, party in [(second, two), (first, one)]]
        self.assertEqual(told[0]["sub"], told[1]["sub"])
        self.assertEqual(len(self.identities(issuer)), len(set(self.identities(issuer).values())))


if __name__ == "__main__":
    unittest.main()
