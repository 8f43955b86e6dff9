"""The MongoDB service of App Services, on the one document of custom data that a user has."""

import unittest

from app_services import ServiceError, Services
from asking import JSON
from extended_json import encoded, int32, int64


class CollectionCase(Services):
    """Tests of one user and the collection of custom data."""

    def setUp(self):
        super().setUp()
        self.user = self.anonymous()

    def call(self, name, **arguments):
        return self.user.call(name, **arguments)

    def patiently(self, name, **arguments):
        """Repeats a function call while the server is overloaded."""
        while True:
            try:
                return self.call(name, **arguments)
            except ServiceError as error:
                if error.status not in (429, 503):
                    raise

    def insert(self, **members):
        return self.call("insertOne", document={"userId": self.user.id, **members})["insertedId"]

    def stored(self):
        document = self.call("findOne", query={})
        if document:
            del document["_id"], document["userId"]
        return document


class Collection(CollectionCase):
    def test_finding(self):
        self.assertIsNone(self.call("findOne", query={}))
        self.assertEqual(self.call("find", query={}), [])
        self.assertEqual(self.call("count", query={}), int64(0))
        key = self.insert(a=1, big=2**40, half=0.5, list=[{"n": 1}, {"n": 2}], text="Ada")
        whole = {"_id": key, "userId": self.user.id, "a": int32(1), "big": int64(2**40),
                 "half": self.call("findOne", query={})["half"],
                 "list": [{"n": int32(1)}, {"n": int32(2)}], "text": "Ada"}
        self.assertEqual((whole["half"].kind, whole["half"].value), ("Double", 0.5))
        for query in [{}, {"_id": key}, {"userId": self.user.id}, {"a": 1}, {"a": {"$gt": 0}},
                      {"a": {"$gte": 1, "$lt": 2, "$lte": 1, "$ne": 3, "$eq": 1}},
                      {"a": {"$in": [1, 2], "$nin": [3]}}, {"$and": [{"a": 1}, {"text": "Ada"}]},
                      {"$or": [{"a": 2}, {"big": 2**40}]}, {"$nor": [{"a": 2}]},
                      {"a": {"$not": {"$gt": 1}}}, {"a": {"$exists": True, "$type": "int"}},
                      {"list": {"$size": 2}}, {"list.n": {"$all": [1, 2]}}, {"list.1.n": 2},
                      {"list": {"$elemMatch": {"n": {"$gt": 1}}}},
                      {"text": {"$regex": "^a", "$options": "i"}},
                      {"text": {"$regularExpression": {"pattern": "^A", "options": ""}}}]:
            self.assertEqual(self.call("findOne", query=query), whole, query)
            self.assertEqual(self.call("find", query=query), [whole], query)
            self.assertEqual(self.call("count", query=query), int64(1), query)
        for query in [{"a": 2}, {"_id": "x"}, {"userId": "somebody"}, {"list": []}]:
            self.assertIsNone(self.call("findOne", query=query), query)
            self.assertEqual(self.call("find", query=query), [], query)
            self.assertEqual(self.call("count", query=query), int64(0), query)
        # Left out, null, and numbers of other types.
        self.assertEqual(self.call("find"), [whole])
        self.assertEqual(self.call("find", query=None, project=None, sort=None, limit=None), [whole])
        for limit in [0, 1, 2**40, {"$numberLong": "1"}, {"$numberDouble": "1.0"}]:
            self.assertEqual(len(self.call("find", limit=limit, sort={"a": -1})), 1)

    def test_paths_with_an_empty_part_are_refused(self):
        self.insert(a={"b": 1})
        for path in ["a.", ".a", "a..b", "."]:
            for name, arguments in [
                    ("find", {"query": {path: 1}}), ("count", {"query": {"$or": [{path: 1}]}}),
                    ("find", {"query": {}, "project": {path: 1}}),
                    ("find", {"query": {}, "sort": {path: 1}}),
                    ("updateOne", {"query": {}, "update": {"$set": {path: 1}}}),
                    ("updateOne", {"query": {path: 1}, "update": {"$set": {"c": 1}}, "upsert": True}),
                    ("findOneAndUpdate", {"filter": {}, "sort": {path: 1}, "update": {"c": 1}}),
                    ("deleteOne", {"query": {path: {"$exists": False}}}),
                    ("aggregate", {"pipeline": [{"$match": {path: 1}}]}),
                    ("aggregate", {"pipeline": [{"$sort": {path: 1}}]}),
                    ("aggregate", {"pipeline": [{"$project": {path: 1}}]})]:
                with self.subTest(name, **arguments):
                    self.refused(400, "must not be empty", "MongoDBError", self.call, name,
                                 **arguments)
        for query in [{"a.$": 1}, {"a.$[]": 1}]:
            self.refused(400, "not in a filter", "MongoDBError", self.call, "find", query=query)
        self.assertEqual(self.stored(), {"a": {"b": int32(1)}})

    def test_objects_are_equal_in_any_order_of_their_members(self):
        self.insert(a={"x": 1, "yy": 2})
        for value in [{"x": 1, "yy": 2}, {"yy": 2, "x": 1}]:
            self.assertEqual(self.call("count", query={"a": value}), int64(1), value)

    def test_projections(self):
        key = self.insert(a=1, b={"x": 1, "y": 2}, c=[{"n": 1, "m": 2}])
        for project, expected in [
                ({"a": 1}, {"_id": key, "a": int32(1)}),
                ({"a": True, "_id": 0}, {"a": int32(1)}),
                ({"b.x": 1, "_id": False}, {"b": {"x": int32(1)}}),
                ({"c.m": 0, "b": 0, "userId": 0}, {
                    "_id": key, "a": int32(1), "c": [{"n": int32(1)}]})]:
            self.assertEqual(self.call("findOne", query={}, project=project), expected)
            self.assertEqual(self.call("aggregate", pipeline=[{"$project": project}]), [expected])
        self.assertEqual(
            self.call("findOneAndUpdate", filter={}, update={"$set": {"a": 2}},
                      projection={"a": 1, "_id": 0}, returnNewDocument=True), {"a": int32(2)})

    def test_aggregation(self):
        self.assertEqual(self.call("aggregate", pipeline=[]), [])
        self.assertEqual(self.call("aggregate", pipeline=[{"$count": "n"}]), [])
        key = self.insert(a=1)
        whole = {"_id": key, "userId": self.user.id, "a": int32(1)}
        for stages, expected in [
                ([], [whole]), ([{"$match": {"a": 1}}], [whole]), ([{"$match": {"a": 2}}], []),
                ([{"$sort": {"a": -1}}, {"$limit": 5}, {"$skip": 0}], [whole]),
                ([{"$skip": 1}], []), ([{"$match": {"a": 1}}, {"$count": "n"}], [{"n": int32(1)}]),
                ([{"$count": "n"}, {"$project": {"n": 1}}, {"$match": {"n": 1}}],
                 [{"n": int32(1)}])]:
            self.assertEqual(self.call("aggregate", pipeline=stages), expected, stages)
        for stage, words in [
                ({"$who": 1}, "Unrecognized pipeline stage name: '$who'"),
                ({"$group": {"_id": None}}, "Unrecognized pipeline stage name: '$group'"),
                ({"$limit": 0}, "$limit must be"), ({"$skip": -1}, "$skip must be"),
                ({"$count": ""}, "$count must be"), ({"$count": "$a"}, "$count must be"),
                ({"$project": {}}, "$project must be"), ({"$sort": {"a": 2}}, "direction of a sort"),
                ({"$match": {"$who": 1}}, "unknown top level operator: $who"), ({}, "a stage"),
                ({"$match": {}, "$limit": 1}, "a stage"), ("$match", "a stage")]:
            self.refused(400, words, "MongoDBError", self.call, "aggregate", pipeline=[stage])

    def test_the_stages_of_a_pipeline_have_one_budget(self):
        self.insert(numbers=[0] * 1_000)
        stage = {"$match": {"$nor": [{"numbers": -1}] * 300}}
        self.assertEqual(len(self.call("aggregate", pipeline=[stage])), 1)
        self.refused(400, "too many steps", "MongoDBError", self.call, "aggregate",
                     pipeline=[stage] * 3)

    def test_inserting(self):
        other = "0" * 24
        for document in [{"userId": other}, {"userId": None}, {"userId": 7},
                         {"userId": {"$oid": self.user.id}}, {"userId": [self.user.id]}]:
            for name, arguments in [("insertOne", {"document": document}),
                                    ("insertMany", {"documents": [document]})]:
                self.refused(400, "insert not permitted", "NoMatchingRuleFound",
                             self.call, name, **arguments)
        self.assertIsNone(self.call("findOne", query={}))
        self.refused(400, "must provide at least one element", "MongoDBError",
                     self.call, "insertMany", documents=[])
        own = {"userId": self.user.id}
        self.refused(400, "Duplicate key error", "MongoDBError", self.call, "insertMany",
                     documents=[own, own])
        self.assertIsNone(self.call("findOne", query={}))
        made = self.call("insertMany", documents=[{**own, "_id": "mine"}])
        self.assertEqual(made, {"insertedIds": ["mine"]})
        for document in [own, {**own, "_id": "mine"}, {**own, "_id": 2}]:
            self.refused(400, "Duplicate key error", "MongoDBError", self.call, "insertOne",
                         document=document)
        self.assertEqual(self.call("findOne"), {"_id": "mine", **own})

    def test_ids_of_any_type(self):
        for key in [1, 0.5, "x", True, {"$oid": "64e" + "0" * 21}, {"a": 1}, 2**40]:
            user = self.anonymous()
            made = user.call("insertOne", document={"_id": key, "userId": user.id})
            found = user.call("findOne", query={"_id": key})
            self.assertEqual(found["_id"], made["insertedId"])
        for key in [[1], {"$regularExpression": {"pattern": "a", "options": ""}}]:
            user = self.anonymous()
            self.refused(400, "_id", "MongoDBError", user.call, "insertOne",
                         document={"_id": key, "userId": user.id})

    def test_types_are_kept(self):
        values = {
            "date": {"$date": {"$numberLong": "1700000000000"}}, "int": 1, "long": 2**40,
            "small": {"$numberLong": "5"}, "double": {"$numberDouble": "5.0"},
            "nan": {"$numberDouble": "NaN"}, "decimal": {"$numberDecimal": "1.10"},
            "id": {"$oid": "64e" + "0" * 21}, "binary": {"$binary": {"base64": "aGk=", "subType": "00"}},
            "time": {"$timestamp": {"t": 1700000000, "i": 1}}, "null": None, "text": "é",
            "error": "a field of this name", "error_code": "and of this"}
        self.insert(**values)
        path = f"{self.app.path}/functions/call"
        body = {"name": "findOne", "service": "mongodb-atlas", "arguments": [
            {"database": "my_database", "collection": "users", "query": {}}]}
        answer = self.site.request("POST", path, body, JSON, self.user.access)
        self.assertEqual(answer.headers["Content-Type"], "application/json; charset=utf-8")
        found = answer.json
        for name, value in values.items():
            self.assertEqual(found[name], encoded(value), name)

    def test_updating(self):
        nothing = {"matchedCount": int32(0), "modifiedCount": int32(0)}
        one = {"matchedCount": int32(1), "modifiedCount": int32(1)}
        same = {"matchedCount": int32(1), "modifiedCount": int32(0)}
        for name in ["updateOne", "updateMany"]:
            self.user = self.anonymous()
            self.assertEqual(self.call(name, query={}, update={"$set": {"a": 1}}), nothing)
            self.assertIsNone(self.stored())
            self.insert(a=1, list=[1, 5])
            self.assertEqual(self.call(name, query={"a": 2}, update={"$set": {"a": 3}}), nothing)
            self.assertEqual(self.call(name, query={}, update={"$set": {"a": 1}}), same)
            self.assertEqual(
                self.call(name, query={}, upsert=True, arrayFilters=[{"x": {"$gt": 2}}], update={
                    "$inc": {"a": 2}, "$set": {"list.$[x]": 9}, "$push": {"more": 1}}), one)
            self.assertEqual(self.stored(), {
                "a": int32(3), "list": [int32(1), int32(9)], "more": [int32(1)]})
            # A document replaces the other one, except its id.
            key = self.call("findOne")["_id"]
            self.assertEqual(
                self.call(name, query={}, update={"userId": self.user.id, "b": 1}), one)
            self.assertEqual(self.call("findOne"),
                             {"_id": key, "userId": self.user.id, "b": int32(1)})

    def test_upserts(self):
        self.refused(400, "insert not permitted", "NoMatchingRuleFound", self.call, "updateOne",
                     query={"userId": "x"}, update={"$set": {"a": 1}}, upsert=True)
        made = self.call("updateOne", query={}, update={"$set": {"a": 1}}, upsert=True)
        self.assertEqual(self.call("findOne"), {
            "_id": made["upsertedId"], "userId": self.user.id, "a": int32(1)})
        self.user = self.anonymous()
        made = self.call("updateOne", query={"userId": self.user.id, "b": 2},
                         update={"$set": {"a": 1}, "$setOnInsert": {"c": 3}}, upsert=True)
        self.assertEqual((made["matchedCount"], made["modifiedCount"]), (int32(0), int32(0)))
        self.assertEqual(self.call("findOne")["_id"], made["upsertedId"])
        self.assertEqual(self.stored(), {"a": int32(1), "b": int32(2), "c": int32(3)})
        self.refused(400, "Duplicate key error", "MongoDBError", self.call, "updateOne",
                     query={"userId": self.user.id, "b": 4}, update={"$set": {"a": 1}}, upsert=True)
        self.user = self.anonymous()
        made = self.call("findOneAndUpdate", filter={"_id": "k"}, upsert=True,
                         returnNewDocument=True, update={"$set": {"userId": self.user.id}})
        self.assertEqual(made, {"_id": "k", "userId": self.user.id})
        self.user = self.anonymous()
        self.assertIsNone(self.call("findOneAndReplace", filter={}, upsert=True,
                                    update={"userId": self.user.id, "a": 1}))
        self.assertEqual(self.stored(), {"a": int32(1)})

    def test_a_returned_document_can_be_written_back_at_the_maximum_depth(self):
        deep = 5
        for _ in range(64):
            deep = {"a": deep}
        self.insert(**deep)
        whole = self.call("findOne")
        for name, arguments in [
            ("findOneAndReplace", {"filter": {}, "update": whole, "returnNewDocument": True}),
            ("findOneAndUpdate", {"filter": {}, "update": {"$set": {"a": whole["a"]}},
                                  "returnNewDocument": True}),
        ]:
            self.assertEqual(self.call(name, **arguments), whole, name)
        self.call("deleteOne", query={})
        self.call("insertMany", documents=[whole])
        self.assertEqual(self.call("findOne"), whole)
        self.refused(400, "Arrays and objects may be nested at most 64 levels deep", "MongoDBError", self.call,
                     "findOneAndReplace", filter={}, update={**whole, "a": {"a": whole["a"]}})

    def test_finding_and_updating(self):
        self.assertIsNone(self.call("findOneAndUpdate", filter={}, update={"$set": {"a": 1}}))
        self.insert(a=1)
        before = self.call("findOneAndUpdate", filter={"a": 1}, update={"$inc": {"a": 1}})
        self.assertEqual(before["a"], int32(1))
        after = self.call("findOneAndUpdate", filter={"a": 2}, update={"$inc": {"a": 1}},
                          sort={"a": 1}, returnNewDocument=True, upsert=False)
        self.assertEqual(after["a"], int32(3))

    def test_deleting(self):
        for name in ["deleteOne", "deleteMany"]:
            self.assertEqual(self.call(name, query={}), {"deletedCount": int32(0)})
            self.insert(a=1)
            self.assertEqual(self.call(name, query={"a": 2}), {"deletedCount": int32(0)})
            self.assertEqual(self.call(name, query={"a": 1}), {"deletedCount": int32(1)})
            self.assertIsNone(self.call("findOne"))
        # realm-web says findOneAndReplace, and nothing to put in the place, for findOneAndDelete.
        for name in ["findOneAndDelete", "findOneAndReplace"]:
            self.assertIsNone(self.call(name, filter={}))
            self.insert(a=1)
            self.assertIsNone(self.call(name, filter={"a": 2}))
            gone = self.call(name, filter={"a": 1}, projection={"a": 1, "_id": 0}, upsert=True,
                             returnNewDocument=True)
            self.assertEqual(gone, {"a": int32(1)})
            self.assertIsNone(self.call("findOne"))


if __name__ == "__main__":
    unittest.main()
