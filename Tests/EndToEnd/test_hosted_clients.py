"""The pages on which users decide about clients, and the return to the clients, in Chromium."""

import unittest

from browser import Pages
from hosted import PASSWORD
from hosted_browser import LookingCase
from openid import OpenIDCase, Party


class ClientCase(OpenIDCase, LookingCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pages = Pages()
        cls.addClassCleanup(cls.pages.stop)
        cls.callback = f"{cls.pages.origin}/index.html"
        cls.partner = cls.new_client("single_page", f"callback_urls={cls.callback}")
        cls.site.dossier("client", "set", cls.partner["id"], "first_party=false",
                         "terms_url=https://partner.example/terms")

    def party(self, **parameters):
        return Party(self, self.partner, redirect=self.callback, **parameters)

    def arrived(self):
        """Returns the URL at which the browser has arrived at the client."""
        self.browser.wait(
            lambda: self.browser.driver.current_url.startswith(self.callback), "the client")
        return self.browser.driver.current_url

    def click(self, label):
        """Presses a button that leads away from this server."""
        self.browser.press(label)

    def allow(self):
        self.click("Allow")

    def sign_in_here(self, email):
        self.send(email=email)
        self.send(password=PASSWORD)


class WithScripts(ClientCase):
    def test_consent_is_asked_remembered_and_revoked(self):
        email, _ = self.user()
        party = self.party(audience=self.API, scope="openid email read:posts offline_access")
        self.open(party.path)
        self.look("Sign in")
        self.sign_in_here(email)
        self.look("single_page wants access to your Dossier account")
        text = self.browser.text("main")
        for words in [email, "See your email address", "Read your posts",
                      "Stay connected when you're not using it"]:
            self.assertIn(words, text)
        self.allow()
        self.assertIn("code=", self.arrived())
        # The second time, only an app on the device is confirmed.
        self.open(self.party(audience=self.API, scope="openid email read:posts").path)
        self.look("Are you signing in to single_page?")
        self.click("Continue")
        self.assertIn("code=", self.arrived())
        self.open("/account/applications")
        self.look("Connected apps")
        self.press("Remove")
        self.look("Remove an app")
        self.press("Remove")
        self.look("Connected apps")
        self.open(party.path)
        self.look("single_page wants access to your Dossier account")

    def test_the_user_declines(self):
        email, _ = self.user()
        party = self.party()
        self.open(party.path)
        self.sign_in_here(email)
        self.click("Deny")
        self.assertIn("error=access_denied", self.arrived())

    def test_the_accounts_of_a_browser(self):
        first, _ = self.user("first-" + self.own_email())
        second, _ = self.user("second-" + self.own_email())
        for email in [first, second]:
            self.open(self.party(prompt="login").path)
            if email == second:
                self.look("Confirm that it's you")
                self.press("Use another account")
            self.sign_in_here(email)
            if "wants access" in self.heading():
                self.allow()
            self.arrived()
        self.open(self.party(prompt="select_account").path)
        self.look("Choose an account")
        button = next(button for button in self.browser.all("button.account") if first in button.text)
        before = self.browser.find("html")
        button.click()
        self.left(before)
        self.look("Are you signing in to single_page?")
        self.click("Continue")
        self.assertIn("code=", self.arrived())

    def test_pages_of_errors(self):
        self.open("/authorize?client_id=0123")
        self.look("Unknown app")
        party = self.party()
        party.parameters["redirect_uri"] += "x"
        self.open(party.path)
        self.look("Wrong return address")
        self.assertIn(party.parameters["redirect_uri"], self.browser.text("main"))

    def test_a_response_by_a_form(self):
        email, _ = self.user()
        self.open(self.party(response_mode="form_post").path)
        self.sign_in_here(email)
        self.allow()
        self.browser.wait(lambda: self.browser.driver.current_url == self.callback, "the client")


class WithoutScripts(ClientCase):
    def setUp(self):
        super().setUp()
        self.browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})

    def test_the_return_to_the_client_needs_no_script(self):
        email, _ = self.user()
        self.open(self.party().path)
        self.sign_in_here(email)
        self.allow()
        self.assertIn("code=", self.arrived())

    def test_a_response_by_a_form_needs_a_click(self):
        email, _ = self.user()
        self.open(self.party(response_mode="form_post").path)
        self.sign_in_here(email)
        self.press("Allow")
        self.assertEqual(self.heading(), "One moment")
        self.click("Continue")
        self.browser.wait(lambda: self.browser.driver.current_url == self.callback, "the client")


if __name__ == "__main__":
    unittest.main()
