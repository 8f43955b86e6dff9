"""Operators and their programs manage the connections of an app."""

import datetime
import json
import pathlib
import subprocess
import unittest

from asking import JSON, MERGE
from cases import Administration
from connections import ConnectionCase
from machine import BUILD
from upstream_presets import TENANT


class CommandCase(ConnectionCase, Administration):
    """Tests with one issuer that no connection has."""

    def setUp(self):
        super().setUp()
        name = self._testMethodName.replace("_", "-")[-30:].strip("-")
        self.upstream = self.upstreams.add("oidc", name)
        self.upstream.redirect_uri = f"{self.issuer}u/callback/{self.upstream.name}"
        self.upstream.is_new()

    def preset(self, name):
        """Adds the issuer of a preset under its name."""
        self.upstreams.issuers.pop(name, None)
        issuer = self.upstreams.add(name)
        issuer.redirect_uri = f"{self.issuer}u/callback/{name}"
        self.addCleanup(self.remove, issuer, "--force", check=False)
        return issuer

    def line(self, issuer, check):
        """Returns a line of the check of a connection."""
        return next(line for line in json.loads(self.checked(issuer).stdout)["checks"]
                    if line["check"] == check)


class Commands(CommandCase):
    def test_a_connection_lives_until_it_is_deleted(self):
        made = self.create(self.upstream, label="Acme")
        name = self.upstream.name
        self.assertEqual(made["name"], name)
        # The operator registers it at the issuer.
        self.assertIn(self.upstream.redirect_uri, json.dumps(made))
        self.assertTrue(self.upstream.asked(".well-known/openid-configuration"))
        self.assertTrue(self.upstream.asked("jwks"))
        listed = self.site.dossier("connection", "list", "--app", "default")
        self.assertIn(name, [one["name"] for one in listed])
        self.change(self.upstream, label="Acme Inc.", scopes=["openid", "email", "profile"],
                    claims={"nickname": "handle"}, position=3)
        shown = self.site.dossier("connection", "show", name, "--app", "default")
        self.assertEqual((shown["label"], shown["position"], shown["preset"]), ("Acme Inc.", 3, "oidc"))
        self.assertEqual(shown["claims"], {"nickname": "handle"})
        for text in [made, listed, shown]:
            self.assertNotIn(self.upstream.secret, json.dumps(text))
        self.assertTrue(self.signed_in_at(self.upstream)["sub"])
        actions = [event["action"] for event in self.audit_events("--app", "default")]
        for action in ["connection_create", "connection_change"]:
            self.assertIn(action, actions)
        self.remove(self.upstream, "--force")
        self.refused(10, "connection", "show", name, "--app", "default")
        actions = [event["action"] for event in self.audit_events("--app", "default")]
        self.assertIn("connection_delete", actions)

    def test_the_output_for_people_names_the_redirect_uri(self):
        text = self.site.dossier(
            "connection", "create", self.upstream.name, "--app", "default",
            *self.arguments(self.upstream.settings), output="text")
        self.assertIn(self.upstream.redirect_uri, text)
        self.assertNotIn(self.upstream.secret, text)

    def test_an_app_without_a_host_has_no_redirect_uri(self):
        name = "hostless"
        self.site.dossier("app", "create", name)
        self.addCleanup(self.site.dossier, "app", "delete", "--app", name, "--yes")
        run = self.create(self.upstream, app=name, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        made = json.loads(run.stdout)
        self.assertIsNone(made["redirect_uri"])
        command = f"dossier app host set --app {name} HOST"
        self.assertIn(command, run.stderr)
        [check] = [line for line in made["checks"] if not line["ok"]]
        self.assertEqual(check["check"], "host")
        doctor = self.site.dossier("doctor", check=False)
        found = {row["what"]: row["fault"] for row in json.loads(doctor.stdout)}
        self.assertIn(command, found[f"connection {self.upstream.name} of {name}"])
        self.site.dossier("app", "host", "set", "--app", name, "users.example.com")
        checked = self.site.dossier("connection", "check", self.upstream.name, "--app", name)
        origin = self.issuer.replace("127.0.0.1", "users.example.com")
        self.assertEqual(checked["redirect_uri"], f"{origin}u/callback/{self.upstream.name}")
        self.assertTrue(all(line["ok"] for line in checked["checks"]), checked)

    def test_a_preset_is_the_name_by_default(self):
        self.upstreams.issuers.pop("google", None)
        issuer = self.upstreams.add("google")
        issuer.redirect_uri = f"{self.issuer}u/callback/google"
        settings = dict(issuer.settings)
        del settings["preset"]
        made = self.site.dossier("connection", "create", "google", "--app", "default",
                                 *self.arguments(settings))
        self.assertEqual((made["preset"], made["label"]), ("google", "Google"))

    def test_a_claim_that_only_the_userinfo_endpoint_has(self):
        """The ID token has an address and a name of its own."""
        self.create(self.upstream, email_trust="always", claims={"email": "contact.mail"})
        email = self.own_email()
        self.upstream.is_new("other-" + email)
        self.upstream.lie(userinfo={"contact": {"mail": email}})
        self.assertEqual(self.signed_in_at(self.upstream)["email"], email)

    def test_a_secret_from_a_file(self):
        path = self.site.folder / "secret"
        path.write_text(self.upstream.secret + "\n")
        self.create(self.upstream, client_secret=f"@{path}")
        self.assertTrue(self.signed_in_at(self.upstream)["sub"])

    def test_a_changed_secret_is_used_at_once(self):
        self.create(self.upstream)
        self.upstream.secret = "another secret of the client"
        self.change(self.upstream, client_secret=self.upstream.secret)
        self.assertTrue(self.signed_in_at(self.upstream)["sub"])

    def test_attributes_that_break_a_rule(self):
        for attributes in [
            {"preset": "myspace"}, {"client_id": ""}, {"client_id": None}, {"issuer": "no URL"},
            {"issuer": ""}, {"email_trust": "yes"}, {"link": "maybe"}, {"sign_up": "7"},
            {"scopes": ["a b"]}, {"scopes": [""]}, {"label": "l" * 300}, {"position": "x"},
            {"claims": {"email": 7}}, {"claims": {"nothing": "x"}}, {"domains": ["not a domain"]},
            {"tenants": [""]}, {"audiences": [7]}, {"app_services_redirects": ["no URL"]},
            {"unknown": "x"}, {"secret_expires_at": "tomorrow"},
        ]:
            with self.subTest(attributes):
                settings = {name: value for name, value in {
                    **self.upstream.settings, **attributes}.items() if value is not None}
                run = self.site.dossier(
                    "connection", "create", self.upstream.name, "--app", "default",
                    *self.arguments(settings), check=False)
                self.assertNotEqual(run.returncode, 0, run.stdout)
                self.assertTrue(run.stderr.strip())
        self.refused(10, "connection", "show", self.upstream.name, "--app", "default")

    def test_a_tenant_of_microsoft_is_an_id(self):
        """Its tokens name no domain, so a connection for a domain would refuse everybody."""
        issuer = self.preset("microsoft")
        for tenants in [["contoso.onmicrosoft.com"], [TENANT, "contoso.com"], [TENANT[:-1]],
                        ["Common"], [TENANT + "-"], ["z" + TENANT[1:]]]:
            run = self.create(issuer, check=False, tenants=tenants)
            self.assertNotEqual(run.returncode, 0, tenants)
            self.assertIn(f"/tenants/{len(tenants) - 1}", run.stderr)
        self.create(issuer, tenants=[TENANT.upper(), "consumers"])
        self.change(issuer, tenants=["organizations"])
        # Other services have ids of their own.
        self.create(self.preset("slack"), tenants=["T0R7GR"])

    def test_names_that_break_a_rule(self):
        for name in ["", "Google", "a b", "a/b", "password", "email_code", "email", "x" * 200, "..",
                     "ü"]:
            run = self.site.dossier("connection", "create", name, "--app", "default",
                                    *self.arguments(self.upstream.settings), check=False)
            self.assertNotEqual(run.returncode, 0, name)
        self.create(self.upstream)
        run = self.create(self.upstream, check=False)
        self.assertNotEqual(run.returncode, 0)

    def test_an_app_has_at_most_twenty(self):
        self.site.create_app("full")
        for index in range(21):
            issuer = self.upstreams.add("oidc", f"full-{index}")
            run = self.create(issuer, app="full", check=False)
            self.assertEqual(run.returncode == 0, index < 20, run.stderr)
        self.assertIn("20", run.stderr)

    def test_check_says_what_is_wrong(self):
        self.create(self.upstream)
        name = self.upstream.name
        self.site.dossier("connection", "check", name, "--app", "default")
        for lie in [{"discovery": {"issuer": "https://evil.example.com"}}, {"keys": {"keys": []}},
                    {"discovery": {"token_endpoint": None}}]:
            self.upstream.lie(**lie)
            run = self.site.dossier("connection", "check", name, "--app", "default", check=False)
            self.assertNotEqual(run.returncode, 0, run.stdout)
        self.upstream.honest()
        self.upstream.lie(discovery={"scopes_supported": ["openid"]})
        run = self.site.dossier("connection", "check", name, "--app", "default", check=False)
        self.assertIn("email", run.stdout + run.stderr)
        self.upstream.honest()
        # The token endpoint tells a wrong secret from a wrong code.
        self.upstream.secret = "changed at the issuer"
        run = self.site.dossier("connection", "check", name, "--app", "default", check=False)
        self.assertNotEqual(run.returncode, 0, run.stdout)
        self.assertIn("secret", run.stdout + run.stderr)

    def test_a_wrong_clock_is_told(self):
        """By the field `Date` of the issuer's response."""
        self.create(self.upstream)
        self.assertTrue(self.line(self.upstream, "clock")["ok"])
        self.upstreams.skew = 3600
        self.addCleanup(setattr, self.upstreams, "skew", 0)
        line = self.line(self.upstream, "clock")
        self.assertFalse(line["ok"])
        self.assertRegex(line["detail"], r"differs by 3[56]\d\d s")

    def test_the_uri_for_logout_tokens_is_printed_if_the_issuer_sends_any(self):
        self.assertIsNone(self.create(self.upstream)["backchannel_logout_uri"])
        self.upstream.lie(discovery={"backchannel_logout_supported": True})
        told = json.loads(self.checked(self.upstream).stdout)
        self.assertEqual(told["backchannel_logout_uri"],
                         f"{self.issuer}u/backchannel-logout/{self.upstream.name}")

    def test_doctor_repeats_the_check(self):
        self.create(self.upstream)
        self.upstream.lie(keys={"keys": []})
        run = self.site.dossier("doctor", check=False, output="text")
        self.assertIn(self.upstream.name, run.stdout + run.stderr)
        # Services refuse users for a wrong one alone.
        self.assertIn(self.upstream.redirect_uri, run.stdout + run.stderr)
        self.assertNotEqual(run.returncode, 0)

    def test_doctor_warns_before_a_secret_expires(self):
        def fault(day):
            self.change(self.upstream, secret_expires_at=str(day))
            rows = json.loads(self.site.dossier("doctor", check=False).stdout)
            return next(row["fault"] for row in rows if self.upstream.name in row["what"])

        self.create(self.upstream)
        self.assertIn("expired on 2020-01-01", fault("2020-01-01"))
        today = datetime.datetime.now(datetime.UTC).date()
        for days in [30, 1, 0]:
            day = today + datetime.timedelta(days)
            self.assertIn(f"expires on {day}, in {days} days", fault(day))
        self.assertIsNone(fault(today + datetime.timedelta(31)))

    def test_a_secret_that_will_expire_on_an_unknown_day_is_remarked(self):
        issuer = self.preset("microsoft")
        self.create(issuer)
        line = self.line(issuer, "secret")
        self.assertTrue(line["ok"])
        self.assertIn("730 days", line["detail"])
        self.assertIn("secret_expires_at", line["detail"])
        self.assertIn("https://entra.microsoft.com/", line["detail"])
        day = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(90)
        self.change(issuer, secret_expires_at=str(day))
        self.assertEqual(self.line(issuer, "secret"), {
            "check": "secret", "ok": True, "detail": f"it expires on {day}"})
        # Secrets of other services do not expire by themselves.
        self.create(self.upstream)
        self.assertNotIn("secret_expires_at", self.line(self.upstream, "secret")["detail"])

    def test_a_new_client_id_is_warned_of_if_users_get_other_ids_by_it(self):
        for name, words in [("microsoft", "another sub"), ("facebook", "another id")]:
            self.create(self.preset(name))
            run = self.site.dossier("connection", "set", name, "--app", "default",
                                    "client_id=another", check=False, output="text")
            self.assertIn(words, run.stdout + run.stderr)
        self.create(self.upstream)
        run = self.site.dossier("connection", "set", self.upstream.name, "--app", "default",
                                "client_id=another", check=False, output="text")
        self.assertNotIn("new users", run.stdout + run.stderr)

    def test_apps_are_apart(self):
        self.site.create_app("elsewhere")
        self.create(self.upstream, app="elsewhere")
        self.refused(10, "connection", "show", self.upstream.name, "--app", "default")
        public = self.expect(self.site.get("/v1/connections/public"), 200).json
        self.assertNotIn(self.upstream.name, [one["name"] for one in public])
        public = self.expect(self.site.get(
            "/v1/connections/public", headers={"Dossier-App": "elsewhere"}), 200).json
        self.assertEqual([one["name"] for one in public], [self.upstream.name])

    def test_help_explains_every_command(self):
        for command in ["create", "list", "show", "set", "delete", "check"]:
            run = subprocess.run([BUILD / "dossier", "connection", command, "--help"],
                                 capture_output=True, text=True, check=True)
            self.assertIn("USAGE: dossier connection", run.stdout)

    def test_a_file_of_apply_has_connections(self):
        path = pathlib.Path(self.site.folder) / "apps.json"
        secret = self.site.folder / "secret"
        secret.write_text(self.upstream.secret)
        settings = {**self.upstream.settings, "label": "Applied",
                    "client_secret": {"file": str(secret)}}
        connections = {self.upstream.name: settings}
        path.write_text(json.dumps({"apps": {"applied": {"connections": connections}}}))
        run = self.site.dossier("apply", path, "--yes", check=False, output="text")
        self.assertEqual(run.returncode, 0, run.stderr)
        shown = self.site.dossier("connection", "show", self.upstream.name, "--app", "applied")
        self.assertEqual(shown["label"], "Applied")


class Routes(CommandCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = cls.site.client("--operator")["secret"]

    def ask(self, method, path="", body=None, headers=None, key=None):
        media = {} if body is None else MERGE if method == "PATCH" else JSON
        return self.site.request(method, f"/v1/connections{path}", body, {**media, **(headers or {})},
                                 key or self.operator)

    @property
    def body(self):
        return {"name": self.upstream.name, **self.upstream.settings}

    def test_a_connection_lives_until_it_is_deleted(self):
        made = self.expect(self.ask("POST", "", self.body), 201)
        path = f"/{self.upstream.name}"
        self.assertEqual(made.headers["Location"], f"/v1/connections{path}")
        self.assertNotIn(self.upstream.secret, made.body.decode())
        shown = self.expect(self.ask("GET", path), 200)
        self.assertEqual(shown.json, made.json)
        listed = self.expect(self.ask("GET"), 200).json
        self.assertIn(self.upstream.name, [one["name"] for one in listed])
        changed = self.expect(self.ask("PATCH", path, {"label": "Acme"}, {
            "If-Match": f'"{made.version}"'}), 200)
        self.assertEqual((changed.json["label"], changed.version), ("Acme", made.version + 1))
        self.expect(self.ask("PATCH", path, {"label": "x"}, {
            "If-Match": f'"{made.version}"'}), 412, "precondition_failed")
        self.assertTrue(self.signed_in_at(self.upstream)["sub"])
        self.assertGreaterEqual(self.ask("DELETE", path).status, 400)
        self.upstream.is_new()
        self.expect(self.ask("POST", "", self.body), 409)
        for method, body in [("GET", None), ("PATCH", {"label": "x"}), ("DELETE", None)]:
            self.expect(self.ask(method, "/unknown", body), 404)

    def test_each_text_of_a_list_is_checked(self):
        for value, pointers in [(["a b", "c", 7], ["/domains/0", "/domains/2"]),
                                (["a"] * 51, ["/domains"]), ("a", ["/domains"])]:
            answer = self.expect(self.ask("POST", "", {**self.body, "domains": value}), 422)
            self.assertEqual([error["pointer"] for error in answer.json["errors"]], pointers)

    def test_members_that_break_a_rule(self):
        for name, value in [
                ("preset", "myspace"), ("email_trust", 7), ("link", "maybe"), ("label", 7),
                ("scopes", "openid"), ("position", "x"), ("client_id", 7), ("unknown", 1)]:
            with self.subTest(name):
                answer = self.ask("POST", "", {**self.body, name: value})
                self.expect(answer, 422, "validation_failed")
                self.assertIn(f"/{name}", {error["pointer"] for error in answer.json["errors"]})
        self.assertEqual(self.upstream.requests, [])

    def test_only_operators_may(self):
        self.expect(self.ask("POST", "", self.body), 201)
        user = self.site.login()["access_token"]
        keys = {"a user": user, "nobody": "x.y.z",
                "a program of the back end": self.site.client("scopes=update:users")["secret"]}
        for who, key in keys.items():
            for method, path, body in [("GET", "", None), ("POST", "", self.body),
                                       ("GET", f"/{self.upstream.name}", None),
                                       ("PATCH", f"/{self.upstream.name}", {"enabled": False}),
                                       ("DELETE", f"/{self.upstream.name}", None)]:
                with self.subTest(who, method=method, path=path):
                    self.assertIn(self.ask(method, path, body, key=key).status, [401, 403])
        self.assertTrue(self.expect(self.ask("GET", f"/{self.upstream.name}"), 200).json["enabled"])


if __name__ == "__main__":
    unittest.main()
