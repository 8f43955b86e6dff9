"""Attackers who want to add, use or keep a passkey that is not the owner's."""

import html
import json
import re
import unittest

from asking import ADDRESS
from hosted import PASSWORD
from openid import Party
from passkeys import RP_ID, Passkey
from test_passkeys_my_account import ALL, METHODS, MyAccountCase


def asked_by(page, kind="get"):
    """Returns the options of a page."""
    options = re.search(rf'data-passkey="{kind}" data-options="([^"]*)"', page.body.decode())[1]
    return json.loads(html.unescape(options))


class AttackCase(MyAccountCase):
    def sign_in_at_pages(self, passkey, party):
        """Signs in at the pages with a passkey; returns the page that follows."""
        self.visitor.open(party.path)
        credential = passkey.shown(asked_by(self.visitor.page))
        return self.visitor.submit("/passkey", credential=json.dumps(credential))

    def remove(self, grant, passkey):
        self.expect(self.site.request(
            "DELETE", f"/v1/me/passkeys/{passkey}", token=grant["access_token"]), 204)


class Keeping(AttackCase):
    def test_sessions_of_clients_end_with_the_passkey(self):
        grant = self.verified(self.own_email(), PASSWORD)
        passkey = self.added(grant)
        [own] = self.passkeys(grant)
        party = Party(self, self.spa, scope="openid offline_access read:posts", audience=self.API)
        page = self.sign_in_at_pages(passkey, party)
        tokens = self.expect(party.exchange(party.code(page)), 200).json
        manager = Party(self, self.spa, scope=ALL, audience=self.issuer + "me/")
        page = self.visitor.open(manager.path)
        managing = self.expect(manager.exchange(manager.code(page)), 200).json["access_token"]
        self.expect(self.userinfo(tokens["access_token"]), 200)
        self.assertEqual(len(self.listed(managing)), 1)
        self.remove(grant, own["id"])
        self.shows(self.visitor.open("/account"), "Sign in")
        self.expect(self.userinfo(tokens["access_token"]), 401)
        self.error(party.token(
            grant_type="refresh_token", refresh_token=tokens["refresh_token"]), 400, "invalid_grant")
        self.wrong(self.ask("GET", METHODS, managing), 401, "session_ended")
        # Those of other credentials stay.
        self.expect(self.me(grant), 200)

    def test_a_registration_does_not_make_its_user_again(self):
        flow, options = self.options("/v1/register/passkey")
        body = {"flow": flow, "credential": Passkey().made(options)}
        grant = self.expect(self.post("/v1/register/passkey", body), 201).json
        self.assertEqual(self.site.sql(
            "select expires_at > now() + interval '15 minutes' from authentication_flows "
            f"where place = '{grant['user_id']}'"), "t")
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)
        self.expect(self.post("/v1/register/passkey", body), 401, "passkey_invalid")
        self.assertEqual(self.site.sql(
            f"select count(*) from users where user_id = '{grant['user_id']}'"), "0")


class Adding(AttackCase):
    def test_the_offer_after_a_password_needs_a_fresh_sign_in(self):
        email, user = self.user()
        party = Party(self, self.spa)
        self.visitor.open(party.path)
        self.visitor.submit(email=email)
        self.visitor.submit("/password", password=PASSWORD, platform="1")
        page = self.shows(self.visitor.page, "Sign in faster with a passkey")
        made = json.dumps(Passkey().made(asked_by(page, "create")))
        self.site.sql("update sessions set authenticated_at = now() - interval '30 minutes' "
                      f"where user_id = '{user}'")
        form = self.visitor.form("/passkey-offer")
        self.shows(self.visitor.submit("/passkey-offer", credential=made), "Sign in")
        self.assertEqual(self.site.sql(
            f"select count(*) from passkeys where user_id = '{user}'"), "0")
        self.shows(self.visitor.open(form.action), "Sign in")

    def test_a_guest_adds_one_where_the_app_requires_two_factors(self):
        self.set_mfa("required")
        guest = self.expect(self.post("/v1/login/anonymous", {}), 200).json
        user = guest["user_id"]
        passkey = self.added(guest)
        self.assertEqual(self.site.sql(
            "select provider, amr from sessions "
            f"where user_id = '{user}' and ended_at is null"), "passkey|pop user mfa")
        guest.update(self.expect(self.refresh(guest), 200).json)
        self.assertFalse(self.expect(self.me(guest), 200).json["anonymous"])
        self.assertEqual(self.expect(self.show(passkey), 200).json["user_id"], user)

    def test_a_session_without_the_required_factor_adds_none(self):
        email = self.own_email()
        self.added(self.verified(email, PASSWORD))
        token = self.token(email)
        path, session, options = self.begun(token)
        self.set_mfa("required")
        answer = self.ask("POST", f"{path}/verify", token, {
            "auth_session": session, "authn_response": Passkey().made(options)})
        self.wrong(answer, 401, "reauthentication_required")
        self.assertEqual(len(self.listed(token)), 1)


class Using(AttackCase):
    def test_pages_of_another_app_do_not_remove_it_from_the_device(self):
        passkey, grant = self.registered()
        other = self.site.add_app("shares", passkey="optional", passkey_rp_id=RP_ID)

        def show():
            flow, options = self.options("/v1/login/passkey", headers=other)
            return self.post("/v1/login/passkey", {
                "flow": flow, "credential": passkey.shown(options)}, headers=other)

        # A page reports only an unknown passkey to the browser.
        self.expect(show(), 401, "passkey_invalid")
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)
        self.expect(show(), 401, "passkey_unknown")

    def test_strangers_do_not_stop_the_owner_in_the_network_of_the_passkey(self):
        email, home = self.own_email(), "203.0.113.7"
        self.setting(mails_per_email_daily=2)
        flow, options = self.options("/v1/register/passkey", {"email": email})
        grant = self.expect(self.post("/v1/register/passkey", {
            "flow": flow, "credential": Passkey().made(options)}, headers={ADDRESS: home}), 201).json
        self.expect(self.verify(self.site.mailed(email, "ds_verify"), grant), 204)

        def ask(network):
            return self.post("/v1/login/code/request", {"email": email},
                             headers={ADDRESS: network}).status

        strangers = [ask(f"198.51.100.{number}") for number in range(5)]
        self.assertIn(429, strangers)
        self.assertEqual([ask("198.51.100.9"), ask(home)], [429, 202])


if __name__ == "__main__":
    unittest.main()
