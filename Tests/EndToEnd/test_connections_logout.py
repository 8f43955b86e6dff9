"""Sign-outs at an issuer end the sessions that began there, by OpenID Connect Back-Channel Logout."""

import json
import secrets
import time
import unittest
import urllib.parse

from authenticator import FactorCase
from connections import CLOSED, REFUSED, SIGN_IN, ConnectionCase, browse
from openid import LOGOUT, Party, target

SIGNED_OUT = "You're signed out of Dossier"
EVENT = "http://schemas.openid.net/event/backchannel-logout"


class LogoutCase(ConnectionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = cls.connect("oidc", "upstream", email_trust="verified", link="auto")

    def setUp(self):
        super().setUp()
        self.upstream.is_new(self.own_email())

    def token(self, head=None, **claims):
        """Returns a logout token of the person; None removes a claim."""
        now = int(time.time())
        members = {
            "iss": self.upstream.issuer, "aud": self.upstream.client_id, "iat": now, "exp": now + 120,
            "jti": secrets.token_hex(8), "events": {EVENT: {}},
            "sub": self.upstream.person.subject, **claims}
        members = {name: value for name, value in members.items() if value is not None}
        return self.upstream.key.token(members, **{"typ": "logout+jwt", **(head or {})})

    def tell(self, token, name="upstream"):
        return self.site.request(
            "POST", f"/u/backchannel-logout/{name}", urllib.parse.urlencode({"logout_token": token}),
            {"Content-Type": "application/x-www-form-urlencoded"})

    def enter(self, sid=None, visitor=None):
        """Signs the person in, in a session of the issuer. Returns the browser."""
        visitor = visitor or self.new_visitor()
        if sid:
            self.upstream.lie(claims={"sid": sid})
        self.signed_in_at(self.upstream, visitor)
        self.upstream.honest()
        return visitor

    def is_in(self, visitor):
        return visitor.open("/account").heading.strip() != SIGN_IN


class Logouts(LogoutCase):
    def test_a_sign_out_there_ends_the_sessions_that_began_there(self):
        first, second = self.enter(), self.enter()
        answer = self.tell(self.token())
        self.assertEqual((answer.status, answer.headers["Cache-Control"]), (200, "no-store"))
        self.assertFalse(self.is_in(first) or self.is_in(second))
        user = self.owner(self.upstream)
        reasons = self.site.sql(
            f"select distinct end_reason from sessions where user_id = '{user}'").splitlines()
        self.assertEqual(reasons, ["issuer_logout"])

    def test_a_session_there_ends_its_own_only(self):
        for by in [{}, {"sub": None}]:
            with self.subTest(by):
                self.upstream.is_new()
                ended, other, bare = self.enter("s-1"), self.enter("s-2"), self.enter()
                self.assertEqual(self.tell(self.token(sid="s-1", **by)).status, 200)
                self.assertEqual([self.is_in(visitor) for visitor in [ended, other, bare]],
                                 [False, True, True])
                self.assertEqual(self.tell(self.token(sid="s-3", **by)).status, 200)
                self.assertTrue(self.is_in(other))

    def test_a_session_by_another_credential_stays(self):
        """Only what the issuer has begun is its to end."""
        email = self.own_email()
        grant = self.verified(email)
        self.upstream.is_new(email)
        here = self.enter()
        self.assertEqual(self.owner(self.upstream), grant["user_id"])
        self.tell(self.token())
        self.assertFalse(self.is_in(here))
        self.expect(self.me(grant), 200)

    def test_a_repeated_token_ends_no_later_session(self):
        first = self.enter()
        user = self.owner(self.upstream)
        self.site.sql("update sessions set created_at = now() - interval '1 hour' "
                      f"where user_id = '{user}'")
        token = self.token(iat=int(time.time()) - 30)
        self.assertEqual(self.tell(token).status, 200)
        self.assertFalse(self.is_in(first))
        second = self.enter()
        self.assertEqual(self.tell(token).status, 200)
        self.assertTrue(self.is_in(second))

    def test_a_token_that_breaks_a_rule_ends_nothing(self):
        visitor = self.enter("s-1")
        other = self.connect("oidc", "other")
        now = int(time.time())
        wrong = {
            "issuer": self.token(iss="https://evil.example"), "audience": self.token(aud="x"),
            "nonce": self.token(nonce="n"), "events": self.token(events={}),
            "nobody": self.token(sub=None), "jti": self.token(jti=None),
            "iat": self.token(iat=None), "exp": self.token(exp=now - 3600),
            "type": self.token({"typ": "at+jwt"}), "algorithm": self.token({"alg": "none"}),
            "signature": self.token()[:-8] + "AAAAAAAA", "text": "x", "empty": ""}
        for name, token in wrong.items():
            with self.subTest(name):
                answer = self.tell(token)
                self.assertEqual((answer.status, answer.json["error"]), (400, "invalid_request"))
        self.assertEqual(self.tell(self.token(), other.name).status, 400)
        self.assertEqual(self.tell(self.token(), "none").status, 404)
        self.assertTrue(self.is_in(visitor))

    def test_a_session_there_with_control_characters_is_none(self):
        visitor = self.enter("a\nb")
        self.assertTrue(self.is_in(visitor))
        user = self.owner(self.upstream)
        self.assertEqual(self.site.sql(
            f"select count(issuer_session) from sessions where user_id = '{user}'"), "0")
        for sid in ["a\u0001b", "a\nb"]:
            self.assertEqual(self.tell(self.token(sid=sid, sub=None)).status, 400)
        self.assertTrue(self.is_in(visitor))

    def test_an_id_token_ends_nothing(self):
        visitor = self.enter()
        self.assertEqual(self.tell(self.upstream.native_token()).status, 400)
        self.assertTrue(self.is_in(visitor))


class SignOuts(LogoutCase):
    """Sign-outs here."""

    STAYS = "This browser may still be signed in to upstream."

    def test_the_page_says_that_the_session_there_stays(self):
        self.enter(visitor=self.visitor)
        self.visitor.open("/account")
        page = self.visitor.submit("/account/sign-out")
        self.assertIn(self.STAYS, " ".join(page.text.split()))
        # A browser that has not been there reads nothing of it.
        other = self.new_visitor()
        self.sign_up("other-" + self.own_email(), visitor=other)
        page = other.submit("/account/sign-out")
        self.assertNotIn("may still be signed in", " ".join(page.text.split()))

    def sign_out_of_both(self, issuer, **parameters):
        """Signs in, and then out here and at an issuer. Returns the URL to which the browser goes."""
        self.signed_in_at(issuer)
        page = self.visitor.open(
            "/v2/logout?" + urllib.parse.urlencode({"federated": "", **parameters}))
        if not page.location:
            page = self.visitor.submit("/confirm", follow=False)
        self.assertFalse(self.is_in(self.visitor))
        return target(page)

    def test_a_federated_sign_out_leads_back_to_the_client(self):
        """The issuer knows the URI that the command prints, and none of the client."""
        told = json.loads(self.checked(self.upstream).stdout)["post_logout_redirect_uri"]
        self.assertEqual(told, f"{self.issuer}oidc/logout/done")
        self.upstream.signed_out_uri = told
        url = self.sign_out_of_both(self.upstream, client_id=self.spa["id"], returnTo=LOGOUT)
        self.assertTrue(url.startswith(self.upstream.base + "/end_session?"), url)
        back = browse(url)
        self.assertEqual(self.visitor.open(back.path, follow=False).location, LOGOUT)
        # Neither another browser nor another state leads to the client.
        for visitor, way in [(self.new_visitor(), back), (self.visitor, back.changed(state="x")),
                             (self.visitor, back.changed(state=None))]:
            page = visitor.open(way.path, follow=False)
            self.assertIsNone(page.location)
            self.shows(page, SIGNED_OUT)

    def test_a_federated_sign_out_of_no_client_ends_on_the_page(self):
        self.upstream.signed_out_uri = f"{self.issuer}oidc/logout/done"
        url = self.sign_out_of_both(self.upstream)
        page = self.visitor.open(browse(url).path, follow=False)
        self.shows(page, SIGNED_OUT)
        self.assertNotIn("may still be signed in", " ".join(page.text.split()))

    def test_a_federated_sign_out_of_an_issuer_without_a_sign_out(self):
        silent = self.upstreams.add("oidc", "silent")
        silent.redirect_uri = f"{self.issuer}u/callback/silent"
        silent.lie(discovery={"end_session_endpoint": None})
        self.create(silent, label="silent")
        silent.is_new()
        self.assertIsNone(json.loads(self.checked(silent).stdout)["post_logout_redirect_uri"])
        url = self.sign_out_of_both(silent, client_id=self.spa["id"], returnTo=LOGOUT)
        self.assertEqual(url, LOGOUT)


class AfterSecondFactors(FactorCase, LogoutCase):
    def test_the_session_there_is_known_after_a_second_factor(self):
        self.set_mfa("required")
        self.upstream.lie(claims={"sid": "strong"})
        page, _ = self.go(self.upstream)
        self.shows(page, "Set up an authenticator app")
        place = "select issuer_session from authentication_flows where purpose = 'enroll'"
        self.assertEqual(self.site.sql(place), "strong")


class Confirmations(ConnectionCase):
    """Two people use one browser: pages name the account and the issuer."""

    REDIRECT = "com.example.app:/signed-in"

    def test_the_confirmation_for_an_app_names_both(self):
        issuer = self.connect("oidc", "upstream", email_trust="verified")
        issuer.is_new(self.own_email())
        app = self.new_client("native", f"callback_urls={self.REDIRECT}")
        self.signed_in_at(issuer)
        page = self.visitor.open(Party(self, app, self.REDIRECT).path)
        self.shows(page, "Are you signing in to native?")
        self.assertIn(issuer.person.email, page.text)
        self.assertIn("Signed in with upstream", page.text)

    def test_a_refusal_names_the_account(self):
        issuer = self.connect("oidc", "closed", sign_up=False)
        issuer.is_new("refused-" + self.own_email())
        page, _ = self.go(issuer)
        self.is_refused(page, REFUSED.format("closed"), issuer, words=CLOSED)
        self.assertIn(issuer.person.email, page.text)
        self.assertIn(issuer.person.name, page.text)


class Domains(ConnectionCase):
    """The domain of an address leads to the issuer of its users."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.staff = cls.connect("oidc", "staff", email_trust="verified", domains=["Staff.example"])
        cls.plain = cls.connect("oidc", "plain", email_trust="verified")

    def chosen_after_sign_out(self, issuer, *methods):
        """Signs a user in and out, and then chooses the account at a client with these methods.

        Returns the page, and the request of the client.
        """
        client = self.new_client("single_page", "callback_urls=https://app.example.com/callback")
        self.site.dossier("client", "set", client["id"], f"connections={json.dumps(methods)}")
        self.signed_in_at(issuer)
        self.visitor.open("/account")
        self.visitor.submit("/account/sign-out")
        party = Party(self, client, prompt="select_account")
        self.shows(self.visitor.open(party.path), "Choose an account")
        return self.visitor.submit("/choose"), party

    def test_a_signed_out_account_of_the_domain_leads_there(self):
        self.staff.is_new(f"{secrets.token_hex(4)}@staff.example")
        for methods in [["staff"], ["staff", "plain", "password"]]:
            self.visitor = self.new_visitor()
            page, party = self.chosen_after_sign_out(self.staff, *methods)
            self.shows(page, "One moment")
            told = self.identity(self.come_back(browse(self.follow(self.staff, page))), party)
            self.assertEqual(told["email"], self.staff.person.email)

    def test_a_signed_out_account_gets_the_buttons_if_there_is_nothing_else(self):
        self.plain.is_new(self.own_email())
        page, party = self.chosen_after_sign_out(self.plain, "plain")
        self.shows(page, SIGN_IN)
        told = self.identity(self.come_back(browse(self.follow(self.plain, page))), party)
        self.assertEqual(told["email"], self.plain.person.email)

    def test_an_address_of_the_domain_leads_there(self):
        party = Party(self, self.spa)
        self.visitor.open(party.path)
        page = self.visitor.submit(email="ada@staff.EXAMPLE")
        self.shows(page, "One moment")
        self.assertIn(self.title(self.staff), page.text)
        url = self.follow(self.staff, page)
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        self.assertEqual(query["login_hint"], "ada@staff.EXAMPLE")
        self.staff.is_new("ada@staff.example")
        told = self.identity(self.come_back(browse(url)), party)
        self.assertEqual(told["email"], "ada@staff.example")

    def test_other_addresses_do_not(self):
        for email in ["ada@example.com", "ada@sub.staff.example", "ada@staff.example.evil.com",
                      "staff.example@evil.com"]:
            with self.subTest(email):
                visitor = self.new_visitor()
                visitor.open(Party(self, self.spa).path)
                page = visitor.submit(email=email)
                self.assertFalse([path for path in page.links.values() if "/connect/" in path])


if __name__ == "__main__":
    unittest.main()
