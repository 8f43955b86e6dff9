"""Tests the change of an address, which is pending until the user enters the mailed code."""

import unittest

from cases import Case, in_parallel
from machine import wait_until
from test_identities import IdentityCase


class ChangeCase(Case):
    def setUp(self):
        self.site.sql("delete from rate_limits")

    def ask(self, grant, email, **options):
        return self.post("/v1/me/email", {"email": email}, token=grant["access_token"], **options)

    def flow(self, grant, email):
        """Requests a change. Returns the flow and the mailed code."""
        count = len(self.codes(email))
        flow = self.expect(self.ask(grant, email), 202).json["flow"]
        return flow, self.mailed_code(email, count + 1)

    def finish(self, grant, flow, code, **options):
        return self.post("/v1/me/email/verify", {"flow": flow, "code": code},
                         token=grant["access_token"], **options)

    def address(self, grant, **options):
        me = self.expect(self.me(grant, **options), 200).json
        return me["email"], me["email_verified"]


class EmailChange(ChangeCase):
    def test_nothing_changes_until_the_code_is_entered(self):
        grant = self.verified("before@example.com")
        answer = self.expect(self.ask(grant, "After@example.com"), 202)
        self.assertEqual(sorted(answer.json), ["expires_in", "flow"])
        code = self.mailed_code("After@example.com")
        self.assertEqual(self.address(grant), ("before@example.com", True))
        self.expect(self.login("before@example.com"), 200)
        self.expect(self.login("after@example.com"), 401)
        # The mail to the new address gives access to no account.
        self.expect(self.enter(answer.json["flow"], code), 401)
        # The old address gets its mail when the change has happened.
        self.assertEqual(self.site.tokens("before@example.com", "ds_restore"), [])
        self.expect(self.finish(grant, answer.json["flow"], code), 204)
        self.assertEqual(self.address(grant), ("After@example.com", True))
        self.site.mailed("before@example.com", "ds_restore")
        self.expect(self.login("after@example.com"), 200)
        self.expect(self.login("before@example.com"), 401, "wrong_credentials")
        events = self.expect(self.me(grant, "/audit"), 200).json
        self.assertIn("email_change", [event["action"] for event in events])
        self.expect(self.finish(grant, answer.json["flow"], code), 401, "code_invalid")

    def test_a_change_ends_no_session(self):
        grant = self.verified("keeps@example.com")
        other = self.expect(self.login("keeps@example.com"), 200).json
        self.change_email(grant, "kept@example.com")
        for session in [grant, other]:
            self.expect(self.refresh(session), 200)
        self.expect(self.login("kept@example.com"), 200)

    def test_a_change_requires_a_recent_authentication_and_an_address(self):
        grant = self.verified("stale@example.com")
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' "
                      f"where user_id = '{grant['user_id']}'")
        self.expect(self.ask(grant, "other@example.com"), 401, "reauthentication_required")
        anonymous = self.site.login()
        self.expect(self.ask(anonymous, "other@example.com"), 409, "no_email")
        grant = self.verified("plain@example.com")
        for email in ["none", "a@b@c", ""]:
            self.expect(self.ask(grant, email), 422, "validation_failed")
        same = self.expect(self.ask(grant, "PLAIN@example.com"), 422, "validation_failed")
        self.assertEqual(same.json["errors"][0]["code"], "same")
        self.assertEqual(self.site.mails("other@example.com"), [])

    def test_only_the_user_who_asked_completes_it(self):
        grant = self.verified("typist@example.com")
        flow, code = self.flow(grant, "mistyped@example.com")
        # The recipient at a mistyped address gets no access to the account.
        reader = self.verified("mistyped@example.com")
        self.expect(self.finish(reader, flow, code), 401, "code_invalid")
        self.expect(self.post("/v1/me/email/verify", {"flow": flow, "code": code}), 401,
                    "token_missing")
        self.assertEqual(self.address(reader), ("mistyped@example.com", True))
        # The address now belongs to another user.
        self.expect(self.finish(grant, flow, code), 409, "email_taken")
        self.assertEqual(self.address(grant), ("typist@example.com", True))

    def test_a_code_of_a_change_has_five_tries(self):
        grant = self.verified("tries@example.com")
        flow, code = self.flow(grant, "tried@example.com")
        for _ in range(5):
            self.expect(self.finish(grant, flow, "0000 000x"), 401, "code_invalid")
        self.expect(self.finish(grant, flow, code), 401, "code_invalid")
        self.assertEqual(self.address(grant), ("tries@example.com", True))

    def test_a_code_of_a_change_expires(self):
        grant = self.verified("slow@example.com")
        flow, code = self.flow(grant, "slower@example.com")
        self.site.sql("update authentication_flows set expires_at = now() "
                      f"where place = '{grant['user_id']}'")
        self.expect(self.finish(grant, flow, code), 401, "code_invalid")

    def test_one_of_concurrent_changes_gets_the_address(self):
        grants = [self.verified(f"race{n}@example.com") for n in range(4)]
        flows = [self.flow(grant, "prize@example.com") for grant in grants]
        answers = in_parallel(4, lambda n: self.finish(grants[n], *flows[n]))
        statuses = sorted(answer.status for answer in answers)
        self.assertEqual((statuses[0], set(statuses[1:]) <= {401, 409}), (204, True), statuses)
        winner = next(n for n in range(4) if answers[n].status == 204)
        for n, grant in enumerate(grants):
            email = "prize@example.com" if n == winner else f"race{n}@example.com"
            self.assertEqual(self.address(grant), (email, True))

    def test_tokens_of_the_old_address_become_useless(self):
        grant = self.verified("former@example.com")
        self.expect(self.post("/v1/password/reset-request", {"email": "former@example.com"}), 202)
        token = self.site.mailed("former@example.com", "ds_reset")
        self.change_email(grant, "latter@example.com")
        self.expect(self.reset(token, "battery staple"), 400, "mail_token_invalid")

    def test_an_unverified_old_address_gets_no_mail_and_is_free(self):
        grant = self.expect(self.register("unverified@example.com"), 201).json
        self.site.mailed("unverified@example.com", "ds_verify")
        self.change_email(grant, "new-one@example.com")
        self.assertEqual(self.address(grant), ("new-one@example.com", True))
        self.assertEqual(self.site.sql(
            f"select count(*) from mail_tokens where user_id = '{grant['user_id']}'"), "0")
        self.expect(self.register("unverified@example.com", "somebody elses"), 201)

    def test_mail_to_one_address_is_limited(self):
        grant = self.verified("flooder@example.com")
        self.site.sql("delete from rate_limits")
        statuses = [self.ask(grant, "flooded@example.com").status for _ in range(12)]
        self.assertEqual(statuses, [202] * 10 + [429] * 2)

    # A taken address

    def test_a_taken_address_is_refused_at_once(self):
        self.verified("owner@example.com")
        self.expect(self.register("unproved@example.com"), 201)
        grant = self.verified("curious@example.com")
        for email in ["Owner@example.com", "unproved@example.com"]:
            taken = self.expect(self.ask(grant, email), 409, "email_taken").json
            self.assertEqual(taken["errors"][0]["pointer"], "/email")
            self.assertEqual(self.codes(email), [])
        self.assertEqual(self.address(grant), ("curious@example.com", True))

    def test_only_the_mail_reports_a_taken_address_with_verify_first(self):
        words = "You have an account."
        app = self.site.add_app("careful", sign_up="verify_first", taken_text=words)
        self.sign_up("owner@example.com", headers=app)
        grant = self.sign_up("curious@example.com", headers=app)
        free, taken = [self.expect(self.ask(grant, email, headers=app), 202)
                       for email in ["free@example.com", "Owner@example.com"]]
        self.assertEqual((sorted(free.headers.keys()), sorted(free.json), len(free.body)),
                         (sorted(taken.headers.keys()), sorted(taken.json), len(taken.body)))
        self.mailed_code("free@example.com")
        wait_until(lambda: any(words in mail
                               for mail in self.site.mails("owner@example.com")),
                   what="the mail to the owner")
        self.assertEqual(len(self.codes("owner@example.com")), 1)
        # Codes and an export do not reveal it either.
        for flow in [free.json["flow"], taken.json["flow"]]:
            for _ in range(7):
                self.expect(self.finish(grant, flow, "0000 000x", headers=app), 401,
                            "code_invalid")
        export = self.expect(self.me(grant, "/export", headers=app), 200)
        self.assertNotIn("owner@example.com", export.body.decode())
        self.assertEqual(self.address(grant, headers=app), ("curious@example.com", True))


class FirstAddress(ChangeCase, IdentityCase):
    """The same requests, of users whose issuer named no address."""

    def arrival(self, **claims):
        """Signs a new user of the issuer in; returns the tokens."""
        return self.expect(self.login_jwt(self.jwt(self.id(), **claims)), 200).json

    def add(self, grant, email):
        self.expect(self.finish(grant, *self.flow(grant, email)), 204)
        self.assertEqual(self.address(grant), (email, True))

    def test_the_first_address_opens_all_methods_of_an_address(self):
        self.site.dossier("app", "set", "email_code=true")
        grant = self.arrival()
        self.assertEqual(self.address(grant), (None, False))
        flow, code = self.flow(grant, "First@example.com")
        self.assertEqual(self.address(grant), (None, False))
        self.expect(self.register("first@example.com", "another horse"), 201)
        self.expect(self.finish(grant, flow, code), 409, "email_taken")
        self.add(grant, "added@example.com")
        self.assertEqual([identity["provider"] for identity in self.identities(grant)],
                         ["jwt:https://issuer.example.com", "email"])
        user = grant["user_id"]
        self.assertEqual(self.sign_in_by_code("added@example.com")["user_id"], user)
        self.expect(self.refresh(grant), 200)
        reset = self.reset_by_mail("added@example.com", "battery staple")
        self.assertEqual(reset["user_id"], user)
        self.expect(self.login("added@example.com", "battery staple"), 200)
        # The issuer signs in as before.
        self.assertEqual(self.arrival()["user_id"], user)
        events = [event["action"] for event in self.expect(self.me(reset, "/audit"), 200).json]
        self.assertIn("email_change", events)
        # From now on it is an address like any other.
        self.change_email(reset, "later@example.com")
        self.expect(self.restore(self.site.mailed("added@example.com", "ds_restore")), 200)

    def restore(self, token):
        return self.post("/v1/email/restore", {"token": token, "password": "battery staples"})

    def test_the_rules_of_a_change_hold(self):
        grant = self.arrival()
        self.verified("proprietor@example.com")
        self.expect(self.ask(grant, "proprietor@example.com"), 409, "email_taken")
        self.expect(self.ask(grant, "none"), 422, "validation_failed")
        flow, code = self.flow(grant, "strangers@example.com")
        self.expect(self.finish(self.arrival(sub="another"), flow, code), 401, "code_invalid")
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' "
                      f"where user_id = '{grant['user_id']}'")
        self.expect(self.ask(grant, "others@example.com"), 401, "reauthentication_required")

    def test_one_of_concurrent_first_addresses_is_kept(self):
        grant = self.arrival()
        emails = [f"first{n}@example.com" for n in range(4)]
        flows = [self.flow(grant, email) for email in emails]
        answers = in_parallel(4, lambda n: self.finish(grant, *flows[n]))
        # A change makes the codes of the others useless.
        self.assertEqual(sorted(answer.status for answer in answers), [204, 401, 401, 401])
        kept = emails[[answer.status for answer in answers].index(204)]
        self.assertEqual(self.address(grant), (kept, True))
        self.assertEqual(self.site.sql(
            "select count(*) from identities where provider = 'email' "
            f"and user_id = '{grant['user_id']}'"), "1")
        for email in emails:
            self.expect(self.register(email), 409 if email == kept else 201)

    def test_an_address_that_the_issuer_named_is_replaced_and_free(self):
        grant = self.arrival(email="named@example.com")
        self.assertEqual(self.address(grant), ("named@example.com", False))
        same = self.expect(self.ask(grant, "Named@example.com"), 422).json
        self.assertEqual(same["errors"][0]["code"], "same")
        self.add(grant, "own@example.com")
        self.expect(self.register("named@example.com"), 201)

    def test_no_address_is_added_while_the_former_one_can_be_restored(self):
        grant = self.arrival()
        self.add(grant, "gone@example.com")
        flow, code = self.flow(grant, "late@example.com")
        identity = next(found["id"] for found in self.identities(grant)
                        if found["provider"] == "email")
        self.expect(self.site.request(
            "DELETE", f"/v1/me/identities/{identity}", token=grant["access_token"]), 204)
        self.expect(self.ask(grant, "next@example.com"), 409, "email_restore_pending")
        self.assertEqual(self.codes("next@example.com"), [])
        self.expect(self.finish(grant, flow, code), 409, "email_restore_pending")
        back = self.expect(self.restore(self.site.mailed("gone@example.com", "ds_restore")), 200)
        self.assertEqual(self.address(back.json), ("gone@example.com", True))


if __name__ == "__main__":
    unittest.main()
