"""A client of Parra, as strict as the published SDK: what it requires, and when it repeats a call."""

import base64
import json
import urllib.parse
from datetime import datetime, timezone

from asking import ADDRESS
from parra_types import (
    APIError, NetworkError, SignedOut, checked_challenges, checked_tokens, checked_user, date,
    decode, is_api_error, is_grant_error, required)

PASSWORD = "correct horse battery"
SCOPE = "parra openid offline_access profile email phone"
# The fields of every request, except for those of forms and public keys.
FIELDS = {"PARRA-APPLICATION-ID": "app-1", "PARRA-APPLICATION-BUNDLE-ID": "com.example.demo",
          "PARRA-ENVIRONMENT": "production", "PARRA-PLATFORM": "iOS",
          "PARRA-PLATFORM-AGENT": "parra-ios-swift"}
# The fields that these calls have in addition.
TRACKED = ("/sessions", "/push-tokens", "/auth/login", "/auth/logout", "/auth/user-info",
           "/app-info", "/issuers/anonymous/token", "/issuers/guest/token")
TRACKING = {"PARRA-APPLICATION-LOCALE": "en_US", "PARRA-APPLICATION-BUNDLE-VERSION": "7",
            "PARRA-APPLICATION-BUNDLE-VERSION-SHORT": "1.2", "PARRA-DEVICE": "iPhone16,2",
            "PARRA-DEVICE-ID": "2F6E5D3C-0B1A-4C8D-9E7F-112233445566",
            "PARRA-DEVICE-LOCALE": "en_US", "PARRA-DEVICE-MANUFACTURER": "Apple",
            "PARRA-DEVICE-TIMEZONE-ABBREVIATION": "GMT+2", "PARRA-DEVICE-TIMEZONE-OFFSET": "7200",
            "PARRA-PLATFORM-SDK-VERSION": "0.33.8", "PARRA-PLATFORM-VERSION": "18.1"}


class Client:
    """One installation of an app, with the state that the SDK keeps."""

    def __init__(self, site, tenant="default", address=None):
        self.site, self.tenant = site, tenant
        self.network = {ADDRESS: address} if address else {}
        self.base = f"/v1/tenants/{tenant}"
        self.tokens, self.user, self.info, self.is_anonymous = None, None, None, False

    # Requests

    def send(self, method, path, body=None, headers=None, token=None):
        tracking = TRACKING if path.partition("?")[0].endswith(TRACKED) else {}
        headers = {"Accept": "application/json", "PARRA-TENANT-ID": self.tenant, **FIELDS,
                   **tracking, **self.network, **(headers or {})}
        if method in ("POST", "PUT", "PATCH") and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
            body = {} if body is None else body
        return self.site.request(method, path, body, headers, token)

    def decoded(self, answer):
        if answer.status in (202, 204):
            return {}
        body = decode(answer.body) if answer.body else None
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
        return checked_challenges(self.issue("challenges", {"unknown_identity": identity}))

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
