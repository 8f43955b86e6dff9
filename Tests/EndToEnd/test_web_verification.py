"""The links of mails, on the sample page: several browsers, and several tabs of one."""

import contextlib
import re
import unittest

from authenticator import Authenticator
from machine import wait_until
from web import PASSWORD, PageCase

DEVICES = ["secret", "cookie"]
NEW_PASSWORD = "another horse battery"
# The errors of a page whose session has ended.
ENDED = "session_ended|refresh_token_invalid"


class Links(PageCase):
    def setUp(self):
        super().setUp()
        self.site.set_app(email_link_base_url=self.address(), sign_up="immediate", email_code=True)
        self.site.sql("delete from rate_limits")

    @contextlib.contextmanager
    def on_another_browser(self):
        """Uses another browser, such as that of a phone."""
        here, self.browser = self.browser, self.new_browser()
        try:
            yield
        finally:
            self.quiet_but_refusals()
            self.browser = here

    def quiet_but_refusals(self):
        """Checks that the console has nothing but refused requests."""
        self.assertEqual([complaint for complaint in self.browser.complaints()
                          if "the server responded with a status of 4" not in complaint], [])

    def mailed_link(self, email, kind, count=1):
        """Waits for `count` links of a kind mailed to an address. Returns the newest."""
        def links():
            return re.findall(rf"http://\S+#{kind}=\S+", "\n".join(self.site.mails(email)))

        wait_until(lambda: len(links()) >= count, what=f"{count} links to {email}")
        return links()[-1]

    def follow(self, link, device="secret"):
        """Opens the link of a mail in this tab."""
        self.browser.open("about:blank")
        self.browser.open(link.replace("device=secret", f"device={device}"))
        said = self.said()
        # The token is not in the history, which other users of the browser may see.
        self.assertEqual(self.browser.script("return location.hash"), "")
        return said

    def is_verified(self):
        return "(verified)" in self.browser.text("#me")

    def asks(self):
        return self.browser.find("#asked").is_displayed()

    def new_tab(self):
        self.browser.driver.switch_to.new_window("tab")
        return self.browser.driver.current_window_handle

    def test_a_user_registers_on_a_laptop_and_opens_the_link_on_a_phone(self):
        for device in DEVICES:
            with self.subTest(device):
                email = f"laptop-{device}@example.com"
                self.open(device)
                self.assertIn("Signed in", self.enter_as("register", email))
                user = self.me()
                link = self.mailed_link(email, "verify")
                with self.on_another_browser():
                    # The phone has no session, so the page asks for the password.
                    self.assertIn("Sign in to verify", self.follow(link, device))
                    self.assertTrue(self.asks())
                    self.assertIn("wrong_credentials", self.answer("a wrong password"))
                    self.assertTrue(self.asks())
                    self.assertIn("you are signed in", self.answer(PASSWORD))
                    self.assertEqual(self.me(), user)
                    self.assertEqual((self.is_verified(), self.asks()), (True, False))
                    self.open(device)
                    self.assertEqual(self.me(), user)
                # The laptop is still signed in.
                self.assertEqual(self.submit("profile", "", name="Ada"), "Done.")
                self.assertEqual((self.me(), self.is_verified()), (user, True))
                self.pass_time()
                self.assertEqual(self.submit("profile", "", name="Ada Lovelace"), "Done.")
                self.click("#leave")
        self.quiet_but_refusals()

    def test_a_guest_links_an_address_and_verifies_it_in_the_session(self):
        for device in DEVICES:
            with self.subTest(device):
                email = f"guest-{device}@example.com"
                self.open(device)
                self.click("#anonymous")
                guest = self.me()
                self.submit("document", "[value=merge]", patch='{"theme": "dark"}')
                self.assertIn("Linked", self.enter_as("link", email))
                self.assertEqual((self.me(), self.is_verified()), (guest, False))
                self.assertEqual(self.follow(self.mailed_link(email, "verify"), device),
                                 "The address is verified.")
                self.assertEqual((self.me(), self.is_verified(), self.asks()), (guest, True, False))
                self.pass_time()
                self.click("#document button[value=read]")
                self.assertIn('{"theme":"dark"}', self.browser.text("#stored"))
                self.click("#leave")
        self.quiet()

    def test_a_guest_verifies_with_the_password_and_stays_signed_in(self):
        for device in DEVICES:
            with self.subTest(device):
                email = f"linked-{device}@example.com"
                self.open(device)
                self.click("#anonymous")
                guest = self.me()
                self.enter_as("link", email)
                with self.on_another_browser():
                    self.follow(self.mailed_link(email, "verify"), device)
                    self.assertIn("you are signed in", self.answer(PASSWORD))
                    self.assertEqual(self.me(), guest)
                self.pass_time()
                self.assertEqual(self.submit("profile", "", name="Guest"), "Done.")
                self.assertEqual((self.me(), self.is_verified()), (guest, True))
                self.click("#leave")

    def test_a_page_in_two_tabs(self):
        for device in DEVICES:
            with self.subTest(device):
                email = f"tabs-{device}@example.com"
                self.open(device)
                self.click("#anonymous")
                user = self.me()
                first = self.browser.driver.current_window_handle
                # The link opens in a second tab, which has the session of the first.
                second = self.new_tab()
                self.open(device)
                self.assertEqual(self.me(), user)
                self.browser.driver.switch_to.window(first)
                self.assertIn("Linked", self.enter_as("link", email))
                # The second tab continues in the session that the link started.
                self.browser.driver.switch_to.window(second)
                self.assertEqual(self.submit("profile", "", name="Ada"), "Done.")
                self.assertEqual(self.follow(self.mailed_link(email, "verify"), device),
                                 "The address is verified.")
                self.assertTrue(self.is_verified())
                self.browser.driver.switch_to.window(first)
                self.assertEqual(self.submit("profile", "", name="Ada Lovelace"), "Done.")
                self.assertTrue(self.is_verified())
                # A second sign-in in one tab replaces the session of both.
                self.assertIn("Signed in", self.enter_as("signIn", email))
                self.browser.driver.switch_to.window(second)
                self.assertEqual(self.submit("profile", "", name="Ada King"), "Done.")
                self.assertEqual(self.me(), user)
                # A sign-out in one tab is a sign-out in both.
                self.ask(user, "Sign out")
                self.assertFalse(self.browser.find("#me").is_displayed())
                self.browser.driver.switch_to.window(first)
                said = self.submit("profile", "", name="Nobody")
                self.assertRegex(said, ENDED)
                self.assertFalse(self.browser.find("#me").is_displayed())
                self.assertEqual(self.states(), {user: "logged out"})
        self.quiet_but_refusals()

    def test_a_link_that_is_opened_as_another_user_asks_for_the_password(self):
        self.open()
        self.enter_as("register", "ada-of-two@example.com")
        ada = self.me()
        self.click("#anonymous")
        guest = self.me()
        link = self.mailed_link("ada-of-two@example.com", "verify")
        self.assertIn("Sign in to verify", self.follow(link))
        self.assertEqual(self.me(), guest)
        self.assertIn("you are signed in", self.answer(PASSWORD))
        self.assertEqual((self.me(), self.is_verified()), (ada, True))
        self.assertEqual(self.states(), {ada: "active", guest: "inactive"})

    def test_a_link_works_after_the_session_of_the_page_has_ended(self):
        self.open()
        self.enter_as("register", "ended@example.com")
        user = self.me()
        self.site.sql(f"update sessions set ended_at = now() where user_id = '{user}'")
        link = self.mailed_link("ended@example.com", "verify")
        self.assertIn("Sign in to verify", self.follow(link))
        self.assertIn("you are signed in", self.answer(PASSWORD))
        self.assertEqual((self.me(), self.is_verified()), (user, True))

    def test_a_user_with_a_second_factor_enters_its_code_too(self):
        self.site.set_app(mfa="optional")
        self.addCleanup(self.site.set_app, mfa="off")
        email = "factor@example.com"
        token = self.expect(self.register(email, PASSWORD), 201).json["access_token"]
        factor = self.expect(self.post("/v1/me/second-factors", token=token), 201).json
        body = {"code": Authenticator(factor).code()}
        path = f"/v1/me/second-factors/{factor['id']}/confirm"
        codes = self.expect(self.post(path, body, token=token), 200).json["recovery_codes"]
        self.assertIn("Sign in to verify", self.follow(self.mailed_link(email, "verify")))
        self.assertEqual(self.answer(PASSWORD), "One more step.")
        self.assertIn("code_invalid", self.answer("0" * 6))
        self.assertIn("Signed in", self.answer(codes[0]))
        self.assertTrue(self.is_verified())

    def test_a_used_link_changes_nothing(self):
        self.open()
        self.enter_as("register", "used@example.com")
        user = self.me()
        link = self.mailed_link("used@example.com", "verify")
        self.follow(link)
        self.assertIn("mail_token_invalid", self.follow(link))
        self.assertEqual((self.me(), self.is_verified(), self.asks()), (user, True, False))

    def test_a_forgotten_password_is_reset(self):
        email = "forgot@example.com"
        self.open()
        self.enter_as("register", email)
        user = self.me()
        self.submit("credentials", "[value=reset]", email=email)
        with self.on_another_browser():
            link = self.mailed_link(email, "reset")
            self.assertEqual(self.follow(link), "Choose a new password.")
            self.assertIn("/password", self.answer("short"))
            self.assertIn("you are signed in", self.answer(NEW_PASSWORD))
            self.assertEqual((self.me(), self.is_verified()), (user, True))
        # A reset ends the other sessions.
        self.assertRegex(self.submit("profile", "", name="Ada"), ENDED)
        self.assertIn("wrong_credentials", self.enter_as("signIn", email))
        self.assertIn("Signed in", self.enter_as("signIn", email, NEW_PASSWORD))

    def test_an_address_is_changed_and_restored(self):
        old, new = "old@example.com", "new@example.com"
        self.open()
        self.enter_as("register", old)
        user = self.me()
        self.follow(self.mailed_link(old, "verify"))
        self.assertIn("code", self.submit("credentials", "[value=change]", email=new))
        self.assertIn("code_invalid", self.answer("0000 0000"))
        self.assertEqual(self.answer(self.mailed_code(new)), "The address is changed.")
        self.assertIn(new, self.browser.text("#me"))
        link = self.mailed_link(old, "restore")
        with self.on_another_browser():
            self.follow(link)
            self.assertIn("you are signed in", self.answer(NEW_PASSWORD))
            self.assertEqual(self.me(), user)
            self.assertIn(old, self.browser.text("#me"))
        self.assertRegex(self.submit("profile", "", name="Thief"), ENDED)

    def test_a_mailed_code_signs_in(self):
        self.open()
        self.assertEqual(self.submit("credentials", "[value=code]", email="coded@example.com"),
                         "Check your email.")
        self.assertIn("Signed in", self.answer(self.mailed_code("coded@example.com")))
        self.assertTrue(self.is_verified())

    def test_an_address_is_verified_first(self):
        self.site.set_app(sign_up="verify_first")
        email = "first@example.com"
        self.open()
        self.assertEqual(self.enter_as("register", email), "Check your email.")
        self.assertFalse(self.browser.find("#me").is_displayed())
        self.assertIn("Signed in", self.answer(self.mailed_code(email)))
        user = self.me()
        self.assertTrue(self.is_verified())
        # The page of a stranger does not show that the address is taken.
        with self.on_another_browser():
            self.open()
            self.assertEqual(self.enter_as("register", email, NEW_PASSWORD), "Check your email.")
            self.assertIn("code_invalid", self.answer("1234 5678"))
            self.assertIn("Signed in", self.enter_as("signIn", email))
            self.assertEqual(self.me(), user)

    def test_a_taken_address_is_refused(self):
        self.open()
        self.enter_as("register", "taken@example.com")
        with self.on_another_browser():
            self.open()
            said = self.enter_as("register", "taken@example.com", NEW_PASSWORD)
            self.assertIn("email_taken", said)
            self.click("#anonymous")
            self.assertIn("email_taken", self.enter_as("link", "taken@example.com"))
            self.assertIn("(guest)", self.browser.text("#me"))


if __name__ == "__main__":
    unittest.main()
