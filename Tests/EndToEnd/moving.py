"""Users who move from Auth0: hashes of each family, and an app that imports them."""

import base64
import hashlib
import hmac
import json
import subprocess

from cases import Case
from machine import BUILD
from test_import import HASHES, PASSWORD, lines

TEXT = PASSWORD.encode()


def custom(algorithm, value, encoding="utf8", **members):
    return {"algorithm": algorithm, "hash": {"value": value, "encoding": encoding}, **members}


def salt(position):
    return {"value": "salt", "encoding": "utf8", "position": position}


def base64_of(value):
    return base64.b64encode(value).decode()


CUSTOM = {
    "argon2": custom("argon2", HASHES["argon2id"]),
    "bcrypt": custom("bcrypt", HASHES["2b"]),
    "pbkdf2": custom("pbkdf2", HASHES["pbkdf2-sha512"]),
    "scrypt": custom("scrypt", hashlib.scrypt(TEXT, salt=b"salt", n=1024, r=8, p=1, dklen=64).hex(),
                     "hex", salt=salt("prefix"), cost=1024, keylen=64),
    "hmac": custom("hmac", "", salt=salt("suffix")),
}
CUSTOM["hmac"]["hash"] = {
    "value": hmac.new(b"key", TEXT + b"salt", "sha256").hexdigest(), "encoding": "hex",
    "digest": "sha256", "key": {"value": base64_of(b"key"), "encoding": "base64"}}
for name in ["md5", "sha1", "sha256", "sha512"]:
    CUSTOM[name] = custom(name, hashlib.new(name, TEXT).hexdigest(), "hex")
    CUSTOM[f"{name} of prefix"] = custom(
        name, hashlib.new(name, b"salt" + TEXT).hexdigest(), "hex", salt=salt("prefix"))
    CUSTOM[f"{name} of suffix"] = custom(
        name, base64_of(hashlib.new(name, TEXT + b"salt").digest()), "base64", salt=salt("suffix"))
ldap = {
    "SSHA": base64_of(hashlib.sha1(TEXT + b"salt").digest() + b"salt"),
    "SHA": base64_of(hashlib.sha1(TEXT).digest()),
    "SMD5": base64_of(hashlib.md5(TEXT + b"salt").digest() + b"salt"),
    "MD5": base64_of(hashlib.md5(TEXT).digest()),
    "CRYPT": HASHES["6"],
}
for name, value in ldap.items():
    CUSTOM[f"ldap {name}"] = custom("ldap", f"{{{name}}}{value}")
# MD4 of the password in UTF-16, which Python's library lacks.
CUSTOM["md4"] = custom("md4", "2e36c71593ba2ae203f956d8f973cd82", "hex", password={"encoding": "utf16le"})


class MovedCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.users, cls.hashes, cls.report = (
            cls.site.folder / name for name in ["users", "hashes", "report"])
        cls.apps = 0

    def setUp(self):
        type(self).apps += 1
        self.app = f"moved-{self.apps}"
        self.dossier("app", "create", self.app)
        self.headers = {"Dossier-App": self.app}

    def dossier(self, *words, status=0):
        run = subprocess.run([BUILD / "dossier", *map(str, words)], env=self.site.environment,
                             capture_output=True, timeout=1_800)
        self.assertEqual(run.returncode, status, run.stderr.decode() + run.stdout.decode())
        return run

    def command(self, *flags):
        return ["user", "import", "--format", "auth0", "--app", self.app, "--results", self.report,
                "--hashes", self.hashes, *flags, self.users]

    def load(self, users, hashes, *flags, status=0):
        self.users.write_text(lines(users))
        self.hashes.write_text(lines(hashes))
        self.dossier(*self.command(*flags), status=status)
        return self.results()

    def results(self):
        return [json.loads(line) for line in self.report.read_text().splitlines()]

    def sign_in(self, email, password=PASSWORD):
        return self.login(email, password, headers=self.headers)

    def sql(self, text):
        return self.site.sql(
            text.replace("{app}", f"(select app_id from apps where name = '{self.app}')"))
