"""What back ends write of users of Parra: metadata by the Management API, and roles."""

import unittest

from asking import JSON
from parra import Client
from parra_types import checked_user, native_id
from test_auth0 import Auth0Case


class BackEnd(Auth0Case):
    def setUp(self):
        self.client = Client(self.site).launch()
        self.client.sign_up(self.own_email())
        self.native = native_id(self.client.user["id"])

    def test_metadata_of_the_management_api(self):
        body = {"plan": {"isPro": True, "a_b": [1, 2.5, None]}}
        answer = self.management("PATCH", f"users/auth0%7C{self.native}", {"app_metadata": body},
                                 self.back_end_token())
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(self.client.read_user()["metadata"], body)
        self.assertEqual(self.client.finish_login()["metadata"], body)
        self.assertEqual(self.client.user["properties"], {})

    def test_roles(self):
        self.assertEqual(self.client.call("GET", "/auth/user-info")["roles"], [])
        secret = self.site.client("--operator")["secret"]
        roles = {}
        for name in ["editor", "caf\u00e9 staff"]:
            made = self.post("/v1/roles", {"name": name}, token=secret)
            self.assertEqual(made.status, 201, made.body)
            roles[name] = made.json["id"]
            path = f"/v1/users/{self.native}/roles/{roles[name]}"
            self.expect(self.site.request("PUT", path, None, JSON, secret), 204)
        shown = [{"id": roles[name], "name": name, "key": name} for name in sorted(roles)]
        for answer in [self.client.call("GET", "/auth/user-info"),
                       self.client.call("POST", "/auth/login", {})]:
            self.assertEqual(answer["roles"], sorted(roles))
            self.assertEqual(checked_user(answer["user"])["roles"], shown)
        names = {"first_name": None, "last_name": None, "name": "ada", "properties": None}
        user = checked_user(self.client.call("PUT", self.client.user_path, names))
        self.assertEqual(user["roles"], shown)
        self.expect(self.site.request("DELETE", path, None, JSON, secret), 204)
        self.assertEqual(self.client.call("GET", "/auth/user-info")["roles"], ["editor"])


if __name__ == "__main__":
    unittest.main()
