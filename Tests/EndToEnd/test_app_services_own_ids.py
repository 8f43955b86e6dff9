"""Documents of App Services whose _id is the id of their user."""

import unittest

from app_services import Services
from extended_json import int32


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
        for document in [{"_id": "0" * 24, "a": 1}, {"_id": {"$oid": own}, "a": 1},
                         {"_id": None}]:
            self.refused(400, "insert not permitted", "NoMatchingRuleFound", self.call,
                         "insertOne", document=document)
        self.assertEqual(self.call("insertOne", document={"b": 1}), {"insertedId": own})
        self.call("deleteOne", query={})
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
        self.refused(400, "insert not permitted", "NoMatchingRuleFound", self.call,
                     "updateOne", query={"_id": "0" * 24}, update=one, upsert=True)
        result = self.call("updateOne", query={}, update=one, upsert=True)
        self.assertEqual(result["upsertedId"], own)
        self.call("deleteOne", query={})
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
        self.site.sql(f"insert into documents (user_id, kind, body, version) values "
                      f"('{self.user.id}', 'custom_data', '{{\"_id\": 5, \"a\": 1}}', 1)")
        self.assertEqual(self.call("findOne", query={"_id": self.user.id}),
                         {"_id": self.user.id, "a": int32(1)})


if __name__ == "__main__":
    unittest.main()
