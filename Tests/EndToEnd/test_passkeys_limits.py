"""Limits of sign-ups by passkey, and the refusal of callers who may not sign up or add one."""

import json
import unittest

from asking import ADDRESS
from hosted import HostedCase
from machine import wait_until
from passkeys import RP_ID, Passkey, PasskeyCase

DAY = {"failure_minutes": 1_440}
PATCH = {"Content-Type": "application/merge-patch+json"}


class Limits(PasskeyCase):
    apps = 0

    def app(self, **settings):
        type(self).apps += 1
        return self.site.add_app(f"limits-{self.apps}", passkey="optional", passkey_rp_id=RP_ID,
                                 **DAY, **settings)

    def made(self, app, place="192.0.2.1", **stated):
        """Returns the body of a sign-up."""
        flow, options = self.options("/v1/register/passkey", stated, headers=self.at(app, place))
        return {"flow": flow, "credential": Passkey().made(options)}

    @staticmethod
    def at(app, place):
        return {**app, ADDRESS: place}

    def sign_up(self, app, place="192.0.2.1", **stated):
        return self.post("/v1/register/passkey", self.made(app, place, **stated),
                         headers=self.at(app, place))

    def users(self, app):
        return int(self.site.sql("select count(*) from users join apps using (app_id) "
                                 f"where apps.name = '{app['Dossier-App']}'"))

    def test_sign_ups_without_an_address_are_limited_by_network(self):
        app = self.app(failures_per_ip=2)
        bodies = [self.made(app) for _ in range(3)]
        answers = [self.post("/v1/register/passkey", body, headers=self.at(app, "192.0.2.1"))
                   for body in bodies]
        self.assertEqual([answer.status for answer in answers], [201, 201, 429])
        self.expect(answers[-1], 429, "too_many_attempts")
        self.assertGreater(int(answers[-1].headers["Retry-After"]), 0)
        # The same network in another form.
        self.expect(self.sign_up(app, "::ffff:192.0.2.1"), 429, "too_many_attempts")
        self.expect(self.sign_up(app, "198.51.100.1"), 201)
        # A refused sign-up stores nothing, and its flow can be used later.
        self.assertEqual(self.users(app), 3)
        self.site.sql("delete from rate_limits")
        self.expect(self.post("/v1/register/passkey", bodies[-1], headers=app), 201)

    def test_sign_ups_with_an_address_are_limited_by_address_and_by_network(self):
        app = self.app(failures_per_identifier=2, failures_per_ip=4)
        email = "wanted@example.com"
        self.assertEqual([self.sign_up(app, email=email).status for _ in range(3)], [201, 409, 429])
        self.assertEqual([self.sign_up(app, email=f"{n}@example.com").status for n in range(3)],
                         [201, 201, 429])
        # One without an address counts at the same network.
        self.expect(self.sign_up(app), 429, "too_many_attempts")
        self.expect(self.sign_up(app, "198.51.100.1", email=email), 409, "email_taken")
        self.assertEqual(self.users(app), 3)

    def test_codes_for_a_sign_up_are_limited_alike_for_known_addresses(self):
        app = self.app(failures_per_identifier=2)
        known = "known@example.com"
        self.expect(self.register(known, headers=app), 201)
        self.site.sql(
            "update apps set settings = settings || '{\"sign_up\": \"verify_first\"}', "
            f"version = version + 1 where name = '{app['Dossier-App']}'")
        self.wait_for(app)
        for email in [known, "free@example.com"]:
            statuses = [self.post("/v1/register/passkey/options", {"email": email},
                                  headers=self.at(app, "203.0.113.1")).status for _ in range(3)]
            self.assertEqual(statuses, [200, 200, 429], email)

    def wait_for(self, app):
        """Waits until the workers apply the setting."""
        wait_until(lambda: self.post("/v1/register/passkey/options", {}, headers=app).status == 422,
                   what="the setting")


class Pages(HostedCase, PasskeyCase):
    def sign_up_by_passkey(self):
        visitor = self.new_visitor()
        visitor.open("/account")
        visitor.open(visitor.page.links["Create account"])
        # As the script of the page does.
        flow, options = self.options("/v1/register/passkey")
        return visitor.submit("/sign-up/passkey", passkey_flow=flow,
                              credential=json.dumps(Passkey().made(options)))

    def test_a_page_names_the_limit(self):
        self.settings(failures_per_ip=1, **DAY)
        self.site.sql("delete from rate_limits")
        self.shows(self.sign_up_by_passkey(), "Your account")
        before = self.site.sql("select count(*) from users")
        page = self.sign_up_by_passkey()
        self.assertEqual(page.heading.strip(), "Create account")
        self.assertEqual(len(page.errors), 1, page.text)
        self.assertIn("Too many attempts", page.errors[0])
        self.assertEqual(self.site.sql("select count(*) from users"), before)


class Callers(PasskeyCase):
    def test_a_sign_up_obeys_the_settings_at_its_end(self):
        flow, options = self.options("/v1/register/passkey")
        body = {"flow": flow, "credential": Passkey().made(options)}
        for settings, status, code in [({"sign_up": "closed"}, 403, "sign_up_closed"),
                                       ({"sign_up": "verify_first"}, 400, "flow_expired"),
                                       ({"passkey": "off"}, 403, "passkeys_off")]:
            self.site.set_app(**settings)
            self.addCleanup(self.site.set_app, sign_up="immediate", passkey="optional")
            self.expect(self.post("/v1/register/passkey", body), status, code)
            self.site.set_app(sign_up="immediate", passkey="optional")
        self.expect(self.post("/v1/register/passkey", body), 201)

    def test_a_sign_up_with_the_flow_of_another_app_or_the_passkey_of_a_user_is_refused(self):
        other = self.site.add_app("another", passkey="optional", passkey_rp_id=RP_ID)
        flow, options = self.options("/v1/register/passkey")
        passkey = Passkey()
        body = {"flow": flow, "credential": passkey.made(options)}
        self.expect(self.post("/v1/register/passkey", body, headers=other), 400, "flow_expired")
        self.expect(self.post("/v1/register/passkey", body), 201)
        # The same passkey again, at this app and at another one.
        self.registered(passkey, 409, "passkey_exists")
        flow, options = self.options("/v1/register/passkey", headers=other)
        body = {"flow": flow, "credential": passkey.made(options)}
        self.expect(self.post("/v1/register/passkey", body, headers=other), 201)

    def test_passkeys_of_a_user_are_for_its_own_sessions(self):
        ada, grace = self.verified("ada-c@example.com"), self.verified("grace-c@example.com")
        passkey = self.added(ada)
        [listed] = self.passkeys(ada)
        path = f"/v1/me/passkeys/{listed['id']}"
        secret = self.site.client("--operator")["secret"]
        guest = self.expect(self.post("/v1/login/anonymous", {}), 200).json["access_token"]
        for token, status, code in [(None, 401, "token_missing"), ("x", 401, "token_invalid"),
                                    (secret, 401, None), (grace["access_token"], 404, "not_found"),
                                    (guest, 404, "not_found")]:
            for method, body, headers in [("PATCH", {"name": "Mine"}, PATCH), ("DELETE", None, {})]:
                answer = self.site.request(method, path, body, headers, token=token)
                self.assertEqual(answer.status, status, (method, token))
                if code:
                    self.expect(answer, status, code)
        # A passkey that is begun for one user is not made for another, nor without a session.
        flow, options = self.options("/v1/me/passkeys", grant=ada)
        body = {"flow": flow, "credential": Passkey().made(options)}
        for token, status, code in [(None, 401, "token_missing"), (guest, 400, "flow_expired"),
                                    (grace["access_token"], 400, "flow_expired")]:
            self.expect(self.post("/v1/me/passkeys", body, token=token), status, code)
        for token in [None, "x", secret]:
            self.expect(self.post("/v1/me/passkeys/options", {}, token=token), 401)
        self.assertEqual([one["id"] for one in self.passkeys(ada)], [listed["id"]])
        self.expect(self.show(passkey), 200)
        # A user who has signed out.
        self.expect(self.post("/v1/logout", {}, token=ada["access_token"]), 204)
        for method, one in [("GET", "/v1/me/passkeys"), ("DELETE", path)]:
            self.expect(self.site.request(method, one, token=ada["access_token"]), 401, "session_ended")
        self.expect(self.post("/v1/me/passkeys", body, token=ada["access_token"]), 401)


if __name__ == "__main__":
    unittest.main()
