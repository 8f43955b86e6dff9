"""Import of users by `dossier user import`: password hashes, rows and their errors."""

import base64
import hashlib
import json
import subprocess
import unicodedata
import unittest

from cases import Case, in_parallel
from machine import BUILD

PASSWORD = "pässwörd 9"
# Made by bcrypt, passlib and argon2-cffi.
HASHES = {
    "2a": "$2a$05$foSiN26zrJmyT5yq4Egg1e6rCf2W3TvztkXxFQM4Dmylzd9DD07o2",
    "2b": "$2b$05$SDBkp0QWRq9BA/b3SC62GuS3IC2731rwdVmkMnelKCJDuTSqwfqLW",
    "2y": "$2y$05$dI5JocYp6trM2qrU79oFg.GRHtnzTsLeY1WPA00RQpJxtW4CEcg3G",
    "5": "$5$rounds=1000$I4rrrzb5.KqxS1Xq$rrhm5mW3nS3zWEa0H7r3UHJiSCSR0iVsS02v3ktSi0D",
    "6": "$6$rounds=1000$muvSEE5fStEhQ9e6$R8w4vXIcKUX5JJAuS582i4rO8mB/DW6SES6o0cK0HhuLEyAT7W0FOkmp"
         "zTOezOlGLQxjI/xEb9A.rUMWDbk4X0",
    "argon2id": "$argon2id$v=19$m=1024,t=3,p=4$c2FsdHNhbHRzYWx0$lxAKHOPqI/FpNqngSBDc8ial58A3pUfj",
    "argon2i": "$argon2i$v=19$m=1024,t=3,p=1$c2FsdHNhbHRzYWx0$aA1XQkPVcWJl0J5ucrTTYeP8GTw9TPu9",
}
for digest in ["sha1", "sha256", "sha512"]:
    key = hashlib.pbkdf2_hmac(digest, PASSWORD.encode(), b"a salt", 2000)
    HASHES[f"pbkdf2-{digest}"] = (
        f"$pbkdf2-{digest}$i=2000${base64.b64encode(b'a salt').decode().rstrip('=')}$"
        + base64.b64encode(key).decode().rstrip("="))
key = hashlib.scrypt(PASSWORD.encode(), salt=b"a salt", n=4096, r=8, p=2, dklen=32)
HASHES["scrypt"] = ("$scrypt$ln=12,r=8,p=2$" + base64.b64encode(b"a salt").decode().rstrip("=")
                    + "$" + base64.b64encode(key).decode().rstrip("="))


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


class ImportCase(Case):
    """Tests on the command line, each with an app of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = cls.site.folder / "users.ndjson"
        cls.told = cls.site.folder / "results.ndjson"
        cls.apps = 0

    def setUp(self):
        # Workers find a new app within a second of the first request with its name.
        type(self).apps += 1
        self.app = f"app-{self.apps}"
        self.dossier("app", "create", self.app)

    def dossier(self, *words, status=0, **options):
        run = subprocess.run(
            [BUILD / "dossier", *words], env=self.site.environment, capture_output=True,
            timeout=300, **options)
        self.assertEqual(run.returncode, status, run.stderr.decode() + run.stdout.decode())
        return run

    def load(self, rows, *flags, status=0, app=None):
        """Imports rows or text. Returns the result of each row."""
        text = rows if isinstance(rows, (str, bytes)) else lines(rows)
        self.path.write_bytes(text if isinstance(text, bytes) else text.encode())
        self.dossier("user", "import", str(self.path), "--app", app or self.app,
                     "--results", str(self.told), *flags, status=status)
        return self.results()

    def results(self):
        return [json.loads(line) for line in self.told.read_text().splitlines()]

    def exported(self, *flags, app=None):
        run = self.dossier("user", "export", "--all", "--app", app or self.app, *flags)
        # Not splitlines: U+2028 within a string ends no line.
        return [json.loads(line) for line in run.stdout.split(b"\n") if line]

    @property
    def headers(self):
        return {"Dossier-App": self.app}

    def sign_in(self, email, password=PASSWORD):
        return self.login(email, password, headers=self.headers)

    def sign_up_here(self, email, password):
        return self.expect(self.register(email, password, headers=self.headers), 201).json

    def mine(self, grant, path=""):
        return self.me(grant, path, headers=self.headers)

    def sql(self, text):
        return self.site.sql(text.replace("{app}", f"(select app_id from apps where name = '{self.app}')"))


class Import(ImportCase):

    # Passwords

    def test_concurrent_first_sign_ins_succeed_while_the_hash_is_replaced(self):
        self.load([{"email": "six@example.com", "email_verified": True,
                    "password_hash": HASHES["2b"]}])
        answers = in_parallel(6, lambda _: self.sign_in("six@example.com"))
        self.assertEqual([answer.status for answer in answers], [200] * 6)

    def test_imported_hashes_sign_in_and_are_replaced(self):
        rows = [{"email": f"{name}@example.com", "email_verified": True, "password_hash": text}
                for name, text in HASHES.items()]
        self.assertEqual({r["status"] for r in self.load(rows)}, {"created"})
        for name, text in HASHES.items():
            with self.subTest(name):
                email = f"{name}@example.com"
                stored = ("select hash from passwords join users using (user_id) "
                          f"where email = '{email}' and app_id = {{app}}")
                self.expect(self.sign_in(email, "wrong password"), 401)
                self.assertEqual(self.sql(stored), text)
                self.expect(self.sign_in(email), 200)
                renewed = self.sql(stored)
                self.assertTrue(renewed.startswith("$argon2id$v=19$m=19456,t=2,p=1$"), renewed)
                self.expect(self.sign_in(email), 200)
                self.assertEqual(self.sql(stored), renewed)
                self.expect(self.sign_in(email, "wrong password"), 401)

    def test_hashes_in_the_forms_of_other_programs_sign_in(self):
        hashes = {
            "node-argon2": "$argon2id$v=19$m=1024,p=4,t=3$c2FsdHNhbHRzYWx0$lxAKHOPqI/FpNqngSBDc8ial58A3pUfj",
            "padded": "$2a$05$foSiN26zrJmyT5yq4Egg1t6rCf2W3TvztkXxFQM4Dmylzd9DD07o2",
        }
        rows = [{"email": f"{name}@example.com", "email_verified": True, "password_hash": text}
                for name, text in hashes.items()]
        self.assertEqual({r["status"] for r in self.load(rows)}, {"created"})
        for name in hashes:
            with self.subTest(name):
                self.expect(self.sign_in(f"{name}@example.com", "wrong password"), 401)
                self.expect(self.sign_in(f"{name}@example.com"), 200)

    def test_a_password_is_the_same_in_each_unicode_form(self):
        forms = [unicodedata.normalize(form, PASSWORD + " Å") for form in ("NFC", "NFD")]
        self.assertNotEqual(*forms)
        for place, form in enumerate(forms):
            email = f"form-{place}@example.com"
            self.sign_up_here(email, form)
            for typed in forms:
                self.expect(self.sign_in(email, typed), 200)
        typed = hashlib.pbkdf2_hmac("sha256", forms[1].encode(), b"a salt", 2000)
        text = base64.b64encode(typed).decode().rstrip("=")
        self.load([{"email": "typed@example.com", "email_verified": True,
                    "password_hash": f"$pbkdf2-sha256$i=2000$YSBzYWx0${text}"}])
        self.expect(self.sign_in("typed@example.com", forms[1]), 200)
        self.expect(self.sign_in("typed@example.com", forms[0]), 200)

    def test_a_user_without_a_hash_chooses_a_password_by_mail(self):
        self.load([{"email": "new@example.com", "email_verified": True}])
        for password in ["", "*", PASSWORD]:
            self.assertIn(self.sign_in("new@example.com", password).status, (400, 401, 422))
        self.reset_by_mail("new@example.com", "a new password", headers=self.headers)
        self.expect(self.sign_in("new@example.com", "a new password"), 200)

    def test_an_imported_hash_for_a_user_of_mailed_codes(self):
        self.load([{"email": "coded@example.com", "email_verified": True}])
        self.sql("""delete from passwords p using users u where u.user_id = p.user_id
                    and u.app_id = {app}""")
        self.sql("update identities set provider = 'email' where app_id = {app}")
        providers = "select string_agg(provider, ' ') from identities where app_id = {app}"
        # A row without a hash leaves the user as it is.
        self.load([{"email": "coded@example.com", "password_hash": None}], "--update-existing")
        self.assertEqual(self.sql(providers), "email")
        self.load([{"email": "coded@example.com", "password_hash": HASHES["2b"]}],
                  "--update-existing")
        self.assertEqual(self.sql(providers), "password")
        self.expect(self.sign_in("coded@example.com"), 200)

    # Rows

    def test_a_mark_of_utf_8_at_the_start_is_ignored(self):
        rows = [{"email": "first@example.com"}, {"email": "second@example.com"}]
        text = b"\xef\xbb\xbf" + lines(rows).encode()
        self.assertEqual([r["status"] for r in self.load(text)], ["created"] * 2)
        # Only there.
        text = lines([{"email": "third@example.com"}]).encode() + text
        self.assertEqual([r["status"] for r in self.load(text, status=17)][:2], ["created", "failed"])

    def test_each_invalid_row_fails_alone_with_its_line_and_pointer(self):
        good = {"email": "good@example.com", "email_verified": True}
        bad = [
            ("{", "", "json.syntax"), ('{"name":"a","name":"b"}', "/name", "json.duplicate_key"),
            ('{"metadata":{"a":"\\u0000"}}', "/metadata/a", "json.nul"),
            (b'{"name":"\xff"}', "/name", "json.utf8"),
            ('{"custom_data":{"a":1e131071}}', "/custom_data/a", "json.number"),
            ('{"metadata":' + '{"a":' * 70 + "1" + "}" * 71, None, "json.depth"),
            ('{"shoe":1}', "/shoe", "unknown_member"), ('{"phone":"1"}', "/phone", "phone"),
            ('{"locale":"en_GB"}', "/locale", "locale"), ('{"zone":"Berlin"}', "/zone", "zone"),
            ('{"email":"x@y.z","password_hash":"$1$a$b"}', "/password_hash", "hash_algorithm"),
            ('{"email":"x@y.z","password_hash":"' + HASHES["2b"].replace("$05$", "$31$") + '"}',
             "/password_hash", "hash_cost"),
            ('{"email":"good@example.com"}', "/email", "email_taken"),
            (json.dumps({"metadata": {"a": "x" * 70_000}}), "/metadata", "document_size"),
            # 300 bytes of text that are 93 kB in the database.
            (json.dumps({"metadata": {"a": []}}).replace("[]", str(["N"] * 300).replace(
                "'N'", "1e307")), "", "document_size"),
            (json.dumps({"properties": {f"k{i}": i for i in range(101)}}), "/properties",
             "too_many_properties"),
            ('{"name":"' + "x" * 9_000_000 + '"}', "", "line_length"),
        ]
        text = json.dumps(good).encode() + b"\n\n"
        for row, _, _ in bad:
            text += (row if isinstance(row, bytes) else row.encode()) + b"\n"
        text += b'{"email":"last@example.com"}'
        results = self.load(text, "--skip-existing", status=17)
        self.assertEqual([r["line"] for r in results], [1, *range(3, 4 + len(bad))])
        self.assertEqual((results[0]["status"], results[-1]["status"]), ("created", "created"))
        for result, (row, pointer, code) in zip(results[1:], bad):
            if code == "email_taken":  # It is the same user.
                self.assertEqual(result["status"], "skipped")
                continue
            with self.subTest(code=code, row=row[:60]):
                self.assertEqual(result["status"], "failed", result)
                self.assertEqual(result["errors"][0]["code"], code)
                if pointer is not None:
                    self.assertEqual(result["errors"][0]["pointer"], pointer)
        self.assertEqual(self.sql("select count(*) from users where app_id = {app}"), "2")

    def test_existing_users_are_refused_skipped_or_changed(self):
        row = {"id": "a" * 24, "email": "ada@example.com", "email_verified": True, "name": "Ada",
               "password_hash": HASHES["2b"], "metadata": {"a": 1}, "properties": {"x": 1, "y": "z"},
               "identities": [{"provider": "jwt:web", "subject": "ada"}]}
        other = {"id": "b" * 24, "email": "bob@example.com", "email_verified": True}
        row["id"] = f"{self.apps:024x}"
        other["id"] = f"{self.apps + 1000:024x}"
        self.load([row, other])
        same = self.load([row], status=17)[0]
        self.assertEqual((same["status"], same["errors"][0]["code"]), ("failed", "exists"))
        self.assertEqual(self.load([row, {"email": "ADA@example.com"}], "--skip-existing")[1]["id"],
                         row["id"])
        change = {"id": row["id"], "name": "Ada L.", "nickname": None, "blocked": True,
                  "metadata": {"b": 2}, "properties": {"y": "z", "n": 2.50},
                  "identities": [{"provider": "jwt:web", "subject": "ada2"}]}
        self.assertEqual(self.load([change], "--update-existing")[0]["status"], "updated")
        after = next(u for u in self.exported("--with-password-hashes") if u["id"] == row["id"])
        self.assertEqual(after["name"], "Ada L.")
        self.assertEqual(after["email"], "ada@example.com")
        self.assertTrue(after["email_verified"] and after["blocked"])
        self.assertEqual(after["password_hash"], HASHES["2b"])
        self.assertEqual(after["metadata"], {"b": 2})
        self.assertEqual(after["properties"], {"y": "z", "n": 2.5})
        self.assertEqual([i.get("subject") for i in after["identities"]], [None, "ada", "ada2"])
        self.assertEqual(self.sql(
            "select string_agg(key || version, ' ' order by key) from properties "
            f"where user_id = '{row['id']}'"), "n2 y1")
        # A free address, then one of another user.
        moved = {"id": row["id"], "email": "lovelace@example.com", "email_verified": True,
                 "blocked": False}
        self.assertEqual(self.load([moved], "--update-existing")[0]["status"], "updated")
        self.expect(self.sign_in("lovelace@example.com"), 200)
        self.expect(self.sign_in("ada@example.com"), 401)
        taken = self.load([{"id": row["id"], "email": "bob@example.com"},
                           {"id": other["id"], "identities": row["identities"]}],
                          "--update-existing", status=17)
        self.assertEqual([r["errors"][0]["code"] for r in taken], ["email_taken", "identity_taken"])
        # A row without `email_verified` does not change the state of an equal address.
        self.load([{"id": row["id"], "email": "lovelace@example.com"}], "--update-existing")
        self.assertEqual(self.sql(f"select email_verified from users where user_id = '{row['id']}'"), "t")

    def test_an_id_of_another_app_is_refused_and_its_user_untouched(self):
        row = {"id": f"{self.apps + 2000:024x}", "email": "x@example.com", "name": "First"}
        self.load([row])
        first, self.app = self.app, self.app + "-two"
        self.dossier("app", "create", self.app)
        refused = self.load([{**row, "name": "Second"}, {"email": "x@example.com"}],
                            "--update-existing", status=17)
        self.assertEqual([r["status"] for r in refused], ["failed", "created"])
        self.assertEqual(refused[0]["errors"][0]["code"], "id_taken")
        self.assertEqual(self.exported(app=first)[0]["name"], "First")

    def test_rows_of_one_user_are_applied_in_order(self):
        rows = [{"email": "same@example.com", "email_verified": True, "name": str(n)}
                for n in range(20)]
        results = self.load(rows, "--update-existing")
        self.assertEqual([r["status"] for r in results], ["created"] + ["updated"] * 19)
        self.assertEqual([u["name"] for u in self.exported()], ["19"])


if __name__ == "__main__":
    unittest.main()
