"""Apps that require a passkey: sign-ups and sign-ins of each kind of client."""

import unittest

from asking import JSON
from hosted import PASSWORD
from openid import Party
from parra import SCOPE, Client
from parra_types import APIError, NetworkError
from passkeys import Passkey, PasskeyCase
from test_openid_direct import PREFIX, DirectCase

STEP = "/v1/login/second-factor"


class RequiredCase(PasskeyCase):
    def setUp(self):
        super().setUp()
        self.site.sql("delete from rate_limits")

    def require(self):
        """Requires passkeys for one test."""
        self.setting({"passkey": "optional"}, passkey="required")

    def optional(self):
        """Lets passkeys be optional for some steps of a test, which `require` ends."""
        self.site.set_app(passkey="optional")

    def member(self, email):
        """Registers a user with a password before passkeys are required; returns the tokens."""
        self.optional()
        grant = self.verified(email)
        self.require()
        return grant

    def show_as_step(self, flow, passkey, status=200, code=None):
        asked, options = self.options("/v1/login/passkey")
        return self.expect(self.post(STEP, {
            "flow": flow, "passkey_flow": asked, "credential": passkey.shown(options)}),
            status, code)

    def enroll_passkey(self, flow, passkey=None, status=200, code=None):
        """Adds a passkey in a sign-in; returns it and the answer."""
        passkey = passkey or Passkey()
        begun = self.expect(self.post(f"{STEP}/passkey/options", {"flow": flow}), 200).json
        answer = self.post(STEP, {"flow": flow, "passkey_flow": begun["flow"],
                                  "credential": passkey.made(begun["public_key"])})
        return passkey, self.expect(answer, status, code)

    def coded(self, email):
        """Signs in by a mailed code; returns the answer."""
        count = len(self.codes(email))
        flow = self.expect(self.post("/v1/login/code/request", {"email": email}), 202).json["flow"]
        return self.enter(flow, self.mailed_code(email, count + 1))

    def newest_methods(self, user):
        return self.site.sql(f"select amr from sessions where user_id = '{user}'"
                             " order by session_id desc limit 1")


class SignUp(RequiredCase):
    def test_no_password_signs_up(self):
        self.require()
        answer = self.expect(self.register(self.own_email()), 403, "login_method_disabled")
        self.assertIn("passkey", answer.json["detail"])
        self.assertEqual(self.site.sql("select count(*) from users where email = "
                                       f"'{self.own_email()}'"), "0")
        passkey, grant = self.registered(email=self.own_email())
        self.expect(self.me(grant), 200)
        self.expect(self.show(passkey), 200)

    def test_no_password_signs_up_with_verify_first(self):
        self.require()
        self.setting({"sign_up": "immediate"}, sign_up="verify_first")
        self.expect(self.register(self.own_email()), 403, "login_method_disabled")
        self.assertEqual(self.codes(self.own_email()), [])

    def test_a_new_user_of_a_mailed_code_adds_a_passkey(self):
        self.require()
        flow = self.asked(self.coded(self.own_email()), "enroll_passkey")
        passkey, answer = self.enroll_passkey(flow)
        self.assertEqual(self.newest_methods(answer.json["user_id"]), "otp pop user mfa")
        self.expect(self.show(passkey), 200)

    def test_guests_and_keys_stay_as_they_are(self):
        self.require()
        grant = self.site.login()
        self.expect(self.me(grant), 200)
        key = self.expect(self.post("/v1/me/api-keys", {"name": "program"},
                                    token=grant["access_token"]), 201).json["key"]
        self.expect(self.post("/v1/login/api-key", {"key": key}), 200)
        # A guest who links a password needs a passkey from then on.
        flow = self.asked(self.link(grant, provider="password", email=self.own_email(),
                                    password="correct horse"), "enroll_passkey")
        _, answer = self.enroll_passkey(flow)
        self.assertEqual(answer.json["user_id"], grant["user_id"])


class SignIn(RequiredCase):
    def test_a_user_without_a_passkey_adds_one_at_the_next_sign_in(self):
        email = self.own_email()
        grant = self.member(email)
        # Sessions from before continue.
        self.expect(self.me(grant), 200)
        first = self.asked(self.login(email), "enroll_passkey")
        second = self.asked(self.login(email), "enroll_passkey")
        self.expect(self.post(f"{STEP}/enroll", {"flow": first}), 401, "code_invalid")
        self.expect(self.prove(first, "123456"), 401, "code_invalid")
        passkey, answer = self.enroll_passkey(first)
        user = answer.json["user_id"]
        self.assertEqual((user, self.newest_methods(user)), (grant["user_id"], "pwd pop user mfa"))
        self.assertEqual(passkey.handle.decode(), user)
        self.expect_mail(email, "A passkey")
        self.assertEqual(len(self.passkeys(answer.json)), 1)
        # The flow is used up, and one that began before adds no second passkey.
        self.expect(self.post(f"{STEP}/passkey/options", {"flow": first}), 401, "code_invalid")
        self.enroll_passkey(second, status=401, code="code_invalid")
        self.show_as_step(second, passkey)
        self.assertEqual(len(self.passkeys(answer.json)), 1)

    def test_a_user_with_a_passkey_uses_it(self):
        email = self.own_email()
        grant = self.member(email)
        passkey = self.added(grant)
        stranger, _ = self.registered()
        flow = self.asked(self.login(email), "passkey")
        self.expect(self.post(f"{STEP}/passkey/options", {"flow": flow}), 401, "code_invalid")
        self.show_as_step(flow, stranger, 401, "code_invalid")
        done = self.show_as_step(flow, passkey).json
        self.assertEqual(self.newest_methods(done["user_id"]), "pwd pop user mfa")
        # The passkey alone is enough.
        self.expect(self.show(passkey), 200)

    def test_options_of_another_purpose_add_no_passkey(self):
        email = self.own_email()
        grant = self.member(email)
        flow = self.asked(self.login(email), "enroll_passkey")
        other, options = self.options("/v1/me/passkeys", grant=grant)
        passkey = Passkey()
        self.expect(self.post(STEP, {"flow": flow, "passkey_flow": other,
                                     "credential": passkey.made(options)}), 400, "flow_expired")
        begun = self.expect(self.post(f"{STEP}/passkey/options", {"flow": flow}), 200).json
        self.assertNotIn("excludeCredentials", begun["public_key"])
        body = {"flow": begun["flow"], "credential": passkey.made(begun["public_key"])}
        self.expect(self.post("/v1/me/passkeys", body, token=grant["access_token"]),
                    400, "flow_expired")
        self.expect(self.post("/v1/register/passkey", body), 400, "flow_expired")
        # The passkey of one user is not added to another.
        another = f"another-{email}"
        self.member(another)
        flow = self.asked(self.login(another), "enroll_passkey")
        self.expect(self.post(STEP, {"flow": flow, "passkey_flow": begun["flow"],
                                     "credential": passkey.made(begun["public_key"])}),
                    401, "code_invalid")

    def test_a_code_of_an_app_comes_before_a_new_passkey(self):
        email = self.own_email()
        grant = self.member(email)
        self.optional()
        app, recovery = self.protected(grant)
        self.require()
        flow = self.asked(self.login(email), "totp", "recovery_code")
        self.expect(self.post(f"{STEP}/passkey/options", {"flow": flow}), 401, "code_invalid")
        self.expect(self.prove(flow, app.wrong()), 401, "code_invalid")
        next_flow = self.asked(self.prove(flow, recovery[0]), "enroll_passkey")
        # The code is used up, and is no session.
        self.expect(self.prove(flow, recovery[1]), 401, "code_invalid")
        self.expect(self.prove(next_flow, recovery[1]), 401, "code_invalid")
        passkey, answer = self.enroll_passkey(next_flow)
        self.expect(self.me(answer.json), 200)
        self.assertEqual(self.factors(answer.json)["recovery_codes_left"], len(recovery) - 1)
        # From now on, no code takes the place of the passkey.
        flow = self.asked(self.login(email), "passkey")
        self.expect(self.prove(flow, recovery[1]), 401, "code_invalid")
        self.show_as_step(flow, passkey)

    def test_mfa_off_asks_for_no_code(self):
        email = self.own_email()
        grant = self.member(email)
        self.optional()
        self.protected(grant)
        self.require()
        self.set_mfa("off")
        self.enroll_passkey(self.asked(self.login(email), "enroll_passkey"))


class LostDevice(RequiredCase):
    def test_a_mailed_code_may_add_a_passkey(self):
        email = self.own_email()
        grant = self.member(email)
        old = self.added(grant)
        flow = self.asked(self.coded(email), "passkey", "enroll_passkey")
        self.show_as_step(flow, old)
        flow = self.asked(self.coded(email), "passkey", "enroll_passkey")
        new, answer = self.enroll_passkey(flow)
        self.assertEqual(self.newest_methods(answer.json["user_id"]), "otp pop user mfa")
        self.assertEqual(len(self.passkeys(answer.json)), 2)
        for passkey in [old, new]:
            self.expect(self.show(passkey), 200)

    def test_a_reset_by_mail_may_add_a_passkey(self):
        email = self.own_email()
        self.added(self.member(email))
        self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
        token = self.site.mailed(email, "ds_reset")
        flow = self.asked(self.reset(token, "battery staple"), "passkey", "enroll_passkey")
        new, answer = self.enroll_passkey(flow)
        self.assertEqual(len(self.passkeys(answer.json)), 2)
        # The new password alone is not enough.
        self.asked(self.login(email, "battery staple"), "passkey")

    def test_a_link_that_a_back_end_hands_over_adds_no_passkey(self):
        email = self.own_email()
        self.added(self.member(email))
        self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
        token = self.site.mailed(email, "ds_reset")
        self.site.sql("update mail_tokens set verifies = false where purpose = 'reset'")
        self.asked(self.reset(token, "battery staple"), "passkey")

    def test_a_mail_is_no_second_factor(self):
        email = self.own_email()
        grant = self.member(email)
        self.added(grant)
        self.set_mfa("required")
        self.asked(self.coded(email), "passkey")
        # With an app, its code comes first.
        self.optional()
        self.site.set_app(mfa="optional")
        app, recovery = self.protected(grant)
        self.require()
        self.site.set_app(mfa="required")
        flow = self.asked(self.coded(email), "totp", "recovery_code", "passkey")
        flow = self.asked(self.prove(flow, recovery[0]), "enroll_passkey")
        _, answer = self.enroll_passkey(flow)
        self.assertEqual(len(self.passkeys(answer.json)), 2)


class OtherClients(DirectCase, RequiredCase):
    """Clients of Auth0, App Services and Parra, which know no second step by a passkey."""

    def test_clients_of_auth0(self):
        email = self.own_email()
        grant = self.member(email)
        answer = self.site.request("POST", "/dbconnections/signup", {
            "client_id": self.spa["id"], "email": f"new-{email}", "password": PASSWORD,
            "connection": "Username-Password-Authentication"}, JSON)
        self.assertEqual(self.expect(answer, 400).json["code"], "signup_disabled")

        def needs(answer):
            self.error(answer, 403, "mfa_required")
            return answer.json["mfa_requirements"]

        self.assertEqual(needs(self.password(email, "correct horse")),
                         {"enroll": [{"type": "passkey"}]})
        self.optional()
        _, recovery = self.protected(grant)
        self.require()
        answer = self.password(email, "correct horse")
        self.assertEqual(needs(answer), {"challenge": [{"type": "otp"}]})
        answer = Party(self, self.spa).token(
            grant_type=PREFIX + "mfa-recovery-code", mfa_token=answer.json["mfa_token"],
            recovery_code=recovery[0])
        self.assertEqual(needs(answer), {"enroll": [{"type": "passkey"}]})
        self.added(grant)
        self.assertEqual(needs(self.password(email, "correct horse")),
                         {"challenge": [{"type": "passkey"}]})

    def test_clients_of_app_services(self):
        email = self.own_email()
        self.member(email)
        providers = "/api/client/v2.0/app/default/auth/providers"
        credentials = {"username": email, "password": "correct horse"}
        answer = self.expect(self.post(f"{providers}/local-userpass/login", credentials), 401)
        self.assertIn("second factor", answer.json["error"])
        new = {"email": f"new-{email}", "password": "correct horse"}
        answer = self.post(f"{providers}/local-userpass/register", new)
        self.assertIn(answer.status, [400, 401, 403, 404], answer.body)
        guest = self.expect(self.post(f"{providers}/anon-user/login", {}), 200).json
        answer = self.expect(self.post(f"{providers}/local-userpass/login?link=true", credentials,
                                       token=guest["access_token"]), 400)
        self.assertIn("second factor", answer.json["error"])
        self.assertEqual(self.site.sql(
            "select count(*) from users where email like 'new-%'"), "0")

    def test_clients_of_parra(self):
        email = self.own_email()
        self.member(email)
        client = Client(self.site).launch()
        with self.assertRaises((APIError, NetworkError)):
            client.form(grant_type="password", username=email, password="correct horse",
                        client_id="app-1", scope=SCOPE)
        with self.assertRaises(APIError):
            client.sign_up(f"new-{email}")
        self.assertEqual(self.site.sql(
            "select count(*) from users where email like 'new-%'"), "0")


if __name__ == "__main__":
    unittest.main()
