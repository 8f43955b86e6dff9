"""Callers of the routes for Auth0's SDKs with expired rights, or with rights of another app."""

import json

from machine import wait_until
from openid import CALLBACK
from test_auth0_access import OWN, Matrix

JSON = {"Content-Type": "application/json"}
PREFIX = "http://auth0.com/oauth/grant-type/"
EMAIL = "a@example.com"
GRANTS = {
    "client_credentials": {}, "refresh_token": {"refresh_token": "x"},
    "authorization_code": {"code": "x"}, "password": {"username": EMAIL, "password": "x"},
    PREFIX + "password-realm": {"username": EMAIL, "password": "x",
                                "realm": "Username-Password-Authentication"},
    PREFIX + "passwordless/otp": {"username": EMAIL, "otp": "x", "realm": "email"},
    PREFIX + "mfa-otp": {"mfa_token": "x", "otp": "x"},
    PREFIX + "mfa-recovery-code": {"mfa_token": "x", "recovery_code": "x"},
    "urn:ietf:params:oauth:grant-type:token-exchange": {
        "subject_token": "x", "subject_token_type": "http://auth0.com/oauth/token-type/google-id-token"},
    "urn:okta:params:oauth:grant-type:webauthn": {"auth_session": "x", "authn_response": {}},
}
UNAUTHENTICATED = [
    *[("POST", "/oauth/token", {"grant_type": grant, **fields}) for grant, fields in GRANTS.items()],
    ("POST", "/oauth/revoke", {"token": "x"}), ("POST", "/oauth/introspect", {"token": "x"}),
    ("POST", "/passwordless/start", {"connection": "email", "email": EMAIL, "send": "code"}),
    ("POST", "/passkey/challenge", {}),
    ("POST", "/passkey/register", {"user_profile": {"email": EMAIL}}),
]
CONNECTION = {"connection": "Username-Password-Authentication", "email": EMAIL}
WITHOUT_SECRET = [
    ("POST", "/dbconnections/signup", {**CONNECTION, "password": "correct horse battery"}),
    ("POST", "/dbconnections/change_password", CONNECTION),
]
REFUSED = ["/oauth/device/code", "/oauth/par", "/bc-authorize", "/mfa/associate",
           "/mfa/challenge", "/otp/challenge"]
AREAS = ("/oauth/", "/dbconnections/", "/passwordless/", "/passkey/", "/mfa/", "/otp/",
         "/bc-authorize")


class Callers(Matrix):
    def each_route_refuses(self, token, user=None):
        for method, pattern, access in self.routes:
            with self.subTest(f"{method} {pattern}"):
                answer = self.ask(method, pattern, token, user)
                # The scopes of a user's token are checked before its session.
                is_own = "{user}" in pattern and any(scope in access for scope in OWN)
                allowed = [401] if is_own or not user else [401, 403]
                self.assertIn(answer.status, allowed, answer.body)
                self.assertEqual(answer.json["statusCode"], answer.status)

    def test_a_back_end_of_another_app(self):
        self.site.create_app("elsewhere")
        self.site.dossier("app", "host", "set", "--app", "elsewhere", "elsewhere.example")
        host = f"elsewhere.example:{self.site.port}"
        servers = self.site.dossier("resource-server", "list", "--app", "elsewhere")
        server = next(server for server in servers if server["identifier"] == "api/v2/")
        foreign = self.new_client("machine", app="elsewhere")
        self.site.dossier("client", "grant", foreign["id"], server["id"],
                          *[word for scope in self.scopes for word in ["--scope", scope]])
        token = self.token_of(foreign, f"http://{host}/api/v2/", {"Host": host})
        self.each_route_refuses(token)
        _, user = self.user()
        # At its own host, it does not find the users of this app.
        for method, pattern, _ in self.routes:
            if "{user}" in pattern:
                with self.subTest(f"{method} {pattern}"):
                    answer = self.ask(method, pattern, token, user, {"Host": host})
                    self.assertIn(answer.status, [204] if pattern.endswith("users/{user}")
                                  and method == "DELETE" else [400, 404], answer.body)
        read = self.site.get(f"/api/v2/users/auth0|{user}", token=self.token_with(self.scopes))
        self.expect(read, 200)

    def test_a_client_that_was_disabled_or_deleted(self):
        for command in ["disable", "delete"]:
            machine = self.new_client("machine")
            self.site.dossier("client", "grant", machine["id"], self.management_api,
                              *[word for scope in self.scopes for word in ["--scope", scope]])
            token = self.token_of(machine)
            self.expect(self.site.get("/api/v2/users", token=token), 200)
            self.site.dossier("client", command, machine["id"],
                              *(["--yes"] if command == "delete" else []))
            self.each_route_refuses(token)

    def test_a_blocked_user_and_an_ended_session(self):
        for change in ["blocked", "ended"]:
            email, user = self.user(change + self.own_email())
            self.visitor = self.new_visitor()
            token = self.consented(email, " ".join(["openid", *OWN]))["access_token"]
            path = f"/api/v2/users/auth0|{user}"
            self.expect(self.site.get(path, token=token), 200)
            if change == "blocked":
                self.site.dossier("user", "block", "--yes", user)
            else:
                self.visitor.open(f"/v2/logout?client_id={self.page['id']}")
            self.each_route_refuses(token, user)

    def test_an_expired_token(self):
        api = f"resource_server_id = '{self.management_api}'"
        self.site.sql("update resource_servers set attributes = attributes || '{\"token_seconds\": 60}' "
                      f"where {api}")
        machine = self.new_client("machine")
        self.site.dossier("client", "grant", machine["id"], self.management_api, "--scope",
                          "read:users")
        token = self.token_of(machine)
        self.expect(self.site.get("/api/v2/users", token=token), 200)
        wait_until(lambda: self.site.get("/api/v2/users", token=token).status == 401, 120,
                   "the end of the token")
        self.each_route_refuses(token)
        answer = self.site.get("/api/v2/users", token=token)
        text = "Expired token received for JSON Web Token validation"
        self.assertEqual((answer.json["message"], answer.json["attributes"]["error"]), (text, text))

    def test_a_user_at_its_own_id(self):
        email, user = self.user()
        token = self.consented(email, " ".join(["openid", *OWN]))["access_token"]
        allowed = {"read:current_user": 0, "update:current_user_metadata": 0,
                   "update:current_user_identities": 0}
        for method, pattern, access in self.routes:
            with self.subTest(f"{method} {pattern}"):
                answer = self.ask(method, pattern, token, user)
                named = [scope for scope in OWN if scope in access]
                if named and "{user}" in pattern:
                    # 400 for a link without a body, and 404 for an identity that does not exist.
                    self.assertIn(answer.status, [200, 400, 404], answer.body)
                    allowed.update({scope: allowed.get(scope, 0) + 1 for scope in named})
                else:
                    self.assertEqual((answer.status, answer.json["errorCode"]),
                                     (403, "insufficient_scope"), answer.body)
        self.assertTrue(all(allowed.values()), allowed)

    def test_each_endpoint_and_grant_is_tested(self):
        tested = {f"{method} {path}" for method, path, _ in [*UNAUTHENTICATED, *WITHOUT_SECRET]}
        refused = {f"POST {path}" for path in REFUSED} | {"GET /mfa/authenticators"}
        served = {name for name in self.listed if name.split(" ")[1].startswith(AREAS)}
        self.assertEqual(tested | refused, served)
        discovery = self.site.get("/.well-known/openid-configuration").json
        self.assertEqual(set(GRANTS), set(discovery["grant_types_supported"]))

    def test_endpoints_for_clients_without_their_secret(self):
        gone = self.new_client("native", f"callback_urls={CALLBACK}")
        self.site.dossier("client", "disable", gone["id"])
        self.site.create_app("fourth")
        foreign = self.new_client("native", f"callback_urls={CALLBACK}", app="fourth")
        for method, path, body in WITHOUT_SECRET:
            for client in [None, "x", gone["id"], foreign["id"], self.new_client("machine")["id"]]:
                with self.subTest(f"{path} {client}"):
                    answer = self.site.request(method, path, json.dumps(
                        {**body, **({"client_id": client} if client else {})}), JSON)
                    self.assertEqual((answer.status, answer.json["code"]),
                                     (400, "unauthorized" if client else "invalid_signup"))
        self.assertEqual(self.site.sql(f"select count(*) from users where email = '{EMAIL}'"), "0")

    def test_endpoints_for_clients(self):
        gone = self.new_client("web", f"callback_urls={CALLBACK}")
        self.site.dossier("client", "disable", gone["id"])
        self.site.create_app("third")
        foreign = self.new_client("web", f"callback_urls={CALLBACK}", app="third")
        for method, path, body in UNAUTHENTICATED:
            for client in [{}, {"client_id": "x"}, {"client_id": gone["id"],
                                                    "client_secret": gone["secret"]},
                           {"client_id": foreign["id"], "client_secret": foreign["secret"]},
                           {"client_id": self.web["id"], "client_secret": "wrong"}]:
                with self.subTest(f"{path} {body} {client}"):
                    answer = self.site.request(method, path, json.dumps({**body, **client}), JSON)
                    self.assertIn(answer.status, [400, 401, 403], answer.body)
                    self.assertTrue(answer.json["error"])
        for token in [None, "x.y.z", self.token_with(["read:users"])]:
            answer = self.site.get("/userinfo", token=token)
            self.assertEqual((answer.status, answer.json["error"]), (401, "invalid_token"))
        for path in REFUSED:
            for token in [None, self.token_with(self.scopes)]:
                answer = self.site.request("POST", path, "{}", JSON, token=token)
                self.error(answer, 403, "unauthorized_client")
        for token in [None, self.token_with(self.scopes)]:
            answer = self.site.get("/mfa/authenticators", token=token)
            self.error(answer, 403, "unauthorized_client")
        # A logout leads to no page that the client has not registered.
        answer = self.site.get(f"/v2/logout?client_id={self.page['id']}"
                               "&returnTo=https://evil.example.com/")
        self.assertTrue((answer.headers["Location"] or "/").startswith("/"), answer.headers)
