"""The secret of a device, which each login replaces."""

import functools
import time
import unittest

from cases import in_parallel
from test_devices import DeviceCase


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


class Secrets(DeviceCase):
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


if __name__ == "__main__":
    unittest.main()
