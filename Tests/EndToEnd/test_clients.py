"""Clients of apps, the APIs that their tokens are for, and their grants."""

import hashlib
import unittest

from asking import JSON, MERGE
from cases import Administration
from openid import claims as claims_of

SCOPES = ["read:users", "update:users"]


class Registry(Administration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = cls.site.client("--operator")
        cls.site.dossier("app", "create", "other")

    def ask(self, method, path, body=None, headers=None, key=None):
        media = {} if body is None else MERGE if method == "PATCH" else JSON
        return self.site.request(
            method, path, body, {**media, **(headers or {})}, key or self.operator["secret"])

    def make(self, name="client", app="default", kind="machine", **members):
        body = {"name": name, "app": app, "kind": kind, **members}
        return self.expect(self.ask("POST", "/v1/clients", body), 201)

    def make_api(self, identifier, app="default", **members):
        body = {"app": app, "identifier": identifier, "name": "API", **members}
        return self.expect(self.ask("POST", "/v1/resource-servers", body), 201)

    def faults(self, answer):
        return {(error["pointer"], error["code"])
                for error in self.expect(answer, 422, "validation_failed").json["errors"]}

    # Clients

    def test_a_client_secret_is_valid_until_the_client_is_disabled_or_deleted(self):
        answer = self.make("back end", scopes=SCOPES)
        made, path = answer.json, f"/v1/clients/{answer.json['id']}"
        self.assertEqual((answer.headers["Location"], answer.version), (path, 1))
        self.assertRegex(made["secret"], r"^ds_client_[A-Za-z0-9_-]{54}$")
        self.assertEqual(len(made["secret"]), 64)
        listed = self.expect(self.ask("GET", "/v1/clients?app=default"), 200)
        mine = next(row for row in listed.json if row["id"] == made["id"])
        self.assertEqual((mine["app"], mine["kind"], mine["scopes"], mine["disabled"]),
                         ("default", "machine", SCOPES, False))
        self.assertEqual({**mine, "secret": made["secret"]}, made)
        shown = self.expect(self.ask("GET", path), 200)
        self.assertEqual({**shown.json, "secret": made["secret"]}, made)
        stored = self.site.sql("select clients::text from clients")
        self.assertNotIn(made["secret"], listed.body.decode() + shown.body.decode() + stored)
        user = f"/v1/users/{self.site.login()['user_id']}"
        self.expect(self.ask("GET", user, key=made["secret"]), 200)
        self.expect(self.ask("PATCH", path, {"disabled": True}), 200)
        self.expect(self.ask("GET", user, key=made["secret"]), 401, "client_unknown")
        back = self.expect(self.ask("PATCH", path, {"disabled": False, "scopes": []}), 200).json
        self.assertEqual((back["disabled"], back["scopes"], back["version"]), (False, [], 3))
        self.expect(self.ask("GET", user, key=made["secret"]), 403, "insufficient_scope")
        self.expect(self.ask("DELETE", path), 204)
        self.expect(self.ask("GET", user, key=made["secret"]), 401, "client_unknown")
        for method, body in [("GET", None), ("DELETE", None), ("PATCH", {"disabled": True})]:
            self.expect(self.ask(method, path, body), 404, "not_found")
            self.expect(self.ask(method, "/v1/clients/x", body), 404, "not_found")
        self.expect(self.ask("POST", f"{path}/secret"), 404, "not_found")

    def test_a_rotation_revokes_the_old_secret_at_once(self):
        made = self.make(scopes=SCOPES).json
        path = f"/v1/clients/{made['id']}"
        user = f"/v1/users/{self.site.login()['user_id']}"
        rotated = self.expect(self.ask("POST", f"{path}/secret"), 200)
        self.assertEqual(rotated.version, 2)
        self.assertEqual(len(rotated.json["secret"]), 64)
        self.expect(self.ask("GET", user, key=made["secret"]), 401, "client_unknown")
        self.expect(self.ask("GET", user, key=rotated.json["secret"]), 200)

    def test_a_public_client_has_no_secret(self):
        for kind in ["native", "single_page"]:
            made = self.make(kind=kind).json
            self.assertNotIn("secret", made)
            self.assertEqual((made["pkce"], made["chosen"]), ("required", []))
            path = f"/v1/clients/{made['id']}"
            self.expect(self.ask("POST", f"{path}/secret"), 409, "client_public")
            self.assertEqual(
                self.faults(self.ask("PATCH", path, {"pkce": "optional"})), {("/pkce", "kind")})
            self.assertEqual(self.faults(self.ask("PATCH", path, {"scopes": ["read:users"]})),
                             {("/scopes", "kind")})

    def test_a_client_keeps_the_id_and_the_secret_that_it_had_elsewhere(self):
        secret = "0a-_Z" * 12 + "9.~x"
        digest = hashlib.sha256(secret.encode()).hexdigest()
        api = self.make_api("https://moved.example.com", scopes={"read:x": ""}).json["id"]
        for id, given in [("iY7ttVqLq3aYQ9v2nFxUoBnF4Xb1aR3k", {"secret": secret}),
                          ("a.b_c~d-e", {"secret_sha256": digest.upper()})]:
            made = self.make(id=id, **given, scopes=["read:users"]).json
            path = f"/v1/clients/{id}"
            self.assertEqual(made["id"], id)
            self.assertNotIn("secret", made)
            self.assertEqual(self.ask("GET", path).json["id"], id)
            # An id is compared by its bytes, and unique in the deployment.
            self.expect(self.ask("GET", f"/v1/clients/{id.swapcase()}"), 404)
            for app in ["default", "other"]:
                self.expect(self.ask("POST", "/v1/clients", {
                    "name": "x", "app": app, "kind": "web", "id": id}), 409, "client_exists")
            self.expect(self.ask("PUT", f"{path}/grants/{api}", {"scopes": ["read:x"]}), 201)

            def token(client_id, client_secret):
                return self.site.request("POST", "/oauth/token", {
                    "grant_type": "client_credentials", "client_id": client_id,
                    "client_secret": client_secret, "audience": "https://moved.example.com"}, JSON)

            claims = claims_of(self.expect(token(id, secret), 200).json["access_token"])
            self.assertEqual((claims["azp"], claims["scope"]), (id, "read:x"))
            for wrong in [secret[:-1], secret + "x", digest, "", "é" * 40]:
                self.assertEqual(token(id, wrong).status, 401, wrong)
            self.assertEqual(token(id.swapcase(), secret).status, 401)
            # The secret names no client, so it is no credential by itself.
            self.expect(self.ask("GET", "/v1/users", key=secret), 401)
            made = self.expect(self.ask("POST", f"{path}/secret"), 200).json["secret"]
            self.assertEqual(token(id, secret).status, 401)
            self.expect(token(id, made), 200)
            self.expect(self.ask("GET", "/v1/users", key=made), 200)
            self.expect(self.ask("PATCH", path, {"disabled": True}), 200)
            self.assertEqual(token(id, made).status, 401)
            self.expect(self.ask("GET", "/v1/users", key=made), 401, "client_unknown")

    def test_invalid_ids_and_secrets_of_clients_are_refused(self):
        body = {"name": "x", "app": "default", "kind": "web"}
        for id in ["", ".", "..", "-a", "a b", "a/b", "a:b", "a%20", "é", "x" * 65, "0" * 24]:
            self.assertEqual(self.faults(self.ask("POST", "/v1/clients", {**body, "id": id})),
                             {("/id", "id")}, id)
        for member, value in [("secret", "x" * 31), ("secret", "x" * 257), ("secret", " " * 40),
                              ("secret", "é" * 40), ("secret", "ds_client_" + "x" * 54),
                              ("secret_sha256", "0" * 63), ("secret_sha256", "g" * 64)]:
            self.assertEqual(self.faults(self.ask("POST", "/v1/clients", {**body, member: value})),
                             {(f"/{member}", "secret")}, value)
        given = {"secret": "x" * 32, "secret_sha256": "0" * 64}
        self.assertEqual(self.faults(self.ask("POST", "/v1/clients", {**body, **given})),
                         {("/secret_sha256", "secret")})
        for member, value in given.items():
            wrong = {**body, "kind": "native", member: value}
            self.assertEqual(self.faults(self.ask("POST", "/v1/clients", wrong)),
                             {(f"/{member}", "kind")})

    def test_invalid_clients_are_refused(self):
        body = {"name": "x", "app": "default", "kind": "web"}
        # A request without `app` is refused; only an explicit null makes a client for all apps.
        for wrong, faults in [
                ({"name": "x", "kind": "machine"}, {("/app", "missing")}),
                ({"name": "x", "app": "default"}, {("/kind", "missing")}),
                ({**body, "app": 7}, {("/app", "type")}),
                ({**body, "kind": "spa"}, {("/kind", "choice")}),
                ({**body, "kind": ""}, {("/kind", "choice")}),
                ({**body, "scopes": "read:users"}, {("/scopes", "type")}),
                ({**body, "scopes": ["all"]}, {("/scopes/0", "choice")}),
                ({**body, "kind": "native", "scopes": ["read:users"]}, {("/scopes", "kind")}),
                ({**body, "app": None}, {("/kind", "operator")}),
                ({**body, "app": None, "kind": "machine", "scopes": SCOPES},
                 {("/scopes", "operator")}),
                ({**body, "name": "", "a/b": 1, "pkce": 1},
                 {("/name", "length"), ("/a~1b", "unknown_member"), ("/pkce", "choice")}),
                ({**body, "key": "x"}, {("/key", "unknown_member")})]:
            self.assertEqual(self.faults(self.ask("POST", "/v1/clients", wrong)), faults, wrong)
        self.expect(self.ask("POST", "/v1/clients", {**body, "app": "nope"}), 404, "app_not_found")
        self.expect(self.ask("GET", "/v1/clients?app=nope"), 404, "app_not_found")
        operator = self.make("tools", None).json
        self.expect(self.ask("GET", "/v1/apps", key=operator["secret"]), 200)

    def test_attributes_are_patched_with_a_condition(self):
        urls = ["com.Example.my-app://host/callback", "https://app.example.com/CB?x=1"]
        made = self.make(kind="native", callback_urls=urls).json
        self.assertEqual((made["callback_urls"], made["chosen"]),
                         (urls, ["callback_urls"]))
        path = f"/v1/clients/{made['id']}"
        self.expect(self.ask("GET", path, headers={"If-None-Match": '"1"'}), 304)
        change = {"name": "new", "refresh_token_days": 90, "callback_urls": None,
                  "claims": {"plan": "app_metadata./plan", "tier": {"value": {"a": 1}}}}
        changed = self.expect(self.ask("PATCH", path, change, {"If-Match": '"1"'}), 200)
        self.assertEqual((changed.version, changed.json["name"]), (2, "new"))
        self.assertEqual(changed.json["chosen"], ["claims", "refresh_token_days"])
        stale = self.ask("PATCH", path, change, {"If-Match": '"1"'})
        self.assertEqual(self.expect(stale, 412, "precondition_failed").json["current_version"], 2)
        # A patch of a map changes its members; the result is checked.
        changed = self.expect(
            self.ask("PATCH", path, {"claims": {"tier": None, "x": "profile.name"}}),
            200).json
        self.assertEqual(changed["claims"],
                         {"plan": "app_metadata./plan", "x": "profile.name"})
        more = {f"c{index}": "profile.name" for index in range(49)}
        for wrong, place, code in [({"sub": "profile.name"}, "/sub", "claim"),
                                   ({"y": "profile.nope"}, "/y", "source"), (more, "", "length"),
                                   ([], "", "type")]:
            self.assertEqual(
                self.faults(self.ask("PATCH", path, {"claims": wrong})), {("/claims" + place, code)})
        for name, value in [
                ("callback_urls", ["http://example.com/"]), ("logout_urls", ["javascript:alert(1)"]),
                ("web_origins", ["https://a.example/"]), ("cors_origins", ["*"]),
                ("backchannel_logout_url", "http://example.com/"), ("logo_url", "http://localhost/"),
                ("connections", ["S M S"]), ("refresh_token_days", 0), ("first_party", 1),
                ("claims_profile", "saml"), ("callback_urls", ["https://a.example/"] * 101)]:
            answer = self.ask("PATCH", path, {name: value})
            self.assertEqual(
                [error["pointer"] for error in self.expect(answer, 422, "validation_failed").json["errors"]],
                [f"/{name}" + ("/0" if name == "connections" else "")])
        self.assertEqual(self.expect(self.ask("GET", path), 200).json, changed)

    def test_a_native_app_needs_all_that_a_system_asks_for(self):
        made = self.make(kind="native", apple_team_id="A1B2C3D4E5", apple_bundle_id="com.example.app").json
        path = f"/v1/clients/{made['id']}"
        for change, faults in [
                ({"apple_bundle_id": None}, {("/apple_bundle_id", "missing")}),
                ({"apple_team_id": "a1b2c3d4e5"}, {("/apple_team_id", "team_id")}),
                ({"android_package": "com.example.app"}, {("/android_certificates", "missing")}),
                ({"android_certificates": ["00"]},
                 {("/android_certificates/0", "fingerprint"), ("/android_package", "missing")}),
                ({"android_certificates": "00"}, {("/android_certificates", "length")})]:
            self.assertEqual(self.faults(self.ask("PATCH", path, change)), faults, change)
        changed = self.expect(self.ask("PATCH", path, {
            "android_package": "com.example.app", "android_certificates": ["ab" * 32]}), 200).json
        self.assertEqual(changed["android_certificates"], [":".join(["AB"] * 32)])

    def test_pages_of_client_origins_read_answers_without_cookies(self):
        allowed, named = "https://own.example", "https://spa.example"
        self.site.dossier("app", "set", f'allowed_origins=["{allowed}"]')
        made = self.make(kind="single_page", web_origins=[named],
                         cors_origins=["http://localhost:*"]).json

        def fields(origin, path="/v1/me", method="GET", app="default"):
            headers = self.site.request(
                method, path, None, {"Origin": origin, "Dossier-App": app}).headers
            return (headers["Access-Control-Allow-Origin"],
                    headers["Access-Control-Allow-Credentials"])

        # Each worker reads the apps again after some seconds.
        self.restart()
        self.assertEqual(fields(allowed), (allowed, "true"))
        for origin in [named, "http://localhost:4200"]:
            self.assertEqual(fields(origin), (origin, None))
            self.assertEqual(fields(origin, method="OPTIONS"), (origin, None))
            self.assertEqual(fields(origin, app="other"), (None, None))
        self.assertEqual(fields("https://evil.example"), (None, None))
        # A page of a client cannot use the device cookie.
        refused = self.post("/v1/login/anonymous", {}, headers={
            "Origin": named, "Dossier-Device": "cookie"})
        self.expect(refused, 403, "origin_forbidden")
        self.expect(self.ask("PATCH", f"/v1/clients/{made['id']}", {"disabled": True}), 200)
        self.restart()
        self.assertEqual(fields(named), (None, None))

    # APIs and grants

    def test_an_api_is_created_changed_and_deleted(self):
        scopes = {"write:orders": "Change your orders", "read:orders": "See your orders", "a": ""}
        answer = self.make_api("https://api.example.com", scopes=scopes,
                               claims={"plan": "metadata./plan"})
        path = f"/v1/resource-servers/{answer.json['id']}"
        self.assertEqual((answer.headers["Location"], answer.version), (path, 1))
        made = answer.json
        self.assertEqual(list(made["scopes"].items()), list(scopes.items()))
        self.assertEqual(
            (made["app"], made["token_seconds"], made["allows_offline_access"],
             made["skips_consent"]), ("default", 86_400, False, True))
        self.assertEqual(self.expect(self.ask("GET", path), 200).json, made)
        self.assertIn(
            made, self.expect(self.ask("GET", "/v1/resource-servers?app=default"), 200).json)
        # Each app has the Management API and that of its own `/v1`.
        others = self.expect(self.ask("GET", "/v1/resource-servers?app=other"), 200).json
        self.assertEqual({other["identifier"] for other in others}, {"api/v2/", "/"})
        taken = {"app": "default", "identifier": "https://api.example.com", "name": "x"}
        self.expect(self.ask("POST", "/v1/resource-servers", taken), 409, "resource_server_exists")
        # Identifiers are compared as typed, and belong to an app.
        self.make_api("https://api.example.com/")
        self.make_api("https://api.example.com", "other")
        change = {"scopes": {"a": None, "b": "B"}, "token_seconds": 60, "skips_consent": False,
                  "allows_offline_access": True, "claims": {"plan": None}, "name": "Orders"}
        changed = self.expect(self.ask("PATCH", path, change, {"If-Match": '"1"'}), 200).json
        self.assertEqual(list(changed["scopes"]), ["write:orders", "read:orders", "b"])
        self.assertEqual(changed, {
            **made, "scopes": changed["scopes"], "token_seconds": 60, "skips_consent": False,
            "allows_offline_access": True, "claims": {}, "name": "Orders", "version": 2})
        self.expect(self.ask("PATCH", path, {}, {"If-Match": '"1"'}), 412, "precondition_failed")
        self.expect(self.ask("DELETE", path), 204)
        for method, body in [("GET", None), ("DELETE", None), ("PATCH", {})]:
            self.expect(self.ask(method, path, body), 404, "not_found")
            self.expect(self.ask(method, "/v1/resource-servers/x", body), 404, "not_found")

    def test_invalid_apis_are_refused(self):
        body = {"app": "default", "identifier": "https://rules.example", "name": "x"}
        for wrong, faults in [
                ({**body, "identifier": ""}, {("/identifier", "length")}),
                ({**body, "identifier": "a b"}, {("/identifier", "identifier")}),
                ({**body, "identifier": "ä"}, {("/identifier", "identifier")}),
                ({**body, "identifier": "x" * 601}, {("/identifier", "length")}),
                ({**body, "token_seconds": 59}, {("/token_seconds", "range")}),
                ({**body, "token_seconds": 2_592_001}, {("/token_seconds", "range")}),
                ({**body, "token_seconds": 1.5}, {("/token_seconds", "range")}),
                ({**body, "token_seconds": "60"}, {("/token_seconds", "range")}),
                ({**body, "name": "", "scopes": {"a b": "", "openid": "", "x": 1, 'q"': ""}},
                 {("/name", "length"), ("/scopes/a b", "scope"), ("/scopes/openid", "scope"),
                  ("/scopes/x", "description"), ('/scopes/q"', "scope")}),
                ({**body, "claims": {"iss": "profile.name", "x": "nope"}},
                 {("/claims/iss", "claim"), ("/claims/x", "source")}),
                ({"app": "default"}, {("/identifier", "missing"), ("/name", "missing")})]:
            self.assertEqual(
                self.faults(self.ask("POST", "/v1/resource-servers", wrong)), faults, wrong)
        missing = self.ask("POST", "/v1/resource-servers", {**body, "app": "nope"})
        self.expect(missing, 404, "app_not_found")

    def test_a_grant_is_set_listed_and_removed(self):
        client = f"/v1/clients/{self.make().json['id']}"
        api = self.make_api("https://grants.example", scopes={"b": "B", "a": "A"}).json
        path = f"{client}/grants/{api['id']}"
        self.assertEqual(self.expect(self.ask("GET", f"{client}/grants"), 200).json, [])
        made = self.expect(self.ask("PUT", path, {"scopes": ["a", "b", "a"]}), 201).json
        self.assertEqual(made, {"resource_server": api["id"], "name": "API",
                                "identifier": "https://grants.example", "scopes": ["b", "a"]})
        self.assertEqual(self.expect(self.ask("GET", f"{client}/grants"), 200).json, [made])
        self.assertEqual(self.faults(self.ask("PUT", path, {"scopes": ["a", "c"]})),
                         {("/scopes/1", "choice")})
        # A scope that the API no longer has is not granted.
        server = f"/v1/resource-servers/{api['id']}"
        self.expect(self.ask("PATCH", server, {"scopes": {"b": None}}), 200)
        self.assertEqual(
            self.expect(self.ask("GET", f"{client}/grants"), 200).json[0]["scopes"], ["a"])
        self.assertEqual(
            self.expect(self.ask("PUT", path, {"scopes": []}), 200).json["scopes"], [])
        self.expect(self.ask("DELETE", path), 204)
        self.expect(self.ask("DELETE", path), 404, "not_found")
        self.expect(self.ask("PUT", path, {"scopes": ["a"]}), 201)
        self.expect(self.ask("DELETE", server), 204)
        self.assertEqual(self.expect(self.ask("GET", f"{client}/grants"), 200).json, [])

    def test_grants_require_a_client_with_a_secret_in_the_same_app(self):
        api = self.make_api("https://own.example", scopes={"a": ""}).json["id"]
        foreign = self.make(app="other").json["id"]
        public = self.make(kind="native").json["id"]
        operator = self.make("tools", None).json["id"]
        for client, status, code in [(foreign, 404, "not_found"), (public, 409, "client_public"),
                                     (operator, 404, "not_found"), ("0" * 24, 404, "not_found")]:
            answer = self.ask("PUT", f"/v1/clients/{client}/grants/{api}", {"scopes": ["a"]})
            self.expect(answer, status, code)
        own = self.make().json["id"]
        answer = self.ask("PUT", f"/v1/clients/{own}/grants/{'0' * 24}", {"scopes": []})
        self.expect(answer, 404, "not_found")
        self.expect(self.ask("GET", f"/v1/clients/{'0' * 24}/grants"), 404, "not_found")

    def test_only_the_operator_uses_the_registry(self):
        client = self.make(scopes=SCOPES).json
        api = self.make_api("https://guarded.example").json["id"]
        own, server = f"/v1/clients/{client['id']}", f"/v1/resource-servers/{api}"
        user = self.site.login()["access_token"]
        foreign = self.make(app="other", scopes=SCOPES).json["secret"]
        for method, path, body in [
                ("GET", "/v1/clients", None), ("POST", "/v1/clients", {}), ("GET", own, None),
                ("PATCH", own, {}), ("DELETE", own, None), ("POST", f"{own}/secret", None),
                ("GET", f"{own}/grants", None), ("PUT", f"{own}/grants/{api}", {"scopes": []}),
                ("DELETE", f"{own}/grants/{api}", None), ("GET", "/v1/resource-servers", None),
                ("POST", "/v1/resource-servers", {}), ("GET", server, None),
                ("PATCH", server, {}), ("DELETE", server, None)]:
            self.expect(self.ask(method, path, body, key=user), 401, "client_unknown")
            for program in [client["secret"], foreign]:
                self.expect(
                    self.ask(method, path, body, key=program), 403, "insufficient_scope")
        self.expect(self.ask("GET", own), 200)


if __name__ == "__main__":
    unittest.main()
