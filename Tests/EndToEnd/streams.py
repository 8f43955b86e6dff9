"""Streams of changes: the program that holds them, and clients of it."""

import base64
import contextlib
import http.client
import json
import os
import re
import socket
import struct
import subprocess
import threading
import time

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from cases import Case
from machine import AS_SERVER, BUILD, wait_until


class Stream:
    """A client that receives the events of a stream."""

    def __init__(self, site, grant, since="", path="/v1/me/events", **headers):
        self.events = []
        self.is_over = False
        self.connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=300)
        self.connection.request("GET", f"{path}{since}", headers={
            "Authorization": f"Bearer {grant['access_token']}", **headers})
        self.response = self.connection.getresponse()
        self.status, self.headers = self.response.status, self.response.headers
        if self.status == 200:
            threading.Thread(target=self.read, daemon=True).start()
        else:
            self.json = json.loads(self.response.read())
            self.connection.close()

    def read(self):
        event = {}
        try:
            for line in self.response:
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    event[name] = value
                elif event:
                    if "event" in event:
                        self.events.append(event)
                    event = {}
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.is_over = True

    def wait(self, name, count=1):
        """Waits for events of a name. Returns the last of them."""
        def found():
            return [event for event in self.events if event["event"] == name]

        wait_until(lambda: len(found()) >= count, what=f"{count} events {name} in {self.events}")
        return found()[-1]

    def changed(self):
        """Returns the parts of all changes so far."""
        return {part for event in self.events if event["event"] == "change"
                for part in json.loads(event["data"])}

    def wait_changed(self, *parts):
        wait_until(lambda: self.changed() >= set(parts), what=f"changes of {parts} in {self.events}")

    def close(self):
        # The thread may wait for a line, or the server has closed the connection.
        if self.connection.sock:
            with contextlib.suppress(OSError):
                self.connection.sock.shutdown(socket.SHUT_RDWR)


class StreamCase(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_streams()

    @classmethod
    def start_streams(cls):
        site = cls.site
        cls.program = subprocess.Popen(
            [*AS_SERVER, BUILD / "dossier-streams"], env=site.environment, stdout=site.log,
            stderr=site.log)
        site.processes.append(cls.program)
        wait_until(cls.accepts, what="dossier-streams")

    @classmethod
    def accepts(cls):
        assert cls.program.poll() is None, "dossier-streams has ended"
        try:
            cls.connect().close()
        except OSError:
            return False
        return True

    @classmethod
    def connect(cls):
        """Returns a connection to the program, as nginx makes one."""
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(300)
        client.connect(str(cls.site.sockets / "streams.sock"))
        return client

    @staticmethod
    def head(**fields):
        fields = {"CONTENT_LENGTH": "0", "SCGI": "1", "REMOTE_ADDR": "127.0.0.1", **fields}
        block = "".join(f"{name}\0{value}\0" for name, value in fields.items()).encode()
        return b"%d:%s," % (len(block), block)

    @classmethod
    def ask(cls, data):
        """Sends bytes to the program. Returns its whole answer."""
        with cls.connect() as client:
            client.sendall(data)
            answer = b""
            while part := client.recv(4_096):
                answer += part
            return answer

    def stream(self, grant, since="", **headers):
        stream = Stream(self.site, grant, since, **headers)
        self.addCleanup(stream.close)
        return stream

    def ready(self, grant, since="", **headers):
        """Opens a stream. Returns it after its first event."""
        stream = self.stream(grant, since, **headers)
        self.assertEqual(stream.status, 200)
        stream.wait("ready")
        return stream

    def query(self, grant, since=""):
        """Returns the query with a ticket, as a worker sends it to nginx."""
        parameters = b"".join(
            struct.pack(">II", len(name) | 1 << 31, len(value) | 1 << 31) + (name + value).encode()
            for name, value in [
                ("REQUEST_METHOD", "GET"), ("REQUEST_URI", f"/v1/me/events{since}"),
                ("REMOTE_ADDR", "127.0.0.1"), ("HTTP_HOST", "127.0.0.1"),
                ("HTTP_AUTHORIZATION", f"Bearer {grant['access_token']}")])
        records = [(1, struct.pack(">HB5x", 1, 0)), (4, parameters), (4, b""), (5, b"")]
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.site.socket(0)))
            client.sendall(b"".join(
                struct.pack(">BBHHBx", 1, kind, 1, len(data), 0) + data for kind, data in records))
            answer = b""
            while part := client.recv(65_536):
                answer += part
        return re.search(rb"X-Accel-Redirect: /-/streams/open\?(.*?)\r\n", answer)[1].decode()

    def sealed(self, grant, lifetime=60, name="stream ticket", **content):
        """Returns a query with a ticket that the test has encrypted with the key of the server."""
        claims = json.loads(base64.urlsafe_b64decode(grant["access_token"].split(".")[1] + "=="))
        now = int(time.time())
        content = {"user": grant["user_id"], "session": claims["sid"], "cursor": None,
                   "hides": False, "expires_at": now + 600, "until": now + lifetime, **content}
        master = base64.b64decode(self.site.environment["DOSSIER_MASTER_KEY"])
        key = HKDF(SHA256(), 32, b"", b"dossier seal v1").derive(master)
        nonce = os.urandom(12)
        data = nonce + AESGCM(key).encrypt(nonce, json.dumps(content).encode(), name.encode())
        return "ticket=" + base64.urlsafe_b64encode(data).decode().rstrip("=")

    def patch(self, grant, theme):
        self.expect(self.site.request(
            "PATCH", "/v1/me/metadata", {"theme": theme},
            {"Content-Type": "application/merge-patch+json"}, token=grant["access_token"]), 200)
