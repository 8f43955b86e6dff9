"""Mailed codes for sign-in and sign-up."""

import unittest

from asking import ADDRESS, JSON
from cases import Case, in_parallel

WRONG = "0000 000x"


class EmailCodes(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True)

    def setUp(self):
        self.site.sql("delete from rate_limits")

    def ask(self, email, **options):
        return self.expect(self.post("/v1/login/code/request", {"email": email}, **options), 202)

    def flow(self, email, **options):
        return self.ask(email, **options).json["flow"]

    def users(self, email):
        return self.site.sql(f"select count(*) from users where email = '{email}'")

    def reauthenticate(self, grant, flow, code):
        return self.post("/v1/reauthenticate", {"provider": "email", "flow": flow, "code": code},
                         token=grant["access_token"])

    # Signing in

    def test_known_and_unknown_addresses_sign_in_alike(self):
        known = self.verified("known@example.com")
        first, second = [self.ask(email) for email in ["Known@example.com", "new@example.com"]]
        self.assertEqual(sorted(first.headers.keys()), sorted(second.headers.keys()))
        self.assertEqual([sorted(answer.json) for answer in [first, second]],
                         [["expires_in", "flow"]] * 2)
        self.assertEqual(len(first.body), len(second.body))
        grant = self.expect(
            self.enter(first.json["flow"], self.mailed_code("known@example.com")), 200).json
        self.assertEqual(grant["user_id"], known["user_id"])
        # The address was verified: nothing of the user ends.
        self.expect(self.me(known), 200)
        self.expect(self.login("known@example.com"), 200)
        made = self.expect(
            self.enter(second.json["flow"], self.mailed_code("new@example.com")), 200).json
        me = self.me(made).json
        self.assertEqual((me["email"], me["email_verified"], me["anonymous"]),
                         ("new@example.com", True, False))
        # A second code signs the same user in.
        self.assertEqual(self.sign_in_by_code("new@example.com")["user_id"], made["user_id"])
        sessions = self.expect(self.me(made, "/sessions"), 200).json
        self.assertEqual({session["provider"] for session in sessions}, {"email"})

    def test_a_code_is_valid_once_in_its_flow_and_expires(self):
        flow = self.flow("once@example.com")
        code = self.mailed_code("once@example.com")
        other = self.flow("once@example.com")
        self.mailed_code("once@example.com", 2)
        for wrong in [(other, code), (flow[:-4] + "AAAA", code), ("", code), (flow, ""),
                      (flow, "x" * 8)]:
            self.expect(self.enter(*wrong), 401, "code_invalid")
        # People type a code with spaces and hyphens.
        self.expect(self.enter(flow, code.replace(" ", "-")), 200)
        self.expect(self.enter(flow, code), 401, "code_invalid")
        # With it, all other flows of the address have ended.
        self.expect(self.enter(other, self.mailed_code("once@example.com", 2)), 401, "code_invalid")
        flow = self.flow("once@example.com")
        code = self.mailed_code("once@example.com", 3)
        self.site.sql("update authentication_flows set expires_at = now()")
        self.expect(self.enter(flow, code), 401, "code_invalid")

    def test_concurrent_entries_of_one_code_create_one_session(self):
        flow = self.flow("crowd@example.com")
        code = self.mailed_code("crowd@example.com")
        answers = in_parallel(5, lambda _: self.enter(flow, code))
        self.assertEqual(sorted(answer.status for answer in answers), [200] + [401] * 4)
        self.assertEqual(self.users("crowd@example.com"), "1")

    def test_two_concurrent_codes_create_one_user(self):
        flows = [(self.flow("twins@example.com"), self.mailed_code("twins@example.com", count))
                 for count in [1, 2]]
        answers = in_parallel(2, lambda index: self.enter(*flows[index]))
        self.assertLessEqual({answer.status for answer in answers}, {200, 401})
        self.assertIn(200, [answer.status for answer in answers])
        self.assertEqual(self.users("twins@example.com"), "1")

    def test_each_code_has_five_tries_of_its_own(self):
        flow = self.flow("tries@example.com")
        code = self.mailed_code("tries@example.com")
        for _ in range(5):
            self.expect(self.enter(flow, WRONG), 401, "code_invalid")
        self.expect(self.enter(flow, code), 401, "code_invalid")
        # An attacker's tries count on the attacker's flow.
        mine = self.flow("tries@example.com")
        code = self.mailed_code("tries@example.com", 2)
        theirs = self.flow("tries@example.com", headers={ADDRESS: "192.0.2.77"})
        for _ in range(5):
            self.enter(theirs, WRONG, headers={ADDRESS: "192.0.2.77"})
        self.expect(self.enter(mine, code), 200)

    def test_mails_are_counted_by_address_and_network(self):
        self.site.set_app(failures_per_identifier=6)
        self.addCleanup(self.site.set_app, failures_per_identifier=10)
        statuses = [self.post("/v1/login/code/request", {"email": "flood@example.com"}).status
                    for _ in range(8)]
        self.assertEqual(statuses, [202] * 6 + [429] * 2)

    def test_sign_ins_and_wrong_codes_are_in_the_audit(self):
        grant = self.sign_in_by_code("trail@example.com")
        for _ in range(3):
            device = {"Dossier-Device": grant["device_secret"]}
            grant = self.sign_in_by_code("trail@example.com", headers=device)
        self.expect(self.enter(self.flow("trail@example.com"), WRONG), 401, "code_invalid")
        events = self.expect(self.me(grant, "/audit"), 200).json
        self.assertEqual([(e["action"], e["detail"].get("provider")) for e in events][:2],
                         [("login_failure", "email"), ("login", "email")])

    def test_a_code_takes_over_an_unverified_account_and_keeps_its_data(self):
        attacker = self.expect(self.register("claim@example.com", "attackers pass"), 201).json
        self.expect(self.site.request("PUT", "/v1/me/properties/a", {"value": 1}, JSON,
                                      attacker["access_token"]), 200)
        grant = self.sign_in_by_code("claim@example.com")
        self.assertEqual(grant["user_id"], attacker["user_id"])
        self.expect(self.me(attacker), 401, "session_ended")
        self.expect(self.login("claim@example.com", "attackers pass"), 401, "wrong_credentials")
        self.assertEqual(self.me(grant, "/properties").json, {"a": 1})
        self.assertTrue(self.me(grant).json["email_verified"])
        # No password is left.
        self.assertEqual([i["provider"] for i in self.me(grant, "/identities").json], ["email"])

    # The user of a code

    def test_a_user_without_a_password_has_the_identity_email(self):
        grant = self.sign_in_by_code("bare@example.com")
        identity, = self.me(grant, "/identities").json
        self.assertEqual((identity["provider"], identity["subject"], identity["verified"]),
                         ("email", "bare@example.com", True))
        for password in ["*", "", "correct horse"]:
            self.expect(self.login("bare@example.com", password), 401, "wrong_credentials")
        self.expect(self.register("bare@example.com", "somebody elses"), 409, "email_taken")
        again = self.reset_by_mail("bare@example.com", "my own words")
        self.assertEqual(again["user_id"], grant["user_id"])
        identity, = self.me(again, "/identities").json
        self.assertEqual((identity["provider"], identity["subject"]),
                         ("password", "bare@example.com"))
        self.expect(self.login("bare@example.com", "my own words"), 200)
        # Codes sign the user in as before.
        self.assertEqual(self.sign_in_by_code("bare@example.com")["user_id"], grant["user_id"])

    def test_a_blocked_user_cannot_sign_in(self):
        grant = self.sign_in_by_code("blocked@example.com")
        self.site.dossier("user", "block", "--yes", grant["user_id"])
        flow = self.flow("blocked@example.com")
        self.expect(self.enter(flow, self.mailed_code("blocked@example.com", 2)), 401,
                    "wrong_credentials")

    def test_a_code_signs_in_on_the_device_and_in_the_cookie(self):
        first = self.site.login()
        grant = self.sign_in_by_code(
            "device@example.com", headers={"Dossier-Device": first["device_secret"]})
        self.assertEqual(grant["device_id"], first["device_id"])
        page = {"Dossier-Device": "cookie", "Origin": "https://app.example.com"}
        flow = self.flow("device@example.com")
        self.expect(self.enter(flow, "x", headers=page), 403, "origin_forbidden")
        self.site.set_app(allowed_origins=["https://app.example.com"])
        answer = self.enter(flow, self.mailed_code("device@example.com", 2), headers=page)
        self.assertNotIn("refresh_token", self.expect(answer, 200).json)
        self.assertRegex(answer.headers["Set-Cookie"], "^__Host-dossier-device-[0-9a-f]{24}=ds_device_")

    # Reauthentication

    def stale(self, grant):
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' "
                      f"where user_id = '{grant['user_id']}'")

    def test_a_code_counts_as_a_recent_authentication(self):
        grant = self.sign_in_by_code("fresh@example.com")
        self.stale(grant)
        make = lambda: self.post("/v1/me/api-keys", {"name": "x"}, token=grant["access_token"])
        self.expect(make(), 401, "reauthentication_required")
        flow = self.flow("fresh@example.com")
        self.expect(self.reauthenticate(grant, flow, WRONG), 401, "code_invalid")
        code = self.mailed_code("fresh@example.com", 2)
        self.renewed(self.reauthenticate(grant, flow, code), grant)
        self.expect(make(), 201)
        self.expect(self.reauthenticate(grant, flow, code), 401, "code_invalid")

    def test_a_code_of_another_address_does_not_reauthenticate(self):
        grant = self.sign_in_by_code("victim@example.com")
        self.stale(grant)
        flow = self.flow("thief@example.com")
        code = self.mailed_code("thief@example.com")
        self.expect(self.reauthenticate(grant, flow, code), 401)
        self.expect(self.post("/v1/me/api-keys", {"name": "x"}, token=grant["access_token"]),
                    401, "reauthentication_required")
        # A reauthentication creates no user.
        self.assertEqual(self.users("thief@example.com"), "0")
        guest = self.site.login()
        flow = self.flow("guest@example.com")
        self.expect(self.reauthenticate(guest, flow, self.mailed_code("guest@example.com")), 401)

    # Apps

    def test_an_app_without_codes_refuses_them(self):
        app = self.site.add_app("closed")
        refused = self.post("/v1/login/code/request", {"email": "a@example.com"}, headers=app)
        self.assertIn("email_code", self.expect(refused, 403, "login_method_disabled").json["detail"])
        self.expect(self.post("/v1/login/code/request", {"email": "none"}), 422, "validation_failed")
        # Another app refuses the flow.
        flow = self.flow("apart@example.com")
        code = self.mailed_code("apart@example.com")
        other = self.site.add_app("other", email_code=True)
        for headers in [app, other]:
            self.assertIn(self.enter(flow, code, headers=headers).status, (401, 403))
        self.expect(self.enter(flow, code), 200)

    def test_a_code_is_stored_as_a_hash(self):
        self.flow("kept@example.com")
        code = self.mailed_code("kept@example.com").replace(" ", "")
        row = self.site.sql("select to_jsonb(f) from authentication_flows f "
                            "where email_key = 'kept@example.com'")
        self.assertNotIn(code, row)
        stored = self.site.sql("select code_hash from authentication_flows "
                               "where email_key = 'kept@example.com'")
        self.assertEqual(len(stored), 2 + 64)


class WithoutMail(Case):
    SETTINGS = {"DOSSIER_MAIL": ""}

    def test_a_deployment_without_mail_reports_it(self):
        self.site.set_app(email_code=True)
        grant = self.expect(self.register("mute@example.com"), 201).json
        self.expect(self.post("/v1/login/code/request", {"email": "mute@example.com"}), 503,
                    "mail_not_configured")
        self.expect(self.post("/v1/me/email", {"email": "other@example.com"},
                              token=grant["access_token"]), 503, "mail_not_configured")
        self.site.add_app("careful", sign_up="verify_first")
        self.expect(self.register("mute@example.com", headers={"Dossier-App": "careful"}), 503,
                    "mail_not_configured")


if __name__ == "__main__":
    unittest.main()
