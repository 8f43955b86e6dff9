"""The properties of users of Parra, by a client as strict as the SDK."""

import json
import unittest
import urllib.parse

from asking import JSON
from cases import Case, in_parallel
from parra import Client
from parra_types import APIError, canonical, is_api_error

EMOJI = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


class Store:
    """The properties that an SDK holds of its user, and the conflicts that it publishes."""

    def __init__(self, client):
        self.client, self.local, self.conflicts = client, {}, []

    @property
    def path(self):
        return f"{self.client.user_path}/properties"

    def fetch(self):
        all = self.client.call("GET", self.path)
        self.local = {canonical(key): value for key, value in all.items()}
        return all

    def key_path(self, key):
        # The SDK does not escape slashes.
        return f"{self.path}/{urllib.parse.quote(key, safe='/')}"

    def set(self, key, value):
        key = canonical(key)
        held = self.local.get(key)
        self.local[key] = value
        try:
            self.take(self.client.call("PUT", self.key_path(key), {"value": value}))
        except APIError:
            self.local = {**self.local, key: held}
            raise

    def delete(self, key):
        self.local.pop(canonical(key), None)
        self.take(self.client.call("DELETE", self.key_path(key)))

    def take(self, all):
        all = {canonical(key): value for key, value in all.items()}
        for key in self.local.keys() & all.keys():
            if self.local[key] != all[key]:
                self.conflicts.append((key, self.local[key], all[key]))
        self.local = dict(all)


class Properties(Case):
    def setUp(self):
        self.client = Client(self.site).launch()
        self.store = Store(self.client)

    def raw(self, method, path="", body=None):
        return self.client.send(method, f"{self.client.base}{self.store.path}{path}", body,
                                token=self.client.tokens["access_token"])

    def refused(self, *arguments, code="insufficient_scope"):
        with self.assertRaises(APIError) as refused:
            self.client.call(*arguments)
        self.assertEqual(refused.exception.code, code)
        return refused.exception

    def test_every_answer_has_the_whole_map(self):
        path = self.store.path
        self.assertEqual(self.client.call("GET", path), {})
        self.assertEqual(self.client.call("PUT", path, {"a": 1, "b": "x"}), {"a": 1, "b": "x"})
        self.assertEqual(
            self.client.call("PATCH", path, {"b": True, "c": 1.5}), {"a": 1, "b": True, "c": 1.5})
        self.client.call("DELETE", f"{path}/c")
        self.store.set("favorite color", "teal")
        self.assertEqual(self.store.local, {"a": 1, "b": True, "favorite color": "teal"})
        self.store.delete("a")
        self.store.delete("a")
        self.assertEqual(self.store.local, {"b": True, "favorite color": "teal"})
        self.assertEqual(self.client.call("PUT", path, {"z": 0}), {"z": 0})
        self.assertEqual(self.client.read_user()["properties"], {"z": 0})
        self.assertEqual(self.client.call("DELETE", path), {})
        self.assertEqual(self.store.fetch(), {})

    def test_types_and_the_spelling_of_numbers_stay(self):
        for text in ["1", "1.0", "-0", "9223372036854775807", "18446744073709551615", "1e2",
                     "0.1000", "true", "false", '"1"', '""', '" \\u00e9 "']:
            answer = self.raw("PUT", "/n", f'{{"value":{text}}}')
            self.assertEqual(answer.status, 200, answer.body)
            self.assertEqual(json.loads(answer.body), {"n": json.loads(text)})
            if not text.startswith('"'):
                self.assertEqual(answer.body, f'{{"n":{text}}}'.encode())
        for text in ["null", "[]", "{}", "[1]"]:
            refused = self.raw("PUT", "/n", f'{{"value":{text}}}')
            self.assertTrue(refused.status == 422 and is_api_error(refused.json), refused.body)
        self.refused("PUT", self.store.key_path("n"), {})
        self.refused("PUT", self.store.path, [])
        for method in ["PUT", "PATCH"]:
            for wrong in [{"a": {"b": 1}}, {"a": None}, {"b": 1, "n": None}]:
                self.assertEqual(self.refused(method, self.store.path, wrong).status, 422)
        self.assertEqual(list(self.store.fetch()), ["n"])

    def test_a_number_that_is_no_double_is_refused(self):
        # The SDK would lose the whole map.
        for text in ["1e309", "-1e309", "1" + "0" * 309, "17976931348623159e292"]:
            for path, body in [("/n", f'{{"value":{text}}}'), ("", f'{{"n":{text}}}')]:
                answer = self.raw("PUT", path, body)
                with self.subTest(text=text[:20], path=path):
                    self.assertEqual(answer.status, 422, answer.body)
                    self.assertIn("double", answer.json["message"])
        for text in ["1.7976931348623157e308", "-1e-300", "1" + "0" * 308]:
            self.assertEqual(self.raw("PUT", "/n", f'{{"value":{text}}}').status, 200)
            self.store.fetch()

    def test_keys_keep_their_case_and_slashes(self):
        keys = ["camelCase", "snake_case", "a/b", "a//b", "/a", "a/", "%2F", "a b", "é", ".",
                "a?b#c", "user", "properties", "+", ".."]
        for key in keys:
            path = {".": "%2E", "..": "%2E%2E"}.get(
                key, urllib.parse.quote(key, safe="" if key == "%2F" else "/"))
            answer = self.raw("PUT", f"/{path}", {"value": key})
            with self.subTest(key=key):
                self.assertEqual((answer.status, answer.json.get(key)), (200, key), answer.body)
        answer = self.raw("PUT", "/c%2Fd", {"value": 1})
        self.assertEqual(answer.json["c/d"], 1)
        self.assertEqual(set(self.store.fetch()), {*keys, "c/d"})
        for key in ["a/b", "a//b", "/a", "a/"]:
            self.store.delete(key)
        self.assertEqual(set(self.store.local), {*keys, "c/d"} - {"a/b", "a//b", "/a", "a/"})

    def test_an_empty_key_never_means_all_properties(self):
        self.store.set("a", 1)
        for method in ["PUT", "DELETE"]:
            answer = self.raw(method, "/", {"value": 1} if method == "PUT" else None)
            self.assertEqual(answer.status, 404)
            self.assertEqual(answer.json["code"], "route_not_found")
        self.assertEqual(self.store.fetch(), {"a": 1})

    def test_limits(self):
        self.client.call("PUT", self.store.path, {f"k{n}": n for n in range(99)})
        self.store.set("the hundredth", 1)
        self.assertEqual(len(self.store.local), 100)
        self.refused("PUT", self.store.key_path("one more"), {"value": 1})
        self.refused("PATCH", self.store.path, {"one more": 1})
        self.refused("PUT", self.store.path, {f"k{n}": n for n in range(101)})
        self.store.set("the hundredth", 2)
        self.assertEqual(len(self.store.fetch()), 100)
        self.client.call("DELETE", self.store.path)
        self.store.set("k" * 128, "v" * 128)
        self.refused("PUT", self.store.key_path("k" * 129), {"value": 1})
        error = self.refused("PUT", self.store.key_path("k"), {"value": "v" * 129})
        self.assertIn("128", error.body["message"])
        self.store.set("e", EMOJI * 128)
        self.refused("PUT", self.store.key_path("e"), {"value": EMOJI * 129})
        # One character for the SDK, but too many bytes.
        self.refused("PUT", self.store.key_path("e"), {"value": "e" + "\u0301" * 5000})
        self.assertEqual(self.store.fetch(), {"k" * 128: "v" * 128, "e": EMOJI * 128})
        self.refused("PUT", self.store.key_path("\u0301" * 129), {"value": 1})
        self.refused("PATCH", self.store.path, {"": 1})

    def test_the_app_may_allow_strings_as_long_as_the_sdk_does(self):
        self.site.create_app("long")
        self.site.dossier("app", "set", "--app", "long", "property_string_length=1024")
        self.client = Client(self.site, "long").launch()
        self.store = Store(self.client)
        for text in ["v" * 129, "v" * 1024, "\u00e9" * 1024, EMOJI * 300]:
            self.store.set("k", text)
            self.refused("PUT", self.store.key_path("k"), {"value": "v" * 1025})
            self.assertEqual(self.store.fetch(), {"k": text})

    def test_two_devices_in_conflict(self):
        self.client.sign_up("conflict@example.com")
        other = Client(self.site).launch()
        other.log_in("conflict@example.com")
        first, second = self.store, Store(other)
        first.set("color", "red")
        second.fetch()
        for keeps, result in [("red", "red"), ("blue", "blue")]:
            second.set("color", "blue")
            first.conflicts = []
            first.set("other", result)
            self.assertEqual(first.conflicts, [("color", "red", "blue")])
            self.assertEqual(first.local["color"], "blue")
            self.assertEqual(Store(other).fetch(), {"color": "blue", "other": result})
            first.set("color", keeps)
            self.assertEqual(Store(other).fetch(), {"color": result, "other": result})
            second.conflicts = []
            second.set("third", result)
            self.assertEqual(
                second.conflicts,
                [("color", "blue", "red")] * (keeps == "red") + [("other", "red", "blue")] * (
                    keeps == "blue"))
            self.assertEqual(second.local["color"], result)
            self.assertEqual(Store(other).fetch(), second.local)
            second.delete("third")
        second.fetch()
        second.conflicts = []
        first.set("color", "red")
        second.set("third", 1)
        self.assertEqual(second.conflicts, [("color", "blue", "red")])
        self.assertEqual(second.local["color"], "red")

    def test_concurrent_writes_of_one_user_all_stay(self):
        paths = [f"/k{n}" for n in range(8)]
        answers = in_parallel(8, lambda n: self.raw("PUT", paths[n], {"value": n}))
        self.assertEqual({answer.status for answer in answers}, {200})
        for n, answer in enumerate(answers):
            self.assertEqual(answer.json[f"k{n}"], n)
        self.assertEqual(self.store.fetch(), {f"k{n}": n for n in range(8)})

    def test_only_the_user_of_the_token_has_access(self):
        other = Client(self.site).launch()
        native = other.user["id"].replace("-", "")
        native = native[:12] + native[20:]
        for method, suffix in [
            ("GET", "/properties"), ("PUT", "/properties"), ("PATCH", "/properties"),
            ("DELETE", "/properties"), ("PUT", "/properties/k"), ("DELETE", "/properties/k"),
            ("PUT", ""), ("DELETE", ""), ("DELETE", "/avatar"), ("GET", "/entitlements"),
        ]:
            body = {"value": 1} if method in ("PUT", "PATCH") else None
            for user in [other.user["id"], native, "x"]:
                path = f"{self.client.base}/users/{user}{suffix}"
                with self.subTest(method=method, path=path):
                    missing = self.client.send(method, path, body)
                    self.assertEqual(missing.status, 401)
                    self.assertTrue(is_api_error(missing.json), missing.body)
                    foreign = self.client.send(
                        method, path, body, token=self.client.tokens["access_token"])
                    self.assertEqual((foreign.status, foreign.json["code"]),
                                     (404, "route_not_found"))
        for method, path in [("POST", "/auth/login"), ("GET", "/auth/user-info"),
                             ("POST", "/users/avatar")]:
            answer = self.site.request(method, f"{self.client.base}{path}", None, JSON)
            self.assertEqual(answer.status, 401, answer.body)
        self.assertEqual(other.read_user()["properties"], {})


if __name__ == "__main__":
    unittest.main()
