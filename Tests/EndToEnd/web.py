"""A page of another origin in Chromium, with the client for web pages."""

from browser import Browser, Pages
from cases import Case
from machine import ROOT, wait_until

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
        self.browser = self.new_browser()

    def new_browser(self):
        browser = Browser()
        self.addCleanup(browser.stop)
        return browser

    def quiet(self, *expected):
        """Checks that the console has no errors but these."""
        complaints = self.browser.complaints()
        self.assertEqual(len(complaints), len(expected), complaints)
        for complaint, words in zip(complaints, expected):
            self.assertIn(words, complaint)

    def pass_time(self):
        """Advances the clock of the page by an hour, so that its tokens expire."""
        self.browser.script(
            "const now = Date.now.bind(Date); Date.now = () => now() + 3600 * 1000;")

    def refreshes(self):
        return sum(line["route"] == "POST /v1/token/refresh" for line in self.site.logged())

    def wait_for_one_refresh(self, before):
        wait_until(lambda: self.refreshes() > before, what="a refresh in the log")
        self.assertEqual(self.refreshes(), before + 1)

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


class PageCase(WebCase):
    """Tests of the sample page, as its user sees it."""

    def address(self, device="secret"):
        return f"{self.pages.origin}/?server={self.server}&device={device}"

    def open(self, device="secret"):
        self.browser.open(self.address(device))
        return self.said()

    def said(self):
        """Returns the report of the page, once it has finished."""
        self.browser.wait(
            lambda: self.browser.script(
                "const said = document.getElementById('said');"
                "return said.ariaBusy === 'false' && said.textContent !== ''"),
            "an answer")
        return self.browser.text("#said")

    def click(self, selector):
        self.browser.script("document.getElementById('said').textContent = ''")
        self.browser.find(selector).click()
        return self.said()

    def submit(self, form, button, **fields):
        for name, value in fields.items():
            self.browser.type(f"#{form} [name={name}]", value)
        return self.click(f"#{form} button{button}")

    def enter_as(self, way, email, password=PASSWORD):
        return self.submit("credentials", f"[value={way}]", email=email, password=password)

    def answer(self, value):
        """Enters the code or password that the page asks for."""
        return self.submit("answer", "", value=value)

    def me(self):
        return self.browser.text("#me").split()[0]

    def states(self):
        return {item.get_attribute("data-user"): item.find_element("css selector", "span").text
                .rsplit(", ")[1] for item in self.browser.all("#users li")}

    def ask(self, user, label):
        buttons = self.browser.script(
            "return [...document.querySelectorAll(`#users li[data-user='${arguments[0]}'] button`)]"
            ".map((button) => button.textContent)", user)
        place = buttons.index(label) + 1
        return self.click(f"#users li[data-user='{user}'] button:nth-of-type({place})")
