"""Attacks on the codes, redirects and tokens of the OpenID Connect provider."""

import hashlib
import hmac
import json
import threading
import urllib.parse

from hosted import PASSWORD
from openid import CALLBACK, FORM, INVALID_CODE, Party, OpenIDCase, base64url, claims

EVIL = "https://evil.example/"


class Codes(OpenIDCase):
    # Parameters of a request without PKCE.
    NO_PKCE = {"code_challenge": None, "code_challenge_method": None}
    # The errors about a verifier.
    FOREIGN = "The code verifier does not belong to the authorization code."
    WRONG = f"{FOREIGN} Send the code_verifier of the code_challenge in the /authorize request."
    MISSING = f"{FOREIGN} The /authorize request had a code_challenge: send its code_verifier."
    NEEDLESS = (f"{FOREIGN} The /authorize request had no code_challenge: send one, "
                "or no code_verifier.")

    def setUp(self):
        super().setUp()
        self.email, self.user_id = self.user()

    def coded(self, client=None, visitor=None, **parameters):
        party = Party(self, client or self.spa, **parameters)
        visitor = visitor or self.visitor
        page = visitor.open(party.path)
        if page.status == 200 and page.forms:
            visitor.submit(email=self.email)
            page = visitor.submit("/password", password="correct horse battery")
        return party, party.code(page)

    def refused(self, answer, description=INVALID_CODE):
        self.error(answer, 400, "invalid_grant", description)

    def test_a_client_may_repeat_its_exchange(self):
        party, code = self.coded(scope="openid offline_access")
        first = self.expect(party.exchange(code), 200).json
        second = self.expect(party.exchange(code), 200).json
        self.assertEqual(first["refresh_token"], second["refresh_token"])
        self.assertEqual(self.userinfo(first["access_token"]).status, 200)

    def test_a_replayed_code_ends_its_session(self):
        for fields in [{"code_verifier": "x" * 43}, {"redirect_uri": "https://app.example.com/x"}]:
            party, code = self.coded()
            tokens = self.expect(party.exchange(code), 200).json
            self.refused(party.exchange(code, **fields))
            self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)
        party, code = self.coded()
        tokens = self.expect(party.exchange(code), 200).json
        self.site.sql("update authorizations set redeemed_at = now() - interval '1 minute' "
                      "where redeemed_at is not null")
        self.refused(party.exchange(code))
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)

    def test_a_code_expires_and_belongs_to_its_request(self):
        party, code = self.coded()
        for other, fields in [
                (party, {"code": code[:-1] + ("A" if code[-1] != "A" else "B")}),
                (party, {"code": "ds_code_x"}), (Party(self, self.web), {}),
                (Party(self, self.native), {}), (party, {"redirect_uri": CALLBACK + "/"}),
                (party, {"redirect_uri": None})]:
            answer = other.exchange(fields.pop("code", code), **{
                "code_verifier": party.verifier, **fields})
            self.refused(answer, "The redirect_uri is not that of the /authorize request."
                         if "redirect_uri" in fields else INVALID_CODE)
        self.expect(party.exchange(code), 200)
        party, code = self.coded()
        self.site.sql("update authorizations set expires_at = now() where redeemed_at is null")
        self.refused(party.exchange(code))

    def test_a_code_of_another_sign_in_is_not_accepted(self):
        """An attacker injects a code from the attacker's own request."""
        attacker, code = self.coded()
        victim = Party(self, self.spa)
        self.refused(victim.exchange(code), self.WRONG)
        self.expect(attacker.exchange(code), 200)

    def test_verifiers(self):
        party, code = self.coded()
        self.refused(party.exchange(code, code_verifier=None), self.MISSING)
        for verifier in ["x" * 43, party.verifier + "x", party.verifier[:-1], "x" * 200]:
            self.refused(party.exchange(code, code_verifier=verifier), self.WRONG)
        self.expect(party.exchange(code), 200)

    def test_pkce_cannot_be_removed(self):
        strict = self.new_client("web", f"callback_urls={CALLBACK}", settings=["pkce=required"])
        own_scheme = "com.Example.my-app://cb"
        # No stored setting frees a client without a secret.
        loose = self.new_client("native", f"callback_urls={own_scheme}")
        self.site.sql("update clients set settings = settings || '{\"pkce\": \"optional\"}' "
                      f"where client_id = '{loose['id']}'")
        for client, redirect in [(self.spa, CALLBACK), (self.native, own_scheme),
                                 (loose, own_scheme), (strict, CALLBACK)]:
            for parameters in [
                    self.NO_PKCE, {"code_challenge_method": None},
                    {"code_challenge_method": "plain"}, {"code_challenge": "x"},
                    {"code_challenge": "x" * 44}, {"code_challenge": ""}]:
                party = Party(self, client, redirect, **parameters)
                answer = party.answer(self.visitor.open(party.path))
                self.assertEqual(answer["error"], "invalid_request", (client, parameters))
            self.assertEqual(
                self.refusal(client, redirect, **self.NO_PKCE),
                "code_challenge is required: this client must use PKCE, with the method S256.")

    def refusal(self, client, redirect=CALLBACK, **parameters):
        """Returns why a request gets no code."""
        party = Party(self, client, redirect, **parameters)
        return party.answer(self.visitor.open(party.path))["error_description"]

    def test_a_client_with_a_secret_may_omit_pkce(self):
        for missing in [{}, {"nonce": None}]:
            party, code = self.coded(self.web, **self.NO_PKCE, **missing)
            # A verifier without a challenge: the challenge was removed on the way.
            self.refused(party.exchange(code), self.NEEDLESS)
            self.expect(party.exchange(code, code_verifier=None), 200)
        # Parts of PKCE are not the absence of PKCE.
        for parameters in [{"code_challenge": None}, {"code_challenge": ""},
                           {"code_challenge_method": None}, {"code_challenge_method": "plain"}]:
            self.assertIn("code_challenge", self.refusal(self.web, **parameters))

    def test_a_code_without_pkce_belongs_to_its_client(self):
        party, code = self.coded(self.web, **self.NO_PKCE)
        other = self.new_client("web", f"callback_urls={CALLBACK}")
        for thief in [other, self.spa, self.native]:
            self.refused(Party(self, thief).exchange(code, code_verifier=None))
        self.error(Party(self, self.machine).exchange(code, code_verifier=None), 400,
                   "unauthorized_client")
        for secret in [None, other["secret"]]:
            answer = party.exchange(code, code_verifier=None, client_secret=secret)
            self.error(answer, 401, "invalid_client")
        answer = party.exchange(code, code_verifier=None, redirect_uri=CALLBACK + "/")
        self.refused(answer, "The redirect_uri is not that of the /authorize request.")
        self.expect(party.exchange(code, code_verifier=None), 200)

    def test_a_code_of_another_browser_is_not_accepted_without_pkce(self):
        """An attacker injects a stolen code into a sign-in of the same client."""
        # The client used PKCE in one of the two sign-ins only.
        _, stolen = self.coded(self.web, visitor=self.new_visitor())
        attacker, own = self.coded(self.web, visitor=self.new_visitor(), **self.NO_PKCE)
        self.refused(attacker.exchange(stolen, code_verifier=None), self.MISSING)
        self.refused(Party(self, self.web).exchange(own), self.NEEDLESS)
        # In neither: the ID token shows the client that the code is of another sign-in.
        victim, stolen = self.coded(self.web, visitor=self.new_visitor(), **self.NO_PKCE)
        tokens = self.expect(attacker.exchange(stolen, code_verifier=None), 200).json
        self.assertEqual(claims(tokens["id_token"])["nonce"], victim.parameters["nonce"])
        self.assertNotEqual(victim.parameters["nonce"], attacker.parameters["nonce"])

    def test_one_code_creates_one_session(self):
        party, code = self.coded()
        answers = []
        threads = [threading.Thread(target=lambda: answers.append(party.exchange(code)))
                   for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sessions = {claims(answer.json["access_token"])["sid"]
                    for answer in answers if answer.status == 200}
        self.assertEqual(len(sessions), 1, [answer.body for answer in answers])


class Redirects(OpenIDCase):
    def test_nearly_equal_redirect_uris_get_a_page(self):
        for near in ["https://APP.example.com/callback", "https://app.example.com/Callback",
                     "https://app.example.com/callback/", "https://app.example.com:443/callback",
                     "http://app.example.com/callback", "https://app.example.com/./callback",
                     "https://app.example.com/callback?x=1", "https://app.example.com/callback#x",
                     "https://app.example.com/%63allback", "https://app.example.com/callback%2F..",
                     "https://app.example.com@evil.example/callback", CALLBACK + " ", CALLBACK + "\n",
                     EVIL, "javascript:alert(1)", "", "//app.example.com/callback"]:
            party = Party(self, self.web, redirect=near)
            page = self.visitor.open(party.path)
            self.assertEqual(page.location, None, near)
            if near:
                self.assertEqual(page.status, 400, near)
        custom = self.native
        for near in ["com.example.my-app://cb", "com.Example.my-app://cb/", "com.Example.my-app:cb"]:
            self.assertEqual(self.visitor.open(Party(self, custom, redirect=near).path).status, 400)

    def test_a_restarted_sign_in_is_checked_again(self):
        client = self.new_client("single_page", f"callback_urls={CALLBACK}")
        email, _ = self.user()
        party = Party(self, client)
        self.visitor.open(party.path)
        self.site.sql("update authorizations set expires_at = now()")
        path = self.visitor.page.path
        self.shows(self.visitor.open(path), "Sign in", "This sign-in has expired. Start again.")
        self.visitor.submit(email=email)
        page = self.visitor.submit("/password", password=PASSWORD)
        self.expect(party.exchange(party.code(page)), 200)
        self.site.dossier("client", "set", client["id"], 'callback_urls=["https://new.example/cb"]')
        page = self.visitor.open(path)
        self.assertEqual((page.status, page.location), (400, None), page.text)
        self.site.dossier("client", "delete", "--yes", client["id"])
        self.shows(self.visitor.open(path), "Unknown app", status=404)

    def test_the_id_of_a_client_is_compared_as_written(self):
        client = self.spa
        while client["id"].isdigit():
            client = self.new_client("single_page", f"callback_urls={CALLBACK}")
        client = {**client, "id": client["id"].upper()}
        self.shows(self.visitor.open(Party(self, client).path), "Unknown app", status=404)

    def test_a_client_that_is_disabled_during_a_sign_in(self):
        """Each request at the pages asks for the client again."""
        client = self.new_client("single_page", f"callback_urls={CALLBACK}")
        email, _ = self.user()
        page = self.visitor.open(Party(self, client).path)
        self.shows(page, "Sign in")
        self.site.dossier("client", "disable", client["id"])
        self.shows(self.visitor.submit(email=email), "Unknown app", status=404)
        self.shows(self.visitor.open(page.path), "Unknown app", status=404)

    def test_an_unknown_client_gets_a_page(self):
        other = self.site.dossier("app", "create", "elsewhere")
        foreign = self.new_client("single_page", f"callback_urls={CALLBACK}", app="elsewhere")
        for client in ["x", "0" * 24, foreign["id"], self.machine["id"], "<script>"]:
            page = self.visitor.open(Party(self, {"id": client}).path)
            self.assertEqual((page.status, page.location), (404, None), client)
        self.assertTrue(other)

    def test_invalid_parameters_are_reported_to_the_client(self):
        for parameters, error in [
                ({"response_type": "token"}, "unsupported_response_type"),
                ({"response_type": "code id_token"}, "unsupported_response_type"),
                ({"response_type": None}, "invalid_request"),
                ({"request": "x"}, "request_not_supported"),
                ({"request_uri": "https://x"}, "request_uri_not_supported"),
                ({"response_mode": "fragment"}, "invalid_request"),
                ({"prompt": "none login"}, "invalid_request"),
                ({"prompt": "maybe"}, "invalid_request"), ({"max_age": "-1"}, "invalid_request"),
                ({"max_age": "9" * 40}, "invalid_request"), ({"nonce": "x" * 3_000}, "invalid_request"),
                ({"audience": "https://none"}, "invalid_target"),
                ({"id_token_hint": "x.y.z"}, "invalid_request")]:
            party = Party(self, self.spa, **parameters)
            answer = party.answer(self.visitor.open(party.path))
            self.assertEqual((answer["error"], answer["iss"]), (error, self.issuer), parameters)
            self.assertEqual(answer.get("state"), party.parameters["state"])

    def test_a_message_goes_to_a_web_origin_only(self):
        for parameters in [{}, {"redirect_uri": None}]:
            party = Party(self, self.spa, response_mode="web_message", **parameters)
            page = self.visitor.open(party.path)
            self.assertEqual((page.status, page.location), (400, None), parameters)

    def test_a_repeated_parameter_is_reported_if_the_way_back_is_known(self):
        party = Party(self, self.spa, response_mode="query")
        for extra in ["&client_id=x", "&redirect_uri=" + urllib.parse.quote(EVIL), "&state=x",
                      "&response_mode=web_message", "&resource=a&resource=a&state=x"]:
            page = self.visitor.open(party.path + extra)
            self.assertEqual((page.status, page.location), (400, None), extra)
        api = "&resource=" + urllib.parse.quote(self.API)
        for extra, error in [
                ("&scope=openid", "invalid_request"), ("&x=1&x=1", "invalid_request"),
                (api + api, "invalid_target"), (api + "&resource=https://other.example", "invalid_target"),
                ("&audience=https://other.example" + api, "invalid_target"),
                (api + api + "&nonce=x", "invalid_request")]:
            for page in [self.visitor.open(party.path + extra), self.posted(party, extra)]:
                answer = party.answer(page)
                self.assertEqual((answer["error"], answer["state"], answer["iss"]),
                                 (error, party.parameters["state"], self.issuer), extra)

    def posted(self, party, extra):
        """Returns the page after the same parameters in a body."""
        body = party.path.partition("?")[2] + extra
        return self.visitor.send("POST", "/authorize", body, Origin=self.visitor.origin, **FORM)

    def test_a_token_is_for_one_resource(self):
        tokens, party = self.tokens(scope="openid offline_access", audience=self.API)
        code = Party(self, self.spa, audience=self.API)
        fresh = code.code(self.visitor.open(code.path))
        grants = [
            {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]},
            {"grant_type": "authorization_code", "code": fresh, "code_verifier": code.verifier,
             "redirect_uri": CALLBACK}]
        for grant in grants:
            body = {"client_id": self.spa["id"], **grant}
            for second in [self.API, "https://other.example"]:
                form = urllib.parse.urlencode({**body, "resource": [self.API, second]}, doseq=True)
                self.error(self.site.request("POST", "/oauth/token", form, FORM), 400,
                           "invalid_target")
                self.error(self.post("/oauth/token", {**body, "resource": [self.API, second]}), 400,
                           "invalid_target")
            # Another field that is repeated is a fault of the request.
            form = urllib.parse.urlencode({**body, "audience": [self.API] * 2}, doseq=True)
            self.error(self.site.request("POST", "/oauth/token", form, FORM), 400, "invalid_request")
            self.expect(self.post("/oauth/token", {**body, "resource": [self.API]}), 200)

    def test_a_callback_that_is_gone_gets_no_tokens(self):
        client = self.new_client("single_page", f"callback_urls={CALLBACK}")
        party = Party(self, client, scope="openid")
        code = party.code(self.signed_in(party, self.user()[0]))

        def callbacks(*urls):
            self.site.dossier("client", "set", client["id"], "callback_urls=" + ",".join(urls))

        callbacks(CALLBACK + "2")
        self.error(party.exchange(code), 400, "invalid_grant", INVALID_CODE)
        # The refusal did not use the code.
        callbacks(CALLBACK + "2", CALLBACK)
        tokens = self.expect(party.exchange(code), 200).json
        # A repetition is refused too, and ends no session.
        callbacks(CALLBACK + "2")
        self.error(party.exchange(code), 400, "invalid_grant", INVALID_CODE)
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 200)

    def test_markup_in_parameters_stays_text(self):
        mark = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>"
        for parameters in [{"login_hint": mark}, {"redirect_uri": mark}, {"client_id": mark},
                           {"state": mark}, {"ui_locales": mark}, {"scope": mark}]:
            page = self.visitor.open(Party(self, self.spa, **parameters).path)
            self.assertNotIn(b"<script>alert", page.body, parameters)
            self.assertNotIn(b"<img src=x", page.body, parameters)
        party = Party(self, self.spa, state=mark, response_mode="form_post", prompt="none")
        page = self.visitor.open(party.path)
        self.assertNotIn(b"<script>alert", page.body)
        self.assertEqual(page.forms[0].fields["state"], mark)


class Tokens(OpenIDCase):
    def test_forged_tokens_are_refused(self):
        tokens, _ = self.tokens()
        head, body, signature = tokens["access_token"].split(".")
        key = next(key for key in self.keys)
        forged = []
        for algorithm in ["none", "HS256", "RS512", "ES256"]:
            changed = base64url(json.dumps(
                {"alg": algorithm, "kid": key["kid"], "typ": "at+jwt"}).encode())
            secret = key["n"].encode()
            mark = hmac.new(secret, f"{changed}.{body}".encode(), hashlib.sha256).digest()
            forged += [f"{changed}.{body}.", f"{changed}.{body}.{base64url(mark)}",
                       f"{changed}.{body}.{signature}"]
        swapped = base64url(json.dumps({**claims(tokens["access_token"]), "sub": "0" * 24}).encode())
        forged += [f"{head}.{swapped}.{signature}", tokens["id_token"]]
        for token in forged:
            answer = self.userinfo(token)
            self.assertEqual(answer.status, 401, token)
            self.assertIn('error="invalid_token"', answer.headers["WWW-Authenticate"])

    def test_tokens_are_for_one_audience(self):
        tokens, _ = self.tokens(audience=self.API, scope="read:posts")
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)
        for path in ["/v1/me", "/v1/me/metadata"]:
            self.assertEqual(self.site.get(path, token=tokens["access_token"]).status, 401)
        grant = self.site.login()
        self.assertEqual(self.userinfo(grant["access_token"]).status, 401)

    def test_a_blocked_user_and_an_ended_session_are_refused_at_once(self):
        email, user = self.user()
        tokens, party = self.tokens(email, scope="openid offline_access")
        self.site.dossier("user", "block", "--yes", "--app", "default", user)
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)
        self.error(party.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"]),
                   400, "invalid_grant")
