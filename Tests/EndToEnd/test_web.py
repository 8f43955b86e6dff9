"""The page of deploy/web, in Chromium, from another origin than the server's."""

import pathlib
import subprocess
import tempfile
import unittest

from web import PASSWORD, WEB, PageCase


class Types(unittest.TestCase):
    """Tests that the declared types of the client match its code."""

    @staticmethod
    def tsc(*arguments):
        return subprocess.run(
            ["tsc", "--strict", "--noEmit", "--target", "es2022", "--module", "es2022",
             "--lib", "es2022,dom,dom.iterable", *map(str, arguments)],
            capture_output=True, text=True)

    def check(self, text):
        """Type-checks a program with the declarations from the client's source."""
        with tempfile.TemporaryDirectory() as folder:
            run = self.tsc("--allowJs", "--checkJs", "--noEmit", "false", "--declaration",
                           "--emitDeclarationOnly", "--outDir", folder, WEB / "dossier.js",
                           WEB / "dossier-redirect.js", WEB / "dossier-changes.js",
                           WEB / "dossier-passkeys.js")
            self.assertEqual(run.returncode, 0, run.stdout)
            folder = pathlib.Path(folder)
            for name, source in [("dossier", "source"), ("dossier-redirect", "source-redirect"),
                                 ("dossier-changes", "source-changes"),
                                 ("dossier-passkeys", "source-passkeys")]:
                (folder / f"{name}.d.ts").rename(folder / f"{source}.d.ts")
                (folder / f"{name}.d.ts").write_text((WEB / f"{name}.d.ts").read_text())
            (folder / "check.ts").write_text(text)
            return self.tsc(folder / "check.ts")

    # Only public members, since classes with private members are never compatible.
    BOTH_WAYS = """
        import * as source from "./source";
        import * as declared from "./dossier";
        type Open<T> = { [K in keyof T]: T[K] };
        declare const a: Open<source.Dossier>, b: Open<declared.Dossier>;
        const one: Open<declared.Dossier> = a;
        const names: (keyof declared.Dossier)[] = [] as (keyof source.Dossier)[];
        const error: declared.DossierError = {} as source.DossierError;
        new source.Dossier(...({} as ConstructorParameters<typeof declared.Dossier>));
        const redirect: typeof import("./source-redirect") = {} as typeof import("./dossier-redirect");
        const changes: typeof import("./source-changes") = {} as typeof import("./dossier-changes");
        const alike: typeof import("./dossier-changes") = {} as typeof import("./source-changes");
        const passkeys: typeof import("./source-passkeys") = {} as typeof import("./dossier-passkeys");
        const equal: typeof import("./dossier-passkeys") = {} as typeof import("./source-passkeys");
        const same: typeof import("./dossier-redirect") = {} as typeof import("./source-redirect");
        """

    def test_the_source_matches_the_declared_types(self):
        run = self.check(self.BOTH_WAYS)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_the_page_matches_the_declared_types(self):
        run = self.tsc("--allowJs", "--checkJs", WEB / "page.js")
        self.assertEqual(run.returncode, 0, run.stdout)


class Stories(PageCase):
    # The stories of a user of the page

    def test_stories_with_a_secret(self):
        self.walk("secret")
        self.assertEqual(self.browser.driver.get_cookies(), [])

    def test_stories_with_a_cookie(self):
        self.walk("cookie")
        # Scripts cannot read any token.
        stored = self.browser.script("return JSON.stringify({...localStorage, ...sessionStorage})")
        for secret in ["ds_device_", "ds_refresh_", "eyJ"]:
            self.assertNotIn(secret, stored)

    def walk(self, device):
        self.open(device)
        self.assertEqual(self.browser.text("#said"), "No user is signed in here.")
        # A guest stores data …
        self.click("#anonymous")
        ada = self.me()
        self.assertIn("(guest)", self.browser.text("#me"))
        self.submit("document", "[value=merge]", patch='{"theme": "dark"}')
        self.browser.choose("#document [name=which]", "customData")
        self.submit("document", "[value=merge]", patch='{"level": 7}')
        self.submit("property", "[value=save]", key="colour", value="red")
        # … gets one, and is the same user with the same data.
        self.assertIn("Linked", self.enter_as("link", f"ada-{device}@example.com"))
        self.assertEqual(self.me(), ada)
        self.assertNotIn("(guest)", self.browser.text("#me"))
        self.click("#document button[value=read]")
        self.assertEqual(self.browser.text("#stored"), '{"level":7} in version 1')
        # The page shows the profile and the picture of the server.
        self.submit("profile", "", name="Ada")
        with tempfile.NamedTemporaryFile(suffix=".png") as file:
            from PIL import Image
            Image.new("RGB", (40, 20), (200, 30, 30)).save(file, "PNG")
            file.flush()
            self.browser.script("document.getElementById('said').textContent = ''")
            self.browser.find("#profile [name=file]").send_keys(file.name)
            self.assertIn("picture", self.said())
        self.browser.wait(
            lambda: self.browser.script("return document.getElementById('picture').naturalWidth"),
            "the picture")
        # Another tab, or telephone, has changed the property meanwhile.
        self.change_elsewhere(f"ada-{device}@example.com", "colour", "blue")
        self.quiet()
        self.assertIn("version_conflict", self.submit("property", "[value=save]", value="green"))
        self.quiet("409")
        self.assertIn('"blue"', self.browser.text("#conflict p"))
        self.assertEqual(self.click("#conflict button[value=new]"), "Yours is stored.")
        self.assertEqual(self.browser.text("#version"), "version 3")
        self.change_elsewhere(f"ada-{device}@example.com", "colour", "white")
        self.submit("property", "[value=save]", value="black")
        self.quiet("409")
        self.assertEqual(self.click("#conflict button[value=old]"), "Theirs is kept.")
        self.assertEqual(self.browser.find("#property [name=value]").get_property("value"), "white")
        # A second user of the browser signs in. The first one needs no password to return.
        self.assertIn("Signed in", self.enter_as("register", f"bob-{device}@example.com"))
        bob = self.me()
        self.assertEqual(self.states(), {bob: "active", ada: "inactive"})
        self.ask(ada, "Switch")
        self.assertEqual(self.me(), ada)
        self.assertEqual(self.states(), {bob: "inactive", ada: "active"})
        # No other user becomes active after a sign-out, unless the user chooses one.
        self.ask(ada, "Sign out")
        self.assertFalse(self.browser.find("#me").is_displayed())
        self.assertEqual(self.states(), {bob: "inactive", ada: "logged out"})
        self.ask(bob, "Switch")
        self.assertEqual(self.me(), bob)
        self.assertIn("Signed in", self.enter_as("signIn", f"ada-{device}@example.com"))
        self.assertEqual(self.me(), ada)
        self.ask(bob, "Forget")
        self.assertEqual(self.states(), {ada: "active"})
        # The access token has expired. The page refreshes it.
        self.pass_time()
        before = self.refreshes()
        self.assertEqual(self.submit("profile", "", name="Ada Lovelace"), "Done.")
        self.wait_for_one_refresh(before)
        # A page that is opened again knows its user.
        self.open(device)
        self.assertEqual(self.browser.text("#said"), "Welcome back.")
        self.assertEqual(self.me(), ada)
        # The last user leaves, which is no error.
        self.ask(ada, "Forget")
        self.assertFalse(self.browser.find("#me").is_displayed())
        self.open(device)
        self.assertEqual(self.browser.text("#said"), "No user is signed in here.")
        self.quiet()

    def change_elsewhere(self, email, key, value):
        grant = self.expect(self.login(email, PASSWORD), 200).json
        self.expect(self.site.request(
            "PUT", f"/v1/me/properties/{key}", {"value": value},
            {"Content-Type": "application/json"}, token=grant["access_token"]), 200)
        self.expect(self.site.request("POST", "/v1/logout", token=grant["access_token"]), 204)


if __name__ == "__main__":
    unittest.main()
