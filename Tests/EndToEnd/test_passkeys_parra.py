"""Passkeys of Parra's clients, whose SDK takes texts as user handles."""

import json
import unittest

from parra import SCOPE, Client
from parra_types import APIError, native_id, required
from passkeys import RP_ID, Passkey, PasskeyCase, encoded

SESSION = "PARRA-WEBAUTHN-SESSION"


class ParraPasskeyCase(PasskeyCase):
    def setUp(self):
        super().setUp()
        self.client = Client(self.site).launch()

    def begin(self, path, body):
        """Returns the flow and the options, after the checks of the SDK's decoder."""
        answer = self.client.send("POST", f"{self.client.issuer}/webauthn/{path}/challenge", body)
        options = self.client.decoded(answer)
        required(options, challenge=str)
        if path == "register":
            required(options, rp=dict, user=dict, pubKeyCredParams=list)
            required(options["rp"], id=str)
            required(options["user"], id=str, name=str, displayName=str)
            required(options["authenticatorSelection"], authenticatorAttachment=str,
                     requireResidentKey=bool, residentKey=str, userVerification=str)
        else:
            required(options, rpId=str)
        return answer.headers[SESSION], options

    def verify(self, path, flow, credential):
        answer = self.client.send("POST", f"{self.client.issuer}/webauthn/{path}", credential,
                                  {SESSION: flow} if flow is not None else {})
        body = self.client.decoded(answer)
        required(body, status=str, message=str, token=str)
        return body["token"]

    def created(self, email, passkey=None):
        """Returns a new passkey, as the device makes it, and the code."""
        passkey = passkey or Passkey()
        flow, options = self.begin("register", {"username": email})
        handle = options["user"]["id"].encode()
        made = passkey.made({**options, "user": {"id": encoded(handle)}})
        made["response"].pop("transports")
        return passkey, self.verify("register", flow, made)

    def shown_code(self, passkey, body=None, **members):
        flow, options = self.begin("authenticate", body or {})
        return self.verify("authenticate", flow, passkey.shown(options, **members))

    def grant(self, code, **fields):
        return self.client.form(
            grant_type="webauthn_token", client_id="app-1", scope=SCOPE, code=code, **fields)

    def enter(self, code):
        return self.client.grant(self.client.tokens, grant_type="webauthn_token", code=code)

    def api_error(self, status, act, *arguments, **options):
        with self.assertRaises(APIError) as refused:
            act(*arguments, **options)
        self.assertEqual(refused.exception.status, status, refused.exception)
        return refused.exception.body


class Passkeys(ParraPasskeyCase):
    def test_a_user_signs_up_and_in(self):
        email = "parra-keys@example.com"
        self.assertIn("passkeys", self.client.info["auth"]["database"])
        found = self.client.challenges(email)
        self.assertIn({"id": "passkeys"}, found["supported_challenges"])
        self.assertFalse(found["exists"])
        passkey, code = self.created(email)
        user = self.enter(code)
        self.assertEqual((user["email"], user["is_anonymous"]), (email, False))
        self.assertEqual(passkey.handle.decode(), native_id(user["id"]))
        found = self.client.challenges(email)
        self.assertIn({"id": "passkeys"}, found["available_challenges"])
        for body in [{}, {"username": email}, {"username": "nobody@example.com"}]:
            _, options = self.begin("authenticate", body)
            self.assertNotIn("allowCredentials", options)
            self.client.log_out()
            again = self.enter(self.shown_code(passkey, body))
            self.assertEqual(again["id"], user["id"])
        # The handle is that of the other wires.
        self.assertEqual(self.expect(self.show(passkey), 200).json["user_id"],
                         native_id(user["id"]))

    def test_a_passkey_of_another_wire(self):
        passkey, grant = self.registered()
        user = self.enter(self.shown_code(passkey))
        self.assertEqual(native_id(user["id"]), grant["user_id"])

    def test_the_properties_of_the_anonymous_user_follow(self):
        self.client.call("PUT", f"{self.client.user_path}/properties/theme", {"value": "dark"})
        _, code = self.created("follows@example.com")
        self.assertEqual(self.enter(code)["properties"], {"theme": "dark"})

    def test_only_users_with_a_passkey_get_the_challenge(self):
        email = "without@example.com"
        self.expect(self.register(email), 201)
        found = self.client.challenges(email)
        self.assertIn({"id": "passkeys"}, found["supported_challenges"])
        self.assertNotIn({"id": "passkeys"}, found["available_challenges"])
        passkey, _ = self.registered(email="with@example.com")
        self.assertIn({"id": "passkeys"},
                      self.client.challenges("with@example.com")["available_challenges"])
        # An app that hides who has an account hides this too.
        self.setting({"sign_up": "immediate"}, sign_up="verify_first")
        for name in [email, "with@example.com", "nobody@example.com"]:
            self.assertNotIn({"id": "passkeys"},
                             self.client.challenges(name).get("available_challenges") or [])

    def test_the_session_fits_into_a_field(self):
        flow, options = self.begin("register", {"username": "a" * 60 + "@example.com"})
        self.assertLess(len(flow), 1_024)
        self.assertEqual(options["rp"]["id"], RP_ID)
        self.assertLess(len(self.begin("authenticate", {})[0]), 1_024)

    def test_a_code_works_once_and_a_minute(self):
        passkey, code = self.created("once@example.com")
        self.grant(code)
        for used in [code, "", "x", code[:-2], "A" * 9_000]:
            self.api_error(400, self.grant, used)
        flow, options = self.begin("authenticate", {})
        shown = passkey.shown(options)
        codes = [self.verify("authenticate", flow, shown) for _ in range(2)]
        self.grant(codes[0])
        self.api_error(400, self.grant, codes[1])

    def test_wrong_passkeys(self):
        passkey, code = self.created("wrong@example.com")
        self.grant(code)
        flow, options = self.begin("authenticate", {})
        shown = passkey.shown(options)
        creation, new = self.begin("register", {"username": "free@example.com"})
        for wrong in [None, "x", creation, flow[:-2]]:
            self.api_error(400, self.verify, "authenticate", wrong, shown)
        self.api_error(400, self.verify, "register", flow, shown)
        self.api_error(401, self.verify, "register", creation, shown)
        for credential in [{}, [], '"x"', {**shown, "id": "AAAA"}]:
            self.api_error(401, self.verify, "authenticate", flow, credential)
        self.api_error(401, self.shown_code, passkey, origin="https://evil.example")
        unknown = Passkey()
        unknown.handle = passkey.handle
        body = self.api_error(401, self.shown_code, unknown)
        self.assertEqual(body["reason"], "passkey_unknown")
        self.assertIn("invalid", body["message"])
        passkey.flags = 1
        self.assertEqual(self.api_error(422, self.shown_code, passkey)["reason"],
                         "user_verification_missing")
        # The handle must be the text that the SDK has got.
        passkey.flags, passkey.handle = 5, encoded(passkey.handle).encode()
        self.api_error(401, self.shown_code, passkey)
        # Another wire's flow for a client is not one of this wire.
        answer = self.client.send("POST", f"{self.client.issuer}/webauthn/authenticate",
                                  json.dumps({"pad": "x" * 17_000}))
        self.assertEqual(answer.status, 413)

    def test_users_who_may_not_sign_up(self):
        email = "there@example.com"
        self.expect(self.register(email), 201)
        self.api_error(409, self.begin, "register", {"username": email})
        for body in [{}, {"username": 7}, {"username": "x"}, {"username": ""}]:
            self.api_error(422, self.begin, "register", body)
        # The address was free when the sign-up began.
        _, code = self.created("late@example.com")
        self.expect(self.register("late@example.com"), 201)
        self.api_error(400, self.grant, code)
        for mode in ["closed", "verify_first"]:
            self.setting({"sign_up": "immediate"}, sign_up=mode)
            self.api_error(403, self.begin, "register", {"username": "new@example.com"})
            self.site.set_app(sign_up="immediate")

    def test_an_app_without_passkeys(self):
        passkey, code = self.created("off@example.com")
        self.grant(code)
        code = self.shown_code(passkey)
        self.setting({"passkey": "optional"}, passkey="off")
        self.assertNotIn("passkeys", self.client.read_info()["auth"]["database"])
        found = self.client.challenges("off@example.com")
        self.assertNotIn({"id": "passkeys"}, found["supported_challenges"])
        for path, body in [("register", {"username": "x@example.com"}), ("authenticate", {})]:
            self.api_error(403, self.begin, path, body)
            self.api_error(403, self.verify, path, "x", {})
        body = self.api_error(400, self.grant, code)
        self.assertEqual(body["error"], "unsupported_grant_type")


if __name__ == "__main__":
    unittest.main()
