"""The guides for each kind of app, followed word for word from an empty folder."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.parse

import jwt

from browser import Browser
from hosted import PASSWORD, HostedCase
from machine import (
    BUILD, FOREIGN, ROOT, TOOLS_FOLDER, free_port, is_listening, wait_until)
from openid import Party, base64url, claims

GUIDES = ROOT / "Sources/OpenIDWire/OpenIDWire.docc"
PACKAGES = TOOLS_FOLDER / "relying-parties"
PYTHON = TOOLS_FOLDER / "bin/python"
WEB = "Build a web app with a server"
PAGE = "Build a single page app"
API = "Check tokens in an API"
PROGRAM = "Call an API from a program"
IOS = "Build an iOS app"
ANDROID = "Build an Android app"
# The headings whose code no test runs, and why.
NOT_RUN = {
    "Express": "its libraries are at npm; parsed below",
    "Write the page": "oidc-client-ts is at npm; parsed below",
    "Write the app": "needs a device; the Swift is parsed below",
    "Create the project": "these are settings of Android Studio",
    "Try it": "adb needs a device, and the request without a token is one of the tests",
}
# The programs that a virtual environment of a guide has. Its packages are those of the tests.
PROGRAMS = {"python": "", "flask": "-m flask", "django-admin": "-m django"}
INSTALLATION = re.compile(r"(?m)^(python3 -m venv venv|venv/bin/pip install (.*))\n")


def section(guide, heading):
    text = (GUIDES / f"{guide}.md").read_text()
    return re.search(rf"(?ms)^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text)[1]


def steps(guide, heading):
    """Yields the code of a section in its order: the name of a file, or None for a script, and the text."""
    for before, language, text in re.findall(
            r"(?ms)([^\n]*)\n\n```(\w+)\n(.*?)^```$", section(guide, heading)):
        name = re.search(r"`([\w./]+)`", before)
        yield (None if language == "sh" else name[1]), before.startswith("Add"), text


class GuideCase(HostedCase):
    """A reader who follows a guide, with another port for Dossier and for the app."""

    SETTINGS = {"DOSSIER_ISSUER": "http://127.0.0.1:{port}"}

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="dossier-guide-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.port = free_port()
        self.home = f"http://127.0.0.1:{self.port}/"
        self.values = {}
        self.environment = {
            **self.site.environment, "PATH": f"{self.folder}/bin:{os.environ['PATH']}",
            "PYTHONPATH": str(PACKAGES), "PYTHONDONTWRITEBYTECODE": ""}
        for name, words in [("bin/dossier", f'"{BUILD}/dossier"'), *(
                (f"venv/bin/{name}", f'"{PYTHON}" {words}') for name, words in PROGRAMS.items())]:
            program = self.folder / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
            program.chmod(0o755)

    def written(self, text):
        """Returns a text of the guide with the ports of this reader."""
        text = text.replace("localhost:8080", f"127.0.0.1:{self.site.port}")
        return re.sub(r"\b3000\b", str(self.port), text)

    def filled(self, script):
        """Returns a script with the values that the guide has a reader fill in."""
        for name, value in self.values.items():
            script = re.sub(rf"(?<![$\w]){name}(=…| )",
                            lambda found: f"{name}={value}" if found[1] == "=…" else f"{value} ",
                            script).replace(f"/{name}/", f"/{value}/")
        return script

    def script(self, text):
        """Runs a script of the guide. Remembers the variables that it exports."""
        for found in INSTALLATION.finditer(text):
            for name in re.findall(r"[A-Za-z][\w-]+(?!\w*\])", re.sub(r"\[.*?\]", "", found[2] or "")):
                subprocess.run(
                    [PYTHON, "-c", f"import importlib.metadata as m; m.version('{name}')"],
                    check=True, env=self.environment)
        script = self.filled(self.written(INSTALLATION.sub("", text)))
        run = subprocess.run(
            ["bash", "-euc", script + '\necho "--"; env'], cwd=self.folder, env=self.environment,
            capture_output=True, text=True, timeout=120)
        self.assertEqual(run.returncode, 0, script + run.stdout + run.stderr)
        printed, _, variables = run.stdout.partition("--\n")
        for name in ["CLIENT_ID", "CLIENT_SECRET", "SESSION_SECRET"]:
            value = re.search(rf"(?m)^{name}=(.*)$", variables)
            self.environment.update({name: value[1]} if value else {})
        return printed

    def register_client(self, guide, heading):
        """Runs the first script of a section, and notes the id and the secret that it prints."""
        printed = self.script(next(text for name, _, text in steps(guide, heading) if not name))
        for name, label in [("CLIENT_ID", "id"), ("CLIENT_SECRET", "secret")]:
            value = re.search(rf"(?m)^{label} +(\S+)$", printed)
            if value:
                self.values[name] = value[1]
        return printed

    @contextlib.contextmanager
    def served(self, guide, heading, starts):
        """Follows a section up to the script that starts the server, and serves."""
        for name, is_added, text in steps(guide, heading):
            if name:
                file = self.folder / name
                file.parent.mkdir(exist_ok=True)
                with open(file, "a" if is_added else "w") as stream:
                    stream.write(self.written(text))
            else:
                before, start, _ = text.partition(starts)
                self.script(before)
                if start:
                    break
        self.assertTrue(start, f"no script of {heading} has {starts}")
        with open(self.folder / "output", "w+") as output, subprocess.Popen(
                ["bash", "-c", "exec " + self.written(text[len(before):])], cwd=self.folder,
                env=self.environment, stdout=output, stderr=output) as process:
            try:
                wait_until(lambda: is_listening(self.port) or process.poll() is not None, what=heading)
                self.assertIsNone(process.poll(), (self.folder / "output").read_text())
                yield
            finally:
                process.terminate()

    def user_data_api(self):
        """Returns the id of the API of /v1."""
        found = [row["id"] for row in self.site.dossier("resource-server", "list")
                 if row["identifier"] == "/"]
        return found[0]


class Coverage(unittest.TestCase):
    def test_the_code_below_each_heading_is_run_or_listed(self):
        found = set()
        own = "".join(file.read_text() for file in pathlib.Path(__file__).parent.glob("test_app_guide*.py"))
        for guide in [WEB, PAGE, API, PROGRAM, IOS, ANDROID]:
            for heading in re.findall(r"(?m)^## (.*)$", (GUIDES / f"{guide}.md").read_text()):
                if "```" in section(guide, heading):
                    found.add(heading)
        self.assertEqual([heading for heading in found if f'"{heading}"' not in own], [])
        self.assertLessEqual(set(NOT_RUN), found)

    def test_the_code_that_is_not_run_has_no_syntax_error(self):
        parsers = {"js": ["node", "--check"], "swift": ["swiftc", "-frontend", "-parse"]}
        parsed = []
        for guide, heading in [(WEB, "Express"), (PAGE, "Write the page"), (IOS, "Write the app")]:
            for name, _, text in steps(guide, heading):
                parser = parsers.get((name or "").split(".")[-1].removeprefix("m"))
                if not parser:
                    continue
                suffix = ".mjs" if "node" in parser else ".swift"
                with tempfile.NamedTemporaryFile("w", suffix=suffix) as file:
                    file.write(text)
                    file.flush()
                    run = subprocess.run([*parser, file.name], capture_output=True, text=True)
                self.assertEqual(run.returncode, 0, run.stderr)
                parsed.append(name)
        self.assertEqual(parsed, ["app.mjs", "main.js", "Account.swift", "ContentView.swift"])


class AppCase(GuideCase):
    LONG = True

    def setUp(self):
        super().setUp()
        self.browser = Browser()
        self.addCleanup(self.browser.stop)
        self.email = self.own_email()

    def text(self):
        return self.browser.text()

    def waits(self, words):
        """Waits until the page shows words."""
        try:
            self.browser.wait(lambda: words in self.text(), words)
        except Exception as error:
            output = self.folder / "output"
            raise AssertionError(
                self.text() + (output.read_text() if output.exists() else "")) from error

    def press(self, label):
        self.browser.press(label)

    def fill(self, **fields):
        for name, value in fields.items():
            self.browser.wait(lambda: self.browser.has(f"#{name}"), name)
            field = self.browser.find(f"#{name}")
            if field.get_attribute("readonly") is None:
                self.browser.type(f"#{name}", value)
        field.submit()

    def theme(self):
        return self.browser.find("[name=theme]").get_property("value")

    def save(self, theme):
        self.browser.type("[name=theme]", theme)
        self.press("Save")

    def requests(self, route):
        """Returns the number of requests that this route has answered."""
        return (self.site.folder / "dossierd.log").read_text().count(f'"route":"{route}"')

    def refreshes(self):
        return self.requests("POST /oauth/token")

    def sign_up_at(self, page):
        self.browser.open(page)
        self.waits("Sign in")
        self.press("Sign in")
        self.waits("Continue to")
        self.press("Create account")
        self.fill(email=self.email, new_password=PASSWORD)
        self.waits(f"Hello {self.email}")


class Apps(AppCase):
    def check_web_app(self):
        """Does what "Try it" asks, and checks what the table promises."""
        self.sign_up_at(self.home)
        self.save("dark")
        self.browser.wait(lambda: self.browser.has("[name=theme]") and self.theme() == "dark", "dark")
        # Each access token is near its end now, so each call needs the next one.
        self.site.dossier("resource-server", "set", self.user_data_api(), "token_seconds=60")
        self.addCleanup(self.site.dossier, "resource-server", "set", self.user_data_api(),
                        "token_seconds=null")
        self.site.dossier("user", "logout", self.email, "--yes")
        self.browser.open(self.home)
        self.waits("session")
        self.assertNotIn("Hello", self.text())
        self.press("Sign in")
        self.fill(email=self.email)
        self.fill(password=PASSWORD)
        self.waits(f"Hello {self.email}")
        before = self.refreshes()
        for theme in ["light", "dark"]:
            self.save(theme)
            self.browser.wait(lambda: self.browser.has("[name=theme]") and self.theme() == theme, theme)
        wait_until(lambda: self.refreshes() >= before + 2, what="two refreshes")
        self.site.dossier("user", "logout", self.email, "--yes")
        self.browser.open(self.home)
        self.waits("refresh token")
        self.press("Sign in")
        self.fill(email=self.email)
        self.fill(password=PASSWORD)
        self.waits(f"Hello {self.email}")
        self.press("Sign out")
        self.browser.wait(lambda: self.browser.driver.current_url == self.home, "the page of the app")
        self.assertNotIn("Hello", self.text())
        self.press("Sign in")
        self.waits("Continue to")
        self.assertTrue(self.browser.all("#email"))

    def register_web_app(self):
        self.register_client(WEB, "Register the app")
        export = [text for name, _, text in steps(WEB, "Register the app") if not name][1]
        self.script(export)

    def test_flask(self):
        self.register_web_app()
        with self.served(WEB, "Flask", "venv/bin/flask"):
            self.check_web_app()

    def test_django(self):
        self.register_web_app()
        with self.served(WEB, "Django", "venv/bin/python manage.py runserver"):
            self.check_web_app()

    def test_forms_of_a_page(self):
        self.settings(allowed_origins=["http://127.0.0.1:*"])
        file, text = [(name, text) for name, _, text in steps(PAGE, "Use forms of your own")][0]
        (self.folder / file).write_text(self.written(text))
        start = list(steps(PAGE, "Run it"))[0][2]
        with subprocess.Popen(self.written(start).split(), cwd=self.folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_until(lambda: is_listening(self.port), what="the page")
                self.browser.open(self.home + file)
                self.waits("You are signed out.")
                self.browser.type("[name=email]", self.email)
                self.browser.type("[name=password]", PASSWORD)
                self.press("Create account")
                self.waits(f"Hello {self.email}")
                changes = self.requests("PATCH /v1/me/metadata")
                self.save("dark")
                wait_until(lambda: self.requests("PATCH /v1/me/metadata") > changes, what="a change")
                self.browser.open(self.home + file)
                self.waits(f"Hello {self.email}")
                self.assertEqual(self.theme(), "dark")
                self.press("Sign out")
                self.waits("You are signed out.")
                self.browser.type("[name=email]", self.email)
                self.browser.type("[name=password]", "wrong")
                self.press("Sign in")
                self.waits("Error: ")
            finally:
                process.terminate()


class APIs(GuideCase):
    """An API of its own, a program that calls it, and hostile tokens."""

    AUDIENCE = "https://api.example.com/"

    def setUp(self):
        super().setUp()
        self.api = re.search(r"(?m)^id +(\S+)$", self.register_client(API, "Register the API"))[1]
        self.addCleanup(self.site.dossier, "resource-server", "delete", self.api, "--yes")

    def follow_program(self):
        """Follows the guide of the program up to its grant. Returns what the curl command prints."""
        self.register_client(PROGRAM, "Register the program")
        self.script([text for name, _, text in steps(PROGRAM, "Register the program")][1])
        self.values["API"] = self.api
        scripts = [text for name, _, text in steps(PROGRAM, "Call an API of yours") if not name]
        self.script(scripts[0])
        return self.script(scripts[1])

    def add_introspection(self):
        heading = "Refuse a token at once after a sign-out"
        self.register_client(API, heading)
        found = list(steps(API, heading))
        self.script(found[0][2].splitlines(True)[-1])
        with open(self.folder / "app.py", "a") as file:
            file.write(self.written(next(text for name, _, text in found if name)))

    def call(self, token=None, method="GET"):
        """Calls the API. Returns the status and the body of its response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, "/posts", headers=headers)
        answer = connection.getresponse()
        body = json.loads(answer.read())
        connection.close()
        return answer.status, body

    def refused(self, token, error):
        status, body = self.call(token)
        self.assertEqual((status, body.get("error_description")), (401, error))

    def test_each_kind_of_app_is_registered(self):
        for guide, heading in [
                (PAGE, "Register the page"), (IOS, "Register the app"), (ANDROID, "Register the app")]:
            self.assertRegex(self.register_client(guide, heading), r"(?m)^logout_urls +\S+/")

    def test_a_program_calls_an_api(self):
        self.assertIn('"access_token"', self.follow_program())
        *_, (_, _, start) = [step for step in steps(PROGRAM, "Call an API of yours") if not step[0]]
        job = next(text for name, _, text in steps(PROGRAM, "Call an API of yours") if name == "job.py")
        (self.folder / "job.py").write_text(self.written(job))
        with self.served(API, "Write the API", "venv/bin/flask"):
            self.assertEqual(self.call()[0], 401)
            printed = self.script(start)
            self.assertIn("200", printed)
            self.assertIn(f'{self.values["CLIENT_ID"]}@clients', printed)
            self.site.dossier("client", "revoke", self.values["CLIENT_ID"], self.api)
            with self.assertRaisesRegex(AssertionError, "invalid_target"):
                self.script(start)

    def test_a_program_reads_and_changes_users(self):
        self.follow_program()
        user = self.expect(self.register("ada@example.com", PASSWORD), 201).json["user_id"]
        read, write = [text for _, _, text in steps(PROGRAM, "Read and change users")]
        self.assertIn(user, self.script(read))
        self.values["USER"] = user
        self.assertIn('"plan"', self.script(write))

    def test_hostile_tokens_are_refused(self):
        email = self.own_email()
        self.expect(self.register(email, PASSWORD), 201)
        client = self.site.dossier(
            "client", "create", "--app", "default", "Page", "kind=single_page",
            f"callback_urls={self.home}", "confirm_sign_in=false")
        with self.served(API, "Write the API", "venv/bin/flask"):
            pass
        self.add_introspection()

        def signed_in(**parameters):
            party = Party(self, client, redirect=self.home, **parameters)
            page = self.visitor.open(party.path)
            if page.forms:
                self.visitor.submit(email=email)
                page = self.visitor.submit("/password", password=PASSWORD)
            return self.expect(party.exchange(party.code(page)), 200).json

        scope = "openid read:posts write:posts"
        tokens = signed_in(audience=self.AUDIENCE, scope=scope)
        good = tokens["access_token"]
        with self.restarted():
            self.assertEqual(self.call(good)[1]["user"], claims(tokens["id_token"])["sub"])
            self.assertEqual(self.call(good, "DELETE")[0], 200)
            # A token for another API, an ID token, and a token of /v1.
            self.refused(signed_in(scope="openid")["access_token"], "InvalidAudienceError")
            self.refused(tokens["id_token"], "InvalidAudienceError")
            own = self.post("/v1/login/password", {"email": email, "password": PASSWORD}).json
            self.refused(own["access_token"], "PyJWKClientError")
            # Without the scope.
            lesser = signed_in(audience=self.AUDIENCE, scope="openid write:posts")["access_token"]
            self.assertEqual(self.call(lesser)[0], 403)
            # Tokens that Dossier has not signed.
            head, body, signature = good.split(".")
            self.refused(f"{head}.{body}.{signature[:-8]}AAAAAAAA", "InvalidSignatureError")
            other = base64url(b'{"sub":"admin"}')
            self.refused(f"{head}.{other}.{signature}", "InvalidSignatureError")
            kid = jwt.get_unverified_header(good)["kid"]
            none = base64url(f'{{"alg":"none","kid":"{kid}"}}'.encode())
            self.refused(f"{none}.{body}.", "InvalidAlgorithmError")
            keys = self.site.get("/.well-known/jwks.json").body.decode()
            hmac = jwt.encode({**claims(good)}, keys, "HS256", {"kid": kid})
            self.refused(hmac, "InvalidAlgorithmError")
            self.refused("x", "DecodeError")
            self.refused(tokens.get("refresh_token", "ds_refresh_x"), "DecodeError")
            # After the sign-out, the token is valid until it expires; introspection refuses it at once.
            self.visitor.open("/oidc/logout?" + urllib.parse.urlencode(
                {"id_token_hint": tokens["id_token"]}))
            self.assertEqual(self.call(good)[0], 200)
            self.assertEqual(self.call(good, "DELETE")[0], 401)

    @contextlib.contextmanager
    def restarted(self):
        """Serves the API with what was added to its file."""
        with open(self.folder / "output", "w") as output, subprocess.Popen(
                ["venv/bin/flask", "run", "--port", str(self.port)], cwd=self.folder,
                env=self.environment, stdout=output, stderr=output) as process:
            try:
                wait_until(lambda: is_listening(self.port), what="the API")
                yield
            finally:
                process.terminate()

    def test_an_expired_token_is_refused(self):
        """The clock of the API is a day ahead."""
        token = json.loads(self.follow_program())["access_token"]
        (self.folder / "sitecustomize.py").write_text(
            "import datetime\n"
            "class Ahead(datetime.datetime):\n"
            "    @classmethod\n"
            "    def now(cls, tz=None):\n"
            "        return super().now(tz) + datetime.timedelta(days=2)\n"
            "datetime.datetime = Ahead\n")
        with self.served(API, "Write the API", "venv/bin/flask"):
            self.assertEqual(self.call(token)[0], 200)
        self.environment["PYTHONPATH"] += f":{self.folder}"
        with self.restarted():
            self.refused(token, "ExpiredSignatureError")
