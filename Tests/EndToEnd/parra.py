"""A client of Parra, as strict as the published SDK: what it requires, and when it repeats a call."""

import base64
import json
import re
import struct
import urllib.parse
import uuid
import zlib
from datetime import datetime, timezone

from asking import ADDRESS

PASSWORD = "correct horse battery"
SCOPE = "parra openid offline_access profile email phone"
CODES = {"invalid_tenant", "route_not_found", "insufficient_scope", "blocked",
         "profanity_detected", "missing_entitlement", "consumable_entitlement_exhausted",
         "consumable_entitlement_insufficient_quantity_available"}
GRANT_ERRORS = {"invalid_request", "invalid_client", "invalid_grant", "invalid_scope",
                "unauthorized_client", "unsupported_grant_type"}
# The fields of every request, except for those of forms and public keys.
FIELDS = {"PARRA-APPLICATION-ID": "app-1", "PARRA-APPLICATION-BUNDLE-ID": "com.example.demo",
          "PARRA-ENVIRONMENT": "production", "PARRA-PLATFORM": "iOS",
          "PARRA-PLATFORM-AGENT": "parra-ios-swift", "PARRA-DEVICE-TIMEZONE-OFFSET": "7200"}
IDENTITIES = {"username", "email", "phone_number", "anonymous", "external_id"}
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


def png(width, height):
    """A PNG with a gradient and an alpha channel."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data
                + struct.pack(">I", zlib.crc32(kind + data)))

    row = b"\0" + b"\x40\x80\xc0\x80" * width
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b""))


class Client:
    """One installation of an app, with the state that the SDK keeps."""

    def __init__(self, site, tenant="default", address=None):
        self.site, self.tenant = site, tenant
        self.network = {ADDRESS: address} if address else {}
        self.base = f"/v1/tenants/{tenant}"
        self.tokens, self.user, self.info, self.is_anonymous = None, None, None, False

    # Requests

    def send(self, method, path, body=None, headers=None, token=None):
        headers = {"Accept": "application/json", "PARRA-TENANT-ID": self.tenant, **FIELDS,
                   **self.network, **(headers or {})}
        if method in ("POST", "PUT", "PATCH") and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
            body = {} if body is None else body
        return self.site.request(method, path, body, headers, token)

    def decoded(self, answer):
        if answer.status in (202, 204):
            return {}
        body = json.loads(answer.body) if answer.body else None
        if 200 <= answer.status < 400:
            assert answer.headers["Cache-Control"] == "no-store", answer.headers
            return body
        if is_api_error(body):
            raise APIError(answer.status, body)
        raise NetworkError(answer)

    def call(self, method, path, body=None, headers=None):
        """One call of the API; after a 401 or 403 once more, with a new token."""
        path = f"{self.base}{path}"
        answer = self.send(method, path, body, headers, self.tokens["access_token"])
        if answer.status in (401, 403):
            self.refresh()
            answer = self.send(method, path, body, headers, self.tokens["access_token"])
        return self.decoded(answer)

    def issue(self, path, body):
        """One call of the issuer with JSON."""
        return self.decoded(self.send("POST", f"{self.issuer}/{path}", body))

    @property
    def issuer(self):
        host, _, path = self.info["tenant"]["issuer"].partition("/")
        assert host == f"127.0.0.1:{self.site.port}", self.info
        return f"/{path}/auth"

    def form(self, **fields):
        """One call of the token route, which accepts exactly 200."""
        answer = self.site.request(
            "POST", f"{self.issuer}/token", urllib.parse.urlencode(fields),
            {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json",
             **self.network})
        if answer.status == 200:
            return checked_tokens(self.decoded(answer))
        body = json.loads(answer.body)
        if fields["grant_type"] == "refresh_token" and not is_api_error(body) and (
                answer.status == 401 or answer.status == 400 and is_grant_error(body)):
            raise SignedOut(body)
        return self.decoded(answer)

    # The flows of the SDK

    def read_info(self):
        answer = self.send("GET", f"{self.base}/applications/app-1/app-info?version_token=0")
        info = self.decoded(answer)
        required(info, tenant=dict, application=dict, auth=dict, legal=dict)
        required(info["tenant"], id=str, created_at=str, updated_at=str, name=str, issuer=str,
                 is_test=bool, hide_branding=bool)
        required(info["application"], name=str, bundle_id=str, metadata=dict)
        required(info["legal"], policy_documents=list)
        database = info["auth"].get("database") or {}
        if "password" in database:
            for rule in database["password"]["rules"]:
                required(rule, regular_expression=str, error_message=str)
        if "email" in database:
            required(database["email"], required=bool, require_verification=bool, allow_signup=bool)
        sms = (info["auth"].get("passwordless") or {}).get("sms")
        if sms:
            required(sms, otp_length=int)
        self.info = info
        return info

    def launch(self):
        """The first start: anonymous if the app allows it, or else a guest."""
        self.read_info()
        if "anonymous_auth" in self.info["auth"].get("database", {}):
            self.tokens = checked_tokens(self.issue("issuers/anonymous/token", {}))
            self.is_anonymous = True
            self.finish_login()
            assert self.user["is_anonymous"], self.user
        else:
            self.tokens = checked_tokens(self.issue("issuers/guest/token", {}))
        return self

    def finish_login(self, anonymous=None):
        body = {"anonymous_token": anonymous} if anonymous else {}
        return self.checked_info(self.call("POST", "/auth/login", body))

    def checked_info(self, info):
        required(info, roles=list, user=dict)
        assert all(isinstance(role, str) for role in info["roles"]), info
        self.user = checked_user(info["user"])
        return self.user

    def read_user(self):
        return self.checked_info(self.call("GET", "/auth/user-info"))

    def challenges(self, identity):
        body = self.issue("challenges", {"unknown_identity": identity})
        required(body, exists=bool, type=str, supported_challenges=list)
        optional(body, available_challenges=list)
        return body

    def sign_up(self, email, password=PASSWORD):
        before = self.tokens
        body = {"type": "email", "username": email, "password": password}
        if before:
            body["anonymous_token"] = before["access_token"]
        checked_user(self.issue("signup", body))
        return self.enter(email, password, before=None)

    def log_in(self, email, password=PASSWORD):
        return self.enter(email, password, before=self.tokens)

    def enter(self, email, password, before):
        return self.grant(before, grant_type="password", username=email, password=password)

    def grant(self, before, **fields):
        if before:
            fields["anonymous_token"] = before["access_token"]
        self.tokens = self.form(client_id="app-1", scope=SCOPE, **fields)
        self.is_anonymous = False
        return self.finish_login(before and before["refresh_token"])

    def ask_for_code(self, email, name="email"):
        body = self.issue("challenges/passwordless", {"client_id": "app-1", name: email})
        assert body["strategy"] in ("email", "sms") and body["status"] == "pending", body
        assert date(body["expires_at"]) > datetime.now(timezone.utc), body
        if body.get("retry_at") is not None:
            date(body["retry_at"])
        return body

    def log_in_by_code(self, code):
        return self.grant(self.tokens, grant_type="passwordless_otp", code=code)

    def refresh(self):
        token = self.tokens["refresh_token"]
        if self.is_anonymous:
            answer = self.issue("issuers/anonymous/token", {"token": token})
            self.tokens = {**checked_tokens(answer), "refresh_token": token}
        else:
            self.tokens = self.form(
                grant_type="refresh_token", client_id="app-1", refresh_token=token)

    def log_out(self):
        body = self.call("POST", "/auth/logout", {})
        self.is_anonymous = "anonymous_token" in body
        self.tokens = checked_tokens(body.get("anonymous_token") or body["guest_token"])
        self.user = None
        if self.is_anonymous:
            self.finish_login(self.tokens["refresh_token"])

    def public_token(self, user, key):
        field = base64.b64encode(f"api_key:{key}".encode()).decode()
        # The SDK names no media type, although the body is JSON.
        return self.site.request(
            "POST", f"{self.issuer}/issuers/public/token", json.dumps({"user_id": user}),
            {"Authorization": f"Basic {field}"})

    @property
    def user_path(self):
        return f"/users/{self.user['id']}"
