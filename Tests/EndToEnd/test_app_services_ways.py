"""Credentials by the client API of App Services: the last API key, links, providers without an
issuer."""

import unittest

from app_services import PASSWORD, PREFIX, App, Recording, Services
from asking import JSON
from issuers import claims as issued
from issuers import secret_token

SECRET = b"a secret of thirty-two bytes or more"


class Keys(Recording):
    path_of_keys = f"{PREFIX}/auth/api_keys"

    def key(self, token, name="only"):
        return self.ask("POST", self.path_of_keys, {"name": name}, JSON, token).json

    def test_the_only_key_of_an_anonymous_user(self):
        user = self.anonymous()
        self.own(user, a=1)
        for _ in range(2):
            made = self.key(user.refresh)
            user.refresh_profile()
            self.assertEqual(user.identities, ["anon-user", "api-key"])
            path = f"{self.path_of_keys}/{made['_id']}"
            self.assertAnswer(self.ask("DELETE", path, token=user.refresh), 204, None)
            self.refused(401, "unauthorized", "AuthError", App(self.site, self.name).log_in,
                         "api-key", key=made["key"])
            # It is unchanged.
            user.refresh_profile()
            self.assertEqual(user.identities, ["anon-user"])
            me = self.site.get("/v1/me", headers={"Dossier-App": self.name}, token=user.access)
            self.assertTrue(me.json["anonymous"])
            self.assertEqual(user.refresh_custom_data()["a"].value, 1)
        self.app.email("register", email="came@example.test", password=PASSWORD)
        user.link("local-userpass", username="came@example.test", password=PASSWORD)
        self.assertEqual(user.identities, ["anon-user", "local-userpass"])

    def test_the_api_key_that_created_the_session(self):
        user = self.anonymous()
        made = self.key(user.refresh)
        program = App(self.site, self.name).log_in("api-key", key=made["key"])
        path = f"{self.path_of_keys}/{made['_id']}"
        self.assertAnswer(self.ask("DELETE", path, token=program.refresh), 403,
                          {"error": "not allowed", "error_code": "AuthError"})
        other = self.key(program.refresh, "other")
        self.assertAnswer(self.ask("DELETE", f"{self.path_of_keys}/{other['_id']}",
                                   token=program.refresh), 204, None)
        self.assertAnswer(self.ask("DELETE", path, token=user.refresh), 204, None)
        self.refused(401, "failed to find refresh token", "InvalidSession",
                     program.refresh_custom_data)

    def test_an_app_without_keys(self):
        self.site.add_app("shop-keyless", api_key=False)
        self.app = App(self.site, "shop-keyless")
        user = self.anonymous()
        answer = self.ask("POST", self.path_of_keys, {"name": "x"}, JSON, user.refresh)
        self.assertAnswer(answer, 404, {
            "error": "authentication provider not found: 'api-key'",
            "error_code": "AuthProviderNotFound"})

    def test_a_repeated_link_does_not_count_as_a_failure(self):
        user, email = self.anonymous(), "again@example.test"
        self.app.email("register", email=email, password=PASSWORD)
        user.link("local-userpass", username=email, password=PASSWORD)
        user = self.app.log_in("local-userpass", username=email, password=PASSWORD)
        # More often than the limit of guesses.
        for _ in range(12):
            user.link("local-userpass", username=email, password=PASSWORD)

    def test_links_that_are_refused(self):
        user = self.anonymous()
        made = self.key(user.refresh)
        self.ask("PUT", f"{self.path_of_keys}/{made['_id']}/disable", token=user.refresh)
        self.refused(400, "the credentials are wrong", "AuthError", user.link, "api-key",
                     key=made["key"])
        self.app.email("register", email="barred@example.test", password=PASSWORD)
        barred = App(self.site, self.name).log_in(
            "local-userpass", username="barred@example.test", password=PASSWORD)
        self.site.dossier("user", "block", "--yes", barred.id, "--app", self.name)
        self.refused(400, "the credentials are wrong", "InvalidPassword", user.link,
                     "local-userpass", username="barred@example.test", password=PASSWORD)


class Issuers(Services):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        secret = cls.site.folder / "secret"
        secret.write_bytes(SECRET)
        cls.site.add_app("shop-google")
        for app, name, issuer in [
                (cls.name, "own", "https://issuer.example.com"),
                (cls.name, "google", "https://accounts.google.com"),
                ("shop-google", "google", "https://accounts.google.com")]:
            cls.site.dossier(
                "issuer", "create", name, "--app", app, f"issuer={issuer}", "audience=app",
                f"secret=@{secret}")

    def token(self, subject, issuer, **others):
        return secret_token(issued(subject, issuer, **others), SECRET)

    def test_each_provider_accepts_only_its_own_tokens(self):
        own = self.token("ada", "https://issuer.example.com")
        google = self.token("ada", "https://accounts.google.com")
        for provider, payload in [("custom-token", {"token": google}),
                                  ("oauth2-google", {"id_token": own})]:
            self.refused(401, "unauthorized", "AuthError", self.app.log_in, provider, **payload)
            user = self.anonymous()
            self.refused(400, "the token is refused", "AuthError", user.link, provider, **payload)
            user.refresh_profile()
            self.assertEqual(user.identities, ["anon-user"])
        self.assertEqual(self.app.log_in("custom-token", token=own).identities, ["custom-token"])
        self.assertEqual(self.app.log_in("oauth2-google", id_token=google).identities,
                         ["oauth2-google"])
        self.refused(404, "authentication provider not found: 'oauth2-apple'",
                     "AuthProviderNotFound", self.app.log_in, "oauth2-apple", id_token=google)

    def test_an_app_without_the_providers_issuer(self):
        self.site.add_app("shop-tokenless")
        for name, providers in [
                ("shop-tokenless", {"custom-token": 404, "oauth2-google": 404, "oauth2-apple": 404}),
                ("shop-google", {"custom-token": 404, "oauth2-google": 401, "oauth2-apple": 404})]:
            self.app = App(self.site, name)
            for provider, status in providers.items():
                member = "token" if provider == "custom-token" else "id_token"
                error, code = (
                    (f"authentication provider not found: '{provider}'", "AuthProviderNotFound")
                    if status == 404 else ("unauthorized", "AuthError"))
                self.refused(status, error, code, self.app.log_in, provider, **{member: "x"})

    def test_the_data_are_those_of_the_last_login_and_the_profile_that_of_the_first(self):
        issuer = "https://issuer.example.com"
        first = self.app.log_in("custom-token", token=self.token("meta", issuer, name="Ada"))
        self.assertEqual(first.profile["data"], {"name": "Ada"})
        again = self.app.log_in("custom-token", token=self.token("meta", issuer, name="Grace"))
        self.assertEqual((again.id, again.profile["data"]), (first.id, {"name": "Grace"}))
        own = self.site.get("/v1/me", token=again.access, headers={"Dossier-App": self.name})
        self.assertEqual(self.expect(own, 200).json["name"], "Ada")


if __name__ == "__main__":
    unittest.main()
