"""The errors of the client for web pages after common mistakes of beginners."""

import unittest

from web import WebCase


class Mistakes(WebCase):
    def begin(self, origin=None):
        self.browser.open(f"{origin or self.pages.origin}/dossier.d.ts")

    def test_an_id_cannot_change_the_path_of_a_request(self):
        """An id from untrusted input, such as the URL of the page, deleted the user."""
        self.begin()
        refused, made, still = self.run_script("""
            const made = await dossier.signInAnonymously();
            const ids = ["../../me", "..", ".", "", "../../../v1/me?a=", "%2e%2e/%2e%2e/me"];
            const refused = [];
            for (const id of ids) {
              for (const ask of ["unlink", "forget", "signOut"]) {
                refused.push(await code(dossier[ask](id)));
              }
              await code(dossier.properties.remove(id));
            }
            return [refused, made, (await dossier.profile()).id];
            """)
        self.assertEqual(made, still)
        self.assertLessEqual(set(refused), {"not_found", "validation_failed", "not_logged_in"})

    def test_a_key_that_no_path_can_name_is_refused(self):
        self.begin()
        found = self.run_script("""
            await dossier.signInAnonymously();
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
        self.assertEqual(found, [["validation_failed"] * 9, [True] * 10])

    def test_a_token_is_never_sent_to_another_host(self):
        self.begin()
        codes = self.run_script("""
            await dossier.signInAnonymously();
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
        self.assertEqual(codes, [["validation_failed"] * 7, []])
        self.quiet()

    def test_a_page_of_an_unknown_origin_gets_an_explanation(self):
        abroad = self.pages.origin.replace("127.0.0.1", "localhost")
        self.begin(abroad)
        code, words = self.run_script("""
            return dossier.signInAnonymously().catch((error) => [error.code, error.message]);
            """)
        self.assertEqual(code, "unreachable")
        self.assertIn(f"allowed_origins={abroad}", words)

    def test_a_page_of_another_site_gets_an_explanation_of_its_cookie(self):
        abroad = self.pages.origin.replace("127.0.0.1", "localhost")
        self.site.set_app(allowed_origins=[self.pages.origin, abroad])
        self.addCleanup(self.site.set_app, allowed_origins=[self.pages.origin])
        self.begin(abroad)
        code, words = self.run_script("""
            await dossier.signInAnonymously();
            return dossier.users().catch((error) => [error.code, error.message]);
            """, device="cookie")
        self.assertEqual(code, "device_unknown")
        self.assertIn("device_cookie_same_site", words)

    def test_the_page_names_the_server_that_it_tried(self):
        self.browser.open(f"{self.pages.origin}/?server=http://127.0.0.1:1")
        self.browser.wait(lambda: "?server=" in self.browser.text("#said"), "an explanation")
        self.assertIn("http://127.0.0.1:1", self.browser.text("#said"))

    def test_a_page_without_a_user_cannot_sign_out(self):
        self.begin()
        found = self.run_script("""
            const refused = [await code(dossier.signOut()), await code(dossier.deleteUser())];
            await dossier.signInAnonymously();
            await dossier.signOut();
            return [...refused, await code(dossier.signOut()), await code(dossier.forget(dossier.user))];
            """)
        self.assertEqual(found, ["not_logged_in"] * 4)
        self.quiet()

    def test_the_requested_user_is_active_after_a_deletion(self):
        for device in ["secret", "cookie"]:
            for next_ in ["none", "most_recent"]:
                with self.subTest(device, next=next_):
                    self.begin()
                    found = self.run_script("""
                        const ada = await dossier.signInAnonymously();
                        await dossier.signInAnonymously();
                        await dossier.deleteUser({ next: given[2] });
                        const left = (await dossier.users())[0];
                        const found = [dossier.user === ada, left.user_id === ada, left.state];
                        await dossier.switchTo(ada);
                        await dossier.deleteUser();
                        return [found, dossier.user];
                        """, next_, device=device)
                    is_next = next_ == "most_recent"
                    self.assertEqual(
                        found, [[is_next, True, "active" if is_next else "inactive"], None])
        self.quiet()

    def test_the_type_of_a_file_is_detected(self):
        """On some systems, Chromium does not know the type of HEIF."""
        self.begin()
        path = self.run_script("""
            await dossier.signInAnonymously();
            const canvas = document.createElement("canvas");
            const picture = await new Promise((give) => canvas.toBlob(give));
            return (await dossier.setPicture(new Blob([await picture.arrayBuffer()]))).picture;
            """)
        self.assertRegex(path, r"^/v1/pictures/.*\.png$")
        self.quiet()


if __name__ == "__main__":
    unittest.main()
