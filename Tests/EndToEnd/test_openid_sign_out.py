"""Sign-out with OpenID Connect: the sessions that it ends, and the proof that a client must send."""

import unittest
import urllib.parse

from hosted import PASSWORD
from machine import wait_until
from openid import CALLBACK, LOGOUT, OpenIDCase, Party, claims, target as reached


class SigningOut(OpenIDCase):
    def logout(self, visitor=None, **parameters):
        return (visitor or self.visitor).open("/oidc/logout?" + urllib.parse.urlencode(parameters))

    def is_live(self, tokens):
        return self.userinfo(tokens["access_token"]).status == 200

    def test_a_client_signs_its_user_out(self):
        tokens, party = self.tokens(scope="openid")
        stays, _ = self.offline()
        page = self.logout(id_token_hint=tokens["id_token"], state="a b",
                           post_logout_redirect_uri=LOGOUT)
        self.assertEqual(page.location, LOGOUT + "?state=a%20b")
        self.assertFalse(self.is_live(tokens))
        self.assertTrue(self.is_live(stays))
        party = Party(self, self.spa, prompt="none")
        answer = party.answer(self.visitor.open(party.path))
        self.assertEqual(answer["error"], "login_required")

    def offline(self):
        """Returns the tokens of a server, which the browser does not have."""
        party = Party(self, self.web, scope="openid offline_access")
        return party.exchange(party.code(self.visitor.open(party.path))).json, party

    def test_without_a_hint_the_user_is_asked(self):
        tokens, _ = self.tokens(scope="openid")
        page = self.visitor.open("/oidc/logout")
        self.shows(page, "Sign out of Dossier?")
        self.assertTrue(self.is_live(tokens))
        page = self.visitor.submit("/oidc/logout/confirm")
        self.shows(page, "You're signed out of Dossier")
        self.assertFalse(self.is_live(tokens))

    def test_without_a_client_the_target_may_be_that_of_any_client(self):
        for target, returns in [(LOGOUT, True), ("https://evil.example/", False)]:
            visitor = self.new_visitor()
            email = f"{str(returns).lower()}-{self.own_email()}"
            self.user(email)
            tokens, _ = self.tokens(email, visitor=visitor, scope="openid")
            page = self.logout(visitor, post_logout_redirect_uri=target, state="x")
            self.shows(page, "Sign out of Dossier?")
            page = visitor.submit("/oidc/logout/confirm")
            self.assertFalse(self.is_live(tokens))
            if returns:
                self.assertEqual(reached(page), LOGOUT + "?state=x")
            else:
                self.shows(page, "You're signed out of Dossier")
                self.assertNotIn("evil", page.body.decode())

    def test_an_unregistered_target_ends_the_session_and_gets_no_redirect(self):
        email, _ = self.user()
        for target in ["https://app.example.com/bye/", "https://evil.example/", CALLBACK,
                       "https://app.example.com/bye?x=1", "//evil.example"]:
            # With a valid hint at once; with the client alone after a question.
            for hint in [True, False]:
                visitor = self.new_visitor()
                tokens, _ = self.tokens(email, visitor=visitor, scope="openid")
                named = {"id_token_hint": tokens["id_token"]} if hint else {"client_id": self.spa["id"]}
                page = self.logout(visitor, post_logout_redirect_uri=target, state="s", **named)
                if not hint:
                    self.shows(page, "Sign out of Dossier?")
                    self.assertTrue(self.is_live(tokens))
                    page = visitor.submit("/oidc/logout/confirm")
                self.shows(page, "You're signed out of Dossier")
                self.assertFalse(self.is_live(tokens), target)
                # The page leads back to the client by a URL that it has registered.
                self.assertIn(LOGOUT, page.links.values())
                self.assertNotIn("evil", page.body.decode())
        words = f"the sign-out does not lead to {CALLBACK}: it must be one of the logout_urls of the client"
        wait_until(lambda: any(line.get("remark") == f"{words} {self.spa['id']}"
                               for line in self.site.log_lines()), what="a remark in the log")

    def test_the_id_token_must_be_that_of_the_client(self):
        tokens, _ = self.tokens(scope="openid")
        for client in [self.web["id"], self.spa["id"] + " ", "x"]:
            for target in [{}, {"post_logout_redirect_uri": LOGOUT}]:
                page = self.logout(id_token_hint=tokens["id_token"], client_id=client, **target)
                self.assertEqual((page.status, page.location), (404, None), client)
        self.assertTrue(self.is_live(tokens))
        self.shows(self.logout(id_token_hint=tokens["id_token"], client_id=self.spa["id"]),
                   "You're signed out of Dossier")
        self.assertFalse(self.is_live(tokens))

    def test_the_session_of_a_client_names_the_user(self):
        tokens, _ = self.tokens(scope="openid")
        session = claims(tokens["id_token"])["sid"]
        foreign, _ = self.tokens(f"x-{self.own_email()}", scope="openid", **self.in_another_browser())
        for hint in [claims(foreign["id_token"])["sid"], "0" * 24, "x"]:
            self.shows(self.logout(logout_hint=hint), "Sign out of Dossier?")
        self.shows(self.logout(logout_hint=session), "You're signed out of Dossier")
        self.assertFalse(self.is_live(tokens))
        self.assertTrue(self.is_live(foreign))

    def in_another_browser(self):
        self.user(f"x-{self.own_email()}")
        return {"visitor": self.new_visitor()}

    # Sessions of clients last longer than the session at the pages from which they came.

    def test_a_sign_out_ends_sessions_of_earlier_sign_ins(self):
        email, _ = self.user()
        first, _ = self.tokens(email, scope="openid")
        kept, _ = self.offline()
        again = Party(self, self.web, prompt="login", scope="openid")
        second = again.exchange(again.code(self.signed_in(again, email))).json
        self.assertTrue(self.is_live(first))
        self.logout(id_token_hint=second["id_token"])
        self.assertEqual([self.is_live(tokens) for tokens in [first, second, kept]],
                         [False, False, True])

    def test_a_confirmation_keeps_the_sessions_of_clients(self):
        email, _ = self.user()
        first, _ = self.tokens(email, scope="openid")
        self.visitor.open("/account/confirm?to=/account/address")
        self.shows(self.visitor.submit("/confirm", password=PASSWORD), "Change your email address")
        self.assertTrue(self.is_live(first))
        self.logout(id_token_hint=first["id_token"])
        self.assertFalse(self.is_live(first))

    def test_a_sign_out_after_the_pages_session_ends_client_sessions(self):
        email, _ = self.user()
        for path, asks in [("/oidc/logout?id_token_hint={}", False), ("/oidc/logout", True),
                           ("/v2/logout", True), (f"/v2/logout?client_id={self.web['id']}", True),
                           (f"/v2/logout?client_id={self.spa['id']}", False)]:
            visitor = self.new_visitor()
            tokens, _ = self.tokens(email, scope="openid", visitor=visitor)
            self.site.sql("update sessions set expires_at = now() - interval '1 s' where style = 'pages'")
            self.assertTrue(self.is_live(tokens))
            visitor.open(path.format(tokens["id_token"]))
            if asks:
                self.shows(visitor.page, "Sign out of Dossier?")
                self.assertTrue(self.is_live(tokens), path)
                visitor.submit("/confirm")
            self.assertFalse(self.is_live(tokens), path)
            # No user is left to be asked about.
            self.assertNotIn("Sign out of", visitor.open(path.split("?")[0]).heading)

    def test_a_client_cannot_name_the_session_of_another(self):
        tokens, _ = self.tokens(scope="openid")
        session = claims(tokens["id_token"])["sid"]
        self.shows(self.logout(logout_hint=session, client_id=self.web["id"]), "Sign out of Dossier?")
        self.assertTrue(self.is_live(tokens))

    def test_the_account_page_ends_client_sessions_of_one_browser(self):
        email, _ = self.user()
        theirs = self.new_visitor()
        first, _ = self.tokens(email, scope="openid", visitor=theirs)
        again = Party(self, self.spa, prompt="login", scope="openid")
        second = again.exchange(again.code(self.signed_in(again, email, visitor=theirs))).json
        own, _ = self.tokens(email, scope="openid")
        pages = self.site.sql("select s.session_id from sessions s join users u using (user_id) where "
                              f"style = 'pages' and ended_at is null and u.email = '{email}' "
                              "order by session_id limit 1")
        self.visitor.open("/account/sessions")
        form = next(form for form in self.visitor.page.forms if form.fields.get("session") == pages)
        self.visitor.send("POST", form.action, self.visitor.body(form), Origin=self.visitor.origin, **{
            "Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual([self.is_live(tokens) for tokens in [first, second, own]],
                         [False, False, True])


if __name__ == "__main__":
    unittest.main()
