"""Why a user cannot sign in, and the actions that remove each reason."""

import json
import shlex

from aiosmtpd.controller import Controller

from asking import ADDRESS, JSON
from authenticator import FactorCase
from cases import Administration
from issuers import Key, claims
from machine import free_port, wait_until
from test_outbox import Inbox


class Explained(Administration):
    """Tests that ask for the reasons, and remove them as printed."""

    def explain(self, user, *options, app=None):
        """Returns the reasons by their codes, with the rest of the answer in `self.found`."""
        options += ("--app", app) if app else ()
        self.found = self.site.dossier("user", "explain", *options, "--", user)
        return {reason["code"]: reason for reason in self.found["reasons"]}

    def only(self, code, user, *options, **more):
        """Returns the only reason that the user has."""
        reasons = self.explain(user, *options, **more)
        self.assertEqual(list(reasons), [code])
        return reasons[code]

    def nothing(self, user, *options, methods=("password",), **more):
        self.assertEqual(self.explain(user, *options, **more), {})
        self.assertEqual((self.found["can_sign_in"], self.found["methods"]), (True, list(methods)))

    def act(self, reason, *more, **options):
        """Runs the command line of a reason, as a shell reads it."""
        words = shlex.split(reason["action"]["command"])
        self.assertEqual(words[0], "dossier")
        place = words.index("--") if "--" in words else len(words)
        return self.site.dossier(*words[1:place], *more, *words[place:], **options)

    def request_action(self, reason):
        """Sends the request of a reason."""
        action = reason["action"]
        words = [action["method"], action["path"]]
        body = "" if action["body"] is None else json.dumps(action["body"])
        return self.site.dossier("api", *words, *(["-"] if body else []), given=body)


class SignInChecks(Explained):
    def test_nothing_prevents_a_sign_in(self):
        grant = self.verified("fine@example.com")
        self.nothing("fine@example.com")
        self.assertEqual((self.found["user_id"], self.found["email"]),
                         (grant["user_id"], "fine@example.com"))
        self.nothing(grant["user_id"])
        # Case and spaces do not count.
        self.nothing(" FINE@Example.COM")
        shown = self.site.dossier("user", "explain", "fine@example.com", check=False, output="text")
        self.assertEqual(shown.stdout, "")
        self.assertIn("nothing prevents a sign-in; methods that work: password", shown.stderr)
        self.post("/v1/me/api-keys", {"name": "x"}, token=grant["access_token"])
        self.nothing(grant["user_id"], methods=["password", "api_key"])

    def test_an_address_without_a_user(self):
        reason = self.only("no_user", "nobody@example.com")
        self.assertEqual((self.found["user_id"], self.found["can_sign_in"]), (None, False))
        self.assertEqual(reason["action"], {
            "command": "dossier user create --mail --app default email=nobody@example.com",
            "method": "POST", "path": "/v1/users", "body": {"email": "nobody@example.com"}})
        self.act(reason)
        # The user chooses a password by the mail.
        reason = self.only("no_password", "nobody@example.com")
        self.assertEqual(reason["prevents"], ["password"])
        self.expect(self.reset(self.site.mailed("nobody@example.com", "ds_reset"), "chosen horse"), 200)
        self.nothing("nobody@example.com")
        self.expect(self.login("nobody@example.com", "chosen horse"), 200)
        # Characters that mean something to a shell are quoted.
        for address in ["o'brien@example.com", "-x@example.com", "$(id)@example.com", "a b;c"]:
            command = self.only("no_user", address)["action"]["command"]
            self.assertEqual(shlex.split(command)[-1], f"email={address}")
        self.act(self.only("no_user", "o'brien@example.com"))
        self.refused(10, "user", "explain", "0" * 24)
        self.refused(12, "user", "explain", "fine@example.com", "--network", "x", words="/network")

    def test_an_address_that_is_spelled_otherwise(self):
        self.verified("ada.lovelace@example.com")
        self.verified("unlike@example.com")
        for other in ["adalovelace@example.com", "ada.lovelace+x@example.com",
                      "ada.lovelcae@example.com", "ada.lovelace@exmaple.com",
                      "ada.lovlace@example.com", "ada.lovelaces@example.co"]:
            reasons = self.explain(other)
            self.assertEqual(list(reasons), ["no_user", "similar_address"], other)
            reason = reasons["similar_address"]
            self.assertEqual(reason["facts"]["email"], "ada.lovelace@example.com")
            # The other address is the one to type.
            checked = self.act(reason)
            self.assertEqual((checked["reasons"], checked["can_sign_in"]), ([], True))
            self.assertEqual(self.request_action(reason), checked)
        self.expect(self.login("ada.lovelace@example.com"), 200)
        for other in ["ada.love@example.com", "bda.lovelace@example.com", "ada@example.com"]:
            self.only("no_user", other)

    def test_a_former_address(self):
        grant = self.verified("before@example.com")
        self.change_email(grant, "after@example.org")
        reason = self.only("former_address", "before@example.com")
        self.assertEqual(reason["facts"], {"user_id": grant["user_id"], "email": "after@example.org"})
        self.assertTrue(self.act(reason)["can_sign_in"])
        self.expect(self.login("after@example.org"), 200)

    def test_a_blocked_user(self):
        grant = self.verified("blocked@example.com")
        self.site.dossier("user", "block", "--yes", grant["user_id"])
        reason = self.only("blocked", "blocked@example.com")
        self.assertEqual((reason["prevents"], self.found["methods"]), (["password"], []))
        self.assertEqual(reason["action"]["body"], {"blocked": False})
        self.act(reason)
        self.nothing("blocked@example.com")
        self.expect(self.login("blocked@example.com"), 200)

    def test_an_unverified_address(self):
        app = self.site.add_app("strict")
        self.expect(self.register("new@example.com", headers=app), 201)
        self.nothing("new@example.com", app="strict")
        self.site.set_app("strict", sign_up="verify_first")
        self.expect(self.login("new@example.com", headers=app), 403, "email_unverified")
        reason = self.only("email_unverified", "new@example.com", app="strict")
        self.act(reason)
        self.nothing("new@example.com", app="strict")
        self.expect(self.login("new@example.com", headers=app), 200)

    def test_a_sign_up_that_waits(self):
        app = self.site.add_app("waiting", sign_up="verify_first")
        self.expect(self.register("waits@example.com", headers=app), 202)
        reason = self.only("sign_up_waiting", "waits@example.com", app="waiting")
        self.assertIsNotNone(reason["until"])
        self.act(reason)
        self.expect(self.reset(self.site.mailed("waits@example.com", "ds_reset"), "chosen horse",
                               headers=app), 200)
        self.nothing("waits@example.com", app="waiting")
        self.expect(self.login("waits@example.com", "chosen horse", headers=app), 200)

    def test_a_method_that_the_app_does_not_allow(self):
        app = self.site.add_app("closed")
        self.verified("out@example.com", headers=app)
        self.site.set_app("closed", password=False)
        reason = self.only("method_disabled", "out@example.com", app="closed")
        self.assertEqual(reason["action"]["command"],
                         "dossier app set --app closed password=true")
        self.act(reason)
        self.nothing("out@example.com", app="closed")
        self.expect(self.login("out@example.com", headers=app), 200)

    def test_wrong_passwords(self):
        self.verified("forgets@example.com")
        for place in ["192.0.2.1", "192.0.2.1", "203.0.113.9"]:
            self.expect(self.login("forgets@example.com", "wrong", headers={ADDRESS: place}), 401)
        reason = self.only("wrong_password", "forgets@example.com")
        self.assertEqual((reason["facts"]["count"], reason["facts"]["networks"], reason["prevents"]),
                         (3, ["203.0.113.9", "192.0.2.1"], []))
        self.assertTrue(self.found["can_sign_in"])
        self.act(reason)
        token = self.site.mailed("forgets@example.com", "ds_reset")
        self.expect(self.reset(token, "another horse"), 200)
        self.nothing("forgets@example.com")
        self.expect(self.login("forgets@example.com", "another horse"), 200)

    def test_rate_limits(self):
        app = self.site.add_app("limited", failure_minutes=1_440)
        grant = self.verified("tries@example.com", headers=app)
        place = {ADDRESS: "198.51.100.7", **app}
        for _ in range(11):
            answer = self.login("tries@example.com", "wrong", headers=place)
        self.expect(answer, 429, "too_many_attempts")
        reasons = self.explain("tries@example.com", app="limited")
        self.assertEqual(list(reasons), ["wrong_password", "rate_limited"])
        reason = reasons["rate_limited"]
        self.assertEqual(reason["facts"],
                         {"limit": "login", "network": "198.51.100.7", "device_id": None})
        self.assertIn("198.51.100.7", reason["reason"])
        self.assertIsNotNone(reason["until"])
        self.assertEqual(reason["action"]["body"],
                         {"email": "tries@example.com", "network": "198.51.100.7"})
        self.act(reason)
        self.assertEqual(list(self.explain(grant["user_id"], app="limited")), ["wrong_password"])
        self.expect(self.login("tries@example.com", headers=place), 200)
        self.nothing("tries@example.com", app="limited")
        # A device of the user has a limit of its own.
        device = {"Dossier-Device": grant["device_secret"], **app}
        for _ in range(11):
            answer = self.login("tries@example.com", "wrong", headers=device)
        self.expect(answer, 429)
        reason = self.explain("tries@example.com", app="limited")["rate_limited"]
        self.assertEqual(reason["facts"]["device_id"], grant["device_id"])
        self.act(reason)
        self.assertNotIn("rate_limited", self.explain("tries@example.com", app="limited"))
        self.expect(self.login("tries@example.com", headers=device), 200)

    def test_limits_of_a_network_and_of_an_address_without_a_user(self):
        app = self.site.add_app("office", failures_per_ip=5, failure_minutes=1_440)
        self.verified("inside@example.com", headers=app)
        place = {ADDRESS: "198.51.100.8", **app}
        for number in range(6):
            answer = self.login(f"other-{number}@example.com", headers=place)
        self.expect(answer, 429)
        self.nothing("inside@example.com", app="office")
        reason = self.only("rate_limited", "inside@example.com", "--network", "198.51.100.8",
                           app="office")
        self.assertEqual(reason["facts"]["limit"], "login-network")
        self.act(reason)
        self.nothing("inside@example.com", "--network", "198.51.100.8", app="office")
        self.expect(self.login("inside@example.com", headers=place), 200)
        for _ in range(11):
            self.login("stranger@example.com", headers={ADDRESS: "203.0.113.5", **app})
        self.assertIn("rate_limited", self.explain(
            "stranger@example.com", "--network", "203.0.113.5", app="office"))

    def test_a_client_that_does_not_accept_the_user(self):
        app = self.site.add_app("clients")
        self.verified("uses@example.com", headers=app)
        made = self.site.dossier("client", "create", "web", "kind=web", "--app", "clients",
                                 "connections=email_code")
        option = ("--client", made["id"])
        reason = self.only("method_not_accepted", "uses@example.com", *option, app="clients")
        self.assertEqual(reason["action"], {
            "command": f"dossier client set {made['id']} connections=email_code,password",
            "method": "PATCH", "path": f"/v1/clients/{made['id']}",
            "body": {"connections": ["email_code", "password"]}})
        self.act(reason)
        self.nothing("uses@example.com", *option, app="clients")
        self.site.dossier("client", "set", made["id"], "disabled=true")
        reason = self.only("client_disabled", "uses@example.com", *option, app="clients")
        self.act(reason)
        self.nothing("uses@example.com", *option, app="clients")
        machine = self.site.client("--app", "clients")["id"]
        for unknown in ["nope", "0" * 24, machine]:
            reason = self.only("client_unknown", "uses@example.com", "--client", unknown,
                               app="clients")
            self.assertIn(made["id"], [row["id"] for row in self.act(reason)])

    def test_users_of_other_kinds(self):
        guest = self.site.login()["user_id"]
        reason = self.only("guest", guest)
        self.assertEqual((reason["action"]["command"], reason["action"]["path"]),
                         (None, "/v1/me/identities"))
        self.assertFalse(self.found["can_sign_in"])
        key = Key(self.site.folder, "explained")
        path = self.site.folder / "explained.json"
        path.write_text(json.dumps({"keys": [key.jwk]}))
        self.site.dossier("issuer", "create", "partner", "issuer=https://issuer.example.com",
                          "audience=app", f"jwks=@{path}", "claims.email=email")
        token = key.token(claims("explained", audience="app", email="partner@example.com",
                                 email_verified=True))
        grant = self.expect(self.post("/v1/login/jwt", {"token": token}), 200).json
        reason = self.only("connection_only", grant["user_id"])
        self.assertEqual((self.found["methods"], reason["prevents"]), (["jwt"], ["password"]))
        self.site.dossier("user", "delete", "--yes", grant["user_id"])
        reason = self.only("user_deleted", grant["user_id"])
        self.assertRegex(reason["reason"], r"^operator:\S+ has deleted the user")
        self.assertEqual(self.act(reason)[0]["action"], "user_delete")

    def test_a_user_who_was_merged_into_another(self):
        heir = self.verified("heir@example.com")["user_id"]
        merged = self.site.login()["user_id"]
        self.site.dossier("user", "delete", "--yes", merged)
        # As a link of two users records it.
        self.site.sql(f"update audit set detail = '{{\"linked_to\": \"{heir}\"}}' "
                      f"where user_id = '{merged}' and action = 'user_delete'")
        reason = self.only("user_merged", merged)
        self.assertEqual(reason["facts"]["user_id"], heir)
        self.assertTrue(self.act(reason)["can_sign_in"])
        self.expect(self.login("heir@example.com"), 200)

    def test_only_clients_with_the_scope_ask_about_users_of_their_app(self):
        self.verified("asked@example.com")
        body = {"email": "asked@example.com"}

        def ask(key, body=body, **headers):
            return self.post("/v1/sign-in-checks", body, headers={**JSON, **headers}, token=key)

        right = self.site.client("--app", "default", "scopes=read:users")["secret"]
        self.assertTrue(self.expect(ask(right), 200).json["can_sign_in"])
        wrong = self.site.client("--app", "default", "scopes=update:users")["secret"]
        self.expect(ask(wrong), 403, "insufficient_scope")
        self.expect(ask(None), 401, "client_unknown")
        grant = self.expect(self.login("asked@example.com"), 200).json
        self.expect(ask(grant["access_token"]), 401, "client_unknown")
        other = self.site.add_app("elsewhere")
        foreign = self.site.client("--app", "elsewhere", "scopes=read:users")["secret"]
        self.expect(ask(foreign), 401, "client_unknown")
        found = self.expect(ask(foreign, **other), 200).json
        self.assertEqual([reason["code"] for reason in found["reasons"]], ["no_user"])
        self.expect(ask(foreign, {"user_id": grant["user_id"]}, **other), 404, "not_found")
        for wrong in [{}, {**body, "user_id": grant["user_id"]}, {"email": "x" * 400},
                      {**body, "network": "x"}, {**body, "more": 1}, {"user_id": "x"}]:
            self.expect(ask(right, wrong), 422, "validation_failed")


class Factors(FactorCase, Explained):
    def test_second_factors(self):
        grant = self.verified("factor@example.com")
        self.set_mfa("required")
        methods = ["password", "email_code"]
        self.asked(self.login("factor@example.com"), "enroll")
        reason = self.only("second_factor_not_enrolled", "factor@example.com")
        self.assertEqual(reason["action"]["command"], "dossier app set --app default mfa=optional")
        self.act(reason)
        self.nothing("factor@example.com", methods=methods)
        grant = self.expect(self.login("factor@example.com"), 200).json
        self.protected(grant)
        flow = self.asked(self.login("factor@example.com"))
        self.expect(self.prove(flow, "000000"), 401, "code_invalid")
        reason = self.only("wrong_second_factor", "factor@example.com")
        self.act(reason, "--yes")
        self.expect(self.login("factor@example.com"), 200)
        self.nothing("factor@example.com", methods=methods)

    def test_a_passkey_that_the_app_requires(self):
        self.site.add_app("keys")
        app = {"Dossier-App": "keys"}
        self.verified("keyless@example.com", headers=app)
        self.site.set_app("keys", passkey="required", passkey_rp_id="example.com")
        self.expect(self.login("keyless@example.com", headers=app), 401, "additional_factor_required")
        self.act(self.only("passkey_not_enrolled", "keyless@example.com", app="keys"))
        self.nothing("keyless@example.com", app="keys")
        self.expect(self.login("keyless@example.com", headers=app), 200)


class Mail(Explained):
    @classmethod
    def setUpClass(cls):
        cls.port, cls.inbox = free_port(), Inbox()
        cls.SETTINGS = {
            "DOSSIER_MAIL": f"smtp://127.0.0.1:{cls.port}", "DOSSIER_MAIL_TLS": "optional"}
        super().setUpClass()

    def test_a_mail_that_the_relay_refuses(self):
        self.expect(self.register("far@example.com"), 201)
        wait_until(lambda: "mail_failed" in self.explain("far@example.com"), what="a refused mail")
        reason = self.only("mail_failed", "FAR@example.com")
        self.assertRegex(reason["facts"]["last_error"], "^Failed to connect to ")
        self.assertEqual(reason["action"]["method"], "POST")
        relay = Controller(self.inbox, hostname="127.0.0.1", port=self.port)
        relay.start()
        self.addCleanup(relay.stop)
        self.act(reason)
        wait_until(lambda: self.inbox.tokens("far@example.com"), what="the mail")
        wait_until(lambda: not self.explain("far@example.com"), what="the end of the reason")
        self.expect(self.login("far@example.com"), 200)
