"""Lists of users that Auth0's SDKs read: factors, blocks and organizations."""

import json
import time

from hosted import PASSWORD
from test_auth0 import START, Auth0Case

# Of no password.
HASH = "$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHRzb21lc2FsdA$" + "A" * 43

VERSION_4 = START + """
from auth0.management import UserBlocks, Users
users = Users(domain, access, protocol="http")
user = site["user"]
assert users.list_organizations(user) == {"start": 0, "limit": 25, "length": 0, "total": 0,
                                          "organizations": []}
assert users.get_guardian_enrollments(user)[0]["status"] == "confirmed"
assert users.get_authentication_methods(user)[0]["type"] == "totp"
blocks = UserBlocks(domain, access, protocol="http")
assert blocks.get(user) == blocks.get_by_identifier(site["mail"]) == {"blocked_for": []}
blocks.unblock(user)
blocks.unblock_by_identifier(site["mail"])
print("done")
"""

VERSION_6 = START + """
from auth0.management import Auth0
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
user = site["user"]
assert not list(client.users.organizations.list(user))
assert client.users.enrollments.get(user)[0].auth_method == "authenticator"
method, = client.users.authentication_methods.list(user)
assert method.type == "totp" and method.confirmed, method
assert client.user_blocks.list(user).blocked_for == []
client.user_blocks.delete(user)
assert client.user_blocks.list_by_identifier(identifier=site["mail"]).blocked_for == []
client.user_blocks.delete_by_identifier(identifier=site["mail"])
print("done")
"""


class Lists(Auth0Case):
    def test_the_sdks(self):
        mail, user = self.user()
        self.site.sql(
            "insert into second_factors (user_id, factor_id, secret, confirmed_at) values "
            f"('{user}', '{user}', '', now())")
        for version, program in [("4.13.0", VERSION_4), ("6.8.0", VERSION_6)]:
            self.run_program(version, program, user=f"auth0|{user}", mail=mail)

    def test_a_reset_lets_a_user_sign_in_again(self):
        self.settings(failures_per_identifier=2)
        for way in ["user-blocks/{user}", "user-blocks?identifier={mail}"]:
            mail, user = self.user(str(len(way)) + self.own_email())
            while self.login(mail, "wrong horse").status == 401:
                pass
            self.expect(self.login(mail, PASSWORD), 429)
            path = way.format(user=f"auth0|{user}", mail=mail)
            self.expect(self.management("DELETE", path, token=self.back_end_token()), 204)
            self.expect(self.login(mail, PASSWORD), 200)

    def test_a_reset_folds_the_address(self):
        self.settings(failures_per_identifier=2)
        mail = self.own_email()
        while self.login(mail, "wrong horse").status == 401:
            pass
        self.expect(self.login(mail, "wrong horse"), 429)
        path = f"user-blocks?identifier={mail.upper()}"
        self.expect(self.management("DELETE", path, token=self.back_end_token()), 204)
        self.expect(self.login(mail, "wrong horse"), 401)

    def test_lists_of_unknown_users(self):
        token = self.back_end_token()
        for path in ["users/{}/organizations", "users/{}/enrollments", "user-blocks/{}",
                     "users/{}/authentication-methods"]:
            answer = self.management("GET", path.format("auth0|" + "0" * 24), token=token)
            self.refused(answer, 404, "inexistent_user")
        self.refused(self.management("GET", "user-blocks", token=token), 400, "invalid_query_string")

    def test_the_shape_of_a_user(self):
        token, mail = self.back_end_token(), self.own_email()
        row = {"id": "5" * 24, "email": f"Shape-{mail}", "password_hash": HASH,
               "created_at": "2020-01-01T00:00:00Z"}
        self.site.dossier("user", "import", "--app", "default", "-", given=json.dumps(row) + "\n",
                          output="text")
        path = "users/auth0|" + row["id"]
        user = self.expect(self.management("GET", path, token=token), 200).json
        self.assertEqual(user["email"], f"shape-{mail}".lower())
        self.assertNotIn("last_password_reset", user)
        self.expect(self.management("PATCH", path, {"password": "another horse battery"}, token), 200)
        user = self.expect(self.management("GET", path, token=token), 200).json
        self.assertEqual(user["last_password_reset"][:2], "20")
        guest = self.expect(self.post("/v1/login/anonymous", {}), 200).json["user_id"]
        for id in [user["user_id"], f"auth0|{guest}"]:
            user = self.expect(self.management("GET", f"users/{id}", token=token), 200).json
            first = user["identities"][0]
            self.assertEqual(f"{first['provider']}|{first['user_id']}", user["user_id"])

    def test_the_names_of_fields_are_limited(self):
        for path in ["users", "users/auth0|" + "0" * 24, "users-by-email"]:
            query = ",".join(["email"] * 101)
            answer = self.management("GET", f"{path}?fields={query}", token=self.back_end_token())
            self.refused(answer, 400, "invalid_query_string")
            self.assertIn("at most 100", answer.json["message"])

    def test_a_foreign_id_belongs_to_one_user(self):
        id = "a" * 24
        body = {"connection": "Username-Password-Authentication", "email": self.own_email(),
                "password": PASSWORD, "user_id": id}
        token = self.back_end_token()
        self.expect(self.management("POST", "users", body, token), 201)
        path = self.site.folder / "row.ndjson"
        path.write_text('{"id": "%s", "email": "other%s"}\n' % (id, self.own_email()))
        run = self.site.dossier("user", "import", "--app", "default", path, check=False, output="text")
        self.assertIn("/id", run.stdout + run.stderr)
        read = self.management("GET", f"users/auth0|{id}", token=token)
        self.assertEqual(read.json["email"], self.own_email())


COUNTERS = START + """
import time
from auth0.management import Auth0
from auth0.management.core.api_error import ApiError
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
raw = client.users.with_raw_response

def headers(call, **words):
    try:
        return call(**words).headers
    except ApiError as error:
        return error.headers

made = raw.create(connection="Username-Password-Authentication", email="count@example.com",
                  password="correct horse battery")
for found in [
        made.headers, headers(raw.get, id=made.data.user_id), headers(raw.get, id="auth0|" + "0" * 24),
        headers(raw.update, id=made.data.user_id, blocked=True), headers(raw.get, id="nobody"),
        headers(raw.delete, id=made.data.user_id)]:
    limit, left, reset = [int(found["x-ratelimit-" + name]) for name in ["limit", "remaining", "reset"]]
    assert 0 < left < limit, found
    assert abs(reset - time.time()) < 3600, found
print("done")
"""


class Limits(Auth0Case):
    def test_the_sdk_reads_the_counters_of_each_response(self):
        self.run_program("6.8.0", COUNTERS)

    def test_each_response_has_the_counters(self):
        # nginx itself refuses the long body.
        for method, path, body in [
                ("GET", "/api/v2/users", None), ("GET", "/api/v2/nothing", None),
                ("PUT", "/api/v2/users", None), ("POST", "/api/v2/users", "x" * 3_000_000),
                ("GET", "/dbconnections/nothing", None)]:
            with self.subTest(f"{method} {path}"):
                answer = self.site.request(method, path, body, {"Content-Type": "application/json"})
                self.assertGreaterEqual(answer.status, 400)
                for name, bounds in [("Limit", (1_000, 1_000)), ("Remaining", (999, 999)),
                                     ("Reset", (time.time() - 60, time.time() + 60))]:
                    value = int(answer.headers[f"X-RateLimit-{name}"])
                    self.assertTrue(bounds[0] <= value <= bounds[1], (name, value))
        self.assertIsNone(self.site.get("/v1/me").headers["X-RateLimit-Limit"])

    def test_responses_have_the_counters_of_limits(self):
        self.settings(failures_per_identifier=2)
        body = {"client_id": self.page["id"], "email": self.own_email(),
                "connection": "Username-Password-Authentication"}
        seen = []
        for _ in range(20):
            now = int(time.time())
            answer = self.site.request(
                "POST", "/dbconnections/change_password", json.dumps(body),
                {"Content-Type": "application/json"})
            counters = [int(answer.headers[f"X-RateLimit-{name}"])
                        for name in ["Limit", "Remaining", "Reset"]
                        if f"X-RateLimit-{name}" in answer.headers]
            seen.append(counters)
            if answer.status == 429:
                break
        self.assertEqual(answer.status, 429, answer.body)
        limit, remaining, reset = counters
        self.assertGreater(limit, 0)
        self.assertEqual(remaining, 0)
        self.assertGreaterEqual(reset, now + int(answer.headers["Retry-After"]))
        self.assertTrue(seen[0] and seen[0][1] >= seen[-2][1], seen)
