"""The console in Chromium: the steps of tutorials, every page in all views, and no scripts."""

import datetime
import itertools
import json
import unittest

from selenium.webdriver.common.keys import Keys

import parra
from app_services import App
from asking import JSON
from authenticator import Authenticator
from console import PASSWORD, ConsoleCase
from hosted_browser import BrowserCase
from page_checks import LARGE_TEXT

VIEWS = list(itertools.product(["light", "dark"], [1280, 390, 320]))
# Returns the rules that a page of the console breaks, a text each.
CHECKS = """
const broken = [];
const all = (selector) => [...document.querySelectorAll(selector)];
const rule = (holds, text) => { if (!holds) broken.push(text); };
for (const tag of ["h1", "main"]) rule(all(tag).length === 1, `${all(tag).length} times ${tag}`);
const ids = all("[id]").map((item) => item.id);
rule(new Set(ids).size === ids.length, "a repeated id");
rule(all("script:not([src]), body [style], [onclick]").length === 0, "a script or a style in the page");
for (const item of all("[aria-describedby]"))
  for (const id of item.getAttribute("aria-describedby").split(" "))
    rule(document.getElementById(id), `${id} does not exist`);
for (const link of all(".summary a"))
  rule(document.querySelector(link.getAttribute("href")), `an error leads nowhere: ${link.href}`);
const shown = (item) => item.getClientRects().length > 0 && item.checkVisibility();
for (const item of all("main button:not(.first), main a.button, main select, main input:not([type=hidden], [type=checkbox])")
    .filter(shown)) {
  const { width, height } = item.getBoundingClientRect();
  rule(item.className === "hidden" || width >= 35.9 && height >= 35.9, `a target of ${width} by ${height}: ${item.outerHTML}`);
}
for (const form of all("form[method=post]"))
  rule(form.querySelector("[name=token]") || document.body.className === "plain-page", `no token: ${form.action}`);
return broken;
"""
USER_METADATA = {"display_announcement": True, "announcement_text": "Metadata is here"}
APP_METADATA = {"permissions": {"notifications": True}}


class ConsoleBrowserCase(BrowserCase, ConsoleCase):
    def sign_in_here(self, role="owner"):
        """Sets an administrator up by the first link."""
        _, link = self.link(role)
        self.browser.open(link.replace(link.split("/console")[0], self.server))
        self.browser.wait(lambda: self.browser.has("#link"), "the page of the link")
        if self.browser.find("#link").get_attribute("value") == "":
            self.browser.type("#link", link)
        self.press("Continue")
        self.assertEqual(self.heading(), "Set up your account")
        secret = self.browser.text(".key code").replace(" ", "").replace("\u00ad", "")
        self.authenticator = Authenticator({"id": "", "uri": "", "secret": secret})
        self.fill(password=PASSWORD, code=self.authenticator.code())
        self.press("Continue")
        self.assertEqual(self.heading(), "Save your recovery codes")
        self.press("I've saved my codes")
        self.assertEqual(self.heading(), "Overview")

    def fill(self, **fields):
        for name, value in fields.items():
            self.browser.script(
                "document.getElementById(arguments[0]).value = arguments[1]", name, value)

    def press_tab(self, label):
        self.click(tab for tab in self.browser.all(".tabs a") if tab.text == label)

    def press_in(self, card, label):
        """Presses a button of the card with a heading; None is a card without one."""
        cards = [section for section in self.browser.all("section.card")
                 if [item.text for item in section.find_elements("css selector", "h2")][:1]
                 == ([card] if card else [])]
        self.click(button for button in cards[0].find_elements("css selector", "button:not(.first)")
                   if button.text == label)

    def click(self, found):
        """Clicks the first of these elements, and waits for the next page."""
        before = self.browser.find("html")
        next(found).click()
        self.left(before)

    def text(self):
        return self.browser.text("main")

    def look(self):
        """Looks at the page in all views."""
        path = self.browser.script("return location.pathname")
        for scheme, width in VIEWS:
            self.browser.emulate(scheme, width)
            with self.subTest(path, scheme=scheme, width=width):
                self.assertEqual(self.browser.script(CHECKS), [])
                self.assertLessEqual(
                    self.browser.script("return document.documentElement.scrollWidth"), width)
                self.assertLessEqual(self.browser.script(LARGE_TEXT), width)
                self.assertLessEqual(
                    len(self.browser.script("return document.documentElement.outerHTML")), 60_000)
        with self.subTest(path, colors="forced"):
            self.browser.emulate("light", 390)
            self.browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
                "features": [{"name": "forced-colors", "value": "active"}]})
            self.assertEqual(self.browser.script(CHECKS), [])
            self.assertLessEqual(
                self.browser.script("return document.documentElement.scrollWidth"), 390)
        self.assertEqual(self.browser.faults_of_views(), [], path)
        self.browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


class Auth0(ConsoleBrowserCase):
    """Auth0's tutorial on the metadata of users, at the console in place of the dashboard."""

    def test_metadata_of_users(self):
        self.sign_in_here()

        # Register an app: Applications, Create application, a name, Native, Create.
        self.press("Applications")
        self.press("Create application")
        self.fill(name="Metadata sample")
        self.browser.choose("#kind", "native")
        self.press("Create")
        self.assertIn("Created Metadata sample", self.text())
        # Copy the domain and the client id.
        facts = {item.find_element("css selector", "dt").text: item.find_element(
            "css selector", "dd :first-child").text for item in self.browser.all(".definitions > div")}
        domain, client = facts["Domain"], facts["Client ID"]
        self.assertRegex(domain, r"^[\w.]+(:\d+)?$")
        # Paste the callback and logout URLs, and save.
        url = f"com.example.sample://{domain}/ios/com.example.sample/callback"
        self.fill(callback_urls=url, logout_urls=url)
        self.press("Save changes")
        self.assertIn("The changes are saved.", self.text())
        shown = self.site.dossier("client", "show", client)
        self.assertEqual([shown["callback_urls"], shown["logout_urls"]], [[url], [url]])
        self.press("Start")
        self.assertIn(client, self.text())

        # Create a user: Users, Create user, address, password, connection, Create.
        self.press("Users")
        self.assertIn("You don't have any users yet.", self.text())
        self.press("Create user")
        email = self.own_email()
        self.fill(email=email, password="correct horse battery")
        self.browser.choose("#connection", "Username-Password-Authentication")
        self.press("Create")
        self.assertIn(email, self.heading())
        # Paste both metadata texts, and save once.
        self.fill(user_metadata=json.dumps(USER_METADATA), app_metadata=json.dumps(APP_METADATA))
        self.press_in("Metadata", "Save")
        self.assertIn("Saved.", self.text())

        # Check: the app has changed the metadata; reload Details, change it, save.
        grant = self.expect(self.login(email, "correct horse battery"), 200).json
        self.assertEqual(self.me(grant, "/app-metadata").json, APP_METADATA)
        self.expect(self.site.request(
            "PATCH", "/v1/me/metadata", {"announcement_text": "Written by the app"},
            {"Content-Type": "application/merge-patch+json"}, token=grant["access_token"]), 200)
        self.browser.driver.refresh()
        shown = json.loads(self.browser.find("#user_metadata").get_attribute("value"))
        self.assertEqual(shown["announcement_text"], "Written by the app")
        shown["display_announcement"] = False
        self.fill(user_metadata=json.dumps(shown))
        self.press_in("Metadata", "Save")
        self.assertEqual(self.me(grant, "/metadata").json["display_announcement"], False)
        self.assertEqual(
            [line for line in self.browser.complaints() if "status of 4" not in line], [])


class Tutorials(ConsoleBrowserCase):
    """The steps at the dashboards of App Services and Parra, at the console instead."""

    def test_app_services_custom_user_data(self):
        self.sign_in_here()
        self.site.set_app(app_services=False)
        self.addCleanup(self.site.set_app, app_services=True, app_services_collection="")
        app = App(self.site, "default")
        email = self.own_email()

        # Enable custom user data: cluster, database, collection, user ID field, Save.
        self.press("App Services data")
        self.browser.find("#app_services").click()
        self.fill(cluster="mongodb-atlas", database="my_database", collection="users",
                  app_services_user_field="userId")
        self.press("Save")
        self.assertIn("Saved.", self.text())
        # Sign a user up in the app, and copy the id of the user below Users.
        app.email("register", email=email, password="correct horse battery")
        user = app.log_in("local-userpass", username=email, password="correct horse battery")
        self.press("Users")
        self.press(email)
        self.assertIn(user.id, self.text())
        # Create the document of the user.
        self.press_tab("Custom data")
        self.fill(custom_data=json.dumps({"userId": user.id, "favoriteColor": "blue"}))
        self.press_in(None, "Save")
        # The app reads it, as data of the user and in the collection, and changes it.
        user.refresh_custom_data()
        self.assertEqual(user.custom_data["favoriteColor"], "blue")
        user.call("updateOne", query={"userId": user.id}, update={"$set": {"favoriteColor": "pink"}})
        self.browser.driver.refresh()
        shown = json.loads(self.browser.find("#custom_data").get_attribute("value"))
        self.assertEqual(shown["favoriteColor"], "pink")

    def test_parra_metadata_of_users(self):
        self.sign_in_here()
        email = self.own_email()
        client = parra.Client(self.site).launch()
        client.sign_up(email)

        # The metadata that the SDK reads are the app metadata on the page of the user.
        self.press("Users")
        self.press(email)
        self.fill(app_metadata=json.dumps({"plan": "pro"}))
        self.press_in("Metadata", "Save")
        self.assertIn("Saved.", self.text())
        self.assertEqual(client.read_user()["metadata"], {"plan": "pro"})


class Views(ConsoleBrowserCase):
    def test_every_page_in_all_views(self):
        self.browser.open(self.server + "/console/-/sign-in")
        self.look()
        self.sign_in_here()
        email = "ada.lovelace.countess.of@a-rather-long-name-of-a-domain.example.com"
        grant = self.expect(self.register(email, "correct horse battery"), 201).json
        user = grant["user_id"]
        [session] = self.site.dossier("api", "GET", f"/v1/users/{user}/sessions")
        device = session["device_id"]
        self.settings(document_versions_kept=5)
        body = {"w" * 200: ["x" * 300], "n": 1}
        self.expect(self.site.request(
            "PUT", "/v1/me/metadata", body, JSON, grant["access_token"]), 200)
        self.site.dossier("api", "PATCH", f"/v1/users/{user}/metadata", "-", given='{"n": 2}')
        self.site.dossier("api", "PATCH", f"/v1/users/{user}", "-", given='{"blocked":true}')
        for number in range(2):
            self.site.dossier("api", "PUT", f"/v1/users/{user}/custom-data", "-", given=json.dumps(
                {"number": number, "w" * 200: ["x" * 300]}))
        self.site.dossier(
            "api", "PATCH", f"/v1/users/{user}", "-",
            given=json.dumps({"name": "Ada <b>Lovelace</b> " + "o" * 80}))
        self.site.dossier("api", "PUT", f"/v1/users/{user}/properties/level", "-", given='{"value": 7}')
        client = self.site.dossier("client", "create", "--app", "default", "Mobile", "kind=native")
        for path in ["", "/users", "/users/new", "/search?q=nobody", f"/users/{user}",
                     f"/users/{user}/custom-data", f"/users/{user}/custom-data/versions",
                     f"/users/{user}/custom-data/versions/1", f"/users/{user}/properties",
                     f"/users/{user}/sign-in", f"/users/{user}/sessions",
                     f"/users/{user}/sessions/{session['id']}/undo",
                     f"/users/{user}/devices", f"/devices/{device}", f"/users/{user}/roles",
                     f"/users/{user}/applications",
                     f"/users/{user}/history", f"/users/{user}/delete", f"/users/{user}/merge",
                     "/roles", "/roles/new", "/apis",
                     "/applications", "/applications/new", f"/applications/{client['id']}",
                     f"/applications/{client['id']}/start", f"/applications/{client['id']}/delete",
                     "/connections", "/connections/new", "/settings", "/settings/account",
                     "/branding", "/mail", "/support", "/custom-data", "/transfer", "/audit",
                     "/audit?network=nothing", "/no/such", "/indexes", "/schemas", "/schemas/metadata", "/keys",
                     "/events", "/webhooks", "/webhooks/new", "/log-streams", "/log-streams/new",
                     "/menu", "/search?q=ada", "/users?filter=metadata.a", "/sign-in-check",
                     f"/sign-in-check?user={user}"]:
            self.browser.open(f"{self.server}/console/default{path}")
            self.look()
        [administrator] = self.site.dossier("administrator", "list")
        for path in ["apps", "outbox", "health", "limits", "search?q=ada", "administrators", "administrators/new",
                     f"administrators/{administrator['id']}", "me", "confirm", "menu"]:
            self.browser.open(f"{self.server}/console/-/{path}")
            self.look()
        # A conflict.
        self.browser.open(f"{self.server}/console/default/users/{user}/custom-data")
        self.site.dossier("api", "PUT", f"/v1/users/{user}/custom-data", "-", given='{"theirs": 1}')
        self.fill(custom_data='{"mine": 1}')
        before = self.browser.find("html")
        self.browser.find(".buttons .primary").click()
        self.left(before)
        self.assertIn("custom_data has changed since you opened it", self.text())
        self.look()

    def test_the_bar_is_not_cut(self):
        self.sign_in_here()
        self.site.create_app("a-second-app")
        for path in ["/console/-/apps", "/console/a-second-app"]:
            self.browser.open(self.server + path)
            for width in range(1000, 1301, 50):
                self.browser.emulate("light", width)
                cut = self.browser.script("""
                    return [...document.querySelectorAll(".bar .product bdi, .bar summary, .bar summary bdi")]
                      .filter((item) => item.scrollWidth > item.clientWidth + 1 && item.clientWidth > 0
                        || item.getBoundingClientRect().height > 45).map((item) => item.textContent);
                    """)
                self.assertEqual([text for text in cut if "@" not in text], [], (path, width))

    def test_times_are_in_the_zone_of_the_browser(self):
        self.sign_in_here()
        user = self.user()
        utc = self.site.dossier("user", "show", user)["created_at"]
        self.browser.driver.execute_cdp_cmd(
            "Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
        self.browser.open(f"{self.server}/console/default/users/{user}")
        time = self.browser.find("main time")
        at = datetime.datetime.fromisoformat(utc) + datetime.timedelta(hours=5, minutes=30)
        self.assertEqual(time.text, f"{at:%Y-%m-%d %H:%M}")
        self.assertEqual(time.get_attribute("title"), f"{utc[:10]} {utc[11:16]} UTC")
        self.assertIn("Times are in Asia/", self.text())
        # Days of a filter are those of the zone.
        self.browser.open(f"{self.server}/console/default/audit")
        self.browser.find(".more summary").click()
        self.fill(**{"from": f"{at:%Y-%m-%d}", "to": f"{at:%Y-%m-%d}", "user": user})
        before = self.browser.find("html")
        self.browser.find("main form.filter button").click()
        self.left(before)
        self.assertIn("offset=330", self.browser.script("return location.search"))
        self.assertIn("User created", self.text())
        self.assertEqual(self.browser.find("#from").get_attribute("value"), f"{at:%Y-%m-%d}")

    def test_keys(self):
        self.sign_in_here("viewer")
        body = self.browser.find("body")
        body.send_keys("?")
        self.browser.wait(lambda: self.browser.has("dialog[open]"), "the list of keys")
        self.assertIn("Go to the search", self.browser.text("dialog"))
        self.browser.find("dialog button").click()
        self.browser.wait(lambda: not self.browser.has("dialog[open]"), "the list is closed")
        self.browser.find("body").send_keys("/")
        self.assertEqual(self.browser.script("return document.activeElement.id"), "q")
        # Keys can be turned off, and then do nothing.
        self.browser.open(self.server + "/console/-/me")
        self.browser.find("#keys").click()
        before = self.browser.find("html")
        self.browser.find("form[action$='/me/keys'] button").click()
        self.left(before)
        self.browser.find("body").send_keys("?/")
        self.assertFalse(self.browser.has("dialog"))
        self.assertNotEqual(self.browser.script("return document.activeElement.id"), "q")

    def test_without_scripts(self):
        self.browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        _, link = self.link()
        self.browser.open(self.server + "/console/-/start")
        self.browser.find("#link").send_keys(link)
        self.browser.find("main button").click()
        self.browser.wait(lambda: self.browser.all("#code"), "the set-up")
        secret = self.browser.text(".key code").replace(" ", "")
        factor = Authenticator({"id": "", "uri": "", "secret": secret})
        self.browser.find("#password").send_keys(PASSWORD)
        self.browser.find("#code").send_keys(factor.code())
        self.browser.find("main button").click()
        self.browser.wait(lambda: self.browser.all("pre.code"), "the codes")
        self.browser.find("main a").click()
        self.browser.wait(lambda: self.browser.all(".side"), "the overview")
        self.browser.find('.side a[href$="/users"]').click()
        self.browser.wait(lambda: self.browser.all("main a.primary"), "the list")
        self.browser.find("main a.primary").click()
        self.browser.wait(lambda: self.browser.all("#email"), "the form")
        email = self.own_email()
        self.browser.find("#email").send_keys(email, Keys.ENTER)
        self.browser.wait(lambda: self.browser.all(".notice.success"), "the new user")
        self.assertIn(email, self.browser.text("h1"))


if __name__ == "__main__":
    unittest.main()
