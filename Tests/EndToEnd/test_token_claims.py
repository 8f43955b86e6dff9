"""Tests the claims of native access tokens about the account, and their audience."""

import base64
import json
import unittest

from app_services import COLLECTION, App
from app_services import claims as claims_of_services
from asking import JSON
from cases import Administration


def claims(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


class Claims(Administration):
    def add(self, name, **settings):
        self.site.add_app(name, **settings)
        self.app = {**JSON, "Dossier-App": name}

    def ask(self, path, body, token=None, status=200):
        return self.expect(self.site.request("POST", path, body, self.app, token), status).json

    def test_tokens_have_only_the_audience_by_default(self):
        self.add("claims-default", app_services_collection=COLLECTION)
        grant = self.ask("/v1/register", {"email": "ada@example.com", "password": "correct horse"},
                         status=201)
        native = claims(grant["access_token"])
        self.assertEqual(native["aud"], native["iss"])
        self.assertEqual(set(native), {
            "aud", "iss", "sub", "sid", "did", "app", "scope", "iat", "exp"})
        services = App(self.site, "claims-default").log_in("anon-user")
        self.assertEqual(claims_of_services(services.access)["aud"], native["iss"])

    def test_a_setting_chooses_the_claims_and_a_refresh_updates_them(self):
        chosen = ["email", "email_verified", "anonymous"]
        self.add("claims-chosen", access_token_claims=chosen, app_services_collection=COLLECTION)

        def seen(grant):
            return {name: value for name, value in claims(grant["access_token"]).items()
                    if name in chosen}

        guest = self.ask("/v1/login/anonymous", {})
        self.assertEqual(seen(guest), {"anonymous": True})
        email = "chosen@example.com"
        grant = self.ask("/v1/register", {"email": email, "password": "correct horse"}, status=201)
        expected = {"email": email, "email_verified": False, "anonymous": False}
        self.assertEqual(seen(grant), expected)
        self.site.sql(f"update users set email_verified = true where user_id = '{grant['user_id']}'")
        # The issued token stays valid and unchanged.
        self.expect(self.site.get("/v1/me", token=grant["access_token"], headers=self.app), 200)
        self.assertEqual(seen(grant), expected)
        renewed = self.ask("/v1/token/refresh", {"refresh_token": grant["refresh_token"]})
        self.assertEqual(seen(renewed), {**expected, "email_verified": True})
        services = App(self.site, "claims-chosen").log_in("anon-user")
        self.assertFalse(set(chosen) & set(claims_of_services(services.access)))

    def test_tokens_have_the_versions_of_what_users_may_see(self):
        self.add("claims-versions", token_versions=True, app_services_collection=COLLECTION)
        grant = self.ask("/v1/register", {"email": "ver@example.com", "password": "correct horse"},
                         status=201)

        def seen():
            grant.update(self.ask("/v1/token/refresh", {"refresh_token": grant["refresh_token"]}))
            return claims(grant["access_token"])["ver"]

        def write(method, path, body=None):
            self.expect(self.site.request(
                method, f"/v1/me/{path}", body, self.app, grant["access_token"]),
                200 if body is not None else 204)

        first = claims(grant["access_token"])["ver"]
        self.assertEqual(first, {"profile": first["profile"], "metadata": 0, "app_metadata": 0,
                                 "custom_data": 0})
        write("PUT", "metadata", {"a": 1})
        write("PUT", "metadata", {"a": 2})
        write("PUT", "custom-data", {"a": 1})
        self.assertEqual(seen(), {**first, "metadata": 2, "custom_data": 1})
        # The numbers are those of the changes.
        changes = self.site.get("/v1/me/changes", token=grant["access_token"], headers=self.app).json
        cursor = changes["cursor"]
        write("DELETE", "custom-data")
        changed = self.site.get(f"/v1/me/changes?since={cursor}", token=grant["access_token"],
                                headers=self.app).json["changed"]
        self.assertEqual(seen()["custom_data"], changed["custom_data"]["version"])
        self.assertEqual(seen()["custom_data"], 0)
        write("PUT", "custom-data", {"a": 1})
        self.assertEqual(seen()["custom_data"], 3)
        self.site.dossier("app", "set", "--app", "claims-versions", "app_metadata_readable=false",
                          "custom_data_readable=false", "access_token_claims=email")
        self.assertEqual(seen(), {"profile": first["profile"], "metadata": 2})
        self.assertEqual(claims(grant["access_token"])["email"], "ver@example.com")
        services = App(self.site, "claims-versions").log_in("anon-user")
        self.assertEqual(claims_of_services(services.access)["ver"].keys(), {"profile", "metadata"})

    def test_invalid_claims_are_refused(self):
        self.add("claims-set")
        for value in ["email,nickname", "phone", "true", '["email", 1]', '{"email": true}']:
            run = self.site.dossier("app", "set", "--app", "claims-set", f"access_token_claims={value}",
                                    check=False)
            self.assertNotEqual(run.returncode, 0, value)
        for value, stored in [("email,anonymous", ["email", "anonymous"]),
                              ('["anonymous"]', ["anonymous"]), ("[]", [])]:
            self.site.dossier("app", "set", "--app", "claims-set", f"access_token_claims={value}")
            self.assertEqual(json.loads(self.site.sql(
                "select settings -> 'access_token_claims' from apps where name = 'claims-set'")),
                stored)


if __name__ == "__main__":
    unittest.main()
