"""Tests that strangers on many networks cannot lock an owner out."""

import unittest

from asking import ADDRESS
from cases import Case, in_parallel
from machine import wait_until
from test_limits import DAY, limits

OWN = "192.0.2.1"
HERS = "correct horse"


class Lockout(Case):
    def setUp(self):
        self.email = f"{self._testMethodName.replace('_', '-')[5:40]}@example.com"

    def app(self, name, **settings):
        self.headers = self.site.add_app(name, email_code=True, **settings)
        return self.headers

    def ask(self, path, body, place=OWN, device=None, **options):
        headers = {**self.headers, ADDRESS: place, **({"Dossier-Device": device} if device else {})}
        return self.post(path, body, headers=headers, **options)

    def enter(self, place=OWN, password=HERS, email=None, **options):
        return self.ask("/v1/login/password", {"email": email or self.email, "password": password}, place, **options)

    def guess_from_many_networks(self, email=None):
        """Guesses from 40 networks until a new network is refused."""
        in_parallel(40, lambda i: self.enter(f"203.0.113.{i}", "a guess", email))
        for i in range(256):
            refused = self.enter(f"198.51.100.{i}", "a guess", email)
            if refused.status == 429:
                return self.assertEqual(limits(refused).keys(), {"login-anywhere"})
        self.fail("nobody was refused")

    def assert_open(self, place, password=HERS):
        self.expect(self.enter(place, password), 200)

    def asked_code(self, count=1, place=OWN):
        asked = self.expect(self.ask("/v1/login/code/request", {"email": self.email}, place), 202).json
        return {"flow": asked["flow"], "code": self.mailed_code(self.email, count)}

    def test_a_known_device_a_code_and_a_reset_pass_despite_guesses(self):
        self.app("besieged", failures_per_identifier_hourly=20)
        grant = self.verified(self.email, headers={**self.headers, ADDRESS: OWN})
        self.guess_from_many_networks()
        self.expect(self.enter("192.0.2.2"), 429, "too_many_attempts")
        # A known device passes from every network.
        self.expect(self.enter("192.0.2.2", device=grant["device_secret"]), 200)
        # A code passes, and afterwards so does the password.
        code = self.asked_code(place="192.0.2.3")
        grant = self.expect(self.ask("/v1/login/code", code, "192.0.2.3"), 200).json
        self.assert_open("192.0.2.4")
        # So does a reset, which logs in; its device is known.
        self.guess_from_many_networks()
        self.expect(self.ask("/v1/password/reset-request", {"email": self.email}), 202)
        token = self.site.mailed(self.email, "ds_reset")
        body = {"token": token, "password": "battery staple"}
        grant = self.expect(self.ask("/v1/password/reset", body, "192.0.2.5"), 200).json
        self.assertEqual(self.me(grant, headers=self.headers).json["email"], self.email)
        self.assert_open("192.0.2.6", "battery staple")
        self.guess_from_many_networks()
        self.expect(self.enter("192.0.2.7", "battery staple"), 429)
        passed = self.enter("192.0.2.7", "battery staple", device=grant["device_secret"])
        self.assertEqual(limits(self.expect(passed, 200)).keys(), {"login-device"})
        # A restored address signs in as well.
        grant = passed.json
        self.change_email(grant, "elsewhere@example.com", headers={**self.headers, ADDRESS: OWN})
        self.guess_from_many_networks()
        body = {"token": self.site.mailed(self.email, "ds_restore"), "password": HERS}
        again = self.expect(self.ask("/v1/email/restore", body, "192.0.2.8"), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])
        self.assert_open("192.0.2.9")

    def test_an_address_can_be_verified_despite_guesses(self):
        self.app("verifying", failures_per_identifier_hourly=20)
        email = "unproved@example.com"
        self.expect(self.ask("/v1/register", {"email": email, "password": HERS}), 201)
        self.guess_from_many_networks(email)
        body = {"token": self.site.mailed(email, "ds_verify"), "password": HERS}
        self.expect(self.ask("/v1/email/verify", body, "192.0.2.2"), 200)
        self.expect(self.enter("192.0.2.3", email=email), 200)

    def test_tries_are_counted_by_code(self):
        self.app("codes", failures_per_identifier=8, **DAY)
        for count in range(1, 5):
            code = self.asked_code(count)
            for _ in range(6 if count < 4 else 0):
                self.expect(self.ask("/v1/login/code", {**code, "code": "wrong"}), 401, "code_invalid")
        self.expect(self.ask("/v1/login/code", code), 200)

    # Sites of IPv6: a /48 with 65,536 networks in it.

    def statuses(self, ask, count=10):
        return [ask(i, f"2001:db8:7:{i:x}::1").status for i in range(count)]

    def test_a_site_has_four_times_the_limit_of_a_network(self):
        self.app("site", failures_per_identifier=2, **DAY)
        reset = {"email": "sitemail@example.com"}
        guess = [401] * 8 + [429] * 2
        self.assertEqual(self.statuses(lambda _, place: self.enter(place, "a guess")), guess)
        self.expect(self.enter("2001:db8:8::1", "a guess"), 401)
        # An address gets four mails at once. After that, each network may request one, and a site four.
        self.assertEqual(
            self.statuses(lambda _, place: self.ask("/v1/password/reset-request", reset, place)),
            [202] * 8 + [429] * 2)
        self.expect(self.ask("/v1/password/reset-request", reset, "2001:db8:8::1"), 202)
        registered = self.statuses(lambda i, place: self.ask(
            "/v1/register", {"email": "sited@example.com", "password": f"a stranger {i}"}, place))
        self.assertEqual(registered, [201] + [409] * 7 + [429] * 2)

    def test_a_site_is_limited_over_all_identifiers(self):
        self.app("sites", failures_per_ip=2, anonymous_users_per_ip=2, **DAY)
        self.assertEqual(
            self.statuses(lambda i, place: self.enter(place, "a guess", f"s{i}@example.com")),
            [401] * 8 + [429] * 2)
        self.assertEqual(
            self.statuses(lambda i, place: self.ask(
                "/v1/password/reset-request", {"email": f"s{i}@example.com"}, place)),
            [202] * 8 + [429] * 2)
        anonymous = self.statuses(lambda _, place: self.ask("/v1/login/anonymous", {}, place))
        self.assertEqual(anonymous[:8], [200] * 8)
        # One attempt becomes available every 450 seconds.
        self.assertIn(429, anonymous[8:] + self.statuses(
            lambda _, place: self.ask("/v1/login/anonymous", {}, place), 30))
        self.site.dossier("rate-limit", "reset", "--app", "sites", "--network", "2001:db8:7::1")
        self.expect(self.enter("2001:db8:7:ff::1", "a guess", "t@example.com"), 401)

    # Registrations

    def test_strangers_cannot_block_a_registration(self):
        self.app("registering", failures_per_identifier_hourly=5)
        self.guess_from_many_networks()
        body = {"email": self.email, "password": HERS}
        device = self.expect(self.ask("/v1/register", body), 201).json["device_secret"]
        self.expect(self.enter("192.0.2.2"), 429, "too_many_attempts")
        self.expect(self.enter("192.0.2.2", device=device), 200)

    def test_a_strangers_earlier_registration_does_not_block_the_owner(self):
        self.app("squatted", failures_per_identifier_hourly=5)
        body = {"email": self.email, "password": "a stranger"}
        theirs = self.expect(self.ask("/v1/register", body, "203.0.113.1"), 201).json
        self.guess_from_many_networks()
        self.expect(self.ask("/v1/register", {"email": self.email, "password": HERS}), 409,
                    "email_taken")
        self.expect(self.ask("/v1/password/reset-request", {"email": self.email}), 202)
        body = {"token": self.site.mailed(self.email, "ds_reset"), "password": HERS}
        mine = self.expect(self.ask("/v1/password/reset", body), 200).json
        self.expect(self.me(mine, headers=self.headers), 200)
        self.expect(self.me(theirs, headers=self.headers), 401, "session_ended")
        self.assert_open("192.0.2.2")

    def test_registrations_from_many_networks_do_not_count_as_guesses(self):
        self.app("guessed", failures_per_identifier=3, **DAY)
        owner = self.verified(self.email, headers={**self.headers, ADDRESS: OWN})

        # The owner's password and any other one get the same response.
        for i, password in enumerate([HERS, *[f"a guess {i}" for i in range(5)], HERS]):
            body = {"email": self.email, "password": password}
            self.expect(self.ask("/v1/register", body, f"203.0.113.{i}"), 409, "email_taken")
        # The owner signs in, since none of these requests counted as a failure.
        answer = self.expect(self.enter(), 200)
        self.assertEqual(limits(answer)["login"]["r"], 3)
        self.assertEqual(answer.json["user_id"], owner["user_id"])

    def test_unsent_mail_is_not_counted(self):
        self.app("taken", **DAY)
        self.verified(self.email, headers={**self.headers, ADDRESS: OWN})
        other = self.verified("other@example.com", headers={**self.headers, ADDRESS: OWN})
        place = "192.0.2.77"
        stranger = self.expect(self.ask("/v1/login/anonymous", {}, place), 200).json
        body = {"email": self.email, "password": "a stranger"}
        for path, body, who in [("/v1/register", body, None), ("/v1/me/email", {"email": self.email}, other),
                                ("/v1/me/identities", {"provider": "password", **body}, stranger)]:
            token = who and who["access_token"]
            self.expect(self.ask(path, body, place, token=token), 409, "email_taken")
        told = limits(self.expect(self.ask("/v1/password/reset-request", {"email": self.email}, place), 202))
        self.assertEqual((told["mail"]["r"], told["mail-network"]["r"]), (9, 99))
        # A request over the limit of the address does not use the last one of the network.
        self.site.set_app("taken", mails_per_email_daily=1)
        for _ in range(3):
            self.expect(self.ask("/v1/password/reset-request", {"email": self.email}, place), 429)
        told = limits(self.expect(
            self.ask("/v1/password/reset-request", {"email": "third@example.com"}, place), 202))
        self.assertEqual(told["mail-network"]["r"], 98)

    def test_a_correct_password_that_is_refused_does_not_count_as_a_failure(self):
        self.app("strict", **DAY)
        self.expect(self.ask("/v1/register", {"email": self.email, "password": HERS}), 201)
        self.site.set_app("strict", sign_up="verify_first")
        for _ in range(12):
            self.expect(self.enter(), 403, "email_unverified")

    # Mail

    def test_mails_to_an_address_are_limited_per_day(self):
        self.app("flooded", mails_per_email_daily=6, failures_per_identifier=2, **DAY)
        grant = self.verified(self.email, headers={**self.headers, ADDRESS: OWN})
        self.site.sql("delete from rate_limits")
        reset = ("/v1/password/reset-request", {"email": self.email})
        answers = in_parallel(30, lambda i: self.ask(*reset, f"203.0.113.{i}"))
        self.assertEqual(sorted(answer.status for answer in answers), [202] * 6 + [429] * 24)
        refused = self.expect(self.ask(*reset, "203.0.113.99"), 429)
        self.assertEqual(limits(refused).keys(), {"mail-daily"})

        def sent():
            queue = "select count(*) from mail_outbox join apps using (app_id) where name = 'flooded'"
            wait_until(lambda: self.site.sql(queue) == "0", what="the end of the queue")
            return len(self.site.mails(self.email))

        # Two mails for the verification, and those for a reset that no newer one replaced.
        before = sent()
        self.assertIn(before, range(2 + 1, 2 + 6 + 1))
        # Each route that sends mail counts.
        self.expect(self.ask("/v1/login/code/request", {"email": self.email}, "203.0.113.98"), 429)
        # The owner's device passes, and its mail comes last.
        self.expect(self.ask(*reset, device=grant["device_secret"]), 202)
        self.assertEqual(sent(), before + 1)
        # So does the owner's session, but not a session of another user or an ended one.
        token = grant["access_token"]
        told = limits(self.expect(self.ask(*reset, token=token), 202))
        self.assertEqual(told.keys(), {"mail-session"})
        place = "203.0.113.97"
        other = self.expect(self.ask("/v1/login/anonymous", {}), 200).json["access_token"]
        self.expect(self.ask(*reset, place, token=other), 429)
        self.expect(self.ask(*reset, place, token="none"), 429)
        self.expect(self.ask("/v1/logout", None, token=token), 204)
        self.expect(self.ask(*reset, place, token=token), 429)
        self.site.dossier("rate-limit", "reset", "--app", "flooded", self.email)
        self.expect(self.ask(*reset, "203.0.113.99"), 202)

    def test_strangers_mails_leave_those_of_a_known_device_and_network(self):
        self.app("recovering", failures_per_identifier=2, mails_per_email_daily=20, **DAY)
        owner = {**self.headers, ADDRESS: OWN}
        grant = self.verified(self.email, headers=owner)
        self.expect(self.post("/v1/logout", None, headers=owner, token=grant["access_token"]), 204)
        self.site.sql("delete from rate_limits")
        code = ("/v1/login/code/request", {"email": self.email})
        reset = ("/v1/password/reset-request", {"email": self.email})
        in_parallel(40, lambda i: self.ask(*reset, f"203.0.113.{i}"))
        for way in (reset, code):
            self.expect(self.ask(*way, "203.0.113.99"), 429, "too_many_attempts")
            # The owner has signed out, is elsewhere, and has the device; or is at home without it.
            self.expect(self.ask(*way, "198.51.100.7", grant["device_secret"]), 202)
            self.expect(self.ask(*way), 202)
        # The limit of the network itself stays.
        self.expect(self.ask(*reset), 429)
        # A user elsewhere who only knows of the address has none.
        self.verified("neighbor@example.com", headers={**self.headers, ADDRESS: "192.0.2.9"})
        self.expect(self.ask(*reset, "192.0.2.9"), 429)

    def test_a_registration_succeeds_without_its_mail(self):
        self.app("mailed", mails_per_email_daily=2, **DAY)
        for count in range(3):
            self.expect(self.ask("/v1/password/reset-request", {"email": self.email}, f"203.0.113.{count}"),
                        202 if count < 2 else 429)
        grant = self.expect(self.ask("/v1/register", {"email": self.email, "password": HERS}), 201).json
        self.assertEqual(self.me(grant, headers=self.headers).json["email"], self.email)

    def test_addresses_in_mails_never_become_links(self):
        self.app("linked")
        email, other = "ada+www.evil.example@example.com", "eve+evil.example@example.com"
        grant = self.verified(email, headers=self.headers)
        self.expect(self.ask("/v1/password/reset-request", {"email": email}), 202)
        self.site.mailed(email, "ds_reset")
        self.site.set_app("linked", sign_up="verify_first")
        self.expect(self.ask("/v1/register", {"email": email, "password": "a stranger"}), 202)
        self.change_email(grant, other, headers=self.headers)
        self.site.mailed(email, "ds_restore")
        wait_until(lambda: any("tried to use this email address" in mail for mail in self.site.mails(email)),
                   what="the mail to the owner")
        for mail in self.site.mails(email) + self.site.mails(other):
            self.assertNotIn("@", mail)
            self.assertNotIn("evil.example", mail)
        # A template with the address gets it in words.
        self.site.set_app("linked", reset_text="For {{email}}: {{token}}")
        self.expect(self.ask("/v1/password/reset-request", {"email": other}), 202)
        token = self.site.mailed(other, "ds_reset")
        self.assertIn(f"For eve+evil dot example at example dot com: {token}",
                      "".join(self.site.mails(other)))


if __name__ == "__main__":
    unittest.main()
