"""A relying party of OpenID Connect: its requests as a library would send them, and hostile ones."""

import base64
import hashlib
import html
import json
import re
import secrets
import urllib.parse

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from hosted import PASSWORD, HostedCase

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CALLBACK = "https://app.example.com/callback"
LOGOUT = "https://app.example.com/bye"
# Errors of the token endpoint.
INVALID_CODE = ("The authorization code is not valid. Start again at /authorize. A code expires after "
                "one minute, and works once. Only the same exchange may be repeated, for 30 seconds.")
WRONG_SECRET = "The secret or the assertion of the client is missing or wrong."


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unbase64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def claims(token):
    """Returns the claims of a token without verifying it."""
    return json.loads(unbase64url(token.split(".")[1]))


def head(token):
    """Returns the header of a token."""
    return json.loads(unbase64url(token.split(".")[0]))


def verified(token, keys):
    """Returns the claims of a token after verifying it with one of the keys."""
    signature = token.split(".")[2]
    key_id = head(token)["kid"]
    key = next(key for key in keys if key["kid"] == key_id)
    numbers = [int.from_bytes(unbase64url(key[name]), "big") for name in "en"]
    rsa.RSAPublicNumbers(*numbers).public_key().verify(
        unbase64url(signature), token.rsplit(".", 1)[0].encode(), padding.PKCS1v15(), hashes.SHA256())
    return claims(token)


def target(page):
    """Returns the URL to which a redirect or a page returns the browser."""
    found = re.search(r'http-equiv="refresh" content="0;url=([^"]*)"', page.body.decode())
    assert page.location or found, f"{page.status} at {page.path}: {' '.join(page.text.split())}"
    return page.location or html.unescape(found[1])


class Party:
    """A client with one pending request."""

    def __init__(self, case, client, redirect=CALLBACK, host=None, **parameters):
        self.case, self.client, self.host = case, client, host
        self.verifier = secrets.token_urlsafe(32)
        challenge = base64url(hashlib.sha256(self.verifier.encode()).digest())
        self.parameters = {
            "response_type": "code", "client_id": client["id"], "redirect_uri": redirect,
            "scope": "openid profile email", "state": secrets.token_urlsafe(8) + "+/=",
            "nonce": secrets.token_urlsafe(8), "code_challenge": challenge,
            "code_challenge_method": "S256", **parameters}
        self.parameters = {k: v for k, v in self.parameters.items() if v is not None}

    @property
    def path(self):
        return "/authorize?" + urllib.parse.urlencode(self.parameters)

    def answer(self, page):
        """Returns the parameters of the response in a redirect or on a page."""
        url = target(page)
        self.case.assertTrue(url.startswith(self.parameters["redirect_uri"]), url)
        query = url[len(self.parameters["redirect_uri"]) + 1:]
        return dict(urllib.parse.parse_qsl(query, strict_parsing=True))

    def code(self, page):
        answer = self.answer(page)
        self.case.assertEqual(answer.get("state"), self.parameters.get("state"), answer)
        self.case.assertIn("code", answer)
        return answer["code"]

    def token(self, headers=None, **fields):
        """Sends a request to the token endpoint. Omits fields of None."""
        body = {"client_id": self.client["id"], "client_secret": self.client.get("secret"), **fields}
        body = {name: value for name, value in body.items() if value is not None}
        host = {"Host": self.host} if self.host else {}
        return self.case.site.request(
            "POST", "/oauth/token", urllib.parse.urlencode(body), {**FORM, **host, **(headers or {})})

    def exchange(self, code, **fields):
        return self.token(**{
            "grant_type": "authorization_code", "code": code, "code_verifier": self.verifier,
            "redirect_uri": self.parameters.get("redirect_uri"), **fields})


class OpenIDCase(HostedCase):
    """Tests with a client of each kind and one resource server."""

    SETTINGS = {"DOSSIER_ISSUER": "http://127.0.0.1:{port}"}
    API = "https://api.example.com/"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        lists = [f"callback_urls={CALLBACK}"]
        cls.spa = cls.new_client("single_page", *lists)
        cls.web = cls.new_client("web", *lists)
        cls.native = cls.new_client("native", "callback_urls=com.Example.my-app://cb")
        cls.machine = cls.new_client("machine", "scopes=read:users")
        cls.api = cls.site.dossier(
            "resource-server", "create", cls.API, "--app", "default", "name=Posts",
            "scopes.read:posts=Read your posts", "scopes.write:posts=Write posts",
            "allows_offline_access=true")
        for client in [cls.spa, cls.web]:
            cls.site.dossier("client", "set", client["id"], f"logout_urls={LOGOUT}")
        cls.keys = cls.site.get("/.well-known/jwks.json").json["keys"]
        cls.issuer = cls.site.get("/.well-known/openid-configuration").json["issuer"]

    @classmethod
    def new_client(cls, kind, *arguments, app="default", settings=()):
        return cls.site.dossier(
            "client", "create", "--app", app, kind, f"kind={kind}", *arguments, *settings)

    def user(self, email=None, password=PASSWORD):
        email = email or self.own_email()
        return email, self.expect(self.register(email, password), 201).json["user_id"]

    def signed_in(self, party, email, password=PASSWORD, visitor=None):
        """Returns the page after a sign-in at the hosted pages."""
        visitor = visitor or self.visitor
        visitor.open(party.path)
        if visitor.page.heading == "Confirm that it's you":
            visitor.submit("/another")
        visitor.submit(email=email)
        return visitor.submit("/password", password=password)

    def tokens(self, email=None, client=None, visitor=None, **parameters):
        """Signs a user in. Returns the tokens of the client and its request."""
        if email is None:
            email, _ = self.user()
        party = Party(self, client or self.spa, **parameters)
        page = self.signed_in(party, email, visitor=visitor)
        answer = self.expect(party.exchange(party.code(page)), 200)
        return answer.json, party

    def error(self, answer, status, code, description=None):
        self.assertEqual((answer.status, answer.json["error"]), (status, code), answer.body)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(answer.headers["Cache-Control"], "no-store")
        if description:
            self.assertEqual(answer.json["error_description"], description)

    def userinfo(self, token, **options):
        return self.site.get("/userinfo", token=token, **options)
