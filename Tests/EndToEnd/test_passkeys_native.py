"""Native apps and hosts of passkeys: accepted origins, files, a guarded domain, and the doctor."""

import http.server
import json
import threading
import unittest

from cases import Administration
from passkeys import RP_ID, Passkey, PasskeyCase, encoded

HASH = bytes(range(32))
FINGERPRINT = ":".join(f"{byte:02X}" for byte in HASH)
ANDROID = ("android_package=com.example.app", f"android_certificates={HASH.hex()}")
APPLE = ("apple_team_id=A1B2C3D4E5", "apple_bundle_id=com.example.app")


class NativeCase(PasskeyCase, Administration):
    SETTINGS = {"DOSSIER_ISSUER": "https://users.example.org"}

    def client(self, *attributes, app="default"):
        """Creates a client for a native app, which is deleted after the test."""
        made = self.site.dossier("client", "create", "Phone", "kind=native", "--app", app, *attributes)
        self.addCleanup(self.site.dossier, "client", "delete", made["id"], "--yes")
        return made

    def hosts(self, *names, app="default"):
        self.site.dossier("app", "host", "set", "--app", app, *names)
        self.addCleanup(self.site.dossier, "app", "host", "set", "--app", app)

    def other_app(self):
        """Returns the name of an app at the host two.example."""
        if not getattr(type(self), "has_other", False):
            self.site.create_app("two")
            self.site.dossier("app", "host", "set", "--app", "two", "two.example")
            type(self).has_other = True
        return "two"


class Origins(NativeCase):
    def test_an_app_for_android_counts_by_the_certificate_of_its_client(self):
        passkey = Passkey()
        passkey.origin = f"android:apk-key-hash:{encoded(HASH)}"
        self.registered(passkey, status=401, code="passkey_invalid")
        self.client(*ANDROID, app=self.other_app())
        self.registered(passkey, status=401, code="passkey_invalid")
        made = self.client(*ANDROID)
        self.assertEqual(made["android_certificates"], [FINGERPRINT])
        self.registered(passkey)
        self.expect(self.show(passkey), 200)
        self.site.dossier("client", "set", made["id"], "first_party=false")
        self.expect(self.show(passkey), 401, "passkey_invalid")
        self.site.dossier("client", "set", made["id"], "first_party=true")
        self.expect(self.show(passkey), 200)
        self.site.dossier("client", "disable", made["id"])
        self.expect(self.show(passkey), 401, "passkey_invalid")

    def test_pages_at_hosts_of_the_app_below_a_parent_domain_count(self):
        self.setting({"passkey_rp_id": RP_ID}, passkey_rp_id="example.org")
        self.hosts("users.example.org", "users.example.net")
        for origin, status in [("https://users.example.org", 201), ("https://example.org", 201),
                               ("https://evil.example.org", 401), ("https://users.example.net", 401),
                               ("http://users.example.org", 401), ("https://xexample.org", 401)]:
            passkey = Passkey()
            passkey.rp_id, passkey.origin = "example.org", origin
            with self.subTest(origin):
                self.registered(passkey, status=status, code=None if status == 201 else "passkey_invalid")


class Files(NativeCase):
    NAMES = ["webauthn", "apple-app-site-association", "assetlinks.json", "passkey-endpoints"]

    def file(self, name, host="users.example.org", status=200, method="GET", **headers):
        answer = self.site.request(method, f"/.well-known/{name}", None, {
            "Host": f"{host}:{self.site.port}", **headers})
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertIsNone(answer.headers["Location"])
        return answer

    def test_without_settings_there_are_none(self):
        self.setting({"passkey": "optional"}, passkey="off", passkey_origins=["https://app.example.net"])
        for name in self.NAMES:
            for headers in [{}, {"Accept": "text/html"}]:
                answer = self.file(name, status=404, **headers)
                self.assertIn("error_description", answer.json)

    def test_each_file_has_what_the_settings_name(self):
        self.hosts("users.example.org")
        self.setting(passkey_origins=["https://app.example.net", f"android:apk-key-hash:{encoded(HASH)}"])
        self.client(*APPLE, app=self.other_app())
        for name in ["apple-app-site-association", "assetlinks.json"]:
            self.file(name, status=404)
        self.client(*APPLE, *ANDROID)
        self.client("apple_team_id=ABCDE12345", "apple_bundle_id=com.example.other")
        page = "http://users.example.org/account/passkeys"
        expected = {
            "webauthn": {"origins": ["https://app.example.net"]},
            "apple-app-site-association": {"webcredentials": {"apps": [
                "A1B2C3D4E5.com.example.app", "ABCDE12345.com.example.other"]}},
            "assetlinks.json": [{
                "relation": ["delegate_permission/common.get_login_creds",
                             "delegate_permission/common.handle_all_urls"],
                "target": {"namespace": "android_app", "package_name": "com.example.app",
                           "sha256_cert_fingerprints": [FINGERPRINT]}}],
            "passkey-endpoints": {"enroll": page, "manage": page}}
        for name, content in expected.items():
            answer = self.file(name, **{"Accept": "text/html"})
            self.assertEqual(answer.json, content)
            self.assertEqual(answer.headers["Cache-Control"], "public, max-age=300")
            self.assertEqual(self.file(name, method="HEAD").body, b"")
        self.assertEqual(self.file("apple-app-site-association", "two.example").json,
                         {"webcredentials": {"apps": ["A1B2C3D4E5.com.example.app"]}})
        self.file("assetlinks.json", "two.example", status=404)
        # The command prints the same for a domain of which another server has the files.
        page = "https://users.example.org/account/passkeys"
        expected["passkey-endpoints"] = {"enroll": page, "manage": page}
        printed = self.site.dossier("app", "well-known")
        self.assertEqual(printed, {f"/.well-known/{name}": content for name, content in expected.items()})
        for name, content in expected.items():
            self.assertEqual(
                json.loads(self.site.dossier("app", "well-known", name, output="text")), content)
        self.refused(10, "app", "well-known", "--app", "two", "assetlinks.json", words="no such file")


class Described(NativeCase):
    def test_a_file_may_have_a_fingerprint_in_any_form(self):
        path = self.site.folder / "native.json"
        for form in [HASH.hex(), FINGERPRINT.lower()]:
            path.write_text(json.dumps({"apps": {"default": {"clients": {"Described": {
                "kind": "native", "android_package": "com.example.app",
                "android_certificates": [form]}}}}}))
            steps = self.site.dossier("apply", path, "--yes")
            self.addCleanup(path.unlink, missing_ok=True)
        # The first form has made the client, and the second is no change.
        self.assertEqual([step["action"] for step in steps if step["kind"] == "client"], ["unchanged"])
        exported = self.site.dossier("export-config", "--app", "default", "--format", "json", output="text")
        self.assertEqual(json.loads(exported)["apps"]["default"]["clients"]["Described"][
            "android_certificates"], [FINGERPRINT])


class Domain(NativeCase):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.site.set_app, passkey_rp_id=RP_ID)
        self.key = {"Authorization": f"Bearer {self.site.client('--operator')['secret']}",
                    "Content-Type": "application/merge-patch+json"}

    def change(self, value, query="", app="default", **more):
        return self.site.request("PATCH", f"/v1/apps/{app}{query}", {
            "settings": {"passkey_rp_id": value, **more}}, self.key)

    def number(self):
        return int(self.site.sql("select count(*) from passkeys p join users u using (user_id) join "
                                 f"apps a using (app_id) where a.name = 'default' and rp_id = '{RP_ID}'"))

    def test_a_domain_without_passkeys_changes(self):
        # Another app has passkeys for the domain.
        self.registered()
        self.other_app()
        for value in [RP_ID, "example.org", None, "example.com"]:
            self.expect(self.change(value, app="two"), 200)

    def test_a_domain_with_passkeys_stays_unless_forced(self):
        passkey, _ = self.registered()
        count = self.number()
        for value in ["example.org", "", None]:
            problem = self.expect(self.change(value, passkey_offer=False), 409, "passkey_domain_in_use").json
            self.assertEqual(problem["passkeys"], count)
            self.assertIn(f"passkeys for {RP_ID}: {count}.", problem["detail"])
        self.expect(self.change(RP_ID, passkeys_per_user=20), 200)
        self.expect(self.change(7), 422, "validation_failed")
        self.expect(self.change("example.org", "?force=yes"), 422, "validation_failed")
        self.expect(self.show(passkey), 200)
        self.expect(self.change("example.org", "?force=true"), 200)
        # No user has a passkey for that domain, so the old one can be set again.
        self.expect(self.change(RP_ID), 200)
        self.expect(self.show(passkey), 200)

    def test_commands_need_force(self):
        self.registered()
        words = "--force"
        self.refused(11, "app", "set", "passkey_rp_id=example.org", words=words)
        self.site.dossier("app", "set", "--force", "passkey_rp_id=example.org")
        self.site.set_app(passkey_rp_id=RP_ID)
        path = self.site.folder / "domain.json"
        path.write_text(json.dumps({"apps": {"default": {"settings": {
            "passkey": "optional", "passkey_rp_id": "example.net"}}}}))
        run = self.site.dossier("apply", path, "--yes", check=False)
        self.assertEqual(run.returncode, 11, run.stderr)
        self.assertIn(words, run.stderr)
        self.site.dossier("apply", path, "--yes", "--force")
        self.assertEqual(self.site.dossier("app", "show")["settings"]["passkey_rp_id"], "example.net")

    def test_many_passkeys_are_not_counted_to_the_end(self):
        _, grant = self.registered()
        user = grant["user_id"]
        self.site.sql(
            "insert into identities (user_id, identity_id, app_id, provider, subject) "
            "select i.user_id, lpad(to_hex(n), 24, '0'), i.app_id, i.provider, lpad(to_hex(n), 24, '0') "
            f"from identities i, generate_series(1, 1100) n where i.user_id = '{user}'")
        self.site.sql(
            "insert into passkeys (user_id, passkey_id, credential, public_key, user_handle, rp_id, "
            "sign_count, backup_eligible, backed_up, aaguid, name) "
            "select user_id, lpad(to_hex(n), 24, '0'), credential, public_key, user_handle, rp_id, "
            "sign_count, backup_eligible, backed_up, aaguid, name "
            f"from passkeys, generate_series(1, 1100) n where user_id = '{user}'")
        try:
            problem = self.expect(self.change("example.org"), 409, "passkey_domain_in_use").json
        finally:
            self.site.sql(f"delete from passkeys where user_id = '{user}'")
            self.site.sql(f"delete from identities where user_id = '{user}'")
        self.assertEqual(problem["passkeys"], 1000)
        self.assertIn("at least 1000.", problem["detail"])


class Served(http.server.BaseHTTPRequestHandler):
    """A server at the domain of the passkeys that is not the deployment."""

    answers = {}

    def do_GET(self):
        status, headers, body = self.answers[self.path]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Doctor(NativeCase):
    SETTINGS = {"DOSSIER_ISSUER": "http://localhost:{port}", "DOSSIER_ISSUER_NETWORK": "any"}

    def findings(self, **settings):
        """Returns what the doctor says by subject."""
        run = self.site.dossier("doctor", check=False, **settings)
        self.assertIn(run.returncode, (0, 24), run.stderr)
        return {row["what"]: row["fault"] for row in json.loads(run.stdout)}

    def fault(self, app="default", **settings):
        return self.findings(**settings)[f"passkeys of {app}"]

    def test_the_domain_fits_the_pages(self):
        self.assertIsNone(self.fault())
        for issuer, words in [("http://127.0.0.1:8080", "IP address"), ("http://[::1]:8080", "IP address"),
                              ("http://users.example.org", "no TLS"),
                              ("https://users.example.org", f"not below {RP_ID}"),
                              ("https://xlocalhost", f"not below {RP_ID}")]:
            fault = self.fault(DOSSIER_ISSUER=issuer)
            self.assertIn(words, fault)
            self.assertIn(issuer, fault)
        self.setting({"passkey_rp_id": RP_ID}, passkey_rp_id="example.org")
        for issuer in ["https://users.example.org", "https://example.org:8443"]:
            self.assertIsNone(self.fault(DOSSIER_ISSUER=issuer))
        self.assertIn("--app default passkey_rp_id=users.example.net",
                      self.fault(DOSSIER_ISSUER="https://users.example.net"))
        self.setting({"passkey_rp_id": RP_ID}, passkey_rp_id="")
        self.assertIn("passkey_rp_id is empty", self.fault())
        self.setting({"passkey": "optional"}, passkey="off")
        self.assertNotIn("passkeys of default", self.findings())

    def test_an_app_without_pages(self):
        self.site.add_app("bare", passkey="optional", passkey_rp_id="example.org")
        self.addCleanup(self.site.set_app, "bare", passkey="off")
        self.assertIn("dossier app host set --app bare", self.fault("bare"))

    def test_an_origin_of_android_belongs_to_a_client(self):
        origin = f"android:apk-key-hash:{encoded(HASH)}"
        self.setting(passkey_origins=[origin])
        self.assertIn(f"no app with the origin {origin}", self.fault())
        self.client(*ANDROID)
        self.assertIsNone(self.fault())

    def test_the_files_are_read_at_the_domain(self):
        own = f"http://localhost:{self.site.port}/.well-known/"
        self.assertFalse([what for what in self.findings() if ".well-known" in what])
        self.setting(passkey_origins=["https://app.example.net"])
        self.client(*APPLE)
        found = self.findings()
        for name in ["webauthn", "apple-app-site-association"]:
            self.assertIsNone(found[own + name])
        self.assertNotIn(f"{own}assetlinks.json", found)
        server = http.server.ThreadingHTTPServer(("localhost", 0), Served)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        base = f"http://localhost:{server.server_port}"
        path = "/.well-known/webauthn"
        json_type = {"Content-Type": "application/json"}
        Served.answers = {"/.well-known/apple-app-site-association": (
            200, json_type, b'{"applinks":{},"webcredentials":{"apps":["A","A1B2C3D4E5.com.example.app"]}}')}
        right = b'{"origins":["https://b.example","https://app.example.net"],"more":1}'
        for answer, words in [
                ((301, {"Location": f"{base}/elsewhere"}, b""), f"redirects to {base}/elsewhere"),
                ((404, json_type, right), "status 404"),
                ((200, {"Content-Type": "text/html"}, right), "not application/json"),
                ((200, json_type, b"<html>"), "not JSON"),
                ((200, json_type, b'{"origins":["https://b.example"]}'), "lacks what the settings name"),
                ((200, json_type, b"[]"), "lacks what the settings name"),
                ((200, json_type, b" " * 300_000), "more than"),
                ((200, {"Content-Type": "application/json; charset=utf-8"}, right), None)]:
            Served.answers[path] = answer
            found = self.findings(DOSSIER_ISSUER=base)
            self.assertIsNone(found[f"{base}/.well-known/apple-app-site-association"])
            fault = found[base + path]
            if words is None:
                self.assertIsNone(fault)
            else:
                self.assertIn(words, fault)
                self.assertIn("dossier app well-known --app default webauthn", fault)
        # Without the setting, no request leaves for this machine.
        self.assertFalse([what for what in self.findings(DOSSIER_ISSUER_NETWORK="public")
                          if ".well-known" in what])


if __name__ == "__main__":
    unittest.main()
