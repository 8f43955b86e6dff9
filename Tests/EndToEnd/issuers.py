"""Issuers of tokens, with keys from openssl and a server that publishes them."""

import base64
import hmac
import http.server
import json
import pathlib
import subprocess
import threading
import time

from cases import Case


def encode(data):
    if not isinstance(data, bytes):
        data = json.dumps(data).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def claims(subject, issuer="https://issuer.example.com", audience="app", **others):
    now = int(time.time())
    return {"iss": issuer, "sub": subject, "aud": audience, "iat": now, "exp": now + 300, **others}


def secret_token(payload, secret, algorithm="HS256"):
    head = f"{encode({'alg': algorithm, 'typ': 'JWT'})}.{encode(payload)}"
    digest = f"sha{algorithm[2:]}"
    return f"{head}.{encode(hmac.digest(secret, head.encode(), digest))}"


class Key:
    """An RSA key of 2048 bits."""

    def __init__(self, folder, name):
        self.name = name
        self.path = pathlib.Path(folder) / f"{name}.pem"
        subprocess.run(["openssl", "genrsa", "-out", self.path, "2048"], check=True,
                       capture_output=True)

    @property
    def jwk(self):
        text = subprocess.run(["openssl", "rsa", "-in", self.path, "-noout", "-modulus"],
                              check=True, capture_output=True, text=True).stdout
        modulus = bytes.fromhex(text.split("=")[1].strip())
        return {"kty": "RSA", "kid": self.name, "alg": "RS256", "use": "sig", "e": "AQAB",
                "n": encode(modulus)}

    def token(self, payload, name=None, **head):
        head = {"alg": "RS256", "kid": name or self.name, **head}
        head = f"{encode(head)}.{encode(payload)}"
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.path],
                                   input=head.encode(), check=True, capture_output=True).stdout
        return f"{head}.{encode(signature)}"


class KeyServer:
    """Serves `keys` on loopback, and counts the requests. It answers while `gate` is set.
    """

    def __init__(self):
        self.keys = []
        self.asked = 0
        self.is_broken = False
        self.gate = threading.Event()
        self.gate.set()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked += 1
                outer.gate.wait()
                body = json.dumps({"keys": outer.keys}).encode()
                self.send_response(500 if outer.is_broken else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                try:
                    self.wfile.write(body)
                except OSError:
                    pass  # Who asked has not waited.

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/jwks"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.gate.set()
        self.server.shutdown()
        self.server.server_close()


class IssuerCase(Case):
    """Tests on a deployment whose app accepts the tokens of `cls.key`."""

    SETTINGS = {"DOSSIER_ISSUER_NETWORK": "any"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = KeyServer()
        cls.key = Key(cls.site.folder, "one")
        cls.keys.keys = [cls.key.jwk]
        cls.site.add_issuer("web", jwks_url=cls.keys.url)

    @classmethod
    def tearDownClass(cls):
        cls.keys.stop()
        super().tearDownClass()
