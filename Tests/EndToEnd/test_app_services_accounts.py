"""Accounts by the client API of App Services: email and password, links, API keys, tokens of
issuers, several users and devices."""

import json
import time
import unittest

from app_services import PASSWORD, PREFIX, App, Services, claims
from asking import JSON
from machine import wait_until
from issuers import claims as issued
from issuers import secret_token

SECRET = b"a secret of thirty-two bytes or more"


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
        again = self.log_in()
        self.assertIs(again, user)
        self.assertEqual(self.app.device, device)

    def test_wrong_credentials(self):
        self.register()
        for email, password in [(self.email, "wrong"), ("nobody@example.test", PASSWORD),
                                (self.email, ""), ("", "")]:
            self.refused(401, "unauthorized", "InvalidPassword", self.app.log_in, "local-userpass",
                         username=email, password=password)

    def test_what_cannot_be_registered(self):
        for email, password, error in [
                ("a@example.test", "short", "password must be between 8 and 1024 characters"),
                ("a@example.test", "x" * 2_000, "password must be between 8 and 1024 characters"),
                ("a@example.test", "password1", "tried first"),
                ("", PASSWORD, "email invalid"), ("ada", PASSWORD, "email invalid")]:
            self.refused(400, error, "BadRequest", self.app.email, "register", email=email,
                         password=password)
        for body in [{}, {"email": "a@example.test"}, {"email": 1, "password": 2}]:
            self.refused(400, "is a required string", "BadRequest", self.app.email, "register",
                         **body)

    def test_confirmation(self):
        name = "shop-strict"
        self.site.add_app(name, email_confirmation_required=True)
        self.app = App(self.site, name)
        self.register()
        self.refused(401, "confirmation required", "AuthError", self.log_in)
        self.app.email("confirm/send", email=self.email)
        token = self.site.mailed(self.email, "dct", count=2)
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

    def test_without_confirmation_there_is_no_function_to_run(self):
        self.refused(400, f"cannot run confirmation for {self.email}: automatic confirmation is "
                     "enabled", "BadRequest", self.app.email, "confirm/call", email=self.email)

    def test_resets(self):
        self.register()
        user = self.log_in()
        self.assertIsNone(self.app.email("reset/send", email=self.email))
        token = self.site.mailed(self.email, "dpr")
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

    def test_mail_to_nobody_is_answered_like_mail_to_somebody(self):
        for path in ["confirm/send", "reset/send"]:
            self.assertIsNone(self.app.email(path, email="nobody@example.test"))

    def test_a_token_is_of_no_account_on_these_routes(self):
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
        # Of the anonymous session there may be a copy: by what was linked the app logs in, and goes on.
        self.refused(403, "log in again first", "AuthError", link)
        user = self.log_in()
        # Once more changes nothing.
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
        # What was refused is still free, and whole.
        other.link("local-userpass", username=self.email, password=PASSWORD)
        self.assertEqual(self.log_in().id, other.id)

    def test_a_confirmed_registration_is_linked_as_such(self):
        name = "shop-links"
        if not self.site.sql(f"select 1 from apps where name = '{name}'"):
            self.site.add_app(name, email_confirmation_required=True)
        self.app = App(self.site, name)
        user = self.anonymous()
        self.register()
        link = lambda: user.link("local-userpass", username=self.email, password=PASSWORD)
        self.refused(400, "must be confirmed first", "AuthError", link)
        self.app.email("confirm", token=self.site.mailed(self.email, "dct"), tokenId="any")
        link()
        self.assertEqual(self.log_in().id, user.id)
        me = self.site.get("/v1/me", headers={"Dossier-App": name}, token=user.access).json
        self.assertEqual((me["email"], me["email_verified"]), (self.email, True))

    def test_who_has_logged_in_is_nobody_elses_to_link(self):
        self.register()
        owner = self.log_in()
        user = self.anonymous()
        self.refused(409, "the identity belongs to another user", "InvalidParameter", user.link,
                     "local-userpass", username=self.email, password=PASSWORD)
        owner.refresh_profile()
        # Nor who was made by another door, though it never has.
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

    def test_they_are_for_the_owners_refresh_token(self):
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


class Tokens(Services):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        secret = cls.site.folder / "secret"
        secret.write_bytes(SECRET)
        for name, issuer in [("own", "https://issuer.example.com"),
                             ("google", "https://accounts.google.com"),
                             ("apple", "https://appleid.apple.com")]:
            cls.site.dossier("issuer", "add", name, "--app", cls.name, "--issuer", issuer,
                             "--audience", "app", "--secret-file", secret)

    def token(self, subject, issuer="https://issuer.example.com", **others):
        return secret_token(issued(subject, issuer, **others), SECRET)

    def test_logins(self):
        for provider, member, issuer in [
                ("custom-token", "token", "https://issuer.example.com"),
                ("oauth2-google", "id_token", "https://accounts.google.com"),
                ("oauth2-apple", "id_token", "https://appleid.apple.com")]:
            subject = f"ada-{provider}"
            user = self.app.log_in(provider, **{
                member: self.token(subject, issuer, name="Ada L", email="ada@example.test")})
            self.assertEqual(user.identities, [provider])
            self.assertEqual(user.profile["identities"][0]["id"], subject)
            self.assertEqual(user.profile["data"],
                             {"name": "Ada L", "email": "ada@example.test"})
            again = self.app.log_in(provider, **{member: self.token(subject, issuer)})
            self.assertEqual(again.id, user.id)
            access = claims(again.access)
            self.assertEqual(access["exp"] - access["iat"], 1_800)

    def test_tokens_that_are_refused(self):
        for token in ["x", "a.b.c", self.token("ada", exp=int(time.time()) - 900),
                      self.token("ada", audience="another"), self.token("ada")[:-2] + "xx",
                      self.token("ada", "https://nobody.example.com")]:
            self.refused(401, "unauthorized", "AuthError", self.app.log_in, "custom-token",
                         token=token)
        self.refused(400, "authCode", "BadRequest", self.app.log_in, "oauth2-google", authCode="x")

    def test_links(self):
        user = self.anonymous()
        user.link("custom-token", token=self.token("linked"))
        self.assertEqual(user.identities, ["anon-user", "custom-token"])
        user = self.app.log_in("custom-token", token=self.token("linked"))
        user.link("custom-token", token=self.token("linked"))
        other = self.anonymous()
        self.refused(409, "the identity belongs to another user", "InvalidParameter", other.link,
                     "custom-token", token=self.token("linked"))
        self.refused(400, "the token is refused", "AuthError", other.link, "custom-token", token="x")


class MissingClaims(Services):
    """Tokens as the SDK's own integration test sends them: aud, exp and sub, by HS256."""

    def setUp(self):
        super().setUp()
        self.secrets, self.requests = {}, 0

    def issuer(self, name, *options, issuer=None, audience=None, status=0, app=None):
        path = self.site.folder / f"secret-{name}"
        path.write_bytes(self.secrets.setdefault(name, f"a secret of {name}".encode() * 3))
        run = self.site.dossier("issuer", "add", name, "--app", app or self.app.name, "--issuer",
                                issuer or f"https://{name}.example.com", "--audience",
                                audience or self.app.name, "--secret-file", path, *options,
                                check=False)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def token(self, name, **claims):
        return secret_token({"exp": 4070908800, "sub": "my-awesome-internal-id", **claims},
                            self.secrets[name])

    def new_app(self, name):
        self.site.add_app(name, failures_per_address=10**6)
        self.app = App(self.site, name)

    def log_in(self, token):
        return self.app.log_in("custom-token", token=token)

    def logged(self, token):
        """The reason in the log for a refused token, found by the id of the request."""
        self.requests += 1
        name = f"{self.app.name}-{self.requests}"
        answer = self.site.request(
            "POST", f"{self.app.path}/auth/providers/custom-token/login", {"token": token},
            {**JSON, "X-Request-Id": name})
        self.assertEqual((answer.status, answer.json["error"]), (401, "unauthorized"))
        self.assertIn(f"co_id={name}#AuthError", answer.json["link"])

        def lines():
            return [line for line in self.site.log_lines() if line.get("request") == name]

        # A worker answers before it writes.
        wait_until(lines, what="the line of a request")
        [line] = lines()
        self.assertNotIn(token, json.dumps(line))
        self.assertNotIn("my-awesome-internal-id", json.dumps(line))
        return line["refused"]

    def test_an_issuer_may_leave_out_iss_and_aud(self):
        self.new_app("shop-missing")
        self.issuer("loose", "--allow-missing-iss")
        sdk = self.token("loose", aud="shop-missing", mySecretField="some-secret-stuff")
        user = self.log_in(sdk)
        self.assertEqual(self.log_in(sdk).id, user.id)
        # With iss it is the same user, and the import names it so.
        whole = self.token("loose", aud=["x", "shop-missing"], iss="https://loose.example.com")
        self.assertEqual(self.log_in(whole).id, user.id)
        self.assertEqual(
            self.site.sql(f"select provider from identities where user_id = '{user.id}'"),
            "jwt:https://loose.example.com")
        [listed] = self.site.dossier("issuer", "list", "--app", self.app.name, output="json")
        self.assertEqual((listed["allow_missing_iss"], listed["allow_missing_aud"]), (True, False))
        for claims, reason in [
                ({}, "it has no aud, which its issuer does not allow"),
                ({"aud": []}, "its aud is not the one"), ({"aud": None}, "its aud is neither"),
                ({"aud": "another"}, "its aud is not the one"),
                ({"aud": "shop-missing", "iss": None}, "its iss is not a string"),
                ({"aud": "shop-missing", "iss": ""}, "its iss is not one of this app's"),
                ({"aud": "shop-missing", "iss": "https://x"}, "its iss is not one of this app's"),
                ({"aud": "shop-missing", "exp": 1}, "it has expired"),
                ({"aud": "shop-missing", "sub": None}, "it is not a JWT with sub and exp")]:
            with self.subTest(claims):
                self.assertIn(reason, self.logged(self.token("loose", **claims)))
        self.new_app("shop-no-audience")
        self.issuer("open", "--allow-missing-iss", "--allow-missing-aud")
        user = self.log_in(self.token("open"))
        self.assertEqual(self.log_in(self.token("open", aud="shop-no-audience")).id, user.id)
        self.assertIn("its aud is not the one", self.logged(self.token("open", aud="another")))

    def test_it_is_off_until_it_is_asked_for(self):
        self.new_app("shop-strict-claims")
        self.issuer("strict")
        self.log_in(self.token("strict", iss="https://strict.example.com", aud=self.app.name))
        self.assertIn("it has no iss, which no issuer of this app allows",
                      self.logged(self.token("strict", aud=self.app.name)))
        self.assertIn("it has no aud", self.logged(
            self.token("strict", iss="https://strict.example.com")))

    def test_no_issuer_speaks_for_the_users_of_another(self):
        self.new_app("shop-two-issuers")
        self.issuer("first", "--allow-missing-iss")
        self.issuer("second")
        first = self.log_in(self.token("first", aud=self.app.name))
        # The secret of the second signs, and its issuer must not be guessed from the key.
        self.assertIn("its signature is not its issuer's",
                      self.logged(self.token("second", aud=self.app.name)))
        self.assertIn("its signature is not its issuer's", self.logged(
            self.token("second", aud=self.app.name, iss="https://first.example.com")))
        second = self.log_in(
            self.token("second", aud=self.app.name, iss="https://second.example.com"))
        self.assertNotEqual(first.id, second.id)
        # Two that may leave out the same claim would be told apart by nothing.
        for options in [("--allow-missing-iss",), ("--allow-missing-iss", "--allow-missing-aud")]:
            self.assertIn("would be of either", self.issuer("third", *options, status=12))
        self.issuer("third", "--allow-missing-aud")
        self.assertIn("may leave out aud", self.issuer(
            "fourth", "--allow-missing-aud", issuer="https://third.example.com", audience="y",
            status=12))
        self.issuer("fourth", issuer="https://third.example.com", audience="y")
        self.log_in(self.token("third", iss="https://third.example.com"))
        # Another app is another matter.
        self.new_app("shop-third-app")
        self.issuer("first", "--allow-missing-iss")


class Closed(Services):
    def test_ways_in_that_the_operator_closed(self):
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

    def test_who_is_blocked(self):
        self.app.email("register", email="blocked@example.test", password=PASSWORD)
        user = self.app.log_in("local-userpass", username="blocked@example.test", password=PASSWORD)
        self.site.dossier("user", "block", user.id, "--app", self.name)
        self.refused(401, "unauthorized", "InvalidPassword", self.app.log_in, "local-userpass",
                     username="blocked@example.test", password=PASSWORD)
        self.refused(401, "failed to find refresh token", "InvalidSession",
                     user.refresh_custom_data)

    def test_guesses_are_slowed_down(self):
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

    def test_an_old_refresh_token_stays_good(self):
        self.app.email("register", email="twice@example.test", password=PASSWORD)
        login = lambda app: app.log_in(
            "local-userpass", username="twice@example.test", password=PASSWORD)
        old = login(self.app).refresh
        other = login(App(self.site, self.name))
        self.assertNotEqual(other.device_id, self.app.device)
        self.app.send("POST", f"{PREFIX}/auth/session", bearer=old)

    def test_a_device_that_is_anybodys(self):
        device = self.anonymous().device_id

        def login(name):
            body = {"options": {"device": {"deviceId": name}}}
            path = f"{self.app.path}/auth/providers/anon-user/login"
            return self.app.send("POST", path, body)["device_id"]

        # What nobody was given is no device, and neither is one of another app or door.
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
        # It has room for so many; who comes then has one of its own.
        given = device
        for _ in range(30):
            given = login({"$oid": device})
        self.assertNotEqual(given, device)


if __name__ == "__main__":
    unittest.main()
