"""The undo of what a session has written in documents."""

import json

from asking import JSON, MERGE
from cases import Administration, in_parallel

KINDS = ["metadata", "app_metadata", "custom_data"]


class UndoCase(Administration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.dossier("app", "set", "document_versions_kept=20", "failures_per_ip=100000")
        cls.key = cls.site.client(
            "--app", "default", "scopes=read:users,update:users,read:users_app_metadata,"
            "update:users_app_metadata")["secret"]

    def setUp(self):
        email = self.own_email()
        self.mine = self.expect(self.register(email), 201).json
        self.thief = self.expect(self.login(email), 200).json
        self.user = self.mine["user_id"]
        self.session = self.session_of(self.thief)

    def session_of(self, grant):
        sessions = self.expect(self.me(grant, "/sessions"), 200).json
        return next(one["id"] for one in sessions if one["current"])

    def write(self, grant, body, name="metadata", method="PATCH"):
        kind = MERGE if method == "PATCH" else JSON
        token = grant if isinstance(grant, str) else grant["access_token"]
        path = f"/v1/users/{self.user}" if isinstance(grant, str) else "/v1/me"
        answer = self.site.request(
            method, f"{path}/{name}", body, kind if body is not None else {}, token)
        self.assertLess(answer.status, 300, answer.body)
        return answer

    def path(self, end, session=None, user=None):
        base = f"/v1/users/{user}" if user else "/v1/me"
        return f"{base}/sessions/{session or self.session}/{end}"

    def preview(self, session=None):
        answer = self.site.get(self.path("changes", session), token=self.mine["access_token"])
        return self.expect(answer, 200).json["documents"]

    def undo(self, body, status=200, code=None, grant=None, session=None):
        token = (grant or self.mine)["access_token"]
        return self.expect(self.post(self.path("undo", session), body, token=token), status, code)

    def places(self, answer):
        return {error["pointer"]: error["code"] for error in answer.json["errors"]}

    def stored(self, name="metadata"):
        answer = self.expect(self.site.get(f"/v1/users/{self.user}/{name}", token=self.key), 200)
        return answer.json, answer.version


class Undo(UndoCase):
    def test_what_only_the_session_has_changed_goes_back(self):
        self.write(self.mine, {"theme": "light", "language": "en", "name": "Ada"})
        self.write(self.thief, {"theme": "dark", "language": "de", "name": None})
        self.write(self.mine, {"font": 12})
        self.write(self.thief, {"extra": {"a": 1}})
        self.write(self.key, {"language": "fr"})
        shown = self.preview()
        self.assertEqual(shown.keys(), {"metadata"})
        shown = shown["metadata"]
        self.assertEqual(
            (shown["version"], shown["outcome"], shown["complete"], shown["obstacle"], shown["more"]),
            (5, "changed", True, None, False))
        self.assertEqual({one.pop("pointer"): one for one in shown["changes"]}, {
            "/theme": {"now": "dark", "after": "light"}, "/name": {"after": "Ada"},
            "/extra": {"now": {"a": 1}}})
        conflict, = shown["conflicts"]
        self.assertEqual(
            (conflict["pointer"], conflict["now"], conflict["after"], conflict["session_id"]),
            ("/language", "fr", "en", None))
        self.assertTrue(conflict["actor"].startswith("client:"))
        versions = self.me(self.mine, "/metadata/versions").json
        self.assertEqual(conflict["changed_at"], versions[0]["changed_at"])
        # The session ends first, as a user would do.
        self.expect(self.post("/v1/logout", token=self.thief["access_token"]), 204)
        answer = self.undo({"metadata": {"version": 5}})
        self.assertEqual(answer.json, {"metadata": {"version": 6}})
        self.assertEqual(self.stored(), (
            {"theme": "light", "language": "fr", "name": "Ada", "font": 12}, 6))
        newest = self.me(self.mine, "/metadata/versions").json[0]
        self.assertEqual((newest["version"], newest["actor"], newest["session_id"]),
                         (6, "user", self.session_of(self.mine)))
        event, = [one for one in self.me(self.mine, "/audit").json if one["action"] == "session_undo"]
        self.assertEqual(event["detail"], {"session_id": self.session, "documents": {"metadata": 6}})
        self.assertEqual(event["session_id"], self.session_of(self.mine))
        # Nothing but the conflict is left.
        again = self.preview()["metadata"]
        self.assertEqual((again["outcome"], again["changes"], len(again["conflicts"])), ("unchanged", [], 1))
        self.assertEqual(self.undo({"metadata": {"version": 6}}).json, {"metadata": {"version": 6}})

    def test_a_conflict_is_undone_if_it_is_chosen(self):
        self.write(self.mine, {"a": {"x": 1, "y": 1}, "b": 1})
        self.write(self.thief, {"a": {"x": 2, "y": 2}, "b": 2})
        self.write(self.key, {"a": {"x": 3}, "b": None})
        shown = self.preview()["metadata"]
        self.assertEqual([one["pointer"] for one in shown["conflicts"]], ["/a/x", "/b"])
        self.assertNotIn("now", shown["conflicts"][1])
        for pointer in ["/a", "/a/y", "/c", "", "b", "/a/x/"]:
            body = {"metadata": {"version": 3, "conflicts": ["/b", pointer]}}
            self.assertEqual(self.places(self.undo(body, 422, "validation_failed")),
                             {"/metadata/conflicts/1": "conflict"})
        self.undo({"metadata": {"version": 3, "conflicts": ["/b", "/a/x"]}})
        self.assertEqual(self.stored()[0], {"a": {"x": 1, "y": 1}, "b": 1})

    def test_a_created_document_is_deleted_and_a_deleted_one_created(self):
        self.write(self.thief, {"n": 1}, "custom-data", "PUT")
        self.assertEqual(self.preview()["custom_data"]["outcome"], "deleted")
        answer = self.undo({"custom_data": {"version": 1}})
        self.assertEqual(answer.json, {"custom_data": {"version": 0}})
        self.assertEqual(self.stored("custom-data"), ({}, 0))
        self.assertTrue(self.me(self.mine, "/custom-data/versions").json[0]["deleted"])
        self.write(self.mine, {"n": 2}, "custom-data", "PUT")
        self.write(self.thief, None, "custom-data", "DELETE")
        shown = self.preview()["custom_data"]
        self.assertEqual((shown["version"], shown["outcome"]), (0, "created"))
        self.assertEqual(shown["changes"], [{"pointer": "/n", "after": 2}])
        self.undo({"custom_data": {"version": 0}})
        self.assertEqual(self.stored("custom-data")[0], {"n": 2})
        # Another writer deletes what the session has changed.
        self.write(self.thief, {"n": 3}, "custom-data")
        self.write(self.mine, None, "custom-data", "DELETE")
        shown = self.preview()["custom_data"]
        self.assertEqual((shown["version"], shown["outcome"]), (0, "unchanged"))
        conflict, = shown["conflicts"]
        self.assertEqual((conflict["pointer"], conflict["after"]), ("/n", 2))
        self.assertEqual(conflict["session_id"], self.session_of(self.mine))
        self.undo({"custom_data": {"version": 0, "conflicts": ["/n"]}})
        self.assertEqual(self.stored("custom-data")[0], {"n": 2})

    def test_all_documents_are_undone_or_none(self):
        for name in ["metadata", "custom-data"]:
            self.write(self.mine, {"a": 1}, name)
            self.write(self.thief, {"a": 2}, name)
        body = {"metadata": {"version": 2}, "custom_data": {"version": 1}}
        refused = self.undo(body, 412, "precondition_failed")
        self.assertEqual(self.places(refused), {"/custom_data/version": "version"})
        self.assertEqual(self.stored(), ({"a": 2}, 2))
        body["custom_data"]["version"] = 2
        self.assertEqual(self.undo(body).json,
                         {"metadata": {"version": 3}, "custom_data": {"version": 3}})
        self.assertEqual([self.stored()[0], self.stored("custom-data")[0]], [{"a": 1}] * 2)
        # Without a document of the session, nothing is undone.
        refused = self.undo({"metadata": {"version": 3}, "app_metadata": {"version": 0}}, 403)
        for body in [{}, [], {"metadata": {}}, {"metadata": {"version": -1}}, {"nope": 1},
                     {"metadata": {"version": 3, "conflicts": "/a"}},
                     {"metadata": {"version": 3, "conflicts": [1]}},
                     {"metadata": {"version": 3, "conflicts": ["/a"] * 101}},
                     {"metadata": {"version": 3, "more": 1}}]:
            self.undo(body, 422, "validation_failed")

    def test_two_callers_undo_at_once_and_one_succeeds(self):
        self.write(self.mine, {"n": 0})
        self.write(self.thief, {"n": 1})
        statuses = in_parallel(8, lambda _: self.post(
            self.path("undo"), {"metadata": {"version": 2}}, token=self.mine["access_token"]).status)
        self.assertEqual(sorted(statuses), [200] + [412] * 7)
        self.assertEqual(self.stored(), ({"n": 0}, 3))

    def test_concurrent_writes_are_never_lost(self):
        self.write(self.mine, {"n": 0})
        self.write(self.thief, {"bad": 1})

        def work(number):
            if number % 2:
                for index in range(20):
                    self.write(self.mine, {f"k{number}-{index}": 1})
                return None
            while True:
                version = self.preview()["metadata"]["version"]
                answer = self.post(self.path("undo"), {"metadata": {"version": version}},
                                   token=self.mine["access_token"])
                if answer.status == 200:
                    return answer
                self.expect(answer, 412, "precondition_failed")

        self.site.dossier("app", "set", "document_versions_kept=100")
        self.addCleanup(self.site.dossier, "app", "set", "document_versions_kept=20")
        in_parallel(4, work)
        body, _ = self.stored()
        self.assertEqual(len(body), 41)
        self.assertNotIn("bad", body)


class Limits(UndoCase):
    def test_versions_that_are_gone_cannot_be_undone(self):
        self.write(self.mine, {"n": 0})
        for number in range(21):
            self.write(self.thief, {"n": number})
        shown = self.preview()["metadata"]
        self.assertEqual((shown["obstacle"], shown["complete"]), ("history_gone", False))
        refused = self.undo({"metadata": {"version": 22}}, 422, "validation_failed")
        self.assertEqual(self.places(refused), {"/metadata": "history_gone"})
        # Some writes of the session are gone, others are not.
        other = self.expect(self.login(self.own_email()), 200).json
        self.write(other, {"n": -1})
        session = self.session_of(other)
        for number in range(19):
            self.write(self.key, {"n": number})
        self.write(other, {"m": 1})
        shown = self.preview(session)["metadata"]
        self.assertEqual(shown["obstacle"], None)
        self.assertEqual([one["pointer"] for one in shown["changes"]], ["/m"])

    def test_long_documents_cannot_be_undone(self):
        self.write(self.mine, {"a": 1}, "custom-data")
        self.write(self.thief, {"a": "x" * 270_000}, "custom-data")
        self.assertEqual(self.preview()["custom_data"]["obstacle"], "too_large")
        refused = self.undo({"custom_data": {"version": 2}}, 422, "validation_failed")
        self.assertEqual(self.places(refused), {"/custom_data": "too_large"})

    def test_the_history_of_an_app_may_have_gaps(self):
        self.write(self.mine, {"a": 1, "b": 1})
        self.write(self.thief, {"a": 2, "b": 2})
        self.site.dossier("app", "set", "document_versions_kept=0")
        self.write(self.mine, {"a": 3})
        self.site.dossier("app", "set", "document_versions_kept=20")
        shown = self.preview()["metadata"]
        self.assertEqual(shown["version"], 3)
        conflict, = shown["conflicts"]
        self.assertEqual((conflict["pointer"], conflict["actor"], conflict["changed_at"]),
                         ("/a", None, None))
        self.undo({"metadata": {"version": 3}})
        self.assertEqual(self.stored()[0], {"a": 3, "b": 1})

    def test_without_versions_there_is_nothing_to_undo(self):
        self.site.dossier("app", "set", "document_versions_kept=0")
        self.addCleanup(self.site.dossier, "app", "set", "document_versions_kept=20")
        self.write(self.thief, {"a": 1})
        self.assertEqual(self.preview(), {})
        refused = self.undo({"metadata": {"version": 1}}, 422, "validation_failed")
        self.assertEqual(self.places(refused), {"/metadata": "unchanged"})

    def test_more_places_than_the_lists_have_are_undone_too(self):
        self.write(self.mine, {"a": 1}, "custom-data")
        self.write(self.thief, {f"k{n}": 1 for n in range(100)}, "custom-data")
        shown = self.preview()["custom_data"]
        self.assertEqual((len(shown["changes"]), shown["more"]), (100, False))
        self.write(self.thief, {"long" * 300: 1}, "custom-data")
        shown = self.preview()["custom_data"]
        self.assertEqual((len(shown["changes"]), shown["more"]), (100, True))
        self.undo({"custom_data": {"version": 3}})
        self.assertEqual(self.stored("custom-data")[0], {"a": 1})

    def test_the_schema_of_the_app_holds(self):
        self.write(self.mine, {"a": "old"})
        self.write(self.thief, {"a": 1})
        schema = {"properties": {"a": {"type": "number"}}}
        self.site.dossier("schema", "set", "metadata", "-", given=json.dumps(schema))
        self.addCleanup(self.site.dossier, "schema", "delete", "--yes", "metadata")
        self.assertEqual(self.preview()["metadata"]["obstacle"], "schema_mismatch")
        refused = self.undo({"metadata": {"version": 2}}, 422, "schema_mismatch")
        self.assertEqual(list(self.places(refused)), ["/metadata/a"])

    def test_users_undo_only_members_that_they_may_write(self):
        self.write(self.mine, {"a": 1, "b": 1, "p": {"x": 1, "y": 1}})
        self.write(self.thief, {"a": 2, "b": 2, "p": {"x": 2, "y": 2}})
        self.write(self.key, {"secret": 7})
        rules = {"metadata_readable": ["/a", "/b", "/p"], "metadata_writable": ["/a", "/p/x"]}
        self.site.set_app(**rules)
        self.addCleanup(self.site.set_app, **dict.fromkeys(rules, None))
        answer = self.site.get(self.path("changes"), token=self.mine["access_token"])
        self.assertNotIn(b"secret", answer.body)
        shown = answer.json["documents"]["metadata"]
        self.assertEqual([one["pointer"] for one in shown["changes"]], ["/a", "/p/x"])
        self.assertEqual(shown["not_writable"], ["/b", "/p/y"])
        self.undo({"metadata": {"version": 3}})
        self.assertEqual(self.stored()[0], {"a": 1, "b": 2, "p": {"x": 1, "y": 2}, "secret": 7})


class Callers(UndoCase):
    def test_back_ends_undo_by_the_same_rules(self):
        self.write(self.mine, {"a": 1})
        self.write(self.thief, {"a": 2})
        path = self.path("changes", user=self.user)
        shown = self.expect(self.site.get(path, token=self.key), 200).json["documents"]
        self.assertEqual(shown["metadata"]["changes"], [{"pointer": "/a", "now": 2, "after": 1}])
        path = self.path("undo", user=self.user)
        reader = self.site.client("--app", "default", "scopes=read:users")["secret"]
        body = {"metadata": {"version": 2}}
        self.expect(self.post(path, body, token=reader), 403, "insufficient_scope")
        writer = self.site.client("--app", "default", "scopes=read:users,update:users")["secret"]
        self.expect(self.post(path, {"app_metadata": {"version": 0}}, token=writer), 403,
                    "insufficient_scope")
        self.expect(self.post(path, body, token=writer), 200)
        self.assertEqual(self.stored()[0], {"a": 1})

    def test_other_callers_are_refused(self):
        self.write(self.thief, {"a": 2})
        body = {"metadata": {"version": 1}}
        stranger = self.site.login()["access_token"]
        for session in [self.session, "f" * 24]:
            self.expect(self.site.get(self.path("changes", session), token=stranger), 404, "not_found")
            self.expect(self.post(self.path("undo", session), body, token=stranger), 404, "not_found")
        self.expect(self.site.get(self.path("changes", "x"), token=stranger), 404)
        self.expect(self.site.get(self.path("changes")), 401, "token_missing")
        # A session of another user of the app.
        other = self.site.login()
        for key in [self.key]:
            path = self.path("changes", self.session, other["user_id"])
            self.expect(self.site.get(path, token=key), 404, "not_found")
            path = self.path("undo", self.session, other["user_id"])
            self.expect(self.post(path, body, token=key), 404, "not_found")
        # A client of another app.
        self.site.dossier("app", "create", "undo-other")
        foreign = self.site.client("--app", "undo-other", "scopes=read:users,update:users")["secret"]
        for headers, status in [({}, 401), ({"Dossier-App": "undo-other"}, 404)]:
            path = self.path("changes", user=self.user)
            self.expect(self.site.get(path, token=foreign, headers=headers), status)
            path = self.path("undo", user=self.user)
            self.expect(self.post(path, body, token=foreign, headers=headers), status)
        # The ended session itself.
        self.expect(self.post("/v1/logout", token=self.thief["access_token"]), 204)
        self.undo(body, 401, "session_ended", self.thief)
        self.assertEqual(self.stored(), ({"a": 2}, 1))

    def test_support_sees_and_undoes_nothing(self):
        self.write(self.thief, {"a": 2})
        code = self.expect(self.post("/v1/me/support-codes", token=self.mine["access_token"]), 201)
        opened = self.site.dossier(
            "support-session", "create", code.json["code"], "A game does not save.")
        token = opened["access_token"]
        self.expect(self.site.get("/v1/me/metadata", token=token), 200)
        self.expect(self.site.get(self.path("changes"), token=token), 403, "insufficient_scope")
        self.expect(self.post(self.path("undo"), {"metadata": {"version": 1}}, token=token),
                    403, "insufficient_scope")
        self.assertEqual(self.stored(), ({"a": 2}, 1))

    def test_the_command_shows_the_changes_and_asks(self):
        self.write(self.mine, {"a": 1, "b": 1})
        self.write(self.thief, {"a": 2, "b": 2})
        self.write(self.key, {"b": 3})
        command = ["session", "undo", self.own_email(), self.session]
        preview = self.site.dossier(*command, "--dry-run")
        self.assertEqual(preview["documents"]["metadata"]["version"], 3)
        for words in ["Pass --yes", "/a: 2 -> 1", "conflict /b: 3 -> 1 (changed later by client:"]:
            self.refused(23, *command, words=words)
        self.refused(64, *command, "--conflict", "metadata/a", words="no conflict at metadata/a")
        self.assertEqual(self.site.dossier(*command, "--yes", "--conflict", "metadata/b"),
                         {"metadata": {"version": 4}})
        self.assertEqual(self.stored()[0], {"a": 1, "b": 1})
        again = self.site.dossier(*command, "--yes", check=False)
        self.assertEqual((again.returncode, again.stdout), (0, ""), again.stderr)
        self.assertIn("nothing to undo", again.stderr)
        self.refused(10, "session", "undo", self.own_email(), "f" * 24, "--yes")

    def test_a_session_that_wrote_nothing_has_no_changes(self):
        self.assertEqual(self.preview(), {})
        self.assertEqual(self.preview(self.session_of(self.mine)), {})
