"""Sign-in by the client API of App Services that is disabled, closed, blocked or limited."""

import unittest

from app_services import PASSWORD, App, Services
from asking import JSON


class Closed(Services):
    def test_closed_providers(self):
        self.site.add_app("shop-closed", anonymous=False, password=False, jwt=False, api_key=False)
        self.app = App(self.site, "shop-closed")
        for provider, payload in [
                ("anon-user", {}), ("local-userpass", {"username": "a@b.c", "password": PASSWORD}),
                ("custom-token", {"token": "x"}), ("api-key", {"key": "x"})]:
            self.refused(404, f"authentication provider not found: '{provider}'",
                         "AuthProviderNotFound", self.app.log_in, provider, **payload)
        self.refused(404, "authentication provider not found: 'local-userpass'",
                     "AuthProviderNotFound", self.app.email, "register", email="a@b.c",
                     password=PASSWORD)

    def test_a_closed_sign_up_creates_no_users(self):
        self.site.add_app("shop-members")
        self.app, email = App(self.site, "shop-members"), "member@example.test"
        self.app.email("register", email=email, password=PASSWORD)
        other = App(self.site, "shop-members")
        guest = other.log_in("anon-user")
        self.site.set_app("shop-members", sign_up="closed")
        closed = (403, "sign-up is closed", "Forbidden")
        for name in ["new@example.test", email]:
            self.refused(*closed, self.app.email, "register", email=name, password=PASSWORD)
        self.refused(*closed, self.app.log_in, "anon-user")
        # Existing users go on.
        self.app.log_in("local-userpass", username=email, password=PASSWORD)
        guest.refresh_custom_data()

    def test_a_blocked_user(self):
        email = "blocked@example.test"
        self.app.email("register", email=email, password=PASSWORD)
        user = self.app.log_in("local-userpass", username=email, password=PASSWORD)
        self.site.dossier("user", "block", "--yes", user.id, "--app", self.name)
        self.refused(401, "unauthorized", "InvalidPassword", self.app.log_in, "local-userpass",
                     username=email, password=PASSWORD)
        self.refused(401, "failed to find refresh token", "InvalidSession",
                     user.refresh_custom_data)

    def test_wrong_passwords_are_limited(self):
        self.site.add_app("shop-slow", failures_per_identifier=3)
        self.app = App(self.site, "shop-slow")
        self.app.email("register", email="slow@example.test", password=PASSWORD)
        for _ in range(50):
            answer = self.site.request(
                "POST", f"{self.app.path}/auth/providers/local-userpass/login",
                {"username": "slow@example.test", "password": "a wrong one"}, JSON)
            if answer.status == 429:
                break
        self.assertEqual(answer.status, 429)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertGreater(int(answer.headers["Retry-After"]), 0)


if __name__ == "__main__":
    unittest.main()
