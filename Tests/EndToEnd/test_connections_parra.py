"""Sign-in with Apple by clients of Parra, through a connection."""

import unittest

from cases import in_parallel
from connections import ConnectionCase
from openid import claims
from parra import Client
from parra_types import APIError, NetworkError, native_id


class Parra(ConnectionCase):
    """Sign in with Apple by Parra's SDK."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain = Client(cls.site).read_info()
        cls.apple = cls.connect("apple", email_trust="verified", audiences=["com.example.demo"])
        cls.apple.native_clients = ["com.example.demo"]

    def sign_in(self, client, **more):
        return client.grant(client.tokens, grant_type="sign_in_with_apple",
                            code=self.apple.native_code("com.example.demo"),
                            id_token=self.apple.native_token(aud="com.example.demo"), **more)

    def test_the_app_offers_it_if_there_is_a_connection(self):
        self.assertNotIn("sso", self.plain["auth"])
        info = Client(self.site).read_info()
        self.assertEqual(info["auth"]["sso"], {"apple": {"scopes": ["full_name", "email"]}})

    def test_a_name_is_taken_once_and_the_address_of_the_token(self):
        self.apple.is_new(self.own_email())
        client = Client(self.site).launch()
        user = self.sign_in(client, given_name="Grace", family_name="Hopper",
                            email="victim@example.com")
        self.assertEqual(user["email"], self.apple.person.email)
        again = self.sign_in(Client(self.site).launch(), given_name="Eve", family_name="Evil")
        self.assertEqual(again["id"], user["id"])
        stored = self.stored(self.owner(self.apple), "given_name, family_name")
        self.assertEqual(stored, "Grace|Hopper")

    def anonymous(self, **properties):
        client = Client(self.site).launch()
        client.call("PUT", client.user_path, {"properties": properties})
        return client

    def test_the_anonymous_user_keeps_id_and_data(self):
        self.apple.is_new(self.own_email())
        client = self.anonymous(level=3)
        anonymous, copied = client.user["id"], client.tokens["access_token"]
        before = self.count_users()
        user = self.sign_in(client, given_name="Grace", family_name="Hopper")
        self.assertEqual(
            (user["id"], user["email"], user["email_verified"], user["is_anonymous"],
             user["first_name"], user["last_name"], user["properties"]),
            (anonymous, self.apple.person.email, True, False, "Grace", "Hopper", {"level": 3}))
        self.assertEqual((user["id"], self.owner(self.apple)),
                         (anonymous, native_id(anonymous)))
        self.assertEqual(self.count_users(), before)
        # Another person may have copied the tokens.
        answer = client.send("GET", f"{client.base}/auth/user-info", token=copied)
        self.assertEqual(answer.status, 401)
        # With a known account, the data move.
        again = self.sign_in(self.anonymous(coins=1))
        self.assertEqual((again["id"], again["properties"]), (anonymous, {"level": 3, "coins": 1}))

    def test_an_address_that_has_a_user_links_no_anonymous_user(self):
        email = self.own_email()
        self.verified(email)
        self.apple.is_new(email)
        client = self.anonymous(level=3)
        with self.assertRaises((APIError, NetworkError)):
            self.sign_in(client)
        self.assertIsNone(self.owner(self.apple))
        self.assertTrue(client.read_user()["is_anonymous"])

    def test_an_account_without_an_address_links_too(self):
        self.apple.is_new(None)
        client = self.anonymous(level=3)
        anonymous = client.user["id"]
        user = self.sign_in(client)
        self.assertEqual((user["id"], user.get("email"), user["is_anonymous"]), (anonymous, None, False))
        self.assertEqual(self.sign_in(Client(self.site).launch())["id"], anonymous)

    def test_a_user_or_a_foreign_token_is_no_guest(self):
        self.apple.is_new("first-" + self.own_email())
        client = self.anonymous()
        first = self.sign_in(client)
        self.apple.is_new("second-" + self.own_email())
        # The client still has the tokens of the first user.
        second = self.sign_in(client)
        self.assertNotEqual(second["id"], first["id"])
        self.assertEqual(self.owner(self.apple), native_id(second["id"]))

    def test_first_sign_ins_of_one_anonymous_user_at_once(self):
        self.apple.is_new(self.own_email())
        client = self.anonymous(level=3)
        before = self.count_users()

        def enter(_):
            tokens = client.form(
                client_id="app-1", grant_type="sign_in_with_apple", code="unused",
                id_token=self.apple.native_token(aud="com.example.demo"),
                anonymous_token=client.tokens["access_token"])
            return claims(tokens["access_token"])["sub"]

        self.assertEqual(len(set(in_parallel(4, enter))), 1)
        self.assertEqual(self.count_users(), before)

    def test_tokens_of_another_app_are_refused(self):
        self.apple.is_new(self.own_email())
        for token in [self.apple.native_token(aud="com.evil.app"), "x.y.z"]:
            client = Client(self.site).launch()
            with self.assertRaises((APIError, NetworkError)):
                client.grant(client.tokens, grant_type="sign_in_with_apple", code="forged",
                             id_token=token)
        self.assertIsNone(self.owner(self.apple))
        self.sign_in(Client(self.site).launch())
        self.assertTrue(self.owner(self.apple))


if __name__ == "__main__":
    unittest.main()
