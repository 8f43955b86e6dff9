"""What only looks like Extended JSON: realm-core would end over it, so that it neither comes in nor goes
out by the client API of App Services."""

import json
import unittest

from app_services import Services, claims
from asking import JSON
from extended_json import int32

LOOKALIKES = [
    {"$oid": "zz"}, {"$oid": "6" * 23}, {"$oid": None}, {"$oid": True}, {"$oid": {}},
    {"$oid": "6" * 24, "more": 1}, {"$numberInt": "99999999999"}, {"$numberInt": 1},
    {"$numberInt": "1.5"}, {"$numberLong": "9223372036854775808"}, {"$numberLong": ""},
    {"$numberDouble": "one"}, {"$numberDouble": 1.5}, {"$numberDecimal": "x"}, {"$date": "x"},
    {"$date": 1}, {"$date": {"$numberLong": "x"}}, {"$date": {"$numberLong": "1", "x": 1}},
    {"$binary": {"base64": "?", "subType": "00"}}, {"$binary": {"base64": ""}}, {"$binary": "aGk="},
    {"$timestamp": {"t": 1}}, {"$timestamp": {"t": -1, "i": 1}}, {"$uuid": "x"},
    {"$regularExpression": {"pattern": "a"}}, {"$minKey": 2}, {"$undefined": False},
    {"$code": 1}, {"$code": "x", "$scope": {"a": {"$oid": "zz"}}}]


class Lookalikes(Services):
    def setUp(self):
        super().setUp()
        self.user = self.anonymous()

    def raw(self, name, **arguments):
        """Runs an operation with arguments that are sent unchanged."""
        body = {"name": name, "service": "mongodb-atlas", "arguments": [
            {"database": "my_database", "collection": "users", **arguments}]}
        return self.site.request("POST", f"{self.app.path}/functions/call", json.dumps(body), JSON,
                                 self.user.access)

    def put(self, document):
        self.expect(self.site.request(
            "PUT", "/v1/me/custom-data", document, {**JSON, "Dossier-App": self.name},
            self.user.access), 200)

    def test_arguments(self):
        own = {"userId": self.user.id}
        self.user.call("insertOne", document={**own, "kept": 1})
        whole = self.user.call("findOne")
        for value in LOOKALIKES:
            for nested in [value, [1, value], {"b": [{"c": value}]}]:
                for name, arguments in [
                        ("updateOne", {"query": {}, "update": {"$set": {"a": nested}}}),
                        ("updateOne", {"query": {}, "update": {**own, "a": nested}}),
                        ("updateMany", {"query": {}, "update": {"$push": {"l": nested}}}),
                        ("replaceOne", {"query": {}, "update": {**own, "a": nested}}),
                        ("findOneAndUpdate", {"filter": {}, "update": {"$set": {"a": nested}}})]:
                    answer = self.raw(name, **arguments)
                    self.assertEqual(answer.status, 400, (value, name, answer.body))
                    self.assertIn("only looks like Extended JSON", answer.json["error"])
        for name, arguments in [
                ("insertOne", {"document": {**own, "a": LOOKALIKES[0]}}),
                ("insertOne", {"document": {**own, "$oid": "zz"}}),
                ("insertMany", {"documents": [own, {**own, "a": LOOKALIKES[0]}]}),
                ("find", {"query": {"a": LOOKALIKES[0]}}),
                ("updateOne", {"query": {"a": LOOKALIKES[0]}, "update": {"$set": {"b": 1}}}),
                ("updateOne", {"update": {"$set": {"b.$[x]": 1}},
                               "arrayFilters": [{"x": LOOKALIKES[0]}]}),
                ("findOneAndDelete", {"filter": {"a": LOOKALIKES[0]}}),
                ("aggregate", {"pipeline": [{"$match": {"a": LOOKALIKES[0]}}]})]:
            answer = self.raw(name, **arguments)
            self.assertEqual(answer.status, 400, (name, answer.body))
            self.assertIn("only looks like Extended JSON", answer.json["error"])
        self.assertEqual(self.user.call("findOne"), whole)

    def test_field_names_that_look_like_extended_json(self):
        self.user.call("insertOne", document={"userId": self.user.id, "a": {"b": "zz"}, "n": 1})
        for update in [{"$set": {"a.$oid": "zz"}}, {"$set": {"c.$oid": "zz"}},
                       {"$rename": {"a.b": "a.$oid"}}, {"$rename": {"n": "d.$numberInt"}}]:
            answer = self.raw("updateOne", query={}, update=update)
            self.assertEqual(answer.status, 400, (update, answer.body))
        self.user.call("findOne")
        self.user.refresh_custom_data()

    def test_documents_written_by_other_apis(self):
        for value in LOOKALIKES:
            self.put({"d": [{"e": value}], "f": 1})
            # It blocks no login and is in no token.
            self.assertEqual(self.user.refresh_custom_data(), {})
            self.assertNotIn("user_data", claims(self.user.access))
            for name, arguments in [
                    ("findOne", {}), ("find", {}), ("aggregate", {"pipeline": []}),
                    ("findOneAndUpdate", {"update": {"$set": {"g": 1}}}),
                    ("findOneAndDelete", {})]:
                self.refused(400, "at /d/0/e", "MongoDBError", self.user.call, name, **arguments)
        # The fields beside it can be read, and an update can remove it.
        self.assertEqual(self.user.call("findOne", project={"f": 1, "_id": 0}), {"f": int32(1)})
        self.assertEqual(self.user.call("aggregate", pipeline=[{"$project": {"f": 1, "_id": 0}}]),
                         [{"f": int32(1)}])
        self.user.call("updateOne", query={}, update={"$unset": {"d": ""}})
        self.assertEqual(self.user.call("findOne")["f"], int32(1))
        self.assertEqual(self.user.refresh_custom_data()["f"], int32(1))


if __name__ == "__main__":
    unittest.main()
