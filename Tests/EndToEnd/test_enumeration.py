"""Whether an address has an account is told to nobody who asks."""

import collections
import re
import unittest

from cases import Case

# What is different in each answer, whoever asks.
VARYING = {"Date", "X-Request-Id", "Content-Length", "Retry-After"}


def shape(value, name=None):
    """The members of a body, with those values that are no secrets, ids or times."""
    if isinstance(value, dict):
        return {key: shape(member, key) for key, member in value.items()}
    if isinstance(value, list):
        return [shape(element) for element in value]
    if name in {"code", "title", "detail", "status", "type", "provider", "confirmed", "anonymous",
                "email_verified", "token_type", "action", "actor", "version"}:
        return value
    return type(value).__name__


class Enumeration(Case):
    """Of a free address, one that is claimed, one that is proved, and one that is both."""

    APP = {}
    CREATED = 201
    UNPROVED = (200, None)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.APP:
            cls.site.sql("insert into apps (app_id, name, settings) values (new_object_id(), "
                         "'careful', '{\"email_confirmation_required\": true, "
                         "\"failures_per_address\": 1000000}')")

    def setUp(self):
        for kind in ["claimed", "proved", "both"]:
            self.made(kind, "owners password")
        for kind in ["proved", "both"]:
            token = self.site.mailed(self.address(kind), "dct")
            self.expect(self.confirm(token, password="owners password", headers=self.APP), 204)
        self.made("both", "rivals password")
        self.site.sql("delete from attempts")

    def address(self, kind):
        return f"{kind}-{self._testMethodName}@example.com"

    def made(self, kind, password):
        return self.expect(
            self.register(self.address(kind), password, headers=self.APP), self.CREATED)

    KINDS = ["free", "claimed", "proved", "both"]

    def hashes(self):
        text = self.site.get("/metrics").body.decode()
        line = next(l for l in text.splitlines() if l.startswith("dossier_password_hashes_total "))
        return int(line.split()[1])

    def assert_alike(self, ask):
        """Asks about an address of each kind; each time one password is hashed, or none."""
        told = {}
        for kind in self.KINDS:
            before = self.hashes()
            answer = ask(self.address(kind))
            body = shape(answer.json) if answer.body else None
            fields = sorted((name, "" if name in VARYING else re.sub(r";t=\d+", "", value))
                            for name, value in answer.headers.items())
            told[kind] = (answer.status, fields, body, self.hashes() - before)
        for kind in self.KINDS[1:]:
            self.assertEqual(told[kind], told["free"], kind)
        return told["free"]

    def test_logging_in(self):
        told = self.assert_alike(
            lambda email: self.login(email, "somebody elses", headers=self.APP))
        self.assertEqual((told[0], told[3]), (401, 1))

    def test_guessing_until_it_is_too_often(self):
        for index in range(12):
            told = self.assert_alike(
                lambda email: self.login(email, f"somebody elses {index}", headers=self.APP))
        self.assertEqual(told[0], 429)

    def test_asking_for_mail(self):
        for path in ["/v1/confirm/request", "/v1/password/reset-request"]:
            told = self.assert_alike(
                lambda email: self.post(path, {"email": email}, headers=self.APP))
            self.assertEqual((told[0], told[2], told[3]), (202, None, 0))

    def test_registering_and_what_comes_of_it(self):
        # Each step makes a free address one that is claimed: it has one answer with the others.
        grants = {}

        def register(email):
            answer = self.register(email, "newcomers password", headers=self.APP)
            grants[email] = answer
            return answer

        told = self.assert_alike(register)
        self.assertEqual((told[0], told[3]), (self.CREATED, 1))
        told = self.assert_alike(
            lambda email: self.login(email, "newcomers password", headers=self.APP))
        status, code = self.UNPROVED
        self.assertEqual((told[0], told[2].get("code")), (status, code))
        told = self.assert_alike(
            lambda email: self.register(email, "newcomers password", headers=self.APP))
        self.assertEqual((told[0], told[3]), (self.CREATED, 1))
        # Nor does a failure of somebody else tell in whose trail it is.
        self.assert_alike(lambda email: self.login(email, "somebody elses", headers=self.APP))
        if self.CREATED == 201:
            for path in ["", "/identities", "/export", "/audit"]:
                self.assert_alike(lambda email: self.me(grants[email].json, path))

    def test_registering_writes_alike(self):
        """What is committed takes the time of a disk, which whoever registers can measure."""
        told = {}
        for kind in self.KINDS:
            before = self.facts()
            self.expect(self.register(self.address(kind), "newcomers password", headers=self.APP),
                        self.CREATED)
            told[kind] = self.facts() - before
        for kind in self.KINDS[1:]:
            self.assertEqual(told[kind], told["free"], kind)
        self.assertEqual(sum(count for (action, _), count in told["free"].items()
                             if action == "login_failure"), 1)

    def facts(self):
        """How many facts there are, by what they tell and how many the same transaction wrote."""
        rows = self.site.sql(
            "select action, count(*) over (partition by xmin::text) from audit")
        return collections.Counter(tuple(row.split("|")) for row in rows.splitlines())

    def test_linking_and_what_comes_of_it(self):
        grants = {}

        def link(email):
            grants[email] = self.post("/v1/login/anonymous", {}, headers=self.APP).json
            body = {"provider": "password", "email": email, "password": "newcomers password"}
            return self.post("/v1/me/identities", body, token=grants[email]["access_token"],
                             headers=self.APP)

        told = self.assert_alike(link)
        self.assertEqual((told[0], told[3]), (200, 1))
        self.assert_alike(lambda email: self.login(email, "somebody elses", headers=self.APP))
        for path in ["", "/identities", "/export", "/audit"]:
            self.assert_alike(lambda email: self.me(grants[email], path, headers=self.APP))


class WhereConfirmingIsRequired(Enumeration):
    APP = {"Dossier-App": "careful"}
    CREATED = 202
    UNPROVED = (403, "email_unconfirmed")


class Revealing(Case):
    def test_an_app_may_answer_that_an_address_is_taken(self):
        self.site.dossier("app", "set", "default", "reveal_taken_emails=true")
        self.confirmed("taken@example.com")
        taken = self.expect(self.register("Taken@example.com", "another one"), 409, "email_taken")
        self.assertEqual(taken.json["errors"][0]["pointer"], "/email")
        link = {"provider": "password", "email": "taken@example.com", "password": "another one"}
        anonymous = self.site.login()
        refused = self.post("/v1/me/identities", link, token=anonymous["access_token"])
        self.expect(refused, 409, "email_taken")
        self.assertTrue(self.me(anonymous).json["anonymous"])
        # An address that is only claimed is nobody's.
        self.expect(self.register("claimed@example.com"), 201)
        self.expect(self.register("claimed@example.com", "another one"), 201)
        self.expect(self.register("taken@example.com"), 201)


if __name__ == "__main__":
    unittest.main()
