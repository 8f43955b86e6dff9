"""Each route for clients of Parra with each kind of caller; `ParraRouteTests` compares the list."""

import json
import pathlib
import unittest

from asking import JSON
from cases import Case
from parra import Client
from parra_types import is_api_error, is_grant_error, png

ROUTES = [line.split("\t") for line in
          (pathlib.Path(__file__).parent / "parra_routes.tsv").read_text().splitlines()]
PICTURE = (b'--b\r\nContent-Disposition: form-data; name="image"; filename="i.png"\r\n\r\n'
           + png(2, 2) + b"\r\n--b--\r\n")


def is_of_user(access):
    return "user " in access


class Access(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.create_app("neighbor")
        cls.site.create_app("guests")
        cls.site.dossier("app", "set", "--app", "guests", "anonymous=false")
        cls.owner = Client(cls.site).launch()

    def ask(self, route, token=None, user=None, tenant="default"):
        method, pattern = route.split(" ")
        path = (pattern.replace("{tenant}", tenant).replace("{application}", "app-1")
                .replace("{user}", user or self.owner.user["id"]).replace("{key*}", "level"))
        body, headers = None, JSON
        if path.endswith("auth/token"):
            body = "grant_type=password&username=a&password=b"
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
        elif path.endswith("users/avatar"):
            body = PICTURE
            headers = {"Content-Type": "multipart/form-data; boundary=b"}
        elif method not in ("GET", "DELETE"):
            body = {"value": 1}
        return self.site.request(method, path, body, headers, token)

    def refused(self, answer, statuses, where):
        with self.subTest(where):
            self.assertIn(answer.status, statuses, answer.body)
            self.assertTrue(is_api_error(answer.json) or is_grant_error(answer.json), answer.body)

    def tokens(self):
        """Returns the users of some tokens, and tokens without a user of the tenant, by name."""
        neighbor = Client(self.site, "neighbor").launch().tokens["access_token"]
        guest = Client(self.site, "guests").launch().tokens["access_token"]
        gone = Client(self.site).launch()
        ended = gone.tokens["access_token"]
        gone.call("POST", "/auth/logout", {})
        blocked = Client(self.site).launch()
        native = blocked.user["id"].replace("-", "")
        self.site.dossier("user", "block", "--yes", native[:12] + native[20:])
        deleted = Client(self.site).launch()
        deleted.call("DELETE", deleted.user_path)
        head, body, signature = self.owner.tokens["access_token"].split(".")
        flip = "A" if signature[0] != "A" else "B"
        at = {"ended": gone.user["id"], "blocked": blocked.user["id"],
              "deleted": deleted.user["id"]}
        return at, {
            "none": None, "text": "x", "forged": f"{head}.{body}.{flip}{signature[1:]}",
            "unsigned": f"{head}.{body}.", "neighbor": neighbor, "guest": guest, "ended": ended,
            "refresh": self.owner.tokens["refresh_token"],
            "blocked": blocked.tokens["access_token"], "deleted": deleted.tokens["access_token"],
            "secret": self.site.client("--operator")["secret"],
        }

    def test_no_other_caller_reaches_a_user(self):
        routes = [route for route, access in ROUTES if is_of_user(access)]
        self.assertEqual(len(routes), 13)
        at, tokens = self.tokens()
        for name, token in tokens.items():
            for route in routes:
                answer = self.ask(route, token, at.get(name))
                self.refused(answer, [401], f"{name}: {route}")
        self.assertEqual(self.owner.read_user()["properties"], {})

    def test_another_user_finds_nothing(self):
        other = Client(self.site).launch()
        for route, access in ROUTES:
            if "{user}" in route:
                self.assertTrue(is_of_user(access), route)
                answer = self.ask(route, other.tokens["access_token"])
                self.refused(answer, [404], route)
        self.assertEqual(self.owner.read_user()["properties"], {})

    def test_public_routes_ignore_a_token(self):
        for route, access in ROUTES:
            if access == "open":
                plain = self.ask(route)
                self.assertIn(plain.status, [200, 400, 401, 403, 422], plain.body)
                for token in ["x", self.owner.tokens["access_token"]]:
                    if not route.endswith("logout"):
                        with self.subTest(route=route, token=token[:9]):
                            self.assertEqual(self.ask(route, token).status, plain.status)

    def test_an_unknown_tenant_is_refused_everywhere(self):
        for route, _ in ROUTES:
            if "{tenant}" in route:
                for tenant in ["nowhere", "..", "default%2F..", "x" * 300]:
                    answer = self.ask(route, self.owner.tokens["access_token"], tenant=tenant)
                    self.refused(answer, [400, 404], f"{tenant[:12]}: {route}")

    def test_other_methods_are_refused_in_the_form_of_the_sdk(self):
        for route, _ in ROUTES:
            method, path = route.split(" ")
            answer = self.ask(f"TRACE {path}", self.owner.tokens["access_token"])
            self.refused(answer, [405], route)
            if is_api_error(answer.json):
                self.assertEqual(answer.json["code"], "route_not_found", route)
            answer = self.ask(f"COPY {path}", self.owner.tokens["access_token"])
            with self.subTest(route):
                self.assertIn(answer.status, [400, 404, 405])
                body = json.loads(answer.body)
                self.assertTrue(is_api_error(body) or is_grant_error(body), body)


if __name__ == "__main__":
    unittest.main()
