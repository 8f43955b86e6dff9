"""A browser holds its device in a cookie."""

import unittest

from asking import JSON
from cases import Case
from machine import wait_until
from test_devices import DeviceCase


class Cookies(DeviceCase):
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
        self.expect(refresh({"user_id": "x"}), 422, "validation_failed")
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
