"""Auth0's tutorial on the metadata of users, step by step: the operator, the app and its user.

The app is the SDK of iOS in Chromium: its browser sheet ends at the custom scheme of the app.
"""

import json
import struct
import unittest
import urllib.parse

from selenium.webdriver.common.keys import Keys

from hosted import PASSWORD
from hosted_browser import BrowserCase
from openid import OpenIDCase, Party, claims, verified

BUNDLE = "com.auth0.iOS-SwiftUI-Metadata"
IDENTITY = "openid profile email"
OWN_METADATA = f"{IDENTITY} read:current_user update:current_user_metadata"
JSON = {"Content-Type": "application/json", "Auth0-Client": "eyJuYW1lIjoiQXV0aDAuc3dpZnQifQ"}
ANNOUNCEMENT = {
    "display_announcement": True, "announcement_text": "Metadata is here",
    "announcement_url": "https://example.com/news"}


class App:
    """The tutorial's app with Auth0.swift, configured with a domain and a client id."""

    def __init__(self, case, domain, client, version):
        self.case, self.domain, self.client, self.version = case, domain, client, version
        # Before 2.6.0, the port of the domain stays in the URL.
        host = domain if version < (2, 6, 0) else domain.split(":")[0]
        self.redirect = f"{BUNDLE}://{host}/ios/{BUNDLE}/callback"
        self.credentials = self.user = None

    def log_in(self, act, scope=IDENTITY, audience=None):
        """Opens the browser sheet for the user, then exchanges the code."""
        # Before 2.19.0, the SDK sends no nonce unless the app sets one.
        own = {"nonce": None} if self.version < (2, 19, 0) else {}
        party = Party(self.case, {"id": self.client}, redirect=self.redirect, scope=scope,
                      audience=audience, auth0Client="eyJuYW1lIjoiQXV0aDAuc3dpZnQifQ", **own)
        self.case.browser.navigations()
        self.case.sheet(party.path.replace("+", "%20"))
        act()
        answer = self.case.redirect_parameters(self.redirect)
        self.case.assertEqual(answer["state"], party.parameters["state"])
        self.case.assertNotIn("error", answer)
        tokens = self.post("/oauth/token", {
            "client_id": self.client, "code": answer["code"], "code_verifier": party.verifier,
            "redirect_uri": self.redirect, "grant_type": "authorization_code"})
        self.credentials = self.case.expect(tokens, 200).json
        self.user = self.profile(party.parameters.get("nonce"))
        return self.credentials

    def profile(self, nonce):
        """Validates the ID token. Returns the user that the app reads from its claims."""
        keys = self.case.site.get("/.well-known/jwks.json").json["keys"]
        found = verified(self.credentials["id_token"], keys)
        self.case.assertEqual(found["iss"], f"http://{self.domain}/")
        self.case.assertEqual(found["aud"], self.client)
        self.case.assertEqual(found.get("nonce"), nonce)
        for name in ["sub", "name", "email", "picture", "updated_at"]:
            self.case.assertIsInstance(found[name], str, name)
        self.case.assertIsInstance(found["email_verified"], bool)
        return found

    def log_out(self, is_asked=False):
        """Opens the sheet, which ends at the scheme; without a page unless the user is asked."""
        query = urllib.parse.urlencode({"returnTo": self.redirect, "client_id": self.client})
        self.case.browser.navigations()
        self.case.sheet(f"/v2/logout?{query}")
        if is_asked:
            self.case.shown("Sign out of Dossier?")
            self.case.browser.press("Sign out")
        self.case.assertEqual(self.case.redirect_parameters(self.redirect), {})
        self.credentials = self.user = None

    def post(self, path, body):
        return self.case.site.request("POST", path, json.dumps(body), JSON)

    def users(self, method, query="", body=None):
        path = f"/api/v2/users/{urllib.parse.quote(self.user['sub'], safe='')}{query}"
        return self.case.site.request(
            method, path, None if body is None else json.dumps(body), JSON,
            self.credentials["access_token"])

    def metadata(self):
        return self.users("GET", "?fields=user_metadata,app_metadata&include_fields=true")

    def affirm(self, text):
        return self.users("PATCH", body={"user_metadata": {"personal_affirmation": text}})


class Tutorial(OpenIDCase, BrowserCase):
    RECORDS = True
    VERSION = (2, 25, 0)

    def setUp(self):
        super().setUp()
        self.email = self.own_email()
        self.app = self.new_app(self.VERSION)

    # The operator's half, on the command line

    def dossier(self, *words, **options):
        return self.site.dossier(*words, "--app", "default", **options)

    def new_app(self, version):
        """Creates an application of type Native with its URLs, as the steps of the dashboard do."""
        made = self.dossier("client", "create", "iOS SwiftUI Metadata", "kind=native",
                            "claims_profile=auth0")
        app = App(self, made["domain"], made["id"], version)
        self.assertEqual(app.domain, f"127.0.0.1:{self.site.port}")
        both = [f"{BUNDLE}://{host}/ios/{BUNDLE}/callback"
                for host in [app.domain, app.domain.split(":")[0]]]
        shown = self.site.dossier(
            "client", "set", app.client, "callback_urls=" + ", ".join(both),
            "logout_urls=" + "\n".join(both), "web_origins=", "cors_origins=")
        for name in ["callback_urls", "logout_urls"]:
            self.assertEqual(shown[name], both)
        self.assertIn(app.redirect, both)
        return app

    def new_user(self):
        return self.dossier("user", "create", f"email={self.email}", "--password-file", "-",
                            given=PASSWORD + "\n")

    def document(self, kind, *words, **options):
        return self.dossier("user", "document", self.email, kind, *words, **options)

    # The sheet

    def sheet(self, path):
        """Opens a page in a new sheet, which shares the cookies of earlier sheets."""
        driver = self.browser.driver
        before = driver.current_window_handle
        driver.switch_to.new_window("tab")
        new = driver.current_window_handle
        driver.switch_to.window(before)
        driver.close()
        driver.switch_to.window(new)
        # A load that ends at another scheme never completes.
        self.browser.script("setTimeout(() => location.href = arguments[0])", self.server + path)

    def redirect_parameters(self, redirect):
        """Returns the parameters of the redirect to the app."""
        def found():
            for url in self.browser.navigations():
                # A browser writes a scheme in lower case; the SDK compares so, too.
                if url.lower().startswith(redirect.lower()):
                    urls.append(url)
            return urls
        urls = []
        self.browser.wait(found, "the redirect to the app")
        scheme, rest = urls[0].split(":", 1)
        self.assertEqual((scheme, rest[:len(redirect) - len(BUNDLE) - 1]),
                         (BUNDLE.lower(), redirect[len(BUNDLE) + 1:]))
        query = urls[0][len(redirect):]
        self.assertEqual(query[:1] or "?", "?")
        return dict(urllib.parse.parse_qsl(query[1:], strict_parsing=True)) if query else {}

    def enter(self):
        """Enters the address, then the password."""
        self.shown("Sign in")
        self.send(email=self.email)
        self.shown("Enter your password")
        self.assertIn(self.email, self.browser.find("form").get_attribute("outerHTML"))
        self.last(password=PASSWORD)

    def last(self, **fields):
        """Fills in a form, and presses Enter; the browser may leave this server."""
        for name, value in fields.items():
            self.browser.type(f"#{name}", value)
        self.browser.find(f"#{name}").send_keys(Keys.ENTER)

    def shown(self, heading):
        def is_shown():
            return self.browser.has("h1") and self.browser.text("h1") == heading
        self.browser.wait(is_shown, heading)

    def accept(self):
        self.shown("iOS SwiftUI Metadata wants access to your Dossier account")
        text = self.browser.text("main")
        for words in [self.email, "Read your profile and metadata", "Change your metadata"]:
            self.assertIn(words, text)
        self.browser.press("Allow")

    def enter_and_accept(self):
        self.enter()
        self.accept()

    def test_the_story(self):
        app, api = self.app, f"{self.issuer}api/v2/"
        made = self.new_user()

        # The first run: the app shows who has logged in.
        tokens = app.log_in(self.enter)
        self.assertEqual(tokens["scope"], IDENTITY)
        self.assertEqual(app.user["sub"], f"auth0|{made['id']}")
        self.assertEqual((app.user["name"], app.user["email"]), (self.email, self.email))
        self.picture(app.user["picture"])
        app.log_out()

        # With the scopes, the user is asked once.
        tokens = app.log_in(self.enter_and_accept, OWN_METADATA, api)
        self.assertEqual(tokens["scope"], OWN_METADATA)
        self.assertIn(api, claims(tokens["access_token"])["aud"])
        self.assertGreaterEqual(tokens["expires_in"], 86_400)
        self.assertEqual(self.expect(app.metadata(), 200).json, {})
        app.log_out()

        # The experiment without the scopes: the login works, and the app can read nothing.
        tokens = app.log_in(self.enter, IDENTITY, api)
        self.assertEqual(tokens["scope"], IDENTITY)
        answer = self.expect(app.metadata(), 403)
        self.assertEqual(answer.json["errorCode"], "insufficient_scope")
        self.assertEqual(answer.json["statusCode"], 403)
        app.log_out()

        # The operator announces something, and the app shows it after the next login.
        self.document("app-metadata", *[f"{name}={json.dumps(value)}"
                                        for name, value in ANNOUNCEMENT.items()])
        app.log_in(self.enter, OWN_METADATA, api)
        self.assertEqual(self.expect(app.metadata(), 200).json, {"app_metadata": ANNOUNCEMENT})
        self.document("app-metadata", "display_announcement=false")
        shown = self.expect(app.metadata(), 200).json["app_metadata"]
        self.assertIs(shown["display_announcement"], False)

        # The operator writes an affirmation, the user edits it, and both read it.
        self.document("metadata", "personal_affirmation=I am ready")
        read = self.expect(app.metadata(), 200).json
        self.assertEqual(read["user_metadata"], {"personal_affirmation": "I am ready"})
        changed = self.expect(app.affirm("I can do hard things"), 200).json
        self.assertEqual((changed["user_id"], changed["email"]), (app.user["sub"], self.email))
        own = {"personal_affirmation": "I can do hard things"}
        self.assertEqual(changed["user_metadata"], own)
        self.assertEqual(self.document("metadata"), own)
        app.log_out()
        app.log_in(self.enter, OWN_METADATA, api)
        self.assertEqual(self.expect(app.metadata(), 200).json["user_metadata"], own)

        # The operator removes the application, so the user is asked again.
        shown = self.dossier("user", "applications", self.email)
        self.assertEqual([(row["client"], row["name"], row["audience"], row["scopes"])
                          for row in shown],
                         [(app.client, "iOS SwiftUI Metadata", "api/v2/", OWN_METADATA.split())])
        self.assertEqual(
            self.dossier("user", "applications", made["id"], "--remove", app.client), [])
        self.assertEqual(self.expect(app.metadata(), 401).json["statusCode"], 401)
        run = self.dossier("user", "applications", self.email, "--remove", app.client, check=False)
        self.assertEqual(run.returncode, 10, run.stderr)
        # The application has no session any more.
        app.log_out(is_asked=True)
        app.log_in(self.enter_and_accept, OWN_METADATA, api)

        # App metadata belongs to the operator.
        refused = self.expect(app.users("PATCH", body={"app_metadata": {"a": 1}}), 403)
        self.assertEqual(refused.json["errorCode"], "insufficient_scope")

    def picture(self, url):
        """Reads a picture as an app does, without cookies. All platforms display PNG."""
        self.assertTrue(url.startswith(self.issuer), url)
        answer = self.site.get(url[len(self.issuer) - 1:])
        self.assertEqual((answer.status, answer.headers["Content-Type"]), (200, "image/png"))
        width, height = struct.unpack(">II", answer.body[16:24])
        self.assertEqual((width, height), (480, 480))

    def test_a_login_within_the_session_asks_only_for_confirmation(self):
        self.new_user()
        self.app.log_in(self.enter)
        # Another app could claim the scheme, so the user confirms the app.
        self.app.log_in(self.confirm)
        self.site.dossier("client", "set", self.app.client, "confirm_sign_in=false")
        self.app.log_in(lambda: None)
        self.app.log_out()
        self.app.log_in(self.enter)

    def confirm(self):
        self.shown("Are you signing in to iOS SwiftUI Metadata?")
        self.browser.press("Continue")

    def test_the_user_declines(self):
        self.new_user()
        party = Party(self, {"id": self.app.client}, redirect=self.app.redirect,
                      scope=OWN_METADATA, audience=f"{self.issuer}api/v2/")
        self.sheet(party.path)
        self.enter()
        self.shown("iOS SwiftUI Metadata wants access to your Dossier account")
        self.browser.press("Deny")
        answer = self.redirect_parameters(self.app.redirect)
        self.assertEqual((answer["error"], answer["state"]),
                         ("access_denied", party.parameters["state"]))


class OldVersion(Tutorial):
    """The version that the tutorial pins. It sends no nonce, and keeps the port in the redirect."""

    VERSION = (2, 3, 1)


if __name__ == "__main__":
    unittest.main()
