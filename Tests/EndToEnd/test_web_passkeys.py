"""Passkeys by the client for web pages, in Chromium with its virtual authenticator."""

import itertools
import unittest

from machine import wait_until
from passkey_device import DeviceCase
from passkeys import RP_ID
from web import PASSWORD, WebCase


class Passkeys(DeviceCase, WebCase):
    LONG = True
    OPEN = WebCase.OPEN + """
        const passkeys = await import(`${server}/dossier-passkeys.js`);
        const { addPasskey, autofillPasskey, signInWithPasskey } = passkeys;
        """
    numbers = itertools.count()

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        # An address of IP is no domain of passkeys.
        cls.origin = cls.pages.origin.replace("127.0.0.1", "localhost")
        cls.server = f"http://localhost:{cls.site.port}"
        cls.site.set_app(passkey="optional", passkey_rp_id=RP_ID,
                         allowed_origins=[cls.pages.origin, cls.origin])

    def setUp(self):
        super().setUp()
        self.enable_device()
        self.begin()

    def begin(self, origin=None):
        self.browser.open(f"{origin or self.origin}/dossier.d.ts")
        # The requests for passkeys, as the page makes them.
        self.browser.script("""
            window.asked = [];
            const get = navigator.credentials.get.bind(navigator.credentials);
            navigator.credentials.get = (options) => {
              asked.push(options.mediation ?? "prompt");
              return get(options);
            };
            """)

    def options(self):
        return sum(line["route"] == "POST /v1/login/passkey/options" for line in self.site.logged())

    def sign_up(self, device="secret"):
        """Signs up with a password, and adds a passkey."""
        return self.run_script("""
            const [email, password] = given.slice(2);
            const { user } = await dossier.register(email, password);
            await addPasskey(dossier, { name: "Ada's laptop" });
            const { body } = await dossier.request("GET", "/v1/me/passkeys");
            await dossier.signOut();
            return [user, body.map(({ name }) => name)];
            """, f"{device}{next(self.numbers)}@example.com", PASSWORD, device=device)

    def fill(self):
        """Starts the autofill; the page keeps its result."""
        self.run_script("""
            Object.assign(window, { dossier, ...passkeys });
            window.leaving = new AbortController();
            autofillPasskey(dossier, { signal: leaving.signal }).then(
              (user) => { window.filled = [user]; }, (error) => { window.filled = error.code; });
            """)

    def filled(self):
        self.browser.wait(lambda: self.browser.script("return 'filled' in window"), "the autofill")
        return self.browser.script("return window.filled")

    def asks(self, *expected):
        self.browser.wait(
            lambda: self.browser.script("return window.asked") == list(expected), expected)

    def test_a_password_user_adds_a_passkey_and_signs_in_with_it(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.cdp("WebAuthn.clearCredentials", authenticatorId=self.device)
                user, names = self.sign_up(device)
                self.assertEqual(names, ["Ada's laptop"])
                self.assertEqual(len(self.credentials()), 1)
                found = self.run_script("""
                    const before = dossier.user;
                    const user = await signInWithPasskey(dossier);
                    const again = await code(addPasskey(dossier));
                    const { id } = await dossier.profile();
                    await dossier.signOutAll();
                    return [before, user, again, id];
                    """, device=device)
                self.assertEqual(found, [None, user, "passkey_exists", user])
        self.quiet()

    def test_a_guest_keeps_the_id(self):
        found = self.run_script("""
            const guest = await dossier.signInAnonymously();
            await addPasskey(dossier);
            const { anonymous } = await dossier.profile();
            await dossier.signOut();
            return [await signInWithPasskey(dossier) === guest, anonymous];
            """)
        self.assertEqual(found, [True, False])

    def test_errors_have_codes_and_a_cancelled_prompt_can_be_repeated(self):
        user, _ = self.sign_up()
        self.lock(True)
        self.assertEqual(self.run_script("return code(signInWithPasskey(dossier));"), "cancelled")
        self.lock(False)
        self.assertEqual(self.run_script("return signInWithPasskey(dossier);"), user)
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day' "
                      f"where user_id = '{user}'")
        self.assertEqual(self.run_script("return code(addPasskey(dossier));"),
                         "reauthentication_required")
        self.begin(self.pages.origin)
        # Another site than that of the passkeys.
        self.assertEqual(self.run_script("return code(signInWithPasskey(dossier));"),
                         "passkeys_unavailable")
        self.site.set_app(passkey="off")
        self.addCleanup(self.site.set_app, passkey="optional")
        self.assertEqual(self.run_script(
            "return [await code(signInWithPasskey(dossier)), await code(autofillPasskey(dossier))];"),
            ["passkeys_off"] * 2)

    def test_the_device_forgets_an_unknown_passkey(self):
        user, _ = self.sign_up()
        self.site.dossier("user", "delete", "--yes", user)
        self.assertEqual(self.run_script("return code(signInWithPasskey(dossier));"),
                         "passkey_unknown")
        self.browser.wait(lambda: not self.credentials(), "the removal on the device")

    def test_the_autofill_signs_in(self):
        user, _ = self.sign_up()
        self.fill()
        self.assertEqual(self.filled(), [user])
        self.assertEqual(self.browser.script("return [asked, dossier.user]"), [["conditional"], user])

    def test_the_autofill_goes_on_after_a_prompt_and_after_a_cancel(self):
        user, _ = self.sign_up()
        self.lock(True)
        self.fill()
        self.asks("conditional")
        # The button pauses the autofill.
        self.assertEqual(self.browser.evaluate(
            "return signInWithPasskey(dossier).catch((error) => error.code);"), "cancelled")
        self.asks("conditional", "prompt", "conditional")
        self.lock(False)
        self.browser.script("""
            const field = document.body.appendChild(document.createElement("input"));
            field.autocomplete = "username webauthn";
            field.focus();
            """)
        self.assertEqual(self.filled(), [user])
        self.assertEqual(self.browser.script("return asked.length"), 4)

    def test_a_prompt_ends_a_waiting_autofill(self):
        user, _ = self.sign_up()
        [credential] = self.credentials()
        self.cdp("WebAuthn.clearCredentials", authenticatorId=self.device)
        # Without a passkey on the device, the request of the browser waits.
        self.fill()
        self.asks("conditional")
        self.cdp("WebAuthn.addCredential", authenticatorId=self.device, credential=credential)
        self.assertEqual(self.browser.evaluate("return signInWithPasskey(dossier);"), user)
        self.assertEqual(self.filled(), [None])
        self.asks("conditional", "prompt")

    def test_the_autofill_ends_with_another_sign_in_and_when_the_page_leaves(self):
        self.fill()
        self.asks("conditional")
        self.browser.evaluate("await dossier.signInAnonymously(); await dossier.signOut();")
        self.assertEqual(self.filled(), [None])
        for end in ["leaving.abort();", "autofillPasskey(dossier);"]:
            self.begin()
            self.fill()
            self.asks("conditional")
            self.browser.script(end)
            self.assertEqual(self.filled(), [None])

    def test_the_autofill_renews_its_challenge_before_it_expires(self):
        self.browser.script("""
            const now = Date.now;
            window.setInterval = (work) => { window.tick = work; };
            window.late = (seconds) => { Date.now = () => now() + seconds * 1000; tick(); };
            """)
        before = self.options()
        self.fill()
        self.asks("conditional")
        for seconds in [530, 550]:
            self.browser.script("late(arguments[0])", seconds)
        self.asks("conditional", "conditional")
        # A server that does not answer for a while is no error of the user.
        self.browser.script("""
            window.send = window.fetch;
            window.fetch = () => {
              window.isOffline = true;
              return Promise.reject(new TypeError("offline"));
            };
            late(1200);
            """)
        self.browser.wait(lambda: self.browser.script("return window.isOffline"), "a request")
        self.browser.script("window.fetch = send; dispatchEvent(new Event('focusin'));")
        self.asks("conditional", "conditional", "conditional")
        wait_until(lambda: self.options() - before == 3, what="three requests for options")


if __name__ == "__main__":
    unittest.main()
