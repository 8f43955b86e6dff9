"""Tests that each example of the reference is true and belongs to its route."""

import html
import json
import re
import shlex
import unittest

import jsonschema

from asking import JSON
from cases import Case
from machine import ROOT
from reference import chapters, strict

PASSWORD = "correct horse battery"
ID = re.compile("[0-9a-f]{24}")
# Schemas that describe the same data under several names.
SAME = {"JSONDocument": "Metadata", "PropertiesOrVersions": "Properties",
        "PropertiesPatch": "Properties", "SigningKey.public_key": "PublicKey",
        "IssuerDescription.claims": "Issuer.claims", "PasskeyEnrollmentFlow": "EnrollmentFlow",
        "UserMerge.documents.metadata": "Metadata", "SupportView.data.profile": "Profile",
        "SupportView.data.documents.custom_data.body": "Metadata", "RecreatedUser": "Choice"}
KINDS = {"Profile": "user", "NewUser": "user", "Session": "session", "Identity": "identity",
         "APIKey": "key", "NewAPIKey": "key", "App": "app", "ListedApp": "app", "Client": "client",
         "NewClient": "client", "SearchIndex": "index", "AuditEvent": "event",
         "SigningKey": "signing key"}
# Shapes whose names people choose, and that are no persons.
NAMED = ["App", "ListedApp", "NewApp", "Client", "NewClient", "ClientDescription", "APIKey",
         "NewAPIKey", "KeyName", "Issuer", "IssuerDescription"]


class Shown:
    """The examples of one route."""

    def __init__(self, section):
        parts = [(title, html.unescape(text)) for title, text in re.findall(
            r"<figcaption>(.*?)</figcaption><pre[^>]*>(.*?)</pre>", section, re.S)]
        self.curl = dict(parts)["curl"]
        # The request is the last command. A body with variables of the shell has escaped quotes.
        request = self.curl[self.curl.rindex("curl "):]
        body = re.search(r"-d (['\"])(.*)\1", request, re.S)
        text = body[2].replace(r"\"", '"') if body and body[1] == '"' else body and body[2]
        self.body = json.loads(text) if body else None
        title, text = parts[-1]
        answer = re.match(r"Response (\d{3}) ", title)
        self.status = answer and answer[1]
        self.answer = answer and json.loads(text)


class Examples(Case):
    def setUp(self):
        pages = "".join(chapters(self.site).values())
        self.document = self.site.reference.document
        self.schemas = self.document["components"]["schemas"]
        self.components = {"schemas": strict(self.schemas)}
        self.operations = {operation["operationId"]: operation
                           for item in self.document["paths"].values()
                           for operation in item.values()}
        self.shown = {name: Shown(text) for name, text in re.findall(
            r'<section class="part" id="([\w.]+)">(.*?)</section>', pages, re.S)
            if name in self.operations}

    def examples(self):
        """Yields the place, the schema and the value of each example."""
        for name, operation in self.operations.items():
            shown = self.shown[name]
            content = self.json_of(self.site.reference.resolved(operation.get("requestBody", {})))
            if content:
                yield f"body of {name}", content["schema"], shown.body
            status = next(iter(operation["responses"]))
            content = self.json_of(self.site.reference.resolved(operation["responses"][status]))
            if content:
                self.assertEqual(shown.status, status, name)
                yield f"answer of {name}", content["schema"], shown.answer

    @staticmethod
    def json_of(part):
        return next((media for type_, media in part.get("content", {}).items()
                     if type_.endswith(("/json", "+json")) and "schema" in media), None)

    def parts(self, schema, value, name, member=""):
        """Yields each part of an example: the name of its shape, its member name and its value."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            yield from self.parts(self.schemas[name], value, name, member)
            return
        for choice in schema.get("oneOf", []) + schema.get("anyOf", []):
            if self.validator(choice).is_valid(value):
                yield from self.parts(choice, value, name, member)
                return
        yield name, member, value
        if isinstance(value, list):
            for element in value:
                yield from self.parts(schema.get("items", {}), element, name, member)
        elif isinstance(value, dict):
            for key, part in value.items():
                inner = schema.get("properties", {}).get(key) or {}
                place = f"{name}.{key}" if isinstance(part, dict) else name
                yield from self.parts(inner, part, place, key)

    def validator(self, schema):
        return jsonschema.Draft202012Validator({**strict(schema), "components": self.components})

    def test_each_example_matches_its_schema(self):
        count = 0
        for place, schema, value in self.examples():
            errors = [f"{error.json_path}: {error.message}"
                      for error in self.validator(schema).iter_errors(value)]
            self.assertEqual(errors, [], place)
            count += 1
        self.assertGreater(count, 100)

    def test_each_id_belongs_to_one_kind_of_object(self):
        kinds = {}
        for place, schema, value in self.examples():
            for shape, member, part in self.parts(schema, value, place):
                # Other services give an app such ids.
                if shape.startswith("Connection") or "connections." in place and member != "id":
                    continue
                if not isinstance(part, str) or not ID.fullmatch(part):
                    # WebAuthn calls a domain so, Apple its teams and apps, and clients may choose that
                    # of a request.
                    others = ("passkey_rp_id", "apple_team_id", "apple_bundle_id", "request_id")
                    is_id = member.endswith("_id") and member not in others
                    self.assertFalse(is_id and part is not None, (place, member))
                    continue
                kind = KINDS.get(shape) if member == "id" else member.removesuffix("_id")
                if shape == "MergeRequest" and member == "from":
                    kind = "user"
                kind = {"kid": "signing key", "sub": "user", "sid": "session"}.get(member, kind)
                if member == "subject" or kind is None:
                    continue
                kinds.setdefault(part, set()).add(kind)
        self.assertGreater(len(kinds), 10)
        self.assertEqual({part: kind for part, kind in kinds.items() if len(kind) > 1}, {})

    def test_no_example_is_used_for_several_types(self):
        """Earlier, all objects without their own example were {"theme": "dark"}."""
        shapes = {}
        for place, schema, value in self.examples():
            for shape, _, part in self.parts(schema, value, place):
                # An export has all of a user.
                if isinstance(part, dict) and part and not place.endswith(".export"):
                    shapes.setdefault(json.dumps(part), set()).add(SAME.get(shape, shape))
        # Documents stand where an app's own data does, also within a new user.
        dark = shapes.pop('{"theme": "dark"}')
        self.assertEqual(dark, {"Metadata"})
        self.assertEqual({text: found for text, found in shapes.items() if len(found) > 1}, {})

    def test_examples_of_things_have_no_names_of_persons(self):
        names = set()
        for place, schema, value in self.examples():
            for shape, member, part in self.parts(schema, value, place):
                if shape in NAMED and member == "name" and isinstance(part, str):
                    names.add(part)
                self.assertNotEqual(part, "…", place)
        self.assertEqual(names, {"adventure", "nightly-report", "laptop", "login-page"})

    def test_times_go_forward(self):
        for place, schema, value in self.examples():
            for _, _, part in self.parts(schema, value, place):
                if not isinstance(part, dict):
                    continue
                times = [part[name] for name in ["created_at", "refreshed_at", "updated_at",
                                                 "last_used_at", "expires_at", "retires_at"]
                         if part.get(name)]
                self.assertEqual(times, sorted(times), place)

    def test_examples_of_logins_match_real_responses(self):
        credentials = {"email": "shown@example.com", "password": PASSWORD}
        first = self.expect(self.post("/v1/register", credentials), 201).json
        device = {"Dossier-Device": first["device_secret"]}
        again = self.expect(self.post("/v1/login/password", credentials, headers=device), 200).json
        guest = self.expect(self.post("/v1/login/anonymous", {}), 200).json
        refreshed = self.expect(
            self.post("/v1/token/refresh", {"refresh_token": again["refresh_token"]}), 200).json
        switched = self.expect(self.site.request(
            "PUT", "/v1/device/active", {"user_id": first["user_id"]},
            {**JSON, "Dossier-Device": again["device_secret"]}), 200).json
        fresh = self.expect(self.post(
            "/v1/reauthenticate", {"provider": "password", "password": PASSWORD},
            token=switched["access_token"]), 200).json
        changed = self.expect(self.post(
            "/v1/password/change", {"current_password": PASSWORD, "new_password": "another " + PASSWORD},
            token=fresh["access_token"]), 200).json
        for name, real in [
                ("auth.register", first), ("auth.signInWithPassword", again), ("auth.signInAnonymously", guest),
                ("auth.refresh", refreshed), ("device.switchUser", switched),
                ("auth.reauthenticate", fresh), ("auth.changePassword", changed)]:
            self.assertEqual(set(self.shown[name].answer), set(real), name)
        for name in ["auth.register", "auth.signInWithPassword", "auth.signInAnonymously"]:
            self.assertLessEqual({"refresh_token", "device_secret"}, set(self.shown[name].answer))


class Guides(Case):
    """The examples in the guides of the REST API."""

    FOLDER = ROOT / "Sources/RESTWire/RESTWire.docc"

    def commands(self):
        """Yields each command of the guides, as a list of words."""
        for path in sorted(self.FOLDER.glob("*.md")):
            for block in re.findall(r"^```sh\n(.*?)^```", path.read_text(), re.S | re.M):
                for line in block.replace("\\\n", " ").splitlines():
                    yield shlex.split(line)

    @staticmethod
    def option(words, name):
        return words[words.index(name) + 1] if name in words else None

    def test_each_request_of_the_guides_matches_the_reference(self):
        document = self.site.reference.document
        schemas = {"components": {"schemas": strict(document["components"]["schemas"])}}
        count = 0
        for words in self.commands():
            if words[0] != "curl":
                continue
            target = next(word for word in words if word.startswith("$B/")).removeprefix("$B")
            body = self.option(words, "-d")
            method = self.option(words, "-X") or ("GET" if body is None else "POST")
            operation = self.site.reference.operation(method, target)
            self.assertIsNotNone(operation, words)
            content = self.site.reference.resolved(operation.get("requestBody", {})).get("content", {})
            self.assertEqual(body is None, not content, words)
            count += 1
            if body is not None:
                self.assertIn("$JSON", words)
                schema = {**strict(content["application/json"]["schema"]), **schemas}
                jsonschema.Draft202012Validator(schema).validate(json.loads(body))
        self.assertGreater(count, 30)

    def test_each_setting_of_an_app_exists(self):
        count = 0
        for words in self.commands():
            if words[:3] == ["dossier", "app", "set"]:
                run = self.site.dossier(*words[1:], check=False)
                self.assertEqual(run.returncode, 0, (words, run.stderr))
                count += 1
        self.assertGreater(count, 5)


if __name__ == "__main__":
    unittest.main()
