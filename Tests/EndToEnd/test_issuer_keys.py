"""The keys of issuers: tokens by PyJWT and cryptography, which share nothing with the server."""

import json
import unittest

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import OKPAlgorithm

from issuers import IssuerCase, claims, encode
from jwks import CURVES, of_curve, of_rsa


class IssuersKeys(IssuerCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.rsa = rsa.generate_private_key(65537, 2048)
        cls.short = rsa.generate_private_key(65537, 1024)
        cls.curves = {name: ec.generate_private_key(curve) for name, curve in CURVES.items()}
        cls.edwards = ed25519.Ed25519PrivateKey.generate()
        cls.unnamed = ec.generate_private_key(CURVES["P-256"])
        cls.keys.keys = [
            {**of_rsa(cls.rsa), "kid": "rsa"},
            {**of_rsa(cls.rsa), "kid": "rsa-pss", "alg": "PS256"},
            {**of_rsa(cls.rsa), "kid": "rsa-enc", "use": "enc"},
            {**of_rsa(cls.rsa), "kid": "rsa-oaep", "alg": "RSA-OAEP"},
            {**of_rsa(cls.short), "kid": "short"},
            *({**of_curve(key), "kid": name} for name, key in cls.curves.items()),
            {**json.loads(OKPAlgorithm.to_jwk(cls.edwards.public_key())), "kid": "edwards"},
            {**of_curve(cls.curves["P-256"]), "crv": "P-384", "kid": "wrong-curve"},
            {"kty": "EC", "crv": "P-256", "x": encode(b"x" * 32), "y": encode(b"y" * 32),
             "kid": "no-point"},
            {"kty": "RSA", "kid": "empty"}, {"kty": "oct", "k": encode(b"k" * 32), "kid": "rsa2"},
            7, None, {"kid": 7},
            of_curve(cls.unnamed),
        ]

    def answer(self, key, algorithm, kid, subject="ada", **others):
        head = {} if kid is None else {"kid": kid}
        token = jwt.encode(claims(subject, **others), key, algorithm=algorithm, headers=head)
        return self.post("/v1/login/jwt", {"token": token})

    def assert_taken(self, *words, **others):
        with self.subTest(taken=words[1:]):
            self.expect(self.answer(*words, **others), 200)

    def assert_refused(self, *words, **others):
        with self.subTest(refused=words[1:]):
            self.expect(self.answer(*words, **others), 401, "external_token_invalid")

    def test_each_algorithm_is_verified(self):
        for algorithm in ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"):
            self.assert_taken(self.rsa, algorithm, "rsa")
        self.assert_taken(self.curves["P-256"], "ES256", "P-256")
        self.assert_taken(self.curves["P-384"], "ES384", "P-384")
        self.assert_taken(self.curves["P-521"], "ES512", "P-521")
        self.assert_taken(self.edwards, "EdDSA", "edwards")

    def test_a_key_verifies_by_its_own_algorithm_and_name_alone(self):
        self.assert_taken(self.rsa, "PS256", "rsa-pss")
        self.assert_refused(self.rsa, "RS256", "rsa-pss")
        for kid in ("rsa-enc", "rsa-oaep", "P-256", "edwards"):
            self.assert_refused(self.rsa, "RS256", kid)
        self.assert_refused(self.short, "RS256", "short")
        self.assert_refused(self.curves["P-256"], "ES256", "P-384")
        self.assert_refused(self.curves["P-384"], "ES384", "wrong-curve")
        # The public key as an HMAC secret: every client that knows the key could sign.
        for secret in (self.keys.keys[0]["n"], json.dumps(self.keys.keys[0])):
            self.assert_refused(secret, "HS256", "rsa")

    def test_a_key_without_a_name_verifies_tokens_of_any_and_none(self):
        self.assert_taken(self.unnamed, "ES256", "anything")
        self.assert_taken(self.unnamed, "ES256", None)
        self.assert_taken(self.rsa, "RS256", None)
        self.assert_refused(ec.generate_private_key(CURVES["P-256"]), "ES256", None)

    def test_a_signature_is_of_what_was_signed(self):
        token = jwt.encode(claims("ada"), self.edwards, algorithm="EdDSA", headers={"kid": "edwards"})
        head, _, signature = token.split(".")
        for other in (f"{head}.{encode(claims('eve'))}.{signature}", f"{token}=", f"{token}A",
                      token[:-4], f"{head}.{token.split('.')[1]}."):
            self.expect(self.post("/v1/login/jwt", {"token": other}), 401)

    def test_times_may_have_a_fraction(self):
        exp = claims("ada")["exp"]
        self.assert_taken(self.edwards, "EdDSA", "edwards", exp=exp + 0.5, nbf=exp - 300.25)
        self.assert_refused(self.edwards, "EdDSA", "edwards", exp=exp - 500.5)
        self.assert_refused(self.edwards, "EdDSA", "edwards", nbf=exp + 0.5)


if __name__ == "__main__":
    unittest.main()
