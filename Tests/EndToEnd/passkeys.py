"""A device with passkeys, and the base class for their tests.

The keys are made and used by `cryptography`. Chromium's virtual authenticator is used in
`test_passkeys_browser`.
"""

import base64
import hashlib
import json
import os

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from authenticator import FactorCase

RP_ID = "localhost"
ORIGIN = "http://localhost:8080"

PRESENT, VERIFIED, ELIGIBLE, BACKED_UP, ATTESTED = 1, 4, 8, 16, 64


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def cbor(value):
    """Encodes a value in the shortest form of CBOR."""
    def head(kind, number):
        for width, detail in [(0, None), (1, 24), (2, 25), (4, 26)]:
            if detail is None and number < 24:
                return bytes([kind << 5 | number])
            if detail and number < 1 << 8 * width:
                return bytes([kind << 5 | detail]) + number.to_bytes(width, "big")
        raise ValueError(number)

    if isinstance(value, int):
        return head(0, value) if value >= 0 else head(1, -1 - value)
    if isinstance(value, bytes):
        return head(2, len(value)) + value
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    return head(5, len(value)) + b"".join(cbor(k) + cbor(v) for k, v in value.items())


class Passkey:
    """A passkey on a device, with what its authenticator states."""

    def __init__(self, algorithm=-7, eligible=False):
        self.id = os.urandom(32)
        self.algorithm = algorithm
        self.count = 0
        self.handle = None
        self.aaguid = bytes(16)
        self.flags = PRESENT | VERIFIED | (ELIGIBLE | BACKED_UP if eligible else 0)
        self.rp_id, self.origin = RP_ID, ORIGIN
        if algorithm == -7:
            self.key = ec.generate_private_key(ec.SECP256R1())
        elif algorithm == -8:
            self.key = ed25519.Ed25519PrivateKey.generate()
        else:
            self.key = rsa.generate_private_key(65537, 2048)

    def public_key(self):
        """Returns the key in COSE's format."""
        public = self.key.public_key()
        if self.algorithm == -7:
            numbers = public.public_numbers()
            return cbor({1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"),
                         -3: numbers.y.to_bytes(32, "big")})
        if self.algorithm == -8:
            return cbor({1: 1, 3: -8, -1: 6, -2: public.public_bytes(
                Encoding.Raw, PublicFormat.Raw)})
        numbers = public.public_numbers()
        return cbor({1: 3, 3: -257, -1: numbers.n.to_bytes(256, "big"), -2: b"\1\0\1"})

    def signed(self, data):
        if self.algorithm == -7:
            return self.key.sign(data, ec.ECDSA(hashes.SHA256()))
        if self.algorithm == -8:
            return self.key.sign(data)
        return self.key.sign(data, padding.PKCS1v15(), hashes.SHA256())

    def client_data(self, kind, options, **members):
        return json.dumps({"type": kind, "challenge": options["challenge"], "origin": self.origin,
                           "crossOrigin": False, **members}).encode()

    def authenticator_data(self, flags):
        return (hashlib.sha256(self.rp_id.encode()).digest() + bytes([flags])
                + self.count.to_bytes(4, "big"))

    def credential(self, **response):
        return {"id": encoded(self.id), "rawId": encoded(self.id), "type": "public-key",
                "authenticatorAttachment": "platform", "clientExtensionResults": {},
                "response": {name: value if isinstance(value, (list, type(None))) else
                             encoded(value) for name, value in response.items()}}

    def made(self, options, **members):
        """Answers the options of `navigator.credentials.create`."""
        self.handle = decoded(options["user"]["id"])
        data = (self.authenticator_data(self.flags | ATTESTED) + self.aaguid
                + len(self.id).to_bytes(2, "big") + self.id + self.public_key())
        attestation = cbor({"fmt": "none", "attStmt": {}, "authData": data})
        return self.credential(
            clientDataJSON=self.client_data("webauthn.create", options, **members),
            attestationObject=attestation, transports=["internal", "hybrid", "smoke-signals"])

    def shown(self, options, **members):
        """Answers the options of `navigator.credentials.get`."""
        client = self.client_data("webauthn.get", options, **members)
        data = self.authenticator_data(self.flags)
        return self.credential(
            clientDataJSON=client, authenticatorData=data, userHandle=self.handle,
            signature=self.signed(data + hashlib.sha256(client).digest()))


class PasskeyCase(FactorCase):
    """Tests on a deployment whose app uses passkeys."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.site.set_app(passkey="optional", passkey_rp_id=RP_ID)

    def setting(self, after=None, **settings):
        """Changes settings of the app for one test."""
        self.site.set_app(**settings)
        self.addCleanup(self.site.set_app, **(after or dict.fromkeys(settings)))

    def options(self, path, body=None, grant=None, status=200, code=None, **options):
        """Returns the flow and the options of a route."""
        if grant:
            options["token"] = grant["access_token"]
        begun = self.expect(self.post(f"{path}/options", body or {}, **options), status, code).json
        return (begun["flow"], begun["public_key"]) if status == 200 else None

    def registered(self, passkey=None, status=201, code=None, entered=None, name=None, **stated):
        """Registers a user with a passkey; returns the passkey and the tokens."""
        passkey = passkey or Passkey()
        flow, options = self.options("/v1/register/passkey", stated)
        body = {"flow": flow, "credential": passkey.made(options)}
        body |= {"code": entered} if entered else {}
        body |= {"passkey_name": name} if name else {}
        answer = self.expect(self.post("/v1/register/passkey", body), status, code)
        return passkey, answer.json

    def added(self, grant, passkey=None, status=200, code=None, **body):
        """Adds a passkey to a user, and gives `grant` the new tokens; returns the passkey."""
        passkey = passkey or Passkey()
        flow, options = self.options("/v1/me/passkeys", grant=grant)
        body |= {"flow": flow, "credential": passkey.made(options)}
        answer = self.expect(
            self.post("/v1/me/passkeys", body, token=grant["access_token"]), status, code)
        if status == 200:
            grant.update(answer.json)
        return passkey

    def show(self, passkey, **options):
        """Signs in with a passkey; returns the answer."""
        flow, asked = self.options("/v1/login/passkey")
        return self.post("/v1/login/passkey", {
            "flow": flow, "credential": passkey.shown(asked, **options)})

    def passkeys(self, grant):
        return self.expect(self.me(grant, "/passkeys"), 200).json
