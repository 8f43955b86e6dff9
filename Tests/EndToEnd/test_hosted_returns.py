"""How users come back to the app: after the link of a mail, from the account page and from other browsers."""

import unittest
import urllib.parse

from cases import in_parallel
from hosted import PASSWORD, Visitor
from hosted_browser import BrowserCase
from openid import CALLBACK, LOGOUT, OpenIDCase, Party, target

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
NEW = "another horse"
RESET_DONE = "I've chosen a new password"


class MailedLinks(OpenIDCase):
    """A forgotten password, without scripts."""

    def forget(self, email, client=None, **parameters):
        """Begins a sign-in and requests the mail. Returns the client's request and the link."""
        party = Party(self, client or self.spa, **parameters)
        self.visitor.open(party.path)
        self.visitor.submit(email=email)
        self.visitor.open(self.visitor.page.links["Forgot your password?"])
        count = len(self.site.tokens(email, "ds_reset")) + 1
        self.shows(self.visitor.submit("/forgot", email=email), "Check your email")
        return party, self.link(email, "ds_reset", count)

    def waits(self, page):
        """Returns the status that the script of a page asks for."""
        path = page.links[RESET_DONE].replace("/resume", "/waiting")
        self.assertIn(f'data-check="{path}"', page.body.decode())
        return self.visitor.open(path).status

    def test_a_reset_from_the_account_ends_there_and_is_reported(self):
        email, _ = self.user()
        self.visitor.open("/account")
        self.visitor.submit(email=email)
        self.visitor.open(self.visitor.page.links["Forgot your password?"])
        self.visitor.submit("/forgot", email=email)
        self.visitor.open(self.link(email, "ds_reset"))
        page = self.shows(self.visitor.submit(new_password=NEW), "Your account")
        self.assertRegex(page.body.decode(),
                         r'role="status">(?s:.){,400}<span>Your password has been changed.</span>')
        self.assertNotIn("has been changed", self.visitor.open("/account").text)

    def test_the_same_browser_ends_in_the_app(self):
        email, _ = self.user()
        party, link = self.forget(email)
        tab = self.visitor.page
        self.assertEqual(self.waits(tab), 204)
        self.shows(self.visitor.open(link), "Choose a new password")
        # A mistake leaves the sign-in as it was.
        self.shows(self.visitor.submit(new_password="short"), "Choose a new password",
                   "The password needs at least 8 characters.")
        self.assertEqual(self.waits(tab), 204)
        self.visitor.open(link)
        page = self.visitor.submit(new_password=NEW)
        code = party.code(page)
        # The first tab waits for the client to exchange the code, and then is done.
        self.assertEqual(self.waits(tab), 204)
        self.expect(party.exchange(code), 200)
        self.assertEqual(self.waits(tab), 200)
        page = self.shows(self.visitor.open(tab.links[RESET_DONE]), "You're signed in")
        self.assertEqual(page.links["single_page"], LOGOUT)
        self.shows(self.visitor.open("/account"), "Your account")
        self.shows(self.visitor.open(link), "Link expired", status=404)

    def test_the_first_tab_takes_a_code_that_the_client_has_not_exchanged(self):
        email, _ = self.user()
        party, link = self.forget(email)
        tab = self.visitor.page
        self.visitor.open(link)
        self.visitor.submit(new_password=NEW)
        self.assertEqual(self.waits(tab), 204)
        self.site.sql("update authorizations set claimed_at = claimed_at - interval '11 seconds'")
        self.assertEqual(self.waits(tab), 200)
        code = party.code(self.visitor.open(tab.links[RESET_DONE]))
        self.expect(party.exchange(code), 200)

    def test_two_clicks_sign_in_once(self):
        email, _ = self.user()
        party, link = self.forget(email)
        form = self.visitor.open(link).forms[0]
        body = self.visitor.body(form, new_password=NEW)
        visitors = [Visitor(self.site.port) for _ in range(2)]
        for visitor in visitors:
            visitor.cookies = dict(self.visitor.cookies)
        pages = in_parallel(2, lambda index: visitors[index].send(
            "POST", form.action, body, Origin=visitors[index].origin, **FORM))
        for page in pages:
            self.shows(page, "One moment")
        self.assertEqual(len({party.code(page) for page in pages}), 1)
        for visitor in visitors:
            self.shows(visitor.open("/account"), "Your account")

    def test_the_second_factor_still_counts(self):
        email, _ = self.user()
        self.settings(mfa="required")
        party, link = self.forget(email)
        self.visitor.open(link)
        self.shows(self.visitor.submit(new_password=NEW), "Set up an authenticator app")

    def test_another_browser_sets_the_password_and_signs_nobody_in(self):
        email, _ = self.user()
        _, link = self.forget(email)
        tab = self.visitor.page
        stranger = self.new_visitor()
        stranger.open("/account")
        self.shows(stranger.open(link), "Choose a new password")
        self.shows(stranger.open("/account"), "Sign in")
        stranger.open(link)
        page = self.shows(stranger.submit(new_password=NEW), "Your password has been changed")
        self.assertIn("Go back to Dossier", page.text)
        self.assertEqual(page.links["Sign in"], "/account")
        self.shows(stranger.open("/account"), "Sign in")
        # The first browser has shown nothing, so it asks for the new password.
        self.assertEqual(self.waits(tab), 204)
        page = self.shows(self.visitor.open(tab.links[RESET_DONE]), "Enter your password")
        self.assertEqual(page.forms[0].fields["email"], email)
        self.assertTrue(target(self.visitor.submit("/password", password=NEW)).startswith(CALLBACK))

    def test_the_link_of_another_address_does_not_end_a_sign_in(self):
        email, _ = self.user()
        other, _ = self.user("other-" + email)
        self.forget(email)
        tab = self.visitor.page
        thief = self.new_visitor()
        thief.open("/u/reset")
        thief.submit("/forgot", email=other)
        self.visitor.open(self.link(other, "ds_reset"))
        self.shows(self.visitor.submit(new_password=NEW), "Your password has been changed")
        self.assertEqual(self.waits(tab), 204)
        self.shows(self.visitor.open("/account"), "Sign in")

    def test_a_copied_key_of_a_browser_learns_and_gets_nothing(self):
        email, _ = self.user()
        _, link = self.forget(email)
        tab = self.visitor.page
        thief = self.new_visitor()
        thief.cookies = dict(self.visitor.cookies)
        self.visitor.open(link)
        self.visitor.submit(new_password=NEW)
        page = thief.open(tab.links[RESET_DONE])
        self.assertNotIn("code=", page.body.decode() + (page.location or ""))
        self.shows(thief.open("/account"), "Sign in")

    def test_a_verified_address_continues_the_sign_in(self):
        self.settings(sign_up="verify_first")
        email = self.own_email()
        key = self.site.client("--app", "default", "scopes=create:users")["secret"]
        self.expect(self.post("/v1/users", {"email": email, "password": PASSWORD}, token=key), 201)
        party = Party(self, self.spa)
        self.shows(self.signed_in(party, email), "Check your email")
        self.visitor.open(self.link(email, "ds_verify"))
        page = self.shows(self.visitor.submit("/verify"), "Email address verified")
        page = self.shows(self.visitor.open(page.links["Continue"]), "Enter your password")
        self.assertEqual(page.forms[0].fields["email"], email)
        self.expect(party.exchange(party.code(self.visitor.submit("/password", password=PASSWORD))), 200)


class FinishedSignIns(OpenIDCase):
    """Back, or a bookmark, after the end of a sign-in."""

    def test_its_pages_lead_on(self):
        email, _ = self.user()
        party = Party(self, self.spa)
        self.visitor.open(party.path)
        self.visitor.submit(email=email)
        page = self.visitor.page
        self.expect(party.exchange(party.code(self.visitor.submit("/password", password=PASSWORD))), 200)
        for again in [lambda: self.visitor.open(page.path),
                      lambda: self.visitor.open(page.path.replace("/password", "/sign-in"))]:
            found = self.shows(again(), "You're signed in")
            self.assertIn("Your sign-in is complete.", found.text)
            self.assertEqual(found.links["single_page"], LOGOUT)
        # A form of such a page does nothing.
        self.visitor.page = page
        self.shows(self.visitor.submit("/password", password="wrong"), "You're signed in")
        self.visitor.open("/account")
        self.visitor.submit("/account/sign-out")
        self.visitor.open(page.path)
        self.shows(self.visitor.page, "Sign-in expired", status=404)

    def test_a_sign_in_at_the_account_leads_there(self):
        email, _ = self.user()
        self.visitor.open("/account")
        path = self.visitor.page.path
        self.visitor.submit(email=email)
        self.shows(self.visitor.submit("/password", password=PASSWORD), "Your account")
        self.site.sql("update authorizations set redeemed_at = now(), code_hash = 'x' "
                      f"where authorization_id = '{path.split('/')[2]}'")
        page = self.shows(self.visitor.open(path), "You're signed in")
        self.assertEqual(page.links["Your account"], "/account")


class OtherBrowsers(OpenIDCase):
    def test_a_page_of_a_sign_in_leads_to_the_app_that_began_it(self):
        self.visitor.open(Party(self, self.spa).path)
        path = self.visitor.page.path
        page = self.shows(self.new_visitor().open(path), "Start again in this browser", status=403)
        self.assertEqual(page.links["Start again"], LOGOUT)
        other = self.new_visitor()
        other.open("/account")
        page = self.shows(other.open(path), "Sign-in expired", status=404)
        self.assertEqual(page.links["Start again"], LOGOUT)
        page = self.new_visitor().open("/u/0123456789abcdef01234567/sign-in")
        self.assertEqual(page.links["Start again"], "/account")

    def test_an_error_links_what_it_names(self):
        email, _ = self.user()
        self.visitor.open(Party(self, self.spa).path)
        self.visitor.open(self.visitor.page.links["Create account"])
        page = self.visitor.submit(email=email, new_password=PASSWORD)
        self.shows(page, "Create account", "An account with this email address already exists.")
        page = self.shows(self.visitor.open(page.links["Sign in"]), "Enter your password")
        self.assertEqual(page.forms[0].fields["email"], email)
        page = self.visitor.submit("/password", password="wrong horse")
        page = self.visitor.open(page.links["Forgot your password?"])
        self.assertEqual(self.shows(page, "Reset your password").forms[0].fields["email"], email)


class WaysBack(OpenIDCase):
    """`return_to` of the account page."""

    def way(self, visitor=None):
        page = (visitor or self.visitor).open("/account")
        return next((link for text, link in page.links.items() if text.startswith("Back to")), None)

    def test_the_account_leads_back_to_the_client(self):
        visitor = self.new_visitor()
        url = "https://app.example.com/settings?tab=1"
        visitor.open("/account?" + urllib.parse.urlencode({"return_to": url}))
        # The sign-in and its redirects keep it, and so do the pages of changes.
        visitor.open(visitor.page.links["Create account"])
        page = self.shows(visitor.submit(email=self.own_email(), new_password=PASSWORD), "Your account")
        self.assertIn(self.own_email(), page.text)
        self.assertEqual(page.links["single_page"], url)
        visitor.open("/account/profile")
        page = self.shows(visitor.submit(name="Ada"), "Your account")
        self.assertEqual(page.links["single_page"], url)
        self.assertIn("Your changes have been saved.", page.text)
        self.assertRegex(page.body.decode(),
                         r'role="status">(?s:.){,400}<span>Your changes have been saved.</span>')
        self.assertNotIn("saved", visitor.open("/account").text)
        named = {"return_to": "https://app.example.com/", "client_id": self.web["id"]}
        page = visitor.open("/account?" + urllib.parse.urlencode(named))
        self.assertEqual(page.links["web"], "https://app.example.com/")
        self.site.dossier("client", "set", self.web["id"], "callback_urls=", "logout_urls=")
        self.addCleanup(self.site.dossier, "client", "set", self.web["id"],
                        f"callback_urls={CALLBACK}", f"logout_urls={LOGOUT}")
        self.assertIsNone(self.way(visitor))

    def test_a_page_of_this_machine_at_any_port(self):
        self.site.dossier("client", "set", self.web["id"], "callback_urls=http://127.0.0.1:*")
        self.addCleanup(
            self.site.dossier, "client", "set", self.web["id"], f"callback_urls={CALLBACK}")
        self.sign_up(self.own_email())
        for url in ["http://127.0.0.1:*", "http://127.0.0.1.evil.example:3456/"]:
            query = urllib.parse.urlencode({"return_to": url, "client_id": self.web["id"]})
            self.assertNotIn("Back to", self.visitor.open(f"/account?{query}").text)
        url = "http://127.0.0.1:3456/page"
        query = urllib.parse.urlencode({"return_to": url, "client_id": self.web["id"]})
        self.assertEqual(self.visitor.open(f"/account?{query}").links["web"], url)

    def test_other_pages_are_ignored(self):
        self.sign_up(self.own_email())
        for url in ["https://evil.example/", "https://app.example.com.evil.example/",
                    "https://app.example.com@evil.example/", "http://app.example.com/",
                    "https://app.example.com:8443/", "//app.example.com/", "javascript:alert(1)",
                    "data:text/html,x", "/account", "", "com.evil.app://cb",
                    "https://app.example.com/\r\nSet-Cookie: a=b", "https://app.example.com/\"><b>",
                    "https://app.example.com/" + "x" * 3000]:
            with self.subTest(url):
                query = urllib.parse.urlencode({"return_to": url})
                page = self.shows(self.visitor.open(f"/account?{query}"), "Your account")
                self.assertNotIn("Back to", page.text)
                self.assertNotIn("a", self.visitor.cookies)
                self.assertIsNone(self.way())
        for client in ["x", self.native["id"], "0123456789abcdef01234567"]:
            query = urllib.parse.urlencode({"return_to": CALLBACK, "client_id": client})
            self.assertNotIn("Back to", self.visitor.open(f"/account?{query}").text)
        page = self.visitor.open("/account?return_to=com.Example.my-app://cb")
        self.assertEqual(page.links["native"], "com.Example.my-app://cb")


class Tabs(OpenIDCase, BrowserCase):
    def test_the_first_tab_continues(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        driver = self.browser.driver
        self.open("/account")
        self.send(email=email)
        self.press("Forgot your password?")
        self.send(email=email)
        self.assertEqual(self.heading(), "Check your email")
        first = driver.current_window_handle
        link = self.link(email, "ds_reset")
        driver.switch_to.new_window("tab")
        self.open(link)
        self.send(new_password=NEW)
        self.assertEqual(self.heading(), "Your account")
        driver.switch_to.window(first)
        self.browser.wait(lambda: self.heading() == "Your account", "the page of the account")
        self.assertEqual(self.browser.complaints(), [])


if __name__ == "__main__":
    unittest.main()
