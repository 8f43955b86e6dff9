"""Attacks on the sign-in at issuers by requests that no honest client sends."""

import unittest
import urllib.parse

from app_services import COLLECTION, PREFIX
from asking import ADDRESS, JSON
from connections import CONFIRM, IDENTITIES, ConnectionCase, browse
from openid import FORM
from test_auth0 import Auth0Case
from test_connections_wires import CHALLENGE, EXCHANGE, REDIRECT, TYPES, VERIFIER
from upstream import Reply

# Codes and tokens that have other characters than those of RFC 6749, appendix A.
ODD = ["c\u00f6de", "a\tb", "a\r\nb", "a\u007fb", "\U0001f600", "a\u0000b"]


class AttackCase(Auth0Case, ConnectionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = cls.connect("oidc", "upstream", email_trust="verified")
        cls.google = cls.connect("google", email_trust="verified")
        cls.apple = cls.connect("apple", email_trust="verified", audiences=["com.example.app"])
        cls.apple.native_clients = ["com.example.app"]
        cls.facebook = cls.connect("facebook")
        cls.all = [cls.upstream, cls.google, cls.apple, cls.facebook]
        cls.site.set_app(app_services_collection=COLLECTION)

    def setUp(self):
        super().setUp()
        for issuer in self.all:
            issuer.is_new(f"{issuer.name}-{self.own_email()}")

    def asked(self):
        """Returns how many calls about sign-ins the issuers have got."""
        paths = ["token", "userinfo", "debug_token", "me"]
        return sum(len(issuer.asked(path)) for issuer in self.all for path in paths)

    def redeem(self, code, address=None, **body):
        """Exchanges a code at `/v1`."""
        body = {"connection": "upstream", "code": code, "redirect_uri": REDIRECT,
                "code_verifier": VERIFIER, **body}
        return self.post("/v1/login/connection", body,
                         headers={ADDRESS: address} if address else {})

    def code(self, **parameters):
        return self.upstream.native_code(**{
            "redirect_uri": REDIRECT, "code_challenge": CHALLENGE, **parameters})

    def app_services(self, provider, **payload):
        return self.site.request(
            "POST", f"{PREFIX}/app/default/auth/providers/oauth2-{provider}/login", payload, JSON)

    def exchange(self, kind, token):
        body = {"grant_type": EXCHANGE, "client_id": self.native["id"], "subject_token": token,
                "subject_token_type": TYPES + kind, "scope": "openid"}
        return self.site.request("POST", "/oauth/token", urllib.parse.urlencode(body), FORM)


class Codes(AttackCase):
    """Codes that some issuers cannot read, and answer with 500."""

    def test_odd_characters_reach_no_issuer(self):
        for odd in ODD:
            with self.subTest(repr(odd)):
                before = self.asked()
                url, _ = self.begin(self.upstream, visitor := self.new_visitor())
                page = self.come_back(browse(url).changed(code=odd), visitor)
                self.assertGreaterEqual(page.status, 400)
                answers = [
                    self.redeem(odd), self.redeem(self.code(), code_verifier=odd * 43),
                    self.app_services("google", authCode=odd),
                    self.app_services("facebook", accessToken=odd),
                    self.exchange("apple-authz-code", odd),
                    self.exchange("facebook-info-session-access-token", odd)]
                for number, answer in enumerate(answers):
                    self.assertIn(answer.status, [400, 401, 403, 422], (number, answer.body))
                self.assertEqual(self.asked(), before)
        for verifier in ["v" * 42 + "+", "v" * 42 + " ", "v" * 42 + "\u00f6"]:
            before = self.asked()
            answer = self.redeem(self.code(), code_verifier=verifier)
            self.assertIn(answer.status, [401, 422])
            self.assertEqual(self.asked(), before)

    def test_one_network_closes_no_connection(self):
        """The issuer answers 500 to each code of a stranger."""
        real = self.upstream.token
        self.upstream.token = lambda request: (
            Reply("down", 500) if request.form["code"].startswith("bad") else real(request))
        self.addCleanup(delattr, self.upstream, "token")
        for _ in range(24):
            self.expect(self.redeem("bad", "192.0.2.1"), 503, "connection_unavailable")
        for _ in range(4):
            self.expect(self.redeem(self.code(), "192.0.2.2"), 200)
        # Networks of one site of IPv6 count as one.
        for number in range(24):
            answer = self.redeem("bad", f"2001:db8:1:{number:x}::1")
            self.expect(answer, 503, "connection_unavailable")
        for _ in range(4):
            self.expect(self.redeem(self.code(), "192.0.2.2"), 200)


class Stolen(AttackCase):
    """A code of a browser, which an attacker has read in a log."""

    def test_the_code_of_a_browser_is_not_redeemed_by_an_app(self):
        own = self.upstream.redirect_uri
        for uri in [own, own + "?", own + "/", own.upper(), own.replace("127.0.0.1", "localhost"),
                    own + "#x"]:
            with self.subTest(uri):
                code = self.upstream.native_code(redirect_uri=uri)
                before = self.asked()
                body = {"connection": "upstream", "code": code, "redirect_uri": uri}
                answer = self.post("/v1/login/connection", body)
                self.expect(answer, 422)
                self.assertEqual(self.asked(), before)
        self.assertIsNone(self.owner(self.upstream))


class Limits(AttackCase):
    """Calls to issuers that a stranger causes."""

    def limited(self, send, name):
        """Checks that a network causes as many calls as it may, and is then refused."""
        self.settings(sign_in_pages_per_ip=3)
        before = self.asked()
        answers = [send() for _ in range(9)]
        self.assertEqual(answers[-1].status, 429, (name, answers[-1].body))
        self.assertLessEqual(self.asked() - before, 3 * 2)

    def test_codes_are_limited_by_network(self):
        self.limited(lambda: self.redeem("forged", "192.0.2.81"), "native")

    def test_access_tokens_are_limited_by_network(self):
        self.limited(lambda: self.site.request(
            "POST", f"{PREFIX}/app/default/auth/providers/oauth2-facebook/login",
            {"accessToken": "forged"}, {**JSON, ADDRESS: "192.0.2.82"}), "facebook")

    def test_ways_back_are_limited_by_network(self):
        """A user who is signed in comes back with one response as often as the user likes."""
        visitor = self.new_visitor(**{ADDRESS: "192.0.2.83"})
        self.sign_up(self.own_email(), visitor=visitor)
        answer = visitor.open("/account/connect/upstream", follow=False)
        back = browse(answer.location).changed(code="forged")
        location = visitor.open(back.path, follow=False).location
        self.limited(lambda: visitor.open(location), "account")

    def test_id_tokens_of_unknown_keys_cause_few_calls(self):
        self.upstream.lie(signing="unknown")
        token = self.upstream.native_token()
        before = len(self.upstream.requests)
        for _ in range(12):
            self.expect(self.post("/v1/login/jwt", {"token": token}), 401)
        # The discovery document and the keys, and one fetch of newer keys, by each of two workers.
        self.assertLessEqual(len(self.upstream.requests) - before, 6)


class Starts(AttackCase):
    """Pages of other sites that send a signed-in user to an issuer."""

    def test_a_link_begins_by_a_click_on_the_account_page(self):
        self.sign_up(self.own_email())
        for path, heading in [("/account/connect/upstream", IDENTITIES),
                              ("/account/confirm/connect/upstream?target=/account/password", CONFIRM)]:
            for site in ["cross-site", "same-site", "other"]:
                with self.subTest(path, site=site):
                    page = self.visitor.send("GET", path, **{"Sec-Fetch-Site": site})
                    self.assertFalse(page.location)
                    self.shows(page, heading)
            for site in ["same-origin", "none"]:
                answer = self.visitor.send("GET", path, follow=False, **{"Sec-Fetch-Site": site})
                self.assertTrue(answer.location.startswith(self.upstream.base), answer.text)


class Addresses(AttackCase):
    """Addresses of issuers that look like that of a user here."""

    def test_an_address_that_no_user_may_have_matches_none(self):
        issuer = self.connect("oidc", "kelvin", email_trust="verified", link="auto")
        email = "kate-" + self.own_email()
        user = self.verified(email)["user_id"]
        for twin in ["\u212aate-" + self.own_email(), "\uff4bate-" + self.own_email()]:
            with self.subTest(twin):
                issuer.is_new(twin)
                page, _ = self.go(issuer, self.new_visitor())
                self.assertNotEqual(self.owner(issuer), user)
                self.assertNotIn("already have an account", page.heading)

    def test_domains_have_one_form(self):
        issuer = self.connect("oidc", "umlaut", email_trust="verified",
                              domains=["xn--mnchen-3ya.example"])
        for email in ["a@m\u00fcnchen.example", "b@XN--MNCHEN-3YA.example", "c@M\u00dcNCHEN.example"]:
            with self.subTest(email):
                issuer.is_new(email)
                self.assertTrue(self.signed_in_at(issuer, self.new_visitor())["sub"])
        # People type either spelling.
        visitor = self.new_visitor()
        visitor.open("/account")
        page = visitor.submit(email="d@m\u00fcnchen.example")
        self.assertIn(f"/connect/{issuer.name}", page.body.decode())


if __name__ == "__main__":
    unittest.main()
