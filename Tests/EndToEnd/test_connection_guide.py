"""The guide of connections, followed word for word."""

import json
import os
import re
import subprocess
import tempfile
import unittest
import urllib.parse

from connections import ConnectionCase
from openid import Party
from test_app_guides import GUIDES, GuideCase, section, steps
from test_demo import DemoCase

GUIDE = "Sign in with Google, Apple, GitHub or any issuer"
TEXT = (GUIDES / f"{GUIDE}.md").read_text()
# The headings whose code no test runs, and why.
NOT_RUN = {"Add Google in five steps": "it calls Google; test_connection_commands checks connections"}
TRY = "Try it with a second app"


def part(heading):
    """Returns the text below a heading of any level, up to the next one."""
    return re.search(rf"(?ms)^##+ {re.escape(heading)}$(.*?)(?=^##|\Z)", TEXT)[1]


def scripts(text):
    return re.findall(r"(?ms)^```sh\n(.*?)^```$", text)


class Words(unittest.TestCase):
    def test_the_code_below_each_heading_is_run_or_listed(self):
        own = open(__file__).read()
        found = [heading for heading in re.findall(r"(?m)^##+ (.*)$", TEXT) if "```" in part(heading)]
        self.assertEqual([heading for heading in found if f'"{heading}"' not in own], [])
        self.assertLessEqual(set(NOT_RUN), set(found))

    def test_the_code_of_the_page_has_no_syntax_error(self):
        [code] = re.findall(r"(?ms)^```js\n(.*?)^```$", part("Put a button on your own page"))
        with tempfile.NamedTemporaryFile("w", suffix=".mjs") as file:
            file.write(code)
            file.flush()
            run = subprocess.run(["node", "--check", file.name], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)


class Commands(GuideCase, ConnectionCase):
    SETTINGS = {**GuideCase.SETTINGS, "DOSSIER_ISSUER_NETWORK": "any"}

    def setUp(self):
        super().setUp()
        self.addCleanup(self.delete_all)

    def delete_all(self):
        for one in self.site.dossier("connection", "list", "--app", "default"):
            self.site.dossier("connection", "delete", one["name"], "--app", "default", "--yes",
                              "--force")

    def shown(self, name):
        return self.site.dossier("connection", "show", name, "--app", "default")

    def presets(self):
        found = self.expect(self.site.get("/v1/connections/public"), 200).json
        return {one["name"]: one["preset"] for one in found}

    def follow(self, script):
        """Runs a command that creates a connection. It may report that no service answers here."""
        self.script(f"{script.rstrip()} || true")

    def follow_google(self):
        self.follow(scripts(TEXT)[0].replace("…", "secret"))

    def test_each_kind_of_service(self):
        for name in ["microsoft", "work", "forum"]:
            (self.folder / f"{name}.secret").write_text("a secret\n")
        key = self.upstreams.add("apple", "guide").settings["client_secret"]
        (self.folder / "AuthKey_F6G7H8I9J0.p8").write_text(key)
        self.follow_google()
        for heading, name, preset in [
                ("Apple", "apple", "apple"), ("Microsoft", "microsoft", "microsoft"),
                ("Any issuer of OpenID Connect", "work", "oidc"),
                ("Any server of OAuth 2", "forum", "oauth2")]:
            [script] = scripts(part(heading))
            self.follow(script)
            self.assertEqual(self.presets().get(name), preset)
        [script] = scripts(part("Choose services"))
        listing, change, deletion = script.splitlines()
        self.assertIn("google", self.script(listing))
        self.script(change)
        google = self.shown("google")
        self.assertEqual((google["position"], google["domains"]), (1, ["example.com"]))
        [script] = scripts(part("Put a button on your own page"))
        public = json.loads(self.script(script))
        self.assertIn({"name": "forum", "label": "Forum", "preset": "oauth2"}, public)
        self.script(f"{deletion} --yes")
        self.assertNotIn('"google"', self.script(script))

    def test_each_service_of_the_table_is_a_preset(self):
        table = part("Choose services")
        for name in re.findall(r"(?m)^\| `(\w+)` \| an? ", table):
            # Apple, any issuer and any server need more, and have headings of their own.
            if name not in ["apple", "oidc", "oauth2"]:
                run = self.site.dossier(
                    "connection", "create", name, "--app", "default", "client_id=shop",
                    "client_secret=@-", check=False, given="a secret")
                self.assertEqual(self.presets().get(name), name, run.stderr)

    def test_the_names_of_attributes_and_pages_exist(self):
        self.follow_google()
        known = {*self.shown("google"), "client_secret"}
        named = set(re.findall(r"`([a-z_]+)(?:=[^`]*)?`", part("Which addresses are linked")))
        self.assertLessEqual({"email_trust", "link"}, named & known)
        for name in re.findall(r"(?:^|[ `])([a-z_]+)=(?:true|false|auto|never|always|verified)", TEXT):
            self.assertIn(name, known | {"confirm_sign_in", "email_verified", "refresh_profile"})
        texts = json.loads((GUIDES / "../../../deploy/languages/en.json").resolve().read_text())
        templates = {re.sub(r"{{issuer}}", "Google", text) for text in texts.values()
                     if isinstance(text, str)}
        for quoted in re.findall(r'(?m)^\| "([^"]+)" \|', part("What goes wrong")):
            self.assertIn(quoted, templates)

    def test_the_token_of_an_sdk(self):
        """The app sends the token as the guide shows it."""
        google = self.connect("google", "sdk", audiences=["ios"], email_trust="verified")
        google.is_new()
        [script] = scripts(part("Sign in by the SDK of a service"))
        token = google.native_token(aud="ios", nonce="n-0S6_WzA2Mj")
        script = script.replace("eyJhbGciOi…", token).replace('"google"', '"sdk"')
        grant = json.loads(self.script(script))
        self.assertEqual(self.owner(google), grant["user_id"])

    def test_a_button_of_a_page_needs_no_page_of_dossier(self):
        google = self.connect("google", email_trust="verified")
        [name] = re.findall(r'connection: "(\w+)"', part("Put a button on your own page"))
        answer = self.visitor.open(Party(self, self.spa, connection=name).path, follow=False)
        while answer.status in [302, 303] and answer.location.startswith("/"):
            answer = self.visitor.open(answer.location, follow=False)
        self.assertTrue(answer.location.startswith(f"{google.base}/authorize?"), answer.text)
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(answer.location).query)
        [row] = re.findall(r"starts it \| `.*?` \| `(.*?)` \|", TEXT)
        self.assertEqual(query["redirect_uri"], [self.written(row)])


class Demo(DemoCase):
    """The server that `deploy/up` starts, its demo, and a second app in Chromium."""

    SETTINGS = "export DOSSIER_ISSUER_NETWORK=any; "

    def script(self, text, **values):
        text = re.sub(r"(127\.0\.0\.1|localhost):8080", rf"\1:{self.port}", text)
        for name, value in values.items():
            text = re.sub(rf"\b{name}\b", value, text)
        run = subprocess.run(
            ["bash", "-euc", text], cwd=self.data, capture_output=True, text=True, timeout=120,
            env={**os.environ, "PATH": f"{self.data}:{os.environ['PATH']}"})
        self.assertEqual(run.returncode, 0, text + run.stdout + run.stderr)
        return run.stdout

    def test_an_app_signs_in_at_another_one(self):
        first, second = scripts(section(GUIDE, TRY))
        printed = self.script(first)
        values = dict(re.findall(r"(?m)^(id|secret) +(\S+)$", printed))
        self.script(second, CLIENT_ID=values["id"], CLIENT_SECRET=values["secret"])
        self.browser.open(f"http://localhost:{self.port}/demo/")
        self.status("You're signed out.")
        self.press("#sign-in")
        button = "a[href$='/connect/accounts']"

        def shows():
            # A worker can have the app in its cache from before.
            if self.browser.has("#email") and not self.browser.has(button):
                self.browser.driver.refresh()
            return self.browser.has(button)
        self.browser.wait(shows, button)
        self.press(button)
        self.browser.wait(lambda: self.browser.has("#email"), "the other app")
        self.assertTrue(self.browser.driver.current_url.startswith(f"http://127.0.0.1:{self.port}/"))
        [email] = re.findall("Sign in as `(.*?)`", section(GUIDE, TRY))
        self.fill(email=email)
        self.fill(password=self.PASSWORD)
        self.press("button[value=allow]")
        self.status("You're signed in.")
        self.assertEqual(self.browser.text("#name"), "Grace Hopper")
        self.assertEqual(self.browser.text("#email"), email)


if __name__ == "__main__":
    unittest.main()
