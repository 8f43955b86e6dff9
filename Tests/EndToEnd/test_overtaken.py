"""Tests that a password reset also stops the effects of requests in progress."""

import unittest

from cases import Held, Waiting

OLD, NEW, THEIRS = "correct horse", "battery staple", "a thiefs own words"


class Overtaken(Waiting):
    def reset_token(self, email):
        self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
        return self.site.mailed(email, "ds_reset")

    def live(self, grant):
        return self.site.sql("select count(*) from sessions where ended_at is null "
                             f"and user_id = '{grant['user_id']}'")

    def assert_login_overtaken(self, email, grant, login):
        """Starts a login that has read the credential before a reset, and waits for it."""
        token = self.reset_token(email)
        device = {"Dossier-Device": grant["device_secret"]}
        with Held(self.site,
                  f"select from users where user_id = '{grant['user_id']}' for update"):
            reset = self.started(lambda: self.reset(token, NEW))
            self.wait_for(1)
            answer = self.started(lambda: login(device))
            self.wait_for(2)
        self.expect(reset(), 200)
        self.expect(answer(), 401, "wrong_credentials")
        # Only the session of the reset is live.
        self.assertEqual(self.live(grant), "1")

    def test_a_login_by_the_old_password(self):
        email = self.own_email()
        grant = self.verified(email, OLD)
        self.assert_login_overtaken(
            email, grant, lambda device: self.login(email, OLD, headers=device))

    def test_a_login_by_an_api_key(self):
        email = self.own_email()
        grant = self.verified(email, OLD)
        key = self.post("/v1/me/api-keys", {"name": "cron"}, token=grant["access_token"])
        self.assert_login_overtaken(
            email, grant,
            lambda device: self.post("/v1/login/api-key", {"key": key.json["key"]},
                                     headers=device))

    def test_a_change_of_the_password(self):
        email = self.own_email()
        grant = self.verified(email, OLD)
        token = self.reset_token(email)
        change = {"current_password": OLD, "new_password": THEIRS}
        # The change waits at its own counters, after it has read the password.
        others = self.site.sql("select array_agg(subject) from rate_limits")
        wrong = {**change, "current_password": "none of mine"}
        self.post("/v1/password/change", wrong, token=grant["access_token"])
        # Updates lock the rows of many keys, which Citus refuses to select for update.
        with Held(self.site, "update rate_limits set theoretical_arrival_at = theoretical_arrival_at "
                  f"where subject <> all ('{others}'::bytea[])"):
            answer = self.started(lambda: self.post(
                "/v1/password/change", change, token=grant["access_token"]))
            self.wait_for(1)
            self.expect(self.reset(token, NEW), 200)
        self.expect(answer(), 401, "session_ended")
        self.expect(self.login(email, THEIRS), 401, "wrong_credentials")
        self.expect(self.login(email, NEW), 200)

    def test_a_creation_of_an_api_key(self):
        email = self.own_email()
        grant = self.expect(self.register(email, OLD), 201).json
        token = self.reset_token(email)
        held = Held(self.site, "select from users "
                    f"where user_id = '{grant['user_id']}' for update")
        try:
            # Both wait for the row, in this order.
            reset = self.started(lambda: self.reset(token, NEW))
            self.wait_for(1)
            made = self.started(lambda: self.post(
                "/v1/me/api-keys", {"name": "later"}, token=grant["access_token"]))
            self.wait_for(2)
        finally:
            held.release()
        self.expect(reset(), 200)
        self.expect(made(), 401, "session_ended")
        self.assertEqual(self.site.sql(
            f"select count(*) from api_keys where user_id = '{grant['user_id']}'"), "0")

    def test_a_verification_that_follows_a_takeover(self):
        email = self.own_email()
        grant = self.expect(self.register(email, THEIRS), 201).json
        link = self.site.mailed(email, "ds_verify")
        token = self.reset_token(email)
        held = Held(self.site, "select from users "
                    f"where user_id = '{grant['user_id']}' for update")
        try:
            reset = self.started(lambda: self.reset(token, NEW))
            self.wait_for(1)
            shown = self.started(lambda: self.verify(link, password=THEIRS))
            self.wait_for(2)
        finally:
            held.release()
        self.expect(reset(), 200)
        self.assertIn(shown().status, (400, 401), shown().body)
        self.expect(self.login(email, THEIRS), 401, "wrong_credentials")
        self.assertEqual(self.live(grant), "1")

    def is_locked(self, table, condition):
        return self.site.sql("select count(*) from (select from "
                             f"{table} where {condition} for update skip locked) t") == "0"

    def test_a_replacement_locks_the_device_before_its_session(self):
        # A refresh in another tab locks in this order. Otherwise both would deadlock.
        email = self.own_email()
        grant = self.verified(email, OLD)
        with Held(self.site, "select from devices "
                  f"where device_id = '{grant['device_id']}' for update"):
            answer = self.started(lambda: self.post(
                "/v1/reauthenticate", {"provider": "password", "password": OLD},
                token=grant["access_token"]))
            self.wait_for(1)
            self.assertFalse(self.is_locked("sessions", f"user_id = '{grant['user_id']}'"))
        self.expect(answer(), 200)

    def test_sessions_are_locked_before_device_accounts_when_they_end(self):
        # The removal of a user from a device locks in this order too.
        email = self.own_email()
        grant = self.verified(email, OLD)
        other = self.expect(self.login(email, OLD), 200).json
        with Held(self.site, "update sessions set agent = agent "
                  f"where device_id = '{other['device_id']}'"):
            answer = self.started(lambda: self.site.request(
                "DELETE", "/v1/me/sessions", token=grant["access_token"]))
            self.wait_for(1)
            self.assertFalse(self.is_locked(
                "device_accounts",
                f"user_id = '{grant['user_id']}' and device_id = '{other['device_id']}'"))
        self.expect(answer(), 204)

    def test_a_password_change_by_an_attacker_keeps_the_reset_valid(self):
        grant = self.verified("codes@example.com", OLD)
        token = self.reset_token("codes@example.com")
        change = {"current_password": OLD, "new_password": THEIRS}
        self.expect(self.post("/v1/password/change", change, token=grant["access_token"]), 200)
        self.expect(self.reset(token, NEW), 200)
        self.expect(self.login("codes@example.com", NEW), 200)
        self.expect(self.login("codes@example.com", THEIRS), 401, "wrong_credentials")


if __name__ == "__main__":
    unittest.main()
