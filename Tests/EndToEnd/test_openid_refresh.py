"""Refresh tokens: their rotation, scopes, revocation and limits."""

import urllib.parse

from openid import CALLBACK, FORM, Party, OpenIDCase, claims


class RefreshTokens(OpenIDCase):
    SCOPE = "openid profile offline_access"

    def test_a_refresh_token_rotates_with_a_grace_period(self):
        tokens, party = self.tokens(scope=self.SCOPE)
        first = tokens["refresh_token"]
        second = self.expect(party.token(grant_type="refresh_token", refresh_token=first), 200).json
        self.assertNotEqual(second["refresh_token"], first)
        self.assertNotIn("nonce", claims(second["id_token"]))
        again = self.expect(party.token(grant_type="refresh_token", refresh_token=first), 200).json
        self.assertEqual(again["refresh_token"], second["refresh_token"])
        third = self.expect(
            party.token(grant_type="refresh_token", refresh_token=second["refresh_token"]), 200).json
        # The first token is now too old: it was stolen, and the session ends.
        stolen = party.token(grant_type="refresh_token", refresh_token=first)
        self.error(stolen, 400, "invalid_grant", "Unknown or invalid refresh token.")
        last = party.token(grant_type="refresh_token", refresh_token=third["refresh_token"])
        self.error(last, 400, "invalid_grant")
        self.assertEqual(self.userinfo(third["access_token"]).status, 401)

    def test_a_refresh_can_reduce_but_not_extend_scopes(self):
        tokens, party = self.tokens(scope=self.SCOPE)
        ask = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        self.error(party.token(**ask, scope="email phone"), 400, "invalid_scope")
        # The refused request did not use the token.
        self.site.sql("update sessions set refreshed_at = now() - interval '1 hour'")
        less = self.expect(party.token(**ask, scope="openid email"), 200).json
        self.assertEqual(less["scope"], "openid")
        self.assertNotIn("name", claims(less["id_token"]))
        ask["refresh_token"] = less["refresh_token"]
        self.assertEqual(self.expect(party.token(**ask), 200).json["scope"], self.SCOPE)

    def test_a_token_belongs_to_its_client(self):
        tokens, _ = self.tokens(scope=self.SCOPE)
        for other in [self.web, self.native]:
            answer = Party(self, other).token(
                grant_type="refresh_token", refresh_token=tokens["refresh_token"])
            self.error(answer, 400, "invalid_grant")
        native = self.post("/v1/token/refresh", {"refresh_token": tokens["refresh_token"]})
        self.assertEqual(native.status, 401)

    def test_refresh_errors_describe_the_user_and_the_audience(self):
        """SDKs compare these texts."""
        tokens, party = self.tokens(scope=self.SCOPE, audience=self.API)
        user = claims(tokens["access_token"])["sub"]

        def refresh(**fields):
            return party.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"],
                               **fields)

        self.error(refresh(audience="https://other.example"), 400, "invalid_target")
        for wrong in [{"resource": "https://other.example"},
                      {"resource": self.API, "audience": "https://other.example"}]:
            self.error(refresh(**wrong), 400, "invalid_target")
        tokens = self.expect(refresh(resource=self.API), 200).json
        tokens = self.expect(refresh(audience=self.API), 200).json
        self.site.dossier("user", "block", "--yes", "--app", "default", user)
        self.error(refresh(), 400, "invalid_grant", "user is blocked")
        self.site.dossier("user", "delete", "--app", "default", user, "--yes")
        self.error(refresh(), 400, "invalid_grant",
                   "The refresh_token was generated for a user who doesn't exist anymore.")

    def test_a_code_is_for_its_resource_only(self):
        party = Party(self, self.spa, resource=self.API, scope="openid read:posts")
        code = party.code(self.signed_in(party, self.user()[0]))
        self.error(party.exchange(code, resource="https://other.example"), 400, "invalid_target")
        # The refused request did not use the code.
        access = claims(self.expect(party.exchange(code, resource=self.API), 200).json["access_token"])
        self.assertIn(self.API, access["aud"])

    def test_revocation_ends_the_session(self):
        tokens, party = self.tokens(scope=self.SCOPE)
        foreign = self.web
        for client, expected in [(foreign, 200), (self.spa, 401)]:
            body = {"client_id": client["id"], "token": tokens["refresh_token"]}
            if "secret" in client:
                body["client_secret"] = client["secret"]
            answer = self.site.request(
                "POST", "/oauth/revoke", urllib.parse.urlencode(body), FORM)
            self.assertEqual((answer.status, answer.body), (200, b""))
            self.assertEqual(self.userinfo(tokens["access_token"]).status, expected)
        self.error(party.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"]),
                   400, "invalid_grant")

    def test_introspection_reports_which_tokens_are_valid(self):
        tokens, _ = self.tokens(scope=self.SCOPE)

        def introspect(token, client=None):
            client = client or self.web
            body = {"client_id": client["id"], "client_secret": client.get("secret", ""),
                    "token": token}
            return self.site.request(
                "POST", "/oauth/introspect", urllib.parse.urlencode(body), FORM)

        found = self.expect(introspect(tokens["access_token"]), 200).json
        self.assertEqual((found["active"], found["client_id"], found["scope"]),
                         (True, self.spa["id"], self.SCOPE))
        self.assertEqual(introspect("x").json, {"active": False})
        # A refresh token belongs to its client, and a public client cannot introspect.
        self.assertEqual(introspect(tokens["refresh_token"]).json, {"active": False})
        self.error(introspect(tokens["access_token"], self.spa), 401, "invalid_client")
        self.error(introspect(tokens["access_token"], {**self.web, "secret": "x"}), 401,
                   "invalid_client")
        # A third party learns of its own tokens only.
        partner = self.new_client("web", f"callback_urls={CALLBACK}")
        self.site.dossier("client", "set", partner["id"], "first_party=false")
        self.assertEqual(introspect(tokens["access_token"], partner).json, {"active": False})
        email, _ = self.user(f"partner-{self.own_email()}")
        party = Party(self, partner)
        visitor = self.new_visitor()
        self.signed_in(party, email, visitor=visitor)
        page = visitor.submit("/consent", button="allow")
        own = self.expect(party.exchange(party.code(page)), 200).json["access_token"]
        for client in [partner, self.web]:
            self.assertTrue(introspect(own, client).json["active"])
        self.site.dossier("client", "disable", partner["id"])
        self.assertEqual(introspect(own).json, {"active": False})
        self.site.sql("update sessions set ended_at = now() where style = 'openid'")
        self.assertEqual(introspect(tokens["access_token"]).json, {"active": False})

    def test_refreshes_of_a_token_family_are_limited(self):
        tokens, party = self.tokens(scope=self.SCOPE)
        other, _ = self.tokens(f"x-{self.own_email()}", visitor=self.stranger(), scope=self.SCOPE)

        def refresh(tokens):
            return party.token(grant_type="refresh_token", refresh_token=tokens["refresh_token"])

        for _ in range(99):
            tokens = self.expect(refresh(tokens), 200).json
        # One more, since one becomes available every six seconds.
        answers = [refresh(tokens)]
        while answers[-1].status == 200:
            tokens = answers[-1].json
            answers.append(refresh(tokens))
        self.error(answers[-1], 429, "too_many_attempts")
        self.assertLessEqual(int(answers[-1].headers["Retry-After"]), 7)
        # Its session continues, and others are unaffected.
        self.expect(refresh(other), 200)
        self.site.sql("update sessions set refresh_theoretical_arrival_at = now()")
        self.expect(refresh(tokens), 200)

    def stranger(self):
        self.user(f"x-{self.own_email()}")
        return self.new_visitor()
