"""Sends, at once, both requests of every pair that changes the owner of an address."""

import collections
import itertools
import json
import os
import subprocess
import unittest

from cases import Case, in_parallel
from machine import BUILD, wait_until
from test_import import HASHES, PASSWORD

MINE, NEW, THEIRS = "my own password", "my new password", "another password"
ROUNDS = int(os.environ.get("DOSSIER_TEST_ROUNDS", "2"))
# Data that is stored twice must agree after all requests.
FAULTS = {
    "a user without the row of its address": """
        select 1 from users u where u.email is not null and not exists (
          select 1 from identity_subjects s where s.app_id = u.app_id and s.provider = 'email'
            and s.subject = email_key(u.email) and s.user_id = u.user_id
            and s.reserved_until is null)""",
    "an address of a user who has another": """
        select 1 from identity_subjects s left join users u on u.user_id = s.user_id
        where s.provider = 'email' and s.reserved_until is null
          and email_key(u.email) is distinct from s.subject""",
    "a password without its identity": """
        select 1 from passwords p where not exists (
          select 1 from identities i where i.user_id = p.user_id and i.provider = 'password')""",
    "an identity without its password": """
        select 1 from identities i where i.provider = 'password' and not exists (
          select 1 from passwords p where p.user_id = i.user_id)""",
    "an identity of another address": """
        select 1 from identities i join users u on u.user_id = i.user_id
        where i.provider in ('password', 'email')
          and i.subject is distinct from email_key(u.email)""",
    "two identities by an address": """
        select 1 from identities where provider in ('password', 'email')
        group by user_id having count(*) > 1""",
    "a user without an identity": """
        select 1 from users u where not exists (
          select 1 from identities i where i.user_id = u.user_id)""",
}


class WaitingImport:
    """A running import that waits for its only row."""

    numbers = itertools.count()
    Answer = collections.namedtuple("Answer", ["status", "body"])

    def __init__(self, site, row):
        self.row = json.dumps(row) + "\n"
        # Each import needs a source of its own.
        source = site.folder / f"rows-{next(self.numbers)}"
        source.symlink_to("/dev/stdin")
        self.process = subprocess.Popen(
            [BUILD / "dossier", "user", "import", source, "--update-existing"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=site.environment)
        begun = f"select count(*) from imports where source = '{source}'"
        wait_until(lambda: site.sql(begun) == "1", what="an import that has begun")

    def __call__(self):
        """Sends the row. Returns its result as the response to a request."""
        told, _ = self.process.communicate(self.row, 120)
        return self.Answer({0: 204, 17: 409}.get(self.process.returncode), told)


class World:
    """A user with an unverified address, and the requests that may run concurrently."""

    def __init__(self, case, email):
        self.case, self.email, self.other = case, email, f"new-{email}"
        self.grant = case.expect(case.register(email, MINE), 201).json
        self.token = self.grant["access_token"]

    def prepared(self, name):
        """Prepares a request by its name and returns it."""
        return getattr(self, name)()

    def register(self):
        return lambda: self.case.register(self.email, THEIRS)

    def link(self):
        guest = self.case.site.login()
        body = {"provider": "password", "email": self.email, "password": THEIRS}
        return lambda: self.case.post("/v1/me/identities", body, token=guest["access_token"])

    def verify(self):
        token = self.case.site.mailed(self.email, "ds_verify")
        return lambda: self.case.verify(token, password=MINE)

    def reset(self):
        self.case.expect(
            self.case.post("/v1/password/reset-request", {"email": self.email}), 202)
        token = self.case.site.mailed(self.email, "ds_reset")
        return lambda: self.case.reset(token, NEW)

    def change(self):
        return self.case.change_of(self.grant, self.other)

    def delete(self):
        return lambda: self.case.site.request("DELETE", "/v1/me", token=self.token)

    def import_(self):
        return WaitingImport(self.case.site, {
            "email": self.email, "email_verified": True, "password_hash": HASHES["2b"]})


class AccountRaces(Case):
    # Takes long for its number of tests.
    LONG = True

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(failures_per_ip=10**6, failures_per_identifier=10**6)

    def change_of(self, grant, email):
        """Returns the last request of an address change."""
        count = len(self.codes(email)) + 1
        asked = self.post("/v1/me/email", {"email": email}, token=grant["access_token"])
        flow = self.expect(asked, 202).json["flow"]
        body = {"flow": flow, "code": self.mailed_code(email, count)}
        return lambda: self.post("/v1/me/email/verify", body, token=grant["access_token"])

    def meet(self, one, other):
        """Returns the responses to two concurrent requests."""
        answers = in_parallel(2, lambda index: [one, other][index]())
        for answer in answers:
            self.assertIn(answer.status, {200, 201, 204, 400, 401, 409}, answer.body)
        return answers

    def assert_consistent(self):
        tables = ["users", "identities", "passwords", "identity_subjects"]
        self.assertEqual(self.site.counts(tables, FAULTS), dict.fromkeys(FAULTS, 0))

    def assert_sessions(self, grants):
        """Asserts that exactly the tokens of live sessions are valid."""
        valid = []
        for grant in grants:
            answer = self.me(grant)
            self.assertIn(answer.status, (200, 401), answer.body)
            self.assertEqual(self.refresh(grant).status, answer.status)
            if answer.status == 200:
                valid.append(grant)
        users = ", ".join(f"'{grant['user_id']}'" for grant in grants)
        self.assertEqual(self.site.sql(
            f"select count(*) from sessions where user_id in ({users}) and ended_at is null"),
            str(len(valid)))
        return valid

    # A taken address

    ACTIONS = ["register", "link", "verify", "reset", "change", "delete", "import_"]
    # Of these pairs, the request that comes first makes the other one useless.
    EXCLUSIVE = [{"reset", "change"}, {"reset", "delete"}, {"reset"}, {"change"}, {"delete"},
                 {"verify"}]

    def test_requests_about_a_taken_address(self):
        pairs = itertools.combinations_with_replacement(self.ACTIONS, 2)
        for one, other in pairs:
            with self.subTest(one=one, other=other):
                for number in range(ROUNDS):
                    self.race(one, other, f"{one}-{other}-{number}@example.com")

    def race(self, one, other, email):
        world = World(self, email)
        first = world.prepared(one)
        second = first if one == other != "import_" else world.prepared(other)
        answers = self.meet(first, second)
        done = [name for name, answer in zip([one, other], answers) if answer.status < 300]
        told = f"{one} {answers[0].status}, {other} {answers[1].status}"
        user = world.grant["user_id"]
        grants = [answer.json for answer in answers if answer.status in (200, 201)]
        if {one, other} in self.EXCLUSIVE:
            self.assertEqual(len(done), 1, told)
        if "delete" not in (one, other) and "change" not in (one, other):
            self.assertFalse({"register", "link"} & set(done), told)
        self.assert_consistent()
        valid = self.assert_sessions([world.grant, *grants])
        holders = self.site.sql(
            f"select string_agg(user_id, ' ') from users where email = '{email}'").split()
        self.assertLessEqual(len(holders), 1, told)
        if "delete" in done:
            self.assertEqual(self.site.sql(
                f"select count(*) from users where user_id = '{user}'"), "0", told)
            self.assertNotIn(user, [grant["user_id"] for grant in valid], told)
        elif "change" not in done:
            self.assertEqual(holders, [user], told)
        if "reset" in done:
            # All earlier sessions have ended.
            self.assertEqual([grant["user_id"] for grant in valid], [user], told)
            self.assertNotEqual(valid[0]["access_token"], world.token, told)
            self.expect(self.login(email, MINE), 401, "wrong_credentials")
            # An earlier import revokes the token of the reset.
            self.expect(self.login(email, PASSWORD if "import_" in done else NEW), 200)
            self.assertTrue(self.me(valid[0]).json["email_verified"], told)
        elif set(done) & {"verify"} and not set(done) & {"delete"}:
            self.assertEqual(len(valid), 2, told)
        if "import_" in done:
            self.expect(self.login(email, MINE), 401, "wrong_credentials")
            self.expect(self.login(email, PASSWORD), 200)

    # A free address

    def test_requests_for_a_free_address(self):
        names = ["register", "link", "change", "import_"]
        for one, other in itertools.combinations_with_replacement(names, 2):
            with self.subTest(one=one, other=other):
                for number in range(ROUNDS):
                    email = f"free-{one}-{other}-{number}@example.com"
                    requests = [self.taking(name, place, email)
                                for place, name in enumerate([one, other])]
                    answers = self.meet(*requests)
                    statuses = sorted(answer.status for answer in answers)
                    self.assertIn(statuses[0], (200, 201, 204))
                    # The first code that is entered for an address ends other flows for it.
                    refusals = [401, 409] if one == other == "change" else [409]
                    # An import changes verified users, and users that an import created.
                    if other == "import_" and one in ("change", "import_"):
                        refusals = [204, 409]
                    self.assertIn(statuses[1], refusals)
                    self.assertEqual(self.site.sql(
                        f"select count(*) from users where email = '{email}'"), "1")
                    self.assert_consistent()

    def taking(self, name, place, email):
        """Returns a request by which another user takes a free address."""
        if name == "register":
            return lambda: self.register(email, THEIRS)
        if name == "import_":
            return WaitingImport(self.site, {"email": email, "password_hash": HASHES["2b"]})
        if name == "link":
            guest = self.site.login()
            body = {"provider": "password", "email": email, "password": MINE}
            return lambda: self.post("/v1/me/identities", body, token=guest["access_token"])
        grant = self.expect(self.register(f"{place}-{email}", MINE), 201).json
        return self.change_of(grant, email)


if __name__ == "__main__":
    unittest.main()
