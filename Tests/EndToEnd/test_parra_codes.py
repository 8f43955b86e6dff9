"""Mailed codes of clients of Parra, which send a code without its address or flow."""

import re
import unittest

from cases import Case, in_parallel
from machine import wait_until
from parra import PASSWORD, Client
from parra_types import APIError, NetworkError

HERE, THERE = "198.51.100.1", "203.0.113.1"


class CodeCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True, parra_code_digits=6)

    def setUp(self):
        self.site.sql("delete from rate_limits; delete from authentication_flows")

    def client(self, address=HERE):
        return Client(self.site, address=address).launch()

    def codes(self, email):
        return [found[0].replace(" ", "") for mail in self.site.mails(email)
                for found in [re.search(r"^\d{3} \d{3}$", mail, re.M)] if found]

    def code(self, email, count=1):
        wait_until(lambda: len(self.codes(email)) >= count, what=f"{count} codes to {email}")
        return self.codes(email)[-1]

    def wrong(self, code):
        return f"{(int(code) + 1) % 1_000_000:06}"

    def refused(self, client, code):
        with self.assertRaises(APIError) as refused:
            client.form(grant_type="passwordless_otp", client_id="app-1", code=code)
        return refused.exception


class SignIn(CodeCase):
    def test_a_code_signs_up_and_in(self):
        client = self.client()
        self.assertEqual(client.info["auth"]["passwordless"]["sms"]["otp_length"], 6)
        known = client.challenges("code@example.com")
        self.assertEqual(known["supported_challenges"],
                         [{"id": "password"}, {"id": "passwordless_email"}])
        client.call("PUT", f"{client.user_path}/properties", {"level": 3})
        client.ask_for_code("code@example.com")
        anonymous = client.user["id"]
        user = client.log_in_by_code(self.code("code@example.com"))
        self.assertEqual(user["id"], anonymous)
        self.assertEqual((user["email"], user["email_verified"], user["is_anonymous"]),
                         ("code@example.com", True, False))
        self.assertEqual(user["properties"], {"level": 3})
        client.log_out()
        # The SDK's own screen sends the address as a phone number.
        client.ask_for_code("code@example.com", name="phone_number")
        self.assertEqual(client.log_in_by_code(self.code("code@example.com", 2))["id"], user["id"])
        self.assertIn("passwordless_email", str(client.challenges("code@example.com")))

    def test_only_the_newest_code_works_and_only_once(self):
        client = self.client()
        client.ask_for_code("once@example.com")
        first = self.code("once@example.com")
        client.ask_for_code("once@example.com")
        second = self.code("once@example.com", 2)
        client.log_in_by_code(second)
        for code in {first, second}:
            self.assertEqual(self.refused(self.client(), code).status, 400)

    def test_two_requests_with_one_code_create_one_session(self):
        client = self.client()
        client.ask_for_code("race@example.com")
        code = self.code("race@example.com")

        def enter(_):
            try:
                return Client.form(client, grant_type="passwordless_otp", client_id="a", code=code)
            except APIError:
                return None

        self.assertEqual(len([one for one in in_parallel(6, enter) if one]), 1)

    def test_a_code_works_only_from_the_network_that_asked(self):
        client, stranger = self.client(), self.client(THERE)
        client.ask_for_code("network@example.com")
        code = self.code("network@example.com")
        for _ in range(8):
            error = self.refused(stranger, code)
            self.assertEqual((error.status, error.body["error"]), (400, "invalid_grant"))
            self.assertIn("invalid", error.body["message"])
        # The stranger has used up no try.
        self.assertEqual(client.log_in_by_code(code)["email"], "network@example.com")

    def test_five_wrong_codes_end_it(self):
        client = self.client()
        client.ask_for_code("tries@example.com")
        code = self.code("tries@example.com")
        for _ in range(5):
            self.refused(client, self.wrong(code))
        self.refused(client, code)
        client.ask_for_code("tries@example.com")
        client.log_in_by_code(self.code("tries@example.com", 2))

    def test_concurrent_guesses_get_no_additional_tries(self):
        client = self.client()
        client.ask_for_code("guess@example.com")
        self.site.sql("update authentication_flows set tries = 1")
        code = self.code("guess@example.com")
        in_parallel(6, lambda _: self.refused(client, self.wrong(code)))
        self.assertEqual(self.site.sql("select max(tries) from authentication_flows"), "0")

    def test_a_guess_counts_against_the_newest_request_of_the_network_alone(self):
        one, other = self.client(), self.client()
        one.ask_for_code("one@example.com")
        first = self.code("one@example.com")
        other.ask_for_code("other@example.com")
        self.code("other@example.com")
        # The older code would be a second chance of each guess.
        self.refused(one, first)
        tries = ("select email_key, tries from authentication_flows order by email_key")
        self.assertEqual(self.site.sql(tries).splitlines(),
                         ["one@example.com|5", "other@example.com|4"])
        self.assertEqual(other.log_in_by_code(self.code("other@example.com"))["email"],
                         "other@example.com")
        self.assertEqual(one.log_in_by_code(first)["email"], "one@example.com")

    def test_used_up_tries_do_not_open_an_older_request(self):
        client = self.client()
        client.ask_for_code("older@example.com")
        code = self.code("older@example.com")
        client.ask_for_code("newer@example.com")
        newer = self.code("newer@example.com")
        for _ in range(5):
            self.refused(client, self.wrong(newer))
        self.refused(client, code)

    def test_guesses_at_an_address_are_limited_for_a_day_over_all_networks(self):
        self.site.set_app(failures_per_identifier=3)
        self.addCleanup(self.site.set_app, failures_per_identifier=10)
        statuses = []
        for number in range(4):
            client = self.client(f"203.0.113.{10 + number}")
            client.ask_for_code("daily@example.com")
            code = self.code("daily@example.com", number + 1)
            statuses.append(self.refused(client, self.wrong(code)).status if number < 3 else None)
        with self.assertRaises((APIError, NetworkError)) as limited:
            client.form(grant_type="passwordless_otp", client_id="app-1", code=code)
        self.assertEqual((statuses[:3], limited.exception.status), ([400] * 3, 429))

    def use_up_guesses(self, email, count, digits=6):
        """Guesses codes of an address from three networks, until none may."""
        self.site.set_app(failures_per_identifier=3, parra_code_digits=digits)
        self.addCleanup(self.site.set_app, failures_per_identifier=10, parra_code_digits=6)
        statuses = []
        for number in range(4):
            stranger = self.client(f"203.0.113.{10 + number}")
            stranger.ask_for_code(email)
            wait_until(lambda: self.site.sql("select count(*) from mail_outbox") == "0",
                       what="the mail")
            with self.assertRaises((APIError, NetworkError)) as refused:
                stranger.form(grant_type="passwordless_otp", client_id="app-1",
                              code="0" * digits)
            statuses.append(refused.exception.status)
        self.assertEqual(statuses, [400] * count + [429] * (4 - count))

    def test_strangers_guesses_do_not_stop_the_owner_in_a_known_network(self):
        owner = self.client()
        owner.ask_for_code("owner@example.com")
        owner.log_in_by_code(self.code("owner@example.com"))
        owner.log_out()
        self.use_up_guesses("owner@example.com", 3)
        count = len(self.codes("owner@example.com"))
        owner, elsewhere = self.client(), self.client("203.0.113.99")
        elsewhere.ask_for_code("owner@example.com")
        code = self.code("owner@example.com", count + 1)
        with self.assertRaises((APIError, NetworkError)) as refused:
            elsewhere.form(grant_type="passwordless_otp", client_id="app-1", code=code)
        self.assertEqual(refused.exception.status, 429)
        owner.ask_for_code("owner@example.com")
        code = self.code("owner@example.com", count + 2)
        # The limit of the network is as strict.
        for _ in range(2):
            self.assertEqual(self.refused(owner, self.wrong(code)).status, 400)
        self.assertEqual(owner.log_in_by_code(code)["email"], "owner@example.com")
        # A session that was revoked proves no network: a thief may have had it.
        self.site.sql("update sessions set ended_at = now(), end_reason = 'password_reset'")
        owner.ask_for_code("owner@example.com")
        code = self.code("owner@example.com", count + 3)
        with self.assertRaises((APIError, NetworkError)) as refused:
            self.client().form(grant_type="passwordless_otp", client_id="app-1", code=code)
        self.assertEqual(refused.exception.status, 429)

    def test_a_stranger_who_has_registered_an_address_has_no_network_of_its_own(self):
        stranger = self.client()
        stranger.sign_up("victim@example.com")
        stranger.log_out()
        self.use_up_guesses("victim@example.com", 3)
        stranger = self.client()
        stranger.ask_for_code("victim@example.com")
        with self.assertRaises((APIError, NetworkError)) as refused:
            stranger.form(grant_type="passwordless_otp", client_id="app-1", code="000000")
        self.assertEqual(refused.exception.status, 429)

    def test_longer_codes_may_be_guessed_as_often_as_mails_allow(self):
        self.use_up_guesses("longer@example.com", 4, digits=8)
        stranger = self.client("203.0.113.99")
        stranger.ask_for_code("longer@example.com")

        def codes():
            return [found[0].replace(" ", "") for mail in self.site.mails("longer@example.com")
                    for found in [re.search(r"^\d{4} \d{4}$", mail, re.M)] if found]

        wait_until(lambda: len(codes()) >= 5, what="five codes")
        self.assertEqual(stranger.log_in_by_code(codes()[-1])["email"], "longer@example.com")

    def test_what_no_code_can_match_is_no_guess(self):
        client, neighbor = self.client(), self.client()
        # The neighbor enters codes before any was asked for, and later malformed ones.
        for code in ["000000", "12345678"]:
            for _ in range(8):
                self.assertEqual(self.refused(neighbor, code).status, 400)
        client.ask_for_code("neighbor@example.com")
        code = self.code("neighbor@example.com")
        for other in ["", "12345", "123456789", "12345a", "\u0661\u0662\u0663\u0664\u0665\u0666"] * 3:
            self.assertEqual(self.refused(neighbor, other).status, 400)
        self.assertEqual(self.site.sql("select tries from authentication_flows"), "5")
        self.assertEqual(client.log_in_by_code(code)["email"], "neighbor@example.com")

    def test_an_expired_code_is_refused(self):
        client = self.client()
        client.ask_for_code("late@example.com")
        code = self.code("late@example.com")
        self.site.sql("update authentication_flows set expires_at = now()")
        self.refused(client, code)

    def test_wrong_codes_of_a_network_are_limited(self):
        client = self.client()
        statuses = []
        for number in range(12):
            if number % 4 == 0:
                email = f"guessed-{number}@example.com"
                client.ask_for_code(email)
                wrong = self.wrong(self.code(email))
            try:
                client.form(grant_type="passwordless_otp", client_id="app-1", code=wrong)
            except (APIError, NetworkError) as error:
                statuses.append(error.status)
        self.assertEqual(statuses, [400] * 10 + [429] * 2)
        other = self.client(THERE)
        other.ask_for_code("free@example.com")
        other.log_in_by_code(self.code("free@example.com"))

    def test_failed_logins_elsewhere_do_not_slow_a_network_down(self):
        client, stranger = self.client(), self.client(THERE)
        self.site.set_app(failures_per_identifier=1_000, failures_per_identifier_hourly=5)
        self.addCleanup(self.site.set_app, failures_per_identifier=10,
                        failures_per_identifier_hourly=100)
        client.ask_for_code("slow@example.com")
        for name in ["c6336401", "network c6336401"]:
            for _ in range(6):
                with self.assertRaises((APIError, NetworkError)):
                    stranger.form(grant_type="password", client_id="a", username=name,
                                  password=PASSWORD)
        self.assertEqual(client.log_in_by_code(self.code("slow@example.com"))["email"],
                         "slow@example.com")

    def test_a_closed_method_and_hostile_identities_are_refused(self):
        client = self.client()
        for body in [{}, {"email": 1}, {"email": "x"}, {"phone_number": "+49170"}, {"email": ""},
                     {"email": "a@example.com\r\nTo: b@example.com"},
                     {"email": "x" * 300 + "@example.com"}]:
            with self.subTest(body=body), self.assertRaises(APIError) as refused:
                client.issue("challenges/passwordless", body)
            self.assertIn("invalid", refused.exception.body["message"])
        self.site.create_app("codeless")
        client = Client(self.site, "codeless").launch()
        self.assertNotIn("passwordless", client.info["auth"])
        with self.assertRaises(APIError) as refused:
            client.ask_for_code("a@example.com")
        self.assertEqual(refused.exception.status, 403)

    def test_an_app_without_passwords_still_accepts_addresses(self):
        self.site.create_app("coded")
        self.site.dossier("app", "set", "--app", "coded", "email_code=true", "password=false",
                          "anonymous=false")
        client = Client(self.site, "coded", address=HERE).launch()
        # The first screen of the SDK takes addresses only with this member.
        self.assertIn("database", client.info["auth"])
        self.assertEqual(client.info["auth"]["passwordless"], {"sms": {"otp_length": 8}})
        known = client.challenges("coded@example.com")
        self.assertEqual(known["available_challenges"], [{"id": "passwordless_email"}])

    def test_a_closed_sign_up_mails_no_strangers_and_reveals_nothing(self):
        client = self.client()
        client.sign_up("member@example.com")
        self.site.set_app(sign_up="closed")
        self.addCleanup(self.site.set_app, sign_up="immediate")
        answers = [client.issue("challenges/passwordless", {"client_id": "a", "email": email})
                   for email in ["member@example.com", "stranger@example.com"]]
        self.assertEqual([sorted(answer) for answer in answers], [sorted(answers[0])] * 2)
        self.code("member@example.com")
        self.assertEqual(self.codes("stranger@example.com"), [])


class Reset(CodeCase):
    def test_a_mailed_code_sets_a_new_password(self):
        client = self.client()
        client.sign_up("reset@example.com")
        body = {"client_id": "app-1", "email": "reset@example.com"}
        self.assertEqual(client.issue("password/reset/challenge", body), {})
        code = self.code("reset@example.com")
        body = {"client_id": "app-1", "code": code, "password": "short"}
        with self.assertRaises(APIError) as refused:
            client.issue("password/reset", body)
        self.assertIn("8 characters", refused.exception.body["message"])
        body["password"] = "another horse battery"
        stranger = self.client(THERE)
        with self.assertRaises(APIError):
            stranger.issue("password/reset", body)
        # It is not a code for a log-in.
        with self.assertRaises(APIError):
            client.form(grant_type="passwordless_otp", client_id="app-1", code=code)
        self.assertEqual(client.issue("password/reset", body), {})
        with self.assertRaises(APIError):
            client.issue("password/reset", body)
        client = self.client()
        with self.assertRaises(APIError):
            client.log_in("reset@example.com", PASSWORD)
        client.log_in("reset@example.com", "another horse battery")

    def test_a_code_of_a_log_in_sets_no_password(self):
        client = self.client()
        client.sign_up("kind@example.com")
        client.ask_for_code("kind@example.com")
        code = self.code("kind@example.com")
        with self.assertRaises(APIError):
            client.issue("password/reset", {"client_id": "a", "code": code, "password": PASSWORD})
        client.log_out()
        client.log_in_by_code(code)

    def test_a_reset_reveals_no_user_and_refuses_hostile_bodies(self):
        client = self.client()
        body = {"client_id": "app-1", "email": "nobody@example.com"}
        self.assertEqual(client.issue("password/reset/challenge", body), {})
        wait_until(lambda: self.site.sql("select count(*) from mail_outbox") == "0", what="no mail")
        self.assertEqual(self.site.mails("nobody@example.com"), [])
        for path in ["password/reset", "password/reset/challenge"]:
            for wrong in [{}, {"client_id": "a"}, {"code": 1, "password": [], "email": 1}]:
                with self.subTest(path=path, body=wrong), self.assertRaises(APIError):
                    client.issue(path, wrong)

    def test_five_wrong_codes_end_it(self):
        client = self.client()
        client.sign_up("many@example.com")
        client.issue("password/reset/challenge", {"client_id": "a", "email": "many@example.com"})
        code = self.code("many@example.com")
        for one in [self.wrong(code)] * 5 + [code]:
            with self.assertRaises(APIError) as refused:
                client.issue("password/reset", {
                    "client_id": "a", "code": one, "password": "another horse battery"})
        self.assertIn("invalid", refused.exception.body["message"])


if __name__ == "__main__":
    unittest.main()
