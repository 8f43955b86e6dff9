"""Codes, tokens and APIs at their edges: races, what is kept of a request, and texts of errors."""

import unittest
import urllib.parse

from cases import Held, Waiting
from openid import CALLBACK, FORM, OpenIDCase, Party


class SignOutDuringExchange(OpenIDCase, Waiting):
    def sign_out_alone(self):
        self.visitor.open("/oidc/logout")
        return "/oidc/logout/confirm"

    def sign_out_all(self):
        self.user("second@example.com")
        self.signed_in(Party(self, self.web, prompt="login"), "second@example.com")
        self.visitor.open("/account/switch")
        return "/switch/sign-out"

    def sign_out_at_the_account_page(self):
        self.visitor.open("/account")
        return "/account/sign-out"

    def test_a_sign_out_ends_the_session_of_a_code_that_is_being_exchanged(self):
        for way in [self.sign_out_alone, self.sign_out_all, self.sign_out_at_the_account_page]:
            with self.subTest(way.__name__):
                self.visitor, self.threads = self.new_visitor(), []
                name = way.__name__.replace("_", "-")
                email, user = self.user(f"{name}@example.com")
                party = Party(self, self.spa, scope="openid")
                code = party.code(self.signed_in(party, email))
                action = way()
                # The exchange has inserted its session, and cannot commit.
                with Held(self.site, "lock table audit in share mode"):
                    exchange = self.started(lambda: party.exchange(code))
                    self.wait_for(1)
                    sign_out = self.started(lambda: self.visitor.submit(action))
                    self.wait_for(2)
                answer = exchange()
                sign_out()
                # The sign-out may end the session before the exchange has made the tokens.
                if answer.status == 200:
                    self.assertEqual(self.userinfo(answer.json["access_token"]).status, 401)
                else:
                    self.expect(answer, 401)
                self.assertEqual(self.site.sql(
                    "select count(*), count(ended_at) from sessions "
                    f"where user_id = '{user}' and style = 'openid'"), "1|1")


class FinishedAuthorization(OpenIDCase):
    def test_the_hints_of_a_request_are_dropped_with_its_end(self):
        email, user = self.user()
        tokens, party = self.tokens(email, scope="openid offline_access", login_hint=email)
        again = Party(self, self.spa, id_token_hint=tokens["id_token"], prompt="none")
        again.code(self.visitor.open(again.path))
        self.assertEqual(self.site.sql(
            f"select count(*) from authorizations where user_id = '{user}'"), "2")
        self.assertEqual(self.site.sql(
            "select count(*) from authorizations where user_id is not null and "
            f"(request::text like '%{email}%' or request::text like '%{user}%')"), "0")


class Introspection(OpenIDCase):
    def test_a_refresh_token_that_cannot_be_exchanged_is_inactive(self):
        tokens, party = self.tokens(client=self.web, scope="openid offline_access")
        body = urllib.parse.urlencode({"client_id": self.web["id"],
                                       "client_secret": self.web["secret"],
                                       "token": tokens["refresh_token"]})

        def is_active():
            return self.expect(self.site.request("POST", "/oauth/introspect", body, FORM),
                               200).json["active"]

        self.assertTrue(is_active())
        self.settings(mfa="required")
        self.assertFalse(is_active())
        self.site.set_app(mfa="optional")
        self.assertTrue(is_active())
        self.settings(session_max_days=1)
        self.site.sql("update sessions set created_at = now() - interval '25 hours'")
        self.assertFalse(is_active())


class Messages(OpenIDCase):
    def test_errors_name_the_cause(self):
        tokens, party = self.tokens(scope="openid read:posts", audience=self.API)
        answer = self.expect(self.site.get("/v1/me", token=tokens["access_token"]), 401,
                             "token_invalid")
        self.assertIn(f"The token is for the audience {self.API}", answer.json["detail"])
        party = Party(self, self.spa)
        code = party.code(self.visitor.open(party.path))
        self.error(party.exchange(code, redirect_uri=f"{CALLBACK}2"), 400, "invalid_grant",
                   "The redirect_uri is not that of the /authorize request.")

    def test_an_api_cannot_have_an_address_of_this_server(self):
        for identifier in [self.issuer, f"{self.issuer}userinfo",
                           f"{self.issuer}api/v2/", f"{self.issuer}api/v2"]:
            answer = self.site.dossier(
                "resource-server", "create", identifier, "--app", "default", "name=x", check=False)
            self.assertIn("The identifier must not be an address of this server.", answer.stderr)
        self.assertEqual(self.site.sql("select count(*) from resource_servers where identifier "
                                       f"like '{self.issuer[:-1]}%'"), "0")


if __name__ == "__main__":
    unittest.main()
