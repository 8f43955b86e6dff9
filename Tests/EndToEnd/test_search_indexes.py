"""Search for users while data changes: pages, indexes and limits."""

import subprocess
import threading
import time
import unittest
import urllib.parse

from asking import JSON, MERGE, PATCH
from machine import BUILD, TOOLS, wait_until
from test_search import SearchCase


class Indexes(SearchCase):
    def follow(self, answer):
        link = self.expect(answer, 200).headers["Link"]
        return link and link[link.index("<") + 1:link.index(">")]

    def forget(self, people):
        """Deletes users, so that other tests do not find them."""
        for person in people:
            self.site.request("DELETE", "/v1/me", token=person["access_token"])

    def test_pages_by_cursor_over_data_that_changes(self):
        people = [self.person(f"p{n}", {"theme": "paged"}) for n in range(5)]
        self.addCleanup(self.forget, people)
        first = self.search('metadata.theme = "paged"', limit=2, sort="created_at")
        self.assertEqual([user["id"] for user in first.json], [p["user_id"] for p in people[:2]])
        # Between the pages, a listed user is deleted, another stops matching, and a new one is created.
        self.site.request("DELETE", "/v1/me", token=people[0]["access_token"])
        self.site.request("PATCH", "/v1/me/metadata", {"theme": "x"}, MERGE, people[3]["access_token"])
        people.append(self.person("p5", {"theme": "paged"}))
        seen, page = [], self.follow(first)
        while page:
            answer = self.site.get(page, token=self.full)
            seen += [user["id"] for user in answer.json]
            page = self.follow(answer)
        self.assertEqual(seen, [people[n]["user_id"] for n in (2, 4, 5)])
        # By default the newest come first. A user who registers meanwhile is on no later page.
        everybody, page = [], "/v1/users?limit=3"
        while page:
            answer = self.site.get(page, token=self.reader)
            self.assertLessEqual(len(answer.json), 3)
            everybody += answer.json
            page = self.follow(answer)
            if len(everybody) == 3:
                people.append(self.person("p6", {"theme": "paged"}))
        times = [user["created_at"] for user in everybody]
        self.assertEqual(times, sorted(times, reverse=True))
        ids = [user["id"] for user in everybody]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(ids[0], people[5]["user_id"])
        self.assertNotIn(people[6]["user_id"], ids)

    def test_lists_are_sorted_by_indexed_members(self):
        here = {"Dossier-App": "sorted"}
        self.cli("app", "create", "sorted")
        key = self.client("sorter", "read:users", app="sorted")
        self.site.sql("""
            insert into users (user_id, app_id, anonymous, email, name, created_at)
            select lpad(to_hex(7 * g % 11), 24, 'c'), app_id, g > 8, email, v.name,
              timestamptz '2020-02-29' + made * interval '1 microsecond'
            from apps, (values (1, 'b@x.example', 'Zoé', 5), (2, 'A@x.example', 'zoe', 4),
              (3, 'ä@x.example', 'ZOE', 3), (4, null, 'émile', 2), (5, 'c@x.example', null, 2),
              (6, 'D@x.example', 'b.c', 2), (7, 'e@x.example', U&'\\+01F600', 1), (9, null, null, 0)
            ) as v (g, email, name, made) where apps.name = 'sorted'""")

        def pages(sort, **query):
            query = urllib.parse.urlencode(
                {"limit": 2, **query, **({"sort": sort} if sort else {})})
            found, page = [], f"/v1/users?{query}"
            while page:
                answer = self.expect(self.site.get(page, token=key, headers=here), 200)
                found += answer.json
                page = self.follow(answer)
            return found

        for sort, column, expression in [
            ("created_at", "created_at", "created_at"), ("email", "email", "email_key(email)"),
            ("name", "name", "name_key(name)"),
        ]:
            order = self.site.sql(
                f"select user_id from users natural join (select app_id from apps where name = 'sorted') a "
                f"where {column} is not null order by {expression} collate \"C\", user_id"
                if column != "created_at" else
                "select user_id from users natural join (select app_id from apps where name = 'sorted') a "
                "order by created_at, user_id").split()
            self.assertEqual(len(order), 8 if sort == "created_at" else 6)
            for filter in [{}, {"filter": "not anonymous = true or created_at exists"}]:
                with self.subTest(sort=sort, filter=filter):
                    self.assertEqual([user["id"] for user in pages(sort, **filter)], order)
                    self.assertEqual([user["id"] for user in pages(f"-{sort}", **filter)],
                                     order[::-1])
        self.assertEqual(pages(None), pages("-created_at"))
        rows = self.cli("user", "list", "--app", "sorted", "--sort", "-name", "--limit", "3")
        self.assertEqual([row["id"] for row in rows], [row["id"] for row in pages("-name")[:3]])

    def test_a_cursor_holds_for_its_order_only(self):
        def cursor(sort):
            link = self.follow(self.site.get(f"/v1/users?limit=1&sort={sort}", token=self.full))
            return urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["cursor"][0]

        mine = cursor("-name")
        self.expect(self.site.get(f"/v1/users?sort=-name&cursor={mine}", token=self.full), 200)
        user, value, _ = mine.split(".")
        time_of = cursor("created_at").split(".")[1]
        for query in [
            f"cursor={mine}", f"sort=name&cursor={mine}", f"sort=-name&cursor={cursor('-email')}",
            f"sort=-name&cursor={user}.-name", f"sort=-name&cursor={user}.{value}",
            f"sort=-name&cursor={user}.a.-name", f"sort=-name&cursor={user}.AA.-name",
            f"sort=-name&cursor={user}._w.-name", f"sort=-name&cursor=.{value}.-name",
            f"sort=-name&cursor={user}.{'QQ' * 3000}.-name", f"cursor={user}.{value}.-created_at",
            f"cursor={user}.aW5maW5pdHk.-created_at", f"cursor={user}.-created_at",
            f"cursor={user}", "sort=last_login_at", "sort=", "sort=-NAME", "sort=name&sort=name",
            "total=exact", "total=",
        ]:
            with self.subTest(query[:60]):
                self.expect(self.site.get(f"/v1/users?{query}", token=self.full), 422,
                            "validation_failed")
        self.expect(self.site.get(f"/v1/users?cursor={user}.{time_of}.-created_at",
                                  token=self.full), 200)

    def test_the_total_is_exact_up_to_a_bound_and_else_an_estimate(self):
        self.site.sql("""
            insert into apps (app_id, name) values (new_object_id(), 'counted');
            insert into users (user_id, app_id, anonymous, name)
            select 'd' || lpad(to_hex(g), 23, '0'), app_id, g % 2 = 0, 'n' || g % 3
            from apps, generate_series(1, 9999) g where name = 'counted'""")
        key = self.client("counter", "read:users", app="counted")

        def total(**query):
            query = urllib.parse.urlencode({"limit": 1, "total": "estimate", **query})
            answer = self.site.get(f"/v1/users?{query}", token=key,
                                   headers={"Dossier-App": "counted", "Origin": "http://localhost"})
            return self.expect(answer, 200).headers["Total-Count"]

        self.assertEqual(total(), "9999")
        self.assertEqual(total(filter='name = "n1"'), "3333")
        self.assertEqual(total(filter="anonymous = true"), "4999")
        self.assertEqual(total(filter='name = "n1" and anonymous = true', sort="email"), "1666")
        self.assertEqual(total(filter='name = "nobody"'), "0")
        shown = self.site.get("/v1/users?limit=1", token=key, headers={"Dossier-App": "counted"})
        self.assertIsNone(shown.headers["Total-Count"])
        self.site.sql("""
            insert into users (user_id, app_id, anonymous, name)
            select 'd' || lpad(to_hex(g), 23, '0'), app_id, true, 'many'
            from apps, generate_series(10000, 30000) g where name = 'counted'; analyze users""")
        count, mark = total().split(";")
        self.assertEqual(mark, "estimate")
        self.assertGreater(int(count), 27_000)
        self.assertLess(int(count), 33_000)
        self.assertEqual(total(filter='name = "many"'), "10001;at-least")
        self.assertEqual(total(filter='name = "many" and anonymous = false'), "0;at-least")
        # A rare value among many users is counted.
        self.assertEqual(total(filter='name = "n1"'), "3333")
        run = subprocess.run(
            [BUILD / "dossier", "user", "list", "--app", "counted", "--limit", "2", "--total"],
            capture_output=True, text=True, env=self.site.environment, check=True)
        self.assertRegex(run.stderr, r"about \d{5} users in total; there may be more: --cursor ")

    def test_a_value_is_found_as_soon_as_it_is_written(self):
        grant = self.person("gus", {"theme": "first"})
        token, path = grant["access_token"], "/v1/me/metadata"
        for method, body, headers in [
            ("PATCH", {"theme": "second"}, MERGE), ("PUT", {"theme": "third"}, JSON),
            ("PATCH", [{"op": "replace", "path": "/theme", "value": "fourth"}], PATCH),
        ]:
            self.expect(self.site.request(method, path, body, headers, token), 200)
            theme = body["theme"] if isinstance(body, dict) else "fourth"
            self.finds(f'metadata.theme = "{theme}"', "gus")
            self.finds('metadata.theme = "first"')
        self.site.request("PATCH", path, {"theme": None}, MERGE, token)
        self.finds('metadata.theme in ("third", "fourth")')
        self.site.request("PUT", "/v1/me/custom-data", {"level": 4711}, JSON, token)
        self.finds("custom_data.level = 4711", "gus")
        self.site.request("DELETE", "/v1/me/custom-data", token=token)
        self.finds("custom_data.level = 4711")
        long = "l" * 400
        self.site.request("PUT", path, {"theme": long}, JSON, token)
        self.finds(f'metadata.theme ^= "{long[:255]}"', "gus")
        self.finds(f'metadata.theme = "{long[:255]}"')
        self.site.request("DELETE", "/v1/me", token=token)
        self.assertEqual(
            self.site.sql(f"select count(*) from search_values where user_id = '{grant['user_id']}'"), "0")

    def test_an_index_added_later_covers_old_documents_and_those_written_meanwhile(self):
        people = [self.person(f"w{n}", {"team": {"no": n % 3}}) for n in range(6)]
        filter = "metadata.team.no = 1"
        stop = threading.Event()

        def write():
            number = 0
            while not stop.is_set():
                number += 1
                for grant in people[3:]:
                    self.site.request("PATCH", "/v1/me/metadata", {"team": {"no": number % 3}}, MERGE,
                                      grant["access_token"])

        writer = threading.Thread(target=write)
        writer.start()
        try:
            made = self.post("/v1/indexes", {"path": "metadata.team.no", "kind": "number"},
                             token=self.operator)
            self.expect(made, 202)
            self.assertEqual((made.json["path"], made.json["state"]), ("metadata.team.no", "building"))
            wait_until(lambda: self.site.sql(
                "select state from search_indexes where index_id = "
                f"'{made.json['id']}'") == "ready", what="the index")
        finally:
            stop.set()
            writer.join()
        for number in range(3):
            wanted = self.site.sql(
                "select string_agg(user_id, ' ' order by user_id) from documents "
                f"where kind = 'metadata' and body #> '{{team,no}}' = '{number}'")
            found = self.expect(self.search(f"metadata.team.no = {number}"), 200).json
            self.assertEqual(sorted(user["id"] for user in found), wanted.split())
        again = self.post("/v1/indexes", {"path": "metadata.team.no", "kind": "number"},
                          token=self.operator)
        self.expect(again, 409, "index_exists")
        gone = self.site.request("DELETE", f"/v1/indexes/{made.json['id']}", token=self.operator)
        self.expect(gone, 204)
        wait_until(lambda: self.site.sql(
            "select (select count(*) from search_values "
            f"where index_id = '{made.json['id']}') + (select count(*) from search_indexes "
            f"where index_id = '{made.json['id']}')") == "0", what="the removal")
        unknown = self.site.request("DELETE", f"/v1/indexes/{made.json['id']}", token=self.operator)
        self.expect(unknown, 404, "not_found")

    def test_invalid_declarations(self):
        for body, pointer in [
            ({"path": "metadata", "kind": "text"}, "/path"), ({"path": "email", "kind": "text"}, "/path"),
            ({"path": "metadata.x", "kind": "date"}, "/kind"), ({"path": "metadata.x"}, "/kind"),
            ({"path": "metadata..x", "kind": "text"}, "/path"),
            ({"path": "metadata.x = 1", "kind": "text"}, "/path"),
        ]:
            answer = self.expect(self.post("/v1/indexes", body, token=self.operator), 422, "validation_failed")
            self.assertEqual([error["pointer"] for error in answer.json["errors"]], [pointer])

    def test_the_command_line(self):
        self.cli("index", "create", 'metadata."odd key"', "kind=text")
        shown = {index["path"]: index for index in self.cli("index", "list")}
        self.assertEqual(shown['metadata."odd key"']["state"], "ready")
        self.assertEqual(shown["email"]["id"], None)
        self.cli("index", "create", 'metadata."odd key"', status=11)
        self.cli("index", "create", "metadata.other", "kid=text", status=64)
        self.cli("index", "delete", 'metadata."odd key"', status=23)
        self.cli("index", "delete", 'metadata."odd key"', "--yes")
        self.cli("index", "remove", 'metadata."odd key"', status=10)
        self.assertNotIn('metadata."odd key"', [index["path"] for index in self.cli("index", "list")])
        users = self.cli("user", "list", "--filter", 'metadata.theme = "dark"')
        self.assertEqual(sorted(user["email"] for user in users), ["ada@Example.com", "cyd@Example.com"])
        self.assertIn("At byte 8", self.cli("user", "list", "--filter", "email = 7", status=12))
        self.assertEqual(self.cli("user", "list", "--filter", "blocked = true"), [])

    def test_an_interrupted_build_continues_on_several_connections(self):
        self.site.sql("""
            insert into apps (app_id, name) values (new_object_id(), 'built');
            insert into users (user_id, app_id, anonymous)
            select 'b' || lpad(to_hex(g), 23, '0'), app_id, true
            from apps, generate_series(1, 9000) g where name = 'built';
            insert into documents (user_id, kind, body, version)
            select user_id, 'metadata', jsonb_build_object('rank', g), 1
            from users u join generate_series(1, 9000) g
              on u.user_id = 'b' || lpad(to_hex(g), 23, '0')""")
        words = ["index", "create", "metadata.rank", "kind=number", "--app", "built"]
        state = ("select state || ' ' || phase || ' ' || finished_users || ' ' || cardinality(open_ranges)"
                 " from search_indexes where path = '{rank}'")
        # The first range waits for the lock of its first user.
        blocker = subprocess.Popen(
            [TOOLS / "psql", "-h", self.site.folder, "-U", "owner", "-d", "dossier", "-c",
             "begin; select 1 from users where user_id = 'b' || lpad('1', 23, '0') for update; "
             "select pg_sleep(100001)"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            wait_until(lambda: self.site.sql(
                "select count(*) from pg_stat_activity where query like '%pg_sleep(100001)' "
                "and pid <> pg_backend_pid() and wait_event = 'PgSleep'") == "1", what="the lock")
            build = subprocess.Popen(
                [BUILD / "dossier", *words, "--connections", "2"], env=self.site.environment,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            # The nodes of Citus write one range after another.
            expected = "building fill 0 2" if self.site.citus else "building fill 7000 1"
            wait_until(lambda: self.site.sql(state) == expected, what="the other ranges")
            build.kill()
            build.communicate()
        finally:
            self.site.sql("select pg_terminate_backend(pid) from pg_stat_activity "
                          "where query like '%pg_sleep(100001)' and pid <> pg_backend_pid()")
            blocker.wait()
        self.assertEqual(self.cli(*words, "--connections", "4")["state"], "ready")
        self.assertEqual(self.site.sql(state), "ready check 9000 0")
        self.assertEqual(self.site.sql(
            "select count(*) || ' ' || sum(number_value) from search_values where user_id like 'b%'"),
            "9000 40504500")
        self.assertIn("1 to 16", self.cli(*words, "--connections", "0", status=64))
        self.cli("index", "delete", "metadata.rank", "--app", "built", "--yes", "--connections", "3")
        self.assertEqual(self.site.sql(
            "select count(*) from search_values where user_id like 'b%'"), "0")

    def test_a_search_that_takes_too_long_is_ended_and_delays_no_profile(self):
        lock = subprocess.Popen(
            [TOOLS / "psql", "-h", self.site.folder, "-U", "owner", "-d", "dossier",
             "-c", "begin; lock table search_values in access exclusive mode; "
             "select pg_sleep(100000)"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        locked = ("select count(*) from pg_locks where relation = 'search_values'::regclass "
                  "and mode = 'AccessExclusiveLock' and granted")
        try:
            wait_until(lambda: self.site.sql(locked) == "1", what="the lock")
            slow = []
            searcher = threading.Thread(
                target=lambda: slow.append(self.search('metadata.theme = "dark"')))
            searcher.start()
            wait_until(lambda: self.site.waiting() == 1, what="the search that waits")
            self.expect(self.me(self.people["ada"]), 200)
            searcher.join()
            self.assertEqual(
                self.expect(slow[0], 503, "search_too_slow").headers["Retry-After"], "10")
        finally:
            self.site.sql("select pg_terminate_backend(pid) from pg_stat_activity "
                          "where query like '%pg_sleep(100000)' and pid <> pg_backend_pid()")
            lock.wait()


if __name__ == "__main__":
    unittest.main()
