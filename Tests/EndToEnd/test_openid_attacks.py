"""Attacks on the OpenID Connect provider."""

import hashlib
import hmac
import json
import threading
import urllib.parse

from asking import ADDRESS
from hosted import PASSWORD, Visitor
from openid import CALLBACK, Party, OpenIDCase, base64url, claims

EVIL = "https://evil.example/"


class Codes(OpenIDCase):
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

    def refused(self, answer, description="Invalid authorization code"):
        self.error(answer, 403, "invalid_grant", description)

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
        self.site.sql("update authorizations set redeemed_at = redeemed_at - interval '1 minute' "
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
                         if "redirect_uri" in fields else "Invalid authorization code")
        self.expect(party.exchange(code), 200)
        party, code = self.coded()
        self.site.sql("update authorizations set expires_at = now() where redeemed_at is null")
        self.refused(party.exchange(code))

    def test_a_code_of_another_sign_in_is_not_accepted(self):
        """An attacker injects a code from the attacker's own request."""
        attacker, code = self.coded()
        victim = Party(self, self.spa)
        self.refused(victim.exchange(code), "Failed to verify code verifier")
        self.expect(attacker.exchange(code), 200)

    def test_verifiers(self):
        party, code = self.coded()
        wrong = "Failed to verify code verifier"
        for verifier in [None, "x" * 43, party.verifier + "x", party.verifier[:-1], "x" * 200]:
            self.refused(party.exchange(code, code_verifier=verifier), wrong)
        self.expect(party.exchange(code), 200)

    def test_pkce_cannot_be_removed(self):
        for parameters in [
                {"code_challenge": None, "code_challenge_method": None},
                {"code_challenge_method": None}, {"code_challenge_method": "plain"},
                {"code_challenge": "x"}, {"code_challenge": "x" * 44}, {"code_challenge": ""}]:
            party = Party(self, self.spa, **parameters)
            answer = party.answer(self.visitor.open(party.path))
            self.assertEqual(answer["error"], "invalid_request", parameters)
        self.site.dossier("client", "set", self.web["id"], "pkce=optional")
        self.addCleanup(self.site.dossier, "client", "set", self.web["id"], "pkce=null")
        party, code = self.coded(self.web, code_challenge=None, code_challenge_method=None)
        # A verifier without a challenge: the challenge was removed on the way.
        self.refused(party.exchange(code), "Failed to verify code verifier")
        self.expect(party.exchange(code, code_verifier=None), 200)

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
        client = self.new_client("single_page", "--callback", CALLBACK)
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
        self.site.dossier("client", "delete", client["id"])
        self.shows(self.visitor.open(path), "Unknown application", status=404)

    def test_the_id_of_a_client_is_compared_as_written(self):
        client = {**self.spa, "id": self.spa["id"].upper()}
        if client["id"] == self.spa["id"]:
            self.skipTest("this id has no letters")
        self.shows(self.visitor.open(Party(self, client).path), "Unknown application", status=404)

    def test_an_unknown_client_gets_a_page(self):
        other = self.site.dossier("app", "create", "elsewhere")
        foreign = self.new_client("single_page", "--callback", CALLBACK, app="elsewhere")
        for client in ["x", "0" * 24, foreign["id"], self.machine["id"], "<script>"]:
            page = self.visitor.open(Party(self, {"id": client}).path)
            self.assertEqual((page.status, page.location), (404, None), client)
        self.assertTrue(other)

    def test_invalid_parameters_are_reported_to_the_client(self):
        for parameters, error in [
                ({"response_type": "token"}, "unsupported_response_type"),
                ({"response_type": "code id_token"}, "unsupported_response_type"),
                ({"response_type": None}, "unsupported_response_type"),
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

    def test_repeated_parameters_get_a_page(self):
        party = Party(self, self.spa)
        for extra in ["&client_id=x", "&redirect_uri=" + urllib.parse.quote(EVIL), "&state=x",
                      "&scope=openid"]:
            page = self.visitor.open(party.path + extra)
            self.assertEqual((page.status, page.location), (400, None), extra)

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


class Browsers(OpenIDCase):
    def setUp(self):
        super().setUp()
        self.email, _ = self.user()

    def test_another_browser_cannot_continue_a_sign_in(self):
        """An attacker starts a sign-in that the victim continues, or the reverse."""
        self.visitor.open(Party(self, self.spa).path)
        path, body = self.visitor.page.path, self.visitor.body(self.visitor.form(), email="x@example.com")
        stranger = self.new_visitor()
        self.assertIn(stranger.open(path).status, [403, 404])
        stranger.open(Party(self, self.spa).path)
        for page in [stranger.open(path), stranger.send(
                "POST", path, body, **{"Content-Type": "application/x-www-form-urlencoded"})]:
            self.assertIn(page.status, [403, 404], page.text)
        # With the id of its own authorization, the token of the other form does not fit.
        stranger.open(Party(self, self.spa).path)
        page = stranger.send("POST", stranger.page.path, body, **{
            "Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(page.status, 403)

    def test_forms_of_other_sites_are_refused(self):
        self.visitor.open(Party(self, self.spa).path)
        page = self.visitor.submit(email=self.email, origin="https://evil.example")
        self.assertEqual(page.status, 403)
        self.visitor.open(Party(self, self.spa).path)
        page = self.visitor.submit(email=self.email, csrf="x")
        self.assertEqual(page.status, 403)

    def test_a_sign_in_changes_the_secret_of_the_browser(self):
        """An attacker who has read or set the cookies before the sign-in has no session after it."""
        self.visitor.open(Party(self, self.spa).path)
        before = dict(self.visitor.cookies)
        self.visitor.submit(email=self.email)
        self.visitor.submit("/password", password="correct horse battery")
        self.tokens(self.email, visitor=self.new_visitor())
        thief = self.new_visitor()
        thief.cookies = before
        party = Party(self, self.spa, prompt="none")
        self.assertEqual(party.answer(thief.open(party.path))["error"], "login_required")
        # The next user of the browser changes it again.
        before = dict(self.visitor.cookies)
        other = "second-" + self.email
        self.user(other)
        self.visitor.open(Party(self, self.spa, prompt="login").path)
        self.visitor.submit("/another")
        self.visitor.submit(email=other)
        self.visitor.submit("/password", password="correct horse battery")
        thief.cookies = before
        party = Party(self, self.spa, prompt="none", login_hint=other)
        answer = party.answer(thief.open(party.path))
        if "code" in answer:
            tokens = party.exchange(answer["code"]).json
            self.assertNotEqual(claims(tokens["id_token"])["email"], other)

    def test_an_old_form_returns_no_session(self):
        """An attacker copies a form and the cookies of a shared computer before the victim signs in."""
        self.visitor.open(Party(self, self.spa).path)
        form, thief = self.visitor.form(), self.new_visitor()
        body = self.visitor.body(form, email=self.email)
        thief.cookies = dict(self.visitor.cookies)
        self.visitor.submit(email=self.email)
        self.visitor.submit("/password", password="correct horse battery")
        page = thief.send("POST", form.action, body, Origin=thief.origin, **{
            "Content-Type": "application/x-www-form-urlencoded"})
        self.assertNotIn(b"code=", page.body)
        self.assertFalse([name for name in thief.cookies if "signin" in name])

    def test_any_step_number_of_a_form_is_accepted(self):
        for step in ["9223372036854775807", "-9223372036854775808", "9" * 40, "x", ""]:
            self.visitor.open(Party(self, self.spa).path)
            page = self.visitor.submit(email=self.email, step=step)
            self.assertEqual(page.status, 200, step)

    def test_parameters_in_a_body_are_moved_to_the_query(self):
        for path in ["/authorize", "/oidc/logout"]:
            page = self.visitor.send("POST", path, "client_id=a%20b&state=%26x", follow=False, **{
                "Content-Type": "application/x-www-form-urlencoded"})
            self.assertEqual((page.status, page.location), (303, f"{path}?client_id=a%20b&state=%26x"))
            self.assertFalse(page.headers.get_all("Set-Cookie"))

    def test_pages_cannot_be_framed(self):
        for path in [Party(self, self.spa).path, "/account", "/oidc/logout"]:
            page = self.visitor.open(path)
            self.assertIn("frame-ancestors 'none'", page.headers["Content-Security-Policy"])
            self.assertEqual(page.headers["Cache-Control"], "no-store")
            self.assertNotIn("Cross-Origin-Opener-Policy", page.headers)

    def test_strangers_cannot_fill_the_database(self):
        self.settings(sign_in_pages_per_ip=3)
        client = self.new_client("single_page", "--callback", CALLBACK)
        path, silent = Party(self, client).path, Party(self, client, prompt="none")

        def stranger():
            return self.new_visitor(**{ADDRESS: "192.0.2.77"})

        for _ in range(3):
            self.assertEqual(stranger().open(path).status, 200)
        for refused in [path, "/account", path + "&prompt=login"]:
            self.shows(stranger().open(refused), "Too many attempts", status=429)
        # A refused silent request stores nothing.
        self.assertEqual(silent.answer(stranger().open(silent.path))["error"], "login_required")
        stored = self.site.sql(
            f"select count(*) from authorizations where client_id = '{client['id']}'")
        self.assertEqual(stored, "3")
        # A signed-in user is not counted with strangers of the same network.
        guest = self.new_visitor(**{ADDRESS: "192.0.2.78"})
        self.signed_in(Party(self, client), self.email, visitor=guest)
        for _ in range(5):
            guest.headers[ADDRESS] = "192.0.2.77"
            self.assertTrue(silent.code(guest.open(silent.path)))

    def test_a_client_chooses_its_login_methods(self):
        """A session of another login method does not count, with and without pages."""
        self.settings(email_code=True)
        strict = self.new_client("single_page", "--callback", CALLBACK)
        self.site.dossier("client", "set", strict["id"], 'connections=["email_code"]')
        self.signed_in(Party(self, self.spa), self.email)
        silent = Party(self, strict, prompt="none")
        self.assertEqual(silent.answer(self.visitor.open(silent.path))["error"], "login_required")
        party = Party(self, strict)
        self.visitor.open(party.path)
        self.shows(self.visitor.submit(email=self.email), "Enter the code")
        page = self.visitor.submit("/code", code=self.mailed_code(self.email))
        self.expect(party.exchange(party.code(page)), 200)
        self.assertTrue(silent.code(self.visitor.open(silent.path)))

    def test_two_clicks_send_one_code(self):
        party = Party(self, self.spa)
        self.visitor.open(party.path)
        self.visitor.submit(email=self.email)
        form = self.visitor.form("/password")
        body = self.visitor.body(form, password="correct horse battery")
        pages = []

        def click():
            twin = Visitor(self.site.port)
            twin.cookies = dict(self.visitor.cookies)
            pages.append(twin.send("POST", form.action, body, Origin=twin.origin, **{
                "Content-Type": "application/x-www-form-urlencoded"}))

        threads = [threading.Thread(target=click) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        codes = {party.code(page) for page in pages}
        self.assertEqual(len(codes), 1)
        self.expect(party.exchange(codes.pop()), 200)
        live = self.site.sql("select count(*) from sessions s join users u using (user_id) "
                             f"where u.email = '{self.email}' and s.style = 'pages'")
        self.assertEqual(live, "1")


class Consent(OpenIDCase):
    def setUp(self):
        super().setUp()
        self.third = self.new_client("single_page", "--callback", CALLBACK)
        self.site.dossier("client", "set", self.third["id"], "first_party=false")
        self.email, _ = self.user()

    def test_a_third_party_needs_consent(self):
        party = Party(self, self.third)
        page = self.signed_in(party, self.email)
        self.assertIn("wants access", page.heading)
        silent = Party(self, self.third, prompt="none")
        self.assertEqual(silent.answer(self.visitor.open(silent.path))["error"], "consent_required")
        self.visitor.open(party.path)
        denied = self.visitor.submit("/consent", button="deny")
        self.assertEqual(party.answer(denied)["error"], "access_denied")
        party = Party(self, self.third)
        self.visitor.open(party.path)
        self.expect(party.exchange(party.code(self.visitor.submit("/consent", button="allow"))), 200)
        self.expect(silent.exchange(silent.code(self.visitor.open(silent.path))), 200)
        more = Party(self, self.third, prompt="none", scope="openid phone")
        self.assertEqual(more.answer(self.visitor.open(more.path))["error"], "consent_required")

    def test_another_account_neither_authenticates_nor_agrees(self):
        """An attacker signs in with an own account, then chooses the victim's instead."""
        self.tokens(self.email)
        other = "other-" + self.email
        self.user(other)
        party = Party(self, self.third, prompt="login", max_age="0")
        self.signed_in(party, other)
        self.visitor.open(self.visitor.page.path.rsplit("/", 1)[0] + "/choose")
        form = next(form for form in self.visitor.page.forms if self.email in form.label
                    and other not in form.label)
        self.visitor.send("POST", form.action, self.visitor.body(form), Origin=self.visitor.origin, **{
            "Content-Type": "application/x-www-form-urlencoded"})
        self.assertIn("/sign-in", self.visitor.page.path)

    def test_a_client_without_scopes_needs_consent_too(self):
        self.tokens(self.email)
        for scope in [None, "", "bogus"]:
            silent = Party(self, self.third, prompt="none", scope=scope)
            answer = silent.answer(self.visitor.open(silent.path))
            self.assertEqual(answer["error"], "consent_required", scope)

    def test_a_code_is_revoked_with_the_consent(self):
        party = Party(self, self.third, scope="openid offline_access")
        self.signed_in(party, self.email)
        code = party.code(self.visitor.submit("/consent", button="allow"))
        self.site.sql("delete from consents")
        self.error(party.exchange(code), 403, "invalid_grant")

    def consented(self, email):
        """Lets a user allow the third party, in a browser of its own."""
        party, visitor = Party(self, self.third), self.new_visitor()
        self.signed_in(party, email, visitor=visitor)
        party.code(visitor.submit("/consent", button="allow"))

    def assert_asks(self, email, password):
        visitor = self.new_visitor()
        page = self.signed_in(Party(self, self.third), email, password, visitor)
        self.assertIn("wants access", page.heading)

    def test_a_takeover_revokes_consents(self):
        self.consented(self.email)
        self.reset_by_mail(self.email, "what the owner chose")
        self.assert_asks(self.email, "what the owner chose")

    def test_a_restored_address_revokes_consents(self):
        email = f"thief-{self.email}"
        self.reset_by_mail(self.email, PASSWORD)
        self.change_email(self.expect(self.login(self.email, PASSWORD), 200).json, email)
        self.consented(email)
        body = {"token": self.site.mailed(self.email, "ds_restore"), "password": "owners password"}
        self.expect(self.post("/v1/email/restore", body), 200)
        self.assert_asks(self.email, "owners password")

    def test_a_form_without_the_user_grants_nothing(self):
        party = Party(self, self.third)
        self.signed_in(party, self.email)
        form = self.visitor.form("/consent")
        for fields in [{"decision": None}, {"decision": "maybe"}]:
            body = self.visitor.body(form, **fields)
            page = self.visitor.send("POST", form.action, body, Origin=self.visitor.origin, **{
                "Content-Type": "application/x-www-form-urlencoded"})
            self.assertNotIn(b"code=", page.body)
            self.visitor.open(party.path)
            form = self.visitor.form("/consent")

    def test_a_client_learns_that_its_user_is_blocked(self):
        self.site.sql(f"update users set blocked_at = now() where email = '{self.email}'")
        party = Party(self, self.spa)
        page = self.shows(self.signed_in(party, self.email), "Account blocked", status=403)
        answer = dict(urllib.parse.parse_qsl(
            urllib.parse.urlsplit(page.links["single_page"]).query))
        self.assertEqual((answer["error"], answer["error_description"], answer["state"]),
                         ("access_denied", "user is blocked", party.parameters["state"]))

    def test_a_client_can_skip_the_confirmation(self):
        self.site.dossier("client", "set", self.native["id"], "confirm_sign_in=false")
        self.addCleanup(self.site.dossier, "client", "set", self.native["id"], "confirm_sign_in=null")
        self.signed_in(Party(self, self.spa), self.email)
        silent = Party(self, self.native, redirect="com.Example.my-app://cb", prompt="none")
        self.assertTrue(silent.code(self.visitor.open(silent.path)))

    def test_a_native_app_is_confirmed_by_the_user(self):
        self.tokens(self.email)
        party = Party(self, self.native, redirect="com.Example.my-app://cb")
        page = self.visitor.open(party.path)
        self.assertEqual(page.status, 200)
        silent = Party(self, self.native, redirect="com.Example.my-app://cb", prompt="none")
        answer = silent.answer(self.visitor.open(silent.path))
        self.assertEqual(answer["error"], "interaction_required")
        self.visitor.open(party.path)
        self.expect(party.exchange(party.code(self.visitor.submit("/confirm"))), 200)


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
        tokens, _ = self.tokens(self.own_email(), scope="openid", visitor=self.new_visitor())
        for path in ["/v1/me", "/v1/me/metadata"]:
            self.assertEqual(self.site.get(path, token=tokens["access_token"]).status, 401)
        grant = self.site.login()
        self.assertEqual(self.userinfo(grant["access_token"]).status, 401)

    def test_a_blocked_user_and_an_ended_session_are_refused_at_once(self):
        email, user = self.user()
        tokens, party = self.tokens(email, scope="openid offline_access")
        self.site.dossier("user", "block", "--app", "default", user)
        self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)
        self.error(party.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"]),
                   403, "invalid_grant")
