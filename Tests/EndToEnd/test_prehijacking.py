"""Accounts that an attacker prepares for a victim, by Sudhodanan and Paverd (2022).

Each of the five attacks of "Pre-hijacked accounts", and each with the roles reversed: the victim
comes first. https://www.usenix.org/conference/usenixsecurity22/presentation/sudhodanan
"""

import functools
import unittest

from asking import JSON
from authenticator import Authenticator
from issuers import IssuerCase, claims
from machine import wait_until

MINE, THEIRS = "my own password", "attackers password"


PROOFS = {
    "reset": lambda self: self.reset_by_mail(self.email, MINE),
    "code": lambda self: self.sign_in_by_code(self.email),
}


def for_each_verification(test):
    """Runs a test with each credential that verifies an address by mail."""
    @functools.wraps(test)
    def run(self):
        email = self.email
        for name, prove in PROOFS.items():
            with self.subTest(name):
                self.site.sql("delete from rate_limits")
                self.email = f"{name}-{email}"
                test(self, lambda: prove(self))

    return run


class PreHijacking(IssuerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True, change_text="Changed: {{change}}")

    def setUp(self):
        self.site.sql("delete from rate_limits")
        self.email = f"{self._testMethodName.replace('_', '-')[5:45]}@example.com"

    def token(self, subject, **others):
        return {"token": self.key.token(claims(subject, **others))}

    def put(self, grant, path, body, headers={}):
        headers = {**JSON, **headers}
        self.expect(self.site.request("PUT", path, body, headers, grant["access_token"]), 200)

    def actions(self, grant, **options):
        events = self.expect(self.me(grant, "/audit?limit=100", **options), 200).json
        return [event["action"] for event in events]

    def key_of(self, grant):
        answer = self.post("/v1/me/api-keys", {"name": "later"}, token=grant["access_token"])
        return self.expect(answer, 201).json["key"]

    def assert_ended(self, grant):
        """Asserts that all tokens of a session are refused, and that its device lost the user."""
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        device = {"Dossier-Device": grant["device_secret"]}
        self.assertEqual(self.site.get("/v1/device", headers=device).json["users"], [])

    def assert_taken_over(self, victim, attacker):
        """Asserts that the victim owns the account and the attacker has no access."""
        self.assertEqual(victim["user_id"], attacker["user_id"])
        self.assert_ended(attacker)
        self.expect(self.login(self.email, THEIRS), 401, "wrong_credentials")
        me = self.expect(self.me(victim), 200).json
        self.assertEqual((me["email"], me["email_verified"]), (self.email, True))
        self.assertEqual(self.me(victim, "/api-keys").json, [])
        self.assertEqual(self.actions(victim).count("account_takeover"), 1)
        told = "Someone else may have created the account"
        wait_until(lambda: any(told in " ".join(mail.split())
                               for mail in self.site.mails(self.email)),
                   what="the mail that reports the takeover")

    def assert_apart(self, one, other):
        self.assertNotEqual(one["user_id"], other["user_id"])

    # Classic-federated merge

    def test_a_password_of_an_attacker_and_a_token_of_the_victim_are_not_merged(self):
        attacker = self.expect(self.register(self.email, THEIRS), 201).json
        token = self.token("victim-1", email=self.email, email_verified=True)
        victim = self.expect(self.post("/v1/login/jwt", token), 200).json
        self.assert_apart(victim, attacker)
        self.assertIsNone(self.me(victim).json["email"])
        self.put(victim, "/v1/me/custom-data", {"secret": 1})
        self.assertEqual(
            self.expect(self.login(self.email, THEIRS), 200).json["user_id"], attacker["user_id"])
        self.assertEqual(self.me(attacker, "/custom-data").json, {})
        # The victim can still register the address.
        self.assert_taken_over(self.reset_by_mail(self.email, MINE), attacker)
        again = self.expect(self.post("/v1/login/jwt", token), 200).json
        self.assertEqual(again["user_id"], victim["user_id"])

    def test_a_token_of_the_victim_and_a_password_of_an_attacker_are_not_merged(self):
        token = self.token("victim-2", email=self.email, email_verified=True)
        victim = self.expect(self.post("/v1/login/jwt", token), 200).json
        self.assertEqual(self.me(victim).json["email"], self.email)
        self.expect(self.register(self.email, THEIRS), 409, "email_taken")
        guest = self.site.login()
        body = {"provider": "password", "email": self.email, "password": THEIRS}
        self.expect(self.link(guest, **body), 409, "email_taken")
        self.expect(self.login(self.email, THEIRS), 401, "wrong_credentials")
        identity, = self.expect(self.me(victim, "/identities"), 200).json
        self.assertEqual(identity["provider"], "jwt:https://issuer.example.com")

    # Unexpired session

    @for_each_verification
    def test_no_session_of_an_attacker_survives_verification_by_mail(self, prove):
        attacker = self.expect(self.register(self.email, THEIRS), 201).json
        others = [self.expect(self.login(self.email, THEIRS), 200).json for _ in range(2)]
        # The attacker keeps one of them alive.
        others.append(self.expect(self.refresh(others[0]), 200).json)
        others[-1]["device_secret"] = others[0]["device_secret"]
        self.assert_taken_over(prove(), attacker)
        for session in others:
            self.assert_ended(session)

    def test_no_request_of_an_attacker_ends_a_session_of_the_victim(self):
        victim = self.expect(self.register(self.email, MINE), 201).json
        self.site.mailed(self.email, "ds_verify")
        attacker = self.verified(f"attacker-{self.email}", THEIRS)
        self.expect(self.register(self.email, THEIRS), 409, "email_taken")
        for path in ["/v1/email/verify/request", "/v1/password/reset-request",
                     "/v1/login/code/request"]:
            self.expect(self.post(path, {"email": self.email}, token=attacker["access_token"]), 202)
        # Even a leaked link is useless to the attacker.
        link = self.site.mailed(self.email, "ds_verify", 2)
        self.expect(self.verify(link, attacker), 401, "sign_in_to_verify")
        self.expect(self.me(victim), 200)
        self.expect(self.login(self.email, MINE), 200)
        self.assertFalse(self.me(victim).json["email_verified"])
        self.expect(self.verify(link, victim), 204)
        self.expect(self.refresh(victim), 200)

    # Trojan identifier

    @for_each_verification
    def test_no_identity_linked_by_an_attacker_survives_verification_by_mail(self, prove):
        attacker = self.expect(self.register(self.email, THEIRS), 201).json
        token = self.token(self.email)
        self.expect(self.link(attacker, provider="jwt", **token), 200)
        key = self.key_of(attacker)
        victim = prove()
        self.assert_taken_over(victim, attacker)
        self.expect(self.post("/v1/login/api-key", {"key": key}), 401, "wrong_credentials")
        self.assert_apart(self.expect(self.post("/v1/login/jwt", token), 200).json, victim)

    @for_each_verification
    def test_an_address_linked_as_a_trojan_identifier_goes_to_the_victim(self, prove):
        token = self.token(self.email)
        attacker = self.expect(self.post("/v1/login/jwt", token), 200).json
        body = {"provider": "password", "email": self.email, "password": THEIRS}
        self.expect(self.link(attacker, **body), 200)
        self.expect(self.register(self.email, MINE), 409, "email_taken")
        victim = prove()
        self.assert_taken_over(victim, attacker)
        self.assert_apart(self.expect(self.post("/v1/login/jwt", token), 200).json, victim)

    def test_a_verified_address_of_an_attacker_frees_the_address_of_the_victim(self):
        token = self.token(self.email, email=self.email, email_verified=False)
        attacker = self.expect(self.post("/v1/login/jwt", token), 200).json
        own = f"own-{self.email}"
        self.expect(self.link(attacker, provider="password", email=own, password=THEIRS), 200)
        self.expect(self.verify(self.site.mailed(own, "ds_verify"), attacker), 204)
        # An account has one address: a verified one does not verify another.
        self.assertEqual(self.me(attacker).json["email"], own)
        victim = self.expect(self.register(self.email, MINE), 201).json
        self.assert_apart(victim, attacker)
        self.reset_by_mail(self.email, MINE)
        self.assert_apart(self.expect(self.post("/v1/login/jwt", token), 200).json, victim)

    # Unexpired change of the address

    @for_each_verification
    def test_no_address_change_of_an_attacker_survives_verification_by_mail(self, prove):
        attacker = self.expect(self.register(self.email, THEIRS), 201).json
        own = f"own-{self.email}"
        flow = self.expect(self.post("/v1/me/email", {"email": own},
                                     token=attacker["access_token"]), 202).json["flow"]
        body = {"flow": flow, "code": self.mailed_code(own)}
        victim = prove()
        self.assert_taken_over(victim, attacker)
        change = "/v1/me/email/verify"
        self.expect(self.post(change, body, token=attacker["access_token"]), 401,
                    "session_ended")
        # The change is deleted, so the victim cannot be tricked into completing it.
        self.expect(self.post(change, body, token=victim["access_token"]), 401, "code_invalid")
        self.assertEqual(self.me(victim).json["email"], self.email)

    def test_a_pending_change_of_an_attacker_does_not_block_the_victim(self):
        attacker = self.verified(f"attacker-{self.email}", THEIRS)
        flow = self.expect(self.post("/v1/me/email", {"email": self.email},
                                     token=attacker["access_token"]), 202).json["flow"]
        body = {"flow": flow, "code": self.mailed_code(self.email)}
        victim = self.expect(self.register(self.email, MINE), 201).json
        # Even an attacker who gets the code is too late.
        self.expect(self.post("/v1/me/email/verify", body, token=attacker["access_token"]), 409,
                    "email_taken")
        self.assertEqual(self.me(victim).json["email"], self.email)
        self.expect(self.login(self.email, MINE), 200)

    # Issuer that verifies no address

    @for_each_verification
    def test_an_unverified_address_of_an_issuer_goes_to_the_verified_victim(self, prove):
        token = self.token(self.email, email=self.email, email_verified=False)
        attacker = self.expect(self.post("/v1/login/jwt", token), 200).json
        self.assertEqual(self.me(attacker).json["email"], self.email)
        self.expect(self.register(self.email, MINE), 409, "email_taken")
        victim = prove()
        self.assert_taken_over(victim, attacker)
        again = self.expect(self.post("/v1/login/jwt", token), 200).json
        self.assert_apart(again, victim)
        self.assertIsNone(self.me(again).json["email"])

    def test_a_token_with_the_address_of_the_victim_signs_in_another_user(self):
        for number, verifies in enumerate([False, True]):
            with self.subTest(verifies=verifies):
                email = f"{number}-{self.email}"
                if verifies:
                    victim = self.verified(email, MINE)
                else:
                    victim = self.expect(self.register(email, MINE), 201).json
                for claim in [False, True]:
                    token = self.token(f"liar-{number}-{claim}", email=email, email_verified=claim)
                    attacker = self.expect(self.post("/v1/login/jwt", token), 200).json
                    self.assert_apart(attacker, victim)
                    self.assertIsNone(self.me(attacker).json["email"])
                self.assertEqual(self.me(victim).json["email_verified"], verifies)
                self.expect(self.login(email, MINE), 200)

    # Planted data

    @for_each_verification
    def test_only_the_victim_keeps_an_account_with_planted_data(self, prove):
        attacker = self.expect(self.register(self.email, THEIRS), 201).json
        self.put(attacker, "/v1/me/metadata", {"planted": True})
        # The victim learns that the address is taken, and resets the password by mail.
        self.expect(self.register(self.email, MINE), 409, "email_taken")
        victim = prove()
        self.assert_taken_over(victim, attacker)
        self.assertEqual(self.me(victim, "/metadata").json, {"planted": True})
        self.put(victim, "/v1/me/custom-data", {"secret": 1})
        # Later, from a new device.
        for _ in range(2):
            again = prove()
            self.assertEqual(again["user_id"], victim["user_id"])
            self.assertNotEqual(again["device_id"], victim["device_id"])
            self.assertEqual(self.me(again, "/custom-data").json, {"secret": 1})
        self.assert_ended(attacker)
        self.assertEqual(self.actions(again).count("account_takeover"), 1)
        self.expect(self.login(self.email, THEIRS), 401, "wrong_credentials")

    def test_an_attacker_plants_nothing_with_verify_first(self):
        app = self.site.add_app("careful", sign_up="verify_first", email_code=True)
        flow = self.expect(self.register(self.email, THEIRS, headers=app), 202).json["flow"]
        code = self.mailed_code(self.email)
        victim = self.sign_up(self.email, MINE, headers=app)
        self.put(victim, "/v1/me/custom-data", {"secret": 1}, app)
        self.expect(self.enter(flow, code, headers=app), 401, "code_invalid")
        self.expect(self.login(self.email, THEIRS, headers=app), 401, "wrong_credentials")
        for prove in [lambda: self.sign_in_by_code(self.email, headers=app),
                      lambda: self.reset_by_mail(self.email, MINE, headers=app)]:
            sign_in = prove()
            self.assertEqual(sign_in["user_id"], victim["user_id"])
            self.assertEqual(self.me(sign_in, "/custom-data", headers=app).json, {"secret": 1})
            self.assertNotIn("account_takeover", self.actions(sign_in, headers=app))

    # Second factors

    @for_each_verification
    def test_a_factor_of_an_attacker_does_not_lock_the_victim_out(self, prove):
        self.site.set_app(mfa="optional")
        self.addCleanup(self.site.set_app, mfa="off")
        attacker = self.expect(self.register(self.email, THEIRS), 201).json
        made = self.post("/v1/me/second-factors", {}, token=attacker["access_token"])
        authenticator = Authenticator(self.expect(made, 201).json)
        self.renewed(self.post(f"/v1/me/second-factors/{authenticator.id}/confirm",
                               {"code": authenticator.code()}, token=attacker["access_token"]),
                     attacker)
        self.expect(self.login(self.email, THEIRS), 401, "additional_factor_required")
        victim = prove()
        self.assert_taken_over(victim, attacker)
        self.assertEqual(self.me(victim, "/second-factors").json["second_factors"], [])


if __name__ == "__main__":
    unittest.main()
