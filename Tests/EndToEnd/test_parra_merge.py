"""Anonymous users of Parra who log in or sign up: their data, and repeated requests."""

import unittest

from asking import JSON
from cases import Case, in_parallel
from machine import wait_until
from openid import FORM
from parra import PASSWORD, Client
from parra_types import APIError, SignedOut, checked_user, native_id


class Merge(Case):
    def launch(self, properties=None):
        client = Client(self.site).launch()
        if properties:
            client.call("PUT", f"{client.user_path}/properties", properties)
        return client

    def account(self, email, properties=None):
        """Creates a user on another device."""
        client = Client(self.site)
        client.read_info()
        client.sign_up(email)
        if properties:
            client.call("PUT", f"{client.user_path}/properties", properties)
        return client

    def properties(self, client):
        return client.call("GET", f"{client.user_path}/properties")

    def test_a_log_in_keeps_the_data_of_the_anonymous_user(self):
        account = self.account("keep@example.com", {"color": "red", "own": 1})
        client = self.launch({"color": "blue", "level": 3, "exact": 1.50})
        user = client.log_in("keep@example.com")
        self.assertEqual(user["id"], account.user["id"])
        # Values of the account win.
        self.assertEqual(user["properties"], {"color": "red", "own": 1, "level": 3, "exact": 1.5})
        self.assertEqual(self.properties(account), user["properties"])

    def test_both_tokens_can_be_merged_at_both_places(self):
        for place, kind in [("grant", "access_token"), ("grant", "refresh_token"),
                            ("login", "access_token"), ("login", "refresh_token")]:
            with self.subTest(place=place, kind=kind):
                email = f"{place}-{kind}@example.com"
                self.account(email)
                client = self.launch({"from": place})
                token = client.tokens[kind]
                fields = {"anonymous_token": token} if place == "grant" else {}
                client.tokens = client.form(grant_type="password", client_id="a", username=email,
                                            password=PASSWORD, **fields)
                user = client.finish_login(token if place == "login" else None)
                self.assertEqual(user["properties"], {"from": place})

    def test_data_is_merged_once_and_into_one_user(self):
        self.account("first@example.com")
        self.account("second@example.com")
        guest = self.launch({"level": 3})
        tokens = guest.tokens
        for email, properties in [("first@example.com", {"level": 3}), ("second@example.com", {})]:
            client = Client(self.site)
            client.read_info()
            client.tokens = tokens
            self.assertEqual(client.log_in(email)["properties"], properties)
            self.assertEqual(client.finish_login(tokens["refresh_token"])["properties"], properties)

    def test_concurrent_log_ins_with_one_token_merge_once(self):
        emails = [f"race{n}@example.com" for n in range(4)]
        for email in emails:
            self.account(email)
        guest = self.launch({"level": 3})

        def enter(n):
            client = Client(self.site)
            client.info, client.tokens = guest.info, guest.tokens
            return client.log_in(emails[n])["properties"]

        found = in_parallel(4, enter)
        self.assertEqual(sorted(map(str, found)), ["{'level': 3}", "{}", "{}", "{}"])

    def test_a_merge_respects_the_limit_of_properties(self):
        self.account("full@example.com", {f"k{n:03}": n for n in range(98)})
        client = self.launch({"z1": 1, "z2": 2, "z3": 3})
        user = client.log_in("full@example.com")
        self.assertEqual(len(user["properties"]), 100)
        self.assertEqual({key for key in user["properties"] if key[0] == "z"}, {"z1", "z2"})

    def test_the_token_of_a_real_user_or_another_tenant_moves_nothing(self):
        self.site.create_app("elsewhere")
        self.account("target@example.com")
        rich = self.account("rich@example.com", {"secret": 1})
        foreign = Client(self.site, "elsewhere").launch()
        foreign.call("PUT", f"{foreign.user_path}/properties", {"secret": 2})
        for owner in [rich, foreign]:
            client = Client(self.site)
            client.read_info()
            client.tokens = owner.tokens
            self.assertEqual(client.log_in("target@example.com")["properties"], {})
            self.assertEqual(list(self.properties(owner)), ["secret"])

    def test_an_expired_access_token_still_merges(self):
        self.account("expired@example.com")
        for email, is_new in [("expired@example.com", False), ("expired-new@example.com", True)]:
            client = self.launch({"level": 3})
            old, anonymous = self.expired(client), client.user["id"]
            if is_new:
                user = checked_user(client.issue("signup", {
                    "type": "email", "username": email, "password": PASSWORD,
                    "anonymous_token": old}))
                self.assertEqual((user["id"], user["properties"]), (anonymous, {"level": 3}))
            else:
                client.tokens = client.form(grant_type="password", client_id="a", username=email,
                                            password=PASSWORD, anonymous_token=old)
                self.assertEqual(client.finish_login()["properties"], {"level": 3})

    def test_an_expired_access_token_of_another_wire_links_nothing(self):
        native = self.short_lived(lambda: self.post("/v1/login/anonymous", {}))
        token = native["access_token"]
        wait_until(lambda: self.site.get("/v1/me", token=token).status == 401, what="its end")
        self.refuse_to_link("another-wire@example.com", token, native["user_id"])

    def test_an_access_token_links_nothing_a_lifetime_after_its_end(self):
        client = self.launch({"level": 3})
        old, anonymous = self.expired(client), client.user["id"]
        # When the second token has expired, the first one has been expired for a lifetime.
        self.expired(client, then=lambda: self.refuse_to_link(
            "too-late@example.com", old, native_id(anonymous)))
        self.account("later@example.com")
        # The refresh token still moves the properties.
        user = client.log_in("later@example.com")
        self.assertEqual(user["properties"], {"level": 3})

    def refuse_to_link(self, email, token, guest):
        client = Client(self.site)
        client.read_info()
        user = checked_user(client.issue("signup", {
            "type": "email", "username": email, "password": PASSWORD, "anonymous_token": token}))
        self.assertNotEqual(native_id(user["id"]), guest)
        self.assertEqual(self.site.sql(
            f"select anonymous from users where user_id = '{guest}'"), "t")

    def test_a_log_out_with_an_expired_access_token_ends_the_session(self):
        client = self.account("idle@example.com")
        refresh = client.tokens["refresh_token"]
        token = self.short_lived(lambda: client.site.request(
            "POST", f"{client.issuer}/token",
            f"grant_type=refresh_token&client_id=a&refresh_token={refresh}", FORM))["access_token"]
        self.until_expired(client, token)
        answer = client.send("POST", f"{client.base}/auth/logout", {}, token=token)
        self.assertEqual(answer.status, 200)
        with self.assertRaises(SignedOut):
            client.form(grant_type="refresh_token", client_id="a", refresh_token=refresh)

    def short_lived(self, request):
        """Returns the JSON of a response whose access token lives for one second."""
        self.site.set_app(access_token_seconds=1)
        try:
            return request().json
        finally:
            self.site.set_app(access_token_seconds=1_800)

    def expired(self, client, then=lambda: None):
        """Returns an expired access token of the client's session.

        Calls `then` while tokens live for one second.
        """
        self.site.set_app(access_token_seconds=1)
        try:
            token = client.issue("issuers/anonymous/token", {
                "token": client.tokens["refresh_token"]})["access_token"]
            self.until_expired(client, token)
            then()
        finally:
            self.site.set_app(access_token_seconds=1_800)
        return token

    def until_expired(self, client, token):
        path = f"{client.base}/auth/user-info"
        wait_until(lambda: client.send("GET", path, token=token).status == 401, what="its end")


class SignUp(Case):
    def sign_up(self, client, email, password=PASSWORD, token=None):
        body = {"type": "email", "username": email, "password": password}
        if token:
            body["anonymous_token"] = token
        return checked_user(client.issue("signup", body))

    def test_a_repeated_sign_up_succeeds_until_the_first_log_in(self):
        client = Client(self.site).launch()
        for token in [None, client.tokens["access_token"]]:
            email = f"repeated{bool(token)}@example.com".lower()
            first = self.sign_up(client, email, token=token)
            self.assertEqual(self.sign_up(client, email, token=token), first)
            self.assertEqual(first["id"] == client.user["id"], bool(token))
            with self.assertRaises(APIError) as refused:
                self.sign_up(client, email, "another horse battery", token=token)
            self.assertIn("invalid", refused.exception.body["message"])
            other = Client(self.site)
            other.info = client.info
            other.enter(email, PASSWORD, before=None)
            with self.assertRaises(APIError) as refused:
                self.sign_up(client, email, token=token)
            self.assertEqual(refused.exception.status, 400)
        self.assertEqual(self.site.sql(
            "select count(*) from users where email like 'repeated%'"), "2")

    def test_an_old_anonymous_token_and_the_password_are_no_login(self):
        client = Client(self.site).launch()
        old = client.tokens
        client.sign_up("factor@example.com")
        client.log_out()
        for token in old.values():
            if isinstance(token, str):
                with self.subTest(token=token[:12]), self.assertRaises(APIError):
                    self.sign_up(client, "factor@example.com", token=token)

    def test_the_tokens_from_before_the_sign_up_end(self):
        client = Client(self.site).launch()
        copied = dict(client.tokens)
        client.sign_up("copied@example.com")
        answer = client.send("GET", f"{client.base}/auth/user-info", token=copied["access_token"])
        self.assertEqual(answer.status, 401)
        self.assertEqual(client.read_user()["email"], "copied@example.com")

    def test_hidden_metadata_stays_hidden(self):
        self.site.set_app(app_metadata_readable=False)
        self.addCleanup(self.site.set_app, app_metadata_readable=True)
        client = Client(self.site).launch()
        native = client.user["id"].replace("-", "")
        native = native[:12] + native[20:]
        key = self.site.client("--operator")["secret"]
        written = self.site.request(
            "PUT", f"/v1/users/{native}/app-metadata", {"plan": "pro"}, JSON, key)
        self.assertEqual(written.status, 200, written.body)
        user = self.sign_up(client, "hidden@example.com", token=client.tokens["access_token"])
        self.assertEqual((user["id"], user["metadata"]), (client.user["id"], {}))


if __name__ == "__main__":
    unittest.main()
