"""Tests what a refused write of a document tells about both sides."""

import unittest

from asking import JSON, MERGE, PATCH
from cases import Case
from test_user_data_api import DATA, UserDataCase

PREFER = {"Prefer": "return=conflict"}


class BothSides(Case):
    def setUp(self):
        super().setUp()
        self.site.dossier("app", "set", "document_versions_kept=5")
        self.addCleanup(self.site.dossier, "app", "set", "document_versions_kept=null")
        self.token = self.site.login()["access_token"]
        self.write("PUT", {"theme": "dark", "size": 1, "list": [1]}, 200)
        self.write("PATCH", {"theme": "light", "new": True}, 200)

    def write(self, method, body, status, version=None, kind=None, path="metadata", **fields):
        headers = {**fields, **(kind or (MERGE if method == "PATCH" else JSON))}
        if version is not None:
            headers["If-Match"] = f'"{version}"'
        answer = self.site.request(method, f"/v1/me/{path}", body, headers, self.token)
        return self.expect(answer, status)

    def refused(self, method, body, version=1, kind=None, path="metadata", prefer="return=conflict"):
        answer = self.write(method, body, 412, version, kind, path, Prefer=prefer)
        self.assertEqual((answer.json["code"], answer.headers["ETag"]),
                         ("precondition_failed", f'"{answer.json["current_version"]}"'))
        return answer.json.get("conflict")

    def test_a_merge_patch_is_merged(self):
        sides = self.refused("PATCH", {"size": 2})
        self.assertEqual(sides, {
            "base": {"theme": "dark", "size": 1, "list": [1]},
            "theirs": {"theme": "light", "size": 1, "list": [1], "new": True},
            "mine": {"theme": "dark", "size": 2, "list": [1]},
            "merged": {"theme": "light", "size": 2, "list": [1], "new": True}, "conflicts": []})
        # The proposal is a document like any other.
        self.write("PUT", sides["merged"], 200, 2)

    def test_what_both_have_changed_is_named_and_has_the_own_value(self):
        sides = self.refused("PUT", {"theme": "blue", "size": 1, "list": [1, 2]})
        self.assertEqual((sides["conflicts"], sides["merged"]),
                         (["/theme"], {"theme": "blue", "size": 1, "list": [1, 2], "new": True}))
        sides = self.refused("PATCH", [{"op": "replace", "path": "/size", "value": 3}], kind=PATCH)
        self.assertEqual((sides["mine"]["size"], sides["merged"]["theme"]), (3, "light"))
        # A patch that cannot be applied to the base.
        sides = self.refused("PATCH", [{"op": "remove", "path": "/new"}], kind=PATCH)
        self.assertEqual((sides["mine"], sides["merged"], sides["conflicts"]), (None, None, None))

    def test_without_the_version_of_the_writer_there_is_no_proposal(self):
        """A page that wrote it could overwrite what another writer has changed."""
        sides = self.refused("PATCH", {"size": 2}, version=9)
        self.assertEqual((sides["base"], sides["mine"], sides["conflicts"]), (None, None, None))
        self.assertEqual((sides["merged"], sides["theirs"]["theme"]), (None, "light"))
        sides = self.refused("PUT", {"a": 1}, version=9)
        self.assertEqual((sides["base"], sides["mine"], sides["merged"]), (None, {"a": 1}, None))

    def test_other_preferences_and_other_failures_have_no_sides(self):
        for prefer in ["return=minimal", "respond-async", "return=conflicts", ",;=", "x" * 2000]:
            self.assertIsNone(self.refused("PATCH", {"size": 2}, prefer=prefer), prefer)
        self.assertIsNotNone(self.refused("PATCH", {"size": 2}, prefer="respond-async, RETURN=conflict; a=b"))
        answer = self.write("PATCH", [], 422, 2, **PREFER)
        self.assertNotIn("conflict", answer.json)
        self.assertNotIn("conflict", self.write("PATCH", {"size": 2}, 200, 2, **PREFER).json)

    def test_an_update_with_operators_has_both_sides(self):
        path = "custom-data"
        self.write("PUT", {"level": 1, "items": ["axe"], "name": "Ada"}, 200, path=path)
        self.write("PATCH", {"level": 5, "name": "Grace"}, 200, path=path)

        def refused(update, version=1, **more):
            body = {"update": update, **more}
            return self.refused("POST", body, version, path=f"{path}/update")

        self.assertEqual(refused({"$push": {"items": "rope"}, "$inc": {"level": 1}}), {
            "base": {"level": 1, "items": ["axe"], "name": "Ada"},
            "theirs": {"level": 5, "items": ["axe"], "name": "Grace"},
            "mine": {"level": 2, "items": ["axe", "rope"], "name": "Ada"},
            "merged": {"level": 2, "items": ["axe", "rope"], "name": "Grace"},
            "conflicts": ["/level"]})
        # The filter does not match the base, so nothing changes.
        sides = refused({"$set": {"name": "Eve"}}, filter={"level": 5})
        self.assertEqual((sides["mine"], sides["merged"]), (sides["base"], sides["theirs"]))
        # An update that fails on the base.
        sides = refused({"$push": {"level": 1}})
        self.assertEqual((sides["mine"], sides["merged"], sides["conflicts"]), (None, None, None))
        sides = refused({"$set": {"name": "Eve"}}, 0, upsert=True)
        self.assertEqual((sides["base"], sides["mine"]["name"]), ({}, "Eve"))
        self.assertEqual(refused({"$set": {"name": "Eve"}}, 0)["mine"], {})
        sides = refused({"$set": {"name": "Eve"}}, 9)
        self.assertEqual((sides["base"], sides["mine"], sides["merged"]), (None, None, None))

    def test_a_long_document_is_left_out(self):
        self.write("PUT", {"text": "x" * 300_000}, 200, path="custom-data")
        self.assertIsNone(self.refused("PATCH", {"a": 1}, 7, path="custom-data"))
        self.write("PUT", {"text": "x"}, 200, path="custom-data")
        # The version of the writer is the long one.
        self.assertIsNone(self.refused("PATCH", {"a": 1}, 1, path="custom-data"))

    def test_members_that_the_user_may_not_read_stay_hidden(self):
        self.site.dossier("app", "set", 'metadata_readable=["/size"]')
        self.addCleanup(self.site.dossier, "app", "set", "metadata_readable=null")
        sides = self.refused("PATCH", {"size": 2})
        self.assertEqual(sides, {"base": {"size": 1}, "theirs": {"size": 1}, "mine": {"size": 2},
                                 "merged": {"size": 2}, "conflicts": []})

    def test_the_answer_to_a_document_of_conflicts_is_short(self):
        bomb = {"/" * 20_000: {str(number): 1 for number in range(2_000)}}
        other = {"/" * 20_000: {str(number): 2 for number in range(2_000)}}
        self.write("PUT", bomb, 200, path="custom-data")
        self.write("PUT", {"a": {str(number): 1 for number in range(2_000)}}, 200, path="custom-data")
        answer = self.write("PUT", other, 412, 0, path="custom-data", **PREFER)
        self.assertLess(len(answer.body), 200_000)
        sides = answer.json["conflict"]
        # Nothing conflicts with an empty document but the same names.
        self.assertEqual(sides["conflicts"], [])
        self.write("PUT", other, 200, path="custom-data")
        answer = self.write("PUT", bomb, 412, 0, path="custom-data", **PREFER)
        self.assertLess(len(answer.body), 200_000)
        self.assertEqual((answer.json["conflict"]["merged"], answer.json["conflict"]["conflicts"]), (None, None))
        many = {str(number): 1 for number in range(101)}
        self.write("PUT", {str(number): 2 for number in range(101)}, 200, path="custom-data")
        self.assertIsNone(self.refused("PUT", many, 0, path="custom-data")["merged"])
        del many["7"]
        self.assertEqual(len(self.refused("PUT", many, 0, path="custom-data")["conflicts"]), 100)


class Scopes(UserDataCase):
    def test_a_token_that_may_only_write_learns_neither_side(self):
        email, _ = self.user()
        both, only = (
            self.tokens(email, visitor=self.new_visitor(), scope=f"openid {scope}")[0]
            for scope in [DATA, "update:current_user_metadata"])
        self.expect(self.me(both, "/metadata", "PATCH", {"a": 1}), 200)
        for tokens, is_told in [(both, True), (only, False)]:
            answer = self.expect(self.me(tokens, "/metadata", "PATCH", {"a": 2}, {
                "If-Match": '"9"', **PREFER}), 412)
            self.assertEqual("conflict" in answer.json, is_told)


if __name__ == "__main__":
    unittest.main()
