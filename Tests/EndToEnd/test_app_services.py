"""The client API of App Services, by a client that is as strict as the published SDKs."""

import base64
import unittest

from app_services import COLLECTION, PASSWORD, PREFIX, App, Recording, Services, claims
from asking import JSON, MERGE
from extended_json import int32, int64
from machine import wait_until


class Story(Services):
    def test_a_shop_uses_the_sdk(self):
        user = self.anonymous()
        self.assertEqual(user.custom_data, {})
        made = user.call("insertOne", document={"userId": user.id, "favoriteColor": "blue"})
        self.assertRegex(made["insertedId"]["$oid"], "^[0-9a-f]{24}$")
        self.assertEqual(user.custom_data, {})
        self.assertEqual(user.refresh_custom_data()["favoriteColor"], "blue")
        self.assertEqual(user.call("findOne", query={"userId": user.id}), {
            "_id": made["insertedId"], "userId": user.id, "favoriteColor": "blue"})
        self.assertEqual(
            user.call("updateOne", query={"userId": user.id},
                      update={"$set": {"favoriteColor": "green"}}),
            {"matchedCount": int32(1), "modifiedCount": int32(1)})
        self.assertEqual(user.custom_data["favoriteColor"], "blue")
        user.refresh_profile()
        self.assertEqual(user.custom_data["favoriteColor"], "blue")
        self.assertEqual(user.refresh_custom_data()["favoriteColor"], "green")

        self.app.email("register", email="ada@example.test", password=PASSWORD)
        user.link("local-userpass", username="ada@example.test", password=PASSWORD)
        self.assertEqual(user.identities, ["anon-user", "local-userpass"])
        self.assertEqual(user.profile["data"]["email"], "ada@example.test")
        self.assertEqual(user.custom_data["favoriteColor"], "green")

        second = self.anonymous()
        self.assertNotEqual(second.id, user.id)
        self.assertEqual(second.custom_data, {})
        self.assertIs(self.app.current, second)
        self.app.switch(user)
        self.assertEqual(user.call("count", query={}), int64(1))
        self.assertEqual(second.call("count", query={}), int64(0))
        old = user.access
        user.log_out()
        self.assertIs(self.app.current, second)
        self.refused(401, "invalid session", "InvalidSession", self.app.send, "GET",
                     f"{PREFIX}/auth/profile", bearer=old)
        self.app.remove(user)
        again = self.app.log_in("local-userpass", username="ada@example.test", password=PASSWORD)
        self.assertEqual(again.id, user.id)
        self.assertEqual(again.custom_data["favoriteColor"], "green")
        self.app.remove(second)
        self.assertEqual(self.app.users, [again])

    def test_a_base_url_that_ends_in_a_slash(self):
        self.app = App(self.site, self.name, slash=True)
        self.assertEqual(self.anonymous().call("find", query={}), [])


class Recorded(Recording):
    def test_location(self):
        host = f"127.0.0.1:{self.site.port}"
        self.assertAnswer(self.ask("GET", self.path("/location")), 200, {
            "deployment_model": "GLOBAL", "location": "US-VA", "hostname": f"http://{host}",
            "ws_hostname": f"ws://{host}"})
        # The answer repeats the client's Host, not the server's own name.
        asked = self.ask("GET", self.path("/location"), headers={"Host": "data.example.test:81"})
        self.assertEqual(asked.json["hostname"], "http://data.example.test:81")
        # Malformed hosts are not repeated.
        for host in ["a b", "x/y", "u@h", "\"", "a?b"]:
            told = self.ask("GET", self.path("/location"), headers={"Host": host})
            if told.status == 200:
                self.assertRegex(told.json["hostname"], r"^https?://[\w.:-]+$")

    def test_an_unknown_app(self):
        for method, rest in [("GET", "/location"), ("POST", "/auth/providers/anon-user/login"),
                             ("POST", "/auth/providers/local-userpass/register")]:
            answer = self.ask(method, f"{PREFIX}/app/shop-nobody{rest}", {} if method == "POST"
                              else None, JSON if method == "POST" else None)
            self.assertAnswer(answer, 404, {
                "error": "cannot find app using Client App ID 'shop-nobody'",
                "error_code": "AppNotFound"})

    def test_anonymous_login_accepts_the_body_of_every_client(self):
        path = self.path("/auth/providers/anon-user/login")
        core = {**JSON, "Content-Type": "application/json;charset=utf-8"}
        device = {"platform": "node", "platformVersion": "20", "sdkVersion": "2.0.1"}
        for body, headers in [
                (None, None), (b"", JSON), (b"", core), ({"provider": "anon-user"}, core),
                ({"options": {"device": device}}, JSON), ({"options": {"device": device}}, {}),
                ({"options": {"device": {**device, "deviceId": {"$oid": "64c" + "0" * 21}}}}, JSON),
                ({"options": {"device": {**device, "deviceId": None}}}, JSON),
                ({"options": 7, "more": [1]}, JSON)]:
            answer = self.ask("POST", path, body, headers)
            self.assertEqual(answer.status, 200, (body, answer.body))
            self.assertEqual(answer.headers["Content-Type"], "application/json")
            self.assertEqual(
                set(answer.json), {"access_token", "refresh_token", "user_id", "device_id"})

    def test_the_claims_of_the_tokens(self):
        grant = self.login()
        access, refresh = claims(grant["access_token"]), claims(grant["refresh_token"])
        self.assertEqual(access["typ"], "access")
        self.assertEqual(refresh["typ"], "refresh")
        self.assertEqual(access["exp"] - access["iat"], 1_800)
        self.assertGreater(refresh["exp"] - refresh["iat"], 49 * 365 * 86_400)
        for token in [access, refresh]:
            self.assertEqual(token["sub"], grant["user_id"])
            self.assertEqual(token["baas_device_id"], grant["device_id"])
            self.assertEqual(token["stitch_devId"], grant["device_id"])
            self.assertEqual(token["baas_domain_id"], token["stitch_domainId"])
            self.assertRegex(token["baas_domain_id"], "^[0-9a-f]{24}$")
        self.assertNotIn("user_data", access)
        self.assertNotIn("email", access)

    def test_profile(self):
        grant = self.login()
        answer = self.ask("GET", f"{PREFIX}/auth/profile", token=grant["access_token"])
        [identity] = answer.json["identities"]
        app = claims(grant["access_token"])["baas_domain_id"]
        self.assertRegex(identity["id"], "^[0-9a-f]{24}-[a-z]{24}$")
        self.assertAnswer(answer, 200, {
            "user_id": grant["user_id"], "domain_id": app, "type": "normal", "data": {},
            "identities": [
                {"id": identity["id"], "provider_type": "anon-user", "provider_id": app}]})

    def test_the_names_of_a_profile(self):
        grant = self.login()
        self.expect(self.site.request(
            "PATCH", "/v1/me", {"name": "Ada L", "given_name": "Ada", "family_name": "L"},
            {**MERGE, "Dossier-App": self.name}, grant["access_token"]), 200)
        answer = self.ask("GET", f"{PREFIX}/auth/profile", token=grant["access_token"])
        self.assertEqual(answer.json["data"],
                         {"name": "Ada L", "first_name": "Ada", "last_name": "L"})

    def test_refresh_and_logout(self):
        grant = self.login()
        session = f"{PREFIX}/auth/session"
        first = self.ask("POST", session, token=grant["refresh_token"])
        self.assertEqual(first.status, 201)
        self.assertEqual(set(first.json), {"access_token"})
        self.assertEqual(first.headers["Content-Type"], "application/json")
        # It is not rotated.
        again = self.ask("POST", session, b"", JSON, token=grant["refresh_token"])
        self.assertEqual(again.status, 201)
        self.assertAnswer(self.ask("DELETE", session, token=grant["refresh_token"]), 204, None)
        gone = {"error": "invalid session: failed to find refresh token",
                "error_code": "InvalidSession"}
        for method in ["POST", "DELETE"]:
            self.assertAnswer(self.ask(method, session, token=grant["refresh_token"]), 401, gone)
        # The access tokens end with the session.
        self.assertAnswer(
            self.ask("GET", f"{PREFIX}/auth/profile", token=first.json["access_token"]), 401,
            {"error": "invalid session", "error_code": "InvalidSession"})

    def test_malformed_tokens(self):
        grant = self.login()
        session, profile = f"{PREFIX}/auth/session", f"{PREFIX}/auth/profile"
        call = self.path("/functions/call")
        link = self.path("/auth/providers/anon-user/login?link=true")
        invalid = {"error": "invalid session", "error_code": "InvalidSession"}
        missing = {"error": "must authenticate first", "error_code": "MissingAuthReq"}
        body = {"name": "count", "arguments": []}
        access, refresh = grant["access_token"], grant["refresh_token"]
        for token in ["null", "a", "a.b.c", "...", access[:-2] + "xx", refresh, "x" * 6_000]:
            for method, path in [("GET", profile), ("POST", call), ("POST", link),
                                 ("DELETE", f"{PREFIX}/auth/delete")]:
                answer = self.ask(method, path, body if path == call else None,
                                  JSON if path == call else None, token)
                self.assertAnswer(answer, 401, invalid)
        self.assertAnswer(self.ask("GET", profile), 401, missing)
        self.assertAnswer(self.ask("POST", link), 401, missing)
        self.assertAnswer(self.ask("POST", session, token=access), 401, {
            "error": "invalid refresh token: incorrect token type", "error_code": "InvalidSession"})
        changed = refresh[:-2] + ("AA" if refresh[-2:] != "AA" else "BB")
        self.assertAnswer(self.ask("POST", session, token=changed), 401, {
            "error": "signature is invalid", "error_code": "InvalidSession"})
        for token in ["null", "a.b.c"]:
            for method in ["POST", "DELETE"]:
                self.assertEqual(self.ask(method, session, token=token).status, 401)
        self.assertAnswer(self.ask("GET", f"{PREFIX}/auth/api_keys"), 401, missing)

    def test_a_token_of_another_app_is_refused_without_a_loop(self):
        self.site.add_app("shop-other", app_services_collection=COLLECTION)
        grant = self.login()
        answer = self.ask("POST", f"{PREFIX}/app/shop-other/functions/call",
                          {"name": "count", "arguments": []}, JSON, grant["access_token"])
        self.assertAnswer(answer, 403, {
            "error": "the token is of another app", "error_code": "UserAppDomainMismatch"})

    def test_an_expired_access_token(self):
        self.site.set_app(self.name, access_token_seconds=1)
        try:
            grant = self.login()
        finally:
            self.site.set_app(self.name, access_token_seconds=1_800)
        profile = f"{PREFIX}/auth/profile"
        wait_until(lambda: self.ask("GET", profile, token=grant["access_token"]).status == 401)
        self.assertAnswer(self.ask("GET", profile, token=grant["access_token"]), 401,
                          {"error": "invalid session", "error_code": "InvalidSession"})

    def test_pages_of_other_origins(self):
        self.site.set_app(self.name, allowed_origins=["https://shop.example.test"])
        origin = {"Origin": "https://shop.example.test"}
        asked = {**origin, "Access-Control-Request-Method": "POST",
                 "Access-Control-Request-Headers": "authorization,content-type,accept"}
        paths = [self.path("/location"), self.path("/functions/call"), f"{PREFIX}/auth/session",
                 f"{PREFIX}/auth/profile", f"{PREFIX}/auth/delete"]
        for path in paths:
            answer = self.ask("OPTIONS", path, headers=asked)
            self.assertEqual(answer.status, 204, path)
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], origin["Origin"])
            allowed = answer.headers["Access-Control-Allow-Headers"].lower()
            for name in ["authorization", "content-type", "accept"]:
                self.assertIn(name, allowed)
        # Errors have the header too. Otherwise pages could not read them.
        grant = self.login()
        for answer in [
                self.ask("GET", self.path("/location"), headers=origin),
                self.ask("GET", f"{PREFIX}/auth/profile", headers=origin,
                         token=grant["access_token"]),
                self.ask("GET", f"{PREFIX}/auth/profile", headers=origin,
                         token=grant["access_token"][:-2] + "xx"),
                self.ask("GET", self.path("/nothing"), headers=origin)]:
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], origin["Origin"],
                             answer.status)
            self.assertIn("Origin", answer.headers["Vary"])

    def test_unsupported_features_are_refused(self):
        grant = self.login()
        token = grant["access_token"]
        watch = base64.b64encode(b'{"name":"watch"}').decode()
        for method, path, status, error, code in [
                ("GET", f"/functions/call?baas_request={watch}&baas_at={token}", 404,
                 "watch is not offered", "ServiceCommandNotFound"),
                ("GET", "/realm-sync?baas_at=x", 404, "device sync is not offered",
                 "ServiceNotFound"),
                ("PUT", "/push/providers/gcm_x/registration", 404, "service not found: 'gcm_x'",
                 "ServiceNotFound"),
                ("DELETE", "/push/providers/gcm_x/registration", 404,
                 "service not found: 'gcm_x'", "ServiceNotFound"),
                ("POST", "/graphql", 404, "GraphQL is not offered", "ServiceNotFound"),
                ("POST", "/auth/providers/custom-function/login", 404,
                 "authentication provider not found: 'custom-function'", "AuthProviderNotFound"),
                ("POST", "/auth/providers/oauth2-facebook/login", 400,
                 "'accessToken' is a required string", "MissingParameter")]:
            answer = self.ask(method, self.path(path), token=token)
            self.assertAnswer(answer, status, {"error": error, "error_code": code})
        self.assertAnswer(self.ask("GET", f"{PREFIX}/nothing"), 404,
                          {"error": "there is nothing at this path", "error_code": "NotFound"})
        self.assertAnswer(self.ask("PATCH", self.path("/location")), 405,
                          {"error": "this path has other methods", "error_code": "MethodNotAllowed"})

    def test_errors_of_nginx_have_the_form_of_this_api(self):
        answer = self.ask("POST", self.path("/functions/call"), b"x" * 1_048_577, JSON)
        self.assertAnswer(answer, 413, {"error": "the body may have at most 1048576 bytes", "error_code": "BadRequest"})
        answer = self.ask("GET", f"{PREFIX}/auth/profile", token="x" * 17_000)
        self.assertAnswer(answer, 431, {
            "error": "the header fields are too large", "error_code": "BadRequest"})

    def test_malformed_bodies(self):
        grant = self.login()
        call = self.path("/functions/call")
        unusable = "invalid function call request"
        for body in [b"", b"[]", b"null", b'{"name":1,"arguments":[]}', b"{}"]:
            answer = self.ask("POST", call, body, JSON, grant["access_token"])
            self.assertAnswer(answer, 400, {"error": unusable, "error_code": "BadRequest"})
        # For an unreadable body, the error includes the reason.
        for body in [b"{", b"\xff", b'{"a":1,"a":2}', b"[" * 100 + b"]" * 100,
                     b'{"name":"\\u0000"}', b'{"name":"\\ud800"}']:
            # With a Content-Type and without one.
            for headers in [JSON, {}]:
                answer = self.ask("POST", call, body, headers, grant["access_token"])
                self.assertAnswer(answer, 400, {"error": answer.json["error"],
                                                "error_code": "BadRequest"})
                self.assertTrue(answer.json["error"].startswith(f"{unusable}: "), answer.json)
        for path in ["local-userpass/login", "local-userpass/register", "custom-token/login"]:
            for body in [b"{", b"7", b"{}", b'{"username":7,"email":[],"token":{}}']:
                answer = self.ask("POST", self.path(f"/auth/providers/{path}"), body, JSON)
                self.assertEqual(answer.status, 400, (path, body, answer.body))
                self.assertEqual(answer.headers["Content-Type"], "application/json")


if __name__ == "__main__":
    unittest.main()
