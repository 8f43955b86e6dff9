"""Programs of Auth0's Python SDK, in two versions, work on the Management API."""

import json
import os
import pathlib
import subprocess

from hosted import PASSWORD
from openid import CALLBACK, OpenIDCase, Party, claims
from machine import TOOLS_FOLDER

START = """
import json, sys
site = json.loads(sys.argv[1])
from auth0.authentication import Database, GetToken
domain = "127.0.0.1:%d" % site["port"]
token = GetToken(domain, site["client"], client_secret=site["secret"], protocol="http")
access = token.client_credentials(site["api"])["access_token"]
email = site["email"]
"""

VERSION_4 = START + """
from auth0.management import Users, UsersByEmail
from auth0.exceptions import Auth0Error
users = Users(domain, access, protocol="http")
connection = "Username-Password-Authentication"
made = users.create({"connection": connection, "email": email, "password": site["password"],
                     "user_metadata": {"theme": "dark"}, "app_metadata": {"plan": "pro"}})
user = made["user_id"]
assert user.startswith("auth0|"), made
assert made["user_metadata"] == {"theme": "dark"} and made["app_metadata"] == {"plan": "pro"}, made
assert made["identities"][0]["connection"] == connection and "logins_count" not in made, made
try:
    users.create({"connection": connection, "email": email, "password": site["password"]})
    raise AssertionError("created twice")
except Auth0Error as error:
    assert (error.status_code, error.error_code) == (409, "auth0_idp_error"), error
only = users.get(user, fields=["user_metadata", "app_metadata"])
assert only == {"user_metadata": {"theme": "dark"}, "app_metadata": {"plan": "pro"}}, only
changed = users.update(user, {"user_metadata": {"theme": None, "size": {"a": 1.50}}, "name": "Ada"})
assert changed["user_metadata"] == {"size": {"a": 1.5}} and changed["name"] == "Ada", changed
changed = users.update(user, {"user_metadata": {"size": {"b": 2}}})
assert changed["user_metadata"] == {"size": {"b": 2}}, changed
changed = users.update(user, {"nonsense": 1})
assert changed["ignored_members"] == ["nonsense"], changed
changed = users.update(user, {"app_metadata": {}})
assert changed["app_metadata"] == {}, changed
for body in [{"email_verified": True, "password": "another horse battery"},
             {"app_metadata": {"email": "x"}}]:
    try:
        users.update(user, body)
        raise AssertionError(body)
    except Auth0Error as error:
        assert (error.status_code, error.error_code) == (400, "invalid_body"), error
found = users.list(q='email:"%s"' % email, search_engine="v3")
assert (found["total"], found["length"], found["start"], found["limit"]) == (1, 1, 0, 25), found
assert found["users"][0]["user_id"] == user
assert users.list(q='user_id:"%s"' % user)["users"][0]["user_id"] == user
assert isinstance(users.list(include_totals=False), list)
assert UsersByEmail(domain, access, protocol="http").search_users_by_email(email)[0]["user_id"] == user
try:
    users.list(q="email:(")
    raise AssertionError("parsed")
except Auth0Error as error:
    assert (error.status_code, error.error_code) == (400, "invalid_query_string"), error
try:
    users.list(page=10, per_page=100)
    raise AssertionError("paged")
except Auth0Error as error:
    assert (error.status_code, error.error_code) == (400, "invalid_paging"), error
users.delete(user)
users.delete(user)
try:
    users.get(user)
    raise AssertionError("found")
except Auth0Error as error:
    assert (error.status_code, error.error_code) == (404, "inexistent_user"), error
database = Database(domain, site["page"], protocol="http")
signed = database.signup(email="new" + email, password=site["password"], connection=connection,
                         given_name="Ada", nickname="", user_metadata={"theme": "dark"})
assert signed["email"] == "new" + email and signed["email_verified"] is False, signed
found = users.get("auth0|" + signed["_id"])
assert (found["given_name"], found["user_metadata"]) == ("Ada", {"theme": "dark"}), found
for members in [{"user_metadata": {"a": 1}}, {"user_metadata": {"a": "x" * 501}}, {"name": "x" * 999},
                {"user_metadata": {str(n): "" for n in range(11)}}, {"given_name": 1}]:
    try:
        database.signup("second" + email, site["password"], connection, **members)
        raise AssertionError(members)
    except Auth0Error as error:
        assert (error.status_code, error.error_code) == (400, "invalid_signup"), vars(error)
assert users.list(q='email:"second%s"' % email)["total"] == 0
try:
    database.signup(email="new" + email, password=site["password"], connection=connection)
    raise AssertionError("signed up twice")
except Auth0Error as error:
    assert error.status_code == 400 and error.error_code == "user_exists", error
database.change_password(email="nobody" + email, connection=connection)
print("done")
"""

VERSION_6 = START + """
from auth0.management import Auth0
from auth0.management.core.api_error import ApiError
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
made = client.users.create(
    connection="Username-Password-Authentication", email=email, password=site["password"],
    user_metadata={"theme": "dark"})
user = made.user_id
assert client.users.get(user).email == email
both = client.users.update(user, user_metadata={"theme": None}, app_metadata={"plan": "pro"})
assert both.user_metadata == {} and both.app_metadata == {"plan": "pro"}, both
assert [found.user_id for found in client.users.list(q='email:"%s"' % email)] == [user]
assert [found.user_id for found in client.users.list_users_by_email(email=email)] == [user]
assert client.users.update(user, blocked=True).blocked is True
client.users.delete(user)
try:
    client.users.get(user)
    raise AssertionError("found")
except ApiError as error:
    assert error.status_code == 404 and error.body["errorCode"] == "inexistent_user", error
print("done")
"""

class Auth0Case(OpenIDCase):
    """Tests with a back end that has all scopes, and a single-page app with Auth0's SDK."""

    SCOPES = ["read:users", "create:users", "update:users", "delete:users"]

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.api = cls.issuer + "api/v2/"
        servers = cls.site.dossier("resource-server", "list")
        own = next(server for server in servers if server["identifier"] == "api/v2/")
        cls.back_end = cls.new_client("machine")
        cls.site.dossier("client", "grant", cls.back_end["id"], own["id"],
                         *[word for scope in cls.SCOPES for word in ["--scope", scope]])
        cls.page = cls.new_client("single_page", f"callback_urls={CALLBACK}")
        cls.site.dossier("client", "set", cls.page["id"], "claims_profile=auth0")

    def run_program(self, version, program, **values):
        site = {"port": self.site.port, "client": self.back_end["id"],
                "secret": self.back_end["secret"], "api": self.api, "page": self.page["id"],
                "email": self.own_email(), "password": PASSWORD,
                "audience": self.API, **values}
        folders = [TOOLS_FOLDER / f"auth0-{version}", pathlib.Path(__file__).parent]
        run = subprocess.run(
            [TOOLS_FOLDER / "bin/python", "-B", "-c", program, json.dumps(site)],
            capture_output=True, text=True, timeout=120,
            env={**os.environ, "PYTHONPATH": ":".join(map(str, folders))})
        self.assertEqual(run.stdout.strip().splitlines()[-1:], ["done"], run.stdout + run.stderr)

    def management(self, method, path, body=None, token=None, host=None):
        headers = {"Content-Type": "application/json"} if body is not None else {}
        return self.site.request(
            method, "/api/v2/" + path, None if body is None else json.dumps(body),
            {**headers, **({"Host": host} if host else {})}, token=token)

    def refused(self, answer, status, code):
        self.assertEqual((answer.status, answer.json.get("errorCode")), (status, code), answer.body)
        self.assertEqual(answer.json["statusCode"], status)

    def consented(self, email, scope):
        """Returns the tokens of a user who consents to the scopes of this API."""
        party = Party(self, self.page, scope=scope, audience=self.api)
        page = self.signed_in(party, email)
        if "wants access" in page.heading:
            page = self.visitor.submit("/consent", button="allow")
        return self.expect(party.exchange(party.code(page)), 200).json

    def back_end_token(self, **fields):
        answer = self.site.request("POST", "/oauth/token", json.dumps({
            "grant_type": "client_credentials", "client_id": self.back_end["id"],
            "client_secret": self.back_end["secret"], "audience": self.api, **fields}),
            {"Content-Type": "application/json"})
        return self.expect(answer, 200).json["access_token"]


class Python(Auth0Case):
    def test_version_4(self):
        self.run_program("4.13.0", VERSION_4)

    def test_version_6(self):
        self.run_program("6.8.0", VERSION_6)


class Tokens(Auth0Case):
    """Tokens of users, as in the tutorial on metadata."""

    SCOPE = "openid profile email read:current_user update:current_user_metadata read:users"

    def signed_in_user(self, scope=SCOPE):
        email, user = self.user()
        party_tokens = self.consented(email, scope)
        return user, party_tokens

    def test_a_user_reads_and_changes_its_own_metadata(self):
        user, tokens = self.signed_in_user()
        subject = f"auth0|{user}"
        self.assertEqual(claims(tokens["id_token"])["sub"], subject)
        self.assertEqual(claims(tokens["access_token"])["sub"], subject)
        self.assertIn(self.api, claims(tokens["access_token"])["aud"])
        self.assertNotIn("read:users", tokens["scope"].split())
        path, token = f"users/auth0%7C{user}", tokens["access_token"]
        self.assertEqual(
            self.expect(self.userinfo(token), 200).json["sub"], subject)
        query = "?fields=user_metadata,app_metadata&include_fields=true"
        self.assertEqual(self.expect(self.management("GET", path + query, token=token), 200).json, {})
        body = {"user_metadata": {"personal_affirmation": "I can"}}
        changed = self.expect(self.management("PATCH", path, body, token), 200).json
        self.assertEqual(changed["user_metadata"], body["user_metadata"])
        self.assertEqual(changed["user_id"], subject)
        back_end = self.back_end_token()
        self.expect(self.management(
            "PATCH", path, {"app_metadata": {"display_announcement": True}}, back_end), 200)
        read = self.expect(self.management("GET", path + query, token=token), 200).json
        self.assertEqual(read["app_metadata"], {"display_announcement": True})
        self.refused(self.management("PATCH", path, {"app_metadata": {}}, token),
                     403, "insufficient_scope")
        self.refused(self.management("PATCH", path, {**body, "name": "Eve"}, token),
                     403, "insufficient_scope")
        _, other = self.user("other" + self.own_email())
        for method, more in [("GET", None), ("PATCH", body)]:
            self.refused(self.management(method, f"users/auth0%7C{other}", more, token),
                         403, "unowned_resource")
        for method, route, more in [
                ("GET", "users", None), ("DELETE", path, None),
                ("GET", "users-by-email?email=a@example.com", None),
                ("POST", "users", {"connection": "Username-Password-Authentication"})]:
            self.refused(self.management(method, route, more, token), 403, "insufficient_scope")

    def test_a_user_keeps_its_id(self):
        email, token = self.own_email(), self.back_end_token()
        body = {"connection": "Username-Password-Authentication", "email": email,
                "password": "correct horse battery", "user_id": "own-1"}
        made = self.expect(self.management("POST", "users", body, token), 201).json
        self.assertEqual(made["user_id"], "auth0|own-1")
        tokens = self.consented(email, self.SCOPE)
        self.assertEqual(claims(tokens["id_token"])["sub"], "auth0|own-1")
        own = tokens["access_token"]
        for id in ["auth0%7Cown-1", "auth0|own-1"]:
            read = self.expect(self.management("GET", f"users/{id}", token=own), 200).json
            self.assertEqual(read["email"], email)
        self.assertEqual(self.expect(self.userinfo(own), 200).json["sub"], "auth0|own-1")
        # Neither this id nor the default id of another user can be assigned again.
        _, other = self.user("other" + email)
        for id in ["own-1", other]:
            again = {**body, "email": "third" + email, "user_id": id}
            self.refused(self.management("POST", "users", again, token), 409, "auth0_idp_error")

    def test_without_the_scope_the_sign_in_works_and_the_read_is_refused(self):
        user, tokens = self.signed_in_user("openid profile email")
        answer = self.management("GET", f"users/auth0%7C{user}", token=tokens["access_token"])
        self.refused(answer, 403, "insufficient_scope")
        self.assertIn("read:current_user", answer.json["message"])

    def test_an_ended_session_and_a_blocked_user_are_refused_at_once(self):
        user, tokens = self.signed_in_user()
        path = f"users/auth0%7C{user}"
        self.expect(self.management("PATCH", path, {"blocked": True}, self.back_end_token()), 200)
        self.refused(self.management("GET", path, token=tokens["access_token"]), 401, None)

    def test_tokens_of_other_audiences_and_clients_are_refused(self):
        tokens, _ = self.tokens()
        self.refused(self.management("GET", "users", token=tokens["access_token"]), 401, None)
        self.refused(self.management("GET", "users", token="x.y.z"), 401, None)
        self.refused(self.management("GET", "users"), 401, None)
        narrow = self.back_end_token(scope="read:users")
        self.refused(self.management("POST", "users", {}, narrow), 403, "insufficient_scope")
        token = self.back_end_token()
        self.expect(self.management("GET", "users", token=token), 200)
        self.refused(self.management("GET", "users/nobody", token=token), 400, "invalid_uri")

    def test_users_and_back_ends_have_separate_scopes(self):
        machine = self.new_client("machine")
        servers = self.site.dossier("resource-server", "list")
        own = next(server for server in servers if server["identifier"] == "api/v2/")
        self.site.dossier("client", "grant", machine["id"], own["id"], "--scope", "create:users",
                          "--scope", "read:current_user", "--scope", "update:current_user_metadata")
        answer = self.site.request("POST", "/oauth/token", json.dumps({
            "grant_type": "client_credentials", "client_id": machine["id"],
            "client_secret": machine["secret"], "audience": self.api}),
            {"Content-Type": "application/json"})
        token = self.expect(answer, 200).json["access_token"]
        _, user = self.user()
        path = f"users/auth0%7C{user}"
        for method, body in [("GET", None), ("PATCH", {}), ("PATCH", {"user_metadata": {"a": 1}}),
                             ("PATCH", {"app_metadata": {"admin": True}}), ("DELETE", None)]:
            self.refused(self.management(method, path, body, token), 403, "insufficient_scope")
        made = self.management("POST", "users", {
            "connection": "Username-Password-Authentication", "email": "new" + self.own_email(),
            "password": "correct horse battery", "app_metadata": {"plan": "pro"}}, token)
        # The response shows what the scope has written.
        self.assertEqual(self.expect(made, 201).json["app_metadata"], {"plan": "pro"})
        path = f"users/{made.json['user_id']}"
        read = self.expect(self.management("GET", path, token=self.back_end_token()), 200).json
        self.assertEqual(read["app_metadata"], {"plan": "pro"})
