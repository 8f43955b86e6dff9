"""Every operator of the domain does its work by the client API of App Services: one case for each name
in the reference, so that one that came later is not forgotten."""

import re
import unittest

from app_services import Services
from extended_json import int32, int64

DOCUMENT = {"a": 6, "b": 5, "list": [1, 2, 3], "rows": [{"n": 1}, {"n": 2}], "text": "Ada",
            "flags": 5}

# For each operator, a query that matches the document and one that does not.
QUERIES = {
    "$and": ({"$and": [{"a": 6}, {"b": 5}]}, {"$and": [{"a": 6}, {"b": 6}]}),
    "$or": ({"$or": [{"a": 1}, {"b": 5}]}, {"$or": [{"a": 1}, {"b": 1}]}),
    "$nor": ({"$nor": [{"a": 1}]}, {"$nor": [{"a": 6}]}),
    "$comment": ({"a": 6, "$comment": "six"}, {"a": 7, "$comment": "seven"}),
    "$eq": ({"a": {"$eq": 6}}, {"a": {"$eq": 7}}),
    "$ne": ({"a": {"$ne": 7}}, {"a": {"$ne": 6}}),
    "$gt": ({"a": {"$gt": 5}}, {"a": {"$gt": 6}}),
    "$gte": ({"a": {"$gte": 6}}, {"a": {"$gte": 7}}),
    "$lt": ({"a": {"$lt": 7}}, {"a": {"$lt": 6}}),
    "$lte": ({"a": {"$lte": 6}}, {"a": {"$lte": 5}}),
    "$in": ({"a": {"$in": [1, 6]}}, {"a": {"$in": [1, 2]}}),
    "$nin": ({"a": {"$nin": [1, 2]}}, {"a": {"$nin": [1, 6]}}),
    "$not": ({"a": {"$not": {"$gt": 6}}}, {"a": {"$not": {"$gt": 5}}}),
    "$exists": ({"a": {"$exists": True}}, {"a": {"$exists": False}}),
    "$type": ({"a": {"$type": "int"}}, {"a": {"$type": "string"}}),
    "$all": ({"list": {"$all": [3, 1]}}, {"list": {"$all": [3, 4]}}),
    "$size": ({"list": {"$size": 3}}, {"list": {"$size": 2}}),
    "$elemMatch": ({"rows": {"$elemMatch": {"n": 2}}}, {"rows": {"$elemMatch": {"n": 3}}}),
    "$regex": ({"text": {"$regex": "^A"}}, {"text": {"$regex": "^a"}}),
    "$options": ({"text": {"$regex": "^a", "$options": "i"}},
                 {"text": {"$regex": "^b", "$options": "i"}}),
    "$mod": ({"a": {"$mod": [4, 2]}}, {"a": {"$mod": [4, 1]}}),
    "$bitsAllSet": ({"flags": {"$bitsAllSet": 5}}, {"flags": {"$bitsAllSet": 7}}),
    "$bitsAllClear": ({"flags": {"$bitsAllClear": 2}}, {"flags": {"$bitsAllClear": 6}}),
    "$bitsAnySet": ({"flags": {"$bitsAnySet": [0, 1]}}, {"flags": {"$bitsAnySet": 2}}),
    "$bitsAnyClear": ({"flags": {"$bitsAnyClear": [0, 1]}}, {"flags": {"$bitsAnyClear": 5}}),
}

# A field, its update and its new value; None if it is removed.
UPDATES = {
    "$set": ("a", {"a": 7}, int32(7)),
    "$setOnInsert": ("a", {"a": 7}, int32(6)),
    "$unset": ("a", {"a": ""}, None),
    "$inc": ("a", {"a": {"$numberLong": "4"}}, int64(10)),
    "$mul": ("a", {"a": 3}, int32(18)),
    "$min": ("a", {"a": 2}, int32(2)),
    "$max": ("a", {"a": 9}, int32(9)),
    "$rename": ("c", {"a": "c"}, int32(6)),
    "$currentDate": ("a", {"a": True}, "a date"),
    "$bit": ("a", {"a": {"or": 1}}, int32(7)),
    "$push": ("list", {"list": {"$each": [4], "$position": 0, "$slice": 2}},
              [int32(4), int32(1)]),
    "$addToSet": ("list", {"list": {"$each": [3, 4]}}, [int32(n) for n in (1, 2, 3, 4)]),
    "$pop": ("list", {"list": -1}, [int32(2), int32(3)]),
    "$pull": ("list", {"list": {"$gt": 1}}, [int32(1)]),
    "$pullAll": ("list", {"list": [1, 3]}, [int32(2)]),
}


class EachOperator(Services):
    def setUp(self):
        super().setUp()
        self.user = self.anonymous()

    def insert(self):
        self.user.call("insertOne", document={"userId": self.user.id, **DOCUMENT})

    def test_the_reference_lists_exactly_these_operators(self):
        page = self.expect(self.site.get("/reference/operators"), 200).body.decode()
        names = re.findall(r'<code class="name">(\$\w+)</code>', page)
        self.assertEqual(names, [*UPDATES, *QUERIES])

    def test_queries(self):
        self.insert()
        for name, (holds, fails) in QUERIES.items():
            with self.subTest(name):
                self.assertEqual(len(self.user.call("find", query=holds)), 1)
                self.assertEqual(self.user.call("find", query=fails), [])
                counted = [{"$match": holds}, {"$count": "n"}]
                self.assertEqual(self.user.call("aggregate", pipeline=counted), [{"n": int32(1)}])
                self.assertIsNone(self.user.call(
                    "findOneAndUpdate", filter=fails, update={"$set": {"a": 0}}))

    def test_positions(self):
        """`$` in a path stands for the array position that the query matched."""
        for query in [{"rows.n": 2}, {"rows": {"$elemMatch": {"n": {"$gt": 1}}}},
                      {"$or": [{"rows.n": 2}]}]:
            for name, key in [("updateOne", "query"), ("updateMany", "query"),
                              ("findOneAndUpdate", "filter")]:
                with self.subTest(name, query=query):
                    self.insert()
                    self.user.call(name, **{key: query}, update={
                        "$set": {"rows.$.m": 7}, "$unset": {"rows.$.n": ""}})
                    found = self.user.call("findOneAndDelete", filter={})
                    self.assertEqual(found["rows"], [{"n": int32(1)}, {"m": int32(7)}])
        self.insert()
        self.refused(400, "positional", "MongoDBError", self.user.call, "updateOne", query={},
                     update={"$set": {"rows.$.m": 7}})

    def test_the_number_of_patterns_in_a_request_is_limited(self):
        """Each pattern compiles to up to 100 KiB, so the limit is per request."""
        self.insert()
        many = {"$or": [{"x": {"$regex": "a"}}] * 33}
        self.user.call("find", query=many)
        for name, arguments in [
                ("aggregate", {"pipeline": [{"$match": many}, {"$match": many}]}),
                ("updateOne", {"update": {"$pull": {"rows": many, "list": many}}}),
                ("updateOne", {"query": many, "update": {"$pull": {"rows": many}}}),
                ("updateOne", {"arrayFilters": [{"$or": [{"i.x": {"$regex": "a"}}] * 33},
                                                {"$or": [{"j.x": {"$regex": "a"}}] * 33}],
                               "update": {"$set": {"rows.$[i].n": 1, "list.$[j].n": 1}}})]:
            self.refused(400, "64 regular expressions", "MongoDBError", self.user.call, name,
                         **arguments)

    def test_updates(self):
        for name, (field, change, then) in UPDATES.items():
            with self.subTest(name):
                self.insert()
                self.user.call("updateOne", query={}, update={name: change})
                found = self.user.call("findOneAndDelete", filter={}).get(field)
                if then == "a date":
                    self.assertNotEqual(found, int32(6))
                else:
                    self.assertEqual(found, then)


if __name__ == "__main__":
    unittest.main()
