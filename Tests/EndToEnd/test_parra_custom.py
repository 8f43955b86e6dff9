"""Custom tokens of Parra, which the back end of an app signs for each request."""

import hmac
import time
import unittest

from asking import JSON
from cases import Case, in_parallel
from issuers import encode
from parra import Client
from parra_types import checked_tokens, checked_user, is_api_error

KEY, SECRET = "key-1", b"a secret that has as many bytes as the longest algorithm requires, 64"


def custom(identity, tenant="default", secret=SECRET, algorithm="HS256", head=None, **others):
    """Returns a token like that of the SDK for back ends."""
    now = int(time.time())
    claims = {"iss": KEY, "sub": tenant, "iat": now, "exp": now + 3600, "jti": f"{KEY}-{now}",
              "grants": {"identity": identity}, **others}
    claims = {name: value for name, value in claims.items() if value is not None}
    head = {"alg": algorithm, "typ": "JWT", "cty": "parra-fpa;v=1", **(head or {})}
    head = {name: value for name, value in head.items() if value is not None}
    text = f"{encode(head)}.{encode(claims)}"
    digest = hmac.digest(secret, text.encode(), f"sha{algorithm[2:]}")
    return f"{text}.{encode(digest)}"


class Custom(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        path = cls.site.folder / "secret"
        path.write_bytes(SECRET)
        cls.site.create_app("neighbor")
        for app in ["default", "neighbor"]:
            cls.site.dossier(
                "issuer", "create", "back-end", "--app", app, f"issuer={KEY}", "audience=parra",
                "allow_missing_aud=true", f"secret=@{path}")

    def client(self, identity, **others):
        client = Client(self.site)
        client.read_info()
        # The app's callback runs before every request and after every 401.
        client.refresh = lambda: client.tokens.update(access_token=custom(identity, **others))
        client.tokens = {}
        client.refresh()
        return client

    def status(self, token, path="/auth/user-info", method="GET", tenant="default"):
        return self.site.request(method, f"/v1/tenants/{tenant}{path}", None, JSON, token).status

    def test_a_token_creates_its_user_and_finds_it_again(self):
        client = self.client("ada")
        user = client.finish_login()
        self.assertFalse(user["is_anonymous"])
        [identity] = user["identities"]
        self.assertEqual((identity["type"], identity["external_id"]), ("external_id", "ada"))
        self.assertEqual(client.call("PUT", f"{client.user_path}/properties/level", {"value": 3}),
                         {"level": 3})
        self.assertEqual(self.client("ada").read_user()["properties"], {"level": 3})
        self.assertNotEqual(self.client("eve").read_user()["id"], user["id"])

    def test_a_new_token_of_each_request_keeps_one_session(self):
        for _ in range(5):
            self.client("many").read_user()
        answers = in_parallel(5, lambda _: self.client("parallel").read_user()["id"])
        self.assertEqual(len(set(answers)), 1)
        self.assertEqual(self.site.sql(
            "select count(*) from sessions s join identities i on i.user_id = s.user_id "
            "where i.subject = 'many'"), "1")

    def test_each_algorithm_of_the_back_end(self):
        for algorithm in ["HS256", "HS384", "HS512"]:
            self.assertEqual(self.status(custom("ada", algorithm=algorithm)), 200)

    def test_wrong_tokens_are_refused(self):
        now = int(time.time())
        good = custom("ada")
        for token in [
            custom("ada", tenant="neighbor"), custom("ada", tenant=""), custom("ada", sub=None),
            custom("ada", secret=b"another secret of more than 32 bytes"),
            custom("ada", iss="key-2"), custom("ada", iss=None), custom("ada", exp=now - 120),
            custom("ada", exp=None), custom("ada", exp="x"), custom("ada", nbf=now + 900),
            custom("ada", iat=now + 900), custom(""), custom("x" * 256), custom(1), custom(None),
            custom({}), custom("ada", grants=None), custom("ada", grants="ada"),
            custom("ada", grants=[]), custom("ada", head={"cty": None}),
            custom("ada", head={"cty": "parra-fpa;v=2"}), custom("ada", head={"alg": "none"}),
            custom("ada", head={"crit": ["x"]}), good[:-4], good + "x", good.rsplit(".", 1)[0] + ".",
            custom("ada", padding="x" * 10_000),
        ]:
            with self.subTest(token=token[:120]):
                answer = self.site.request(
                    "GET", "/v1/tenants/default/auth/user-info", None, JSON, token)
                self.assertEqual(answer.status, 401, answer.body)
                self.assertTrue(is_api_error(answer.json), answer.body)
        self.assertEqual(self.status(good, tenant="neighbor"), 401)
        self.assertEqual(self.status(custom("ada", tenant="neighbor"), tenant="neighbor"), 200)

    def test_a_blocked_user_and_a_closed_method_are_refused(self):
        client = self.client("blocked")
        client.finish_login()
        self.site.sql("update users set blocked_at = now() where user_id = (select user_id from "
                      "identities where subject = 'blocked')")
        self.assertEqual(self.status(client.tokens["access_token"]), 401)
        self.site.set_app(jwt=False)
        self.addCleanup(self.site.set_app, jwt=True)
        self.assertEqual(self.status(custom("ada")), 403)

    def test_no_session_continues_without_a_factor_that_the_app_requires(self):
        token = custom("unguarded")
        self.assertEqual(self.status(token), 200)
        self.site.set_app(mfa="required")
        self.addCleanup(self.site.set_app, mfa="off")
        self.assertEqual(self.status(token), 401)

    def test_the_path_must_name_the_user_of_the_token(self):
        ada, eve = self.client("ada"), self.client("eve")
        ada.finish_login()
        eve.finish_login()
        for method, path in [("GET", f"{ada.user_path}/properties"), ("DELETE", ada.user_path),
                             ("DELETE", f"{ada.user_path}/avatar")]:
            self.assertEqual(self.status(eve.tokens["access_token"], path, method), 404)

    def test_a_custom_token_is_no_login_of_the_tenant(self):
        # Its sub is the tenant: all users would share one account.
        answer = self.post("/v1/login/jwt", {"token": custom("ada")})
        self.expect(answer, 401, "external_token_invalid")

    def logged_out(self, client):
        """Logs out once, and returns what the answer contains."""
        answer = client.send("POST", f"{client.base}/auth/logout", {},
                             token=client.tokens["access_token"])
        self.assertEqual(answer.status, 200, answer.body)
        [(kind, tokens)] = answer.json.items()
        checked_tokens(tokens)
        return kind

    def count(self, subject):
        return self.site.sql(f"select count(*) from identities where subject = '{subject}'")

    def test_a_deletion_and_the_log_out_after_it(self):
        client = self.client("leaving")
        client.finish_login()
        self.assertEqual(client.call("DELETE", client.user_path), {})
        self.assertEqual(self.logged_out(client), "anonymous_token")
        self.assertEqual(self.count("leaving"), "0")
        self.assertNotEqual(self.client("leaving").read_user()["id"], client.user["id"])

    def test_a_log_out_never_fails_and_creates_no_user(self):
        self.client("closing").finish_login()
        sessions = ("select count(*) from sessions s join identities i on i.user_id = s.user_id "
                    "where i.subject = 'closing' and s.ended_at is null")
        self.assertEqual(self.site.sql(sessions), "1")
        for setting, before, after, kind in [
            ("sign_up", "immediate", "closed", "guest_token"),
            ("jwt", True, False, "anonymous_token"),
        ]:
            with self.subTest(setting=setting):
                self.site.set_app(**{setting: after})
                self.addCleanup(self.site.set_app, **{setting: before})
                self.assertEqual(self.logged_out(self.client("unknown")), kind)
                self.assertEqual(self.count("unknown"), "0")
                self.assertEqual(self.logged_out(self.client("closing")), kind)
                self.assertEqual(self.site.sql(sessions), "0")
                self.site.set_app(**{setting: before})
        for token in ["x", custom("ada", secret=b"another secret of more than 32 bytes")]:
            client = self.client("ada")
            client.tokens["access_token"] = token
            self.assertEqual(self.logged_out(client), "anonymous_token")

    def test_a_logout_ends_the_session_and_the_next_token_starts_another(self):
        client = self.client("out")
        user = client.finish_login()
        answer = client.call("POST", "/auth/logout", {})
        self.assertIn("anonymous_token", answer)
        self.assertEqual(self.site.sql(
            "select count(*) from sessions s join identities i on i.user_id = s.user_id "
            "where i.subject = 'out' and s.ended_at is null"), "0")
        self.assertEqual(checked_user(client.read_user())["id"], user["id"])


if __name__ == "__main__":
    unittest.main()
