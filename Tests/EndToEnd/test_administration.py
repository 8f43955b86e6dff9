"""The operator's command line."""

import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from cases import Administration
from asking import JSON
from machine import BUILD, ROOT
from issuers import Key, claims, secret_token

class Commands(Administration):
    # Apps

    def test_an_app_is_created_shown_listed_and_changed(self):
        made = self.site.dossier("app", "create", "shop")
        self.assertEqual((made["name"], made["version"], made["hosts"]), ("shop", 1, []))
        self.refused(11, "app", "create", "shop", words="An app with that name already exists.")
        for name in ["", "Shop", "-shop", "a b", "x" * 64]:
            self.refused(12, "app", "create", "--", name)
        changed = self.site.dossier(
            "app", "set", "--app", "shop", "switching=reauthenticate", "session_days=30", "password=false",
            'allowed_origins=["https://a.example"]', "mail_from_name=12", "mail_from=a@b.example")
        self.assertEqual(changed["version"], 2)
        for name, value in {
            "switching": "reauthenticate", "session_days": 30, "password": False, "anonymous": True,
            "allowed_origins": ["https://a.example"], "mail_from_name": "12",
        }.items():
            self.assertEqual(changed["settings"][name], value)
        self.assertEqual(
            changed["chosen"], ["password", "session_days", "switching", "allowed_origins",
                                "mail_from", "mail_from_name"])
        back = self.site.dossier("app", "set", "--app", "shop", "session_days=null", "mail_from_name=null")
        self.assertEqual(
            (back["settings"]["session_days"], back["settings"]["mail_from_name"], back["version"]),
            (60, "", 3))
        self.assertEqual(self.site.dossier("app", "show", "--app", "shop"), back)
        self.assertIn("shop", [app["name"] for app in self.site.dossier("app", "list")])
        table = self.site.dossier("app", "show", "--app", "shop", output="table")
        self.assertRegex(table, r"(?m)^settings\.switching +reauthenticate$")
        self.refused(10, "app", "show", "--app", "nope", words="No app has that name.")
        actions = [(event["action"], event["actor"]) for event in self.audit_events("--app", "shop")]
        self.assertEqual(actions, [("app_change", "operator:tester")] * 2
                         + [("app_create", "operator:tester")])

    def test_an_invalid_setting_is_reported_with_its_rule_and_changes_nothing(self):
        self.site.dossier("app", "create", "strict")
        run = self.site.dossier(
            "app", "set", "--app", "strict", "session_days=many", "session_days2=1", "anonymous=yes",
            "switching=sometimes", "sign_up=sometimes", "mfa=on", "allowed_origins=https://a.example/", "mail_from=nobody",
            "password_min_length=7", "verify_subject={{x", "jwt=false", check=False)
        self.assertEqual(run.returncode, 12)
        for words in ["/settings/session_days: This value must be a whole number in 1...3650. (range)",
                      "/settings/session_days2: This name is unknown. (unknown_member)",
                      "/settings/anonymous: ", "/settings/switching: ", "/settings/mail_from: ",
                      "/settings/sign_up: ", "/settings/mfa: ",
                      "/settings/allowed_origins: ", "/settings/password_min_length: ",
                      "/settings/verify_subject: "]:
            self.assertIn(words, run.stderr)
        self.assertEqual(self.site.dossier("app", "show", "--app", "strict")["version"], 1)
        self.refused(64, "app", "set", "--app", "strict", "session_days")
        self.refused(13, "app", "set", "--app", "strict", "jwt=false", "--if-version", "2",
                     words="The current version is 1.")
        self.site.dossier("app", "set", "--app", "strict", "jwt=false", "--if-version", "1")

    def test_one_or_several_origins_are_set_and_errors_explained(self):
        self.site.dossier("app", "create", "pages")

        def origins(text):
            self.site.dossier("app", "set", "--app", "pages", f"allowed_origins={text}")
            return self.site.dossier("app", "show", "--app", "pages")["settings"]["allowed_origins"]

        one, other = "http://127.0.0.1:9000", "https://app.example.com"
        for text in [one, f'["{one}"]']:
            self.assertEqual(origins(text), [one])
        for text in [f"{one},{other}", f"{one} {other}", f"{one}, {other}"]:
            self.assertEqual(origins(text), [one, other])
        self.assertEqual(origins("null"), [])
        for text, words in [
            (f"{other}/", "Origin 1: it must not have a path or a slash at its end"),
            (f"{one},{other}/a", "Origin 2: it must not have a path"),
            ("*", "may have *, in place of the port"),
            ("https://*.example.com", "may have *, in place of the port"),
            ("app.example.com", "it must begin with http://"), ("ftp://a.example", "it must begin with http"),
            ("https://App.example.com", "lower case"), (f"{other}:443", "must not have :443"),
            ("http://a.example:80", "must not have :80"), ("https://", "must have a host"),
            ("[1]", "must be a string"),
        ]:
            self.refused(12, "app", "set", "--app", "pages", f"allowed_origins={text}", words=words)
        self.assertEqual(origins("https://app.example.com:4430"), ["https://app.example.com:4430"])

    def test_hosts_are_set_added_and_removed(self):
        for name in ["one", "two"]:
            self.site.dossier("app", "create", name)

        def hosts(verb, *names):
            return self.site.dossier("app", "host", verb, "--app", "one", *names)["hosts"]

        self.assertEqual(hosts("add", "b.example", "a.example"), ["a.example", "b.example"])
        self.assertEqual(hosts("add", "a.example", "[::1]"), ["[::1]", "a.example", "b.example"])
        self.assertEqual(hosts("remove", "b.example", "x.example"), ["[::1]", "a.example"])
        self.assertEqual(hosts("set", "c.example"), ["c.example"])
        self.refused(11, "app", "host", "add", "--app", "two", "c.example",
                     words="another app")
        for host in ["A.example", "a.example:80", "a b", ""]:
            self.refused(12, "app", "host", "add", "--app", "two", host, words="/hosts/0")
        login = self.site.request("POST", "/v1/login/anonymous", {}, {**JSON, "Host": "c.example"})
        user = self.expect(login, 200).json["user_id"]
        self.assertEqual(
            [row["id"] for row in self.site.dossier("user", "list", "--app", "one")], [user])
        self.assertEqual(hosts("set"), [])

    def test_settings_and_new_apps_take_effect_without_a_restart(self):
        self.site.dossier("app", "create", "quick")
        app = {"Dossier-App": "quick"}
        self.expect(self.post("/v1/login/anonymous", {}, headers=app), 200)
        self.site.dossier("app", "set", "--app", "quick", "anonymous=false", "access_token_seconds=90")
        refused = self.post("/v1/login/anonymous", {}, headers=app)
        self.expect(refused, 403, "login_method_disabled")
        self.assertEqual(
            self.expect(self.register("q@example.com", headers=app), 201).json["expires_in"], 90)
        self.expect(self.post("/v1/login/anonymous", {}), 200)

    # Issuers

    def login_jwt(self, token):
        return self.post("/v1/login/jwt", {"token": token})

    def add_issuer(self, name, *keys):
        return self.site.dossier(
            "issuer", "create", name, "issuer=https://issuer.example.com", f"audience={name}",
            *keys, "claims.nickname=handle")

    def test_an_issuer_with_keys_from_a_file(self):
        key = Key(self.site.folder, "filed")
        path = self.site.folder / "keys.json"
        path.write_text(json.dumps({"keys": [key.jwk]}))
        self.add_issuer("filed", f"jwks=@{path}")
        token = key.token(claims("sub", audience="filed", handle="ada", nickname="x"))
        grant = self.expect(self.login_jwt(token), 200).json
        self.assertEqual(self.me(grant).json["nickname"], "ada")
        self.refused(11, "issuer", "create", "filed", "issuer=x", "audience=x", f"jwks=@{path}")
        listed = {row["name"]: row for row in self.site.dossier("issuer", "list")}
        self.assertEqual(listed["filed"]["keys"], "set")
        self.assertEqual(listed["filed"]["claims"], {"nickname": "handle"})
        self.site.dossier("issuer", "delete", "filed", "--yes")
        self.expect(self.login_jwt(token), 401, "external_token_invalid")
        self.expect(self.me(grant), 200)
        self.refused(10, "issuer", "delete", "filed", "--yes")

    def test_an_issuer_with_a_shared_secret(self):
        secret = b"a secret that has more than 32 bytes"
        path = self.site.folder / "secret"
        path.write_bytes(secret + b"\n")
        self.add_issuer("shared", f"secret=@{path}")
        for _ in range(4):
            token = secret_token(claims("sub", audience="shared", handle="ada"), secret)
            self.expect(self.login_jwt(token), 200)
        for wrong, algorithm in [(secret + b"!", "HS256"), (secret, "HS384"), (secret, "HS512")]:
            token = secret_token(claims("sub", audience="shared"), wrong, algorithm)
            self.expect(self.login_jwt(token), 401, "external_token_invalid")
        path.write_bytes(secret * 2)
        self.add_issuer("longer", f"secret=@{path}")
        for algorithm in ["HS256", "HS384", "HS512"]:
            token = secret_token(claims("sub", audience="longer"), secret * 2, algorithm)
            self.expect(self.login_jwt(token), 200)
        everything = self.site.sql("select issuers::text from issuers") + str(self.audit_events())
        self.assertNotIn("more than 32", everything + str(self.site.dossier("issuer", "list")))
        self.assertNotIn(secret.hex(), everything)

    def test_invalid_issuers_are_refused(self):
        path = self.site.folder / "bad.json"

        def refused(status, *keys, name="bad", words=""):
            self.refused(
                status, "issuer", "create", name, "issuer=x", "audience=x", *keys,
                words=words)

        refused(12, words="exactly one of jwks_url")
        refused(64, "secret=in-sight", words="secret=@FILE")
        refused(21, f"jwks=@{path}", words="cannot be read")
        for text, words in {
            "{": "is not JSON at byte 1", "[]": "/jwks", '{"keys": []}': "no_key",
            '{"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}': "private_key",
            '{"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "AQAB"}]}': "private_key",
        }.items():
            path.write_text(text)
            refused(12, f"jwks=@{path}", words=words)
        path.write_text("too short\n")
        refused(12, f"secret=@{path}", words="32 to 1024 bytes")
        refused(12, "jwks_url=https://x", f"secret=@{path}", words="exactly one of jwks_url")
        refused(12, "jwks_url=ftp://x", words="/jwks_url")
        refused(12, "jwks_url=https://x", "claims.id=sub", words="/claims/id")
        refused(12, "jwks_url=https://x", name="Bad", words="/name")
        refused(10, "jwks_url=https://x", "--app", "nope", words="No app has that name")

    # Users

    # The program

    def test_all_errors_of_the_settings_are_reported_together(self):
        self.refused(78, "app", "list", "--set", "nope=1", words="no setting nope",
                     DOSSIER_MASTER_KEY="")
        self.refused(15, "app", "list", "--set", "database=host=/nowhere",
                     words="PostgreSQL cannot be reached")
        help = subprocess.run([BUILD / "dossier", "--help"], capture_output=True, text=True).stdout
        for status in [0, 1, 10, 11, 12, 13, 15, 16, 21, 64, 78]:
            self.assertRegex(help, rf"(?m)^ +{status}  \w")

    def test_a_mistake_in_the_texts_is_an_error_at_start(self):
        with tempfile.TemporaryDirectory() as folder:
            words = pathlib.Path(folder)
            for source in (ROOT / "deploy/languages").glob("*.json"):
                shutil.copy(source, words)
            (words / "fr.json").write_text('{"signIn": "{{link}}"}')
            message = (f"language_folder: {folder}/fr.json: signIn has the unknown placeholder "
                       "{{link}}; it may have {{app}}")
            for program, status in [(["dossierd", "config"], 78), (["dossier", "app", "list"], 78)]:
                run = subprocess.run(
                    [BUILD / program[0], *program[1:]], capture_output=True, text=True,
                    env={**self.site.environment, "DOSSIER_LANGUAGE_FOLDER": folder})
                self.assertEqual(run.returncode, status, run.stderr)
                self.assertIn(message, run.stderr)

    def test_calibrate_suggests_settings_that_the_server_accepts(self):
        run = subprocess.run(
            [BUILD / "dossier", "calibrate", "--target", "20", "--json"],
            capture_output=True, text=True, check=True, env={})
        proposed = json.loads(run.stdout)
        self.assertGreaterEqual(proposed["argon2_memory"], 19_456)
        self.assertGreaterEqual(proposed["argon2_passes"], 2)
        settings = [f"--set={name}={proposed[name]}" for name in ["argon2_memory", "argon2_passes"]]
        subprocess.run([BUILD / "dossierd", "config", *settings], check=True,
                       env=self.site.environment, capture_output=True)
        weak = subprocess.run([BUILD / "dossierd", "config", "--set=argon2_memory=8192"],
                              env=self.site.environment, capture_output=True, text=True)
        self.assertEqual(weak.returncode, 78)
        self.assertIn("argon2_memory is 8192", weak.stderr)


if __name__ == "__main__":
    unittest.main()
