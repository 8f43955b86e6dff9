"""Tests the changes of a user that a client asks for by a cursor."""

import random
import unittest

from asking import JSON, MERGE
from cases import Case


class Changes(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.backend = cls.site.client(
            "--app", "default", "scopes=update:users,update:users_app_metadata")["secret"]
        cls.site.set_app(mfa="optional")

    def setUp(self):
        self.grant = self.expect(self.register(self.own_email()), 201).json

    def read(self, query="", **options):
        token = self.grant["access_token"]
        return self.site.request("GET", f"/v1/me/changes{query}", token=token, **options)

    def cursor(self):
        return self.expect(self.read(), 200).json["cursor"]

    def since(self, cursor, query=""):
        return self.expect(self.read(f"?since={cursor}{query}"), 200).json

    def write(self, method, path, body=None, headers=None):
        headers = headers or (JSON if body is not None else {})
        answer = self.site.request(
            method, f"/v1/me{path}", body, headers, token=self.grant["access_token"])
        self.assertIn(answer.status, (200, 201, 204), answer.body)
        return answer

    def app_metadata(self, body):
        path = f"/v1/users/{self.grant['user_id']}/app-metadata"
        self.expect(self.site.request("PUT", path, body, JSON, token=self.backend), 200)

    def test_the_first_answer_has_a_cursor_only(self):
        answer = self.expect(self.read(), 200)
        self.assertEqual(answer.json["changed"], {})
        self.assertEqual(answer.json["poll_after_seconds"], 30)
        self.assertEqual(self.since(answer.json["cursor"])["changed"], {})

    def test_each_change_names_its_part_and_no_other(self):
        known = self.cursor()

        def changed(*parts):
            nonlocal known
            answer = self.since(known)
            self.assertEqual(set(answer["changed"]), set(parts))
            known = answer["cursor"]
            return answer["changed"]

        self.write("PATCH", "", {"name": "Ada"}, MERGE)
        version = self.me(self.grant).json["version"]
        self.assertEqual(changed("profile"), {"profile": {"version": version}})
        self.write("PATCH", "/metadata", {"theme": "dark"}, MERGE)
        self.assertEqual(changed("metadata"), {"metadata": {"version": 1}})
        self.write("PUT", "/custom-data", {"level": 7})
        self.assertEqual(changed("custom_data"), {"custom_data": {"version": 1}})
        self.app_metadata({"plan": "pro"})
        self.assertEqual(changed("app_metadata"), {"app_metadata": {"version": 1}})
        self.write("PUT", "/properties/volume", {"value": 5})
        self.assertEqual(changed("properties"), {"properties": {}})
        self.write("PUT", "/properties/volume", {"value": 6})
        changed("properties")
        # A key is a way to sign in, so it changes the user.
        key = self.write("POST", "/api-keys", {"name": "laptop"}).json["id"]
        changed("api_keys", "identities", "profile")
        self.write("PATCH", f"/api-keys/{key}", {"disabled": True})
        changed("api_keys")
        # A new device.
        self.expect(self.login(self.own_email()), 200)
        changed("devices", "sessions")
        # An authenticator counts after its confirmation.
        self.write("POST", "/second-factors")
        changed()

    def test_deletion_and_creation_are_changes(self):
        self.write("PUT", "/custom-data", {"level": 7})
        known = self.cursor()
        self.write("DELETE", "/custom-data")
        deleted = self.since(known)
        self.assertEqual(deleted["changed"], {"custom_data": {"version": 0}})
        self.write("PUT", "/custom-data", {"level": 7})
        again = self.since(deleted["cursor"])
        version = again["changed"]["custom_data"]["version"]
        self.assertEqual(self.site.get("/v1/me/custom-data", token=self.grant["access_token"])
                         .headers["ETag"], f'"{version}"')

    def test_hidden_app_metadata_never_appears(self):
        known = self.cursor()
        self.site.set_app(app_metadata_readable=False)
        self.addCleanup(self.site.set_app, app_metadata_readable=True)
        self.app_metadata({"plan": "pro"})
        self.assertEqual(self.since(known, "&include=values")["changed"], {})

    def test_values_come_with_their_parts(self):
        known = self.cursor()
        self.assertEqual(self.since(known, "&include=values")["changed"], {})
        self.write("PATCH", "", {"name": "Ada"}, MERGE)
        self.write("PATCH", "/metadata", {"theme": "dark"}, MERGE)
        self.write("PUT", "/custom-data", {"long": "x" * 70_000})
        self.write("PUT", "/properties/volume", {"value": 5})
        self.write("POST", "/api-keys", {"name": "laptop"})
        changed = self.since(known, "&include=values")["changed"]
        self.assertEqual(changed.pop("profile")["value"], self.me(self.grant).json)
        self.assertEqual(changed, {
            "metadata": {"version": 1, "value": {"theme": "dark"}},
            # Too long for the answer.
            "custom_data": {"version": 1},
            "properties": {"value": {"volume": 5}}, "api_keys": {}, "identities": {}})

    def test_an_entity_tag_asks_without_a_body(self):
        first = self.expect(self.read(), 200)
        tag = {"If-None-Match": first.headers["ETag"]}
        path = f"?since={first.json['cursor']}"
        self.expect(self.read(path, headers=tag), 304)
        self.write("PATCH", "/metadata", {"theme": "dark"}, MERGE)
        self.assertEqual(set(self.expect(self.read(path, headers=tag), 200).json["changed"]),
                         {"metadata"})

    def test_one_answer_names_exactly_what_many_writes_changed(self):
        writes = {
            "metadata": lambda n: self.write("PATCH", "/metadata", {"n": n}, MERGE),
            "custom_data": lambda n: self.write("PUT", "/custom-data", {"n": n}),
            "properties": lambda n: self.write("PUT", "/properties/n", {"value": n}),
            "profile": lambda n: self.write("PATCH", "", {"name": f"Ada {n}"}, MERGE),
        }
        count = 0
        for size in range(1, len(writes) + 1):
            parts = random.sample(sorted(writes), size)
            known = self.cursor()
            for part in parts * 5:
                count += 1
                writes[part](count)
            self.assertEqual(set(self.since(known)["changed"]), set(parts))

    def test_other_cursors_are_refused(self):
        known = self.cursor()
        flipped = known[:20] + ("A" if known[20] != "A" else "B") + known[21:]
        for text in [flipped, known[:-4], known + "AAAA", "x", "", "-", "A" * 6_000]:
            with self.subTest(cursor=text[:40]):
                self.expect(self.read(f"?since={text}"), 400, "cursor_invalid")
        self.grant = self.expect(self.register("another@example.com"), 201).json
        self.expect(self.read(f"?since={known}"), 400, "cursor_invalid")

    def test_the_query_is_checked(self):
        for query, place in [("?include=all", "include"), ("?until=x", "until")]:
            answer = self.expect(self.read(query), 422, "validation_failed")
            self.assertIn(place, str(answer.json["errors"]))

    def test_an_ended_session_sees_nothing(self):
        known = self.cursor()
        self.expect(self.post("/v1/logout", token=self.grant["access_token"]), 204)
        self.expect(self.read(f"?since={known}"), 401, "session_ended")


if __name__ == "__main__":
    unittest.main()
