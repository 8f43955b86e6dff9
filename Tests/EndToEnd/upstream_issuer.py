"""Issuers that users have accounts at. They check each request strictly, and lie on demand."""

import base64
import dataclasses
import hashlib
import hmac
import html
import json
import secrets
import threading
import time
import urllib.parse

import jwt
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from issuers import encode, secret_token
from jwks import of_curve, of_rsa
from upstream_presets import PRESETS, Person

FORM = "application/x-www-form-urlencoded"
APPLE = "https://appleid.apple.com"
METADATA = ".well-known/openid-configuration"


class Refused(Exception):
    """A request that breaks a rule: the error for the client, and the reason for the test."""

    def __init__(self, error, reason, status=400):
        super().__init__(reason)
        self.error, self.reason, self.status = error, reason, status


@dataclasses.dataclass
class Reply:
    """A whole response. It is sent once `gate` is set."""

    body: object = b""
    status: int = 200
    type: str = "application/json"
    fields: dict = dataclasses.field(default_factory=dict)
    gate: threading.Event | None = None

    @property
    def data(self):
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


@dataclasses.dataclass
class Request:
    method: str
    path: str
    query: dict
    form: dict
    fields: object
    # How often the same parameter was sent.
    doubled: list


@dataclasses.dataclass
class Grant:
    """A person who has signed in, for whom a code and a token stand."""

    person: Person
    client_id: str
    parameters: dict
    auth_time: int
    is_used: bool = False


def changed(members, lie):
    """Returns the members with those of a lie, which removes a member by None."""
    return {name: value for name, value in {**members, **(lie or {})}.items() if value is not None}


class SigningKey:
    def __init__(self, algorithm, name):
        self.algorithm, self.name = algorithm, name
        self.key = (rsa.generate_private_key(65537, 2048) if algorithm == "RS256"
                    else ec.generate_private_key(ec.SECP256R1()))

    @property
    def jwk(self):
        members = of_rsa(self.key) if self.algorithm == "RS256" else of_curve(self.key)
        return {**members, "kid": self.name, "alg": self.algorithm, "use": "sig"}

    @property
    def public(self):
        return self.key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    @property
    def private(self):
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()).decode()

    def token(self, payload, **head):
        head = {"alg": self.algorithm, "kid": self.name, "typ": "JWT", **head}
        text = f"{encode(changed(head, {}))}.{encode(payload)}"
        if self.algorithm == "RS256":
            signature = self.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        else:
            numbers = decode_dss_signature(self.key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
            signature = b"".join(number.to_bytes(32, "big") for number in numbers)
        return f"{text}.{encode(signature)}"


class Issuer:
    """An issuer with one client, below a path of its server.

    `lie` changes what it says until `honest`: members of `discovery`, `callback`, `token`, `claims`
    and `userinfo`, or a whole `Reply` instead of `discovery`, `keys`, `token`, `revoke` or `userinfo`.
    `head` has members of the header of ID tokens, and `signing` one of "none", "HS256" and "unknown".
    """

    def __init__(self, server, preset, name, algorithm="RS256"):
        self.server, self.preset, self.name = server, preset, name
        self.kind = PRESETS[preset]
        self.base = f"{server.origin}/{name}"
        self.client_id = f"{name}.client-1"
        self.secret = secrets.token_urlsafe(24)
        self.client_key = server.key("ES256")
        self.team_id, self.key_id = "TEAM123456", "KEY1234567"
        # Set by the test, as an operator registers it.
        self.redirect_uri = self.signed_out_uri = None
        # Clients of the same team, which Apple knows by their bundle ids.
        self.native_clients = []
        self.key = server.key(algorithm)
        self.authentication = self.kind.authentication
        self.shows_form = False
        # Apple tells the name only once.
        self.told = set()
        self.codes, self.tokens = {}, {}
        # The clients of refresh tokens, the oldest token first.
        self.refresh_tokens = {}
        self.requests, self.refusals, self.revoked = [], [], []
        self.person, self.signed_in_at = None, int(time.time())
        self.is_new("ada@example.com")
        self.lies = {}

    # What tests change and look at

    def is_new(self, email=None, **members):
        """Gives the browser to another person, whom no connection knows."""
        self.person = Person(email, **members)
        if self.person.subject is None:
            self.person.subject = self.kind.subject(self.person)
        return self.person

    def lie(self, **places):
        self.lies = places

    def honest(self):
        self.lies = {}

    def rotate(self):
        """Takes a new key; the old one is no longer published."""
        self.key = SigningKey(self.key.algorithm, f"key-{secrets.token_hex(4)}")

    def asked(self, endpoint):
        """Returns the requests of an endpoint, the oldest first."""
        return [request for request in list(self.requests) if request.path == endpoint]

    @property
    def issuer(self):
        return self.kind.issuer(self.base, self.person)

    @property
    def settings(self):
        """Returns the attributes of a connection to this issuer."""
        mine = {"preset": self.preset, "client_id": self.client_id, **self.kind.settings(self.base)}
        if self.preset == "apple":
            return {**mine, "client_secret": self.client_key.private, "team_id": self.team_id,
                    "key_id": self.key_id}
        if self.preset == "oauth2":
            mine |= {f"claims.{name}": value for name, value in self.kind.CLAIMS.items()}
        return {**mine, "client_secret": self.secret}

    # The endpoints

    def reply(self, request):
        self.requests.append(request)
        try:
            return self.answer(request)
        except Refused as refused:
            self.refusals.append(refused.reason)
            # GitHub sends errors with the status of success.
            status = 200 if self.preset == "github" and request.path == "token" else refused.status
            return Reply({"error": refused.error, "error_description": refused.reason}, status)

    def answer(self, request):
        path = request.path
        if request.doubled:
            raise Refused("invalid_request", f"{request.doubled} was sent twice")
        if path.endswith(METADATA):
            return self.told_instead(
                "discovery", lambda: self.metadata(path.removesuffix(METADATA).rstrip("/")))
        if path == "jwks":
            return self.told_instead("keys", lambda: {"keys": [self.key.jwk]})
        if path == "authorize":
            return self.authorize(request.query)
        if path == "decide":
            return self.decide(request)
        if path == "token":
            return self.token(request)
        if path == "revoke":
            return self.told_instead("revoke", lambda: self.revoke(request))
        if path == "end_session":
            return self.end_session(request.query)
        if path == self.kind.userinfo_path:
            return self.userinfo(request)
        found = self.kind.extra(path, request, self)
        if found is None:
            return Reply({"error": "not_found"}, 404)
        return self.told_instead(path.split("/")[-1], lambda: found)

    def told_instead(self, place, truth):
        """Returns a truth, with the members of a lie, or the lie if it is a whole response."""
        lie = self.lies.get(place)
        if isinstance(lie, Reply):
            return lie
        found = truth()
        return Reply(changed(found, lie) if isinstance(found, dict) else found)

    def metadata(self, path):
        base = self.base
        stated = self.kind.stated(base, path) if self.kind.is_openid else None
        if stated is None:
            raise Refused("not_found", "there are no metadata here", 404)
        userinfo = {"userinfo_endpoint": f"{base}/userinfo"} if self.kind.userinfo_path else {}
        return {
            "issuer": stated, "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token", "jwks_uri": f"{base}/jwks", **userinfo,
            "end_session_endpoint": f"{base}/end_session",
            "revocation_endpoint": f"{base}/revoke",
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "response_modes_supported": ["query", "fragment", "form_post"],
            "scopes_supported": ["openid", "profile", "email"],
            "id_token_signing_alg_values_supported": [self.key.algorithm],
            "token_endpoint_auth_methods_supported": list(self.authentication),
            "code_challenge_methods_supported": ["S256"], **self.kind.metadata}

    def check_authorization(self, query):
        def want(holds, reason):
            if not holds:
                raise Refused("invalid_request", reason)

        want(query.get("client_id") == self.client_id, "client_id is of another client")
        want(query.get("redirect_uri") == self.redirect_uri,
             f"redirect_uri {query.get('redirect_uri')} is not registered")
        want(query.get("response_type") == "code", "response_type is not code")
        want(query.get("state") and len(query["state"]) <= 2048, "state is missing or too long")
        scopes = query.get("scope", "").split(" ")
        want(set(self.kind.scopes) <= set(scopes), f"scope {scopes} lacks some")
        if self.preset == "apple":
            want(query.get("response_mode") == "form_post", "names need response_mode=form_post")
        if "code_challenge" in query or self.kind.needs_pkce:
            want(query.get("code_challenge_method") == "S256"
                 and len(query.get("code_challenge", "")) == 43, "PKCE with S256 is required")

    def authorize(self, query):
        self.check_authorization(query)
        if self.shows_form:
            return Reply(self.login_page(query), type="text/html; charset=utf-8")
        return self.allow(query)

    def login_page(self, query):
        person, hidden = self.person, html.escape(urllib.parse.urlencode(query))
        return ("<!doctype html><html lang=en><title>Upstream</title><main>"
                f"<h1>Sign in at {self.name}</h1><p>{html.escape(person.name)}</p>"
                f'<form method=post action="/{self.name}/decide">'
                f'<input type=hidden name=query value="{hidden}">'
                "<button name=decision value=allow>Allow</button> "
                "<button name=decision value=cancel>Cancel</button></form></main></html>")

    def decide(self, request):
        query = dict(urllib.parse.parse_qsl(request.form["query"]))
        self.check_authorization(query)
        if request.form.get("decision") == "allow":
            return self.allow(query)
        return self.back(query, {"error": "access_denied", "error_description": "The user cancelled."})

    def allow(self, query):
        now = int(time.time())
        max_age = query.get("max_age")
        if query.get("prompt") == "login" or (max_age and now - self.signed_in_at > int(max_age)):
            self.signed_in_at = now
        code = secrets.token_urlsafe(24)
        self.codes[code] = Grant(dataclasses.replace(self.person), self.client_id, dict(query),
                                 self.signed_in_at)
        more = {}
        if self.preset == "apple" and self.person.subject not in self.told:
            self.told.add(self.person.subject)
            more["user"] = json.dumps({
                "name": {"firstName": self.person.given, "lastName": self.person.family},
                "email": self.person.email})
        return self.back(query, {"code": code, **more})

    def back(self, query, answer):
        """Returns the response that sends the browser back to the client."""
        if self.kind.names_itself:
            answer["iss"] = self.issuer
        answer = changed({**answer, "state": query["state"]}, self.lies.get("callback"))
        redirect = query["redirect_uri"]
        if self.kind.response_mode == "form_post":
            fields = "".join(f'<input type=hidden name="{html.escape(name)}" '
                             f'value="{html.escape(value)}">' for name, value in answer.items())
            return Reply(f'<!doctype html><title>Upstream</title><form method=post action="{redirect}">'
                         f"{fields}</form><script>document.forms[0].submit()</script>",
                         type="text/html; charset=utf-8")
        return Reply(status=302, fields={
            "Location": f"{redirect}?{urllib.parse.urlencode(answer)}"})

    def authenticate(self, request):
        """Checks the client's secret. Returns the method by which it was sent."""
        if request.method != "POST" or request.fields.get_content_type() != FORM:
            raise Refused("invalid_request", "the request is no form")
        header, form = request.fields.get("Authorization"), request.form
        if header and "client_secret" in form:
            raise Refused("invalid_request", "the secret was sent twice")
        if header:
            method = "client_secret_basic"
            kind, _, text = header.partition(" ")
            pair = base64.b64decode(text).decode().partition(":")
            client_id, secret = (urllib.parse.unquote_plus(part) for part in pair[::2])
            if kind != "Basic" or form.get("client_id", client_id) != client_id:
                raise Refused("invalid_client", "Authorization is not that of the client", 401)
        else:
            method = "client_secret_post"
            client_id, secret = form.get("client_id"), form.get("client_secret", "")
        if method not in self.authentication:
            raise Refused("invalid_client", f"{method} is not offered", 401)
        if client_id not in [self.client_id, *self.native_clients]:
            raise Refused("invalid_client", "client_id is of another client", 401)
        if self.preset == "apple":
            self.check_assertion(secret, client_id)
        elif not hmac.compare_digest(secret.encode(), self.secret.encode()):
            raise Refused("invalid_client", "the secret is wrong", 401)
        return method

    def check_assertion(self, secret, client_id):
        """Checks the client secret that Apple demands."""
        try:
            claims = jwt.decode(secret, self.client_key.public.decode(), algorithms=["ES256"],
                                audience=[APPLE, self.base], issuer=self.team_id)
        except jwt.PyJWTError as error:
            raise Refused("invalid_client", f"the secret: {error}", 401) from None
        now = time.time()
        if jwt.get_unverified_header(secret).get("kid") != self.key_id:
            raise Refused("invalid_client", "kid of the secret is not the key's", 401)
        if claims.get("sub") != client_id:
            raise Refused("invalid_client", "sub of the secret is not the client", 401)
        if not (claims["iat"] - 60 <= now < claims["exp"] <= claims["iat"] + 15_777_000):
            raise Refused("invalid_client", "the secret is valid for too long", 401)

    def token(self, request):
        lie = self.lies.get("token")
        if isinstance(lie, Reply):
            return lie
        self.authenticate(request)
        form = request.form
        if form.get("grant_type") != "authorization_code":
            raise Refused("unsupported_grant_type", "grant_type is not authorization_code")
        grant = self.codes.get(form.get("code"))
        if grant is None or grant.is_used or form.get("client_id", grant.client_id) != grant.client_id:
            error = "bad_verification_code" if self.preset == "github" else "invalid_grant"
            raise Refused(error, "the code is unknown or used")
        grant.is_used = True
        sent = grant.parameters
        if form.get("redirect_uri") != sent.get("redirect_uri"):
            raise Refused("invalid_grant", "redirect_uri is not that of the request")
        digest = encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if sent.get("code_challenge", digest) != digest or (
                "code_verifier" in form) != ("code_challenge" in sent):
            raise Refused("invalid_grant", "code_verifier does not fit")
        access = f"at-{secrets.token_urlsafe(24)}"
        self.tokens[access] = grant
        answer = {"access_token": access, "token_type": "Bearer", "expires_in": 3600,
                  "scope": sent.get("scope", "")}
        if self.kind.is_openid:
            answer["id_token"] = self.id_token(grant, access)
        if self.preset == "apple":
            answer["refresh_token"] = f"r-{secrets.token_urlsafe(24)}"
            self.refresh_tokens[answer["refresh_token"]] = grant.client_id
        answer = changed(answer, lie)
        # GitHub answers in a form unless the client asks for JSON.
        if self.preset == "github" and "application/json" not in request.fields.get("Accept", ""):
            return Reply(urllib.parse.urlencode(answer), type=FORM)
        return Reply(answer, fields={"Cache-Control": "no-store"})

    def claims(self, grant, access=None):
        now, sent = int(time.time()), grant.parameters
        claims = {"iss": self.kind.issuer(self.base, grant.person), "aud": grant.client_id, "iat": now,
                  "exp": now + 300, **self.kind.claims(grant.person, self)}
        if "nonce" in sent:
            claims["nonce"] = sent["nonce"]
        if "max_age" in sent or sent.get("prompt") == "login":
            claims["auth_time"] = grant.auth_time
        if access:
            claims["at_hash"] = encode(hashlib.sha256(access.encode()).digest()[:16])
        return claims

    def id_token(self, grant, access=None):
        return self.signed(changed(self.claims(grant, access), self.lies.get("claims")))

    def end_session(self, query):
        back = query.get("post_logout_redirect_uri")
        if query.get("client_id") != self.client_id or back is None or back != self.signed_out_uri:
            return Reply("<h1>Signed out there</h1>", type="text/html")
        state = urllib.parse.urlencode({"state": query["state"]}) if "state" in query else ""
        return Reply(status=302, fields={"Location": f"{back}?{state}"})

    def revoke(self, request):
        self.authenticate(request)
        token = request.form.get("token")
        if self.refresh_tokens.get(token) != request.form.get("client_id"):
            raise Refused("invalid_grant", "the token is of another client, or unknown")
        if request.form.get("token_type_hint") != "refresh_token":
            raise Refused("unsupported_token_type", "token_type_hint is not refresh_token")
        self.revoked.append(token)
        return b""

    # What an SDK on the device gets

    def native_code(self, client_id=None, **parameters):
        """Returns a code; the token endpoint wants the same parameters for it."""
        code = secrets.token_urlsafe(24)
        self.codes[code] = Grant(dataclasses.replace(self.person), client_id or self.client_id,
                                 parameters, int(time.time()))
        return code

    def native_token(self, **claims):
        """Returns an ID token."""
        grant = Grant(self.person, self.client_id, {}, int(time.time()))
        return self.signed(changed(self.claims(grant), claims))

    def native_access_token(self, client_id=None):
        """Returns an access token, of another client if one is named."""
        access = f"at-{secrets.token_urlsafe(24)}"
        self.tokens[access] = Grant(dataclasses.replace(self.person), client_id or self.client_id,
                                    {}, int(time.time()))
        return access

    def signed(self, claims):
        head, signing = self.lies.get("head", {}), self.lies.get("signing")
        if signing == "none":
            return f"{encode({'alg': 'none', 'typ': 'JWT', **head})}.{encode(claims)}."
        if signing == "HS256":
            return secret_token(claims, self.key.public)
        if signing == "unknown":
            return SigningKey(self.key.algorithm, "never-published").token(claims, **head)
        return self.key.token(claims, **head)

    def person_of(self, request):
        """Returns the person of the access token of a request."""
        kind, _, token = request.fields.get("Authorization", "").partition(" ")
        if self.preset == "facebook":
            token = token or request.query.get("access_token", "")
            proof = hmac.new(self.secret.encode(), token.encode(), "sha256").hexdigest()
            if request.query.get("appsecret_proof") != proof:
                raise Refused("invalid_request", "appsecret_proof is missing or wrong")
        elif kind.lower() != "bearer":
            raise Refused("invalid_token", "the request has no bearer token", 401)
        if self.preset == "github" and not request.fields.get("User-Agent"):
            raise Refused("forbidden", "the request has no User-Agent", 403)
        if token not in self.tokens:
            raise Refused("invalid_token", "the access token is unknown", 401)
        return self.tokens[token].person

    def userinfo(self, request):
        person = self.person_of(request)
        return self.told_instead("userinfo", lambda: self.kind.userinfo(person, self))

