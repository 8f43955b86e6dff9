"""Merges of users: what stays and goes, the undo, two at once, and who may do it."""

import os
import secrets

from asking import JSON
from cases import in_parallel
from console import ConsoleCase
from test_console_browser import ConsoleBrowserCase

PASSWORD = "correct horse battery"
DOCUMENTS = ["metadata", "app-metadata", "custom-data"]


class MergeCase(ConsoleCase):
    def setUp(self):
        super().setUp()
        self.operator = self.site.client("--operator")["secret"]

    def ask(self, method, path, body=None, status=200, code=None, key=None):
        headers = {"Dossier-App": "default", **(JSON if body is not None else {})}
        answer = self.site.request(method, f"/v1{path}", body, headers, token=key or self.operator)
        return self.expect(answer, status, code).json if status != 204 else None

    def person(self, **members):
        """Creates a user with a verified address and a password. Returns id and address."""
        email = f"{secrets.token_hex(6)}@example.com"
        made = self.ask("POST", "/users", {
            "email": email, "email_verified": True, "password": PASSWORD, **members}, 201)
        return made["id"], email

    def merge(self, user, other, status=200, code=None, key=None, **body):
        return self.ask("POST", f"/users/{user}/merge", {"from": other, **body}, status, code, key)

    def undo(self, merge, status=200, code=None, key=None):
        return self.ask("POST", f"/merges/{merge}/undo", None, status, code, key)

    def document(self, user, name):
        return self.ask("GET", f"/users/{user}/{name}")

    def properties(self, user):
        return self.ask("GET", f"/users/{user}/properties")

    def sign_in(self, email, status=200):
        return self.expect(self.login(email, PASSWORD), status).json


class Merges(MergeCase):
    def test_each_kind_of_data_stays_goes_and_comes_back(self):
        ada, address = self.person(
            name="Ada", metadata={"theme": "light", "deep": {"a": 1, "list": [1]}},
            properties={"volume": 1}, custom_data={"mine": True})
        other, former = self.person(
            name="Countess", nickname="countess", app_metadata={"plan": "pro"},
            metadata={"theme": "dark", "deep": {"b": 2, "list": [2]}, "size": 3},
            properties={"volume": 9, "color": "red"}, custom_data={"theirs": True})
        role = self.ask("POST", "/roles", {"name": secrets.token_hex(4)}, 201)["id"]
        self.ask("PUT", f"/users/{other}/roles/{role}", None, 204)
        session = self.sign_in(former)
        key = self.expect(self.post(
            "/v1/me/api-keys", {"name": "cron"}, token=session["access_token"]), 201).json["key"]
        before = self.site.dossier("user", "show", ada)

        shown = self.merge(ada, other, dry_run=True, custom_data="take")
        self.assertIsNone(shown["merge_id"])
        self.assertEqual(shown["documents"], {
            "metadata": {"theme": "light", "deep": {"a": 1, "list": [1], "b": 2}, "size": 3},
            "app_metadata": {"plan": "pro"}, "custom_data": {"theirs": True}})
        self.assertEqual([shown["other"]["sessions"], shown["other"]["api_keys"]], [1, 1])
        self.assertEqual([one["id"] for one in shown["other"]["roles"]], [role])
        self.assertEqual(self.site.dossier("user", "show", ada), before)
        self.expect(self.me(session), 200)

        merge = self.merge(ada, other, custom_data="take")["merge_id"]
        self.expect(self.me(session), 401)
        self.expect(self.post("/v1/login/api-key", {"key": key}), 401)
        self.ask("GET", f"/users/{other}", status=404)
        self.assertEqual(self.document(ada, "metadata"), shown["documents"]["metadata"])
        self.assertEqual(self.document(ada, "app-metadata"), {"plan": "pro"})
        self.assertEqual(self.document(ada, "custom-data"), {"theirs": True})
        self.assertEqual(self.properties(ada), {"volume": 1, "color": "red"})
        profile = self.ask("GET", f"/users/{ada}")
        self.assertEqual([profile["name"], profile["nickname"], profile["email"]],
                         ["Ada", "countess", address])
        self.assertEqual([one["id"] for one in self.ask("GET", f"/users/{ada}/roles")], [role])
        # Both addresses sign the same user in.
        self.assertEqual({self.sign_in(address)["user_id"], self.sign_in(former)["user_id"]}, {ada})
        actions = [event["action"] for event in self.ask("GET", f"/users/{ada}/audit")]
        self.assertIn("user_merge", actions)

        self.assertEqual(self.undo(merge), {"user_id": other})
        self.assertEqual(self.document(other, "metadata"),
                         {"theme": "dark", "deep": {"b": 2, "list": [2]}, "size": 3})
        self.assertEqual(self.document(other, "app-metadata"), {"plan": "pro"})
        self.assertEqual(self.properties(other), {"volume": 9, "color": "red"})
        again = self.ask("GET", f"/users/{other}")
        self.assertEqual([again["name"], again["email"], again["email_verified"]],
                         ["Countess", former, True])
        self.assertEqual(self.ask("GET", f"/users/{other}/sessions"), [])
        self.assertEqual([one["id"] for one in self.ask("GET", f"/users/{other}/roles")], [role])
        self.expect(self.me(session), 401)
        self.assertEqual(self.sign_in(address)["user_id"], ada)
        # Its password may have been replaced since, so it needs a new one.
        self.sign_in(former, 401)
        # The one that stayed keeps what it has got.
        self.assertEqual(self.document(ada, "metadata"), shown["documents"]["metadata"])
        self.undo(merge, 410, "not_undoable")

    def test_documents_are_kept_taken_or_merged(self):
        for choice, expected in [("keep", {"a": 1}), ("take", {"b": 2}), ("merge", {"a": 1, "b": 2})]:
            with self.subTest(choice):
                ada, _ = self.person(metadata={"a": 1}, custom_data={"a": 1}, app_metadata={"a": 1})
                other, _ = self.person(metadata={"b": 2}, custom_data={"b": 2}, app_metadata={"b": 2})
                self.merge(ada, other, metadata=choice, custom_data=choice, app_metadata=choice)
                for name in DOCUMENTS:
                    self.assertEqual(self.document(ada, name), expected)

    def test_a_guest_gives_its_data(self):
        ada, _ = self.person(metadata={"a": 1})
        guest = self.site.login()
        self.site.request("PUT", "/v1/me/metadata", {"b": 2}, JSON, guest["access_token"])
        merge = self.merge(ada, guest["user_id"])["merge_id"]
        self.assertEqual(self.document(ada, "metadata"), {"a": 1, "b": 2})
        self.assertEqual(self.undo(merge), {"user_id": guest["user_id"]})
        self.assertEqual(self.document(guest["user_id"], "metadata"), {"b": 2})

    def test_the_undo_ends_after_seven_days(self):
        ada, other = self.person()[0], self.person()[0]
        merge = self.merge(ada, other)["merge_id"]
        sealed = self.site.sql("select encode(sealed, 'escape') from merges")
        self.assertNotIn("example.com", sealed)
        days = self.site.sql(
            f"select expires_at - created_at from merges where merge_id = '{merge}'")
        self.assertEqual(days, "7 days")
        self.site.sql(f"update merges set expires_at = now() where merge_id = '{merge}'")
        self.undo(merge, 410, "not_undoable")
        self.undo("0" * 24, 410, "not_undoable")

    def test_two_merges_at_once(self):
        for _ in range(5):
            one, two, three = [self.person()[0] for _ in range(3)]
            pairs = [(one, two), (two, one), (three, two)]
            answers = in_parallel(3, lambda index: self.site.request(
                "POST", f"/v1/users/{pairs[index][0]}/merge", {"from": pairs[index][1]},
                {"Dossier-App": "default", **JSON}, self.operator))
            done = [answer.status for answer in answers]
            self.assertLessEqual(set(done), {200, 404, 409}, [answer.body for answer in answers])
            left = [user for user in [one, two, three] if self.site.get(
                f"/v1/users/{user}", headers={"Dossier-App": "default"}, token=self.operator).status == 200]
            self.assertEqual(len(left), 3 - done.count(200))
            self.assertGreaterEqual(done.count(200), 1)

    def test_two_undos_at_once(self):
        ada, other = self.person()[0], self.person()[0]
        merge = self.merge(ada, other)["merge_id"]
        answers = in_parallel(4, lambda _: self.site.request(
            "POST", f"/v1/merges/{merge}/undo", None, {"Dossier-App": "default"}, self.operator))
        self.assertEqual(sorted(answer.status for answer in answers), [200, 410, 410, 410])

    def test_what_is_not_possible(self):
        ada, other = self.person(metadata={"a": 1})[0], self.person(metadata={"b": "x"})[0]
        guest = self.site.login()["user_id"]
        self.merge(ada, ada, 409, "merge_not_possible")
        self.merge(ada, "0" * 24, 409, "merge_not_possible")
        self.merge("0" * 24, ada, 404, "not_found")
        self.merge(guest, ada, 409, "merge_not_possible")
        self.site.dossier("user", "block", "--yes", "--app", "default", other)
        refused = self.merge(ada, other, 409, "merge_not_possible", dry_run=True)
        self.assertIn("blocked", refused["detail"])
        self.site.dossier("user", "unblock", "--app", "default", other)
        for body in [{"metadata": "both"}, {"dry_run": "yes"}, {"into": ada}]:
            self.merge(ada, other, 422, "validation_failed", **body)
        self.site.dossier("api", "PUT", "/v1/schemas/metadata", "-",
                          given='{"properties": {"b": {"type": "number"}}}')
        self.addCleanup(self.site.dossier, "api", "DELETE", "/v1/schemas/metadata")
        wrong = self.merge(ada, other, 422, "schema_mismatch", dry_run=True)
        self.assertEqual(wrong["errors"][0]["pointer"], "/metadata/b")
        self.assertEqual(self.ask("GET", f"/users/{other}")["id"], other)

    def test_who_may_merge(self):
        ada, address = self.person()
        other, _ = self.person()
        merge = self.merge(ada, self.person()[0])["merge_id"]
        session = self.sign_in(address)["access_token"]
        weak = self.site.client("--app", "default", "scopes=read:users,update:users")["secret"]
        self.site.add_app("foreign")
        foreign = self.site.client("--app", "foreign")["secret"]
        for key in [session, weak, foreign, "ds_client_" + "A" * 43]:
            for path, body in [(f"/v1/users/{ada}/merge", {"from": other}),
                               (f"/v1/merges/{merge}/undo", None)]:
                answer = self.site.request("POST", path, body, JSON if body else {}, key)
                self.assertIn(answer.status, (401, 403, 404, 409, 410), answer.body)
        self.assertEqual(self.ask("GET", f"/users/{other}")["id"], other)
        self.undo(merge)

    def test_the_command_line(self):
        ada, address = self.person(metadata={"a": 1})
        other, former = self.person(metadata={"a": 2})
        shown = self.site.dossier("user", "merge", address, former, "--metadata", "take", "--dry-run")
        self.assertEqual(shown["documents"]["metadata"], {"a": 2})
        run = self.site.dossier("user", "merge", address, former, check=False)
        self.assertEqual(run.returncode, 23)
        done = self.site.dossier("user", "merge", address, former, "--metadata", "take", "--yes")
        self.assertEqual(self.document(ada, "metadata"), {"a": 2})
        undone = self.site.dossier("user", "undo-merge", done["merge_id"])
        self.assertEqual(undone, {"user_id": other})
        self.assertEqual(self.document(other, "metadata"), {"a": 2})


class Page(MergeCase):
    def confirm(self, visitor, text):
        """Sends the form that confirms the merge, which follows that of the preview."""
        form = next(form for form in visitor.page.forms if "confirmation" in form.fields)
        return visitor.send(
            "POST", form.action, visitor.body(form, confirmation=text), True, Origin=visitor.origin,
            **{"Content-Type": "application/x-www-form-urlencoded"})

    def test_a_merge_by_the_typed_address_and_its_undo(self):
        visitor = self.administrator("admin", "--app", "default")
        ada, address = self.person(name="Ada", metadata={"a": 1})
        other, former = self.person(name="Countess", metadata={"b": 2})
        path = f"/console/default/users/{ada}/merge"
        page = visitor.open(f"/console/default/users/{ada}")
        self.assertIn(path, page.links.values())
        page = visitor.open(f"{path}?other=nobody@example.com")
        self.assertIn("No user has this address or id.", page.errors)
        page = visitor.open(f"{path}?other={former}")
        self.assertIn("Countess", page.text)
        self.assertIn(f"Type {former} to confirm", page.text)
        page = self.confirm(visitor, address)
        self.assertEqual(page.status, 422)
        self.ask("GET", f"/users/{other}")
        # A choice that was changed after the preview is shown first, and merges nothing.
        form = next(form for form in visitor.page.forms if "confirmation" in form.fields)
        page = visitor.send(
            "POST", form.action, visitor.body(form, confirmation=former, metadata="keep"), True,
            Origin=visitor.origin, **{"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(page.status, 422)
        self.assertIn("You have changed a choice.", page.text)
        self.assertIn("The document of the user that stays does not change.", page.text)
        self.ask("GET", f"/users/{other}")
        form = next(form for form in visitor.page.forms if "confirmation" in form.fields)
        page = visitor.send(
            "POST", form.action, visitor.body(form, metadata="merge", preview="true"), True,
            Origin=visitor.origin, **{"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual((page.status, page.errors), (200, []))
        page = self.confirm(visitor, former)
        self.assertIn("Merged.", page.text)
        self.ask("GET", f"/users/{other}", status=404)
        self.assertEqual(self.document(ada, "metadata"), {"a": 1, "b": 2})
        visitor.open(path)
        page = visitor.submit("/merge/undo")
        self.assertIn("The merge is undone.", page.text)
        self.assertEqual(self.document(other, "metadata"), {"b": 2})
        self.assertNotIn("Undo merge", visitor.open(path).text)
        support = self.administrator("support", "--app", "default")
        self.assertNotIn(path, support.open(f"/console/default/users/{ada}").links.values())
        self.assertEqual(support.open(f"{path}?other={former}").status, 403)


class Pictures(ConsoleBrowserCase, MergeCase):
    def test_the_preview_in_all_views(self):
        self.sign_in_here()
        ada, _ = self.person(
            name="Ada " + "o" * 60, metadata={"theme": "light", "list": list(range(20))},
            properties={f"key{number}": number for number in range(30)})
        other, former = self.person(name="Countess", metadata={"theme": "dark", "w" * 150: "x" * 200})
        self.sign_in(former)
        self.browser.open(f"{self.server}/console/default/users/{ada}/merge")
        self.look()
        self.browser.open(f"{self.server}/console/default/users/{ada}/merge?other={former}")
        self.assertIn("After the merge", self.browser.find("html").get_attribute("textContent"))
        self.look()
        folder = os.environ.get("DOSSIER_PICTURES")
        for (scheme, width) in [("light", 1280), ("dark", 390)] if folder else []:
            self.browser.emulate(scheme, width)
            self.browser.driver.save_screenshot(f"{folder}/merge-{width}-{scheme}.png")
