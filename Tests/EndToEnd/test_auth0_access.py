"""Who may use which route of the Management API: all routes, and each kind of caller."""

import json
import subprocess
import unittest

from machine import BUILD
from test_auth0 import Auth0Case

OWN = ["read:current_user", "update:current_user_metadata", "create:current_user_metadata",
       "delete:current_user_metadata", "update:current_user_identities"]
ID = "65f1c0de65f1c0de65f1c0de"
# The values of the parts of paths; nothing has them.
PARTS = {"user": f"auth0%7C{ID}"}


class Matrix(Auth0Case):
    """All routes; one that a later version adds is tested without a change here."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        listing = subprocess.run([BUILD / "dossierd", "routes", "--all"], check=True,
                                 capture_output=True, text=True).stdout
        lines = [line.split("\t") for line in listing.splitlines()]
        cls.routes = [(*line[0].split(" "), line[1]) for line in lines if " /api/v2/" in line[0]]
        servers = cls.site.dossier("resource-server", "list")
        cls.management_api = next(
            server["id"] for server in servers if server["identifier"] == "api/v2/")
        cls.scopes = list(cls.site.dossier("resource-server", "show", cls.management_api)["scopes"])
        cls.machine_tokens = {}

    def token_with(self, scopes):
        """A token of a back end that has these scopes only."""
        key = " ".join(sorted(scopes))
        if key not in self.machine_tokens:
            machine = self.new_client("machine")
            self.site.dossier("client", "grant", machine["id"], self.management_api,
                              *[word for scope in sorted(scopes) for word in ["--scope", scope]])
            self.machine_tokens[key] = self.token_of(machine)
        return self.machine_tokens[key]

    def token_of(self, machine, api=None, headers=None):
        answer = self.site.request("POST", "/oauth/token", json.dumps({
            "grant_type": "client_credentials", "client_id": machine["id"],
            "client_secret": machine["secret"], "audience": api or self.api}),
            {"Content-Type": "application/json", **(headers or {})})
        return self.expect(answer, 200).json["access_token"]

    def ask(self, method, pattern, token, user=None, headers=None):
        parts = {"user": f"auth0%7C{user}"} if user else PARTS
        path = "/".join(parts.get(part[1:-1], ID) if part.startswith("{") else part
                        for part in pattern.split("/"))
        body = "{}" if method in ["POST", "PATCH", "PUT"] else None
        return self.site.request(
            method, path, body, {"Content-Type": "application/json", **(headers or {})},
            token=token)


class Access(Matrix):
    def test_each_route_refuses_callers_without_a_right(self):
        self.assertGreater(len(self.routes), 15)
        email, _ = self.user()
        foreign, _ = self.tokens(email=email)
        self.visitor = self.new_visitor()
        own = self.consented(email, " ".join(["openid", *OWN]))
        for method, pattern, access in self.routes:
            with self.subTest(f"{method} {pattern}"):
                named = {scope for scope in self.scopes if scope in access.replace("(", " ")
                         .replace(")", " ").replace(",", " ").split()}
                self.assertTrue(named, access)
                for token in [None, "x.y.z", foreign["access_token"], foreign["id_token"]]:
                    answer = self.ask(method, pattern, token)
                    self.assertEqual((answer.status, answer.json["statusCode"]), (401, 401))
                others = [scope for scope in self.scopes if scope not in named]
                answer = self.ask(method, pattern, self.token_with(others))
                self.assertEqual((answer.status, answer.json["errorCode"]),
                                 (403, "insufficient_scope"), answer.body)
                answer = self.ask(method, pattern, own["access_token"])
                code = "unowned_resource" if named & set(OWN) else "insufficient_scope"
                self.assertEqual((answer.status, answer.json["errorCode"]), (403, code), answer.body)
                answer = self.ask(method, pattern, self.token_with(self.scopes))
                self.assertNotIn(answer.status, [401, 403], answer.body)


if __name__ == "__main__":
    unittest.main()
