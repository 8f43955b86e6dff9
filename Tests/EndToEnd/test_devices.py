"""Tests several users on one device: every allowed and every refused transition."""

import functools
import time
import unittest

from cases import Case, in_parallel
from asking import JSON
from machine import wait_until


def within_the_grace_period(story):
    """Repeats a test of the 30 seconds in which an old secret still works.

    On a busy machine the time can pass before the end of the test.
    """
    @functools.wraps(story)
    def test(self):
        for _ in range(10):
            start = time.monotonic()
            try:
                return story(self)
            except AssertionError:
                if time.monotonic() - start < 30:
                    raise
        return self.fail("every try took too long")

    return test


class Devices(Case):
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
        self.expect(self.switch(secret, "x"), 422, "invalid")
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
        self.assertRegex(set_cookie, "^__Host-dossier-device-[0-9a-f]{24}=ds_device_")
        for attribute in ["HttpOnly", "Secure", "SameSite=Strict", "Path=/"]:
            self.assertIn(attribute, set_cookie)
        cookie = self.cookie(answer)
        # The cookie gets new tokens for the active user. The refresh counts as a use of the
        # session, so maintenance does not delete the session as unused.
        where = f"where user_id = '{answer.json['user_id']}'"
        self.site.sql(f"update sessions set refreshed_at = now() - interval '31 days' {where}")
        token = self.expect(self.post("/v1/token/refresh", {}, headers={**cookie, **origin}), 200)
        self.assertEqual(self.site.sql(
            f"select refreshed_at > now() - interval '1 day' from sessions {where}"), "t")
        self.assertEqual(token.json["user_id"], answer.json["user_id"])
        self.expect(self.me(token.json), 200)
        listed = self.expect(self.site.get("/v1/device", headers=cookie), 200)
        self.assertEqual(len(listed.json["users"]), 1)
        # Another user on it, which renews the cookie, and back.
        stale = cookie
        second = self.post("/v1/login/anonymous", {}, headers={**cookie, **origin})
        cookie = self.cookie(self.expect(second, 200))
        self.assertNotEqual(cookie, stale)
        body = {"user_id": answer.json["user_id"]}
        back = self.site.request("PUT", "/v1/device/active", body, {**JSON, **cookie, **origin})
        self.assertNotIn("refresh_token", self.expect(back, 200).json)
        # A page of another origin changes nothing, even if the browser sends the cookie.
        for headers in [cookie, {**cookie, "Origin": "https://evil.example.com"}]:
            for method, path, body in [
                ("POST", "/v1/token/refresh", {}), ("PUT", "/v1/device/active", body),
                ("DELETE", f"/v1/device/users/{answer.json['user_id']}", None),
                ("POST", "/v1/login/anonymous", {}),
            ]:
                refused = self.site.request(method, path, body, {**JSON, **headers})
                self.expect(refused, 403, "origin_forbidden")
                self.assertNotIn("Access-Control-Allow-Origin", refused.headers)

    def test_apps_on_one_host_have_separate_cookies(self):
        origin = {"Origin": "https://app.example.com"}
        other = self.site.add_app("beside", allowed_origins=["https://app.example.com"])
        kept, devices = {}, []

        def ask(path, headers, cookies=None):
            """Sends a request as a browser does, with all cookies of the host; keeps the cookies it gets."""
            sent = "; ".join(f"{name}={value}" for name, value in (cookies or kept).items())
            cookie = {"Cookie": sent} if sent else {}
            answer = self.expect(self.post(path, {}, headers={**headers, **origin, **cookie}), 200)
            if "Set-Cookie" in answer.headers:
                name, _, value = answer.headers["Set-Cookie"].split(";")[0].partition("=")
                kept[name] = value
            return answer.json

        for app in [{}, other]:
            grant = ask("/v1/login/anonymous", {**app, "Dossier-Device": "cookie"})
            devices.append((app, grant["user_id"], grant["device_id"]))
        self.assertEqual(len(kept), 2)
        for app, user, device in devices:
            token = ask("/v1/token/refresh", app)
            self.assertEqual((token["user_id"], token["device_id"]), (user, device))
        # An older cookie, whose name has no app, is valid until a login replaces it.
        secret = self.site.login()["device_secret"]
        former = {"__Host-dossier-device": secret}
        device = ask("/v1/token/refresh", {}, former)["device_id"]
        kept.clear()
        self.assertEqual(ask("/v1/login/anonymous", {}, former)["device_id"], device)
        self.assertEqual(ask("/v1/token/refresh", {}, {**former, **kept})["device_id"], device)

    def test_two_pages_of_a_browser_keep_two_users(self):
        origin = {"Origin": "https://app.example.com"}
        wish = {"Dossier-Device": "cookie", **origin}
        first = self.expect(self.post("/v1/login/anonymous", {}, headers=wish), 200)
        headers = {**self.cookie(first), **origin}
        second = self.expect(self.post("/v1/login/anonymous", {}, headers=headers), 200)
        headers = {**self.cookie(second), **origin}
        one, two = first.json["user_id"], second.json["user_id"]

        def refresh(body):
            return self.post("/v1/token/refresh", body, headers=headers)

        for body, user in [({"user_id": one}, one), ({"user_id": two}, two), ({}, two)]:
            token = self.expect(refresh(body), 200).json
            self.assertEqual((token["user_id"], self.me(token).json["id"]), (user, user))
        # The refreshes did not change the active user.
        users = self.expect(self.site.get("/v1/device", headers=headers), 200).json["users"]
        self.assertEqual([(user["user_id"], user["state"]) for user in users],
                         [(two, "active"), (one, "inactive")])
        stranger = self.site.login()["user_id"]
        self.expect(refresh({"user_id": stranger}), 401, "session_ended")
        self.expect(refresh({"user_id": "x"}), 422, "invalid")
        # If switching requires a login, a `user_id` does not avoid it.
        self.site.set_app(switching="reauthenticate")
        self.addCleanup(self.site.set_app, switching="allow")
        self.expect(refresh({"user_id": one}), 401, "session_ended")
        self.expect(refresh({"user_id": two}), 200)
        # A request without a credential gets the same error as one with an invalid token.
        self.expect(self.post("/v1/token/refresh", {}), 401, "refresh_token_invalid")

    def test_an_app_sets_same_site_of_the_device_cookie(self):
        wish = {"Dossier-Device": "cookie", "Origin": "https://app.example.com"}
        self.addCleanup(self.site.set_app, device_cookie_same_site="strict")
        for choice, attributes in [("strict", "SameSite=Strict"), ("lax", "SameSite=Lax"),
                                   ("none", "SameSite=None; Partitioned")]:
            self.site.set_app(device_cookie_same_site=choice)
            answer = self.expect(self.post("/v1/login/anonymous", {}, headers=wish), 200)
            self.assertTrue(answer.headers["Set-Cookie"].endswith("; Secure; " + attributes))
            # With each choice, the page's origin must be an allowed one.
            evil = {**self.cookie(answer), "Origin": "https://evil.example.com"}
            self.expect(self.post("/v1/token/refresh", {}, headers=evil), 403, "origin_forbidden")

    def test_a_device_header_overrides_the_cookie(self):
        origin = {"Origin": "https://app.example.com"}
        cookie = self.cookie(self.expect(self.post(
            "/v1/login/anonymous", {}, headers={"Dossier-Device": "cookie", **origin}), 200))
        grant = self.site.login()
        own = {"Dossier-Device": grant["device_secret"], **cookie, **origin}
        answer = self.expect(self.post("/v1/login/anonymous", {}, headers=own), 200)
        self.assertNotIn("Set-Cookie", answer.headers)
        self.assertIn("refresh_token", answer.json)
        self.assertEqual(answer.json["device_id"], grant["device_id"])

    @staticmethod
    def cookie(answer):
        return {"Cookie": "x=1; " + answer.headers["Set-Cookie"].split(";")[0]}

    def test_a_browser_with_an_invalid_cookie_becomes_a_new_device(self):
        origin = {"Origin": "https://app.example.com"}
        wish = {"Dossier-Device": "cookie", **origin}
        first = self.post("/v1/login/anonymous", {}, headers=wish)
        stale = self.cookie(self.expect(first, 200))
        self.post("/v1/login/anonymous", {}, headers={**stale, **origin})
        self.end_the_grace_period(first.json["device_id"])
        # As when the answer of the last login was lost, or its cookie was copied before.
        for headers in [stale, {**stale, "Dossier-Device": "cookie"}]:
            refused = self.post("/v1/token/refresh", {}, headers={**headers, **origin})
            self.expect(refused, 401, "device_unknown")
            again = self.post("/v1/login/anonymous", {}, headers={**headers, **origin})
            self.assertNotEqual(self.expect(again, 200).json["device_id"],
                                first.json["device_id"])
            users = self.expect(self.site.get("/v1/device", headers=self.cookie(again)), 200)
            self.assertEqual([user["user_id"] for user in users.json["users"]],
                             [again.json["user_id"]])

    # The secret, which each login replaces

    def end_the_grace_period(self, device):
        """Ends the time in which the previous secret still works."""
        self.site.sql("update devices set replaced_at = replaced_at - interval '31 seconds' "
                      f"where device_id = '{device}'")

    @within_the_grace_period
    def test_a_secret_copied_before_a_login_does_not_reach_the_new_user(self):
        before = self.site.login()
        copied, device = before["device_secret"], before["device_id"]
        victim = self.login_on(copied)
        newest = self.newest(copied)
        self.assertNotEqual(newest, copied)
        self.assertEqual(victim["device_id"], device)
        # For a short time, it still works for earlier users, who may have requests in progress.
        users = self.expect(self.shown(copied), 200).json["users"]
        self.assertEqual([user["user_id"] for user in users], [before["user_id"]])
        mine, theirs = {"user_id": before["user_id"]}, {"user_id": victim["user_id"]}
        self.expect(self.shown(copied, "PUT", "/active", theirs), 404, "not_found")
        path = f"/users/{victim['user_id']}"
        self.expect(self.shown(copied, "POST", f"{path}/logout"), 404, "not_found")
        self.expect(self.shown(copied, "DELETE", path), 404, "not_found")
        cookie = {"Cookie": f"__Host-dossier-device={copied}",
                  "Origin": "https://app.example.com"}
        self.expect(self.post("/v1/token/refresh", {}, headers=cookie), 401, "session_ended")
        # A login with it creates a new device.
        second = self.post("/v1/login/anonymous", {}, headers={"Dossier-Device": copied})
        self.assertNotEqual(self.expect(second, 200).json["device_id"], device)
        second = self.post("/v1/login/anonymous", {}, headers=cookie)
        self.assertNotEqual(self.expect(second, 200).json["device_id"], device)
        self.assertIn("Set-Cookie", second.headers)
        self.expect(self.shown(copied, "PUT", "/active", theirs), 404, "not_found")
        self.assertEqual(len(self.expect(self.shown(newest), 200).json["users"]), 2)
        self.end_the_grace_period(device)
        for answer in [
            self.shown(copied), self.shown(copied, "PUT", "/active", mine),
            self.shown(copied, "POST", f"/users/{before['user_id']}/logout"),
            self.shown(copied, "DELETE", f"/users/{before['user_id']}"),
            self.post("/v1/login/anonymous", {}, headers={"Dossier-Device": copied}),
            self.post("/v1/token/refresh", {}, headers=cookie),
        ]:
            self.expect(answer, 401, "device_unknown")
        self.expect(self.shown(newest, "PUT", "/active", theirs), 200)

    @within_the_grace_period
    def test_the_previous_secret_is_valid_until_the_next_login(self):
        first = self.site.login()
        self.login_on(first["device_secret"])
        self.expect(self.shown(first["device_secret"]), 200)
        self.login_on(first["device_secret"])
        self.expect(self.shown(first["device_secret"]), 401, "device_unknown")

    def test_every_login_method_rotates_the_secret(self):
        grant = self.verified("renews@example.com")
        key = self.expect(self.post("/v1/me/api-keys", {"name": "cron"},
                                    token=grant["access_token"]), 201).json["key"]
        secrets = [grant["device_secret"]]
        for path, body in [
            ("/v1/login/password", {"email": "renews@example.com", "password": "correct horse"}),
            ("/v1/register", {"email": "another@example.com", "password": "correct horse"}),
            ("/v1/login/api-key", {"key": key}), ("/v1/login/anonymous", {}),
        ]:
            with self.subTest(path=path):
                answer = self.post(path, body, headers={"Dossier-Device": secrets[-1]})
                self.assertIn(answer.status, (200, 201), answer.body)
                self.assertEqual(answer.json["device_id"], grant["device_id"])
                secrets.append(answer.json["device_secret"])
                self.expect(self.shown(secrets[-1]), 200)
        self.assertEqual(len(set(secrets)), len(secrets))
        # Neither a switch nor a refresh is a login.
        switch = self.shown(secrets[-1], "PUT", "/active", {"user_id": grant["user_id"]})
        self.assertNotIn("device_secret", self.expect(switch, 200).json)
        self.assertNotIn("device_secret", self.expect(self.refresh(switch.json), 200).json)

    @within_the_grace_period
    def test_a_login_with_a_copied_secret_does_not_reach_the_next_user(self):
        grant = self.verified("shared-browser@example.com")
        copied = grant["device_secret"]
        thief = self.expect(
            self.post("/v1/login/anonymous", {}, headers={"Dossier-Device": copied}), 200).json
        self.assertEqual(thief["device_id"], grant["device_id"])
        cookie = {"Cookie": f"__Host-dossier-device={copied}", "Origin": "https://app.example.com"}
        for shown in [{"Dossier-Device": copied}, cookie]:
            victim = self.expect(self.login("shared-browser@example.com", headers=shown), 200)
            self.assertNotEqual(victim.json["device_id"], thief["device_id"])
        for user in self.expect(self.shown(thief["device_secret"]), 200).json["users"]:
            if user["user_id"] == victim.json["user_id"]:
                # The earlier session of the victim, which the thief had copied.
                self.assertNotEqual(user["state"], "active")
        own = self.login("shared-browser@example.com")
        self.expect(self.shown(own.json["device_secret"]), 200)

    def test_one_of_concurrent_logins_keeps_the_device(self):
        first = self.site.login()
        device = {"Dossier-Device": first["device_secret"]}
        answers = in_parallel(
            12, lambda _: self.post("/v1/login/anonymous", {}, headers=device))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len({answer.json["device_secret"] for answer in answers}), 12)
        newest, = [answer.json["device_secret"] for answer in answers
                   if answer.json["device_id"] == first["device_id"]]
        self.assertEqual(len(self.expect(self.shown(newest), 200).json["users"]), 2)
        self.end_the_grace_period(first["device_id"])
        self.expect(self.shown(first["device_secret"]), 401, "device_unknown")
        self.expect(self.shown(newest), 200)

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

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(allowed_origins=["https://app.example.com"])

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


class Preflights(Case):
    # The seconds for which app settings are cached.
    SETTINGS = {"DOSSIER_APP_CACHE_TTL_MS": "1"}

    def test_a_preflight_succeeds_after_its_origin_is_added(self):
        ask = {"Access-Control-Request-Method": "PATCH", "Origin": "https://new.example.com"}

        def allowed():
            answer = self.expect(self.site.request("OPTIONS", "/v1/me", headers=ask), 204)
            return answer.headers["Access-Control-Allow-Origin"]

        # From both workers.
        self.assertEqual({allowed() for _ in range(8)}, {None})
        self.site.set_app(allowed_origins=[ask["Origin"]])
        # From here on, only preflights are sent.
        wait_until(lambda: {allowed() for _ in range(8)} == {ask["Origin"]}, what="permission")
        self.site.set_app(allowed_origins=[])
        wait_until(lambda: {allowed() for _ in range(8)} == {None}, what="its end")


if __name__ == "__main__":
    unittest.main()
