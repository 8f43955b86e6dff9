"""Sign-in at other issuers, by a browser without scripts."""

import html
import http.client
import json
import re
import tempfile
import urllib.parse

from cases import Case
from openid import OpenIDCase, Party, claims
from upstream import Upstream

# Texts of the pages.
CONTINUE = "Continue with {}"
FAILED = "Sign-in with {} didn't work"
UNAVAILABLE = "{} isn't available right now"
REFUSED = "You can't sign in with this {} account"
# Why an account is refused.
NOT_ALLOWED = "accepts only some"
CLOSED = "isn't accepting new accounts"
TAKEN = "belongs to an account"
OTHER_BROWSER = "Start again in this browser"
START_AGAIN = "Start again"
TRY_AGAIN = "Try again"
ANOTHER_WAY = "Sign in another way"
EXISTS = "You already have an account"
SIGN_IN_TO_LINK = "Sign in and link"
LINKING = "we'll link your {} account"
SIGN_IN = "Sign in"
CONFIRM = "Confirm that it's you"
ACCOUNT = "Your account"
IDENTITIES = "Linked accounts"


# The fields of a form that a page of an issuer posts.
POSTED = {"Origin": "https://issuer.example", "Content-Type": "application/x-www-form-urlencoded"}


class Back:
    """How an issuer sends a browser back: by a URL, or by a form that the page there posts."""

    def __init__(self, url, form=None):
        self.url, self.form = url, form

    @property
    def path(self):
        return urllib.parse.urlsplit(self.url)._replace(scheme="", netloc="").geturl()

    @property
    def parameters(self):
        return dict(urllib.parse.parse_qsl(self.form or urllib.parse.urlsplit(self.url).query))

    def changed(self, **parameters):
        """Returns the same with other parameters; None removes one."""
        found = {name: value for name, value in {**self.parameters, **parameters}.items()
                 if value is not None}
        text = urllib.parse.urlencode(found)
        if self.form is not None:
            return Back(self.url, text)
        return Back(urllib.parse.urlsplit(self.url)._replace(query=text).geturl())


def kept(secret):
    """Returns the path of a file with a secret, which lasts as long as this process."""
    file = tempfile.NamedTemporaryFile("w", suffix=".secret")
    file.write(secret)
    file.flush()
    SECRETS.append(file)
    return file.name


# The files of secrets, which are deleted with their objects.
SECRETS = []


def browse(url):
    """Opens a URL at an issuer, and returns how it sends the browser back."""
    split = urllib.parse.urlsplit(url)
    client = http.client.HTTPConnection(split.hostname, split.port, timeout=300)
    client.request("GET", f"{split.path}?{split.query}")
    response = client.getresponse()
    text = response.read().decode()
    client.close()
    if response.status == 302:
        return Back(response.headers["Location"])
    assert response.status == 200, (url, text)
    fields = {html.unescape(name): html.unescape(value)
              for name, value in re.findall('name="([^"]*)" value="([^"]*)"', text)}
    return Back(re.search('action="([^"]*)"', text)[1], urllib.parse.urlencode(fields))


class ConnectionCase(OpenIDCase):
    """Tests of an app with connections to issuers on this machine."""

    SETTINGS = {**OpenIDCase.SETTINGS, "DOSSIER_ISSUER_NETWORK": "any"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.upstreams = Upstream()
        cls.addClassCleanup(cls.upstreams.stop)

    def setUp(self):
        super().setUp()
        for issuer in self.upstreams.issuers.values():
            issuer.honest()
            issuer.refusals.clear()

    # Connections

    @classmethod
    def connect(cls, preset="oidc", name=None, /, algorithm="RS256", **attributes):
        """Adds an issuer, and a connection of the default app to it. Returns the issuer."""
        issuer = cls.upstreams.add(preset, name, algorithm=algorithm)
        issuer.redirect_uri = f"{cls.issuer}u/callback/{issuer.name}"
        if preset == "oidc":
            # The buttons of a page need titles of their own.
            attributes.setdefault("label", issuer.name)
        cls.create(issuer, **attributes)
        return issuer

    @classmethod
    def create(cls, issuer, /, app="default", check=True, **attributes):
        """Creates the connection to an issuer by the command line."""
        return cls.site.dossier(
            "connection", "create", issuer.name, "--app", app,
            *cls.arguments({**issuer.settings, **attributes}), check=check)

    @classmethod
    def checked(cls, issuer):
        """Checks a connection by the command line. Returns the run."""
        return cls.site.dossier(
            "connection", "check", issuer.name, "--app", "default", check=False)

    @classmethod
    def change(cls, issuer, /, **attributes):
        return cls.site.dossier("connection", "set", issuer.name, "--app", "default",
                                *cls.arguments(attributes))

    @classmethod
    def remove(cls, issuer, *options, check=True):
        return cls.site.dossier("connection", "delete", issuer.name, "--app", "default", "--yes",
                                *options, check=check)

    @staticmethod
    def arguments(attributes):
        """Returns the arguments of attributes. A secret goes by a file, as the command demands."""
        def text(name, value):
            if name == "client_secret" and isinstance(value, str) and not value.startswith("@"):
                return f"@{kept(value)}"
            return value if isinstance(value, str) else json.dumps(value)

        return [f"{name}={text(name, value)}" for name, value in attributes.items()]

    def attach(self, grant, **body):
        """Links credentials to a user of `/v1`."""
        return Case.link(self, grant, **body)

    # A browser

    def begin(self, issuer, visitor=None, party=None, **parameters):
        """Opens the page of a client's request. Returns the URL of the button, and the request."""
        visitor = visitor or self.visitor
        party = party or Party(self, self.spa, **parameters)
        return self.follow(issuer, visitor.open(party.path), visitor), party

    def button(self, name, page):
        """Returns the path of the button of a connection on a page."""
        found = [path for path in page.links.values()
                 if path.split("?")[0].endswith(f"/connect/{name}")]
        self.assertTrue(found, (page.heading, page.links))
        return found[0]

    def follow(self, issuer, page, visitor=None):
        """Presses the button of an issuer. Returns the URL to which the browser is sent."""
        visitor = visitor or self.visitor
        answer = visitor.open(self.button(issuer.name, page), follow=False)
        self.assertEqual(answer.status, 302, answer.text)
        self.assertTrue(answer.location.startswith(f"{issuer.base}/authorize?"), answer.location)
        self.assertEqual(answer.headers["Referrer-Policy"], "no-referrer")
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        return answer.location

    def come_back(self, back, visitor=None):
        """Sends the browser back from an issuer."""
        visitor = visitor or self.visitor
        if back.form is None:
            return visitor.open(back.path)
        # Browsers send no Lax cookies with a form of another site.
        kept, visitor.cookies = visitor.cookies, {}
        page = visitor.send("POST", back.path, back.form, follow=False, **POSTED)
        self.assertEqual(visitor.cookies, {}, "a form without cookies sets none")
        visitor.cookies = kept
        if page.status != 303:
            return page
        return visitor.open(page.location)

    def go(self, issuer, visitor=None, **parameters):
        """Signs the person of an issuer in. Returns the page, and the request of the client."""
        url, party = self.begin(issuer, visitor, **parameters)
        return self.come_back(browse(url), visitor), party

    def identity(self, page, party):
        """Returns the claims of the ID token that the client gets."""
        return claims(self.expect(party.exchange(party.code(page)), 200).json["id_token"])

    def signed_in_at(self, issuer, visitor=None, **parameters):
        """Signs the person of an issuer in. Returns the claims that the client gets."""
        return self.identity(*self.go(issuer, visitor, **parameters))

    # What is stored

    def identities(self, issuer):
        """Returns the users of the identities of an issuer, by their subjects."""
        rows = self.site.sql("select subject, user_id from identities "
                             f"where provider = 'jwt:{issuer.issuer}'").splitlines()
        return dict(row.split("|") for row in rows)

    def owner(self, issuer):
        """Returns the user of the person of an issuer, or None."""
        return self.identities(issuer).get(issuer.person.subject)

    def stored(self, user, columns="email, email_verified, name, given_name, family_name"):
        return self.site.sql(f"select {columns} from users where user_id = '{user}'")

    def count_users(self):
        return int(self.site.sql("select count(*) from users"))

    # Refusals

    def is_refused(self, page, heading, issuer=None, visitor=None, words=""):
        """Checks that a page refuses a sign-in, and leaves the user something to do."""
        visitor = visitor or self.visitor
        self.assertEqual(page.heading.strip(), heading, page.text)
        self.assertIn(words, " ".join(page.text.split()))
        self.assertFalse(page.location)
        self.assertNotIn(b"code=", page.body)
        self.assertTrue(page.links or page.forms, page.text)
        if issuer:
            self.assertIsNone(self.owner(issuer))
        self.shows(self.new_page(visitor, "/account"), SIGN_IN)
        return page

    def new_page(self, visitor, path):
        """Opens a page in the same browser, without changing the page of the visitor."""
        page = visitor.page
        try:
            return visitor.open(path)
        finally:
            visitor.page = page

    def request_of(self, page, visitor=None):
        """Returns the id on a page by which an operator finds the request in the log."""
        [found] = [one.headers["X-Request-Id"] for one in (visitor or self.visitor).trace
                   if one.headers["X-Request-Id"] in page.text]
        return found

    def title(self, issuer):
        return TITLES.get(issuer.preset, issuer.name)

    def fails(self, issuer, page=None, visitor=None):
        """Checks that a sign-in at an issuer ends with the page of a failure."""
        if page is None:
            page, _ = self.go(issuer, visitor)
        self.request_of(page, visitor)
        self.is_refused(page, FAILED.format(self.title(issuer)), issuer, visitor)
        self.assertGreaterEqual(page.status, 400)
        return page


# The labels of connections without one.
TITLES = {
    "google": "Google", "apple": "Apple", "microsoft": "Microsoft", "github": "GitHub",
    "gitlab": "GitLab", "facebook": "Facebook", "discord": "Discord", "linkedin": "LinkedIn", "x": "X",
    "slack": "Slack"}
