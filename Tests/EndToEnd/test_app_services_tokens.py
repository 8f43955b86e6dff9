"""Tokens of issuers by the client API of App Services: logins, links, and claims that are missing."""

import json
import time
import unittest

from app_services import App, Services, claims
from asking import JSON
from issuers import claims as issued
from issuers import secret_token
from machine import wait_until

SECRET = b"a secret of thirty-two bytes or more"


class TokenCase(Services):
    """Tests in an app with three issuers."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        secret = cls.site.folder / "secret"
        secret.write_bytes(SECRET)
        for name, issuer in [("own", "https://issuer.example.com"),
                             ("google", "https://accounts.google.com"),
                             ("apple", "https://appleid.apple.com")]:
            cls.site.dossier(
                "issuer", "create", name, "--app", cls.name, f"issuer={issuer}", "audience=app",
                f"secret=@{secret}")

    def token(self, subject, issuer="https://issuer.example.com", **others):
        return secret_token(issued(subject, issuer, **others), SECRET)


class Tokens(TokenCase):
    def test_logins(self):
        for provider, member, issuer in [
                ("custom-token", "token", "https://issuer.example.com"),
                ("oauth2-google", "id_token", "https://accounts.google.com"),
                ("oauth2-apple", "id_token", "https://appleid.apple.com")]:
            subject = f"ada-{provider}"
            email = f"{subject}@example.test"
            user = self.app.log_in(provider, **{
                member: self.token(subject, issuer, name="Ada L", email=email)})
            self.assertEqual(user.identities, [provider])
            self.assertEqual(user.profile["identities"][0]["id"], subject)
            self.assertEqual(user.profile["data"], {"name": "Ada L", "email": email})
            again = self.app.log_in(provider, **{member: self.token(subject, issuer)})
            self.assertEqual(again.id, user.id)
            access = claims(again.access)
            self.assertEqual(access["exp"] - access["iat"], 1_800)

    def test_an_address_of_another_user(self):
        """An address belongs to one user, but the profile shows what a token states."""
        email = "shared@example.test"
        first, second = [
            self.app.log_in("custom-token", token=self.token(f"shared-{number}", email=email))
            for number in range(2)]
        self.assertEqual(first.profile["data"], {"email": email})
        self.assertEqual(second.profile["data"], {"email": email})
        self.assertEqual(self.site.sql(f"select email from users where user_id = '{second.id}'"), "")
        self.refused(409, "name already in use", "AccountNameInUse", self.app.email, "register",
                     email=email, password="correct horse battery")

    def test_tokens_that_are_refused(self):
        for token in ["x", "a.b.c", self.token("ada", exp=int(time.time()) - 900),
                      self.token("ada", audience="another"), self.token("ada")[:-2] + "xx",
                      self.token("ada", "https://nobody.example.com")]:
            self.refused(401, "unauthorized", "AuthError", self.app.log_in, "custom-token",
                         token=token)
        for provider, issuer in [("oauth2-google", "https://accounts.google.com"),
                                 ("oauth2-apple", "https://appleid.apple.com")]:
            for name, token in [
                    ("aud", self.token("ada", issuer, audience="another")),
                    ("exp", self.token("ada", issuer, exp=int(time.time()) - 900)),
                    ("nbf", self.token("ada", issuer, nbf=int(time.time()) + 900)),
                    ("iat", self.token("ada", issuer, iat=int(time.time()) + 900)),
                    ("iss", self.token("ada", "accounts.google.com")),
                    ("iss", self.token("ada"))]:
                with self.subTest(f"{provider} {name}"):
                    self.refused(401, f"because its {name} ", "AuthError", self.app.log_in,
                                 provider, id_token=token)
        self.refused(400, "authCode", "BadRequest", self.app.log_in, "oauth2-google", authCode="x")

    def test_a_closed_sign_up(self):
        user = self.app.log_in("custom-token", token=self.token("member"))
        self.site.set_app(self.name, sign_up="closed")
        self.addCleanup(self.site.set_app, self.name, sign_up="immediate")
        self.refused(403, "sign-up is closed", "Forbidden", self.app.log_in, "custom-token",
                     token=self.token("newcomer"))
        self.assertEqual(self.app.log_in("custom-token", token=self.token("member")).id, user.id)

    def test_links(self):
        user = self.anonymous()
        user.link("custom-token", token=self.token("linked"))
        self.assertEqual(user.identities, ["anon-user", "custom-token"])
        user = self.app.log_in("custom-token", token=self.token("linked"))
        user.link("custom-token", token=self.token("linked"))
        other = self.anonymous()
        self.refused(409, "the identity belongs to another user", "InvalidParameter", other.link,
                     "custom-token", token=self.token("linked"))
        self.refused(400, "the token is refused", "AuthError", other.link, "custom-token", token="x")


class MissingClaims(Services):
    """Tokens as the SDK's own integration test sends them: aud, exp and sub, by HS256."""

    def setUp(self):
        super().setUp()
        self.secrets, self.requests = {}, 0

    def issuer(self, name, *options, issuer=None, audience=None, status=0, app=None):
        path = self.site.folder / f"secret-{name}"
        path.write_bytes(self.secrets.setdefault(name, f"a secret of {name}".encode() * 3))
        run = self.site.dossier(
            "issuer", "create", name, "--app", app or self.app.name,
            f'issuer={issuer or f"https://{name}.example.com"}',
            f"audience={audience or self.app.name}", f"secret=@{path}", *options, check=False)
        self.assertEqual(run.returncode, status, run.stdout + run.stderr)
        return run.stdout + run.stderr

    def token(self, name, **claims):
        return secret_token({"exp": 4070908800, "sub": "my-awesome-internal-id", **claims},
                            self.secrets[name])

    def new_app(self, name):
        self.site.add_app(name, failures_per_ip=10**6)
        self.app = App(self.site, name)

    def log_in(self, token):
        return self.app.log_in("custom-token", token=token)

    def logged(self, token):
        """Returns the logged reason for a refused token, by the id of the request."""
        self.requests += 1
        name = f"{self.app.name}-{self.requests}"
        answer = self.site.request(
            "POST", f"{self.app.path}/auth/providers/custom-token/login", {"token": token},
            {**JSON, "X-Request-Id": name})
        self.assertEqual(answer.status, 401)
        self.assertRegex(answer.json["error"], "^unauthorized: .* because ")
        self.assertIn(f"co_id={name}#AuthError", answer.json["link"])

        def lines():
            return [line for line in self.site.log_lines() if line.get("request") == name]

        # A worker answers before it writes.
        wait_until(lines, what="the line of a request")
        [line] = lines()
        self.assertNotIn(token, json.dumps(line))
        self.assertNotIn("my-awesome-internal-id", json.dumps(line))
        return line["refused"]

    def test_an_issuer_may_leave_out_iss_and_aud(self):
        self.new_app("shop-missing")
        self.issuer("loose", "allow_missing_iss=true")
        sdk = self.token("loose", aud="shop-missing", mySecretField="some-secret-stuff")
        user = self.log_in(sdk)
        self.assertEqual(self.log_in(sdk).id, user.id)
        # With iss it is the same user, and the import names it so.
        whole = self.token("loose", aud=["x", "shop-missing"], iss="https://loose.example.com")
        self.assertEqual(self.log_in(whole).id, user.id)
        self.assertEqual(
            self.site.sql(f"select provider from identities where user_id = '{user.id}'"),
            "jwt:https://loose.example.com")
        [listed] = self.site.dossier("issuer", "list", "--app", self.app.name, output="json")
        self.assertEqual((listed["allow_missing_iss"], listed["allow_missing_aud"]), (True, False))
        for changes, reason in [
                ({}, "it has no aud, which its issuer does not allow"),
                ({"aud": []}, "its aud is not the one"), ({"aud": None}, "its aud is neither"),
                ({"aud": "another"}, "its aud is not the one"),
                ({"aud": "shop-missing", "iss": None}, "its iss is not a string"),
                ({"aud": "shop-missing", "iss": ""}, "its iss is not one of this app's"),
                ({"aud": "shop-missing", "iss": "https://x"}, "its iss is not one of this app's"),
                ({"aud": "shop-missing", "exp": 1}, "its exp is in the past"),
                ({"aud": "shop-missing", "sub": None}, "it is not a JWT with sub and exp")]:
            with self.subTest(changes):
                self.assertIn(reason, self.logged(self.token("loose", **changes)))
        self.new_app("shop-no-audience")
        self.issuer("open", "allow_missing_iss=true", "allow_missing_aud=true")
        user = self.log_in(self.token("open"))
        self.assertEqual(self.log_in(self.token("open", aud="shop-no-audience")).id, user.id)
        self.assertIn("its aud is not the one", self.logged(self.token("open", aud="another")))

    def test_missing_claims_are_refused_by_default(self):
        self.new_app("shop-strict-claims")
        self.issuer("strict")
        self.log_in(self.token("strict", iss="https://strict.example.com", aud=self.app.name))
        self.assertIn("it has no iss, which no issuer of this app allows",
                      self.logged(self.token("strict", aud=self.app.name)))
        self.assertIn("it has no aud", self.logged(
            self.token("strict", iss="https://strict.example.com")))

    def test_an_issuer_may_have_several_keys(self):
        self.new_app("shop-keys")
        for number in range(10):
            self.issuer(f"key{number}", issuer="https://keys.example.com")
        claims = {"aud": self.app.name, "iss": "https://keys.example.com"}
        users = {self.log_in(self.token(f"key{number}", **claims)).id for number in range(10)}
        self.assertEqual(len(users), 1)
        self.assertIn("10 entries with one iss",
                      self.issuer("key10", issuer="https://keys.example.com", status=12))
        self.issuer("other")
        self.assertIn("its signature is not its issuer's", self.logged(self.token("other", **claims)))
        self.site.dossier("issuer", "delete", "key0", "--yes", "--app", self.app.name)
        self.assertIn("its signature is not its issuer's", self.logged(self.token("key0", **claims)))

    def test_an_issuer_cannot_sign_in_users_of_another_issuer(self):
        self.new_app("shop-two-issuers")
        self.issuer("first", "allow_missing_iss=true")
        self.issuer("second")
        first = self.log_in(self.token("first", aud=self.app.name))
        # The second issuer's secret signs. The issuer must not be derived from the key.
        self.assertIn("its signature is not its issuer's",
                      self.logged(self.token("second", aud=self.app.name)))
        self.assertIn("its signature is not its issuer's", self.logged(
            self.token("second", aud=self.app.name, iss="https://first.example.com")))
        second = self.log_in(
            self.token("second", aud=self.app.name, iss="https://second.example.com"))
        self.assertNotEqual(first.id, second.id)
        # Two issuers that may leave out the same claim would be indistinguishable.
        for options in [("allow_missing_iss=true",), ("allow_missing_iss=true", "allow_missing_aud=true")]:
            self.assertIn("already accepts tokens without iss", self.issuer("third", *options, status=12))
        self.issuer("third", "allow_missing_aud=true")
        self.assertIn("already accepts tokens without aud", self.issuer(
            "fourth", "allow_missing_aud=true", issuer="https://third.example.com", audience="y",
            status=12))
        self.issuer("fourth", issuer="https://third.example.com", audience="y")
        self.log_in(self.token("third", iss="https://third.example.com"))
        # Another app may have such an issuer too.
        self.new_app("shop-third-app")
        self.issuer("first", "allow_missing_iss=true")


if __name__ == "__main__":
    unittest.main()
