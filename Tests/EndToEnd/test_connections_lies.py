"""Issuers that lie or fail: no user is signed in, and a page says what to do."""

import concurrent.futures
import json
import threading
import time
import unittest

from asking import ADDRESS
from connections import (
    ANOTHER_WAY, FAILED, NOT_ALLOWED, REFUSED, SIGN_IN, TRY_AGAIN, UNAVAILABLE, ConnectionCase, browse)
from machine import wait_until
from upstream import Reply
from upstream_presets import CONSUMERS, TENANT

LONG = "x" * (300 << 10)


class Tokens(ConnectionCase):
    """ID tokens that break a rule."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = cls.connect("oidc", "upstream")
        cls.curve = cls.connect("oidc", "curve", algorithm="ES256")

    def setUp(self):
        super().setUp()
        self.upstream.is_new()
        self.curve.is_new()

    def refuses(self, issuer=None, **lie):
        issuer = issuer or self.upstream
        issuer.lie(**lie)
        self.fails(issuer, visitor=self.new_visitor())
        issuer.honest()

    def test_claims_that_break_a_rule(self):
        now = int(time.time())
        client = self.upstream.client_id
        before = self.identities(self.upstream)
        for name, claims in {
            "another issuer": {"iss": "https://evil.example.com"},
            "an issuer with a slash": {"iss": self.upstream.base + "/"}, "no issuer": {"iss": None},
            "another audience": {"aud": "another"}, "no audience": {"aud": None},
            "an empty list": {"aud": []}, "two audiences without azp": {"aud": [client, "another"]},
            "azp of another": {"aud": [client, "another"], "azp": "another"},
            "one audience, azp of another": {"azp": "another"},
            "another nonce": {"nonce": "x"}, "no nonce": {"nonce": None}, "a number": {"nonce": 7},
            "at_hash": {"at_hash": "x" * 22}, "expired": {"exp": now - 120}, "no expiry": {"exp": None},
            "of the future": {"iat": now + 600}, "not yet": {"nbf": now + 600},
            "no subject": {"sub": None}, "an empty subject": {"sub": ""},
            "a long subject": {"sub": "s" * 256}, "a subject that is no text": {"sub": {"a": 1}},
            "NUL": {"sub": "a\u0000b"},
        }.items():
            with self.subTest(name):
                self.refuses(claims=claims)
        self.assertEqual(self.identities(self.upstream), before)
        # Two audiences with azp, and a clock that is a little wrong.
        self.upstream.lie(claims={"aud": [client, "another"], "azp": client, "iat": now + 30})
        self.assertTrue(self.signed_in_at(self.upstream)["sub"])

    def knows_the_curve(self):
        """Returns whether the worker that answers knows the newest key of the issuer.

        A worker waits two seconds between two fetches of keys.
        """
        page, _ = self.go(self.curve, self.new_visitor())
        return page.status < 400

    def test_signatures_that_break_a_rule(self):
        for name, lie in {
            "unsigned": {"signing": "none"}, "the public key as a secret": {"signing": "HS256"},
            "an unknown key": {"signing": "unknown"}, "an algorithm of another key": {
                "head": {"alg": "ES256"}}, "crit": {"head": {"crit": ["exp"]}},
            "no algorithm": {"head": {"alg": None}}, "an access token": {"head": {"typ": "at+jwt"}},
            "a logout token": {"head": {"typ": "logout+jwt"}},
        }.items():
            with self.subTest(name):
                self.refuses(**lie)
        with self.subTest("RS256 with a key of a curve"):
            self.refuses(self.curve, head={"alg": "RS256"})
        wait_until(self.knows_the_curve, what="a sign-in with the key of a curve")

    def test_a_token_that_is_none(self):
        for token in [None, "", "x", "a.b.c", "e30.e30.e30", "x" * (17 << 10)]:
            with self.subTest(token and token[:8]):
                self.refuses(token={"id_token": token})
        for member in [{"access_token": None}, {"access_token": ""}]:
            self.upstream.lie(token=member)
            page, _ = self.go(self.upstream, self.new_visitor())
            self.assertLess(page.status, 600)

    def test_a_rotated_key_is_fetched(self):
        self.signed_in_at(self.curve)
        self.curve.rotate()
        self.curve.is_new()

        wait_until(self.knows_the_curve, what="the new key")
        # Tokens with keys that do not exist do not cause requests without end.
        before = len(self.curve.asked("jwks"))
        self.curve.is_new()
        for _ in range(5):
            self.refuses(self.curve, signing="unknown")
        self.assertLessEqual(len(self.curve.asked("jwks")) - before, 4)

    def test_userinfo_of_another_subject(self):
        """The token lacks what the user endpoint has."""
        self.upstream.lie(claims={"name": None, "email": None, "given_name": None, "family_name": None,
                                  "email_verified": None}, userinfo={"sub": "someone-else"})
        page, _ = self.go(self.upstream)
        self.fails(self.upstream, page)

    def test_a_failed_sign_in_leaves_the_other_ways(self):
        self.upstream.lie(claims={"nonce": "x"})
        email, _ = self.user()
        page, party = self.go(self.upstream)
        self.assertIn("/connect/upstream", page.links[TRY_AGAIN])
        self.shows(self.visitor.open(page.links[ANOTHER_WAY]), SIGN_IN)
        self.visitor.submit(email=email)
        page = self.visitor.submit("/password", password="correct horse battery")
        self.assertTrue(party.code(page))

    def test_a_failed_sign_in_is_tried_again(self):
        self.upstream.lie(claims={"nonce": "x"})
        page, party = self.go(self.upstream)
        self.upstream.honest()
        page = self.come_back(browse(self.follow(self.upstream, page)))
        self.assertTrue(party.code(page))

    def test_a_failure_is_told_to_the_operator(self):
        self.upstream.lie(claims={"nonce": "x"})
        page, _ = self.go(self.upstream)
        request = self.request_of(page)
        # The log is written after the response.
        wait_until(lambda: any(all(word in json.dumps(line) for word in [request, "nonce", "upstream"])
                               for line in self.site.log_lines()), what="a line of the log")


class Endpoints(ConnectionCase):
    """Responses of the token and user endpoints that are no answers."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = cls.connect("oidc", "upstream")

    def setUp(self):
        super().setUp()
        self.upstream.is_new()

    def ends(self, preset="oidc", **lie):
        """Checks that a sign-in ends without a user, at a connection that has not failed before."""
        issuer = self.connect(preset, f"case-{len(self.upstreams.issuers)}")
        issuer.lie(**lie)
        visitor = self.new_visitor()
        page, _ = self.go(issuer, visitor)
        title = self.title(issuer)
        self.assertIn(page.heading.strip(), [FAILED.format(title), UNAVAILABLE.format(title)])
        self.assertGreaterEqual(page.status, 400)
        self.assertEqual(self.identities(issuer), {})
        self.remove(issuer)
        return page

    def test_the_token_endpoint(self):
        evil = self.upstreams.add("oidc", "evil")
        for name, reply in {
            "a redirect": Reply(status=302, fields={"Location": f"{evil.base}/token"}),
            "307": Reply(status=307, fields={"Location": f"{evil.base}/token"}),
            "too large": Reply({"access_token": LONG}), "HTML": Reply("<html>", type="text/html"),
            "no JSON": Reply("{"), "a list": Reply([]), "empty": Reply(b""),
        }.items():
            with self.subTest(name):
                self.ends(token=reply)
        self.assertEqual(evil.requests, [])

    def test_the_user_endpoint(self):
        evil = self.upstreams.add("github", "evil-too")
        for name, reply in {
            "a redirect": Reply(status=302, fields={"Location": f"{evil.base}/user"}),
            "401": Reply({"message": "Bad credentials"}, 401), "too large": Reply({"id": 7, "x": LONG}),
            "a list": Reply([]), "no id": Reply({"login": "ada"}), "no JSON": Reply("<html>"),
            "an id of null": Reply({"id": None}), "an id that is no integer": Reply({"id": 1.5}),
            "an object": Reply({"id": {}}), "a huge number": Reply('{"id": 1e999}'),
        }.items():
            with self.subTest(name):
                self.ends("github", userinfo=reply)
        self.assertEqual(evil.requests, [])

    def test_an_error_with_the_status_of_success(self):
        """GitHub answers so to a code that has expired, and to a wrong secret."""
        self.ends("github", token=Reply({
            "error": "bad_verification_code", "error_description": "The code is incorrect."}))

    def test_a_stranger_cannot_close_a_connection(self):
        """An attacker comes back with codes that the issuer refuses."""
        for _ in range(12):
            url, _ = self.begin(self.upstream, visitor := self.new_visitor())
            page = self.come_back(browse(url).changed(code="forged"), visitor)
            self.assertEqual(page.heading.strip(), FAILED.format("upstream"))
        self.assertTrue(self.signed_in_at(self.upstream)["sub"])

    def test_a_wrong_secret_is_told_to_the_operator(self):
        issuer = self.connect("oidc", "stale")
        issuer.secret = "changed at the issuer"
        page, _ = self.go(issuer)
        self.is_refused(page, UNAVAILABLE.format("stale"), issuer)
        wait_until(lambda: "invalid_client" in json.dumps(self.site.log_lines()),
                   what="a line of the log")

    def test_an_issuer_that_fails_is_left_alone(self):
        issuer = self.connect("oidc", "failing")
        pages = []
        for number in range(24):
            issuer.lie(token=Reply("down", 500, "text/plain"))
            # The failures of one network count once.
            visitor = self.new_visitor(**{ADDRESS: f"192.0.2.{number % 12}"})
            page = visitor.open("/account")
            answer = visitor.open(self.button(issuer.name, page), follow=False)
            if answer.status == 302:
                answer = self.come_back(browse(answer.location), visitor)
            pages.append(answer)
        for page in pages:
            self.assertEqual(page.heading.strip(), UNAVAILABLE.format("failing"))
        # Of twelve networks, a worker meets five with few repetitions.
        self.assertLessEqual(len(issuer.asked("token")), 16)
        self.assertEqual(pages[-1].status, 503)
        # The other methods are open.
        self.shows(self.visitor.open("/account"), SIGN_IN)
        self.assertTrue(self.signed_in_at(self.upstream)["sub"])

    def test_an_issuer_that_hangs_holds_nobody_up(self):
        issuer = self.connect("oidc", "hanging")
        gate = threading.Event()
        self.addCleanup(gate.set)
        issuer.lie(token=Reply(b"{}", gate=gate))
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            tries = [threads.submit(self.go, issuer, self.new_visitor()) for _ in range(8)]
            wait_until(lambda: issuer.asked("token") or all(one.done() for one in tries),
                       what="a request that hangs")
            # While it hangs, others sign in, also at another issuer, and no transaction is open.
            self.assertTrue(self.signed_in_at(self.upstream)["sub"])
            idle = self.site.sql("select count(*) from pg_stat_activity where datname = 'dossier' "
                                 "and state like 'idle in transaction%'")
            self.assertEqual(idle, "0")
            for one in tries:
                page, _ = one.result()
                self.assertEqual(page.heading.strip(), UNAVAILABLE.format("hanging"))
                self.assertEqual(page.status, 503)


class Metadata(ConnectionCase):
    """Metadata and endpoints that no connection may have."""

    def refused(self, words, preset="oidc", name=None, lie=None, **attributes):
        """Checks that the command refuses a connection, and says why."""
        issuer = self.upstreams.add(preset, name or f"{preset}-{len(self.upstreams.issuers)}")
        issuer.redirect_uri = f"{self.issuer}u/callback/{issuer.name}"
        issuer.lie(**(lie or {}))
        self.create(issuer, check=False, **attributes)
        run = self.checked(issuer)
        self.assertNotEqual(run.returncode, 0, run.stdout)
        self.assertIn(words, run.stdout + run.stderr)
        self.assertNotIn(issuer.secret, run.stdout + run.stderr)
        self.remove(issuer, check=False)
        return issuer

    def test_metadata_of_another_issuer(self):
        self.refused("issuer", lie={"discovery": {"issuer": "https://evil.example.com"}})
        self.refused("issuer", lie={"discovery": {"issuer": None}})

    def test_metadata_without_endpoints(self):
        for name in ["authorization_endpoint", "token_endpoint", "jwks_uri"]:
            self.refused(name, lie={"discovery": {name: None}})
            self.refused(name, lie={"discovery": {name: "javascript:alert(1)"}})
            self.refused(name, lie={"discovery": {name: "no URL"}})

    def test_metadata_that_is_none(self):
        for reply in [Reply("<html>"), Reply({}, 404), Reply([]), Reply({"issuer": LONG}),
                      Reply(status=302, fields={"Location": "/"})]:
            self.refused("", lie={"discovery": reply})

    def test_keys_that_are_none(self):
        for reply in [Reply("<html>"), Reply({"keys": []}), Reply({"keys": 7}), Reply(b"", 500)]:
            self.refused("", lie={"keys": reply})

    def test_metadata_that_changes_later(self):
        """The lie begins after the command, when a worker reads the metadata for the first time."""
        issuer = self.connect("oidc", "turncoat")
        issuer.is_new()
        issuer.lie(discovery={"issuer": "https://evil.example.com"})
        visitor = self.new_visitor()
        answer = visitor.open(self.button(issuer.name, visitor.open("/account")), follow=False)
        self.assertGreaterEqual(answer.status, 400)
        self.assertIn(answer.heading.strip(), [
            FAILED.format("turncoat"), UNAVAILABLE.format("turncoat")])


class PublicNetwork(ConnectionCase):
    """The rules for what the server may call, as shipped: public networks, by https."""

    SETTINGS = {**ConnectionCase.SETTINGS, "DOSSIER_ISSUER_NETWORK": "public"}

    def test_private_addresses_and_plain_http_are_refused(self):
        issuer = self.upstreams.add("oidc", "private")
        for url in [issuer.base, "http://issuer.example.com", "https://127.0.0.1/issuer",
                    "https://[::1]/issuer", "https://10.0.0.1", "https://169.254.169.254",
                    "https://user:password@issuer.example.com", "https://issuer.example.com/#x",
                    "https://issuer.example.com/?a=b", "ftp://issuer.example.com"]:
            with self.subTest(url):
                if self.create(issuer, check=False, issuer=url).returncode == 0:
                    self.assertNotEqual(self.checked(issuer).returncode, 0)
                    self.remove(issuer)
        self.assertEqual(issuer.requests, [])
        hub = self.upstreams.add("github", "hub")
        self.create(hub, check=False)
        self.assertNotEqual(self.checked(hub).returncode, 0)
        self.assertEqual(hub.requests, [])


class Deviations(ConnectionCase):
    """The deviations of single presets."""

    def setUp(self):
        super().setUp()
        for issuer in self.upstreams.issuers.values():
            issuer.is_new(f"{issuer.name}-{self.own_email()}")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.microsoft = cls.connect("microsoft", email_trust="verified")
        cls.github = cls.connect("github", email_trust="verified")
        cls.facebook = cls.connect("facebook", email_trust="verified")
        cls.google = cls.connect("google", email_trust="verified")
        cls.discord = cls.connect("discord", email_trust="verified")
        cls.x = cls.connect("x", email_trust="verified")

    def test_microsoft_s_issuer_has_the_tenant_of_the_token(self):
        self.assertTrue(self.signed_in_at(self.microsoft)["sub"])
        self.assertEqual(self.microsoft.refusals, [])
        for claims in [{"tid": CONSUMERS}, {"tid": None}, {"tid": "../common"}, {"tid": ""},
                       {"iss": f"{self.microsoft.base}/{{tenantid}}/v2.0"},
                       {"iss": f"{self.microsoft.base}/{CONSUMERS}/v2.0"}]:
            with self.subTest(claims):
                self.microsoft.is_new()
                self.microsoft.lie(claims=claims)
                self.fails(self.microsoft, visitor=self.new_visitor())

    def test_microsoft_s_tenants(self):
        other = "11111111-2222-3333-4444-555555555555"
        self.change(self.microsoft, tenants=[TENANT])
        self.addCleanup(self.change, self.microsoft, tenants=[])
        self.assertTrue(self.signed_in_at(self.microsoft)["sub"])
        for tenant in [other, CONSUMERS]:
            self.microsoft.is_new(tenant=tenant)
            page, _ = self.go(self.microsoft, visitor := self.new_visitor())
            self.is_refused(page, REFUSED.format("Microsoft"), self.microsoft, visitor,
                            NOT_ALLOWED)
        # The metadata of a connection for several tenants are those of all.
        self.change(self.microsoft, tenants=[TENANT, other])
        self.microsoft.is_new(tenant=CONSUMERS)
        page, _ = self.go(self.microsoft, visitor := self.new_visitor())
        self.is_refused(page, REFUSED.format("Microsoft"), self.microsoft, visitor, NOT_ALLOWED)
        self.microsoft.is_new(tenant=other)
        self.assertTrue(self.signed_in_at(self.microsoft, self.new_visitor())["sub"])

    def test_microsoft_verifies_an_address_only_by_xms_edov(self):
        """An administrator of any tenant sets any address (nOAuth)."""
        for edov, verified in [(None, False), ("1", True), (1, True), (True, True), ("true", True),
                               (False, False), ("0", False), (0, False), ("yes", False), ({}, False)]:
            with self.subTest(edov):
                self.microsoft.is_new(f"{self.microsoft.person.number}-{self.own_email()}")
                self.microsoft.lie(claims={"xms_edov": edov})
                told = self.signed_in_at(self.microsoft, self.new_visitor())
                self.assertEqual(told.get("email"), self.microsoft.person.email if verified else None)

    def test_a_renamed_login_at_github_is_the_same_person(self):
        told = self.signed_in_at(self.github)
        person = self.github.person
        person.login = "renamed"
        self.assertEqual(self.signed_in_at(self.github, self.new_visitor())["sub"], told["sub"])
        # Another person takes the old login.
        self.github.is_new(login="ada")
        self.assertNotEqual(self.signed_in_at(self.github, self.new_visitor())["sub"], told["sub"])

    def test_addresses_of_github(self):
        person = self.github.person
        self.assertEqual(self.signed_in_at(self.github)["email"], person.email)
        for name, emails in {
            "not verified": [{"email": "a@example.com", "primary": True, "verified": False}],
            "not primary": [{"email": "a@example.com", "primary": False, "verified": True}],
            "none": [], "malformed": [7, None, {"email": 7}],
            "away": Reply({"message": "Resource not accessible"}, 403),
        }.items():
            with self.subTest(name):
                self.github.is_new()
                reply = emails if isinstance(emails, Reply) else Reply(emails)
                self.github.lie(emails=reply)
                told = self.signed_in_at(self.github, self.new_visitor())
                self.assertIsNone(told.get("email"))
        # The address of the public profile is no proof.
        self.github.is_new()
        self.github.lie(userinfo={"email": "victim@example.com"})
        self.assertIsNone(self.signed_in_at(self.github, self.new_visitor()).get("email"))

    def test_facebook_verifies_no_address(self):
        person = self.facebook.person
        told = self.signed_in_at(self.facebook)
        self.assertNotIn("email", told)
        self.assertEqual((told["given_name"], told["family_name"]), (person.given, person.family))
        self.facebook.is_new(None)
        self.assertTrue(self.signed_in_at(self.facebook, self.new_visitor())["sub"])
        # The test server refuses requests without the proof.
        self.assertEqual(self.facebook.refusals, [])

    def test_google_is_authoritative_for_its_own_addresses(self):
        for email, domain, verified, taken in [
                ("ada.g@gmail.com", None, True, True), ("ada.w@example.com", "example.com", True, True),
                ("ada.o@example.com", None, True, False),
                ("ada.x@gmail.com.example.com", None, True, False),
                ("ada.u@example.com", "example.com", False, False),
                ("ada.v@gmail.com", None, False, False)]:
            with self.subTest(email):
                self.google.is_new(email, domain=domain, verified=verified)
                told = self.signed_in_at(self.google, self.new_visitor())
                self.assertEqual(told.get("email"), email if taken else None)

    def test_google_s_organizations(self):
        self.change(self.google, domains=["example.com"])
        self.addCleanup(self.change, self.google, domains=[])
        self.google.is_new(self.own_email(), domain="example.com")
        self.assertTrue(self.signed_in_at(self.google)["sub"])
        for domain in [None, "evil.com", "sub.example.com", "example.com.evil.com"]:
            self.google.is_new(f"{self.google.person.number}@example.com", domain=domain)
            page, _ = self.go(self.google, visitor := self.new_visitor())
            self.is_refused(page, REFUSED.format("Google"), self.google, visitor, NOT_ALLOWED)

    def test_discord_may_have_no_address(self):
        self.assertEqual(self.signed_in_at(self.discord)["email"], self.discord.person.email)
        for email, verified in [(None, False), ("unverified@example.com", False)]:
            self.discord.is_new(email, verified=verified)
            self.assertNotIn("email", self.signed_in_at(self.discord, self.new_visitor()))

    def test_members_that_are_malformed_are_left_out(self):
        upstream = self.connect("oidc", "odd", email_trust="always")
        for claims in [{"name": 7}, {"name": "n" * 10_000}, {"email": "no address"},
                       {"email": ["a@example.com"]}, {"picture": "javascript:alert(1)"},
                       {"locale": {"a": 1}}, {"email_verified": "yes"},
                       {"given_name": "\u202e" * 5}, {"email": "a" * 400 + "@example.com"}]:
            with self.subTest(str(claims)[:40]):
                upstream.is_new()
                upstream.lie(claims=claims, userinfo=claims)
                self.assertTrue(self.signed_in_at(upstream, self.new_visitor())["sub"])


if __name__ == "__main__":
    unittest.main()
