"""Native apps and hosts of passkeys: accepted origins and files."""

import json
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


if __name__ == "__main__":
    unittest.main()
