"""Requests whose clients disconnect."""

import socket
import tempfile

from cases import Case
from asking import JSON
from deployment import Deployment
from machine import wait_until


class Abandoned(Case):
    @classmethod
    def setUpClass(cls):
        # nginx logs a request that its client has left when it has closed the worker's connection.
        cls.log = tempfile.NamedTemporaryFile("r", prefix="dossier-requests-")
        cls.site = Deployment(nginx=[("  access_log off;", f"  access_log {cls.log.name};")])

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.log.close()

    def test_a_request_whose_client_disconnects_changes_nothing(self):
        token = self.site.login()["access_token"]
        self.expect(self.site.request("PUT", "/v1/me/custom-data", {"n": 1}, JSON, token), 200)
        body = b'{"update":{"$inc":{"n":1}}}'
        head = ("POST /v1/me/custom-data/update HTTP/1.1\r\nHost: x\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                f"Authorization: Bearer {token}\r\n\r\n").encode()

        def updates():
            return [line["status"] for line in self.site.logged() if line["route"].endswith("/update")]

        with self.site.locked("documents"):
            with socket.create_connection(("127.0.0.1", self.site.port)) as client:
                client.sendall(head + body)
                # The update waits until it can read the document.
                wait_until(lambda: self.site.waiting() == 1, what="the update to wait for the table")
            wait_until(lambda: " 499 " in self.log.read(), what="nginx to give it up")
        wait_until(updates, what="the end of the update")
        self.assertEqual(updates(), [503])
        document = self.site.get("/v1/me/custom-data", token=token)
        self.assertEqual((document.json, document.version), ({"n": 1}, 1))
        # A client that waits gets its answer.
        self.expect(
            self.site.request("POST", "/v1/me/custom-data/update", body, JSON, token), 200)
