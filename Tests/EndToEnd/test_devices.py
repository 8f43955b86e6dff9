"""Tests several users on one device: every allowed and every refused transition."""

import time
import unittest

from cases import Case, in_parallel
from asking import JSON


class DeviceCase(Case):
    """Tests with several users on one device."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(allowed_origins=["https://app.example.com"])

    def setUp(self):
        # Maps the first secret of a device to its current one.
        self.renewed = {}

    def newest(self, secret):
        return self.renewed.get(secret, secret)

    def login_on(self, device, email=None, **headers):
        if device:
            headers["Dossier-Device"] = self.newest(device)
        answer = (self.login(email, headers=headers) if email
                  else self.post("/v1/login/anonymous", {}, headers=headers))
        grant = self.expect(answer, 200).json
        if device:
            self.renewed[device] = grant["device_secret"]
        return grant

    def device(self, secret, method="GET", path="", body=None, **headers):
        """Sends a request with the secret of the last login on the device."""
        return self.shown(self.newest(secret), method, path, body, **headers)

    def shown(self, secret, method="GET", path="", body=None, **headers):
        """Sends a request with exactly this secret."""
        fields = {"Dossier-Device": secret, **(JSON if body is not None else {}), **headers}
        return self.site.request(method, f"/v1/device{path}", body, fields)

    def states(self, secret):
        users = self.expect(self.device(secret), 200).json["users"]
        return {user["user_id"]: user["state"] for user in users}

    def switch(self, secret, user):
        return self.device(secret, "PUT", "/active", {"user_id": user})

    def leave(self, secret, user):
        return self.device(secret, "POST", f"/users/{user}/logout")

    def remove(self, secret, user):
        return self.device(secret, "DELETE", f"/users/{user}")

    def three(self):
        """Three users on a device, the last one active."""
        first = self.login_on(None)
        secret = first["device_secret"]
        others = [self.login_on(secret), self.login_on(secret)]
        for other in others:
            self.assertNotEqual(other["device_secret"], secret)
            self.assertEqual(other["device_id"], first["device_id"])
        return secret, [first, *others]

    def end_the_grace_period(self, device):
        """Ends the time in which the previous secret still works."""
        self.site.sql("update devices set replaced_at = now() - interval '31 seconds' "
                      f"where device_id = '{device}'")


class Devices(DeviceCase):

    # The states of a user on a device, and the transitions between them

    def test_every_transition(self):
        secret, (one, two, three) = self.three()
        a, b, c = (grant["user_id"] for grant in (one, two, three))
        states = {a: "inactive", b: "inactive", c: "active"}
        self.assertEqual(self.states(secret), states)
        # inactive -> active, active -> inactive: by switching.
        switched = self.expect(self.switch(secret, a), 200).json
        self.assertEqual(switched["user_id"], a)
        self.assertNotIn("device_secret", switched)
        self.expect(self.me(switched), 200)
        self.expect(self.refresh(switched), 200)
        self.assertEqual(self.states(secret), {a: "active", b: "inactive", c: "inactive"})
        # active -> active: nothing changes, and there are tokens again.
        self.expect(self.switch(secret, a), 200)
        # active -> logged out: the one most recently active follows.
        self.expect(self.leave(secret, a), 200)
        self.assertEqual(self.states(secret), {a: "logged_out", b: "inactive", c: "active"})
        self.expect(self.me(switched), 401, "session_ended")
        # inactive -> logged out.
        self.expect(self.leave(secret, b), 200)
        self.assertEqual(self.states(secret), {a: "logged_out", b: "logged_out", c: "active"})
        # logged out -> logged out.
        self.expect(self.leave(secret, b), 200)
        # inactive, logged out and active -> forgotten.
        self.expect(self.remove(secret, b), 200)
        self.assertEqual(self.states(secret), {a: "logged_out", c: "active"})
        self.expect(self.remove(secret, c), 200)
        self.assertEqual(self.states(secret), {a: "logged_out"})
        self.expect(self.me(three), 401, "session_ended")
        # forgotten -> active: by logging in as a new user of the device.
        new = self.login_on(secret)["user_id"]
        self.assertEqual(self.states(secret), {a: "logged_out", new: "active"})

    def test_a_signed_out_user_becomes_active_by_signing_in(self):
        self.verified("back@example.com")
        grant = self.expect(self.login("back@example.com"), 200).json
        secret, user = grant["device_secret"], grant["user_id"]
        other = self.login_on(secret)["user_id"]
        self.expect(self.leave(secret, user), 200)
        self.assertEqual(self.states(secret), {user: "logged_out", other: "active"})
        self.login_on(secret, "back@example.com")
        self.assertEqual(self.states(secret), {user: "active", other: "inactive"})
        # Again while active: the session is replaced.
        first = self.login_on(secret, "back@example.com")
        second = self.login_on(secret, "back@example.com")
        self.assertEqual(self.states(secret), {user: "active", other: "inactive"})
        self.expect(self.me(first), 401, "session_ended")
        self.expect(self.me(second), 200)

    def test_every_refused_transition(self):
        secret, (one, _, three) = self.three()
        stranger = self.site.login()
        for answer in [self.switch(secret, stranger["user_id"]),
                       self.leave(secret, stranger["user_id"]),
                       self.remove(secret, stranger["user_id"]), self.leave(secret, "x")]:
            self.expect(answer, 404, "not_found")
        self.expect(self.leave(secret, one["user_id"]), 200)
        self.expect(self.switch(secret, one["user_id"]), 409, "not_logged_in")
        self.expect(self.switch(secret, "x"), 422, "validation_failed")
        # A credential of another device does not reach the users of this one.
        other = stranger["device_secret"]
        self.expect(self.switch(other, three["user_id"]), 404, "not_found")
        self.assertEqual(list(self.states(other)), [stranger["user_id"]])

    def test_the_next_user_becomes_active_when_a_session_ends(self):
        secret, (one, two, three) = self.three()
        a, b, c = (grant["user_id"] for grant in (one, two, three))
        self.expect(self.post("/v1/logout", token=three["access_token"]), 204)
        self.assertEqual(self.states(secret), {a: "inactive", b: "active", c: "logged_out"})
        self.site.sql(f"update users set blocked_at = now() where user_id = '{b}'")
        self.assertEqual(self.states(secret), {a: "active", b: "logged_out", c: "logged_out"})
        self.expect(self.switch(secret, b), 409, "not_logged_in")
        self.site.sql(f"update sessions set expires_at = now() where user_id = '{a}'")
        self.assertEqual(set(self.states(secret).values()), {"logged_out"})
        self.expect(self.site.request("DELETE", "/v1/me", token=self.login_on(secret)
                                      ["access_token"]), 204)
        self.assertEqual(len(self.states(secret)), 3)

    def test_an_app_can_forbid_switching(self):
        self.site.sql("insert into apps (app_id, name, settings) values "
                      "(new_object_id(), 'strict', '{\"switching\": \"reauthenticate\"}')")
        app = {"Dossier-App": "strict"}
        one = self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200).json
        secret = one["device_secret"]
        two = self.login_on(secret, **app)

        def states():
            users = self.device(secret, **app).json["users"]
            return {user["user_id"]: user["state"] for user in users}

        self.assertEqual(states(), {one["user_id"]: "inactive", two["user_id"]: "active"})
        refused = self.device(secret, "PUT", "/active", {"user_id": one["user_id"]}, **app)
        self.expect(refused, 403, "switching_forbidden")
        # No other user becomes active when the active user logs out.
        self.expect(self.device(secret, "POST", f"/users/{two['user_id']}/logout", **app), 200)
        self.assertEqual(states(), {one["user_id"]: "inactive", two["user_id"]: "logged_out"})
        # A device, a token and a refresh token belong to one app.
        self.expect(self.device(secret), 401, "device_unknown")
        self.expect(self.me(one), 401, "token_invalid")
        self.expect(self.refresh(one), 401, "refresh_token_invalid")
        self.expect(self.site.get("/v1/me", headers={"Dossier-App": "none"}), 404, "app_not_found")

    def test_a_device_holds_at_most_twenty_users(self):
        secret = self.site.login()["device_secret"]
        for _ in range(19):
            self.login_on(secret)
        device = {"Dossier-Device": self.newest(secret)}
        full = self.post("/v1/login/anonymous", {}, headers=device)
        self.assertEqual(self.expect(full, 409, "device_full").json["limit"], 20)
        self.expect(self.remove(secret, next(iter(self.states(secret)))), 200)
        self.login_on(secret)

    def test_concurrent_sign_ins_add_at_most_twenty_users(self):
        name = f"crowd-{time.monotonic_ns()}"
        self.site.add_app(name)
        # Devices of App Services have no secret and allow parallel logins.
        path = f"/api/client/v2.0/app/{name}/auth/providers/anon-user/login"
        device = self.expect(self.post(path, {}), 200).json["device_id"]
        body = {"options": {"device": {"deviceId": {"$oid": device}}}}
        answers = in_parallel(60, lambda _: self.post(path, body))
        self.assertLessEqual({answer.status for answer in answers}, {200, 409})
        there = [answer for answer in answers
                 if answer.status == 200 and answer.json["device_id"] == device]
        self.assertEqual(len(there), 19)
        known = self.site.sql(f"select count(*) from device_accounts where device_id = '{device}'")
        self.assertEqual(known, "20")
        listed = self.site.sql(f"select cardinality(user_ids) from devices where device_id = '{device}'")
        self.assertEqual(listed, "20")
        # A login beyond the limit created no user.
        users = self.site.sql(
            f"select count(*) from users join apps using (app_id) where apps.name = '{name}'")
        self.assertEqual(int(users), 1 + sum(answer.status == 200 for answer in answers))

    def test_concurrent_switches_leave_one_active_user(self):
        secret, grants = self.three()
        answers = in_parallel(
            32, lambda index: self.switch(secret, grants[index % 3]["user_id"]))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(sorted(self.states(secret).values()), ["active", "inactive", "inactive"])
        # Each issued token is valid, and none counts as stolen.
        for answer in answers[:6]:
            self.expect(self.me(answer.json), 200)
            self.expect(self.refresh(answer.json), 200)

    def test_a_device_hides_the_address_of_a_blocked_user(self):
        grant = self.verified("shown@example.com")
        secret = grant["device_secret"]

        def shown():
            user, = self.expect(self.device(secret), 200).json["users"]
            return user["state"], user["email"]

        self.assertEqual(shown(), ("active", "shown@example.com"))
        self.site.sql(f"update users set blocked_at = now() where user_id = '{grant['user_id']}'")
        self.assertEqual(shown(), ("logged_out", None))

    def test_preflight_requests_are_answered(self):
        ask = {"Access-Control-Request-Method": "PATCH", "Origin": "https://app.example.com"}
        answer = self.expect(self.site.request("OPTIONS", "/v1/me", headers=ask), 204)
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], ask["Origin"])
        self.assertIn("PATCH", answer.headers["Access-Control-Allow-Methods"])
        allowed = answer.headers["Access-Control-Allow-Headers"].lower().split(", ")
        # Header fields that clients, libraries and tracing tools send.
        for name in ["authorization", "content-type", "if-match", "dossier-app", "dossier-device",
                     "x-requested-with", "cache-control", "traceparent", "sentry-trace"]:
            self.assertIn(name, allowed)
        exposed = answer.headers["Access-Control-Expose-Headers"].split(", ")
        for name in ["ETag", "Link", "RateLimit", "RateLimit-Policy", "Retry-After"]:
            self.assertIn(name, exposed)
        ask["Origin"] = "https://evil.example.com"
        answer = self.expect(self.site.request("OPTIONS", "/v1/me", headers=ask), 204)
        self.assertNotIn("Access-Control-Allow-Origin", answer.headers)

    # What the owner of an account revokes

    def users_of(self, device):
        answer = self.site.get("/v1/device", headers={"Dossier-Device": device})
        return [user["user_id"] for user in self.expect(answer, 200).json["users"]]

    def test_a_user_leaves_its_devices_when_all_sessions_end(self):
        def reset(grant, email):
            self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
            self.expect(self.reset(self.site.mailed(email, "ds_reset"), "battery staple"), 200)

        def change(grant, email):
            grant.update(self.expect(self.post("/v1/password/change", {
                "current_password": "correct horse", "new_password": "battery staple"},
                token=grant["access_token"]), 200).json)

        def end(grant, email):
            self.expect(self.site.request("DELETE", "/v1/me/sessions",
                                          token=grant["access_token"]), 204)

        for act, keeps in [(reset, False), (change, True), (end, True)]:
            with self.subTest(act.__name__):
                email = f"{act.__name__}-places@example.com"
                grant = self.verified(email)
                thief = self.expect(self.login(email), 200).json
                stranger = self.site.login(thief["device_secret"])
                copied = stranger["device_secret"]
                self.assertIn(grant["user_id"], self.users_of(copied))
                act(grant, email)
                # Another user stays on the device.
                self.assertEqual(self.users_of(copied), [stranger["user_id"]])
                self.expect(self.site.request(
                    "PUT", "/v1/device/active", {"user_id": grant["user_id"]},
                    {**JSON, "Dossier-Device": copied}), 404, "not_found")
                # The caller stays on the device of its session.
                self.assertEqual(self.users_of(grant["device_secret"]),
                                 [grant["user_id"]] if keeps else [])
                self.assertEqual(self.site.sql(
                    "select count(*) from audit where action = 'device_remove' "
                    f"and user_id = '{grant['user_id']}' and device_id = '{thief['device_id']}'"), "1")


if __name__ == "__main__":
    unittest.main()
