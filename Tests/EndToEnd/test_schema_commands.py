"""The administration of JSON Schemas: set, show, list, remove and check."""

import json
import random
import subprocess
import unittest

from asking import JSON
from machine import BUILD
from test_schemas import PERSON, SchemaCase


class SchemaCommands(SchemaCase):
    def test_a_schema_is_set_shown_listed_and_removed(self):
        text = '{ "type": "object",\n  "minProperties": 1e0 }'
        file = self.site.folder / "schema.json"
        file.write_text(text)
        self.command("set", "app-metadata", file)
        for name in ["app-metadata", "app_metadata"]:
            self.assertEqual(self.command("show", name, output="table"), text + "\n")
        shown = self.expect(self.ask("GET", "/v1/schemas/app-metadata"), 200)
        self.assertEqual(shown.body.decode(), text)
        self.assertEqual(shown.headers["Content-Type"], "application/json")
        again = self.expect(self.ask("PUT", "/v1/schemas/app-metadata", PERSON), 200)
        self.assertEqual(again.json, PERSON)
        self.expect(self.ask("PUT", "/v1/schemas/metadata", "true"), 201)
        listed = self.expect(self.ask("GET", "/v1/schemas"), 200).json
        self.assertEqual([(row["kind"], row["bytes"]) for row in listed],
                         [("app-metadata", len(json.dumps(PERSON))), ("metadata", 4)])
        self.assertEqual(self.command("list"), listed)
        self.command("remove", "metadata", "--yes")
        self.expect(self.ask("DELETE", "/v1/schemas/app-metadata"), 204)
        self.expect(self.ask("DELETE", "/v1/schemas/app-metadata"), 404, "not_found")
        self.expect(self.ask("GET", "/v1/schemas/app-metadata"), 404, "not_found")
        self.refused(10, "schema", "show", "metadata", "--app", self.app,
                     words="does not exist")
        self.refused(10, "schema", "delete", "metadata", "--app", self.app, "--yes")
        self.refused(10, "schema", "check", "metadata", "--app", self.app)
        self.refused(10, "schema", "list", "--app", "nowhere", words="No app has that name")
        self.refused(64, "schema", "set", "profile", file)
        self.refused(21, "schema", "set", "metadata", "/nowhere", words="/nowhere")
        for kind in ["profile", "app_metadata", "x"]:
            self.expect(self.ask("PUT", f"/v1/schemas/{kind}", {}), 404, "not_found")
        events = [(event["action"], event["actor"].split(":")[0], event["detail"])
                  for event in self.audit_events("--app", self.app)
                  if event["action"].startswith("schema")]
        expected = [("schema_set", "operator", "app-metadata"),
                    ("schema_set", "client", "app-metadata"), ("schema_set", "client", "metadata"),
                    ("schema_remove", "operator", "metadata"),
                    ("schema_remove", "client", "app-metadata")]
        self.assertEqual(events[::-1], [(a, b, {"kind": c}) for a, b, c in expected])

    def test_a_removed_schema_no_longer_applies(self):
        self.set("metadata", False)
        _, token = self.user()
        self.refuses(self.ask("PUT", "/v1/me/metadata", {}, JSON, token), ("", "false"))
        self.command("remove", "metadata", "--yes")
        self.expect(self.ask("PUT", "/v1/me/metadata", {"a": 1}, JSON, token), 200)

    def test_errors_in_a_schema_are_reported_with_their_place(self):
        deep = {}
        for _ in range(70):
            deep = {"items": deep}
        for schema, pointer, code in [
            (1, "", "schema_type"), ({"typ": 1}, "/typ", "schema_unknown_keyword"),
            ({"properties": {"a/b": {"$vocabulary": {}}}},
             "/properties/a~1b/$vocabulary", "schema_unsupported_keyword"),
            ({"$recursiveRef": "#"}, "/$recursiveRef", "schema_unsupported_keyword"),
            ({"$schema": "http://json-schema.org/draft-07/schema#"}, "/$schema",
             "schema_unsupported_keyword"),
            ({"minLength": -1}, "/minLength", "schema_type"),
            ({"multipleOf": 0}, "/multipleOf", "schema_range"),
            ({"pattern": "(?R)"}, "/pattern", "schema_pattern"),
            ({"items": {"$id": "#a"}}, "/items/$id", "schema_id"),
            ({"$ref": "https://a.example/b"}, "/$ref", "schema_reference"),
            ({"anyOf": [{"$ref": "#"}]}, "/anyOf/0/$ref", "schema_cycle"),
            ({"$anchor": "a b"}, "/$anchor", "schema_anchor"),
            ({"$defs": {str(n): {} for n in range(3000)}}, "/$defs/2047", "schema_limit"),
        ]:
            with self.subTest(schema=pointer):
                answer = self.expect(self.ask("PUT", "/v1/schemas/metadata", json.dumps(schema)),
                                     422, "validation_failed")
                self.assertEqual([(e["pointer"], e["code"]) for e in answer.json["errors"]],
                                 [(pointer, code)])
        self.expect(self.ask("PUT", "/v1/schemas/metadata", deep), 400, "json.depth")
        self.expect(self.ask("PUT", "/v1/schemas/metadata", "{"), 400, "json.syntax")
        self.expect(self.ask("PUT", "/v1/schemas/metadata", {"$comment": "a" * 65_536}),
                    413, "body_too_large")
        for text, words in [('{"typ": 1}', "/typ: There is no such keyword"), ("{", "At byte 1"),
                            (json.dumps({"$comment": "a" * 65_536}), "65536 bytes")]:
            file = self.site.folder / "wrong.json"
            file.write_text(text)
            self.refused(12, "schema", "set", "metadata", file, "--app", self.app, words=words)
        self.assertEqual(self.command("list"), [])

    def test_callers_without_access_to_schemas_are_refused(self):
        _, token = self.user()
        program = self.program()
        for method, path in [("GET", "/v1/schemas"), ("GET", "/v1/schemas/metadata"),
                             ("PUT", "/v1/schemas/metadata"), ("DELETE", "/v1/schemas/metadata")]:
            body = {} if method == "PUT" else None
            self.expect(self.ask(method, path, body, key=token), 401, "client_unknown")
            self.expect(self.ask(method, path, body, key=program), 403, "insufficient_scope")
        self.assertEqual(self.command("list"), [])

    def test_schema_check_lists_mismatching_users(self):
        randomness = random.Random(1)
        # More than a page, most without a document.
        self.site.sql(f"""
            with u as (
              insert into users (user_id, app_id, anonymous)
              select lpad(to_hex(n), 24, '0'), a.app_id, true
              from generate_series(1, 3000) n, apps a where a.name = '{self.app}'
              returning user_id)
            insert into documents (user_id, kind, body, version)
            select user_id, 'custom_data', '{{"name": "Ada"}}', 1 from u
            where ('x' || right(user_id, 4))::bit(16)::int % 3 = 0""")
        bad = sorted(randomness.sample(range(3, 3000, 3), 40))
        for number in bad:
            self.site.sql("update documents set body = '{\"name\": 1, \"a\\u001bb\": 1}' "
                          f"where user_id = '{number:024x}'")
        # Also numbers of more digits than any route accepts today.
        self.site.sql("update documents set body = '{\"name\": 1e-16000, \"a\\u001bb\": 0e-1000}' "
                      f"where user_id = '{bad[-1]:024x}'")
        self.site.sql(f"update documents set deleted_at = now() where user_id = '{6:024x}'")
        bad = [number for number in bad if number != 6]
        schema = self.site.folder / "person.json"
        schema.write_text(json.dumps(PERSON))

        def check(*words, output="json", **options):
            return self.site.dossier("schema", "check", "custom-data", "--app", self.app, *words,
                                     check=False, output=output, **options)

        run = check("--schema", schema)
        self.assertEqual(run.returncode, 17, run.stderr)
        self.assertIn(f"999 documents, {len(bad)} do not fit", run.stderr)
        found = [json.loads(line) for line in run.stdout.splitlines()]
        self.assertEqual([row["id"] for row in found], [f"{number:024x}" for number in bad])
        for row in found:
            self.assertEqual({(e["pointer"], e["code"]) for e in row["errors"]},
                             {("/name", "type"), ("/a\u001bb", "additional_properties")})
        self.set("custom-data", PERSON)
        people = check(output="table")
        self.assertEqual(people.returncode, 17)
        self.assertIn(f"{bad[0]:024x}  /name: This must be of type string.", people.stdout)
        self.assertNotIn("\u001b", people.stdout)
        run = subprocess.run(
            [BUILD / "dossier", "schema", "check", "custom-data", "--app", self.app,
             "--schema", "-"], env=self.site.environment, capture_output=True, input=b"true")
        self.assertEqual((run.returncode, run.stdout), (0, b""), run.stderr)
        self.refused(12, "schema", "check", "metadata", "--app", self.app, "--schema", "/dev/null")


if __name__ == "__main__":
    unittest.main()
