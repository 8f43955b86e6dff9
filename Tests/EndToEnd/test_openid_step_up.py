"""Clients ask for a second factor by `/authorize`."""

import unittest

from authenticator import FactorCase
from hosted import PASSWORD
from openid import Party
from test_openid_requests import RequestCase


MFA = "http://schemas.openid.net/pape/policies/2007/06/multi-factor"


class SecondFactors(FactorCase, RequestCase):
    """A client that asks for a second factor by `acr_values`, and an app that requires one."""

    def setUp(self):
        super().setUp()
        self.email = self.own_email()
        self.grant = self.verified(self.email, PASSWORD)
        self.tokens(self.email)

    def test_a_client_asks_for_a_second_factor(self):
        factor, _ = self.protected(self.grant)
        self.later(self.grant["user_id"])
        self.visitor = self.new_visitor()
        party = Party(self, self.spa)
        self.signed_in(party, self.email)
        identity = self.code_of(self.visitor.submit("/factor", code=factor.code()), party)
        self.assertEqual(identity["acr"], MFA)
        self.assertEqual(self.finished(acr_values=f"x {MFA}", prompt="none")["acr"], MFA)

    def test_a_session_without_a_second_factor_must_step_up(self):
        factor, _ = self.protected(self.grant)
        self.later(self.grant["user_id"])
        # The session of the browser is older than the factor.
        self.visitor = self.new_visitor()
        self.signed_in(Party(self, self.spa), self.email)
        self.visitor.submit("/factor", code=factor.code())
        self.later(self.grant["user_id"])
        self.site.sql("update sessions set amr = 'pwd'")
        self.assertNotIn("acr", self.finished())
        answer = self.answered(acr_values=MFA, prompt="none")
        self.assertEqual((answer["error"], answer["error_description"]),
                         ("login_required", "Multifactor authentication required"))
        page, party = self.begin(acr_values=MFA)
        self.shows(page, "Confirm that it's you")
        self.visitor.submit("/password", password=PASSWORD)
        identity = self.code_of(self.visitor.submit("/factor", code=factor.code()), party)
        self.assertEqual((identity["acr"], identity["amr"]), (MFA, ["pwd", "mfa", "otp"]))

    def test_a_user_without_a_factor_gets_no_acr(self):
        page, party = self.begin(acr_values=MFA)
        self.assertEqual(page.forms[0].fields["email"], self.email)
        self.shows(page, "Confirm that it's you")
        identity = self.code_of(self.visitor.submit("/password", password=PASSWORD), party)
        self.assertNotIn("acr", identity)

    def test_a_hidden_frame_gets_an_error_if_a_factor_is_required(self):
        self.set_mfa("required")
        answer = self.answered(prompt="none")
        self.assertEqual((answer["error"], answer["error_description"]),
                         ("login_required", "Multifactor authentication required"))
        self.shows(self.begin()[0], "Sign in")


if __name__ == "__main__":
    unittest.main()
