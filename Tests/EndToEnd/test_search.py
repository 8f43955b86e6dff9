"""Search for users: the filter language and access."""

import json
import subprocess
import unittest
import urllib.parse

from cases import Case
from asking import JSON, MERGE
from machine import BUILD


class SearchCase(Case):
    """Tests with six users and four indexes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.sql("insert into apps (app_id, name) values (new_object_id(), 'other')")
        cls.operator = cls.cli("client", "create", "tools", "kind=machine", "--operator")["secret"]
        cls.reader = cls.client("reader", "read:users")
        cls.full = cls.client("full", "read:users", "read:users_app_metadata")
        cls.people = {
            name: cls.person(name, metadata, custom, named=True) for name, metadata, custom in [
                ("ada", {"theme": "dark", "size": 1}, {"level": 7, "tags": ["a"]}),
                ("bob", {"theme": "light", "size": 2.0}, {"level": 9.5}),
                ("cyd", {"theme": "dark", "beta": True, "size": 3}, {"level": -1}),
                ("dan", {"theme": "Dark", "beta": False}, None),
                ("eve", {"theme": None, "odd key": {"in \"side": 1}}, {"level": "7"}),
                ("fay", {"theme": "da\"r\\k é😀", "size": 1e20}, {"level": 7.0}),
            ]}
        for path, kind in [("metadata.theme", "text"), ("custom_data.level", "number"),
                           ("metadata.beta", "boolean"), ("app_metadata.plan", "text")]:
            shown = cls.cli("index", "create", path, f"kind={kind}")
            assert shown == {"app": "default", "path": path, "kind": kind, "state": "ready"}, shown

    @classmethod
    def cli(cls, *words, status=0):
        run = subprocess.run([BUILD / "dossier", *words, "--json"], capture_output=True,
                             text=True, env=cls.site.environment)
        assert run.returncode == status, (run.returncode, run.stderr)
        return json.loads(run.stdout) if status == 0 else run.stderr

    @classmethod
    def client(cls, name, *scopes, app="default"):
        return cls.cli("client", "create", name, "--app", app, "kind=machine",
                       f"scopes={','.join(scopes)}")["secret"]

    @classmethod
    def person(cls, name, metadata=None, custom=None, named=False, app="default"):
        app = {"Dossier-App": app}
        answer = cls.site.request(
            "POST", "/v1/register", {"email": f"{name}@Example.com", "password": "correct horse"},
            {**JSON, **app})
        assert answer.status == 201, answer.body
        token = answer.json["access_token"]
        if named:
            cls.site.request("PATCH", "/v1/me", {
                "name": name.title(), "nickname": f"n-{name}", "locale": "de-CH",
                "phone": f"+4179000{ord(name[0]):04}"}, {**MERGE, **app}, token)
        for path, body in [("metadata", metadata), ("custom-data", custom)]:
            if body is not None:
                written = cls.site.request("PUT", f"/v1/me/{path}", body, {**JSON, **app}, token)
                assert written.status in (200, 201), written.body
        return answer.json

    def search(self, filter, key=None, headers=None, **query):
        query = urllib.parse.urlencode({"filter": filter, **query})
        return self.site.get(f"/v1/users?{query}", token=key or self.full, headers=headers)

    def found(self, filter, **options):
        answer = self.expect(self.search(filter, **options), 200)
        # Sorted by id, since ids of one second have no order.
        return sorted(user["email"].split("@")[0] for user in answer.json)

    def finds(self, filter, *names, **options):
        self.assertEqual(self.found(filter, **options), list(names), filter)


class Search(SearchCase):

    # The language

    def test_each_operator_on_text(self):
        for filter, names in [
            ('metadata.theme = "dark"', "ada cyd"),
            ('metadata.theme = "da\\"r\\\\k \\u00e9\\ud83d\\ude00"', "fay"),
            ('metadata.theme < "dark"', "dan fay"),
            ('metadata.theme <= "dark"', "ada cyd dan fay"),
            ('metadata.theme > "dark"', "bob"),
            ('metadata.theme >= "dark"', "ada bob cyd"),
            ('metadata.theme ^= "da"', "ada cyd fay"),
            ('metadata.theme ^= ""', "ada bob cyd dan fay"),
            ('metadata.theme in ("light", "Dark", "x")', "bob dan"),
            ('metadata.theme exists', "ada bob cyd dan fay"),
            ('metadata.theme exists and metadata.theme != "dark"', "bob dan fay"),
            ('name ^= "" and metadata.theme != "dark"', "bob dan eve fay"),
        ]:
            self.finds(filter, *names.split())

    def test_each_operator_on_numbers(self):
        for filter, names in [
            ("custom_data.level = 7", "ada fay"),
            ("custom_data.level = 7.000", "ada fay"),
            ("custom_data.level = 70e-1", "ada fay"),
            ("custom_data.level < 7", "cyd"),
            ("custom_data.level <= 7", "ada cyd fay"),
            ("custom_data.level > 7", "bob"),
            ("custom_data.level >= 7", "ada bob fay"),
            ("custom_data.level > -1.5 and custom_data.level < 0", "cyd"),
            ("custom_data.level in (9.5, -1)", "bob cyd"),
            # A value of another kind exists, but equals no value of the index.
            ("custom_data.level exists", "ada bob cyd eve fay"),
            ('email exists and custom_data.level = "7"', "eve"),
        ]:
            self.finds(filter, *names.split())

    def test_each_operator_on_booleans(self):
        self.finds("metadata.beta = true", "cyd")
        self.finds("metadata.beta = false", "dan")
        self.finds("metadata.beta in (true, false)", "cyd", "dan")
        self.finds("metadata.beta exists", "cyd", "dan")
        self.finds('metadata.theme = "dark" and not metadata.beta = true', "ada")
        self.finds('metadata.theme = "dark" and metadata.beta != true', "ada")

    def test_the_profile(self):
        for filter, names in [
            ('email = " ADA@example.com"', "ada"),
            ('email in ("BOB@example.com", "x@example.com")', "bob"),
            ('email ^= "C"', "cyd"),
            ('name = "Ada"', "ada"), ('name = "\\uff41DA"', "ada"), ('name ^= "a"', "ada"),
            ('email_domain = "Example.com" and name = "Ada"', "ada"), ('email_domain = "com"', ""),
            ('nickname > "n-eve"', "fay"),
            ('phone = "+41790000097"', "ada"),
            ('name exists and locale = "de-CH" and zone exists', ""),
            ('names = "ada"', "ada"), ('names ^= "aD" or names = "BOB"', "ada bob"),
            ('names = "ad"', ""), ('names = "n-eve"', "eve"), ('names ^= "eve n"', "eve"),
            ('name ^= "" and not names ^= "a" and names exists and names != "bob"',
             "cyd dan eve fay"),
            ('names ^= "\\u0027|&!:* \\\\"', ""), ('names = ""', ""),
            ('name in ("Ada", "Bob") and not blocked = true and anonymous = false', "ada bob"),
            ('name in ("Ada", "Bob") and email_verified = true', ""),
            ('created_at > "2020-01-01" and name = "Ada"', "ada"),
            ('created_at < "2020-01-01T00:00:00.5+01:00"', ""),
            ('name = "Ada" and last_login_at > "2020-02-29"', "ada"),
            ('name ^= "" and not given_name exists and not family_name exists',
             "ada bob cyd dan eve fay"),
        ]:
            self.finds(filter, *names.split())

    def test_terms_are_combined(self):
        for filter, names in [
            ('metadata.theme = "light" or metadata.theme = "dark" and metadata.beta = true', "bob cyd"),
            ('(metadata.theme = "light" or metadata.theme = "dark") and metadata.beta = true', "cyd"),
            ('metadata.theme = "light" or custom_data.level = 7 or name = "Eve"', "ada bob eve fay"),
            ('not (metadata.size = 1 or metadata.size = 2) and metadata.theme exists', "cyd dan fay"),
            ('not not metadata.theme = "dark" and metadata.theme = "dark"', "ada cyd"),
            ('metadata.theme exists and metadata.size >= 2', "bob cyd fay"),
            ('email exists and metadata."odd key"."in \\"side" = 1', "eve"),
            ('email exists and metadata.size exists and custom_data.tags exists', "ada"),
            ('(metadata.theme = "dark" and (name = "Ada" or metadata.size = 3)) or email = "dan@example.com"',
             "ada cyd dan"),
            ('metadata.theme exists or name = "Eve"', "ada bob cyd dan eve fay"),
        ]:
            self.finds(filter, *names.split())

    def test_an_invalid_filter_is_reported_with_its_place(self):
        for filter, position, rule in [
            ("", 0, "syntax"), ('email = "x" and', 15, "syntax"), ("email = 7", 8, "kind"),
            ("password = 1", 0, "member"), ("metadata = 1", 8, "path"), ('email = "x', 8, "syntax"),
            ('email ~ "x"', 6, "operator"), ("x" * 2001, 2000, "length"),
        ]:
            answer = self.expect(self.search(filter), 422, "filter_invalid").json
            self.assertEqual((answer["position"], answer["rule"]), (position, f"filter.{rule}"))
        for query in ["filter=%ff", "filter=x&filter=y", "limit=0", "limit=101", "limit=x", "page=1",
                      "cursor=x"]:
            self.expect(self.site.get(f"/v1/users?{query}", token=self.full), 422, "validation_failed")

    UNINDEXED = [
        ("metadata.size = 1", ["ada"]), ('metadata.theme != "dark"', ["bob", "dan", "eve", "fay"]),
        ('not metadata.theme = "dark"', ["bob", "dan", "eve", "fay"]),
        ('metadata.theme = "dark" or metadata.size = 2', ["ada", "bob", "cyd"]),
        ("blocked = true", []), ("metadata.theme = 1", []), ('last_login_at > "2999-01-01"', []),
        ('locale = "de"', []), ('name *= "A"', ["ada", "dan", "fay"]),
        ('email $= "A@example.com"', ["ada"]), ('metadata.theme *= "ark"', ["ada", "cyd", "dan"]),
        ('metadata.theme $= "e😀"', []), ('metadata.theme $= "é😀"', ["fay"]),
        ('metadata.theme *= "%"', []), ('custom_data.level *= "7"', ["eve"]),
    ]

    def test_a_filter_that_no_index_serves_reads_the_users(self):
        for filter, names in self.UNINDEXED:
            with self.subTest(filter):
                self.finds(filter, *names)

    def test_a_filter_that_no_index_serves_is_refused_above_a_number_of_users(self):
        self.site.sql("""
            insert into apps (app_id, name) values (new_object_id(), 'large');
            insert into users (user_id, app_id, anonymous, name)
            select 'e' || lpad(to_hex(g), 23, '0'), app_id, true, 'Many' from apps, generate_series(1, 50001) g
            where name = 'large'""")
        for path in ["metadata.theme", "app_metadata.plan"]:
            self.cli("index", "create", path, "kind=text", "--app", "large")
        here = {"Dossier-App": "large"}
        keys = [self.client("all", *scopes, app="large")
                for scopes in [["read:users", "read:users_app_metadata"], ["read:users"]]]
        for filter, _ in self.UNINDEXED:
            answer = self.search(filter, keys[0], here)
            answer = self.expect(answer, 422, "not_indexed").json
            self.assertIn("at most 50000 users", answer["detail"])
            self.assertLessEqual({"metadata.theme", "email", "app_metadata.plan"},
                                 set(answer["indexed"]))
        answer = self.search("metadata.size = 1 or blocked = true", keys[1], here)
        answer = self.expect(answer, 422, "not_indexed").json
        self.assertEqual(answer["missing"], ["metadata.size"])
        self.assertIn("metadata.size", answer["detail"])
        self.assertNotIn("app_metadata.plan", answer["indexed"])
        # More candidates than are looked up by their ids
        for filter in ['name = "many"', 'name ^= "m"', "name exists"]:
            page = self.expect(self.search(filter, keys[0], here, limit=2), 200)
            self.assertEqual([user["id"][-2:] for user in page.json], ["51", "50"])
        self.assertIn("Indexed: ", self.cli("user", "list", "--app", "large", "--filter",
                                            "blocked = true", status=12))
        self.site.sql("delete from users where user_id like 'e%1'")
        self.assertEqual(self.expect(self.search("blocked = true", keys[0], here), 200).json, [])

    def test_values_of_a_filter_are_only_compared(self):
        before = self.site.sql("select count(*) from users")
        for text in ["' or '1'='1", "'; drop table users; --", "$1", "%", "_", "\\", "\\'", "{}", '"',
                     "{\"a\",NULL}", "\u202e", "x" * 255]:
            quoted = json.dumps(text)
            self.finds(f"name = {quoted}")
            self.finds(f"name in ({quoted}, {quoted})")
            self.finds(f"email = {quoted}")
            self.finds(f"metadata.theme in ({quoted})")
            path = json.dumps(text[:128])
            self.finds(f'name = "Ada" and metadata.{path} = {quoted}')
            self.finds(f'name = "Ada" and metadata.{path} exists')
        self.finds('name in ("NULL", "null", "Ada")', "ada")
        self.expect(self.search('name = "x\\u0000"'), 422, "filter_invalid")
        self.assertEqual(self.site.sql("select count(*) from users"), before)

    # Access

    def test_callers_without_access_cannot_search(self):
        user = self.people["ada"]["access_token"]
        filter = 'name = "Ada"'
        self.expect(self.search(filter, key=user), 401, "client_unknown")
        self.expect(self.site.get("/v1/users"), 401, "client_unknown")
        self.expect(self.search(filter, key="ds_client_x"), 401, "client_unknown")
        others = self.client("writer", "update:users")
        self.expect(self.search(filter, key=others), 403, "insufficient_scope")
        foreign = self.client("foreign", "read:users", app="other")
        self.expect(self.search(filter, key=foreign), 401, "client_unknown")
        self.finds(filter, "ada", key=self.reader)
        self.finds(filter, "ada", key=self.operator)
        refused = self.search('name = "x" or not app_metadata.plan = "gold"', key=self.reader)
        self.expect(refused, 403, "insufficient_scope")
        self.finds('app_metadata.plan = "gold"')
        self.finds('app_metadata.plan = "gold"', key=self.operator)

    def test_only_the_operator_declares_indexes(self):
        for method, path, body in [("GET", "/v1/indexes", None), ("DELETE", "/v1/indexes/" + "0" * 24, None),
                                   ("POST", "/v1/indexes", {"path": "metadata.x", "kind": "text"})]:
            for key in [None, self.full, self.people["ada"]["access_token"]]:
                answer = self.site.request(method, path, body, JSON, key)
                self.assertIn(answer.status, (401, 403), (path, answer.body))

    def test_users_of_another_app_are_invisible(self):
        grant = self.person("zoe", {"theme": "neon"}, named=True, app="other")
        key = self.client("other", "read:users", app="other")
        here = {"Dossier-App": "other"}
        self.finds('name = "Zoe"', "zoe", key=key, headers=here)
        self.finds('name = "Zoe"')
        self.finds('email = "zoe@example.com" or metadata.theme = "neon"')
        self.finds('metadata.theme = "neon"', "zoe", key=key, headers=here)
        self.assertEqual(
            [user["id"] for user in self.site.get("/v1/users", token=key, headers=here).json],
            [grant["user_id"]])


if __name__ == "__main__":
    unittest.main()
