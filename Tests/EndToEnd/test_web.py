"""A page of another origin, in Chromium, by the client for web pages."""

import pathlib
import re
import subprocess
import tempfile
import unittest

from browser import Browser, Pages
from cases import Case
from machine import ROOT, wait_until

WEB = ROOT / "deploy/web"
PASSWORD = "correct horse battery"


class Types(unittest.TestCase):
    """The types that the client says it has are those that it has."""

    @staticmethod
    def tsc(*arguments):
        return subprocess.run(
            ["tsc", "--strict", "--noEmit", "--target", "es2022", "--module", "es2022",
             "--lib", "es2022,dom,dom.iterable", *map(str, arguments)],
            capture_output=True, text=True)

    def check(self, text):
        """Type-checks a program beside what the client's source declares of itself."""
        with tempfile.TemporaryDirectory() as folder:
            run = self.tsc("--allowJs", "--checkJs", "--noEmit", "false", "--declaration",
                           "--emitDeclarationOnly", "--outDir", folder, WEB / "dossier.js")
            self.assertEqual(run.returncode, 0, run.stdout)
            folder = pathlib.Path(folder)
            (folder / "dossier.d.ts").rename(folder / "source.d.ts")
            (folder / "dossier.d.ts").write_text((WEB / "dossier.d.ts").read_text())
            (folder / "check.ts").write_text(text)
            return self.tsc(folder / "check.ts")

    # The public members alone: no two classes with private ones are of one type.
    BOTH_WAYS = """
        import * as source from "./source";
        import * as declared from "./dossier";
        type Open<T> = { [K in keyof T]: T[K] };
        declare const a: Open<source.Dossier>, b: Open<declared.Dossier>;
        const one: Open<declared.Dossier> = a;
        const names: (keyof declared.Dossier)[] = [] as (keyof source.Dossier)[];
        const error: declared.DossierError = {} as source.DossierError;
        new source.Dossier(...({} as ConstructorParameters<typeof declared.Dossier>));
        """

    def test_the_source_has_the_types_that_are_declared(self):
        run = self.check(self.BOTH_WAYS)
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_the_page_uses_it_as_declared(self):
        run = self.tsc("--allowJs", "--checkJs", WEB / "page.js")
        self.assertEqual(run.returncode, 0, run.stdout)


class Web(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.pages = Pages()
        cls.addClassCleanup(cls.pages.stop)
        cls.site.set_app(allowed_origins=[cls.pages.origin])
        cls.server = f"http://127.0.0.1:{cls.site.port}"

    def setUp(self):
        self.browser = Browser()
        self.addCleanup(self.browser.stop)

    def open(self, device="secret"):
        self.browser.open(f"{self.pages.origin}/?server={self.server}&device={device}")
        self.said()

    def said(self):
        """What the page says when it is through with what it was asked for."""
        self.browser.wait(
            lambda: self.browser.script(
                "const said = document.getElementById('said');"
                "return said.ariaBusy === 'false' && said.textContent !== ''"),
            "an answer")
        return self.browser.find("#said").text

    def click(self, selector):
        self.browser.script("document.getElementById('said').textContent = ''")
        self.browser.find(selector).click()
        return self.said()

    def submit(self, form, button, **fields):
        for name, value in fields.items():
            self.browser.type(f"#{form} [name={name}]", value)
        return self.click(f"#{form} button{button}")

    def come_in(self, way, email, password=PASSWORD):
        return self.submit("credentials", f"[value={way}]", email=email, password=password)

    def me(self):
        return self.browser.find("#me").text.split()[0]

    def states(self):
        return {item.get_attribute("data-user"): item.find_element("css selector", "span").text
                .rsplit(", ")[1] for item in self.browser.all("#users li")}

    def ask(self, user, label):
        buttons = self.browser.script(
            "return [...document.querySelectorAll(`#users li[data-user='${arguments[0]}'] button`)]"
            ".map((button) => button.textContent)", user)
        return self.click(f"#users li[data-user='{user}'] button:nth-of-type({buttons.index(label) + 1})")

    def quiet(self, *expected):
        """That the console has nothing but what the page was refused on purpose."""
        complaints = self.browser.complaints()
        self.assertEqual(len(complaints), len(expected), complaints)
        for complaint, words in zip(complaints, expected):
            self.assertIn(words, complaint)

    # The stories, as a user of the page lives them

    def test_stories_with_a_secret(self):
        self.walk("secret")
        self.assertEqual(self.browser.driver.get_cookies(), [])

    def test_stories_with_a_cookie(self):
        self.walk("cookie")
        # Nothing that lets anybody in is where a script finds it.
        stored = self.browser.script("return JSON.stringify({...localStorage, ...sessionStorage})")
        for secret in ["ddv_", "drt_", "eyJ"]:
            self.assertNotIn(secret, stored)

    def walk(self, device):
        self.open(device)
        self.assertEqual(self.browser.find("#said").text, "Nobody is logged in here.")
        # Somebody without an account stores data …
        self.click("#anonymous")
        ada = self.me()
        self.assertIn("(anonymous)", self.browser.find("#me").text)
        self.submit("document", "[value=merge]", patch='{"theme": "dark"}')
        self.browser.choose("#document [name=which]", "customData")
        self.submit("document", "[value=merge]", patch='{"level": 7}')
        self.submit("property", "[value=save]", key="colour", value="red")
        # … gets one, and is the same user with the same data.
        self.assertIn("Linked", self.come_in("link", f"ada-{device}@example.com"))
        self.assertEqual(self.me(), ada)
        self.assertNotIn("(anonymous)", self.browser.find("#me").text)
        self.click("#document button[value=read]")
        self.assertEqual(self.browser.find("#stored").text, '{"level":7} in version 1')
        # The profile and its picture, which is that of the server: the page shows it.
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
        self.assertIn("property_moved", self.submit("property", "[value=save]", value="green"))
        self.quiet("409")
        self.assertIn('"blue"', self.browser.find("#conflict p").text)
        self.assertEqual(self.click("#conflict button[value=new]"), "Yours is stored.")
        self.assertEqual(self.browser.find("#version").text, "version 3")
        self.change_elsewhere(f"ada-{device}@example.com", "colour", "white")
        self.submit("property", "[value=save]", value="black")
        self.quiet("409")
        self.assertEqual(self.click("#conflict button[value=old]"), "Theirs is kept.")
        self.assertEqual(self.browser.find("#property [name=value]").get_property("value"), "white")
        # A second user of the browser; back to the first without a password.
        self.assertIn("Logged in", self.come_in("register", f"bob-{device}@example.com"))
        bob = self.me()
        self.assertEqual(self.states(), {bob: "active", ada: "inactive"})
        self.ask(ada, "Switch")
        self.assertEqual(self.me(), ada)
        self.assertEqual(self.states(), {bob: "inactive", ada: "active"})
        # Leaving hands over to who was there before.
        self.ask(ada, "Log out")
        self.assertEqual(self.me(), bob)
        self.assertEqual(self.states(), {bob: "active", ada: "logged out"})
        self.assertIn("Logged in", self.come_in("login", f"ada-{device}@example.com"))
        self.assertEqual(self.me(), ada)
        self.ask(bob, "Forget")
        self.assertEqual(self.states(), {ada: "active"})
        # The tokens are spent, as after half an hour: the page does not notice.
        self.pass_time()
        before = self.refreshes()
        self.assertEqual(self.submit("profile", "", name="Ada Lovelace"), "Done.")
        self.assertEqual(self.refreshes(), before + 1)
        # A page that is opened again knows who is there.
        self.open(device)
        self.assertEqual(self.browser.find("#said").text, "Welcome back.")
        self.assertEqual(self.me(), ada)
        # Nobody is left, which is no error.
        self.ask(ada, "Forget")
        self.assertFalse(self.browser.find("#me").is_displayed())
        self.open(device)
        self.assertEqual(self.browser.find("#said").text, "Nobody is logged in here.")
        self.quiet()

    def change_elsewhere(self, email, key, value):
        grant = self.expect(self.login(email, PASSWORD), 200).json
        self.expect(self.site.request(
            "PUT", f"/v1/me/properties/{key}", {"value": value},
            {"Content-Type": "application/json"}, token=grant["access_token"]), 200)
        self.expect(self.site.request("POST", "/v1/logout", token=grant["access_token"]), 204)

    def pass_time(self):
        """Lets an hour pass for the page, in which its tokens run out."""
        self.browser.script(
            "const now = Date.now.bind(Date); Date.now = () => now() + 3600 * 1000;")

    def refreshes(self):
        return sum(line["route"] == "POST /v1/token/refresh" for line in self.site.logged())

    # What the client does that the page does not show

    OPEN = """
        const [server, device] = given;
        const { Dossier, DossierError } = await import(`${server}/dossier.js`);
        const dossier = new Dossier(server, { device });
        const code = (promise) => promise.then(() => null, (error) => {
          if (!(error instanceof DossierError)) throw error;
          return error.code;
        });
        """

    def run_script(self, text, *arguments, device="secret"):
        return self.browser.evaluate(self.OPEN + text, self.server, device, *arguments)

    def in_another_tab(self):
        self.browser.driver.switch_to.new_window("tab")
        self.browser.open(f"{self.pages.origin}/dossier.d.ts")

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

    def test_the_page_of_the_readme_works_as_it_is_printed(self):
        printed, = re.findall(r"```html\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
        self.assertIn("http://127.0.0.1:8080", printed)
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder) / "mine.html"
            page.write_text(printed.replace("http://127.0.0.1:8080", self.server))
            pages = Pages(folder)
            self.addCleanup(pages.stop)
            self.site.set_app(allowed_origins=[pages.origin])
            self.addCleanup(self.site.set_app, allowed_origins=[self.pages.origin])
            self.browser.open(f"{pages.origin}/mine.html")
            self.browser.wait(lambda: self.browser.find("body").text == "ada@example.com",
                              "the address of the user")
            self.quiet()

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
            await dossier.restoreEmail(given[2], given[3]);
            return dossier.login("code@example.com", given[3]);
            """, token, PASSWORD)
        self.assertEqual(again, user)
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
            self.assertEqual(answer.headers["Content-Type"], type_)
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], "*")
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")


if __name__ == "__main__":
    unittest.main()
