"""Replacements, bare documents and selected elements in the MongoDB service of App Services."""

import unittest

from extended_json import int32
from test_app_services_data import CollectionCase


class Replacements(CollectionCase):
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
                     "findOneAndReplace", filter={}, update={"userId": "x"})
        self.assertEqual(self.stored(), {"d": int32(1)})
        after = self.call("findOneAndReplace", filter={}, update={}, returnNewDocument=True)
        self.assertEqual(after, {"_id": key, **own})

    def test_elements_of_arrays(self):
        key = self.insert(list=[1, 5, 7], rows=[{"x": 1}, {"x": 2}])
        two = {"list": [int32(5)], "_id": key}
        for projection in [{"list.$": 1}, {"list": {"$elemMatch": {"$gt": 4}}},
                           {"list": {"$slice": [1, 1]}, "_id": 1}]:
            self.assertEqual(self.call("findOne", query={"list": {"$gt": 4}}, project=projection), two)
            for new in [False, True]:
                change = {"filter": {"list": 5}, "update": {"$inc": {"n": 1}}, "projection": projection,
                          "returnNewDocument": new}
                if new and "list.$" in projection:
                    self.refused(400, "cannot use a positional projection", "MongoDBError",
                                 self.call, "findOneAndUpdate", **change)
                else:
                    self.assertEqual(self.call("findOneAndUpdate", **change), two)
        self.assertEqual(self.call("findOne")["n"], int32(5))
        self.refused(400, "does not match the query document", "MongoDBError", self.call, "find",
                     query={"n": 1}, project={"rows.$": 1})
        for projection in [{"list.$": 1}, {"list": {"$slice": 1}}, {"list": {"$elemMatch": {"$gt": 4}}}]:
            self.refused(400, "", "MongoDBError", self.call, "aggregate",
                         pipeline=[{"$project": projection}])

    def test_a_document_without_the_user_field_gets_it(self):
        for name, arguments in [("insertOne", {"document": {"a": 1}}),
                                ("insertMany", {"documents": [{"a": 1}]})]:
            self.user = self.anonymous()
            made = self.call(name, **arguments)
            key = made["insertedId"] if "insertedId" in made else made["insertedIds"][0]
            self.assertEqual(self.call("findOne"), {"_id": key, "userId": self.user.id, "a": int32(1)})
        # As in MongoDB's tutorial.
        own = {"userId": self.user.id}
        self.assertEqual(self.call("updateOne", query=own, update={"favoriteColor": "cerulean"}),
                         {"matchedCount": int32(1), "modifiedCount": int32(1)})
        whole = {"_id": key, **own, "favoriteColor": "cerulean"}
        self.assertEqual(self.call("findOne", query=own), whole)
        for name in ["updateOne", "updateMany", "replaceOne"]:
            self.assertEqual(self.call(name, query={}, update={"favoriteColor": "cerulean"}),
                             {"matchedCount": int32(1), "modifiedCount": int32(0)}, name)
        for name in ["findOneAndUpdate", "findOneAndReplace"]:
            self.assertEqual(self.call(name, filter={}, update={"favoriteColor": "cerulean"},
                                       returnNewDocument=True), whole)
        self.assertEqual(self.user.refresh_custom_data(), whole)

    def test_an_upsert_with_a_replacement_takes_only_the_id_from_the_filter(self):
        for name, query, new in [("updateOne", {"userId": "?", "x": {"$all": [1, 2]}}, {"a": 1}),
                                 ("replaceOne", {"_id": "k", "x": 1, "x.y": 2}, {"a": 1}),
                                 ("findOneAndReplace", {"_id": "k"}, {}),
                                 ("updateMany", {}, {})]:
            with self.subTest(name):
                self.user = self.anonymous()
                where = "filter" if name == "findOneAndReplace" else "query"
                made = self.call(name, **{where: query}, update=new, upsert=True)
                found = self.call("findOne")
                key = found.pop("_id")
                self.assertEqual(found, {"userId": self.user.id, **({"a": int32(1)} if new else {})})
                if "_id" in query:
                    self.assertEqual(key, "k")
                if name != "findOneAndReplace":
                    self.assertEqual(made["upsertedId"], key)
        self.user = self.anonymous()
        self.refused(400, "NotExactValueField", "MongoDBError", self.call, "updateOne",
                     query={"_id.x": 1, "_id.y": 2}, update={"a": 1}, upsert=True)


if __name__ == "__main__":
    unittest.main()
