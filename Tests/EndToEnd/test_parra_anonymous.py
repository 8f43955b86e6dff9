"""Anonymous users of Parra who remain anonymous, and who link an address."""

import re
import unittest

from asking import JSON
from cases import Case, in_parallel
from machine import wait_until
from parra import PASSWORD, Client
from parra_types import NetworkError, SignedOut, native_id, png

PICTURE = (b'--b\r\nContent-Disposition: form-data; name="image"; filename="i.png"\r\n\r\n'
           + png(2, 2) + b"\r\n--b--\r\n")


class AnonymousCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True, parra_code_digits=6)
        cls.key = cls.site.client("--operator")["secret"]

    def setUp(self):
        self.site.sql("delete from rate_limits; delete from authentication_flows")

    def code(self, client, email):
        """Requests a code, and returns it."""
        def codes():
            return [found[0].replace(" ", "") for mail in self.site.mails(email)
                    for found in [re.search(r"^\d{3} \d{3}$", mail, re.M)] if found]

        count = len(codes())
        client.ask_for_code(email)
        wait_until(lambda: len(codes()) > count, what=f"a code to {email}")
        return codes()[-1]

    def user_with_all_data(self):
        """Creates an anonymous user with every kind of data."""
        client = Client(self.site).launch()
        body = {"first_name": "Ada", "last_name": "Lovelace", "name": "ada",
                "properties": {"level": 3, "exact": 1.5}}
        client.call("PUT", client.user_path, body)
        client.call("POST", "/users/avatar", PICTURE,
                    {"Content-Type": "multipart/form-data; boundary=b"})
        path = f"/v1/users/{native_id(client.user['id'])}/app-metadata"
        self.expect(self.site.request("PUT", path, {"plan": "pro"}, JSON, self.key), 200)
        return client


class Link(AnonymousCase):
    def kept(self, user):
        return {name: user[name] for name in [
            "id", "created_at", "name", "first_name", "last_name", "display_name", "avatar",
            "properties", "metadata"]}

    def test_a_sign_up_keeps_all_data(self):
        for way in ["password", "code"]:
            with self.subTest(way=way):
                email = f"{way}@example.com"
                client = self.user_with_all_data()
                before, copied = client.read_user(), client.tokens["access_token"]
                if way == "password":
                    user = client.sign_up(email)
                else:
                    user = client.log_in_by_code(self.code(client, email))
                self.assertEqual(self.kept(user), self.kept(before))
                self.assertEqual(user["avatar"]["id"], before["avatar"]["id"])
                self.assertEqual((user["email"], user["is_anonymous"]), (email, False))
                self.assertEqual((user["email_verified"], user["has_password"]),
                                 (way == "code", way == "password"))
                self.assertEqual([one["type"] for one in user["identities"]], ["email"])
                # Another person may have copied the tokens.
                answer = client.send("GET", f"{client.base}/auth/user-info", token=copied)
                self.assertEqual(answer.status, 401)
                self.assertEqual(self.site.sql(
                    f"select count(*) from users where email = '{email}'"), "1")
                client.log_out()
                if way == "password":
                    client.log_in(email)
                self.assertTrue(client.challenges(email)["exists"])

    def test_a_code_of_a_known_address_changes_no_id(self):
        known = Client(self.site).launch()
        known.log_in_by_code(self.code(known, "known@example.com"))
        client = self.user_with_all_data()
        anonymous = client.user["id"]
        user = client.log_in_by_code(self.code(client, "known@example.com"))
        self.assertEqual(user["id"], known.user["id"])
        self.assertNotEqual(user["id"], anonymous)
        self.assertEqual((user["properties"], user["name"]), ({"level": 3, "exact": 1.5}, None))

    def test_a_token_that_links_nothing_signs_up_a_new_user(self):
        real = Client(self.site).launch()
        real.sign_up("real@example.com")
        gone = Client(self.site).launch()
        old = dict(gone.tokens)
        gone.call("POST", "/auth/logout", {})
        for n, tokens in enumerate([real.tokens, old, {"access_token": "x", "refresh_token": "x"}]):
            for way in ["password", "code"]:
                with self.subTest(n=n, way=way):
                    client = Client(self.site)
                    client.read_info()
                    client.tokens, email = dict(tokens), f"new{n}-{way}@example.com"
                    if way == "password":
                        user = client.sign_up(email)
                    else:
                        user = client.log_in_by_code(self.code(client, email))
                    self.assertEqual(user["email"], email)
                    self.assertNotIn(user["id"], [real.user["id"], gone.user["id"]])
        self.assertEqual(real.read_user()["email"], "real@example.com")

    def test_concurrent_sign_ups_of_one_anonymous_user_link_one_address(self):
        client = self.user_with_all_data()
        anonymous = client.user["id"]
        emails = [f"at-once{n}@example.com" for n in range(4)]
        users = in_parallel(4, lambda n: client.issue("signup", {
            "type": "email", "username": emails[n], "password": PASSWORD,
            "anonymous_token": client.tokens["access_token"]}))
        self.assertEqual([user["id"] for user in users].count(anonymous), 1)
        self.assertEqual(len({user["id"] for user in users}), 4)
        self.assertEqual(sorted(user["email"] for user in users), emails)


class Merge(AnonymousCase):
    def test_a_failed_merge_does_not_refuse_a_log_in_and_is_retried(self):
        known = Client(self.site).launch()
        known.sign_up("merge@example.com")
        client = Client(self.site).launch()
        client.call("PUT", f"{client.user_path}/properties", {"broken": 1})
        before = client.tokens
        self.site.sql("alter table properties add constraint broken check (key <> 'broken') not valid")
        code = self.code(client, "merge@example.com")
        client.tokens = client.form(grant_type="passwordless_otp", client_id="a", code=code,
                                    anonymous_token=before["access_token"])
        user = client.finish_login(before["refresh_token"])
        self.assertEqual((user["email"], user["properties"]), ("merge@example.com", {}))
        wait_until(lambda: [line["status"] for line in self.site.logged()
                            if "broken" in line.get("error", "")] == [200, 200], what="two lines")
        self.site.sql("alter table properties drop constraint broken")
        user = client.finish_login(before["refresh_token"])
        self.assertEqual(user["properties"], {"broken": 1})


class Duration(AnonymousCase):
    def test_an_anonymous_user_has_no_longest_session(self):
        client = Client(self.site).launch()
        real = Client(self.site).launch()
        real.sign_up("duration@example.com")
        self.site.sql("update sessions set created_at = now() - interval '400 days'")
        client.refresh()
        self.assertTrue(client.read_user()["is_anonymous"])
        self.assertEqual(self.site.sql(
            "select expires_at > now() + interval '58 days' from sessions where provider = "
            f"'anonymous' and user_id = '{native_id(client.user['id'])}'"), "t")
        with self.assertRaises(SignedOut):
            real.refresh()
        # Visits keep the user: the time since the last one counts.
        self.site.sql("update sessions set expires_at = now()")
        with self.assertRaises(NetworkError) as refused:
            client.refresh()
        self.assertEqual(refused.exception.status, 400)


if __name__ == "__main__":
    unittest.main()
