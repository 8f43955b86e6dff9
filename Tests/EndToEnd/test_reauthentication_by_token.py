"""Tests of how much the token of an issuer proves."""

import time
import unittest

from issuers import claims
from test_reauthentication import ReauthenticationCase


class ByToken(ReauthenticationCase):
    def test_a_sign_in_by_a_token_proves_its_session(self):
        now = int(time.time())
        timeless = claims("timeless")
        del timeless["iat"]
        for payload, status in [(claims("new"), 201), (timeless, 201),
                                (claims("new", iat=now - 700), 401), (claims("new", iat=None), 401),
                                (claims("new", auth_time=now - 700), 401)]:
            with self.subTest(payload):
                login = self.post("/v1/login/jwt", {"token": self.key.token(payload)})
                self.expect(self.make_key(self.expect(login, 200).json, str(now)), status)
                now += 1

    def test_a_repeated_link_proves_nothing_without_auth_time(self):
        def age(grant):
            return int(self.site.sql(
                "select extract(epoch from now() - authenticated_at)::int from sessions "
                f"where user_id = '{grant['user_id']}' and ended_at is null"))

        again = self.key.token(claims("again"))
        grant = self.expect(self.post("/v1/login/jwt", {"token": again}), 200).json
        self.backdate(grant, minutes=8)
        self.renewed(self.link(grant, provider="jwt", token=again), grant)
        self.assertGreaterEqual(age(grant), 480)
        self.renewed(self.link(grant, provider="jwt", token=self.jwt("again")), grant)
        self.assertLess(age(grant), 480)


if __name__ == "__main__":
    unittest.main()
