"""Tests the API through nginx, as clients use it."""

import json
import unittest

from cases import Case, in_parallel
from asking import JSON, MERGE


class API(Case):
    # Sign-in and sign-out

    def test_the_error_of_a_query_names_the_parameter(self):
        token = self.expect(self.post("/v1/login/anonymous", {}), 200).json["access_token"]
        for path, pointers in {
            "/v1/me/sessions?limit=0": ["/limit"], "/v1/me/sessions?cursor=x": ["/cursor"],
            "/v1/me/audit?a%2Fb=1&limit=x": ["/a~1b", "/limit"],
            "/v1/me/properties?versions=1": ["/versions"], "/reference?for=x&q=y": ["/for"],
        }.items():
            with self.subTest(path):
                answer = self.expect(self.site.get(path, token=token), 422, "validation_failed")
                self.assertEqual([fault["pointer"] for fault in answer.json["errors"]], pointers)

    def test_a_profile_is_written_as_all_other_json(self):
        grant = self.expect(self.register("spaces@example.com"), 201).json
        name = {"name": 'Ada "Ü" Lovelace'}
        token = grant["access_token"]
        self.expect(self.site.request("PATCH", "/v1/me", name, MERGE, token), 200)
        me = self.me(grant)
        self.assertEqual(me.body.decode(),
                         json.dumps(me.json, separators=(",", ":"), ensure_ascii=False))

    def test_the_secret_of_a_client_is_no_token_of_a_user(self):
        secret = self.site.client("--app", "default", "scopes=read:users")["secret"]
        answer = self.expect(self.site.get("/v1/me", token=secret), 401, "token_invalid")
        self.assertIn("secret of a client", answer.json["detail"])
        self.assertNotIn("Refresh", answer.json["detail"])

    def test_browsers_find_no_error_for_an_icon(self):
        answer = self.site.get("/favicon.ico")
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "image/svg+xml"))

    def test_a_user_registers_logs_in_refreshes_and_logs_out(self):
        grant = self.expect(self.register("Ada@Example.com"), 201).json
        self.assertEqual(
            set(grant),
            {"access_token", "refresh_token", "token_type", "expires_in", "user_id", "device_id",
             "device_secret"})
        self.assertEqual((grant["token_type"], grant["expires_in"]), ("Bearer", 1800))
        login = self.site.request(
            "POST", "/v1/login/password",
            {"email": " ADA@example.com", "password": "correct horse"}, JSON)
        self.assertEqual(self.expect(login, 200).json["user_id"], grant["user_id"])
        for email, password in [("ada@example.com", "wrong horse"), ("x@example.com", "whatever")]:
            refused = self.site.request(
                "POST", "/v1/login/password", {"email": email, "password": password}, JSON)
            self.expect(refused, 401, "wrong_credentials")
        me = self.expect(self.site.get("/v1/me", token=grant["access_token"]), 200)
        self.assertEqual((me.json["email"], me.json["anonymous"]), ("Ada@Example.com", False))
        self.assertEqual(
            set(me.json),
            set("id created_at updated_at version anonymous blocked email email_verified name "
                "given_name family_name nickname phone locale zone picture".split()))
        token = grant["access_token"]
        self.expect(self.site.request("POST", "/v1/logout", token=token), 204)
        self.expect(self.site.get("/v1/me", token=token), 401, "session_ended")
        self.expect(self.site.request("POST", "/v1/logout", token=token), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        # The other session continues.
        self.expect(self.site.get("/v1/me", token=login.json["access_token"]), 200)

    def test_a_repeated_refresh_gets_the_same_token_and_a_stolen_one_ends_the_session(self):
        first = self.site.login()
        second = self.expect(self.refresh(first), 200).json
        again = self.expect(self.refresh(first), 200).json
        self.assertEqual(second["refresh_token"], again["refresh_token"])
        third = self.expect(self.refresh(second), 200).json
        self.expect(self.site.get("/v1/me", token=third["access_token"]), 200)
        self.expect(self.refresh(first), 401, "refresh_token_invalid")
        for grant in [first, second, third]:
            self.expect(self.site.get("/v1/me", token=grant["access_token"]), 401, "session_ended")
        self.expect(self.refresh(third), 401, "refresh_token_invalid")
        self.assertEqual(self.end_reasons(first), "refresh_reuse")

    def test_an_old_refresh_token_after_the_grace_period_ends_the_session(self):
        first = self.site.login()
        second = self.expect(self.refresh(first), 200).json
        self.site.sql(
            "update sessions set refreshed_at = now() - interval '31 seconds' "
            f"where user_id = '{first['user_id']}'")
        self.expect(self.refresh(first), 401, "refresh_token_invalid")
        self.expect(self.me(second), 401, "session_ended")
        self.expect(self.refresh(second), 401, "refresh_token_invalid")
        self.assertEqual(self.end_reasons(first), "refresh_reuse")

    def test_the_current_refresh_token_is_valid_after_the_grace_period(self):
        first = self.site.login()
        second = self.expect(self.refresh(first), 200).json
        self.site.sql(
            "update sessions set refreshed_at = now() - interval '31 seconds' "
            f"where user_id = '{first['user_id']}'")
        third = self.expect(self.refresh(second), 200).json
        self.assertNotEqual(third["refresh_token"], second["refresh_token"])
        # The previous token has a grace period of its own.
        again = self.expect(self.refresh(second), 200).json
        self.assertEqual(again["refresh_token"], third["refresh_token"])
        self.assertEqual(self.end_reasons(first), "")

    def end_reasons(self, grant):
        return self.site.sql(
            f"select detail ->> 'reason' from audit where user_id = '{grant['user_id']}' "
            "and action = 'session_end'")

    def test_tabs_that_refresh_concurrently_get_the_same_token(self):
        grant = self.site.login()
        answers = in_parallel(32, lambda _: self.refresh(grant))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len({answer.json["refresh_token"] for answer in answers}), 1)

    def test_an_unknown_member_hides_no_other_fault(self):
        token = self.site.login()["access_token"]
        body = {"email": "nobody", "password": "short", "extra": 1}
        for path, more in [("/v1/register", {}), ("/v1/me/identities", {"provider": "password"})]:
            refused = self.expect(self.post(path, {**body, **more}, token=token), 422, "validation_failed")
            self.assertEqual({(fault["pointer"], fault["code"]) for fault in refused.json["errors"]},
                             {("/extra", "unknown_member"), ("/email", "email"), ("/password", "length")})
        # A member of the wrong type is reported once.
        refused = self.expect(self.post("/v1/register", {"email": 1, "password": "short"}), 422)
        self.assertEqual({(fault["pointer"], fault["code"]) for fault in refused.json["errors"]},
                         {("/email", "type"), ("/password", "length")})

    def test_every_patch_route_accepts_plain_json_as_a_merge_patch(self):
        token = self.site.login()["access_token"]
        for path, patch in [("/v1/me", {"name": "Ada"}), ("/v1/me/metadata", {"theme": "dark"}),
                            ("/v1/me/custom-data", {"level": 1}), ("/v1/me/properties", {"a": 1})]:
            for headers in [JSON, MERGE]:
                answer = self.site.request("PATCH", path, patch, headers, token)
                self.assertIn(answer.status, [200, 201], answer.body)
        # Merged, not replaced.
        self.expect(self.site.request("PATCH", "/v1/me/metadata", {"b": 1}, JSON, token), 200)
        merged = self.site.get("/v1/me/metadata", token=token).json
        self.assertEqual(merged, {"theme": "dark", "b": 1})

    def test_registration_reports_every_invalid_member(self):
        answer = self.register("no address", "short")
        self.expect(answer, 422, "validation_failed")
        self.assertEqual(
            [error["pointer"] for error in answer.json["errors"]], ["/email", "/password"])
        answer = self.site.request("POST", "/v1/register", {"email": 7, "x": 1}, JSON)
        self.assertEqual(
            {(error["pointer"], error["code"]) for error in answer.json["errors"]},
            {("/x", "unknown_member"), ("/email", "type"), ("/password", "missing")})

    def test_a_blocked_user_is_refused_at_once_everywhere(self):
        grant = self.expect(self.register("blocked@example.com"), 201).json
        self.site.sql(f"update users set blocked_at = now() where user_id = '{grant['user_id']}'")
        self.expect(self.site.get("/v1/me", token=grant["access_token"]), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        login = self.site.request(
            "POST", "/v1/login/password",
            {"email": "blocked@example.com", "password": "correct horse"}, JSON)
        self.expect(login, 401, "wrong_credentials")

    # Unauthorized callers

    # Each route and each kind of caller: WireTests, in memory.

    def test_nginx_forwards_credentials(self):
        grant, key = self.site.login(), self.site.client("--operator")["secret"]
        device = {"Dossier-Device": grant["device_secret"]}
        for path, headers, token, code in [
            ("/v1/me", {}, grant["access_token"], "token_missing"),
            ("/v1/device", device, None, "device_unknown"),
            ("/v1/apps", {}, key, "client_unknown"),
        ]:
            with self.subTest(path):
                self.expect(self.site.get(path, headers=headers, token=token), 200)
                self.expect(self.site.get(path), 401, code)

    def test_an_expired_session_is_refused(self):
        grant = self.site.login()
        self.site.sql(
            "update sessions set expires_at = now() - interval '1 second' "
            f"where user_id = '{grant['user_id']}'")
        self.expect(self.site.get("/v1/me", token=grant["access_token"]), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")


if __name__ == "__main__":
    unittest.main()
