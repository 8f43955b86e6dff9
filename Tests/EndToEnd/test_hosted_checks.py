"""Rules of the hosted pages that need several pages, tabs or clicks."""

import re
import unittest
import urllib.parse

from selenium.webdriver.common.keys import Keys

from cases import in_parallel
from hosted import PASSWORD, Visitor
from hosted_browser import BrowserCase
from openid import OpenIDCase, Party

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Flow(OpenIDCase):
    """Without scripts."""

    def twice(self, action, **fields):
        """Sends a form of the page twice concurrently. Returns both next pages."""
        form = self.visitor.form(action)
        body = self.visitor.body(form, **fields)
        visitors = [Visitor(self.site.port) for _ in range(2)]
        for visitor in visitors:
            visitor.cookies = dict(self.visitor.cookies)
        return in_parallel(2, lambda index: visitors[index].send(
            "POST", form.action, body, Origin=visitors[index].origin, **FORM))

    def test_two_clicks_send_one_mail(self):
        email, _ = self.user()
        for path in ["/u/reset", "/account"]:
            self.visitor.open(path)
            if path == "/account":
                self.visitor.submit(email=email)
                self.visitor.open(self.visitor.page.links["Forgot your password?"])
            before = len(self.site.tokens(email, "ds_reset"))
            for page in self.twice("/forgot", email=email):
                self.shows(page, "Check your email")
            self.site.mailed(email, "ds_reset", before + 1)
            stored = self.site.sql("select count(*) from mail_tokens where purpose = 'reset' "
                                   f"and user_id = (select user_id from users where email = '{email}')")
            self.assertEqual(len(self.site.tokens(email, "ds_reset")), before + 1, stored)

    def test_two_clicks_at_the_account_send_one_code(self):
        email = self.own_email()
        self.settings(email_code=True)
        self.verified(email, PASSWORD)
        self.sign_in(email)
        self.visitor.open("/account/address")
        for page in self.twice("/address", email="new-" + email):
            self.shows(page, "Verify your email address")
        self.visitor.page = page
        code = self.mailed_code("new-" + email)
        for page in self.twice("/send"):
            self.shows(page, "Verify your email address")
        code = self.mailed_code("new-" + email, 2)
        self.visitor.page = page
        for page in self.twice("/code", code=code):
            self.shows(page, "Your account")
        self.assertEqual(len(self.codes("new-" + email)), 2)
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day'")
        self.visitor.open("/account/delete")
        for page in self.twice("/confirm/send"):
            self.shows(page, "Confirm that it's you")
        self.mailed_code("new-" + email, 3)
        self.assertEqual(len(self.codes("new-" + email)), 3)

    def test_a_corrected_form_is_another_form(self):
        email = self.own_email()
        self.sign_up(email)
        self.visitor.open("/account/address")
        form = self.visitor.form("/address")
        for address in ["wrong-" + email, "right-" + email]:
            # As after the button Back: the form with the same hidden fields.
            page = self.visitor.send("POST", form.action, self.visitor.body(form, email=address),
                                     Origin=self.visitor.origin, **FORM)
            self.shows(page, "Verify your email address")
            self.mailed_code(address)
        for once in [None, ""]:
            fields = dict(urllib.parse.parse_qsl(self.visitor.body(form, email="no-" + email)))
            fields["once"] = once
            body = urllib.parse.urlencode({name: value for name, value in fields.items()
                                           if value is not None})
            page = self.visitor.send("POST", form.action, body, Origin=self.visitor.origin, **FORM)
            self.assertEqual(page.status, 403)

    def test_two_authorizations_keep_their_state(self):
        email, _ = self.user()
        parties = [Party(self, self.spa), Party(self, self.web)]
        pages = [self.visitor.open(party.path) for party in parties]
        for party, page in zip(parties, pages):
            self.visitor.page = page
            page = self.visitor.submit(email=email)
            if page.heading == "Choose an account":
                page = self.visitor.submit("/choose")
            else:
                page = self.visitor.submit("/password", password=PASSWORD)
            self.assertEqual(party.answer(page)["state"], party.parameters["state"])

    def test_an_old_form_does_not_act_for_another_address(self):
        first, second = self.user()[0], self.user("second-" + self.own_email())[0]
        self.visitor.open(Party(self, self.spa).path)
        old = self.visitor.submit(email=first)
        self.visitor.open(old.links["Change"])
        self.visitor.submit(email=second)
        self.visitor.page = old
        page = self.visitor.submit("/password", password=PASSWORD)
        self.assertEqual(page.forms[0].fields["email"], second)
        self.shows(page, "Enter your password")

    def test_known_and_unknown_addresses_have_the_same_pages(self):
        email, _ = self.user()
        self.settings(email_code=True)
        seen = []
        for address in [email, "nobody" + email[6:]]:
            visitor, pages = self.new_visitor(), []
            visitor.open("/account")
            pages.append(visitor.submit(email=address))
            pages.append(visitor.submit("/password", password="wrong horse"))
            pages.append(visitor.submit("/code/send"))
            visitor.open(re.sub(r"[a-z-]+$", "forgot", visitor.page.path))
            pages.append(visitor.submit("/forgot", email=address))
            # The foot of a page has the time.
            varying = r'value="[^"]*"|/u/[0-9a-f]{24}/|\d\d:\d\d UTC'
            tags = [re.sub(varying, "", page.body.decode())
                    .replace("<wbr>", "").replace(address, "") for page in pages]
            heads = [(page.status, [(name, value if name != "Content-Length" else len(value))
                                    for name, value in sorted(page.headers.items())
                                    if name not in ["Date", "X-Request-Id", "Dossier-Request-Id"]
                                    and "id" not in name.lower()]) for page in pages]
            seen.append((tags, heads))
        self.assertEqual(*seen)

    def test_a_user_authenticates_again_for_a_client(self):
        email, _ = self.user()
        self.tokens(email)
        for parameters in [{"prompt": "login"}, {"max_age": "0"},
                           {"prompt": "login", "login_hint": email.upper()},
                           # In full-width letters, which the database folds.
                           {"prompt": "login", "login_hint": email.replace("a", "\uff41")}]:
            party = Party(self, self.spa, **parameters)
            self.site.sql("update sessions set authenticated_at = now() - interval '1 minute'")
            page = self.shows(self.visitor.open(party.path), "Confirm that it's you")
            self.assertEqual(page.forms[0].fields["email"], email)
            self.shows(self.visitor.submit("/password", password="wrong horse"),
                       "Confirm that it's you",
                       "Email address or password is wrong.")
            party.code(self.visitor.submit("/password", password=PASSWORD))
        denied = Party(self, self.spa, prompt="login")
        self.visitor.open(denied.path)
        self.assertEqual(denied.answer(self.visitor.submit("/cancel"))["error"], "access_denied")
        # A client that names another user gets the form of the address.
        other = Party(self, self.spa, prompt="login", login_hint="other@example.com")
        page = self.shows(self.visitor.open(other.path), "Sign in")
        self.assertEqual(page.forms[0].fields["email"], "other@example.com")
        another = Party(self, self.spa, prompt="login")
        self.visitor.open(another.path)
        self.shows(self.visitor.submit("/another"), "Sign in")

    def test_the_address_is_remembered_only_on_request(self):
        self.visitor.open("/account")
        self.visitor.submit(email="ada@example.com")
        self.assertEqual(self.visitor.open("/account").forms[0].fields["email"], "")
        self.visitor.submit(email="ada@example.com", remember="true")
        cookie = next(value for name, value in self.visitor.cookies.items() if "address" in name)
        self.assertNotIn("example", cookie)
        page = self.visitor.open("/account")
        self.assertEqual(page.forms[0].fields["email"], "ada@example.com")
        # Another browser cannot use the cookie.
        thief = self.new_visitor()
        thief.open("/account")
        thief.cookies.update({name: value for name, value in self.visitor.cookies.items()
                              if "address" in name})
        self.assertEqual(thief.open("/account").forms[0].fields["email"], "")
        self.visitor.submit(email="ada@example.com")
        self.assertEqual(self.visitor.open("/account").forms[0].fields["email"], "")

    def test_sessions_of_clients_are_listed_below_the_sign_in(self):
        email, _ = self.user()
        tokens, _ = self.tokens(email, scope="openid offline_access")
        page = self.visitor.open("/account/sessions")
        self.assertIn("Used by single_page", page.text)
        self.assertEqual(len(re.findall('class="row"', page.body.decode())), 2)
        other = self.new_visitor()
        self.shows(self.sign_in(email, visitor=other), "Your account")
        page = other.open("/account/sessions")
        form = next(form for form in page.forms if form.action.endswith("/end")
                    and self.site.sql("select count(*) from sessions p join sessions c "
                                      "on c.user_id = p.user_id and c.browser_id = p.device_id "
                                      f"where p.session_id = '{form.fields['session']}'") != "0")
        page.forms = [form]
        other.submit()
        self.shows(self.visitor.open("/account"), "Sign in")
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)

    def test_granted_scopes_are_described(self):
        third = self.new_client("single_page", "callback_urls=https://app.example.com/callback")
        self.site.dossier("client", "set", third["id"], "first_party=false")
        email, _ = self.user()
        self.signed_in(Party(self, third, audience=self.API, scope="openid read:posts"), email)
        self.visitor.submit("/consent", button="allow")
        page = self.visitor.open("/account/applications")
        self.assertIn("Read your posts", page.text)
        self.assertNotIn(self.API, page.text)


class Browsers(BrowserCase):
    RECORDS = True

    def focuses(self, field):
        self.browser.wait(
            lambda: self.browser.script("return document.activeElement.id") == field, "the focus")

    def test_pages_load_no_other_hosts_and_accept_pasted_secrets(self):
        email = self.own_email()
        self.open("/account")
        self.press("Create account")
        self.send(email="x", new_password=PASSWORD)
        self.focuses("email")
        self.browser.type("#email", PASSWORD)
        self.browser.find("#email").send_keys(Keys.CONTROL, "a")
        self.browser.find("#email").send_keys(Keys.CONTROL, "x")
        self.browser.find("#email").send_keys(email)
        self.browser.find("#new_password").send_keys(Keys.CONTROL, "v")
        self.assertEqual(self.browser.find("#new_password").get_attribute("value"), PASSWORD)
        self.press("Create account")
        self.assertEqual(self.heading(), "Your account")
        # From three fields on, a summary has the focus, and its links lead to the fields.
        self.open("/account/profile")
        self.send(name="x" * 301)
        self.browser.find(".summary a").click()
        self.focuses("name")
        hosts = {urllib.parse.urlsplit(url).netloc for url in self.browser.navigations()
                 if url.startswith("http")}
        self.assertEqual(hosts, {urllib.parse.urlsplit(self.server).netloc})


if __name__ == "__main__":
    unittest.main()
