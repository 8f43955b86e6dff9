"""Tests that only registration in the mode `immediate` reveals that an address has an account.

An app may also let clients of App Services register, whose protocol reveals it.
"""

import collections
import re
import unittest

from cases import Case
from machine import wait_until

# Header fields that differ in each response.
VARYING = {"Date", "X-Request-Id", "Content-Length", "Retry-After"}
KINDS = ["free", "unverified", "verified", "reserved"]


def shape(value, name=None):
    """Returns the members of a body, without the values of secrets, ids and times."""
    if isinstance(value, dict):
        return {key: shape(member, key) for key, member in value.items()}
    if isinstance(value, list):
        return [shape(element) for element in value]
    if name in {"code", "title", "detail", "status", "type", "expires_in"}:
        return value
    return type(value).__name__


class Enumeration(Case):
    """Addresses of each kind: free, of an unverified and of a verified user, and a former one."""

    APP = {}

    def setUp(self):
        token = self.site.client("--app", self.APP.get("Dossier-App", "default"),
                                 "scopes=create:users")["secret"]
        for kind in KINDS[1:]:
            body = {"email": self.address(kind), "password": "owners password",
                    "email_verified": kind != "unverified"}
            self.expect(self.post("/v1/users", body, token=token, headers=self.APP), 201)
        grant = self.expect(
            self.login(self.address("reserved"), "owners password", headers=self.APP), 200).json
        self.change_email(grant, self.address("present"), headers=self.APP)
        self.site.mailed(self.address("reserved"), "ds_restore")
        self.site.sql("delete from rate_limits")

    def address(self, kind):
        return f"{kind}-{self._testMethodName[5:45]}@example.com"

    def hashes(self):
        return self.site.metric("dossier_password_hashes_total")

    def events(self):
        """Returns the number of events by action and by the events of the same transaction."""
        rows = self.site.sql(
            "select action, count(*) over (partition by xmin::text) from audit")
        return collections.Counter(tuple(row.split("|")) for row in rows.splitlines())

    def assert_alike(self, ask):
        """Asserts that addresses of each kind get equal responses and cost as many hashes."""
        told = {}
        for kind in KINDS:
            before = self.hashes()
            answer = ask(self.address(kind))
            body = shape(answer.json) if answer.body else None
            fields = sorted((name, "" if name in VARYING else re.sub(r";t=\d+", "", value))
                            for name, value in answer.headers.items())
            told[kind] = (answer.status, fields, len(answer.body), body, self.hashes() - before)
        for kind in KINDS[1:]:
            self.assertEqual(told[kind], told["free"], kind)
        status, _, _, body, hashes = told["free"]
        return status, body, hashes


class Anywhere:
    """The tests that every sign-up mode must pass."""

    def test_signing_in_with_a_wrong_password(self):
        told = self.assert_alike(
            lambda email: self.login(email, "somebody elses", headers=self.APP))
        self.assertEqual((told[0], told[2]), (401, 1))

    def test_guesses_up_to_the_limit(self):
        for index in range(12):
            told = self.assert_alike(
                lambda email: self.login(email, f"somebody elses {index}", headers=self.APP))
        self.assertEqual(told[0], 429)

    def test_requests_for_mail(self):
        for path in ["/v1/email/verify/request", "/v1/password/reset-request"]:
            told = self.assert_alike(
                lambda email: self.post(path, {"email": email}, headers=self.APP))
            self.assertEqual(told, (202, None, 0))
        told = self.assert_alike(
            lambda email: self.post("/v1/login/code/request", {"email": email}, headers=self.APP))
        self.assertEqual((told[0], sorted(told[1]), told[2]), (202, ["expires_in", "flow"], 0))

    def test_requests_for_mail_up_to_the_limit(self):
        for _ in range(12):
            told = self.assert_alike(lambda email: self.post(
                "/v1/login/code/request", {"email": email}, headers=self.APP))
        self.assertEqual(told[0], 429)

    def test_wrong_codes(self):
        flows = {}
        for kind in KINDS:
            asked = self.post("/v1/login/code/request", {"email": self.address(kind)},
                              headers=self.APP)
            flows[self.address(kind)] = self.expect(asked, 202).json["flow"]
        for _ in range(7):
            told = self.assert_alike(
                lambda email: self.enter(flows[email], "0000 000x", headers=self.APP))
            self.assertEqual((told[0], told[1]["code"]), (401, "code_invalid"))


class Immediate(Anywhere, Enumeration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True)

    def test_registering_reveals_only_whether_an_address_is_taken(self):
        told = {}
        for kind in KINDS:
            answer = self.register(self.address(kind), "newcomers password")
            told[kind] = (answer.status, shape(answer.json))
        self.assertEqual(told["free"][0], 201)
        for kind in KINDS[1:]:
            self.assertEqual((told[kind][0], told[kind][1]["code"]), (409, "email_taken"))
            self.assertEqual(told[kind], told["unverified"])


class VerifyFirst(Anywhere, Enumeration):
    APP = {"Dossier-App": "careful"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.add_app("careful", sign_up="verify_first", email_code=True,
                         failures_per_ip=10**6)

    def test_registering_signing_in_and_entering_a_code(self):
        flows = {}

        def register(email):
            answer = self.register(email, "newcomers password", headers=self.APP)
            flows[email] = answer.json.get("flow")
            return answer

        for _ in range(2):
            told = self.assert_alike(register)
            self.assertEqual((told[0], sorted(told[1]), told[2]), (202, ["expires_in", "flow"], 1))
        told = self.assert_alike(
            lambda email: self.login(email, "newcomers password", headers=self.APP))
        self.assertEqual((told[0], told[1]["code"], told[2]), (401, "wrong_credentials", 1))
        for _ in range(7):
            told = self.assert_alike(
                lambda email: self.enter(flows[email], "0000 000x", headers=self.APP))
            self.assertEqual((told[0], told[1]["code"]), (401, "code_invalid"))

    def test_registering_by_app_services(self):
        """A response without a code would tell whether the address is known, so it is a refusal."""
        path = "/api/client/v2.0/app/careful/auth/providers/local-userpass/register"
        body = {"password": "newcomers password"}
        told = self.assert_alike(
            lambda email: self.post(path, {**body, "email": email}, headers=self.APP))
        self.assertEqual((told[0], told[2]), (403, 0))

    def test_the_mail_to_a_known_address_offers_to_sign_in(self):
        email = self.address("verified")
        self.expect(self.register(email, "newcomers password", headers=self.APP), 202)
        offer = "If it was you, sign in as usual, or reset your password."
        wait_until(lambda: any(offer in mail for mail in self.site.mails(email)), what="the offer")

    def test_registrations_up_to_the_limit(self):
        for index in range(12):
            told = self.assert_alike(
                lambda email: self.register(email, f"newcomers password {index}", headers=self.APP))
        self.assertEqual(told[0], 429)

    def test_registering_writes_the_same_rows(self):
        """A client can measure the time of a commit."""
        told = {}
        for kind in KINDS:
            before = self.events()
            self.expect(
                self.register(self.address(kind), "newcomers password", headers=self.APP), 202)
            told[kind] = self.events() - before
        for kind in KINDS[1:]:
            self.assertEqual(told[kind], told["free"], kind)

    def test_changing_the_address(self):
        grant = self.sign_up(self.address("user"), headers=self.APP)
        told = self.assert_alike(lambda email: self.post(
            "/v1/me/email", {"email": email}, token=grant["access_token"], headers=self.APP))
        self.assertEqual((told[0], sorted(told[1]), told[2]), (202, ["expires_in", "flow"], 0))


if __name__ == "__main__":
    unittest.main()
