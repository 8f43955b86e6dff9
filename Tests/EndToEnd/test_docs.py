"""The documentation as a site: every link, and reading and searching it without a server."""

import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest
import urllib.parse

from browser import Browser
from deployment import Deployment
from machine import BUILD, ROOT

WIDTHS = [390, 1280]


class Links(html.parser.HTMLParser):
    """The links and the ids of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [attributes[name] for name in ("href", "src") if name in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []


class Docs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="dossier-docs-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.site = cls.folder / "a site"
        run = subprocess.run([ROOT / "deploy/docs", "--programs", BUILD, "--output", cls.site],
                             capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        cls.pages = {path: Links(path.read_text()) for path in cls.site.rglob("*.html")}
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.stop)

    def open(self, address):
        self.browser.open(f"file://{urllib.parse.quote(str(self.site))}/{address}")

    def make(self, root):
        """Makes the site of other guides, without a reference."""
        return subprocess.run(
            [ROOT / "deploy/site/make", root, "1.2.3", root / "site"], capture_output=True, text=True,
            input='{"pages": {}, "openapi": "{}", "stylesheet": "", "script": "", "places": []}')

    # Links

    def test_every_link_leads_to_a_page_and_a_place_in_it(self):
        count = 0
        for page, parsed in self.pages.items():
            self.assertEqual(len(parsed.ids), len(set(parsed.ids)), page)
            for link in parsed.links:
                url = urllib.parse.urlsplit(link)
                if url.scheme:
                    self.assertIn(url.scheme, ["http", "https"], link)
                    continue
                target = page
                if url.path:
                    target = pathlib.Path(os.path.normpath(page.parent / urllib.parse.unquote(url.path)))
                with self.subTest(page=page.name, link=link):
                    self.assertTrue(target.is_file())
                    if url.fragment:
                        self.assertIn(urllib.parse.unquote(url.fragment), self.pages[target].ids)
                count += 1
        self.assertGreater(count, 5_000)

    def test_every_guide_and_every_chapter_is_in_the_navigation(self):
        text = " ".join(html.unescape(re.sub("<[^>]*>", "", path.read_text()))
                        for path in self.site.rglob("*.html"))
        guides = subprocess.run(["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "*.md"], cwd=ROOT,
                                capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
        self.assertGreater(len(guides), 60)
        for guide in guides:
            # The start of a sentence without marks.
            start = re.search(r"(?m)^[A-Z][^`*\[\]\n]{5,50}", (ROOT / guide).read_text())[0].rstrip()
            self.assertIn(start, text, guide)
        start = (self.site / "index.html").read_text()
        for path in [*self.site.glob("*.html"), *self.site.glob("reference/*.html")]:
            if path.name != "search.html":
                self.assertIn(f'href="{urllib.parse.quote(str(path.relative_to(self.site)))}"', start)

    def test_a_link_that_leads_nowhere_is_an_error(self):
        for number, (text, error) in enumerate([
            ("# Title\n\n[x](other.md)\n", "README.md links other.md, which is no file"),
            ("# Title\n\n[x](../../etc/passwd)\n", "README.md links ../../etc/passwd"),
            ("# Title\n\n[x](#nowhere)\n", "index.html links #nowhere, which is nowhere"),
            ("# Title\n\n[x](.github/B.md#nowhere)\n", "index.html links b.html#nowhere"),
            ("Text.\n", "README.md has no title"),
            ("# Title\n\n```cobol\nx\n```\n", "README.md has code in the language cobol"),
        ]):
            root = self.folder / str(number)
            (root / ".github").mkdir(parents=True)
            (root / "deploy/web").mkdir(parents=True)
            (root / "deploy/web/dossier.d.ts").write_text("")
            (root / ".github/B.md").write_text("# B\n\n## There\n\n[back](../README.md#title)\n")
            (root / "README.md").write_text(text)
            with self.subTest(text):
                run = self.make(root)
                self.assertEqual(run.returncode, 1)
                self.assertIn(error, run.stderr)
        (root / "README.md").write_text("# Title\n\n[x](.github/B.md#there) <script>alert(1)</script>\n")
        run = self.make(root)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("<script>", (root / "site/index.html").read_text())

    # Reading

    def test_a_search_finds_guides_and_routes(self):
        self.open("index.html")
        for typed, title, page in [
            ("forgot pass", "Set a new password", "reference/signing-in.html#"),
            ("keep configuration files", "Keep the configuration in files", "deploy.html"),
            ("four decisions", "Four decisions", "contributing.html"),
            ("version_conflict", "version_conflict", "problems/"),
        ]:
            with self.subTest(typed):
                self.browser.type("#q", typed)
                self.browser.wait(lambda: title in self.browser.text("#suggestions"), title)
                links = self.browser.script(
                    "return [...document.querySelectorAll('#suggestions a')].map((a) => a.href)")
                self.assertTrue(any(page in link for link in links), links)
        self.browser.type("#q", "xyzzy")
        self.browser.wait(lambda: "Nothing here" in self.browser.text("#suggestions"), "nothing")
        # The page of results, from a page in a folder.
        self.open("reference/index.html")
        self.browser.type("#q", "configuration in files <b>")
        self.browser.find("form button").click()
        self.browser.wait(lambda: self.browser.has("#found a"), "the results")
        self.assertEqual(self.browser.script("return document.getElementById('q').value"),
                         "configuration in files <b>")
        self.browser.script("document.querySelector('#found a').click()")
        self.browser.wait(lambda: self.browser.has("h2#keep-the-configuration-in-files"), "the guide")
        top = self.browser.script("return document.querySelector(location.hash).getBoundingClientRect().top")
        self.assertTrue(0 <= top < 300, top)
        self.assertEqual(self.browser.complaints(), [])

    def test_a_button_copies_a_code_block(self):
        self.open("index.html")
        self.browser.driver.execute_cdp_cmd("Browser.grantPermissions", {
            "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        self.browser.script("document.querySelector('figure button').click()")
        self.browser.wait(lambda: self.browser.text("figure button") == "Copied", "the button")
        copied = self.browser.evaluate("return await navigator.clipboard.readText()")
        self.assertEqual(copied, self.browser.script("return document.querySelector('figure pre').textContent"))
        self.assertIn("podman", copied)

    def test_pages_are_accessible_and_fit_in_both_schemes(self):
        backgrounds = set()
        for address in ["index.html", "deploy.html", "modules.html", "search.html?q=session",
                        "reference/users.html", "problems/not_found.html"]:
            self.open(address)
            with self.subTest(address):
                self.assertEqual(self.browser.faults_of_views(), [])
            for scheme in ["light", "dark"]:
                for width in WIDTHS:
                    self.browser.emulate(scheme, width)
                    self.assertLessEqual(
                        self.browser.script("return document.documentElement.scrollWidth"), width, address)
                    backgrounds.add(self.browser.script(
                        "return getComputedStyle(document.body).backgroundColor"))
                    if shots := os.environ.get("DOSSIER_PAGES_FOLDER"):
                        name = re.sub(r"\W+", "-", address)
                        self.browser.driver.save_screenshot(f"{shots}/docs-{name}-{scheme}-{width}.png")
        self.assertEqual(len(backgrounds), 2)
        # The navigation shows where the reader is.
        self.open("reference/users.html")
        self.assertTrue(self.browser.script("""
            const place = document.querySelector('nav [aria-current="page"]').getBoundingClientRect();
            return place.top >= 0 && place.bottom <= innerHeight"""))

    def test_the_pages_do_not_need_a_script(self):
        self.open("index.html")
        self.browser.emulate("light", 390)
        self.browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
        try:
            self.open("index.html")
            text = self.browser.text("body")
            self.assertIn("podman run", text)
            self.browser.find("#contents summary").click()
            self.browser.find('#contents a[href="deploy.html"]').click()
            self.browser.wait(lambda: "deploy.html" in self.browser.driver.current_url, "the guide")
            self.open("search.html?q=x")
            self.assertIn("needs scripts", self.browser.text("#count"))
        finally:
            self.browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    def test_a_server_has_the_guides(self):
        self.folder.chmod(0o755)
        site = Deployment(nginx=[("/usr/share/dossier/docs/", f"{self.site}/")])
        self.addCleanup(site.stop)
        self.assertEqual((site.get("/docs").status, site.get("/docs").headers["Location"]), (302, "/docs/"))
        base = f"http://127.0.0.1:{site.port}"
        # From the reference of the server to the guides.
        self.browser.open(f"{base}/reference")
        self.browser.script("document.querySelector('a[href=\"/docs/\"]').click()")
        self.browser.wait(lambda: self.browser.has("h1#dossier"), "the guides")
        self.browser.wait(lambda: self.browser.script(
            "return [...document.images].every((image) => image.complete && image.naturalWidth > 0)"), "the pictures")
        self.browser.type("#q", "keep configuration files")
        self.browser.wait(lambda: "Keep the configuration" in self.browser.text("#suggestions"), "the search")
        self.browser.script("document.querySelector('#suggestions a').click()")
        self.browser.wait(lambda: self.browser.has("h2#keep-the-configuration-in-files"), "the guide")
        self.assertEqual(self.browser.complaints(), [])
        for path in ["/docs/../dossier.conf", "/docs/nothing.html", "/docs/assets/"]:
            self.assertNotEqual(site.get(path).status, 200, path)
        answer = site.get("/docs/assets/site.css")
        self.assertEqual(answer.headers["Content-Type"], "text/css; charset=utf-8")
        self.assertIn("default-src 'none'", answer.headers["Content-Security-Policy"])

    def test_without_the_guides_their_place_leads_to_the_reference(self):
        site = Deployment(nginx=[("/usr/share/dossier/docs/", f"{self.folder}/nothing/")])
        self.addCleanup(site.stop)
        for path in ["/docs/", "/docs/deploy.html"]:
            answer = site.get(path)
            self.assertEqual((answer.status, answer.headers["Location"]), (302, "/reference"))


if __name__ == "__main__":
    unittest.main()
