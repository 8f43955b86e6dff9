"""Registration with `sign_up` set to `immediate` and to `verify_first`."""

import unittest

from asking import JSON
from cases import Case, in_parallel
from machine import wait_until

MINE, THEIRS = "my own password", "attackers password"
# Header fields that differ in each response.
VARYING = {"Date", "X-Request-Id"}


class SignUp(Case):
    def users(self, email):
        return self.site.sql(f"select count(*) from users where email = '{email}'")

    def custom_data(self, grant, body, **options):
        options = {"headers": {**JSON, **options}, "token": grant["access_token"]}
        self.expect(self.site.request("PUT", "/v1/me/custom-data", body, **options), 200)


class Immediate(SignUp):
    def setUp(self):
        self.site.sql("delete from rate_limits")

    def test_a_registration_returns_tokens_and_mails_a_link(self):
        grant = self.expect(self.register("new@example.com"), 201).json
        me = self.me(grant).json
        self.assertEqual((me["email"], me["email_verified"], me["anonymous"]),
                         ("new@example.com", False, False))
        identity, = self.me(grant, "/identities").json
        self.assertEqual((identity["provider"], identity["subject"], identity["verified"]),
                         ("password", "new@example.com", False))
        self.site.mailed("new@example.com", "ds_verify")
        again = self.expect(self.login("new@example.com"), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])

    def test_a_taken_address_is_refused_in_every_form_and_with_every_password(self):
        first = self.expect(self.register("taken@example.com", MINE), 201).json
        self.custom_data(first, {"level": 7})
        wide = "".join(chr(ord(letter) + 0xfee0) for letter in "taken")
        for verifies in [False, True]:
            for email in ["taken@example.com", "Taken@Example.com", f"{wide}@example.com"]:
                for password in [MINE, THEIRS]:
                    taken = self.expect(self.register(email, password), 409, "email_taken").json
                    self.assertEqual(taken["errors"][0]["pointer"], "/email")
            if not verifies:
                token = self.site.mailed("taken@example.com", "ds_verify")
                self.expect(self.verify(token, first), 204)
                self.site.sql("delete from rate_limits")
        self.assertEqual(self.users("taken@example.com"), "1")
        self.expect(self.login("taken@example.com", THEIRS), 401, "wrong_credentials")
        again = self.expect(self.login("taken@example.com", MINE), 200).json
        self.assertEqual(again["user_id"], first["user_id"])
        self.assertEqual(self.me(again, "/custom-data").json, {"level": 7})

    def test_an_address_is_taken_only_in_its_own_app(self):
        other = self.site.add_app("other")
        grant = self.expect(self.register("two-apps@example.com"), 201).json
        second = self.expect(self.register("two-apps@example.com", headers=other), 201).json
        self.assertNotEqual(grant["user_id"], second["user_id"])

    def test_the_address_of_a_deleted_user_is_free(self):
        grant = self.verified("free@example.com")
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)
        second = self.expect(self.register("free@example.com", THEIRS), 201).json
        self.assertNotEqual(second["user_id"], grant["user_id"])

    def test_a_link_of_a_taken_address_is_refused_and_changes_nothing(self):
        self.expect(self.register("owned@example.com", MINE), 201)
        guest = self.site.login()
        body = {"provider": "password", "email": "owned@example.com", "password": THEIRS}
        self.expect(self.link(guest, **body), 409, "email_taken")
        self.assertTrue(self.me(guest).json["anonymous"])


class VerifyFirst(SignUp):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(sign_up="verify_first", taken_text="You have an account.")

    def setUp(self):
        self.site.sql("delete from rate_limits")

    def taken_mails(self, email):
        return sum("You have an account." in mail for mail in self.site.mails(email))

    def test_the_code_creates_the_user_and_the_session(self):
        answer = self.expect(self.register("new@example.com", MINE), 202)
        self.assertEqual(sorted(answer.json), ["expires_in", "flow"])
        code = self.mailed_code("new@example.com")
        self.assertEqual(self.users("new@example.com"), "0")
        self.expect(self.login("new@example.com", MINE), 401, "wrong_credentials")
        # People type a code with or without its space.
        grant = self.expect(self.enter(answer.json["flow"], code.replace(" ", "")), 200).json
        me = self.me(grant).json
        self.assertEqual((me["email"], me["email_verified"]), ("new@example.com", True))
        identity, = self.me(grant, "/identities").json
        self.assertEqual((identity["provider"], identity["verified"]), ("password", True))
        again = self.expect(self.login("new@example.com", MINE), 200).json
        self.assertEqual(again["user_id"], grant["user_id"])
        self.expect(self.enter(answer.json["flow"], code), 401, "code_invalid")

    def test_the_response_is_the_same_for_a_known_address(self):
        owner = self.sign_up("known@example.com", MINE)

        def register(email):
            # Each address begins with the same limits.
            self.site.sql("delete from rate_limits")
            answer = self.expect(self.register(email, THEIRS), 202)
            fields = sorted((name, value) for name, value in answer.headers.items()
                            if name not in VARYING)
            body = answer.body.replace(answer.json["flow"].encode(), b"")
            return fields, body, len(answer.json["flow"]), answer.json

        known, unknown = register("Known@example.com"), register("other@example.com")
        self.assertEqual(known[:3], unknown[:3])
        # Only the mail to the owner reveals it, and that mail has no code.
        wait_until(lambda: self.taken_mails("known@example.com"), what="the mail to the owner")
        self.assertEqual(len(self.codes("known@example.com")), 1)
        self.assertEqual(self.site.mails("Known@example.com"), [])
        # Wrong codes do not reveal it either: each flow allows five attempts.
        self.mailed_code("other@example.com")
        answers = [[self.enter(flow[3]["flow"], "0000 000x") for _ in range(7)]
                   for flow in [known, unknown]]
        for of_known, of_unknown in zip(*answers):
            for answer in [of_known, of_unknown]:
                self.expect(answer, 401, "code_invalid")
            self.assertEqual(*[{**answer.json, "instance": None}
                               for answer in [of_known, of_unknown]])
        self.expect(self.me(owner), 200)
        self.expect(self.login("known@example.com", THEIRS), 401, "wrong_credentials")

    def test_no_code_of_another_flow_completes_a_registration(self):
        # The attacker's flow waits for a code that only the recipient of the mails gets.
        theirs = self.expect(self.register("raced@example.com", THEIRS), 202).json["flow"]
        first = self.mailed_code("raced@example.com")
        mine = self.expect(self.register("raced@example.com", MINE), 202).json["flow"]
        second = self.mailed_code("raced@example.com", 2)
        self.expect(self.enter(mine, first), 401, "code_invalid")
        self.expect(self.enter(theirs, second), 401, "code_invalid")
        grant = self.expect(self.enter(mine, second), 200).json
        # The user exists: the older flow makes no other, and does not sign in.
        self.expect(self.enter(theirs, first), 401, "code_invalid")
        self.expect(self.login("raced@example.com", THEIRS), 401, "wrong_credentials")
        self.assertEqual(self.users("raced@example.com"), "1")
        self.expect(self.me(grant), 200)

    def test_a_registration_of_an_address_that_was_taken_meanwhile(self):
        key = self.site.client("--app", "default", "scopes=create:users")["secret"]
        for verified in [False, True]:
            with self.subTest(verified=verified):
                email = f"meanwhile-{verified}@example.com".lower()
                flow = self.expect(self.register(email, MINE), 202).json["flow"]
                code = self.mailed_code(email)
                body = {"email": email, "password": THEIRS, "email_verified": verified}
                user = self.expect(self.post("/v1/users", body, token=key), 201).json
                grant = self.expect(self.enter(flow, code), 200).json
                self.assertEqual(grant["user_id"], user["id"])
                # The recipient of the mail takes an unverified user over, with the chosen password.
                self.expect(self.login(email, MINE), 401 if verified else 200)
                self.expect(self.login(email, THEIRS), 200 if verified else 401)

    def test_concurrent_entries_of_one_code_create_one_user(self):
        flow = self.expect(self.register("crowd@example.com"), 202).json["flow"]
        code = self.mailed_code("crowd@example.com")
        answers = in_parallel(5, lambda _: self.enter(flow, code))
        self.assertEqual(sorted(answer.status for answer in answers), [200] + [401] * 4)
        self.assertEqual(self.users("crowd@example.com"), "1")

    def test_concurrent_flows_of_one_address_create_one_user(self):
        flows = []
        for count in [1, 2, 3]:
            asked = self.register("both@example.com", f"{MINE} {count}")
            flow = self.expect(asked, 202).json["flow"]
            flows.append((flow, self.mailed_code("both@example.com", count)))
        answers = in_parallel(3, lambda index: self.enter(*flows[index]))
        self.assertEqual(sorted(answer.status for answer in answers), [200, 401, 401])
        self.assertEqual(self.users("both@example.com"), "1")

    def test_a_code_expires(self):
        flow = self.expect(self.register("late@example.com"), 202).json["flow"]
        code = self.mailed_code("late@example.com")
        self.site.sql("update authentication_flows set expires_at = now() "
                      "where email_key = 'late@example.com'")
        self.expect(self.enter(flow, code), 401, "code_invalid")
        self.assertEqual(self.users("late@example.com"), "0")

    def test_a_flow_belongs_to_its_app(self):
        other = self.site.add_app("elsewhere", sign_up="verify_first")
        flow = self.expect(self.register("apart@example.com"), 202).json["flow"]
        code = self.mailed_code("apart@example.com")
        self.expect(self.enter(flow, code, headers=other), 401, "code_invalid")
        self.expect(self.enter(flow, code), 200)

    def test_an_unverified_user_signs_in_after_verification_alone(self):
        # Users that a back end creates are unverified by default.
        key = self.site.client("--app", "default", "scopes=create:users")["secret"]
        body = {"email": "made@example.com", "password": MINE}
        self.expect(self.post("/v1/users", body, token=key), 201)
        self.expect(self.login("made@example.com", THEIRS), 401, "wrong_credentials")
        self.expect(self.login("made@example.com", MINE), 403, "email_unverified")
        self.expect(self.post("/v1/email/verify/request", {"email": "made@example.com"}), 202)
        token = self.site.mailed("made@example.com", "ds_verify")
        self.expect(self.verify(token), 401, "sign_in_to_verify")
        grant = self.expect(self.verify(token, password=MINE), 200).json
        self.assertTrue(self.me(grant).json["email_verified"])
        self.expect(self.login("made@example.com", MINE), 200)

    def guest(self):
        return self.expect(self.post("/v1/login/anonymous", {}), 200).json

    def ask_link(self, grant, email):
        body = {"provider": "password", "email": email, "password": MINE}
        return self.expect(self.link(grant, **body), 202).json["flow"]

    def test_a_guest_links_an_address_by_its_code(self):
        guest = self.guest()
        copied = dict(guest)
        flow = self.ask_link(guest, "guest@example.com")
        self.assertTrue(self.me(guest).json["anonymous"])
        self.expect(self.login("guest@example.com", MINE), 401, "wrong_credentials")
        code = self.mailed_code("guest@example.com")
        entered = {"provider": "email", "flow": flow, "code": code}
        self.expect(self.link(self.guest(), **entered), 401, "code_invalid")
        self.expect(self.link(guest, **entered), 200)
        me = self.me(guest).json
        self.assertEqual((me["id"], me["email"], me["email_verified"], me["anonymous"]),
                         (copied["user_id"], "guest@example.com", True, False))
        self.expect(self.me(copied), 401)
        self.expect(self.login("guest@example.com", MINE), 200)
        self.expect(self.link(guest, **entered), 401, "code_invalid")
        self.expect(self.link(guest, provider="password", email="more@example.com", password=MINE),
                    409, "identity_exists")

    def test_a_guest_does_not_learn_who_has_an_address(self):
        self.sign_up("owner@example.com", MINE)
        flows = {}
        for email in ["owner@example.com", "free@example.com"]:
            self.site.sql("delete from rate_limits")
            flows[email] = len(self.ask_link(self.guest(), email))
        self.assertEqual(len(set(flows.values())), 1)
        wait_until(lambda: self.taken_mails("owner@example.com"), what="the mail to the owner")
        self.assertEqual(len(self.codes("owner@example.com")), 1)

    def test_an_address_that_was_taken_meanwhile_is_not_linked(self):
        guest = self.guest()
        flow = self.ask_link(guest, "overtaken@example.com")
        code = self.mailed_code("overtaken@example.com")
        self.sign_up("overtaken@example.com", MINE)
        answer = self.link(guest, provider="email", flow=flow, code=code)
        self.expect(answer, 409, "email_taken")
        self.assertTrue(self.me(guest).json["anonymous"])

    def test_a_registration_completes_in_an_app_without_code_sign_in(self):
        grant = self.sign_up("codeless@example.com")
        self.expect(self.post("/v1/login/code/request", {"email": "codeless@example.com"}),
                    403, "login_method_disabled")
        self.expect(self.me(grant), 200)


if __name__ == "__main__":
    unittest.main()
