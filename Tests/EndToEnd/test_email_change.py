"""Another address for a user: proved before it counts, and for a week it can be given back."""

import unittest

from cases import Case, in_parallel
from machine import wait_until


class EmailChange(Case):
    def change(self, grant, email, **options):
        return self.post("/v1/me/email", {"email": email}, token=grant["access_token"], **options)

    def prove(self, grant, token):
        return self.post("/v1/me/email/confirm", {"token": token}, token=grant["access_token"])

    def restore(self, token, password="my old house"):
        return self.post("/v1/email/restore", {"token": token, "password": password})

    def moved(self, old, new):
        """A user who had one address and has another; the token that gives the old one back."""
        grant = self.confirmed(old)
        self.expect(self.change(grant, new), 202)
        self.expect(self.prove(grant, self.site.mailed(new, "dna")), 204)
        return grant, self.site.mailed(old, "doa")

    def taken_over(self, email):
        """Somebody else gets an address that was another's."""
        count = sum("dct_" in mail for mail in self.site.mails(email))
        grant = self.expect(self.register(email, "another horse"), 201).json
        token = self.site.mailed(email, "dct", count + 1)
        self.expect(self.confirm(token, grant), 204)

    def address(self, grant):
        me = self.expect(self.me(grant), 200).json
        return me["email"], me["email_verified"]

    def audit(self, grant):
        return [event["action"] for event in self.expect(self.me(grant, "/audit"), 200).json]

    def test_nothing_changes_until_the_new_address_is_proved(self):
        grant = self.confirmed("before@example.com")
        answer = self.expect(self.change(grant, "After@example.com"), 202)
        self.assertEqual(answer.body, b"")
        token = self.site.mailed("After@example.com", "dna")
        self.assertEqual(self.address(grant), ("before@example.com", True))
        self.expect(self.login("before@example.com"), 200)
        self.expect(self.login("after@example.com"), 401)
        # The old address hears of it when it has happened.
        self.assertEqual(len(self.site.mails("before@example.com")), 2)
        self.expect(self.prove(grant, token), 204)
        self.assertEqual(self.address(grant), ("After@example.com", True))
        self.site.mailed("before@example.com", "doa")
        self.expect(self.login("after@example.com"), 200)
        self.expect(self.login("before@example.com"), 401, "wrong_credentials")
        self.assertIn("email_change", self.audit(grant))
        self.expect(self.prove(grant, token), 400, "mail_token_invalid")
        # Somebody else may have the old one from now on.
        self.taken_over("before@example.com")

    def test_it_asks_for_a_fresh_proof_and_for_an_address(self):
        grant = self.confirmed("stale@example.com")
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' "
                      f"where user_id = '{grant['user_id']}'")
        self.expect(self.change(grant, "other@example.com"), 401, "reauthentication_required")
        anonymous = self.site.login()
        self.expect(self.change(anonymous, "other@example.com"), 409, "no_email")
        grant = self.confirmed("plain@example.com")
        for email in ["none", "a@b@c", ""]:
            self.expect(self.change(grant, email), 422, "invalid")
        same = self.expect(self.change(grant, " PLAIN@example.com".strip()), 422, "invalid")
        self.assertEqual(same.json["errors"][0]["code"], "same")
        self.assertEqual(self.site.mails("other@example.com"), [])

    def test_only_the_user_confirms_who_asked_for_it(self):
        """Whoever has the mailbox of a mistyped address gets nobody's account by it."""
        grant = self.confirmed("typist@example.com")
        self.expect(self.change(grant, "mistyped@example.com"), 202)
        token = self.site.mailed("mistyped@example.com", "dna")
        reader = self.confirmed("mistyped@example.com")
        self.expect(self.prove(reader, token), 400, "mail_token_invalid")
        self.expect(self.post("/v1/me/email/confirm", {"token": token}), 401, "token_missing")
        self.expect(self.confirm(token, grant), 400, "mail_token_invalid")
        self.expect(self.reset(token, "battery staple"), 400, "mail_token_invalid")
        # By now it is proved to be another's.
        self.expect(self.prove(grant, token), 409, "email_taken")
        self.assertEqual(self.address(grant), ("typist@example.com", True))

    def test_whether_an_address_is_taken_is_told_to_its_owner_alone(self):
        self.confirmed("owner@example.com")
        grant = self.confirmed("curious@example.com")
        free, taken = [self.expect(self.change(grant, email), 202)
                       for email in ["free@example.com", "Owner@example.com"]]
        self.assertEqual((free.body, sorted(free.headers.keys())),
                         (taken.body, sorted(taken.headers.keys())))
        self.site.mailed("free@example.com", "dna")
        wait_until(lambda: any("already has an account" in mail.replace("\n", " ")
                               for mail in self.site.mails("owner@example.com")),
                   what="the mail to the owner")
        self.assertNotIn("dna_", "".join(self.site.mails("owner@example.com")))
        # What is stored of a code would tell it, too.
        export = self.expect(self.me(grant, "/export"), 200).json
        self.assertEqual(export["mails"], [])
        self.site.set_app(reveal_taken_emails=True)
        self.addCleanup(self.site.set_app, reveal_taken_emails=False)
        self.expect(self.change(grant, "owner@example.com"), 409, "email_taken")

    def test_many_prove_one_address_at_once_and_one_has_it(self):
        grants = [self.confirmed(f"race{n}@example.com") for n in range(4)]
        for grant in grants:
            self.expect(self.change(grant, "prize@example.com"), 202)
        self.site.mailed("prize@example.com", "dna", 4)
        tokens = [word for mail in self.site.mails("prize@example.com") for word in mail.split()
                  if word.startswith("dna_")]
        owners = {grant["user_id"]: grant for grant in grants}
        answers = in_parallel(4, lambda n: self.prove(owners[self.owner(tokens[n])], tokens[n]))
        self.assertEqual(sorted(answer.status for answer in answers), [204, 409, 409, 409])

    def test_who_only_claims_an_address_loses_it_to_who_proves_it(self):
        claimant = self.expect(self.register("claimed@example.com", "claimants pass"), 201).json
        self.moved("prover@example.com", "claimed@example.com")
        self.assertEqual(self.address(claimant), (None, False))
        self.expect(self.login("claimed@example.com"), 200)
        self.expect(self.login("claimed@example.com", "claimants pass"), 401)

    def test_codes_of_the_old_address_are_of_no_more_use(self):
        grant = self.confirmed("former@example.com")
        self.expect(self.post("/v1/password/reset-request", {"email": "former@example.com"}), 202)
        token = self.site.mailed("former@example.com", "dpr")
        self.expect(self.change(grant, "latter@example.com"), 202)
        self.expect(self.prove(grant, self.site.mailed("latter@example.com", "dna")), 204)
        self.expect(self.reset(token, "battery staple"), 400, "mail_token_invalid")

    def test_the_reader_of_the_old_address_takes_it_back(self):
        thief, token = self.moved("mine@example.com", "thief@example.com")
        key = self.expect(self.post("/v1/me/api-keys", {"name": "back door"},
                                    token=thief["access_token"]), 201).json["key"]
        self.expect(self.restore(token, "short"), 422, "invalid")
        self.expect(self.restore(token), 200)
        # All that the thief has is gone.
        self.expect(self.me(thief), 401, "session_ended")
        self.expect(self.post("/v1/login/api-key", {"key": key}), 401, "wrong_credentials")
        for email in ["mine@example.com", "thief@example.com"]:
            self.expect(self.login(email), 401, "wrong_credentials")
        grant = self.expect(self.login("mine@example.com", "my old house"), 200).json
        self.assertEqual(grant["user_id"], thief["user_id"])
        self.assertEqual(self.address(grant), ("mine@example.com", True))
        self.assertIn("email_restore", self.audit(grant))
        self.expect(self.restore(token), 400, "mail_token_invalid")

    def test_a_way_back_outlives_what_a_thief_does_next(self):
        thief, token = self.moved("victim@example.com", "step1@example.com")
        self.expect(self.change(thief, "step2@example.com"), 202)
        self.expect(self.prove(thief, self.site.mailed("step2@example.com", "dna")), 204)
        second = self.site.mailed("step1@example.com", "doa")
        # The address is taken away altogether.
        self.expect(self.post("/v1/me/api-keys", {"name": "only"}, token=thief["access_token"]), 201)
        way, = [i for i in self.me(thief, "/identities").json if i["provider"] == "password"]
        answer = self.site.request("DELETE", f"/v1/me/identities/{way['id']}",
                                   token=thief["access_token"])
        self.expect(answer, 204)
        self.expect(self.restore(token), 200)
        self.expect(self.login("victim@example.com", "my old house"), 200)
        self.expect(self.restore(second), 400, "mail_token_invalid")

    def test_a_way_back_outlives_that_a_thief_uses_its_own(self):
        thief, token = self.moved("first@example.com", "second@example.com")
        self.expect(self.change(thief, "third@example.com"), 202)
        self.expect(self.prove(thief, self.site.mailed("third@example.com", "dna")), 204)
        self.expect(self.restore(self.site.mailed("second@example.com", "doa"), "thiefs house"), 200)
        thief = self.expect(self.login("second@example.com", "thiefs house"), 200).json
        self.expect(self.change(thief, "fourth@example.com"), 202)
        self.expect(self.prove(thief, self.site.mailed("fourth@example.com", "dna")), 204)
        younger = self.site.mailed("second@example.com", "doa", 2)
        self.expect(self.restore(token), 200)
        # What was mailed later is of no more use.
        self.expect(self.me(thief), 401, "session_ended")
        self.expect(self.restore(younger, "thiefs house"), 400, "mail_token_invalid")
        grant = self.expect(self.login("first@example.com", "my old house"), 200).json
        self.assertEqual(self.address(grant), ("first@example.com", True))

    def test_a_way_back_ends_when_its_time_is_up_or_another_has_the_address(self):
        _, token = self.moved("late@example.com", "later@example.com")
        self.assertEqual(self.site.sql(
            "select round(extract(epoch from max(expires_at) - now()) / 86400) from mail_tokens "
            "where purpose = 'restore'"), "7")
        self.taken_over("late@example.com")
        answer = self.expect(self.restore(token), 409, "email_taken")
        self.assertIn("delete it or give it another address", answer.json["detail"])
        self.site.sql("update mail_tokens set expires_at = now()")
        self.expect(self.restore(token), 400, "mail_token_invalid")

    def test_a_thief_who_registers_the_address_again_keeps_nobody_from_the_way_back(self):
        thief, token = self.moved("claimed-again@example.com", "mover@example.com")
        self.assertIn("another account has confirmed", " ".join(
            "".join(self.site.mails("claimed-again@example.com")).split()))
        # A claim gives way.
        decoy = self.expect(self.register("claimed-again@example.com", "thiefs decoy"), 201).json
        # The owner is sent to that account, and finds its own behind it.
        self.expect(self.post("/v1/password/reset-request", {"email": "claimed-again@example.com"}),
                    202)
        self.expect(self.reset(self.site.mailed("claimed-again@example.com", "dpr"), "my new house"),
                    200)
        self.expect(self.restore(token), 409, "email_taken")
        found = self.expect(self.login("claimed-again@example.com", "my new house"), 200).json
        self.assertEqual(found["user_id"], decoy["user_id"])
        self.expect(self.site.request("DELETE", "/v1/me", token=found["access_token"]), 204)
        self.expect(self.restore(token), 200)
        grant = self.expect(self.login("claimed-again@example.com", "my old house"), 200).json
        self.assertEqual(grant["user_id"], thief["user_id"])

    def test_the_address_that_a_way_back_displaces_is_told(self):
        _, token = self.moved("displacing@example.com", "displaced@example.com")
        self.expect(self.restore(token), 200)
        wait_until(lambda: "the one before was given back" in
                   " ".join("".join(self.site.mails("displaced@example.com")).split()),
                   what="the mail to the address that is displaced")
        self.assertNotIn("doa_", "".join(self.site.mails("displaced@example.com")))
        # Who has the address all along is told once, of what happened to it.
        grant, _ = self.moved("there@example.com", "back@example.com")
        self.expect(self.change(grant, "there@example.com"), 202)
        self.expect(self.prove(grant, self.site.mailed("there@example.com", "dna")), 204)
        self.expect(self.restore(self.site.mailed("there@example.com", "doa")), 200)
        wait_until(lambda: "is the address of your account again" in
                   " ".join("".join(self.site.mails("there@example.com")).split()),
                   what="the mail to the address")
        self.assertNotIn("the one before was given back",
                         " ".join("".join(self.site.mails("there@example.com")).split()))

    # An address that is taken away

    def unlink(self, grant, provider="password"):
        way, = [i for i in self.me(grant, "/identities").json if i["provider"] == provider]
        self.expect(self.site.request("DELETE", f"/v1/me/identities/{way['id']}",
                                      token=grant["access_token"]), 204)

    def key_of(self, grant):
        return self.expect(self.post("/v1/me/api-keys", {"name": "only"},
                                     token=grant["access_token"]), 201).json["key"]

    def test_the_reader_of_an_address_that_was_unlinked_takes_it_back(self):
        thief = self.confirmed("unlinked@example.com")
        key = self.key_of(thief)
        self.unlink(thief)
        self.assertEqual(self.address(thief), (None, False))
        # One mail tells of it, and has the way back, for as long as after a change.
        token = self.site.mailed("unlinked@example.com", "doa")
        told = [mail for mail in self.site.mails("unlinked@example.com") if "doa_" in mail]
        self.assertIn("is not the address of your account", told[0].replace("\n", " "))
        self.assertNotIn("cannot take it back", "".join(self.site.mails("unlinked@example.com")))
        self.assertEqual(self.site.sql(
            "select purpose, round(extract(epoch from expires_at - now()) / 86400) "
            f"from mail_tokens where user_id = '{thief['user_id']}'"), "restore|7")
        # Until it has ended no other address is the account's.
        answer = self.expect(self.post("/v1/me/identities", {
            "provider": "password", "email": "thiefs@example.com", "password": "correct horse"},
            token=thief["access_token"]), 409, "way_back_open")
        self.assertIn(answer.json["until"], answer.json["detail"])
        self.expect(self.restore(token), 200)
        self.expect(self.me(thief), 401, "session_ended")
        self.expect(self.post("/v1/login/api-key", {"key": key}), 401, "wrong_credentials")
        grant = self.expect(self.login("unlinked@example.com", "my old house"), 200).json
        self.assertEqual(grant["user_id"], thief["user_id"])
        self.assertEqual(self.address(grant), ("unlinked@example.com", True))
        # The account is whole: its password can be reset, and its address changed.
        self.expect(self.post("/v1/password/reset-request", {"email": "unlinked@example.com"}), 202)
        self.expect(self.reset(self.site.mailed("unlinked@example.com", "dpr"), "another house"), 200)
        audit = self.audit(self.expect(self.login("unlinked@example.com", "another house"), 200).json)
        self.assertTrue({"unlink", "email_restore"} <= set(audit), audit)
        self.expect(self.restore(token), 400, "mail_token_invalid")

    def test_nobody_comes_to_an_account_that_somebody_can_take_back(self):
        """Whoever links the address of a person who proves it later must not come back after that."""
        grant = self.confirmed("attacker@example.com")
        self.expect(self.change(grant, "attackers@example.com"), 202)
        self.expect(self.prove(grant, self.site.mailed("attackers@example.com", "dna")), 204)
        token = self.site.mailed("attacker@example.com", "doa")
        self.key_of(grant)
        self.unlink(grant)
        second = self.site.mailed("attackers@example.com", "doa")
        link = {"provider": "password", "email": "pre-hijacked@example.com",
                "password": "correct horse"}
        self.expect(self.post("/v1/me/identities", link, token=grant["access_token"]), 409,
                    "way_back_open")
        self.assertEqual(self.address(grant), (None, False))
        # The victim comes to an account of its own.
        self.expect(self.register("pre-hijacked@example.com", "victims house"), 201)
        self.expect(self.post("/v1/password/reset-request", {"email": "pre-hijacked@example.com"}),
                    202)
        self.expect(self.reset(self.site.mailed("pre-hijacked@example.com", "dpr"), "victims pass"),
                    200)
        victim = self.expect(self.login("pre-hijacked@example.com", "victims pass"), 200).json
        self.assertNotEqual(victim["user_id"], grant["user_id"])
        # When each way back has ended, something is linked again.
        self.site.sql("update mail_tokens set expires_at = now() where purpose = 'restore' "
                      f"and user_id = '{grant['user_id']}' and email = 'attacker@example.com'")
        self.expect(self.restore(token), 400, "mail_token_invalid")
        link["email"] = "next@example.com"
        self.expect(self.post("/v1/me/identities", link, token=grant["access_token"]), 409,
                    "way_back_open")
        self.site.sql("update mail_tokens set expires_at = now() where purpose = 'restore' "
                      f"and user_id = '{grant['user_id']}'")
        self.expect(self.restore(second), 400, "mail_token_invalid")
        self.expect(self.post("/v1/me/identities", link, token=grant["access_token"]), 200)

    def test_an_address_that_was_unlinked_unproved_has_no_way_back(self):
        grant = self.expect(self.register("claimant@example.com"), 201).json
        self.key_of(grant)
        self.unlink(grant)
        self.assertEqual(self.site.sql(
            f"select count(*) from mail_tokens where user_id = '{grant['user_id']}'"), "0")

    def test_what_a_program_takes_away_is_told_and_not_given_back(self):
        grant = self.confirmed("by-program@example.com")
        self.key_of(grant)
        key = self.site.client("--app", "default", "--scope", "update:users")["key"]
        way, = [i for i in self.me(grant, "/identities").json if i["provider"] == "password"]
        self.expect(self.site.request(
            "DELETE", f"/v1/users/{grant['user_id']}/identities/{way['id']}", token=key), 204)
        wait_until(lambda: "cannot take it back" in
                   "".join(self.site.mails("by-program@example.com")).replace("\n", " "),
                   what="the mail to the owner")
        self.assertNotIn("doa_", "".join(self.site.mails("by-program@example.com")))

    def test_an_address_that_was_never_proved_is_told_nothing(self):
        grant = self.expect(self.register("unproved@example.com"), 201).json
        self.site.mailed("unproved@example.com", "dct")
        self.expect(self.change(grant, "proved@example.com"), 202)
        self.expect(self.prove(grant, self.site.mailed("proved@example.com", "dna")), 204)
        self.assertEqual(self.address(grant), ("proved@example.com", True))
        self.assertEqual(self.site.sql(
            f"select count(*) from mail_tokens where user_id = '{grant['user_id']}'"), "0")

    def test_mail_to_one_address_is_limited(self):
        grant = self.confirmed("flooder@example.com")
        statuses = [self.change(grant, "flooded@example.com").status for _ in range(12)]
        self.assertEqual(statuses, [202] * 10 + [429] * 2)


if __name__ == "__main__":
    unittest.main()
