"""Codes that are mailed to log in by, and to sign up."""

import re
import unittest

from asking import ADDRESS
from cases import Case, in_parallel
from machine import wait_until


class EmailCodes(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True)

    def ask(self, email, **options):
        return self.expect(self.post("/v1/login/code/request", {"email": email}, **options), 202)

    def codes(self, email):
        return [match[0] for mail in self.site.mails(email)
                for match in [re.search(r"\d{4} \d{4}", mail)] if match]

    def code(self, email, count=1):
        wait_until(lambda: len(self.codes(email)) >= count, what=f"{count} codes to {email}")
        return self.codes(email)[-1]

    def enter(self, request, code, **options):
        return self.post("/v1/login/code", {"request": request, "code": code}, **options)

    def come(self, email, **options):
        """Logs in by a code."""
        stored = email.lower()
        count = len(self.codes(stored))
        request = self.ask(email).json["request"]
        return self.expect(self.enter(request, self.code(stored, count + 1), **options), 200).json

    def test_who_has_an_account_and_who_has_none_log_in_alike(self):
        known = self.confirmed("known@example.com")
        first, second = [self.ask(email) for email in ["Known@example.com", "new@example.com"]]
        self.assertEqual(sorted(first.headers.keys()), sorted(second.headers.keys()))
        self.assertEqual([sorted(answer.json) for answer in [first, second]],
                         [["expires_in", "request"]] * 2)
        self.assertEqual(len(first.body), len(second.body))
        grant = self.expect(
            self.enter(first.json["request"], self.code("known@example.com")), 200).json
        self.assertEqual(grant["user_id"], known["user_id"])
        made = self.expect(
            self.enter(second.json["request"], self.code("new@example.com")), 200).json
        me = self.me(made).json
        self.assertEqual((me["email"], me["email_verified"], me["anonymous"]),
                         ("new@example.com", True, False))
        # Again, and it is the same user.
        self.assertEqual(self.come("NEW@example.com")["user_id"], made["user_id"])
        sessions = self.expect(self.me(made, "/sessions"), 200).json
        self.assertEqual({session["provider"] for session in sessions}, {"email"})

    def test_a_code_is_good_once_with_what_asked_for_it_and_not_for_long(self):
        request = self.ask("once@example.com").json["request"]
        code = self.code("once@example.com")
        other = self.ask("once@example.com").json["request"]
        for wrong in [(other, code), (request[:-4] + "AAAA", code), ("", code), (request, ""),
                      (request, "x" * 8)]:
            self.expect(self.enter(*wrong), 401, "code_invalid")
        # As people type it.
        self.expect(self.enter(request, code.replace(" ", "-")), 200)
        self.expect(self.enter(request, code), 401, "code_invalid")
        # With it, all others of the address are used up.
        self.expect(self.enter(other, self.code("once@example.com", 2)), 401, "code_invalid")
        request = self.ask("once@example.com").json["request"]
        code = self.code("once@example.com", 3)
        self.site.sql("update email_codes set expires_at = now()")
        self.expect(self.enter(request, code), 401, "code_invalid")

    def test_one_code_lets_one_in_however_many_come_at_once(self):
        request = self.ask("crowd@example.com").json["request"]
        code = self.code("crowd@example.com")
        answers = in_parallel(5, lambda _: self.enter(request, code))
        self.assertEqual(sorted(answer.status for answer in answers), [200] + [401] * 4)
        self.assertEqual(self.site.sql(
            "select count(*) from users where email = 'crowd@example.com'"), "1")

    def test_two_codes_at_once_make_one_user(self):
        requests = [self.ask("twins@example.com").json["request"] for _ in range(2)]
        self.code("twins@example.com", 2)
        codes = self.codes("twins@example.com")
        # Which mail is whose is not told.
        answers = in_parallel(4, lambda n: self.enter(requests[n % 2], codes[n // 2]))
        self.assertLessEqual({answer.status for answer in answers}, {200, 401})
        self.assertIn(200, [answer.status for answer in answers])
        self.assertEqual(self.site.sql(
            "select count(*) from users where email = 'twins@example.com'"), "1")

    def test_a_code_has_five_tries_and_nobody_uses_up_another_s(self):
        request = self.ask("tries@example.com").json["request"]
        code = self.code("tries@example.com")
        for _ in range(5):
            self.expect(self.enter(request, "00000000" if code != "0000 0000" else "1"), 401,
                        "code_invalid")
        self.expect(self.enter(request, code), 401, "code_invalid")
        # Another's attempts are on what that one asked for.
        mine = self.ask("tries@example.com").json["request"]
        code = self.code("tries@example.com", 2)
        theirs = self.ask("tries@example.com", headers={ADDRESS: "192.0.2.77"}).json["request"]
        for _ in range(5):
            self.enter(theirs, "00000000", headers={ADDRESS: "192.0.2.77"})
        self.expect(self.enter(mine, code), 200)

    def test_mails_are_counted_by_address_and_network(self):
        self.site.set_app(failures_per_identifier=6)
        self.addCleanup(self.site.set_app, failures_per_identifier=10)
        statuses = [self.post("/v1/login/code/request", {"email": "flood@example.com"}).status
                    for _ in range(8)]
        self.assertEqual(statuses, [202] * 6 + [429] * 2)

    def test_a_success_is_no_failure_and_a_failure_is_in_the_trail(self):
        self.site.sql("delete from attempts")
        grant = self.come("trail@example.com")
        for _ in range(3):
            grant = self.come("trail@example.com", headers={"Dossier-Device": grant["device_secret"]})
        request = self.ask("trail@example.com").json["request"]
        self.expect(self.enter(request, "wrong"), 401, "code_invalid")
        events = self.expect(self.me(grant, "/audit"), 200).json
        self.assertEqual([(e["action"], e["detail"].get("provider")) for e in events][:2],
                         [("login_failure", "email"), ("login", "email")])

    def test_who_only_claims_the_address_is_taken_over_with_nothing_that_logs_in(self):
        claimant = self.expect(self.register("claim@example.com", "attackers pass"), 201).json
        self.expect(self.site.request(
            "PUT", "/v1/me/properties/a", {"value": 1}, {"Content-Type": "application/json"},
            claimant["access_token"]), 200)
        grant = self.come("claim@example.com")
        self.assertEqual(grant["user_id"], claimant["user_id"])
        self.expect(self.me(claimant), 401, "session_ended")
        self.expect(self.login("claim@example.com", "attackers pass"), 401, "wrong_credentials")
        self.assertEqual(self.me(grant, "/properties").json, {"a": 1})
        self.assertTrue(self.me(grant).json["email_verified"])

    def test_who_came_by_codes_gets_a_password_by_mail(self):
        grant = self.come("bare@example.com")
        link = self.post("/v1/me/identities", {
            "provider": "password", "email": "bare@example.com", "password": "correct horse"},
            token=grant["access_token"])
        self.expect(link, 409, "identity_exists")
        for password in ["*", "correct horse"]:
            self.expect(self.login("bare@example.com", password), 401, "wrong_credentials")
        self.expect(self.post("/v1/password/reset-request", {"email": "bare@example.com"}), 202)
        self.expect(self.reset(self.site.mailed("bare@example.com", "dpr"), "my own words"), 200)
        again = self.expect(self.login("bare@example.com", "my own words"), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])
        # Another who claims the address learns nothing, and the owner is told.
        self.expect(self.register("bare@example.com", "somebody elses"), 201)
        wait_until(lambda: any("already has" in mail for mail in self.site.mails("bare@example.com")),
                   what="the mail to the owner")

    def test_a_blocked_user_stays_out(self):
        grant = self.come("blocked@example.com")
        self.site.dossier("user", "block", grant["user_id"])
        request = self.ask("blocked@example.com").json["request"]
        self.expect(self.enter(request, self.code("blocked@example.com", 2)), 401,
                    "wrong_credentials")

    def test_a_code_logs_in_on_the_device_and_in_the_cookie(self):
        first = self.site.login()
        grant = self.come("device@example.com", headers={"Dossier-Device": first["device_secret"]})
        self.assertEqual(grant["device_id"], first["device_id"])
        page = {"Dossier-Device": "cookie", "Origin": "https://app.example.com"}
        request = self.ask("device@example.com").json["request"]
        self.expect(self.enter(request, "x", headers=page), 403, "origin_forbidden")
        self.site.set_app(allowed_origins=["https://app.example.com"])
        answer = self.enter(request, self.code("device@example.com", 2), headers=page)
        self.assertNotIn("refresh_token", self.expect(answer, 200).json)
        self.assertRegex(answer.headers["Set-Cookie"], "^__Host-dossier-device-[0-9a-f]{24}=ddv_")

    def test_an_app_that_does_not_offer_it_says_so(self):
        app = self.site.add_app("closed")
        for path, body in [("/v1/login/code/request", {"email": "a@example.com"}),
                           ("/v1/login/code", {"request": "x", "code": "x"})]:
            refused = self.expect(self.post(path, body, headers=app), 403, "way_in_closed")
            self.assertIn("email_code", refused.json["detail"])
        self.expect(self.post("/v1/login/code/request", {"email": "none"}), 422, "invalid")
        # What one app's client was given is nothing in another.
        request = self.ask("apart@example.com").json["request"]
        code = self.code("apart@example.com")
        other = self.site.add_app("other", email_code=True)
        self.expect(self.enter(request, code, headers=other), 401, "code_invalid")

    def test_what_is_kept_of_codes_is_removed(self):
        self.ask("kept@example.com")
        self.assertEqual(self.site.sql(
            "select count(*) from email_codes where code_hash::text like '%kept%'"), "0")
        stored = self.site.sql("select code_hash from email_codes limit 1")
        self.assertEqual(len(stored), 2 + 64)


class WithoutMail(Case):
    SETTINGS = {"DOSSIER_MAIL": ""}

    def test_a_deployment_without_mail_says_so(self):
        self.site.set_app(email_code=True)
        grant = self.expect(self.register("mute@example.com"), 201).json
        self.expect(self.post("/v1/login/code/request", {"email": "mute@example.com"}), 503,
                    "mail_not_configured")
        self.expect(self.post("/v1/me/email", {"email": "other@example.com"},
                              token=grant["access_token"]), 503, "mail_not_configured")


if __name__ == "__main__":
    unittest.main()
