"""The console: settings with a plan, branding with a preview, emails, and limits."""

import html
import re
import unittest

from cases import Administration
from console import ConsoleCase, quoted
from machine import wait_until

BRANDING = "/console/default/branding"
MAIL = "/console/default/mail"
LIMITS = "/console/-/limits"


def frames(page):
    return [path.replace("&amp;", "&") for path in re.findall(r'<iframe [^>]*src="([^"]+)"', page.body.decode())]


def rows(page):
    """Returns the texts of the cells of all tables and definitions, by that of their first cell."""
    found = {}
    for row in re.findall(r'<tr role="row">(.*?)</tr>|<div>(<dt>.*?</dd>)</div>', page.body.decode(), re.S):
        cells = re.split(r"</(?:th|td|dt|dd)>", "".join(row))
        texts = [html.unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in cells[:-1]]
        found[texts[0]] = texts[1:]
    return found


class SettingsCase(ConsoleCase, Administration):
    def reset(self, *names):
        self.addCleanup(self.site.dossier, "app", "set", "--app", "default",
                        *(f"{name}=null" for name in names))

    def shown(self):
        return self.site.dossier("app", "show", "--app", "default")


class Plans(SettingsCase):
    PATH = "/console/default/settings/account"

    def test_a_plan_is_shown_before_it_is_applied(self):
        self.reset("password_min_length", "sign_up")
        visitor = self.administrator("admin")
        visitor.open(self.PATH)
        page = self.shows(visitor.submit(self.PATH, password_min_length="12"), "Check the changes")
        now, after = rows(page)["Password min length password_min_length"]
        self.assertEqual(after, "12")
        self.assertIn("within 10 seconds", page.text)
        before = self.shown()["settings"]["password_min_length"]
        self.assertEqual(before, int(now))
        page = visitor.submit("/apply")
        self.assertIn("Saved: Password min length.", page.text)
        self.assertEqual(self.shown()["settings"]["password_min_length"], 12)
        # The page says who has changed it and when, and resets it.
        value, usual, last, _ = rows(page)["Password min length password_min_length"]
        self.assertEqual([value, usual], ["12", now])
        self.assertRegex(last, r"^\d{4}-\d\d-\d\d \d\d:\d\d\s+\S+@example\.com$")
        form = next(form for form in page.forms if form.action.endswith("/reset"))
        page = self.shows(visitor.submit("/reset"), "Check the changes")
        self.assertIn("default", page.text)
        visitor.submit("/apply")
        self.assertNotIn(form.fields["setting"], self.shown()["chosen"])

    def test_discarding_a_plan_changes_nothing(self):
        visitor = self.administrator("admin")
        visitor.open(self.PATH)
        page = visitor.submit(self.PATH, password_min_length="13")
        before = self.shown()
        self.shows(visitor.open(page.links["Discard"]), "Accounts and passwords")
        self.assertEqual(self.shown()["version"], before["version"])

    def test_a_plan_for_an_older_version_is_shown_again(self):
        self.reset("password_min_length", "access_token_seconds")
        visitor = self.administrator("admin")
        visitor.open(self.PATH)
        visitor.submit(self.PATH, password_min_length="14")
        self.site.dossier("app", "set", "--app", "default", "access_token_seconds=600")
        page = visitor.submit("/apply")
        self.assertEqual(page.status, 422)
        self.assertIn("The app has changed since you opened the page.", page.text)
        self.assertNotEqual(self.shown()["settings"]["password_min_length"], 14)
        self.assertIn("Saved", visitor.submit("/apply").text)

    def test_a_plan_has_the_settings_of_its_page_only(self):
        visitor = self.administrator("admin")
        visitor.open(self.PATH)
        visitor.submit(self.PATH, password_min_length="15")
        for changes in ['{"mfa":"off"}', "[]", "nonsense"]:
            page = visitor.submit("/apply", changes=changes)
            self.assertEqual(page.status, 403, changes)
            visitor.open(self.PATH)
            visitor.submit(self.PATH, password_min_length="15")

    def test_a_viewer_changes_nothing(self):
        viewer = self.administrator("viewer")
        page = viewer.open(self.PATH)
        self.assertFalse([form for form in page.forms if "/settings/" in form.action])


class Branding(SettingsCase):
    def test_a_draft_is_previewed_published_and_discarded(self):
        self.reset("brand_color", "display_name")
        visitor = self.administrator("admin")
        page = self.shows(visitor.open(BRANDING), "Branding")
        self.assertIn("frame-src 'self'", page.headers["Content-Security-Policy"])
        self.assertEqual(len(frames(page)), 2)
        page = visitor.submit(BRANDING, button="preview", brand_color="#ffdd00",
                              display_name="Northwind")
        self.shows(page, "Branding Draft")
        # Nothing is stored yet.
        self.assertEqual(self.shown()["settings"]["brand_color"], "")
        self.assertEqual(visitor.form(BRANDING).fields["brand_color"], "#ffdd00")
        self.assertIn(["#000000 15.59, needs 4.5"], rows(page).values())
        for scheme, path in zip(["light", "dark"], frames(page), strict=True):
            framed = self.new_look(visitor, path)
            self.assertIn("Northwind", framed.text)
            policy = framed.headers["Content-Security-Policy"]
            self.assertIn("frame-ancestors 'self'", policy)
            self.assertIn("form-action 'none'", policy)
            style = re.search(r'<link rel="stylesheet" href="([^"]+)"', framed.body.decode())[1]
            style = self.new_look(visitor, style.replace("&amp;", "&"))
            text = style.body.decode()
            self.assertIn(f"color-scheme: {scheme};", text)
            self.assertNotIn("prefers-color-scheme", text)
            self.assertIn("--accent: #ffdd00", text)
        # The draft is of this session.
        other = self.administrator("admin")
        self.assertNotIn("Northwind", other.open(frames(page)[0]).text)
        draft = page.path
        page = visitor.open(page.links["Discard the draft"])
        self.assertNotIn("Draft", page.heading)
        visitor.open(draft)
        page = self.shows(visitor.submit(BRANDING, button="publish"), "Check the changes")
        self.assertEqual(rows(page)["Brand color brand_color"], ["empty", "#ffdd00"])
        page = self.shows(visitor.submit("/apply"), "Branding")
        self.assertEqual(self.shown()["settings"]["display_name"], "Northwind")

    def new_look(self, visitor, path):
        """Opens a path without leaving the page."""
        page = visitor.page
        found = visitor.open(path)
        visitor.page = page
        self.assertEqual(found.status, 200, found.text)
        return found

    def test_a_wrong_color_is_refused_before_the_preview(self):
        visitor = self.administrator("admin")
        visitor.open(BRANDING)
        # The words are the same for a text that is too long to be a color.
        for color in ["red", "dark blue"]:
            page = visitor.submit(BRANDING, button="preview", brand_color=color)
            self.assertEqual(page.status, 422)
            self.assertEqual(
                page.errors, ["Brand color: This setting must be a color such as #1f57c3, or empty."])
            self.assertEqual(visitor.form(BRANDING).fields["brand_color"], color)

    def test_an_older_form_takes_nothing_back(self):
        self.reset("brand_color")
        visitor = self.administrator("admin")
        visitor.open(BRANDING)
        self.site.dossier("app", "set", "--app", "default", "brand_color=#112233")
        page = visitor.submit(BRANDING, button="publish", display_name="x")
        self.assertEqual(page.status, 412)
        self.assertIn("Now it is “#112233”.", page.errors)

    def test_other_pages_show_no_frames(self):
        visitor = self.administrator("viewer")
        page = visitor.open("/console/default/settings")
        self.assertNotIn("frame-src", page.headers["Content-Security-Policy"])
        page = visitor.open(BRANDING)
        self.assertFalse([form for form in page.forms if form.action == BRANDING])
        self.assertEqual(self.visitor.open(f"{BRANDING}/preview/light").heading.strip(), "Sign in")
        self.assertEqual(visitor.open(f"{BRANDING}/preview/blue").status, 404)


class Emails(SettingsCase):
    def test_texts_are_previewed_and_saved_by_kind_and_language(self):
        self.reset("texts")
        visitor = self.administrator("admin")
        page = self.shows(visitor.open(quoted(MAIL, kind="reset", language="de")), "Email texts")
        self.assertIn("{{link}}", page.text)
        text = "Hier: {{link}}\n<script>alert(1)</script>"
        page = visitor.submit("/texts", button="preview", subject="Neues Passwort", text=text)
        self.shows(page, "Email texts Draft")
        self.assertIn("Hier: http", page.text)
        framed = visitor.open(frames(page)[0])
        self.assertIn("Neues Passwort", framed.text)
        self.assertNotIn("<script", framed.body.decode())
        self.assertIn("sandbox", framed.headers["Content-Security-Policy"])
        self.assertEqual(self.shown()["settings"]["texts"], {})
        visitor.open(page.path)
        page = visitor.submit("/texts", button="save")
        self.assertIn("The texts are saved.", page.text)
        self.assertEqual(self.shown()["settings"]["texts"]["de"],
                         {"resetMailSubject": "Neues Passwort", "resetMailText": text})
        # An empty text is that of the language again.
        visitor.submit("/texts", button="save", subject="", text="")
        self.assertEqual(self.shown()["settings"]["texts"].get("de", {}), {})

    def test_an_unknown_placeholder_is_refused(self):
        visitor = self.administrator("admin")
        visitor.open(quoted(MAIL, kind="code", language="en"))
        for action in ["preview", "save"]:
            page = visitor.submit("/texts", button=action, text="{{secret}}")
            self.assertEqual(page.status, 422)
            self.assertIn("secret", " ".join(page.errors))
            self.assertEqual(visitor.form("/texts").fields["text"], "{{secret}}")

    def test_a_test_goes_to_the_administrator(self):
        visitor = self.administrator("admin")
        visitor.open(quoted(MAIL, kind="code", language="fr"))
        page = visitor.submit("/test")
        self.assertIn(visitor.address.split("@")[0], page.text)
        wait_until(lambda: any("1234 5678" in text for text in self.site.mails(visitor.address)),
                   what="the test")

    def test_the_sender_has_a_plan(self):
        self.reset("mail_from_name")
        visitor = self.administrator("admin")
        visitor.open(MAIL)
        self.shows(visitor.submit("/sender", mail_from_name="Northwind"), "Check the changes")
        visitor.submit("/apply")
        self.assertEqual(self.shown()["settings"]["mail_from_name"], "Northwind")
        page = visitor.open(MAIL)
        self.assertIn("Northwind <", page.text)
        page = visitor.submit("/sender", mail_from="nonsense")
        self.assertEqual(page.status, 422)

    def test_the_command_sends_to_an_address(self):
        email = self.new_address()
        self.site.dossier("mail", "test", "reset", email, "--language", "de", "--app", "default")
        wait_until(lambda: any("ds_reset_example" in text for text in self.site.mails(email)),
                   what="the test")
        self.refused(12, "mail", "test", "nothing", email)
        self.refused(12, "mail", "test", "reset", "nonsense")
        # The token of a test is not valid.
        answer = self.post("/v1/password/reset", {
            "token": "ds_reset_example", "password": "correct horse battery"})
        self.assertGreaterEqual(answer.status, 400)

    def test_tests_are_limited_by_address(self):
        email = self.new_address()
        self.site.dossier("app", "create", "few")
        self.site.dossier("app", "set", "--app", "few", "mails_per_email_daily=1")
        self.site.dossier("mail", "test", "code", email, "--app", "few")
        self.refused(16, "mail", "test", "code", email, "--app", "few")

    def test_others_send_no_test(self):
        viewer = self.administrator("viewer")
        page = viewer.open(MAIL)
        self.assertFalse([form for form in page.forms if form.action.startswith(MAIL) and form.fields.get("token")])


class Limits(SettingsCase):
    def test_throttled_callers_are_listed_and_reset(self):
        visitor = self.administrator("owner")
        self.site.dossier("app", "create", "busy")
        self.site.dossier("app", "set", "--app", "busy", "failures_per_ip=2", "failure_minutes=1440")
        page = self.shows(visitor.open(quoted(LIMITS, app="busy")), "Limits")
        self.assertIn("No limit of this app refuses attempts now.", page.text)
        self.assertEqual(page.links["Limits"], LIMITS)
        body, headers = {"email": "a@example.com", "password": "wrong horse battery"}, {"Dossier-App": "busy"}
        for number in range(3):
            self.post("/v1/login/password", {**body, "email": f"{number}@example.com"}, headers=headers)
        listed = self.site.dossier("rate-limit", "list", "--app", "busy")
        self.assertEqual([item["limit"] for item in listed], ["login-network"])
        page = visitor.open(quoted(LIMITS, app="busy"))
        self.assertIn("Login network", page.text)
        page = visitor.submit("/reset", network=listed[0]["network"])
        self.assertIn("Limits that were reset:", page.text)
        self.assertIn("possible at once", page.text)
        self.assertEqual(self.site.dossier("rate-limit", "list", "--app", "busy"), [])
        # A reset of nothing says so.
        visitor.page.forms = visitor.page.forms[-1:]
        page = visitor.submit("/reset", user=self.new_address())
        self.assertIn("Nothing was reset: no limit has counted an attempt.", page.text)
        answer = self.post("/v1/login/password", body, headers=headers)
        self.assertEqual(answer.json["code"], "wrong_credentials")

    def test_the_limits_of_a_user_are_reset(self):
        visitor = self.administrator("owner")
        self.site.dossier("app", "set", "--app", "default", "failures_per_identifier=1", "failure_minutes=1440")
        self.reset("failures_per_identifier", "failure_minutes")
        email = self.new_address()
        for _ in range(2):
            answer = self.login(email, "wrong horse battery")
        self.assertEqual(answer.status, 429)
        page = visitor.open(quoted(LIMITS, app="default"))
        self.assertIn("Login", page.text)
        # The last form is that of a user.
        visitor.page.forms = visitor.page.forms[-1:]
        page = visitor.submit("/reset", user=email)
        self.assertIn("Limits that were reset:", page.text)
        self.assertEqual(self.login(email, "wrong horse battery").status, 401)

    def test_a_viewer_resets_nothing(self):
        viewer = self.administrator("viewer")
        page = viewer.open(LIMITS)
        self.assertFalse([form for form in page.forms if form.action.endswith("/limits/reset")])

    def test_an_administrator_has_600_requests_a_minute(self):
        visitor, other = self.administrator("viewer"), self.administrator("viewer")
        self.site.sql("delete from rate_limits")
        self.assertEqual(visitor.open("/console/default/settings").status, 200)
        # As after 600 requests at once.
        used = self.site.sql(
            "update rate_limits set theoretical_arrival_at = now() + interval '1 hour' "
            "returning 'used'")
        self.assertEqual(used, "used")
        page = visitor.open("/console/default/settings")
        self.assertEqual(page.status, 429)
        self.assertEqual(page.heading.strip(), "Try again later")
        self.assertIn("Retry-After", page.headers)
        # Another administrator is not slowed down.
        self.assertEqual(other.open("/console/default/settings").status, 200)


if __name__ == "__main__":
    unittest.main()
