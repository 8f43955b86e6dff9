"""Errors and limits of the MongoDB service of App Services, and hostile or concurrent calls."""

import unittest

from app_services import COLLECTION, ServiceError
from asking import JSON
from cases import in_parallel
from extended_json import int32
from machine import wait_until
from test_app_services_data import CollectionCase


class CollectionLimits(CollectionCase):
    def test_the_owner_and_the_id_cannot_be_changed(self):
        key = self.insert(a=1)
        for update in [{"$set": {"userId": "0" * 24}}, {"$unset": {"userId": ""}},
                       {"$rename": {"userId": "owner"}}, {"userId": "x"}]:
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
            self.call("updateOne", query={}, update={"$set": {"text": "é" * (length // 2)}})
            data = self.user.refresh_custom_data()
            self.user.refresh_profile()
            if not data:
                break
            longest = data["text"]
            # nginx takes 16 KiB for the whole field.
            self.assertLess(len(self.user.access), 16_384 - len("Authorization: Bearer \r\n"))
            length += 256
        self.assertEqual(data, {})
        self.assertGreater(2 * len(longest), 10_700)
        self.assertEqual(2 * len(self.call("findOne")["text"]), length)

        def remarks():
            return [line["remark"] for line in self.site.log_lines() if "remark" in line]

        wait_until(remarks, what="the remark in the log")
        self.assertRegex(remarks()[-1], "^custom data is not in the token: it has [0-9]+ bytes")

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
