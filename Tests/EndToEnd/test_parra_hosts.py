"""The issuer of clients of Parra at a host of the app, and avatars of other apps than the default."""

import re
import unittest
import urllib.parse
import uuid

from asking import JSON
from cases import Case
from machine import wait_until
from parra import PASSWORD, Client
from parra_types import checked_challenges, checked_tokens, checked_user, is_api_error, png

HOST = "hosted.example"
IDENTITIES = ["email", "unknown_identity", "username", "phone_number"]


class Hosts(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.create_app("hosted")
        cls.site.dossier("app", "host", "add", "--app", "hosted", HOST)
        cls.site.set_app("hosted", email_code=True, parra_code_digits=6)

    def setUp(self):
        self.client = Client(self.site, "hosted").launch()
        self.email = f"{uuid.uuid4().hex}@example.com"

    def ask(self, path, body, status=200, host=HOST):
        answer = self.site.request("POST", f"/auth/{path}", body, {**JSON, "Host": host})
        self.assertEqual(answer.status, status, answer.body)
        return answer.json

    def signed_up(self):
        body = {"type": "email", "username": self.email, "password": PASSWORD}
        return checked_user(self.ask("signup", body))

    def log_in(self, password):
        form = urllib.parse.urlencode({"grant_type": "password", "client_id": "a",
                                       "username": self.email, "password": password})
        answer = self.site.request("POST", "/auth/token", form, {
            "Content-Type": "application/x-www-form-urlencoded", "Host": HOST})
        self.assertEqual(answer.status, 200, answer.body)
        return checked_tokens(answer.json)

    def codes(self):
        return [found[0].replace(" ", "") for mail in self.site.mails(self.email)
                for found in [re.search(r"^\d{3} \d{3}$", mail, re.M)] if found]

    def test_row_04_challenges(self):
        self.signed_up()
        for name in IDENTITIES:
            found = checked_challenges(self.ask("challenges", {name: self.email}))
            self.assertTrue(found["exists"])
        # The default app has its own users.
        self.assertFalse(self.ask("challenges", {"email": self.email}, host="localhost")["exists"])

    def test_row_05_a_mailed_code(self):
        for count, name in enumerate(IDENTITIES, 1):
            found = self.ask("challenges/passwordless", {"client_id": "a", name: self.email})
            self.assertEqual((found["strategy"], found["status"]), ("email", "pending"))
            wait_until(lambda: len(self.codes()) == count, what="a code")

    def test_row_06_a_sign_up_links_the_anonymous_user(self):
        user = checked_user(self.ask("signup", {
            "type": "email", "username": self.email, "password": PASSWORD,
            "anonymous_token": self.client.tokens["access_token"]}))
        self.assertEqual(user["id"], self.client.user["id"])
        self.assertEqual(user["tenant_id"], "hosted")
        self.client.tokens = self.log_in(PASSWORD)
        self.client.is_anonymous = False
        self.assertEqual(self.client.finish_login()["id"], user["id"])

    def test_rows_13_and_14_a_new_password(self):
        self.signed_up()
        for count, name in enumerate(IDENTITIES, 1):
            self.assertEqual(
                self.ask("password/reset/challenge", {"client_id": "a", name: self.email}), {})
            wait_until(lambda: len(self.codes()) == count, what="a code")
            password = f"another {name} battery"
            body = {"client_id": "a", "code": self.codes()[-1], "password": password}
            # The code is of this app.
            self.assertTrue(is_api_error(self.ask("password/reset", body, 401, "localhost")))
            self.assertEqual(self.ask("password/reset", body), {})
            self.log_in(password)

    def test_a_fault_names_the_member(self):
        for path, body, words in [
            ("challenges", {"unknown_identity": "x"}, "in unknown_identity: "),
            ("challenges/passwordless", {"phone_number": "+49170"}, "in phone_number: "),
            ("password/reset/challenge", {"email": "x"}, "in email: "),
            ("signup", {"username": "x", "password": PASSWORD}, "in username: "),
            ("signup", {"username": self.email, "password": "short"}, "in password: "),
            ("password/reset", {"code": "123456", "password": "short"}, "in password: "),
        ]:
            with self.subTest(path=path, words=words):
                status = 400 if path == "signup" else 422
                self.assertIn(f"invalid input {words}", self.ask(path, body, status)["message"])

    def test_row_22_an_avatar(self):
        body = (b'--b\r\nContent-Disposition: form-data; name="image"; filename="i.png"\r\n\r\n'
                + png(4, 4) + b"\r\n--b--\r\n")
        asset = self.client.call("POST", "/users/avatar", body,
                                 {"Content-Type": "multipart/form-data; boundary=b"})
        path = urllib.parse.urlsplit(asset["url"]).path
        # The SDK reads it without credentials and without a tenant.
        for headers in [{}, {"Host": HOST}]:
            self.assertEqual(self.site.request("GET", path, None, headers).status, 200)


if __name__ == "__main__":
    unittest.main()
