"""Mailed codes and second factors in grants without the pages."""

import unittest

from authenticator import FactorCase
from cases import in_parallel
from hosted import PASSWORD
from openid import Party, claims, verified
from test_openid_direct import DirectCase, PREFIX


class EmailCodes(DirectCase):
    def test_known_and_unknown_addresses_answer_alike(self):
        email = self.own_email()
        user = self.verified(email, PASSWORD)["user_id"]
        found = [self.expect(self.start(address), 200).json
                 for address in [email, "new@example.com"]]
        for address, body in zip([email, "new@example.com"], found):
            self.assertEqual((sorted(body), body["email"], body["email_verified"], len(body["_id"])),
                             (["_id", "email", "email_verified"], address, False, 24))
        tokens = self.expect(self.code(email, self.mailed_code(email)), 200).json
        identity = claims(tokens["id_token"])
        self.assertEqual((identity["sub"], identity["email_verified"], identity["amr"]),
                         (user, True, ["otp"]))
        made = self.expect(self.code(
            "New@Example.com", self.mailed_code("new@example.com")), 200).json
        self.assertNotEqual(claims(made["id_token"])["sub"], user)

    def test_only_the_newest_code_works_and_only_once(self):
        email = self.own_email()
        wrong = (400, "invalid_grant", "Wrong email or verification code.")
        self.error(self.code(email, "12345678"), *wrong)
        self.start(email)
        first = self.mailed_code(email)
        self.start(email)
        second = self.mailed_code(email, 2)
        if first != second:
            self.error(self.code(email, first), *wrong)
        self.error(self.code("other-" + email, second), *wrong)
        self.expect(self.code(email, second), 200)
        self.error(self.code(email, second), *wrong)

    def test_a_code_allows_five_tries(self):
        email = self.own_email()
        self.start(email)
        right = self.mailed_code(email)
        for _ in range(5):
            self.error(self.code(email, "x"), 400, "invalid_grant")
        self.error(self.code(email, right), 400, "invalid_grant")

    def test_a_code_of_another_api_requires_its_flow(self):
        email = self.own_email()
        flow = self.expect(self.post("/v1/login/code/request", {"email": email}), 202).json["flow"]
        code = self.mailed_code(email)
        # A stranger who knows the address cannot use up the tries of that flow.
        for _ in range(6):
            self.error(self.code(email, code), 400, "invalid_grant")
        self.expect(self.enter(flow, code), 200)

    def test_concurrent_uses_of_one_code_sign_in_once(self):
        email = self.own_email()
        self.start(email)
        code = self.mailed_code(email)
        answers = in_parallel(4, lambda index: self.code(email, code))
        self.assertEqual(sorted(answer.status for answer in answers), [200, 400, 400, 400])

    def test_a_code_takes_an_unverified_account_over(self):
        email, user = self.user()
        attacker = self.expect(self.password(email), 200).json
        self.start(email)
        tokens = self.expect(self.code(email, self.mailed_code(email)), 200).json
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 200)
        # Sessions that are older than the verification have ended.
        self.assertEqual(self.userinfo(attacker["access_token"]).status, 401)
        self.error(self.password(email), 400, "invalid_grant")

    def test_malformed_starts(self):
        email = self.own_email()
        for fields in [{"email": None}, {"email": "x"}, {"email": "a@b\r\nBcc: c@d"}, {"email": 1},
                       {"connection": "sms"}, {"connection": None}, {"send": "link"},
                       {"send": None}, {"client_id": None}]:
            self.error(self.start(**{"email": email, **fields}), 400, "invalid_request")
        self.error(self.start("x"), 400, "invalid_request", self.post(
            "/v1/login/code/request", {"email": "x"}).json["errors"][0]["detail"])
        self.error(self.start(email, client_id="x"), 401, "invalid_client")
        self.assertEqual(self.codes(email), [])

    def test_mail_to_an_address_is_limited(self):
        email = self.own_email()
        answer = None
        for _ in range(100):
            answer = self.start(email)
            if answer.status != 200:
                break
        self.error(answer, 429, "too_many_attempts")


class Factors(FactorCase, DirectCase):
    def required(self, answer, kind="challenge"):
        self.error(answer, 403, "mfa_required")
        self.assertEqual(answer.json["mfa_requirements"], {kind: [{"type": "otp"}]})
        self.assertNotIn("access_token", answer.json)
        return answer.json["mfa_token"]

    def prove_by(self, token, client=None, **fields):
        kind = "mfa-otp" if "otp" in fields else "mfa-recovery-code"
        return Party(self, client or self.spa).token(
            grant_type=PREFIX + kind, mfa_token=token, **fields)

    def protected_user(self):
        email = self.own_email()
        grant = self.verified(email, PASSWORD)
        authenticator, codes = self.protected(grant)
        self.later(grant["user_id"])
        return email, grant["user_id"], authenticator, codes

    def test_a_code_of_an_authenticator_completes_a_password(self):
        email, user, authenticator, _ = self.protected_user()
        token = self.required(self.password(
            email, audience=self.API, scope="openid read:posts offline_access"))
        self.assertNotIn(email, token)
        self.error(self.prove_by(token, otp=authenticator.wrong()), 400, "invalid_grant",
                   "Invalid otp_code.")
        tokens = self.expect(self.prove_by(token, otp=authenticator.code()), 200).json
        # The second step has the scopes and the audience of the first.
        self.assertEqual(tokens["scope"], "openid read:posts offline_access")
        access = verified(tokens["access_token"], self.keys)
        self.assertEqual((access["sub"], access["aud"][0]), (user, self.API))
        self.assertEqual(claims(tokens["id_token"])["amr"], ["pwd", "mfa", "otp"])
        self.expect(Party(self, self.spa).token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"]), 200)
        # The token was used up.
        self.later(user)
        self.error(self.prove_by(token, otp=authenticator.code()), 400, "invalid_grant")

    def test_a_recovery_code_completes_once(self):
        email, _, _, codes = self.protected_user()
        token = self.required(self.password(email))
        self.error(self.prove_by(token, recovery_code="x"), 400, "invalid_grant",
                   "MFA Authorization rejected.")
        self.expect(self.prove_by(token, recovery_code=codes[0]), 200)
        token = self.required(self.password(email))
        self.error(self.prove_by(token, recovery_code=codes[0]), 400, "invalid_grant")

    def test_a_mailed_code_asks_for_the_factor_too(self):
        email, user, authenticator, _ = self.protected_user()
        self.expect(self.start(email), 200)
        token = self.required(self.code(email, self.mailed_code(email)))
        tokens = self.expect(self.prove_by(token, otp=authenticator.code()), 200).json
        self.assertEqual(claims(tokens["id_token"])["sub"], user)

    def test_foreign_and_damaged_tokens(self):
        email, _, authenticator, _ = self.protected_user()
        token = self.required(self.password(email))
        code = authenticator.code()
        flow = self.asked(self.login(email, PASSWORD))
        middle = len(token) // 2
        changed = token[:middle] + ("A" if token[middle] != "A" else "B") + token[middle + 1:]
        for wrong in ["x", "\u00e4", token[:-4], token + "AAAA", changed, flow, "A" * 60_000]:
            self.error(self.prove_by(wrong, otp=code), 400, "invalid_grant", "Malformed mfa_token")
        self.error(self.prove_by(token, otp=code, client=self.native), 400, "invalid_grant",
                   "Malformed mfa_token")
        # The pages and the other APIs refuse it.
        self.assertEqual(self.prove(token, code).status, 401)
        self.expect(self.prove_by(token, otp=code), 200)

    def test_a_new_password_ends_the_first_step(self):
        email, user, authenticator, _ = self.protected_user()
        token = self.required(self.password(email))
        self.site.dossier("user", "password", user, "--from", "-", given="another horse battery\n")
        self.error(self.prove_by(token, otp=authenticator.code()), 400, "invalid_grant")

    def test_codes_are_limited(self):
        email, user, authenticator, _ = self.protected_user()
        token = self.required(self.password(email))
        self.settings(failures_per_identifier=2)
        for _ in range(2):
            self.error(self.prove_by(token, otp=authenticator.wrong()), 400, "invalid_grant")
        self.error(self.prove_by(token, otp=authenticator.code()), 429, "too_many_attempts")

    def test_an_app_that_requires_a_factor_from_a_user_without_one(self):
        email, _ = self.user()
        self.set_mfa("required")
        token = self.required(self.password(email), "enroll")
        self.error(self.prove_by(token, otp="123456"), 400, "invalid_grant",
                   "The user must first set up a second factor at the pages.")


if __name__ == "__main__":
    unittest.main()
