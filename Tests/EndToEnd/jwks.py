"""Public keys as members of a JSON Web Key Set."""

import json

from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import RSAAlgorithm

from issuers import encode

CURVES = {"P-256": ec.SECP256R1(), "P-384": ec.SECP384R1(), "P-521": ec.SECP521R1()}


def of_rsa(key):
    jwk = json.loads(RSAAlgorithm.to_jwk(key.public_key()))
    return {name: jwk[name] for name in ("kty", "n", "e")}


def of_curve(key):
    """The key of a curve. PyJWT 2.6 omits the zeros with which a coordinate may begin."""
    numbers = key.public_key().public_numbers()
    size = (key.curve.key_size + 7) // 8
    name = next(n for n, curve in CURVES.items() if curve.name == key.curve.name)
    return {"kty": "EC", "crv": name, "x": encode(numbers.x.to_bytes(size, "big")),
            "y": encode(numbers.y.to_bytes(size, "big"))}
