"""The text and the HTML part of mails, as users and operators fill them."""

import html.parser
import unittest

from asking import JSON
from cases import Administration
from machine import wait_until


class Document(html.parser.HTMLParser):
    """The HTML part of a mail."""

    VOID = {"meta", "br"}

    def __init__(self, source):
        super().__init__()
        self.source, self.tags, self.links, self.codes, self.labels = source, set(), [], [], []
        self.root, self.heading, self.app, self.preheader, self.body = None, "", "", "", ""
        self.open = []
        self.feed(source)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.root = self.root or attributes
        self.tags.add(tag)
        if tag == "a":
            self.links.append(attributes["href"])
        if tag in self.VOID:
            self.body += "\n"
        else:
            kind = "preheader" if "display:none" in attributes.get("style", "") else \
                attributes.get("class", tag)
            self.open.append((tag, kind))

    def handle_endtag(self, tag):
        last = self.open.pop()
        assert last[0] == tag, (last, tag)
        if tag == "p":
            self.body += "\n"

    def handle_data(self, data):
        kinds = [kind for _, kind in self.open]
        tags = [tag for tag, _ in self.open]
        if "preheader" in kinds:
            self.preheader += data
        elif "bdi" in tags:
            self.app += data
        elif "h1" in tags:
            self.heading += data
        elif "label" in kinds:
            self.labels.append(data)
        elif "p" in tags:
            self.body += data
            if "code" in kinds:
                self.codes.append(data)


class Parts(Administration):
    """Tests the text and the HTML part of each kind of mail."""

    SETTINGS = {"DOSSIER_ISSUER": "https://users.example.com"}

    NAME = """<script>alert("R&D")</script> 'Ltd'"""

    def words(self, text):
        return [word for word in text.split() if not word.startswith("http")]

    def check(self, message, secret, count=1):
        """Compares the two parts of a mail."""
        self.assertEqual(message["Auto-Submitted"], "auto-generated")
        self.assertIsNone(message["List-Unsubscribe"])
        self.assertEqual(message.get_content_type(), "multipart/alternative")
        self.assertEqual([part.get_content_type() for part in message.iter_parts()],
                         ["text/plain", "text/html"])
        text = message.get_body(["plain"]).get_content().replace("\r\n", "\n")
        source = message.get_body(["html"]).get_content()
        html = Document(source)
        self.assertNotIn("<script", source)
        self.assertEqual(html.tags & {"img", "link", "script", "iframe", "object"}, set())
        self.assertEqual(html.heading, message["Subject"])
        self.assertEqual(html.app, self.NAME)
        labels = {"Verify email address", "Choose a new password", "Restore email address",
                  "Secure my account", "Contact support"}
        self.assertLessEqual(set(html.labels), labels)
        self.assertEqual(self.words(text), self.words(html.body))
        self.assertTrue(85 <= len(html.preheader) <= 100, html.preheader)
        if secret:
            self.assertIn(secret, text)
            self.assertIn(secret, html.body)
            for place in [html.preheader, message["Subject"]]:
                self.assertNotIn(secret, place)
        return text, html

    def newest(self, email):
        return self.site.mail_messages(email)[-1]

    def test_each_kind_of_mail_has_two_parts_with_the_same_words(self):
        app = self.site.add_app("parts", display_name=self.NAME, brand_color="#ffdd00",
                                corner_radius=0, email_code=True)
        self.site.dossier("app", "host", "set", "--app", "parts", "parts.example.com")
        email = "parts@example.com"
        grant = self.expect(self.register(email, headers=app), 201).json
        token = self.site.mailed(email, "ds_verify")
        text, html = self.check(self.newest(email), token)
        link = next(word for word in text.split() if token in word)
        self.assertEqual(html.links, [link, link])
        self.assertEqual(html.labels, ["Verify email address"])
        self.assertIn("background:#ffdd00", html.source)
        self.assertIn("border-radius:0px", html.source)
        self.expect(self.verify(token, grant, headers=app), 204)
        wait_until(lambda: "verified" in self.newest(email)["Subject"], what="the notice")
        _, html = self.check(self.newest(email), None)
        # The page that ends all sessions, on the host of the app.
        self.assertEqual(html.labels, ["Secure my account"])
        self.assertEqual(set(html.links), {"https://parts.example.com/u/reset"})

        self.expect(self.post("/v1/password/reset-request", {"email": email}, headers=app), 202)
        token = self.site.mailed(email, "ds_reset")
        self.assertEqual(self.check(self.newest(email), token)[1].labels, ["Choose a new password"])

        self.expect(self.post("/v1/login/code/request", {"email": email}, headers=app), 202)
        code = self.mailed_code(email)
        message = self.newest(email)
        self.assertEqual(message["Subject"], f"Your {self.NAME} sign-in code")
        _, html = self.check(message, code)
        self.assertEqual(html.codes, [code])

        self.change_email(grant, "parts2@example.com", headers=app)
        message = self.site.mail_messages("parts2@example.com")[-1]
        self.assertEqual(message["Subject"], f"Verify your new email address for {self.NAME}")
        token = self.site.mailed(email, "ds_restore")
        self.assertEqual(self.check(self.newest(email), token)[1].labels, ["Restore email address"])

        self.site.set_app("parts", sign_up="verify_first")
        self.expect(self.register("parts2@example.com", headers=app), 202)
        wait_until(lambda: "You already have" in self.newest("parts2@example.com")["Subject"],
                   what="the mail to the owner")
        self.check(self.newest("parts2@example.com"), None)

    def test_texts_of_the_operator_get_an_html_part(self):
        words = ("<b>Hi</b> {{email}} & \"all\",\nat {{app}}:\r\n\r\n{{link}}\n\n"
                 "Or type {{token}} or open {{link}} עכשיו.")
        app = self.site.add_app("own", display_name=self.NAME, reset_subject="<i>{{app}}</i>",
                                texts={"he": {"resetMailText": words}})
        self.site.dossier("app", "host", "set", "--app", "own", "own.example.com")
        email = "own@example.com"
        grant = self.expect(self.register(email, headers=app), 201).json
        self.expect(self.site.request("PATCH", "/v1/me", {"locale": "he"}, {**JSON, **app},
                                      grant["access_token"]), 200)
        self.expect(self.post("/v1/password/reset-request", {"email": email}, headers=app), 202)
        token = self.site.mailed(email, "ds_reset")
        text, html = self.check(self.newest(email), token)
        self.assertIn("<b>Hi</b> own at example dot com & \"all\",\n", text)
        self.assertEqual(html.root, {"lang": "he", "dir": "rtl"})
        self.assertEqual(len(html.links), 4)
        self.assertEqual(html.codes, [])
        self.assertEqual(self.newest(email)["Subject"], f"<i>{self.NAME}</i>")

    def test_a_token_without_a_page_is_shown_as_text(self):
        app = self.site.add_app("bare", display_name=self.NAME)
        email = "bare@example.com"
        self.expect(self.register(email, headers=app), 201)
        token = self.site.mailed(email, "ds_verify")
        _, html = self.check(self.newest(email), token)
        self.assertEqual((html.codes, html.links), ([token], []))

    def test_an_address_never_becomes_a_link(self):
        app = self.site.add_app("spelled", email_code=True, code_text="{{email}}: {{code}}")
        email = "a+www.evil.example@example.com"
        self.expect(self.post("/v1/login/code/request", {"email": email}, headers=app), 202)
        self.mailed_code(email)
        html = Document(self.newest(email).get_body(["html"]).get_content())
        self.assertEqual(html.links, [])
        self.assertNotIn("evil.example", html.source)


if __name__ == "__main__":
    unittest.main()
