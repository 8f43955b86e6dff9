"""Tests the JSON Schemas of documents: their settings, and their effect on every write."""

import json
import subprocess
import unittest

from cases import Administration, in_parallel
from asking import JSON, MERGE, PATCH
from machine import BUILD

PERSON = {
    "type": "object", "additionalProperties": False, "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 10},
        "age": {"type": "integer", "minimum": 0},
        "tags": {"items": {"enum": ["a", "b"]}, "uniqueItems": True},
    },
}
KINDS = ["metadata", "app-metadata", "custom-data"]


class SchemaCase(Administration):
    """Tests in an app of their own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = cls.site.client("--operator")["secret"]
        cls.apps = 0

    def setUp(self):
        type(self).apps += 1
        self.app = f"app-{self.apps}"
        self.site.dossier("app", "create", self.app)

    def ask(self, method, path, body=None, headers=None, key=None):
        headers = headers or (JSON if body is not None else {})
        return self.site.request(
            method, path, body, {**headers, "Dossier-App": self.app}, key or self.operator)

    def set(self, kind, schema):
        file = self.site.folder / "schema.json"
        file.write_text(json.dumps(schema))
        self.command("set", kind, file)

    def command(self, *words, **options):
        return self.site.dossier("schema", *words, "--app", self.app, **options)

    def user(self):
        """Signs in an anonymous user. Returns the id and the token."""
        grant = self.expect(self.ask("POST", "/v1/login/anonymous", {}, key="none"), 200).json
        return grant["user_id"], grant["access_token"]

    def program(self):
        scopes = ",".join(self.site.SCOPES)
        return self.site.client("--app", self.app, f"scopes={scopes}")["secret"]

    def refuses(self, answer, *places):
        self.expect(answer, 422, "schema_mismatch")
        self.assertEqual([(e["pointer"], e["code"]) for e in answer.json["errors"]], list(places))
        for error in answer.json["errors"]:
            self.assertRegex(error["detail"], r"^[A-Z].*\. \(schema #.*\)$")


class Schemas(SchemaCase):
    def writers(self):
        """Returns the ways to write documents: the kind, the path and the key of the caller."""
        _, token = self.user()
        user, _ = self.user()
        program = self.program()
        return [("metadata", "/v1/me/metadata", token),
                ("custom-data", "/v1/me/custom-data", token),
                ("metadata", f"/v1/users/{user}/metadata", program),
                ("custom-data", f"/v1/users/{user}/custom-data", program),
                ("app-metadata", f"/v1/users/{user}/app-metadata", program)]

    # Writing

    def test_every_write_of_users_and_clients_must_match_the_schema(self):
        for kind in KINDS:
            self.set(kind, PERSON)
        add = [{"op": "add", "path": "/age", "value": -1}]
        for kind, path, key in self.writers():
            with self.subTest(path=path):
                def write(method, body, headers, path=path):
                    return self.ask(method, path, body, headers, key)

                self.refuses(write("PUT", {"age": 1.5, "nam": "", "tags": ["a", "c", "a"]}, JSON),
                             ("/name", "required"), ("/age", "type"),
                             ("/nam", "additional_properties"), ("/tags/1", "enum"),
                             ("/tags", "unique_items"))
                self.refuses(write("PATCH", {"age": 1}, MERGE), ("/name", "required"))
                good = write("PUT", {"name": "Ada", "age": 36.0}, JSON)
                self.assertIn(self.expect(good, good.status).status, (200, 201))
                version = good.version
                self.refuses(write("PATCH", {"age": -1, "name": None}, MERGE),
                             ("/name", "required"), ("/age", "minimum"))
                self.refuses(write("PATCH", add, PATCH), ("/age", "minimum"))
                # Nothing was written: neither the document nor its version.
                stored = self.ask("GET", path, key=key)
                self.assertEqual((stored.json, stored.version),
                                 ({"name": "Ada", "age": 36.0}, version))
                merged = self.expect(write("PATCH", {"tags": ["b"], "age": None}, MERGE), 200)
                self.assertEqual((merged.json, merged.version),
                                 ({"name": "Ada", "tags": ["b"]}, version + 1))
                patched = write("PATCH", [{"op": "add", "path": "/tags/-", "value": "a"}], PATCH)
                self.assertEqual(self.expect(patched, 200).version, version + 2)
                # Other errors of a write are reported as without a schema.
                stale = write("PUT", {"name": "Bob"}, {**JSON, "If-Match": '"99"'})
                self.expect(stale, 412, "precondition_failed")
                if kind != "custom-data":
                    continue
                update = f"{path}/update"
                self.refuses(write("POST", {"update": {"$set": {"age": "x"}}}, JSON, update),
                             ("/age", "type"))
                self.refuses(write("POST", {"update": {"$push": {"tags": "b"}}}, JSON, update),
                             ("/tags", "unique_items"))
                done = write("POST", {"update": {"$set": {"age": 3}}}, JSON, update)
                self.assertEqual(self.expect(done, 200).json["modified_count"], 1)
                # A deletion is not validated. An update that creates the document again is.
                self.expect(self.ask("DELETE", path, key=key), 204)
                body = {"update": {"$set": {"age": 3}}, "upsert": True}
                self.refuses(write("POST", body, JSON, update), ("/name", "required"))
                self.assertEqual(self.expect(self.ask("GET", path, key=key), 200).json, {})
                body = {"update": {"$set": {"name": "Cyd"}}, "upsert": True}
                self.assertTrue(self.expect(write("POST", body, JSON, update), 200).json["upserted"])

    def test_extended_json_is_validated_as_plain_values(self):
        """Through REST, operators and App Services, for stored values of every type."""
        oid, date = {"$oid": "64b0000000000000000000A1"}, {"$date": "2024-02-29T12:00:00Z"}
        cases = [
            ({"type": "integer", "minimum": 5, "maximum": 9}, [
                {"$numberLong": "5"}, {"$numberInt": "6"}, {"$numberDecimal": "7.0"},
                {"$numberDouble": "8.0"}, {"$timestamp": {"t": 9, "i": 1}}, 5],
             [{"$numberLong": "4"}, {"$numberDecimal": "5.5"}, {"$numberDouble": "NaN"},
              {"$numberLong": "x"}, oid, date, "5"]),
            ({"type": "string", "format": "date-time", "pattern": "^2024-.*Z$"},
             [date, {"$date": {"$numberLong": "1709208000000"}}, {"$date": "2024-01-01T01:00:00+01:00"}],
             [{"$date": "2025-01-01T00:00:00Z"}, {"$date": {"$numberLong": "-99999999999999999"}}, 1]),
            ({"type": "string", "pattern": "^[0-9a-f]{24}$"}, [oid], [{"$oid": "x"}, 1]),
            ({"type": "string", "minLength": 36, "maxLength": 36}, [
                {"$uuid": "00112233-4455-6677-8899-aabbccddeeff"},
                {"$binary": {"base64": "ABEiM0RVZneImaq7zN3u/w==", "subType": "04"}}],
             [{"$binary": {"base64": "AQI=", "subType": "00"}}]),
            ({"const": {"$numberLong": "5"}}, [5, {"$numberLong": "5"}, {"$numberDecimal": "5"}],
             [6, "5"]),
            ({"enum": [oid, {"$undefined": True}]},
             [oid, "64b0000000000000000000a1", {"$undefined": True}, None], [{"$oid": "0" * 24}, 1]),
            ({"type": "object"}, [{"$numberLong": "x"}, {"$numberLong": "5", "a": 1}, {}],
             [{"$numberLong": "5"}, oid]),
            ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
             [[1, {"$numberLong": "2"}]], [[1, {"$numberLong": "1"}], [{"a": 1}]]),
        ]
        names = {f"p{number}": schema for number, (schema, _, _) in enumerate(cases)}
        self.set("custom-data", {"properties": {"a": {"properties": names}}})
        _, token = self.user()
        path = "/v1/me/custom-data"
        for number, (schema, good, bad) in enumerate(cases):
            name = f"p{number}"
            for value, status in [(value, 200) for value in good] + [(value, 422) for value in bad]:
                with self.subTest(schema=schema, value=value):
                    inner = {name: value}
                    for answer in [
                            self.ask("PUT", path, {"a": inner}, JSON, token),
                            self.ask("PATCH", path, {"a": inner}, MERGE, token),
                            self.ask("PATCH", path, [{"op": "add", "path": "/a", "value": inner}],
                                     PATCH, token),
                            self.ask("POST", f"{path}/update", {
                                "update": {"$set": {f"a.{name}": value}}, "upsert": True},
                                     JSON, token)]:
                        # A merge patch cannot put null anywhere: it removes.
                        if value is None and answer.status == 200:
                            continue
                        self.expect(answer, status, "schema_mismatch" if status == 422 else None)
                        for error in answer.json["errors"] if status == 422 else []:
                            self.assertTrue(error["pointer"].startswith(f"/a/{name}"), error)
                    if status == 200 and isinstance(value, dict):
                        # A stored value keeps its type.
                        stored = self.ask("GET", path, key=token).json["a"][name]
                        self.assertEqual(set(stored), set(value), stored)

    def test_other_kinds_and_other_apps_are_not_restricted(self):
        self.set("metadata", False)
        _, token = self.user()
        self.expect(self.ask("PUT", "/v1/me/custom-data", {"a": 1}, JSON, token), 200)
        self.refuses(self.ask("PATCH", "/v1/me/metadata", {}, MERGE, token), ("", "false"))
        # The empty documents of a new user were not written, so they are not validated.
        self.assertEqual(self.expect(self.ask("GET", "/v1/me/metadata", key=token), 200).json, {})
        other = self.site.login()["access_token"]
        self.expect(self.site.request("PUT", "/v1/me/metadata", {"a": 1}, JSON, other), 200)

    def test_concurrent_writes_never_store_a_mismatch(self):
        self.set("custom-data", {"maxProperties": 3})
        user, token = self.user()
        self.expect(self.ask("PUT", "/v1/me/custom-data", {}, JSON, token), 200)

        def write(index):
            results = []
            for turn in range(10):
                if index % 3 == 0:
                    answer = self.ask("PATCH", "/v1/me/custom-data",
                                      [{"op": "add", "path": f"/{index}-{turn}", "value": 1}],
                                      PATCH, token)
                elif index % 3 == 1:
                    answer = self.ask("PATCH", "/v1/me/custom-data", {f"{index}-{turn}": 1},
                                      MERGE, token)
                else:
                    answer = self.ask("POST", "/v1/me/custom-data/update",
                                      {"update": {"$set": {f"{index}-{turn}": 1}}}, JSON, token)
                results.append(answer)
            return results

        answers = [answer for results in in_parallel(9, write) for answer in results]
        done = [answer for answer in answers if answer.status == 200]
        for answer in answers:
            if answer.status != 200:
                self.refuses(answer, ("", "max_properties"))
        self.assertEqual(len(done), 3)
        stored = self.ask("GET", "/v1/me/custom-data", key=token)
        self.assertEqual((len(stored.json), stored.version), (3, 4))

    def test_errors_of_a_patch_of_a_user_are_placed_in_the_user(self):
        user, _ = self.user()
        for kind in ["metadata", "app-metadata"]:
            self.set(kind, PERSON)
            name = kind.replace("-", "_")
            for body, *places in [({"age": -1}, ("name", "required"), ("age", "minimum")),
                                  ({"a.b": 1}, ("a.b", "key"))]:
                answer = self.ask("PATCH", f"/v1/users/{user}", {name: body}, MERGE, self.program())
                errors = self.expect(answer, 422).json["errors"]
                self.assertEqual([(e["pointer"], e["code"]) for e in errors],
                                 [(f"/{name}/{place}", code) for place, code in places])

    def test_a_large_document_and_a_costly_pattern(self):
        self.set("custom-data", {"additionalProperties": {
            "items": {"type": "integer", "minimum": 0}, "pattern": "(a+)+$"}})
        _, token = self.user()
        path = "/v1/me/custom-data"
        numbers = json.dumps({"rows": list(range(140_000))}, separators=(",", ":"))
        self.assertGreater(len(numbers), 800_000)
        self.expect(self.ask("PUT", path, numbers, JSON, token), 200)
        slow = self.ask("PUT", path, {"text": "a" * 900_000 + "!"}, JSON, token)
        self.refuses(slow, ("/text", "cost"))
        many = self.ask("PUT", path, {"rows": [-1] * 1000}, JSON, token)
        self.assertEqual(len(self.expect(many, 422, "schema_mismatch").json["errors"]), 20)

    def test_stored_documents_stay_valid_until_they_are_written(self):
        _, token = self.user()
        self.expect(self.ask("PUT", "/v1/me/metadata", {"old": 1}, JSON, token), 200)
        self.set("metadata", PERSON)
        answer = self.ask("PATCH", "/v1/me/metadata", {}, MERGE, token)
        self.refuses(answer, ("/name", "required"), ("/old", "additional_properties"))
        self.assertEqual(self.ask("GET", "/v1/me/metadata", key=token).json["old"], 1)
        fit = self.ask("PATCH", "/v1/me/metadata", {"old": None, "name": "Ada"}, MERGE, token)
        self.expect(fit, 200)

    def test_an_unusable_schema_prevents_writes(self):
        self.set("metadata", True)
        # A schema of a later version of the program.
        self.site.sql("update document_schemas set body = '{\"later\": 1}' where app_id = "
                      f"(select app_id from apps where name = '{self.app}')")
        _, token = self.user()
        self.expect(self.ask("PUT", "/v1/me/metadata", {}, JSON, token), 500, "internal")
        self.expect(self.ask("PATCH", "/v1/me/metadata", {}, MERGE, token), 500, "internal")
        self.assertEqual(self.expect(self.ask("GET", "/v1/me/metadata", key=token), 200).version, 0)
        self.expect(self.ask("PUT", "/v1/me/custom-data", {}, JSON, token), 200)
        self.refused(1, "schema", "check", "metadata", "--app", self.app, words="/later")

    # Import

    def test_rows_of_an_import_fail_alone(self):
        for kind in KINDS:
            self.set(kind, PERSON)
        rows = [
            {"id": "f" * 23 + "1", "metadata": {"name": "Ada"}},
            {"id": "f" * 23 + "2", "metadata": {"name": ""}, "custom_data": {"name": 1}},
            {"id": "f" * 23 + "3", "app_metadata": {}},
            {"id": "f" * 23 + "4"},
        ]
        source, told = self.site.folder / "rows.ndjson", self.site.folder / "told.ndjson"
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        run = subprocess.run(
            [BUILD / "dossier", "user", "import", source, "--app", self.app, "--results", told],
            env=self.site.environment, capture_output=True, text=True)
        self.assertEqual(run.returncode, 17, run.stderr)
        results = [json.loads(line) for line in told.read_text().splitlines()]
        self.assertEqual([row["status"] for row in results],
                         ["created", "failed", "failed", "created"])
        self.assertEqual(
            [[(e["pointer"], e["code"]) for e in row.get("errors", [])] for row in results],
            [[], [("/metadata/name", "min_length"), ("/custom_data/name", "type")],
             [("/app_metadata/name", "required")], []])


if __name__ == "__main__":
    unittest.main()
