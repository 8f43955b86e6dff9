"""A test for each row of the recorded API of Parra: its request, and the decoding of its answer."""

import re
import time
import unittest
import uuid

from cases import Case, in_parallel
from parra import PASSWORD, Client
from parra_types import (
    APIError, NetworkError, checked_asset, checked_challenges, checked_tokens, checked_user, date,
    is_api_error, is_grant_error, optional, png, required)
from machine import wait_until
from test_parra_custom import KEY, SECRET, custom

# The record leaves out 18 and 19.
ROWS = {*range(1, 18), *range(20, 38)}


class Rows(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True, parra_code_digits=6)
        path = cls.site.folder / "secret"
        path.write_bytes(SECRET)
        cls.site.dossier(
            "issuer", "create", "back-end", f"issuer={KEY}", "audience=parra",
            "allow_missing_aud=true", f"secret=@{path}")

    def setUp(self):
        self.client = Client(self.site).launch()

    def email(self):
        return f"{uuid.uuid4().hex}@example.com"

    def signed_up(self):
        email = self.email()
        self.client.sign_up(email)
        return email

    def codes(self, email):
        return [found[0].replace(" ", "") for mail in self.site.mails(email)
                for found in [re.search(r"^\d{3} \d{3}$", mail, re.M)] if found]

    def code(self, email, count=1):
        wait_until(lambda: len(self.codes(email)) >= count, what=f"{count} codes to {email}")
        return self.codes(email)[-1]

    def path(self, suffix):
        return f"{self.client.user_path}/{suffix}"

    def not_offered(self, method, path, status=404):
        with self.assertRaises(APIError) as refused:
            self.client.call(method, path)
        self.assertEqual((refused.exception.status, refused.exception.code),
                         (status, "route_not_found"))

    def test_each_row_has_a_test(self):
        tested = set()
        for name in dir(self):
            found = re.match(r"test_row_(\d\d)(?:_to_(\d\d))?_", name)
            if found:
                tested |= set(range(int(found[1]), int(found[2] or found[1]) + 1))
        self.assertEqual(tested, ROWS)

    def test_row_01_app_info_with_and_without_a_bearer(self):
        path = f"{self.client.base}/applications/app-1/app-info?version_token="
        for token in [None, self.client.tokens["access_token"]]:
            answer = self.client.send("GET", path, token=token)
            self.assertEqual(answer.status, 200)
            optional(answer.json, version_token=str)
        info = self.client.read_info()
        [rule] = info["auth"]["database"]["password"]["rules"]
        # The SDK compiles it as a regular expression.
        self.assertTrue(re.fullmatch(rule["regular_expression"], PASSWORD))
        self.assertIsNone(re.fullmatch(rule["regular_expression"], "short"))
        self.assertEqual(info["auth"]["passwordless"]["sms"], {"otp_length": 6})

    def test_row_02_anonymous_tokens(self):
        first = checked_tokens(self.client.issue("issuers/anonymous/token", {}))
        again = checked_tokens(self.client.issue(
            "issuers/anonymous/token", {"token": first["refresh_token"]}))
        self.assertNotEqual(first["access_token"], "")
        for tokens in in_parallel(10, lambda _: self.client.issue(
                "issuers/anonymous/token", {"token": first["refresh_token"]})):
            self.client.tokens = checked_tokens(tokens)
            self.assertTrue(self.client.read_user()["is_anonymous"])
        self.assertEqual(again["token_type"], "Bearer")

    def test_row_03_guest_tokens(self):
        first = checked_tokens(self.client.issue("issuers/guest/token", {}))
        checked_tokens(self.client.issue("issuers/guest/token", {"token": first["refresh_token"]}))

    def test_row_04_challenges_by_each_name_of_an_identity(self):
        email = self.signed_up()
        for name in ["email", "username", "unknown_identity", "phone_number"]:
            body = checked_challenges(self.client.issue("challenges", {name: email}))
            self.assertEqual((body["exists"], body["type"]), (True, "email"))
            self.assertEqual(body["available_challenges"], body["supported_challenges"])

    def test_row_05_a_mailed_code(self):
        email = self.email()
        for name in ["email", "phone_number", "unknown_identity"]:
            self.assertEqual(self.client.ask_for_code(email, name)["strategy"], "email")

    def test_row_06_sign_up_answers_a_bare_user(self):
        user = checked_user(self.client.issue("signup", {
            "type": "email", "username": self.email(), "password": PASSWORD}))
        self.assertFalse(user["is_anonymous"])
        self.assertEqual(user["roles"], [])

    def test_row_07_each_grant(self):
        email = self.signed_up()
        tokens = self.client.form(grant_type="password", client_id="a", username=email,
                                  password=PASSWORD)
        refreshed = self.client.form(grant_type="refresh_token", client_id="a",
                                     refresh_token=tokens["refresh_token"])
        self.assertNotEqual(refreshed["refresh_token"], "")
        self.client.ask_for_code(email)
        self.client.form(grant_type="passwordless_otp", client_id="a", code=self.code(email))
        for grant in ["webauthn_token", "sign_in_with_apple"]:
            with self.assertRaises(APIError) as refused:
                self.client.form(grant_type=grant, client_id="a", code="x", id_token="x")
            self.assertTrue(is_grant_error(refused.exception.body))

    def test_row_08_public_key_tokens(self):
        self.signed_up()
        made = self.site.request("POST", "/v1/me/api-keys", {"name": "k"},
                                 {"Content-Type": "application/json"},
                                 self.client.tokens["access_token"])
        answer = self.client.public_token(self.client.user["id"], made.json["key"])
        self.assertEqual(answer.status, 200, answer.body)
        required(answer.json, access_token=str)

    def test_row_09_to_12_passkeys_are_refused_while_the_app_has_none(self):
        # The requests that verify have no session.
        for path, status in [("register/challenge", 403), ("register", 400),
                             ("authenticate/challenge", 403), ("authenticate", 400)]:
            with self.assertRaises(APIError) as refused:
                self.client.issue(f"webauthn/{path}", {"username": "ada@example.com"})
            self.assertEqual(refused.exception.status, status)

    def test_row_13_to_14_a_new_password(self):
        email = self.signed_up()
        for name in ["email", "unknown_identity", "username", "phone_number"]:
            count = len(self.codes(email))
            self.assertEqual(self.client.issue(
                "password/reset/challenge", {"client_id": "a", name: email}), {})
            password = f"another {name} battery"
            body = {"client_id": "a", "code": self.code(email, count + 1), "password": password}
            self.assertEqual(self.client.issue("password/reset", body), {})
            Client(self.site).launch().log_in(email, password)

    def test_row_15_log_in_is_repeatable(self):
        self.signed_up()
        first = self.client.finish_login("x")
        self.assertEqual(self.client.finish_login("x"), first)

    def test_row_16_user_info(self):
        email = self.signed_up()
        user = self.client.read_user()
        self.assertEqual((user["email"], user["identity"]), (email, email))
        self.assertEqual([one["type"] for one in user["identities"]], ["email"])

    def test_row_17_log_out_answers_new_tokens(self):
        self.signed_up()
        before = self.client.user["id"]
        self.client.log_out()
        self.assertNotEqual(self.client.user["id"], before)

    def test_row_20_a_change_answers_a_bare_user(self):
        body = {"first_name": "Ada", "last_name": None, "name": None, "properties": None}
        user = checked_user(self.client.call("PUT", self.client.user_path, body))
        self.assertEqual((user["first_name"], user["display_name"]), ("Ada", "Ada"))

    def test_row_21_a_deletion_and_the_log_out_after_it(self):
        self.signed_up()
        self.assertEqual(self.client.call("DELETE", self.client.user_path), {})
        self.client.refresh = lambda: None
        self.client.log_out()
        checked_user(self.client.user)

    def upload(self, picture):
        boundary = str(uuid.uuid4()).upper()
        form = (f"\r\n--{boundary}\r\nContent-Disposition: form-data; name=\"image\"; "
                f"filename=\"image.png\"\r\nContent-Type: image/png\r\n\r\n").encode()
        return self.client.call(
            "POST", "/users/avatar", form + picture + f"\r\n--{boundary}--\r\n".encode(),
            {"Content-Type": f"multipart/form-data; boundary={boundary}"})

    def test_row_22_an_avatar(self):
        asset = checked_asset(self.upload(png(1030, 1040)))
        self.assertLessEqual(max(asset["size"].values()), 1024)
        self.assertEqual(checked_asset(self.client.read_user()["avatar"]), asset)

    def test_row_23_no_avatar(self):
        self.upload(png(8, 8))
        self.assertEqual(self.client.call("DELETE", self.path("avatar")), {})
        self.assertIsNone(self.client.read_user()["avatar"])

    def test_row_24_to_29_properties(self):
        call, all_of = self.client.call, self.path("properties")
        self.assertEqual(call("GET", all_of), {})
        self.assertEqual(call("PUT", all_of, {"a": 1, "b": 2}), {"a": 1, "b": 2})
        self.assertEqual(call("PATCH", all_of, {"b": 3, "c": True}), {"a": 1, "b": 3, "c": True})
        self.assertEqual(call("PUT", f"{all_of}/d", {"value": "x"}),
                         {"a": 1, "b": 3, "c": True, "d": "x"})
        self.assertEqual(call("DELETE", f"{all_of}/a"), {"b": 3, "c": True, "d": "x"})
        self.assertEqual(call("DELETE", f"{all_of}/a"), {"b": 3, "c": True, "d": "x"})
        self.assertEqual(call("DELETE", all_of), {})

    def test_row_30_entitlements(self):
        self.assertEqual(self.client.call("GET", self.path("entitlements")), [])

    def test_row_31_settings_views(self):
        self.not_offered("GET", self.path("settings/views"))

    def test_row_32_a_settings_view(self):
        self.not_offered("GET", self.path("settings/views/1"))

    def test_row_33_the_value_of_a_setting(self):
        self.not_offered("PUT", self.path("settings/items/1/value"))

    def test_row_34_push_tokens(self):
        self.not_offered("POST", "/push-tokens")

    def test_row_35_analytics(self):
        self.not_offered("POST", "/sessions")

    def test_row_36_images(self):
        self.not_offered("POST", "/assets/images")

    def test_calls_of_other_services_are_refused_in_the_form_of_the_sdk(self):
        app = "applications/app-1"
        for method, paths in [
            ("GET", [f"{app}/roadmap", f"{app}/tickets", f"{app}/releases", f"{app}/releases/1",
                     f"{app}/faqs", f"{app}/paywall", f"{app}/feeds/1/items", "feed/items/1",
                     "feed/items/1/comments", "creator/updates/templates", "chat/channels",
                     "chat/channels/1", "chat/channels/1/messages"]),
            ("POST", ["tickets/1/vote", f"{app}/purchases", "feed/items/1/reactions",
                      "feed/items/1/comments", "comments/1/flag", "comments/1/reactions",
                      "creator/updates", "creator/updates/1/send", "creator/updates/1/attachments",
                      "chat/channels", "chat/channels/1/messages", "chat/channels/1/lock",
                      "chat/channels/1/unlock", "chat/channels/1/leave", "chat/messages/1/flag"]),
            ("PUT", ["comments/1"]),
            ("DELETE", ["tickets/1/vote", "feed/items/1/reactions/1", "comments/1",
                        "comments/1/reactions/1", "creator/updates/1", "chat/messages/1",
                        "chat/channels/1"]),
        ]:
            for path in paths:
                with self.subTest(method=method, path=path):
                    self.not_offered(method, f"/{path}")
        self.client.base = "/v1"
        for method, path in [("GET", "/cards"), ("POST", "/bulk/questions/answer"),
                             ("GET", "/feedback/forms/1"), ("POST", "/feedback/forms/1/submit")]:
            with self.subTest(method=method, path=path):
                self.not_offered(method, path)

    def test_row_37_an_assigned_avatar(self):
        self.not_offered("PUT", self.path("avatar"), 405)

    def test_custom_tokens(self):
        client = Client(self.site)
        client.read_info()
        client.tokens = {"access_token": custom("row")}
        checked_user(client.finish_login())
        checked_user(client.read_user())

    def test_dates_of_users(self):
        self.signed_up()
        for name in ["created_at", "updated_at"]:
            self.assertLess(abs(date(self.client.user[name]).timestamp() - time.time()), 86_400)

    def test_a_refused_refresh_has_only_the_shape_of_oauth(self):
        for path, headers, body in [
            ("token", {"Content-Type": "application/x-www-form-urlencoded"},
             "grant_type=refresh_token&client_id=a&refresh_token=x"),
            ("issuers/anonymous/token", {"Content-Type": "application/json"}, '{"token":"x"}'),
        ]:
            answer = self.site.request("POST", f"{self.client.issuer}/{path}", body, headers)
            self.assertEqual(answer.status, 400)
            self.assertTrue(is_grant_error(answer.json) and not is_api_error(answer.json))
        with self.assertRaises(NetworkError):
            self.client.issue("issuers/anonymous/token", {"token": "x"})


if __name__ == "__main__":
    unittest.main()
