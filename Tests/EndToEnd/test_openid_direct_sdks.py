"""Auth0's Python SDK signs users in without the pages."""

import json
import os
import subprocess
import sys
import unittest

from hosted import PASSWORD
from machine import TOOLS_FOLDER
from test_openid_direct import DirectCase, REALM


# The program has a deployment and an address; its output is a line of JSON for each step.
SDK = """
import json, sys
from auth0.authentication import GetToken, Passwordless, RevokeToken
try:
    from auth0.authentication.exceptions import Auth0Error
except ImportError:
    from auth0.exceptions import Auth0Error

site = json.loads(sys.argv[1])
ways = {"client_id": site["client"], "client_secret": site["secret"], "protocol": "http"}
get = GetToken(site["domain"], **ways)

tokens = get.login(
    username=site["email"], password=site["password"], realm=site["realm"],
    scope="openid email offline_access", audience=site["api"])
assert tokens["token_type"] == "Bearer" and isinstance(tokens["expires_in"], int), tokens
again = get.refresh_token(tokens["refresh_token"])
assert again["refresh_token"] != tokens["refresh_token"], again
RevokeToken(site["domain"], **ways).revoke_refresh_token(again["refresh_token"])
try:
    get.refresh_token(again["refresh_token"])
    raise SystemExit("a token that was revoked is valid")
except Auth0Error as error:
    assert (error.status_code, error.error_code) == (403, "invalid_grant"), vars(error)
try:
    get.login(username=site["email"], password="wrong", realm=site["realm"])
    raise SystemExit("a wrong password is right")
except Auth0Error as error:
    assert error.message == "Wrong email or password.", vars(error)

started = Passwordless(site["domain"], **ways).email(site["email"], send="code")
assert started["email"] == site["email"], started
print("started", flush=True)
code = sys.stdin.readline().strip()
tokens = get.passwordless_login(
    username=site["email"], otp=code, realm="email", scope="openid", audience="")
assert tokens["id_token"], tokens
try:
    get.passwordless_login(
        username=site["email"], otp=code, realm="email", scope="openid", audience="")
    raise SystemExit("a code is valid twice")
except Auth0Error as error:
    assert error.message == "Wrong email or verification code.", vars(error)
print("done")
"""

class SDKs(DirectCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.dossier("client", "set", cls.web["id"], "claims_profile=auth0")

    def run_sdk(self, folder):
        email = self.own_email()
        self.verified(email, PASSWORD)
        site = {"domain": f"127.0.0.1:{self.site.port}", "client": self.web["id"],
                "secret": self.web["secret"], "email": email, "password": PASSWORD,
                "realm": REALM, "api": self.API}
        program = subprocess.Popen(
            [sys.executable, "-B", "-c", SDK, json.dumps(site)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(TOOLS_FOLDER / folder)})
        self.addCleanup(program.kill)
        first = program.stdout.readline()
        code = self.mailed_code(email) if first == "started\n" else ""
        output, errors = program.communicate(code + "\n", timeout=120)
        self.assertEqual((first + output).split(), ["started", "done"], errors)

    def test_auth0_python_4(self):
        self.run_sdk("auth0-4.13.0")

    def test_auth0_python_6(self):
        self.run_sdk("auth0-6.8.0")


if __name__ == "__main__":
    unittest.main()
