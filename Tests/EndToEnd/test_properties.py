"""Properties: values, versions, conflicts and limits."""

import unittest

from cases import Case, in_parallel
from asking import JSON


class Properties(Case):
    PATH = "/v1/me/properties"

    def setUp(self):
        self.token = self.site.login()["access_token"]

    def all(self):
        return self.expect(self.site.get(self.PATH, token=self.token), 200)

    def bulk(self, method, body):
        return self.site.request(method, self.PATH, body, JSON, self.token)

    def put(self, key, value, query="", **headers):
        fields = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.site.request(
            "PUT", f"{self.PATH}/{key}{query}", {"value": value}, {**JSON, **fields}, self.token)

    def delete(self, key, **headers):
        fields = {name.replace("_", "-"): text for name, text in headers.items()}
        return self.site.request("DELETE", f"{self.PATH}/{key}", headers=fields, token=self.token)

    def test_values_keep_their_type_and_spelling(self):
        text = b'{"a":2.0,"b":1e2,"c":"\xc3\xbc","d":true,"e":-0,"f":"2"}'
        self.expect(self.bulk("PUT", text), 200)
        self.assertEqual(self.all().body, text)
        self.assertEqual(self.site.get(self.PATH + "/a", token=self.token).body,
                         b'{"key":"a","value":2.0,"version":1}')

    def test_a_number_that_is_no_double_is_refused(self):
        for text in ["1e309", "-1e309", "1" + "0" * 309]:
            for method in ["PUT", "PATCH"]:
                answer = self.expect(self.bulk(method, f'{{"n":{text}}}'), 422, "validation_failed")
                self.assertEqual(answer.json["errors"][0]["code"], "range")
        self.expect(self.bulk("PUT", '{"n":-1.7976931348623157e308}'), 200)

    def test_keys_are_replaced_merged_and_removed(self):
        self.assertEqual(self.all().json, {})
        self.assertEqual(self.bulk("PUT", {"a": 1, "b": 2}).json, {"a": 1, "b": 2})
        self.assertEqual(self.bulk("PATCH", {"b": 3, "c": 4, "a": None}).json, {"b": 3, "c": 4})
        self.assertEqual(self.bulk("PUT", {"c": 4}).json, {"c": 4})
        self.assertEqual(self.put("d/e", "x").status, 404)
        self.assertEqual(self.put("d%2Fe%20%C3%BC", "x").json["key"], "d/e \u00fc")
        self.assertEqual(self.delete("c").json, {"d/e \u00fc": "x"})
        self.expect(self.delete("c"), 404, "not_found")
        self.expect(self.site.get(self.PATH + "/c", token=self.token), 404, "not_found")
        answer = self.site.request("DELETE", self.PATH, token=self.token)
        self.assertEqual(self.expect(answer, 200).json, {})

    def test_similar_looking_keys_are_distinct(self):
        for number, key in enumerate(["%C3%A9", "e%CC%81", "third"]):
            self.assertEqual(self.put(key, number).json["value"], number)
        self.assertEqual(self.all().json, {"\u00e9": 0, "e\u0301": 1, "third": 2})
        self.assertEqual(
            self.site.get(self.PATH + "/e%CC%81", token=self.token).json["value"], 1)
        self.assertEqual(self.delete("e%CC%81").json, {"\u00e9": 0, "third": 2})
        both = {"\u00e9": 3, "e\u0301": 4}
        self.assertEqual(self.bulk("PUT", both).json, both)

    def test_versions_increase_by_one_and_are_never_reused(self):
        self.assertEqual(self.put("k", 1).version, 1)
        self.assertEqual(self.put("k", 2).version, 2)
        self.assertEqual(self.put("k", 2).version, 2)
        self.assertEqual(self.put("k", 2.0).version, 3)
        self.expect(self.delete("k"), 200)
        self.assertEqual(self.put("k", 2).version, 4)
        # Changes of another user have no effect on this one.
        self.assertEqual(self.site.get(self.PATH + "/k", token=self.token).json["version"], 4)

    def test_versions_of_all_properties_are_returned_on_request(self):
        self.bulk("PUT", {"a": 1, "b": "x"})
        self.put("a", 2)

        def read(query="", **headers):
            fields = {name.replace("_", "-"): text for name, text in headers.items()}
            return self.site.get(self.PATH + query, headers=fields, token=self.token)

        answer = self.expect(read("?versions=true"), 200)
        self.assertEqual(answer.json, {
            "a": {"value": 2, "version": 2}, "b": {"value": "x", "version": 1}})
        self.assertEqual(read("?versions=false").json, {"a": 2, "b": "x"})
        self.expect(read("?versions=yes"), 422, "validation_failed")
        self.expect(read("?version=true"), 422, "validation_failed")
        # One ETag for all properties, which changes with each of them.
        tags = [answer.headers["ETag"]]
        self.assertEqual(self.all().headers["ETag"], tags[0])
        for query in ["", "?versions=true"]:
            self.expect(read(query, If_None_Match=tags[0]), 304)
        changes = [lambda: self.put("a", 3), lambda: self.delete("a"), lambda: self.put("a", 3),
                   lambda: self.site.request("DELETE", self.PATH, token=self.token)]
        for change in changes:
            self.expect(change(), 200)
            tags.append(self.expect(read(If_None_Match=tags[-1]), 200).headers["ETag"])
        self.assertEqual(len(set(tags)), 5)
        self.expect(read(If_Match=tags[0]), 412, "precondition_failed")

    def test_a_conflict_reports_both_versions_unless_keep_is_given(self):
        self.put("k", "one")
        self.put("k", "two")
        refused = self.expect(self.put("k", "mine", If_Match='"1"'), 409, "version_conflict").json
        self.assertEqual(
            (refused["key"], refused["value"], refused["current_version"],
             refused["expected_versions"]), ("k", "two", 2, [1]))
        kept = self.expect(self.put("k", "mine", "?keep=old", If_Match='"1"'), 200)
        self.assertEqual((kept.json["value"], kept.version), ("two", 2))
        encoded = self.expect(self.put("k", "mine", "?keep=%6Fld", If_Match='"1"'), 200)
        self.assertEqual((encoded.json["value"], encoded.version), ("two", 2))
        taken = self.expect(self.put("k", "mine", "?keep=new", If_Match='"1"'), 200)
        self.assertEqual((taken.json["value"], taken.version), ("mine", 3))
        self.expect(self.put("k", "mine too", If_Match='"3"'), 200)
        self.expect(self.put("k", "new", If_None_Match="*"), 409, "version_conflict")
        self.expect(self.put("n", "new", If_None_Match="*"), 200)
        self.expect(self.delete("k", If_Match='"1"'), 409, "version_conflict")
        self.expect(self.delete("k", If_Match='"4"'), 200)
        self.expect(self.put("k", 1, "?keep=both"), 422, "validation_failed")
        gone = self.expect(self.put("k", 1, If_Match='"4"'), 409, "version_conflict").json
        self.assertEqual((gone["key"], gone["value"], gone["current_version"]), ("k", None, 0))

    def test_invalid_properties_are_reported_and_nothing_is_changed(self):
        self.put("k", 1)
        bad = {"": 1, "x" * 129: 1, "list": [], "object": {}, "null": None, "long": "x" * 129}
        answer = self.expect(self.bulk("PUT", bad), 422, "validation_failed")
        self.assertEqual({error["pointer"] for error in answer.json["errors"]},
                         {f"/{key}" for key in bad})
        self.expect(self.bulk("PATCH", {"a": 1, "b": []}), 422, "validation_failed")
        self.expect(self.put("k", "x" * 129), 422, "validation_failed")
        self.expect(self.put("k" * 129, 1), 422, "validation_failed")
        self.expect(self.put("k", "\U0001f600" * 128), 200)
        self.assertEqual(list(self.all().json), ["k"])
        for body in ({}, {"value": 1, "x": 2}, []):
            answer = self.site.request("PUT", self.PATH + "/k", body, JSON, self.token)
            self.expect(answer, 422, "validation_failed")

    def test_a_user_has_at_most_a_hundred_properties(self):
        answers = in_parallel(
            32, lambda writer: [self.put(f"w{writer}-{n}", n).status for n in range(5)])
        statuses = sum(answers, [])
        self.assertEqual((statuses.count(200), statuses.count(409)), (100, 60))
        self.assertEqual(len(self.all().json), 100)
        refused = self.expect(self.bulk("PATCH", {"one": 1}), 409, "property_limit")
        self.assertEqual(refused.json["limit"], 100)
        key = next(iter(self.all().json))
        self.expect(self.bulk("PATCH", {"one": 1, key: None}), 200)

    def test_the_number_of_members_in_a_change_is_limited(self):
        self.expect(self.bulk("PATCH", {f"k{n}": None for n in range(200)}), 200)
        for method, value in [("PATCH", None), ("PATCH", 1), ("PUT", 1)]:
            body = {f"k{n}": value for n in range(60_000)}
            self.expect(self.bulk(method, body), 409, "property_limit")
        self.assertEqual(self.all().json, {})

    def test_an_app_chooses_the_length_of_strings(self):
        self.site.sql("insert into apps (app_id, name, settings) values (new_object_id(), 'wordy', "
                      "'{\"property_string_length\": 1024}')")
        app = {**JSON, "Dossier-App": "wordy"}
        token = self.site.request("POST", "/v1/login/anonymous", {}, app).json["access_token"]
        # Readers count a family of emoji as one character.
        family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
        for text, length, status in [("\u00fc", 1024, 200), ("\u00fc", 1025, 422),
                                     (family, 300, 200), (family, 500, 422)]:
            answer = self.site.request("PUT", self.PATH, {"k": text * length}, app, token)
            self.expect(answer, status)
        self.expect(self.site.get(self.PATH, headers=app, token=token), 200)


if __name__ == "__main__":
    unittest.main()
