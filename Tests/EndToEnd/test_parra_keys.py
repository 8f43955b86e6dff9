"""Keys of properties of Parra: their two spellings in Unicode, and keys that cannot exist."""

import unittest
import urllib.parse

from asking import JSON
from cases import Case, in_parallel
from parra import Client
from parra_types import native_id

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"


class Keys(Case):
    def setUp(self):
        self.client = Client(self.site).launch()

    @property
    def path(self):
        return f"{self.client.user_path}/properties"

    def one(self, method, key, body=None):
        return self.client.call(method, f"{self.path}/{urllib.parse.quote(key, safe='/')}", body)

    def native(self, properties):
        """Writes properties by the native API, which compares bytes."""
        user = native_id(self.client.user["id"])
        secret = self.site.client("--operator")["secret"]
        answer = self.site.request(
            "PUT", f"/v1/users/{user}/properties", properties, JSON, secret)
        self.assertEqual(answer.status, 200, answer.body)

    def test_two_spellings_are_one_key(self):
        for first, second in [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)]:
            with self.subTest(first=ascii(first)):
                self.assertEqual(self.one("PUT", first, {"value": 1}), {first: 1})
                self.assertEqual(self.one("PUT", second, {"value": 2}), {first: 2})
                self.assertEqual(self.client.call("PATCH", self.path, {second: 3, "x": 1}),
                                 {first: 3, "x": 1})
                self.assertEqual(self.client.call("PUT", self.path, {second: 4}), {first: 4})
                body = {"name": None, "properties": {second: 5, first: 6}}
                user = self.client.call("PUT", self.client.user_path, body)
                self.assertEqual(user["properties"], {first: 6})
                self.assertEqual(self.one("DELETE", second), {})

    def test_of_two_spellings_in_one_map_the_first_names_the_key_and_the_last_the_value(self):
        for method in ["PUT", "PATCH"]:
            body = f'{{"{DECOMPOSED}":1,"{COMPOSED}":2}}'.encode()
            answer = self.client.call(method, self.path, body)
            self.assertEqual(answer, {DECOMPOSED: 2})
            self.client.call("DELETE", self.path)

    def test_two_spellings_count_once(self):
        keys = {f"k{n}": n for n in range(99)}
        self.client.call("PUT", self.path, {**keys, COMPOSED: 1})
        self.assertEqual(len(self.one("PUT", DECOMPOSED, {"value": 2})), 100)

    def test_concurrent_writes_of_two_spellings_make_one_key(self):
        in_parallel(8, lambda n: self.one("PUT", [COMPOSED, DECOMPOSED][n % 2], {"value": n}))
        self.assertEqual(len(self.client.call("GET", self.path)), 1)

    def test_two_stored_spellings_stay_apart(self):
        self.native({COMPOSED: 1, DECOMPOSED: 2})
        answer = self.client.send("PUT", f"{self.client.base}{self.path}/x", {"value": 3},
                                  token=self.client.tokens["access_token"])
        self.assertEqual(answer.json, {COMPOSED: 1, DECOMPOSED: 2, "x": 3})
        self.assertEqual(self.one("DELETE", DECOMPOSED), {COMPOSED: 1, "x": 3})
        self.assertEqual(self.one("DELETE", DECOMPOSED), {"x": 3})

    def test_a_merge_keeps_the_spelling_of_the_account(self):
        account = Client(self.site)
        account.read_info()
        account.sign_up("spelled@example.com")
        account.call("PUT", f"{account.user_path}/properties", {COMPOSED: 1})
        self.client.call("PUT", self.path, {DECOMPOSED: 2, "x": 3})
        user = self.client.log_in("spelled@example.com")
        self.assertEqual(user["properties"], {COMPOSED: 1, "x": 3})

    def test_the_deletion_of_a_key_that_cannot_exist_answers_the_map(self):
        self.one("PUT", "a", {"value": 1})
        for key in ["k" * 129, "k" * 2000, "\u0301" * 129, "missing"]:
            with self.subTest(key=key[:9]):
                self.assertEqual(self.one("DELETE", key), {"a": 1})
        self.assertEqual(self.client.call("GET", self.path), {"a": 1})

    def test_the_last_write_wins(self):
        self.client.sign_up("last@example.com")
        other = Client(self.site).launch()
        other.log_in("last@example.com")
        for n, client in enumerate([self.client, other] * 3):
            self.assertEqual(client.call("PUT", f"{self.path}/k", {"value": n}), {"k": n})
        # Both send at once: each answer shows its own write, or the later one.
        answers = in_parallel(
            8, lambda n: [self.client, other][n % 2].call("PUT", f"{self.path}/k", {"value": n}))
        stored = self.client.call("GET", self.path)
        self.assertIn(stored, answers)
        self.assertEqual(other.read_user()["properties"], stored)


if __name__ == "__main__":
    unittest.main()
