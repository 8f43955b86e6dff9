extension ProblemType {
  /// The remedy, for developers and operators.
  var cure: String {
    switch self {
    case .pathMalformed: "Encode the segments of the path as UTF-8, then percent-encode them."
    case .bodyTruncated:
      "Send as many bytes as Content-Length announces. A proxy may have cut off the body."
    case .patchMalformed:
      "Send an array of operations (RFC 6902). The member errors points at the invalid one."
    case .conditionMalformed: "Send the ETag of the last response with its quotes, or *."
    case .idempotencyKeyMalformed:
      "Send 1 to 255 printable characters without spaces, such as a UUID, in quotes or bare."
    case .idempotencyKeyUnsupported:
      "Omit the Idempotency-Key. Responses with tokens are never stored, nor are those of public "
        + "routes."
    case .idempotencyKeyReused:
      "Use a new key for each request. Repeat a key only with the same bytes."
    case .idempotencyKeyInUse:
      "Wait a moment, then repeat the request. The response is that of the first request."
    case .mailTokenInvalid:
      "Request another mail. A token works once, and expires after a day, or after an hour if it "
        + "resets a password. A newer token replaces older ones."
    case .jsonEmpty: "Send a JSON body. An empty object is {}."
    case .jsonSyntax, .jsonTrailing, .jsonUTF8, .jsonSurrogate, .jsonNul, .jsonDuplicateKey:
      "Send one JSON value (RFC 8259) in UTF-8, such as JSON.stringify makes. The member offset is "
        + "the position of the invalid byte."
    case .jsonDepth: "Nest objects and arrays at most 64 levels deep."
    case .jsonNumber: "Send numbers that fit a double, or send them as strings."
    case .requestMalformed:
      "Check the bytes that your HTTP client sends. The web server could not parse them."
    case .clientUnknown:
      "Send Authorization: Bearer with a client key (ds_client_…) of this app or of the operator. "
        + "dossier client list shows the clients, and whether they are disabled."
    case .externalTokenInvalid:
      "The member detail has the reason. Compare iss, aud and exp of the token with the app's "
        + "issuers (dossier issuer list)."
    case .deviceUnknown:
      "Send the device_secret of the last sign-in as Dossier-Device. If that response was lost, sign "
        + "in without a secret, as a new device. If a cookie holds the device, serve the page and "
        + "the server from one site, or set the app's device_cookie_same_site to none."
    case .wrongCredentials:
      "Ask for the password or the key again. A mail can reset a password."
    case .codeInvalid:
      "Ask the user for the code again. A code works once, for 10 minutes and 5 tries. "
        + "POST /v1/login/code/request mails another one."
    case .refreshTokenInvalid, .sessionEnded:
      "Sign in again. A refresh token works once, so let only one tab refresh at a time."
    case .signInToVerify:
      "Verify in a session of the user, or send the password with the token of the mail."
    case .additionalFactorRequired:
      "Ask the user for a code, and send it with flow to POST /v1/login/second-factor."
    case .tokenMissing:
      "Send Authorization: Bearer with an access token. Every sign-in returns one."
    case .tokenInvalid:
      "Refresh, and repeat the request. The token may be truncated, or may belong to another app."
    case .tokenExpired: "Refresh with POST /v1/token/refresh, and repeat the request."
    case .reauthenticationRequired:
      "Ask the user for the password, send it to POST /v1/reauthenticate, and repeat the request."
    case .internalOnly:
      "Send the request from the machine that runs the server, or from a network that the setting "
        + "internal_networks lists."
    case .insufficientScope: "Give the client the scope in detail, or use another client."
    case .loginMethodDisabled:
      "Enable the login method with dossier app set. The member detail names the setting."
    case .emailUnverified:
      "Ask the user to verify the address with the mail. POST /v1/email/verify/request sends "
        + "another one."
    case .signUpClosed:
      "Create the user as an operator, or set sign_up to immediate or verify_first."
    case .mfaDisabled: "Set mfa to optional or required."
    case .switchingForbidden: "Ask the user to sign in, or set the app's switching to allow."
    case .originForbidden:
      "Run dossier app set --app APP allowed_origins=ORIGIN, with the value of the Origin header field."
    case .routeNotFound:
      "Compare the method and the path with the reference. No path ends with a slash."
    case .notFound:
      "Check the ids in the path and the body. The resource was deleted, never existed, or belongs "
        + "to another user."
    case .appNotFound:
      "Name an app in Dossier-App, or use one of its host names. dossier app list shows the apps."
    case .methodNotAllowed: "Use one of the methods in the Allow header field."
    case .secondFactorLimit: "Remove an unused second factor."
    case .appExists, .issuerExists: "Choose another name."
    case .hostTaken: "Remove the host name from the other app first: dossier app host remove."
    case .userExists:
      "The member errors names the taken value. Change the existing user, or omit the value."
    case .identityTaken:
      "Sign in with that identity, or unlink it from the other user first."
    case .identityExists:
      "Unlink the existing identity first, or change the password or the address. If the user has "
        + "only signed in with codes, set a password with POST /v1/password/reset-request."
    case .emailRestorePending:
      "Wait until the time in until. Or restore the address with POST /v1/email/restore and the "
        + "token from its mail, then change it with POST /v1/me/email."
    case .lastIdentity: "Link another login method first, or delete the user."
    case .apiKeyLimit: "Delete an API key, or raise the app's api_keys_per_user."
    case .deviceFull: "Remove a user from the device: DELETE /v1/device/users/{user}."
    case .notLoggedIn: "Ask the user to sign in on the device."
    case .emailTaken:
      "Ask the user to sign in, or to choose another address."
    case .noEmail: "Link an address and a password: POST /v1/me/identities."
    case .versionConflict:
      "Ask the user which value to keep. Then repeat the request with keep=new or keep=old, or with "
        + "current_version in If-Match."
    case .propertyLimit: "Remove properties first. Store larger data in custom data."
    case .patchTestFailed: "Read the document again, and make a new patch."
    case .indexExists: "Use the existing index: dossier index list."
    case .indexLimit: "Remove an unused index."
    case .preconditionFailed:
      "Read the resource again, apply the change to it, and send the new ETag."
    case .bodyTooLarge, .documentTooLarge: "Send at most as many bytes as limit allows."
    case .uriTooLong: "Shorten the query, for example with fewer terms in the filter."
    case .pictureType: "Send a JPEG, PNG, WebP, HEIF, AVIF or GIF file."
    case .mediaType: "Send the Content-Type that detail names."
    case .filterInvalid: "Correct the filter at the byte in position."
    case .pictureTruncated, .pictureDamaged:
      "Ask the user for another file, or upload the file again."
    case .picturePixels, .pictureTooComplex: "Scale the picture down before the upload."
    case .invalid:
      "Correct the members that errors lists. Each entry has a JSON Pointer and the broken rule."
    case .schemaMismatch:
      "Correct the places that errors lists. dossier schema show prints the app's schema."
    case .patchNotApplicable:
      "The member errors names the failed operation. Read the document again."
    case .notIndexed:
      "Add a term on one of the paths in indexed, or add an index with dossier index add."
    case .updateRefused: "Correct the operator that the pointer names. The code is MongoDB's."
    case .tooManyAttempts, .tooManyRequests: "Wait for the number of seconds in Retry-After."
    case .headerTooLarge: "Send fewer or shorter header fields. Cookies of other pages count too."
    case .internalError:
      "Report the id in instance to the operator, who finds the cause under it in the log."
    case .overloaded, .databaseUnavailable, .serverUnavailable, .issuerUnavailable:
      "Repeat the request after the number of seconds in Retry-After. The log has the cause."
    case .mailNotConfigured: "Set the setting mail to a relay or a folder."
    case .searchTooSlow: "Add a term on an indexed path that few users match."
    }
  }
}
