"""Reauthentication with a mailed code."""

import unittest

from cases import Case


class ByMail(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True)

    def backdate(self, grant):
        self.site.sql("update sessions set authenticated_at = now() - interval '11 minutes' "
                      f"where user_id = '{grant['user_id']}'")
        self.stale(grant)

    def make_key(self, grant):
        return self.post("/v1/me/api-keys", {"name": "cron"}, token=grant["access_token"])

    def stale(self, grant):
        self.expect(self.make_key(grant), 401, "reauthentication_required")

    def request_code(self, email):
        """Requests a code. Returns the flow and the mailed code."""
        count = len(self.codes(email))
        asked = self.expect(self.post("/v1/login/code/request", {"email": email}), 202).json
        return {"flow": asked["flow"], "code": self.mailed_code(email, count + 1)}

    def reauthenticate(self, grant, **body):
        """Reauthenticates with a code. A success replaces the tokens in `grant`."""
        answer = self.post("/v1/reauthenticate", {"provider": "email", **body},
                           token=grant["access_token"])
        return self.renewed(answer, grant) if answer.status == 200 else answer

    def test_a_guess_at_another_users_code_reveals_no_user_and_no_session(self):
        mine = self.sign_in_by_code("guessing@example.com")
        other = self.sign_in_by_code("guessed@example.com")
        flow = self.request_code("guessed@example.com")["flow"]
        self.expect(self.reauthenticate(mine, flow=flow, code="0000 0000"), 401, "code_invalid")
        event = self.me(other, "/audit").json[0]
        self.assertEqual(
            (event["action"], event["actor"], event["session_id"], event["device_id"]),
            ("login_failure", "unauthenticated", None, None))

    def test_a_code_of_the_users_own_address_reauthenticates_once(self):
        mine = self.sign_in_by_code("coded@example.com")
        identity, = self.expect(self.me(mine, "/identities"), 200).json
        self.assertEqual((identity["provider"], identity["verified"]), ("email", True))
        other = self.sign_in_by_code("stranger@example.com")
        self.backdate(mine)
        right = self.request_code("coded@example.com")
        for status, code, body in [
            (401, "code_invalid", self.request_code("stranger@example.com")),
            (401, "code_invalid", self.request_code("nobody@example.com")),
            (401, "code_invalid", {**right, "code": "0000 000"}),
            (401, "code_invalid", {**right, "flow": "0" * 24}),
            (422, "validation_failed", {"flow": right["flow"]}),
        ]:
            with self.subTest(body=body):
                self.expect(self.reauthenticate(mine, **body), status, code)
                self.stale(mine)
        stolen = dict(mine)
        self.expect(self.reauthenticate(mine, **right), 200)
        self.expect(self.make_key(mine), 201)
        session = next(s for s in self.me(mine, "/sessions").json if s["current"])
        self.assertEqual(session["provider"], "email")
        # The code is used up, and copies of the earlier tokens gain nothing.
        self.expect(self.me(stolen), 401, "session_ended")
        self.expect(self.reauthenticate(mine, **right), 401, "code_invalid")
        self.expect(self.post("/v1/login/code", right), 401, "code_invalid")
        self.assertIn(("reauthenticate", "email"), [
            (event["action"], event["detail"].get("provider"))
            for event in self.me(mine, "/audit").json])
        self.expect(self.me(other), 200)

    def test_a_code_reauthenticates_a_verified_user_with_a_password(self):
        grant = self.verified("both@example.com")
        self.backdate(grant)
        self.expect(self.reauthenticate(grant, **self.request_code("both@example.com")), 200)
        self.expect(self.make_key(grant), 201)
        self.expect(self.login("both@example.com"), 200)

    def test_a_code_of_an_unverified_address_does_not_reauthenticate(self):
        grant = self.expect(self.register("unproved@example.com"), 201).json
        self.backdate(grant)
        code = self.request_code("unproved@example.com")
        self.expect(self.reauthenticate(grant, **code), 401, "code_invalid")
        self.stale(grant)
        # The code signs its reader in, who takes the account over.
        self.expect(self.post("/v1/login/code", code), 200)
        self.expect(self.me(grant), 401, "session_ended")

    def test_a_code_does_not_reauthenticate_if_codes_are_disabled(self):
        grant = self.verified("off@example.com")
        code = self.request_code("off@example.com")
        self.site.set_app(email_code=False)
        self.addCleanup(self.site.set_app, email_code=True)
        self.expect(self.reauthenticate(grant, **code), 403, "login_method_disabled")

    def test_code_guesses_are_limited(self):
        grant = self.verified("limited@example.com")
        right = self.request_code("limited@example.com")
        for _ in range(5):
            self.expect(self.reauthenticate(grant, **{**right, "code": "0000 000"}), 401, "code_invalid")
        # The flow has no try left, also for the right code.
        self.expect(self.reauthenticate(grant, **right), 401, "code_invalid")
        self.expect(self.post("/v1/login/code", right), 401, "code_invalid")


if __name__ == "__main__":
    unittest.main()
