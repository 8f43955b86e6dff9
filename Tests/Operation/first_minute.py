"""Follows the first chapters of README.md on a server that runs, however it was started."""

import os
import re
import shutil
import subprocess

from browser import Browser
from guide import ROOT, commands, section
from machine import free_port, is_listening, wait_until

README = (ROOT / "README.md").read_text()


class FirstMinute:
    """Tests for a class with the server's `port` and an empty `folder`."""

    def run_script(self, script):
        run = subprocess.run(["bash", "-ec", script.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}")],
                             capture_output=True, text=True, cwd=self.folder, timeout=120)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout

    def test_the_requests_of_the_readme(self):
        requests, = commands("Try it", README)
        said = self.run_script(requests)
        self.assertIn('"email":"ada@example.org"', said)
        self.assertRegex(said, '"theme": ?"dark"')

    def test_the_demo_and_a_page_of_ones_own(self):
        self.run_script(f"curl -s -X POST http://127.0.0.1:8080/v1/register -H 'Content-Type: application/json' "
                        "-d '{\"email\":\"page@example.com\",\"password\":\"correct horse battery\"}'")
        text = section("Call the API from a web page", README)
        page = re.search(r"(?s)```html\n(.*?)```", text)[1]
        page = page.replace("127.0.0.1:8080", f"127.0.0.1:{self.port}").replace("ada@example.org", "page@example.com")
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
