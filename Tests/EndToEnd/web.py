"""A page of another origin in Chromium, and the client for web pages in it."""

from browser import Browser, Pages
from cases import Case
from machine import ROOT

WEB = ROOT / "deploy/web"
PASSWORD = "correct horse battery"


class WebCase(Case):
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

    def quiet(self, *expected):
        """That the console has nothing but what the page was refused on purpose."""
        complaints = self.browser.complaints()
        self.assertEqual(len(complaints), len(expected), complaints)
        for complaint, words in zip(complaints, expected):
            self.assertIn(words, complaint)

    def pass_time(self):
        """Lets an hour pass for the page, in which its tokens run out."""
        self.browser.script(
            "const now = Date.now.bind(Date); Date.now = () => now() + 3600 * 1000;")

    def refreshes(self):
        return sum(line["route"] == "POST /v1/token/refresh" for line in self.site.logged())

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
