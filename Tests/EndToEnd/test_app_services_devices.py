"""Devices by the client API of App Services: several users, tabs, and copies of a session."""

import unittest

from app_services import PASSWORD, PREFIX, App, Services
from asking import JSON
from cases import in_parallel


class Devices(Services):
    def test_several_users_on_one_device(self):
        first, second, third = self.anonymous(), self.anonymous(), self.anonymous()
        for user in [first, second, third]:
            user.refresh_custom_data()
            user.refresh_profile()
        self.app.switch(first)
        self.assertIs(self.app.current, first)
        first.log_out()
        self.assertIs(self.app.current, third)
        second.refresh_custom_data()
        self.app.remove(second)
        third.refresh_profile()

    def test_an_old_refresh_token_stays_valid(self):
        self.app.email("register", email="twice@example.test", password=PASSWORD)
        login = lambda app: app.log_in(
            "local-userpass", username="twice@example.test", password=PASSWORD)
        old = login(self.app).refresh
        other = login(App(self.site, self.name))
        self.assertNotEqual(other.device_id, self.app.device)
        self.app.send("POST", f"{PREFIX}/auth/session", bearer=old)

    def test_an_unknown_device_id_gets_a_new_device(self):
        device = self.anonymous().device_id

        def login(name):
            body = {"options": {"device": {"deviceId": name}}}
            path = f"{self.app.path}/auth/providers/anon-user/login"
            return self.app.send("POST", path, body)["device_id"]

        # An id that no sign-in returned is not a device. Neither is one of another app or API.
        self.site.add_app("shop-devices")
        other = App(self.site, "shop-devices").log_in("anon-user").device_id
        proved = self.site.request("POST", "/v1/login/anonymous", {},
                                   {**JSON, "Dossier-App": self.name}).json["device_id"]
        for name in ["0" * 24, "64c" + "0" * 21, "x", 7, None, other, proved]:
            given = login({"$oid": name})
            self.assertRegex(given, "^[0-9a-f]{24}$")
            self.assertNotEqual(given, name)
        for name in [device, {"$oid": device}, {"$oid": device.upper()}]:
            self.assertEqual(login(name), device)
        # A device holds a limited number of users; the next login gets a device of its own.
        given = device
        for _ in range(30):
            given = login({"$oid": device})
        self.assertNotEqual(given, device)


class Tabs(Services):
    """Tabs of one browser share the device id. Each tab has its own tokens in memory."""

    def setUp(self):
        super().setUp()
        self.email = f"{self._testMethodName.replace('_', '-')[-40:]}@example.test"
        self.app.email("register", email=self.email, password=PASSWORD)

    def log_in(self, app=None):
        return (app or self.app).log_in("local-userpass", username=self.email, password=PASSWORD)

    def tab(self):
        app = App(self.site, self.name)
        app.device = self.app.device
        return app

    def assert_works(self, *users):
        for user in users:
            user.refresh_profile()
            user.refresh_custom_data()

    def test_a_second_login_keeps_the_first_session(self):
        first = self.log_in()
        second = self.log_in(self.tab())
        self.assertEqual((second.id, second.device_id), (first.id, first.device_id))
        self.assertNotEqual(second.refresh, first.refresh)
        self.assert_works(first, second)
        # A logout ends the session of its tab alone.
        second.log_out()
        self.assert_works(first)
        third = self.log_in(self.tab())
        first.log_out()
        self.assert_works(third)

    def test_two_concurrent_logins(self):
        self.log_in()
        for _ in range(10):
            users = in_parallel(2, lambda _: self.log_in(self.tab()))
            self.assertEqual({user.device_id for user in users}, {self.app.device})
            self.assert_works(*users)
        # Also if neither tab knows the device.
        users = in_parallel(2, lambda _: self.log_in(App(self.site, self.name)))
        self.assert_works(*users)

    def test_two_concurrent_users_of_one_device(self):
        other = f"other-{self.email}"
        self.app.email("register", email=other, password=PASSWORD)
        self.log_in()
        for _ in range(10):
            users = in_parallel(2, lambda index: self.tab().log_in(
                "local-userpass", username=[self.email, other][index], password=PASSWORD))
            self.assertEqual({user.device_id for user in users}, {self.app.device})
            self.assert_works(*users)

    def test_the_oldest_session_ends_over_the_limit(self):
        """The oldest ends, as everywhere."""
        self.site.set_app(self.name, sessions_per_user=3)
        self.addCleanup(self.site.set_app, self.name, sessions_per_user=100)
        first, *others = [self.log_in(self.tab()) for _ in range(4)]
        self.refused(401, "failed to find refresh token", "InvalidSession",
                     first.refresh_custom_data)
        self.assert_works(*others)


class Copies(Services):
    """An attacker copies an anonymous session before its user links a credential."""

    def linked(self, email):
        user = self.anonymous()
        key = self.app.send("POST", f"{PREFIX}/auth/api_keys", {"name": "later"},
                            bearer=user.refresh)["key"]
        thief = App(self.site, self.name).log_in("api-key", key=key)
        self.app.email("register", email=email, password=PASSWORD)
        user.link("local-userpass", username=email, password=PASSWORD)
        return user, key, thief

    def test_a_link_ends_all_other_sessions_and_keys(self):
        user, key, thief = self.linked("other-sessions@example.test")
        self.refused(401, "failed to find refresh token", "InvalidSession",
                     thief.refresh_custom_data)
        self.refused(401, "unauthorized", "AuthError", App(self.site, self.name).log_in, "api-key",
                     key=key)
        # The SDKs ignore new refresh tokens, so the caller's session stays.
        user.refresh_custom_data()
        user.refresh_profile()

    def test_a_copy_of_the_same_session_ends_with_the_logout(self):
        user, _, _ = self.linked("same-session@example.test")
        copy = App(self.site, self.name)
        copy.is_located = True
        renew = lambda: copy.send("POST", f"{PREFIX}/auth/session", bearer=refresh)["access_token"]
        refresh = user.refresh
        access = renew()
        # The SDKs cannot reauthenticate, so the copy may do what the user may. The guide says so.
        copy.send("POST", f"{PREFIX}/auth/api_keys", {"name": "again"}, refresh)
        # It may not do so in the native API, whose clients can reauthenticate.
        answer = self.site.request("DELETE", "/v1/me", headers={"Dossier-App": self.name},
                                   token=access)
        self.assertEqual(answer.json["code"], "reauthentication_required", answer.body)
        user.log_out()
        self.refused(401, "failed to find refresh token", "InvalidSession", renew)
        again = self.app.log_in("local-userpass", username="same-session@example.test",
                                password=PASSWORD)
        self.assertEqual(again.id, user.id)


if __name__ == "__main__":
    unittest.main()
