"""Several users on one device: every transition, and every one that is refused."""

import unittest

from cases import Case, in_parallel
from deployment import JSON


class Devices(Case):
    def login_on(self, device, email=None):
        headers = {"Dossier-Device": device} if device else {}
        if email:
            return self.expect(self.login(email, headers=headers), 200).json
        return self.expect(self.post("/v1/login/anonymous", {}, headers=headers), 200).json

    def device(self, secret, method="GET", path="", body=None, **headers):
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
            self.assertNotIn("device_secret", other)
            self.assertEqual(other["device_id"], first["device_id"])
        return secret, [first, *others]

    # The states of a user on a device, and what leads from each to which

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
        # forgotten -> active: by logging in, as somebody new here.
        new = self.login_on(secret)["user_id"]
        self.assertEqual(self.states(secret), {a: "logged_out", new: "active"})

    def test_logged_out_becomes_active_by_logging_in(self):
        self.confirmed("back@example.com")
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

    def test_every_transition_that_is_refused(self):
        secret, (one, _, three) = self.three()
        stranger = self.site.login()
        for answer in [self.switch(secret, stranger["user_id"]),
                       self.leave(secret, stranger["user_id"]),
                       self.remove(secret, stranger["user_id"]), self.leave(secret, "x")]:
            self.expect(answer, 404, "not_found")
        self.expect(self.leave(secret, one["user_id"]), 200)
        self.expect(self.switch(secret, one["user_id"]), 409, "not_logged_in")
        self.expect(self.switch(secret, "x"), 422, "invalid")
        # Another device's proof does not reach this one's users.
        other = stranger["device_secret"]
        self.expect(self.switch(other, three["user_id"]), 404, "not_found")
        self.assertEqual(list(self.states(other)), [stranger["user_id"]])

    def test_whatever_ends_a_session_the_next_user_is_active(self):
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

    def test_an_app_may_forbid_switching(self):
        self.site.sql("insert into apps (app_id, name, settings) values "
                      "(new_object_id(), 'strict', '{\"switching\": \"reauthenticate\"}')")
        app = {"Dossier-App": "strict"}
        one = self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200).json
        secret = one["device_secret"]
        two = self.post("/v1/login/anonymous", {}, headers={**app, "Dossier-Device": secret}).json

        def states():
            users = self.device(secret, **app).json["users"]
            return {user["user_id"]: user["state"] for user in users}

        self.assertEqual(states(), {one["user_id"]: "inactive", two["user_id"]: "active"})
        refused = self.device(secret, "PUT", "/active", {"user_id": one["user_id"]}, **app)
        self.expect(refused, 403, "switching_forbidden")
        # Nobody follows whoever leaves.
        self.expect(self.device(secret, "POST", f"/users/{two['user_id']}/logout", **app), 200)
        self.assertEqual(states(), {one["user_id"]: "inactive", two["user_id"]: "logged_out"})
        # A device, a token and a refresh token are of one app.
        self.expect(self.device(secret), 401, "device_unknown")
        self.expect(self.me(one), 401, "token_invalid")
        self.expect(self.refresh(one), 401, "refresh_token_invalid")
        self.expect(self.site.get("/v1/me", headers={"Dossier-App": "none"}), 404, "app_not_found")

    def test_a_device_knows_at_most_twenty_users(self):
        secret = self.site.login()["device_secret"]
        for _ in range(19):
            self.site.login(secret)
        full = self.post("/v1/login/anonymous", {}, headers={"Dossier-Device": secret})
        self.assertEqual(self.expect(full, 409, "device_full").json["limit"], 20)
        self.expect(self.remove(secret, next(iter(self.states(secret)))), 200)
        self.site.login(secret)

    def test_at_most_twenty_users_come_at_once(self):
        first = self.site.login()
        device = {"Dossier-Device": first["device_secret"]}
        answers = in_parallel(
            60, lambda _: self.post("/v1/login/anonymous", {}, headers=device))
        statuses = sorted(answer.status for answer in answers)
        self.assertEqual(statuses, [200] * 19 + [409] * 41)
        self.assertEqual(len(self.states(first["device_secret"])), 20)
        # Who found no room was not made.
        users = self.site.sql("select count(*) from users u where not exists "
                              "(select from device_users p where p.user_id = u.user_id) and "
                              f"u.user_id > '{first['user_id']}'")
        self.assertEqual(users, "0")

    def test_many_switch_at_once_and_one_is_active(self):
        secret, grants = self.three()
        answers = in_parallel(
            32, lambda index: self.switch(secret, grants[index % 3]["user_id"]))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(sorted(self.states(secret).values()), ["active", "inactive", "inactive"])
        # Each of the tokens that were given out is good, and none counts as stolen.
        for answer in answers[:6]:
            self.expect(self.me(answer.json), 200)
            self.expect(self.refresh(answer.json), 200)

    # A browser, which holds the device in a cookie

    def test_a_browser_holds_its_device_in_a_cookie(self):
        origin = {"Origin": "https://app.example.com"}
        refused = self.post("/v1/login/anonymous", {}, headers={"Dossier-Device": "cookie"})
        self.expect(refused, 403, "origin_forbidden")
        wish = {"Dossier-Device": "cookie", **origin}
        answer = self.expect(self.post("/v1/login/anonymous", {}, headers=wish), 200)
        self.assertEqual(
            set(answer.json), {"access_token", "token_type", "expires_in", "user_id", "device_id"})
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], origin["Origin"])
        set_cookie = answer.headers["Set-Cookie"]
        for attribute in ["__Host-dossier-device=ddv_", "HttpOnly", "Secure", "SameSite=Strict",
                          "Path=/"]:
            self.assertIn(attribute, set_cookie)
        cookie = {"Cookie": "x=1; " + set_cookie.split(";")[0]}
        # New tokens for the active user, whose session has been used by that: nothing that looks for
        # what nobody uses takes it away.
        where = f"where user_id = '{answer.json['user_id']}'"
        self.site.sql(f"update sessions set refreshed_at = now() - interval '31 days' {where}")
        token = self.expect(self.post("/v1/token/refresh", {}, headers={**cookie, **origin}), 200)
        self.assertEqual(self.site.sql(
            f"select refreshed_at > now() - interval '1 day' from sessions {where}"), "t")
        self.assertEqual(token.json["user_id"], answer.json["user_id"])
        self.expect(self.me(token.json), 200)
        listed = self.expect(self.site.get("/v1/device", headers=cookie), 200)
        self.assertEqual(len(listed.json["users"]), 1)
        # Another user on it, and back.
        second = self.post("/v1/login/anonymous", {}, headers={**cookie, **origin})
        self.assertNotIn("Set-Cookie", self.expect(second, 200).headers)
        body = {"user_id": answer.json["user_id"]}
        back = self.site.request("PUT", "/v1/device/active", body, {**JSON, **cookie, **origin})
        self.assertNotIn("refresh_token", self.expect(back, 200).json)
        # A page of another origin changes nothing, whatever the browser sends along.
        for headers in [cookie, {**cookie, "Origin": "https://evil.example.com"}]:
            for method, path, body in [
                ("POST", "/v1/token/refresh", {}), ("PUT", "/v1/device/active", body),
                ("DELETE", f"/v1/device/users/{answer.json['user_id']}", None),
                ("POST", "/v1/login/anonymous", {}),
            ]:
                refused = self.site.request(method, path, body, {**JSON, **headers})
                self.expect(refused, 403, "origin_forbidden")
                self.assertNotIn("Access-Control-Allow-Origin", refused.headers)

    def test_a_browser_asks_before_it_calls(self):
        ask = {"Access-Control-Request-Method": "PATCH", "Origin": "https://app.example.com"}
        answer = self.expect(self.site.request("OPTIONS", "/v1/me", headers=ask), 204)
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], ask["Origin"])
        self.assertIn("PATCH", answer.headers["Access-Control-Allow-Methods"])
        self.assertIn("If-Match", answer.headers["Access-Control-Allow-Headers"])
        ask["Origin"] = "https://evil.example.com"
        answer = self.expect(self.site.request("OPTIONS", "/v1/me", headers=ask), 204)
        self.assertNotIn("Access-Control-Allow-Origin", answer.headers)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(allowed_origins=["https://app.example.com"])


if __name__ == "__main__":
    unittest.main()
