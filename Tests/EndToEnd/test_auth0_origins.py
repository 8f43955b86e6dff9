"""Pages of other origins, and sign-ups that are refused."""

import json

from hosted import PASSWORD
from machine import wait_until
from openid import CALLBACK
from test_auth0 import Auth0Case

ORIGIN = "https://app.example.com"
JSON = {"Content-Type": "application/json"}
# The fields that auth0-spa-js and an app send, with and without useDpop.
SENT = ["authorization", "content-type", "auth0-client", "dpop", "x-request-language",
        "x-correlation-id"]
READ = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset", "retry-after",
        "www-authenticate"]


class Origins(Auth0Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.dossier("client", "set", cls.page["id"], f"cors_origins={ORIGIN}")

    def test_a_page_may_send_and_read_what_the_sdks_need(self):
        for method, path in [("POST", "/oauth/token"), ("POST", "/oauth/revoke"),
                             ("PATCH", "/api/v2/users/auth0|x"), ("GET", "/api/v2/users/auth0|x"),
                             ("POST", "/dbconnections/signup"), ("POST", "/passwordless/start"),
                             ("GET", "/userinfo")]:
            with self.subTest(f"{method} {path}"):
                asked = self.site.request("OPTIONS", path, headers={
                    "Origin": ORIGIN, "Access-Control-Request-Method": method,
                    "Access-Control-Request-Headers": ",".join(SENT)})
                self.assertIn(asked.status, [200, 204])
                self.assertEqual(asked.headers["Access-Control-Allow-Origin"], ORIGIN)
                allowed = asked.headers["Access-Control-Allow-Headers"].lower().split(", ")
                self.assertLessEqual(set(SENT), set(allowed))
                self.assertIn(method, asked.headers["Access-Control-Allow-Methods"])
                # The page reads errors too.
                body = "{" if method in ["POST", "PATCH"] else None
                answer = self.site.request(method, path, body, {**JSON, "Origin": ORIGIN})
                self.assertGreaterEqual(answer.status, 400)
                self.assertEqual(answer.headers["Access-Control-Allow-Origin"], ORIGIN)
                exposed = answer.headers["Access-Control-Expose-Headers"].lower().split(", ")
                self.assertLessEqual(set(READ), set(exposed))
                other = self.site.request("OPTIONS", path, headers={
                    "Origin": "https://other.example.com",
                    "Access-Control-Request-Method": method})
                self.assertIsNone(other.headers["Access-Control-Allow-Origin"])

    def test_the_token_endpoint_counts_attempts(self):
        self.settings(failures_per_identifier=2)
        self.site.dossier("client", "set", self.page["id"], "password_grant=true")
        email, _ = self.user()
        body = {"grant_type": "password", "client_id": self.page["id"], "username": email,
                "password": "wrong horse battery"}
        for _ in range(20):
            answer = self.site.request("POST", "/oauth/token", json.dumps(body), JSON)
            if answer.status == 429:
                break
        self.error(answer, 429, "too_many_attempts")
        self.assertEqual(answer.headers["X-RateLimit-Remaining"], "0")
        self.assertGreater(int(answer.headers["X-RateLimit-Reset"]), 1_700_000_000)
        self.assertTrue(answer.headers["Retry-After"])


class SignUps(Auth0Case):
    def sign_up(self, path="signup", **members):
        body = {"client_id": self.page["id"], "email": "new" + self.own_email(),
                "password": PASSWORD, "connection": "Username-Password-Authentication", **members}
        return self.site.request("POST", f"/dbconnections/{path}", json.dumps(body), JSON)

    def test_sign_ups_that_are_refused(self):
        machine = self.new_client("machine")
        self.site.create_app("elsewhere")
        foreign = self.new_client("native", f"callback_urls={CALLBACK}", app="elsewhere")
        gone = self.new_client("native", f"callback_urls={CALLBACK}")
        self.site.dossier("client", "disable", gone["id"])
        for code, members in [
                ("unauthorized", {"client_id": "x"}), ("unauthorized", {"client_id": "0" * 24}),
                ("unauthorized", {"client_id": machine["id"]}),
                ("unauthorized", {"client_id": foreign["id"]}),
                ("unauthorized", {"client_id": gone["id"]}),
                ("invalid_connection", {"connection": "github"}),
                ("invalid_signup", {"client_id": None}), ("invalid_signup", {"email": "x"}),
                ("invalid_password", {"password": "short"}),
                ("invalid_password", {"password": "password1"})]:
            with self.subTest(members):
                answer = self.expect(self.sign_up(**members), 400)
                self.assertEqual(answer.json["code"], code, answer.body)
                self.assertEqual(answer.json["statusCode"], 400)
                if "password" not in members:
                    reset = self.expect(self.sign_up("change_password", **members), 400)
                    self.assertEqual(reset.json["code"], code, reset.body)

    def test_a_closed_sign_up(self):
        for mode in ["closed", "verify_first"]:
            self.settings(sign_up=mode)
            answer = self.expect(self.sign_up(), 400)
            self.assertEqual(answer.json["code"], "signup_disabled", answer.body)

    def test_a_disabled_back_end_is_refused_at_once(self):
        token = self.back_end_token()
        self.expect(self.management("GET", "users", token=token), 200)
        self.site.dossier("client", "disable", self.back_end["id"])
        self.refused(self.management("GET", "users", token=token), 401, None)
        self.site.dossier("client", "enable", self.back_end["id"])
        self.expect(self.management("GET", "users", token=token), 200)


class Lists(Auth0Case):
    """Filters and pages of the registry."""

    SCOPES = ["read:clients", "read:connections", "read:resource_servers", "read:client_grants",
              "create:client_grants", "create:clients", "read:logs"]

    def test_filters(self):
        token = self.back_end_token()
        servers = self.management("GET", "resource-servers", token=token).json
        known = [server["identifier"] for server in servers]
        for wanted in [known[:1], known[:2]]:
            query = "&".join(f"identifiers={identifier}" for identifier in wanted)
            found = self.management("GET", f"resource-servers?{query}", token=token)
            self.assertEqual(sorted(server["identifier"] for server in
                                    self.expect(found, 200).json), sorted(wanted))
        found = self.management("GET", "resource-servers?identifiers=x", token=token)
        self.assertEqual(found.json, [])
        self.assertEqual(
            self.management("GET", "clients?is_global=true", token=token).json, [])
        for path in ["clients?q=name:a", "clients?external_client_id=a",
                     "client-grants?subject_type=user", "client-grants?default_for=x",
                     "resource-servers?page=0&page=1"]:
            self.refused(self.management("GET", path, token=token), 400, "invalid_query_string")

    def test_grants_have_pages(self):
        token = self.back_end_token()
        for _ in range(3):
            machine = self.new_client("machine")
            body = {"client_id": machine["id"], "audience": self.api, "scope": ["read:users"]}
            made = self.expect(self.management("POST", "client-grants", body, token), 201).json
            again = self.management("POST", "client-grants", body, token)
            self.refused(again, 409, "client_grant_exists")
            wrong = {**body, "scope": ["nothing"]}
            answer = self.management("POST", "client-grants", wrong, token)
            self.assertIn("on property scope.0", answer.json["message"])
        all = [grant["id"] for grant in self.management("GET", "client-grants", token=token).json]
        self.assertIn(made["id"], all)
        seen, cursor = [], ""
        while cursor is not None:
            page = self.expect(self.management(
                "GET", f"client-grants?take=2&from={cursor}", token=token), 200).json
            self.assertLessEqual(len(page["client_grants"]), 2)
            seen += [grant["id"] for grant in page["client_grants"]]
            cursor = page.get("next")
        self.assertEqual(seen, all)

    def test_logs_have_checkpoints(self):
        token = self.back_end_token()
        self.user()
        newest = self.management("GET", "logs?per_page=100", token=token).json
        last = newest[0]["log_id"]
        before = newest[1]["log_id"]
        # Events come into this list when no write with a smaller id can still be running.
        wait_until(lambda: [log["log_id"] for log in self.management(
            "GET", f"logs?take=1&from={before}", token=token).json] == [last], what="the last log")
        seen, cursor = [], ""
        while True:
            page = self.expect(self.management(
                "GET", f"logs?take=3&from={cursor}", token=token), 200).json
            if not page:
                break
            seen += [log["log_id"] for log in page]
            cursor = seen[-1]
        self.assertEqual(seen, [log["log_id"] for log in newest][::-1])
        one = self.expect(self.management("GET", f"logs/{seen[0]}", token=token), 200).json
        self.assertEqual(one, newest[-1])
        for id in ["x", "0" * 24]:
            self.refused(self.management("GET", f"logs/{id}", token=token),
                         404, "inexistent_resource")
        few = self.management("GET", "logs?fields=type,date&per_page=1", token=token).json
        self.assertEqual(set(few[0]), {"type", "date"})
        for query in ["search=type:s", "q=type:s", "from=x", "take=101", "from=&q=user_id:x"]:
            self.refused(self.management("GET", f"logs?{query}", token=token),
                         400, "invalid_query_string")
