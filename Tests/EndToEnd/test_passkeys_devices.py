"""Passkeys on the pages: several devices, known browsers, new users and new passwords.

The tests run in Chromium, with its virtual authenticator, unless they need no script.
"""

import json
import unittest

from hosted import PASSWORD, HostedCase
from machine import wait_until
from passkeys import RP_ID, Passkey, PasskeyCase
from test_passkeys_browser import OFFER, SIGN_IN, PasskeyBrowserCase

SAVED = "Your password has been changed"
LEFT = "1 passkey can still sign in to your account."


class DeviceCase(PasskeyBrowserCase):
    def options(self):
        """Returns the options of the form that signs in."""
        return json.loads(self.browser.find("form[data-passkey=get]").get_attribute("data-options"))

    def move(self, device):
        """Moves the passkey of this device to another one."""
        credential = self.credentials()[0]
        self.cdp("WebAuthn.clearCredentials", authenticatorId=self.device)
        self.cdp("WebAuthn.addCredential", authenticatorId=device, credential=credential)

    def has_note(self):
        return any("usedPasskeys" in cookie["name"] for cookie in
                   self.browser.driver.get_cookies())


class Signals(DeviceCase):
    def signal(self):
        return json.loads(self.browser.find("main").get_attribute("data-signal"))

    def test_a_removed_passkey_leaves_its_device(self):
        self.sign_up_here()
        self.add_passkey()
        self.press("Change")
        self.send(name="Old laptop")
        self.open("/account")
        self.assertEqual(len(self.credentials()), 1)
        self.open("/account/passkeys")
        self.press("Change")
        self.press("Remove")
        self.browser.wait(lambda: not self.credentials(), "the removal on the device")
        self.assertEqual(self.browser.complaints(), [])

    def test_the_pages_name_the_passkeys_of_the_present_domain(self):
        self.sign_up_here()
        self.add_passkey()
        self.press("Change")
        self.send(name="Of two domains")
        for domain, count in [(RP_ID, 1), ("example.org", 0)]:
            self.site.sql(f"update passkeys set rp_id = '{domain}' where name = 'Of two domains'")
            for page in ["/account", "/account/passkeys"]:
                self.open(page)
                self.assertEqual(len(self.signal()["allAcceptedCredentialIds"]), count, page)

    def test_the_device_shows_a_new_name_and_address(self):
        email = self.sign_up_here()
        self.add_passkey()
        [credential] = self.credentials()
        self.assertEqual([credential["userName"], credential["userDisplayName"]], [email, email])
        self.open("/account/profile")
        self.send(name="Ada Lovelace")
        self.browser.wait(
            lambda: self.credentials()[0]["userDisplayName"] == "Ada Lovelace", "the name")
        self.open("/account/address")
        self.send(email="new-" + email)
        self.send(code=self.mailed_code("new-" + email))
        self.assertEqual(self.heading(), "Your account")
        self.browser.wait(
            lambda: self.credentials()[0]["userName"] == "new-" + email, "the address")


class KnownBrowser(DeviceCase):
    def test_the_page_of_the_password_offers_the_passkey_that_was_used_here_first(self):
        email = self.sign_up_here()
        self.add_passkey()
        self.open("/account")
        self.press("Sign out")
        self.lock(True)
        for address, count in [(email, 1), ("other-" + email, 0)]:
            self.begin(prompt="login")
            self.send(email=address)
            self.assertEqual(self.heading(), "Enter your password")
            self.assertEqual(len(self.options().get("allowCredentials", [])), count)
            places = self.browser.script(
                "return [...document.querySelectorAll('main button[type=submit]')]"
                "  .map((button) => button.textContent)")
            self.assertEqual(places[0] == SIGN_IN, count == 1, places)
            self.assertEqual(self.browser.faults_of_views(), [])
        self.begin(prompt="login")
        self.send(email=email)
        self.lock(False)
        self.press(SIGN_IN)
        self.came_back()

    def test_a_browser_forgets_the_passkey_with_the_account(self):
        email = self.sign_up_here()
        self.add_passkey()
        self.lock(True)
        self.open("/account/switch")
        for _ in range(2):
            # The first click signs out.
            self.assertTrue(self.has_note())
            self.open("/account/switch")
            before = self.browser.find("html")
            self.browser.find("form[action$='/remove'] button").click()
            self.left(before)
        self.assertFalse(self.has_note())
        self.begin()
        self.send(email=email)
        self.assertNotIn("allowCredentials", self.options())

    def test_the_passkey_of_another_user_is_not_named(self):
        first = self.sign_up_here()
        self.add_passkey()
        self.press("Change")
        self.press("Remove")
        self.browser.wait(lambda: not self.credentials(), "the removal on the device")
        self.open("/account")
        self.press("Sign out")
        second = self.sign_up_here(f"second-{first}")
        self.add_passkey()
        self.open("/account")
        self.press("Sign out")
        self.lock(True)
        # The user of the first address has removed the passkey that was used here.
        for email, count in [(first, 0), (second, 1)]:
            self.begin(prompt="login")
            self.send(email=email)
            self.assertEqual(len(self.options().get("allowCredentials", [])), count)


class OtherDevices(DeviceCase):
    def test_a_passkey_of_another_device_leads_to_the_offer(self):
        email = self.sign_up_here()
        self.add_passkey()
        self.move(self.new_device(transport="usb"))
        for answer in ["Remind me later", "Not on this device"]:
            self.forget_session()
            self.begin()
            self.arrives(OFFER)
            self.press(answer)
            self.came_back()
            # The browser remembers the answer.
            self.begin(prompt="login")
            self.press(SIGN_IN)
            self.came_back()
        self.forget_session()
        self.begin()
        self.arrives(OFFER)
        self.press("Create a passkey")
        self.assertEqual(self.came_back()["email"], email)
        # The new passkey is on this device.
        self.assertEqual(len(self.credentials()), 1)

    def test_a_device_that_keeps_no_passkeys_gets_no_offer(self):
        email = self.sign_up_here()
        self.add_passkey()
        key = self.new_device(transport="usb")
        self.move(key)
        self.cdp("WebAuthn.removeVirtualAuthenticator", authenticatorId=self.device)
        self.forget_session()
        self.begin()
        # Without an authenticator of its own, the browser fills no field.
        self.press(SIGN_IN)
        self.assertEqual(self.came_back()["email"], email)


class NewUsers(DeviceCase):
    def test_an_app_that_verifies_first_asks_for_the_code_after_the_passkey(self):
        self.settings(sign_up="verify_first")
        email = self.own_email()
        self.begin()
        self.press("Create account")
        # Without an address there is no code.
        self.browser.find("form[data-passkey] button").click()
        self.browser.wait(lambda: self.browser.script(
            "return document.activeElement.id === 'email'"), "the focus")
        self.browser.type("#email", email)
        self.press("Sign up with a passkey")
        self.assertEqual(self.heading(), "Verify your email address")
        self.assertEqual(self.browser.find("#email").get_attribute("value"), email)
        self.assertEqual(len(self.credentials()), 1)
        self.mailed_code(email)
        # The passkey waits for a new code too.
        self.browser.script("document.querySelector('[data-wait]').form.requestSubmit()")
        code = self.mailed_code(email, 2)
        self.send(code=f"{(int(code.replace(' ', '')) + 1) % 10 ** 8:08}")
        self.assertEqual(len(self.browser.all(".error")), 1)
        self.send(code=code)
        user = self.came_back()
        self.assertEqual([user["email"], user["email_verified"]], [email, True])
        self.forget_session()
        self.begin()
        self.assertEqual(self.came_back()["sub"], user["sub"])

    def test_a_known_address_gets_no_code(self):
        email = self.sign_up_here()
        self.settings(sign_up="verify_first")
        self.forget_session()
        self.begin()
        self.press("Create account")
        self.browser.type("#email", email)
        self.press("Sign up with a passkey")
        self.assertEqual(self.heading(), "Verify your email address")
        self.send(code="00000000")
        self.assertEqual(len(self.browser.all(".error")), 1)
        self.assertEqual(self.codes(email), [])

    def test_a_user_with_a_passkey_only_is_asked_to_verify_the_address(self):
        email = self.own_email()
        self.open("/account")
        self.press("Create account")
        self.browser.type("#email", email)
        self.press("Sign up with a passkey")
        needed = "Verify your email address. Otherwise"
        self.assertIn(needed, self.browser.text(".notice.warning"))
        self.assertEqual(self.browser.faults_of_views(), [])
        self.site.mailed(email, "ds_verify")
        self.press("Verify")
        self.assertIn("We've sent a link", self.browser.text(".notice.success"))
        self.open(self.link(email, "ds_verify", 2))
        self.press("Verify email address")
        self.assertEqual(self.heading(), "Email address verified")
        self.open("/account")
        self.assertNotIn(needed, self.browser.text("main"))
        # Without passwords, no mail verifies an address.
        self.site.sql(f"update users set email_verified = false where email = '{email}'")
        self.open("/account")
        self.assertIn(needed, self.browser.text("main"))
        self.settings(password=False)
        self.open("/account")
        self.assertNotIn(needed, self.browser.text("main"))


class NewPassword(PasskeyCase, HostedCase):
    """Without scripts."""

    def with_passkey(self):
        """Returns the verified address of a new user who has a passkey."""
        email = self.own_email()
        self.added(self.verified(email, PASSWORD))
        return email

    def reset_here(self, email):
        """Begins a reset in this browser, and opens its link."""
        self.visitor.open("/account")
        self.visitor.submit(email=email)
        self.visitor.open(self.visitor.page.links["Forgot your password?"])
        self.visitor.submit(email=email)
        return self.link(email, "ds_reset")

    def test_the_page_and_the_mail_name_the_passkeys_that_still_sign_in(self):
        email = self.with_passkey()
        path = self.reset_here(email)
        elsewhere = self.new_visitor()
        elsewhere.open(path)
        page = self.shows(elsewhere.submit(new_password="another horse"), SAVED)
        self.assertIn(LEFT, page.text)
        self.assertIn("sign in with your new password", page.text)
        self.assertIn("Sign in", page.links)
        self.wait_for_mail(email, LEFT)
        # The number is only for the browser of the reset.
        self.assertNotIn("passkey", self.new_visitor().open(page.path).text)

    def test_the_browser_of_the_sign_in_goes_on_from_the_page(self):
        email = self.with_passkey()
        self.visitor.open(self.reset_here(email))
        page = self.shows(self.visitor.submit(new_password="another horse"), SAVED)
        self.assertIn(LEFT, page.text)
        self.assertNotIn("sign in with your new password", page.text)
        self.shows(self.visitor.open(page.links["Continue"]), "Your account")

    def test_a_user_without_a_passkey_that_signs_in_goes_on_at_once(self):
        email = self.with_passkey()
        self.setting(passkey="off", after={"passkey": "optional"})
        self.visitor.open(self.reset_here(email))
        self.shows(self.visitor.submit(new_password="another horse"), "Your account")
        self.wait_for_mail(email, "chose a new password")
        self.assertNotIn("passkey can still", "".join(self.site.mails(email)))

    def wait_for_mail(self, email, text):
        wait_until(lambda: any(text in " ".join(mail.split()) for mail in self.site.mails(email)),
                   what=f"a mail with {text}")


class Names(PasskeyCase):
    def test_a_passkey_is_named_after_its_manager(self):
        passkey = Passkey()
        passkey.aaguid = bytes.fromhex("d548826e79b4db40a3d811116f7e8349")
        grant = self.registered(passkey)[1]
        unknown = Passkey()
        unknown.aaguid = bytes(range(16))
        self.added(grant, unknown)
        named = Passkey()
        named.aaguid = passkey.aaguid
        self.added(grant, named, name="Mine")
        self.assertEqual([found["name"] for found in self.passkeys(grant)],
                         ["Mine", "Passkey", "Bitwarden"])


if __name__ == "__main__":
    unittest.main()
