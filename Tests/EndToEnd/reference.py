"""Holds answers against the OpenAPI document that the server serves."""

import copy
import re

import jsonschema


def strict(schema):
    """The schema, with no members but those that are described."""
    schema = copy.deepcopy(schema)

    def close(value):
        if isinstance(value, dict):
            if "allOf" in value:
                return
            if "properties" in value:
                value.setdefault("additionalProperties", False)
            for part in value.values():
                close(part)
        elif isinstance(value, list):
            for part in value:
                close(part)

    close(schema)
    return schema


class Reference:
    def __init__(self, document):
        self.document = document
        self.components = {"schemas": strict(document["components"]["schemas"])}
        # Kinds of problems have members of their own.
        self.components["schemas"]["Problem"].pop("additionalProperties")
        self.paths = []
        for path, item in document["paths"].items():
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))
            self.paths.append((re.compile(pattern), path.count("{"), item))
        # Where two fit, words go before captures.
        self.paths.sort(key=lambda entry: entry[1])
        self.validators = {}

    def operation(self, method, target):
        path = target.split("?")[0]
        for pattern, _, item in self.paths:
            if pattern.fullmatch(path):
                return item.get(method.lower())
        return None

    def fault(self, method, target, answer):
        """What is undocumented in an answer; None when nothing is."""
        operation = self.operation(method, target)
        if operation is None:
            return None
        name = operation["operationId"]
        response = operation["responses"].get(str(answer.status))
        if response is None:
            return f"{name}: status {answer.status} is not documented: {answer.body[:300]}"
        content = response.get("content")
        type_ = (answer.headers["Content-Type"] or "").split(";")[0]
        if content is None:
            return f"{name}: a body is not documented: {answer.body[:300]}" if answer.body else None
        if type_ not in content:
            return f"{name}: {answer.status} is not documented as {type_}"
        missing = [field for field, header in response.get("headers", {}).items()
                   if header["required"] and field not in answer.headers]
        if missing:
            return f"{name}: {answer.status} lacks {missing}"
        if "json" not in type_ or not content[type_]:
            return None
        for error in self.validator(name, answer.status, content[type_]).iter_errors(answer.json):
            return f"{name}: {answer.status}: {error.json_path}: {error.message[:300]}"
        return None

    def validator(self, name, status, media):
        key = (name, status)
        if key not in self.validators:
            schema = {**strict(media["schema"]), "components": self.components}
            self.validators[key] = jsonschema.Draft202012Validator(schema)
        return self.validators[key]
