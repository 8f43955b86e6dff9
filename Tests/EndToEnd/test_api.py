"""What clients see, through nginx."""

import re
import subprocess
import unittest

from cases import Case, in_parallel
from deployment import BUILD, JSON, MERGE, PATCH


class API(Case):
    # Ways in and out

    def test_a_user_registers_logs_in_refreshes_and_logs_out(self):
        grant = self.expect(self.register("Ada@Example.com"), 201).json
        self.assertEqual(
            set(grant),
            {"access_token", "refresh_token", "token_type", "expires_in", "user_id", "device_id",
             "device_secret"})
        self.assertEqual((grant["token_type"], grant["expires_in"]), ("Bearer", 1800))
        login = self.site.request(
            "POST", "/v1/login/password",
            {"email": " ADA@example.com", "password": "correct horse"}, JSON)
        self.assertEqual(self.expect(login, 200).json["user_id"], grant["user_id"])
        for email, password in [("ada@example.com", "wrong horse"), ("x@example.com", "whatever")]:
            refused = self.site.request(
                "POST", "/v1/login/password", {"email": email, "password": password}, JSON)
            self.expect(refused, 401, "wrong_credentials")
        me = self.expect(self.site.get("/v1/me", token=grant["access_token"]), 200)
        self.assertEqual((me.json["email"], me.json["anonymous"]), ("Ada@Example.com", False))
        self.assertEqual(
            set(me.json),
            set("id created_at updated_at version anonymous blocked email email_verified name "
                "given_name family_name nickname phone locale zone picture".split()))
        token = grant["access_token"]
        self.expect(self.site.request("POST", "/v1/logout", token=token), 204)
        self.expect(self.site.get("/v1/me", token=token), 401, "session_ended")
        self.expect(self.site.request("POST", "/v1/logout", token=token), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        # The other session goes on.
        self.expect(self.site.get("/v1/me", token=login.json["access_token"]), 200)

    def test_a_repeated_refresh_gets_the_same_token_and_a_stolen_one_ends_the_session(self):
        first = self.site.login()
        second = self.expect(self.refresh(first), 200).json
        again = self.expect(self.refresh(first), 200).json
        self.assertEqual(second["refresh_token"], again["refresh_token"])
        third = self.expect(self.refresh(second), 200).json
        self.expect(self.site.get("/v1/me", token=third["access_token"]), 200)
        self.expect(self.refresh(first), 401, "refresh_token_invalid")
        for grant in [first, second, third]:
            self.expect(self.site.get("/v1/me", token=grant["access_token"]), 401, "session_ended")
        self.expect(self.refresh(third), 401, "refresh_token_invalid")
        reason = self.site.sql(
            f"select detail ->> 'reason' from audit where user_id = '{first['user_id']}' "
            "and action = 'session_end'")
        self.assertEqual(reason, "refresh_reuse")

    def test_a_predecessor_past_the_grace_is_refused_and_the_session_goes_on(self):
        first = self.site.login()
        second = self.expect(self.refresh(first), 200).json
        self.site.sql(
            "update sessions set refreshed_at = now() - interval '31 seconds' "
            f"where user_id = '{first['user_id']}'")
        self.expect(self.refresh(first), 401, "refresh_token_invalid")
        self.expect(self.refresh(second), 200)

    def test_tabs_that_refresh_at_once_all_get_the_one_successor(self):
        grant = self.site.login()
        answers = in_parallel(16, lambda _: self.refresh(grant))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len({answer.json["refresh_token"] for answer in answers}), 1)

    def test_registration_names_every_member_that_breaks_a_rule(self):
        answer = self.register("no address", "short")
        self.expect(answer, 422, "invalid")
        self.assertEqual(
            [error["pointer"] for error in answer.json["errors"]], ["/email", "/password"])
        answer = self.site.request("POST", "/v1/register", {"email": 7, "x": 1}, JSON)
        self.assertEqual(
            {(error["pointer"], error["code"]) for error in answer.json["errors"]},
            {("/x", "unknown_member"), ("/email", "type"), ("/password", "missing")})

    def test_a_blocked_user_is_refused_at_once_everywhere(self):
        grant = self.expect(self.register("blocked@example.com"), 201).json
        self.site.sql(f"update users set blocked_at = now() where user_id = '{grant['user_id']}'")
        self.expect(self.site.get("/v1/me", token=grant["access_token"]), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")
        login = self.site.request(
            "POST", "/v1/login/password",
            {"email": "blocked@example.com", "password": "correct horse"}, JSON)
        self.expect(login, 401, "wrong_credentials")

    # Who must be refused

    def routes(self, access):
        """Every route of the server with that access: method, path, a body that it reads."""
        listing = subprocess.run(
            [BUILD / "dossierd", "routes"], check=True, capture_output=True, text=True).stdout
        for line in listing.splitlines():
            name, found, _ = line.split("\t")
            method, path = name.split(" ")
            path = re.sub(r"\{(key|name)\}", "x", path)
            path = re.sub(r"\{\w+\}", "0" * 24, path)
            if found.split(" ")[0] == access:
                reads = {"POST": JSON, "PUT": JSON, "PATCH": MERGE}.get(method, {})
                yield method, path, "{}" if reads else None, reads, found

    def test_every_route_of_a_user_refuses_those_without_a_session_that_counts(self):
        ended = self.site.login()["access_token"]
        self.site.request("POST", "/v1/logout", token=ended)
        header, claims, signature = self.site.login()["access_token"].split(".")
        other_claims = self.site.login()["access_token"].split(".")[1]
        bad = {
            "token_missing": [None],
            "token_invalid": [
                "x", f"{header}.{claims}.", f"{header}.{other_claims}.{signature}",
                f"eyJhbGciOiJub25lIn0.{claims}.", f"{header}.{claims}.{signature[::-1]}"],
        }
        count = 0
        for method, path, body, headers, _ in self.routes("user"):
            for code, tokens in bad.items():
                for token in tokens:
                    with self.subTest(route=f"{method} {path}", token=token):
                        answer = self.site.request(method, path, body, headers, token)
                        self.expect(answer, 401, code)
                        self.assertIn("Bearer", answer.headers["WWW-Authenticate"])
            with self.subTest(route=f"{method} {path}", token="ended"):
                body, headers = self.BODIES.get((method, path), (body, headers))
                answer = self.site.request(method, path, body, headers, ended)
                self.expect(answer, 401, "session_ended")
            count += 1
        self.assertGreater(count, 20)

    # Bodies that get as far as the session is looked at.
    BODIES = {
        ("POST", "/v1/password/change"):
            ({"current_password": "correct horse", "new_password": "correct horses"}, JSON),
        ("POST", "/v1/me/identities"):
            ({"provider": "password", "email": "a@b.c", "password": "correct horse"}, JSON),
        ("POST", "/v1/me/api-keys"): ({"name": "x"}, JSON),
        ("PATCH", "/v1/me/properties"): ({"a": 1}, JSON),
        ("PUT", "/v1/me/properties/x"): ({"value": 1}, JSON),
        ("POST", "/v1/me/custom-data/update"): ({"update": {"$set": {"a": 1}}}, JSON),
        ("PUT", "/v1/me/picture"): (b"x", {"Content-Type": "image/png"}),
        ("PATCH", f"/v1/me/api-keys/{'0' * 24}"): ({"disabled": True}, JSON),
    }

    def test_every_route_of_a_device_refuses_those_without_its_proof(self):
        secret = self.site.login()["device_secret"]
        count = 0
        for method, path, body, headers, _ in self.routes("device"):
            for proof in [None, "x", secret[:-1] + ("A" if secret[-1] != "A" else "B"),
                          "drt_" + secret[4:]]:
                with self.subTest(route=f"{method} {path}", proof=proof):
                    fields = {**headers, **({"Dossier-Device": proof} if proof else {})}
                    answer = self.site.request(method, path, body, fields)
                    self.expect(answer, 401, "device_unknown")
            count += 1
        self.assertEqual(count, 4)

    def test_every_route_of_a_program_refuses_those_without_its_key(self):
        key, user = self.site.client("--operator"), self.site.login()
        disabled, deleted = self.site.client("--operator"), self.site.client("--operator")
        self.site.dossier("client", "disable", disabled["id"])
        self.site.dossier("client", "delete", deleted["id"])
        self.site.dossier("app", "create", "another")
        other = self.site.client(
            "--app", "another", *(f"--scope={scope}" for scope in self.site.SCOPES))
        key = key["key"]
        unknown = [None, "x", key[:-1] + ("A" if key[-1] != "A" else "B"), "drt_" + key[4:],
                   user["access_token"], user["refresh_token"], user["device_secret"],
                   disabled["key"], deleted["key"]]
        counts = []
        for access in ["client", "operator"]:
            counts.append(0)
            for method, path, body, headers, found in self.routes(access):
                counts[-1] += 1
                for token in unknown:
                    with self.subTest(route=f"{method} {path}", token=token):
                        answer = self.site.request(method, path, body, headers, token)
                        self.expect(answer, 401, "client_unknown")
                        self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
                with self.subTest(route=f"{method} {path}", client="of another app"):
                    answer = self.site.request(method, path, body, headers, other["key"])
                    if access == "client":
                        self.expect(answer, 401, "client_unknown")
                    else:
                        self.expect(answer, 403, "insufficient_scope")
                scope = found.split(" ")[-1]
                rest = [f"--scope={name}" for name in self.site.SCOPES if name != scope]
                poor = self.site.client("--app", "default", *rest)["key"]
                with self.subTest(route=f"{method} {path}", client="without the scope"):
                    answer = self.site.request(method, path, body, headers, poor)
                    self.expect(answer, 403, "insufficient_scope")
                    self.assertIn(f'scope="{scope}"', answer.headers["WWW-Authenticate"])
        self.assertGreaterEqual(counts[0], 3)
        self.assertGreaterEqual(counts[1], 13)

    def test_every_route_has_an_access_that_is_tested(self):
        listing = subprocess.run(
            [BUILD / "dossierd", "routes"], check=True, capture_output=True, text=True).stdout
        found = {line.split("\t")[1].split(" ")[0] for line in listing.splitlines()}
        self.assertEqual(found, {"open", "user", "device", "client", "operator"})

    def test_a_key_is_no_token_of_a_user(self):
        key = self.site.client("--operator")["key"]
        for method, path, body, headers, _ in self.routes("user"):
            with self.subTest(route=f"{method} {path}"):
                answer = self.site.request(method, path, body, headers, key)
                self.expect(answer, 401, "token_invalid")

    def test_a_token_without_the_scope_is_refused(self):
        grant = self.site.login()
        self.site.sql(
            "update sessions set scope = 'read:current_user' "
            f"where user_id = '{grant['user_id']}'")
        token = self.expect(self.refresh(grant), 200).json["access_token"]
        self.expect(self.site.get("/v1/me", token=token), 200)
        for method, path, body, headers, access in self.routes("user"):
            if not access.endswith("read:current_user"):
                with self.subTest(route=f"{method} {path}"):
                    answer = self.site.request(method, path, body, headers, token)
                    self.expect(answer, 403, "insufficient_scope")

    def test_an_expired_session_is_refused(self):
        grant = self.site.login()
        self.site.sql(
            "update sessions set expires_at = now() - interval '1 second' "
            f"where user_id = '{grant['user_id']}'")
        self.expect(self.site.get("/v1/me", token=grant["access_token"]), 401, "session_ended")
        self.expect(self.refresh(grant), 401, "refresh_token_invalid")

    # The profile

    def test_the_profile_takes_both_patches_and_names_what_it_does_not_take(self):
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
        self.expect(answer, 422, "invalid")
        self.assertEqual(
            {error["pointer"] for error in answer.json["errors"]}, {f"/{name}" for name in bad})
        self.assertEqual(self.site.get("/v1/me", token=token).json["name"], "Ada Lovelace")
        stale = self.site.request(
            "PATCH", "/v1/me", {"name": "x"}, {**MERGE, "If-Match": '"2"'}, token)
        self.assertEqual(self.expect(stale, 412, "version_moved").json["current_version"], 3)

    def test_a_deleted_user_is_gone_with_everything_but_the_audit(self):
        grant = self.expect(self.register("gone@example.com"), 201).json
        token = grant["access_token"]
        self.site.request("PUT", "/v1/me/metadata", {"a": 1}, JSON, token)
        stale = self.site.request("DELETE", "/v1/me", headers={"If-Match": '"9"'}, token=token)
        self.expect(stale, 412, "version_moved")
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

    # What is exported of each table that holds a user's rows.
    EXPORTED = {
        "api_keys": "api_keys", "audit": "audit", "device_users": "devices",
        "documents": "documents", "identities": "identities", "identity_subjects": "identities",
        "mail_tokens": "mails", "passwords": "password", "pictures": "pictures",
        "properties": "properties", "sessions": "sessions",
        "unconfirmed_emails": "unconfirmed_emails", "users": "profile"}

    def test_a_user_exports_all_that_is_stored_of_it_and_no_secrets(self):
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
        self.assertEqual(set(tables), set(self.EXPORTED))
        self.assertLessEqual(set(self.EXPORTED.values()), set(export))
        for secret in [key, grant["refresh_token"], grant["device_secret"], "hash", "salt"]:
            self.assertNotIn(secret, answer.body.decode())

    def test_app_metadata_is_read_where_the_app_allows_it(self):
        grant = self.site.login()
        path, token = "/v1/me/app-metadata", grant["access_token"]
        self.assertEqual(self.expect(self.site.get(path, token=token), 200).json, {})
        self.site.sql("insert into documents (user_id, class, body, version) values "
                      f"('{grant['user_id']}', 'app_metadata', '{{\"plan\": \"pro\"}}', 1)")
        self.assertEqual(self.site.get(path, token=token).json, {"plan": "pro"})
        for method in ["PUT", "PATCH", "DELETE"]:
            self.expect(self.site.request(method, path, "{}", JSON, token), 405)
        self.site.sql("insert into apps (app_id, name, settings) values (new_object_id(), 'secretive', "
                      "'{\"app_metadata_readable\": false}')")
        self.site.settle()
        app = {**JSON, "Dossier-App": "secretive"}
        token = self.site.request("POST", "/v1/login/anonymous", {}, app).json["access_token"]
        self.expect(self.site.get(path, headers=app, token=token), 403, "insufficient_scope")

    # Documents

    def test_metadata_is_there_from_the_start_and_has_versions(self):
        token = self.site.login()["access_token"]
        path = "/v1/me/metadata"
        empty = self.expect(self.site.get(path, token=token), 200)
        self.assertEqual((empty.json, empty.version), ({}, 0))
        first = self.site.request(
            "PATCH", path, '{"a": {"b": 2.0}, "c": [1]}', {**MERGE, "If-Match": '"0"'}, token)
        self.assertEqual(self.expect(first, 200).version, 1)
        self.assertIn(b"2.0", first.body)
        second = self.site.request("PATCH", path, {"a": {"d": 1}, "c": None}, MERGE, token)
        self.assertEqual(second.json, {"a": {"b": 2.0, "d": 1}})
        stale = self.site.request("PUT", path, {}, {**JSON, "If-Match": '"1", "7"'}, token)
        self.assertEqual(self.expect(stale, 412, "version_moved").json["current_version"], 2)
        self.assertEqual(stale.headers["ETag"], '"2"')
        weak = self.site.request("PUT", path, {}, {**JSON, "If-Match": 'W/"2"'}, token)
        self.expect(weak, 412, "version_moved")
        self.expect(
            self.site.request("PUT", path, {"x": 1}, {**JSON, "If-Match": '"1", "2"'}, token), 200)
        same = self.site.get(path, token=token, headers={"If-None-Match": 'W/"3"'})
        self.assertEqual((self.expect(same, 304).body, same.headers["ETag"]), (b"", '"3"'))
        self.expect(
            self.site.get(path, token=token, headers={"If-Match": "3"}), 400, "condition_malformed")

    def test_custom_data_is_created_replaced_deleted_and_never_reuses_a_version(self):
        token = self.site.login()["access_token"]
        path = "/v1/me/custom-data"
        self.expect(self.site.get(path, token=token), 404, "not_found")
        self.expect(self.site.request("DELETE", path, token=token), 404, "not_found")
        absent = self.site.request("PUT", path, {}, {**JSON, "If-Match": "*"}, token)
        self.expect(absent, 412, "version_moved")
        create = {**JSON, "If-None-Match": "*"}
        self.expect(self.site.request("PUT", path, {"k": 1}, create, token), 201)
        self.expect(self.site.request("PUT", path, {"k": 2}, create, token), 412, "version_moved")
        self.expect(self.site.request("PUT", path, {"k": 3}, JSON, token), 200)
        wrong = self.site.request("DELETE", path, headers={"If-Match": '"1"'}, token=token)
        self.expect(wrong, 412, "version_moved")
        right = self.site.request("DELETE", path, headers={"If-Match": '"2"'}, token=token)
        self.expect(right, 204)
        again = self.site.request("PATCH", path, {"k": {"n": None, "m": 1}}, MERGE, token)
        self.assertEqual(self.expect(again, 201).json, {"k": {"m": 1}})
        self.assertEqual(again.version, 4)

    def test_a_json_patch_is_all_or_nothing(self):
        token = self.site.login()["access_token"]
        path = "/v1/me/metadata"
        self.site.request("PUT", path, {"list": [1, 2], "x": 1}, JSON, token)
        done = self.site.request(
            "PATCH", path,
            [{"op": "add", "path": "/list/-", "value": 3}, {"op": "move", "from": "/x", "path": "/y"}],
            PATCH, token)
        self.assertEqual(self.expect(done, 200).json, {"list": [1, 2, 3], "y": 1})
        half = [{"op": "remove", "path": "/y"}, {"op": "test", "path": "/list/0", "value": 9}]
        refused = self.site.request("PATCH", path, half, PATCH, token)
        self.assertEqual(
            self.expect(refused, 409, "patch_test_failed").json["errors"][0]["pointer"], "/1")
        for patch, status, code in [
            ([{"op": "remove", "path": "/nope"}], 422, "patch_not_applicable"),
            ([{"op": "replace", "path": "", "value": 1}], 422, "patch_not_applicable"),
            ([{"op": "frob"}], 400, "patch_malformed"),
            ({"op": "add"}, 400, "patch_malformed"),
        ]:
            self.expect(self.site.request("PATCH", path, patch, PATCH, token), status, code)
        self.assertEqual(self.site.get(path, token=token).version, done.version)

    def test_a_document_over_its_limit_is_refused_whole(self):
        token = self.site.login()["access_token"]
        path = "/v1/me/metadata"
        half = {f"k{index}": "x" * 1000 for index in range(40)}
        self.expect(self.site.request("PUT", path, half, JSON, token), 200)
        more = {f"l{index}": "x" * 1000 for index in range(40)}
        answer = self.site.request("PATCH", path, more, MERGE, token)
        self.assertEqual(self.expect(answer, 413, "document_too_large").json["limit"], 65536)
        self.assertEqual(self.site.get(path, token=token).json, half)
        body = b'{"a":"' + b"x" * 65536 + b'"}'
        self.expect(self.site.request("PUT", path, body, JSON, token), 413, "body_too_large")
        # A body over the window of the loop, through the pool.
        large = {"a": "x" * 500_000}
        written = self.site.request("PUT", "/v1/me/custom-data", large, JSON, token)
        self.assertEqual(self.expect(written, 201).json, large)

    # The gate

    def test_the_gate_refuses_what_is_not_json_each_by_its_code(self):
        token = self.site.login()["access_token"]
        for body, code in [
            (b"", "json.empty"), (b"[1,]", "json.syntax"), (b"{}x", "json.trailing"),
            (b'{"a":1,"\\u0061":2}', "json.duplicate_key"), (b'{"a":1e131071}', "json.number"),
            (b'{"a":"\\u0000"}', "json.nul"), (b'{"a":"\\ud800"}', "json.surrogate"),
            (b'{"a":"\xff"}', "json.utf8"), (b"[" * 10_000, "json.depth"),
            ("{}".encode("utf-16"), "json.syntax"),
        ]:
            with self.subTest(body=body[:20]):
                answer = self.site.request("PUT", "/v1/me/metadata", body, JSON, token)
                self.expect(answer, 400, code)
                self.assertIn("offset", answer.json)
        self.expect(self.site.request("PUT", "/v1/me/metadata", "[]", JSON, token), 422, "invalid")
        for kind in ["text/plain", "application/json; charset=latin1", "application/json-patch+json"]:
            answer = self.site.request(
                "PUT", "/v1/me/metadata", "{}", {"Content-Type": kind}, token)
            self.expect(answer, 415, "media_type")

    def test_paths_and_methods_that_are_not_there(self):
        self.expect(self.site.get("/nope"), 404, "route_not_found")
        self.expect(self.site.get("/v1/me/"), 404, "route_not_found")
        refused = self.expect(self.site.request("POST", "/v1/me"), 405, "method_not_allowed")
        self.assertEqual(refused.headers["Allow"], "DELETE, GET, HEAD, PATCH")
        self.expect(self.site.request("OPTIONS", "/v1/me"), 204)
        token = self.site.login()["access_token"]
        head = self.expect(self.site.request("HEAD", "/v1/me", token=token), 200)
        self.assertEqual((head.body, head.headers["ETag"]), (b"", '"1"'))

    def test_headers_that_a_client_must_not_send_change_nothing(self):
        token = self.site.login()["access_token"]
        spoofed = {"X-Forwarded-For": "203.0.113.9", "Proxy": "http://x", "Remote-Addr": "1.2.3.4",
                   "X-Request-Id": "bad id\u00e9"}
        answer = self.site.get("/v1/me", token=token, headers=spoofed)
        self.assertNotIn(" ", self.expect(answer, 200).headers["X-Request-Id"])
        good = self.site.get("/v1/me", token=token, headers={"X-Request-Id": "trace-7"})
        self.assertEqual(good.headers["X-Request-Id"], "trace-7")

    # Many at once

    def test_a_thousand_patches_of_different_keys_leave_a_thousand_keys(self):
        token = self.site.login()["access_token"]

        def patches(number):
            client = self.site.connection()
            statuses = [
                self.site.request("PATCH", "/v1/me/metadata", {f"k{index}": index}, MERGE, token,
                                  client).status
                for index in range(number, 1000, 32)]
            client.close()
            return statuses

        statuses = sum(in_parallel(32, patches), [])
        self.assertEqual((len(statuses), set(statuses)), (1000, {200}))
        document = self.site.get("/v1/me/metadata", token=token)
        self.assertEqual(document.json, {f"k{index}": index for index in range(1000)})
        self.assertEqual(document.version, 1000)

    def test_with_if_match_exactly_one_wins_each_version(self):
        token = self.site.login()["access_token"]
        for version in range(20):
            condition = {**MERGE, "If-Match": f'"{version}"'}
            answers = in_parallel(
                32, lambda number: self.site.request(
                    "PATCH", "/v1/me/metadata", {"winner": number}, condition, token))
            won = [answer for answer in answers if answer.status == 200]
            self.assertEqual((len(won), len(answers)), (1, 32))
            self.assertEqual({answer.status for answer in answers}, {200, 412})
            self.assertEqual(self.site.get("/v1/me/metadata", token=token).json, won[0].json)

    def test_concurrent_json_patches_all_arrive(self):
        token = self.site.login()["access_token"]
        self.site.request("PUT", "/v1/me/metadata", {"list": []}, JSON, token)
        patch = [{"op": "add", "path": "/list/-", "value": 1}]
        answers = in_parallel(
            8, lambda _: self.site.request("PATCH", "/v1/me/metadata", patch, PATCH, token))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(self.site.get("/v1/me/metadata", token=token).json, {"list": [1] * 8})


if __name__ == "__main__":
    unittest.main()
