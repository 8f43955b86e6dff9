"""A user is given another address, as Auth0's SDKs do, and a picture."""

from hosted import PASSWORD
from machine import wait_until
from openid import claims
from test_auth0 import Auth0Case


class Addresses(Auth0Case):
    """Changes of addresses and pictures by a back end."""

    def changed(self, user, status=200, **body):
        return self.expect(self.management(
            "PATCH", f"users/auth0|{user}", body, self.back_end_token()), status).json

    def test_an_address_is_changed(self):
        mail, user = self.user()
        self.assertIs(self.changed(user, email_verified=True)["email_verified"], True)
        self.changed(user, connection="email", email_verified=True)
        mails = len(self.site.mails(mail))
        new = "New" + mail
        changed = self.changed(user, email=new)
        self.assertEqual((changed["email"], changed["email_verified"]), (new.lower(), False))
        self.assertIs(self.changed(user, email=new, email_verified=True)["email_verified"], True)
        # Another spelling stays verified.
        changed = self.changed(user, email=new.lower())
        self.assertEqual((changed["email"], changed["email_verified"]), (new.lower(), True))
        self.expect(self.login(mail, PASSWORD), 401)
        self.expect(self.login(new, PASSWORD), 200)
        wait_until(lambda: len(self.site.mails(mail)) > mails, what="a notice")
        self.assertIn("set another email address", self.site.mails(mail)[-1])
        # Another user can have the old one.
        self.user(mail)

    def test_an_address_is_verified_by_its_change(self):
        mail, user = self.user()
        changed = self.changed(user, email="new" + mail, email_verified=True)
        self.assertIs(changed["email_verified"], True)
        changed = self.changed(user, email="third" + mail, email_verified=False)
        self.assertIs(changed["email_verified"], False)

    def test_invalid_addresses(self):
        mail, user = self.user()
        self.user("other" + mail)
        token = self.back_end_token()
        for status, code, body in [
                (400, "auth0_idp_error", {"email": "Other" + mail, "name": "Eve"}),
                (400, "invalid_body", {"email": "x"}), (400, "invalid_body", {"email": None}),
                (400, "invalid_body", {"email": 1}),
                (400, "invalid_body", {"email": "a@example.com", "password": "long enough 1"}),
                (400, "invalid_body", {"username": "ada"}),
                (400, "inexistent_connection", {"connection": "github"}),
                (400, "inexistent_connection", {"connection": "sms"}),
                (400, "invalid_body", {"picture": "x"}), (400, "invalid_body", {"picture": 1}),
                (400, "invalid_body", {"picture": "javascript:alert(1)"}),
                (400, "invalid_body", {"picture": "https://"}),
                (400, "invalid_body", {"picture": "https://a/\"b"}),
                (400, "invalid_body", {"picture": "https://a/" + "b" * 2_048})]:
            with self.subTest(body):
                answer = self.management("PATCH", f"users/auth0|{user}", body, token)
                self.refused(answer, status, code)
        read = self.management("GET", f"users/auth0|{user}", token=token).json
        self.assertEqual((read["email"], read["name"]), (mail, mail))

    def test_a_picture_is_shown(self):
        mail, user = self.user()
        url = "https://pictures.example.com/ada.png?size=200"
        self.assertEqual(self.changed(user, picture=url)["picture"], url)
        tokens, _ = self.tokens(mail, self.page)
        self.assertEqual(claims(tokens["id_token"])["picture"], url)
        self.assertEqual(self.userinfo(tokens["access_token"]).json["picture"], url)
        generated = self.changed(user, picture=None)["picture"]
        self.assertTrue(generated.startswith(self.issuer), generated)
        made = self.expect(self.management("POST", "users", {
            "connection": "Username-Password-Authentication", "email": "new" + mail,
            "password": PASSWORD, "picture": url}, self.back_end_token()), 201)
        self.assertEqual(made.json["picture"], url)
