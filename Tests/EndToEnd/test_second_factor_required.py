"""Sign-ins to an app that requires a second factor."""

import json
import unittest

from authenticator import Authenticator, FactorCase


class Required(FactorCase):
    """An app that requires a second factor."""

    def setUp(self):
        self.site.sql("delete from rate_limits")
        self.set_mfa("required")

    def enroll_in(self, flow):
        answer = self.post("/v1/login/second-factor/enroll", {"flow": flow})
        return Authenticator(self.expect(answer, 201).json)

    def join(self, answer):
        """Enrolls a factor in the flow of a sign-in. Returns the tokens and the authenticator."""
        flow = self.asked(answer, "enroll")
        authenticator = self.enroll_in(flow)
        return self.expect(self.prove(flow, authenticator.code()), 200).json, authenticator

    def test_a_user_without_a_factor_enrolls_one_at_the_sign_in(self):
        email = "join@example.com"
        self.site.set_app(mfa="optional")
        before = self.verified(email)
        self.set_mfa("required")
        # A session without a factor ends with its access token.
        self.expect(self.me(before), 200)
        self.expect(self.refresh(before), 401)
        flow = self.asked(self.login(email), "enroll")
        self.expect(self.prove(flow, "123456"), 401, "code_invalid")
        first, second = self.enroll_in(flow), self.enroll_in(flow)
        self.expect(self.prove(flow, first.code()), 401, "code_invalid")
        grant = self.expect(self.prove(flow, second.code()), 200).json
        self.assertEqual(len(set(grant["recovery_codes"])), 10)
        self.expect(self.me(before), 401, "session_ended")
        self.expect_mail(email, "authenticator app was added")
        self.assertEqual([json.loads(event.split(" ", 1)[1]) for event in
                          self.events(grant["user_id"], "second_factor_add")], [{}])
        self.expect(self.prove(flow, grant["recovery_codes"][0]), 401, "code_invalid")
        grant.update(self.expect(self.refresh(grant), 200).json)
        # From then on, the factor is required.
        again = self.asked(self.login(email))
        self.expect(self.prove(again, grant["recovery_codes"][0]), 200)

    def test_a_new_user_enrolls_a_factor(self):
        grant, authenticator = self.join(self.register("new@example.com"))
        self.assertEqual(self.me(grant).json["email"], "new@example.com")
        self.sign_in("new@example.com", authenticator)
        # Sign-in by code requires it too.
        asked = self.post("/v1/login/code/request", {"email": "coded@example.com"})
        flow = self.expect(asked, 202).json["flow"]
        grant, _ = self.join(self.enter(flow, self.mailed_code("coded@example.com")))
        self.assertTrue(self.me(grant).json["email_verified"])
        self.expect(self.refresh(grant), 200)

    def test_a_guest_who_links_enrolls_a_factor(self):
        guest = self.site.login()
        grant, authenticator = self.join(self.link(
            guest, provider="password", email="grown@example.com", password="correct horse"))
        self.assertEqual(grant["user_id"], guest["user_id"])
        self.expect(self.me(guest), 401, "session_ended")
        self.expect(self.refresh(guest), 401)
        self.expect(self.refresh(grant), 200)
        self.sign_in("grown@example.com", authenticator)

    def test_a_guest_who_links_by_a_code_enrolls_a_factor(self):
        self.site.set_app(sign_up="verify_first")
        self.addCleanup(self.site.set_app, sign_up="immediate")
        guest, email = self.site.login(), "grown-by-code@example.com"
        asked = self.link(guest, provider="password", email=email, password="correct horse")
        body = {"provider": "email", "flow": self.expect(asked, 202).json["flow"],
                "code": self.mailed_code(email)}
        grant, _ = self.join(self.link(guest, **body))
        self.assertEqual(grant["user_id"], guest["user_id"])
        self.expect(self.me(guest), 401, "session_ended")

    def test_app_services_links_no_guest(self):
        providers = "/api/client/v2.0/app/default/auth/providers"
        guest = self.expect(self.post(f"{providers}/anon-user/login", {}), 200).json
        body = {"email": "served@example.com", "password": "correct horse"}
        self.expect(self.post(f"{providers}/local-userpass/register", body), 201)
        answer = self.post(f"{providers}/local-userpass/login?link=true",
                           {"username": body["email"], "password": body["password"]},
                           token=guest["access_token"])
        self.assertEqual(answer.status, 400)
        self.assertIn("second factor", answer.json["error"])
        # The access token of the guest stays one of a guest, who needs no factor.
        self.assertTrue(self.expect(self.me(guest), 200).json["anonymous"])

    def test_a_guest_who_links_in_the_session_of_an_api_key_enrolls_a_factor(self):
        guest = self.site.login()
        key = self.new_key(guest)
        session = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
        body = {"provider": "password", "email": "keyed@example.com", "password": "correct horse"}
        grant, _ = self.join(self.link(session, **body))
        self.assertEqual(grant["user_id"], guest["user_id"])
        self.expect(self.refresh(session), 401)
        self.expect(self.post("/v1/login/api-key", {"key": key}), 401)

    def test_a_session_that_outlives_its_api_key_needs_a_factor(self):
        self.site.set_app(mfa="optional")
        key = self.new_key(self.verified("outlived@example.com"))
        self.set_mfa("required")
        session = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
        session = self.expect(self.refresh(session), 200).json
        body = {"current_password": "correct horse", "new_password": "another horse"}
        changed = self.post("/v1/password/change", body, token=session["access_token"])
        self.expect(self.refresh(self.expect(changed, 200).json), 401)

    def test_a_session_without_a_factor_makes_no_api_key(self):
        self.site.set_app(mfa="optional")
        before = self.verified("keyless@example.com")
        self.set_mfa("required")
        answer = self.post("/v1/me/api-keys", {"name": "k"}, token=before["access_token"])
        self.expect(answer, 401, "reauthentication_required")
        grant, _ = self.join(self.login("keyless@example.com"))
        self.new_key(grant)

    def new_key(self, grant):
        made = self.post("/v1/me/api-keys", {"name": "k"}, token=grant["access_token"])
        return self.expect(made, 201).json["key"]

    def test_one_of_two_enrolling_flows_creates_the_factor(self):
        self.site.set_app(mfa="optional")
        self.verified("two@example.com")
        self.set_mfa("required")
        for _ in range(10):
            self.asked(self.login("two@example.com"), "enroll")
        first, second = [self.asked(self.login("two@example.com"), "enroll") for _ in range(2)]
        self.assertEqual(self.site.sql(
            "select count(*) from authentication_flows f join users u on u.user_id = f.place "
            "where u.email = 'two@example.com'"), "10")
        mine = self.enroll_in(first)
        self.expect(self.prove(first, mine.code()), 200)
        enroll = self.post("/v1/login/second-factor/enroll", {"flow": second})
        self.expect(enroll, 401, "code_invalid")
        self.site.sql("update second_factors set last_step = 0")
        self.expect(self.prove(second, mine.code()), 401, "code_invalid")

    def test_a_device_does_not_extend_a_session_without_a_factor(self):
        self.site.set_app(mfa="optional", allowed_origins=["https://app.example.com"])
        self.verified("page@example.com")
        page = {"Dossier-Device": "cookie", "Origin": "https://app.example.com"}
        answer = self.login("page@example.com", headers=page)
        user = self.expect(answer, 200).json["user_id"]
        page["Cookie"] = answer.headers["Set-Cookie"].split(";")[0]

        def switch():
            return self.site.request("PUT", "/v1/device/active", {"user_id": user},
                                     {**page, "Content-Type": "application/json"})

        self.expect(self.post("/v1/token/refresh", {}, headers=page), 200)
        self.expect(switch(), 200)
        self.set_mfa("required")
        self.expect(self.post("/v1/token/refresh", {}, headers=page), 401, "session_ended")
        self.expect(switch(), 409, "not_logged_in")


if __name__ == "__main__":
    unittest.main()
