"""Tests that the reference of the API is complete and true, and that its examples run."""

import contextlib
import gzip
import html.parser
import json
import os
import pathlib
import re
import subprocess
import unittest
import urllib.parse

import jsonschema

from cases import Case
from asking import JSON
from hosted import Visitor
from machine import BUILD, ROOT, TOOLS_FOLDER
from reference import chapters

# Operations that end the session or disable the client of the fuzzer. They run last.
LAST = ["me.delete", "auth.signOut", "device.signOutAll", "me.linkIdentity", "me.endSession",
        "users.delete", "clients.update", "clients.delete"]
# Its answer does not end, and it needs another program.
STREAM = "me.getEvents"
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance",
          "response_headers_conformance", "response_schema_conformance", "negative_data_rejection",
          "unsupported_method", "allow_header_conformance", "ignored_auth", "documented_refusal"]


class Page(html.parser.HTMLParser):
    """The examples, anchors and links of a page."""

    def __init__(self, path, text):
        super().__init__()
        self.path, self.inside = path, False
        self.examples, self.ids, self.links, self.headings = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if "href" in attributes:
            self.links.add(urllib.parse.urljoin(self.path, attributes["href"]))
        if re.fullmatch(r"h\d", tag):
            self.headings.append(int(tag[1]))
        self.inside = attributes.get("class") == "example"
        if self.inside:
            self.examples.append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "pre"

    def handle_data(self, data):
        if self.inside:
            self.examples[-1] += data


def pages(site, query=""):
    return {path: Page(path, text) for path, text in chapters(site, query).items()}


def examples(pages):
    return [example for page in pages.values() for example in page.examples]


class Described(Case):
    def test_the_reference_describes_exactly_the_routes(self):
        listing = subprocess.run(
            [BUILD / "dossierd", "routes"], check=True, capture_output=True, text=True).stdout
        routes = {line.split("\t")[0] for line in listing.splitlines()}
        document = self.expect(self.site.get("/openapi.json"), 200).json
        document["paths"] = {path: item for path, item in document["paths"].items()
                             if path not in self.site.reference.openid}
        described = {f"{method.upper()} {path}" for path, item in document["paths"].items()
                     for method in item}
        self.assertEqual(described, routes)
        names = [operation["operationId"] for item in document["paths"].values()
                 for operation in item.values()]
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertRegex(name, r"^[a-z][a-zA-Z]+\.[a-z][a-zA-Z]+$")
        for scheme, access in [("user", "user "), ("client", "client "), ("operator", "operator")]:
            for line in listing.splitlines():
                method, path = line.split("\t")[0].split(" ")
                if line.split("\t")[1].startswith(access):
                    security = document["paths"][path][method.lower()]["security"]
                    self.assertEqual([list(entry) for entry in security], [[scheme]], line)

    def test_everything_in_the_document_has_a_description(self):
        document = self.site.get("/openapi.json").json
        components = document["components"]
        described = {
            **{f"{method} {path}": operation for path, item in document["paths"].items()
               for method, operation in item.items()},
            **{f"{kind} {name}": part for kind in ["parameters", "responses", "requestBodies", "schemas"]
               for name, part in components[kind].items()},
            **{f"{name} of {response}": header for response, part in components["responses"].items()
               for name, header in part.get("headers", {}).items()},
            # The names of the configuration are those of its standard.
            **{f"{name} of {schema}": member for schema, part in components["schemas"].items()
               if not schema.startswith("OpenID")
               for name, member in part.get("properties", {}).items() if "$ref" not in member}}
        self.assertGreater(len(described), 800)
        self.assertEqual([name for name, part in described.items() if not part.get("description")], [])

    def test_the_openid_endpoints_are_those_of_the_configuration(self):
        openid = self.site.reference.openid
        found = self.expect(self.site.get("/.well-known/openid-configuration"), 200).json
        named = {urllib.parse.urlsplit(value).path for name, value in found.items()
                 if name.endswith("_endpoint") or name == "jwks_uri"}
        self.assertEqual(set(openid) - {"/.well-known/openid-configuration"}, named)
        components = {"components": self.site.reference.document["components"]}
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        wrong = b"grant_type=client_credentials&client_id=" + b"0" * 24 + b"&client_secret=no&token=no"
        for path, item in openid.items():
            for method, operation in item.items():
                body = wrong if "requestBody" in operation else None
                answer = self.site.request(method.upper(), path, body, form if body else {})
                # An unknown client is not found, but the route is.
                self.assertNotIn(answer.status, [405, 415, 500], path)
                self.assertNotIn(b"route_not_found", answer.body, path)
                responses = operation["responses"]
                response = responses.get(str(answer.status)) or responses.get("default", {})
                for type_, media in response.get("content", {}).items():
                    self.assertIn(type_, answer.headers["Content-Type"], path)
                    jsonschema.Draft202012Validator({**media["schema"], **components}).validate(
                        answer.json)

    def test_the_reference_is_small_and_has_a_part_for_users(self):
        self.assertLess(len(self.site.get("/openapi.json").body), 400 * 1024)
        part = self.expect(self.site.get("/openapi.json?for=users"), 200).json
        security = {name for item in part["paths"].values() for operation in item.values()
                    for entry in operation["security"] for name in entry}
        self.assertEqual(security, {"user", "device", "deviceCookie"})
        self.expect(self.site.get("/openapi.json?for=all"), 422, "validation_failed")
        found = pages(self.site, "?for=users")
        ids = {name for page in found.values() for name in page.ids}
        names, kept = [
            {operation["operationId"] for item in document["paths"].values()
             for operation in item.values()} for document in [self.site.reference.document, part]]
        self.assertEqual(names & ids, kept)
        self.assertNotIn("$SECRET", "".join(examples(found)))
        # Each link stays in this part, except the one to all parts.
        links = {link for page in found.values() for link in page.links
                 if link.startswith("/reference") and "/assets/" not in link}
        self.assertEqual({link for link in links if "?for=users" not in link}, {"/reference"})
        self.expect(self.site.get("/reference?for=all"), 422, "validation_failed")

    def test_the_chapters_cover_every_route_and_links_have_targets(self):
        for query in ["", "?for=users"]:
            found = pages(self.site, query)
            for code in self.site.reference.problems["statuses"]:
                path = f"/problems/{code}"
                found[path] = Page(path, self.expect(self.site.get(path), 200).body.decode())
            self.assertGreater(len(found), 90)
            if query == "":
                names = {operation["operationId"]
                         for item in self.site.reference.document["paths"].values()
                         for operation in item.values()}
                start = found["/reference"].ids
                self.assertLessEqual(names, set(start))
                inside = [name for path, page in found.items() if path != "/reference"
                          for name in page.ids]
                self.assertLessEqual(names, set(inside))
            statuses = {}
            for page in found.values():
                self.assertEqual(len(page.ids), len(set(page.ids)), page.path)
                self.assertEqual(page.headings.count(1), 1, page.path)
                steps = zip(page.headings, page.headings[1:])
                self.assertTrue(all(next <= last + 1 for last, next in steps), page.path)
                for link in page.links:
                    path, _, place = link.partition("#")
                    if path in found:
                        self.assertTrue(not place or place in found[path].ids, (page.path, link))
                    # test_docs reads the guides.
                    elif path not in [*statuses, "/docs/"]:
                        statuses[path] = self.site.get(path).status
            self.assertEqual({path for path, status in statuses.items() if status != 200}, set())

    def test_unknown_pages_and_queries_are_refused(self):
        for path in ["/reference/nope", "/reference/assets/nope", "/reference/assets/page-0.css",
                     "/reference/settings?for=users", "/reference/Types", "/reference/%e2%80%ae"]:
            self.expect(self.site.get(path), 404, "route_not_found")
        for path in ["/reference/nope", "/reference/assets/nope", "/problems/nope"]:
            page = Visitor(self.site.port).open(path)
            self.assertEqual((page.status, page.heading.strip()), (404, "Page not found"), path)
        for path in ["/reference/types?for=all", "/reference/types?q=x", "/reference?x=1",
                     "/reference?q=a&q=b", "/reference?q=%ff", "/reference?q=" + "a" * 101]:
            self.expect(self.site.get(path), 422, "validation_failed")

    def test_the_root_is_a_page_for_browsers(self):
        browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
        for method in ["GET", "HEAD"]:
            answer = self.site.request(method, "/", headers=browser)
            self.assertEqual((answer.status, answer.headers["Content-Type"]),
                             (200, "text/html; charset=utf-8"))
        for accept in [{}, {"Accept": "*/*"}, {"Accept": "application/json"}]:
            answer = self.expect(self.site.request("GET", "/", headers=accept), 404, "route_not_found")
            self.assertIn("Accept", answer.headers["Vary"])
        self.expect(self.site.request("POST", "/", {}, {**JSON, **browser}), 405, "method_not_allowed")

    def test_only_the_reference_is_compressed(self):
        accepts = {"Accept-Encoding": "gzip"}
        for path in ["/openapi.json", "/reference", "/reference/types", "/reference?q=sign"]:
            with contextlib.closing(self.site.connection()) as connection:
                connection.request("GET", path, headers=accepts)
                answer = connection.getresponse()
                self.assertEqual(answer.headers["Content-Encoding"], "gzip")
                whole = gzip.decompress(answer.read())
            self.assertEqual(whole, self.site.get(path).body)
        token = self.site.login()["access_token"]
        self.expect(self.site.request("PUT", "/v1/me/metadata", {"a": "x" * 9_000}, JSON, token), 200)
        answer = self.site.get("/v1/me/metadata", headers=accepts, token=token)
        self.assertNotIn("Content-Encoding", self.expect(answer, 200).headers)

    def test_the_type_of_a_problem_links_to_its_cause_and_remedy(self):
        problem = self.expect(self.site.get("/v1/me"), 401).json
        text = self.expect(self.site.get(problem["type"]), 200).body.decode()
        for words in ["token_missing", problem["title"], "Send Authorization: Bearer", "GET /v1/me<",
                      'href="/reference/users#me.get"']:
            self.assertIn(words, text)
        self.expect(self.site.get("/problems/nope"), 404, "route_not_found")
        for code in self.site.reference.problems["statuses"]:
            self.expect(self.site.get(f"/problems/{code}"), 200)

    def test_every_route_has_examples(self):
        found = "".join(chapters(self.site).values())
        for item in self.site.reference.document["paths"].values():
            for operation in item.values():
                name = operation["operationId"]
                text = re.search(rf'<section class="part" id="{name}">.*?</section>', found, re.S)[0]
                self.assertIn("curl", text)
                if operation["security"] and "user" in operation["security"][0]:
                    self.assertRegex(text, r"await dossier\.|\(dossier, ")


class Examples(Case):
    """Runs each command as printed. curl fails if the API returns an error.

    `test_reference_commands` runs those of the reference.
    """

    def run_all(self, commands):
        # The bodies of errors help here, unless an example handles the error itself.
        script = ("set -euo pipefail\n"
                  "curl() { [ \"$1\" = -sf ] || set -- --fail-with-body \"$@\"; command curl \"$@\" && echo; }\n"
                  + commands)
        run = subprocess.run(
            ["bash", "-x", "-c", script], capture_output=True, text=True, timeout=120,
            env={"PATH": os.environ["PATH"], "B": f"http://127.0.0.1:{self.site.port}",
                 "SECRET": self.site.client("--operator")["secret"]})
        self.assertEqual(run.returncode, 0, (run.stdout[-800:], run.stderr[-800:]))
        return run.stdout

    def test_examples_of_the_readme(self):
        readme = (ROOT / "README.md").read_text()
        # `deploy/up` does not return, so the other commands are for a second shell.
        self.assertIn("```sh\ndeploy/up ", readme)
        block = re.search(r"```sh\nB=http://localhost:8080\n(.*?)```", readme, re.S)
        # The second run finds the user of the first.
        for _ in range(2):
            self.assertIn('"theme": "dark"', self.run_all(block.group(1)))


class Fuzzing(Case):
    """Schemathesis sends what the document allows and what it forbids.

    DOSSIER_TEST_SEED chooses other requests, DOSSIER_TEST_EXAMPLES how many of a kind.
    """

    # Takes long for its number of tests.
    LONG = True
    SETTINGS = {"DOSSIER_ISSUER_NETWORK": "any"}

    def test_every_response_is_documented(self):
        self.fuzz(*(f"--exclude-operation-id={name}" for name in [*LAST, STREAM]))
        self.fuzz(*(f"--include-operation-id={name}" for name in LAST))

    def fuzz(self, *chosen):
        grant, other = self.site.login(), self.site.login()
        key = self.site.client("--operator")["secret"]
        headers = {**JSON, "Dossier-App": "default"}
        for path, body in [("/v1/me/properties/theme", {"value": "dark"}),
                           ("/v1/me/custom-data", {"a": [1]})]:
            self.expect(self.site.request("PUT", path, body, headers, grant["access_token"]),
                        200)
        self.post("/v1/apps", {"name": "spare"}, token=key)
        # `content` has one type of each body, since generators of clients fail on more.
        described = self.site.get("/openapi.json").json
        for path in self.site.reference.openid:
            del described["paths"][path]
        for body in [*described["components"]["requestBodies"].values(),
                     *(operation["requestBody"] for item in described["paths"].values()
                       for operation in item.values() if "content" in operation.get("requestBody", {}))]:
            if "x-json-patch" in body:
                body["content"]["application/json-patch+json"] = {"schema": body["x-json-patch"]}
        document = self.site.folder / "openapi.json"
        document.write_text(json.dumps(described))
        settings = self.site.folder / "schemathesis.toml"
        expected = ", ".join(map(str, [400, 401, 403, 404, 405, 409, 412, 413, 415, 422, 429]))
        settings.write_text(f"""
[auth.openapi.user]
bearer = "{grant["access_token"]}"
[auth.openapi.client]
bearer = "{key}"
[auth.openapi.operator]
bearer = "{key}"
[auth.openapi.device]
api_key = "{grant["device_secret"]}"
[parameters]
"path.user" = "{other["user_id"]}"
"path.app" = "spare"
"path.key" = "theme"
"path.code" = "validation_failed"
[checks.negative_data_rejection]
expected-statuses = [{expected}]
""")
        run = subprocess.run(
            [TOOLS_FOLDER / "bin/st", "--config-file", settings, "run",
             document, "--url", f"http://127.0.0.1:{self.site.port}", "--checks", ",".join(CHECKS),
             "--phases", "examples,coverage,fuzzing", "--continue-on-failure",
             "--max-examples", os.environ.get("DOSSIER_TEST_EXAMPLES", "3"),
             "--seed", os.environ.get("DOSSIER_TEST_SEED", "1"), *chosen],
            cwd=self.site.folder, capture_output=True, text=True, timeout=3_600,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "schemathesis_checks",
                 "PYTHONPATH": str(pathlib.Path(__file__).parent)})
        self.assertEqual(run.returncode, 0, run.stdout[-6000:] + run.stderr[-2000:])


if __name__ == "__main__":
    unittest.main()
