"""The MongoDB service of App Services, on the one document of custom data that a user has."""

import unittest

from app_services import COLLECTION, ServiceError, Services
from asking import JSON
from cases import in_parallel
from extended_json import encoded, int32, int64


class OwnID(Services):
    """An app whose documents have the user's id as their _id, as in MongoDB's tutorial."""

    def setUp(self):
        super().setUp()
        self.site.dossier("app", "set", "--app", self.name, "app_services_user_field=_id")
        self.addCleanup(self.site.dossier, "app", "set", "--app", self.name, "app_services_user_field=null")
        self.user = self.anonymous()

    def call(self, name, **arguments):
        return self.user.call(name, **arguments)

    def test_inserting(self):
        own = self.user.id
        for document in [{"_id": "0" * 24, "a": 1}, {"a": 1}, {"_id": {"$oid": own}, "a": 1},
                         {"_id": None}, {"userId": own}]:
            self.refused(400, "insert not permitted", "NoMatchingRuleFound", self.call,
                         "insertOne", document=document)
        self.assertEqual(self.call("insertOne", document={"_id": own, "a": 1}), {"insertedId": own})
        self.refused(400, "Duplicate key", "MongoDBError", self.call, "insertOne",
                     document={"_id": own})
        for query in [{"_id": own}, {}, {"_id": {"$in": [own]}}, {"a": 1}]:
            self.assertEqual(self.call("findOne", query=query), {"_id": own, "a": int32(1)}, query)
        for query in [{"_id": "0" * 24}, {"_id": {"$oid": own}}, {"_id": {"$ne": own}}]:
            self.assertIsNone(self.call("findOne", query=query), query)
        self.assertEqual(self.user.refresh_custom_data(), {"_id": own, "a": int32(1)})

    def test_upserts(self):
        own, one = self.user.id, {"$set": {"a": 1}}
        for query in [{}, {"_id": "0" * 24}]:
            self.refused(400, "insert not permitted", "NoMatchingRuleFound", self.call,
                         "updateOne", query=query, update=one, upsert=True)
        result = self.call("updateOne", query={"_id": own}, update=one, upsert=True)
        self.assertEqual(result["upsertedId"], own)
        again = self.call("updateOne", query={"_id": own}, update=one, upsert=True)
        self.assertNotIn("upsertedId", again)
        self.refused(400, "_id", "MongoDBError", self.call, "updateOne", query={"_id": own},
                     update={"$set": {"_id": "0" * 24}})
        self.refused(400, "_id", "MongoDBError", self.call, "findOneAndReplace",
                     filter={"_id": own}, update={"_id": "0" * 24})
        replaced = self.call("findOneAndReplace", filter={"_id": own}, update={"b": 2},
                             returnNewDocument=True)
        self.assertEqual(replaced, {"_id": own, "b": int32(2)})
        self.assertEqual(self.call("deleteOne", query={"_id": "0" * 24})["deletedCount"], int32(0))
        self.assertEqual(self.call("deleteOne", query={"_id": own})["deletedCount"], int32(1))

    def test_documents_written_by_other_apis(self):
        self.site.sql(f"insert into documents (user_id, class, body, version) values "
                      f"('{self.user.id}', 'custom_data', '{{\"_id\": 5, \"a\": 1}}', 1)")
        self.assertEqual(self.call("findOne", query={"_id": self.user.id}),
                         {"_id": self.user.id, "a": int32(1)})


class Collection(Services):
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
                ({"$limit": 0}, "$limit takes"), ({"$skip": -1}, "$skip takes"),
                ({"$count": ""}, "$count takes"), ({"$count": "$a"}, "$count takes"),
                ({"$project": {}}, "$project takes"), ({"$sort": {"a": 2}}, "direction of a sort"),
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
        for document in [{"a": 1}, {"userId": other}, {"userId": None}, {"userId": 7}, {},
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
            # A whole document takes the place of the other, but for its id.
            key = self.call("findOne")["_id"]
            self.assertEqual(
                self.call(name, query={}, update={"userId": self.user.id, "b": 1}), one)
            self.assertEqual(self.call("findOne"),
                             {"_id": key, "userId": self.user.id, "b": int32(1)})

    def test_upserts(self):
        self.refused(400, "insert not permitted", "NoMatchingRuleFound", self.call, "updateOne",
                     query={}, update={"$set": {"a": 1}}, upsert=True)
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

    def test_replacing(self):
        key = self.insert(a=1)
        own = {"userId": self.user.id}
        self.assertEqual(self.call("replaceOne", query={}, update={**own, "b": 1}),
                         {"matchedCount": int32(1), "modifiedCount": int32(1)})
        before = self.call("findOneAndReplace", filter={"b": 1}, update={**own, "c": 1})
        self.assertEqual(before, {"_id": key, **own, "b": int32(1)})
        after = self.call("findOneAndReplace", filter={"c": 1}, update={**own, "d": 1},
                          returnNewDocument=True)
        self.assertEqual(after, {"_id": key, **own, "d": int32(1)})
        for name, query in [("replaceOne", "query"), ("findOneAndReplace", "filter")]:
            self.refused(400, "the replace operation document must not contain atomic operators",
                         "MongoDBError", self.call, name, **{query: {}}, update={"$set": {"a": 1}})
        self.refused(400, "update not permitted", "NoMatchingRuleFound", self.call,
                     "findOneAndReplace", filter={}, update={})
        self.assertEqual(self.stored(), {"d": int32(1)})

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
        self.refused(400, "Arrays and objects may be 64 deep", "MongoDBError", self.call,
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

    def test_the_owner_and_the_id_cannot_be_changed(self):
        key = self.insert(a=1)
        for update in [{"$set": {"userId": "0" * 24}}, {"$unset": {"userId": ""}},
                       {"$rename": {"userId": "owner"}}, {"b": 1}, {"userId": "x"}]:
            for name, query in [("updateOne", "query"), ("updateMany", "query"),
                                ("findOneAndUpdate", "filter")]:
                self.refused(400, "update not permitted", "NoMatchingRuleFound",
                             self.call, name, **{query: {}}, update=update)
        self.refused(400, "_id", "MongoDBError", self.call, "updateOne", query={},
                     update={"$set": {"_id": 7}})
        self.assertEqual(self.call("findOne"), {"_id": key, "userId": self.user.id, "a": int32(1)})

    def test_invalid_operations_get_the_errors_of_app_services(self):
        self.insert(a="x")
        for words, name, arguments in [
                ("unknown top level operator: $who", "find", {"query": {"$who": 1}}),
                ("$who", "find", {"query": {"a": {"$who": 1}}}),
                ("Unknown modifier: $who", "updateOne", {"update": {"$who": {"a": 1}}}),
                ("(TypeMismatch)", "updateOne", {"update": {"$inc": {"a": 1}}}),
                ("must be a document", "find", {"query": "a"}),
                ("must be a document", "findOne", {"query": {}, "project": "a"}),
                ("must be a whole number", "find", {"limit": "x"}),
                ("must be a boolean", "updateOne", {"update": {"$set": {"a": 1}}, "upsert": 1}),
                ("must be an array", "updateOne", {"update": {"$set": {"a": 1}}, "arrayFilters": 1}),
                ("must be an array", "insertMany", {"documents": {}}),
                ("must be an array", "aggregate", {"pipeline": {}}),
                ("'document' is required", "insertOne", {}),
                ("'update' is required", "updateOne", {}),
                ("pipeline", "updateOne", {"update": [{"$set": {"a": 1}}]})]:
            self.refused(400, words, "MongoDBError", self.call, name, **arguments)

    def test_unknown_services_databases_collections_and_functions(self):
        for database, collection in [("my_database", "orders"), ("other", "users"), ("", "")]:
            self.refused(400, f"no rule exists for namespace '{database}.{collection}'",
                         "NoMatchingRuleFound", self.user.function, "find",
                         {"database": database, "collection": collection})
        self.refused(404, "service not found: 'mongo-db'", "ServiceNotFound", self.user.function,
                     "find", {"database": "my_database", "collection": "users"}, service="mongo-db")
        self.refused(404, "function not found: 'sum'", "FunctionNotFound", self.user.function,
                     "sum", 1, service=None)
        self.refused(404, "watch is not offered", "ServiceCommandNotFound", self.call, "watch")
        self.refused(400, "invalid function call request", "BadRequest", self.user.function, "find")
        self.refused(400, "invalid function call request", "BadRequest", self.user.function, "find", {}, {})
        self.site.add_app("shop-plain")
        self.app = self.app.__class__(self.site, "shop-plain")
        self.refused(404, "service not found: 'mongodb-atlas'", "ServiceNotFound",
                     self.anonymous().call, "find")

    def test_documents_written_by_other_apis(self):
        path, headers = "/v1/me/custom-data", {**JSON, "Dossier-App": self.name}
        self.expect(self.site.request("PUT", path, {"a": 1, "userId": "mallory"}, headers,
                                      self.user.access), 200)
        own = {"_id": {"$oid": self.user.id}, "userId": self.user.id, "a": int32(1)}
        self.assertEqual(self.call("findOne", query={"userId": self.user.id}), own)
        self.assertEqual(self.user.refresh_custom_data(), own)
        self.call("updateOne", query={"_id": own["_id"]}, update={"$set": {"b": 2}})
        shown = self.site.get(path, headers={"Dossier-App": self.name}, token=self.user.access)
        self.assertEqual(shown.json, {"_id": {"$oid": self.user.id}, "userId": self.user.id,
                                      "a": 1, "b": 2})

    def test_custom_data_too_long_for_a_header_is_omitted_from_the_token(self):
        longest, length = None, 256
        self.insert(text="")
        while length < 20_000:
            self.call("updateOne", query={}, update={"$set": {"text": "x" * length}})
            data = self.user.refresh_custom_data()
            self.user.refresh_profile()
            if not data:
                break
            longest = data["text"]
            self.assertLess(len(self.user.access), 8_000)
            length += 256
        self.assertEqual(data, {})
        self.assertGreater(len(longest), 3_500)
        self.assertEqual(len(self.call("findOne")["text"]), length)

    def test_a_document_that_is_too_large(self):
        self.insert(list=[])
        text = "x" * 200_000
        for _ in range(10):
            try:
                self.call("updateOne", query={}, update={"$push": {"list": text}})
            except ServiceError as error:
                self.assertEqual((error.status, error.code), (400, "MongoDBError"))
                self.assertIn("1048576 bytes", error.error)
                return
        self.fail("it grew without a limit")

    def test_hostile_calls(self):
        self.insert(a="x" * 5_000 + "!", b=1)
        deep = {"a": 1}
        for _ in range(20):
            deep = {"$and": [deep]}
        self.assertIsNone(self.call("findOne", query=deep))
        path, token = f"{self.app.path}/functions/call", self.user.access

        def ask(argument):
            body = ('{"name":"updateOne","service":"mongodb-atlas","arguments":[{"database":'
                    f'"my_database","collection":"users",{argument}}}]}}')
            return self.site.request("POST", path, body, JSON, token)

        nested = '{"a":' * 70 + "1" + "}" * 70
        many = ",".join(str(number) for number in range(100_000))
        names = ",".join(f'"n{number}":1' for number in range(20_000))
        for argument in [
                f'"query":{nested}', '"query":{"a":"\\u0000"}', '"query":{"\\u0000":1}',
                '"query":{"a":1e400},"update":{"$set":{"b":1e400}}',
                '"query":{},"update":{"$set":{"b":1' + "0" * 5_000 + "}}",
                '"query":{},"update":{"$inc":{"b":{"$numberLong":"9223372036854775808"}}}',
                '"query":{"a":{"$regex":"(x+x+)+y(x+x+)+y(x+x+)+y"}},"update":{"$set":{"c":1}}',
                '"query":{"a":{"$regex":"((((x{1,99}){1,99}){1,99}){1,99}"}}',
                f'"query":{{"b":{{"$in":[{many}]}}}},"update":{{"$set":{{"d":1}}}}',
                f'"query":{{}},"update":{{"$set":{{{names}}}}}',
                f'"query":{{}},"update":{{"$set":{{"{"a." * 500}b":1}}}}',
                '"query":{"$where":"while(1){}"},"update":{"$set":{"c":1}}',
                '"query":{},"update":{"$set":{"":1}}', '"query":{},"update":{"$set":{"b.$":1}}',
                '"query":{},"update":{"__proto__":{"x":1}}', '"query":{},"update":{}',
                '"query":{"a":1,"a":2}', '"database":"x"']:
            answer = ask(argument)
            self.assertIn(answer.status, [200, 400], (argument[:80], answer.body))
            self.assertTrue(answer.headers["Content-Type"].startswith("application/json"))
            self.assertLess(len(answer.body), 2_000)
            if answer.status == 400:
                self.assertNotIn("internal", answer.json["error"])
        for number in ["1e308", "-1", "1.5", '{"$numberLong":"-9223372036854775808"}',
                       '{"$numberDouble":"Infinity"}', '{"$numberDecimal":"1E+6000"}']:
            for stage in [f'[{{"$limit":{number}}}]', f'[{{"$skip":{number}}}]',
                          f'[{{"$sort":{{"a":{number}}}}}]', f"[{{}}],\"limit\":{number}"]:
                body = ('{"name":"aggregate","service":"mongodb-atlas","arguments":[{"database":'
                        f'"my_database","collection":"users","pipeline":{stage}}}]}}')
                answer = self.site.request("POST", path, body, JSON, token)
                self.assertIn(answer.status, [200, 400], body)
        self.assertEqual(self.call("findOne", query={})["userId"], self.user.id)

    def test_concurrent_operations(self):
        self.insert(n=0)
        in_parallel(16, lambda _: self.patiently("updateOne", query={}, update={"$inc": {"n": 1}}))
        self.assertEqual(self.stored(), {"n": int32(16)})

        def updates(number):
            for _ in range(8):
                self.patiently("updateOne", query={},
                               update={"$inc": {"n": 1, f"own{number}": 1}})

        # More concurrent updates than usual: each one succeeds in the end.
        in_parallel(48, updates)
        self.assertEqual(self.stored(), {
            "n": int32(16 + 48 * 8), **{f"own{number}": int32(8) for number in range(48)}})
        inserted = []

        def insert(index):
            try:
                inserted.append(user.call("insertOne", document={"userId": user.id, "n": index}))
            except ServiceError as error:
                self.assertIn("Duplicate key error", error.error)

        user = self.anonymous()
        in_parallel(8, insert)
        self.assertEqual(len(inserted), 1)

    def test_two_apps_do_not_see_each_other(self):
        self.insert(a=1)
        self.site.add_app("shop-twin", app_services_collection=COLLECTION)
        other = self.app.__class__(self.site, "shop-twin")
        self.assertEqual(other.log_in("anon-user").call("find"), [])
        self.app.path = other.path
        self.refused(403, "another app", "UserAppDomainMismatch", self.call, "find")


if __name__ == "__main__":
    unittest.main()
