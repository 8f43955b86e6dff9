"""The consent of users, and what revokes it."""

import urllib.parse

from hosted import PASSWORD
from openid import CALLBACK, Party, OpenIDCase


class Consent(OpenIDCase):
    def setUp(self):
        super().setUp()
        self.third = self.new_client("single_page", f"callback_urls={CALLBACK}")
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
        for scope in [None, "", "address"]:
            silent = Party(self, self.third, prompt="none", scope=scope)
            answer = silent.answer(self.visitor.open(silent.path))
            self.assertEqual(answer["error"], "consent_required", scope)

    def test_a_code_is_revoked_with_the_consent(self):
        party = Party(self, self.third, scope="openid offline_access")
        self.signed_in(party, self.email)
        code = party.code(self.visitor.submit("/consent", button="allow"))
        self.site.sql("delete from consents")
        self.error(party.exchange(code), 400, "invalid_grant")

    def test_a_callback_url_that_is_removed_during_consent_gets_no_code(self):
        party = Party(self, self.third)
        self.signed_in(party, self.email)
        self.site.dossier("client", "set", self.third["id"], f"callback_urls={CALLBACK}2")
        page = self.visitor.submit("/consent", button="allow")
        self.shows(page, "Wrong return address", status=400)
        self.assertNotIn(b"code=", page.body)

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

    def test_the_choice_of_an_account_confirms_no_native_app(self):
        self.tokens(self.email)
        party = Party(self, self.native, redirect="com.Example.my-app://cb",
                      prompt="select_account")
        self.shows(self.visitor.open(party.path), "Choose an account")
        page = self.visitor.submit("/choose")
        self.assertNotIn(b"code=", page.body)
        self.expect(party.exchange(party.code(self.visitor.submit("/confirm"))), 200)
