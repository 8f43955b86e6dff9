"""The set of breached passwords that an operator installs."""

import hashlib
import json
import os
import shutil
import subprocess
import unittest

from cases import Administration
from machine import AS_SERVER, BUILD, new_folder, wait_until

# In no list of common passwords.
LEAKED = ["ruby galoshes seven", "grün7 kaputt gelb"]
GOOD = "margarine is not in it"


def build(words, path, newline="\n", count=":12", **options):
    """Builds a set of words; returns the finished run of the command."""
    lines = [hashlib.sha1(word.encode()).hexdigest().upper() + count for word in words]
    return subprocess.run(
        [BUILD / "dossier", "breached-password", "build", "-", path], text=True,
        input="".join(line + newline for line in lines), capture_output=True, timeout=120, **options)


class BreachedPasswords(Administration):
    @classmethod
    def setUpClass(cls):
        cls.folder = new_folder()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.set = cls.folder / "set"
        # The server's user reads the file, and the operator's mask does not hide it.
        built = build(LEAKED, cls.set, newline="\r\n", umask=0o077)
        assert built.returncode == 0, built.stderr
        cls.SETTINGS = {"DOSSIER_BREACHED_PASSWORDS": str(cls.set)}
        super().setUpClass()

    def fault(self, answer):
        errors = self.expect(answer, 422, "validation_failed").json["errors"]
        self.assertEqual(len(errors), 1, errors)
        return errors[0]["pointer"], errors[0]["code"]

    def test_every_route_refuses_breached_passwords(self):
        email = "margaret@example.com"
        grant = self.verified(email)
        guest = self.site.login()
        key = self.site.client("--operator")["secret"]
        user = f"/v1/users/{grant['user_id']}"
        for word in LEAKED:
            # Swift and browsers may send another form of the same letters.
            for password in {word, word.replace("ü", "u\u0308")}:
                with self.subTest(password=password):
                    self.expect(self.post("/v1/password/reset-request", {"email": email}), 202)
                    token = self.site.mailed(email, "ds_reset")
                    for pointer, answer in [
                        ("/password", self.register("new@example.com", password)),
                        ("/new_password", self.post("/v1/password/change", {
                            "current_password": "correct horse", "new_password": password},
                            token=grant["access_token"])),
                        ("/password", self.reset(token, password)),
                        ("/password", self.post("/v1/me/identities", {
                            "provider": "password", "email": "new@example.com",
                            "password": password}, token=guest["access_token"])),
                        ("/password", self.post("/v1/users", {
                            "email": "new@example.com", "password": password}, token=key)),
                        ("/password", self.site.request(
                            "PUT", f"{user}/password", {"password": password},
                            {"Content-Type": "application/json"}, key)),
                    ]:
                        self.assertEqual(self.fault(answer), (pointer, "breached"))
                    self.expect(self.site.get("/v1/me", token=grant["access_token"]), 200)
        # An upper-case letter makes another password.
        self.expect(self.register("other@example.com", LEAKED[0].title()), 201)
        self.expect(self.reset(token, GOOD), 200)

    def test_an_app_that_allows_weak_passwords_allows_these(self):
        app = self.site.add_app("weak", weak_passwords=True)
        self.expect(self.register("weak@example.com", LEAKED[0], headers=app), 201)

    def test_workers_use_a_new_file_at_once_and_never_do_without_one(self):
        self.addCleanup(build, LEAKED, self.set)
        self.assertEqual(build([*LEAKED, GOOD], self.set, count="").returncode, 0)
        self.assertEqual(self.fault(self.register("a@example.com", GOOD)), ("/password", "breached"))
        self.assertEqual(build(LEAKED, self.set).returncode, 0)
        self.expect(self.register("b@example.com", GOOD), 201)
        for damage in [lambda: self.set.write_text("x"), self.set.unlink]:
            damage()
            count = len(self.site.faults())
            self.expect(self.register("c@example.com", GOOD), 500, "internal")
            wait_until(lambda: any("breached_passwords" in line["error"]
                                   for line in self.site.faults()[count:]), what="the reason")
            # Users with a password are not affected.
            self.expect(self.login("b@example.com", GOOD), 200)
            findings = json.loads(self.site.dossier("doctor", check=False).stdout)
            settings, = [row["fault"] for row in findings if row["what"] == "settings"]
            self.assertIn("breached_passwords", settings)
            check = subprocess.run(
                [*AS_SERVER, BUILD / "dossierd", "worker"], env=self.site.environment,
                capture_output=True, text=True, timeout=120)
            self.assertEqual(check.returncode, 78, check.stderr)

    def test_a_list_with_an_invalid_line_changes_nothing(self):
        before = self.set.read_bytes()
        run = subprocess.run(
            [BUILD / "dossier", "breached-password", "build", "-", self.set], text=True,
            input="5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:1\npassword\n", capture_output=True)
        self.assertEqual(run.returncode, 12, run.stderr)
        self.assertRegex(run.stderr, r"^dossier: -: line 2 has no SHA-1 hash")
        for arguments, words in [
            (["/nowhere", str(self.set)], "/nowhere: No such file or directory"),
            (["-", "/nowhere/set"], "/nowhere/set.runs: No such file or directory"),
        ]:
            run = subprocess.run([BUILD / "dossier", "breached-password", "build", *arguments],
                                 text=True, input="", capture_output=True)
            self.assertEqual(run.returncode, 21, run.stderr)
            self.assertIn(words, run.stderr)
        self.assertEqual(self.set.read_bytes(), before)
        self.assertEqual(os.listdir(self.folder), ["set"])


if __name__ == "__main__":
    unittest.main()
