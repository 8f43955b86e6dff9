"""Sign-ins that ask for a second factor."""

import unittest

from app_services import App, ServiceError
from authenticator import FactorCase
from issuers import IssuerCase, claims


class Ways(FactorCase, IssuerCase):
    """Tests that no sign-in method avoids the second factor."""

    def complete(self, answer, authenticator, user, provider, amr):
        """Enters a code in the flow of a sign-in, and checks the new session."""
        flow = self.asked(answer)
        self.later(user)
        grant = self.expect(self.prove(flow, authenticator.code()), 200).json
        self.assertEqual(grant["user_id"], user)
        self.expect(self.me(grant), 200)
        self.assertEqual(self.site.sql(
            f"select provider, amr from sessions where user_id = '{user}' "
            "order by session_id desc limit 1"), f"{provider}|{amr}")
        self.expect(self.refresh(grant), 200)
        return grant

    def test_every_sign_in_asks_for_the_factor(self):
        email = "ways@example.com"
        grant = self.verified(email)
        user = grant["user_id"]
        token = self.key.token(claims("ways"))
        self.expect(self.link(grant, provider="jwt", token=token), 200)
        authenticator, _ = self.protected(grant)
        sessions = f"select count(*) from sessions where user_id = '{user}'"
        before = self.site.sql(sessions)

        self.complete(self.login(email), authenticator, user, "password", "pwd mfa otp")
        self.assertEqual(int(self.site.sql(sessions)), int(before) + 1)

        asked = self.expect(self.post("/v1/login/code/request", {"email": email}), 202).json
        self.complete(self.enter(asked["flow"], self.mailed_code(email)), authenticator, user,
                      "email", "otp mfa otp")

        self.complete(self.post("/v1/login/jwt", {"token": token}), authenticator, user,
                      "jwt:https://issuer.example.com", "fed mfa otp")

        self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
        reset = self.reset(self.site.mailed(email, "ds_reset"), "another horse")
        self.complete(reset, authenticator, user, "password", "pwd mfa otp")
        # The new password is valid, and requires the factor too.
        self.expect(self.login(email), 401, "wrong_credentials")
        self.asked(self.login(email, "another horse"))

    def test_a_link_that_verifies_an_address_asks_for_the_factor(self):
        email = "verify@example.com"
        grant = self.expect(self.register(email), 201).json
        authenticator, _ = self.protected(grant)
        answer = self.verify(self.site.mailed(email, "ds_verify"), password="correct horse")
        again = self.complete(answer, authenticator, grant["user_id"], "password", "pwd mfa otp")
        self.assertTrue(self.me(again).json["email_verified"])

    def test_a_link_that_restores_an_address_asks_for_the_factor(self):
        grant = self.verified("old@example.com")
        authenticator, _ = self.protected(grant)
        self.change_email(grant, "new@example.com")
        answer = self.post("/v1/email/restore", {
            "token": self.site.mailed("old@example.com", "ds_restore"), "password": "my old house"})
        again = self.complete(answer, authenticator, grant["user_id"], "password", "pwd mfa otp")
        self.assertEqual(self.me(again).json["email"], "old@example.com")

    def test_a_client_of_app_services_is_refused(self):
        email = "services@example.com"
        grant = self.verified(email)
        self.protected(grant)
        app = App(self.site, "default")
        with self.assertRaisesRegex(ServiceError, "second factor required") as caught:
            app.log_in("local-userpass", username=email, password="correct horse")
        self.assertEqual((caught.exception.status, caught.exception.code), (401, "AuthError"))
        self.assertEqual(app.users, [])

    def test_keys_and_guests_need_no_factor(self):
        grant = self.verified("keys@example.com")
        self.protected(grant)
        key = self.expect(self.post("/v1/me/api-keys", {"name": "script"},
                                    token=grant["access_token"]), 201).json["key"]
        self.set_mfa("required")
        script = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
        for session in [script, self.site.login()]:
            self.expect(self.refresh(session), 200)

    def test_a_session_of_an_api_key_links_nothing_and_removes_no_factor(self):
        grant = self.verified("linked@example.com")
        authenticator, _ = self.protected(grant)
        key = self.expect(self.post("/v1/me/api-keys", {"name": "script"},
                                    token=grant["access_token"]), 201).json["key"]
        thief = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
        linked = self.link(thief, provider="jwt", token=self.key.token(claims("thief")))
        self.expect(linked, 401, "reauthentication_required")
        remove = self.site.request("DELETE", f"/v1/me/second-factors/{authenticator.id}",
                                   token=thief["access_token"])
        self.expect(remove, 401, "reauthentication_required")

    def test_a_takeover_by_mail_removes_an_attackers_factor(self):
        email = "victim@example.com"
        attacker = self.expect(self.register(email, "attackers pass"), 201).json
        self.protected(attacker)
        victim = self.sign_in_by_code(email)
        self.assertEqual(victim["user_id"], attacker["user_id"])
        self.assertEqual(self.factors(victim), {"second_factors": [], "recovery_codes_left": 0})
        self.expect(self.me(attacker), 401, "session_ended")


if __name__ == "__main__":
    unittest.main()
