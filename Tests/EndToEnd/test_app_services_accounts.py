"""Accounts by the client API of App Services: email and password, links, API keys."""

import unittest

from app_services import PASSWORD, PREFIX, App, Services
from asking import JSON


class EmailPassword(Services):
    count = 0

    def setUp(self):
        super().setUp()
        EmailPassword.count += 1
        self.email = f"ada{self.count}@example.test"

    def register(self, password=PASSWORD):
        return self.app.email("register", email=self.email, password=password)

    def log_in(self, password=PASSWORD):
        return self.app.log_in("local-userpass", username=self.email, password=password)

    def test_registering_and_logging_in(self):
        answer = self.site.request(
            "POST", f"{self.app.path}/auth/providers/local-userpass/register",
            {"password": PASSWORD, "email": self.email, "more": 1}, JSON)
        self.assertEqual((answer.status, answer.json), (201, {}))
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        user = self.log_in()
        self.assertEqual(user.identities, ["local-userpass"])
        [identity] = user.profile["identities"]
        self.assertEqual(identity["provider_data"], {"email": self.email})
        self.assertEqual(user.profile["data"], {"email": self.email})
        # Once more, with the device that was given: the same user and the same device.
        device = self.app.device
        self.assertIs(self.log_in(), user)
        self.assertEqual(self.app.device, device)

    def test_wrong_credentials(self):
        self.register()
        for email, password in [(self.email, "wrong"), ("nobody@example.test", PASSWORD),
                                (self.email, ""), ("", "")]:
            self.refused(401, "unauthorized", "InvalidPassword", self.app.log_in, "local-userpass",
                         username=email, password=password)

    def test_invalid_registrations(self):
        for email, password, error in [
                ("a@example.test", "short", "password must be between 8 and 1024 characters"),
                ("a@example.test", "x" * 2_000, "password must be between 8 and 1024 characters"),
                ("a@example.test", "password1", "too common"),
                ("", PASSWORD, "email invalid"), ("ada", PASSWORD, "email invalid")]:
            self.refused(400, error, "BadRequest", self.app.email, "register", email=email,
                         password=password)
        for body in [{}, {"email": "a@example.test"}, {"email": 1, "password": 2}]:
            self.refused(400, "is a required string", "BadRequest", self.app.email, "register",
                         **body)

    def test_confirmation(self):
        name = "shop-strict"
        self.site.add_app(name, sign_up="verify_first", app_services_registration=True)
        self.app = App(self.site, name)
        self.register()
        self.refused(401, "confirmation required", "AuthError", self.log_in)
        # A wrong password is refused like that of an unknown address.
        self.refused(401, "unauthorized", "InvalidPassword", self.log_in, "another password")
        self.app.email("confirm/send", email=self.email)
        token = self.site.mailed(self.email, "ds_verify", count=2)
        self.refused(400, "invalid token data", "BadRequest", self.app.email, "confirm",
                     token="x", tokenId="y")
        self.refused(400, "userpass token is expired or invalid", "UserpassTokenInvalid",
                     self.app.email, "confirm", token=token[:-2] + "xx", tokenId="y")
        self.assertIsNone(self.app.email("confirm", token=token, tokenId="any"))
        self.refused(400, "userpass token is expired or invalid", "UserpassTokenInvalid",
                     self.app.email, "confirm", token=token, tokenId="any")
        self.log_in()
        self.refused(400, f"cannot run confirmation for {self.email}: confirmation functions are "
                     "not offered", "BadRequest", self.app.email, "confirm/call", email=self.email)

    def test_a_confirmation_function_is_refused_with_automatic_confirmation(self):
        self.refused(400, f"cannot run confirmation for {self.email}: automatic confirmation is "
                     "enabled", "BadRequest", self.app.email, "confirm/call", email=self.email)

    def test_resets(self):
        self.register()
        user = self.log_in()
        self.assertIsNone(self.app.email("reset/send", email=self.email))
        token = self.site.mailed(self.email, "ds_reset")
        self.refused(400, "password must be between", "BadRequest", self.app.email, "reset",
                     token=token, tokenId="any", password="x")
        self.refused(400, "invalid token data", "BadRequest", self.app.email, "reset",
                     token="x", tokenId="any", password="another password")
        self.assertIsNone(self.app.email(
            "reset", token=token, tokenId="any", password="another password"))
        self.refused(400, "userpass token is expired or invalid", "UserpassTokenInvalid",
                     self.app.send, "POST",
                     f"{self.app.path}/auth/providers/local-userpass/reset",
                     {"token": token, "tokenId": "any", "password": "another password"})
        self.refused(401, "failed to find refresh token", "InvalidSession",
                     user.refresh_custom_data)
        self.refused(401, "unauthorized", "InvalidPassword", self.log_in)
        self.assertEqual(self.log_in("another password").id, user.id)
        self.refused(400, f'failed to reset password for user "{self.email}"', "BadRequest",
                     self.app.email, "reset/call", email=self.email, password="x", arguments=[])

    def test_unknown_and_known_addresses_get_the_same_response(self):
        for path in ["confirm/send", "reset/send"]:
            self.assertIsNone(self.app.email(path, email="nobody@example.test"))

    def test_email_routes_ignore_an_access_token(self):
        user = self.anonymous()
        user.access = "null"
        self.register()
        self.app.email("reset/send", email=self.email)

    def test_linking(self):
        user = self.anonymous()
        self.own(user, a=1)
        link = lambda password=PASSWORD: user.link(
            "local-userpass", username=self.email, password=password)
        self.refused(400, "the credentials are wrong", "InvalidPassword", link)
        self.register()
        self.refused(400, "the credentials are wrong", "InvalidPassword", link, "wrong password")
        link()
        self.assertEqual(user.identities, ["anon-user", "local-userpass"])
        # Once more changes nothing, in the session of the link and in a later one.
        link()
        user = self.log_in()
        link()
        self.assertEqual(user.identities, ["anon-user", "local-userpass"])
        self.assertEqual(self.log_in().id, user.id)
        self.assertEqual(user.custom_data["a"].value, 1)
        # A second address on one user, and the address of another.
        first, self.email = self.email, f"second-{self.email}"
        self.register()
        self.refused(400, "the user has an identity of this provider already", "InvalidParameter",
                     link)
        other = self.anonymous()
        self.refused(409, "the identity belongs to another user", "InvalidParameter", other.link,
                     "local-userpass", username=first, password=PASSWORD)
        self.refused(400, "anonymous credentials", "InvalidParameter", other.link, "anon-user")
        # The refused registration is still there, and can be linked by another user.
        other.link("local-userpass", username=self.email, password=PASSWORD)
        self.assertEqual(self.log_in().id, other.id)

    def test_a_link_of_a_verified_address_keeps_it_verified(self):
        name = "shop-links"
        self.site.add_app(name, sign_up="verify_first", app_services_registration=True)
        self.app = App(self.site, name)
        user = self.anonymous()
        self.register()
        link = lambda: user.link("local-userpass", username=self.email, password=PASSWORD)
        self.refused(400, "must be confirmed first", "AuthError", link)
        self.app.email("confirm", token=self.site.mailed(self.email, "ds_verify"), tokenId="any")
        link()
        self.assertEqual(self.log_in().id, user.id)
        me = self.site.get("/v1/me", headers={"Dossier-App": name}, token=user.access).json
        self.assertEqual((me["email"], me["email_verified"]), (self.email, True))

    def test_a_user_who_has_logged_in_cannot_be_linked_to_another(self):
        self.register()
        owner = self.log_in()
        user = self.anonymous()
        self.refused(409, "the identity belongs to another user", "InvalidParameter", user.link,
                     "local-userpass", username=self.email, password=PASSWORD)
        owner.refresh_profile()
        # Nor can a user who registered by /v1.
        self.email = f"made-{self.email}"
        self.expect(self.site.request(
            "POST", "/v1/register", {"email": self.email, "password": PASSWORD},
            {**JSON, "Dossier-App": self.name}), 201)
        self.refused(409, "the identity belongs to another user", "InvalidParameter", user.link,
                     "local-userpass", username=self.email, password=PASSWORD)

    def test_deleting_a_user(self):
        self.register()
        user = self.log_in()
        self.own(user, a=1)
        refresh = user.refresh
        user.delete()
        self.refused(401, "failed to find refresh token", "InvalidSession", self.app.send,
                     "POST", f"{PREFIX}/auth/session", bearer=refresh)
        self.refused(401, "unauthorized", "InvalidPassword", self.log_in)


class Keys(Services):
    path = f"{PREFIX}/auth/api_keys"

    def keys(self, user, method, rest="", body=None):
        return self.app.send(method, self.path + rest, body, bearer=user.refresh)

    def test_the_life_of_a_key(self):
        user = self.anonymous()
        self.assertEqual(self.keys(user, "GET"), [])
        made = self.keys(user, "POST", body={"name": "ci-key_1"})
        self.assertEqual(set(made), {"_id", "key", "name", "disabled"})
        self.assertRegex(made["_id"], "^[0-9a-f]{24}$")
        shown = {"_id": made["_id"], "name": "ci-key_1", "disabled": False}
        self.assertEqual(self.keys(user, "GET"), [shown])
        self.assertEqual(self.keys(user, "GET", f"/{made['_id']}"), shown)
        other = App(self.site, self.name)
        program = other.log_in("api-key", key=made["key"])
        self.assertEqual(program.id, user.id)
        self.assertIn("api-key", program.identities)
        # A session that a key opened cannot take the key away.
        for method, rest in [("PUT", "/disable"), ("DELETE", "")]:
            self.refused(403, "", "AuthError", self.keys, program, method, f"/{made['_id']}{rest}")
        self.assertIsNone(self.keys(user, "PUT", f"/{made['_id']}/disable"))
        self.assertTrue(self.keys(user, "GET", f"/{made['_id']}")["disabled"])
        self.refused(401, "unauthorized", "AuthError", other.log_in, "api-key", key=made["key"])
        self.assertIsNone(self.keys(user, "PUT", f"/{made['_id']}/enable", b""))
        other.log_in("api-key", key=made["key"])
        self.keys(user, "POST", body={"name": "second"})
        self.assertIsNone(self.keys(user, "DELETE", f"/{made['_id']}"))
        self.refused(401, "unauthorized", "AuthError", other.log_in, "api-key", key=made["key"])
        for method, rest in [("GET", ""), ("DELETE", ""), ("PUT", "/enable"), ("PUT", "/disable")]:
            for key in [made["_id"], "0" * 24, "x"]:
                self.refused(404, "API key not found", "APIKeyNotFound", self.keys, user, method,
                             f"/{key}{rest}")

    def test_names(self):
        user = self.anonymous()
        for name in ["a b", "é", "a.b", "$x"]:
            self.refused(
                400, "can only contain ASCII letters, numbers, underscores, and hyphens",
                "InvalidParameter", self.keys, user, "POST", body={"name": name})
        for body in [{}, {"name": ""}, {"name": 7}]:
            self.refused(400, "'name' is a required string", "MissingParameter", self.keys, user, "POST",
                         body=body)
        self.keys(user, "POST", body={"name": "same"})
        self.refused(409, "API key with name already exists", "APIKeyAlreadyExists", self.keys,
                     user, "POST", body={"name": "same"})

    def test_api_key_routes_require_the_refresh_token_of_the_owner(self):
        user, other = self.anonymous(), self.anonymous()
        made = self.keys(user, "POST", body={"name": "mine"})
        self.assertEqual(self.keys(other, "GET"), [])
        for method, rest in [("GET", ""), ("DELETE", ""), ("PUT", "/disable")]:
            self.refused(404, "API key not found", "APIKeyNotFound", self.keys, other, method,
                         f"/{made['_id']}{rest}")
        self.refused(401, "incorrect token type", "InvalidSession", self.app.send, "GET", self.path,
                     bearer=user.access)
        self.refused(400, "another user's", "InvalidParameter", other.link, "api-key",
                     key=made["key"])
        user.link("api-key", key=made["key"])
        for key in ["", "x", made["key"][:-2] + "xx"]:
            self.refused(401, "unauthorized", "AuthError", self.app.log_in, "api-key", key=key)


if __name__ == "__main__":
    unittest.main()
