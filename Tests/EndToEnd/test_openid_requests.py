"""The parameters of `/authorize`, and their effect on the response."""

import time
import unittest
import urllib.parse

from hosted import PASSWORD
from openid import CALLBACK, OpenIDCase, Party, base64url, claims


class RequestCase(OpenIDCase):
    def begin(self, client=None, **parameters):
        """Opens the request of a client. Returns the page and the request."""
        party = Party(self, client or self.spa, **parameters)
        return self.visitor.open(party.path), party

    def answered(self, client=None, **parameters):
        """Returns the parameters of the response to a request that shows no page."""
        page, party = self.begin(client, **parameters)
        return party.answer(page)

    def code_of(self, page, party):
        return claims(self.expect(party.exchange(party.code(page)), 200).json["id_token"])

    def finished(self, client=None, **parameters):
        """Returns the claims of the ID token of a request that shows no page."""
        return self.code_of(*self.begin(client, **parameters))


class Users(RequestCase):
    """Which of the users of a browser the response is about."""

    def setUp(self):
        super().setUp()
        self.first, self.second = self.own_email(), "second-" + self.own_email()
        for email in [self.first, self.second]:
            self.user(email)
        self.hint = self.tokens(self.first)[0]["id_token"]
        self.signed_in(Party(self, self.spa, prompt="login"), self.second)

    def test_an_id_token_picks_its_user(self):
        self.assertEqual(self.finished(prompt="none")["email"], self.second)
        for prompt in ["none", None]:
            identity = self.finished(prompt=prompt, id_token_hint=self.hint)
            self.assertEqual(identity["email"], self.first)

    def test_another_user_than_that_of_the_id_token_is_refused(self):
        self.visitor = self.new_visitor()
        self.tokens(self.second)
        self.assertEqual(self.answered(prompt="none", id_token_hint=self.hint)["error"],
                         "login_required")
        for prompt in [None, "select_account", "login"]:
            page, party = self.begin(prompt=prompt, id_token_hint=self.hint)
            self.shows(page, "Sign in")
            self.assertEqual(page.forms[0].fields["email"], self.first)
            self.visitor.submit(email=self.second)
            answer = party.answer(self.visitor.submit("/password", password=PASSWORD))
            self.assertEqual(
                (answer["error"], answer["error_description"]),
                ("login_required", "The signed-in user is not the user of id_token_hint."))
        page, party = self.begin(id_token_hint=self.hint)
        self.visitor.submit(email=self.first)
        page = self.visitor.submit("/password", password=PASSWORD)
        self.assertEqual(self.code_of(page, party)["email"], self.first)

    def test_an_id_token_without_the_address_does_not_show_it(self):
        hint = Party(self, self.spa, scope="openid", login_hint=self.first)
        hint = hint.exchange(hint.code(self.visitor.open(hint.path))).json["id_token"]
        self.visitor = self.new_visitor()
        page, _ = self.begin(id_token_hint=hint)
        self.assertEqual(page.forms[0].fields["email"], "")

    def test_forged_hints_are_refused(self):
        head, body, signature = self.hint.split(".")
        kid = self.keys[0]["kid"]
        forged = [f"{head}.{body}.", f"{head}.{body}.{signature[:-4]}AAAA", "x" * 20_000]
        for algorithm in ["none", "HS256", "RS512", "ES256"]:
            changed = base64url(f'{{"alg":"{algorithm}","kid":"{kid}","typ":"JWT"}}'.encode())
            forged += [f"{changed}.{body}.{signature}", f"{changed}.{body}."]
        for hint in forged:
            if len(hint) < 10_000:
                self.assertEqual(self.answered(id_token_hint=hint)["error"], "invalid_request", hint)
            self.visitor.open("/oidc/logout?" + urllib.parse.urlencode({"id_token_hint": hint}))
            self.assertNotIn("signed out", self.visitor.page.text)
        self.assertEqual(self.finished(prompt="none")["email"], self.second)

    def test_other_users_are_offered_after_a_sign_out(self):
        self.visitor.open("/v2/logout")
        self.visitor.submit("/v2/logout/confirm")
        self.assertEqual(self.answered(prompt="none")["error"], "login_required")
        page, party = self.begin()
        self.shows(page, "Choose an account")
        form = next(form for form in page.forms if form.action.endswith("/choose")
                    and self.first in form.label and self.second not in form.label)
        page = self.visitor.send(
            "POST", form.action, self.visitor.body(form), Origin=self.visitor.origin,
            **{"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(self.code_of(page, party)["email"], self.first)
        # A client that names another address asks for a sign-in.
        self.visitor.open("/v2/logout")
        self.visitor.submit("/v2/logout/confirm")
        self.shows(self.begin(login_hint="other@example.com")[0], "Sign in")

    def test_signed_out_accounts_can_be_chosen_too(self):
        self.visitor.open("/account/switch")
        self.visitor.submit("/account/switch/sign-out")
        self.shows(self.begin()[0], "Sign in")
        page, _ = self.begin(prompt="select_account")
        self.shows(page, "Choose an account")
        self.assertIn(self.first, page.text)
        self.visitor = self.new_visitor()
        self.shows(self.begin(prompt="select_account")[0], "Sign in")


class Pages(RequestCase):
    """Which pages the user sees."""

    def setUp(self):
        super().setUp()
        self.email, self.user_id = self.user()

    def age(self):
        """Backdates the user's sign-in by an hour."""
        self.site.sql("update sessions set authenticated_at = now() - interval '1 hour' "
                      f"where user_id = '{self.user_id}'")

    def sign(self, page, party):
        self.shows(page, "Confirm that it's you")
        return self.code_of(self.visitor.submit("/password", password=PASSWORD), party)

    def test_a_sign_in_that_is_too_old_is_repeated(self):
        self.tokens(self.email)
        self.age()
        self.assertLess(self.finished(max_age="7200")["auth_time"], time.time() - 3_000)
        self.assertEqual(self.answered(max_age="1800", prompt="none")["error"], "login_required")
        identity = self.sign(*self.begin(max_age="1800"))
        self.assertGreater(identity["auth_time"], time.time() - 1_000)
        self.finished(max_age="1800", prompt="none")
        # With zero, each request asks.
        self.sign(*self.begin(max_age="0"))
        self.shows(self.begin(max_age="0")[0], "Confirm that it's you")

    def test_consent_is_asked_for_again(self):
        self.tokens(self.email)
        for _ in range(2):
            page, party = self.begin(prompt="consent")
            self.assertIn("wants access", page.heading)
            page = self.visitor.submit("/consent", button="allow")
            self.code_of(page, party)
        self.finished(prompt="none")

    def test_a_second_account_beside_a_signed_in_one(self):
        self.tokens(self.email)
        self.assertEqual(self.answered(prompt="none create")["error"], "invalid_request")
        page, party = self.begin(prompt="create")
        self.shows(page, "Create account")
        page = self.visitor.submit(email=f"new-{self.email}", new_password=PASSWORD)
        self.assertEqual(self.code_of(page, party)["email"], f"new-{self.email}")

    def test_the_first_page_and_its_fields(self):
        page, _ = self.begin(screen_hint="signup", login_hint="ada@example.com")
        self.shows(page, "Create account")
        self.assertEqual(page.forms[0].fields["email"], "ada@example.com")
        page, _ = self.begin(screen_hint="login", login_hint="ada@example.com")
        self.shows(page, "Sign in")
        self.assertEqual(page.forms[0].fields["email"], "ada@example.com")

    def test_the_languages(self):
        for locales, language in [("nl de en", "de"), ("de-CH", "de"), ("en de", "en"),
                                  ("xx", "en"), ("de_DE", "de")]:
            page, _ = self.begin(ui_locales=locales)
            self.assertEqual(page.language, language, locales)

    def test_the_connection(self):
        self.settings(email_code=True)
        for client, name in [(self.spa, "x"), (self.spa, "Username-password-authentication"),
                             (self.spa, "google-oauth2")]:
            answer = self.answered(client, connection=name)
            self.assertEqual((answer["error"], answer["error_description"]),
                             ("invalid_request", "the connection was not found"))
        self.begin(connection="email")
        page = self.visitor.submit(email=self.email)
        self.assertTrue(page.path.endswith("/code"), page.path)
        # The pages of other ways lead back.
        for name in ["password", "sign-up"]:
            back = self.visitor.open(page.path.replace("/code", f"/{name}"))
            self.assertTrue(back.path.endswith("/code"), back.path)
        self.begin(connection="Username-Password-Authentication")
        page = self.visitor.submit(email=self.email)
        self.assertTrue(page.path.endswith("/password"), page.path)
        self.site.dossier("client", "set", self.web["id"], 'connections=["password"]')
        self.addCleanup(self.site.dossier, "client", "set", self.web["id"], "connections=null")
        self.assertEqual(self.answered(self.web, connection="email")["error"], "invalid_request")
        # The app has no such connection, whether or not the client would accept it.
        self.site.dossier("client", "set", self.web["id"], 'connections=["password", "google"]')
        self.begin(connection="Username-Password-Authentication", client=self.web)
        for name in ["google", "apple", "Google", "password"]:
            self.assertEqual(self.answered(self.web, connection=name)["error"], "invalid_request")

    def test_a_client_at_localhost_needs_consent(self):
        local = "http://localhost:3000/cb"
        client = self.new_client("single_page", f"callback_urls={local},http://127.0.0.1:3000/cb")
        self.site.dossier("client", "set", client["id"], "confirm_sign_in=false")
        self.tokens(self.email)
        self.finished(client, redirect="http://127.0.0.1:3000/cb")
        self.assertEqual(self.answered(client, redirect=local, prompt="none")["error"],
                         "consent_required")
        page, party = self.begin(client, redirect=local)
        self.assertIn("wants access", page.heading)
        self.code_of(self.visitor.submit("/consent", button="allow"), party)
        self.finished(client, redirect=local, prompt="none")

    def test_a_native_app_may_listen_on_any_port(self):
        registered = ["http://127.0.0.1/cb", "http://[::1]:4000/cb?x=1", "http://localhost/cb"]
        client = self.new_client("native", "callback_urls=" + ",".join(registered))
        self.site.dossier("client", "set", client["id"], "confirm_sign_in=false")
        self.tokens(self.email)
        for url in ["http://127.0.0.1/cb", "http://127.0.0.1:51234/cb", "http://127.0.0.1:1/cb"]:
            page, party = self.begin(client, redirect=url)
            code = party.code(page)
            self.error(party.exchange(code, redirect_uri="http://127.0.0.1:9/cb"), 400,
                       "invalid_grant")
            self.expect(party.exchange(code), 200)
        for url in ["http://[::1]/cb?x=1", "http://[::1]:51234/cb?x=1"]:
            self.assertEqual(self.begin(client, redirect=url)[0].status, 302, url)
        for near in ["http://localhost:51234/cb", "http://127.0.0.1:51234/cb/",
                     "http://127.0.0.1:51234/CB", "http://127.0.0.1:51234/cb?x=1",
                     "https://127.0.0.1:51234/cb", "http://127.0.0.2:51234/cb",
                     "http://127.0.0.1:/cb", "http://127.0.0.1:0/cb", "http://127.0.0.1:080/cb",
                     "http://127.0.0.1:65536/cb", "http://127.0.0.1:99999999999999999999/cb",
                     "http://127.0.0.1:5x/cb", "http://127.0.0.1.evil.example/cb",
                     "http://127.0.0.1@evil.example/cb", "http://127.0.0.1:80@evil.example/cb",
                     "http://127.0.0.1#@evil.example/cb", "HTTP://127.0.0.1:5/cb",
                     "http://[::1]:51234/cb", "http://[::2]:51234/cb?x=1"]:
            page, _ = self.begin(client, redirect=near)
            self.assertEqual((page.status, page.location), (400, None), near)
        for kind in ["single_page", "web"]:
            other = self.new_client(kind, "callback_urls=http://127.0.0.1/cb")
            page, _ = self.begin(other, redirect="http://127.0.0.1:51234/cb")
            self.assertEqual((page.status, page.location), (400, None), kind)

    def test_pages_of_this_machine_may_have_any_port_and_path(self):
        local = "http://127.0.0.1:*"
        client = self.new_client("single_page", f"callback_urls={local},http://localhost:*")
        self.site.dossier("client", "set", client["id"], "confirm_sign_in=false",
                          f"logout_urls={local}", f"web_origins={local}")
        self.tokens(self.email)
        for url in ["http://127.0.0.1:5173/", "http://127.0.0.1:3000/a/callback?b=1", "http://127.0.0.1"]:
            page, party = self.begin(client, redirect=url)
            code = party.code(page)
            self.error(party.exchange(code, redirect_uri="http://127.0.0.1:5174/"), 400, "invalid_grant")
            tokens = self.expect(party.exchange(code), 200).json
        message = {"redirect": "http://127.0.0.1:5173", "response_mode": "web_message", "prompt": "none"}
        self.assertEqual(self.begin(client, **message)[0].status, 200)
        page, _ = self.begin(client, redirect="http://localhost:5173/")
        self.assertIn("wants access", page.heading)
        for near in [local, "http://127.0.0.1:0/", "http://127.0.0.2:5173/", "http://[::1]:5173/",
                     "http://127.0.0.1:5173@evil.example/", "http://127.0.0.1.evil.example/",
                     "http://127.0.0.1:5173/#a", "https://127.0.0.1:5173/", ""]:
            page, _ = self.begin(client, redirect=near)
            self.assertEqual((page.status, page.location), (400, None), near)
        for target, status in [(local, 200), ("http://127.0.0.1:0/", 200), ("http://127.0.0.1:5173/a?b=1", 302)]:
            page = self.visitor.open("/oidc/logout?" + urllib.parse.urlencode({
                "id_token_hint": tokens["id_token"], "post_logout_redirect_uri": target}))
            self.assertEqual((page.status, page.location), (status, target if status == 302 else None))

    def test_a_popup_gets_an_error_in_place_of_a_page(self):
        origin = CALLBACK.removesuffix("/callback")
        self.site.dossier("client", "set", self.spa["id"], f"web_origins={origin}")
        self.addCleanup(self.site.dossier, "client", "set", self.spa["id"], "web_origins=null")
        self.site.set_app(sign_in_pages_per_ip=1)
        self.addCleanup(self.site.sql, "delete from rate_limits")
        self.addCleanup(self.site.set_app, sign_in_pages_per_ip=1_000_000)
        self.begin()
        page, _ = self.begin()
        self.assertEqual((page.status, page.is_page), (429, True))
        page, _ = self.begin(response_mode="web_message")
        self.assertEqual((page.status, page.is_page), (200, True))
        self.assertIn(b"temporarily_unavailable", page.body)


if __name__ == "__main__":
    unittest.main()
