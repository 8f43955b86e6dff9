"""The page of the account that undoes what a session has written."""

import re
import unittest

from asking import JSON, MERGE
from cases import Administration
from hosted import PASSWORD, HostedCase
from hosted_browser import LookingCase

STALE = "Your account was changed in the meantime. Try again."
LIST = "/account/sessions"


class UndoCase(Administration, HostedCase):
    def setUp(self):
        super().setUp()
        self.settings(document_versions_kept=30)
        self.email = self.own_email()
        self.mine = self.expect(self.register(self.email, PASSWORD), 201).json
        self.thief = self.expect(self.login(self.email, PASSWORD), 200).json
        self.path = self.path_of(self.thief)

    def path_of(self, grant):
        sessions = self.expect(self.me(grant, "/sessions"), 200).json
        session = next(one["id"] for one in sessions if one["current"])
        return f"{LIST}/{session}/undo"

    def write(self, grant, body, name="metadata", method="PATCH"):
        kind = MERGE if method == "PATCH" else JSON
        answer = self.site.request(method, f"/v1/me/{name}", body, kind, token=grant["access_token"])
        self.assertLess(answer.status, 300, answer.body)

    def stored(self, name="metadata", grant=None):
        return self.expect(self.me(grant or self.mine, f"/{name}"), 200).json

    def steal(self):
        """Writes as another session, between writes of the user."""
        self.write(self.mine, {"theme": "light", "language": "en", "sound": True})
        self.write(self.thief, {"theme": "dark", "language": "de", "sound": None, "size": {"width": 12}})
        self.write(self.mine, {"language": "fr"})

    def undos(self, page):
        return set(re.findall(r'href="(/account/sessions/[0-9a-f]{24}/undo)"', page.body.decode()))


class WithoutScripts(UndoCase):
    def setUp(self):
        super().setUp()
        self.sign_in(self.email)

    def lines(self, page):
        return re.findall(r"<li><span>(.*?)</span></li>", re.sub(
            "</?bdi>|<wbr>", "", page.body.decode()))

    def age(self):
        self.site.sql("update sessions s set authenticated_at = now() - interval '1 day' from users u "
                      f"where u.user_id = s.user_id and u.email = '{self.email}'")

    def test_a_user_undoes_what_another_session_has_changed(self):
        self.assertEqual(self.undos(self.visitor.open(LIST)), set())
        self.steal()
        page = self.visitor.open(LIST)
        self.assertEqual(self.undos(page), {self.path, self.path_of(self.mine)})
        self.assertIn("Undo its changes", page.links)
        page = self.shows(self.visitor.open(self.path), "Undo changes")
        self.assertEqual(self.lines(page), [
            "size.width: 12 (will be removed)", "theme: dark → light", "sound: yes (will come back)",
            "language: fr"])
        self.assertRegex(page.text, r"(?s)Settings.*These values stay, because they were changed again later")
        self.assertNotIn("App data", page.text)
        # Neither JSON nor pointers.
        self.assertNotRegex(page.text, r'[{}"]|/theme')
        page = self.shows(self.visitor.submit("/undo"), "Devices and sessions")
        self.assertIn("The changes have been undone.", page.text)
        self.assertEqual(self.stored(), {"theme": "light", "language": "fr", "sound": True})
        event, = [one for one in self.me(self.mine, "/audit").json if one["action"] == "session_undo"]
        self.assertIn(event["detail"]["session_id"], self.path)
        # Only the value that was changed again is left.
        page = self.shows(self.visitor.open(self.path), "Undo changes")
        self.assertIn("There's nothing to undo.", page.text)
        self.assertEqual((self.lines(page), page.forms), (["language: fr"], page.forms[:0]))

    def test_values_are_written_in_words(self):
        self.write(self.mine, {"a": 1}, "custom-data", "PUT")
        self.write(self.thief, {
            "long": "x" * 80, "markup": "<b>&", "no": False, "none": None, "empty": "", "numbers": [1, 2],
            "words": ["a", "b"], "objects": [{"a": 1}, {}], "nested": {"a": {"b": {"c": "deep"}}},
            "gone": {}, "sized": {"a": [], "b": 2.5}}, "custom-data", "PUT")
        page = self.shows(self.visitor.open(self.path), "Undo changes")
        self.assertIn("App data", page.text)
        self.assertEqual(set(self.lines(page)), {f"{line} (will be removed)" for line in [
            f"long: {'x' * 60}…", "markup: &lt;b&gt;&amp;", "no: no", "none: empty", "empty: empty",
            "numbers: 1, 2", "words: a, b", "objects: 2 entries", "nested.a.b.c: deep", "gone: empty",
            "sized.a: empty", "sized.b: 2.5"]} | {"a: 1 (will come back)"})

    def test_a_list_has_at_most_twenty_lines(self):
        self.write(self.thief, {f"k{number:02}": number for number in range(25)})
        page = self.shows(self.visitor.open(self.path), "Undo changes")
        lines = self.lines(page)
        self.assertEqual((len(lines), lines[-1]), (21, "and 5 more"))
        self.assertIn("The session created this data. It will be removed.", page.text)
        self.write(self.thief, {f"k{number:03}": {"a": 1, "b": 2} for number in range(150)})
        lines = self.lines(self.visitor.open(self.path))
        self.assertEqual(len(lines), 21)
        self.assertRegex(lines[-1], "^and more than [0-9]+ more$")
        self.shows(self.visitor.submit("/undo"), "Devices and sessions")
        self.assertEqual(self.stored(), {})

    def test_what_cannot_be_undone_is_said(self):
        self.settings(document_versions_kept=3)
        self.write(self.mine, {"n": 0})
        for number in range(5):
            self.write(self.thief, {"n": number})
        page = self.shows(self.visitor.open(self.path), "Undo changes")
        for words in ["There's nothing to undo.", "the values from before are no longer stored",
                      "Older changes of this session may no longer be stored."]:
            self.assertIn(words, page.text)
        self.settings(document_versions_kept=0)
        self.assertEqual(self.undos(self.visitor.open(LIST)), set())

    def test_a_stale_preview_is_shown_again(self):
        self.steal()
        self.visitor.open(self.path)
        self.write(self.mine, {"theme": "blue"})
        page = self.visitor.submit("/undo")
        self.shows(page, "Undo changes", STALE)
        self.assertIn("theme: blue", self.lines(page))
        self.assertEqual(self.stored()["size"], {"width": 12})
        self.shows(self.visitor.submit("/undo"), "Devices and sessions")
        self.assertEqual(self.stored(), {"theme": "blue", "language": "fr", "sound": True})

    def test_two_clicks_undo_once(self):
        self.steal()
        self.visitor.open(self.path)
        form = self.visitor.form("/undo")
        headers = {"Origin": self.visitor.origin, "Content-Type": "application/x-www-form-urlencoded"}
        for _ in range(2):
            page = self.visitor.send("POST", form.action, self.visitor.body(form), **headers)
            self.shows(page, "Devices and sessions")
        events = [one for one in self.me(self.mine, "/audit").json if one["action"] == "session_undo"]
        self.assertEqual(len(events), 1)

    def test_it_needs_a_recent_sign_in(self):
        self.steal()
        self.age()
        self.shows(self.visitor.open(self.path), "Confirm that it's you")
        page = self.visitor.submit("/confirm", password=PASSWORD)
        self.shows(page, "Undo changes")
        self.assertEqual(page.path, self.path)
        before = self.stored()
        self.age()
        self.shows(self.visitor.submit("/undo"), "Confirm that it's you")
        self.assertEqual(self.stored(), before)
        self.visitor.submit("/confirm", password=PASSWORD)
        self.shows(self.visitor.submit("/undo"), "Devices and sessions")
        self.assertNotEqual(self.stored(), before)

    def test_the_session_of_another_user_and_a_forged_form_are_refused(self):
        self.steal()
        other = self.expect(self.register(f"other-{self.email}", PASSWORD), 201).json
        self.write(other, {"theme": "dark"})
        theirs = self.path_of(other)
        self.shows(self.visitor.open(theirs), "Devices and sessions")
        self.visitor.open(self.path)
        form = self.visitor.form("/undo")
        before = self.stored()
        headers = {"Origin": self.visitor.origin, "Content-Type": "application/x-www-form-urlencoded"}
        for action, fields, options, heading in [
                (theirs, {}, {}, "Devices and sessions"), (self.path, {"csrf": "x"}, {}, None),
                (self.path, {}, {"Origin": "https://evil.example"}, None)]:
            page = self.visitor.send(
                "POST", action, self.visitor.body(form, **fields), **{**headers, **options})
            if heading:
                self.shows(page, heading)
                self.assertNotIn("The changes have been undone.", page.text)
            else:
                self.assertEqual(page.status, 403)
        self.assertEqual((self.stored(), self.stored(grant=other)), (before, {"theme": "dark"}))
        # App metadata is not the user's to change.
        self.visitor.open(self.path)
        form = self.visitor.form("/undo")
        form.fields = {("app_metadata" if name == "metadata" else name): value
                       for name, value in form.fields.items()}
        self.visitor.send("POST", form.action, self.visitor.body(form), **headers)
        self.assertEqual(self.stored(), before)
        self.shows(self.visitor.open(f"{LIST}/x/undo"), "Devices and sessions")
        self.shows(self.new_visitor().open(self.path), "Sign in")

    def test_support_undoes_nothing(self):
        self.steal()
        code = self.expect(self.post("/v1/me/support-codes", token=self.mine["access_token"]), 201).json
        opened = self.site.dossier("support-session", "create", code["code"], "The game does not save.")
        stranger = self.new_visitor(Authorization=f"Bearer {opened['access_token']}")
        self.shows(stranger.open(self.path), "Sign in")
        page = stranger.send("POST", self.path, "metadata=3", Origin=stranger.origin, **{
            "Content-Type": "application/x-www-form-urlencoded"})
        self.assertNotIn("undone", page.text)
        before = self.stored()
        self.assertEqual(before["theme"], "dark")
        # Its session has written nothing.
        page = self.visitor.open(LIST)
        self.assertIn("Support", page.text)
        self.assertNotIn(f"{LIST}/{opened['id']}/undo", self.undos(page))
        page = self.shows(self.visitor.open(f"{LIST}/{opened['id']}/undo"), "Undo changes")
        self.assertIn("There's nothing to undo.", page.text)
        self.assertEqual(page.forms, [])


class WithScripts(LookingCase, UndoCase):
    def test_the_changes_are_undone_in_chromium(self):
        self.steal()
        self.write(self.thief, {"level": 7, "items": ["axe", "lamp"]}, "custom-data", "PUT")
        self.open(LIST)
        self.send(email=self.email)
        self.send(password=PASSWORD)
        self.look("Devices and sessions")
        self.open(self.path)
        self.look("Undo changes")
        text = self.browser.text("main")
        for words in ["theme: dark → light", "size.width: 12 (will be removed)", "items: axe, lamp"]:
            self.assertIn(words, text)
        self.press("Undo these changes")
        self.look("Devices and sessions")
        self.assertIn("The changes have been undone.", self.browser.text("main"))
        self.assertEqual([self.stored(), self.stored("custom-data")],
                         [{"theme": "light", "language": "fr", "sound": True}, {}])
        self.quiet()


if __name__ == "__main__":
    unittest.main()
