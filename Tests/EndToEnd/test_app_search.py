"""One text that finds users, sessions, devices, clients and events of an app."""

from urllib.parse import quote

from cases import Administration


class AppSearch(Administration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.app = cls.site.add_app("found")
        cls.operator = cls.site.client("--operator")["secret"]
        cls.key = cls.site.client("--app", "found", "scopes=read:users")["secret"]
        cls.users = {}
        for email, members in {
                "ada@example.com": ["name=Ada Lovelace", "phone=+442079460123"],
                "adam@example.com": ["given_name=Adam"],
                "grace@example.org": ["name=Grace Hopper", "family_name=Adamson"],
        }.items():
            made = cls.site.dossier("user", "create", "--app", "found", f"email={email}", *members)
            cls.users[email] = made["id"]

    def find(self, text, key=None):
        """Returns the results that are not empty."""
        answer = self.site.request("GET", f"/v1/search?q={quote(text)}", headers=self.app,
                                   token=key or self.operator)
        return {kind: rows for kind, rows in self.expect(answer, 200).json.items() if rows}

    def emails(self, text):
        found = self.find(text)
        self.assertLessEqual(found.keys(), {"users"})
        return [user["email"] for user in found.get("users", [])]

    def test_users_are_found_by_what_their_profile_begins_with(self):
        ada, adam, grace = self.users
        self.assertEqual(self.emails(ada), [ada])
        # The exact address first, then those that begin with it.
        self.site.dossier("user", "create", "--app", "found", "email=a@example.co")
        self.site.dossier("user", "create", "--app", "found", "email=a@example.com")
        self.assertEqual(self.emails("a@example.co"), ["a@example.co", "a@example.com"])
        self.assertEqual(self.emails("A@Example.com"), ["a@example.com"])
        self.assertEqual(self.emails("@example.org"), [grace])
        self.assertEqual(self.emails("@EXAMPLE.ORG"), [grace])
        for text, found in {
                "ada": [ada, adam, grace], "ADA L": [ada], "adam": [adam, grace], "grace h": [grace],
                "+4420": [ada], "lovelace": [ada], "love AD": [ada], "Hopper Adam": [grace],
                "hopper, g": [grace], "hopper ada lovelace": [], "velace": [], "--": [], "@": [], "": [], "nobody@x": [], "%": []}.items():
            self.assertEqual(sorted(self.emails(text)), sorted(found), text)
        for number in range(25):
            self.site.dossier("user", "create", "--app", "found", f"email=many-{number}@example.net")
        self.assertEqual(len(self.emails("many")), 20)
        self.assertEqual(len(self.emails("@example.net")), 20)

    def test_an_id_finds_each_kind(self):
        grant = self.expect(self.register("id@example.com", headers=self.app), 201).json
        [event] = self.site.dossier("audit", "--app", "found", "--action", "login", "--limit", "1")
        client = self.site.client("--app", "found")["id"]
        session = event["session_id"]
        self.assertEqual([user["email"] for user in self.find(grant["user_id"])["users"]],
                         ["id@example.com"])
        [found] = self.find(session)["sessions"]
        self.assertEqual((found["user_id"], found["device_id"], found["ended_at"]),
                         (grant["user_id"], grant["device_id"], None))
        self.expect(self.post("/v1/logout", token=grant["access_token"], headers=self.app), 204)
        self.assertIsNotNone(self.find(session.upper())["sessions"][0]["ended_at"])
        self.assertEqual([row["id"] for row in self.find(grant["device_id"])["devices"]],
                         [grant["device_id"]])
        self.assertEqual([row["kind"] for row in self.find(client)["clients"]], ["machine"])
        self.assertEqual(self.find(event["id"]), {"events": [event]})
        self.assertEqual(self.find("0" * 24), {})
        # A program of the app sees no clients, and events by another scope only.
        self.assertEqual([self.find(text, self.key) for text in [client, event["id"]]], [{}, {}])
        logs = self.site.client("--app", "found", "scopes=read:users,read:logs_users")["secret"]
        self.assertEqual(self.find(event["id"], logs), {"events": [event]})
        # The ids of one app find nothing in another one.
        other = self.site.add_app("unfound")
        for text in [grant["user_id"], session, grant["device_id"], client, event["id"]]:
            answer = self.site.request("GET", f"/v1/search?q={text}", headers=other,
                                       token=self.operator)
            self.assertEqual(set(map(len, self.expect(answer, 200).json.values())), {0}, text)

    def test_only_programs_with_the_scope_search(self):
        def ask(key, query="q=ada", status=200, code=None):
            answer = self.site.request("GET", f"/v1/search?{query}", headers=self.app, token=key)
            return self.expect(answer, status, code)

        ask(self.key)
        ask(None, status=401, code="client_unknown")
        ask(self.site.client("--app", "found", "scopes=update:users")["secret"], status=403,
            code="insufficient_scope")
        ask(self.site.client("--app", "default", "scopes=read:users")["secret"], status=401,
            code="client_unknown")
        for query in ["q=" + "x" * 321, "q=a&q=b", "q=%00", "more=1", "q=%ff"]:
            ask(self.key, query, 422, "validation_failed")

    def test_the_command_prints_what_it_finds(self):
        found = self.site.dossier("search", "--app", "found", "ada@example.com")
        self.assertEqual([user["id"] for user in found["users"]], [self.users["ada@example.com"]])
        text = self.site.dossier("search", "--app", "found", "Ada L", output="text")
        self.assertIn("users\nid", text)
        self.assertNotIn("sessions", text)
        nothing = self.site.dossier("search", "--app", "found", "ovelace", check=False, output="text")
        self.assertEqual(nothing.stdout, "")
        self.assertIn("text inside a word is not searched", nothing.stderr)
