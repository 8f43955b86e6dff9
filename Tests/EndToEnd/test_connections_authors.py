"""Sign-in at issuers that are not of these tests: one from PyPI, and this product itself."""

import json
import os
import subprocess
import unittest
import urllib.error
import urllib.parse
import urllib.request

from connections import CONFIRM, SIGN_IN, Back, ConnectionCase, kept
from hosted import PASSWORD
from machine import TOOLS_FOLDER, free_port, is_listening, wait_until
from openid import LOGOUT, Party, target
from test_connections_assurance import query_of

PERSON = {
    "sub": "ada-1", "email": "ada@partner.example", "email_verified": True, "name": "Ada Lovelace",
    "given_name": "Ada", "family_name": "Lovelace", "locale": "en-GB"}


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Mock:
    """`oidc-provider-mock`, which knows its clients and demands a nonce."""

    def __init__(self, redirect_uri):
        self.base = f"http://127.0.0.1:{(port := free_port())}"
        self.process = subprocess.Popen(
            [TOOLS_FOLDER / "bin/python", "-B", "-m", "oidc_provider_mock", "--port", str(port),
             "--require-registration", "true", "--require-nonce", "true",
             "--user-claims", json.dumps(PERSON)],
            env={**os.environ, "PYTHONPATH": str(TOOLS_FOLDER / "oidc-provider")},
            stderr=subprocess.DEVNULL)
        wait_until(lambda: is_listening(port), what="the issuer")
        body = json.dumps({"redirect_uris": [redirect_uri]}).encode()
        request = urllib.request.Request(
            f"{self.base}/oauth2/clients", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            self.client = json.load(answer)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)

    def answer(self, url, **form):
        """Sends the form of the issuer's page. Returns how the browser is sent back."""
        opener = urllib.request.build_opener(NoRedirects)
        try:
            answer = opener.open(url, urllib.parse.urlencode(form).encode())
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            assert answer.status == 302, answer.read()
            return Back(answer.headers["Location"])


class FromPyPI(ConnectionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.mock = Mock(f"{cls.issuer}u/callback/partner")
        cls.addClassCleanup(cls.mock.stop)
        cls.site.dossier(
            "connection", "create", "partner", "--app", "default", "preset=oidc",
            f"issuer={cls.mock.base}", f"client_id={cls.mock.client['client_id']}", "label=Partner",
            f"client_secret=@{kept(cls.mock.client['client_secret'])}", "email_trust=verified")

    def start(self, visitor):
        """Goes to the issuer. Returns the URL there, and the request of the client."""
        party = Party(self, self.spa)
        self.shows(visitor.open(party.path), SIGN_IN)
        return visitor.open(self.button("partner", visitor.page), follow=False).location, party

    def test_a_person_signs_in(self):
        found = set()
        for _ in range(2):
            visitor = self.new_visitor()
            url, party = self.start(visitor)
            self.assertTrue(url.startswith(self.mock.base + "/oauth2/authorize?"), url)
            back = self.mock.answer(url, sub=PERSON["sub"])
            told = self.identity(self.come_back(back, visitor), party)
            self.assertEqual((told["email"], told["email_verified"], told["name"], told["given_name"]),
                             (PERSON["email"], True, "Ada Lovelace", "Ada"))
            found.add(told["sub"])
        self.assertEqual(len(found), 1)
        [user] = found
        self.assertEqual(self.site.sql(
            f"select provider, subject from identities where user_id = '{user}'"),
            f"jwt:{self.mock.base}|{PERSON['sub']}")

    def test_a_person_who_denies_gets_a_page(self):
        """This issuer sends errors without the state, so nothing tells whose sign-in it was."""
        url, _ = self.start(self.visitor)
        page = self.come_back(self.mock.answer(url, action="deny"))
        self.assertGreaterEqual(page.status, 400)
        self.assertTrue(page.heading)
        self.assertFalse(page.location)


class AtThisProduct(ConnectionCase):
    """An app signs its users in at another app: to browsers, and to each other, they are two sites."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.create_app("accounts")
        cls.host = f"localhost:{cls.site.port}"
        cls.site.dossier("app", "host", "set", "--app", "accounts", "localhost")
        client = cls.site.dossier(
            "client", "create", "--app", "accounts", "shop", "kind=web",
            f"callback_urls={cls.issuer}u/callback/accounts", "confirm_sign_in=false",
            f"logout_urls={cls.issuer}oidc/logout/done")
        cls.site.dossier(
            "connection", "create", "accounts", "--app", "default", "preset=oidc",
            f"issuer=http://{cls.host}/", f"client_id={client['id']}",
            f"client_secret=@{kept(client['secret'])}", "email_trust=verified", "label=Accounts")

    def setUp(self):
        super().setUp()
        self.email = self.own_email()
        header = {"Dossier-App": "accounts"}
        grant = self.expect(self.register(self.email, PASSWORD, headers=header), 201).json
        self.expect(self.verify(self.site.mailed(self.email, "ds_verify"), grant, headers=header), 204)
        self.subject = grant["user_id"]
        self.there = self.new_visitor(host=self.host)

    def at_the_other(self, url):
        """Signs the person in at the other app. Returns how the browser is sent back."""
        page = self.there.open(url.removeprefix(f"http://{self.host}"))
        if page.forms and "email" in page.forms[0].visible:
            self.there.submit(email=self.email)
        if any(form.action.split("?")[0].endswith("/password") for form in self.there.page.forms):
            self.there.submit("/password", password=PASSWORD)
        if "wants access" in self.there.page.heading:
            self.there.submit("/consent", button="allow")
        return Back(target(self.there.page))

    def pressed(self, page):
        """Returns the URL at the other app to which the button leads."""
        return self.visitor.open(self.button("accounts", page), follow=False).location

    def signed_in_here(self):
        party = Party(self, self.spa)
        url = self.pressed(self.visitor.open(party.path))
        self.assertTrue(url.startswith(f"http://{self.host}/authorize?"), url)
        return self.identity(self.come_back(self.at_the_other(url)), party)

    def test_a_person_signs_in(self):
        told = self.signed_in_here()
        self.assertEqual((told["email"], told["email_verified"], told["amr"]),
                         (self.email, True, ["fed"]))
        self.assertNotEqual(told["sub"], self.subject)
        self.assertEqual(self.site.sql(
            f"select provider, subject from identities where user_id = '{told['sub']}'"),
            f"jwt:http://{self.host}/|{self.subject}")
        # With a session here, no page is shown; with one there, none of the other app.
        party = Party(self, self.spa)
        self.assertTrue(party.code(self.visitor.open(party.path)))
        self.visitor = self.new_visitor()
        self.assertEqual(self.signed_in_here()["sub"], told["sub"])

    def test_the_other_app_confirms_the_person(self):
        told = self.signed_in_here()
        self.site.sql("update sessions set authenticated_at = now() - interval '1 day'")
        page = self.visitor.open("/account/delete")
        self.shows(page, CONFIRM)
        url = self.pressed(page)
        self.assertEqual(query_of(url)["prompt"], "login")
        page = self.come_back(self.at_the_other(url))
        self.assertEqual(page.path.split("?")[0], "/account/delete", page.text)
        self.assertTrue(told["sub"])

    def test_a_sign_out_goes_on_to_the_other_app_and_back(self):
        self.signed_in_here()
        page = self.visitor.open("/v2/logout?" + urllib.parse.urlencode(
            {"federated": "", "client_id": self.spa["id"], "returnTo": LOGOUT}))
        self.assertTrue(page.location.startswith(f"http://{self.host}/oidc/logout?"), page.text)
        self.there.open(page.location.removeprefix(f"http://{self.host}"))
        back = Back(target(self.there.submit("/oidc/logout/confirm")))
        self.assertEqual(self.visitor.open(back.path, follow=False).location, LOGOUT)
        for visitor in [self.visitor, self.there]:
            self.assertEqual(visitor.open("/account").heading.strip(), SIGN_IN)

    def test_a_person_without_an_account_there_gets_none_here(self):
        before = self.count_users()
        url = self.pressed(self.visitor.open(Party(self, self.spa).path))
        self.there.open(url.removeprefix(f"http://{self.host}"))
        self.there.submit(email=self.email)
        page = self.there.submit("/password", password="wrong horse battery")
        self.assertFalse(page.location)
        self.assertEqual(self.count_users(), before)


if __name__ == "__main__":
    unittest.main()
