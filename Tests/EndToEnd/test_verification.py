"""The link that verifies an address requires the user, and revokes nothing."""

import unittest

from cases import in_parallel
from issuers import IssuerCase, claims

MINE, THEIRS = "my own password", "attackers password"


class Verification(IssuerCase):
    def setUp(self):
        self.site.sql("delete from rate_limits")

    def registered(self, email, password=MINE, **options):
        """Registers a user. Returns the tokens and the token of the mailed link."""
        grant = self.expect(self.register(email, password, **options), 201).json
        return grant, self.site.mailed(email, "ds_verify")

    def is_verified(self, grant):
        return self.expect(self.me(grant), 200).json["email_verified"]

    def actions(self, grant):
        return [event["action"] for event in self.expect(self.me(grant, "/audit"), 200).json]

    # Conditions of the link

    def test_the_link_alone_changes_nothing(self):
        grant, token = self.registered("alone@example.com")
        for _ in range(2):
            self.expect(self.verify(token), 401, "sign_in_to_verify")
        # A device of the user is not a session.
        device = {"Dossier-Device": grant["device_secret"]}
        self.expect(self.verify(token, headers=device), 401, "sign_in_to_verify")
        self.assertFalse(self.is_verified(grant))
        self.expect(self.login("alone@example.com", MINE), 200)
        # The token is still valid.
        self.expect(self.verify(token, grant), 204)
        self.assertTrue(self.is_verified(grant))
        self.expect(self.verify(token, grant), 400, "mail_token_invalid")

    def test_the_session_of_another_user_does_not_verify(self):
        grant, token = self.registered("mine@example.com")
        other = self.verified("other@example.com", THEIRS)
        for session in [other, self.site.login()]:
            self.expect(self.verify(token, session), 401, "sign_in_to_verify")
            self.expect(self.verify(token, session, THEIRS), 401, "wrong_credentials")
        self.assertFalse(self.is_verified(grant))
        # The password signs in, also if the request has a session of the user.
        mine = self.expect(self.verify(token, other, MINE), 200).json
        self.assertEqual(mine["user_id"], grant["user_id"])
        self.expect(self.me(other), 200)

    def test_a_session_that_has_ended_does_not_verify(self):
        grant, token = self.registered("ended@example.com")
        self.expect(self.post("/v1/logout", token=grant["access_token"]), 204)
        self.expect(self.verify(token, grant), 401, "session_ended")
        self.expect(self.verify(token, {"access_token": "x"}), 401, "token_invalid")
        self.expect(self.verify(token, password=MINE), 200)

    def test_every_session_of_the_user_verifies(self):
        for number, sign_in in enumerate([
                lambda grant: self.login(f"way-{number}@example.com", MINE),
                lambda grant: self.post("/v1/login/api-key", {"key": self.key_of(grant)}),
                lambda grant: self.post("/v1/login/jwt", {"token": self.linked(grant)})]):
            with self.subTest(number=number):
                grant, token = self.registered(f"way-{number}@example.com")
                session = self.expect(sign_in(grant), 200).json
                self.expect(self.verify(token, session), 204)
                self.assertTrue(self.is_verified(session))

    def key_of(self, grant):
        answer = self.post("/v1/me/api-keys", {"name": "cron"}, token=grant["access_token"])
        return self.expect(answer, 201).json["key"]

    def linked(self, grant):
        """Links a token of an issuer to the user, and returns it."""
        token = self.key.token(claims(f"of-{grant['user_id']}"))
        self.expect(self.link(grant, provider="jwt", token=token), 200)
        return token

    def test_password_guesses_by_verification_are_limited(self):
        _, token = self.registered("guess@example.com")
        statuses = [self.verify(token, password=f"wrong {i}").status for i in range(12)]
        self.assertEqual((statuses[0], statuses[-1]), (401, 429))

    def test_a_guess_is_audited_and_keeps_the_token(self):
        grant, token = self.registered("one-guess@example.com")
        self.expect(self.verify(token, password=THEIRS), 401, "wrong_credentials")
        self.assertIn("login_failure", self.actions(grant))
        self.expect(self.verify(token, password=MINE), 200)

    def test_a_blocked_user_does_not_sign_in_by_verifying(self):
        grant, token = self.registered("blocked@example.com")
        self.site.sql(f"update users set blocked_at = now() where user_id = '{grant['user_id']}'")
        for shown in [{"password": MINE}, {"password": THEIRS}, {"grant": grant}, {}]:
            self.expect(self.verify(token, **shown), 400, "mail_token_invalid")
        self.assertEqual(self.site.sql(
            f"select email_verified from users where user_id = '{grant['user_id']}'"), "f")

    def test_a_token_verifies_no_other_address_than_the_one_it_was_mailed_to(self):
        grant, token = self.registered("first-one@example.com")
        # The user changes the address before the mail arrives.
        self.change_email(grant, "another-one@example.com")
        self.expect(self.verify(token, grant), 400, "mail_token_invalid")
        self.expect(self.verify(token, password=MINE), 400, "mail_token_invalid")
        self.assertEqual(self.me(grant).json["email"], "another-one@example.com")

    def test_a_token_serves_only_its_own_purpose(self):
        grant, token = self.registered("purpose@example.com")
        self.expect(self.reset(token, THEIRS), 400, "mail_token_invalid")
        self.expect(self.post("/v1/email/restore", {"token": token, "password": THEIRS}),
                    400, "mail_token_invalid")
        self.expect(self.post("/v1/password/reset-request", {"email": "purpose@example.com"}), 202)
        other = self.site.mailed("purpose@example.com", "ds_reset")
        self.expect(self.verify(other, grant), 400, "mail_token_invalid")
        self.expect(self.verify(token, grant), 204)

    def test_concurrent_uses_of_one_token_verify_once(self):
        grant, token = self.registered("at-once@example.com")
        answers = in_parallel(5, lambda _: self.verify(token, grant))
        self.assertEqual(sorted(answer.status for answer in answers), [204] + [400] * 4)
        self.assertEqual(self.actions(grant).count("email_verify"), 1)

    # What a verification keeps

    def test_a_verification_ends_nothing(self):
        for number, shown in enumerate([{"grant": True}, {"password": MINE}]):
            with self.subTest(shown=shown):
                email = f"stays-{number}@example.com"
                grant, token = self.registered(email)
                jwt = self.linked(grant)
                key = self.key_of(grant)
                other = self.expect(self.login(email, MINE), 200).json
                by_key = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
                sessions = [grant, other, by_key]
                before = len(self.actions(grant))
                proof = {"grant": grant} if "grant" in shown else shown
                answer = self.verify(token, **proof)
                self.assertEqual(answer.status, 204 if "grant" in shown else 200, answer.body)
                new = self.actions(grant)[:-before]
                self.assertIn("email_verify", new)
                self.assertLessEqual(set(new), {"email_verify", "login"})
                for session in sessions:
                    self.assertTrue(self.is_verified(session))
                    self.expect(self.refresh(session), 200)
                    device = {"Dossier-Device": session["device_secret"]}
                    self.assertEqual([user["state"] for user in self.site.get(
                        "/v1/device", headers=device).json["users"]], ["active"])
                self.expect(self.login(email, MINE), 200)
                self.expect(self.post("/v1/login/api-key", {"key": key}), 200)
                login = self.expect(self.post("/v1/login/jwt", {"token": jwt}), 200).json
                self.assertEqual(login["user_id"], grant["user_id"])
                self.assertEqual(
                    {i["provider"] for i in self.me(grant, "/identities").json},
                    {"password", "api-key", "jwt:https://issuer.example.com"})

    def test_a_user_of_a_laptop_opens_the_link_on_a_phone(self):
        laptop, token = self.registered("two-devices@example.com")
        # The page of the link asks for the password, since the phone has no session.
        self.expect(self.verify(token), 401, "sign_in_to_verify")
        phone = self.expect(self.verify(token, password=MINE), 200).json
        self.assertEqual(phone["user_id"], laptop["user_id"])
        self.assertNotEqual(phone["device_id"], laptop["device_id"])
        for session in [laptop, phone]:
            self.assertTrue(self.is_verified(session))
            self.expect(self.refresh(session), 200)
        sessions = self.expect(self.me(laptop, "/sessions"), 200).json
        self.assertEqual({session["device_id"] for session in sessions},
                         {laptop["device_id"], phone["device_id"]})

    def test_a_guest_who_links_an_address_stays_signed_in(self):
        for number, shown in enumerate(["session", "password"]):
            with self.subTest(shown):
                email = f"guest-{number}@example.com"
                guest = self.site.login()
                user, copy = guest["user_id"], dict(guest)
                linked = self.link(guest, provider="password", email=email, password=MINE)
                self.expect(linked, 200)
                self.assertEqual((guest["user_id"], guest["device_id"]), (user, copy["device_id"]))
                # The old tokens may have been copied: they are useless.
                self.expect(self.me(copy), 401, "session_ended")
                self.expect(self.refresh(copy), 401, "refresh_token_invalid")
                token = self.site.mailed(email, "ds_verify")
                if shown == "session":
                    self.expect(self.verify(token, guest), 204)
                else:
                    self.expect(self.verify(token, password=MINE), 200)
                self.assertTrue(self.is_verified(guest))
                guest.update(self.expect(self.refresh(guest), 200).json)
                self.assertEqual(self.me(guest).json["id"], user)
                again = self.expect(self.login(email, MINE), 200).json
                self.assertEqual(again["user_id"], user)


if __name__ == "__main__":
    unittest.main()
