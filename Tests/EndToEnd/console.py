"""Administrators at the console, as a browser without scripts sees it."""

import secrets
import urllib.parse

from authenticator import Authenticator
from hosted import HostedCase, Visitor

PASSWORD = "administrators use long sentences"


class ConsoleCase(HostedCase):
    """Tests of the console on the host of the default app."""

    SETTINGS = {"DOSSIER_CONSOLE": "same_host"}

    def new_address(self):
        return f"{secrets.token_hex(6)}@example.com"

    def link(self, role="owner", *arguments, address=None):
        """Creates an administrator. Returns the address and the link."""
        address = address or self.new_address()
        made = self.site.dossier(
            "administrator", "create", address, "--role", role, *arguments)
        return address, made["link"]

    def administrator(self, role="owner", *arguments):
        """Returns the visitor of a new administrator, who is signed in."""
        address, link = self.link(role, *arguments)
        visitor = self.new_visitor()
        visitor.address = address
        visitor.open("/console/-/start")
        visitor.submit(link=link)
        self.assertEqual(visitor.page.heading.strip(), "Set up your account", visitor.page.text)
        visitor.authenticator = self.authenticator(visitor)
        visitor.submit(password=PASSWORD, code=visitor.authenticator.code())
        self.assertEqual(visitor.page.heading.strip(), "Save your recovery codes", visitor.page.text)
        visitor.codes = [word for word in visitor.page.text.split() if word.count("-") > 1]
        visitor.open("/console")
        self.assertEqual(visitor.page.heading.strip(), "Overview", visitor.page.text)
        return visitor

    def authenticator(self, visitor):
        """Returns an authenticator with the key that the page shows."""
        text = visitor.page.body.decode()
        secret = text.partition('<p class="key"><code>')[2].partition("<")[0]
        return Authenticator({"id": "", "uri": "", "secret": secret.replace(" ", "").replace("\u00ad", "")})

    def forget_steps(self):
        """Lets the code of the current time step be used again."""
        self.site.sql("update second_factors set last_step = 0")

    def sign_in(self, visitor, password=PASSWORD):
        """Signs an administrator in from the page of the sign-in."""
        visitor.submit(email=visitor.address, password=password)
        self.assertEqual(visitor.page.heading.strip(), "Enter the code", visitor.page.text)
        self.forget_steps()
        return visitor.submit(code=visitor.authenticator.code())

    def age(self):
        """Makes the last authentication of all sessions too old for dangerous acts."""
        self.site.sql(
            "update sessions set authenticated_at = authenticated_at - interval '11 minutes'")

    def confirmed(self, visitor, path):
        """Confirms a question. Returns the next page."""
        visitor.open(path)
        return visitor.submit(path)

    def user(self, **members):
        """Creates a user of the default app. Returns its id."""
        made = self.site.dossier(
            "user", "create", "--app", "default", f"email={members.pop('email', None) or self.new_address()}")
        return made["id"]

    def shows(self, page, heading, *errors, status=None):
        self.assertEqual(page.heading.strip(), heading, page.text)
        self.assertEqual(page.errors, list(errors), page.text)
        self.assertEqual(page.status, status or 200)
        return page


def quoted(path, **query):
    return f"{path}?{urllib.parse.urlencode(query)}"


__all__ = ["ConsoleCase", "PASSWORD", "Visitor", "quoted"]
