"""Follows the first chapters of README.md: `deploy/up`, the demo, the requests, and a web page of one's own."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

from browser import Browser
from guide import ROOT, commands, section
from machine import free_port, is_listening, wait_until

README = (ROOT / "README.md").read_text()


class Start(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        up, cls.requests = commands("Start", README)
        cls.folder = tempfile.mkdtemp(prefix="dossier-start-", dir="/tmp")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        os.chmod(cls.folder, 0o755)
        cls.port = free_port()
        cls.log = os.path.join(cls.folder, "log")
        command = up.split("#")[0].strip() + f" --port {cls.port} --data {cls.folder}/data"
        # The programs of the test build are not those of deploy/up.
        environment = {name: value for name, value in os.environ.items() if name != "DOSSIER_TESTED"}
        with open(cls.log, "wb") as log:
            cls.server = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=ROOT, env=environment,
                                          stdout=log, stderr=log, start_new_session=True)
        cls.addClassCleanup(cls.stop)
        # A build from nothing takes a quarter of an hour.
        wait_until(lambda: cls.server.poll() is not None or "Ctrl-C stops" in cls.said(), 3600, "deploy/up")
        if cls.server.poll() is not None:
            raise AssertionError(cls.said())

    @classmethod
    def said(cls):
        with open(cls.log) as log:
            return log.read()

    @classmethod
    def stop(cls):
        # As Ctrl-C does.
        os.killpg(cls.server.pid, signal.SIGINT)
        cls.server.wait(120)
        if is_listening(cls.port):
            raise AssertionError("nginx still listens: " + cls.said())

    def run_script(self, script):
        run = subprocess.run(["bash", "-ec", script.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")],
                             capture_output=True, text=True, cwd=self.folder, timeout=120)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout

    def test_the_requests_of_the_readme(self):
        said = self.run_script(self.requests)
        self.assertIn('"email":"ada@example.com"', said)
        self.assertIn('"theme":"dark"', said)

    def test_the_requests_that_it_prints(self):
        said = self.run_script("\n".join(re.findall(r"(?m)^  ((?:B|J|M|R|A)=.*|curl .*)$", self.said())))
        self.assertIn('"level":7', said)
        self.assertIn("session_ended", said.splitlines()[-1])
        for command in re.findall(r"(?m)^  (/\S*/(?:dossier|psql) .*)$", self.said()):
            self.run_script(f"{command} <<<'select 1'")

    def test_the_demo_and_a_page_of_ones_own(self):
        self.run_script(f"curl -s -X POST http://127.0.0.1:8080/v1/register -H 'Content-Type: application/json' "
                        "-d '{\"email\":\"page@example.com\",\"password\":\"correct horse battery\"}'")
        text = section("Call the API from a web page", README)
        page = re.search(r"(?s)```html\n(.*?)```", text)[1]
        page = page.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}").replace("ada@example.com", "page@example.com")
        web, port = os.path.join(self.folder, "web"), free_port()
        shutil.copytree(ROOT / "deploy/web", web)
        with open(os.path.join(web, "mine.html"), "w") as file:
            file.write(page)
        serve, = commands("Call the API from a web page", README)
        serve = serve.replace("deploy/web", web).replace(" 9000", f" {port}").strip()
        pages = subprocess.Popen(["bash", "-c", f"exec {serve}"], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        self.addCleanup(pages.wait)
        self.addCleanup(pages.terminate)
        wait_until(lambda: is_listening(port), what="the server of pages")
        browser = Browser()
        self.addCleanup(browser.stop)
        browser.open(f"http://127.0.0.1:{port}/mine.html")
        browser.wait(lambda: "page@example.com" in browser.find("body").text, "the address of the user")
        browser.open(f"http://127.0.0.1:{self.port}/demo/")
        browser.wait(lambda: browser.all("button"), "the demo")


if __name__ == "__main__":
    unittest.main()
