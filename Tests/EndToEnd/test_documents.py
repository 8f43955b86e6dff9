"""Documents, and the validation of every body, through nginx."""

import json
import pathlib
import re
import subprocess
import unittest

from cases import Case, in_parallel
from asking import JSON, MERGE, PATCH, Answer


class Documents(Case):
    def test_metadata_exists_from_the_start_and_has_versions(self):
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
        self.assertEqual(self.expect(stale, 412, "precondition_failed").json["current_version"], 2)
        self.assertEqual(stale.headers["ETag"], '"2"')
        weak = self.site.request("PUT", path, {}, {**JSON, "If-Match": 'W/"2"'}, token)
        self.expect(weak, 412, "precondition_failed")
        self.expect(
            self.site.request("PUT", path, {"x": 1}, {**JSON, "If-Match": '"1", "2"'}, token), 200)
        same = self.site.get(path, token=token, headers={"If-None-Match": 'W/"3"'})
        self.assertEqual((self.expect(same, 304).body, same.headers["ETag"]), (b"", '"3"'))
        self.expect(
            self.site.get(path, token=token, headers={"If-Match": "3"}), 400, "condition_malformed")

    def test_custom_data_is_created_replaced_deleted_and_never_reuses_a_version(self):
        token = self.site.login()["access_token"]
        path = "/v1/me/custom-data"
        def is_empty():
            empty = self.expect(self.site.get(path, token=token), 200)
            self.assertEqual((empty.json, empty.version), ({}, 0))
            same = self.site.get(path, token=token, headers={"If-None-Match": '"0"'})
            self.expect(same, 304)

        is_empty()
        self.expect(self.site.request("DELETE", path, token=token), 204)
        for condition, status in [('"0"', 204), ("*", 204), ('"1"', 412)]:
            answer = self.site.request("DELETE", path, headers={"If-Match": condition}, token=token)
            self.expect(answer, status)
        is_empty()
        moved = self.site.request("PUT", path, {}, {**JSON, "If-Match": '"1"'}, token)
        self.assertEqual(self.expect(moved, 412, "precondition_failed").json["current_version"], 0)
        create = {**JSON, "If-None-Match": "*"}
        self.expect(self.site.request("PUT", path, {"k": 1}, create, token), 200)
        self.expect(self.site.request("PUT", path, {"k": 2}, create, token), 412, "precondition_failed")
        self.expect(self.site.request("PUT", path, {"k": 3}, JSON, token), 200)
        wrong = self.site.request("DELETE", path, headers={"If-Match": '"1"'}, token=token)
        self.expect(wrong, 412, "precondition_failed")
        right = self.site.request("DELETE", path, headers={"If-Match": '"2"'}, token=token)
        self.expect(right, 204)
        is_empty()
        again = self.site.request("PATCH", path, {"k": {"n": None, "m": 1}}, MERGE, token)
        self.assertEqual(self.expect(again, 200).json, {"k": {"m": 1}})
        self.assertEqual(again.version, 4)
        self.expect(self.site.request("DELETE", path, token=token), 204)
        patch = [{"op": "add", "path": "/k", "value": 1}]
        answer = self.site.request("PATCH", path, patch, {**PATCH, "If-Match": '"0"'}, token)
        self.assertEqual((self.expect(answer, 200).json, answer.version), ({"k": 1}, 6))

    def test_every_write_has_the_same_depth_limit(self):
        token = self.site.login()["access_token"]
        key = self.site.client("--app", "default", "scopes=create:users")["secret"]
        path = "/v1/me/custom-data"
        deep = 1
        for _ in range(63):
            deep = [deep]
        self.expect(self.site.request("PUT", path, {"a": {}}, JSON, token), 200)
        for value, accepted in [(deep, True), ([deep], False)]:
            for method, suffix, kind, body in [
                ("PUT", "", JSON, {"a": value}), ("PATCH", "", MERGE, {"a": value}),
                ("PATCH", "", PATCH, [{"op": "add", "path": "", "value": {"a": value}}]),
                ("PATCH", "", PATCH, [{"op": "add", "path": "/a", "value": value}]),
                ("POST", "/update", JSON, {"update": {"a": value}}),
                ("POST", "/update", JSON, {"update": {"$set": {"a": value}}}),
            ]:
                with self.subTest(method=method, body=str(body)[:40], accepted=accepted):
                    answer = self.site.request(method, path + suffix, body, kind, token)
                    if accepted:
                        self.expect(answer, 200)
                        self.assertEqual(self.site.get(path, token=token).json, {"a": value})
                    else:
                        self.assertIn(answer.status, (400, 422), answer.body)
            for name in ["metadata", "custom_data"]:
                answer = self.post("/v1/users", {name: {"a": value}}, token=key)
                if accepted:
                    self.expect(answer, 201)
                else:
                    self.expect(answer, 422, "validation_failed")
                    self.assertEqual(answer.json["errors"][0]["code"], "json.depth")

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

    def test_a_document_over_the_size_limit_is_refused(self):
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
        self.assertEqual(self.expect(written, 200).json, large)

    def test_each_kind_of_invalid_json_has_its_error_code(self):
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
        self.expect(self.site.request("PUT", "/v1/me/metadata", "[]", JSON, token), 422, "validation_failed")
        for kind in ["text/plain", "application/json; charset=latin1", "application/json-patch+json"]:
            answer = self.site.request(
                "PUT", "/v1/me/metadata", "{}", {"Content-Type": kind}, token)
            self.expect(answer, 415, "media_type")

    def test_metadata_keys_are_validated_at_every_depth(self):
        grant = self.site.login()
        key = self.site.client("--operator")["secret"]

        def write(method, path, body, headers=JSON, token=grant["access_token"]):
            return self.site.request(method, path, body, headers, token)

        own, app = "/v1/me/metadata", f"/v1/users/{grant['user_id']}/app-metadata"
        self.expect(write("PUT", own, {"a": {"b": [1]}, "x" * 255: 1, "é" * 255: 2}), 200)
        for bad, pointer in [("a.b", "/a.b"), ("$a", "/$a"), ("a$", "/a$"), ("", "/"),
                             ("x" * 256, "/" + "x" * 256)]:
            for path, token in [(own, grant["access_token"]), (app, key)]:
                with self.subTest(key=bad[:9], path=path):
                    for answer, place in [
                        (write("PUT", path, {bad: 1}, token=token), pointer),
                        (write("PUT", path, {"l": [{"d": {bad: None}}]}, token=token),
                         "/l/0/d" + pointer),
                        (write("PATCH", path, {"a": {bad: 1}}, MERGE, token), "/a" + pointer),
                        (write("PATCH", path, [{"op": "add", "path": "/n", "value": {bad: 1}}],
                               PATCH, token), "/n" + pointer),
                    ]:
                        errors = self.expect(answer, 422, "validation_failed").json["errors"]
                        self.assertEqual([(e["pointer"], e["code"]) for e in errors],
                                         [(place, "key")])
        # A patch may remove a missing member of any name. Custom data may have members of any name.
        patched = self.expect(write("PATCH", own, {"a.b": None, "a": {"$c": None}}, MERGE), 200)
        self.assertEqual((patched.version, patched.json["a"]), (2, {"b": [1]}))
        custom = {"a.b": 1, "$c": {"": 2}}
        answer = write("PUT", "/v1/me/custom-data", custom)
        self.assertEqual(self.expect(answer, 200).json, custom)

    def test_a_body_of_fifty_megabytes_is_refused_without_using_memory(self):
        token = self.site.login()["access_token"]

        def peaks():
            return [int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1])
                    for pid in self.site.workers()]

        before = peaks()
        body = self.site.folder / "large"
        with open(body, "wb") as file:
            file.truncate(50_000_000)
        for sent in [[], ["-H", "Transfer-Encoding: chunked"]]:
            run = subprocess.run(
                ["curl", "-s", "-X", "PUT", f"http://127.0.0.1:{self.site.port}/v1/me/metadata",
                 "-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json",
                 *sent, "--data-binary", f"@{body}", "-w", "\n%{http_code}"],
                capture_output=True, text=True, timeout=120)
            answer, status = run.stdout.rsplit("\n", 1)
            self.assertEqual((status, json.loads(answer)["code"]), ("413", "body_too_large"), run)
        for peak, old in zip(peaks(), before):
            self.assertLess(peak - old, 4_000)

    def test_unknown_paths_and_methods(self):
        self.expect(self.site.get("/nope"), 404, "route_not_found")
        self.expect(self.site.get("/v1/me/"), 404, "route_not_found")
        refused = self.expect(self.site.request("POST", "/v1/me"), 405, "method_not_allowed")
        self.assertEqual(refused.headers["Allow"], "DELETE, GET, HEAD, PATCH, OPTIONS")
        self.expect(self.site.request("OPTIONS", "/v1/me"), 204)
        token = self.site.login()["access_token"]
        head = self.expect(self.site.request("HEAD", "/v1/me", token=token), 200)
        self.assertEqual((head.body, head.headers["ETag"]), (b"", '"1"'))

    def test_forged_headers_are_ignored(self):
        token = self.site.login()["access_token"]
        spoofed = {"X-Forwarded-For": "203.0.113.9", "Proxy": "http://x", "Remote-Addr": "1.2.3.4",
                   "X-Request-Id": "bad id\u00e9"}
        answer = self.site.get("/v1/me", token=token, headers=spoofed)
        self.assertNotIn(" ", self.expect(answer, 200).headers["X-Request-Id"])
        good = self.site.get("/v1/me", token=token, headers={"X-Request-Id": "trace-7"})
        self.assertEqual(good.headers["X-Request-Id"], "trace-7")

    def test_a_thousand_concurrent_patches_leave_a_thousand_keys(self):
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

    def test_if_match_lets_one_write_win_each_version(self):
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

    def test_two_precondition_lines_form_one_list(self):
        token = self.site.login()["access_token"]
        path = "/v1/me/metadata"
        self.expect(self.site.request("PUT", path, {"a": 1}, JSON, token), 200)
        told = subprocess.run(["/usr/sbin/nginx", "-v"], capture_output=True, text=True).stderr
        version = tuple(int(part) for part in re.search(r"/(\d+)\.(\d+)", told).groups())
        for lines, joined in [(['"9"', '"1"'], 200), (['"8"', '"9"'], 412)]:
            for name in ["If-Match", "If-None-Match"]:
                client = self.site.connection()
                client.putrequest("GET", path)
                client.putheader("Authorization", f"Bearer {token}")
                for line in lines:
                    client.putheader(name, line)
                client.endheaders()
                response = client.getresponse()
                answer = Answer(response.status, response.headers, response.read())
                client.close()
                if version < (1, 23):
                    # nginx itself refuses a second line, as a problem like any other.
                    self.expect(answer, 400, "request_malformed")
                elif name == "If-Match":
                    self.assertEqual(answer.status, joined)
                else:
                    self.assertEqual(answer.status, 304 if joined == 200 else 200)
        # As one line, they are a list everywhere.
        listed = self.site.get(path, token=token, headers={"If-None-Match": '"9", "1"'})
        self.assertEqual(listed.status, 304)

    def test_concurrent_json_patches_are_all_applied(self):
        token = self.site.login()["access_token"]
        self.site.request("PUT", "/v1/me/metadata", {"list": []}, JSON, token)
        patch = [{"op": "add", "path": "/list/-", "value": 1}]
        answers = in_parallel(
            8, lambda _: self.site.request("PATCH", "/v1/me/metadata", patch, PATCH, token))
        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(self.site.get("/v1/me/metadata", token=token).json, {"list": [1] * 8})


if __name__ == "__main__":
    unittest.main()
