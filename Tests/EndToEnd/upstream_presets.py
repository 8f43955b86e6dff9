"""The profiles that each kind of issuer tells, as in its documentation."""

import dataclasses
import itertools

COUNT = itertools.count(1)
# The tenant of all personal accounts at Microsoft.
CONSUMERS = "9188040d-6c67-4c5b-b112-36a304b66dad"
TENANT = "5b1f2c1e-7a52-4f0e-9a35-3f2f0a6d1c11"


@dataclasses.dataclass
class Person:
    """A person with an account at an issuer. A number makes each one unique."""

    email: str | None = None
    verified: bool = True
    name: str = "Ada Lovelace"
    given: str = "Ada"
    family: str = "Lovelace"
    login: str = "ada"
    picture: str | None = None
    # The organization: `hd` of Google, `tid` of Microsoft.
    domain: str | None = None
    tenant: str = TENANT
    number: int = dataclasses.field(default_factory=lambda: next(COUNT))
    subject: str | None = None


def said(**members):
    return {name: value for name, value in members.items() if value is not None}


class Preset:
    """An issuer by OpenID Connect, as most of them are."""

    is_openid = True
    # Whether it refuses requests without PKCE.
    needs_pkce = True
    authentication = ("client_secret_basic", "client_secret_post")
    response_mode = "query"
    # Whether the response names the issuer (RFC 9207).
    names_itself = False
    # Further members of the metadata.
    metadata = {}
    userinfo_path = "userinfo"
    scopes = ("openid", "profile", "email")

    def subject(self, person):
        return f"{person.number:08d}-5f3c-4d0b-9a7e-000000000000"

    def claims(self, person, issuer):
        return said(sub=person.subject, email=person.email, name=person.name,
                    email_verified=person.verified if person.email else None,
                    given_name=person.given, family_name=person.family, picture=person.picture)

    def userinfo(self, person, issuer):
        return self.claims(person, issuer)

    def extra(self, path, request, issuer):
        """Returns what another endpoint of the API says, or None."""

    def issuer(self, base, person):
        """Returns `iss` of a person's token."""
        return base

    def stated(self, base, path):
        """Returns the issuer that the metadata below a path state; None for a path without them."""
        return None if path else base

    def settings(self, base):
        """Returns the attributes by which a connection uses this server in place of the real one."""
        return {"issuer": base}


class OpenID(Preset):
    names_itself = True
    metadata = {"authorization_response_iss_parameter_supported": True}


class Google(Preset):
    def subject(self, person):
        return f"1080000000000{person.number:08d}"

    def claims(self, person, issuer):
        return {**super().claims(person, issuer), **said(hd=person.domain)}


class Apple(Preset):
    needs_pkce = False
    authentication = ("client_secret_post",)
    response_mode = "form_post"
    scopes = ("name", "email")
    userinfo_path = None

    def subject(self, person):
        return f"001234.{person.number:032x}.0815"

    def claims(self, person, issuer):
        return said(sub=person.subject, email=person.email,
                    email_verified=str(person.verified).lower() if person.email else None,
                    is_private_email=str((person.email or "").endswith(
                        "@privaterelay.appleid.com")).lower(), nonce_supported=True)


class Microsoft(Preset):
    def issuer(self, base, person):
        return f"{base}/{person.tenant}/v2.0"

    def stated(self, base, path):
        tenant, _, version = path.partition("/")
        if version != "v2.0":
            return None
        names = {"common": "{tenantid}", "organizations": "{tenantid}", "consumers": CONSUMERS}
        return f"{base}/{names.get(tenant, tenant)}/v2.0"

    def subject(self, person):
        return f"AAAAAAAAAAAAAAAAAAAAA{person.number:022d}"

    def claims(self, person, issuer):
        return said(sub=person.subject, tid=person.tenant, email=person.email, name=person.name,
                    preferred_username=person.email, oid=f"{person.number:032x}", ver="2.0",
                    xms_edov="1" if person.verified else None)

    def userinfo(self, person, issuer):
        return said(sub=person.subject, name=person.name, email=person.email,
                    given_name=person.given, family_name=person.family)

    def settings(self, base):
        return {"issuer": base + "/{tenantid}/v2.0"}


class GitLab(Preset):
    def subject(self, person):
        return str(person.number)

    def claims(self, person, issuer):
        return said(sub=person.subject, email=person.email,
                    email_verified=person.verified if person.email else None)

    def userinfo(self, person, issuer):
        return {**super().claims(person, issuer), "nickname": person.login,
                "preferred_username": person.login, "groups": ["staff"]}


class LinkedIn(Preset):
    needs_pkce = False
    authentication = ("client_secret_post",)

    def claims(self, person, issuer):
        return {**super().claims(person, issuer), "locale": "en_US"}

    def userinfo(self, person, issuer):
        return {**super().claims(person, issuer), "locale": {"country": "US", "language": "en"}}


class Slack(Preset):
    needs_pkce = False
    authentication = ("client_secret_post",)

    def subject(self, person):
        return f"U{person.number:08d}"

    def claims(self, person, issuer):
        return {**super().claims(person, issuer), "https://slack.com/user_id": person.subject,
                "https://slack.com/team_id": "T0R7GR", "locale": "en-US", "team_domain": "example"}

    def userinfo(self, person, issuer):
        return {"ok": True, **self.claims(person, issuer)}


class Plain(Preset):
    """An issuer by OAuth 2: no ID token, no metadata, fixed endpoints."""

    is_openid = False
    needs_pkce = False
    authentication = ("client_secret_post",)
    scopes = ()

    def settings(self, base):
        return {"issuer": base, "authorization_url": f"{base}/authorize",
                "token_url": f"{base}/token", "userinfo_url": f"{base}/{self.userinfo_path}"}


class OAuth2(Plain):
    authentication = ("client_secret_basic", "client_secret_post")
    CLAIMS = {"subject": "id", "email": "mail", "name": "full_name"}

    def claims(self, person, issuer):
        return said(id=person.subject, mail=person.email, full_name=person.name)


class GitHub(Plain):
    userinfo_path = "user"
    scopes = ("user:email",)

    def subject(self, person):
        return str(583230 + person.number)

    def claims(self, person, issuer):
        # The address of the public profile, which most people leave empty.
        return {"login": person.login, "id": int(person.subject), "node_id": "MDQ6VXNlcjE=",
                "avatar_url": person.picture, "name": person.name, "email": None, "type": "User"}

    def extra(self, path, request, issuer):
        if path == "user/emails":
            person = issuer.person_of(request)
            own = [{"email": person.email, "primary": True, "verified": person.verified,
                    "visibility": "private"}] if person.email else []
            return [{"email": f"{person.login}@users.noreply.github.com", "primary": False,
                     "verified": True, "visibility": None}, *own]


class Facebook(Plain):
    userinfo_path = "me"
    scopes = ("email",)

    def subject(self, person):
        return f"10150000000{person.number:06d}"

    def claims(self, person, issuer):
        return said(id=person.subject, name=person.name, first_name=person.given,
                    last_name=person.family, email=person.email)

    def extra(self, path, request, issuer):
        if path == "debug_token":
            inspector = request.query.get("access_token")
            if inspector != f"{issuer.client_id}|{issuer.secret}":
                return {"error": {"code": 190, "message": "Invalid OAuth access token."}}
            grant = issuer.tokens.get(request.query.get("input_token"))
            if not grant:
                return {"data": {"is_valid": False, "scopes": [], "error": {"code": 190}}}
            return {"data": {"app_id": grant.client_id, "type": "USER", "is_valid": True,
                             "user_id": grant.person.subject, "scopes": ["email"]}}


class Discord(Plain):
    authentication = ("client_secret_basic", "client_secret_post")
    userinfo_path = "users/@me"
    scopes = ("identify", "email")

    def subject(self, person):
        return f"80351110224{person.number:07d}"

    def claims(self, person, issuer):
        return {"id": person.subject, "username": person.login, "discriminator": "0",
                "global_name": person.name, "avatar": None, "email": person.email,
                "verified": person.verified, "locale": "en-US"}


class X(Plain):
    userinfo_path = "users/me"
    needs_pkce = True
    authentication = ("client_secret_basic",)
    scopes = ("users.read",)

    def subject(self, person):
        return f"22449942{person.number:06d}"

    def claims(self, person, issuer):
        return {"data": said(id=person.subject, name=person.name, username=person.login,
                             confirmed_email=person.email, profile_image_url=person.picture)}


PRESETS = {
    "oidc": OpenID(), "google": Google(), "apple": Apple(), "microsoft": Microsoft(),
    "gitlab": GitLab(), "linkedin": LinkedIn(), "slack": Slack(), "oauth2": OAuth2(),
    "github": GitHub(), "facebook": Facebook(), "discord": Discord(), "x": X()}
