"""Refusals of clients of Parra in the shape that their SDK reads: limits, outages, second factors."""

import json
import re
import unittest

from authenticator import FactorCase
from cases import Case
from machine import wait_until
from parra import PASSWORD, Client
from parra_types import APIError, NetworkError, SignedOut, is_api_error


class Limits(Case):
    def setUp(self):
        self.site.sql("delete from rate_limits")

    def test_too_many_passwords(self):
        client = Client(self.site).launch()
        client.sign_up("limited@example.com")
        for status in [400] * 10 + [429]:
            with self.assertRaises(APIError) as refused:
                client.log_in("limited@example.com", "wrong horse battery")
            self.assertEqual(refused.exception.status, status)
        body = refused.exception.body
        self.assertEqual(body["error"], "temporarily_unavailable")
        # The screen must not say that the password was wrong.
        self.assertNotIn("invalid", body["message"])

    def test_too_many_anonymous_users(self):
        self.site.set_app(anonymous_users_per_ip=1)
        self.addCleanup(self.site.set_app, anonymous_users_per_ip=300)
        client = Client(self.site).launch()
        with self.assertRaises(NetworkError) as refused:
            client.issue("issuers/anonymous/token", {})
        self.assertEqual(refused.exception.status, 429)
        self.assertEqual(json.loads(refused.exception.body)["error"], "temporarily_unavailable")
        # A log-out still returns a token.
        client.log_out()
        self.assertFalse(client.is_anonymous)

    def test_challenges_have_their_own_limit(self):
        self.site.set_app(failures_per_ip=10)
        self.addCleanup(self.site.set_app, failures_per_ip=100)
        client = Client(self.site).launch()
        for _ in range(39):
            client.challenges("asked@example.com")
        # The registrations of the address and of the network are left.
        client.sign_up("asked@example.com")
        self.assertTrue(client.challenges("asked@example.com")["exists"])
        with self.assertRaises(APIError) as refused:
            client.challenges("other@example.com")
        self.assertEqual(refused.exception.status, 429)

    def test_reset_codes_of_a_network(self):
        client = Client(self.site, address="198.51.100.7").launch()
        for n in range(10):
            client.issue("password/reset/challenge", {"email": f"reset{n}@example.com"})
        with self.assertRaises(APIError) as refused:
            client.issue("password/reset/challenge", {"email": "reset@example.com"})
        self.assertEqual(refused.exception.status, 429)
        other = Client(self.site, address="203.0.113.7").launch()
        other.issue("password/reset/challenge", {"email": "reset@example.com"})


class Outage(Case):
    def test_a_refresh_signs_out_only_if_it_is_refused(self):
        client = Client(self.site).launch()
        client.sign_up("outage@example.com")
        anonymous = Client(self.site).launch()
        with self.site.without_postgres():
            for one in [client, anonymous]:
                # The client would raise SignedOut for a refused refresh.
                with self.assertRaises((APIError, NetworkError)) as refused:
                    one.refresh()
                self.assertEqual(refused.exception.status, 503)
            answer = client.send("GET", f"{client.base}/auth/user-info",
                                 token=client.tokens["access_token"])
            self.assertEqual(answer.status, 503)
            self.assertTrue(is_api_error(answer.json), answer.body)
        for one in [client, anonymous]:
            one.refresh()
            one.read_user()
        client.log_out()
        client.tokens["refresh_token"], client.is_anonymous = "x", False
        with self.assertRaises(SignedOut):
            client.refresh()


class Closed(Case):
    def test_a_closed_sign_up(self):
        client = Client(self.site).launch()
        self.site.set_app(sign_up="closed")
        self.addCleanup(self.site.set_app, sign_up="immediate")
        with self.assertRaises(APIError) as refused:
            client.sign_up("closed@example.com")
        body = refused.exception.body
        self.assertEqual((refused.exception.status, body["error"]), (400, "unauthorized_client"))
        self.assertEqual(self.site.sql(
            "select count(*) from users where email = 'closed@example.com'"), "0")
        self.assertTrue(client.read_user()["is_anonymous"])


class Challenges(Case):
    def test_a_user_without_a_password(self):
        self.site.set_app(email_code=True, parra_code_digits=6)
        client = Client(self.site).launch()
        client.ask_for_code("code@example.com")
        wait_until(lambda: self.site.mails("code@example.com"), what="a code")
        code = re.search(r"^\d{3} \d{3}$", self.site.mails("code@example.com")[-1], re.M)[0]
        user = client.log_in_by_code(code.replace(" ", ""))
        self.assertFalse(user["has_password"])
        found = client.challenges("code@example.com")
        self.assertEqual(found["available_challenges"], [{"id": "passwordless_email"}])
        self.assertEqual(found["supported_challenges"],
                         [{"id": "password"}, {"id": "passwordless_email"}])
        # Otherwise the answers would reveal who has an account.
        for mode in ["verify_first", "closed"]:
            self.site.set_app(sign_up=mode)
            self.addCleanup(self.site.set_app, sign_up="immediate")
            self.assertEqual(client.challenges("code@example.com"),
                             client.challenges("nobody@example.com"))


class SecondFactor(FactorCase):
    def test_a_user_who_needs_one_cannot_log_in(self):
        grant = self.register("factor@example.com", PASSWORD).json
        self.protected(grant)
        client = Client(self.site).launch()
        with self.assertRaises(APIError) as refused:
            client.log_in("factor@example.com")
        body = refused.exception.body
        self.assertEqual((refused.exception.status, body["error"]), (400, "invalid_grant"))
        self.assertNotIn("access_token", body)


if __name__ == "__main__":
    unittest.main()
