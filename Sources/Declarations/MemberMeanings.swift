/// The descriptions of members of objects, by their names.
///
/// A shape that says something else about a member precedes.
enum MemberMeanings {
  static let all: [String: String] = [
    // Everywhere
    "id": "the id", "name": "the name", "description": "a text for people",
    "created_at": "when it was created", "updated_at": "when it was changed last",
    "version": "grows by one with each change", "app": "the name of the app",
    "user_id": "the id of the user", "device_id": "the id of the device",
    "session_id": "the id of the session", "state": "the state",
    "kind": "the kind, which cannot change", "path": "the path of the value",
    "value": "the value", "key": "the key",
    // Errors
    "type": "the address of the page about the error", "title": "the cause",
    "status": "the HTTP status", "code": "the stable code", "detail": "more about this request",
    // Users
    "email": "the email address", "email_verified": "whether the user has proved the address",
    "anonymous": "whether the user has no credentials",
    "blocked": "whether the user cannot sign in", "given_name": "the given name",
    "family_name": "the family name", "nickname": "a name for friends",
    "phone": "the telephone number (E.164)", "locale": "the language and region (BCP 47)",
    "zone": "the time zone (IANA)",
    "picture": "the path of the picture, or the URL of one elsewhere",
    "password": "the password", "current_password": "the present password",
    "new_password": "the password from now on",
    "keep_api_keys": "whether the API keys of the user stay valid",
    "identities": "accounts at issuers", "login_count": "how often the user has signed in",
    "last_login_at": "when the user signed in last",
    // Credentials, sessions and devices
    "provider": "the kind of credential", "subject": "the address, or the id at the issuer",
    "verified": "whether the address is verified", "token": "the token",
    "token_type": "how to send the access token", "disabled": "whether it is refused",
    "last_used_at": "when it was used last", "expires_at": "when it expires",
    "refreshed_at": "when its tokens were refreshed last",
    "current": "whether it is the one in use", "address": "the IP address of the client",
    "agent": "the User-Agent of the client", "users": "the users, the active one first",
    "activated_at": "when the user became active on the device",
    "second_factors": "the confirmed authenticator apps",
    "recovery_codes_left": "the number of unused recovery codes",
    // Documents
    "array_filters": "conditions for the elements that `$[name]` names",
    "upsert": "whether a missing document is created", "upserted": "whether it was created",
    "matched_count": "1 if the filter matched", "modified_count": "1 if the document changed",
    "changed_at": "when it was changed", "deleted": "whether the document was deleted",
    "op": "the operation", "from": "the path of the value to move or copy",
    "bytes": "the size in bytes",
    // Operation
    "hosts": "the host names of the app", "scopes": "the scopes", "scope": "the scope",
    "claims": "the members of tokens, each with the path of its value",
    "identifier": "the audience of its tokens",
    "resource_server": "the id of the API", "client": "the id of the client",
    "at": "when it happened", "action": "what was done", "actor": "who did it",
    "purpose": "the tokens that it signs", "algorithm": "the algorithm (JWA)",
    "retires_at": "when it stops to verify tokens",
    "public_key": "the key that verifies tokens (JWK)", "keys": "the keys",
    "jwks": "the keys of the issuer (JWK Set)", "attempts": "the number of attempts",
    "last_error": "the answer of the relay to the last attempt",
    "mails": "the number of emails", "reset": "the number of limits that were reset",
    "all": "whether all limits of the app are reset",
    "kty": "the type of the key", "crv": "the curve", "x": "the first coordinate",
    "y": "the second coordinate", "kid": "the id of the key", "alg": "the algorithm",
    "use": "the use of the key", "pkce": "whether a code needs PKCE",
    "claims_profile": "the names of claims in its tokens",
    "assertion_keys": "the keys that sign the assertions of the client (JWK Set)",
    "token_dialect": "the form of its access tokens",
  ]
}
