"""Back-channel logout: the server notifies clients of ended sessions."""

import http.server
import queue
import threading
import unittest
import urllib.parse

from asking import MERGE
from cases import Held
from hosted import PASSWORD
from machine import wait_until
from openid import CALLBACK, OpenIDCase, Party, claims, head, verified


class BackChannelCase(OpenIDCase):
    # The client of the test listens on this machine.
    SETTINGS = {**OpenIDCase.SETTINGS, "DOSSIER_ISSUER_NETWORK": "any"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.status = 200
        cls.received = queue.Queue()
        case = cls

        class Client(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                case.received.put((self.headers["Content-Type"], body.decode()))
                self.send_response(case.status)
                self.end_headers()

            def log_message(self, *_):
                pass

        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Client)
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.shutdown()
        cls.server.server_close()
        super().tearDownClass()

    @classmethod
    def set_logout_url(cls, client):
        """Sets the back-channel logout URL of a client."""
        cls.site.dossier("client", "set", client["id"], "backchannel_logout_url="
                         f"http://127.0.0.1:{cls.server.server_port}/bye")

    def message(self, keys=None):
        kind, body = self.received.get(timeout=120)
        self.assertEqual(kind, "application/x-www-form-urlencoded")
        token = urllib.parse.parse_qs(body)["logout_token"][0]
        self.assertEqual(head(token)["typ"], "logout+jwt")
        return verified(token, keys or self.keys)

    def wait_for_an_empty_queue(self):
        wait_until(lambda: self.site.sql(
            "select (select count(*) from mail_outbox where kind = 'logout') + (select count(*) from "
            "sessions where notifies and ended_at is not null)") == "0", what="an empty queue")


class LockedUser(BackChannelCase):
    # The collection of the messages waits this long for a lock.
    SETTINGS = {**BackChannelCase.SETTINGS, "DOSSIER_LOCK_SECONDS": "1"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.set_logout_url(cls.spa)

    def test_a_locked_user_does_not_delay_the_notices_about_others(self):
        users = []
        for name in ["held", "free"]:
            self.visitor = self.new_visitor()
            email, user = self.user(f"{name}@example.com")
            tokens, _ = self.tokens(email, scope="openid")
            users.append((user, claims(tokens["id_token"])["sid"]))
        (held, first), (free, second) = users
        end = "update sessions set ended_at = now(), end_reason = 'logout' where notifies and user_id = "
        with Held(self.site, f"{end}'{held}'; commit; begin; "
                             f"select from sessions where user_id = '{held}' for update"):
            self.site.sql(f"{end}'{free}'")
            received = {self.message()["sid"]}
            while second not in received:
                received.add(self.message()["sid"])
        while first not in received:
            received.add(self.message()["sid"])
        self.wait_for_an_empty_queue()


class DamagedRows(BackChannelCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.set_logout_url(cls.spa)

    def test_a_session_without_an_issuer_stops_no_notice(self):
        email, user = self.user()
        sessions = []
        for _ in range(3):
            self.visitor = self.new_visitor()
            tokens, _ = self.tokens(email, scope="openid")
            sessions.append(claims(tokens["id_token"])["sid"])
        damaged, stray, whole = sessions
        self.site.sql(f"update sessions set issuer = null where session_id = '{damaged}'")
        self.site.sql(f"update sessions set client_id = null where session_id = '{stray}'")
        self.site.sql("update sessions set ended_at = now(), end_reason = 'logout' "
                      f"where notifies and user_id = '{user}'")
        self.assertEqual(self.message()["sid"], whole)
        self.wait_for_an_empty_queue()
        for session in [damaged, stray]:
            wait_until(lambda: any(f"no logout notice about the session {session}" in line
                                   for line in self.site.messages()), what=f"a line about {session}")
        # The deletion of such a user succeeds too.
        self.visitor = self.new_visitor()
        tokens, _ = self.tokens(email, scope="openid")
        session = claims(tokens["id_token"])["sid"]
        self.site.sql(f"update sessions set issuer = null where session_id = '{session}'")
        self.site.dossier("user", "delete", "--app", "default", user, "--yes")


class BackChannel(BackChannelCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(email_code=True)
        cls.third = cls.new_client("single_page", f"callback_urls={CALLBACK}")
        cls.site.dossier("client", "set", cls.third["id"], "first_party=false")
        for client in [cls.spa, cls.third]:
            cls.set_logout_url(client)

    def test_a_client_is_notified_of_the_end_of_its_session(self):
        tokens, _ = self.tokens(scope="openid")
        identity = claims(tokens["id_token"])
        type(self).status = 500
        self.visitor.open("/oidc/logout")
        self.visitor.submit("/oidc/logout/confirm")
        first = self.message()
        self.assertEqual(
            {name: first[name] for name in ["iss", "aud", "sub", "sid", "events"]},
            {"iss": self.issuer, "aud": self.spa["id"], "sub": identity["sub"],
             "sid": identity["sid"],
             "events": {"http://schemas.openid.net/event/backchannel-logout": {}}})
        self.assertNotIn("nonce", first)
        # The client had an error, so it gets the message again.
        type(self).status = 200
        self.site.sql("update mail_outbox set next_attempt_at = now() where kind = 'logout'")
        second = self.message()
        self.assertEqual(second["sid"], first["sid"])
        self.assertNotEqual(second["jti"], first["jti"])
        wait_until(lambda: self.site.sql("select count(*) from mail_outbox where kind = 'logout'") == "0",
                   what="its end")

    # The functions that end a session of a client.

    def sign_out_at_the_account_page(self):
        self.visitor.open("/account")
        self.visitor.submit("/account/sign-out")

    def sign_out_without_a_question(self):
        self.visitor.open(f"/v2/logout?client_id={self.spa['id']}")

    def remove_from_the_browser(self):
        self.visitor.open("/account/switch")
        self.visitor.submit("/switch/remove")

    def sign_all_out(self):
        second = f"second-{self.email}"
        self.user(second)
        self.signed_in(Party(self, self.web, prompt="login"), second)
        self.visitor.open("/account/switch")
        self.visitor.submit("/switch/sign-out")

    def end_all_others(self):
        other = self.new_visitor()
        self.sign_in(self.email, visitor=other)
        other.open("/account/sessions")
        other.submit("/sessions/end-others")

    def change_the_password(self):
        self.visitor.open("/account/password")
        self.visitor.submit(password=PASSWORD, new_password="another horse")

    def reset_the_password(self):
        self.reset_by_mail(self.email, "another horse")

    def take_the_account_over(self):
        """Takes the account over with a mailed code, since the address is not verified."""
        self.sign_in_by_code(self.email)

    def end_sessions_at_the_api(self):
        grant = self.expect(self.login(self.email, PASSWORD), 200).json
        self.expect(self.site.request("DELETE", "/v1/me/sessions", token=grant["access_token"]), 204)

    def delete_the_account_at_the_api(self):
        grant = self.expect(self.login(self.email, PASSWORD), 200).json
        self.expect(self.site.request("DELETE", "/v1/me", token=grant["access_token"]), 204)

    def block(self):
        self.site.dossier("user", "block", "--yes", "--app", "default", self.user_id)

    def delete(self):
        self.site.dossier("user", "delete", "--app", "default", self.user_id, "--yes")

    def log_out(self):
        self.site.dossier("user", "logout", "--yes", "--app", "default", self.user_id)

    def end_all_sessions_of_the_app(self):
        self.site.dossier("session", "end-all", "--yes", "--app", "default")

    def use_an_old_refresh_token(self):
        first = self.offline["refresh_token"]
        for _ in range(2):
            answer = self.party.token(
                grant_type="refresh_token", refresh_token=self.offline["refresh_token"])
            self.offline = self.expect(answer, 200).json
        self.error(self.party.token(grant_type="refresh_token", refresh_token=first), 400,
                   "invalid_grant")

    def test_every_end_of_a_session_is_notified(self):
        for occasion in [
                self.sign_out_at_the_account_page, self.sign_out_without_a_question,
                self.remove_from_the_browser, self.sign_all_out, self.end_all_others, self.change_the_password,
                self.reset_the_password, self.take_the_account_over, self.end_sessions_at_the_api,
                self.delete_the_account_at_the_api, self.block, self.delete, self.log_out,
                self.end_all_sessions_of_the_app]:
            with self.subTest(occasion.__name__):
                self.visitor = self.new_visitor()
                name = occasion.__name__.replace("_", "-")
                self.email, self.user_id = self.user(f"{name}@example.com")
                tokens, _ = self.tokens(self.email, scope="openid")
                occasion()
                self.assertEqual(self.message()["sid"], claims(tokens["id_token"])["sid"])
                self.assertEqual(self.userinfo(tokens["access_token"]).status, 401)
        self.wait_for_an_empty_queue()
        self.assertTrue(self.received.empty())

    def test_a_reused_refresh_token_notifies_the_client(self):
        self.offline, self.party = self.tokens(scope="openid offline_access")
        session = claims(self.offline["id_token"])["sid"]
        self.use_an_old_refresh_token()
        self.assertEqual(self.message()["sid"], session)

    def test_revoked_consent_notifies_the_client(self):
        email, _ = self.user()
        party = Party(self, self.third, scope="openid")
        self.signed_in(party, email)
        code = party.code(self.visitor.submit("/consent", button="allow"))
        tokens = self.expect(party.exchange(code), 200).json
        self.visitor.open(f"/account/applications/{self.third['id']}")
        self.visitor.submit()
        found = self.message()
        self.assertEqual((found["sid"], found["aud"]),
                         (claims(tokens["id_token"])["sid"], self.third["id"]))

    def test_a_removed_client_loses_its_sessions_at_once(self):
        for verb in ["disable", "delete"]:
            with self.subTest(verb):
                client = self.new_client("single_page", f"callback_urls={CALLBACK}")
                self.set_logout_url(client)
                email, user = self.user(f"{verb}-client@example.com")
                party = Party(self, client, prompt="login", audience=f"{self.issuer}api/v2/",
                              scope="openid read:current_user offline_access")
                self.signed_in(party, email)
                code = party.code(self.visitor.submit("/consent", button="allow"))
                tokens = self.expect(party.exchange(code), 200).json
                read = lambda: self.site.get(
                    f"/api/v2/users/auth0%7C{user}", token=tokens["access_token"]).status
                self.assertEqual(read(), 200)
                self.site.dossier("client", verb, client["id"], *(["--yes"] if verb == "delete" else []))
                self.assertEqual(read(), 401)
                self.assertEqual(self.site.sql(
                    "select string_agg(end_reason, ' ') from sessions "
                    f"where client_id = '{client['id']}'"), "client_disabled")
                found = self.message()
                self.assertEqual((found["sid"], found["aud"]),
                                 (claims(tokens["id_token"])["sid"], client["id"]))

    def test_a_repeated_disabling_ends_sessions_that_the_first_left(self):
        client = self.new_client("single_page", f"callback_urls={CALLBACK}")
        email, _ = self.user()
        party = Party(self, client, prompt="login", scope="openid")
        self.expect(party.exchange(party.code(self.signed_in(party, email))), 200)
        # As after an interruption between the two steps.
        self.site.sql("update clients set disabled_at = now(), version = version + 1 "
                      f"where client_id = '{client['id']}'")
        answer = self.site.request("PATCH", f"/v1/clients/{client['id']}", {"disabled": True},
                                   {**MERGE, "If-Match": '"1"'},
                                   token=self.site.client("--operator")["secret"])
        self.expect(answer, 412, "precondition_failed")
        self.assertEqual(self.site.sql(
            "select string_agg(end_reason, ' ') from sessions "
            f"where client_id = '{client['id']}'"), "client_disabled")

    def test_an_earlier_sign_in_of_the_browser_is_notified(self):
        email, _ = self.user()
        sessions = set()
        for _ in range(2):
            party = Party(self, self.spa, prompt="login", scope="openid")
            tokens = party.exchange(party.code(self.signed_in(party, email))).json
            sessions.add(claims(tokens["id_token"])["sid"])
        self.visitor.open(f"/v2/logout?client_id={self.spa['id']}")
        self.assertEqual({self.message()["sid"] for _ in sessions}, sessions)

    def test_a_client_that_ends_its_own_session_is_not_notified(self):
        own, party = self.tokens(scope="openid offline_access")
        other = Party(self, self.spa, scope="openid")
        tokens = other.exchange(other.code(self.visitor.open(other.path))).json
        body = urllib.parse.urlencode(
            {"client_id": self.spa["id"], "token": own["refresh_token"]})
        self.expect(self.site.request("POST", "/oauth/revoke", body, {
            "Content-Type": "application/x-www-form-urlencoded"}), 200)
        self.visitor.open(f"/v2/logout?client_id={self.spa['id']}")
        self.assertEqual(self.message()["sid"], claims(tokens["id_token"])["sid"])
        self.wait_for_an_empty_queue()
        self.assertTrue(self.received.empty())


if __name__ == "__main__":
    unittest.main()
