"""What clients of Parra require of an answer: fields, types, enumerations, numbers and dates."""

import json
import math
import re
import struct
import unicodedata
import urllib.parse
import uuid
import zlib
from datetime import datetime

CODES = {"invalid_tenant", "route_not_found", "insufficient_scope", "blocked",
         "profanity_detected", "missing_entitlement", "consumable_entitlement_exhausted",
         "consumable_entitlement_insufficient_quantity_available"}
GRANT_ERRORS = {"invalid_request", "invalid_client", "invalid_grant", "invalid_scope",
                "unauthorized_client", "unsupported_grant_type"}
IDENTITIES = {"username", "email", "phone_number", "anonymous", "external_id"}
CHALLENGES = {"password", "passwordless_sms", "passwordless_email", "verification_sms",
              "verification_email", "passkeys"}
DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class APIError(Exception):
    """An error whose text the SDK decodes."""

    def __init__(self, status, body):
        super().__init__(f"{status} {body}")
        self.status, self.body, self.code = status, body, body["code"]


class NetworkError(Exception):
    """An error whose text the SDK loses."""

    def __init__(self, answer):
        super().__init__(f"{answer.status} {answer.body}")
        self.status, self.body = answer.status, answer.body


class SignedOut(Exception):
    """A refused refresh, after which the SDK drops its user."""


def native_id(text):
    """The id of Dossier in the UUID of a user."""
    digits = text.replace("-", "")
    return digits[:12] + digits[20:]


def canonical(key):
    """A key as Swift compares it."""
    return unicodedata.normalize("NFC", key)


def decode(text):
    """The JSON of an answer; a number that is no double fails all of it, as in the SDK."""
    def number(text):
        assert math.isfinite(float(text)), text
        return float(text) if re.search("[.eE]", text) else int(text)

    def object_of(pairs):
        assert len({canonical(key) for key, _ in pairs}) == len(pairs), pairs
        return dict(pairs)

    return json.loads(text, parse_int=number, parse_float=number, object_pairs_hook=object_of)


def is_api_error(body):
    return (isinstance(body, dict) and body.get("code") in CODES
            and all(isinstance(body.get(name), str) for name in ["type", "message", "code"]))


def is_grant_error(body):
    return (isinstance(body, dict) and body.get("error") in GRANT_ERRORS
            and all(isinstance(value, str) for value in body.values()))


def required(body, **types):
    for name, kind in types.items():
        value = body[name]
        assert isinstance(value, kind) and (kind is bool or not isinstance(value, bool)), (name, value)


def optional(body, **types):
    required({name: body[name] for name in types if body.get(name) is not None},
             **{name: kind for name, kind in types.items() if body.get(name) is not None})


def date(text):
    assert isinstance(text, str) and DATE.fullmatch(text), text
    return datetime.fromisoformat(text)


def checked_user(user):
    required(user, id=str, tenant_id=str, properties=dict, metadata=dict, settings=dict,
             is_anonymous=bool, display_name=str)
    uuid.UUID(user["id"])
    for name in ["created_at", "updated_at"]:
        date(user[name])
    for name in ["deleted_at", "signed_up_at", "last_updated_at", "last_seen_at", "last_login_at"]:
        if user.get(name) is not None:
            date(user[name])
    optional(user, name=str, first_name=str, last_name=str, verified=bool, identity=str,
             username=str, email=str, phone_number=str, locale=str, email_verified=bool,
             phone_number_verified=bool, has_password=bool, entitlements=list, identities=list,
             roles=list, avatar=dict)
    for value in user["properties"].values():
        assert isinstance(value, (bool, int, float, str)), user
    for role in user.get("roles") or []:
        required(role, id=str, name=str, key=str)
    for identity in user.get("identities") or []:
        required(identity, id=str, created_at=str, updated_at=str, type=str)
        assert identity["type"] in IDENTITIES, identity
        optional(identity, provider=str, provider_user_id=str, email=str, email_verified=bool,
                 username=str, external_id=str, has_password=bool)
    if user.get("avatar"):
        checked_asset(user["avatar"])
    return user


def checked_asset(asset):
    required(asset, id=str, size=dict, url=str)
    required(asset["size"], width=(int, float), height=(int, float))
    assert urllib.parse.urlsplit(asset["url"]).scheme in ("http", "https"), asset
    return asset


def checked_tokens(body):
    required(body, access_token=str, token_type=str, expires_in=int, refresh_token=str, scope=str)
    assert body["expires_in"] > 300, body
    return body


def checked_challenges(body):
    required(body, exists=bool, type=str, supported_challenges=list)
    optional(body, available_challenges=list)
    assert body["type"] in IDENTITIES | {"unknown_identity"}, body
    for one in body["supported_challenges"] + (body.get("available_challenges") or []):
        assert one["id"] in CHALLENGES, body
    return body


def png(width, height, depth=8, alpha=0x80):
    """A PNG with an alpha channel."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    pixel = b"".join(bytes([one]) * (depth // 8) for one in [0x40, 0x80, 0xc0, alpha])
    row = b"\0" + pixel * width
    head = struct.pack(">IIBBBBB", width, height, depth, 6, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head)
            + chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b""))
