"""Tests that every change of a login method requires recent authentication."""

import re
import subprocess
import time
import unittest

from machine import BUILD
from issuers import IssuerCase, claims

IDENTITIES = "update:current_user_identities"


class ReauthenticationCase(IssuerCase):
    def backdate(self, grant, minutes=11):
        """Backdates the last authentication of a user's sessions."""
        self.site.sql(f"update sessions set authenticated_at = now() - interval '{minutes} minutes' "
                      f"where user_id = '{grant['user_id']}'")

    def reauthenticate(self, grant, **body):
        """Reauthenticates the user. A success replaces the tokens in `grant`."""
        answer = self.post("/v1/reauthenticate", body, token=grant["access_token"])
        if answer.status == 200:
            self.renewed(answer, grant)
        return answer

    def make_key(self, grant, name="cron"):
        return self.post("/v1/me/api-keys", {"name": name}, token=grant["access_token"])

    def jwt(self, subject):
        return self.key.token(claims(subject, auth_time=int(time.time())))


class Reauthentication(ReauthenticationCase):
    @staticmethod
    def routes():
        """Returns the method, path and access of every route of a user."""
        listing = subprocess.run(
            [BUILD / "dossierd", "routes"], check=True, capture_output=True, text=True).stdout
        for line in listing.splitlines():
            name, access, _ = line.split("\t")
            method, path = name.split(" ")
            if access.startswith("user "):
                yield method, re.sub(r"\{\w+\}", "0" * 24, path), access

    def test_a_stolen_anonymous_session_cannot_lock_its_owner_out(self):
        grant = self.site.login()
        self.backdate(grant)
        stolen = self.expect(self.make_key(grant), 201).json
        # The owner has no evidence but this session, and it still counts.
        by_key = self.expect(self.post("/v1/login/api-key", {"key": stolen["key"]}), 200).json
        mine = self.expect(self.make_key(grant, "mine"), 201).json["key"]
        # The thief's own session, opened by the key, is not exempt, and ends with the key.
        self.backdate(grant)
        self.expect(self.make_key(by_key), 401, "reauthentication_required")
        path = f"/v1/me/api-keys/{stolen['id']}"
        self.expect(self.site.request("DELETE", path, token=grant["access_token"]), 204)
        self.expect(self.me(by_key), 401, "session_ended")
        link = {"provider": "password", "email": "once-anonymous@example.com",
                "password": "correct horse"}
        self.expect(self.link(grant, **link), 200)
        # Keys made before the first link are gone: another person may have made them.
        self.expect(self.post("/v1/login/api-key", {"key": mine}), 401, "wrong_credentials")
        # From now on, the user can reauthenticate by password.
        self.backdate(grant)
        self.expect(self.make_key(grant), 401, "reauthentication_required")

    def test_routes_that_require_reauthentication(self):
        asking = {(method, path) for method, path, access in self.routes()
                  if access.endswith("(fresh session)")}
        ways_in = {(method, path) for method, path, access in self.routes()
                   if IDENTITIES in access}
        # The body has the password in it, or the code that was asked for in a fresh session.
        self.assertEqual(ways_in - asking, {
            ("POST", "/v1/password/change"), ("POST", "/v1/me/email/verify"),
            # Support reads only, and the user ends it.
            ("POST", "/v1/me/support-codes"), ("DELETE", "/v1/me/support-sessions")})
        self.assertEqual(asking - ways_in, set())
        grant = self.expect(self.register("asked@example.com"), 201).json
        self.backdate(grant)
        for method, path in sorted(asking):
            with self.subTest(route=f"{method} {path}"):
                answer = self.site.request(method, path, token=grant["access_token"])
                self.expect(answer, 401, "reauthentication_required")
                # RFC 9470
                self.assertEqual(
                    answer.headers["WWW-Authenticate"],
                    'Bearer error="insufficient_user_authentication", max_age="600", '
                    'error_description="The user must authenticate again first."')
                self.assertEqual(answer.json["max_age"], 600)
        self.assertEqual(self.me(grant).json["id"], grant["user_id"])
        self.expect(self.reauthenticate(grant, provider="password", password="correct horse"), 200)
        for method, path in sorted(asking - {("DELETE", "/v1/me")}):
            with self.subTest(route=f"{method} {path}, after a proof"):
                answer = self.site.request(method, path, token=grant["access_token"])
                self.assertNotEqual(answer.status, 401, answer.body)
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)

    def test_the_reference_marks_routes_that_require_reauthentication(self):
        document = self.site.get("/openapi.json").json
        for method, path, access in self.routes():
            pattern = next(name for name in document["paths"]
                           if re.fullmatch(re.sub(r"\{\w+\}", "0" * 24, name), path))
            operation = document["paths"][pattern][method.lower()]
            told = "reauthentication_required" in operation.get("x-problems", [])
            # A change of the password asks for the second factor of the user, if there is one.
            asks = access.endswith("(fresh session)") or path == "/v1/password/change"
            self.assertEqual(told, asks, f"{method} {path}")
        page = self.expect(self.site.get("/problems/reauthentication_required"), 200)
        self.assertIn("/v1/reauthenticate", page.body.decode())

    def test_a_login_counts_as_recent_and_a_refresh_does_not(self):
        grant = self.verified("login@example.com")
        self.expect(self.make_key(grant), 201)
        self.backdate(grant)
        self.expect(self.make_key(grant), 401, "reauthentication_required")
        refreshed = self.expect(self.refresh(grant), 200).json
        self.expect(self.make_key(refreshed), 401, "reauthentication_required")
        again = self.expect(self.login("login@example.com"), 200).json
        self.expect(self.make_key(again), 201)
        # Each session has its own authentication time.
        self.expect(self.make_key(grant), 401, "reauthentication_required")

    def test_each_login_method_reauthenticates_only_its_own_user(self):
        grant = self.verified("ways@example.com")
        self.expect(self.link(grant, provider="jwt", token=self.jwt("ways")), 200)
        key = self.expect(self.make_key(grant), 201).json["key"]
        other = self.expect(
            self.post("/v1/login/jwt", {"token": self.jwt("other")}), 200).json
        other_key = self.expect(self.make_key(other), 201).json["key"]
        self.backdate(grant)
        for status, code, body in [
            (401, "wrong_credentials", {"provider": "password", "password": "wrong horse"}),
            (401, "wrong_credentials", {"provider": "jwt", "token": self.jwt("other")}),
            (401, "wrong_credentials", {"provider": "jwt", "token": self.jwt("nobody")}),
            (401, "external_token_invalid", {"provider": "jwt", "token": "x.y.z"}),
            (401, "wrong_credentials", {"provider": "api-key", "key": other_key}),
            (401, "wrong_credentials", {"provider": "api-key", "key": "ds_apikey_x"}),
            (422, "validation_failed", {"provider": "carrier pigeon"}),
            (422, "validation_failed", {"provider": "password"}),
        ]:
            with self.subTest(body=body):
                self.expect(self.reauthenticate(grant, **body), status, code)
                self.expect(self.make_key(grant), 401, "reauthentication_required")
        for status, body in [(201, {"provider": "password", "password": "correct horse"}),
                             (201, {"provider": "jwt", "token": self.jwt("ways")}),
                             # A leaked key cannot take over the account.
                             (401, {"provider": "api-key", "key": key})]:
            with self.subTest(provider=body["provider"]):
                self.backdate(grant)
                self.expect(self.make_key(grant), 401, "reauthentication_required")
                self.expect(self.reauthenticate(grant, **body), 200)
                self.expect(self.make_key(grant), status)
        program = self.expect(self.post("/v1/login/api-key", {"key": key}), 200).json
        self.expect(self.make_key(program), 401, "reauthentication_required")
        events = [(event["action"], event["detail"].get("provider"))
                  for event in self.me(grant, "/audit").json]
        for provider in ["password", "jwt", "api-key"]:
            self.assertIn(("reauthenticate", provider), events)
            self.assertIn(("login_failure", provider), events)

    def test_password_guesses_are_limited(self):
        grant = self.verified("guessed@example.com")
        answers = [self.reauthenticate(grant, provider="password", password=f"guess {i}")
                   for i in range(11)]
        self.assertEqual([answer.status for answer in answers[:3]], [401] * 3)
        self.expect(answers[-1], 429, "too_many_attempts")

    def test_a_user_without_a_login_method_is_exempt(self):
        grant = self.site.login()
        self.backdate(grant)
        self.expect(self.make_key(grant), 201)
        other = self.site.login()
        self.backdate(other)
        gone = self.site.request("DELETE", "/v1/me", token=other["access_token"])
        self.expect(gone, 204)

    def test_an_app_sets_how_long_an_authentication_is_recent(self):
        self.site.dossier("app", "create", "relaxed")
        self.site.dossier("app", "set", "--app", "relaxed", "reauthentication_minutes=60")
        app = {"Dossier-App": "relaxed"}
        grant = self.expect(self.register("slow@example.com", headers=app), 201).json

        def make_key():
            return self.post("/v1/me/api-keys", {"name": "cron"}, token=grant["access_token"],
                             headers=app)

        self.backdate(grant, 50)
        self.expect(make_key(), 201)
        self.backdate(grant, 61)
        self.assertEqual(
            self.expect(make_key(), 401, "reauthentication_required").json["max_age"], 3600)

    def test_a_disabled_login_method_does_not_reauthenticate(self):
        self.site.dossier("app", "create", "closed")
        app = {"Dossier-App": "closed"}
        grant = self.expect(self.register("closed@example.com", headers=app), 201).json
        self.site.dossier("app", "set", "--app", "closed", "password=false")
        answer = self.post("/v1/reauthenticate", {"provider": "password",
                           "password": "correct horse"}, token=grant["access_token"], headers=app)
        self.expect(answer, 403, "login_method_disabled")

    def test_a_password_change_counts_as_recent(self):
        grant = self.verified("changed@example.com")
        self.backdate(grant)
        change = {"current_password": "correct horse", "new_password": "battery staple"}
        stolen = dict(grant)
        self.renewed(self.post("/v1/password/change", change, token=grant["access_token"]), grant)
        self.expect(self.make_key(grant), 201)
        self.expect(self.make_key(stolen), 401, "session_ended")
        self.expect(self.refresh(stolen), 401, "refresh_token_invalid")
        self.expect(self.refresh(grant), 200)

    # The session of an authentication

    def test_a_reauthentication_does_not_refresh_a_stolen_token(self):
        grant = self.verified("copied@example.com")
        self.backdate(grant)
        stolen = dict(grant)
        proof = self.reauthenticate(grant, provider="password", password="correct horse")
        # Of the same device, with a new secret: a copy of the old one does not reach the session.
        self.assertEqual(self.expect(proof, 200).json["device_id"], stolen["device_id"])
        self.assertNotEqual(proof.json["device_secret"], stolen["device_secret"])
        copy = {"Dossier-Device": stolen["device_secret"]}
        self.expect(self.site.get("/v1/device", headers=copy), 401, "device_unknown")
        self.expect(self.make_key(stolen), 401, "session_ended")
        self.expect(self.me(stolen), 401, "session_ended")
        self.expect(self.refresh(stolen), 401, "refresh_token_invalid")
        self.expect(self.make_key(grant), 201)
        self.expect(self.make_key(self.expect(self.refresh(grant), 200).json), 201)
        device = self.site.get("/v1/device", headers={"Dossier-Device": grant["device_secret"]})
        user, = self.expect(device, 200).json["users"]
        self.assertEqual((user["user_id"], user["state"]), (grant["user_id"], "active"))
        session, = self.me(grant, "/sessions").json
        self.assertEqual((session["provider"], session["current"]), ("password", True))
        detail = next(event["detail"] for event in self.me(grant, "/audit").json
                      if event["action"] == "reauthenticate")
        self.assertEqual(detail, {"provider": "password", "next_session_id": session["id"]})

    def test_a_page_gets_no_refresh_token_from_a_reauthentication(self):
        grant = self.verified("page@example.com")
        body = {"provider": "password", "password": "correct horse"}
        for headers in [{"Dossier-Device": "cookie"},
                        {"Cookie": f"__Host-dossier-device={grant['device_secret']}"}]:
            answer = self.post("/v1/reauthenticate", body, token=grant["access_token"],
                               headers=headers)
            self.assertNotIn("refresh_token", self.renewed(answer, grant).json)
        answer = self.post("/v1/password/change", {
            "current_password": "correct horse", "new_password": "battery staple"},
            token=grant["access_token"], headers=headers)
        self.assertNotIn("refresh_token", self.expect(answer, 200).json)

    def test_the_auth_time_of_an_issuer_counts(self):
        def old(**others):
            return self.key.token(claims("sso", **others))

        now = int(time.time())
        grant = self.expect(self.post("/v1/login/jwt", {"token": old(auth_time=now - 700)}), 200)
        grant = grant.json
        # A login with an old session at the issuer is not recent.
        self.expect(self.make_key(grant), 401, "reauthentication_required")
        # A redirect without the user gets a token with a new iat, so iat proves nothing.
        for others in [{"auth_time": now - 700}, {"iat": now}, {"iat": None}, {},
                       {"auth_time": "now"}, {"auth_time": None}, {"auth_time": -1e300}]:
            with self.subTest(others):
                refused = self.reauthenticate(grant, provider="jwt", token=old(**others))
                self.expect(refused, 401, "external_token_invalid")
                self.assertIn("auth_time", refused.json["detail"])
                self.expect(self.make_key(grant), 401, "reauthentication_required")
                # Nor does a link of the same token.
                linked = self.link(grant, provider="jwt", token=old(**others))
                self.expect(linked, 401, "reauthentication_required")
        for others in [{"auth_time": now - 60, "iat": now - 700}, {"auth_time": now + 30}]:
            self.expect(self.reauthenticate(grant, provider="jwt", token=old(**others)), 200)
            self.expect(self.make_key(grant), 201)
            self.backdate(grant)
        # The authentication is as old as the login at the issuer.
        self.expect(self.reauthenticate(grant, provider="jwt", token=old(auth_time=now - 300)), 200)
        age = self.site.sql("select extract(epoch from now() - authenticated_at)::int from sessions "
                            f"where user_id = '{grant['user_id']}' and ended_at is null")
        self.assertGreaterEqual(int(age), 300)

    def test_forged_credentials_are_limited_without_filling_the_audit(self):
        count = "select count(*) from audit where action = 'login_failure' and user_id = '%s'"
        for body in [{"provider": "api-key", "key": "ds_apikey_x"},
                     {"provider": "jwt", "token": "x.y.z"}]:
            with self.subTest(body):
                grant = self.verified(f"filled-{body['provider']}@example.com")
                statuses = [self.reauthenticate(grant, **body).status for _ in range(14)]
                self.assertEqual(statuses, [401] * 10 + [429] * 4)
                self.assertEqual(self.site.sql(count % grant["user_id"]), "10")
                # Passwords cannot be guessed either.
                refused = self.reauthenticate(grant, provider="password", password="correct horse")
                self.expect(refused, 429, "too_many_attempts")


if __name__ == "__main__":
    unittest.main()
