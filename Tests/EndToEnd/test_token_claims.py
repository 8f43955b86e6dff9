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
