"""The script of the hosted pages: buttons that work, wait, copy and print, and the time zone."""

import unittest

from hosted_browser import BrowserCase


class Scripts(BrowserCase):
    def command(self, name, **parameters):
        return self.browser.driver.execute_cdp_cmd(name, parameters)

    def button(self, label):
        return next(item for item in self.browser.all("button") if item.text == label)

    def test_a_button_shows_that_it_works_and_sends_once(self):
        self.open("/account")
        self.browser.type("#email", self.own_email())
        # The form stays here, so that the button can be looked at.
        self.browser.script("""
            window.sent = 0;
            document.forms[0].addEventListener("submit", (event) => {
              if (!event.defaultPrevented) window.sent += 1;
              event.preventDefault();
            });""")
        button = self.button("Continue")
        self.assertIsNone(button.get_attribute("aria-busy"))
        button.click()
        self.assertEqual(button.get_attribute("aria-busy"), "true")
        button.click()
        self.assertEqual(self.browser.script("return window.sent"), 1)
        # A page that comes back from the history can be sent again.
        self.browser.script("dispatchEvent(new Event('pageshow'))")
        self.assertIsNone(button.get_attribute("aria-busy"))
        button.click()
        self.assertEqual(self.browser.script("return window.sent"), 2)

    def test_a_new_code_waits_until_the_email_may_have_arrived(self):
        self.settings(email_code=True)
        email = self.own_email()
        self.expect(self.register(email, "correct horse battery"), 201)
        self.open("/account")
        self.send(email=email)
        self.press("Email me a code")
        self.assertEqual(self.heading(), "Enter the code")
        resend = self.browser.find("[data-wait]")
        self.assertRegex(resend.text, r"^Send a new code \(\d+\)$")
        self.assertEqual(resend.get_attribute("aria-disabled"), "true")
        address = self.browser.driver.current_url
        resend.click()
        self.assertEqual(self.browser.driver.current_url, address)
        self.mailed_code(email)
        self.browser.script(
            "const now = Date.now.bind(Date); Date.now = () => now() + 60 * 1000;")
        self.browser.wait(lambda: resend.get_attribute("aria-disabled") == "false", "the end")
        self.press("Send a new code")
        self.send(code=self.mailed_code(email, 2))
        self.assertEqual(self.heading(), "Your account")

    def test_keys_and_recovery_codes_are_copied_and_printed(self):
        self.settings(mfa="required")
        self.command("Browser.grantPermissions", origin=self.server,
                     permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])
        email = self.sign_up_here(heading="Set up an authenticator app")
        self.assertIn(email, self.browser.text(".person"))
        factor = self.new_authenticator()
        key = self.browser.text(".key code").replace(" ", "")
        self.button("Copy").click()
        self.browser.wait(lambda: self.browser.all(".key [role=status]")[0].get_property(
            "textContent") == "Copied", "a report")
        self.assertEqual(
            self.browser.evaluate("return navigator.clipboard.readText()"), key)
        # Only a phone has an app that opens the link.
        link = self.browser.find("a[href^='otpauth://totp/']")
        self.assertIn(f"secret={key}", link.get_attribute("href"))
        self.assertFalse(link.is_displayed())
        self.command("Emulation.setTouchEmulationEnabled", enabled=True)
        self.command("Emulation.setDeviceMetricsOverride",
                     width=390, height=800, deviceScaleFactor=2, mobile=True)
        self.assertTrue(link.is_displayed())
        self.command("Emulation.clearDeviceMetricsOverride")
        self.command("Emulation.setTouchEmulationEnabled", enabled=False)
        self.send(code=factor.code())
        self.assertEqual(self.heading(), "Save your recovery codes")
        codes = [item.text for item in self.browser.all(".codes code")]
        self.assertGreater(len(codes), 7)
        self.button("Copy").click()
        self.browser.wait(lambda: self.button("Copied"), "a report")
        self.assertEqual(self.browser.evaluate("return navigator.clipboard.readText()"),
                         "\n".join(codes))
        self.browser.script("window.print = () => { window.printed = true; }")
        self.button("Print").click()
        self.assertTrue(self.browser.script("return window.printed"))
        # Two columns.
        left = {item.rect["x"] for item in self.browser.all(".codes li")}
        self.assertEqual(len(left), 2)

    def test_the_time_zone_begins_with_that_of_the_browser(self):
        self.command("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")
        self.sign_up_here()
        self.open("/account/profile")
        zone = lambda: self.browser.find("#zone").get_property("value")
        self.assertEqual(zone(), "Asia/Tokyo")
        self.press("Save")
        self.assertIn("Asia/Tokyo", self.browser.text("main"))
        self.command("Emulation.setTimezoneOverride", timezoneId="Europe/Berlin")
        self.open("/account/profile")
        self.assertEqual(zone(), "Asia/Tokyo")


if __name__ == "__main__":
    unittest.main()
