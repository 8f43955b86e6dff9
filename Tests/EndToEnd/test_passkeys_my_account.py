"""Passkeys of a signed-in user, by Auth0's API "My Account"."""

import base64
import unittest
import urllib.parse

from asking import JSON
from cases import in_parallel
from openid import Party, claims
from passkeys import RP_ID, Passkey, encoded
from test_passkeys_auth0 import Auth0PasskeyCase

PREFIX = "/me/v1"
METHODS = f"{PREFIX}/authentication-methods"
SCOPES = [f"{verb}:me:authentication_methods" for verb in ["read", "create", "update", "delete"]]
ALL = " ".join(["openid", *SCOPES, "read:me:factors"])
ORIGIN = "https://spa.example.com"


class MyAccountCase(Auth0PasskeyCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for client in [cls.spa, cls.native]:
            cls.site.dossier("client", "set", client["id"], "password_grant=true",
                             f"cors_origins={ORIGIN}")

    def token(self, email, client=None, scope=ALL, audience=None, **fields):
        audience = audience or self.issuer + "me/"
        answer = Party(self, client or self.spa).token(
            grant_type="password", username=email, password="correct horse battery",
            scope=scope, audience=audience, **fields)
        return self.expect(answer, 200).json["access_token"]

    def person(self):
        self.people = getattr(self, "people", 0) + 1
        email, user = self.user(f"{self.people}-{self.own_email()}", "correct horse battery")
        return email, user, self.token(email)

    def ask(self, method, path, token, body=None, headers=None):
        return self.site.request(method, path, body, {**JSON, **(headers or {})}, token=token)

    def wrong(self, answer, status, code):
        """Checks an error by what the SDKs require."""
        self.assertEqual((answer.status, answer.json["type"]), (status, f"/problems/{code}"),
                         answer.body)
        self.assertEqual(answer.json["status"], status)
        for name in ["title", "detail"]:
            self.assertTrue(answer.json[name])
        if status == 401:
            self.assertTrue(answer.headers["WWW-Authenticate"].startswith("Bearer"))
        return answer.json

    def begun(self, token, **body):
        answer = self.expect(self.ask("POST", METHODS, token, {"type": "passkey", **body}), 201)
        location = answer.headers["Location"]
        self.assertEqual(urllib.parse.unquote(location.rsplit("/", 1)[1]), "passkey|new")
        self.assertTrue(location.startswith(self.issuer + "me/v1/"))
        return (urllib.parse.urlsplit(location).path, answer.json["auth_session"],
                answer.json["authn_params_public_key"])

    def added_by(self, token, passkey=None):
        passkey = passkey or Passkey()
        path, session, options = self.begun(token)
        answer = self.ask("POST", f"{path}/verify", token, {
            "auth_session": session, "authn_response": passkey.made(options)})
        return passkey, self.expect(answer, 201).json

    def listed(self, token):
        answer = self.expect(self.ask("GET", METHODS, token), 200)
        return answer.json["authentication_methods"]


class Methods(MyAccountCase):
    def test_a_user_adds_reads_renames_and_removes(self):
        email = self.own_email()
        user = self.verified(email, "correct horse battery")["user_id"]
        token = self.token(email)
        self.assertEqual(self.listed(token), [])
        passkey = Passkey(eligible=True)
        _, session, options = self.begun(token, identity_user_id=user, connection=None)
        self.assertEqual(options["user"]["name"], email)
        self.assertEqual(options["rp"]["id"], RP_ID)
        passkey, method = self.added_by(token, passkey)
        self.expect_mail(email, "A passkey")
        # The SDK for Swift requires these members.
        self.assertRegex(method["created_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        identity = method["id"].removeprefix("passkey|")
        self.assertEqual({name: value for name, value in method.items()
                          if name not in ["id", "created_at", "name"]}, {
            "type": "passkey", "usage": ["primary"], "identity_user_id": user,
            "key_id": encoded(passkey.id),
            "public_key": base64.b64encode(passkey.public_key()).decode(),
            "user_handle": encoded(user.encode()), "credential_device_type": "multi_device",
            "credential_backed_up": True, "aaguid": "00000000-0000-0000-0000-000000000000",
            "relying_party_id": RP_ID, "transports": ["hybrid", "internal"]})
        # The session of the client stays, and the passkey signs in at each wire.
        self.assertEqual(self.listed(token), [method])
        self.expect(self.shown_by(passkey), 200)
        self.assertEqual(self.expect(self.show(passkey), 200).json["user_id"], user)
        path = f"{METHODS}/passkey%7C{identity}"
        found = self.expect(self.ask("GET", path, token), 200).json
        self.assertTrue(found.pop("last_auth_at"))
        self.assertEqual(found, method)
        renamed = self.expect(self.ask("PATCH", path, token, {"name": "Ada's phone"}), 200).json
        self.assertEqual(renamed["name"], "Ada's phone")
        other, second = self.added_by(token, Passkey(-257))
        self.assertEqual(second["credential_device_type"], "single_device")
        self.assertEqual([one["id"] for one in self.listed(token)], [second["id"], method["id"]])
        answer = self.ask("GET", f"{METHODS}?type=totp", token)
        self.assertEqual(self.expect(answer, 200).json["authentication_methods"], [])
        answer = self.ask("DELETE", path, token)
        self.assertEqual((answer.status, answer.body), (204, b""))
        self.wrong(self.ask("GET", path, token), 404, "not_found")
        self.error(self.shown_by(passkey), 400, "invalid_grant")
        self.expect(self.shown_by(other), 200)

    def test_factors(self):
        _, _, token = self.person()
        answer = self.expect(self.ask("GET", f"{PREFIX}/factors", token), 200)
        self.assertEqual(answer.json, {"factors": [{"type": "passkey", "usage": ["primary"]}]})

    def test_pages_read_the_location(self):
        _, _, token = self.person()
        answer = self.ask("POST", METHODS, token, {"type": "passkey"}, {"Origin": ORIGIN})
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"], ORIGIN)
        self.assertIn("Location", answer.headers["Access-Control-Expose-Headers"].split(", "))

    def test_the_last_login_method_stays(self):
        passkey, _ = self.signed_up()
        tokens = self.expect(self.shown_by(passkey, audience=self.issuer + "me/", scope=ALL), 200)
        token = tokens.json["access_token"]
        [only] = self.listed(token)
        path = f"{METHODS}/{urllib.parse.quote(only['id'])}"
        self.wrong(self.ask("DELETE", path, token), 409, "last_identity")
        self.expect(self.shown_by(passkey), 200)

    def test_refresh_tokens_of_the_api(self):
        email, _ = self.user(password="correct horse battery")
        tokens = self.expect(Party(self, self.spa).token(
            grant_type="password", username=email, password="correct horse battery",
            scope=ALL + " offline_access", audience=self.issuer + "me/"), 200).json
        again = self.expect(Party(self, self.spa).token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"],
            audience=self.issuer + "me/"), 200).json
        self.assertEqual(self.listed(again["access_token"]), [])


class Attacks(MyAccountCase):
    def test_a_session_is_for_one_user_client_and_use(self):
        email, user, token = self.person()
        _, _, other = self.person()
        path, session, options = self.begun(token)
        body = {"auth_session": session, "authn_response": Passkey().made(options)}
        self.wrong(self.ask("POST", f"{path}/verify", other, body), 400, "flow_expired")
        foreign = self.token(email, self.native)
        self.wrong(self.ask("POST", f"{path}/verify", foreign, body), 400, "flow_expired")
        answer = self.post("/v1/me/passkeys", {"flow": session, "credential": body["authn_response"]},
                           token=self.expect(self.login(email, "correct horse battery"),
                                             200).json["access_token"])
        self.expect(answer, 400, "flow_expired")
        answers = in_parallel(3, lambda _: self.ask("POST", f"{path}/verify", token, body))
        self.assertEqual(sorted(answer.status for answer in answers)[0], 201)
        self.assertEqual(len(self.listed(token)), 1)
        self.wrong(self.ask("POST", f"{path}/verify", token, body), 401, "passkey_invalid")
        # Nor is it one for a sign-in.
        self.error(self.finish(session, Passkey().made(options)), 400, "invalid_grant")
        session, options = self.asked()
        self.wrong(self.ask("POST", f"{path}/verify", token, {
            "auth_session": session,
            "authn_response": Passkey().made({**options, "user": {"id": encoded(user.encode())}})}),
            400, "flow_expired")

    def test_a_method_of_another_user(self):
        _, _, token = self.person()
        _, method = self.added_by(token)
        _, _, other = self.person()
        path = f"{METHODS}/{urllib.parse.quote(method['id'])}"
        for verb, body in [("GET", None), ("PATCH", {"name": "x"}), ("DELETE", None)]:
            self.wrong(self.ask(verb, path, other, body), 404, "not_found")
        for name in ["x", "passkey%7C", "passkey%7Cnew", "passkey%7Cxyz", method["id"][8:]]:
            self.wrong(self.ask("GET", f"{METHODS}/{name}", token), 404, "not_found")
        self.assertEqual([one["name"] for one in self.listed(token)], [method["name"]])

    def test_what_is_malformed(self):
        _, user, token = self.person()
        for body in [{}, {"type": "totp"}, {"type": 7}, {"type": "passkey", "connection": "email"},
                     {"type": "passkey", "identity_user_id": "0" * 24}]:
            error = self.wrong(self.ask("POST", METHODS, token, body), 400, "validation_failed")
            self.assertTrue(all(fault["detail"] for fault in error["validation_errors"]))
        path, session, options = self.begun(token)
        for body in [{}, {"auth_session": session}, {"auth_session": 7, "authn_response": {}}]:
            self.wrong(self.ask("POST", f"{path}/verify", token, body), 400, "validation_failed")
        self.wrong(self.ask("POST", f"{path}/verify", token, {
            "auth_session": session, "authn_response": {}}), 401, "passkey_invalid")
        made = Passkey().made(options)
        self.wrong(self.ask("POST", f"{METHODS}/x/verify", token, {
            "auth_session": session, "authn_response": made}), 404, "not_found")
        _, method = self.added_by(token)
        path = f"{METHODS}/{urllib.parse.quote(method['id'])}"
        for name in [None, 7, "", "a" * 65, "a\nb"]:
            self.wrong(self.ask("PATCH", path, token, {"name": name}), 400, "validation_failed")
        self.assertEqual(self.ask("POST", METHODS, token, "{").status, 400)
        self.wrong(self.ask("GET", f"{PREFIX}/nowhere", token), 404, "route_not_found")


class Callers(MyAccountCase):
    ROUTES = [("GET", f"{PREFIX}/factors", "read:me:factors"), ("GET", METHODS, SCOPES[0]),
              ("GET", f"{METHODS}/passkey%7C{'0' * 24}", SCOPES[0]), ("POST", METHODS, SCOPES[1]),
              ("POST", f"{METHODS}/passkey%7Cnew/verify", SCOPES[1]),
              ("PATCH", f"{METHODS}/passkey%7C{'0' * 24}", SCOPES[2]),
              ("DELETE", f"{METHODS}/passkey%7C{'0' * 24}", SCOPES[3])]

    def each(self, token, status, code, routes=None):
        for method, path, _ in routes or self.ROUTES:
            with self.subTest(f"{method} {path}"):
                body = {} if method in ["POST", "PATCH"] else None
                self.wrong(self.ask(method, path, token, body), status, code)

    def test_tokens_of_other_apis(self):
        email, _, _ = self.person()
        native = self.expect(self.login(email, "correct horse battery"), 200).json["access_token"]
        own = "openid read:current_user update:current_user_identities"
        for token in ["x", native, self.token(email, audience=self.issuer, scope=own),
                      self.token(email, audience=self.API, scope="openid read:posts")]:
            self.each(token, 401, "token_invalid")
        self.each(None, 401, "token_missing")
        # Nor does its token open the others.
        mine = self.token(email)
        self.assertIn(self.site.get("/v1/me", token=mine).status, [401, 403])

    def test_each_route_needs_its_scope(self):
        email, _, _ = self.person()
        for method, path, scope in self.ROUTES:
            others = " ".join(one for one in ALL.split() if one != scope)
            self.each(self.token(email, scope=others), 403, "insufficient_scope",
                      [(method, path, scope)])

    def test_ended_sessions_blocked_users_and_disabled_clients(self):
        email, user, token = self.person()
        session = claims(token)["sid"]
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day' "
                      f"where session_id = '{session}'")
        changes = [route for route in self.ROUTES if route[0] != "GET"]
        self.each(token, 401, "reauthentication_required", changes)
        self.assertEqual(self.listed(token), [])
        self.expect(self.post("/oauth/revoke", {
            "client_id": self.spa["id"], "token": token}), 200)
        self.each(token, 401, "session_ended")
        token = self.token(email)
        self.site.dossier("user", "block", "--yes", "--app", "default", user)
        self.each(token, 401, "session_ended")
        email, _, _ = self.person()
        client = self.new_client("native", "password_grant=true")
        token = self.token(email, client)
        self.site.dossier("client", "disable", client["id"])
        self.each(token, 401, "token_invalid")

    def test_an_app_without_passkeys(self):
        email, _, token = self.person()
        self.setting({"passkey": "optional"}, passkey="off")
        self.each(token, 404, "api_disabled")
        self.error(Party(self, self.spa).token(
            grant_type="password", username=email, password="correct horse battery",
            scope="openid", audience=self.issuer + "me/"), 400, "invalid_target")


if __name__ == "__main__":
    unittest.main()
