"""How often a sign-in waits for the database."""

import socket
import threading
import unittest

from cases import Case
from hosted import Visitor
from machine import wait_until
from parra import Client
from test_auth0 import Auth0Case

PASSWORD = "correct horse"
ATTEMPTS = 5
ENDS = {"transaction.commit", "transaction.rollback"}
TRANSACTION = {"transaction.begin", *ENDS}


class Relay:
    """Passes the messages between dossierd and PostgreSQL, and counts the round trips.

    dossierd ends the statements that it sends at once by one `Sync`, and waits for its answer.
    """

    def __init__(self, folder):
        # The names of the statements of each trip, with those before it in its transaction.
        self.trips = []
        self.server = str(folder / ".s.PGSQL.5432")
        self.folder = folder / "relay"
        self.folder.mkdir()
        self.folder.chmod(0o755)
        path = self.folder / ".s.PGSQL.5432"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        path.chmod(0o777)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(self.server)
            for body in [lambda: self.send(client, server), lambda: self.answer(server, client)]:
                threading.Thread(target=body, daemon=True).start()

    def send(self, client, server):
        """Forwards the client's messages. The first one has no kind, and each has its length."""
        waiting, head = b"", 0
        names = set()
        while data := client.recv(65536):
            waiting += data
            while len(waiting) >= head + 4:
                length = head + int.from_bytes(waiting[head:head + 4], "big")
                if len(waiting) < length:
                    break
                kind = waiting[:1] if head else b""
                if kind == b"B":
                    # The names of the portal and of the statement.
                    names.add(waiting[5:length].split(b"\0")[1].decode())
                elif kind == b"S":
                    self.trips.append(frozenset(names))
                    # Later trips are those of the same transaction until it ends.
                    if not "transaction.begin" in names or names & ENDS:
                        names = set()
                waiting, head = waiting[length:], 1
            server.sendall(data)
        server.shutdown(socket.SHUT_WR)

    def answer(self, server, client):
        while data := server.recv(65536):
            client.sendall(data)
        client.close()


class Counting:
    """Counts the round trips of the only worker of a deployment."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.relay = Relay(cls.site.folder)

    def setUp(self):
        # A worker reads the settings of its app once in a minute.
        self.restart(DOSSIER_APP_CACHE_TTL_MS="60000", DOSSIER_LOG="debug", DOSSIER_DATABASE=(
            f"host={self.relay.folder} user=server dbname=dossier"))

    def trips(self, request):
        """Returns the fewest round trips of several requests, without those of background work."""
        trips = []
        for _ in range(ATTEMPTS):
            before = len(self.relay.trips)
            self.expect(request(), 200)
            trips.append(self.relay.trips[before:])
        # The lines of the log may follow the answer.
        own = {line["statement"] for line in self.site.log_lines()
               if "statement" in line and "request" in line} - TRANSACTION
        return min(sum(bool(names & own) for names in one) for one in trips)


class ManagementRoundTrips(Counting, Auth0Case):
    SETTINGS = {**Auth0Case.SETTINGS, "DOSSIER_WORKERS": "1"}

    def test_a_user(self):
        _, user = self.user()
        path, token = f"/api/v2/users/auth0|{user}", self.back_end_token()
        # The client with the id of the path, and the user.
        self.assertEqual(self.trips(lambda: self.site.get(path, token=token)), 2)


class RoundTrips(Counting, Case):
    SETTINGS = {"DOSSIER_WORKERS": "1"}

    def test_a_sign_in_by_password(self):
        self.expect(self.register("trips@example.com", PASSWORD), 201)
        # The address with its limits, the attempt, and the session.
        self.assertEqual(self.trips(lambda: self.login("trips@example.com", PASSWORD)), 3)

    def test_a_sign_in_that_may_need_a_second_factor(self):
        self.site.set_app(mfa="optional")
        self.addCleanup(self.site.set_app, mfa="off")
        self.restart()
        self.expect(self.register("factors@example.com", PASSWORD), 201)
        self.assertEqual(self.trips(lambda: self.login("factors@example.com", PASSWORD)), 3)

    def test_a_user_of_parra(self):
        client = Client(self.site).launch()
        client.sign_up("parra@example.com")
        token = client.tokens["access_token"]
        view = f"{client.base}/auth/user-info"
        self.assertEqual(self.trips(lambda: client.send("GET", view, token=token)), 1)
        self.site.set_app(app_metadata_readable=False)
        self.addCleanup(self.site.set_app, app_metadata_readable=True)
        self.restart()
        self.assertEqual(self.trips(lambda: client.send("GET", view, token=token)), 1)

    def test_a_change_of_a_user_of_parra(self):
        client = Client(self.site).launch()
        client.sign_up("change@example.com")
        path, token = client.base + client.user_path, client.tokens["access_token"]
        body = {"first_name": "Ada", "properties": {"theme": "dark"}}
        # The lock with the properties, and all else.
        self.assertEqual(self.trips(lambda: client.send("PUT", path, body, token=token)), 2)

    def test_the_account_page(self):
        visitor = Visitor(self.site.port)
        visitor.open("/account")
        visitor.open(visitor.page.links["Create account"])
        visitor.submit(email="pages@example.com", new_password=PASSWORD + " battery")
        # The device, its users, and the account.
        self.assertEqual(self.trips(lambda: visitor.open("/account")), 3)

    def statements(self, request):
        return [line["statement"] for line in self.site.log_lines()
                if "statement" in line and line.get("request") == request]

    def test_a_guest(self):
        self.assertEqual(self.trips(lambda: self.post("/v1/login/anonymous", {})), 1)
        self.expect(self.post("/v1/login/anonymous", {}, headers={"X-Request-Id": "guest"}), 200)
        wait_until(lambda: "transaction.commit" in self.statements("guest"),
                   what="the end of the transaction")
        self.assertEqual(self.statements("guest").count("transaction.begin"), 1)

    def test_attempts_over_a_limit_take_no_connection_of_writers(self):
        def guess(name):
            return self.login("strangers@example.com", "wrong", headers={"X-Request-Id": name})

        wait_until(lambda: guess("early").status == 429, what="the end of the limit")
        # The limit of events is used up, too.
        self.expect(guess("second"), 429)
        self.expect(guess("third"), 429)
        wait_until(lambda: len(self.statements("third")) == 5, what="the statements")
        self.assertEqual(set(self.statements("third")),
                         {"subjects.signer", "rate_limits.ahead"})


if __name__ == "__main__":
    unittest.main()
