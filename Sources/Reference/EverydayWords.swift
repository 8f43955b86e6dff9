/// Everyday words for what routes do, by route, and for rules, by the id of their section.
///
/// The search of the reference uses them.
enum EverydayWords {
  /// Words of which each finds what the others find.
  private static let families = [
    ["sign out", "log out", "signout", "logout", "log off", "logoff"],
    ["sign in", "log in", "signin", "login", "log on", "authenticate"],
    ["sign up", "signup", "register"],
    ["delete", "remove", "erase"],
  ]

  /// Returns the other words of the families to which a text belongs.
  static func synonyms(of text: String) -> String {
    let text = text.lowercased()
    return families.filter { $0.contains { text.contains($0) } }.flatMap(\.self)
      .joined(separator: " ")
  }

  static let rules: [String: String] = [
    "lists": "pagination paging paginate next page cursor offset limit Link",
    "versions": "optimistic locking concurrency conflict ETag lost update race",
    "failures": "rate limit throttling too many requests 429 503 retry exception status codes",
    "authentication": "bearer header credentials API key multi-tenancy select app",
    "variables": "try getting started quick start curl example",
  ]

  static let all: [String: String] = [
    "POST /v1/login/anonymous": "guest visitor sign in log in without account try out",
    "POST /v1/register": "sign up signup create account new user join",
    "POST /v1/login/password": "sign in signin login log in",
    "POST /v1/login/jwt":
      "sign in with Google Apple Firebase social login single sign-on SSO OpenID external custom token",
    "POST /v1/login/api-key": "sign in script device without keyboard",
    "POST /v1/login/code/request":
      "magic link one-time code OTP passwordless sign in sign up email",
    "POST /v1/login/code": "magic link one-time code OTP passwordless sign in sign up email",
    "POST /v1/token/refresh": "stay signed in keep logged in renew token expired",
    "POST /v1/login/second-factor":
      "MFA 2FA two-factor TOTP authenticator app recovery code sign in",
    "POST /v1/login/second-factor/enroll":
      "MFA 2FA two-factor TOTP authenticator app QR code set up required",
    "POST /v1/reauthenticate": "sudo confirm password again step up",
    "POST /v1/logout": "sign out end session",
    "POST /v1/email/verify": "confirm email verification activate account",
    "POST /v1/email/verify/request": "confirm email verification resend",
    "POST /v1/password/reset-request": "forgot forgotten lost password recover account",
    "POST /v1/password/reset": "forgot forgotten lost password recover account new",
    "POST /v1/password/change": "update password new",
    "POST /v1/connections":
      "add button social login sign in with Google Apple Microsoft GitHub Facebook single sign-on SSO OpenID",
    "GET /v1/device": "switch account multiple accounts users of this browser",
    "PUT /v1/device/active": "switch account multiple accounts change user",
    "POST /v1/device/users/{user}/logout": "sign out signout log out account",
    "POST /v1/device/logout": "sign out signout log out all accounts of this browser",
    "DELETE /v1/device/users/{user}": "remove account from device forget",
    "GET /v1/me": "who am I current user account",
    "PATCH /v1/me": "edit profile rename display name language time zone phone",
    "DELETE /v1/me": "delete account close account remove erase user GDPR",
    "GET /v1/doctor": "health status monitoring back up backup",
    "GET /v1/me/export": "download my data takeout GDPR",
    "GET /v1/users/export": "CSV spreadsheet Excel download list",
    "POST /v1/users/{user}/email/verify/request": "resend confirmation activation email",
    "GET /v1/users/{user}/export": "download data takeout GDPR",
    "PUT /v1/me/picture": "avatar photo image profile picture upload",
    "DELETE /v1/me/picture": "avatar photo image profile picture remove",
    "PUT /v1/users/{user}/picture": "avatar photo image profile picture upload",
    "DELETE /v1/users/{user}/picture": "avatar photo image profile picture remove",
    "GET /v1/pictures/{picture}": "avatar photo image profile picture",
    "GET /v1/users": "search find query page through users paginate",
    "POST /v1/users": "create account import migrate user",
    "POST /v1/rate-limits/reset": "throttling unlock locked out 429 too many attempts",
    "DELETE /v1/users/{user}/sessions": "sign out everywhere all devices revoke kick",
    "PUT /v1/users/{user}/roles/{role}": "grant assign admin RBAC authorization",
    "GET /v1/users/{user}/permissions": "RBAC authorization rights access control",
    "GET /v1/audit": "logs log activity history",
    "GET /v1/audit/export": "logs download CSV NDJSON",
    "PATCH /v1/users/{user}": "ban block suspend disable unban account",
    "DELETE /v1/users/{user}": "delete account close account remove erase GDPR",
    "PATCH /v1/me/metadata": "settings preferences save",
    "PUT /v1/me/metadata": "settings preferences save",
    "GET /v1/me/metadata": "settings preferences load",
    "PATCH /v1/me/custom-data": "save game data store",
    "PUT /v1/me/custom-data": "save game data store",
    "GET /v1/me/custom-data": "load game data",
    "POST /v1/me/custom-data/update": "MongoDB increment push counter",
    "GET /v1/me/custom-data/versions": "history undo",
    "PUT /v1/me/properties/{key}": "key value setting preference counter",
    "GET /v1/me/properties": "key value settings preferences",
    "GET /v1/me/identities": "linked accounts sign in methods",
    "POST /v1/me/identities": "link account connect guest upgrade convert anonymous add password",
    "DELETE /v1/me/identities/{identity}": "unlink disconnect account",
    "POST /v1/me/api-keys": "personal access token",
    "POST /v1/me/second-factors":
      "MFA 2FA two-factor TOTP authenticator app QR code set up enable",
    "POST /v1/me/second-factors/{factor}/confirm":
      "MFA 2FA two-factor TOTP authenticator app enable verify code",
    "GET /v1/me/second-factors": "MFA 2FA two-factor TOTP authenticator app list",
    "DELETE /v1/me/second-factors/{factor}":
      "MFA 2FA two-factor TOTP authenticator app remove disable",
    "POST /v1/me/recovery-codes": "MFA 2FA two-factor backup codes lost phone",
    "DELETE /v1/users/{user}/second-factors":
      "MFA 2FA two-factor reset lost phone authenticator app",
    "POST /v1/me/email": "change email new address",
    "POST /v1/me/email/verify": "change email confirm new address code",
    "POST /v1/email/restore": "hacked stolen account recover undo email change",
    "GET /v1/me/sessions": "where am I logged in signed in devices",
    "DELETE /v1/me/sessions": "sign out everywhere all other devices revoke sessions",
    "DELETE /v1/me/sessions/{session}": "sign out log out another device",
    "GET /v1/me/changes": "sync poll offline update what is new another device realtime",
    "GET /v1/me/events": "realtime server-sent events SSE push live updates subscribe websocket",
    "GET /v1/me/audit": "security log activity history recent",
    "GET /v1/apps/{app}/jwks.json": "verify access token back end public key JWKS",
    "GET /v1/events": "webhooks notifications triggers told about events back end CRM sync",
    "GET /v1/users/{user}": "get user by id",
    "POST /v1/apps": "new project tenant",
    "PATCH /v1/apps/{app}":
      "CORS allowed origins configure settings domain branding logo color change the look of sign-in pages",
    "POST /v1/clients":
      "register application OAuth OpenID Connect server key back end service account M2M",
    "PATCH /v1/clients/{client}": "redirect URI callback URL allowed origins configure application",
    "POST /v1/clients/{client}/secret": "client secret rotate renew leaked",
    "POST /v1/resource-servers": "audience OAuth register API permissions",
    "PUT /v1/clients/{client}/grants/{resource_server}":
      "client credentials machine to machine M2M permissions",
    "POST /v1/keys/rotate": "rotate secret",
    "POST /v1/issuers": "Google Apple Firebase social login single sign-on SSO OpenID custom token",
    "POST /v1/indexes": "make searchable",
    "PUT /v1/schemas/{kind}": "validate validation rules documents",
    "GET /openapi.json": "swagger generate client SDK Postman",
  ]
}
