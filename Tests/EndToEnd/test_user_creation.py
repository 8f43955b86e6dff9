"""`POST /v1/users`: a back end creates users."""

import json
import unittest

from cases import Case, in_parallel
from asking import JSON


class Creation(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.key = cls.site.client("--app", "default", "scopes=create:users,read:users,update:users_app_metadata,read:users_app_metadata,read:logs_users")["secret"]

    def create(self, **members):
        return self.post("/v1/users", members, token=self.key)

    def read(self, user, path=""):
        return self.expect(self.site.get(f"/v1/users/{user}{path}", token=self.key), 200).json

    def users(self):
        return int(self.site.sql("select count(*) from users"))

    def test_a_document_over_the_limit_is_refused_with_the_limit(self):
        for name, limit in (("metadata", 65_536), ("custom_data", 1_048_576)):
            # Within the limit as sent, but PostgreSQL adds a space after each comma.
            documents = {"metadata": {"b": 1}, "custom_data": {"b": 1}, name: {"a": [0] * (limit * 2 // 5)}}
            body = json.dumps(documents, separators=(",", ":")).encode()
            self.assertLess(len(body), limit)
            answer = self.expect(self.site.request("POST", "/v1/users", body, JSON, self.key), 413,
                                 "document_too_large").json
            self.assertEqual(answer["limit"], limit)
            self.assertIn(str(limit), answer["detail"])

    def test_all_members_of_a_user_are_stored(self):
        made = self.expect(self.create(
            email="Ada@Example.com", email_verified=True, password="correct horse", name="Ada",
            phone="+4930123456", created_at="2020-01-02T03:04:05Z",
            identities=[{"provider": "jwt:web", "subject": "ada"}], metadata={"a": 1},
            app_metadata={"plan": "pro"}, custom_data={"level": 7}, properties={"x": 2}), 201)
        user = made.json["id"]
        self.assertEqual(made.headers["Location"], f"/v1/users/{user}")
        self.assertEqual(made.json, self.read(user))
        self.assertEqual(made.json["email"], "Ada@Example.com")
        self.assertTrue(made.json["email_verified"])
        self.assertFalse(made.json["anonymous"])
        self.assertTrue(made.json["created_at"].startswith("2020-01-02T03:04:05"))
        self.assertEqual(self.read(user, "/metadata"), {"a": 1})
        self.assertEqual(self.read(user, "/app-metadata"), {"plan": "pro"})
        self.assertEqual(self.read(user, "/custom-data"), {"level": 7})
        self.assertEqual(self.read(user, "/properties"), {"x": 2})
        self.assertEqual(
            [(e["action"], e["actor"].split(":")[0]) for e in self.read(user, "/audit")],
            [("user_create", "client")])
        grant = self.expect(self.login("ada@example.com"), 200).json
        self.assertEqual(grant["user_id"], user)
        self.expect(self.login("ada@example.com", "correct horses"), 401, "wrong_credentials")
        # The password is stored only as an Argon2id hash.
        hash_ = self.site.sql(f"select hash from passwords where user_id = '{user}'")
        self.assertTrue(hash_.startswith("$argon2id$"), hash_)

    def test_a_reused_id_has_no_data_of_the_earlier_user(self):
        described = {"email": "first@example.com", "email_verified": True,
                     "password": "correct horse", "metadata": {"a": 1}}
        user = self.expect(self.create(**described), 201).json["id"]
        self.expect(self.login("first@example.com", "wrong horse"), 401)
        grant = self.expect(self.login("first@example.com"), 200).json
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)
        former = [entry["action"] for entry in self.read(user, "/audit")]
        self.assertTrue({"user_create", "login_failure", "login", "user_delete"} <= set(former), former)
        described = {"id": user, "email": "second@example.com", "email_verified": True,
                     "password": "correct horse"}
        self.expect(self.create(**described), 201)
        events = self.read(user, "/audit")
        self.assertEqual([entry["action"] for entry in events], ["user_create"])
        token = self.expect(self.login("second@example.com"), 200).json["access_token"]
        own = self.expect(self.site.get("/v1/me/audit", token=token), 200).json
        self.assertEqual([entry["action"] for entry in own], ["login", "user_create"])
        self.assertEqual(self.expect(self.site.get("/v1/me/metadata", token=token), 200).json, {})
        # The audit log of the app has the events of the former user.
        self.assertEqual(self.site.sql(
            "select string_agg(action, ' ' order by event_id desc) from audit "
            f"where user_id = app_id and detail ->> 'former_user' = '{user}'"), " ".join(former))

    def test_the_id_of_an_app_is_refused(self):
        app = self.site.sql("select app_id from apps where name = 'default'")
        for taken in [app, "0" * 24]:
            refused = self.expect(self.create(id=taken), 409, "user_exists")
            self.assertEqual(refused.json["errors"][0]["code"], "id_taken")

    def test_an_empty_body_creates_a_guest_and_a_null_hash_requires_a_reset(self):
        self.assertTrue(self.expect(self.create(), 201).json["anonymous"])
        made = self.expect(self.create(email="later@example.com", password_hash=None), 201).json
        self.assertFalse(made["anonymous"])
        self.expect(self.login("later@example.com"), 401, "wrong_credentials")
        self.expect(self.post("/v1/password/reset-request", {"email": "later@example.com"}), 202)
        token = self.site.mailed("later@example.com", "ds_reset")
        reset = {"token": token, "password": "chosen by mail"}
        self.expect(self.post("/v1/password/reset", reset), 200)
        self.expect(self.login("later@example.com", "chosen by mail"), 200)

    def test_invalid_members_are_reported_and_no_user_is_created(self):
        count = self.users()
        for members, pointer in [
            ({"nope": 1}, "/nope"), ({"id": "x"}, "/id"), ({"email": "x"}, "/email"),
            ({"password": "correct horse"}, "/email"), ({"password_hash": "$2b$x"}, "/password_hash"),
            ({"email": "a@b.c", "password": "short"}, "/password"),
            ({"email": "a@b.c", "password": 1}, "/password"),
            ({"email": "a@b.c", "password": "correct horse", "password_hash": None}, "/password"),
            ({"phone": "1"}, "/phone"), ({"blocked": "no"}, "/blocked"),
            ({"metadata": []}, "/metadata"), ({"app_metadata": {"a.b": 1}}, "/app_metadata/a.b"), ({"metadata": {"a": "x" * 65_536}}, "/metadata"),
            ({"properties": {"a": {}}}, "/properties/a"), ({"created_at": "now"}, "/created_at"),
            ({"identities": [{"provider": "password", "subject": "x"}]}, "/identities/0/provider"),
        ]:
            with self.subTest(members=str(members)[:60]):
                refused = self.expect(self.create(**members), 422, "validation_failed").json
                self.assertIn(pointer, [error["pointer"] for error in refused["errors"]])
        self.expect(self.post("/v1/users", [], token=self.key), 422, "validation_failed")
        self.assertEqual(self.users(), count)

    def test_values_of_another_user_are_refused_with_their_place(self):
        subject = {"provider": "jwt:web", "subject": "taken"}
        first = self.expect(self.create(
            email="taken@example.com", email_verified=True, password="correct horse",
            identities=[subject]), 201).json
        count = self.users()
        for members, pointer in [
            ({"email": "TAKEN@example.com"}, "/email"),
            ({"email": "TAKEN@example.com", "email_verified": True}, "/email"),
            ({"identities": [subject]}, "/identities"), ({"id": first["id"]}, "/id"),
        ]:
            with self.subTest(members=members):
                refused = self.expect(self.create(**members), 409, "user_exists").json
                self.assertEqual([error["pointer"] for error in refused["errors"]], [pointer])
        self.assertEqual(self.users(), count)
        self.assertEqual(self.read(first["id"])["version"], first["version"])

    def test_concurrent_creations_create_one_user(self):
        answers = in_parallel(8, lambda _: self.create(
            email="race@example.com", email_verified=True, password="correct horse"))
        self.assertEqual(sorted(answer.status for answer in answers), [201] + [409] * 7)
        ids = in_parallel(8, lambda _: self.create(id="0" * 23 + "a"))
        self.assertEqual(sorted(answer.status for answer in ids), [201] + [409] * 7)

    def test_documents_must_match_the_schema_of_the_app(self):
        path = self.site.folder / "schema.json"
        path.write_text('{"properties": {"level": {"type": "integer"}}}')
        self.site.dossier("schema", "set", "custom-data", path)
        refused = self.expect(self.create(custom_data={"level": "high"}), 422, "validation_failed").json
        self.assertEqual([error["pointer"] for error in refused["errors"]], ["/custom_data/level"])
        self.expect(self.create(custom_data={"level": 3}), 201)
        self.site.dossier("schema", "delete", "--yes", "custom-data")

    def test_app_metadata_requires_its_scope(self):
        poor = self.site.client("--app", "default", "scopes=create:users")["secret"]
        self.expect(self.post("/v1/users", {"app_metadata": {}}, token=poor), 403,
                    "insufficient_scope")
        self.expect(self.post("/v1/users", {"metadata": {}}, token=poor), 201)

    def test_an_address_is_stored_in_its_deliverable_form(self):
        # Full-width letters become ASCII. An address without an ASCII form gets no email.
        wide = "".join(chr(ord(letter) + 0xfee0) for letter in "wide") + "@example.com"
        made = self.expect(self.create(email=wide, email_verified=True, password="correct horse"), 201)
        self.assertEqual(made.json["email"], "wide@example.com")
        self.expect(self.login(wide), 200)
        self.expect(self.create(email="J\u00fcrgen@example.com", email_verified=True), 422,
                    "validation_failed")
        self.expect(self.post("/v1/password/reset-request", {"email": wide}), 202)
        self.expect(self.reset(self.site.mailed("wide@example.com", "ds_reset"), "battery staple"), 200)


if __name__ == "__main__":
    unittest.main()
