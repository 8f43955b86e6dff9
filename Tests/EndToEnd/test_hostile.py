"""Hostile requests get a response or an error, and never crash a worker."""

import json
import pathlib

from cases import Case
from asking import JSON

MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}
PATCH = {"Content-Type": "application/json-patch+json"}

LEAST = "-9223372036854775808"
FULL = 1_040_000
"""Bytes of a body that is nearly as long as the route reads."""


def array(element, size=FULL):
    """Returns an array of `size` bytes, of copies of an element or of its results for numbers."""
    parts, length = [], 2
    while length < size:
        part = element(len(parts)) if callable(element) else element
        parts.append(part)
        length += len(part) + 1
    return "[" + ",".join(parts[:-1]) + "]"


EMPTY = '{"":0}'


def deep(count, inner):
    return '{"":' * count + inner + "}" * count


def members(count, value="0"):
    return "{" + ",".join(f'"k{n}":{value}' for n in range(count)) + "}"


def operations(count, **members):
    return json.dumps([members] * count)


class Memory:
    """The peak memory of the workers, compared with the start."""

    def __init__(self, site):
        self.workers = site.workers()
        for worker in self.workers:
            # Resets the kernel's peak counter.
            pathlib.Path(f"/proc/{worker}/clear_refs").write_text("5")
        self.start = self.sum("VmRSS")

    def grown(self):
        return self.sum("VmHWM") - self.start

    def sum(self, name):
        """Returns the sum of a memory counter of the workers, in bytes."""
        lines = [line for worker in self.workers
                 for line in pathlib.Path(f"/proc/{worker}/status").read_text().splitlines()]
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

    @staticmethod
    def length(body, document):
        """Returns the larger of the lengths of body and stored document, to which memory is compared."""
        return max(len(body), len(document))


class Hostile(Case):
    """Requests that an anonymous user can send."""

    def setUp(self):
        self.token = self.site.login()["access_token"]

    def ask(self, method, path, body, kind=JSON, **options):
        return self.site.request(method, f"/v1/me/{path}", body.encode(), kind, self.token, **options)

    def stored(self, body="{}"):
        self.expect(self.ask("PUT", "custom-data", body), 200)

    def test_no_number_crashes_a_worker(self):
        before = self.site.workers()
        for number in (f"1e{LEAST}", "10e9223372036854775807", f"0.1e{LEAST}", "1e" + "9" * 60):
            answer = self.site.request(
                "POST", "/v1/login/anonymous", number.encode(), JSON)
            self.expect(answer, 400, "json.number")
        self.stored('{"a":[]}')
        for update in (
            f'{{"$push":{{"a":{{"$each":[],"$sort":{{"$numberLong":"{LEAST}"}}}}}}}}',
            f'{{"$pop":{{"a":{{"$numberLong":"{LEAST}"}}}}}}',
        ):
            answer = self.ask("POST", "custom-data/update", f'{{"update":{update}}}')
            self.expect(answer, 422, "update_refused")
        self.assertEqual(self.site.workers(), before)

    def test_a_response_of_get_can_be_put_again(self):
        for number in ("1e64", "9.99e308", "0e-16384", "0e-1000", "1e-300", "-0.0e5", "1e349",
                       "0e1073741823", "-0E+2147483648", "0.00e9223372036854775807",
                       "1.7976931348623157e308", "4.9406564584124654e-324", "7" * 350):
            with self.subTest(number):
                answer = self.ask("PUT", "custom-data", f'{{"a":[{number}]}}')
                self.assertEqual(answer.status, 200, answer.body)
                read = self.site.get("/v1/me/custom-data", token=self.token).body
                self.assertEqual(self.ask("PUT", "custom-data", read.decode()).body, read)
                merged = self.ask("PATCH", "custom-data", f'{{"b":{number}}}', MERGE_PATCH)
                self.expect(merged, 200)
                update = self.ask("POST", "custom-data/update", '{"update":{"$set":{"c":1}}}')
                self.expect(update, 200)
        for number in ("1e350", "0.1e-350", "7" * 351):
            self.expect(self.ask("PUT", "custom-data", f'{{"a":{number}}}'), 400, "json.number")

    def test_zeros_are_stored_in_their_short_form(self):
        self.stored(f'{{"a":{array("0e-16383", 100_000)}}}')
        size = len(self.site.get("/v1/me/custom-data", token=self.token).body)
        self.assertLess(size, 100_000)

    def test_at_most_twenty_errors_are_reported(self):
        many = members(60_000, "{}")
        for method, path in (("PUT", "properties"), ("POST", "custom-data/update"),
                             ("PUT", "metadata")):
            with self.subTest(path):
                body = many if path != "metadata" else members(4_000).replace("k", "$")
                answer = self.expect(self.ask(method, path, body), 422, "validation_failed")
                self.assertEqual(len(answer.json["errors"]), 20)

    def test_long_names_are_shortened_in_errors(self):
        """Twenty errors below a long name are reported, each with a shortened name."""
        name, many = "k" * 500_000, members(30)
        keys = f'{{"{name[:30_000]}":{{' + ",".join(f'"${n}":0' for n in range(30)) + "}}"
        for method, path, kind, body in (
            ("PUT", "metadata", JSON, keys), ("PATCH", "metadata", MERGE_PATCH, keys),
            ("PUT", "properties", JSON, f'{{"{name[:90_000]}":{{}}}}'),
            ("POST", "custom-data/update", JSON, f'{{"{name}":{many}}}'),
            ("POST", "custom-data/update", JSON, f'{{"update":{{"${name}":{many}}}}}'),
            ("POST", "custom-data/update", JSON, f'{{"update":{{"$set":{{"{name}":1,"{name}.a":1}}}}}}'),
            ("POST", "custom-data/update", JSON, f'{{"update":{{"$inc":{{"{name}":"x"}}}}}}'),
            ("POST", "custom-data/update", JSON, f'{{"update":{{}},"filter":{{"a":{{"${name}":1}}}}}}'),
            ("PUT", "custom-data", JSON, f'{{"{name}":{{"a":1,"a":2}}}}'),
            ("PATCH", "custom-data", PATCH, f'[{{"op":"remove","path":"/{name}"}}]'),
            ("PATCH", "custom-data", PATCH, f'[{{"op":"{name}","path":""}}]'),
        ):
            with self.subTest(path, body=body[:60]):
                self.site.request("PUT", "/v1/me/custom-data", {}, JSON, self.token)
                answer = self.ask(method, path, body, kind)
                self.assertIn(answer.status, (400, 422), answer.body[:300])
                self.assertLess(len(answer.body), 20_000)
                for error in answer.json["errors"]:
                    self.assertRegex(error["pointer"], "^(/|$)")

    def test_many_new_keys_are_merged(self):
        self.stored()
        answer = self.expect(
            self.ask("PATCH", "custom-data", members(10_000), MERGE_PATCH), 200)
        self.assertEqual(len(answer.json), 10_000)
        # Many objects are merged by the worker: by the same rule.
        self.expect(self.ask("PUT", "custom-data", '{"k0":{"a":1,"b":null},"k1":2,"x":null}'), 200)
        answer = self.ask("PATCH", "custom-data", members(2_000, '{"a":null,"c":[null]}'), MERGE_PATCH)
        stored = self.expect(answer, 200).json
        self.assertEqual(len(stored), 2_001)
        self.assertEqual(stored["k0"], {"b": None, "c": [None]})
        self.assertEqual(stored["k1"], {"c": [None]})
        self.assertIsNone(stored["x"])

    def test_each_hostile_request_is_answered_within_its_memory(self):
        before = self.site.workers()
        # The database stores a space after each comma and colon.
        zeros = f'{{"a":{array("0", 690_000)}}}'
        for name, document, request, refusal in hostile(zeros):
            with self.subTest(name):
                self.site.request("DELETE", "/v1/me/custom-data", token=self.token)
                self.stored(document)
                method, path, body, kind = request
                memory = Memory(self.site)
                answer = self.ask(method, path, body, kind)
                # The aim is 30, which a worker meets if it is measured alone: see
                # Tests/Benchmarks/hostile.py. Here the memory of parallel requests counts too.
                self.assertLess(memory.grown(), 45 * Memory.length(body, document))
                self.assertIn(answer.status, (200, 409, 413, 422), answer.body[:300])
                if refusal:
                    self.assertEqual(answer.json["code"], refusal)
        self.assertEqual(self.site.workers(), before)


def hostile(zeros):
    """Returns requests that were or could be slow: name, stored document, request, error code."""

    def update(operators, more=""):
        return "POST", "custom-data/update", f'{{"update":{operators}{more}}}', JSON

    def patch(body):
        return "PATCH", "custom-data", body, PATCH

    stamps = array(lambda n: f'{{"$timestamp":{{"t":1,"i":{n}}}}}', 1_000_000)
    decimals = array(lambda n: f'{{"$numberDecimal":"1{n}E-6000"}}', 1_000_000)
    alike = array(
        lambda n: '"' + "".join("é" if n >> bit & 1 else "e\u0301" for bit in range(16)) + '"', 600_000)
    objects = f'{{"a":{array("{}", 780_000)}}}'
    text = "a" * 900
    return [
        ("pull timestamps", '{"a":[1]}', update(f'{{"$pullAll":{{"a":{stamps}}}}}'), None),
        ("add timestamps", "{}", update(f'{{"$addToSet":{{"a":{{"$each":{stamps}}}}}}}'), None),
        ("pull decimals", '{"a":[1]}', update(f'{{"$pullAll":{{"a":{decimals}}}}}'), None),
        ("pull texts that look alike", '{"a":[1]}', update(f'{{"$pullAll":{{"a":{alike}}}}}'), None),
        ("sort much", '{"a":[]}',
         update(f'{{"$push":{{"a":{{"$each":{array("[[[[0]]]]")},"$sort":1}}}}}}'),
         None),
        ("sort nested arrays", "{}",
         update(f'{{"$push":{{"a":{{"$each":{array("[" * 50 + "0" + "]" * 50)},"$sort":1}}}}}}'),
         None),
        ("put in small objects", "{}", update(f'{{"$set":{{"a":{array(EMPTY, 800_000)}}}}}'), None),
        ("put in nested objects", "{}",
         update(f'{{"$set":{{"a":{array(deep(50, EMPTY), 900_000)}}}}}'), None),
        ("look for many numbers", zeros,
         update('{"$set":{"x":1}}', ',"filter":{"a":{"$in":' + array(str, 900_000) + "}}"), None),
        ("look for few numbers", zeros,
         update('{"$set":{"x":1}}', ',"filter":{"a":{"$in":' + array("0", 900_000) + "}}"), None),
        ("sort by many keys", objects,
         update(f'{{"$push":{{"a":{{"$each":[],"$sort":{members(2_000, "1")}}}}}}}'),
         "update_refused"),
        ("change every element", zeros, update('{"$inc":{"a.$[]":1}}'), None),
        ("filter every element", zeros,
         update('{"$set":{"a.$[x]":1}}', ',"array_filters":[{"x":{"$gt":0}}]'), "update_refused"),
        ("compare long texts", f'{{"a":{array(json.dumps(text), 1_000_000)}}}',
         update('{"$set":{"x":1}}', ',"filter":{"$or":' + array(
             lambda n: json.dumps({"a": f"{text[:-1]}{n}"}), 800_000) + "}"), "update_refused"),
        ("a hard pattern", f'{{"a":"{"a" * 1_000_000}!"}}',
         update('{"$set":{"x":1}}', ',"filter":{"a":{"$regex":"(a+)+$"}}'), "update_refused"),
        ("a pattern for any case", f'{{"a":"{"é" * 250_000}!"}}',
         update('{"$set":{"x":1}}', ',"filter":{"a":{"$regex":"(É+)+$","$options":"i"}}'),
         "update_refused"),
        ("many options", f'{{"a":{{"$regularExpression":{{"pattern":"","options":"{"i" * 900_000}"}}}}}}',
         update('{"$set":{"x":1}}', ',"filter":{"$or":[' + ",".join(['{"a":0}'] * 900) + "]}"),
         "update_refused"),
        ("decode at each look", f'{{"a":{{"$binary":{{"base64":"{"AAAA" * 250_000}","subType":"00"}}}}}}',
         update('{"$set":{"x":1}}', ',"filter":{"$nor":[' + ",".join(['{"a":-1}'] * 900) + "]}"),
         "update_refused"),
        ("pass over elements", zeros,
         update('{"$set":{"x":1}}',
                ',"filter":{"$or":[' + ",".join(['{"a":{"$elemMatch":{"x":1}}}'] * 450) + "]}"),
         "update_refused"),
        ("unset fields of each element", f'{{"a":[{",".join(["{}"] * 1_000)}]}}',
         update('{"$unset":' + members(900).replace('"k', '"a.$[].k') + "}"), None),
        ("put paths together for each element", f'{{"a":{array("{}", 600_000)}}}',
         update('{"$unset":' + members(900).replace('"k', '"a.$[x].k')[:-1] + ',"a.$[].z":0}}',
                ',"array_filters":[{"x":{"$exists":true}}]'), "update_refused"),
        ("lead nowhere", zeros,
         update('{"$unset":' + members(900).replace('"k', '"a.$[].x.k') + "}"), "update_refused"),
        ("move within an array", zeros,
         patch(operations(1_000, op="move", **{"from": "/a/0"}, path="/a/-")),
         "patch_not_applicable"),
        ("move within an object", members(80_000),
         patch(json.dumps([{"op": "move", "from": f"/k{n}", "path": f"/m{n}"} for n in range(1_000)])),
         None),
        ("copy and remove", zeros,
         patch(json.dumps([{"op": "copy", "from": "/a", "path": "/b"},
                           {"op": "remove", "path": "/b"}] * 500)), "patch_not_applicable"),
        ("merge many objects", "{}",
         ("PATCH", "custom-data", members(80_000, '{}'), MERGE_PATCH), None),
        ("merge deep objects", "{}",
         ("PATCH", "custom-data",
          '{"a":' + array('{"a":' * 60 + "0" + "}" * 60, 900_000) + "}", MERGE_PATCH), None),
        ("large numbers", "{}", ("PUT", "custom-data", f'{{"a":{array("1e349")}}}', JSON),
         "document_too_large"),
    ]
