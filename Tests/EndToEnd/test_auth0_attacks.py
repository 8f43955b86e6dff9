"""Callers of the Management API that are refused."""

import json

from openid import Party
from test_auth0 import Auth0Case

ROUTES = [
    ("GET", "users/{user}/sessions", None), ("DELETE", "users/{user}/sessions", None),
    ("GET", "sessions/{session}", None), ("DELETE", "sessions/{session}", None),
    ("POST", "sessions/{session}/revoke", None),
    ("GET", "users/{user}/refresh-tokens", None), ("DELETE", "users/{user}/refresh-tokens", None),
    ("GET", "refresh-tokens/{token}", None), ("DELETE", "refresh-tokens/{token}", None),
    ("POST", "users/{user}/revoke-access", {}),
    ("GET", "users/{user}/logs", None), ("GET", "users/{user}/organizations", None),
    ("GET", "users/{user}/authentication-methods", None), ("GET", "user-blocks/{user}", None),
    ("DELETE", "user-blocks/{user}", None),
    ("POST", "users/{user}/identities", {"provider": "auth0", "user_id": "{other}"}),
    ("DELETE", "users/{user}/identities/auth0/x", None),
    ("POST", "tickets/password-change", {"user_id": "{user}"}),
    ("POST", "tickets/email-verification", {"user_id": "{user}"}),
]


class Refused(Auth0Case):
    """Each route, by callers that may not use it."""

    SCOPES = Auth0Case.SCOPES + [
        "read:sessions", "delete:sessions", "read:refresh_tokens", "delete:refresh_tokens",
        "read:logs", "create:user_tickets"]

    def setUp(self):
        super().setUp()
        email, self.user_id = self.user()
        self.refresh_token = self.tokens(email, self.page, scope="openid offline_access")[0]
        party = Party(self, self.page, audience=self.api,
                      scope="openid read:current_user update:current_user_metadata")
        self.visitor.open(party.path)
        page = self.visitor.submit("/consent", button="allow")
        self.own = self.expect(party.exchange(party.code(page)), 200).json
        user, token = f"users/auth0|{self.user_id}", self.back_end_token()
        session = self.management("GET", f"{user}/sessions", token=token).json["sessions"][0]
        refresh, = self.management("GET", f"{user}/refresh-tokens", token=token).json["tokens"]
        self.names = {"user": f"auth0|{self.user_id}", "session": session["id"],
                      "token": refresh["id"], "other": self.user("other" + email)[1]}

    def sent(self, token, **options):
        for method, route, body in ROUTES:
            with self.subTest(f"{method} {route}"):
                named = body and {name: value.format(**self.names) for name, value in body.items()}
                path = route.format(**self.names)
                yield self.management(method, path, named, token, **options)

    def is_untouched(self):
        """Asserts that the session and the refresh token are live."""
        token = self.back_end_token()
        for path in ["sessions/{session}", "refresh-tokens/{token}"]:
            self.expect(self.management("GET", path.format(**self.names), token=token), 200)

    def test_callers_without_the_scope(self):
        machine = self.new_client("machine")
        servers = self.site.dossier("resource-server", "list")
        own = next(server for server in servers if server["identifier"] == "api/v2/")
        self.site.dossier("client", "grant", machine["id"], own["id"], "--scope", "read:clients")
        narrow = self.token_of(machine, self.api)
        for answer in self.sent(narrow):
            self.refused(answer, 403, "insufficient_scope")
        for answer in self.sent(self.own["access_token"]):
            self.assertEqual(answer.status, 403, answer.body)
        for token in [None, "x.y.z", self.own["id_token"], self.refresh_token["refresh_token"]]:
            for answer in self.sent(token):
                self.refused(answer, 401, None)
        self.is_untouched()

    def test_a_back_end_of_another_app(self):
        host = "elsewhere.example"
        self.site.create_app("elsewhere")
        self.site.dossier("app", "host", "set", "--app", "elsewhere", host)
        headers = {"Host": f"{host}:{self.site.port}"}
        servers = self.site.dossier("resource-server", "list", "--app", "elsewhere")
        server = next(server for server in servers if server["identifier"] == "api/v2/")
        machine = self.new_client("machine", app="elsewhere")
        scopes = [word for scope in self.SCOPES for word in ["--scope", scope]]
        self.site.dossier("client", "grant", machine["id"], server["id"], *scopes)
        token = self.token_of(machine, f"http://{host}:{self.site.port}/api/v2/", headers)
        for answer in self.sent(token, host=headers["Host"]):
            self.assertEqual(answer.status, 404, answer.body)
        for answer in self.sent(token):
            self.refused(answer, 401, None)
        self.is_untouched()

    def token_of(self, machine, audience, headers=None):
        answer = self.site.request("POST", "/oauth/token", json.dumps({
            "grant_type": "client_credentials", "client_id": machine["id"],
            "client_secret": machine["secret"], "audience": audience}),
            {"Content-Type": "application/json", **(headers or {})})
        return self.expect(answer, 200).json["access_token"]
