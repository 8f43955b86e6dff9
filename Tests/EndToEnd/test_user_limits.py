"""The rows that one user adds are bounded, also with right credentials."""

import unittest

from asking import JSON, MERGE
from authenticator import FactorCase
from cases import Case
from machine import wait_until

PASSWORD = "correct horse"
EMAIL = "grower@example.com"


class UserLimits(Case):
    TABLES = ["sessions", "devices", "audit", "authentication_flows", "mail_outbox", "api_keys"]

    def stored(self):
        return {table: int(self.site.sql(f"select count(*) from {table}")) for table in self.TABLES}

    def refused(self, answer, share):
        """Checks a refusal: another attempt comes back after at most `share` seconds."""
        self.expect(answer, 429, "too_many_requests")
        self.assertLessEqual(int(answer.headers["Retry-After"]), share)

    def test_sign_ins_are_bounded_by_user(self):
        app = self.site.add_app("signs", sign_ins_per_user=4)
        grant = self.expect(self.register(EMAIL, headers=app), 201).json
        key = self.expect(self.post("/v1/me/api-keys", {"name": "script"}, headers=app,
                                    token=grant["access_token"]), 201).json["key"]
        for _ in range(2):
            self.expect(self.login(EMAIL, headers=app), 200)
            self.expect(self.post("/v1/login/api-key", {"key": key}, headers=app), 200)
        before = self.stored()
        self.refused(self.login(EMAIL, headers=app), 900)
        # All credentials count together, and only the first refusal is recorded.
        for _ in range(3):
            self.refused(self.post("/v1/login/api-key", {"key": key}, headers=app), 900)
        self.assertEqual(self.stored(), {**before, "audit": before["audit"] + 1})
        event = self.site.dossier("audit", "--app", "signs")[0]
        self.assertEqual((event["action"], event["detail"]),
                         ("rate_limited", {"guard": "session-anywhere"}))
        # A refused sign-in is no failed one. Sessions go on, and other users sign in.
        self.expect(self.login(EMAIL, "wrong horse", headers=app), 401, "wrong_credentials")
        self.expect(self.me(grant, headers=app), 200)
        self.expect(self.register("other@example.com", headers=app), 201)
        self.expect(self.login("other@example.com", headers=app), 200)
        # A reset by mail signs in all the same, and forgets the attempts.
        self.reset_by_mail(EMAIL, PASSWORD, headers=app)
        for _ in range(3):
            self.expect(self.login(EMAIL, headers=app), 200)
        self.refused(self.login(EMAIL, headers=app), 900)
        self.site.dossier("rate-limit", "reset", "--app", "signs", EMAIL)
        self.expect(self.login(EMAIL, headers=app), 200)

    def test_first_steps_of_a_sign_in_count_too(self):
        """A user with a second factor makes a row by each right password."""
        app = self.site.add_app("steps", sign_ins_per_user=3, mfa="required")
        self.expect(self.register(EMAIL, headers=app), 401, "additional_factor_required")
        for _ in range(3):
            self.expect(self.login(EMAIL, headers=app), 401, "additional_factor_required")
        before = self.stored()
        self.refused(self.login(EMAIL, headers=app), 1_200)
        self.assertEqual(self.stored(), {**before, "audit": before["audit"] + 1})

    def test_changes_of_credentials_are_bounded_by_user(self):
        app = self.site.add_app("changes", account_changes_per_user=3)
        grant = self.expect(self.register(EMAIL, headers=app), 201).json

        def keys(method, path="", body=None):
            return self.site.request(method, f"/v1/me/api-keys{path}", body,
                                     {**app, **(JSON if body else {})}, grant["access_token"])

        for name in ["one", "two"]:
            made = self.expect(keys("POST", body={"name": name}), 201).json
        self.expect(keys("DELETE", f"/{made['id']}"), 204)
        before = self.stored()
        self.refused(keys("POST", body={"name": "three"}), 1_200)
        self.refused(self.post("/v1/password/change", {
            "current_password": PASSWORD, "new_password": "another horse"}, headers=app,
            token=grant["access_token"]), 1_200)
        self.refused(self.post("/v1/reauthenticate", {"provider": "password", "password": PASSWORD},
                               headers=app, token=grant["access_token"]), 1_200)
        self.assertEqual(self.stored(), {**before, "audit": before["audit"] + 1})
        # An operator is not limited, and the user can always sign out.
        for _ in range(4):
            self.site.dossier("user", "block", "--yes", "--app", "changes", EMAIL)
            self.site.dossier("user", "unblock", "--app", "changes", EMAIL)
        again = self.expect(self.login(EMAIL, headers=app), 200).json
        self.expect(self.post("/v1/logout", {}, headers=app, token=again["access_token"]), 204)

    def test_requests_for_addresses_are_bounded_by_user(self):
        app = self.site.add_app("addresses", account_changes_per_user=2)
        token = self.expect(self.register(EMAIL, headers=app), 201).json["access_token"]

        def ask(number):
            return self.post("/v1/me/email", {"email": f"new{number}@example.com"}, headers=app,
                             token=token)

        for number in range(2):
            self.expect(ask(number), 202)
        before = self.stored()
        self.refused(ask(2), 1_800)
        self.assertEqual(self.stored(), {**before, "audit": before["audit"] + 1})

    def test_requests_for_links_by_code_are_bounded_by_user(self):
        app = self.site.add_app("codes", account_changes_per_user=2, sign_up="verify_first")
        token = self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200).json["access_token"]

        def ask(number):
            link = {"provider": "password", "email": f"link{number}@example.com",
                    "password": PASSWORD}
            return self.post("/v1/me/identities", link, headers=app, token=token)

        for number in range(2):
            self.expect(ask(number), 202)
        before = self.stored()
        self.refused(ask(2), 1_800)
        self.assertEqual(self.stored(), {**before, "audit": before["audit"] + 1})

    def test_recorded_changes_of_data_are_bounded_by_user(self):
        app = self.site.add_app("recorded", recorded_changes_per_user=4, data_event_days=7)
        grant = self.expect(self.register(EMAIL, headers=app), 201).json

        def patch(path, body):
            return self.site.request("PATCH", f"/v1/me{path}", body, {**app, **MERGE},
                                     grant["access_token"])

        for number in range(2):
            self.expect(patch("/metadata", {"number": number}), 200)
            self.expect(patch("", {"name": f"Name {number}"}), 200)
        before = self.stored()
        self.refused(patch("/metadata", {"number": "refused"}), 900)
        self.refused(patch("", {"name": "Refused"}), 900)
        self.assertEqual(self.stored(), before)
        self.assertEqual(self.me(grant, "/metadata", headers=app).json, {"number": 1})
        self.assertEqual(self.me(grant, headers=app).json["name"], "Name 1")
        # Without records, nothing grows.
        self.site.set_app("recorded", data_event_days=None)
        for number in range(6):
            self.expect(patch("/metadata", {"number": number}), 200)


class FirstSteps(FactorCase):
    """Sign-ins of a user with a second factor count, and strangers slow no known device down."""

    def setUp(self):
        self.email = f"{self._testMethodName.replace('_', '-')[5:40]}@example.com"

    def user(self, app):
        """Returns the options of requests on the user's device, and its authenticator."""
        grant = self.verified(self.email, headers=app)
        authenticator, _ = self.protected(grant, headers=app)
        self.headers = {**app, "Dossier-Device": grant["device_secret"]}
        return authenticator

    def second_step(self, flow, authenticator, headers):
        self.site.sql("update second_factors set last_step = 0")
        return self.prove(flow, authenticator.code(), headers=headers)

    def test_a_stranger_with_the_password_does_not_slow_a_known_device_down(self):
        app = self.site.add_app("guarded", sign_ins_per_user=3, mfa="optional")
        authenticator = self.user(app)
        for _ in range(3):
            self.asked(self.login(self.email, headers=app))
        self.expect(self.login(self.email, headers=app), 429, "too_many_requests")
        flow = self.asked(self.login(self.email, headers=self.headers))
        self.expect(self.second_step(flow, authenticator, self.headers), 200)
        self.site.dossier("rate-limit", "reset", "--app", "guarded", self.email)
        self.asked(self.login(self.email, headers=app))

    def test_a_known_device_is_limited_too(self):
        app = self.site.add_app("limited", sign_ins_per_user=3, mfa="optional")
        self.user(app)
        for _ in range(3):
            self.asked(self.login(self.email, headers=self.headers))
        self.expect(self.login(self.email, headers=self.headers), 429, "too_many_requests")

    def test_second_steps_count_as_sign_ins(self):
        app = self.site.add_app("seconds", sign_ins_per_user=2, mfa="optional")
        authenticator = self.user(app)
        waiting = self.asked(self.login(self.email, headers=app))
        for _ in range(2):
            flow = self.asked(self.login(self.email, headers=self.headers))
            grant = self.expect(self.second_step(flow, authenticator, self.headers), 200).json
            self.headers["Dossier-Device"] = grant["device_secret"]
        # More refusals than a flow has tries.
        for _ in range(7):
            answer = self.second_step(waiting, authenticator, app)
            self.expect(answer, 429, "too_many_requests")
        self.site.dossier("rate-limit", "reset", "--app", "seconds", self.email)
        self.expect(self.second_step(waiting, authenticator, app), 200)


if __name__ == "__main__":
    unittest.main()

    def test_published_changes_are_bounded_by_user_in_each_worker(self):
        app = self.site.add_app("published", recorded_changes_per_user=4, event_feed=True,
                                event_types=["metadata.changed"])
        grant = self.expect(self.register(EMAIL, headers=app), 201).json

        def patch(number):
            return self.site.request("PATCH", "/v1/me/metadata", {"number": number}, {**app, **MERGE},
                                     grant["access_token"])

        # Each worker knows the settings of an app that it has not had before.
        most = 4 * len(self.site.workers())
        answers = [patch(number) for number in range(most + 1)]
        refused = [answer for answer in answers if answer.status == 429]
        self.assertTrue(refused, [answer.status for answer in answers])
        self.refused(refused[0], 900)
        written = [answer for answer in answers if answer.status == 200]
        self.assertEqual(len(written) + len(refused), len(answers))
        self.assertEqual(self.me(grant, "/metadata", headers=app).headers["ETag"],
                         written[-1].headers["ETag"])
        count = "select count(*) from feed_events where type = 'metadata.changed'"
        wait_until(lambda: self.site.sql(count) == str(len(written)), what="an event of each change")
