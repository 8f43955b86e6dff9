"""What the client for web pages does that its page does not show."""

import re
import unittest

from machine import wait_until
from web import PASSWORD, WEB, WebCase


class Client(WebCase):
    def test_tabs_refresh_once_between_them(self):
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")
        self.run_script("await dossier.loginAnonymously();")
        before = self.refreshes()
        # Each client is as a page of its own: they have the locks and the storage in common.
        ids = self.run_script("""
            const now = Date.now();
            Date.now = () => now + 3600 * 1000;
            const clients = Array.from({ length: 5 }, () => new Dossier(server));
            const profiles = await Promise.all(clients.map((client) => client.profile()));
            return profiles.map((profile) => profile.id);
            """)
        self.assertEqual(len(set(ids)), 1)
        self.assertEqual(self.refreshes(), before + 1)
        self.quiet()

    def test_two_tabs_stay_two_users(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.in_another_tab()
                first = self.browser.driver.current_window_handle
                ada = self.run_script("return dossier.loginAnonymously();", device=device)
                self.in_another_tab()
                bob = self.run_script("""
                    const ada = dossier.user;
                    return [ada, await dossier.loginAnonymously()];
                    """, device=device)
                # A new tab begins with who is there.
                self.assertEqual(bob[0], ada)
                self.browser.driver.switch_to.window(first)
                self.pass_time()
                self.assertEqual(self.run_script(
                    "return [dossier.user, (await dossier.profile()).id];", device=device),
                    [ada, ada])
                self.quiet()

    def test_a_page_of_another_site_has_the_cookie_where_the_app_says_so(self):
        """`localhost` is another site than 127.0.0.1, whatever the ports are."""
        abroad = self.pages.origin.replace("127.0.0.1", "localhost")
        self.site.set_app(allowed_origins=[self.pages.origin, abroad])
        self.addCleanup(self.site.set_app, allowed_origins=[self.pages.origin],
                        device_cookie_same_site="strict")
        for choice, keeps in [("strict", [True, False]), ("lax", [True, False]),
                              ("none", [True, True])]:
            self.site.set_app(device_cookie_same_site=choice)
            for origin, is_kept in zip([self.pages.origin, abroad], keeps):
                with self.subTest(choice, origin=origin):
                    self.browser.open(f"{origin}/dossier.d.ts")
                    user, found = self.run_script("""
                        const user = await dossier.loginAnonymously();
                        const now = Date.now();
                        Date.now = () => now + 3600 * 1000;
                        return [user, await dossier.profile().catch((error) => error)];
                        """, device="cookie")
                    if is_kept:
                        self.assertEqual(found["id"], user)
                    else:
                        self.assertEqual(found["status"], 401)

    def test_who_is_logged_out_elsewhere_is_told_to_log_in(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.browser.open(f"{self.pages.origin}/dossier.d.ts")
                user = self.run_script("return dossier.loginAnonymously();", device=device)
                self.site.sql(f"update sessions set ended_at = now() where user_id = '{user}'")
                refused, left, again = self.run_script("""
                    const refused = await code(dossier.profile());
                    return [refused, dossier.user, await code(dossier.profile())];
                    """, device=device)
                self.assertIn(refused, ["session_ended", "refresh_token_invalid"])
                self.assertEqual((left, again), (None, "not_logged_in"))

    def test_who_has_lost_the_secret_is_a_new_device(self):
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")
        ada = self.run_script("return dossier.loginAnonymously();")
        self.site.sql("update devices set replaced_at = null, secret_hash = sha256('lost')")
        bob, users, still = self.run_script("""
            const [ada] = given.slice(2);
            const bob = await dossier.loginAnonymously();
            const users = (await dossier.users()).map((user) => user.user_id);
            sessionStorage.clear();
            localStorage.setItem(Object.keys(localStorage)[0],
              localStorage[Object.keys(localStorage)[0]].replace(`"active":"${bob}"`, `"active":"${ada}"`));
            return [bob, users, (await dossier.profile()).id];
            """, ada)
        self.assertEqual(users, [bob])
        # The tokens that were given out go on.
        self.assertEqual(still, ada)

    def test_every_way_in_and_every_error_has_a_code(self):
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")
        email = "ways@example.com"
        found = self.run_script("""
            const [email, password] = given.slice(2);
            const ada = await dossier.register(email, password);
            const { key } = await dossier.link({ provider: "api-key", name: "test" });
            const users = [ada, await dossier.login(email, password), await dossier.loginWithKey(key)];
            await dossier.reauthenticate({ provider: "password", password });
            await dossier.requestReset(email);
            const codes = [
              await code(dossier.login(email, "wrong")),
              await code(dossier.loginWithToken("wrong")),
              await code(dossier.changeProfile({ phone: "1" })),
              await code(dossier.metadata.patch({ a: 1 }, { version: 7 })),
              await code(dossier.properties.get("none")),
              await code(dossier.setPicture(new Blob(["no picture"], { type: "image/png" }))),
              await code(new Dossier("http://127.0.0.1:1").loginAnonymously()),
            ];
            await dossier.changePassword(password, password + "!");
            await dossier.properties.merge({ a: 1, b: true, c: "x" });
            await dossier.properties.remove("b", { version: 1 });
            const { version } = await dossier.customData.replace({ level: 1 }, { version: 0 });
            const outcome = await dossier.customData.update({ $inc: { level: 1 } });
            const { body } = await dossier.customData.read();
            const sessions = await dossier.request("GET", "/v1/me/sessions?limit=1");
            await dossier.customData.delete();
            await dossier.deleteUser();
            return { users, codes, version, outcome, body, next: sessions.next, user: dossier.user };
            """, email, PASSWORD)
        self.assertEqual(len(set(found["users"])), 1)
        self.assertEqual(found["codes"], [
            "wrong_credentials", "external_token_invalid", "invalid", "version_moved", "not_found",
            "picture_type", "unreachable"])
        self.assertEqual((found["version"], found["body"]), (1, {"level": 2}))
        self.assertEqual(found["outcome"]["modified_count"], 1)
        self.assertIsNone(found["user"])

    def test_codes_links_and_another_address(self):
        self.site.set_app(email_code=True)
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")
        asked = self.run_script("return dossier.requestCode('code@example.com');")
        self.assertEqual(asked["expires_in"], 600)
        wait_until(lambda: self.site.mails("code@example.com"), what="the code")
        code = re.search(r"\d{4} \d{4}", self.site.mails("code@example.com")[0])[0]
        refused, user, profile = self.run_script("""
            const [asked, digits] = given.slice(2);
            const refused = await dossier.loginWithCode(asked, "0").catch((error) => error.code);
            const user = await dossier.loginWithCode(asked, digits);
            return [refused, user, await dossier.profile()];
            """, asked, code)
        self.assertEqual((refused, profile["id"], profile["email"]),
                         ("code_invalid", user, "code@example.com"))
        # Another address, and back.
        self.run_script("await dossier.changeEmail('new@example.com');")
        token = self.site.mailed("new@example.com", "dna")
        email = self.run_script("""
            await dossier.confirmEmail(given[2]);
            return (await dossier.profile()).email;
            """, token)
        self.assertEqual(email, "new@example.com")
        token = self.site.mailed("code@example.com", "doa")
        again = self.run_script("""
            const user = await dossier.restoreEmail(given[2], given[3]);
            return [user, (await dossier.profile()).email];
            """, token, PASSWORD)
        self.assertEqual(again, [user, "code@example.com"])
        # A reset logs in, too.
        self.run_script("await dossier.requestReset('code@example.com');")
        token = self.site.mailed("code@example.com", "dpr")
        again = self.run_script("""
            await dossier.logout();
            const user = await dossier.resetPassword(given[2], given[3]);
            return [user, (await dossier.profile()).id];
            """, token, PASSWORD)
        self.assertEqual(again, [user, user])
        # A link that is followed where somebody has registered logs in there.
        for device in ["secret", "cookie"]:
            self.in_another_tab()
            email = f"link-{device}@example.com"
            made = self.run_script("""
                const user = await dossier.register(...given.slice(2));
                await dossier.logout();
                return user;
                """, email, PASSWORD, device=device)
            token = self.site.mailed(email, "dct")
            found = self.run_script("""
                sessionStorage.setItem(Object.keys(sessionStorage)[0], "");
                return [dossier.user, await dossier.confirm(given[2]),
                  (await dossier.profile()).email_verified, await dossier.properties.versions()];
                """, token, device=device)
            self.assertEqual(found, [None, made, True, {}])

    def test_the_client_is_served_to_pages_of_any_origin(self):
        for name, type_ in [("dossier.js", "text/javascript"), ("dossier.d.ts", "text/plain"),
                            ("dossier-session.js", "text/javascript")]:
            answer = self.site.get(f"/{name}")
            self.expect(answer, 200)
            self.assertEqual(answer.body, (WEB / name).read_bytes())
            self.assertEqual(answer.headers["Content-Type"], f"{type_}; charset=utf-8")
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "*")
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")


if __name__ == "__main__":
    unittest.main()
