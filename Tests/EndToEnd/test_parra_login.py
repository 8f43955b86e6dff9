"""The user API of Parra: the app, log-in, sign-up and tokens, by a client as strict as the SDK."""

import json
import unittest
import urllib.parse
import uuid

from asking import JSON
from cases import Case, in_parallel
from openid import claims
from parra import PASSWORD, Client
from parra_types import (
    APIError, NetworkError, SignedOut, checked_user, is_api_error, is_grant_error)

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class App(Case):
    def test_the_app_has_all_that_the_sdk_requires(self):
        info = Client(self.site).read_info()
        self.assertEqual(info["tenant"]["id"], "default")
        self.assertEqual(info["auth"]["database"]["email"], {
            "required": True, "require_verification": False, "allow_signup": True})
        self.assertIn("anonymous_auth", info["auth"]["database"])
        self.assertEqual(info["application"]["bundle_id"], "")
        self.site.create_app("chosen")
        self.site.dossier(
            "app", "set", "--app", "chosen", "parra_bundle=com.example.demo", "anonymous=false",
            "sign_up=closed", "password_min_length=12")
        info = Client(self.site, "chosen").read_info()
        self.assertEqual(info["application"]["bundle_id"], "com.example.demo")
        self.assertNotIn("anonymous_auth", info["auth"]["database"])
        self.assertFalse(info["auth"]["database"]["email"]["allow_signup"])
        [rule] = info["auth"]["database"]["password"]["rules"]
        self.assertEqual(rule["regular_expression"], "^.{12,}$")

    def test_an_app_without_anonymous_users_has_guests(self):
        self.site.create_app("guests")
        self.site.dossier("app", "set", "--app", "guests", "anonymous=false")
        client = Client(self.site, "guests").launch()
        for path in ["/auth/user-info", "/users/" + str(uuid.uuid4()) + "/properties"]:
            answer = client.send("GET", client.base + path, token=client.tokens["access_token"])
            self.assertIn(answer.status, (401, 404))
        client.refresh = lambda: None
        again = client.issue("issuers/guest/token", {"token": client.tokens["refresh_token"]})
        self.assertNotEqual(again["access_token"], "")
        with self.assertRaises(NetworkError) as refused:
            client.issue("issuers/anonymous/token", {})
        self.assertEqual(json.loads(refused.exception.body)["error"], "unauthorized_client")
        client.log_out()
        self.assertFalse(client.is_anonymous)

    def test_an_unknown_tenant_or_path_is_refused_in_the_form_of_the_sdk(self):
        for path, code in [("/v1/tenants/none/applications/a/app-info", "invalid_tenant"),
                           ("/v1/tenants/none/users/1/nowhere", "route_not_found"),
                           ("/v1/tenants/default/nowhere", "route_not_found"),
                           ("/v1/tenants", "route_not_found")]:
            with self.subTest(path=path):
                answer = self.site.get(path)
                self.assertEqual(answer.status, 404)
                self.assertTrue(is_api_error(answer.json), answer.body)
                self.assertEqual(answer.json["code"], code)

    def test_features_of_other_services_are_refused_in_the_form_of_the_sdk(self):
        client = Client(self.site).launch()
        for method, path in [
            ("POST", "/push-tokens"), ("POST", "/sessions"), ("POST", "/assets/images"),
            ("GET", f"{client.user_path}/settings/views"),
            ("PUT", f"{client.user_path}/settings/items/1/value"),
        ]:
            with self.subTest(path=path), self.assertRaises(APIError) as refused:
                client.call(method, path)
            self.assertEqual(refused.exception.code, "route_not_found")
        for grant in ["webauthn_token", "sign_in_with_apple", "client_credentials", ""]:
            with self.subTest(grant=grant), self.assertRaises(APIError) as refused:
                client.form(grant_type=grant, client_id="app-1", code="x")
            self.assertEqual(refused.exception.body["error"], "unsupported_grant_type")

    def test_nginx_refuses_in_the_form_of_the_sdk(self):
        answer = self.site.request("POST", "/auth/token", "x" * (1 << 21), FORM)
        self.assertEqual(answer.status, 413)
        self.assertTrue(is_api_error(answer.json) and is_grant_error(answer.json), answer.body)
        answer = self.site.request("PUT", "/v1/tenants/default/x", "x" * (1 << 21), JSON)
        self.assertTrue(answer.status == 413 and is_api_error(answer.json), answer.body)


class Story(Case):
    def test_the_minimum_flow(self):
        client = Client(self.site).launch()
        anonymous = client.user
        for path, empty in [("properties", {}), ("entitlements", [])]:
            self.assertEqual(client.call("GET", f"{client.user_path}/{path}"), empty)
        self.assertEqual([one["type"] for one in anonymous["identities"]], ["anonymous"])
        self.assertFalse(client.challenges("ada@example.com")["exists"])

        client.sign_up("ada@example.com")
        self.assertFalse(client.user["is_anonymous"])
        self.assertTrue(client.user["has_password"])
        self.assertEqual(client.user["id"], anonymous["id"])
        self.assertEqual(client.user["email"], "ada@example.com")
        self.assertEqual(client.read_user(), client.user)

        client.log_out()
        self.assertTrue(client.is_anonymous)
        self.assertNotEqual(client.user["id"], anonymous["id"])

        known = client.challenges("ada@example.com")
        self.assertTrue(known["exists"])
        self.assertEqual(known["available_challenges"], [{"id": "password"}])
        client.log_in("ada@example.com")
        self.assertEqual(client.user["id"], anonymous["id"])

        with_native = self.expect(self.login("ada@example.com", PASSWORD), 200).json
        digits = client.user["id"].replace("-", "")
        self.assertEqual(digits[:12] + digits[20:], with_native["user_id"])

    def test_ten_refreshes_with_one_token_all_succeed(self):
        client = Client(self.site).launch()
        client.sign_up("ten@example.com")
        token = client.tokens["refresh_token"]

        def refreshed():
            return client.form(grant_type="refresh_token", client_id="app-1", refresh_token=token)

        for tokens in in_parallel(10, lambda _: refreshed()):
            client.tokens = tokens
            self.assertEqual(client.read_user()["email"], "ten@example.com")
        client.tokens = refreshed()
        client.refresh()
        self.assertEqual(client.read_user()["email"], "ten@example.com")

    def test_an_anonymous_user_keeps_its_first_refresh_token(self):
        client = Client(self.site).launch()
        user = client.user
        for _ in range(3):
            client.refresh()
            self.assertEqual(client.read_user()["id"], user["id"])

    def test_a_refresh_after_the_logout_signs_the_sdk_out(self):
        client = Client(self.site).launch()
        client.sign_up("gone@example.com")
        token = client.tokens["refresh_token"]
        client.log_out()
        native = self.expect(self.login("gone@example.com", PASSWORD), 200).json
        services = self.post(
            "/api/client/v2.0/app/default/auth/providers/anon-user/login", {}).json
        for wrong in [token, "", "x", native["refresh_token"], native["access_token"],
                      services["refresh_token"]]:
            with self.subTest(token=wrong), self.assertRaises(SignedOut):
                client.form(grant_type="refresh_token", client_id="app-1", refresh_token=wrong)
        with self.assertRaises(NetworkError) as refused:
            client.issue("issuers/anonymous/token", {"token": token})
        self.assertEqual(json.loads(refused.exception.body)["error"], "invalid_grant")

    def test_log_in_screens_find_their_words(self):
        client = Client(self.site).launch()
        client.sign_up("words@example.com")
        for email, password in [("words@example.com", "wrong horse"), ("nobody@example.com", "x")]:
            with self.assertRaises(APIError) as refused:
                client.log_in(email, password)
            body = refused.exception.body
            self.assertEqual((refused.exception.status, body["error"]), (400, "invalid_grant"))
            self.assertTrue(is_grant_error(body), body)
            self.assertIn("invalid", body["message"])
        for email, password in [("words@example.com", PASSWORD), ("no address", PASSWORD),
                                ("short@example.com", "short")]:
            with self.subTest(email=email), self.assertRaises(APIError) as refused:
                client.sign_up(email, password)
            self.assertEqual(refused.exception.status, 400)
            self.assertIn("invalid", refused.exception.body["message"])
        with self.assertRaises(APIError) as refused:
            client.challenges("no address")
        self.assertIn("invalid", refused.exception.body["message"])
        with self.assertRaises(APIError) as refused:
            client.form(grant_type="passwordless_otp", client_id="app-1", code="123456")
        self.assertEqual(refused.exception.body["error"], "unauthorized_client")

    def test_a_token_that_cannot_be_merged_never_refuses_a_login(self):
        first = Client(self.site).launch()
        first.sign_up("first@example.com")
        merged = Client(self.site).launch()
        merged.sign_up("merged@example.com")
        for place, token in enumerate([
            "", "x", "a.b.c", first.tokens["access_token"], first.tokens["refresh_token"],
            merged.tokens["access_token"], "x" * 10_000, "é.é.é",
        ]):
            with self.subTest(token=token[:20]):
                client = Client(self.site)
                client.read_info()
                client.tokens = {"access_token": token, "refresh_token": token}
                client.sign_up(f"new{place}@example.com")
                self.assertEqual(client.user["email"], f"new{place}@example.com")
                client.log_out()
                client.tokens = {"access_token": token, "refresh_token": token}
                client.log_in(f"new{place}@example.com")
        self.assertEqual(first.read_user()["email"], "first@example.com")

    def test_with_verification_the_first_screen_reveals_no_user(self):
        self.site.create_app("careful")
        self.site.dossier("app", "set", "--app", "careful", "sign_up=verify_first")
        client = Client(self.site, "careful").launch()
        self.assertTrue(client.info["auth"]["database"]["email"]["require_verification"])
        self.assertTrue(client.challenges("careful@example.com")["exists"])
        with self.assertRaises(APIError) as refused:
            client.sign_up("careful@example.com")
        self.assertIn(refused.exception.status, [400, 403])
        self.assertTrue(client.challenges("careful@example.com")["exists"])
        self.assertFalse(client.info["auth"]["database"]["email"]["allow_signup"])
        self.assertEqual("0", self.site.sql(
            "select count(*) from users where email = 'careful@example.com'"))

    def test_tokens_of_another_tenant_are_refused(self):
        self.site.create_app("other")
        client = Client(self.site).launch()
        client.sign_up("two@example.com")
        other = Client(self.site, "other").launch()
        user = other.user["id"]
        with self.assertRaises(SignedOut):
            other.form(grant_type="refresh_token", client_id="app-1",
                       refresh_token=client.tokens["refresh_token"])
        answer = other.send("GET", f"{other.base}/auth/user-info",
                            token=client.tokens["access_token"])
        self.assertEqual(answer.status, 401)
        anonymous = other.tokens
        other.tokens = client.tokens
        other.sign_up("two@example.com")
        self.assertNotIn(other.user["id"], (client.user["id"], user))
        self.assertNotEqual(anonymous, other.tokens)

    def test_the_issuer_is_also_found_by_host(self):
        self.site.create_app("hosted")
        self.site.dossier("app", "host", "add", "--app", "hosted", "hosted.example")
        client = Client(self.site, "hosted").launch()
        client.sign_up("host@example.com")
        body = urllib.parse.urlencode({
            "grant_type": "password", "client_id": "a", "username": "host@example.com",
            "password": PASSWORD})
        here = self.site.request("POST", "/auth/token", body, {**FORM, "Host": "hosted.example"})
        self.assertEqual(here.status, 200, here.body)
        there = self.site.request("POST", "/auth/token", body, FORM)
        self.assertEqual((there.status, there.json["error"]), (400, "invalid_grant"))

    def test_an_api_key_gets_tokens_of_its_own_user_only(self):
        client = Client(self.site).launch()
        client.sign_up("key@example.com")
        made = self.site.request("POST", "/v1/me/api-keys", {"name": "k"}, JSON,
                                 client.tokens["access_token"])
        self.assertEqual(made.status, 201, made.body)
        answer = client.public_token(client.user["id"], made.json["key"])
        self.assertEqual((answer.status, list(answer.json)), (200, ["access_token"]))
        read = client.send("GET", f"{client.base}/auth/user-info",
                           token=answer.json["access_token"])
        self.assertEqual(read.json["user"]["id"], client.user["id"])
        # The SDK asks before each request. More sessions would end the user's others.
        for _ in range(3):
            again = client.public_token(client.user["id"], made.json["key"])
            self.assertEqual(claims(again.json["access_token"])["sid"],
                             claims(answer.json["access_token"])["sid"])
        other = Client(self.site).launch()
        for user, key in [(other.user["id"], made.json["key"]), (client.user["id"], "x"),
                          ("x", made.json["key"]), ("", ""), (None, made.json["key"])]:
            refused = client.public_token(user, key)
            self.assertEqual((refused.status, refused.json["error"]), (400, "invalid_grant"))

    def test_hostile_bodies_are_refused(self):
        client = Client(self.site).launch()
        for path in ["signup", "challenges", "token", "issuers/public/token"]:
            for body in ["", "{", "[]", "null", '{"username":1,"password":[]}', '"x"', "\0", "=&=",
                         "grant_type=password&grant_type=password", "grant_type=password"]:
                for headers in [JSON, FORM, {}]:
                    answer = self.site.request("POST", f"{client.issuer}/{path}", body, headers)
                    with self.subTest(path=path, body=body, headers=headers):
                        self.assertIn(answer.status, (400, 415, 422), answer.body)
                        self.assertTrue(
                            is_api_error(answer.json) or is_grant_error(answer.json), answer.body)

    def test_the_logout_of_a_deleted_user_still_answers_tokens(self):
        client = Client(self.site).launch()
        client.sign_up("deleted@example.com")
        grant = self.expect(self.login("deleted@example.com", PASSWORD), 200).json
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)
        client.refresh = lambda: None
        client.log_out()
        self.assertTrue(client.is_anonymous and checked_user(client.user)["is_anonymous"])


if __name__ == "__main__":
    unittest.main()
