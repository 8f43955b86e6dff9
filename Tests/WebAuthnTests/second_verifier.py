"""Verifies each line of a file, the response of a ceremony, with the package webauthn of PyPI."""

import json
import sys

import webauthn
from webauthn.helpers import base64url_to_bytes

with open(sys.argv[1]) as lines:
    for line in lines:
        case = json.loads(line)
        common = {
            "credential": case["credential"],
            "expected_challenge": base64url_to_bytes(case["challenge"]),
            "expected_rp_id": case["rp_id"],
            "expected_origin": case["origin"],
            "require_user_verification": True,
        }
        try:
            if case["public_key"] is None:
                webauthn.verify_registration_response(**common)
            else:
                webauthn.verify_authentication_response(
                    credential_public_key=base64url_to_bytes(case["public_key"]),
                    credential_current_sign_count=case["sign_count"],
                    **common,
                )
            print("valid")
        # The package also raises errors of its parsers.
        except Exception as error:
            print("refused:", str(error).replace("\n", " ") or type(error).__name__)
