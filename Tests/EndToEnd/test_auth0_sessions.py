"""Back ends list and end sessions and refresh tokens of users, as Auth0's SDK does."""

from openid import Party
from test_auth0 import START, Auth0Case

VERSION_6 = START + """
from auth0.management import Auth0
from auth0.management.core.api_error import ApiError
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
user = site["user"]
first, = client.users.sessions.list(user)
assert first.user_id == user and first.device.initial_ip == "127.0.0.1", first
assert [party.client_id for party in first.clients] == [site["page"]], first
assert [signal.name for signal in first.authentication.methods] == ["pwd"], first
assert client.sessions.get(first.id).authenticated_at == first.authenticated_at
tokens = list(client.users.refresh_token.list(user, take=1))
assert len(tokens) == 3 and len({token.id for token in tokens}) == 3, tokens
token = client.refresh_tokens.get(tokens[0].id)
assert token.client_id == site["page"] and token.session_id == first.id and token.rotating, token
assert token.resource_servers[0].scopes == "openid offline_access", token
client.refresh_tokens.delete(token.id)
assert len(list(client.users.refresh_token.list(user))) == 2
client.sessions.delete(first.id)
assert not list(client.users.sessions.list(user))
assert len(list(client.users.refresh_token.list(user))) == 2
client.users.refresh_token.delete(user)
assert not list(client.users.refresh_token.list(user))
client.users.sessions.delete(user)
client.users.revoke_access(user)
for read in [client.sessions.get, client.refresh_tokens.get]:
    for gone in [first.id, token.id, "x", "0" * 48]:
        try:
            read(gone)
            raise AssertionError("found")
        except ApiError as error:
            assert (error.status_code, error.body["errorCode"]) == (404, "inexistent_resource"), error
print("done")
"""


class Sessions(Auth0Case):
    SCOPES = Auth0Case.SCOPES + [
        "read:sessions", "delete:sessions", "read:refresh_tokens", "delete:refresh_tokens"]

    SCOPE = "openid offline_access"

    def setUp(self):
        super().setUp()
        self.email, self.user_id = self.user()
        self.subject = f"auth0|{self.user_id}"
        self.path = f"users/{self.subject}"

    def new_tokens(self):
        """Returns tokens of the page in the browser's session, which the first call starts."""
        party = Party(self, self.page, scope=self.SCOPE)
        page = self.visitor.open(party.path)
        if page.status == 200 and page.forms:
            page = self.signed_in(party, self.email)
        return self.expect(party.exchange(party.code(page)), 200).json

    def refreshed(self, tokens):
        return Party(self, self.page).token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"])

    def one(self, kind):
        answer = self.management("GET", f"{self.path}/{kind}", token=self.back_end_token())
        items = self.expect(answer, 200).json["sessions" if kind == "sessions" else "tokens"]
        return [item["id"] for item in items]

    def test_version_6(self):
        # The native session of the registration is one too.
        token = self.back_end_token()
        self.expect(self.management("DELETE", f"{self.path}/sessions", token=token), 202)
        for _ in range(3):
            self.new_tokens()
        self.run_program("6.8.0", VERSION_6, user=self.subject)

    def test_a_deleted_session_leaves_refresh_tokens_and_a_revoked_one_does_not(self):
        token = self.back_end_token()
        tokens = self.new_tokens()
        session = self.one("sessions")[0]
        answer = self.expect(self.management("DELETE", f"sessions/{session}", token=token), 202)
        self.assertEqual(answer.json, {})
        tokens = self.expect(self.refreshed(tokens), 200).json
        self.shows(self.visitor.open(Party(self, self.page).path), "Sign in")
        self.visitor = self.new_visitor()
        others = self.new_tokens()
        session = self.one("sessions")[0]
        self.expect(self.management("POST", f"sessions/{session}/revoke", token=token), 202)
        self.error(self.refreshed(others), 403, "invalid_grant")
        self.expect(self.refreshed(tokens), 200)

    def test_the_access_of_a_user_is_revoked(self):
        token = self.back_end_token()
        tokens = self.new_tokens()
        path = f"{self.path}/revoke-access"
        session = self.one("sessions")[0]
        body = {"session_id": session, "preserve_refresh_tokens": True}
        self.expect(self.management("POST", path, body, token), 202)
        self.assertNotIn(session, self.one("sessions"))
        tokens = self.expect(self.refreshed(tokens), 200).json
        self.expect(self.management("POST", path, {}, token), 202)
        self.error(self.refreshed(tokens), 403, "invalid_grant")
        self.assertEqual(self.one("sessions") + self.one("refresh-tokens"), [])
        _, other = self.user("other" + self.email)
        for body in [{"session_id": other * 2}, {"session_id": 1}, {"preserve_refresh_tokens": "x"},
                     {"nonsense": 1}]:
            self.refused(self.management("POST", path, body, token), 400, "invalid_body")

    def test_each_scope_ends_its_own_kind(self):
        self.new_tokens()
        session, refresh_token = self.one("sessions")[0], self.one("refresh-tokens")[0]
        sessions = self.back_end_token(scope="read:sessions delete:sessions")
        tokens = self.back_end_token(scope="read:refresh_tokens delete:refresh_tokens")
        path = f"{self.path}/revoke-access"
        for method, route, token in [
                ("GET", f"{self.path}/sessions", tokens), ("DELETE", f"sessions/{session}", tokens),
                ("GET", f"sessions/{session}", tokens),
                ("POST", f"sessions/{session}/revoke", tokens),
                ("GET", f"{self.path}/refresh-tokens", sessions),
                ("DELETE", f"refresh-tokens/{refresh_token}", sessions)]:
            self.refused(self.management(method, route, token=token), 403, "insufficient_scope")
        for token in [tokens, sessions]:
            self.refused(self.management("POST", path, {}, token), 403, "insufficient_scope")
        # An id of the other kind ends nothing.
        self.management("DELETE", f"sessions/{refresh_token}", token=sessions)
        self.management("DELETE", f"refresh-tokens/{session}", token=tokens)
        self.assertIn(session, self.one("sessions"))
        self.assertIn(refresh_token, self.one("refresh-tokens"))
        body = {"preserve_refresh_tokens": True}
        self.expect(self.management("POST", path, body, sessions), 202)
