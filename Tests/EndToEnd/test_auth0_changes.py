"""Changes of users and sign-ups, by both versions of Auth0's SDK for Python."""

from hosted import PASSWORD
from machine import wait_until
from test_auth0 import START, Auth0Case

CONNECTION = "Username-Password-Authentication"

CHANGES_4 = START + """
from auth0.management import Users
users = Users(domain, access, protocol="http")
change = lambda **body: users.update(site["user"], body)
read = lambda: users.get(site["user"])
"""
CHANGES_6 = START + """
from auth0.management import Auth0
users = Auth0(base_url="http://%s/api/v2" % domain, token=access).users
change = lambda **body: json.loads(users.update(site["user"], **body).json())
read = lambda: json.loads(users.get(site["user"]).json())
"""
CHANGES = """
picture = "https://pictures.example.com/a.png"
before = read()
assert change(picture=picture)["picture"] == picture
assert read()["updated_at"] > before["updated_at"]
assert change(email="new" + site["mail"])["email"] == "new" + site["mail"]
assert change(email_verified=False)["email_verified"] is False
assert change(email_verified=True)["email_verified"] is True
before = read()
changed = change(user_metadata={"theme": "dark"}, app_metadata={"plan": "pro"})
assert changed["user_metadata"] == {"theme": "dark"}, changed
assert changed["app_metadata"] == {"plan": "pro"}, changed
assert changed["updated_at"] > before["updated_at"], changed
assert change(password="another horse battery")["updated_at"] > changed["updated_at"]
assert change(phone_number="+441234567890", nickname="n" * 300)["nickname"] == "n" * 300
print("done")
"""

SIGN_UP = START + """
from auth0.authentication import Database
try:
    from auth0.authentication.exceptions import Auth0Error
except ImportError:
    from auth0.exceptions import Auth0Error
database = Database(domain, site["page"], protocol="http")
picture = "https://pictures.example.com/b.png"
made = database.signup(email=email, password=site["password"], connection=site["connection"],
                       picture=picture, user_metadata={"theme": "dark"})
assert made["email"] == email and made["picture"] == picture, made
said = database.change_password(email=email, connection=site["connection"])
assert "email to reset" in said, said
for status, code, call in [
        (400, "invalid_signup", dict(username="ada")), (400, "invalid_signup", dict(picture="x")),
        (400, "invalid_password", dict(password="short")),
        (400, "invalid_connection", dict(connection="github")),
        (400, "user_exists", dict(email=email))]:
    try:
        database.signup(**{"email": "second" + email, "password": site["password"],
                           "connection": site["connection"], **call})
        raise AssertionError(call)
    except Auth0Error as error:
        assert (error.status_code, error.error_code) == (status, code), (call, vars(error))
print("done")
"""

REVOKE = START + """
from auth0.management import Auth0
client = Auth0(base_url="http://%s/api/v2" % domain, token=access)
of_page = lambda: [session.id for session in client.users.sessions.list(site["user"])
                   if site["page"] in [client.client_id for client in session.clients]]
session, = of_page()
client.sessions.revoke(session)
assert not of_page()
assert not list(client.users.refresh_token.list(site["user"]))
print("done")
"""


class Changes(Auth0Case):
    SCOPES = Auth0Case.SCOPES + ["read:sessions", "delete:sessions", "read:refresh_tokens"]

    def patch(self, user, token, status=200, **body):
        answer = self.management("PATCH", f"users/auth0|{user}", body, token)
        return self.expect(answer, status).json

    def test_both_sdks_change_users(self):
        for version, program in [("4.13.0", CHANGES_4), ("6.8.0", CHANGES_6)]:
            mail, user = self.user(version + self.own_email())
            self.run_program(version, program + CHANGES, user=f"auth0|{user}", mail=mail)
            self.expect(self.login("new" + mail, "another horse battery"), 200)

    def test_both_sdks_sign_users_up(self):
        for version in ["4.13.0", "6.8.0"]:
            email = version + self.own_email()
            self.run_program(version, SIGN_UP, email=email, connection=CONNECTION)
            user, = self.management(
                "GET", f"users-by-email?email={email}", token=self.back_end_token()).json
            self.assertEqual(user["picture"], "https://pictures.example.com/b.png")
            self.assertEqual(user["user_metadata"], {"theme": "dark"})
            wait_until(lambda: self.site.mails(email), what="a mail with a link")

    def test_a_revoked_session_ends_with_its_tokens(self):
        mail, user = self.user()
        tokens = self.consented(mail, "openid read:current_user")
        self.run_program("6.8.0", REVOKE, user=f"auth0|{user}")
        self.refused(self.management("GET", f"users/auth0|{user}", token=tokens["access_token"]),
                     401, None)

    def test_one_change_creates_one_version_of_the_user(self):
        _, user = self.user()
        token = self.back_end_token()
        picture = "https://pictures.example.com/c.png"
        for body, count in [({"name": "Ada", "blocked": False}, 1), ({"picture": picture}, 1),
                            ({"user_metadata": {"a": 1}}, 1), ({"picture": picture}, 0),
                            ({"nickname": "a", "picture": None}, 1)]:
            with self.subTest(body=body):
                query = f"select version from users where user_id = '{user}'"
                before = int(self.site.sql(query))
                changed = self.patch(user, token, **body)
                self.assertEqual(int(self.site.sql(query)), before + count)
                for name in body.keys() & {"name", "nickname"}:
                    self.assertEqual(changed[name], body[name])

    def test_an_address_stays_verified(self):
        mail, user = self.user()
        token = self.back_end_token()
        self.assertIs(self.patch(user, token, email_verified=False)["email_verified"], False)
        self.patch(user, token, email_verified=True)
        answer = self.management("PATCH", f"users/auth0|{user}", {"email_verified": False}, token)
        self.refused(answer, 400, "invalid_body")
        self.assertIn("on property email_verified", answer.json["message"])

    def test_a_user_without_an_address_has_no_password(self):
        guest = self.expect(self.post("/v1/login/anonymous", {}), 200).json["user_id"]
        token = self.back_end_token()
        for body in [{"password": "another horse battery"}, {"email_verified": True}]:
            self.refused(self.management("PATCH", f"users/auth0|{guest}", body, token),
                         400, "no_email")
            self.refused(self.management("PATCH", f"users/auth0|{'0' * 24}", body, token),
                         404, "inexistent_user")

    def test_errors_name_the_members_of_the_api(self):
        _, user = self.user()
        token = self.back_end_token()
        new = {"connection": CONNECTION, "email": "new" + self.own_email(), "password": PASSWORD}
        for method, path, body, place in [
                ("PATCH", f"users/auth0|{user}", {"user_metadata": {"a.b": 1}}, "user_metadata.a.b"),
                ("PATCH", f"users/auth0|{user}", {"phone_number": "1"}, "phone_number"),
                ("POST", "users", {**new, "user_metadata": {"a.b": 1}}, "user_metadata.a.b"),
                ("POST", "users", {**new, "phone_number": "1"}, "phone_number"),
                ("POST", "users", {**new, "picture": "x"}, "picture"),
                ("POST", "users", {**new, "verify_email": "no"}, "verify_email")]:
            answer = self.management(method, path, body, token)
            self.refused(answer, 400, "invalid_body")
            self.assertIn(f"' on property {place}.", answer.json["message"])
        # A back end must not believe that a user has a factor or a password that was ignored.
        for member in ["multifactor", "mfa_factors", "password_hash", "custom_password_hash"]:
            for method, path in [("POST", "users"), ("PATCH", f"users/auth0|{user}")]:
                answer = self.management(method, path, {**new, member: []}, token)
                self.refused(answer, 400, "invalid_body")
                self.assertIn(f"Additional properties not allowed: {member}",
                              answer.json["message"])
        # No user was created in part.
        found = self.management("GET", f"users-by-email?email={new['email']}", token=token)
        self.assertEqual(found.json, [])
        made = self.expect(self.management("POST", "users", {**new, "foo": 1}, token), 201).json
        self.assertEqual(made["ignored_members"], ["foo"])
        answer = self.management("PATCH", f"users/auth0|{user}", {"nickname": "n", "foo": 1}, token)
        changed = self.expect(answer, 200).json
        self.assertEqual((changed["nickname"], changed["ignored_members"]), ("n", ["foo"]))

    def test_a_sign_up_with_refused_metadata_does_not_blame_the_password(self):
        schema = self.site.folder / "schema.json"
        schema.write_text('{"properties": {"password": {"minLength": 3}}}')
        self.site.dossier("schema", "set", "metadata", schema)
        self.addCleanup(self.site.dossier, "schema", "delete", "--yes", "metadata")
        answer = self.post("/dbconnections/signup", {
            "client_id": self.page["id"], "connection": CONNECTION, "email": self.own_email(),
            "password": PASSWORD, "user_metadata": {"password": "x"}})
        self.assertEqual((answer.status, answer.json["code"]), (400, "invalid_signup"), answer.body)

    def test_a_new_user_gets_a_mail_unless_it_is_refused(self):
        token = self.back_end_token()
        for number, (more, mails) in enumerate(
                [({"verify_email": False}, 0), ({"email_verified": True}, 0), ({}, 1)]):
            email = f"{number}{self.own_email()}"
            body = {"connection": CONNECTION, "email": email, "password": PASSWORD, **more}
            self.expect(self.management("POST", "users", body, token), 201)
            if mails:
                wait_until(lambda: self.site.mails(email), what="a mail")
        self.assertFalse(self.site.mails(f"0{self.own_email()}"))
        self.assertFalse(self.site.mails(f"1{self.own_email()}"))

    def test_the_scopes_to_create_and_to_delete_metadata(self):
        mail, user = self.user()
        path, scopes = f"users/auth0|{user}", "openid create:current_user_metadata"
        created = self.consented(mail, scopes)["access_token"]
        self.visitor = self.new_visitor()
        deleted = self.consented(mail, "openid delete:current_user_metadata")["access_token"]
        first = {"user_metadata": {"theme": "dark", "size": 1}}
        self.refused(self.management("PATCH", path, first, deleted), 403, "insufficient_scope")
        changed = self.expect(self.management("PATCH", path, first, created), 200).json
        self.assertEqual(changed["user_metadata"], first["user_metadata"])
        self.refused(self.management("PATCH", path, first, created), 403, "insufficient_scope")
        one = {"user_metadata": {"theme": None}}
        self.refused(self.management("PATCH", path, one, created), 403, "insufficient_scope")
        self.refused(self.management("PATCH", path, first, deleted), 403, "insufficient_scope")
        changed = self.expect(self.management("PATCH", path, one, deleted), 200).json
        self.assertEqual(changed["user_metadata"], {"size": 1})
        self.refused(self.management("PATCH", path, {"app_metadata": {}}, deleted),
                     403, "insufficient_scope")

    def test_an_update_scope_returns_what_it_writes(self):
        _, user = self.user()
        self.patch(user, self.back_end_token(), user_metadata={"a": 1}, app_metadata={"b": 2})
        update = self.back_end_token(scope="update:users")
        changed = self.patch(user, update, name="Ada")
        self.assertEqual((changed["user_metadata"], changed["app_metadata"]), ({"a": 1}, {"b": 2}))
        self.refused(self.management("GET", f"users/auth0|{user}", token=update),
                     403, "insufficient_scope")
