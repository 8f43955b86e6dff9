"""Takeovers through a second API, a stolen token or a shared browser."""

import unittest

from app_services import PASSWORD, App
from issuers import IssuerCase, claims

MINE, THEIRS = "correct horse", "another horse altogether"
SERVICES = "/api/client/v2.0"


class TakeOvers(IssuerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True)

    def setUp(self):
        self.app = App(self.site, "default")

    def provider(self, path):
        return f"{SERVICES}/app/default/auth/providers/{path}"

    def token(self, subject):
        return self.key.token(claims(subject))

    def age(self, user):
        """Backdates the user's logins by an hour."""
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' "
                      f"where user_id = '{user}'")

    def key_of(self, grant):
        return self.expect(self.post("/v1/me/api-keys", {"name": "cron"},
                                     token=grant["access_token"]), 201).json["key"]

    def key_login(self, key):
        return self.post("/v1/login/api-key", {"key": key})

    def services_login(self, email, password):
        return self.post(self.provider("local-userpass/login"),
                         {"username": email, "password": password})

    # A stolen token

    def test_a_native_token_gets_no_app_services_token(self):
        grant = self.verified("native@example.com")
        answer = self.post(self.provider("custom-token/login?link=true"),
                           {"token": self.token("native-thief")}, token=grant["access_token"])
        self.expect(answer, 403)
        self.assertNotIn("refresh_token", answer.json)
        self.expect(self.post("/v1/login/jwt", {"token": self.token("native-thief")}), 200)
        self.assertEqual(len(self.me(grant, "/identities").json), 1)
        self.expect(self.site.request("DELETE", f"{SERVICES}/auth/delete",
                                      token=grant["access_token"]), 403)
        self.expect(self.me(grant), 200)

    def test_an_old_login_changes_credentials_in_its_own_api_only(self):
        """The SDKs of App Services cannot ask a user again, so their sessions stay enough there."""
        self.expect(self.post(self.provider("local-userpass/register"),
                              {"email": "old@example.com", "password": PASSWORD}), 201)
        grant = self.expect(self.services_login("old@example.com", PASSWORD), 200).json
        user = grant["user_id"]
        key = self.expect(self.post(f"{SERVICES}/auth/api_keys", {"name": "old"},
                                    token=grant["refresh_token"]), 201).json["_id"]
        key = f"{SERVICES}/auth/api_keys/{key}"
        self.expect(self.site.request("PUT", f"{key}/disable", token=grant["refresh_token"]), 204)

        def tries():
            access, refresh = grant["access_token"], grant["refresh_token"]
            yield self.site.request("PUT", f"{key}/enable", token=refresh)
            yield self.post(self.provider("custom-token/login?link=true"),
                            {"token": self.token("old-own")}, token=access)
            yield self.post(f"{SERVICES}/auth/api_keys", {"name": "cron"}, token=refresh)
            yield self.site.request("DELETE", f"{SERVICES}/auth/delete", token=access)

        self.age(user)
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 401,
                    "reauthentication_required")
        for answer in tries():
            self.assertIn(answer.status, (200, 201, 204), answer.body)

    # A browser that an attacker has used before

    def create_key_session(self, token):
        """Creates an attacker's API key in an anonymous session, and a session with that key."""
        key = self.expect(self.post("/v1/me/api-keys", {"name": "later"}, token=token), 201).json
        return key["key"], self.expect(self.key_login(key["key"]), 200).json

    def assert_ended(self, grant):
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")

    def assert_out(self, owner, key, thief):
        """Asserts that the attacker's key and session are revoked."""
        self.expect(self.key_login(key), 401, "wrong_credentials")
        self.assert_ended(thief)
        device = {"Dossier-Device": thief["device_secret"]}
        self.assertEqual(self.site.get("/v1/device", headers=device).json["users"], [])
        links = self.site.sql(
            "select action || ' ' || (detail ->> 'provider') from audit where action in "
            f"('link', 'unlink') and user_id = '{owner}' order by event_id").splitlines()
        self.assertEqual(links[:2], ["link api-key", "unlink api-key"])
        self.assertEqual(self.site.sql(
            "select distinct actor || ' ' || (detail ->> 'reason') from audit "
            f"where user_id = '{owner}' and action = 'session_end'"), "user link")

    def test_a_first_link_revokes_the_credentials_of_the_guest(self):
        for body in [{"provider": "jwt", "token": self.token("goes-on")},
                     {"provider": "password", "email": "goes-on@example.com", "password": MINE}]:
            with self.subTest(body["provider"]):
                grant = self.site.login()
                copy = dict(grant)
                key, thief = self.create_key_session(grant["access_token"])
                self.expect(self.link(grant, **body), 200)
                self.assert_out(grant["user_id"], key, thief)
                # The old tokens may have been copied.
                self.assert_ended(copy)
                self.assertEqual(len(self.me(grant, "/identities").json), 1)
                # The new session continues on the same device.
                self.expect(self.refresh(grant), 200)
                self.assertEqual(grant["device_id"], copy["device_id"])
                device = {"Dossier-Device": grant.get("device_secret") or copy["device_secret"]}
                user, = self.site.get("/v1/device", headers=device).json["users"]
                self.assertEqual((user["user_id"], user["state"]), (grant["user_id"], "active"))
                self.assertEqual(self.me(grant, "/api-keys").json, [])

    def test_a_copied_session_refreshed_before_the_link_is_revoked(self):
        grant = self.site.login()
        copy = self.expect(self.refresh(grant), 200).json
        self.expect(self.post("/v1/me/identities", {
            "provider": "password", "email": "copied@example.com", "password": MINE},
            token=grant["access_token"]), 200)
        for tokens in [grant, copy]:
            self.assert_ended(tokens)
        # The session of a link is new, so an attacker's copy is useless.
        self.expect(self.login("copied@example.com", MINE), 200)

    def test_a_later_link_ends_only_the_callers_session(self):
        grant = self.site.login()
        self.expect(self.link(grant, provider="jwt", token=self.token("stays")), 200)
        grant = self.expect(self.post("/v1/login/jwt", {"token": self.token("stays")}), 200).json
        before = dict(grant)
        key, other = self.create_key_session(grant["access_token"])
        self.expect(self.link(grant, provider="password", email="stays@example.com",
                              password=MINE), 200)
        self.assert_ended(before)
        self.expect(self.me(grant), 200)
        self.expect(self.me(other), 200)
        self.expect(self.key_login(key), 200)

    def test_a_link_by_app_services_revokes_anonymous_credentials(self):
        self.expect(self.post(self.provider("local-userpass/register"),
                              {"email": "registered@example.com", "password": MINE}), 201)
        for provider, body in [
                ("custom-token", {"token": self.token("service")}),
                ("local-userpass", {"username": "registered@example.com", "password": MINE})]:
            with self.subTest(provider):
                grant = self.expect(self.post(self.provider("anon-user/login"), {}), 200).json
                made = self.expect(self.post(f"{SERVICES}/auth/api_keys", {"name": "later"},
                                             token=grant["refresh_token"]), 201).json
                thief = self.expect(self.key_login(made["key"]), 200).json
                self.expect(self.post(self.provider(f"{provider}/login?link=true"), body,
                                      token=grant["access_token"]), 200)
                self.assert_out(grant["user_id"], made["key"], thief)
                self.expect(self.post(f"{SERVICES}/auth/session", {},
                                      token=grant["refresh_token"]), 201)

    def test_a_refused_link_ends_nothing(self):
        self.expect(self.post("/v1/login/jwt", {"token": self.token("somebodys")}), 200)
        grant = self.site.login()
        key, other = self.create_key_session(grant["access_token"])
        self.expect(self.post("/v1/me/identities", {
            "provider": "jwt", "token": self.token("somebodys")}, token=grant["access_token"]),
            409, "identity_taken")
        self.expect(self.me(other), 200)
        self.expect(self.key_login(key), 200)

    def test_every_api_refuses_a_link_while_a_restore_is_pending(self):
        grant = self.verified("door@example.com", MINE)
        key = self.key_of(grant)
        way, = [i for i in self.me(grant, "/identities").json if i["provider"] == "password"]
        self.expect(self.site.request("DELETE", f"/v1/me/identities/{way['id']}",
                                      token=grant["access_token"]), 204)
        token = self.site.mailed("door@example.com", "ds_restore")
        self.expect(self.post("/v1/me/identities", {"provider": "jwt", "token": self.token("door")},
                              token=grant["access_token"]), 409, "email_restore_pending")
        self.expect(self.post(self.provider("local-userpass/register"),
                              {"email": "doors@example.com", "password": THEIRS}), 201)
        services = self.expect(self.post(self.provider("api-key/login"), {"key": key}), 200).json
        for provider, body in [
                ("local-userpass", {"username": "doors@example.com", "password": THEIRS}),
                ("custom-token", {"token": self.token("door")})]:
            answer = self.post(self.provider(f"{provider}/login?link=true"), body,
                               token=services["access_token"])
            self.expect(answer, 409)
            self.assertIn("can be restored by email until", answer.json["error"])
        # The identity that was not linked still belongs to its own user.
        self.expect(self.services_login("doors@example.com", THEIRS), 200)
        body = {"token": token, "password": "my old house"}
        self.expect(self.post("/v1/email/restore", body), 200)

    # An address that an attacker registered first

    def test_a_verification_by_mail_alone_leaves_the_takeover_to_a_reset(self):
        """App Services verifies by the token alone: the address is verified by mail only."""
        for number, prove in enumerate([
                lambda email: self.reset_by_mail(email, MINE), self.sign_in_by_code]):
            email = f"unasked-{number}@example.com"
            thief = self.expect(self.register(email, THEIRS), 201).json
            key = self.key_of(thief)
            self.expect(self.link(thief, provider="jwt", token=self.token(email)), 200)
            code = self.site.mailed(email, "ds_verify")
            self.expect(self.post(self.provider("local-userpass/confirm"),
                                  {"token": code, "tokenId": "any"}), 204)
            # A verification revokes nothing.
            self.assertTrue(self.expect(self.me(thief), 200).json["email_verified"])
            self.expect(self.key_login(key), 200)
            owner = prove(email)
            self.assertEqual(owner["user_id"], thief["user_id"])
            self.assert_ended(thief)
            self.expect(self.key_login(key), 401, "wrong_credentials")
            self.expect(self.login(email, THEIRS), 401, "wrong_credentials")
            stranger = self.post("/v1/login/jwt", {"token": self.token(email)})
            self.assertNotEqual(self.expect(stranger, 200).json["user_id"], thief["user_id"])
            # A later one keeps what the owner has linked.
            own = self.token(f"own-{email}")
            self.expect(self.link(owner, provider="jwt", token=own), 200)
            again = prove(email)
            self.assertEqual(self.expect(self.post("/v1/login/jwt", {"token": own}),
                                         200).json["user_id"], again["user_id"])
            events = [event["action"] for event in self.me(again, "/audit?limit=100").json]
            self.assertEqual(events.count("account_takeover"), 1)

    def test_a_verification_with_the_password_counts_as_proof_of_the_user(self):
        email = "asked@example.com"
        mine = self.expect(self.register(email, MINE), 201).json
        code = self.site.mailed(email, "ds_verify")
        self.expect(self.post(self.provider("local-userpass/confirm"),
                              {"token": code, "tokenId": "any"}), 204)
        self.expect(self.post("/v1/email/verify/request", {"email": email}), 202)
        self.expect(self.verify(self.site.mailed(email, "ds_verify", 2), mine), 204)
        own = self.token("asked-own")
        self.expect(self.link(mine, provider="jwt", token=own), 200)
        self.reset_by_mail(email, "my new house")
        login = self.expect(self.post("/v1/login/jwt", {"token": own}), 200).json
        self.assertEqual(login["user_id"], mine["user_id"])

    # The audit log

    def failures(self, user):
        return int(self.site.sql("select count(*) from audit where action = 'login_failure' "
                                 f"and user_id = '{user}'"))

    def test_guesses_through_every_api_are_audited(self):
        holder = self.verified("guessed@example.com")
        user = holder["user_id"]
        guest = self.expect(self.post(self.provider("anon-user/login"), {}), 200).json
        body = {"username": "guessed@example.com", "password": "a guess of mine"}
        for path, body, token in [
                (self.provider("local-userpass/login?link=true"), body, guest["access_token"]),
                ("/v1/me/identities", {"provider": "jwt", "token": self.token("x")[:-4] + "AAAA"},
                 holder["access_token"]),
                (self.provider("custom-token/login?link=true"),
                 {"token": self.token("x")[:-4] + "AAAA"}, guest["access_token"])]:
            owner = guest["user_id"] if "custom-token" in path else user
            before = self.failures(owner)
            self.post(path, body, token=token)
            self.assertEqual(self.failures(owner), before + 1, path)


if __name__ == "__main__":
    unittest.main()
