"""Apps that limit which members of documents users read and write."""

import json
import unittest

from app_services import COLLECTION, App, ServiceError
from asking import JSON, MERGE, PATCH
from cases import Case
from test_auth0 import Auth0Case

DATA = "/v1/me/custom-data"
STORED = {"theme": "dark", "profile": {"hobby": "chess", "rank": 3}, "balance": 10,
          "secret": {"score": 7}, "list": [1]}
SHOWN = {name: value for name, value in STORED.items() if name != "secret"}
RULES = {"custom_data_readable": ["/theme", "/profile", "/balance", "/list"],
         "custom_data_writable": ["/theme", "/profile/hobby", "/list", "/secret"],
         "metadata_writable": ["/color"]}


class RuleCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(document_versions_kept=10, app_services_collection=COLLECTION, **RULES)
        cls.key = cls.site.client(
            "--app", "default", f"scopes={','.join(cls.site.SCOPES)}")["secret"]

    def store(self, user, body=STORED, name="custom-data"):
        """Writes a document of a user as a back end."""
        path = f"/v1/users/{user}/{name}"
        self.expect(self.site.request("PUT", path, body, JSON, self.key), 200)

    def stored(self, user, name="custom-data"):
        return self.expect(self.site.get(f"/v1/users/{user}/{name}", token=self.key), 200).json

    def guest(self):
        grant = self.site.login()
        self.store(grant["user_id"])
        return grant["user_id"], grant["access_token"]

    def refused(self, answer, place):
        self.expect(answer, 403, "member_not_writable")
        self.assertEqual(answer.json["errors"][0]["pointer"], place)


class REST(RuleCase):
    def test_a_user_reads_only_readable_members(self):
        user, token = self.guest()
        answer = self.expect(self.site.get(DATA, token=token), 200)
        self.assertEqual(answer.json, SHOWN)
        version = self.site.get(f"{DATA}/versions/{answer.version}", token=token)
        self.assertEqual(self.expect(version, 200).json, SHOWN)
        export = self.expect(self.site.get("/v1/me/export", token=token), 200)
        self.assertEqual(export.json["documents"]["custom_data"]["body"], SHOWN)
        self.assertEqual([one["body"] for one in export.json["document_versions"]], [SHOWN])
        self.assertNotIn(b"score", export.body)
        self.assertEqual(self.stored(user), STORED)

    def test_what_a_user_reads_the_user_may_write_back(self):
        user, token = self.guest()
        answer = self.site.get(DATA, token=token)
        put = self.site.request("PUT", DATA, answer.json, JSON, token)
        self.assertEqual(self.expect(put, 200).json, SHOWN)
        self.assertEqual(self.stored(user), STORED)

    def test_a_user_writes_only_writable_members(self):
        user, token = self.guest()
        patch = {"theme": "light", "profile": {"hobby": None}, "list": [2]}
        answer = self.site.request("PATCH", DATA, patch, MERGE, token)
        after = {**STORED, "theme": "light", "profile": {"rank": 3}, "list": [2]}
        self.assertEqual(self.expect(answer, 200).json,
                         {name: value for name, value in after.items() if name != "secret"})
        self.assertEqual(self.stored(user), after)
        for body, kind, place in [
                ({"balance": 11}, MERGE, "/balance"), ({"balance": None}, MERGE, "/balance"),
                ({"profile": {"rank": 4}}, MERGE, "/profile/rank"), ({"new": 1}, MERGE, "/new"),
                ({"profile": None}, MERGE, "/profile/rank"), ({"profile": 1}, MERGE, "/profile"),
                ({"secret": {"score": 8}}, MERGE, "/secret"), ({"secret": 1}, MERGE, "/secret"),
                ([{"op": "replace", "path": "/balance", "value": 11}], PATCH, "/balance"),
                ([{"op": "move", "from": "/balance", "path": "/theme"}], PATCH, "/balance")]:
            with self.subTest(body=body):
                self.refused(self.site.request("PATCH", DATA, body, kind, token), place)
        for place, body in [("/balance", {**SHOWN, "balance": 11}), ("/balance", {"theme": "x"}),
                            ("/e\u0301", {**SHOWN, "e\u0301": 1})]:
            self.refused(self.site.request("PUT", DATA, body, JSON, token), place)
        update = {"update": {"$inc": {"balance": 1}}}
        self.refused(self.post(f"{DATA}/update", update, token=token), "/balance")
        self.refused(self.site.request("DELETE", DATA, token=token), "/balance")
        self.assertEqual(self.stored(user), after)

    def test_hidden_members_cannot_be_tested(self):
        _, token = self.guest()
        for body in [[{"op": "test", "path": "/secret/score", "value": 7}],
                     [{"op": "copy", "from": "/secret", "path": "/theme"}]]:
            answer = self.site.request("PATCH", DATA, body, PATCH, token)
            self.assertIn(answer.json["code"], ["patch_test_failed", "patch_not_applicable"])
        for filter in [{"secret.score": 7}, {"secret": {"$exists": True}}]:
            answer = self.post(f"{DATA}/update", {"update": {"$set": {"theme": "x"}},
                                                  "filter": filter}, token=token)
            self.assertEqual(self.expect(answer, 200).json["matched_count"], 0)
        update = {"update": {"$rename": {"secret": "theme"}}}
        self.expect(self.post(f"{DATA}/update", update, token=token), 200)
        self.assertNotIn(b"score", self.site.get(DATA, token=token).body)

    def test_a_deletion_keeps_hidden_members(self):
        user, token = self.guest()
        self.store(user, {"theme": "dark", "secret": 1})
        self.expect(self.site.request("DELETE", DATA, token=token), 204)
        self.assertEqual(self.stored(user), {"secret": 1})
        self.assertEqual(self.site.get(DATA, token=token).json, {})

    def test_a_hidden_value_is_not_replaced_by_one_inside(self):
        self.site.set_app(custom_data_readable=["/profile/hobby"])
        self.addCleanup(self.site.set_app, **RULES)
        user, token = self.guest()
        self.store(user, {"profile": "a text"})
        self.assertEqual(self.site.get(DATA, token=token).json, {})
        body = {"profile": {"hobby": "go"}}
        self.refused(self.site.request("PATCH", DATA, body, MERGE, token), "/profile")
        self.assertEqual(self.stored(user), {"profile": "a text"})

    def test_an_object_with_only_hidden_members_is_hidden(self):
        self.site.set_app(custom_data_readable=["/profile/hobby"], custom_data_writable=True)
        self.addCleanup(self.site.set_app, **RULES)
        user, token = self.guest()
        self.store(user, {"profile": {"hobby": "chess", "rank": 3}})
        answer = self.site.request("PATCH", DATA, {"profile": None}, MERGE, token)
        self.assertEqual(self.expect(answer, 200).json, {})
        self.assertEqual(self.site.get(DATA, token=token).json, {})
        self.assertEqual(self.stored(user), {"profile": {"rank": 3}})
        answer = self.site.request("PATCH", DATA, {"profile": {"hobby": "go"}}, MERGE, token)
        self.assertEqual(self.expect(answer, 200).json, {"profile": {"hobby": "go"}})
        self.assertEqual(self.stored(user), {"profile": {"hobby": "go", "rank": 3}})

    def test_conditions_hold_and_concurrent_writes_are_all_kept(self):
        user, token = self.guest()
        stale = {**MERGE, "If-Match": '"9"'}
        answer = self.site.request("PATCH", DATA, {"theme": "x"}, stale, token)
        self.expect(answer, 412, "precondition_failed")
        answer = self.site.request("DELETE", DATA, headers={"If-Match": '"9"'}, token=token)
        self.expect(answer, 412, "precondition_failed")

    def test_a_document_that_users_may_not_write(self):
        self.site.set_app(metadata_writable=False, metadata_readable=False)
        self.addCleanup(self.site.set_app, metadata_readable=True, **RULES)
        user, token = self.guest()
        self.store(user, {"color": "red"}, "metadata")
        self.assertEqual(self.site.get("/v1/me/metadata", token=token).json, {})
        answer = self.site.request("PATCH", "/v1/me/metadata", {"color": "blue"}, MERGE, token)
        self.refused(answer, "")
        self.assertEqual(self.stored(user, "metadata"), {"color": "red"})

    def test_app_metadata_is_readable_in_part(self):
        self.site.set_app(app_metadata_readable=["/plan"])
        self.addCleanup(self.site.set_app, app_metadata_readable=True)
        user, token = self.guest()
        self.store(user, {"plan": "gold", "notes": "rude"}, "app-metadata")
        answer = self.expect(self.site.get("/v1/me/app-metadata", token=token), 200)
        self.assertEqual(answer.json, {"plan": "gold"})

    def test_settings_are_checked(self):
        for value in ['["theme"]', '[""]', "[1]", '"x"', "7", json.dumps(["/a"] * 101),
                      json.dumps(["/a" * 17]), '["/~2"]', '["/theme/"]', '["/list/0"]']:
            run = self.site.dossier("app", "set", f"custom_data_writable={value}", check=False)
            self.assertEqual(run.returncode, 12, (value, run.stdout))
        self.site.dossier("app", "set", "custom_data_writable=/theme, /profile/hobby")
        self.addCleanup(self.site.set_app, **RULES)
        settings = self.site.dossier("app", "show")["settings"]
        self.assertEqual(settings["custom_data_writable"], ["/theme", "/profile/hobby"])


class AppServices(RuleCase):
    def user(self):
        user = App(self.site, "default").log_in("anon-user")
        self.store(user.id, {**STORED, "userId": user.id})
        return user

    def test_operations_keep_to_the_rules(self):
        user = self.user()
        found = user.call("findOne", query={})
        self.assertNotIn("secret", found)
        self.assertEqual(int(found["balance"].value), 10)
        self.assertIsNone(user.call("findOne", query={"secret.score": 7}))
        self.assertNotIn("secret", user.refresh_custom_data())
        self.assertEqual(user.custom_data["theme"], "dark")
        update = {"$set": {"theme": "light"}}
        counts = user.call("updateOne", query={"userId": user.id}, update=update)
        self.assertEqual(int(counts["modifiedCount"].value), 1)
        self.assertEqual(self.stored(user.id)["secret"], {"score": 7})
        for name, arguments in [("updateOne", {"query": {}, "update": {"$set": {"balance": 99}}}),
                                ("deleteOne", {"query": {}}),
                                ("findOneAndUpdate", {"filter": {}, "update": {"$inc": {"balance": 1}}})]:
            with self.subTest(name=name), self.assertRaises(ServiceError) as refused:
                user.call(name, **arguments)
            self.assertEqual((refused.exception.status, refused.exception.code),
                             (400, "NoMatchingRuleFound"))
            right = "delete" if name == "deleteOne" else "update"
            self.assertIn(f"{right} not permitted", str(refused.exception))
        for update in [{"$unset": {"secret": ""}}, {"$pull": {"secret": 1}}, {"$rename": {"secret": "theme"}}]:
            counts = user.call("updateOne", query={}, update=update)
            self.assertEqual(int(counts["modifiedCount"].value), 0, update)
        self.assertEqual(self.stored(user.id)["secret"], {"score": 7})
        self.assertEqual(self.stored(user.id)["balance"], 10)

    def test_a_user_inserts_only_writable_members(self):
        user = App(self.site, "default").log_in("anon-user")
        with self.assertRaisesRegex(ServiceError, "insert not permitted"):
            user.call("insertOne", document={"userId": user.id, "balance": 1})
        user.call("insertOne", document={"userId": user.id, "theme": "dark"})
        self.assertEqual(self.stored(user.id)["theme"], "dark")


class Auth0(Auth0Case):
    def test_a_sign_up_and_a_token_of_a_user_keep_to_the_rules(self):
        self.site.set_app(metadata_writable=["/color"])
        client = self.new_client("native")
        body = {"client_id": client["id"], "connection": "Username-Password-Authentication",
                "email": "rule@example.com", "password": "correct horse battery",
                "user_metadata": {"role": "admin"}}
        answer = self.post("/dbconnections/signup", body)
        self.assertGreaterEqual(answer.status, 400, answer.body)
        body["user_metadata"] = {"color": "red"}
        self.assertEqual(self.post("/dbconnections/signup", body).status, 200)


if __name__ == "__main__":
    unittest.main()
