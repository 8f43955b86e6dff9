"""MongoDB's update operators on custom data, and machine clients that change users' data."""

import json
import re
import subprocess
import unittest

from cases import Case, in_parallel
from asking import JSON, MERGE
from machine import BUILD


class Updates(Case):
    PATH = "/v1/me/custom-data"

    def setUp(self):
        self.token = self.site.login()["access_token"]

    def put(self, body):
        return self.expect(self.site.request("PUT", self.PATH, body, JSON, self.token), 200)

    def stored(self):
        return self.site.get(self.PATH, token=self.token)

    def update(self, update, **others):
        headers = others.pop("headers", {})
        return self.post(self.PATH + "/update", {"update": update, **others}, token=self.token,
                         headers=headers)

    def test_operators_change_their_fields_and_report_counts(self):
        self.put({"level": 1, "tags": ["a"], "box": {"x": 1}, "list": [{"n": 1}, {"n": 5}]})
        done = self.expect(self.update({
            "$inc": {"level": 2}, "$addToSet": {"tags": {"$each": ["a", "b"]}},
            "$unset": {"box.x": ""}, "$set": {"box.y.z": True},
            "$mul": {"list.$[big].n": 10}}, array_filters=[{"big.n": {"$gt": 2}}]), 200)
        self.assertEqual(done.json, {
            "outcome": "updated", "matched_count": 1, "modified_count": 1, "upserted": False, "version": 2})
        self.assertEqual(done.headers["ETag"], '"2"')
        self.assertEqual(self.stored().json, {
            "level": 3, "tags": ["a", "b"], "box": {"y": {"z": True}},
            "list": [{"n": 1}, {"n": 50}]})
        same = self.expect(self.update({"$addToSet": {"tags": "a"}}), 200).json
        self.assertEqual((same["matched_count"], same["modified_count"], same["version"]), (1, 0, 2))

    def test_the_positional_operator_selects_the_matched_element(self):
        self.put({"list": [{"n": 1}, {"n": 5}]})
        self.expect(self.update({"$inc": {"list.$.n": 1}}, filter={"list.n": {"$mod": [5, 0]}}), 200)
        self.assertEqual(self.stored().json, {"list": [{"n": 1}, {"n": 6}]})
        self.expect(self.update({"$inc": {"list.$.n": 1}}), 422, "update_refused")

    def test_objects_that_are_not_extended_json_are_stored_as_data(self):
        odd = {"$oid": "xyz"}
        self.put({"a": odd})
        self.expect(self.update({"$set": {"b": odd, "c.$x": 1}}), 200)
        self.expect(self.site.request("PATCH", self.PATH, {"d": odd}, MERGE, self.token), 200)
        self.assertEqual(self.stored().json, {"a": odd, "b": odd, "c": {"$x": 1}, "d": odd})
        self.expect(self.update({"$unset": {"a": 1, "c.$x": 1, "b.$oid": 1}}), 200)
        self.assertEqual(self.stored().json, {"b": {}, "c": {}, "d": odd})

    def test_documents_older_than_the_limits_can_be_read_changed_and_deleted(self):
        """Through every route, with other content in the document."""
        for number in ("1e1000::numeric", "0.1e-5000::numeric", "round(0::numeric, 9000)"):
            with self.subTest(number):
                self.put({})
                self.site.sql("update documents set body = jsonb_build_object('a', "
                              f"{number}, 'b', 1) where kind = 'custom_data' and deleted_at is null")
                self.expect(self.stored(), 200)
                self.expect(self.update({"$inc": {"b": 1}}), 200)
                patch = [{"op": "add", "path": "/c", "value": 1}]
                self.expect(self.site.request(
                    "PATCH", self.PATH, patch, {"Content-Type": "application/json-patch+json"},
                    self.token), 200)
                merged = self.site.request("PATCH", self.PATH, {"d": 1}, MERGE, self.token)
                self.assertEqual(self.expect(merged, 200).json["b"], 2)
                self.assertIn(b'"a": 1000000' if number.startswith("1e") else b'"a": 0.00', merged.body)
                self.expect(self.update({"$unset": {"a": 1}}), 200)
                self.assertEqual(self.stored().json, {"b": 2, "c": 1, "d": 1})
                self.expect(self.site.request("DELETE", self.PATH, token=self.token), 204)

    def test_every_operator_of_the_reference_is_known(self):
        page = self.expect(self.site.get("/reference/operators"), 200).body.decode()
        updates, queries = re.findall(r'<ul class="members">.*?</ul>', page, re.S)
        self.put({"a": 1})
        for name in re.findall(r'<code class="name">([^<]*)<', updates):
            answer = self.update({name: {"a": []}})
            self.assertNotIn("Unknown modifier", answer.body.decode())
        for name in re.findall(r'<code class="name">([^<]*)<', queries):
            answers = [self.update({"$set": {"a": 1}}, filter=query).body.decode()
                       for query in ({name: 1}, {"a": {name: 1}})]
            self.assertFalse(all("unknown top level operator" in answer or "There is no" in answer
                                 for answer in answers), name)
        self.assertIn("Unknown modifier", self.update({"$frob": {"a": 1}}).body.decode())
        for query, words in [({"$frob": 1}, "unknown top level operator"),
                             ({"a": {"$frob": 1}}, "There is no operator")]:
            answer = self.update({"$set": {"a": 1}}, filter=query)
            self.assertIn(words, answer.body.decode())
        withheld = re.search(r"Refused by name: ([^<]*)<", page).group(1).split()
        self.assertIn("$expr", withheld)
        for name in withheld:
            answer = self.expect(self.update({"$set": {"a": 1}}, filter={name: 1}), 422)
            self.assertIn(f"MongoDB's {name} is not offered", answer.body.decode())

    def test_types_of_extended_json_are_kept(self):
        body = {"when": {"$date": "2026-11-21T00:00:00Z"}, "id": {"$oid": "0" * 24},
                "big": {"$numberLong": "9007199254740993"}, "price": {"$numberDecimal": "1.10"}}
        self.put(body)
        self.expect(self.update({"$inc": {"price": {"$numberDecimal": "0.05"}},
                                 "$set": {"n": 1}}), 200)
        # A whole number that needs 64 bits is one by its size.
        self.assertEqual(self.stored().json, {
            **body, "big": 9007199254740993, "price": {"$numberDecimal": "1.15"}, "n": 1})

    def test_a_filter_selects_the_document_and_an_upsert_creates_it(self):
        none = self.expect(self.update({"$set": {"a": 1}}), 200).json
        self.assertEqual((none["matched_count"], none["version"]), (0, 0))
        self.assertEqual(none["outcome"], "no_document")
        self.assertEqual((self.stored().json, self.stored().version), ({}, 0))
        made = self.expect(self.update(
            {"$set": {"a": 1}, "$setOnInsert": {"b": 2}}, filter={"c": 3}, upsert=True), 200).json
        self.assertEqual((made["matched_count"], made["upserted"], made["version"]), (0, True, 1))
        self.assertEqual(made["outcome"], "created")
        self.assertEqual(self.stored().json, {"c": 3, "a": 1, "b": 2})
        missed = self.update({"$inc": {"a": 1}}, filter={"a": {"$gte": 5}}).json
        self.assertEqual((missed["matched_count"], missed["outcome"]), (0, "no_match"))
        self.assertEqual(self.update({"$set": {"a": 1}}).json["outcome"], "unchanged")
        self.assertEqual(
            self.update({"$inc": {"a": 1}}, filter={"a": {"$in": [1, 2]}}).json["modified_count"], 1)
        stale = self.update({"$inc": {"a": 1}}, headers={"If-Match": '"1"'})
        self.expect(stale, 412, "precondition_failed")

    def test_invalid_updates_are_reported_with_place_and_code(self):
        self.put({"a": "text", "list": [1]})
        for update, others, pointer, code in [
            ({"$inc": {"a": 1}}, {}, "/update/$inc/a", 14),
            ({"$set": {"a": 1, "a.b": 2}}, {}, None, 40),
            ({"$frob": {"a": 1}}, {}, None, 9),
            ({"$set": {"list.$[x]": 1}}, {}, None, 2),
            ({"$push": {"a": 1}}, {}, None, 2),
        ]:
            with self.subTest(update):
                answer = self.expect(self.update(update, **others), 422, "update_refused").json
                self.assertEqual(answer["operator_code"], code, answer)
                if pointer:
                    self.assertEqual(answer["errors"][0]["pointer"], pointer)
        self.expect(self.update({"$set": {"x": "y" * 1_000_000}}), 200)
        large = self.update({"$set": {"z": "y" * 500_000}})
        self.expect(large, 413, "document_too_large")
        for body in [{}, {"update": 1}, {"update": {}, "x": 1}, {"update": {}, "array_filters": 1}]:
            answer = self.post(self.PATH + "/update", body, token=self.token)
            self.expect(answer, 422, "validation_failed")

    def test_concurrent_increments_all_count(self):
        self.put({"n": 0})
        answers = in_parallel(8, lambda _: [
            self.update({"$inc": {"n": 1}}).status for _ in range(10)])
        statuses = sum(answers, [])
        self.assertEqual(self.stored().json["n"], statuses.count(200))
        self.assertTrue(set(statuses) <= {200, 503}, statuses)


class Programs(Case):
    """A machine client of the app changes users' data with its own scopes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = {
            name: cls.client(scope) for name, scope in {
                "reader": "read:users", "writer": "read:users,update:users",
                "exporter": "read:users,read:users_app_metadata,read:logs_users",
                "planner": "read:users_app_metadata,update:users_app_metadata"}.items()}

    @classmethod
    def client(cls, scope):
        made = subprocess.run(
            [BUILD / "dossier", "client", "create", scope.replace(":", "-").replace(",", "-")[:40],
             "--app", "default", "kind=machine", f"scopes={scope}", "--json"],
            check=True, capture_output=True, text=True, env=cls.site.environment).stdout
        return json.loads(made)["secret"]

    def call(self, who, method, path, body=None, headers=JSON):
        user = self.grant["user_id"]
        return self.site.request(
            method, f"/v1/users/{user}{path}", body, headers if body is not None else {},
            self.keys[who])

    def setUp(self):
        self.grant = self.site.login()

    def test_each_document_is_read_and_written_by_its_scopes(self):
        for path, writer, reader, other in [
            ("/metadata", "writer", "reader", "planner"), ("/custom-data", "writer", "reader", "planner"),
            ("/app-metadata", "planner", "planner", "writer"),
            ("/properties", "writer", "reader", "planner"),
        ]:
            with self.subTest(path):
                written = self.call(writer, "PUT", path, {"plan": "pro"})
                self.assertIn(written.status, (200, 201), written.body)
                self.assertEqual(self.call(reader, "GET", path).json, {"plan": "pro"})
                headers = JSON if path == "/properties" else MERGE
                self.expect(self.call(writer, "PATCH", path, {"more": 1}, headers), 200)
                self.assertEqual(self.me(self.grant, path).json, {"plan": "pro", "more": 1})
                self.expect(self.call(other, "GET", path), 403, "insufficient_scope")
                self.expect(self.call(other, "PUT", path, {}), 403, "insufficient_scope")
                if reader != writer:
                    self.expect(self.call(reader, "PUT", path, {}), 403, "insufficient_scope")
        events = self.me(self.grant, "/audit").json
        changes = [event for event in events if event["action"] == "data_change"]
        self.assertEqual(len(changes), 8)
        self.assertTrue(all(event["actor"].startswith("client:") for event in changes))

    def test_a_client_reaches_blocked_users_but_no_other_app(self):
        self.site.sql(f"update users set blocked_at = now() where user_id = '{self.grant['user_id']}'")
        self.expect(self.call("writer", "PUT", "/metadata", {"a": 1}), 200)
        self.site.sql("insert into apps (app_id, name) values (new_object_id(), 'elsewhere')")
        app = {**JSON, "Dossier-App": "elsewhere"}
        stranger = self.site.request("POST", "/v1/login/anonymous", {}, app).json["user_id"]
        for method, path, body in [
            ("GET", "", None), ("PATCH", "", {"name": "x"}), ("GET", "/metadata", None),
            ("PUT", "/metadata", {}), ("GET", "/custom-data", None),
            ("GET", "/identities", None), ("GET", "/sessions", None), ("PUT", "/properties", {}),
            ("DELETE", "/sessions", None), ("DELETE", "/picture", None),
        ]:
            for user in [stranger, "0" * 24, "x"]:
                answer = self.site.request(
                    method, f"/v1/users/{user}{path}", body,
                    MERGE if method == "PATCH" else JSON if body is not None else {},
                    self.keys["writer"])
                self.expect(answer, 404, "not_found")

    def test_a_client_ends_sessions_and_unlinks_identities(self):
        grant = self.verified("program@example.com")
        self.grant = grant
        sessions = self.expect(self.call("reader", "GET", "/sessions"), 200).json
        self.assertEqual(len(sessions), 1)
        self.expect(self.call("writer", "DELETE", f"/sessions/{sessions[0]['id']}"), 204)
        self.expect(self.me(grant), 401, "session_ended")
        self.expect(self.login("program@example.com"), 200)
        self.expect(self.call("writer", "DELETE", "/sessions"), 204)
        self.assertEqual(self.call("reader", "GET", "/sessions").json, [])
        identity = self.call("reader", "GET", "/identities").json[0]["id"]
        self.expect(self.call("writer", "DELETE", f"/identities/{identity}"), 409, "last_identity")
        # An export contains the app metadata and the audit log, which have their own scopes.
        self.expect(self.call("writer", "GET", "/export"), 403, "insufficient_scope")
        self.assertEqual(self.expect(self.call("exporter", "GET", "/export"), 200).json
                         ["profile"]["email"], "program@example.com")

    def test_the_operators_on_a_users_custom_data(self):
        answer = self.call("writer", "POST", "/custom-data/update",
                           {"update": {"$set": {"a": 1}}, "upsert": True})
        self.assertTrue(self.expect(answer, 200).json["upserted"])
        self.expect(self.call("reader", "POST", "/custom-data/update", {"update": {}}), 403)


if __name__ == "__main__":
    unittest.main()
