"""Tests when copies of tokens, device secrets and API keys stop working."""

import unittest

from asking import JSON
from authenticator import FactorCase


class CopiedSessions(FactorCase):
    def activated(self, copy):
        """Activates the user of copied tokens with the copied device secret."""
        fields = {**JSON, "Dossier-Device": copy["device_secret"]}
        return self.site.request(
            "PUT", "/v1/device/active", {"user_id": copy["user_id"]}, fields)

    def key_session(self, grant):
        made = self.post("/v1/me/api-keys", {"name": "script"}, token=grant["access_token"])
        made = self.expect(made, 201).json
        opened = self.post("/v1/login/api-key", {"key": made["key"]})
        return made["id"], self.expect(opened, 200).json

    def test_a_copied_guest_session_is_useless_after_a_link(self):
        grant = self.site.login()
        copy = dict(grant)
        self.expect(self.link(grant, provider="password", email="linked@example.com",
                              password="correct horse"), 200)
        self.expect(self.me(copy), 401, "session_ended")
        self.expect(self.refresh(copy), 401, "refresh_token_invalid")
        self.expect(self.activated(copy), 401, "device_unknown")
        self.expect(self.activated(grant), 200)

    def test_a_copied_device_secret_is_useless_after_a_password_change(self):
        grant = self.verified("changed@example.com")
        copy = dict(grant)
        self.renewed(self.post("/v1/password/change", {
            "current_password": "correct horse", "new_password": "battery staple"},
            token=grant["access_token"]), grant)
        self.expect(self.activated(copy), 401, "device_unknown")
        self.expect(self.activated(grant), 200)

    def test_a_copy_of_a_session_does_not_gain_the_factor_that_is_confirmed(self):
        grant = self.verified("enrolled@example.com")
        copy = dict(grant)
        authenticated = ("select authenticated_at from sessions where ended_at is null "
                         f"and user_id = '{grant['user_id']}'")
        before = self.site.sql(authenticated)
        authenticator = self.enroll(grant)
        # An older session can still enroll the factor that is now required.
        self.set_mfa("required")
        self.expect(self.confirm(grant, authenticator), 200)
        self.expect(self.me(copy), 401, "session_ended")
        self.expect(self.refresh(copy), 401, "refresh_token_invalid")
        self.expect(self.activated(copy), 401, "device_unknown")
        self.expect(self.activated(grant), 200)
        self.expect(self.refresh(grant), 200)
        self.expect(self.post("/v1/me/recovery-codes", {}, token=grant["access_token"]), 200)
        # A code of a new factor does not count as a recent sign-in.
        self.assertEqual(self.site.sql(authenticated), before)

    def test_a_copied_cookie_is_useless_after_a_factor_is_confirmed(self):
        self.site.set_app(allowed_origins=["https://app.example.com"])
        page = {"Origin": "https://app.example.com", "Dossier-Device": "cookie"}
        answer = self.expect(self.register("cookie@example.com", headers=page), 201)
        cookie = answer.headers["Set-Cookie"].split(";")[0]
        page["Cookie"] = cookie
        grant = answer.json
        confirmed = self.confirm(grant, self.enroll(grant, headers=page), headers=page)
        self.expect(confirmed, 200)
        self.assertNotIn("device_secret", confirmed.json)
        self.assertNotIn("refresh_token", confirmed.json)
        new = confirmed.headers["Set-Cookie"].split(";")[0]
        self.assertNotEqual(new, cookie)
        page.pop("Dossier-Device")
        self.expect(self.post("/v1/token/refresh", {}, headers=page), 401)
        self.expect(self.post("/v1/token/refresh", {}, headers={**page, "Cookie": new}), 200)

    def test_a_copied_cookie_is_useless_after_a_link(self):
        self.site.set_app(allowed_origins=["https://app.example.com"])
        page = {"Origin": "https://app.example.com", "Dossier-Device": "cookie"}
        answer = self.expect(self.post("/v1/login/anonymous", {}, headers=page), 200)
        cookie = answer.headers["Set-Cookie"].split(";")[0]
        linked = self.post("/v1/me/identities", {
            "provider": "password", "email": "page@example.com", "password": "correct horse"},
            token=answer.json["access_token"], headers={**page, "Cookie": cookie})
        self.assertNotIn("device_secret", self.expect(linked, 200).json)
        new = linked.headers["Set-Cookie"].split(";")[0]
        self.assertNotEqual(new, cookie)
        page.pop("Dossier-Device")
        self.expect(self.post("/v1/token/refresh", {}, headers={**page, "Cookie": cookie}), 401)
        self.expect(self.post("/v1/token/refresh", {}, headers={**page, "Cookie": new}), 200)

    def test_a_session_of_an_api_key_stays_limited(self):
        grant = self.verified("script@example.com")
        key, script = self.key_session(grant)
        self.renewed(self.post("/v1/reauthenticate", {
            "provider": "password", "password": "correct horse"},
            token=script["access_token"]), script)
        session, = [s for s in self.me(script, "/sessions").json if s["current"]]
        self.assertEqual(session["provider"], "api-key")
        enrolled = self.post("/v1/me/second-factors", {}, token=script["access_token"])
        self.expect(enrolled, 401, "reauthentication_required")
        self.expect(self.site.request("DELETE", f"/v1/me/api-keys/{key}",
                                      token=grant["access_token"]), 204)
        self.expect(self.refresh(script), 401, "refresh_token_invalid")

    def test_an_api_key_of_a_user_with_a_factor_changes_no_credentials(self):
        grant = self.verified("factor@example.com")
        self.protected(grant)
        _, script = self.key_session(grant)
        identity = self.me(grant, "/identities").json[0]["id"]
        for method, path, body in (
                ("DELETE", f"/v1/me/identities/{identity}", None),
                ("POST", "/v1/me/identities", {"provider": "password", "email": "x@example.com",
                                               "password": "correct horse"}),
                ("POST", "/v1/me/email", {"email": "y@example.com"}),
                ("POST", "/v1/me/api-keys", {"name": "more"}), ("DELETE", "/v1/me", None)):
            answer = self.site.request(
                method, path, body, JSON if body else {}, script["access_token"])
            self.expect(answer, 401, "reauthentication_required")

    def test_a_required_factor_is_asked_for_when_a_session_is_renewed(self):
        grant = self.verified("renewed@example.com")
        self.set_mfa("required")
        for path, body in (
                ("/v1/reauthenticate", {"provider": "password", "password": "correct horse"}),
                ("/v1/password/change", {"current_password": "correct horse",
                                         "new_password": "battery staple"})):
            self.expect(self.post(path, body, token=grant["access_token"]), 401, "session_ended")

    def test_a_session_counts_as_without_a_factor_when_the_last_one_is_removed(self):
        grant = self.verified("removed@example.com")
        authenticator, _ = self.protected(grant)
        self.set_mfa("required")
        self.expect(self.site.request("DELETE", f"/v1/me/second-factors/{authenticator.id}",
                                      token=grant["access_token"]), 204)
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")

    def test_recovery_codes_are_not_kept_for_a_repeated_request(self):
        grant = self.verified("repeated@example.com")
        self.protected(grant)
        answer = self.post("/v1/me/recovery-codes", {}, token=grant["access_token"],
                           headers={"Idempotency-Key": '"1"'})
        self.expect(answer, 400, "idempotency_key_unsupported")

    def test_an_address_is_restored_in_an_app_without_passwords(self):
        grant = self.verified("coded@example.com")
        self.change_email(grant, "thief@example.com")
        token = self.site.mailed("coded@example.com", "ds_restore")
        self.site.set_app(password=False)
        self.addCleanup(self.site.set_app, password=True)
        answer = self.post("/v1/email/restore", {"token": token, "password": "another horse"})
        owner = self.expect(answer, 200).json
        self.assertEqual(self.me(owner).json["email"], "coded@example.com")
        provider, = [i["provider"] for i in self.me(owner, "/identities").json]
        self.assertEqual(provider, "email")


if __name__ == "__main__":
    unittest.main()
