"""The profile, and the export and deletion of a user."""

import unittest

from cases import Case
from asking import JSON, MERGE, PATCH


class Profile(Case):
    def test_the_profile_accepts_both_patch_formats_and_reports_invalid_members(self):
        token = self.site.login()["access_token"]
        patched = self.site.request(
            "PATCH", "/v1/me", {"name": "Ada", "locale": "en-GB", "phone": "+441234567890"}, MERGE,
            token)
        self.assertEqual(self.expect(patched, 200).version, 2)
        patched = self.site.request(
            "PATCH", "/v1/me",
            [{"op": "test", "path": "/name", "value": "Ada"},
             {"op": "replace", "path": "/name", "value": "Ada Lovelace"},
             {"op": "remove", "path": "/locale"}], PATCH, token)
        me = self.expect(patched, 200).json
        self.assertEqual(
            (me["name"], me["locale"], me["phone"]), ("Ada Lovelace", None, "+441234567890"))
        bad = {"nope": 1, "id": "x", "email": "a@b.c", "name": 7, "nickname": "", "phone": "12",
               "zone": "a\u0007"}
        answer = self.site.request("PATCH", "/v1/me", bad, MERGE, token)
        self.expect(answer, 422, "validation_failed")
        self.assertEqual(
            {error["pointer"] for error in answer.json["errors"]}, {f"/{name}" for name in bad})
        self.assertEqual(self.site.get("/v1/me", token=token).json["name"], "Ada Lovelace")
        stale = self.site.request(
            "PATCH", "/v1/me", {"name": "x"}, {**MERGE, "If-Match": '"2"'}, token)
        self.assertEqual(self.expect(stale, 412, "precondition_failed").json["current_version"], 3)

    def test_locales_and_time_zones_must_exist(self):
        token = self.site.login()["access_token"]

        def patch(**members):
            return self.site.request("PATCH", "/v1/me", members, MERGE, token)

        for locale, zone in [("pt-BR", "America/Sao_Paulo"), ("ZH-hant-tw", "UTC"),
                             ("es-419-u-nu-latn", "Asia/Calcutta")]:
            me = self.expect(patch(locale=locale, zone=zone), 200).json
            self.assertEqual((me["locale"], me["zone"]), (locale, zone))
        for locale, zone, words in [
            ("pt_BR", "utc", "hyphens, not underscores"), ("xx", "Berlin", "language xx"),
            ("en-UK", "+01:00", "region UK"), ("en-Abcd", "Europe/berlin", "script Abcd"),
            ("English", "Europe", "BCP 47"),
        ]:
            errors = self.expect(patch(locale=locale, zone=zone), 422, "validation_failed").json["errors"]
            self.assertEqual([(e["pointer"], e["code"]) for e in errors],
                             [("/locale", "locale"), ("/zone", "zone")])
            self.assertIn(words, errors[0]["detail"])
        for operation in [{"op": "add", "path": "/zone", "value": "Mars/Olympus"},
                          {"op": "replace", "path": "/locale", "value": "en_GB"}]:
            answer = self.site.request("PATCH", "/v1/me", [operation], PATCH, token)
            self.assertEqual(self.expect(answer, 422, "validation_failed").json["errors"][0]["pointer"],
                             operation["path"])
        me = self.expect(patch(zone=None), 200).json
        self.assertEqual((me["locale"], me["zone"]), ("es-419-u-nu-latn", None))
        # An invalid value that an older version stored does not block other changes.
        self.site.sql("update users set locale = 'en_GB' where zone is null and locale is not null")
        self.assertEqual(self.expect(patch(name="Ada"), 200).json["locale"], "en_GB")
        renamed = self.site.request(
            "PATCH", "/v1/me", [{"op": "replace", "path": "/name", "value": "A"}], PATCH, token)
        self.expect(renamed, 200)

    def test_only_the_audit_log_of_a_deleted_user_is_kept(self):
        grant = self.expect(self.register("gone@example.com"), 201).json
        token = grant["access_token"]
        self.site.request("PUT", "/v1/me/metadata", {"a": 1}, JSON, token)
        stale = self.site.request("DELETE", "/v1/me", headers={"If-Match": '"9"'}, token=token)
        self.expect(stale, 412, "precondition_failed")
        self.expect(self.site.request("DELETE", "/v1/me", token=token), 204)
        self.expect(self.site.get("/v1/me", token=token), 401, "session_ended")
        left = [
            table for table in
            self.site.sql("select c.table_name from information_schema.columns c "
                          "join information_schema.tables t using (table_schema, table_name) "
                          "where c.column_name = 'user_id' and t.table_type = 'BASE TABLE' "
                          "and c.table_schema = 'public'").split()
            if self.site.sql(f"select count(*) from {table} where user_id = '{grant['user_id']}'")
            != "0"]
        self.assertEqual(left, ["audit"])
        self.expect(self.register("gone@example.com"), 201)

    # Each table with rows of a user, and the member of the export that has them.
    EXPORTED = {
        "additional_subjects": "former_emails", "api_keys": "api_keys", "audit": "audit",
        "user_origins": "identities",
        "consents": "consents",
        "device_accounts": "devices",
        "document_versions": "document_versions", "documents": "documents",
        "identities": "identities", "identity_subjects": "identities", "mail_tokens": "mails",
        # Queued mails: their content is in `mail_tokens` or in `audit`.
        "mail_outbox": "mails", "mail_deliveries": "mail_deliveries", "merges": "merges",
        "passkeys": "passkeys", "passwords": "password", "pictures": "pictures",
        "properties": "properties", "search_values": "documents", "sessions": "sessions",
        "recovery_codes": "recovery_codes", "second_factors": "second_factors",
        "user_permissions": "permissions", "user_roles": "roles", "users": "profile"}

    # Sign-ins at clients that wait for a code, and refresh tokens of services. Their content is stored
    # elsewhere, or is a secret, as is a code for support. Administrators use no route with an export.
    # Published events, and deliveries of them, are copies of ids in `audit` and `sessions`.
    COPIES = {
        "administrators", "authorizations", "feed_events", "identity_tokens", "support_codes",
        "unpublished_changes", "webhook_deliveries"}

    def test_an_export_has_all_stored_data_and_no_secrets(self):
        grant = self.expect(self.register("export@example.com"), 201).json
        token = grant["access_token"]
        self.site.request("PUT", "/v1/me/metadata", {"a": 2.0}, JSON, token)
        self.site.request("PUT", "/v1/me/properties", {"p": 1}, JSON, token)
        key = self.post("/v1/me/api-keys", {"name": "cron"}, token=token).json["key"]
        answer = self.expect(self.site.get("/v1/me/export", token=token), 200)
        self.assertIn("attachment", answer.headers["Content-Disposition"])
        export = answer.json
        self.assertEqual(export["profile"]["email"], "export@example.com")
        self.assertEqual(export["documents"]["metadata"]["body"], {"a": 2.0})
        self.assertEqual(export["properties"]["p"]["value"], 1)
        self.assertEqual([event["action"] for event in export["audit"]], ["login", "link"])
        self.assertEqual(len(export["sessions"]), 1)
        tables = self.site.sql(
            "select c.table_name from information_schema.columns c join information_schema.tables t "
            "using (table_schema, table_name) where c.column_name = 'user_id' "
            "and t.table_type = 'BASE TABLE' and c.table_schema = 'public'").split()
        self.assertEqual(set(tables), {*self.EXPORTED, *self.COPIES})
        self.assertLessEqual(set(self.EXPORTED.values()), set(export))
        for secret in [key, grant["refresh_token"], grant["device_secret"], "hash", "salt"]:
            self.assertNotIn(secret, answer.body.decode())

    def test_users_read_app_metadata_if_the_app_allows_it(self):
        grant = self.site.login()
        path, token = "/v1/me/app-metadata", grant["access_token"]
        self.assertEqual(self.expect(self.site.get(path, token=token), 200).json, {})
        self.site.sql("insert into documents (user_id, kind, body, version) values "
                      f"('{grant['user_id']}', 'app_metadata', '{{\"plan\": \"pro\"}}', 1)")
        self.assertEqual(self.site.get(path, token=token).json, {"plan": "pro"})
        for method in ["PUT", "PATCH", "DELETE"]:
            self.expect(self.site.request(method, path, "{}", JSON, token), 405)
        self.site.sql("insert into apps (app_id, name, settings) values (new_object_id(), 'secretive', "
                      "'{\"app_metadata_readable\": false}')")
        app = {**JSON, "Dossier-App": "secretive"}
        token = self.site.request("POST", "/v1/login/anonymous", {}, app).json["access_token"]
        self.expect(self.site.get(path, headers=app, token=token), 403, "insufficient_scope")


if __name__ == "__main__":
    unittest.main()
