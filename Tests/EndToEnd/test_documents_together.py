"""Several documents of a user that are replaced together, or not at all."""

import json

from asking import JSON
from cases import Administration, in_parallel


class DocumentsTogether(Administration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        scopes = "scopes=read:users,update:users"
        cls.keys = [cls.site.client("--app", "default", scopes + more)["secret"] for more in
                    [",read:users_app_metadata,update:users_app_metadata", ""]]

    def setUp(self):
        self.user = self.site.login()["user_id"]

    def put(self, body, status=200, code=None, key=None, headers=None, user=None):
        answer = self.site.request(
            "PUT", f"/v1/users/{user or self.user}/documents", body, {**JSON, **(headers or {})},
            key or self.keys[0])
        return self.expect(answer, status, code).json

    def stored(self):
        """Returns each document with its version."""
        found = {}
        for kind in ["metadata", "app-metadata", "custom-data"]:
            answer = self.site.get(f"/v1/users/{self.user}/{kind}", token=self.keys[0])
            found[kind] = (self.expect(answer, 200).json, answer.version)
        return found

    def refused(self, body, status=412, code="precondition_failed", **options):
        """Returns the places of the errors. Nothing changes."""
        before = self.stored()
        errors = self.put(body, status, code, **options).get("errors", [])
        self.assertEqual(self.stored(), before)
        return {error["pointer"]: error["code"] for error in errors}

    def test_all_documents_are_replaced_or_none(self):
        first = {"metadata": {"document": {"a": 1}, "version": 0},
                 "app_metadata": {"document": {"plan": "pro"}, "version": 0},
                 "custom_data": {"document": {"n": 12345678901234567890}, "version": 0}}
        self.assertEqual(self.put(first), {
            "metadata": {"version": 1}, "app_metadata": {"version": 1}, "custom_data": {"version": 1}})
        self.assertEqual(self.stored(), {
            "metadata": ({"a": 1}, 1), "app-metadata": ({"plan": "pro"}, 1),
            "custom-data": ({"n": 12345678901234567890}, 1)})
        # Each stale document is named.
        self.assertEqual(self.refused(first), {
            "/metadata/version": "version", "/app_metadata/version": "version",
            "/custom_data/version": "version"})
        mixed = {"metadata": {"document": {"b": 2}, "version": 1},
                 "app_metadata": {"document": {}, "version": 7}}
        self.assertEqual(self.refused(mixed), {"/app_metadata/version": "version"})
        mixed["app_metadata"]["version"] = 1
        self.assertEqual(self.put(mixed), {"metadata": {"version": 2}, "app_metadata": {"version": 2}})
        self.assertEqual(self.stored()["custom-data"][1], 1)

    def test_a_refusal_has_both_sides_of_each_stale_document(self):
        self.site.dossier("app", "set", "document_versions_kept=5")
        self.addCleanup(self.site.dossier, "app", "set", "document_versions_kept=null")
        for metadata in [{"a": 1, "b": 1}, {"a": 2, "b": 1}]:
            path = f"/v1/users/{self.user}/metadata"
            self.expect(self.site.request("PUT", path, metadata, JSON, self.keys[0]), 200)
        body = {"metadata": {"document": {"a": 1, "b": 3}, "version": 1},
                "custom_data": {"document": {"n": 1}, "version": 0},
                "app_metadata": {"document": {"plan": "pro"}, "version": 7}}
        headers = {"Prefer": "return=conflict"}
        refused = self.put(body, 412, "precondition_failed", headers=headers)
        self.assertEqual(refused["conflict"], {
            "metadata": {
                "base": {"a": 1, "b": 1}, "theirs": {"a": 2, "b": 1}, "mine": {"a": 1, "b": 3},
                "merged": {"a": 2, "b": 3}, "conflicts": [], "current_version": 2},
            "app_metadata": {"base": None, "theirs": {}, "mine": {"plan": "pro"}, "merged": None,
                             "conflicts": None, "current_version": 0}})
        self.assertEqual(len(refused["errors"]), 2)
        self.assertNotIn("conflict", self.put(body, 412, "precondition_failed"))

    def test_errors_name_the_document_and_the_place(self):
        app = {"required": ["plan"], "properties": {"plan": {"type": "string"}}}
        schemas = {"metadata": {"properties": {"theme": {"enum": ["dark"]}}}, "app-metadata": app}
        for kind, schema in schemas.items():
            self.site.dossier("schema", "set", kind, "-", given=json.dumps(schema))
            self.addCleanup(self.site.dossier, "schema", "delete", "--yes", kind)
        bad = {"metadata": {"document": {"theme": "red"}, "version": 0},
               "app_metadata": {"document": {"plan": 7}, "version": 0}}
        self.assertEqual(self.refused(bad, 422, "schema_mismatch").keys(),
                         {"/metadata/document/theme", "/app_metadata/document/plan"})
        keys = {"metadata": {"document": {"a.b": 1}, "version": 0}}
        self.assertEqual(list(self.refused(keys, 422, "validation_failed")),
                         ["/metadata/document/a.b"])
        large = {"custom_data": {"document": {"a": 1}, "version": 0},
                 "metadata": {"document": {"theme": "dark", "a": "x" * 70_000}, "version": 0}}
        self.assertEqual(list(self.refused(large, 413, "document_too_large")),
                         ["/metadata/document"])
        for body, places in [
                ({}, {""}), ([], {""}), ({"more": {}}, {"/more", ""}), ({"metadata": 1}, {
                    "/metadata", "/metadata/document", "/metadata/version"}),
                ({"metadata": {"document": [], "version": -1, "x": 1}},
                 {"/metadata/document", "/metadata/version", "/metadata/x"}),
                ({"metadata": {"document": {}, "version": 1.5}}, {"/metadata/version"})]:
            self.assertEqual(set(self.refused(body, 422, "validation_failed")), places, body)

    def test_each_document_needs_its_scope(self):
        one = {"metadata": {"document": {"a": 1}, "version": 0}}
        both = {**one, "app_metadata": {"document": {}, "version": 0}}
        self.refused(both, 403, "insufficient_scope", key=self.keys[1])
        self.put(one, key=self.keys[1])
        self.refused(one, 401, "client_unknown", key="x")
        reader = self.site.client("--app", "default", "scopes=read:users")["secret"]
        self.refused(one, 403, "insufficient_scope", key=reader)
        self.put(one, 404, "not_found", user="0" * 24)
        other = self.site.add_app("apart")
        foreign = self.site.client("--app", "apart", "scopes=update:users")["secret"]
        self.put(one, 404, "not_found", foreign, other)

    def test_of_two_at_once_one_wins(self):
        def put(number):
            body = {kind: {"document": {"by": number}, "version": 0}
                    for kind in ["metadata", "app_metadata", "custom_data"]}
            return self.site.request("PUT", f"/v1/users/{self.user}/documents", body, JSON,
                                     self.keys[0])

        statuses = sorted(answer.status for answer in in_parallel(8, put))
        self.assertEqual(statuses, [200] + [412] * 7)
        authors = {document["by"] for document, version in self.stored().values()}
        self.assertEqual(len(authors), 1)

    def test_the_command_replaces_them(self):
        body = {"metadata": {"document": {"theme": "dark"}, "version": 0}}
        path = self.site.folder / "documents.json"
        path.write_text(json.dumps(body))
        self.assertEqual(self.site.dossier("user", "documents", self.user, path),
                         {"metadata": {"version": 1}})
        run = self.site.dossier("user", "documents", self.user, "-", check=False,
                                given=json.dumps(body))
        self.assertEqual((run.returncode, "/metadata/version" in run.stderr), (13, True))
