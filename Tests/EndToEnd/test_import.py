"""Users that come from elsewhere, and leave again: dossier user import and export."""

import base64
import hashlib
import json
import random
import signal
import subprocess
import unittest

from cases import Case, in_parallel
from machine import BUILD, wait_until

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


class Import(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.path = cls.site.folder / "users.ndjson"
        cls.told = cls.site.folder / "results.ndjson"
        cls.apps = 0

    def setUp(self):
        # Apps are seen by workers within a second of being asked for by name.
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
        """Imports rows, or text; what became of each."""
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

    # Passwords

    def test_first_sign_ins_at_once_succeed_while_the_hash_is_made_anew(self):
        self.load([{"email": "six@example.com", "email_verified": True,
                    "password_hash": HASHES["2b"]}])
        answers = in_parallel(6, lambda _: self.sign_in("six@example.com"))
        self.assertEqual([answer.status for answer in answers], [200] * 6)

    def test_hashes_of_other_programs_open_a_sign_in_and_are_replaced_by_ours(self):
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

    def test_without_a_hash_nobody_signs_in_until_a_password_is_chosen_by_mail(self):
        self.load([{"email": "new@example.com", "email_verified": True}])
        for password in ["", "*", PASSWORD]:
            self.assertIn(self.sign_in("new@example.com", password).status, (400, 401, 422))
        self.reset_by_mail("new@example.com", "a new password", headers=self.headers)
        self.expect(self.sign_in("new@example.com", "a new password"), 200)

    def test_a_hash_for_who_signs_in_by_mailed_codes(self):
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

    def test_each_bad_row_fails_alone_with_its_line_and_pointer(self):
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

    def test_who_is_there_is_refused_skipped_or_changed(self):
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

    # One address, one user

    def faults(self, results):
        return [[(fault["pointer"], fault["code"]) for fault in row.get("errors", [])]
                for row in results]

    def test_an_address_belongs_to_one_user_verified_or_not(self):
        other = [{"provider": "jwt:web", "subject": "other"}]
        made = self.load([{"email": "c@example.com", "password_hash": HASHES["2b"]}])[0]["id"]
        self.expect(self.sign_in("c@example.com"), 200)
        taken = self.load([{"email": "C@example.com", "email_verified": True},
                           {"email": "c@example.com", "identities": other},
                           {"id": f"{self.apps + 3000:024x}", "email": "c@example.com"}], status=17)
        self.assertEqual(self.faults(taken), [
            [("/email", "exists")], [("/email", "exists")], [("/email", "email_taken")]])
        # The row is of the user whom the import has made.
        [updated] = self.load([{"email": "c@example.com", "password_hash": HASHES["scrypt"],
                                "identities": other}], "--update-existing")
        self.assertEqual((updated["status"], updated["id"]), ("updated", made))
        self.assertEqual(self.sql("select count(*) from users where app_id = {app}"), "1")
        self.assertEqual(self.sql("select count(*) from identity_subjects where app_id = {app}"), "2")

    def test_each_address_is_of_the_identity_that_it_came_with(self):
        self.load([
            {"email": "both@example.com", "password_hash": HASHES["2b"],
             "identities": [{"provider": "jwt:web", "subject": "b"}]},
            {"email": "told@example.com", "identities": [{"provider": "jwt:web", "subject": "t"}]},
            {"email": "mail@example.com"}])
        self.assertEqual(self.sql(
            "select string_agg(s.subject || ' ' || i.provider, ', ' order by s.subject) "
            "from identity_subjects s join identities i using (user_id, identity_id) "
            "where s.app_id = {app} and s.provider = 'email'"),
            "both@example.com password, mail@example.com password, told@example.com jwt:web")

    def test_a_row_is_not_written_to_who_has_registered_its_address(self):
        email = "early@example.com"
        thief = self.sign_up_here(email, "what the thief chose")
        row = {"email": email, "password_hash": HASHES["2b"], "metadata": {"secret": 1}}
        refused = self.load([row], "--update-existing", status=17)
        self.assertEqual(self.faults(refused), [[("/email", "email_taken")]])
        self.assertEqual(self.mine(thief, "/metadata").json, {})
        self.assertEqual(self.load([row], "--skip-existing")[0]["status"], "skipped")
        # The operator who names the user means it.
        [updated] = self.load([{"id": thief["user_id"], **row}], "--update-existing")
        self.assertEqual(updated["status"], "updated")
        self.expect(self.mine(thief), 200)

    def test_a_row_that_verifies_an_address_takes_the_user_over(self):
        email = "planted@example.com"
        thief = self.sign_up_here(email, "what the thief chose")
        link = self.post("/v1/me/identities", {"provider": "api-key", "name": "planted"},
                         token=thief["access_token"], headers=self.headers)
        key = {"key": self.expect(link, 201).json["key"]}
        [updated] = self.load([{"email": email, "email_verified": True, "metadata": {"secret": 1}}],
                              "--update-existing")
        self.assertEqual((updated["status"], updated["id"]), ("updated", thief["user_id"]))
        self.expect(self.mine(thief), 401, "session_ended")
        self.expect(self.sign_in(email, "what the thief chose"), 401, "wrong_credentials")
        self.expect(self.post("/v1/login/api-key", key, headers=self.headers), 401)
        self.assertEqual(self.sql(
            "select string_agg(distinct action || coalesce(' ' || (detail ->> 'reason'), ''), ', ') "
            "from audit where app_id = {app} and actor = 'operator' and user_id <> app_id"),
            "account_takeover, device_remove, session_end account_takeover, unlink, user_import")
        owner = self.reset_by_mail(email, "what the owner chose", headers=self.headers)
        self.assertEqual(self.mine(owner, "/metadata").json, {"secret": 1})
        # A verified user keeps everything.
        self.load([{"email": email, "email_verified": True, "name": "Ada"}], "--update-existing")
        self.assertEqual(self.mine(owner).json["name"], "Ada")

    def test_a_password_that_a_row_brings_outlives_its_takeover(self):
        grant = self.sign_up_here("moves@example.com", "what somebody chose")
        self.load([{"email": "moves@example.com", "email_verified": True,
                    "password_hash": HASHES["2b"]}], "--update-existing")
        self.expect(self.mine(grant), 401)
        self.expect(self.sign_in("moves@example.com", "what somebody chose"), 401)
        self.expect(self.sign_in("moves@example.com"), 200)

    def test_another_address_ends_what_was_mailed_to_the_one_before(self):
        grant = self.sign_up_here("before@example.com", PASSWORD)
        token = self.site.mailed("before@example.com", "ds_verify")
        row = {"id": grant["user_id"], "email": "before@example.com"}
        # As rows do that come every night.
        self.load([row], "--update-existing")
        self.expect(self.verify(token, grant, headers=self.headers), 204)
        asked = self.expect(self.post("/v1/me/email", {"email": "pending@example.com"},
                                      token=grant["access_token"], headers=self.headers), 202).json
        code = self.mailed_code("pending@example.com")
        self.load([{**row, "email": "after@example.com"}], "--update-existing")
        self.expect(self.post("/v1/me/email/verify", {"flow": asked["flow"], "code": code},
                              token=grant["access_token"], headers=self.headers), 401, "code_invalid")
        self.assertEqual(self.mine(grant).json["email"], "after@example.com")
        self.expect(self.sign_in("after@example.com"), 200)
        # No user has the address before.
        self.sign_up_here("before@example.com", PASSWORD)

    def test_a_former_address_is_reserved_for_its_user(self):
        user = self.load([{"email": "now@example.com", "email_verified": True}])[0]["id"]
        former = {"email": "former@example.com", "email_verified": True}
        self.sql("insert into identity_subjects (app_id, provider, subject, user_id, identity_id, "
                 "reserved_until) select app_id, provider, 'former@example.com', user_id, identity_id, "
                 "now() + interval '1 day' from identity_subjects where app_id = {app}")
        for flags in [[], ["--update-existing"]]:
            refused = self.load([former], *flags, status=17)
            self.assertEqual(self.faults(refused), [[("/email", "email_taken")]])
        self.assertEqual(self.load([{"id": user, **former}], "--update-existing")[0]["status"],
                         "updated")
        subjects = "select string_agg(subject, ' ' order by subject) from identity_subjects " \
                   "where app_id = {app} and reserved_until is null"
        self.assertEqual(self.sql(subjects), "former@example.com")
        self.sql("insert into identity_subjects (app_id, provider, subject, user_id, identity_id, "
                 "reserved_until) select app_id, provider, 'expired@example.com', user_id, identity_id, "
                 "now() - interval '1 day' from identity_subjects where app_id = {app}")
        [made] = self.load([{"email": "expired@example.com"}])
        self.assertEqual((made["status"], made["id"] != user), ("created", True))
        self.assertEqual(self.sql(subjects), "expired@example.com former@example.com")

    def test_rows_of_one_input_meet_each_other_in_order(self):
        rows = [{"email": "same@example.com", "email_verified": True, "name": str(n)}
                for n in range(20)]
        results = self.load(rows, "--update-existing")
        self.assertEqual([r["status"] for r in results], ["created"] + ["updated"] * 19)
        self.assertEqual([u["name"] for u in self.exported()], ["19"])

    # Killed and resumed

    def test_killed_at_any_moment_and_resumed_each_row_is_there_once(self):
        count = 6_000
        rows = [{"email": f"u{n}@example.com", "name": f"User {n}", "metadata": {"n": n}}
                if n % 50 else {"email": "no"} for n in range(count)]
        self.path.write_text(lines(rows))
        command = [BUILD / "dossier", "user", "import", self.path, "--app", self.app, "--results",
                   self.told, "--batch", "40", "--resume"]
        self.told.unlink(missing_ok=True)
        kills, interrupted, status = 0, 0, None
        rows_told = lambda: self.told.read_text().count("\n") if self.told.exists() else 0
        while status not in (0, 17):
            child = subprocess.Popen(
                command, env=self.site.environment, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE)
            number = signal.SIGINT if kills % 4 == 3 else signal.SIGKILL
            # Within the next tenth of the rows, or before the first of them.
            goal = rows_told() + (random.randrange(600) if kills % 5 else 0)
            wait_until(lambda: kills < 14 and rows_told() >= goal or child.poll() is not None,
                       600, "rows of the import")
            if child.poll() is None:
                child.send_signal(number)
                kills += 1
            status = child.wait()
            interrupted += status == 18
            child.stderr.close()
            self.assertIn(status, (0, 17, 18, -signal.SIGKILL, -signal.SIGINT))
        self.assertGreaterEqual(kills, 10)
        self.assertEqual(status, 17)
        self.assertEqual([r["line"] for r in self.results()], list(range(1, count + 1)))
        good = count - count // 50
        self.assertEqual(self.sql("select count(*) || ' ' || count(distinct email) from users "
                                  "where app_id = {app}"), f"{good} {good}")
        told = {r["id"] for r in self.results() if r["status"] == "created"}
        there = set(self.sql("select user_id from users where app_id = {app}").split())
        self.assertEqual(told, there)
        # Once more: nothing is left to do.
        again = self.dossier(*map(str, command[1:]), status=17)
        self.assertIn(b"0 rows now", again.stderr)
        self.assertEqual(len(self.results()), count)
        facts = self.sql("select action from audit where app_id = {app} and user_id = {app} "
                         "and action like 'users_import%' order by event_id").split()
        self.assertEqual(facts, ["users_import_begin", "users_import"])

    def test_of_two_runs_of_one_import_one_stops_and_no_row_is_there_twice(self):
        count = 3_000
        self.path.write_text(lines({"name": f"User {n}"} for n in range(count)))
        command = [BUILD / "dossier", "user", "import", self.path, "--app", self.app, "--batch",
                   "20", "--resume"]
        runs = [subprocess.Popen(command, env=self.site.environment, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL) for _ in range(3)]
        statuses = [run.wait(120) for run in runs]
        self.assertIn(0, statuses)
        self.assertLessEqual(set(statuses), {0, 19})
        self.assertEqual(self.sql("select count(*) || ' ' || count(distinct name) from users "
                                  "where app_id = {app}"), f"{count} {count}")

    def test_another_input_is_not_taken_for_the_one_that_was_begun(self):
        self.load([{"name": "one"}, {"name": "two"}])
        self.path.write_text(lines([{"name": "other"}, {"name": "two"}, {"name": "three"}]))
        command = ["user", "import", str(self.path), "--app", self.app, "--resume"]
        self.dossier(*command, status=19)
        # A longer file is resumed. Standard input has a name of its own.
        self.path.write_text(lines([{"name": "one"}, {"name": "two"}, {"name": "three"}]))
        self.dossier(*command)
        self.assertEqual(len(self.exported()), 3)
        self.dossier("user", "import", "-", "--app", self.app, input=b'{"name":"four"}\n')
        self.dossier("user", "import", "-", "--app", self.app, "--resume",
                     input=b'{"name":"four"}\n{"name":"five"}')
        self.assertEqual(sorted(u["name"] for u in self.exported()),
                         ["five", "four", "one", "three", "two"])

    def test_a_file_that_is_not_there_and_one_that_cannot_be_written(self):
        self.dossier("user", "import", "/nowhere/at/all", "--app", self.app, status=21)
        self.path.write_text("{}")
        self.dossier("user", "import", str(self.path), "--app", self.app, "--results", "/dev/full",
                     status=21)
        self.dossier("user", "export", "--all", "--app", self.app, "--output", "/dev/full", status=21)
        self.dossier("user", "import", str(self.path), "--app", "no-such-app", status=10)

    # There and back

    def test_imported_documents_are_found_by_search(self):
        self.dossier("index", "add", "--app", self.app, "custom_data.level", "--kind", "number")
        rows = [{"email": f"l{n}@example.com", "custom_data": {"level": n}} for n in range(5)]
        self.dossier("user", "import", "-", "--app", self.app, input=lines(rows).encode())
        found = self.dossier(
            "user", "list", "--app", self.app, "--filter", "custom_data.level >= 3",
            "--json")
        self.assertEqual({user["email"] for user in json.loads(found.stdout)},
                         {"l3@example.com", "l4@example.com"})

    def test_users_that_were_exported_are_the_same_where_they_are_imported(self):
        rows = [
            {"email": "full@example.com", "email_verified": True, "password_hash": HASHES["6"],
             "name": "Ada \"L\" \\ Ω", "given_name": "Ada", "family_name": "L", "nickname": "a",
             "phone": "+4930123456", "locale": "de-DE", "zone": "Europe/Berlin", "blocked": True,
             "created_at": "2020-02-29T12:34:56.789012+02:00",
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
                          if k not in ("id", "created_at", "custom_data", "properties")},
                         {k: v for k, v in full.items()
                          if k not in ("created_at", "custom_data", "properties")})
        # Ids are one deployment's: into another app they go when the first are gone.
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

    def test_odd_documents_and_those_that_break_the_limits_of_today_are_the_same_where_imported(self):
        odd = {
            # Written as they are, and stored by PostgreSQL as it writes numbers.
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
        # To the letter, in the database and in the next export.
        for user, text in texts.items():
            self.assertEqual(self.stored(user), text)
        self.dossier("user", "export", "--all", "--app", self.app, "--output", str(out))
        self.assertEqual(out.read_bytes(), exported)

    def stored(self, user):
        return self.sql(f"""select body::text from documents
                            where user_id = '{user}' and class = 'custom_data'""")

    def test_twenty_thousand_rows_there_and_back(self):
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
