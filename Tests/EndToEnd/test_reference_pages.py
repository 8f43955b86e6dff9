"""The pages of the reference, and their search, with and without a browser's scripts."""

import html
import re
import unittest
import urllib.parse

from selenium.webdriver.common.keys import Keys

from browser import Browser
from cases import Case


class Searched(Case):
    """The search by the server, without a script."""

    def search(self, words, **more):
        """Returns the routes and titles that a search finds, and the page."""
        query = urllib.parse.urlencode({"q": words, **more})
        text = self.expect(self.site.get(f"/reference?{query}"), 200).body.decode()
        results = re.findall(
            r'<li><a href="([^"]*)">(.*?)</a>.*?</span> <(?:code|span)>(.*?)</(?:code|span)></p></li>',
            text.partition('id="results"')[2], re.S)
        for address, _, _ in results:
            self.expect(self.site.get(address.partition("#")[0]), 200)
        return [html.unescape(detail if re.match("[A-Z]{3,} /", detail) else title)
                for _, title, detail in results], text

    def test_the_search_finds_common_words_error_codes_and_text(self):
        for words, first in [
                ("sign up", {"POST /v1/register", "POST /v1/login/code"}),
                ("forgot password", {"POST /v1/password/reset-request", "POST /v1/password/reset"}),
                ("avatar", {"PUT /v1/me/picture", "GET /v1/pictures/{picture}"}),
                ("guest", {"POST /v1/login/anonymous", "POST /v1/me/identities"}),
                ("verify email", {"POST /v1/email/verify", "POST /v1/email/verify/request"}),
                ("authenticator app", {"POST /v1/me/second-factors", "POST /v1/login/second-factor"}),
                ("sign out all", {"POST /v1/device/logout"}),
                ("Delete  ACCOUNT!", {"DELETE /v1/me", "DELETE /v1/users/{user}"}),
                ("patch custom", {"PATCH /v1/me/custom-data", "PATCH /v1/users/{user}/custom-data"}),
                ("switch to", {"PUT /v1/device/active"}),
                ("pagination", {"Lists"}), ("paging", {"Lists"}), ("next page", {"Lists"}),
                ("logout everywhere", {"DELETE /v1/me/sessions", "DELETE /v1/users/{user}/sessions"}),
                ("log out", {"POST /v1/logout", "POST /v1/device/logout"}),
                ("logoff", {"POST /v1/logout"}), ("erase user", {"DELETE /v1/me"}),
                ("social login", {"POST /v1/login/jwt", "POST /v1/issuers"}),
                ("google", {"POST /v1/login/jwt"}), ("magic link", {"POST /v1/login/code/request"}),
                ("rate limit", {"POST /v1/rate-limits/reset", "Errors"}), ("throttling", {"Errors"}),
                ("optimistic locking", {"Versions and conflicts"}), ("ETag", {"Versions and conflicts"}),
                ("2FA", {"POST /v1/me/second-factors"}), ("RBAC", {"PUT /v1/users/{user}/roles/{role}"}),
                ("ban user", {"PATCH /v1/users/{user}"}), ("GDPR export", {"GET /v1/me/export"}),
                ("curl", {"Run the examples"}), ("JWKS", {"GET /v1/apps/{app}/jwks.json"}),
                ("stay signed in", {"POST /v1/token/refresh"}), ("CORS", {"PATCH /v1/apps/{app}"}),
                # Codes, and the routes that answer them.
                ("email_taken", {"email_taken", "POST /v1/me/email", "POST /v1/register"}),
                ("json.duplicate_key", {"json.duplicate_key"}), ("error codes", {"Errors"}),
                # Members, settings, operators, and words that occur only in a text.
                ("device_secret", {"Tokens"}), ("session_days", {"session_days"}),
                ("$addToSet", {"$addToSet"}), ("bcrypt", {"NewUser"}), ("SHA-crypt", {"NewUser"})]:
            found, text = self.search(words)
            self.assertLessEqual(first, set(found), words)
            self.assertLess(len(found), 25, (words, found))
            self.assertIn(f">{len(found)} result", text)
        # The place itself is before the places that mention it.
        self.assertEqual(self.search("email_taken")[0][0], "email_taken")
        self.assertEqual(self.search("tenant", **{"for": "users"})[0], [])
        self.assertIn("POST /v1/apps", self.search("tenant")[0])

    def test_a_search_without_results_and_one_with_too_many(self):
        found, text = self.search("zebra crossing")
        self.assertEqual(found, [])
        self.assertIn("Nothing here has these words.", text)
        self.assertIn('href="/reference/signing-in"', text)
        found, text = self.search("a")
        self.assertEqual(len(found), 50)
        self.assertRegex(text, r"The first 50 of \d{3} results")
        # Without a word, it is the start.
        for words in ["", "   "]:
            self.assertIn('id="routes"', self.search(words)[1])

    def test_markup_in_a_search_stays_text(self):
        for words in ["</title><script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>",
                      "'\u0301\"\u0301<\u0301u>", "\u202e&amp;", "!!!", "ä" * 100, "a b " * 25]:
            _, text = self.search(words)
            for part in ["<script>", "<img", "<u>", "<\u0301u", 'value="\"', "&amp;amp;" * 2]:
                self.assertNotIn(part, text, words)
            self.assertIn(f'value="{html.escape(words)}"'.replace("&#x27;", "&#39;"), text)


class Shown(Case):
    """The pages in a browser."""

    # Takes long for its number of tests.
    LONG = True

    def setUp(self):
        self.browser = Browser()
        self.addCleanup(self.browser.stop)

    def open(self, path):
        self.browser.open(f"http://127.0.0.1:{self.site.port}{path}")

    def path(self):
        return self.browser.script("return location.pathname + location.search + location.hash")

    def listed(self):
        return self.browser.script(
            "return [...document.querySelectorAll('#suggestions li > a')]"
            ".filter((item) => item.offsetParent).map((item) => item.textContent)")

    def look(self, widths):
        """Checks the page in both color schemes and several widths."""
        self.assertEqual(self.browser.faults_of_views(), [], self.path())
        for width in widths:
            self.browser.emulate("light", width)
            with self.subTest(self.path(), width=width):
                self.assertLessEqual(
                    self.browser.script("return document.documentElement.scrollWidth"), width)

    def test_results_appear_while_the_user_types(self):
        self.open("/reference/users")
        field = self.browser.find("#q")
        field.send_keys("switch to")
        title = "Switch to another user of the device"
        self.browser.wait(lambda: self.listed()[:1] == [title], "the result")
        self.assertRegex(
            self.browser.find("#status").get_attribute("textContent"), r"^\d results$")
        self.browser.type("#q", "zebra crossing")
        self.browser.wait(lambda: "Nothing here has these words."
                          in self.browser.text("#suggestions"), "no result")
        self.browser.type("#q", "avatar")
        self.browser.wait(lambda: len(self.listed()) > 4, "the results")
        field.send_keys(Keys.ESCAPE)
        self.assertEqual(self.listed(), [])
        field.send_keys(" ", Keys.BACKSPACE)
        self.browser.wait(lambda: len(self.listed()) > 4, "the results again")
        field.send_keys(Keys.ARROW_DOWN)
        self.browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
        self.browser.wait(lambda: "Picture" in self.path(), "the first result")
        self.assertEqual(self.listed(), [])
        self.browser.type("#q", "avatar\n")
        self.browser.wait(lambda: self.path() == "/reference?q=avatar", "all results")
        # No other script runs.
        self.browser.complaints()
        self.browser.script("const script = document.createElement('script');"
                            "script.textContent = 'window.ran = true'; document.body.append(script);")
        self.assertFalse(self.browser.script("return window.ran === true"))
        self.assertIn("Content Security Policy", " ".join(self.browser.complaints()))

    def test_old_urls_redirect_to_their_sections(self):
        for old, new in [("/reference#auth.register", "/reference/signing-in#auth.register"),
                         ("/reference?for=users#auth.register",
                          "/reference/signing-in?for=users#auth.register"),
                         ("/reference#documents", "/reference/documents"),
                         ("/reference#Tokens", "/reference?q=Tokens"),
                         ("/reference#operator-addToSet", "/reference?q=addToSet"),
                         ("/reference#versions", "/reference#versions")]:
            self.open("/problems/validation_failed")
            self.open(old)
            self.browser.wait(lambda: self.path() == new, f"{new} instead of {self.path()}")

    def test_each_view_fits_its_screen_and_is_accessible(self):
        for path, heading in [
                ("/reference", "API reference"), ("/reference/signing-in", "Signing in"),
                ("/reference/errors", "Errors"), ("/reference?q=avatar", "Results for “avatar”"),
                ("/reference?q=zebra", "Results for “zebra”"), ("/problems/email_taken", "email_taken")]:
            self.open(path)
            self.assertEqual(self.browser.text("h1"), heading)
            self.look([1280, 375, 320])
        self.open("/reference/documents")
        field = self.browser.find("#q")
        field.send_keys("delete")
        self.browser.wait(lambda: len(self.listed()) > 4, "the results")
        self.look([1280, 375])

    def test_examples_are_beside_the_prose_or_below_it(self):
        self.open("/reference/signing-in")
        places = """
            const of = (part) => document.querySelector(`[id="auth.register"] ${part}`).getBoundingClientRect();
            const [prose, examples] = [of(".prose"), of(".examples")];
            return [prose.right <= examples.left, prose.bottom <= examples.top];
            """
        folded = "return !document.querySelector('#contents').open"
        for width, beside in [(1280, True), (1000, False), (375, False)]:
            self.browser.emulate("light", width)
            self.browser.wait(lambda: self.browser.script(folded) == (width < 960), "the navigation")
            self.assertEqual(self.browser.script(places), [beside, not beside], width)
        current = "return document.querySelector('nav [aria-current=page]').textContent"
        self.assertEqual(self.browser.script(current), "Signing in")
        # A long line scrolls in its example, also by keys.
        self.assertTrue(self.browser.script("""
            const wide = [...document.querySelectorAll("pre")].filter((pre) => pre.scrollWidth > pre.clientWidth);
            return wide.length > 0 && wide.every((pre) => pre.tabIndex === 0);
            """))

    def test_it_works_without_a_script(self):
        self.browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        self.open("/reference/signing-in")
        # A wide screen shows the navigation, a narrow one unfolds it.
        self.assertEqual(self.browser.script(
            "return document.elementFromPoint(100, 100).getAttribute('aria-current')"), "page")
        self.browser.emulate("light", 375)
        top = self.browser.find("main").rect["y"]
        self.browser.find("nav summary").click()
        self.assertGreater(self.browser.find("main").rect["y"], top + 300)
        self.browser.find("#q").send_keys("forgot password", Keys.ENTER)
        self.browser.wait(lambda: "Email a token that resets a password"
                          in self.browser.text("main"), "the results")
        self.browser.find("#results a").click()
        self.browser.wait(lambda: self.browser.driver.current_url.endswith(
            "/reference/signing-in#auth.requestPasswordReset"), "the place")


if __name__ == "__main__":
    unittest.main()
