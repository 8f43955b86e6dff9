"""The hosted pages, as a browser without scripts sees them."""

import html.parser
import http.client
import re
import urllib.parse
import uuid

from cases import Case

PASSWORD = "correct horse battery"


class Form:
    def __init__(self, attributes):
        self.action = attributes.get("action", "")
        self.is_file = attributes.get("enctype") == "multipart/form-data"
        self.fields = {}
        self.visible = []
        self.buttons = []
        self.label = ""


class Page(html.parser.HTMLParser):
    """A response, with the forms, links, errors and text of its document."""

    def __init__(self, status, headers, body, path):
        super().__init__()
        self.status, self.headers, self.path, self.body = status, headers, path, body
        self.forms, self.links, self.errors = [], {}, []
        self.title = self.heading = self.text = ""
        self.has_summary = False
        self.language = ""
        self.open = []
        self.link = self.area = None
        self.is_page = headers.get("Content-Type", "").startswith("text/html")
        if self.is_page:
            # A place where a line may break is no part of the text.
            self.feed(body.decode().replace("<wbr>", ""))

    @property
    def location(self):
        return self.headers.get("Location")

    def handle_starttag(self, tag, attributes):
        attributes = {name: value or "" for name, value in attributes}
        if tag not in ["input", "meta", "link", "img", "source", "path", "br"]:
            self.open.append((tag, attributes))
        if tag == "html":
            self.language = attributes["lang"]
        elif tag == "form":
            self.forms.append(Form(attributes))
        elif tag in ["input", "select"] and attributes.get("type") != "checkbox":
            self.forms[-1].fields[attributes["name"]] = attributes.get("value", "")
            if attributes.get("type") != "hidden":
                self.forms[-1].visible.append(attributes["name"])
        elif tag == "input" and "checked" in attributes and self.forms[-1].action.startswith("/console"):
            self.forms[-1].fields[attributes["name"]] = attributes["value"]
        elif tag == "textarea":
            self.area = attributes["name"]
            self.forms[-1].fields[self.area] = ""
            self.forms[-1].visible.append(self.area)
        elif tag == "option" and "selected" in attributes:
            select = next(own for kind, own in self.open if kind == "select")
            self.forms[-1].fields[select["name"]] = attributes["value"]
        elif tag == "button":
            self.forms[-1].buttons.append((attributes.get("name"), attributes.get("value")))
        elif tag == "a":
            self.link = attributes["href"]

    def handle_startendtag(self, tag, attributes):
        """Only the shapes of icons close themselves."""

    def handle_endtag(self, tag):
        if tag == "textarea":
            # The first line break belongs to the markup.
            self.forms[-1].fields[self.area] = self.forms[-1].fields[self.area].removeprefix("\n")
            self.area = None
        while self.open:
            if self.open.pop()[0] == tag:
                break

    def handle_data(self, data):
        names = [tag for tag, _ in self.open]
        if "title" in names:
            self.title += data
            return
        if "script" in names:
            return
        if self.area:
            self.forms[-1].fields[self.area] += data
            return
        self.text += data
        if "h1" in names:
            self.heading += data
        if "button" in names:
            self.forms[-1].label += data
        if "a" in names and self.link:
            self.links[data.strip()] = self.link
        for _, attributes in self.open:
            if attributes.get("class") == "summary":
                self.has_summary = True
                if "li" in names:
                    self.add_error(data, "bdi" in names)
            # Without a summary, an error is at its field, or above the fields; its link is no part of it.
            elif not self.has_summary and "a" not in names and "hidden" not in [
                    attributes.get("class") for _, attributes in self.open]:
                if attributes.get("class") in ["error", "notice warning problem"]:
                    self.add_error(data, "bdi" in names)

    def add_error(self, data, continues):
        if not data.strip():
            return
        if continues and self.errors:
            self.errors[-1] += data
        else:
            self.errors.append(data.strip())


class Visitor:
    """A browser without scripts: it keeps cookies, and follows redirects."""

    def __init__(self, port, host=None, **headers):
        self.port, self.host = port, host or f"127.0.0.1:{port}"
        # None for a browser that refuses cookies.
        self.cookies = {}
        self.headers = {"Accept": "text/html",
                        **{name.replace("_", "-"): value for name, value in headers.items()}}
        self.page = None
        # Every response since the last call.
        self.trace = []

    @property
    def origin(self):
        return f"http://{self.host}"

    def send(self, method, path, body=None, follow=True, **headers):
        """Sends a request, and follows redirects within this server."""
        self.trace = []
        while True:
            all_headers = {"Host": self.host, **self.headers, **headers}
            if self.cookies:
                all_headers["Cookie"] = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
            client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
            client.request(method, path, body=body, headers=all_headers)
            response = client.getresponse()
            page = Page(response.status, response.headers, response.read(), path)
            client.close()
            self.trace.append(page)
            for field in response.headers.get_all("Set-Cookie") or []:
                name, value = field.split(";")[0].split("=", 1)
                assert name.startswith("__Host-"), field
                if self.cookies is None:
                    continue
                for part in ["; Path=/;", "; HttpOnly", "; Secure"]:
                    assert part in field + ";", field
                self.cookies[name] = value
            is_own = page.location and page.location.startswith("/")
            if not (follow and page.status == 303 and is_own):
                self.page = page
                return page
            method, path, body, headers = "GET", page.location, None, {}

    def open(self, path, **options):
        return self.send("GET", path, **options)

    def form(self, action=None):
        """Returns the form whose action has this ending, or the first one."""
        forms = [form for form in self.page.forms
                 if action is None or form.action.split("?")[0].endswith(action)]
        assert forms, (action, self.page.path, [form.action for form in self.page.forms])
        return forms[0]

    def body(self, form, button=None, **fields):
        values = {**form.fields, **fields}
        if button:
            values[form.buttons[0][0]] = button
        return urllib.parse.urlencode({k: v for k, v in values.items() if v is not None})

    def submit(self, action=None, follow=True, button=None, origin=True, **fields):
        """Sends a form of the page."""
        form = self.form(action)
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if origin:
            headers["Origin"] = self.origin if origin is True else origin
        return self.send("POST", form.action, self.body(form, button, **fields), follow, **headers)

    def upload(self, action, name, content):
        """Sends a form with a file."""
        form, mark = self.form(action), uuid.uuid4().hex
        parts = [f'--{mark}\r\nContent-Disposition: form-data; name="{key}"\r\n\r\n{value}\r\n'.encode()
                 for key, value in form.fields.items() if key != name]
        parts.append(f'--{mark}\r\nContent-Disposition: form-data; name="{name}"; filename="a.png"\r\n'
                     "Content-Type: image/png\r\n\r\n".encode() + content + b"\r\n")
        body = b"".join(parts) + f"--{mark}--\r\n".encode()
        return self.send("POST", form.action, body, Origin=self.origin, **{
            "Content-Type": f"multipart/form-data; boundary={mark}"})


class HostedCase(Case):
    """Tests of the hosted pages of the default app."""

    def setUp(self):
        super().setUp()
        self.visitor = self.new_visitor()

    def new_visitor(self, **options):
        return Visitor(self.site.port, **options)

    def settings(self, **settings):
        """Changes settings of the app for one test."""
        self.site.set_app(**settings)
        for name in settings:
            self.addCleanup(
                self.site.sql,
                f"update apps set settings = settings - '{name}', version = version + 1")

    def shows(self, page, heading, *errors, status=None):
        """Checks the heading and the errors of a page."""
        self.assertEqual(page.heading.strip(), heading, page.text)
        self.assertEqual(page.errors, list(errors), page.text)
        self.assertEqual(page.status, status or 200)
        self.assertEqual(page.title.startswith("Error: "), bool(errors) or page.status >= 400,
                         page.title)
        return page

    def sign_up(self, email, password=PASSWORD, visitor=None):
        visitor = visitor or self.visitor
        visitor.open("/account")
        visitor.open(visitor.page.links["Create account"])
        visitor.submit(email=email, new_password=password)
        return self.shows(visitor.page, "Your account")

    def sign_in(self, email, password=PASSWORD, visitor=None):
        visitor = visitor or self.visitor
        visitor.open("/account")
        visitor.submit(email=email)
        visitor.submit("/password", password=password)
        return visitor.page

    def link(self, email, kind, count=1):
        """Returns the path of the newest link of a kind mailed to an address."""
        token = self.site.mailed(email, kind, count)
        mails = "\n".join(self.site.mails(email))
        found = re.search(rf"http://\S+{re.escape(token)}", mails)
        self.assertTrue(found, mails)
        return urllib.parse.urlsplit(found[0])._replace(scheme="", netloc="").geturl()
