"""The applications of the guide "Sign in with a library" sign users in, each as it stands there."""

import contextlib
import copy
import http.cookiejar
import json
import os
import re
import subprocess
import tempfile
import pathlib
import unittest
import urllib.parse
import urllib.request

from hosted import PASSWORD, HostedCase
from machine import FOREIGN, ROOT, TOOLS_FOLDER, free_port, is_listening, wait_until
from openid import target

GUIDE = (ROOT / "Sources/OpenIDWire/OpenIDWire.docc/Sign in with a library.md").read_text()
PACKAGES = TOOLS_FOLDER / "relying-parties"
PYTHON = TOOLS_FOLDER / "bin/python"


# A server of the application whose only page shows who is signed in.
APACHE = """
ServerRoot /usr/lib/apache2
ServerName 127.0.0.1
LoadModule mpm_event_module modules/mod_mpm_event.so
LoadModule authn_core_module modules/mod_authn_core.so
LoadModule authz_core_module modules/mod_authz_core.so
LoadModule authz_user_module modules/mod_authz_user.so
LoadModule dir_module modules/mod_dir.so
LoadModule include_module modules/mod_include.so
LoadModule auth_openidc_module modules/mod_auth_openidc.so
Listen 127.0.0.1:{port}
PidFile {folder}/apache.pid
ErrorLog {folder}/output
User www-data
Group www-data
DocumentRoot {folder}
DirectoryIndex index.html
ForceType text/html
SetOutputFilter INCLUDES
<Directory {folder}>
  Options Includes
</Directory>
"""


class Example:
    """A library of the guide: its row in the table and its section."""

    def __init__(self, row):
        self.name, self.language, self.version, self.sends, start = row
        self.start = start.strip("`")
        text = re.search(rf"(?ms)^## {re.escape(self.name)}$(.*?)(?=^## |\Z)", GUIDE)[1]
        self.callback = re.search(r"(?m)^Redirect URI: `(.*)`$", text)[1]
        # By the file that the line before names; an application in one file has no such line.
        self.files = {
            name or "application": lines for name, lines in re.findall(
                r"(?ms)(?:^In `([\w.]+)`:\n\n)?^```\w+\n(.*?)^```$", text)}

    def without_pkce(self):
        """Returns the example without its setting for PKCE, which has lines of its own."""
        other = copy.copy(self)
        other.files = {name: re.sub(r"(?im)^.*(pkce|code_challenge).*\n", "", lines)
                       for name, lines in self.files.items()}
        return other


EXAMPLES = [Example(row) for row in re.findall(
    r"(?m)^\| (\S.*?) \| (\S+) \| (\d\S*) \| (.*?) \| (`\S+`) \|$", GUIDE)]


class EachAnswer(urllib.request.HTTPErrorProcessor):
    """Returns each response, also redirects and errors."""

    def http_response(self, request, response):
        return response


class Coverage(unittest.TestCase):
    # Their languages would be installed for one test each.
    NOT_RUN = {"gitlab-omniauth-openid-connect", "go-oidc"}

    def test_each_example_is_run(self):
        sections = re.findall(r"(?m)^## (.*)$", GUIDE)[2:]
        self.assertEqual(sections, [example.name for example in EXAMPLES])
        run = re.findall(r'(?m)^ +self\.check\("(.*)"\)$', pathlib.Path(__file__).read_text())
        self.assertEqual({*run} | self.NOT_RUN, {*sections})


class Libraries(HostedCase):
    SETTINGS = {"DOSSIER_ISSUER": "http://127.0.0.1:{port}"}

    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.origin = f"http://127.0.0.1:{self.port}"
        self.sent = {}

    # The application

    def written(self, text, client):
        for placeholder, value in [
                ("https://users.example.com", f"http://127.0.0.1:{self.site.port}"),
                ("https://app.example.com", self.origin), (r"\bCLIENT_ID\b", client["id"]),
                (r"\bCLIENT_SECRET\b", client["secret"])]:
            text = re.sub(placeholder, value, text)
        return text

    def run_program(self, *words):
        subprocess.run([PYTHON, *words], cwd=self.folder, env=self.environment, check=True,
                       capture_output=True)

    def command(self, example, client):
        """Writes the files of an application. Returns the command that starts it."""
        files = {name: self.written(text, client) for name, text in example.files.items()}
        port = str(self.port)
        if example.language == "Apache":
            (self.folder / "index.html").write_text('<!--#echo var="REMOTE_USER" -->')
            (self.folder / "apache.conf").write_text(
                APACHE.format(port=port, folder=self.folder) + files["application"])
            return ["/usr/sbin/apache2", "-D", "FOREGROUND", "-f", self.folder / "apache.conf"]
        if "urls.py" in files:
            self.run_program("-m", "django", "startproject", "site_of_test", ".")
            for name, text in files.items():
                with open(self.folder / "site_of_test" / name, "a") as file:
                    file.write(text)
            self.run_program("manage.py", "migrate")
            return [PYTHON, "manage.py", "runserver", "--noreload", f"127.0.0.1:{port}"]
        (self.folder / "app.py").write_text(files["application"])
        server = ["uvicorn", "app:app"] if "FastAPI" in files["application"] else ["flask", "run"]
        return [PYTHON, "-m", *server, "--port", port]

    @contextlib.contextmanager
    def started(self, example, client):
        """Serves an application in a folder of its own."""
        self.environment = {
            **FOREIGN, "PYTHONPATH": str(PACKAGES),
            # The first program that imports a package compiles it for the others.
            "PYTHONDONTWRITEBYTECODE": "",
            # An application refuses a server without TLS otherwise.
            "AUTHLIB_INSECURE_TRANSPORT": "1", "OAUTHLIB_INSECURE_TRANSPORT": "1"}
        with tempfile.TemporaryDirectory(prefix="dossier-party-") as folder:
            self.folder = pathlib.Path(folder)
            self.folder.chmod(0o755)
            with open(self.folder / "output", "w+") as self.output, subprocess.Popen(
                    self.command(example, client), cwd=self.folder, env=self.environment,
                    stdout=self.output, stderr=self.output) as process:
                try:
                    wait_until(lambda: is_listening(self.port) or process.poll() is not None,
                               what=example.name)
                    self.assertIsNone(process.poll(), self.printed())
                    yield
                finally:
                    process.terminate()

    def printed(self):
        self.output.seek(0)
        return self.output.read()

    # The browser

    def new_browser(self):
        # Browsers send secure cookies to 127.0.0.1 too.
        policy = http.cookiejar.DefaultCookiePolicy(secure_protocols=["http", "https"])
        browser = urllib.request.build_opener(
            EachAnswer, urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar(policy)))
        browser.addheaders = [("Accept", "text/html")]
        return browser

    def signed_in(self, start, email):
        """Follows a browser from a page of the application to its last page. Returns its text."""
        browser, url, form = self.new_browser(), self.origin + start, None
        self.visitor = self.new_visitor()
        for _ in range(20):
            parts = urllib.parse.urlsplit(url)
            if parts.port == self.site.port:
                self.sent = dict(urllib.parse.parse_qsl(parts.query))
                page = self.visitor.open(f"{parts.path}?{parts.query}")
                if page.status == 200 and page.forms:
                    self.visitor.submit(email=email)
                    page = self.visitor.submit("/password", password=PASSWORD)
                self.assertLess(page.status, 400, page.text)
                url = target(page)
                continue
            body = form and urllib.parse.urlencode(form).encode()
            with browser.open(url, body) as answer:
                text = answer.read().decode()
                action, form = self.button(text)
                if action or "Location" in answer.headers:
                    url = urllib.parse.urljoin(url, action or answer.headers["Location"])
                elif form is None:
                    self.assertEqual(answer.status, 200, text + self.printed())
                    return text
        self.fail(f"the browser is sent from page to page: {url}")

    @staticmethod
    def button(text):
        """Returns the action and the fields of a page that only asks to continue."""
        form = re.search(r'<form method="post"(?: action="([^"]*)")?', text)
        fields = re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)"', text)
        return (form[1], dict(fields)) if form else (None, None)

    def check(self, name):
        """Signs a user in at the application of a section, as it stands, and without PKCE."""
        example = next(example for example in EXAMPLES if example.name == name)
        email = f"{self._testMethodName[5:].replace('_', '-')}@example.com"
        # Some libraries treat an unverified address in a way of their own.
        self.expect(self.register(email, PASSWORD), 201)
        sent = example.sends.split(" and ")
        self.sign_in_at(example, email, sent)
        if "PKCE" in sent:
            self.sign_in_at(example.without_pkce(), email, [word for word in sent if word != "PKCE"])

    def sign_in_at(self, example, email, sent):
        client = self.site.dossier(
            "client", "create", "--app", "default", example.name, "kind=web", "callback_urls="
            + example.callback.replace("https://app.example.com", self.origin),
            *(["pkce=required"] if "PKCE" in sent else []))
        with self.started(example, client):
            text = self.signed_in(example.start, email)
            self.assertIn(email, text, self.printed())
        found = [word for word, field in [("PKCE", "code_challenge"), ("nonce", "nonce")]
                 if field in self.sent]
        self.assertEqual(found or ["neither"], sent or ["neither"])

    def test_authlib_with_fastapi(self):
        self.check("Authlib with FastAPI or Starlette")

    def test_flask_oidc(self):
        self.check("flask-oidc")

    def test_flask_dance(self):
        self.check("Flask-Dance")

    def test_flask_pyoidc(self):
        self.check("Flask-pyoidc")

    def test_requests_oauthlib(self):
        self.check("requests-oauthlib")

    def test_httpx_oauth(self):
        self.check("httpx-oauth")

    def test_fastapi_sso(self):
        self.check("fastapi-sso")

    def test_mozilla_django_oidc(self):
        self.check("mozilla-django-oidc")

    def test_social_auth_app_django(self):
        self.check("social-auth-app-django")

    def test_django_allauth(self):
        self.check("django-allauth")

    def test_idpyoidc(self):
        self.check("idpyoidc")

    def test_mod_auth_openidc(self):
        self.check("mod_auth_openidc")


if __name__ == "__main__":
    unittest.main()
