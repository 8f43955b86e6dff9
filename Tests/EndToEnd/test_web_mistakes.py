"""What the client for web pages says of the mistakes that are made in a first hour with it."""

import base64
import unittest

from web import PASSWORD, WebCase


class Mistakes(WebCase):
    def begin(self, origin=None):
        self.browser.open(f"{origin or self.pages.origin}/dossier.d.ts")

    def test_an_id_leads_to_no_other_path(self):
        """An id that came from elsewhere, such as the address of the page, deleted the user."""
        self.begin()
        refused, made, still = self.run_script("""
            const made = await dossier.loginAnonymously();
            const ids = ["../../me", "..", ".", "", "../../../v1/me?a=", "%2e%2e/%2e%2e/me"];
            const refused = [];
            for (const id of ids) {
              for (const ask of ["unlink", "forget", "logout"]) {
                refused.push(await code(dossier[ask](id)));
              }
              await code(dossier.properties.remove(id));
            }
            return [refused, made, (await dossier.profile()).id];
            """)
        self.assertEqual(made, still)
        self.assertLessEqual(set(refused), {"not_found", "invalid", "not_logged_in"})

    def test_a_key_that_no_path_leads_to_is_told(self):
        self.begin()
        found = self.run_script("""
            await dossier.loginAnonymously();
            const codes = [];
            for (const key of ["", ".", ".."]) {
              codes.push(await code(dossier.properties.get(key)), await code(dossier.properties.set(key, 1)),
                await code(dossier.properties.remove(key)));
            }
            const kept = [];
            for (const key of ["...", "a/../b", "%2e%2e", "k?x=1#f", "\\u20ac"]) {
              const { value } = await dossier.properties.set(key, key);
              kept.push(value === (await dossier.properties.get(key)).value,
                await dossier.properties.remove(key) === undefined);
            }
            return [codes, kept];
            """)
        self.assertEqual(found, [["invalid"] * 9, [True] * 10])

    def test_a_token_goes_to_no_other_host(self):
        self.begin()
        codes = self.run_script("""
            await dossier.loginAnonymously();
            const asked = [];
            const real = window.fetch;
            window.fetch = (url, options) => { asked.push(String(url)); return real(url, options); };
            const codes = [await code(dossier.request("GET", "v1/me")),
              await code(dossier.request("GET", "@other.example/v1/me"))];
            for (const url of ["127.0.0.1:8080", "users.example.com", "", "/", "https://"]) {
              try { new Dossier(url); codes.push("none"); } catch (error) { codes.push(error.code); }
            }
            return [codes, asked];
            """)
        self.assertEqual(codes, [["invalid"] * 7, []])
        self.quiet()

    def test_a_page_that_the_app_does_not_know_is_told_so(self):
        abroad = self.pages.origin.replace("127.0.0.1", "localhost")
        self.begin(abroad)
        code, words = self.run_script("""
            return dossier.loginAnonymously().catch((error) => [error.code, error.message]);
            """)
        self.assertEqual(code, "unreachable")
        self.assertIn(f"allowed_origins={abroad}", words)

    def test_a_page_of_another_site_is_told_why_its_cookie_is_of_no_use(self):
        abroad = self.pages.origin.replace("127.0.0.1", "localhost")
        self.site.set_app(allowed_origins=[self.pages.origin, abroad])
        self.addCleanup(self.site.set_app, allowed_origins=[self.pages.origin])
        self.begin(abroad)
        code, words = self.run_script("""
            await dossier.loginAnonymously();
            return dossier.users().catch((error) => [error.code, error.message]);
            """, device="cookie")
        self.assertEqual(code, "device_unknown")
        self.assertIn("device_cookie_same_site", words)

    def test_the_page_says_where_it_has_looked_for_the_server(self):
        self.browser.open(f"{self.pages.origin}/?server=http://127.0.0.1:1")
        self.browser.wait(lambda: "?server=" in self.browser.find("#said").text, "an explanation")
        self.assertIn("http://127.0.0.1:1", self.browser.find("#said").text)

    def test_nobody_cannot_leave(self):
        self.begin()
        found = self.run_script("""
            const nobody = [await code(dossier.logout()), await code(dossier.deleteUser())];
            await dossier.loginAnonymously();
            await dossier.logout();
            return [...nobody, await code(dossier.logout()), await code(dossier.forget(dossier.user))];
            """)
        self.assertEqual(found, ["not_logged_in"] * 4)
        self.quiet()

    def test_who_was_active_before_goes_on_after_a_deletion(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.begin()
                found = self.run_script("""
                    const ada = await dossier.loginAnonymously();
                    const bob = await dossier.loginAnonymously();
                    await dossier.deleteUser();
                    const next = [dossier.user, (await dossier.profile()).id];
                    await dossier.deleteUser();
                    return [ada, bob, next, dossier.user];
                    """, device=device)
                ada, bob, next_, left = found
                self.assertNotEqual(ada, bob)
                self.assertEqual((next_, left), ([ada, ada], None))
        self.quiet()

    def test_a_file_without_a_type_is_looked_at(self):
        """Chromium knows no type of HEIF on some systems."""
        self.begin()
        path = self.run_script("""
            await dossier.loginAnonymously();
            const canvas = document.createElement("canvas");
            const picture = await new Promise((give) => canvas.toBlob(give));
            return (await dossier.setPicture(new Blob([await picture.arrayBuffer()]))).picture;
            """)
        self.assertRegex(path, r"^/v1/pictures/.*\.png$")
        self.quiet()

    def test_a_page_whose_session_ends_by_a_confirmation_knows_it(self):
        email = "linked@example.com"
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.begin()
                email = f"linked-{device}@example.com"
                self.run_script("""
                    await dossier.loginAnonymously();
                    const [email, password] = given.slice(2);
                    await dossier.link({ provider: "password", email, password });
                    """, email, PASSWORD, device=device)
                found = self.run_script("""
                    const [token, email, password] = given.slice(2);
                    const refused = await code(dossier.confirm(token));
                    const here = [await dossier.confirm(token, password), dossier.user];
                    await dossier.login(email, password);
                    return [refused, here, (await dossier.profile()).email_verified];
                    """, self.site.mailed(email, "dct"), email, PASSWORD, device=device)
                self.assertEqual(found, ["claimant_unproved", [None, None], True])

    def test_of_several_who_claim_an_address_the_one_who_asks_is_mailed(self):
        """The code was mailed to who had claimed it first, whom this browser does not know."""
        email = "claimed@example.com"
        self.expect(self.post("/v1/register", {"email": email, "password": "somebody else's"}), 201)
        mails = 1
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.begin()
                user = self.run_script("return dossier.register(...given.slice(2));", email,
                                       f"{PASSWORD} {device}", device=device)
                # That registration is mailed, too.
                self.site.mailed(email, "dct", mails + 1)
                self.run_script("await dossier.requestConfirmation(given[2]);", email, device=device)
                mails += 2
                self.assertEqual(self.owner(self.site.mailed(email, "dct", mails)), user)

    @staticmethod
    def owner(token):
        """Whose a mailed token is: it begins with the id."""
        return base64.urlsafe_b64decode(token.split("_", 1)[1] + "==")[:12].hex()


if __name__ == "__main__":
    unittest.main()
