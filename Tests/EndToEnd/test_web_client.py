"""Tests the client for web pages beyond the sample page."""

import unittest

from authenticator import Authenticator
from web import PASSWORD, WEB, WebCase


class ClientCase(WebCase):
    """Tests that run scripts on a page with the client."""

    def begin(self):
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")

    def sign_all_out(self, device):
        self.run_script("await dossier.signOutAll();", device=device)


class Client(ClientCase):
    def test_tabs_share_one_refresh(self):
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")
        self.run_script("await dossier.signInAnonymously();")
        before = self.refreshes()
        # Each client acts as one page; all share locks and storage.
        ids = self.run_script("""
            const now = Date.now();
            Date.now = () => now + 3600 * 1000;
            const clients = Array.from({ length: 5 }, () => new Dossier(server));
            const profiles = await Promise.all(clients.map((client) => client.profile()));
            return profiles.map((profile) => profile.id);
            """)
        self.assertEqual(len(set(ids)), 1)
        self.wait_for_one_refresh(before)
        self.quiet()

    def test_two_tabs_keep_two_users(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.in_another_tab()
                first = self.browser.driver.current_window_handle
                ada = self.run_script("return dossier.signInAnonymously();", device=device)
                self.in_another_tab()
                bob = self.run_script("""
                    const ada = dossier.user;
                    return [ada, await dossier.signInAnonymously()];
                    """, device=device)
                # A new tab starts with the current user.
                self.assertEqual(bob[0], ada)
                self.browser.driver.switch_to.window(first)
                self.pass_time()
                self.assertEqual(self.run_script(
                    "return [dossier.user, (await dossier.profile()).id];", device=device),
                    [ada, ada])
                self.quiet()

    def test_a_page_of_another_site_uses_the_cookie_if_the_app_allows_it(self):
        """`localhost` and 127.0.0.1 are different sites on all ports."""
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
                        const user = await dossier.signInAnonymously();
                        const now = Date.now();
                        Date.now = () => now + 3600 * 1000;
                        return [user, await dossier.profile().catch((error) => error)];
                        """, device="cookie")
                    if is_kept:
                        self.assertEqual(found["id"], user)
                    else:
                        self.assertEqual(found["status"], 401)

    def test_a_user_who_is_signed_out_elsewhere_has_to_sign_in(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.browser.open(f"{self.pages.origin}/dossier.d.ts")
                user = self.run_script("return dossier.signInAnonymously();", device=device)
                self.site.sql(f"update sessions set ended_at = now() where user_id = '{user}'")
                refused, left, again = self.run_script("""
                    const refused = await code(dossier.profile());
                    return [refused, dossier.user, await code(dossier.profile())];
                    """, device=device)
                self.assertIn(refused, ["session_ended", "refresh_token_invalid"])
                self.assertEqual((left, again), (None, "not_logged_in"))

    def test_a_client_without_its_secret_becomes_a_new_device(self):
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")
        ada = self.run_script("return dossier.signInAnonymously();")
        self.site.sql("update devices set replaced_at = null, secret_hash = sha256('lost')")
        bob, users, still = self.run_script("""
            const [ada] = given.slice(2);
            const bob = await dossier.signInAnonymously();
            const users = (await dossier.users()).map((user) => user.user_id);
            sessionStorage.clear();
            localStorage.setItem(Object.keys(localStorage)[0],
              localStorage[Object.keys(localStorage)[0]].replace(`"active":"${bob}"`, `"active":"${ada}"`));
            return [bob, users, (await dossier.profile()).id];
            """, ada)
        self.assertEqual(users, [bob])
        # Issued tokens stay valid.
        self.assertEqual(still, ada)

    def test_every_login_method_works_and_every_error_has_a_code(self):
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")
        email = "ways@example.com"
        found = self.run_script("""
            const [email, password] = given.slice(2);
            const { user: ada } = await dossier.register(email, password);
            const { key } = await dossier.link({ provider: "api-key", name: "test" });
            const users = [ada, await dossier.signIn(email, password), await dossier.signInWithKey(key)];
            await dossier.reauthenticate({ provider: "password", password });
            await dossier.requestReset(email);
            const codes = [
              await code(dossier.signIn(email, "wrong")),
              await code(dossier.signInWithToken("wrong")),
              await code(dossier.changeProfile({ phone: "1" })),
              await code(dossier.metadata.patch({ a: 1 }, { version: 7 })),
              await code(dossier.properties.get("none")),
              await code(dossier.setPicture(new Blob(["no picture"], { type: "image/png" }))),
              await code(new Dossier("http://127.0.0.1:1").signInAnonymously()),
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
            "wrong_credentials", "external_token_invalid", "validation_failed", "precondition_failed", "not_found",
            "picture_type", "unreachable"])
        self.assertEqual((found["version"], found["body"]), (1, {"level": 2}))
        self.assertEqual(found["outcome"]["modified_count"], 1)
        self.assertIsNone(found["user"])

    def test_a_new_page_has_the_user_who_is_active_in_the_browser(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.in_another_tab()
                first = self.browser.driver.current_window_handle
                self.run_script("await dossier.signInAnonymously();", device=device)
                # No other user takes the place on the page of a sign-out.
                self.run_script("window.left = dossier; await dossier.signOut();", device=device)
                self.in_another_tab()
                bob = self.run_script("return dossier.signInAnonymously();", device=device)
                self.browser.driver.switch_to.window(first)
                self.assertIsNone(self.browser.script("return window.left.user"))
                self.browser.driver.refresh()
                self.assertEqual(self.run_script(
                    "return [dossier.user, (await dossier.profile()).id];", device=device), [bob, bob])
                self.sign_all_out(device)

    def test_a_token_for_another_back_end(self):
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.begin()
                user, none, token = self.run_script("""
                    const none = await code(dossier.token());
                    return [await dossier.signInAnonymously(), none, await dossier.token()];
                    """, device=device)
                self.assertEqual(none, "not_logged_in")
                self.assertEqual(self.expect(self.me({"access_token": token}), 200).json["id"], user)
                self.pass_time()
                before = self.refreshes()
                tokens = self.run_script("""
                    const tokens = await Promise.all([dossier.token(), dossier.token(), dossier.profile()]);
                    return [tokens[0], tokens[1]];
                    """, device=device)
                self.wait_for_one_refresh(before)
                self.assertEqual(tokens[0], tokens[1])
                self.assertNotEqual(tokens[0], token)
                self.sign_all_out(device)

    def test_what_another_session_has_written_is_undone(self):
        self.site.set_app(document_versions_kept=20)
        self.addCleanup(self.site.set_app, document_versions_kept=0)
        self.begin()
        found = self.run_script("""
            const [email, password] = given.slice(2);
            const own = async () => (await dossier.request("GET", "/v1/me/sessions")).body
              .find(({ current }) => current).id;
            await dossier.register(email, password);
            await dossier.metadata.patch({ theme: "light", size: 1 });
            await dossier.signIn(email, password);
            const other = await own();
            await dossier.metadata.patch({ theme: "dark", size: 2 });
            await dossier.signIn(email, password);
            await dossier.metadata.patch({ size: 3 });
            const { metadata } = await dossier.sessionChanges(other);
            const stale = await code(dossier.undoSession(other, { metadata: { version: 1 } }));
            const undone = await dossier.undoSession(other, {
              metadata: { version: metadata.version, conflicts: ["/size"] } });
            return {
              changes: metadata.changes, conflicts: metadata.conflicts.map(({ pointer }) => pointer),
              stale, undone, stored: (await dossier.metadata.read()).body,
              unknown: await code(dossier.sessionChanges("5eed00000000000000000001")),
            };
            """, "undo@example.com", PASSWORD)
        self.assertEqual(found, {
            "changes": [{"pointer": "/theme", "now": "dark", "after": "light"}],
            "conflicts": ["/size"], "stale": "precondition_failed", "undone": {"metadata": {"version": 4}},
            "stored": {"theme": "light", "size": 1}, "unknown": "not_found"})

    def test_codes_and_another_address(self):
        self.site.set_app(email_code=True)
        self.addCleanup(self.site.set_app, email_code=False)
        self.begin()
        email = "code@example.com"
        asked = self.run_script("return dossier.requestCode(given[2]);", email)
        self.assertEqual(asked["expires_in"], 600)
        refused, user, profile = self.run_script("""
            const [flow, digits] = given.slice(2);
            const refused = await code(dossier.signInWithCode(flow, "0"));
            const user = await dossier.signInWithCode(flow, digits);
            return [refused, user, await dossier.profile()];
            """, asked["flow"], self.mailed_code(email))
        self.assertEqual((refused, profile["id"]), ("code_invalid", user))
        self.assertEqual((profile["email"], profile["email_verified"]), (email, True))
        # A code reauthenticates the user, and starts a new session.
        flow = self.run_script("return (await dossier.requestCode(given[2])).flow;", email)
        before, after, identity = self.run_script("""
            const [flow, digits] = given.slice(2);
            const session = async () => (await dossier.request("GET", "/v1/me/sessions")).body[0].id;
            const before = await session();
            await dossier.reauthenticate({ provider: "email", flow, code: digits });
            return [before, await session(), (await dossier.identities())[0]];
            """, flow, self.mailed_code(email, 2))
        self.assertNotEqual(before, after)
        self.assertEqual((identity["provider"], identity["verified"]), ("email", True))
        # Another address, and back.
        flow = self.run_script("return (await dossier.changeEmail('new@example.com')).flow;")
        changed = self.run_script("""
            await dossier.verifyNewEmail(...given.slice(2));
            return (await dossier.profile()).email;
            """, flow, self.mailed_code("new@example.com"))
        self.assertEqual(changed, "new@example.com")
        token = self.site.mailed(email, "ds_restore")
        again = self.run_script("""
            const user = await dossier.restoreEmail(given[2], given[3]);
            return [user, (await dossier.profile()).email];
            """, token, PASSWORD)
        self.assertEqual(again, [user, email])
        # A reset signs in.
        self.run_script("await dossier.requestReset(given[2]);", email)
        again = self.run_script("""
            await dossier.signOut();
            const user = await dossier.resetPassword(given[2], given[3]);
            return [user, (await dossier.profile()).id];
            """, self.site.mailed(email, "ds_reset"), PASSWORD)
        self.assertEqual(again, [user, user])

    def test_a_registration_returns_a_flow_if_addresses_are_verified_first(self):
        self.site.set_app(sign_up="verify_first")
        self.addCleanup(self.site.set_app, sign_up="immediate")
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.begin()
                email = f"first-{device}@example.com"
                found = self.run_script("""
                    const found = await dossier.register(...given.slice(2));
                    return [found.user, found.flow, dossier.user];
                    """, email, PASSWORD, device=device)
                self.assertEqual((found[0], found[2]), (None, None))
                user, verified = self.run_script("""
                    const user = await dossier.signInWithCode(...given.slice(2));
                    const { id, email_verified } = await dossier.profile();
                    return [user === id ? id : null, email_verified];
                    """, found[1], self.mailed_code(email), device=device)
                self.assertIsNotNone(user)
                self.assertTrue(verified)
                self.sign_all_out(device)

    def test_a_second_factor_completes_a_sign_in(self):
        self.site.set_app(mfa="optional")
        self.addCleanup(self.site.set_app, mfa="off")
        for device in ["secret", "cookie"]:
            with self.subTest(device):
                self.begin()
                email = f"factor-{device}@example.com"
                factor = self.run_script("""
                    await dossier.register(...given.slice(2));
                    return (await dossier.request("POST", "/v1/me/second-factors")).body;
                    """, email, PASSWORD, device=device)
                codes, mail = self.run_script("""
                    const codes = await dossier.confirmSecondFactor(...given.slice(2));
                    // The page goes on in the new session.
                    const { email } = await dossier.profile();
                    await dossier.signOut();
                    return [codes, email];
                    """, factor["id"], Authenticator(factor).code(), device=device)
                self.assertEqual((len(codes), mail), (10, email))
                found = self.run_script("""
                    const [email, password, recovery] = given.slice(2);
                    const error = await dossier.signIn(email, password).catch((error) => error);
                    const wrong = await code(dossier.completeSecondFactor(error.flow, "000 000"));
                    const user = dossier.user;
                    const { user: id, recoveryCodes } =
                      await dossier.completeSecondFactor(error.flow, recovery);
                    return [error.code, error.status, error.methods, wrong, user, recoveryCodes,
                      (await dossier.profile()).id === id];
                    """, email, PASSWORD, codes[0], device=device)
                self.assertEqual(found, [
                    "additional_factor_required", 401, ["totp", "recovery_code"], "code_invalid", None,
                    [], True])
                self.sign_all_out(device)

    def test_a_required_factor_is_enrolled_at_the_sign_in(self):
        self.site.set_app(mfa="required", mfa_issuer="Adventure")
        self.addCleanup(self.site.set_app, mfa="off")
        self.begin()
        flow, methods, factor = self.run_script("""
            const error = await dossier.register(...given.slice(2)).catch((error) => error);
            return [error.flow, error.methods, await dossier.enrollSecondFactor(error.flow)];
            """, "required@example.com", PASSWORD)
        self.assertEqual(methods, ["enroll"])
        self.assertIn("issuer=Adventure", factor["uri"])
        count, same = self.run_script("""
            const { user, recoveryCodes } = await dossier.completeSecondFactor(...given.slice(2));
            return [recoveryCodes.length, (await dossier.profile()).id === user];
            """, flow, Authenticator(factor).code())
        self.assertEqual((count, same), (10, True))

    def test_the_client_is_served_to_pages_of_any_origin(self):
        for name, type_ in [("dossier.js", "text/javascript"), ("dossier.d.ts", "text/plain"),
                            ("dossier-redirect.js", "text/javascript"),
                            ("dossier-changes.js", "text/javascript"),
                            ("dossier-changes.d.ts", "text/plain"),
                            ("dossier-passkeys.js", "text/javascript"),
                            ("dossier-passkeys.d.ts", "text/plain"),
                            ("dossier-redirect.d.ts", "text/plain"),
                            ("dossier-session.js", "text/javascript")]:
            answer = self.site.get(f"/{name}")
            self.expect(answer, 200)
            self.assertEqual(answer.body, (WEB / name).read_bytes())
            self.assertEqual(answer.headers["Content-Type"], f"{type_}; charset=utf-8")
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "*")
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")


if __name__ == "__main__":
    unittest.main()
