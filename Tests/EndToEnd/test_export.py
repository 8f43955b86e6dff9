"""Exported users are imported without loss."""

import json
import unittest

from test_import import HASHES, ImportCase, lines


class Export(ImportCase):
    def test_imported_documents_are_found_by_search(self):
        self.dossier("index", "create", "--app", self.app, "custom_data.level", "kind=number")
        rows = [{"email": f"l{n}@example.com", "custom_data": {"level": n}} for n in range(5)]
        self.dossier("user", "import", "-", "--app", self.app, input=lines(rows).encode())
        found = self.dossier(
            "user", "list", "--app", self.app, "--filter", "custom_data.level >= 3",
            "--json")
        self.assertEqual({user["email"] for user in json.loads(found.stdout)},
                         {"l3@example.com", "l4@example.com"})

    def test_an_export_can_be_imported_without_loss(self):
        rows = [
            {"email": "full@example.com", "email_verified": True, "password_hash": HASHES["6"],
             "name": "Ada \"L\" \\ Ω", "given_name": "Ada", "family_name": "L", "nickname": "a",
             "phone": "+4930123456", "locale": "de-DE", "zone": "Europe/Berlin", "blocked": True,
             "created_at": "2020-02-29T12:34:56.789012+02:00",
             "last_login_at": "2021-03-04T05:06:07.5+02:00", "login_count": 7,
             "identities": [{"provider": "jwt:web", "subject": "s1"}, {"provider": "saml", "subject": "s2"}],
             "metadata": {"a": None, "b": [1, 2.50, {"c": {}}]}, "app_metadata": {}, "custom_data": {"n": None},
             "properties": {"t": True, "s": "", "ü": "x"}},
            {"email": "open@example.com", "password_hash": HASHES["2b"]},
            {"email": "mail@example.com", "email_verified": True},
            {"email": "issuer@example.com", "identities": [{"provider": "jwt:web", "subject": "s3"}]},
            {"name": "Nobody"},
            {"email": "coded@example.com", "email_verified": True, "identities": [
                {"provider": "email"},
                {"provider": "jwt:web", "subject": "s4",
                 "profile": {"foreign_id": "google-oauth2|4", "name": "C"}}]},
        ]
        text = lines(rows).replace('"s": ""', '"s": "", "two": 2.0, "e": 1e2').replace('"n": null', '"n": 1e300')
        self.load(text)
        first = self.app
        out = self.site.folder / "export.ndjson"
        self.dossier("user", "export", "--all", "--app", first, "--with-password-hashes", "--output", str(out))
        self.assertEqual(out.stat().st_mode & 0o777, 0o600)
        exported = out.read_text()
        self.assertIn('"two":2.0', exported.replace(" ", ""))
        self.assertIn('"e":1e2', exported.replace(" ", ""))
        full = {**rows[0], "identities": [{"provider": "password"}, *rows[0]["identities"]]}
        self.assertEqual({k: v for k, v in json.loads(exported.splitlines()[0]).items()
                          if k not in ("id", "created_at", "last_login_at", "custom_data", "properties")},
                         {k: v for k, v in full.items()
                          if k not in ("created_at", "last_login_at", "custom_data", "properties")})
        self.assertEqual(["last_login_at" in json.loads(line) for line in exported.splitlines()],
                         [True] + [False] * 5)
        # Ids are unique in a deployment, so another app can import them after their deletion.
        self.sql("delete from identity_subjects where app_id = {app}")
        self.sql("delete from users where app_id = {app}")
        self.app = first + "-two"
        self.dossier("app", "create", self.app)
        self.assertEqual({r["status"] for r in self.load(exported)}, {"created"})
        self.dossier("user", "export", "--all", "--app", self.app, "--with-password-hashes", "--output", str(out))
        self.assertEqual(out.read_text(), exported)
        self.expect(self.sign_in("open@example.com"), 200)
        without = self.exported()
        self.assertEqual([u.get("password_hash", "-") for u in without], [None, None, None, "-", "-", "-"])
        self.assertEqual(without[5]["identities"], rows[5]["identities"])
        self.assertEqual(self.sql("select string_agg(action, ' ' order by event_id) from audit "
                                  "where app_id = {app} and action like 'users_export%'"),
                         "users_export users_export")

    def test_unusual_and_oversized_documents_survive_export_and_import(self):
        odd = {
            # Numbers in several notations, which PostgreSQL stores in its own.
            "spelling": '{"a":2.50,"b":1e2,"c":-0,"d":0e5,"e":1e-300,"f":12345678901234567890.1}',
            "wrappers": '{"$oid":"xyz","a":{"$date":"soon"},"b":{"$numberDecimal":"1.50"},'
                        '"c":[{"$oid":"0123456789abcdef01234567"},{"$undefined":false}]}',
            "text": r'{"a":"\\u0000","b":"\u2028 \ud83d\ude00 \u007f","é":1,"e\u0301":2,"":{"":null}}',
            "long key": json.dumps({"k" * 20_000: {"ä" * 3_000: [[], {}, ""]}}),
            "deep": '{"a":' * 64 + "1" + "}" * 64,
        }
        texts = {}
        for name, text in odd.items():
            user = self.load('{"custom_data":' + text + "}")[0]["id"]
            texts[user] = self.stored(user)
        # Numbers of very many digits, which older versions stored and every route refuses now.
        poisoned = [
            "0e-1000", "1e-16000", "1e131000", "[1e400, -0e-16383, {\"b\": 5e-400}]",
            "1" * 400, "0." + "0" * 900 + "1",
        ]
        for number in poisoned:
            user = self.load('{"custom_data":{"keep":1}}')[0]["id"]
            self.sql(f"""update documents set body = '{{"a": {number}, "keep": 1}}'
                         where user_id = '{user}'""")
            texts[user] = self.stored(user)
        out = self.site.folder / "odd.ndjson"
        self.dossier("user", "export", "--all", "--app", self.app, "--output", str(out))
        exported = out.read_bytes()
        self.assertEqual(
            {json.loads(line, parse_int=str)["id"] for line in exported.splitlines()}, set(texts))
        self.sql("delete from users where app_id = {app}")
        self.app += "-two"
        self.dossier("app", "create", self.app)
        results = self.load(exported)
        self.assertEqual({r["status"] for r in results}, {"created"}, results)
        self.assertEqual(len(results), len(odd) + len(poisoned))
        # Exactly equal, in the database and in the next export.
        for user, text in texts.items():
            self.assertEqual(self.stored(user), text)
        self.dossier("user", "export", "--all", "--app", self.app, "--output", str(out))
        self.assertEqual(out.read_bytes(), exported)

    def stored(self, user):
        return self.sql(f"""select body::text from documents
                            where user_id = '{user}' and kind = 'custom_data'""")

    def test_twenty_thousand_rows_are_exported_and_imported(self):
        count = 20_000
        rows = ({"id": f"6{self.apps:07x}{n:016x}", "email": f"many{n}@example.com",
                 "email_verified": n % 2 == 0, "password_hash": HASHES["2b"], "name": f"User {n}",
                 "metadata": {"theme": "dark", "n": n}, "properties": {"level": n}}
                for n in range(count))
        results = self.load(rows)
        self.assertEqual(len(results), count)
        users = self.exported("--with-password-hashes")
        self.assertEqual(len(users), count)
        self.assertEqual([u["properties"]["level"] for u in users], list(range(count)))


if __name__ == "__main__":
    unittest.main()
