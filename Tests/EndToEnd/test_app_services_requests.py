"""Requests to the client API of App Services as the published SDKs make them, and hostile ones, with
the answers whole."""

import base64
import unittest

from app_services import PASSWORD, PREFIX, App, Recording, claims
from asking import JSON
from machine import wait_until

CORE = {"Content-Type": "application/json;charset=utf-8", "Accept": "application/json"}
# Of one grey pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJg"
    "gg==")
MISSING = {"error": "must authenticate first", "error_code": "MissingAuthReq"}
GONE = {"error": "invalid session: failed to find refresh token", "error_code": "InvalidSession"}


class Requests(Recording):
    def test_core_sends_a_content_type_with_every_request(self):
        grant = self.login()
        access, refresh = grant["access_token"], grant["refresh_token"]
        for method, path, token, status in [
                ("GET", f"{PREFIX}/auth/profile", access, 200),
                ("GET", f"{PREFIX}/auth/api_keys", refresh, 200),
                ("POST", f"{PREFIX}/auth/session", refresh, 201),
                ("GET", self.path("/location"), None, 200)]:
            self.assertEqual(self.ask(method, path, headers=CORE, token=token).status, status, path)
        # .NET sends a body with DELETE and PUT, which may be empty.
        made = self.ask("POST", f"{PREFIX}/auth/api_keys", {"name": "core"}, CORE, refresh)
        key = f"{PREFIX}/auth/api_keys/{made.json['_id']}"
        for method, path, body, token in [
                ("PUT", f"{key}/disable", b"", refresh), ("PUT", f"{key}/enable", b"{}", refresh),
                ("DELETE", key, b"{}", refresh), ("DELETE", f"{PREFIX}/auth/session", b"{}", refresh)]:
            self.assertAnswer(self.ask(method, path, body, CORE, token), 204, None)
        grant = self.login()
        self.assertAnswer(self.ask("DELETE", f"{PREFIX}/auth/delete", b"{}", CORE,
                                   grant["access_token"]), 204, None)

    def test_a_login_accepts_the_long_device_object_of_core(self):
        device = {"appId": self.name, "platform": "iOS", "platformVersion": "17.4",
                  "sdk": "RealmSwift", "sdkVersion": "10.50.0", "cpuArch": "arm64",
                  "deviceName": "iPhone", "deviceVersion": "iPhone15,2", "frameworkName": "",
                  "frameworkVersion": "", "coreVersion": "14.10.0", "bundleId": "unknown"}
        body = {"provider": "anon-user", "options": {"device": device}}
        answer = self.ask("POST", self.path("/auth/providers/anon-user/login"), body, CORE)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(set(answer.json), {"access_token", "refresh_token", "user_id", "device_id"})
        again = {"options": {"device": {**device, "deviceId": {"$oid": answer.json["device_id"]}}}}
        other = self.ask("POST", self.path("/auth/providers/anon-user/login"), again, CORE)
        self.assertEqual(other.json["device_id"], answer.json["device_id"])

    def test_a_repeated_call_gets_the_error_of_the_first(self):
        user = self.anonymous()
        for service, status in [("nowhere", 404), (None, 404), ("mongodb-atlas", 400)]:
            for _ in range(2):
                answer = self.ask(
                    "POST", f"{self.app.path}/functions/call",
                    {"name": "findOne", "service": service, "arguments": []},
                    {**JSON, "Idempotency-Key": f"k{service}"}, user.access)
                self.assertEqual(answer.status, status, answer.body)

    def test_a_login_ignores_the_authorization_header(self):
        for value in ["Bearer null", "Bearer", "Basic x", "Bearer a.b.c", ""]:
            answer = self.ask("POST", self.path("/auth/providers/anon-user/login"), {},
                              {**JSON, "Authorization": value})
            self.assertEqual(answer.status, 200, (value, answer.body))

    def test_watching_and_sync(self):
        grant = self.login()
        watch = base64.b64encode(b'{"name":"watch","arguments":[{}],"service":"mongodb-atlas"}')
        refused = {"error": "watch is not offered", "error_code": "ServiceCommandNotFound"}
        for headers in [{"Accept": "text/event-stream"},
                        {"Accept": "text/event-stream", "Content-Type": "text/event-stream",
                         "Cache-Control": "no-cache"}]:
            path = self.path(f"/functions/call?baas_request={watch.decode()}")
            self.assertAnswer(self.ask("GET", path, headers=headers, token=grant["access_token"]),
                              404, refused)
            path += f"&baas_at={grant['access_token']}"
            self.assertAnswer(self.ask("GET", path, headers=headers), 404, refused)
            # With the longest token and a long request.
            self.assertAnswer(self.ask("GET", path + "x" * 8_000, headers=headers), 404, refused)
        upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": base64.b64encode(b"x" * 16).decode()}
        self.assertAnswer(self.ask("GET", self.path("/realm-sync?baas_at=x"), headers=upgrade), 404, {
            "error": "device sync is not offered", "error_code": "ServiceNotFound"})

    def test_pages_of_providers(self):
        """Without a connection to a provider, there is no page of it."""
        for name in ["custom-function", "oauth2-facebook", "oauth2-google", "oauth2-apple", "nobody",
                     "anon-user", "custom-token"]:
            answer = self.ask("GET", self.path(f"/auth/providers/{name}/login?state=x&redirect=y"))
            self.assertAnswer(answer, 404, {
                "error": f"authentication provider not found: '{name}'",
                "error_code": "AuthProviderNotFound"})

    def test_tokens_of_every_kind_on_the_routes_of_keys(self):
        grant = self.login()
        access, refresh = grant["access_token"], grant["refresh_token"]
        made = self.ask("POST", f"{PREFIX}/auth/api_keys", {"name": "mine"}, JSON, refresh)
        self.assertAnswer(made, 201, {"_id": made.json["_id"], "key": made.json["key"],
                                      "name": "mine", "disabled": False})
        changed = refresh[:-2] + ("AA" if refresh[-2:] != "AA" else "BB")
        kind = {"error": "invalid refresh token: incorrect token type",
                "error_code": "InvalidSession"}
        signature = {"error": "signature is invalid", "error_code": "InvalidSession"}
        empty = {"error": "expected Authorization header with JWT (Bearer schema)",
                 "error_code": "MissingAuthReq"}
        ended = self.login()["refresh_token"]
        self.assertAnswer(self.ask("DELETE", f"{PREFIX}/auth/session", token=ended), 204, None)
        one = f"/auth/api_keys/{made.json['_id']}"
        for method, path in [("GET", "/auth/api_keys"), ("POST", "/auth/api_keys"), ("GET", one),
                             ("PUT", f"{one}/disable"), ("PUT", f"{one}/enable"), ("DELETE", one),
                             ("POST", "/auth/session"), ("DELETE", "/auth/session")]:
            body, headers = ({"name": "other"}, JSON) if path == "/auth/api_keys" else (None, {})
            if method == "GET":
                body = None
            for authorization, expected in [
                    (None, MISSING), ("Bearer ", empty), ("Bearer", empty),
                    (f"Bearer {access}", kind), (f"Bearer {changed}", signature),
                    (f"Bearer {ended}", GONE)]:
                sent = {**headers, **({} if authorization is None else
                                      {"Authorization": authorization})}
                answer = self.ask(method, PREFIX + path, body, sent)
                self.assertAnswer(answer, 401, expected)
            for token in ["null", "a.b.c", made.json["key"]]:
                self.assertEqual(self.ask(method, PREFIX + path, body, headers, token).status, 401)
        shown = {"_id": made.json["_id"], "name": "mine", "disabled": False}
        self.assertAnswer(self.ask("GET", f"{PREFIX}/auth/api_keys", token=refresh), 200, [shown])
        self.assertAnswer(self.ask("GET", PREFIX + one, token=refresh), 200, shown)

    def test_an_expired_session(self):
        grant = self.login()
        self.site.sql("update sessions set expires_at = now() - interval '1 hour'"
                      f" where user_id = '{grant['user_id']}'")
        session = f"{PREFIX}/auth/session"
        self.assertAnswer(self.ask("POST", session, token=grant["refresh_token"]), 401, GONE)
        # Logging out of an expired session succeeds: realm-web would show an error to the user.
        self.assertAnswer(self.ask("DELETE", session, token=grant["refresh_token"]), 204, None)
        self.assertAnswer(self.ask("DELETE", session, token=grant["refresh_token"]), 401, GONE)

    def test_other_methods(self):
        for path, methods in [
                (self.path("/location"), {"GET", "OPTIONS"}),
                (f"{PREFIX}/auth/session", {"POST", "DELETE", "OPTIONS"})]:
            answer = self.ask("PATCH", path)
            self.assertAnswer(answer, 405, {"error": "this path has other methods",
                                                "error_code": "MethodNotAllowed"})
            self.assertEqual(set(answer.headers["Allow"].split(", ")) - {"HEAD"}, methods)

    def test_unknown_paths(self):
        for path in ["/api/client", "//api/client", "/api/client/", "/api/client/v1.0/x"]:
            for method in ["GET", "POST"]:
                self.assertAnswer(self.ask(method, path), 404,
                                  {"error": "there is nothing at this path", "error_code": "NotFound"})

    def test_query_parameters_of_logins(self):
        path = self.path("/auth/providers/anon-user/login")
        for query in ["link=true&link=false", "link=false&link=true", "link=%ff"]:
            self.assertAnswer(self.ask("POST", f"{path}?{query}"), 400, {
                "error": "the query cannot be read", "error_code": "BadRequest"})
        for query in ["", "link=false", "other=1"]:
            self.assertEqual(self.ask("POST", f"{path}?{query}").status, 200)

    def test_errors_shorten_long_names(self):
        token, long = self.login()["access_token"], "é" * 50_000
        call = self.path("/functions/call")
        for body in [{"name": long, "arguments": []},
                     {"name": "find", "service": long, "arguments": []},
                     {"name": long, "service": "mongodb-atlas", "arguments": []},
                     *[{"name": "find", "service": "mongodb-atlas", "arguments": [argument]}
                       for argument in [{"database": long, "collection": long},
                                        {"schema_name": long},
                                        {"database": "my_database", "collection": "users",
                                         "query": {f"${long}": 1}}]]]:
            answer = self.ask("POST", call, body, JSON, token)
            self.assertIn(answer.status, [400, 404], answer.body)
            self.assertLess(len(answer.json["error"]), 500)
        answer = self.ask("POST", self.path("/auth/providers/local-userpass/reset/call"),
                          {"email": "x" * 60_000}, JSON)
        self.assertEqual(answer.status, 400)
        self.assertLess(len(answer.body), 1_000)

    def test_unknown_services_and_schemas(self):
        token = self.login()["access_token"]

        def call(**body):
            return self.ask("POST", self.path("/functions/call"), body, JSON, token)

        self.assertAnswer(call(name="get", service="http", arguments=[{"url": "http://x"}]), 404, {
            "error": "service not found: 'http'", "error_code": "ServiceNotFound"})
        for name in ["find", "insertOne"]:
            self.assertAnswer(
                call(name=name, service="mongodb-atlas", arguments=[{"schema_name": "Dog"}]), 400, {
                    "error": "no rule exists for schema 'Dog': name the database and the collection",
                    "error_code": "NoMatchingRuleFound"})

    def test_a_document_that_breaks_the_schema(self):
        schema = self.site.folder / "schema.json"
        schema.write_text('{"properties": {"age": {"type": "integer"}}}')
        self.site.add_app("shop-schema", app_services_collection="mongodb-atlas/my_database/users")
        self.site.dossier("schema", "set", "custom-data", schema, "--app", "shop-schema")
        self.app = App(self.site, "shop-schema")
        user = self.anonymous()

        def refused():
            answer = self.ask(
                "POST", f"{self.app.path}/functions/call",
                {"name": "insertOne", "service": "mongodb-atlas", "arguments": [
                    {"database": "my_database", "collection": "users",
                     "document": {"userId": user.id, "age": "old"}}]}, JSON, user.access)
            if answer.status == 200:
                user.call("deleteOne")
            return answer if answer.status != 200 else None

        wait_until(refused, what="the schema at every worker")
        answer = refused()
        self.assertEqual(answer.status, 400, answer.body)
        self.assertEqual(answer.json["error_code"], "SchemaValidationFailedWrite")
        self.assertIn("/age", answer.json["error"])
        self.assertEqual(answer.headers["Content-Type"], "application/json")

    def test_the_picture_has_both_names(self):
        grant = self.login()
        headers = {"Dossier-App": self.name}
        path = self.expect(self.site.request(
            "PUT", "/v1/me/picture", PNG, {**headers, "Content-Type": "image/png"},
            grant["access_token"]), 200).json["picture"]
        answer = self.ask("GET", f"{PREFIX}/auth/profile", token=grant["access_token"])
        picture = f"http://127.0.0.1:{self.site.port}{path}"
        self.assertEqual(answer.json["data"], {"picture": picture, "picture_url": picture})
        self.assertEqual(self.site.get(path).status, 200)

    def test_statuses_of_email_routes(self):
        self.site.add_app("shop-mails", sign_up="verify_first", app_services_registration=True)
        base = f"{PREFIX}/app/shop-mails/auth/providers/local-userpass"
        email = "rows@example.test"
        self.assertAnswer(self.ask("POST", f"{base}/register",
                                   {"email": email, "password": PASSWORD}, CORE), 201, {})
        self.assertAnswer(self.ask("POST", f"{base}/login",
                                   {"username": email, "password": PASSWORD}, CORE), 401,
                          {"error": "confirmation required", "error_code": "AuthError"})
        self.assertAnswer(self.ask("POST", f"{base}/confirm/send", {"email": email}, CORE), 204, None)
        self.assertAnswer(self.ask("POST", f"{base}/reset/send", {"email": email}, CORE), 204, None)
        other = "confirmed@example.test"
        self.ask("POST", f"{base}/register", {"email": other, "password": PASSWORD}, CORE)
        self.assertAnswer(self.ask("POST", f"{base}/confirm", {
            "token": self.site.mailed(other, "ds_verify"), "tokenId": "any"}, CORE), 204, None)
        token = self.site.mailed(email, "ds_reset")
        self.assertAnswer(self.ask("POST", f"{base}/reset", {
            "token": token, "tokenId": "any", "password": "another password"}, CORE), 204, None)
        for path, body in [("confirm", {"token": token, "tokenId": "any"}),
                           ("reset", {"token": token, "tokenId": "any", "password": PASSWORD})]:
            self.assertAnswer(self.ask("POST", f"{base}/{path}", body, CORE), 400, {
                "error": "userpass token is expired or invalid",
                "error_code": "UserpassTokenInvalid"})
        login = self.ask("POST", f"{base}/login",
                         {"username": email, "password": "another password"}, CORE)
        self.assertEqual(login.status, 200, login.body)
        self.assertEqual(claims(login.json["access_token"])["sub"], login.json["user_id"])


if __name__ == "__main__":
    unittest.main()
