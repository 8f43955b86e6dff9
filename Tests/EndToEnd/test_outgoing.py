"""Receivers that hang, drip, refuse or close: they delay no mail, notice or sign-in of others."""

import socket
import threading
import unittest

from cases import Case
from issuers import IssuerCase, Key, KeyServer, claims
from machine import wait_until
from openid import claims as id_claims
from test_openid_backchannel import BackChannelCase


class Receivers:
    """Listens at many ports, each of which treats its connections in its own way."""

    def __init__(self, count):
        self.sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
        self.ports = [one.getsockname()[1] for one in self.sockets]
        self.calls = dict.fromkeys(self.ports, 0)
        self.open = {}
        for number, one in enumerate(self.sockets):
            threading.Thread(target=self.serve, args=(one, number), daemon=True).start()

    def serve(self, listener, number):
        port = self.ports[number]
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            self.calls[port] += 1
            self.open.setdefault(port, []).append(connection)
            if number % 5 == 1:
                threading.Thread(target=self.drip, args=(connection,), daemon=True).start()
            elif number % 5 == 2:
                connection.close()

    def drip(self, connection):
        """Sends a response byte by byte, for ever."""
        try:
            connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
            while True:
                connection.sendall(b"x")
                threading.Event().wait(0.1)
        except OSError:
            pass

    def stop(self):
        for one in self.sockets:
            # `close` alone does not wake the thread that accepts.
            one.shutdown(socket.SHUT_RDWR)
            one.close()
        for connections in self.open.values():
            for connection in connections:
                connection.close()


class HangingReceivers(BackChannelCase):
    COUNT = 50

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.set_logout_url(cls.spa)
        cls.receivers = Receivers(cls.COUNT)
        cls.other = cls.site.add_app("other")
        # Sessions of one user, each of a client whose receiver does not answer.
        cls.site.sql("".join(
            f"insert into clients (client_id, app_id, kind, name, scope, settings) "
            f"select '{index:024x}', app_id, kind, 'hanging {index}', scope, settings || "
            f"'{{\"backchannel_logout_url\": \"http://127.0.0.1:{port}/bye\"}}' "
            f"from clients where client_id = '{cls.spa['id']}';"
            for index, port in enumerate(cls.receivers.ports)))

    @classmethod
    def tearDownClass(cls):
        cls.receivers.stop()
        super().tearDownClass()

    def queued(self):
        return int(self.site.sql("select count(*) from mail_outbox where kind = 'logout'"))

    def end_sessions(self, count):
        """Ends sessions of all clients that do not answer: `count` at each. Returns a live one."""
        self.visitor = self.new_visitor()
        email, user = self.user()
        tokens, _ = self.tokens(email, scope="openid")
        columns = self.site.sql(
            "select string_agg(attname, ', ') from pg_attribute where attrelid = 'sessions'::regclass "
            "and attnum > 0 and not attisdropped and attname not in "
            "('session_id', 'client_id', 'ended_at', 'end_reason', 'notifies')")
        self.site.sql(
            f"insert into sessions (session_id, client_id, ended_at, end_reason, notifies, {columns}) "
            f"select new_object_id(), clients.client_id, now(), 'logout', true, {columns} from sessions, "
            f"(select lpad(to_hex(c), 24, '0') as client_id from generate_series(0, {self.COUNT - 1}) c, "
            f"generate_series(1, {count})) clients where user_id = '{user}' and notifies")
        return user, id_claims(tokens["id_token"])["sid"]

    def test_mails_and_notices_of_others_do_not_wait(self):
        user, session = self.end_sessions(6)
        wait_until(lambda: sum(self.receivers.calls.values()) >= 10, what="calls that hang")
        waiting = self.queued()
        self.assertGreater(waiting, self.COUNT)
        # A mail of another app, one of the same app, and a notice to a client that answers.
        self.expect(self.register("other@example.com", headers=self.other), 201)
        self.expect(self.register("same@example.com"), 201)
        for email in ["other@example.com", "same@example.com"]:
            self.site.mailed(email, "ds_verify")
        self.site.sql(f"update sessions set ended_at = now(), end_reason = 'logout' "
                      f"where session_id = '{session}'")
        self.assertEqual(self.message()["sid"], session)
        # The others still wait: none was given up, nor answered.
        wait_until(lambda: self.queued() == 6 * self.COUNT, what="the end of the notice that was answered")


class HangingIssuers(IssuerCase):
    def test_a_sign_in_with_a_token_of_a_healthy_issuer_does_not_wait(self):
        hanging = KeyServer()
        self.addCleanup(hanging.stop)
        hanging.gate.clear()
        key = Key(self.site.folder, "unknown")
        issuers = [f"https://{index}.example.com" for index in range(50)]
        for index, issuer in enumerate(issuers):
            self.site.add_issuer(f"hanging-{index}", issuer, jwks_url=f"{hanging.url}?{index}")
        answers = []

        def sign_in(issuer):
            token = key.token(claims("ada", issuer=issuer))
            answers.append(self.post("/v1/login/jwt", {"token": token}))

        threads = [threading.Thread(target=sign_in, args=(issuer,)) for issuer in issuers]
        for thread in threads:
            thread.start()
        wait_until(lambda: hanging.asked >= len(issuers), what="all fetches at once")
        token = self.key.token(claims("grace"))
        self.expect(self.post("/v1/login/jwt", {"token": token}), 200)
        for thread in threads:
            thread.join()
        for answer in answers:
            self.expect(answer, 503, "issuer_unavailable")


class HangingRelay(Case):
    """A relay that accepts connections and says nothing holds no worker up."""

    @classmethod
    def setUpClass(cls):
        cls.relay = Receivers(1)
        cls.SETTINGS = {"DOSSIER_MAIL": f"smtp://127.0.0.1:{cls.relay.ports[0]}"}
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.relay.stop()

    def test_requests_are_answered_while_mails_hang(self):
        for index in range(20):
            self.expect(self.register(f"many{index}@example.com"), 201)
        wait_until(lambda: self.relay.calls[self.relay.ports[0]] >= 4, what="mails under way")
        self.expect(self.register("last@example.com"), 201)
        self.assertEqual(self.site.sql("select count(*) from mail_outbox"), "21")


if __name__ == "__main__":
    unittest.main()
