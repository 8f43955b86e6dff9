"""Rows of an import, concurrent with requests about the same address."""

import itertools
import json
import unittest

from cases import Held, Waiting
from test_import import HASHES, PASSWORD

MINE = "my own password"


class ImportAtOnce(Waiting):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(failures_per_ip=10**6, failures_per_identifier=100, email_code=True)
        cls.sources = itertools.count()
        cls.key = cls.site.client("--app", "default", "scopes=create:users")["secret"]

    def load(self, rows, *flags):
        """Imports rows. Returns the result of each row."""
        source = self.site.folder / f"{next(self.sources)}.ndjson"
        results = source.with_suffix(".results")
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        run = self.site.dossier("user", "import", source, "--results", results, *flags, check=False)
        self.assertIn(run.returncode, (0, 17), run.stderr)
        return [json.loads(line) for line in results.read_text().splitlines()]

    def users(self, email):
        return self.site.sql(f"select user_id from users where email = '{email}'").split()

    def make(self, email):
        return self.post("/v1/users", {"email": email, "password": MINE}, token=self.key)

    def both(self, locked, first, second):
        """Returns the results of two calls, the first of which waited for the lock."""
        with locked:
            first = self.started(first)
            self.wait_for(1)
            second = self.started(second)
            self.wait_for(2)
        return first(), second()

    def lock_of_writes(self):
        """Returns a lock at which a transaction that creates a user waits, after its lookups."""
        return self.site.locked("users in share mode")

    def lock_of_user(self, user):
        """Returns a lock at which only transactions that create this user wait."""
        return Held(self.site, "insert into users (user_id, app_id, anonymous) "
                    f"select '{user}', app_id, true from apps where name = 'default'")

    def assert_one_was_made(self, email, rows, user):
        """Asserts that the address has one user: from the rows, or `user` with failed rows."""
        [row] = rows
        if user:
            self.assertEqual((row["status"], row["errors"][0]["pointer"]), ("failed", "/email"))
        else:
            self.assertEqual(row["status"], "created")
        self.assertEqual(self.users(email), [user or row["id"]])

    def test_a_user_created_by_a_client(self):
        email = self.own_email()
        found = self.both(self.lock_of_writes(), lambda: self.load([{"email": email}]),
                          lambda: self.make(email))
        rows, made = found
        if made.status != 201:
            refused = self.expect(made, 409, "user_exists").json
            self.assertEqual([fault["pointer"] for fault in refused["errors"]], ["/email"])
        self.assert_one_was_made(email, rows, made.json.get("id"))

    def test_two_imports(self):
        email = self.own_email()
        # The imports have opposite orders, and do not deadlock.
        rows = [{"email": f"{index}-{email}"} for index in range(40)]
        found = self.both(
            self.lock_of_writes(), lambda: self.load(rows), lambda: self.load(rows[::-1]))
        self.assertEqual(sorted([row["status"] for row in rows] for rows in found),
                         [["created"] * 40, ["failed"] * 40])
        for row in rows:
            self.assertEqual(len(self.users(row["email"])), 1, row)

    def test_two_imports_with_common_rows(self):
        email = self.own_email()
        own = [{"identities": [{"provider": "jwt:web", "subject": f"{index}-{email}"}],
                "email": f"{index}-{email}"} for index in range(30)]
        found = self.both(self.lock_of_writes(), lambda: self.load(own[:20]),
                          lambda: self.load(own[:9:-1], "--update-existing"))
        first, second = found
        self.assertLessEqual({row["status"] for row in first}, {"created", "failed"})
        self.assertLessEqual({row["status"] for row in second}, {"created", "updated"})
        for row in own:
            self.assertEqual(len(self.users(row["email"])), 1, row)

    def test_a_registration(self):
        for verified in [False, True]:
            email = f"{verified}-{self.own_email()}".lower()
            row = {"email": email, "password_hash": HASHES["2b"], "email_verified": verified}
            found = self.both(self.lock_of_writes(), lambda: self.load([row]),
                              lambda: self.register(email, MINE))
            rows, answer = found
            if answer.status != 201:
                self.expect(answer, 409, "email_taken")
            self.assert_one_was_made(email, rows, answer.json.get("user_id"))
            mine = answer.status == 201
            self.expect(self.login(email, MINE if mine else PASSWORD), 200)
            self.expect(self.login(email, PASSWORD if mine else MINE), 401)

    def test_a_sign_up_by_code(self):
        email = self.own_email()
        asked = self.expect(self.post("/v1/login/code/request", {"email": email}), 202).json
        code = self.mailed_code(email)
        row = {"email": email, "metadata": {"kept": 1}}
        found = self.both(self.lock_of_writes(), lambda: self.load([row]),
                          lambda: self.enter(asked["flow"], code))
        rows, answer = found
        # The recipient of the mail becomes the user, whether the row or the code made the user.
        grant = self.expect(answer, 200).json
        self.assertEqual(self.users(email), [grant["user_id"]])
        kept = {"kept": 1} if rows[0]["status"] == "created" else {}
        self.assertEqual(self.me(grant, "/metadata").json, kept)

    def test_a_verification_of_the_address_of_a_row(self):
        email = self.own_email()
        grant = self.expect(self.register(email, MINE), 201).json
        token = self.site.mailed(email, "ds_verify")
        # The batch waits at this row, after its lookup of the addresses.
        other = f"{grant['user_id'][:-8]}{'f' * 8}"
        rows = [{"id": other, "name": "Other"},
                {"id": grant["user_id"], "email": email, "name": "Mine"}]
        found = self.both(
            self.lock_of_user(other), lambda: self.load(rows, "--update-existing"),
            lambda: self.verify(token, grant))
        rows, answer = found
        self.assertEqual([row["status"] for row in rows], ["created", "updated"])
        self.expect(answer, 204)
        me = self.me(grant).json
        self.assertEqual((me["email_verified"], me["name"]), (True, "Mine"))

    def test_a_change_of_the_address_of_a_row(self):
        email = self.own_email()
        grant = self.verified(email)
        new = f"new-{email}"
        asked = self.expect(
            self.post("/v1/me/email", {"email": new}, token=grant["access_token"]), 202).json
        body = {"flow": asked["flow"], "code": self.mailed_code(new)}
        other = f"{grant['user_id'][:-8]}{'f' * 8}"
        rows = [{"id": other, "name": "Other"}, {"id": grant["user_id"], "email": email}]
        found = self.both(
            self.lock_of_user(other), lambda: self.load(rows, "--update-existing"),
            lambda: self.post("/v1/me/email/verify", body, token=grant["access_token"]))
        rows, answer = found
        self.assertEqual([row["status"] for row in rows], ["created", "updated"])
        self.expect(answer, 204)
        me = self.me(grant).json
        self.assertEqual((me["email"], me["email_verified"]), (new, True))


if __name__ == "__main__":
    unittest.main()
