"""Compares responses with the OpenAPI document of the server."""

import copy
import re


def strict(schema):
    """Returns the schema without additional members."""
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


def chapters(site, query=""):
    """Returns the pages of the reference by their paths: the start, then each chapter."""
    start = site.get(f"/reference{query}").body.decode()
    navigation = re.search(r"<nav.*?</nav>", start, re.S)[0]
    paths = re.findall(r'href="(/reference/[^"]*)"', navigation)
    return {f"/reference{query}": start,
            **{path: site.get(path).body.decode() for path in paths}}


class Reference:
    def __init__(self, document):
        # OpenID Connect has other errors than this API, and its own tests.
        self.openid = {path: item for path, item in document["paths"].items()
                       if all("OpenID Connect" in operation["tags"] for operation in item.values())}
        document = {**document, "paths": {path: item for path, item in document["paths"].items()
                                          if path not in self.openid}}
        self.document = document
        self.components = {"schemas": strict(document["components"]["schemas"])}
        # Some kinds of problems have additional members.
        self.components["schemas"]["Problem"].pop("additionalProperties")
        self.problems = document["x-problems"]
        self.paths = []
        for path, item in document["paths"].items():
            pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path))
            self.paths.append((re.compile(pattern), path.count("{"), item))
        self.posts = {item["post"]["operationId"] for item in document["paths"].values()
                      if "post" in item}
        # If two paths match, literals precede captures.
        self.paths.sort(key=lambda entry: entry[1])
        self.validators = {}

    def operation(self, method, target):
        path = target.split("?")[0]
        for pattern, _, item in self.paths:
            if pattern.fullmatch(path):
                return item.get(method.lower())
        return None

    def fault(self, method, target, answer):
        """Returns what is undocumented in a response, or None."""
        operation = self.operation(method, target)
        if operation is None:
            return None
        name = operation["operationId"]
        response = self.response(operation, answer.status)
        if response is None:
            return f"{name}: status {answer.status} is not documented: {answer.body[:300]}"
        if answer.status >= 400:
            fault = self.problem_fault(operation, answer)
            if fault:
                return f"{name}: {answer.status}: {fault}"
        content = response.get("content")
        type_ = (answer.headers["Content-Type"] or "").split(";")[0]
        if content is None:
            return f"{name}: a body is not documented: {answer.body[:300]}" if answer.body else None
        if type_ not in content:
            return f"{name}: {answer.status} is not documented as {type_}"
        missing = [field for field, header in response.get("headers", {}).items()
                   if header.get("required") and field not in answer.headers]
        if missing:
            return f"{name}: {answer.status} lacks {missing}"
        if "json" not in type_ or not content[type_]:
            return None
        for error in self.validator(name, answer.status, content[type_]).iter_errors(answer.json):
            return f"{name}: {answer.status}: {error.json_path}: {error.message[:300]}"
        return None

    def response(self, operation, status):
        """Returns the documented response for a status, or None if it has none."""
        responses = operation["responses"]
        # A success must be documented under its own status; an error may fall under a range.
        response = responses.get(str(status))
        if response is None and status >= 400:
            response = responses.get("default") or responses[f"{status // 100}XX"]
        return self.resolved(response)

    def resolved(self, part):
        """Returns the part of the document to which a reference points."""
        if part and "$ref" in part:
            _, _, kind, name = part["$ref"].split("/")
            return self.document["components"][kind][name]
        return part

    def codes(self, operation):
        """Returns the problem codes of an operation: its own, and those of its kind of operation."""
        codes = set(operation.get("x-problems", []) + self.problems["everywhere"])
        for security in operation["security"]:
            for scheme in security:
                codes |= set(self.problems["bySecurity"][scheme])
        content = self.resolved(operation.get("requestBody", {})).get("content", {})
        codes |= set(self.problems["withBody"] if content else [])
        codes |= set(self.problems["withJSON"] if any("json" in type_ for type_ in content) else [])
        if any(self.resolved(parameter)["in"] == "path"
               for parameter in operation.get("parameters", [])):
            codes |= set(self.problems["withPath"])
        if operation["operationId"] in self.posts:
            codes |= set(self.problems["ofPOST"])
        return codes

    def problem_fault(self, operation, answer):
        """Returns what is undocumented in a problem, apart from its schema."""
        try:
            code = answer.json["code"]
        except (ValueError, KeyError, TypeError):
            return f"no problem with a code: {answer.body[:300]}"
        if code not in self.codes(operation):
            return f"the code {code} is not documented"
        if self.problems["statuses"][code] != answer.status:
            return f"the code {code} is of another status"
        if answer.status in [429, 503] and "Retry-After" not in answer.headers:
            return f"{code} lacks Retry-After"
        return None

    def validator(self, name, status, media):
        # Schemathesis runs without it.
        import jsonschema

        key = (name, status)
        if key not in self.validators:
            schema = {**strict(media["schema"]), "components": self.components}
            self.validators[key] = jsonschema.Draft202012Validator(schema)
        return self.validators[key]
