"""The versions of documents that an app keeps."""

import json
import threading
import unittest

from cases import Administration, in_parallel
from asking import JSON, MERGE, PATCH

DATA = "/v1/me/custom-data"


class History(Administration):
    def setUp(self):
        self.keep(5)

    def keep(self, count):
        """Sets the number of kept versions. It applies at once, as write statements read it."""
        self.site.dossier("app", "set", f"document_versions_kept={count}")

    def write(self, token, body, method="PUT", path=DATA, kind=JSON, **headers):
        answer = self.site.request(method, path, body, {**kind, **headers}, token)
        self.assertLess(answer.status, 300, answer.body)
        return answer

    def versions(self, token, path=DATA, query=""):
        return self.expect(self.site.get(f"{path}/versions{query}", token=token), 200)

    def numbers(self, token, path=DATA):
        return [version["version"] for version in self.versions(token, path).json]

    def count(self, user):
        return int(self.site.sql(
            f"select count(*) from document_versions where user_id = '{user}'"))

    def test_an_app_keeps_no_versions_by_default(self):
        self.keep("null")
        self.assertEqual(self.site.dossier("app", "show")["settings"]["document_versions_kept"], 0)
        token = self.site.login()["access_token"]
        self.write(token, {"a": 1})
        self.write(token, None, "DELETE", kind={})
        self.assertEqual(self.versions(token).json, [])
        self.expect(self.site.get(f"{DATA}/versions/1", token=token), 404, "not_found")
        for value in ["101", "-1", "2.5", "yes"]:
            self.refused(12, "app", "set", f"document_versions_kept={value}", words="0...100")

    def test_every_write_keeps_its_version_and_its_author(self):
        grant = self.site.login()
        token, user = grant["access_token"], grant["user_id"]
        client = self.site.client(
            "--app", "default", "scopes=read:users,update:users")
        theirs = f"/v1/users/{user}/custom-data"
        self.keep(100)
        self.write(token, {"a": [1], "b": 2.0})
        self.write(token, {"b": None}, "PATCH", kind=MERGE)
        self.write(token, [{"op": "add", "path": "/a/-", "value": 2}], "PATCH", kind=PATCH)
        self.write(token, {"update": {"$push": {"a": 3}}}, "POST", f"{DATA}/update")
        self.write(client["secret"], {"c": 1}, "PATCH", theirs, MERGE)
        self.write(client["secret"], {"update": {"$set": {"c": 2}}}, "POST", f"{theirs}/update")
        self.write(token, None, "DELETE", kind={})
        self.write(client["secret"], {"d": 1}, path=theirs)
        self.write(client["secret"], None, "DELETE", theirs, {})
        versions = self.versions(token).json
        by_client = "client:" + client["id"]
        self.assertEqual(
            [(v["version"], v["actor"], v["deleted"]) for v in reversed(versions)],
            [(1, "user", False), (2, "user", False), (3, "user", False), (4, "user", False),
             (5, by_client, False), (6, by_client, False), (7, "user", True),
             (8, by_client, False), (9, by_client, True)])
        times = [v["changed_at"] for v in versions]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual(self.versions(client["secret"], theirs).json, versions)
        bodies = {1: {"a": [1], "b": 2.0}, 2: {"a": [1]}, 3: {"a": [1, 2]}, 4: {"a": [1, 2, 3]},
                  5: {"a": [1, 2, 3], "c": 1}, 6: {"a": [1, 2, 3], "c": 2}, 8: {"d": 1}}
        for version in range(11):
            for path, key in [(DATA, token), (theirs, client["secret"])]:
                answer = self.site.get(f"{path}/versions/{version}", token=key)
                if version in bodies:
                    self.assertEqual(self.expect(answer, 200).json, bodies[version])
                    self.assertEqual(answer.version, version)
                else:
                    self.expect(answer, 404, "not_found")
        self.assertIn(b"2.0", self.site.get(f"{DATA}/versions/1", token=token).body)
        same = self.site.get(f"{DATA}/versions/3", token=token, headers={"If-None-Match": '"3"'})
        self.expect(same, 304)
        # A refused write makes no version, nor does one that changes nothing.
        self.site.request("PUT", DATA, {}, {**JSON, "If-Match": '"1"'}, token)
        self.post(f"{DATA}/update", {"update": {"$set": {"a": 1}}}, token=token)
        self.expect(self.site.request("DELETE", DATA, token=token), 204)
        self.assertEqual(self.numbers(token)[0], 9)

    def test_a_put_restores_an_old_version(self):
        token, path = self.site.login()["access_token"], "/v1/me/metadata"
        for theme in ["dark", "light", "none"]:
            self.write(token, {"theme": theme}, path=path)
        old = self.site.get(f"{path}/versions/1", token=token)
        back = self.write(token, old.body, path=path, **{"If-Match": '"3"'})
        self.assertEqual((back.json, back.version), ({"theme": "dark"}, 4))
        self.assertEqual(self.numbers(token, path), [4, 3, 2, 1])

    def test_only_the_last_versions_are_kept_and_listed_in_pages(self):
        token = self.site.login()["access_token"]
        for number in range(1, 9):
            self.write(token, {"n": number})
        self.assertEqual(self.numbers(token), [8, 7, 6, 5, 4])
        self.expect(self.site.get(f"{DATA}/versions/3", token=token), 404, "not_found")
        pages, link = [], f"{DATA}/versions?limit=2"
        while link:
            page = self.expect(self.site.get(link, token=token), 200)
            pages.append([version["version"] for version in page.json])
            link = page.headers["Link"] and page.headers["Link"].split(">")[0].lstrip("<")
        self.assertEqual(pages, [[8, 7], [6, 5], [4]])
        for query in ["?limit=0", "?limit=101", "?cursor=x", "?limit=2&limit=2", "?nope=1"]:
            self.expect(self.site.get(f"{DATA}/versions{query}", token=token), 422, "validation_failed")
        # A lower number applies at the next write. With zero, no version is written.
        self.keep(2)
        self.write(token, {"n": 9})
        self.assertEqual(self.numbers(token), [9, 8])
        self.keep(0)
        self.write(token, {"n": 10})
        self.assertEqual(self.numbers(token), [9, 8])

    def test_a_thousand_concurrent_patches_leave_exactly_the_last_versions(self):
        self.keep(7)
        token, path = self.site.login()["access_token"], "/v1/me/metadata"

        def patches(number):
            client = self.site.connection()
            statuses = [
                self.site.request("PATCH", path, {f"k{index}": index}, MERGE, token, client).status
                for index in range(number, 1000, 32)]
            client.close()
            return statuses

        statuses = sum(in_parallel(32, patches), [])
        self.assertEqual((len(statuses), set(statuses)), (1000, {200}))
        self.assertEqual(self.numbers(token, path), list(range(1000, 993, -1)))
        for version in range(994, 1001):
            body = self.site.get(f"{path}/versions/{version}", token=token).json
            self.assertEqual(len(body), version)

    def test_concurrent_writes_and_deletions_leave_consecutive_versions(self):
        self.keep(10)
        token = self.site.login()["access_token"]

        def work(number):
            client = self.site.connection()
            for index in range(40):
                if (index + number) % 4:
                    self.site.request("PUT", DATA, {"n": index}, JSON, token, client)
                else:
                    self.site.request("DELETE", DATA, token=token, connection=client)
            client.close()

        in_parallel(16, work)
        last = self.write(token, {}).version
        self.assertEqual(self.numbers(token), list(range(last, last - 10, -1)))

    def test_an_import_keeps_versions_too(self):
        rows = [{"email": f"{name}@example.com", "custom_data": {"n": name}, "metadata": {"m": 1}}
                for name in ["a", "b"]]
        path = self.site.folder / "history.ndjson"
        for n in [1, 2, 2, 3]:
            for row in rows:
                row["custom_data"]["v"] = n
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            self.site.dossier("user", "import", path, "--update-existing", output="table")
        found = self.site.sql(
            "select string_agg(concat_ws(' ', kind, v.version, actor, body), ', ' "
            "order by kind, v.version) from document_versions v join users using (user_id) "
            "where email = 'b@example.com'")
        # A document that an import leaves unchanged has no new version.
        self.assertEqual(
            found,
            'custom_data 1 operator:tester {"n": "b", "v": 1}, '
            'custom_data 2 operator:tester {"n": "b", "v": 2}, '
            'custom_data 3 operator:tester {"n": "b", "v": 3}, metadata 1 operator:tester {"m": 1}')

    def test_versions_require_access_to_the_document(self):
        grant, other = self.site.login(), self.site.login()["access_token"]
        token, user = grant["access_token"], grant["user_id"]
        program = self.site.client(
            "--app", "default", "scopes=read:users_app_metadata,update:users_app_metadata")["secret"]
        theirs, own = f"/v1/users/{user}/app-metadata", "/v1/me/app-metadata"
        self.write(program, {"plan": "pro"}, path=theirs)
        self.write(program, {"plan": None}, "PATCH", theirs, MERGE)
        for path, key in [(theirs, program), (own, token)]:
            self.assertEqual(self.numbers(key, path), [2, 1])
            self.assertEqual(
                self.site.get(f"{path}/versions/1", token=key).json, {"plan": "pro"})
        self.assertEqual(self.versions(other, own).json, [])
        self.expect(self.site.get(f"{own}/versions/1", token=other), 404, "not_found")
        # The versions of one document are not shown as those of another.
        self.assertEqual(self.versions(token).json, [])
        for path in ["metadata", "custom-data"]:
            for rest in ["versions", "versions/1"]:
                self.expect(self.site.get(f"/v1/users/{user}/{path}/{rest}", token=program),
                            403, "insufficient_scope")
        for rest in ["versions", "versions/1"]:
            self.expect(self.site.get(f"/v1/users/{'0' * 24}/app-metadata/{rest}", token=program),
                        404, "not_found")
        for version in ["x", "0", "-1", "9" * 30]:
            self.expect(self.site.get(f"{own}/versions/{version}", token=token), 404, "not_found")
        self.site.dossier("app", "set", "app_metadata_readable=false")
        for path in [own, f"{own}/versions", f"{own}/versions/1"]:
            self.expect(self.site.get(path, token=token), 403, "insufficient_scope")
        self.assertEqual(self.numbers(program, theirs), [2, 1])
        # The user's own export has neither this document nor its old versions.
        every = self.site.client("--operator")["secret"]
        for path, key, seen in [("/v1/me/export", token, False),
                                (f"/v1/users/{user}/export", every, True)]:
            export = self.expect(self.site.get(path, token=key), 200).json
            self.assertEqual("app_metadata" in export["documents"], seen)
            self.assertEqual(
                "app_metadata" in {version["kind"] for version in export["document_versions"]}, seen)
        self.site.dossier("app", "set", "app_metadata_readable=null")

    def test_an_export_has_the_versions_and_a_deletion_leaves_none(self):
        grant = self.site.login()
        token = grant["access_token"]
        self.write(token, {"secret": 2.0})
        self.write(token, None, "DELETE", kind={})
        export = self.expect(self.site.get("/v1/me/export", token=token), 200).json
        self.assertEqual(export["documents"], {})
        self.assertEqual(
            [(v["kind"], v["version"], v["actor"], v["deleted"], v["body"])
             for v in export["document_versions"]],
            [("custom_data", 1, "user", False, {"secret": 2.0}),
             ("custom_data", 2, "user", True, None)])
        self.assertEqual(self.count(grant["user_id"]), 2)
        self.expect(self.site.request("DELETE", "/v1/me", token=token), 204)
        self.assertEqual(self.count(grant["user_id"]), 0)

    def test_an_export_is_limited_and_counts_the_omitted_versions(self):
        grant = self.site.login()
        token, user = grant["access_token"], grant["user_id"]
        self.write(token, {"newest": True})
        # Copies of one row of the user with new keys: 7 rows more than an export holds.
        for table, count, other in [
                ("sessions", 1_006, "'session_id', new_object_id(), 'ended_at', now()"),
                ("audit", 10_007, "'event_id', new_object_id()")]:
            self.site.sql(
                f"insert into {table} select (jsonb_populate_record(t, jsonb_build_object({other}))).* "
                f"from {table} t, generate_series(1, {count}) "
                f"where t.ctid = (select min(ctid) from {table} where user_id = '{user}')")
        # Of 12 versions of a million bytes, the newest eight and the one above fit into 8 MiB.
        self.site.sql(
            "insert into document_versions select (jsonb_populate_record(t, jsonb_build_object("
            "'version', 100 + i, 'body', jsonb_build_object('a', repeat('x', 1000000)), "
            "'changed_at', t.changed_at - (20 - i) * interval '1 minute'))).* "
            f"from document_versions t, generate_series(1, 12) i where user_id = '{user}'")
        export = self.expect(self.site.get("/v1/me/export", token=token), 200).json
        total = int(self.site.sql(f"select count(*) from audit where user_id = '{user}'"))
        self.assertEqual(
            export["left_out"], {"sessions": 7, "audit": total - 10_000, "version_bodies": 4})
        self.assertEqual((len(export["sessions"]), len(export["audit"])), (1_000, 10_000))
        # The export has the newest sessions, and older versions without their bodies.
        ids = [session["id"] for session in export["sessions"]]
        newest = self.site.sql(f"select max(session_id) from sessions where user_id = '{user}'")
        self.assertEqual((ids, ids[-1]), (sorted(ids), newest))
        told = {v["version"]: v["body"] is not None for v in export["document_versions"]}
        self.assertEqual(told, {1: True, **{100 + i: i > 4 for i in range(1, 13)}})
        self.assertEqual(
            {v["version"] for v in export["document_versions"] if v["body_left_out"]},
            {101, 102, 103, 104})

    def test_a_user_is_deleted_while_its_documents_are_written(self):
        for _ in range(5):
            grant = self.site.login()
            token = grant["access_token"]
            self.write(token, {})
            writing = threading.Event()

            def work(number):
                if number == 0:
                    writing.wait()
                    return {self.site.request("DELETE", "/v1/me", token=token).status}
                statuses = set()
                for index in range(30):
                    statuses.add(self.site.request(
                        "PATCH", DATA, {"n": index}, MERGE, token).status)
                    writing.set()
                return statuses

            statuses = in_parallel(8, work)
            self.assertEqual(statuses[0], {204})
            self.assertLessEqual(set().union(*statuses[1:]), {200, 401})
            self.assertEqual(self.count(grant["user_id"]), 0)


if __name__ == "__main__":
    unittest.main()
