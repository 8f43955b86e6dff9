"""How much a sign-in at an issuer proves: second factors, reauthentication and prompts."""

import time
import unittest
import urllib.parse

from authenticator import FactorCase
from connections import ACCOUNT, CONFIRM, SIGN_IN, ConnectionCase, browse
from openid import Party

MFA = "http://schemas.openid.net/pape/policies/2007/06/multi-factor"


def query_of(url):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))


class Factors(FactorCase, ConnectionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = cls.connect("oidc", "upstream", email_trust="verified")
        cls.strong = cls.connect("oidc", "strong", trusts_amr=True)

    def setUp(self):
        super().setUp()
        for issuer in [self.upstream, self.strong]:
            issuer.is_new(f"{issuer.name}-{self.own_email()}")

    def test_a_sign_in_at_an_issuer_is_told_by_amr(self):
        told = self.signed_in_at(self.upstream)
        self.assertEqual(told["amr"], ["fed"])
        self.assertNotIn("acr", told)

    def test_an_app_that_requires_a_second_factor(self):
        self.set_mfa("required")
        page, _ = self.go(self.upstream)
        self.shows(page, "Set up an authenticator app")
        # The factors that an issuer names count only if the operator trusts it.
        self.upstream.is_new()
        self.upstream.lie(claims={"amr": ["pwd", "mfa"], "acr": MFA})
        page, _ = self.go(self.upstream, self.new_visitor())
        self.assertEqual(page.heading.strip(), "Set up an authenticator app")
        self.strong.lie(claims={"amr": ["pwd", "mfa"]})
        told = self.signed_in_at(self.strong, self.new_visitor())
        self.assertIn("mfa", told["amr"])
        self.assertEqual(told["acr"], MFA)
        self.strong.is_new()
        self.strong.lie(claims={"amr": ["pwd"]})
        page, _ = self.go(self.strong, self.new_visitor())
        self.assertEqual(page.heading.strip(), "Set up an authenticator app")

    def test_amr_that_is_malformed_proves_nothing(self):
        self.set_mfa("required")
        for amr in ["mfa", {"mfa": True}, [["mfa"]], [7], "pwd mfa", ["MFA"]]:
            with self.subTest(amr):
                self.strong.is_new()
                self.strong.lie(claims={"amr": amr})
                page, _ = self.go(self.strong, self.new_visitor())
                self.assertNotIn(b"code=", page.body)
                self.assertFalse(page.location)

    def test_a_user_with_a_factor_enters_its_code(self):
        email = self.own_email()
        grant = self.verified(email)
        factor, _ = self.protected(grant)
        self.later(grant["user_id"])
        self.upstream.is_new(email)
        token = self.upstream.native_token()
        self.expect(self.attach(grant, provider="jwt", token=token), 200)
        self.assertEqual(self.owner(self.upstream), grant["user_id"])
        self.later(grant["user_id"])
        page, party = self.go(self.upstream)
        self.assertFalse(page.location)
        page = self.visitor.submit("/factor", code=factor.code())
        self.assertEqual(self.identity(page, party)["amr"], ["fed", "mfa", "otp"])


class Reauthentication(ConnectionCase):
    """A change of a login method asks the issuer to identify the person again."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = cls.connect("oidc", "upstream", email_trust="verified")

    def setUp(self):
        super().setUp()
        self.upstream.is_new(self.own_email())
        self.signed_in_at(self.upstream)
        self.user_id = self.owner(self.upstream)
        self.age()

    def age(self):
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day' "
                      f"where user_id = '{self.user_id}'")

    def asked_again(self):
        """Opens a page that needs a fresh proof. Returns the URL at the issuer."""
        page = self.visitor.open("/account/delete")
        self.shows(page, CONFIRM)
        return self.follow(self.upstream, page)

    def test_the_issuer_must_ask_the_person(self):
        url = self.asked_again()
        query = query_of(url)
        self.assertEqual((query["prompt"], query["max_age"]), ("login", "0"))
        page = self.come_back(browse(url))
        self.assertNotEqual(page.heading.strip(), CONFIRM)
        self.assertEqual(page.path.split("?")[0], "/account/delete")

    def test_a_sign_in_of_long_ago_proves_nothing(self):
        """An issuer that ignores the prompt sends a fresh token, but an old or no `auth_time`."""
        now = int(time.time())
        for auth_time in [now - 3600, now - 86_400, None, 0, -1, "x", str(now), now + 3600]:
            with self.subTest(auth_time):
                url = self.asked_again()
                self.upstream.lie(claims={"auth_time": auth_time})
                page = self.come_back(browse(url))
                self.assertNotEqual(page.path.split("?")[0], "/account/delete", page.text)
                self.upstream.honest()
                self.shows(self.visitor.open("/account/delete"), CONFIRM)

    def test_another_person_proves_nothing(self):
        url = self.asked_again()
        mine = self.upstream.person
        self.upstream.is_new("other-" + self.own_email())
        self.come_back(browse(url))
        self.shows(self.visitor.open("/account/delete"), CONFIRM)
        # Nor becomes the user of the session.
        self.assertIn(mine.email, self.visitor.open("/account").text)
        self.assertIsNone(self.owner(self.upstream))

    def test_a_sign_in_by_a_redirect_is_no_proof_without_auth_time(self):
        """A silent sign-in at the issuer makes a new session, which did not ask the person."""
        self.upstream.signed_in_at = int(time.time()) - 86_400
        visitor = self.new_visitor()
        self.signed_in_at(self.upstream, visitor)
        page = visitor.open("/account/delete")
        self.shows(page, CONFIRM)

    def test_a_client_that_wants_a_fresh_sign_in(self):
        party = Party(self, self.spa, prompt="login")
        page = self.visitor.open(party.path)
        self.shows(page, CONFIRM)
        query = query_of(url := self.follow(self.upstream, page))
        self.assertEqual(query["prompt"], "login")
        told = self.identity(self.come_back(browse(url)), party)
        self.assertLess(time.time() - told["auth_time"], 60)


class NativeReauthentication(ConnectionCase):
    """`/v1/reauthenticate` by what the SDK of an issuer has given to an app."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = cls.connect("oidc", "upstream", email_trust="verified")

    def setUp(self):
        super().setUp()
        self.upstream.is_new(self.own_email())
        token = {"connection": "upstream", "id_token": self.upstream.native_token()}
        self.grant = self.expect(self.post("/v1/login/connection", token), 200).json
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day' "
                      f"where user_id = '{self.grant['user_id']}'")

    def authenticate(self, **body):
        return self.post("/v1/reauthenticate", body, token=self.grant["access_token"])

    def by_code(self, **parameters):
        code = self.upstream.native_code(**parameters)
        return self.authenticate(provider="connection", connection="upstream", code=code)

    def by_token(self, provider="connection", **claims):
        token = self.upstream.native_token(**claims)
        if provider == "jwt":
            return self.authenticate(provider="jwt", token=token)
        return self.authenticate(provider=provider, connection="upstream", id_token=token)

    def is_fresh(self, grant):
        answer = self.post("/v1/me/api-keys", {"name": "k"}, token=grant["access_token"])
        return answer.status == 201

    def test_a_fresh_sign_in_at_the_issuer_proves_the_user(self):
        now = int(time.time())
        self.assertFalse(self.is_fresh(self.grant))
        for enter in [lambda: self.by_code(max_age=0), lambda: self.by_token(auth_time=now),
                      lambda: self.by_token("jwt", auth_time=now)]:
            grant = self.expect(enter(), 200).json
            self.assertEqual(grant["user_id"], self.grant["user_id"])
            self.assertTrue(self.is_fresh(grant))
            self.expect(self.me(self.grant), 401, "session_ended")
            self.grant = grant

    def test_a_silent_sign_in_at_the_issuer_proves_nothing(self):
        day = int(time.time()) - 86_400
        answers = [self.by_code(), self.by_token(), self.by_token("jwt")]
        answers += [self.by_token(kind, auth_time=day) for kind in ["connection", "jwt"]]
        self.upstream.lie(claims={"auth_time": day})
        answers.append(self.by_code(max_age=0))
        for answer in answers:
            self.expect(answer, 403, "fresh_sign_in_unproved")
        self.assertFalse(self.is_fresh(self.grant))

    def test_another_person_or_a_foreign_token_proves_nothing(self):
        now = int(time.time())
        self.expect(self.by_token(auth_time=now, aud="another"), 401, "external_token_invalid")
        self.expect(self.authenticate(provider="connection", connection="absent", code="c"), 404)
        for body in [{}, {"code": "c", "id_token": "t"}, {"code": ""}]:
            self.expect(self.authenticate(provider="connection", connection="upstream", **body), 422)
        mine = self.owner(self.upstream)
        self.upstream.is_new("other-" + self.own_email())
        for kind in ["connection", "jwt"]:
            self.expect(self.by_token(kind, auth_time=now), 401, "wrong_credentials")
        self.assertIsNone(self.owner(self.upstream))
        self.assertEqual(mine, self.grant["user_id"])
        self.assertFalse(self.is_fresh(self.grant))


class Prompts(ConnectionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstream = cls.connect("oidc", "upstream", email_trust="verified")

    def setUp(self):
        super().setUp()
        self.upstream.is_new(self.own_email())

    def test_a_silent_request_asks_no_issuer(self):
        before = len(self.upstream.requests)
        for more in [{}, {"connection": "upstream"}]:
            silent = Party(self, self.spa, prompt="none", **more)
            self.assertEqual(silent.answer(self.visitor.open(silent.path))["error"], "login_required")
        self.assertEqual(len(self.upstream.requests), before)
        self.signed_in_at(self.upstream)
        for more in [{}, {"connection": "upstream"}]:
            silent = Party(self, self.spa, prompt="none", **more)
            self.assertTrue(silent.code(self.visitor.open(silent.path)))

    def test_hints_of_the_client_are_forwarded(self):
        url, _ = self.begin(self.upstream, login_hint="ada@example.com", ui_locales="de fr")
        query = query_of(url)
        self.assertEqual(query["login_hint"], "ada@example.com")
        self.assertIn("de", query.get("ui_locales", "de"))
        for name in ["prompt", "max_age", "acr_values"]:
            self.assertNotIn(name, query)

    def test_another_account_can_be_chosen_at_the_issuer(self):
        """Otherwise the person is stuck with the one account that is signed in there."""
        self.signed_in_at(self.upstream)
        self.visitor.open(Party(self, self.spa, prompt="login").path)
        page = self.visitor.submit("/another")
        self.assertEqual(query_of(self.follow(self.upstream, page))["prompt"], "select_account")

    def test_a_request_for_another_account_is_forwarded(self):
        party = Party(self, self.spa, prompt="select_account", connection="upstream")
        answer = self.visitor.open(party.path, follow=False)
        while (answer.location or "").startswith("/"):
            answer = self.visitor.open(answer.location, follow=False)
        self.assertEqual(query_of(answer.location)["prompt"], "select_account")

    def test_a_sign_out_ends_the_session_here(self):
        self.signed_in_at(self.upstream)
        self.visitor.open("/account")
        self.visitor.submit("/account/sign-out")
        page = self.visitor.open("/account")
        self.assertNotEqual(page.heading.strip(), ACCOUNT)
        silent = Party(self, self.spa, prompt="none")
        self.assertEqual(silent.answer(self.visitor.open(silent.path))["error"], "login_required")

    def test_an_app_with_one_connection_and_no_other_method_shows_no_page(self):
        only = self.new_client("single_page", "callback_urls=https://app.example.com/callback")
        self.site.dossier("client", "set", only["id"], 'connections=["upstream"]')
        party = Party(self, only)
        answer = self.visitor.open(party.path, follow=False)
        while (answer.location or "").startswith("/"):
            answer = self.visitor.open(answer.location, follow=False)
        self.assertTrue((answer.location or "").startswith(self.upstream.base), answer.text)
        # After an error there is a page, so that no loop begins.
        self.upstream.lie(callback={"code": None, "error": "access_denied"})
        page = self.come_back(browse(answer.location))
        self.assertEqual((page.heading.strip(), page.status), (SIGN_IN, 200))


class Sessions(ConnectionCase):

    def test_a_deleted_connection_signs_nobody_in(self):
        issuer = self.connect("oidc", "gone")
        issuer.is_new()
        url, _ = self.begin(issuer)
        asked = len(issuer.asked("token"))
        self.remove(issuer)
        page = self.come_back(browse(url))
        self.assertGreaterEqual(page.status, 400)
        self.assertIsNone(self.owner(issuer))
        self.assertEqual(len(issuer.asked("token")), asked)


if __name__ == "__main__":
    unittest.main()
