"""`response_mode=web_message` in Chromium: hidden frames and popups of a client's page."""

import unittest
import urllib.parse

from browser import Pages
from hosted import PASSWORD
from hosted_browser import BrowserCase
from openid import OpenIDCase, Party

LISTEN = """
window.messages = [];
addEventListener("message", (event) => messages.push({origin: event.origin, data: event.data}));
"""
FRAME = """
const [url, done] = arguments;
const frame = document.createElement("iframe");
frame.onload = () => setTimeout(done);
frame.src = url;
document.body.append(frame);
"""


class Messages(OpenIDCase, BrowserCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pages, cls.strangers = Pages(), Pages()
        for pages in [cls.pages, cls.strangers]:
            cls.addClassCleanup(pages.stop)
        cls.page = cls.new_client("single_page", f"callback_urls={cls.pages.origin}/index.html")
        cls.site.dossier("client", "set", cls.page["id"], f"web_origins={cls.pages.origin}",
                         "confirm_sign_in=false")

    def setUp(self):
        super().setUp()
        self.email, _ = self.user()

    def party(self, **parameters):
        """Returns the request of a page that sends only its origin, as Auth0's SDK does."""
        return Party(self, self.page, redirect=self.pages.origin, response_mode="web_message",
                     scope="openid email", **parameters)

    def sign_in_here(self):
        self.open("/account")
        self.send(email=self.email)
        self.send(password=PASSWORD)

    def visit(self, pages):
        self.browser.open(f"{pages.origin}/index.html")
        self.browser.script(LISTEN)

    def frame(self, party):
        """Opens a hidden frame. Returns the messages of the page after the load."""
        self.browser.driver.execute_async_script(FRAME, self.server + party.path)
        return self.browser.script("return messages")

    def message(self, party, code=True):
        """Returns the response in the only message, which must be from this server."""
        self.browser.wait(lambda: self.browser.script("return messages.length"), "a message")
        (found,) = self.browser.script("return messages")
        self.assertEqual((found["origin"], found["data"]["type"]),
                         (self.server, "authorization_response"))
        response = found["data"]["response"]
        self.assertEqual((response["state"], response["iss"]),
                         (party.parameters["state"], self.issuer))
        self.assertEqual("code" in response, code, response)
        return response

    def test_a_hidden_frame_gets_a_code(self):
        self.sign_in_here()
        self.visit(self.pages)
        party = self.party(prompt="none")
        self.frame(party)
        tokens = self.expect(party.exchange(self.message(party)["code"]), 200).json
        self.assertEqual(self.userinfo(tokens["access_token"]).json["email"], self.email)

    def test_a_hidden_frame_without_a_user_gets_an_error(self):
        self.visit(self.pages)
        party = self.party(prompt="none")
        self.frame(party)
        self.assertEqual(self.message(party, code=False)["error"], "login_required")

    def test_a_popup_signs_the_user_in_and_closes(self):
        self.visit(self.pages)
        party, driver = self.party(), self.browser.driver
        client = driver.current_window_handle
        self.browser.script("open(arguments[0], 'popup')", self.server + party.path)
        self.browser.wait(lambda: len(driver.window_handles) == 2, "the popup")
        driver.switch_to.window(next(one for one in driver.window_handles if one != client))
        self.browser.wait(lambda: self.browser.has("#email"), "the form")
        self.send(email=self.email)
        field = self.browser.find("#password")
        field.send_keys(PASSWORD)
        # The page that follows closes its window.
        field.submit()
        driver.switch_to.window(client)
        self.expect(party.exchange(self.message(party)["code"]), 200)
        self.browser.wait(lambda: len(driver.window_handles) == 1, "the end of the popup")

    def test_a_page_of_another_origin_gets_nothing(self):
        self.sign_in_here()
        self.visit(self.strangers)
        self.assertEqual(self.frame(self.party(prompt="none")), [])
        self.assertIn("frame-ancestors", " ".join(self.browser.complaints()))
        driver, party = self.browser.driver, self.party(prompt="none")
        self.browser.script("open(arguments[0], 'popup')", self.server + party.path)
        self.browser.wait(lambda: len(driver.window_handles) == 1 and "postMessage" in " ".join(
            self.browser.complaints()), "the end of the popup")
        self.assertEqual(self.browser.script("return messages"), [])

    def test_the_response(self):
        """A browser without scripts gets a page, which only pages of the client may embed."""
        party = self.party(prompt="none")
        page = self.visitor.open(party.path)
        self.assertEqual(page.status, 200)
        self.assertIn("This window will close by itself.", page.text)
        policy = page.headers["Content-Security-Policy"]
        self.assertIn(f"frame-ancestors {self.pages.origin}", policy)
        self.assertIn("script-src 'self' 'nonce-", policy)
        self.assertNotIn("X-Frame-Options", page.headers)
        self.assertNotIn("Cross-Origin-Opener-Policy", page.headers)
        # No other page gets a response.
        for redirect in [self.strangers.origin, self.pages.origin + "/", "https://evil.example"]:
            other = self.party(prompt="none")
            other.parameters["redirect_uri"] = redirect
            page = self.visitor.open(other.path)
            self.assertEqual((page.status, page.location), (400, None), redirect)
        query = urllib.parse.urlsplit(party.path).query
        page = self.visitor.open(f"/authorize?{query}&response_mode=query")
        self.assertEqual((page.status, page.location), (400, None))


if __name__ == "__main__":
    unittest.main()
