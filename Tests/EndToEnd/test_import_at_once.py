"""Rows of an import beside what others do with the same address at that moment: one after another."""

import itertools
import json
import re
import unittest

from cases import Held, Waiting
from machine import wait_until
from test_import import HASHES, PASSWORD

MINE = "my own password"


class ImportAtOnce(Waiting):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(failures_per_address=10**6, failures_per_identifier=100, email_code=True)
        cls.sources = itertools.count()
        cls.key = cls.site.client("--app", "default", "--scope", "create:users")["key"]

    def load(self, rows, *flags):
        """Imports rows; what became of each, None where it waited for too long."""
        source = self.site.folder / f"{next(self.sources)}.ndjson"
        results = source.with_suffix(".results")
        source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        run = self.site.dossier("user", "import", source, "--results", results, *flags, check=False)
        if "statement timeout" in run.stderr:
            return None
        self.assertIn(run.returncode, (0, 17), run.stderr)
        return [json.loads(line) for line in results.read_text().splitlines()]

    def users(self, email):
        return self.site.sql(f"select user_id from users where email = '{email}'").split()

    def make(self, email):
        return self.post("/v1/users", {"email": email, "password": MINE}, token=self.key)

    def both(self, locked, first, second):
        """The outcomes of two, of which the first got as far as what is locked; None after a time-out."""
        with locked:
            first = self.started(first)
            self.wait_for(1)
            second = self.started(second)
            self.wait_for(2)
        outcomes = first(), second()
        if None in outcomes or getattr(outcomes[1], "status", None) == 503:
            return None
        return outcomes

    def writing(self):
        """While this is held, whoever makes a user has looked who is there, and waits."""
        return self.site.locked("users in share mode")

    def making(self, user):
        """While this is held, whoever makes that user waits, and nobody else."""
        return Held(self.site, "insert into users (user_id, app_id, anonymous) "
                    f"select '{user}', app_id, true from apps where name = 'default'")

    def test_a_user_that_a_program_makes(self):
        def try_once(email):
            found = self.both(self.writing(), lambda: self.load([{"email": email}]),
                              lambda: self.make(email))
            if not found:
                return False
            rows, made = found
            self.assertEqual([row["status"] for row in rows], ["created"])
            self.expect(made, 409, "user_exists")
            self.assertEqual(self.users(email), [rows[0]["id"]])
            return True

        self.attempt(try_once)

    def test_two_imports(self):
        def try_once(email):
            # Each has the addresses in another order, and neither waits for the other for ever.
            rows = [{"email": f"{index}-{email}"} for index in range(40)]
            found = self.both(
                self.writing(), lambda: self.load(rows), lambda: self.load(rows[::-1]))
            if not found:
                return False
            self.assertEqual([[row["status"] for row in rows] for rows in found],
                             [["created"] * 40, ["failed"] * 40])
            for row in rows:
                self.assertEqual(len(self.users(row["email"])), 1, row)
            return True

        self.attempt(try_once)

    def test_a_registration_by_the_password_of_a_row(self):
        def try_once(email):
            row = {"email": email, "password_hash": HASHES["2b"]}
            found = self.both(self.writing(), lambda: self.load([row]),
                              lambda: self.register(email, PASSWORD))
            if not found:
                return False
            rows, answer = found
            # As when the import was there before, it is a login.
            self.assertEqual(self.expect(answer, 201).json["user_id"], rows[0]["id"])
            self.assertEqual(len(self.users(email)), 1)
            return True

        self.attempt(try_once)

    def test_a_registration_by_another_password(self):
        def try_once(email):
            row = {"email": email, "password_hash": HASHES["2b"], "email_verified": True}
            found = self.both(self.writing(), lambda: self.load([row]),
                              lambda: self.register(email, MINE))
            if not found:
                return False
            rows, answer = found
            self.assertEqual(len({self.expect(answer, 201).json["user_id"], rows[0]["id"]}), 2)
            self.expect(self.login(email, PASSWORD), 200)
            return True

        self.attempt(try_once)

    def test_who_signs_up_by_a_code(self):
        def try_once(email):
            asked = self.post("/v1/login/code/request", {"email": email})
            wait_until(lambda: self.site.mails(email), what="the mail with the code")
            shown = {"request": self.expect(asked, 202).json["request"],
                     "code": re.search(r"\d{4} \d{4}", self.site.mails(email)[0])[0]}
            row = {"email": email, "metadata": {"kept": 1}}
            found = self.both(self.writing(), lambda: self.load([row]),
                              lambda: self.post("/v1/login/code", shown))
            if not found:
                return False
            rows, answer = found
            # Whoever reads the mail is whom the row has made.
            grant = self.expect(answer, 200).json
            self.assertEqual(grant["user_id"], rows[0]["id"])
            self.assertEqual(self.me(grant, "/metadata").json, {"kept": 1})
            self.assertEqual(len(self.users(email)), 1)
            return True

        self.attempt(try_once)

    def test_a_confirmation_of_the_address_of_a_row(self):
        def try_once(email):
            grant = self.expect(self.register(email, MINE), 201).json
            token = self.site.mailed(email, "dct")
            # The batch has a row that waits when it has looked who has which address.
            other = f"{grant['user_id'][:-8]}{'f' * 8}"
            rows = [{"id": other, "name": "Other"},
                    {"id": grant["user_id"], "email": email, "name": "Mine"}]
            found = self.both(
                self.making(other), lambda: self.load(rows, "--update-existing"),
                lambda: self.confirm(token, grant))
            if not found:
                return False
            rows, answer = found
            self.assertEqual([row["status"] for row in rows], ["created", "updated"])
            # The address is told again, as it was: what was mailed to prove it is of no more use.
            self.expect(answer, 400, "mail_token_invalid")
            self.assertFalse(self.me(grant).json["email_verified"])
            return True

        self.attempt(try_once)

    def test_a_change_of_the_address_of_a_row(self):
        def try_once(email):
            grant = self.confirmed(email)
            new = f"new-{email}"
            self.expect(self.post("/v1/me/email", {"email": new}, token=grant["access_token"]), 202)
            token = self.site.mailed(new, "dna")
            other = f"{grant['user_id'][:-8]}{'f' * 8}"
            rows = [{"id": other, "name": "Other"}, {"id": grant["user_id"], "email": email}]
            found = self.both(
                self.making(other), lambda: self.load(rows, "--update-existing"),
                lambda: self.post("/v1/me/email/confirm", {"token": token},
                                  token=grant["access_token"]))
            if not found:
                return False
            rows, answer = found
            self.assertEqual([row["status"] for row in rows], ["created", "updated"])
            self.expect(answer, 400, "mail_token_invalid")
            me = self.me(grant).json
            self.assertEqual((me["email"], me["email_verified"]), (email, True))
            return True

        self.attempt(try_once)


if __name__ == "__main__":
    unittest.main()
