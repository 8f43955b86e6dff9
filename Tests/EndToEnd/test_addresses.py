"""Tests which email addresses users may have, on every route that accepts one."""

import json
import unittest

import jwt

from cases import Administration
from issuers import claims

# With a Cyrillic letter.
MIXED = "ada@p\u0430ypal.com"
REFUSED = {"ada@[127.0.0.1]": "email", "ada@localhost": "email", MIXED: "mixed_scripts"}
SECRET = "a secret of thirty-two bytes or so"


class Addresses(Administration):
    def assert_refused(self, answer, code):
        fault = self.expect(answer, 422, "validation_failed").json["errors"][0]
        self.assertEqual((fault["pointer"], fault["code"]), ("/email", code))

    def test_every_route_refuses_an_invalid_address(self):
        self.site.set_app(email_code=True)
        grant, key = self.verified("taken@example.com"), self.site.client("--operator")["secret"]
        for email, code in REFUSED.items():
            with self.subTest(email):
                anonymous = self.site.login()["access_token"]
                body = {"email": email, "password": "correct horse"}
                self.assert_refused(self.post("/v1/register", body), code)
                self.assert_refused(self.post("/v1/me/identities", {"provider": "password", **body},
                                              token=anonymous), code)
                self.assert_refused(self.post("/v1/login/code/request", {"email": email}), code)
                self.assert_refused(
                    self.post("/v1/me/email", {"email": email}, token=grant["access_token"]), code)
                self.assert_refused(self.post("/v1/users", {"email": email}, token=key), code)
                self.refused(12, "user", "create", f"email={email}", words="/email")
        self.assertEqual(self.site.sql(
            "select email from users join apps using (app_id) where apps.name = 'default' "
            "and email is not null"), "taken@example.com")
        # A sign-in with such an address gets the same answer as with any other.
        for email in REFUSED:
            self.expect(self.login(email), 401, "wrong_credentials")
        # The app may have allowed mixed scripts before.
        for email, status in zip(REFUSED, [422, 422, 202]):
            self.expect(self.post("/v1/password/reset-request", {"email": email}), status)

    def test_an_import_reports_why_it_refuses_an_address(self):
        path, results = self.site.folder / "users.ndjson", self.site.folder / "results.ndjson"
        rows = [*REFUSED, "fine@example.com"]
        path.write_text("".join(json.dumps({"email": email}) + "\n" for email in rows))
        self.site.add_app("moved")
        self.site.dossier("user", "import", path, "--app", "moved", "--results", results, check=False)
        told = [json.loads(line) for line in results.read_text().splitlines()]
        faults = [[(fault["pointer"], fault["code"]) for fault in row.get("errors", [])] for row in told]
        self.assertEqual(faults[:3], [[("/email", code)] for code in REFUSED.values()])
        self.assertEqual(self.site.sql(
            "select email from users where app_id = (select app_id from apps where name = 'moved')"),
            "fine@example.com")

    def test_an_invalid_address_of_an_issuer_is_left_out(self):
        path = self.site.folder / "secret"
        path.write_text(SECRET)
        self.site.dossier(
            "issuer", "create", "plain", "issuer=https://issuer.example.com", "audience=app",
            f"secret=@{path}")
        for number, email in enumerate(REFUSED):
            token = jwt.encode(claims(f"ada-{number}", email=email), SECRET, "HS256")
            grant = self.expect(self.post("/v1/login/jwt", {"token": token}), 200).json
            self.assertIsNone(self.me(grant).json.get("email"))

    def test_an_app_can_allow_addresses_with_mixed_scripts(self):
        app = self.site.add_app("mixed", mixed_script_addresses=True)
        self.expect(self.register(MIXED, headers=app), 201)
        self.expect(self.register("ada@[127.0.0.1]", headers=app), 422, "validation_failed")
        made = self.site.dossier("user", "create", "email=adam@p\u0430ypal.com", "--app", "mixed")
        self.assertEqual(made["email"], "adam@xn--pypal-4ve.com")

    def test_tokens_from_the_future_are_refused(self):
        path = self.site.folder / "secret"
        path.write_text(SECRET)
        self.site.dossier(
            "issuer", "create", "times", "issuer=https://times.example.com", "audience=app",
            f"secret=@{path}")

        def sign_in(**others):
            made = claims("tim", "https://times.example.com", **{"exp": now + 90_000, **others})
            return self.post("/v1/login/jwt", {"token": jwt.encode(made, SECRET, "HS256")})

        now = claims("tim")["iat"]
        for name in ["iat", "auth_time", "nbf"]:
            for ahead in [86_400, 1e300]:
                with self.subTest(name=name, ahead=ahead):
                    refused = self.expect(sign_in(**{name: now + ahead}), 401, "external_token_invalid")
                    words = f"its {name} is in the future"
                    self.assertIn(words, refused.json["detail"])
            # As far ahead as clocks may be apart.
            self.expect(sign_in(**{name: now + 30}), 200)


if __name__ == "__main__":
    unittest.main()
