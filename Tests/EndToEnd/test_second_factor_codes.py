"""The codes of second factors at a sign-in: their validity, limits and flows."""

import unittest

from asking import ADDRESS
from authenticator import FactorCase
from cases import in_parallel
from test_limits import limits


class Codes(FactorCase):
    """Tests the validity of codes."""

    def setUp(self):
        self.site.sql("delete from rate_limits")
        self.email = f"{self._testMethodName.replace('_', '-')[5:40]}@example.com"

    def user(self, **options):
        """Creates a user with a factor."""
        self.grant = self.verified(self.email, **options)
        self.authenticator, self.recovery_codes = self.protected(self.grant, **options)
        self.later(self.grant["user_id"])

    def flow(self, **options):
        return self.asked(self.login(self.email, **options))

    def wrong(self, flow, **options):
        return self.prove(flow, self.authenticator.wrong(), **options)

    def test_a_code_works_once(self):
        self.user()
        first, second = self.flow(), self.flow()
        code = self.authenticator.code()
        self.expect(self.prove(first, code), 200)
        self.expect(self.prove(second, code), 401, "code_invalid")
        # An earlier code is refused too.
        self.expect(self.prove(second, self.authenticator.code(-1)), 401, "code_invalid")
        # The first code of a factor is used, too.
        self.later(self.grant["user_id"])
        self.expect(self.prove(second, self.authenticator.code()), 200)
        used, = self.factors(self.grant)["second_factors"]
        self.assertIsNotNone(used["last_used_at"])

    def test_the_present_code_and_the_one_before_are_accepted(self):
        self.user()
        user = self.grant["user_id"]
        for later, status in [(-2, 401), (-1, 200), (0, 200), (1, 401), (2, 401)]:
            with self.subTest(later=later):
                flow = self.flow()

                def attempt():
                    self.later(user)
                    # A success ends the flow, and its code cannot be repeated.
                    self.site.sql("delete from rate_limits")
                    return self.prove(self.flow() if status == 200 else flow,
                                      self.authenticator.code(later))

                self.assertEqual(self.in_one_step(attempt).status, status)

    def test_a_recovery_code_works_once_in_every_notation(self):
        self.user()
        first, second, third = self.recovery_codes[:3]
        self.expect(self.prove(self.flow(), first), 200)
        flow = self.flow()
        self.expect(self.prove(flow, first), 401, "code_invalid")
        typed = second.upper().replace("-", " ").replace("0", "O").replace("1", "l")
        self.expect(self.prove(flow, typed), 200)
        self.assertEqual(self.factors(self.grant)["recovery_codes_left"], 8)
        # It belongs to one user.
        email = f"other-{self.email}"
        self.protected(self.verified(email))
        self.expect(self.prove(self.asked(self.login(email)), third), 401, "code_invalid")

    def test_one_of_concurrent_requests_with_one_code_succeeds(self):
        self.user()
        for code, flows in [(self.recovery_codes[0], [self.flow()] * 4),
                            (self.recovery_codes[1], [self.flow() for _ in range(4)]),
                            (None, [self.flow()] * 4), (None, [self.flow() for _ in range(4)])]:
            self.later(self.grant["user_id"])
            self.site.sql("delete from rate_limits")
            code = code or self.authenticator.code()
            answers = in_parallel(4, lambda index: self.prove(flows[index], code))
            self.assertEqual(sorted(answer.status for answer in answers), [200] + [401] * 3)

    def test_wrong_codes_count_over_all_flows(self):
        self.user()
        flow = self.flow()
        for _ in range(5):
            self.expect(self.wrong(self.flow()), 401, "code_invalid")
            self.expect(self.wrong(flow), 401, "code_invalid")
        refused = self.expect(self.prove(flow, self.authenticator.code()), 429)
        self.assertIn("Retry-After", refused.headers)
        # The password is correct, and does not count as a failure.
        flow = self.flow()
        self.expect(self.prove(flow, self.authenticator.code()), 429, "too_many_attempts")
        # These guesses do not lock the recovery codes, which are counted apart.
        self.expect(self.prove(flow, self.recovery_codes[0]), 200)
        # A known device has a limit of its own.
        device = {"Dossier-Device": self.grant["device_secret"]}
        self.later(self.grant["user_id"])
        self.expect(self.prove(self.flow(headers=device), self.authenticator.code(), headers=device),
                    200)
        self.assertEqual(len(self.events(self.grant["user_id"], "login_failure")), 10)
        self.site.dossier("rate-limit", "reset", self.email)
        self.later(self.grant["user_id"])
        self.expect(self.prove(self.flow(), self.authenticator.code()), 200)

    def test_wrong_recovery_codes_are_limited_apart(self):
        self.user()
        flow, wrong = self.flow(), "000000-000000-000000-000000"
        for _ in range(5):
            self.expect(self.prove(self.flow(), wrong), 401, "code_invalid")
            self.expect(self.prove(flow, wrong), 401, "code_invalid")
        refused = self.expect(self.prove(flow, self.recovery_codes[0]), 429, "too_many_attempts")
        self.assertEqual(limits(refused).keys(), {"recovery-code"})
        self.expect(self.prove(flow, self.authenticator.code()), 200)
        self.site.dossier("rate-limit", "reset", self.email)
        self.expect(self.prove(self.flow(), self.recovery_codes[0]), 200)

    def test_a_correct_code_does_not_count_as_a_failure(self):
        self.user()
        self.site.set_app(failures_per_identifier=3)
        self.addCleanup(self.site.set_app, failures_per_identifier=10)
        for index in range(6):
            self.expect(self.prove(self.flow(), self.recovery_codes[index]), 200)
        # A stranger without the password uses nothing of the limit either.
        for _ in range(3):
            self.expect(self.login(self.email, "a guess", headers={ADDRESS: "192.0.2.9"}), 401)
        self.expect(self.prove(self.flow(), self.recovery_codes[6]), 200)

    def test_a_failed_sign_in_does_not_count_its_correct_code_as_a_failure(self):
        self.user()
        self.site.set_app(failures_per_identifier=3)
        self.addCleanup(self.site.set_app, failures_per_identifier=10)
        full, flow = self.full_device(), self.flow()
        for _ in range(4):
            refused = self.prove(flow, self.recovery_codes[0], headers=full)
            self.expect(refused, 409, "device_full")
        self.site.dossier("user", "block", "--yes", self.grant["user_id"])
        for _ in range(4):
            self.expect(self.prove(flow, self.recovery_codes[0]), 401, "wrong_credentials")
        self.site.dossier("user", "unblock", self.grant["user_id"])
        self.expect(self.prove(flow, self.recovery_codes[0]), 200)

    def test_a_device_of_an_api_key_gets_no_separate_limit(self):
        self.user()
        key = self.expect(self.post("/v1/me/api-keys", {"name": "script"},
                                    token=self.grant["access_token"]), 201).json["key"]

        def guess():
            thief = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
            device = {"Dossier-Device": thief["device_secret"]}
            return self.wrong(self.flow(headers=device), headers=device)

        for _ in range(10):
            self.expect(guess(), 401, "code_invalid")
        self.assertEqual(limits(self.expect(guess(), 429)).keys(), {"second-factor"})
        # These guesses do not limit the device on which the user has passed the factor.
        own = {"Dossier-Device": self.grant["device_secret"]}
        self.expect(self.wrong(self.flow(headers=own), headers=own), 401, "code_invalid")
        self.expect(self.prove(self.flow(headers=own), self.recovery_codes[0], headers=own), 200)

    def test_a_user_has_ten_flows(self):
        self.user()
        other = self.verified(f"other-{self.email}")
        self.protected(other)
        theirs = self.asked(self.login(f"other-{self.email}"))
        self.expect(self.post("/v1/me/email", {"email": f"new-{self.email}"},
                              token=self.grant["access_token"]), 202)
        flows = [self.flow() for _ in range(12)]
        self.assertEqual(self.site.sql(
            "select purpose, count(*) from authentication_flows "
            f"where place = '{self.grant['user_id']}' group by 1 order by 1"),
            "change_email|1\nsecond_factor|10")
        code = self.recovery_codes[0]
        self.expect(self.prove(flows[1], code), 401, "code_invalid")
        self.expect(self.prove(flows[2], code), 200)
        self.expect(self.wrong(theirs), 401, "code_invalid")
        self.assertEqual(self.site.sql(
            f"select tries from authentication_flows where place = '{other['user_id']}'"), "9")

    def test_a_refused_code_uses_no_try_of_its_flow(self):
        self.user()
        self.site.set_app(failures_per_identifier=2)
        self.addCleanup(self.site.set_app, failures_per_identifier=10)
        flow = self.flow()
        for status in [401, 401] + [429] * 12:
            self.expect(self.wrong(flow), status)
        self.site.sql("delete from rate_limits")
        self.expect(self.prove(flow, self.recovery_codes[0]), 200)

    def test_a_session_of_an_api_key_changes_no_password(self):
        self.user()
        key = self.expect(self.post("/v1/me/api-keys", {"name": "script"},
                                    token=self.grant["access_token"]), 201).json["key"]
        thief = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
        change = {"current_password": "correct horse", "new_password": "a thiefs own words"}
        self.expect(self.post("/v1/password/change", change, token=thief["access_token"]), 401,
                    "reauthentication_required")
        self.expect(self.post("/v1/password/change", change, token=self.grant["access_token"]), 200)

    def test_a_flow_has_limited_tries_and_ten_minutes(self):
        self.user()
        self.site.set_app(failures_per_identifier=100)
        self.addCleanup(self.site.set_app, failures_per_identifier=10)
        flow = self.flow()
        for _ in range(10):
            self.expect(self.wrong(flow), 401, "code_invalid")
        self.expect(self.prove(flow, self.recovery_codes[0]), 401, "code_invalid")
        flow = self.flow()
        self.site.sql("update authentication_flows set expires_at = now()")
        self.expect(self.prove(flow, self.recovery_codes[0]), 401, "code_invalid")
        flow = self.flow()
        self.expect(self.prove(flow, self.recovery_codes[0]), 200)
        for again in [flow, flow[:-4] + "AAAA", ""]:
            self.expect(self.prove(again, self.recovery_codes[1]), 401, "code_invalid")

    def test_a_flow_belongs_to_one_app_and_one_purpose(self):
        self.user()
        flow, other = self.flow(), self.site.add_app("another", mfa="required")
        code = self.recovery_codes[0]
        self.expect(self.prove(flow, code, headers=other), 401, "code_invalid")
        enroll = "/v1/login/second-factor/enroll"
        self.expect(self.post(enroll, {"flow": flow}), 401, "code_invalid")
        asked = self.expect(self.post("/v1/login/code/request", {"email": self.email}), 202).json
        self.expect(self.prove(asked["flow"], code), 401, "code_invalid")
        self.expect(self.enter(flow, code), 401, "code_invalid")
        self.expect(self.prove(flow, code), 200)

    def test_the_credential_of_the_first_step_must_still_be_valid(self):
        self.user()
        flow = self.flow()
        self.renewed(self.post("/v1/password/change", {
            "current_password": "correct horse", "new_password": "another horse"},
            token=self.grant["access_token"]), self.grant)
        self.expect(self.prove(flow, self.recovery_codes[0]), 401, "wrong_credentials")
        flow = self.asked(self.login(self.email, "another horse"))
        self.site.dossier("user", "block", "--yes", self.grant["user_id"])
        self.expect(self.prove(flow, self.recovery_codes[0]), 401, "wrong_credentials")
        self.site.dossier("user", "unblock", self.grant["user_id"])
        # The code is not used up by a sign-in that was refused.
        self.expect(self.prove(flow, self.recovery_codes[0]), 200)

    def test_a_page_gets_its_tokens_by_the_cookie(self):
        self.user()
        self.site.set_app(allowed_origins=["https://app.example.com"])
        page = {"Dossier-Device": "cookie", "Origin": "https://app.example.com"}
        answer = self.prove(self.flow(headers=page), self.recovery_codes[0], headers=page)
        self.assertNotIn("refresh_token", self.expect(answer, 200).json)
        self.assertRegex(answer.headers["Set-Cookie"], "^__Host-dossier-device-[0-9a-f]{24}=ds_device_")


if __name__ == "__main__":
    unittest.main()
