"""Follows the first chapters of README.md on a server that runs, however it was started."""

import os
import subprocess

import readme_page
from browser import Browser
from guide import commands
from machine import free_port, is_listening, wait_until
from readme_page import README


class FirstMinute:
    """Tests for a class with the server's `port` and an empty `folder`."""

    def run_script(self, script):
        run = subprocess.run(["bash", "-ec", script.replace("localhost:8080", f"localhost:{self.port}")],
                             capture_output=True, text=True, cwd=self.folder, timeout=120)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout

    def test_the_requests_of_the_readme(self):
        requests, = commands("Try it", README)
        for _ in range(2):
            said = self.run_script(requests)
            self.assertIn('"email":"ada@example.org"', said)
            self.assertRegex(said, '"theme": ?"dark"')

    def test_the_demo_and_a_page_of_ones_own(self):
        self.run_script(commands("Try it", README)[0])
        page, port = os.path.join(self.folder, "page"), free_port()
        os.makedirs(page, exist_ok=True)
        with open(os.path.join(page, "index.html"), "w") as file:
            file.write(readme_page.page(f"localhost:{self.port}"))
        serve, = commands("Build a page", README)
        pages = subprocess.Popen(["bash", "-c", f"exec {serve.replace(' 3000', f' {port}').strip()}"], cwd=page,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(pages.wait)
        self.addCleanup(pages.terminate)
        wait_until(lambda: is_listening(port), what="the server of pages")
        browser = Browser()
        self.addCleanup(browser.stop)
        for _ in range(2):
            readme_page.Visit(browser, f"http://127.0.0.1:{port}/").walk()
        browser.open(f"http://localhost:{self.port}/demo/")
        browser.wait(lambda: browser.all("button"), "the demo")
