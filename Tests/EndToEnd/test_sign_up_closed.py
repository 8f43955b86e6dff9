"""Registration in an app with `sign_up` closed."""

import unittest

from issuers import claims, secret_token
from test_sign_up import MINE, SignUp

SECRET = b"a secret of thirty-two bytes or so"


class Closed(SignUp):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(sign_up="closed", email_code=True)
        path = cls.site.folder / "secret"
        path.write_bytes(SECRET)
        cls.site.dossier(
            "issuer", "create", "web", "issuer=https://issuer.example.com", "audience=app",
            f"secret=@{path}")
        cls.key = cls.site.client("--app", "default", "scopes=create:users")["secret"]

    def token(self, subject, **others):
        return {"token": secret_token(claims(subject, **others), SECRET)}

    def made(self, **members):
        return self.expect(self.post("/v1/users", members, token=self.key), 201).json

    def test_no_public_request_creates_a_user(self):
        for path, body in [
                ("/v1/register", {"email": "none@example.com", "password": MINE}),
                ("/v1/login/anonymous", {}),
                ("/v1/login/jwt", self.token("nobody"))]:
            with self.subTest(path):
                self.expect(self.post(path, body), 403, "sign_up_closed")
        self.assertEqual(self.site.sql("select count(*) from users where email = "
                                       "'none@example.com' or anonymous"), "0")

    def test_a_registration_reveals_nothing_about_the_address(self):
        self.made(email="known@example.com", password=MINE)
        answers = [self.expect(self.register(email), 403, "sign_up_closed").json
                   for email in ["known@example.com", "unknown@example.com"]]
        self.assertEqual(*[{**answer, "instance": None} for answer in answers])

    def test_users_created_by_the_back_end_sign_in(self):
        user = self.made(email="made@example.com", password=MINE, email_verified=True)
        grant = self.expect(self.login("made@example.com", MINE), 200).json
        self.assertEqual(grant["user_id"], user["id"])
        self.assertEqual(self.sign_in_by_code("made@example.com")["user_id"], user["id"])
        # A token of an issuer signs in after it was linked.
        body = {"provider": "jwt", **self.token("made")}
        self.expect(self.link(grant, **body), 200)
        self.assertEqual(
            self.expect(self.post("/v1/login/jwt", self.token("made")), 200).json["user_id"],
            user["id"])

    def test_a_code_for_an_unknown_address_is_accepted_and_not_mailed(self):
        self.made(email="reader@example.com", email_verified=True)
        first, second = [
            self.expect(self.post("/v1/login/code/request", {"email": email}), 202)
            for email in ["reader@example.com", "stranger@example.com"]]
        self.assertEqual(sorted(first.headers.keys()), sorted(second.headers.keys()))
        self.assertEqual((sorted(first.json), len(first.body)),
                         (sorted(second.json), len(second.body)))
        self.expect(self.enter(second.json["flow"], "0000 000x"), 401, "code_invalid")
        # A mail to the stranger would have arrived before this one.
        self.mailed_code("reader@example.com")
        self.sign_in_by_code("reader@example.com")
        self.assertEqual(self.site.mails("stranger@example.com"), [])
        self.assertEqual(self.users("stranger@example.com"), "0")


if __name__ == "__main__":
    unittest.main()
