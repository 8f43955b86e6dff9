"""`/v2/logout`, where Auth0's SDKs sign users out."""

import html
import json
import unittest
import urllib.parse

from browser import Pages
from hosted import PASSWORD
from hosted_browser import BrowserCase
from machine import wait_until
from openid import CALLBACK, FORM, LOGOUT, OpenIDCase, Party, target as reached

NATIVE = "com.Example.my-app://id.example.com/ios/com.Example.my-app/callback"


class LogoutCase(OpenIDCase):
    def logout(self, visitor=None, query="", headers=None, **parameters):
        parameters = urllib.parse.urlencode(parameters)
        return (visitor or self.visitor).send(
            "GET", "/v2/logout?" + "&".join(filter(None, [query, parameters])), follow=False,
            **(headers or {}))

    def is_signed_in(self, **parameters):
        party = Party(self, self.spa, prompt="none", **parameters)
        return "code" in party.answer(self.visitor.open(party.path))


class DirectLogout(LogoutCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        urls = f"logout_urls=http://localhost:*,https://app.example.com/first?page=1,{LOGOUT}"
        cls.site.dossier("client", "set", cls.spa["id"], urls)
        cls.site.dossier("client", "set", cls.native["id"], f"logout_urls={NATIVE}")
        # A disabled client, and one of another app.
        cls.disabled = cls.new_client("single_page", f"callback_urls={CALLBACK}")
        cls.site.dossier("client", "set", cls.disabled["id"], "logout_urls=https://disabled.example/")
        cls.site.dossier("client", "disable", cls.disabled["id"])
        cls.site.dossier("app", "create", "other")
        foreign = cls.new_client("single_page", f"callback_urls={CALLBACK}", app="other")
        cls.site.dossier("client", "set", foreign["id"], "logout_urls=https://other.example/")
        cls.foreign = foreign

    def test_a_logout_ends_the_session_and_returns_to_the_client(self):
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
        party.exchange(party.code(self.visitor.submit("/password", password=PASSWORD)))
        self.assertTrue(self.is_signed_in())
        self.logout(client_id=self.spa["id"], returnTo=LOGOUT)
        self.assertFalse(self.is_signed_in())
        # The first user stays: a client that names the address gets a code.
        named = Party(self, self.spa, prompt="none", login_hint=first)
        self.assertIn("code", named.answer(self.visitor.open(named.path)))
        # A second sign-out, as of another tab, changes nothing for this user.
        page = self.logout(client_id=self.spa["id"], returnTo=LOGOUT)
        self.assertEqual(page.location, LOGOUT)
        named = Party(self, self.spa, prompt="none", login_hint=first)
        self.assertIn("code", named.answer(self.visitor.open(named.path)))

    def test_a_refresh_token_of_a_server_survives_and_those_of_tabs_do_not(self):
        email, _ = self.user()
        first, spa = self.tokens(email, scope="openid offline_access")
        tabs = [(spa, first)]
        for client in [self.spa, self.web]:
            party = Party(self, client, scope="openid offline_access")
            page = self.visitor.open(party.path)
            tabs.append((party, self.expect(party.exchange(party.code(page)), 200).json))
        # The browser of another person is not concerned.
        elsewhere, party = self.tokens(email, visitor=self.new_visitor(), scope="openid offline_access")
        tabs.append((party, elsewhere))
        self.logout(client_id=self.spa["id"], returnTo=LOGOUT)
        self.assertEqual([party.token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"]).status
            for party, tokens in tabs], [400, 400, 200, 200])

    def test_registered_targets(self):
        ids = {"spa": self.spa["id"], "native": self.native["id"]}
        for client, target in [
                ("spa", LOGOUT), ("spa", LOGOUT + "?state=a%20b&x=1"), ("spa", LOGOUT + "#top"),
                ("spa", LOGOUT + "#/a?b"), ("spa", "https://app.example.com/first"),
                ("spa", "https://app.example.com/first?page=2"), ("native", NATIVE),
                ("spa", "http://localhost:5173/a?b#c"), (None, "http://localhost/"),
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
            self.assertEqual((page.status, page.location.split("?")[0]),
                             (303, "/oidc/logout/done"), parameters)

    def test_unregistered_targets_end_the_session_and_get_no_redirect(self):
        self.tokens(scope="openid")
        for client in ["x", "0" * 24, self.disabled["id"], self.foreign["id"], self.spa["id"] + " "]:
            page = self.logout(client_id=client, returnTo=LOGOUT)
            self.assertEqual((page.status, page.location), (404, None), client)
        for query in ["returnTo=%ff", "client_id=a&client_id=b"]:
            self.assertEqual(self.logout(query=query).status, 400, query)
        self.assertTrue(self.is_signed_in())
        # Without a client, any site could have sent the request. So the user is asked.
        self.shows(self.logout(returnTo="https://evil.example/"), "Sign out of Dossier?")
        self.assertTrue(self.is_signed_in())
        page = self.logout(client_id=self.spa["id"], returnTo="https://evil.example/?mail=a@b")
        self.is_not_led_on(page)
        self.assertFalse(self.is_signed_in())
        words = ("the sign-out does not lead to https://evil.example/: it must be one of the "
                 f"logout_urls of the client {self.spa['id']}")
        wait_until(lambda: any(line.get("remark") == words for line in self.site.log_lines()),
                   what="a remark in the log")
        self.shows(self.visitor.open(page.location), "You're signed out of Dossier")
        self.assertIn("https://app.example.com/first?page=1", self.visitor.page.links.values())
        for target in [
                "https://evil.example/", LOGOUT + "/", LOGOUT.upper(), "https://app.example.com/BYE",
                LOGOUT + "%2f..", LOGOUT + "\\", LOGOUT + ";x", LOGOUT + "?a\r\nSet-Cookie: x=1",
                LOGOUT + "?a\nb", LOGOUT + "? ", LOGOUT + "?\u00e4", LOGOUT + "?" + "x" * 3_000,
                LOGOUT + "@evil.example", "https://app.example.com.evil.example/bye", CALLBACK,
                "//app.example.com/bye", "javascript:alert(1)", NATIVE.lower(), "?", "#", " ",
                "http://localhost:*", "http://localhost:0/", "http://localhost.evil.example/",
                "http://localhost@evil.example/", "http://localhost:80@evil.example/",
                "http://127.0.0.1:5173/", "https://localhost/"]:
            for client in [{"client_id": self.spa["id"]}, {}]:
                self.is_not_led_on(self.logout(returnTo=target, **client), target)
        # URLs of other clients, of other apps and of disabled clients are refused.
        self.is_not_led_on(self.logout(client_id=self.spa["id"], returnTo=NATIVE))
        for target in ["https://disabled.example/", "https://other.example/"]:
            self.is_not_led_on(self.logout(returnTo=target), target)

    def is_not_led_on(self, page, target=None):
        """Checks that the browser stays at the page that says who is signed out."""
        self.assertEqual((page.status, (page.location or "").split("?")[0]),
                         (303, "/oidc/logout/done"), target)

    def test_a_subresource_of_another_site_sends_no_cookie(self):
        self.tokens(scope="openid")
        cookies = [field for page in self.visitor.trace
                   for field in page.headers.get_all("Set-Cookie") or [] if "signin" in field]
        self.assertTrue(cookies)
        self.assertTrue(all("SameSite=Lax" in field for field in cookies), cookies)


class Questions(LogoutCase):
    """Any site can send a browser to the path, so most requests ask the user first."""

    def asks(self, tokens, **parameters):
        """Checks that a request asks, and ends no session."""
        page = self.logout(**{"returnTo": LOGOUT, **parameters})
        self.shows(page, "Sign out of Dossier?")
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 200)
        self.assertTrue(self.is_signed_in())
        return page

    def test_a_client_without_a_session_of_this_browser_asks(self):
        email, _ = self.user()
        tokens, _ = self.tokens(email, scope="openid")
        # Its only session is in another browser.
        elsewhere, _ = self.tokens(email, self.web, self.new_visitor(), scope="openid")
        self.asks(tokens, client_id=self.web["id"])
        self.asks(tokens)
        # Or in no browser.
        self.site.dossier("client", "set", self.web["id"], "password_grant=true")
        direct = Party(self, self.web).token(
            grant_type="password", username=email, password=PASSWORD, scope="openid")
        self.expect(direct, 200)
        self.asks(tokens, client_id=self.web["id"])
        # Or it is over.
        for change in ["expires_at = now() - interval '1 s'", "ended_at = now()"]:
            party = Party(self, self.web, scope="openid")
            party.exchange(party.code(self.visitor.open(party.path)))
            self.site.sql(f"update sessions set {change} where client_id = '{self.web['id']}'")
            self.asks(tokens, client_id=self.web["id"])
        party = Party(self, self.web, scope="openid offline_access")
        own = party.exchange(party.code(self.visitor.open(party.path))).json
        self.expect(self.site.request("POST", "/oauth/revoke", urllib.parse.urlencode({
            "client_id": self.web["id"], "client_secret": self.web["secret"],
            "token": own["refresh_token"]}), FORM), 200)
        self.site.sql("update sessions set ended_at = ended_at - interval '11 minutes' "
                      f"where client_id = '{self.web['id']}'")
        self.asks(tokens, client_id=self.web["id"])

    def test_a_refresh_token_is_a_session_also_if_it_was_just_revoked(self):
        for is_revoked in [False, True]:
            self.visitor = self.new_visitor()
            email, _ = self.user(f"{'b' if is_revoked else 'a'}-{self.own_email()}")
            tokens, _ = self.tokens(email, self.web, scope="openid offline_access")
            if is_revoked:
                self.expect(self.site.request("POST", "/oauth/revoke", urllib.parse.urlencode({
                    "client_id": self.web["id"], "client_secret": self.web["secret"],
                    "token": tokens["refresh_token"]}), FORM), 200)
            page = self.logout(client_id=self.web["id"], returnTo=LOGOUT)
            self.assertEqual(page.location, LOGOUT)
            self.assertFalse(self.is_signed_in())

    def test_the_user_agrees_or_stays(self):
        tokens, _ = self.tokens(scope="openid")
        self.asks(tokens)
        self.logout(returnTo=LOGOUT)
        self.assertEqual(reached(self.visitor.submit(stay="1")), LOGOUT)
        self.assertTrue(self.is_signed_in())
        self.logout()
        self.assertEqual(self.visitor.submit(stay="1", follow=False).location, "/account")
        self.logout(returnTo=LOGOUT + "?x=1")
        page = self.visitor.submit("/v2/logout/confirm")
        self.assertEqual(reached(page), LOGOUT + "?x=1")
        self.assertFalse(self.is_signed_in())
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)
        self.assertEqual(self.logout(returnTo=LOGOUT).location, LOGOUT)

    def test_the_answer_comes_from_our_page(self):
        tokens, _ = self.tokens(scope="openid")
        self.asks(tokens)
        self.logout(returnTo=LOGOUT)
        form = self.visitor.form("/v2/logout/confirm")
        other = self.new_visitor()
        other.open("/account")
        forged = {**form.fields, "csrf": "x"}
        for visitor, fields, origin in [
                (self.visitor, forged, self.visitor.origin),
                (self.visitor, form.fields, "https://evil.example"), (other, form.fields, other.origin),
                (self.visitor, {"returnTo": LOGOUT}, self.visitor.origin)]:
            page = visitor.send("POST", form.action, urllib.parse.urlencode(fields), Origin=origin,
                                **FORM)
            self.assertEqual(page.status, 403, fields)
        fields = {**form.fields, "returnTo": "https://evil.example/"}
        page = self.visitor.send("POST", form.action, urllib.parse.urlencode(fields),
                                 Origin=self.visitor.origin, **FORM)
        self.shows(page, "You're signed out of Dossier")
        self.assertFalse(self.is_signed_in())

    def test_a_request_that_is_no_navigation_asks(self):
        tokens, _ = self.tokens(scope="openid")
        own = {"client_id": self.spa["id"]}
        for headers in [{"Sec-Fetch-Dest": "image"}, {"Sec-Fetch-Dest": "iframe"},
                        {"Sec-Fetch-Dest": "empty"}, {"Sec-Fetch-Dest": "Document"}]:
            self.asks(tokens, headers=headers, **own)
        page = self.logout(headers={"Sec-Fetch-Dest": "document"}, returnTo=LOGOUT, **own)
        self.assertEqual(page.location, LOGOUT)
        self.assertFalse(self.is_signed_in())

    def test_a_request_that_fetches_ahead_signs_nobody_out(self):
        tokens, _ = self.tokens(scope="openid")
        own = {"client_id": self.spa["id"], "returnTo": LOGOUT}
        named = urllib.parse.urlencode(
            {"id_token_hint": tokens["id_token"], "post_logout_redirect_uri": LOGOUT})
        for headers in [{"Sec-Fetch-Dest": "document", "Sec-Purpose": "prefetch;prerender"},
                        {"Sec-Purpose": "prefetch"}, {"Purpose": "prefetch"},
                        {"X-Purpose": "preview"}, {"X-Moz": "prefetch"}]:
            with self.subTest(headers):
                pages = [self.logout(headers=headers, **own), self.visitor.send(
                    "GET", f"/oidc/logout?{named}", follow=False, **headers)]
                for page in pages:
                    # The browser drops an error, and asks again when the user follows the link.
                    self.assertEqual((page.status, page.location), (403, None))
                    self.assertEqual(page.headers["Cache-Control"], "no-store")
                self.assertEqual(self.userinfo(tokens["access_token"]).status, 200)
                self.assertTrue(self.is_signed_in())
        page = self.visitor.send("GET", f"/oidc/logout?{named}", follow=False)
        self.assertEqual(page.location, LOGOUT)
        self.assertFalse(self.is_signed_in())

    def test_an_app_asks_always(self):
        self.settings(confirm_sign_out=True)
        tokens, _ = self.tokens(scope="openid")
        self.asks(tokens, client_id=self.spa["id"])
        self.logout(client_id=self.spa["id"], returnTo=LOGOUT)
        self.visitor.submit("/v2/logout/confirm")
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)
        # No user is left who could agree.
        self.assertEqual(self.logout(client_id=self.spa["id"], returnTo=LOGOUT).location, LOGOUT)

    def test_the_user_of_the_client_is_signed_out(self):
        first, _ = self.user()
        second, _ = self.user(f"second-{self.own_email()}")
        own, _ = self.tokens(first, scope="openid")
        party = Party(self, self.web, prompt="login", scope="openid")
        self.visitor.open(party.path)
        self.visitor.submit("/another")
        self.visitor.submit(email=second)
        stays = party.exchange(
            party.code(self.visitor.submit("/password", password=PASSWORD))).json
        self.assertEqual(self.logout(client_id=self.spa["id"], returnTo=LOGOUT).location, LOGOUT)
        self.assertEqual(self.userinfo(own["access_token"]).status, 401)
        self.assertEqual(self.userinfo(stays["access_token"]).status, 200)
        self.assertTrue(self.is_signed_in(id_token_hint=stays["id_token"]))
        self.assertFalse(self.is_signed_in(id_token_hint=own["id_token"]))


class Browsers(BrowserCase, LogoutCase):
    def test_links_that_chromium_fetches_ahead_sign_nobody_out(self):
        email, _ = self.user()
        self.open("/account")
        self.send(email=email)
        self.send(password=PASSWORD)
        query = urllib.parse.urlencode({"client_id": self.spa["id"], "returnTo": LOGOUT})
        for number, path in enumerate(["/v2/logout", "/oidc/logout"]):
            for ahead in ["link", "rules"]:
                url = f"{self.server}{path}?{query}&case={number}{ahead}"
                rules = json.dumps({"prefetch": [{"urls": [url], "eagerness": "immediate"}]})
                head = {"link": f'<link rel="prefetch" href="{html.escape(url)}">',
                        "rules": f'<script type="speculationrules">{rules}</script>'}[ahead]
                folder = self.site.folder / f"ahead-{number}-{ahead}"
                folder.mkdir()
                (folder / "index.html").write_text(f"<!doctype html><title>x</title>{head}<h1>x</h1>")
                pages = Pages(folder)
                self.addCleanup(pages.stop)
                before = self.requests(path)
                self.browser.open(pages.origin + "/index.html")
                wait_until(lambda: len(self.requests(path)) > len(before), what=f"{ahead} of {path}")
                with self.subTest(path=path, ahead=ahead):
                    self.assertEqual([line["status"] for line in self.requests(path)][len(before):],
                                     [403])
        self.open("/account")
        self.assertIn(email, self.browser.text("main"))

    def requests(self, path):
        return [line for line in self.site.logged() if line["route"].endswith(path)]


if __name__ == "__main__":
    unittest.main()
