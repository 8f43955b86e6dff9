"""Hostile texts of issuers and operators in pages, emails, JSON, logs and the output of commands."""

import html.parser
import json
import unicodedata
import unittest

from connections import (
    CONTINUE, EXISTS, FAILED, IDENTITIES, REFUSED, browse)
from hosted import PASSWORD
from machine import wait_until
from openid import Party
from test_connections_accounts import AccountCase
from upstream import Reply

MARKUP = ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "' onclick='alert(1)",
          "</title></bdi><a href=javascript:alert(1)>Ada</a>", "{{7*7}}<!--", "&lt;b&gt;Ada&amp;"]
# Texts that users cannot have as names: they control terminals, or turn or hide text.
UNFIT = ["Ada\nLovelace", "Ada\u001b[31m", "Ada\u009b31m", "Ada\u202egnp", "Ada\u2066", "\u200b", "\u3164 ",
         "Ada\r\nBcc: eve@example.com", "A" * 301]
# An explanation that no page shows, and no log prints as it is.
EXPLANATION = ("</p><script>alert(1)</script>\u001b]0;title\u0007\u009b31m\u202eexe\u2028line\r\n"
               "Set-Cookie: dossier=1\u200b " + "x" * 10_000)
CODES = ["<script>alert(1)</script>", "a b", "\u001b[31m", "e\r\nSet-Cookie: a=b", "\u202eerror", "c" * 65]


class Harmless(html.parser.HTMLParser):
    """Collects what could run in a page, and the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name.startswith("on") or (value or "").lower().startswith(("javascript:", "data:")):
                self.found.append((tag, name, value))
        if tag == "script" and "src" not in dict(attributes):
            self.found.append((tag,))
        if tag in ["img", "iframe", "object", "base"] and dict(attributes).get("src") == "x":
            self.found.append((tag,))


def printed(text):
    """Returns whether a line has only characters that are printed on it."""
    return all(unicodedata.category(letter) not in ["Cc", "Cf", "Zl", "Zp"] for letter in text)


class TextCase(AccountCase):
    def harmless(self, page):
        """Checks that no text became markup."""
        body = page.body.decode()
        self.assertEqual(Harmless(body).found, [], body)
        policy = page.headers["Content-Security-Policy"]
        self.assertNotIn("unsafe", policy)
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("example.net", policy)
        return page

    def enter(self, issuer):
        return self.post("/v1/login/connection", {
            "connection": issuer.name, "id_token": issuer.native_token()})

    def log_is_printed(self, request):
        """Waits for the line of a request; each text in it is printed on one line."""
        def lines():
            return [line for line in self.site.log_lines() if line.get("request") == request]

        wait_until(lines, what="a line of the log")
        for value in lines()[0].values():
            self.assertTrue(printed(str(value)), repr(value))
            self.assertLessEqual(len(str(value)), 400)


class Profiles(TextCase):
    """Names, addresses and pictures of issuers."""

    def test_markup_stays_text_on_each_page(self):
        self.settings(mfa="optional")
        for text in MARKUP:
            with self.subTest(text):
                visitor = self.new_visitor()
                person = self.never.is_new(f"{text.split()[0]}@example.com", name=text, given=text[:150],
                                           family=text[:150])
                told = self.signed_in_at(self.never, visitor)
                self.assertEqual((told["name"], told["given_name"]), (text, text[:150]))
                page = self.harmless(visitor.open("/account"))
                self.assertIn(text, page.text)
                for path in sorted({path.split("?")[0] for path in page.links.values()
                                    if path.startswith("/account/")}):
                    self.harmless(visitor.open(path))
                page = self.harmless(visitor.open("/account/identities"))
                self.assertEqual(page.heading.strip(), IDENTITIES)
                # The list of accounts that are signed in here.
                page = self.harmless(visitor.open(Party(self, self.spa, prompt="select_account").path))
                self.assertIn(text, page.text)
                self.assertEqual(self.owner(self.never), told["sub"])
                self.assertTrue(person.subject)

    def test_markup_stays_text_where_an_account_is_refused(self):
        closed = self.connect("oidc", "closed", sign_up=False)
        for text in MARKUP:
            closed.is_new("<b>@example.com", name=text)
            page, _ = self.go(closed, self.new_visitor())
            self.assertEqual(page.heading.strip(), REFUSED.format("closed"))
            self.assertIn(text, self.harmless(page).text)

    def test_names_that_users_cannot_have_are_left_out(self):
        for text in UNFIT:
            with self.subTest(repr(text)):
                self.never.is_new(name=text, given=text, family=text)
                self.never.lie(claims={"nickname": text, "locale": text, "email": text + "@example.com"})
                grant = self.expect(self.enter(self.never), 200).json
                me = self.me(grant).json
                self.assertEqual([me[name] for name in ["name", "nickname", "locale", "email"]],
                                 [None] * 4)
                [identity] = [one for one in self.me(grant, "/identities").json if one["connection"]]
                self.assertNotIn(text, [identity["name"], *identity.get("claims", {}).values()])
                self.assertNotIn(text, json.loads(self.site.dossier(
                    "user", "export", grant["user_id"], "--app", "default", output="text"))["profile"])
                shown = self.site.dossier(
                    "user", "show", grant["user_id"], "--app", "default", output="text")
                self.assertTrue(all(printed(line) for line in shown.splitlines()), shown)

    def test_apple_sends_a_hostile_name_with_the_browser(self):
        apple = self.connect("apple", email_trust="verified")
        for text in MARKUP + UNFIT:
            with self.subTest(repr(text)):
                apple.is_new(None, given=text, family="Lovelace")
                told = self.signed_in_at(apple, self.new_visitor())
                isFit = text in MARKUP and len(text) <= 150
                self.assertEqual(told.get("given_name"), text if isFit else None)
                self.assertEqual(told["family_name"], "Lovelace")

    def test_a_picture_has_only_characters_of_urls(self):
        kept = ["https://img.example.net/e.png", "https://img.example.net/e?s=96&d=https%3A%2F%2Fa.example%22"]
        dropped = ['https://img.example.net/"onerror="alert(1)', "https://img.example.net/<b>",
                   "https://img.example.net/`{|}^", "https://img.example.net\\e", "https://a@img.example.net/",
                   "data:image/svg+xml,<svg onload=alert(1)>", " https://img.example.net/", "https://#",
                   "HTTPS://img.example.net/", "https://img.example.net/" + "e" * 2048, "blob:https://a.example/"]
        for picture in kept + dropped:
            with self.subTest(picture[:60]):
                self.never.is_new(picture=picture)
                grant = self.expect(self.enter(self.never), 200).json
                self.assertEqual(self.me(grant).json["picture"], picture if picture in kept else None)
                visitor = self.new_visitor()
                told = self.signed_in_at(self.never, visitor)
                self.assertEqual(told["picture"] == picture, picture in kept)
                self.assertNotIn("img.example.net", self.harmless(visitor.open("/account")).body.decode())

    def test_an_export_with_hostile_texts_is_imported(self):
        app = "moved"
        self.site.create_app(app)
        for number, text in enumerate(MARKUP + UNFIT):
            self.always.is_new(f"moved-{number}@example.com", name=text, given=text, family=text,
                               picture='https://img.example.net/"x')
            self.expect(self.enter(self.always), 200)
        file = self.site.folder / "hostile.ndjson"
        self.site.dossier("user", "export", "--all", "--app", "default", "--output", file)
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        for row in rows:
            del row["id"]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        run = self.site.dossier("user", "import", file, "--app", app, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn(f'"created":{len(rows)}', run.stdout.replace(" ", ""))


class Errors(TextCase):
    """Codes and explanations of errors."""

    def test_a_page_shows_none_of_an_error_of_the_callback(self):
        for code in ["server_error", *CODES]:
            with self.subTest(repr(code)):
                visitor = self.new_visitor()
                url, _ = self.begin(self.never, visitor)
                back = browse(url).changed(code=None, error=code, error_description=EXPLANATION,
                                           error_uri="javascript:alert(1)")
                page = self.harmless(self.come_back(back, visitor))
                self.assertEqual(page.heading.strip(), FAILED.format("never"))
                for word in ["alert", "Set-Cookie", "xxxx"]:
                    self.assertNotIn(word, page.body.decode() + str(page.headers))
                self.log_is_printed(self.request_of(page, visitor))

    def test_no_wire_returns_an_explanation_of_a_token_endpoint(self):
        for code in ["server_error", *CODES]:
            with self.subTest(repr(code)):
                self.never.lie(token=Reply({"error": code, "error_description": EXPLANATION}, 400))
                page, _ = self.go(self.never, visitor := self.new_visitor())
                self.log_is_printed(self.request_of(self.harmless(page), visitor))
                answer = self.post("/v1/login/connection", {
                    "connection": "never", "code": self.never.native_code(redirect_uri="a:/b"),
                    "redirect_uri": "a:/b"})
                self.expect(answer, 401, "external_token_invalid")
                text = json.dumps(answer.json, ensure_ascii=False)
                self.assertTrue(printed(text), text)
                for word in ["xxxx", "Set-Cookie: dossier"]:
                    self.assertNotIn(word, text + str(answer.headers))
                self.log_is_printed(answer.headers["X-Request-Id"])

    def test_a_check_prints_no_text_of_a_service_that_controls_the_terminal(self):
        for lie in [{"discovery": {"issuer": "\u001b[31m"}},
                    {"discovery": {"authorization_endpoint": "https://a.example/\u001b[31m"}},
                    {"discovery": {"token_endpoint": "javascript:alert(1)"}},
                    {"discovery": {"scopes_supported": ["\u001b[31m"]}},
                    {"discovery": Reply("\u001b[31m<script>", 200, "text/html\u001b")},
                    {"keys": Reply("\u009b31m", 500)},
                    *[{"token": Reply({"error": code, "error_description": EXPLANATION}, 400)}
                      for code in CODES]]:
            self.never.lie(**lie)
            for arguments in [["connection", "check", "never", "--app", "default"], ["doctor"]]:
                run = self.site.dossier(*arguments, check=False, output="text")
                for line in (run.stdout + run.stderr).splitlines():
                    self.assertTrue(printed(line), repr(line))


class Labels(TextCase):
    """The label of a connection, as an operator wrote it."""

    LABEL = '<b>Acme</b> & "Co" <script>alert(1)</script>'

    def test_markup_in_a_label_stays_text(self):
        acme = self.connect("oidc", "acme", label=self.LABEL, email_trust="verified")
        email = self.own_email()
        self.owned(email)
        acme.is_new(email)
        visitor = self.new_visitor()
        page = self.harmless(visitor.open(Party(self, self.spa).path))
        self.assertIn(CONTINUE.format(self.LABEL), " ".join(page.text.split()))
        page = self.come_back(browse(self.follow(acme, page, visitor)), visitor)
        self.assertEqual(page.heading.strip(), EXISTS)
        self.assertIn(self.LABEL, self.harmless(page).text)
        acme.lie(claims={"nonce": "x"})
        page, _ = self.go(acme, visitor := self.new_visitor())
        self.assertEqual(page.heading.strip(), FAILED.format(self.LABEL))
        self.harmless(page)
        acme.honest()
        # An email tells the owner of the link.
        acme.is_new()
        self.visitor = self.new_visitor()
        self.sign_in(email, PASSWORD)
        self.link_here(acme)
        page = self.harmless(self.visitor.open("/account/identities"))
        self.assertIn(self.LABEL, page.text)
        self.told(email, self.LABEL)
        for mail in self.site.mail_messages(email):
            self.assertNotIn("\n", mail["Subject"])
            part = mail.get_body(["html"])
            if part:
                self.assertEqual(Harmless(part.get_content()).found, [])
        found = self.expect(self.site.get("/v1/connections/public"), 200)
        self.assertEqual(found.headers["Content-Type"], "application/json")
        self.assertIn(self.LABEL, [one["label"] for one in found.json])


if __name__ == "__main__":
    unittest.main()
