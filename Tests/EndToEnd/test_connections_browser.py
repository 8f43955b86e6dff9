"""Sign-in at issuers in Chromium: the issuer is another site, with a page of its own."""

import pathlib
import tempfile
import unittest
import urllib.parse

from app_services import App
from browser import Pages
from connections import CONTINUE, OTHER_BROWSER, SIGN_IN, START_AGAIN, ConnectionCase
from hosted_browser import BrowserCase
from openid import Party

LISTEN = """
window.messages = [];
addEventListener("message", (event) => messages.push({origin: event.origin, data: event.data}));
"""
# As realm-web: one page opens a window and closes it, and the window returns to another page. With an
# access token, its user links.
OPENER = """
const [server, redirect, access] = given;
const state = "abcdefghijkl", key = `realm-web:oauth2:state(${state}):result`;
const device = btoa(JSON.stringify({platform: "web", platformVersion: "1", sdkVersion: "2.0.1"}));
const query = new URLSearchParams({state, redirect, device});
window.result = new Promise((resolve, reject) => {
  let popup, timer;
  addEventListener("storage", (event) => {
    if (event.key !== key || !event.newValue) return;
    clearInterval(timer);
    popup.close();
    localStorage.removeItem(key);
    resolve(JSON.parse(event.newValue));
  });
  const path = "/api/client/v2.0/app/default/auth/providers/oauth2-google/login";
  const show = (url) => {
    popup = open(url);
    timer = setInterval(() => {
      if (!popup.closed) return;
      clearInterval(timer);
      reject("Window closed");
    }, 100);
  };
  if (!access) return show(`${server}${path}?${query}`);
  query.append("link", "true");
  query.append("providerRedirectHeader", "true");
  fetch(`${server}${path}?${query}`, {
    credentials: "include", headers: {Authorization: `Bearer ${access}`},
  }).then((response) => show(response.headers.get("x-baas-location")), reject);
});
window.result.catch(() => {});
return null;
"""
HANDLED = """<!doctype html><title>Handled</title><h1>Handled</h1><script>
const found = {};
for (const pair of location.hash.slice(1).split("&")) {
  const [name, value] = pair.split("=");
  found[decodeURIComponent(name)] = decodeURIComponent(value);
}
localStorage.setItem(
  `realm-web:oauth2:state(${found._baas_state}):result`, JSON.stringify(found));
</script>"""


# A page of another site in a frame writes a cookie, and tells the page around it what it can read.
FRAMED = """<!doctype html><title>Framed</title><script>
document.cookie = "known=yes; SameSite=None; Secure";
parent.postMessage(document.cookie, "*");
</script>"""


class ConnectionBrowserCase(ConnectionCase, BrowserCase):
    # Where the pages of the app are. For browsers `localhost` is another site than 127.0.0.1.
    HOST = "127.0.0.1"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="dossier-pages-")
        cls.addClassCleanup(folder.cleanup)
        for name, text in [("index.html", "<!doctype html><title>App</title><h1>App</h1>"),
                           ("handled.html", HANDLED), ("framed.html", FRAMED)]:
            (pathlib.Path(folder.name) / name).write_text(text)
        cls.pages = Pages(folder.name)
        cls.addClassCleanup(cls.pages.stop)
        cls.origin = cls.pages.origin.replace("127.0.0.1", cls.HOST)
        cls.home = f"{cls.origin}/index.html"
        cls.site.set_app(allowed_origins=[cls.origin])
        cls.page = cls.new_client("single_page", f"callback_urls={cls.home}")
        cls.site.dossier("client", "set", cls.page["id"], f"web_origins={cls.origin}",
                         "confirm_sign_in=false")
        cls.upstreams.origin = cls.upstreams.origin.replace("127.0.0.1", "localhost")
        cls.upstream = cls.connect("oidc", "upstream", email_trust="verified")
        cls.apple = cls.connect("apple", email_trust="verified")
        cls.google = cls.connect("google", email_trust="verified", app_services_redirects=[
            f"{cls.origin}/handled.html"])
        for issuer in [cls.upstream, cls.apple, cls.google]:
            issuer.shows_form = True

    def setUp(self):
        super().setUp()
        for issuer in [self.upstream, self.apple, self.google]:
            issuer.is_new(f"{issuer.name}-{self.own_email()}")

    def party(self, **parameters):
        return Party(self, self.page, redirect=self.home, **parameters)

    def at(self, issuer):
        """Waits until the browser shows the page of an issuer."""
        self.browser.wait(lambda: self.heading() == f"Sign in at {issuer.name}", "the issuer")

    def go_to(self, issuer):
        button = self.browser.find(f"a[href*='/connect/{issuer.name}']")
        self.assertIn(CONTINUE.format(self.title(issuer)), " ".join(button.text.split()))
        button.click()
        self.at(issuer)

    def allow(self):
        self.browser.find("button[value=allow]").click()

    def consent(self):
        """Agrees to the client at localhost, where any program of the machine could answer."""
        if self.HOST == "localhost":
            self.browser.wait(lambda: "wants access" in self.heading(), "the question")
            self.allow()

    def arrived(self, party):
        """Waits until the client has the response. Returns the claims that it gets."""
        driver = self.browser.driver
        self.browser.wait(lambda: driver.current_url.startswith(self.home + "?"), "the app")
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(driver.current_url).query))
        self.assertEqual(query["state"], party.parameters["state"])
        tokens = self.expect(party.exchange(query["code"]), 200).json
        return self.userinfo(tokens["access_token"]).json

    def silent(self):
        """Checks that the console is silent, so that no policy refused anything."""
        self.assertEqual([line for line in self.browser.complaints() if "favicon" not in line], [])


class Redirects(ConnectionBrowserCase):
    def test_a_person_signs_in_by_a_query_and_by_a_form(self):
        for issuer in [self.upstream, self.apple]:
            with self.subTest(issuer.name):
                self.browser.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
                party = self.party()
                self.open(party.path)
                self.assertEqual(self.heading(), SIGN_IN)
                self.go_to(issuer)
                self.allow()
                self.consent()
                self.assertEqual(self.arrived(party)["email"], issuer.person.email)
                self.silent()

    def test_the_button_of_the_last_time_is_marked(self):
        party = self.party()
        self.open(party.path)
        self.go_to(self.upstream)
        self.allow()
        self.arrived(party)
        # The session ends; the browser keeps what it knows of the sign-in.
        self.site.dossier("user", "logout", self.owner(self.upstream), "--yes")
        self.open(self.party().path)
        if self.heading() != SIGN_IN:
            self.press("Use another account")
        marked = [item.text for item in self.browser.all("a") if "Last used" in item.text]
        self.assertEqual(len(marked), 1, self.browser.text("main"))
        self.assertIn("upstream", marked[0])

    def test_back_from_the_issuer(self):
        party = self.party()
        self.open(party.path)
        self.go_to(self.upstream)
        self.browser.driver.back()
        self.browser.wait(lambda: self.heading() == SIGN_IN, "the page before")
        self.go_to(self.apple)
        self.browser.driver.back()
        self.browser.wait(lambda: self.heading() == SIGN_IN, "the page before")
        self.go_to(self.upstream)
        self.allow()
        self.assertEqual(self.arrived(party)["email"], self.upstream.person.email)
        # Back from the app does not sign in twice.
        asked = len(self.upstream.asked("token"))
        self.browser.driver.back()
        self.browser.wait(lambda: self.browser.has("h1"), "a page")
        self.assertEqual(len(self.upstream.asked("token")), asked)

    def test_a_person_who_cancels_signs_in_in_another_way(self):
        for issuer in [self.upstream, self.apple]:
            party = self.party()
            self.open(party.path)
            self.go_to(issuer)
            before = self.browser.find("html")
            self.browser.find("button[value=cancel]").click()
            self.left(before)
            self.browser.wait(lambda: self.heading() == SIGN_IN, "the page of sign-in")
        self.go_to(self.upstream)
        self.allow()
        self.arrived(party)
        self.silent()

    def test_two_tabs(self):
        driver = self.browser.driver
        ways = []
        for _ in range(2):
            driver.switch_to.new_window("tab")
            party = self.party()
            self.open(party.path)
            self.go_to(self.upstream)
            ways.append((driver.current_window_handle, party))
        found = set()
        for handle, party in reversed(ways):
            driver.switch_to.window(handle)
            self.allow()
            found.add(self.arrived(party)["sub"])
        self.assertEqual(len(found), 1)

    def test_a_browser_without_the_cookie_starts_again(self):
        """The issuer's app, or Safari in an app, returns to another browser."""
        party = self.party()
        self.open(party.path)
        for issuer in [self.upstream, self.apple]:
            self.open(party.path)
            self.go_to(issuer)
            self.browser.driver.execute_cdp_cmd("Network.clearBrowserCookies", {})
            before = self.browser.find("html")
            self.allow()
            self.left(before)
            self.browser.wait(lambda: self.heading() == OTHER_BROWSER, "the page")
            self.assertIsNone(self.owner(issuer))
        # The way out leads to the client, which alone can begin its request again.
        self.press(START_AGAIN)
        self.assertEqual(self.heading(), "App")
        self.open(party.path)
        self.go_to(self.upstream)
        self.allow()
        self.arrived(party)

    def test_an_address_of_an_organization_leads_to_its_issuer(self):
        """The redirect follows a form, which the policy of the page must not stop."""
        issuer = self.connect("oidc", "corp", email_trust="verified", domains=["corp.example"])
        issuer.shows_form = True
        issuer.is_new("ada@corp.example")
        party = self.party()
        self.open(party.path)
        self.send(email="ada@corp.example")
        self.at(issuer)
        self.assertEqual(issuer.asked("authorize")[-1].query["login_hint"], "ada@corp.example")
        self.allow()
        self.assertEqual(self.arrived(party)["email"], "ada@corp.example")
        self.silent()

    def test_without_scripts(self):
        self.browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        party = self.party()
        self.open(party.path)
        self.go_to(self.upstream)
        self.allow()
        self.assertEqual(self.arrived(party)["email"], self.upstream.person.email)

    def test_a_link_on_the_account_page(self):
        self.sign_up_here()
        self.open("/account/identities")
        self.browser.find(f"a[href='/account/connect/{self.upstream.name}']").click()
        self.at(self.upstream)
        before = self.browser.find("html")
        self.allow()
        self.left(before)
        self.browser.wait(lambda: self.browser.driver.current_url.split("?")[0].endswith(
            "/account/identities"),
                          "the account page")
        self.assertIn("upstream", self.browser.text("main"))
        self.assertTrue(self.owner(self.upstream))
        self.silent()


class Popups(ConnectionBrowserCase):
    def popup(self, opener):
        driver = self.browser.driver
        self.browser.wait(lambda: len(driver.window_handles) == 2, "the popup")
        driver.switch_to.window(next(one for one in driver.window_handles if one != opener))

    def test_a_popup_of_a_page_with_the_connection(self):
        """As Auth0's SDK for single-page apps does."""
        driver = self.browser.driver
        self.browser.open(self.home)
        self.browser.script(LISTEN)
        opener = driver.current_window_handle
        party = Party(self, self.page, redirect=self.origin, response_mode="web_message",
                      connection="upstream")
        self.browser.script("open(arguments[0], 'popup')", self.server + party.path)
        self.popup(opener)
        self.at(self.upstream)
        self.allow()
        self.consent()
        driver.switch_to.window(opener)
        self.browser.wait(lambda: self.browser.script("return messages.length"), "a message")
        [message] = self.browser.script("return messages")
        self.assertEqual(message["origin"], self.server)
        tokens = self.expect(party.exchange(message["data"]["response"]["code"]), 200).json
        found = self.userinfo(tokens["access_token"]).json
        self.assertEqual(found["email"], self.upstream.person.email)
        self.browser.wait(lambda: len(driver.window_handles) == 1, "the end of the popup")

    def test_the_popup_of_realm_web(self):
        driver = self.browser.driver
        self.google.is_new("realm@gmail.com")
        for decision, word in [("allow", "_baas_ua"), ("cancel", "_baas_error")]:
            with self.subTest(decision):
                self.browser.open(self.home)
                opener = driver.current_window_handle
                self.browser.evaluate(OPENER, self.server, f"{self.origin}/handled.html")
                self.popup(opener)
                self.at(self.google)
                self.browser.find(f"button[value={decision}]").click()
                driver.switch_to.window(opener)
                found = self.browser.evaluate("return window.result;")
                self.assertEqual(found["_baas_state"], "abcdefghijkl")
                self.assertIn(word, found)
                self.browser.wait(lambda: len(driver.window_handles) == 1, "the end of the popup")
        self.assertTrue(self.owner(self.google))

    def test_the_popup_of_a_link_of_realm_web_waits_for_a_click(self):
        """An attacker could have sent its URL, so it names the user and the provider first."""
        driver = self.browser.driver
        self.google.is_new("linked@gmail.com")
        email = self.own_email()
        self.expect(self.register(email), 201)
        user = App(self.site, "default").log_in(
            "local-userpass", username=email, password="correct horse")
        asked = len(self.google.asked("authorize"))
        self.browser.open(self.home)
        opener = driver.current_window_handle
        self.browser.evaluate(OPENER, self.server, f"{self.origin}/handled.html", user.access)
        self.popup(opener)
        self.browser.wait(lambda: self.heading() == "Link an account", "the page")
        text = self.browser.text("main")
        self.assertIn(email, text)
        self.assertIn("Your Google account", text)
        self.assertEqual(len(self.google.asked("authorize")), asked)
        [button] = self.browser.all("main button")
        button.click()
        self.at(self.google)
        self.assertIsNone(self.owner(self.google))
        self.browser.find("button[value=allow]").click()
        driver.switch_to.window(opener)
        found = self.browser.evaluate("return window.result;")
        self.assertEqual((found["_baas_state"], found["_baas_ua"].split("$")[2]),
                         ("abcdefghijkl", user.id))
        self.assertEqual(self.owner(self.google), user.id)
        self.browser.wait(lambda: len(driver.window_handles) == 1, "the end of the popup")
        self.silent()


class WithoutThirdPartyCookies(Popups):
    """The app is another site than the server, and the browser blocks the cookies of other sites."""

    HOST = "localhost"
    THIRD_PARTY_COOKIES = False

    def test_the_browser_blocks_them(self):
        self.browser.open(self.home)
        for origin, cookies in [(self.origin, "known=yes"), (self.pages.origin, "")]:
            found = self.browser.evaluate("""
                const frame = document.createElement("iframe");
                const told = new Promise((resolve) => addEventListener(
                  "message", (event) => resolve(event.data), {once: true}));
                frame.src = given[0];
                document.body.append(frame);
                return await told;
                """, f"{origin}/framed.html")
            self.assertEqual(found, cookies, origin)

    test_a_redirect = Redirects.test_a_person_signs_in_by_a_query_and_by_a_form


if __name__ == "__main__":
    unittest.main()
