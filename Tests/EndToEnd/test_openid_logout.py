"""`/v2/logout`, where Auth0's SDKs sign users out."""

import unittest
import urllib.parse

from openid import CALLBACK, LOGOUT, OpenIDCase, Party

NATIVE = "com.Example.my-app://id.example.com/ios/com.Example.my-app/callback"


class DirectLogout(OpenIDCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        urls = f"logout_urls=https://app.example.com/first?page=1,{LOGOUT}"
        cls.site.dossier("client", "set", cls.spa["id"], urls)
        cls.site.dossier("client", "set", cls.native["id"], f"logout_urls={NATIVE}")
        # A disabled client, and one of another app.
        cls.disabled = cls.new_client("single_page", "--callback", CALLBACK)
        cls.site.dossier("client", "set", cls.disabled["id"], "logout_urls=https://disabled.example/")
        cls.site.dossier("client", "disable", cls.disabled["id"])
        cls.site.dossier("app", "create", "other")
        foreign = cls.new_client("single_page", "--callback", CALLBACK, app="other")
        cls.site.dossier("client", "set", foreign["id"], "logout_urls=https://other.example/")
        cls.foreign = foreign

    def logout(self, visitor=None, query="", **parameters):
        parameters = urllib.parse.urlencode(parameters)
        return (visitor or self.visitor).send(
            "GET", "/v2/logout?" + "&".join(filter(None, [query, parameters])), follow=False)

    def is_signed_in(self):
        party = Party(self, self.spa, prompt="none")
        return "code" in party.answer(self.visitor.open(party.path))

    def test_the_next_sign_in_does_not_come_back_by_itself(self):
        tokens, _ = self.tokens(scope="openid")
        self.assertTrue(self.is_signed_in())
        page = self.logout(client_id=self.spa["id"], returnTo=LOGOUT)
        self.assertEqual((page.status, page.location), (302, LOGOUT))
        self.assertEqual(page.headers["Cache-Control"], "no-store")
        self.assertFalse(self.is_signed_in())
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)
        # Again, by a browser without a user.
        self.assertEqual(self.logout(client_id=self.spa["id"], returnTo=LOGOUT).location, LOGOUT)

    def test_another_user_of_the_browser_does_not_become_active(self):
        first, _ = self.user()
        self.tokens(first)
        second, _ = self.user(f"second-{self.own_email()}")
        party = Party(self, self.spa, prompt="login")
        self.visitor.open(party.path)
        self.visitor.submit("/another")
        self.visitor.submit(email=second)
        party.code(self.visitor.submit("/password", password="correct horse battery"))
        self.assertTrue(self.is_signed_in())
        self.logout(client_id=self.spa["id"], returnTo=LOGOUT)
        self.assertFalse(self.is_signed_in())
        # The first user stays: a client that names the address gets a code.
        named = Party(self, self.spa, prompt="none", login_hint=first)
        self.assertIn("code", named.answer(self.visitor.open(named.path)))
        # A second sign-out changes nothing for a user who is not active.
        self.logout(client_id=self.spa["id"], returnTo=LOGOUT)
        named = Party(self, self.spa, prompt="none", login_hint=first)
        self.assertIn("code", named.answer(self.visitor.open(named.path)))

    def test_a_refresh_token_survives(self):
        tokens, party = self.tokens(scope="openid offline_access")
        self.logout(client_id=self.spa["id"], returnTo=LOGOUT)
        self.expect(party.token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"]), 200)

    def test_registered_targets(self):
        ids = {"spa": self.spa["id"], "native": self.native["id"]}
        for client, target in [
                ("spa", LOGOUT), ("spa", LOGOUT + "?state=a%20b&x=1"), ("spa", LOGOUT + "#top"),
                ("spa", LOGOUT + "#/a?b"), ("spa", "https://app.example.com/first"),
                ("spa", "https://app.example.com/first?page=2"), ("native", NATIVE),
                (None, LOGOUT), (None, NATIVE), (None, "https://app.example.com/first?page=3")]:
            client = {"client_id": ids[client]} if client else {}
            for flag in ["", "federated"]:
                page = self.logout(query=flag, returnTo=target, **client)
                self.assertEqual((page.status, page.location), (302, target), client)

    def test_without_a_target(self):
        page = self.logout(client_id=self.spa["id"])
        self.assertEqual((page.status, page.location), (302, "https://app.example.com/first?page=1"))
        for parameters in [{}, {"client_id": self.machine["id"]}, {"returnTo": ""}]:
            page = self.logout(**parameters)
            self.assertEqual((page.status, page.location), (303, "/oidc/logout/done"), parameters)

    def test_other_targets_get_a_page_and_sign_nobody_out(self):
        self.tokens(scope="openid")
        for target in [
                "https://evil.example/", LOGOUT + "/", LOGOUT.upper(), "https://app.example.com/BYE",
                LOGOUT + "%2f..", LOGOUT + "\\", LOGOUT + ";x", LOGOUT + "?a\r\nSet-Cookie: x=1",
                LOGOUT + "?a\nb", LOGOUT + "? ", LOGOUT + "?\u00e4", LOGOUT + "?" + "x" * 3_000,
                LOGOUT + "@evil.example", "https://app.example.com.evil.example/bye", CALLBACK,
                "//app.example.com/bye", "javascript:alert(1)", NATIVE.lower(), "?", "#", " "]:
            for client in [{"client_id": self.spa["id"]}, {}]:
                page = self.logout(returnTo=target, **client)
                self.assertEqual((page.status, page.location), (400, None), target)
                self.assertTrue(page.is_page)
        # The URL of one client is not that of another, nor those of apps and clients that do not count.
        self.assertEqual(self.logout(client_id=self.spa["id"], returnTo=NATIVE).status, 400)
        for target in ["https://disabled.example/", "https://other.example/"]:
            self.assertEqual(self.logout(returnTo=target).status, 400, target)
        for client in ["x", "0" * 24, self.disabled["id"], self.foreign["id"], self.spa["id"] + " "]:
            page = self.logout(client_id=client, returnTo=LOGOUT)
            self.assertEqual((page.status, page.location), (404, None), client)
        for query in ["returnTo=%ff", "client_id=a&client_id=b"]:
            self.assertEqual(self.logout(query=query).status, 400, query)
        self.assertTrue(self.is_signed_in())

    def test_a_subresource_of_another_site_sends_no_cookie(self):
        self.tokens(scope="openid")
        cookies = [field for page in self.visitor.trace
                   for field in page.headers.get_all("Set-Cookie") or [] if "signin" in field]
        self.assertTrue(cookies)
        self.assertTrue(all("SameSite=Lax" in field for field in cookies), cookies)


if __name__ == "__main__":
    unittest.main()
