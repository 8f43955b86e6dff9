"""The address of an account: its forms, its mails, and what a reset revokes."""

import unittest

from asking import ADDRESS
from authenticator import Authenticator
from cases import in_parallel
from issuers import IssuerCase, claims
from machine import wait_until
from test_limits import limits

MINE, THEIRS = "my own password", "attackers password"


def wide(email):
    """Returns another form of an address that compares equal to it."""
    name, domain = email.split("@")
    return "".join(chr(ord(letter) + 0xfee0) for letter in name) + f"@{domain}"


class Accounts(IssuerCase):
    def setUp(self):
        # Each test starts with fresh limits.
        self.site.sql("delete from rate_limits")

    def ask(self, path, email, **options):
        return self.expect(self.post(path, {"email": email}, **options), 202)

    # What a reset revokes

    def test_a_reset_of_a_verified_address_keeps_linked_identities(self):
        grant = self.verified("linked@example.com")
        token = self.key.token(claims("linked"))
        self.expect(self.link(grant, provider="jwt", token=token), 200)
        self.reset_by_mail("linked@example.com", MINE)
        self.expect(self.me(grant), 401, "session_ended")
        login = self.expect(self.post("/v1/login/jwt", {"token": token}), 200).json
        self.assertEqual(login["user_id"], grant["user_id"])
        audit = self.expect(self.me(login, "/audit"), 200).json
        self.assertNotIn("account_takeover", [event["action"] for event in audit])

    def test_a_reset_verifies_the_address(self):
        grant = self.expect(self.register("reset-verifies@example.com", THEIRS), 201).json
        link = self.site.mailed("reset-verifies@example.com", "ds_verify")
        mine = self.reset_by_mail("reset-verifies@example.com", MINE)
        self.assertEqual(mine["user_id"], grant["user_id"])
        self.assertTrue(self.me(mine).json["email_verified"])
        self.expect(self.verify(link, mine), 400, "mail_token_invalid")
        self.expect(self.login("reset-verifies@example.com", MINE), 200)

    def test_a_reset_that_is_refused_changes_nothing(self):
        grant = self.expect(self.register("refused@example.com", THEIRS), 201).json
        self.ask("/v1/password/reset-request", "refused@example.com")
        token = self.site.mailed("refused@example.com", "ds_reset")
        self.expect(self.reset(token, "short"), 422, "validation_failed")
        self.expect(self.me(grant), 200)
        self.expect(self.reset(token, MINE), 200)
        self.expect(self.reset(token, MINE), 400, "mail_token_invalid")
        self.expect(self.me(grant), 401, "session_ended")

    def test_one_of_concurrent_resets_with_one_token_succeeds(self):
        self.verified("resets@example.com")
        self.ask("/v1/password/reset-request", "resets@example.com")
        token = self.site.mailed("resets@example.com", "ds_reset")
        answers = in_parallel(4, lambda index: self.reset(token, f"{MINE} {index}"))
        self.assertEqual(sorted(answer.status for answer in answers), [200] + [400] * 3)
        winner = next(index for index in range(4) if answers[index].status == 200)
        statuses = [self.login("resets@example.com", f"{MINE} {index}").status
                    for index in range(4)]
        self.assertEqual(statuses, [200 if index == winner else 401 for index in range(4)])

    def test_a_mail_takes_the_account_over_before_the_second_factor(self):
        self.site.set_app(mfa="required", email_code=True)
        self.addCleanup(self.site.set_app, mfa="off")

        def enroll(answer):
            """Signs in with a factor that the app requires."""
            refused = self.expect(answer, 401, "additional_factor_required").json
            self.assertEqual(refused["methods"], ["enroll"])
            body = {"flow": refused["flow"]}
            enrolled = self.expect(self.post("/v1/login/second-factor/enroll", body), 201).json
            body["code"] = Authenticator(enrolled).code()
            return self.expect(self.post("/v1/login/second-factor", body), 200).json

        def by_reset(email):
            self.ask("/v1/password/reset-request", email)
            return self.reset(self.site.mailed(email, "ds_reset"), MINE)

        def by_code(email):
            flow = self.ask("/v1/login/code/request", email).json["flow"]
            return self.enter(flow, self.mailed_code(email))

        for name, prove in [("reset", by_reset), ("code", by_code)]:
            with self.subTest(name):
                email = f"required-{name}@example.com"
                attacker = enroll(self.register(email, THEIRS))
                proof = prove(email)
                # The attacker loses access even if the victim does not continue.
                self.expect(self.me(attacker), 401, "session_ended")
                self.expect(self.login(email, THEIRS), 401, "wrong_credentials")
                victim = enroll(proof)
                self.assertEqual(victim["user_id"], attacker["user_id"])
                factors = self.me(victim, "/second-factors").json["second_factors"]
                self.assertEqual(len(factors), 1)

    # Addresses that look like another's

    def test_an_address_has_no_invisible_characters(self):
        grant = self.verified("looks@example.com")
        hidden = ["\u200b", "\u202e", "\ufeff", "\u00ad", "\u2066", "\u200d", "\u2028", "\u0007",
                  "\u034f", "\u3164", "\ufe0f", "\ue000", "\U000e0041", "\uffff"]
        for character in hidden:
            for email in [f"looks{character}@example.com", f"looks@example.com{character}",
                          f"{character}looks@example.com"]:
                for answer in [self.register(email),
                               self.post("/v1/me/email", {"email": email},
                                         token=grant["access_token"])]:
                    fault, = self.expect(answer, 422, "validation_failed").json["errors"]
                    self.assertEqual((fault["pointer"], fault["code"]), ("/email", "email"))
        fault, = self.register("looks\u200b@example.com").json["errors"]
        self.assertIn("invisible", fault["detail"])
        self.assertEqual(self.site.sql(
            "select count(*) from users where email like '%looks%'"), "1")
        # Characters of every script are visible.
        for domain in ["\u00fcml\u00e4ut", "\u0434\u0430", "\u0645\u062b\u0627\u0644",
                       "\u0909\u0926\u093e"]:
            self.expect(self.register(f"shown@{domain}.example"), 201)

    # Limits

    def test_registrations_and_sign_ins_have_separate_limits(self):
        self.verified("guarded@example.com", MINE)
        statuses = [self.register("guarded@example.com", f"{THEIRS} {i}").status for i in range(12)]
        self.assertEqual(set(statuses[:9]), {409})
        self.assertEqual(set(statuses[-2:]), {429})
        self.expect(self.login("guarded@example.com", MINE), 200)
        self.site.sql("delete from rate_limits")
        for index in range(11):
            last = self.login("guarded@example.com", f"wrong {index}")
        self.expect(last, 429, "too_many_attempts")
        self.expect(self.register("guarded@example.com", f"{THEIRS} 0"), 409, "email_taken")

    def test_a_password_without_its_second_factor_resets_no_limit(self):
        self.site.set_app(mfa="optional", failures_per_ip=50)
        self.addCleanup(self.site.set_app, mfa="off", failures_per_ip=10**6)
        network = {ADDRESS: "192.0.2.50"}
        self.verified("victim-of-guesses@example.com")
        grant = self.verified("attacker-with-factor@example.com", THEIRS)
        enrolled = self.post("/v1/me/second-factors", {}, token=grant["access_token"])
        authenticator = Authenticator(self.expect(enrolled, 201).json)
        self.expect(self.post(f"/v1/me/second-factors/{authenticator.id}/confirm",
                              {"code": authenticator.code()}, token=grant["access_token"]), 200)

        def left():
            answer = self.login("victim-of-guesses@example.com", "a guess", headers=network)
            return limits(self.expect(answer, 401))["login-network"]["r"]

        before = [left() for _ in range(4)][-1]
        for _ in range(4):
            answer = self.login("attacker-with-factor@example.com", THEIRS, headers=network)
            self.expect(answer, 401, "additional_factor_required")
        self.assertLessEqual(left(), before)

    def test_a_blocked_user_gets_no_session_by_registering_or_by_mail(self):
        self.site.set_app(email_code=True)
        grant = self.verified("blocked@example.com", MINE)
        self.ask("/v1/password/reset-request", "blocked@example.com")
        token = self.site.mailed("blocked@example.com", "ds_reset")
        flow = self.ask("/v1/login/code/request", "blocked@example.com").json["flow"]
        code = self.mailed_code("blocked@example.com")
        self.site.dossier("user", "block", "--yes", grant["user_id"])
        self.expect(self.register("blocked@example.com", MINE), 409, "email_taken")
        self.expect(self.enter(flow, code), 401)
        self.expect(self.reset(token, THEIRS), 400, "mail_token_invalid")
        self.assertEqual(self.site.sql(
            "select count(*) from sessions where ended_at is null "
            f"and user_id = '{grant['user_id']}'"), "0")

    # Mail

    def test_mail_is_sent_to_the_stored_form_of_an_address(self):
        self.verified("forms@example.com")
        self.ask("/v1/password/reset-request", "forms@example.com")
        self.site.mailed("forms@example.com", "ds_reset")
        self.ask("/v1/password/reset-request", wide("forms@example.com"))
        newest = self.site.mailed("forms@example.com", "ds_reset", 2)
        self.assertEqual(self.site.mails(wide("forms@example.com")), [])
        self.expect(self.reset(newest, MINE), 200)

    def test_an_address_registered_in_another_form_is_normalized(self):
        self.expect(self.register(wide("early@example.com"), THEIRS), 201)
        guest = self.site.login()
        self.expect(self.link(guest, provider="password", email=wide("guest@example.com"),
                              password=THEIRS), 200)
        for email in ["early@example.com", "guest@example.com"]:
            mine = self.reset_by_mail(email, MINE)
            self.assertEqual(self.me(mine).json["email"], email)
        # An address without a deliverable form is refused.
        self.expect(self.register("J\u00fcrgen@example.com"), 422, "validation_failed")

    def test_the_newest_fifty_mailed_tokens_are_valid_until_one_is_used(self):
        # Requests of strangers do not invalidate the link that the owner has just got.
        email = "fifty@example.com"
        self.verified(email)
        tokens = []
        # The last one is one too many.
        for count in range(1, 5):
            self.ask("/v1/password/reset-request", email)
            tokens.append(self.site.mailed(email, "ds_reset", count))
            if count == 1:
                self.site.add_tokens(email, 47)
            elif count == 3:
                # A password with the address is refused only with a valid token, which stays valid.
                self.expect(self.reset(tokens[0], f"mine is {email}"), 422, "validation_failed")
        wait_until(lambda: self.site.sql(
            "select count(*) from mail_tokens t join users using (user_id) "
            f"where users.email = '{email}'") == "50", what="fifty tokens")
        self.expect(self.reset(tokens[0], MINE), 400, "mail_token_invalid")
        self.expect(self.reset(tokens[1], MINE), 200)
        for token in tokens[2:]:
            self.expect(self.reset(token, THEIRS), 400, "mail_token_invalid")

    def test_a_token_is_valid_while_the_relay_is_away(self):
        self.verified("kept@example.com")
        self.ask("/v1/password/reset-request", "kept@example.com")
        first = self.site.mailed("kept@example.com", "ds_reset")
        count = ("select count(*) from mail_tokens t join users using (user_id) "
                 "where users.email = 'kept@example.com'")
        wait_until(lambda: self.site.sql(count) == "1", what="the first token")
        aside = self.site.mail.with_name("aside")
        self.site.mail.rename(aside)
        try:
            self.ask("/v1/password/reset-request", "kept@example.com")
            wait_until(lambda: self.site.sql(count) == "2", what="the second token")
            self.expect(self.reset(first, MINE), 200)
        finally:
            aside.rename(self.site.mail)
        self.expect(self.login("kept@example.com", MINE), 200)


if __name__ == "__main__":
    unittest.main()
