"""Passkeys of Auth0's clients: `/passkey/challenge`, `/passkey/register` and the grant."""

import json
import unittest

from asking import ADDRESS, JSON
from cases import in_parallel
from openid import OpenIDCase, Party, claims, verified
from passkeys import RP_ID, Passkey, PasskeyCase, encoded

GRANT = "urn:okta:params:oauth:grant-type:webauthn"
REALM = "Username-Password-Authentication"
WRONG = "The passkey does not sign this user in."


class Auth0PasskeyCase(OpenIDCase, PasskeyCase):
    def setUp(self):
        super().setUp()
        self.site.sql("delete from rate_limits")

    def begin(self, path, client=None, headers=None, **body):
        client = client or self.spa
        body = {"client_id": client["id"], "client_secret": client.get("secret"), **body}
        return self.site.request("POST", f"/passkey/{path}", body, {**JSON, **(headers or {})})

    def asked(self, path="challenge", **options):
        begun = self.expect(self.begin(path, **options), 200).json
        self.assertEqual(set(begun), {"auth_session", "authn_params_public_key"})
        return begun["auth_session"], begun["authn_params_public_key"]

    def finish(self, session, response, client=None, **fields):
        """Sends the grant as a form, in which the response is a text."""
        return Party(self, client or self.spa).token(**{
            "grant_type": GRANT, "auth_session": session, "authn_response": json.dumps(response),
            "realm": REALM, "scope": "openid profile email", **fields})

    def finish_in_json(self, session, response, client=None, **members):
        client = client or self.spa
        return self.site.request("POST", "/oauth/token", {
            "grant_type": GRANT, "client_id": client["id"], "client_secret": client.get("secret"),
            "auth_session": session, "authn_response": response, "scope": "openid", **members}, JSON)

    def signed_up(self, passkey=None, client=None, **members):
        passkey = passkey or Passkey()
        session, options = self.asked("register", client=client, **members)
        answer = self.finish(session, passkey.made(options), client)
        return passkey, self.expect(answer, 200).json

    def shown_by(self, passkey, client=None, **fields):
        session, options = self.asked(client=client)
        return self.finish(session, passkey.shown(options), client, **fields)


class SignIn(Auth0PasskeyCase):
    def test_a_user_signs_up_and_in(self):
        email = self.own_email()
        profile = {"email": email, "name": "Ada Lovelace", "given_name": "Ada",
                   "family_name": "Lovelace", "nickname": "ada", "phone_number": "+441234567890",
                   "picture": "https://example.com/ada.png"}
        passkey, tokens = self.signed_up(
            user_profile=profile, user_metadata={"theme": "dark", "plan": ""}, realm=REALM)
        identity = verified(tokens["id_token"], self.keys)
        user = identity["sub"]
        self.assertEqual(passkey.handle.decode(), user)
        self.assertEqual(
            (identity["amr"], identity["aud"], identity["email"], identity["name"]),
            (["pop", "user", "mfa"], self.spa["id"], email, "Ada Lovelace"))
        found = self.userinfo(tokens["access_token"]).json
        for name in ["name", "given_name", "family_name", "nickname", "picture"]:
            self.assertEqual(found[name], profile[name])
        key = {"Authorization": f"Bearer {self.site.client('--operator')['secret']}"}
        stored = self.expect(self.site.get(f"/v1/users/{user}", headers=key), 200).json
        self.assertEqual((stored["phone"], stored["email_verified"]), ("+441234567890", False))
        metadata = self.expect(self.site.get(f"/v1/users/{user}/metadata", headers=key), 200).json
        self.assertEqual(metadata, {"theme": "dark", "plan": ""})
        for client in [self.spa, self.web, self.native]:
            tokens = self.expect(self.shown_by(passkey, client), 200).json
            self.assertEqual(verified(tokens["id_token"], self.keys)["sub"], user)
        self.assertEqual(
            self.site.sql("select detail from audit where action = 'login' and "
                          f"user_id = '{user}' order by event_id desc limit 1"),
            json.dumps({"provider": "passkey", "client_id": self.native["id"]}))

    def test_a_user_without_an_address(self):
        passkey, tokens = self.signed_up(user_profile={"name": "Grace", "picture": None})
        user = claims(tokens["access_token"])["sub"]
        self.assertEqual(self.userinfo(tokens["access_token"]).json["name"], "Grace")
        again = self.expect(self.shown_by(passkey), 200).json
        self.assertEqual(claims(again["access_token"])["sub"], user)

    def test_the_options_are_those_that_the_sdks_decode(self):
        _, options = self.asked("register", user_profile={"email": self.own_email()})
        self.assertEqual(options["rp"]["id"], RP_ID)
        self.assertTrue(options["rp"]["name"])
        self.assertTrue(all(options["user"][name] for name in ["id", "name", "displayName"]))
        self.assertEqual([one["alg"] for one in options["pubKeyCredParams"]], [-8, -7, -257])
        selection = options["authenticatorSelection"]
        self.assertEqual((selection["residentKey"], selection["userVerification"]),
                         ("required", "required"))
        self.assertEqual(options["timeout"], 300_000)
        self.assertNotIn("excludeCredentials", options)
        _, options = self.asked()
        self.assertEqual(
            {name: options[name] for name in options if name != "challenge"},
            {"timeout": 300_000, "rpId": RP_ID, "userVerification": "required"})

    def test_requests_in_json_and_as_form(self):
        passkey, _ = self.signed_up()
        for finish in [self.finish, self.finish_in_json]:
            session, options = self.asked()
            self.expect(finish(session, passkey.shown(options)), 200)
            session, options = self.asked("register")
            self.expect(finish(session, Passkey().made(options)), 200)
        # A text in JSON, and unknown members beside it.
        session, options = self.asked()
        self.expect(self.finish_in_json(
            session, json.dumps(passkey.shown(options)), device="x", organization=None), 200)

    def test_the_purpose_decides_about_the_double_body_of_android(self):
        passkey = Passkey()
        session, options = self.asked("register")
        response = passkey.made(options)
        response["response"] |= {"authenticatorData": encoded(b"x" * 40), "signature": None,
                                 "userHandle": None}
        self.expect(self.finish_in_json(session, response), 200)
        session, options = self.asked()
        response = passkey.shown(options)
        response["response"] |= {"attestationObject": encoded(b"x" * 40), "transports": []}
        self.expect(self.finish_in_json(session, response), 200)
        # A result for one purpose does not serve another.
        session, options = self.asked()
        creation = {**options, "user": {"id": encoded(passkey.handle)}}
        self.error(self.finish(session, Passkey().made(creation)), 400, "invalid_grant")
        session, options = self.asked("register")
        self.error(self.finish(session, passkey.shown(options)), 400, "invalid_grant")

    def test_scopes_audience_and_refresh_tokens(self):
        passkey, _ = self.signed_up()
        tokens = self.expect(self.shown_by(
            passkey, audience=self.API, scope="openid read:posts offline_access"), 200).json
        self.assertEqual(tokens["scope"], "openid read:posts offline_access")
        access = verified(tokens["access_token"], self.keys)
        self.assertEqual(access["aud"], [self.API, self.issuer + "userinfo"])
        refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        self.error(Party(self, self.native).token(**refresh), 400, "invalid_grant")
        again = self.expect(Party(self, self.spa).token(**refresh), 200).json
        self.assertEqual(again["scope"], tokens["scope"])
        session, options = self.asked()
        response = passkey.shown(options)
        for fields in [{"audience": "https://unknown.example/"}, {"scope": "read:nothing"}]:
            self.assertEqual(self.finish(session, response, **fields).status, 400)
        # These have not used the session up.
        self.expect(self.finish(session, response), 200)

    def test_no_second_factor_follows(self):
        self.set_mfa("required")
        passkey, tokens = self.signed_up()
        self.assertIn("mfa", claims(tokens["id_token"])["amr"])
        self.expect(self.shown_by(passkey), 200)


class Attacks(Auth0PasskeyCase):
    def test_a_session_belongs_to_its_client(self):
        passkey, _ = self.signed_up()
        for begins, ends in [(self.spa, self.native), (self.native, self.web)]:
            session, options = self.asked(client=begins)
            response = passkey.shown(options)
            self.error(self.finish(session, response, ends), 400, "invalid_grant")
            self.expect(self.finish(session, response, begins), 200)
            session, options = self.asked("register", client=begins)
            response = Passkey().made(options)
            self.error(self.finish(session, response, ends), 400, "invalid_grant")
        # Nor does it work at /v1, or a flow of that here.
        self.expect(self.post("/v1/register/passkey", {"flow": session, "credential": response}),
                    400, "flow_expired")
        session, options = self.asked()
        self.expect(self.post("/v1/login/passkey", {
            "flow": session, "credential": passkey.shown(options)}), 400, "flow_expired")
        flow, options = self.options("/v1/login/passkey")
        self.error(self.finish(flow, passkey.shown(options)), 400, "invalid_grant")

    def test_a_signature_works_once(self):
        passkey, _ = self.signed_up()
        session, options = self.asked()
        response = passkey.shown(options)
        answers = in_parallel(4, lambda _: self.finish(session, response))
        self.assertEqual(sorted(answer.status for answer in answers), [200, 400, 400, 400])
        self.error(self.finish(session, response), 400, "invalid_grant")
        session, options = self.asked("register")
        response = Passkey().made(options)
        answers = in_parallel(3, lambda _: self.finish(session, response))
        self.assertEqual(sorted(answer.status for answer in answers), [200, 400, 400])
        self.error(self.finish(session, Passkey().made(options)), 400, "invalid_grant")

    def test_wrong_passkeys_and_sessions(self):
        passkey, tokens = self.signed_up()
        other, _ = self.signed_up()
        for members in [{"origin": "https://evil.example"}, {"type": "webauthn.create"},
                        {"challenge": "AAAA"}]:
            session, options = self.asked()
            self.error(self.finish(session, passkey.shown(options, **members)), 400,
                       "invalid_grant", WRONG)
        session, options = self.asked()
        for wrong in ["", "x", session[:-2], "A" * 30_000]:
            answer = self.finish(wrong, passkey.shown(options))
            self.error(answer, 400, "invalid_grant" if wrong else "invalid_request")
        unknown = Passkey()
        unknown.handle = passkey.handle
        self.error(self.shown_by(unknown), 400, "invalid_grant",
                   "No user of the app has this passkey.")
        passkey.flags = 1
        self.error(self.shown_by(passkey), 400, "invalid_grant",
                   "The device has not verified its user.")
        passkey.flags = 5
        key, passkey.key = passkey.key, other.key
        self.error(self.shown_by(passkey), 400, "invalid_grant", WRONG)
        passkey.key = key
        # A passkey that another user has.
        session, options = self.asked("register")
        self.error(self.finish(session, other.made(options)), 400, "invalid_grant")
        user = claims(tokens["access_token"])["sub"]
        self.site.dossier("user", "block", "--yes", "--app", "default", user)
        self.error(self.shown_by(passkey), 400, "invalid_grant", WRONG)

    def test_malformed_results(self):
        session, options = self.asked()
        for response in [[], "x", 7, True, None, "[]", '{"id":1,"id":2}']:
            answer = self.finish_in_json(session, response)
            self.error(answer, 400, "invalid_request")
        for fields in [{"authn_response": None}, {"authn_response": "x"}, {"auth_session": None},
                       {"realm": "email"}, {"organization": "org_1"}]:
            self.error(self.finish(session, {}, **fields), 400, "invalid_request")
        self.error(self.finish(session, {}), 400, "invalid_grant")


class Callers(Auth0PasskeyCase):
    def refused(self, status, code, client=None, **options):
        for path in ["challenge", "register"]:
            self.error(self.begin(path, client, **options), status, code)

    def test_clients_that_may_not(self):
        passkey, _ = self.signed_up()
        session, options = self.asked()
        response = passkey.shown(options)
        self.refused(401, "invalid_client", {"id": "x"})
        self.refused(401, "invalid_client", {"id": self.web["id"]})
        self.refused(401, "invalid_client", {"id": self.web["id"], "secret": "wrong"})
        self.refused(400, "invalid_request", {"id": None})
        self.refused(400, "invalid_request", self.machine)
        self.error(self.finish(session, response, self.machine), 400, "unauthorized_client")
        other = self.new_client("native", "first_party=false")
        self.refused(400, "invalid_request", other)
        self.error(self.finish(session, response, other), 400, "unauthorized_client")
        # A passkey belongs to the same connection as a password.
        for connections, status in [('["email_code"]', 400), ('["password"]', 200)]:
            self.site.dossier("client", "set", other["id"], "first_party=true",
                              f"connections={connections}")
            self.assertEqual(self.begin("challenge", other).status, status)
        self.expect(self.finish(session, response), 200)

    def test_an_app_without_passkeys(self):
        passkey, _ = self.signed_up()
        session, options = self.asked()
        self.setting({"passkey": "optional"}, passkey="off")
        self.refused(404, "not_found")
        self.error(self.finish(session, passkey.shown(options)), 400, "unauthorized_client")

    def test_another_app(self):
        self.site.add_app("passkeys2", passkey="optional", passkey_rp_id=RP_ID)
        foreign = self.new_client("native", app="passkeys2")
        self.refused(401, "invalid_client", foreign)

    def test_users_who_may_not_sign_up(self):
        email = self.own_email()
        taken = {"user_profile": {"email": email}}
        begun = self.asked("register", **taken)
        self.signed_up(**taken)
        for name in [email, email.upper()]:
            self.error(self.begin("register", user_profile={"email": name}), 400,
                       "invalid_request")
        # The address was free when this one began.
        session, options = begun
        self.error(self.finish(session, Passkey().made(options)), 400, "invalid_grant")
        for mode in ["closed", "verify_first"]:
            session, options = self.asked("register")
            self.setting({"sign_up": "immediate"}, sign_up=mode)
            self.error(self.begin("register"), 400, "invalid_request")
            answer = self.finish(session, Passkey().made(options))
            self.assertIn(answer.status, [400, 403])
            self.site.set_app(sign_up="immediate")
            self.asked()

    def test_what_a_new_user_may_state(self):
        for profile in [{"email": "x"}, {"email": 7}, {"name": "a" * 301}, {"name": "a\nb"},
                        {"given_name": "a" * 151}, {"family_name": "a" * 151},
                        {"nickname": "a" * 301}, {"picture": "x"}, {"phone_number": "123"},
                        {"username": "ada"}, {"role": "admin"}, {"email_verified": True},
                        {"picture_url": "https://example.com"}, {"locale": "de"}, [], "x", 7]:
            self.error(self.begin("register", user_profile=profile), 400, "invalid_request")
        for metadata in [{str(n): "x" for n in range(11)}, {"a": 1}, {"a": {}}, {"a": "x" * 501},
                         {"k" * 9_000: "x"}, []]:
            self.error(self.begin("register", user_metadata=metadata), 400, "invalid_request")
        self.signed_up(
            user_profile={"name": "\U0001f600" * 300, "nickname": "\u00e4" * 300},
            user_metadata={f"{n}": "\u00e4" * 350 for n in range(10)})
        self.setting(metadata_writable=["/theme"])
        self.error(self.begin("register", user_metadata={"plan": "pro"}), 400, "invalid_request")
        self.signed_up(user_metadata={"theme": "dark"})

    def test_other_realms_and_organizations(self):
        for member in [{"realm": "email"}, {"organization": "org_1"}]:
            self.refused(400, "invalid_request", **member)

    def test_a_network_that_asks_for_many_addresses(self):
        self.setting(failures_per_ip=1)
        place = {ADDRESS: "203.0.113.91"}
        answers = [self.begin("register", headers=place, user_profile={
            "email": f"{n}-{self.own_email()}"}) for n in range(8)]
        self.error(answers[-1], 429, "too_many_attempts")
        self.assertGreater(int(answers[-1].headers["Retry-After"]), 0)
        # A sign-in reads and writes nothing.
        self.expect(self.begin("challenge", headers=place), 200)

    def test_pages_of_other_origins(self):
        origin = "https://spa.example.com"
        client = self.new_client("single_page", f"cors_origins={origin}")
        for path in ["challenge", "register"]:
            answer = self.begin(path, client, headers={"Origin": origin})
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"], origin)
            self.expect(answer, 200)


if __name__ == "__main__":
    unittest.main()
