"""The routes for machine clients: the operator's tools and the back ends of apps."""

import unittest

from cases import Administration
from asking import JSON, MERGE
from issuers import Key, claims, secret_token
from machine import wait_until


class Routes(Administration):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = cls.site.client("--operator")

    def ask(self, method, path, body=None, headers=None, key=None, app=None):
        media = {} if body is None else MERGE if method == "PATCH" else JSON
        headers = {**media, **(headers or {}), **({"Dossier-App": app} if app else {})}
        return self.site.request(method, path, body, headers, key or self.operator["secret"])

    def test_apps(self):
        made = self.expect(self.ask("POST", "/v1/apps", {"name": "web"}), 201)
        self.assertEqual((made.headers["Location"], made.version), ("/v1/apps/web", 1))
        self.expect(self.ask("POST", "/v1/apps", {"name": "web"}), 409, "app_exists")
        self.expect(self.ask("POST", "/v1/apps", {"name": "W"}), 422, "validation_failed")
        self.expect(self.ask("POST", "/v1/apps", {}), 422, "validation_failed")
        shown = self.expect(self.ask("GET", "/v1/apps/web"), 200)
        self.assertEqual(shown.json, made.json)
        self.expect(self.ask("GET", "/v1/apps/web", headers={"If-None-Match": '"1"'}), 304)
        self.expect(self.ask("GET", "/v1/apps/nope"), 404, "app_not_found")
        patch = {"settings": {"session_days": 3, "switching": None}, "hosts": ["web.example"]}
        changed = self.expect(
            self.ask("PATCH", "/v1/apps/web", patch, {"If-Match": '"1"'}), 200)
        self.assertEqual(
            (changed.version, changed.json["hosts"], changed.json["settings"]["session_days"]),
            (2, ["web.example"], 3))
        stale = self.ask("PATCH", "/v1/apps/web", patch, {"If-Match": '"1"'})
        self.assertEqual(self.expect(stale, 412, "precondition_failed").json["current_version"], 2)
        wrong = self.ask("PATCH", "/v1/apps/web",
                         {"settings": {"session_days": "x", "a/b": 1}, "hosts": [7], "name": "x"})
        self.assertEqual(
            {error["pointer"] for error in self.expect(wrong, 422, "validation_failed").json["errors"]},
            {"/hosts", "/name"})
        wrong = self.ask("PATCH", "/v1/apps/web", {"settings": {"session_days": "x", "a/b": 1}})
        self.assertEqual(
            {error["pointer"] for error in self.expect(wrong, 422, "validation_failed").json["errors"]},
            {"/settings/session_days", "/settings/a~1b"})
        taken = self.ask("PATCH", "/v1/apps/default", {"hosts": ["web.example"]})
        self.expect(taken, 409, "host_taken")
        self.expect(self.ask("PATCH", "/v1/apps/nope", {}), 404, "app_not_found")
        back = self.expect(
            self.ask("PATCH", "/v1/apps/web", {"settings": {"session_days": None}, "hosts": None}),
            200).json
        self.assertEqual((back["settings"]["session_days"], back["hosts"]), (60, []))
        self.assertEqual([app["name"] for app in self.expect(self.ask("GET", "/v1/apps"), 200).json
                          if app["name"] in ("default", "web")], ["default", "web"])
        actors = {event["actor"] for event in self.audit_events("--app", "web")}
        self.assertEqual(actors, {f"client:{self.operator['id']}"})
        # A worker that has not noticed the deletion of an app does not report an ended session.
        self.expect(self.ask("POST", "/v1/apps", {"name": "brief"}), 201)
        self.expect(self.ask("GET", "/v1/roles", app="brief"), 200)
        self.site.sql("delete from apps where name = 'brief'")
        self.expect(self.ask("POST", "/v1/roles", {"name": "late"}, app="brief"), 404, "app_not_found")
        # A route for all apps ignores an unknown app; a route for one app refuses it.
        self.expect(self.ask("GET", "/v1/apps", app="nope"), 200)
        self.expect(self.ask("GET", "/v1/keys", app="nope"), 404, "app_not_found")

    def test_keys(self):
        self.site.login()
        before = self.expect(self.ask("GET", "/v1/keys"), 200).json
        after = self.expect(self.ask("POST", "/v1/keys/rotate"), 200).json
        self.assertEqual(len(after), len(before) + 1)
        self.assertEqual([key["current"] for key in after], [True] + [False] * len(before))
        self.assertEqual(
            set(after[0]),
            {"id", "purpose", "algorithm", "public_key", "current", "created_at", "retires_at"})

    def test_issuers(self):
        key = Key(self.site.folder, "routed")
        secret = "a secret that has more than 32 bytes"
        common = {"issuer": "https://issuer.example.com"}
        for name, keys in {"set": {"jwks": {"keys": [key.jwk]}}, "shared": {"secret": secret},
                           "url": {"jwks_url": "https://issuer.example.com/jwks"}}.items():
            body = {"name": name, "audience": name, **common, **keys, "claims": {"name": "title"}}
            made = self.expect(self.ask("POST", "/v1/issuers", body), 201)
            self.assertEqual(made.headers["Location"], f"/v1/issuers/{name}")
            self.expect(self.ask("POST", "/v1/issuers", body), 409, "issuer_exists")
        listed = self.expect(self.ask("GET", "/v1/issuers"), 200)
        self.assertEqual([(row["name"], row["keys"]) for row in listed.json],
                         [("set", "set"), ("shared", "secret"), ("url", "url")])
        self.assertNotIn(secret, listed.body.decode())
        for token in [key.token(claims("s", audience="set")),
                      secret_token(claims("s", audience="shared"), secret.encode())]:
            self.expect(self.post("/v1/login/jwt", {"token": token}), 200)
        for change in [{"secret": "x"}, {"secret": None}, {"jwks_url": "https://x"}, {"x": 1},
                       {"claims": {"id": "x"}}, {"claims": {"name": 1}}, {"name": "A b"}]:
            body = {"name": "wrong", "audience": "x", **common, "secret": secret, **change}
            self.expect(self.ask("POST", "/v1/issuers", body), 422, "validation_failed")
        loose = {"name": "loose", "audience": "loose", "issuer": "https://loose.example.com",
                 "secret": secret, "allow_missing_iss": True, "allow_missing_aud": True}
        self.expect(self.ask("POST", "/v1/issuers", loose), 201)
        refused = self.expect(self.ask("POST", "/v1/issuers", {**loose, "name": "looser"}), 422)
        self.assertEqual(refused.json["errors"][0]["code"], "ambiguous")
        [row] = [row for row in self.ask("GET", "/v1/issuers").json if row["name"] == "loose"]
        self.assertEqual((row["allow_missing_iss"], row["allow_missing_aud"]), (True, True))
        bare = secret_token({"sub": "s", "exp": 4070908800}, secret.encode())
        self.expect(self.post("/v1/login/jwt", {"token": bare}), 200)
        # A change keeps a secret that it does not name, and a key of another kind replaces it.
        path = "/v1/issuers/loose"
        shown = self.expect(self.ask("GET", path), 200)
        self.assertEqual((shown.version, shown.json["keys"]), (1, "secret"))
        self.assertNotIn(secret, shown.body.decode())
        changed = self.expect(
            self.ask("PATCH", path, {"allow_missing_aud": False}, {"If-Match": '"1"'}), 200)
        self.assertEqual((changed.version, changed.json["allow_missing_aud"]), (2, False))
        self.expect(self.post("/v1/login/jwt", {"token": bare}), 401, "external_token_invalid")
        for change in [{"issuer": "https://other.example.com"}, {"name": "other"}, {"keys": "url"},
                       {"secret": None}, {"audience": None}, {"claims": 1}]:
            self.expect(self.ask("PATCH", path, change), 422, "validation_failed")
        for body, keys in [({"jwks_url": "https://x.example.com"}, "url"),
                           ({"jwks_url": None, "jwks": {"keys": [key.jwk]}}, "set"),
                           ({"jwks": None, "secret": secret}, "secret")]:
            changed = self.expect(self.ask("PATCH", path, body), 200).json
            self.assertEqual(changed["keys"], keys)
        self.expect(self.ask("PATCH", path, {"jwks_url": "https://x", "jwks": {"keys": []}}), 422)
        for name in ["set", "shared", "url", "loose"]:
            self.expect(self.ask("DELETE", f"/v1/issuers/{name}"), 204)
        self.expect(self.post("/v1/login/jwt", {"token": bare}), 401, "external_token_invalid")
        self.expect(self.ask("DELETE", "/v1/issuers/set"), 404, "not_found")

    def test_one_request_changes_all_parts_of_a_user_or_none(self):
        keys = [self.site.client("--app", "default", f"scopes=update:users{more}")["secret"]
                for more in [",update:users_app_metadata", ""]]
        self.verified("taken@example.com")
        grant = self.verified("whole@example.com")
        path = f"/v1/users/{grant['user_id']}"
        whole = {"name": "Ada", "email": "moved@example.com", "email_verified": True,
                 "blocked": False, "metadata": {"a": {"b": 1}}, "app_metadata": {"plan": "gold"}}

        def patch(body, key=keys[0], **options):
            return self.ask("PATCH", path, body, key=key, **options)

        before = self.me(grant).json
        self.expect(patch({**whole, "email": "taken@example.com"}), 409, "email_taken")
        self.expect(patch({**whole, "zone": "nowhere"}), 422, "validation_failed")
        self.expect(patch(whole, headers={"If-Match": '"99"'}), 412, "precondition_failed")
        self.expect(patch(whole, key=keys[1]), 403, "insufficient_scope")
        self.assertEqual(self.me(grant).json, before)
        self.assertEqual(self.me(grant, "/metadata").json, {})
        changed = self.expect(patch(whole), 200).json
        self.assertEqual(changed, self.me(grant).json)
        self.assertEqual((changed["name"], changed["email"], changed["email_verified"]),
                         ("Ada", "moved@example.com", True))
        self.assertEqual(self.me(grant, "/app-metadata").json, {"plan": "gold"})
        self.expect(patch({"metadata": {"a": {"c": 2}}, "name": None}), 200)
        self.assertEqual(self.me(grant, "/metadata").json, {"a": {"b": 1, "c": 2}})
        self.expect(self.login("moved@example.com"), 200)

    def test_each_change_of_a_user_raises_the_version_by_one(self):
        key = self.site.client("--app", "default", "scopes=update:users")["secret"]
        grant = self.expect(self.register("counted@example.com"), 201).json
        path, version = f"/v1/users/{grant['user_id']}", self.me(grant).version
        for body in [{"name": "A", "blocked": True}, {"blocked": False},
                     {"email": "counted-2@example.com", "name": "B"},
                     {"email_verified": True, "name": "C", "metadata": {"a": 1}},
                     {"metadata": {"a": 2}}]:
            with self.subTest(body):
                match = {"If-Match": f'"{version}"'}
                changed = self.expect(self.ask("PATCH", path, body, match, key), 200)
                self.assertEqual(changed.version, version + 1)
                # A client that has read the user before has read the documents before, too.
                stale = self.ask("PATCH", path, {"metadata": {"a": 3}}, match, key)
                self.expect(stale, 412, "precondition_failed")
                version += 1

    def test_users(self):
        back_end = self.site.client(
            "--app", "default", "scopes=read:users,update:users,read:logs_users")
        grant = self.verified("ada@example.com")
        path = f"/v1/users/{grant['user_id']}"

        def ask(method, path=path, body=None, **options):
            return self.ask(method, path, body, key=back_end["secret"], **options)

        self.assertEqual(self.expect(ask("GET"), 200).json, self.me(grant).json)
        version = ask("GET").version
        self.expect(ask("GET", headers={"If-None-Match": f'"{version}"'}), 304)
        stale = ask("PATCH", body={"blocked": True}, headers={"If-Match": '"99"'})
        self.expect(stale, 412, "precondition_failed")
        blocked = self.expect(ask("PATCH", body={"blocked": True}), 200)
        self.assertEqual((blocked.json["blocked"], blocked.version), (True, version + 1))
        self.expect(self.me(grant), 401, "session_ended")
        same = self.expect(ask("PATCH", body={"blocked": True}), 200)
        self.assertEqual(same.version, version + 1)
        self.expect(ask("PATCH", body={"blocked": False}), 200)
        self.expect(self.login("ada@example.com"), 200)
        named = self.expect(ask("PATCH", body={"name": "Ada"}), 200)
        self.assertEqual(named.json["name"], "Ada")
        for wrong in [[], {"blocked": "yes"}, {"id": "x"}, {"email": None}, {"metadata": []},
                      {"email_verified": False}, {"name": 1, "blocked": True}]:
            self.expect(ask("PATCH", body=wrong), 422, "validation_failed")
        events = self.expect(ask("GET", f"{path}/audit"), 200).json
        self.assertLessEqual(
            {("user_block", f"client:{back_end['id']}"), ("user_unblock", f"client:{back_end['id']}"),
             ("login", "user")}, {(event["action"], event["actor"]) for event in events})
        self.site.sql(
            "insert into audit (user_id, event_id, app_id, action, actor) select "
            f"'{grant['user_id']}', lpad(to_hex(g), 24, '0'), app_id, 'x', 'user' "
            "from apps, generate_series(1, 120) g where name = 'default'")
        first = self.expect(ask("GET", f"{path}/audit"), 200)
        link = first.headers["Link"]
        rest = self.expect(ask("GET", link[1:link.index(">")]), 200)
        self.assertEqual(len(first.json), 100)
        self.assertNotIn("Link", rest.headers)
        self.assertEqual(
            len({event["id"] for event in first.json + rest.json}), len(events) + 120)
        for nobody in ["0" * 24, "x"]:
            for method, body, rest in [("GET", None, ""), ("PATCH", {"blocked": True}, ""),
                                       ("GET", None, "/audit")]:
                answer = ask(method, f"/v1/users/{nobody}{rest}", body)
                self.expect(answer, 404, "not_found")
        # A client of one app cannot find users of another app. The operator's client finds both.
        self.site.dossier("app", "create", "elsewhere")
        other = self.post("/v1/login/anonymous", {}, headers={"Dossier-App": "elsewhere"})
        path = f"/v1/users/{self.expect(other, 200).json['user_id']}"
        self.expect(ask("GET", path), 404, "not_found")
        self.expect(ask("GET", path, app="elsewhere"), 401, "client_unknown")
        self.expect(self.ask("GET", path), 404, "not_found")
        self.expect(self.ask("GET", path, app="elsewhere"), 200)
        self.expect(self.ask("GET", path, app="nowhere"), 404, "app_not_found")
        wait_until(lambda: any(
            line.get("client") == back_end["id"] and line["route"] == "GET /v1/users/{user}"
            for line in self.site.logged()), what="a line with the client")


if __name__ == "__main__":
    unittest.main()
