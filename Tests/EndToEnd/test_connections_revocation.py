"""Refresh tokens of services are revoked there when an identity ends, and no answer shows them."""

import base64
import os
import unittest

from connections import ConnectionCase
from hosted import PASSWORD
from machine import wait_until
from parra import Client
from test_auth0_identities import LinkCase
from upstream_issuer import Reply

BUNDLE = "com.example.app"


class RevocationCase(ConnectionCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.apple = cls.connect("apple", email_trust="verified", audiences=[BUNDLE])
        cls.apple.native_clients = [BUNDLE]

    def setUp(self):
        super().setUp()
        self.apple.is_new("apple-" + self.own_email())
        self.before = len(self.apple.revoked)

    def sign_in(self, status=200):
        """Signs in by the code of a native app."""
        return self.expect(self.post("/v1/login/connection", {
            "connection": "apple", "code": self.apple.native_code(BUNDLE)}), status).json

    @property
    def token(self):
        """Returns the newest refresh token of Apple."""
        return list(self.apple.refresh_tokens)[-1]

    @property
    def revoked(self):
        """Returns the tokens that were revoked during the test."""
        return self.apple.revoked[self.before:]

    def guest(self):
        """Creates a guest who links by the code of a native app. Returns the user."""
        guest = self.expect(self.post("/v1/login/anonymous", {}), 200).json
        self.expect(self.attach(guest, provider="connection", connection="apple",
                                code=self.apple.native_code(BUNDLE)), 200)
        return guest["user_id"]

    def delete(self, grant):
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)

    def count(self, condition="true"):
        return int(self.site.sql(f"select count(*) from identity_tokens where {condition}"))

    def is_idle(self):
        return self.count("is_due") == 0 and self.site.sql(
            "select count(*) from mail_outbox where kind = 'revocation'") == "0"

    def wait_until_idle(self):
        wait_until(self.is_idle, what="an outbox without revocations")

    def are_revoked(self, *tokens):
        self.wait_until_idle()
        self.assertEqual(self.revoked, list(tokens))


class Ends(RevocationCase):
    """Each way in which an identity ends."""

    def test_a_user_deletes_the_account(self):
        grant = self.sign_in()
        replaced = self.token
        self.sign_in()
        self.assertNotEqual(replaced, self.token)
        self.assertEqual(self.count(f"user_id = '{grant['user_id']}'"), 1)
        self.assertEqual(self.revoked, [])
        asked = len(self.apple.asked("revoke"))
        self.delete(grant)
        self.are_revoked(self.token)
        # Once, and with the client that has got the token.
        [request] = self.apple.asked("revoke")[asked:]
        self.assertEqual(request.form["client_id"], BUNDLE)
        self.assertEqual(self.apple.refusals, [])
        self.assertEqual(self.count(f"user_id = '{grant['user_id']}'"), 0)

    def test_a_user_of_two_clients_has_two_tokens(self):
        grant = self.sign_in()
        native = self.token
        self.signed_in_at(self.apple)
        self.assertEqual(self.apple.refresh_tokens[self.token], self.apple.client_id)
        self.delete(grant)
        self.wait_until_idle()
        self.assertEqual(sorted(self.revoked), sorted([native, self.token]))

    def test_a_back_end_deletes_the_user(self):
        self.signed_in_at(self.apple)
        self.site.dossier("user", "delete", self.owner(self.apple), "--yes")
        self.are_revoked(self.token)

    def test_a_user_unlinks_the_identity(self):
        grant = self.sign_in()
        self.attach(grant, provider="password", email=(email := "own-" + self.own_email()),
                    password=PASSWORD)
        grant = self.expect(self.login(email, PASSWORD), 200).json
        [apple] = [one for one in self.me(grant, "/identities").json
                   if one["provider"].startswith("jwt:")]
        path = f"/v1/me/identities/{apple['id']}"
        self.expect(self.site.request("DELETE", path, token=grant["access_token"]), 204)
        self.are_revoked(self.token)
        # A later sign-in there is of a new user, who has a token of its own.
        self.apple.person.email = None
        again = self.sign_in()
        self.assertNotEqual(again["user_id"], grant["user_id"])
        self.delete(grant)
        self.wait_until_idle()
        self.assertEqual(self.count(f"user_id = '{again['user_id']}'"), 1)

    def test_a_guest_links_and_is_deleted(self):
        guest = self.guest()
        self.assertEqual(self.owner(self.apple), guest)
        self.site.dossier("user", "delete", guest, "--yes")
        self.are_revoked(self.token)

    def test_an_account_that_waits_for_its_owner_is_linked(self):
        grant = self.verified(self.apple.person.email, PASSWORD)
        waiting = self.sign_in(409)
        self.assertEqual(self.count(f"user_id = '{grant['user_id']}'"), 0)
        self.assertNotIn(self.token, str(waiting))
        self.expect(self.attach(grant, provider="pending", flow=waiting["flow"]), 200)
        self.assertEqual(self.count(f"user_id = '{grant['user_id']}'"), 1)
        self.delete(grant)
        self.are_revoked(self.token)

    def test_the_owner_of_the_address_takes_the_account_over(self):
        email = "victim-" + self.own_email()
        # An attacker may have made the account, until its address is verified.
        attacker = self.expect(self.register(email), 201).json
        self.expect(self.attach(attacker, provider="connection", connection="apple",
                                code=self.apple.native_code(BUNDLE)), 200)
        self.reset_by_mail(email, "the owner's horse")
        self.assertIsNone(self.owner(self.apple))
        self.are_revoked(self.token)

    def test_clients_of_parra(self):
        client = Client(self.site).launch()
        client.grant(client.tokens, grant_type="sign_in_with_apple",
                     code=self.apple.native_code(BUNDLE), id_token=self.apple.native_token(aud=BUNDLE))
        user = self.owner(self.apple)
        self.assertEqual(self.apple.refresh_tokens[self.token], BUNDLE)
        # The ID token alone proves the user. A code that is refused changes nothing.
        for code in ["forged", None]:
            client.grant(client.tokens, grant_type="sign_in_with_apple", code=code,
                         id_token=self.apple.native_token(aud=BUNDLE))
        wait_until(lambda: any("connection apple: no refresh token is kept" in line
                               for line in self.site.messages()), what="a line in the log")
        self.site.dossier("user", "delete", user, "--yes")
        self.are_revoked(self.token)

    def test_the_code_of_another_person_at_parra(self):
        code, other = self.apple.native_code(BUNDLE), self.apple.person
        self.apple.is_new("mine-" + self.own_email())
        client = Client(self.site).launch()
        client.grant(client.tokens, grant_type="sign_in_with_apple", code=code,
                     id_token=self.apple.native_token(aud=BUNDLE))
        self.assertEqual(self.count(f"user_id = '{self.owner(self.apple)}'"), 0)
        self.apple.person = other
        self.assertIsNone(self.owner(self.apple))


class OtherServices(RevocationCase):
    def test_any_service_with_refresh_tokens_and_a_revocation_endpoint(self):
        issuer = self.connect("oidc", "offline")
        issuer.is_new()
        token = "r-" + base64.urlsafe_b64encode(os.urandom(24)).decode()
        issuer.lie(token={"refresh_token": token})
        self.signed_in_at(issuer)
        user = self.owner(issuer)
        self.assertEqual(self.count(f"user_id = '{user}'"), 1)
        self.site.dossier("user", "delete", user, "--yes")
        self.wait_until_idle()
        [request] = issuer.asked("revoke")
        self.assertEqual(request.form["token"], token)

    def test_a_service_without_refresh_tokens_costs_no_row(self):
        issuer = self.connect("oidc", "plain")
        issuer.is_new()
        self.signed_in_at(issuer)
        self.assertEqual(self.count(f"user_id = '{self.owner(issuer)}'"), 0)


class Outages(RevocationCase):
    def test_apple_is_away_and_back(self):
        grant = self.sign_in()
        token = self.token
        asked = len(self.apple.asked("revoke"))
        # The last answer is that of a wrong key, which the operator can mend.
        for reply in [Reply({}, 503), Reply({"error": "invalid_client"}, 400)]:
            self.apple.lie(revoke=reply)
            if self.count(f"user_id = '{grant['user_id']}' and not is_due"):
                self.delete(grant)
            asked = len(self.apple.asked("revoke"))
            self.site.sql("update mail_outbox set next_attempt_at = now() where kind = 'revocation'")
            wait_until(lambda: len(self.apple.asked("revoke")) > asked, what="an attempt")
        self.assertEqual(self.revoked, [])
        # Sign-ins there go on meanwhile.
        self.apple.is_new("meanwhile-" + self.own_email())
        self.sign_in()
        self.apple.honest()
        self.site.dossier("mail", "retry", "--all", check=False)
        self.site.sql("update mail_outbox set next_attempt_at = now() where kind = 'revocation'")
        self.are_revoked(token)

    def test_a_token_that_is_not_valid_any_more(self):
        grant = self.sign_in()
        del self.apple.refresh_tokens[self.token]
        asked = len(self.apple.asked("revoke"))
        self.delete(grant)
        self.are_revoked()
        self.assertEqual(len(self.apple.asked("revoke")), asked + 1)


class Removed(RevocationCase):
    def test_the_connection_is_removed_first(self):
        grant = self.sign_in()
        self.remove(self.apple, "--force")
        self.delete(grant)
        self.are_revoked()
        wait_until(lambda: any(
            "refresh tokens are not revoked: connection apple does not exist any more" in line
            for line in self.site.messages()), what="a line in the log")
        self.assertEqual(self.count(), 0)


class Replaced(RevocationCase):
    def test_the_connection_is_of_another_service_now(self):
        grant = self.sign_in()
        self.remove(self.apple, "--force")
        other = self.upstreams.add("apple", "other")
        self.site.dossier("connection", "create", "apple", "--app", "default",
                          *self.arguments({**other.settings, "audiences": [BUNDLE]}), check=False)
        other.native_clients = [BUNDLE]
        self.delete(grant)
        self.are_revoked()
        self.assertEqual(other.asked("revoke"), [])
        wait_until(lambda: any("connection apple is of another issuer now" in line
                               for line in self.site.messages()), what="a line in the log")


class Secrecy(RevocationCase):
    SETTINGS = {**RevocationCase.SETTINGS, "DOSSIER_LOG": "debug"}

    def test_the_token_is_shown_to_nobody(self):
        grant = self.sign_in()
        user, access = grant["user_id"], grant["access_token"]
        answers = [str(grant)] + [
            self.expect(self.site.get(path, token=access), 200).body.decode()
            for path in ["/v1/me", "/v1/me/identities", "/v1/me/export"]]
        answers.append(str(self.site.dossier("user", "show", user)))
        answers.append(self.site.sql(f"select * from identity_tokens where user_id = '{user}'"))
        self.apple.lie(revoke=Reply({}, 503))
        asked = len(self.apple.asked("revoke"))
        self.delete(grant)
        wait_until(lambda: len(self.apple.asked("revoke")) > asked, what="an attempt")
        answers.append(str(self.site.dossier("mail", "list")))
        self.apple.honest()
        self.site.sql("update mail_outbox set next_attempt_at = now() where kind = 'revocation'")
        self.are_revoked(self.token)
        answers.append((self.site.folder / "dossierd.log").read_text())
        for text in answers:
            self.assertTrue(text)
            self.assertNotIn(self.token, text)


class MasterKeys(RevocationCase):
    def test_a_new_master_key(self):
        grant = self.sign_in()
        old = self.site.environment["DOSSIER_MASTER_KEY"]
        new = base64.b64encode(os.urandom(32)).decode()
        for keys in [f"{old},{new}", f"{new},{old}"]:
            self.restart(DOSSIER_MASTER_KEY=keys)
        self.assertEqual(self.site.dossier("key", "reencrypt")["discarded"], [])
        self.restart(DOSSIER_MASTER_KEY=new)
        self.site.dossier("user", "delete", grant["user_id"], "--yes")
        self.are_revoked(self.token)


class Auth0Links(LinkCase, RevocationCase):
    """The token goes with an identity to another user and back."""

    SETTINGS = {**RevocationCase.SETTINGS, **LinkCase.SETTINGS}

    def test_a_link_and_an_unlink_revoke_nothing(self):
        second = self.sign_in()["user_id"]
        _, primary = self.wire_user()
        first = primary.split("|")[1]
        self.expect(self.linked(primary, "auth0", f"auth0|{second}"), 201)
        self.assertEqual(self.owner(self.apple), first)
        self.assertEqual(self.count(f"user_id = '{first}' and not is_due"), 1)
        self.assertEqual(self.count(f"user_id = '{second}'"), 0)
        path = f"users/{primary}/identities/apple/{self.apple.person.subject}"
        self.expect(self.management("DELETE", path, token=self.back_end_token()), 200)
        self.assertEqual(self.owner(self.apple), second)
        self.assertEqual(self.count(f"user_id = '{second}' and not is_due"), 1)
        self.assertEqual(self.count(f"user_id = '{first}'"), 0)
        self.assertEqual(self.revoked, [])
        self.site.dossier("user", "delete", second, "--yes")
        self.are_revoked(self.token)


if __name__ == "__main__":
    unittest.main()
