"""Headless Chromium, and pages of another origin than the server's."""

import functools
import http.server
import json
import threading

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from machine import ROOT, TOOLS_FOLDER

# Only prevents a hang.
PATIENCE = 120


class Pages:
    """Serves a folder at `origin`."""

    def __init__(self, folder=ROOT / "deploy/web"):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def send_error(self, code, *_):
                # Browsers ask for an icon by themselves.
                super().send_error(204 if self.path == "/favicon.ico" else code)

        handler = functools.partial(Quiet, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Browser:
    """One browser with a new profile."""

    def __init__(self, width=1200, height=900, records=False, third_party_cookies=True):
        """`records` enables `navigations`. Without `third_party_cookies`, frames of other sites have none."""
        options = Options()
        # Chromium without the parts that draw windows. The script in /usr/bin would be stopped in its
        # place, and leave it running.
        options.binary_location = "/usr/lib/chromium/chromium-headless-shell"
        # Tests may run as root, with a small /dev/shm, and in parallel.
        for argument in ["--no-sandbox", "--disable-dev-shm-usage",
                         "--disable-gpu", f"--window-size={width},{height}"]:
            options.add_argument(argument)
        if not third_party_cookies:
            # Chromium without windows reads no preferences.
            options.add_argument("--test-third-party-cookie-phaseout")
        options.set_capability("goog:loggingPrefs", {
            "browser": "ALL", **({"performance": "ALL"} if records else {})})
        self.driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
        self.driver.set_script_timeout(PATIENCE)

    def stop(self):
        self.driver.quit()

    def open(self, url):
        self.driver.get(url)

    def has(self, selector):
        """Returns whether the whole page has arrived, with such an element."""
        return self.script("return document.readyState") == "complete" and bool(self.all(selector))

    def complaints(self):
        """Returns the warnings and errors that reached the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] in ["WARNING", "SEVERE"]]

    def navigations(self):
        """Returns the URLs that the browser was sent to since the last call, in their order."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Page.frameRequestedNavigation":
                found.append(message["params"]["url"])
            elif message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def wait(self, condition, what):
        # The page may change between two steps of the condition.
        stale = [StaleElementReferenceException]
        return WebDriverWait(self.driver, PATIENCE, 0.05, stale).until(
            lambda _: condition(), f"{what} did not come true")

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector="body"):
        """Returns the text of an element, once the page has it and does not change while it is read."""
        return self.wait(lambda: [self.find(selector).text], selector)[0]

    def press(self, label):
        """Presses the button, or follows the link, with a label, once the page has it."""
        def is_pressed():
            found = [item for item in self.all("button, a") if item.text.strip() == label]
            if found:
                found[0].click()
            return bool(found)
        self.wait(is_pressed, label)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def type(self, selector, text):
        field = self.find(selector)
        # As `clear` does, without leaving the field in between.
        self.driver.execute_script("arguments[0].value = ''", field)
        field.send_keys(text)

    def choose(self, selector, value):
        Select(self.find(selector)).select_by_value(value)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def emulate(self, scheme, width):
        """Sets the color scheme and the width of the window, and disables transitions."""
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": scheme},
                         # Colors in transition have no contrast yet.
                         {"name": "prefers-reduced-motion", "value": "reduce"}]})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
        assert self.script("return innerWidth") == width

    def axe_faults(self, rules=None):
        """Returns the violations that axe finds in the page, by all rules or some of them."""
        self.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
        if not self.script("return 'axe' in window"):
            self.script((TOOLS_FOLDER / "axe.min.js").read_text())
        passed, faults = self.evaluate("""
            const { violations, passes } = await axe.run(
              given[0] ? { runOnly: given[0] } : {});
            return [passes.length, violations.map(({ id, nodes }) =>
              `${id}: ${nodes.length}, ${nodes[0].html} ${nodes[0].failureSummary}`)];
            """, rules)
        assert passed > (0 if rules else 10), passed
        return faults

    def faults_of_views(self):
        """Returns the violations that axe finds in a wide window, in both color schemes.

        Of axe's rules, only that of colors differs between the views. The window stays light.
        """
        self.emulate("dark", 1280)
        faults = self.axe_faults(["color-contrast"])
        self.emulate("light", 1280)
        return faults + self.axe_faults()

    def evaluate(self, text, *arguments):
        """Runs the body of an async function. Returns its result or its failure."""
        value, error = self.driver.execute_async_script(
            "const give = arguments[arguments.length - 1], given = [...arguments].slice(0, -1);"
            f"(async (...given) => {{ {text} }})(...given)"
            ".then((value) => give([value, null]), (error) => give([null, String(error)]));",
            *arguments)
        assert error is None, error
        return value
