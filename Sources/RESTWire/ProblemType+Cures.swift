/// What to do about each kind of problem, for who writes an app or runs it.
extension ProblemType {
  var cure: String {
    switch self {
    case .pathMalformed: "Encode the parts of the path in UTF-8, and then by percent signs."
    case .bodyTruncated: "Send as many bytes as Content-Length says; a proxy may have cut them off."
    case .patchMalformed:
      "Send a list of operations as RFC 6902 has them; errors says which is not."
    case .conditionMalformed: "Send back the ETag as it was answered, in its quotes, or *."
    case .idempotencyKeyMalformed:
      "Send 1 to 255 printable characters without spaces, such as a UUID, in quotes or bare."
    case .idempotencyKeyUnsupported:
      "Leave it out: answers with tokens are never kept, nor those of routes that anybody may ask."
    case .idempotencyKeyReused:
      "Choose a new key for each request; the same key is for the same bytes."
    case .idempotencyKeyBusy:
      "Wait a moment, and send the same request again: it is answered as the first one is."
    case .mailTokenInvalid:
      "Have another mail sent. A token is good once, for a day or (to reset) an hour, and a newer one "
        + "ends those before."
    case .jsonEmpty: "Send a JSON body; where nothing is to be said, {}."
    case .jsonSyntax, .jsonTrailing, .jsonUTF8, .jsonSurrogate, .jsonNul, .jsonDuplicateKey:
      "Send one JSON value by RFC 8259 in UTF-8, as JSON.stringify makes it; offset is the byte where "
        + "it breaks a rule."
    case .jsonDepth: "Nest objects and lists at most 64 deep."
    case .jsonNumber: "Keep numbers within what a double holds, or send them as strings."
    case .requestMalformed: "Look at what your HTTP client sends: the web server could not read it."
    case .clientUnknown:
      "Send Authorization: Bearer with a key (dck_…) of a client of this app or of the operator. "
        + "dossier client list shows which there are and whether they are disabled."
    case .externalTokenInvalid:
      "detail says why. Compare the app's issuers (dossier issuer list) with iss, aud and exp of the token."
    case .deviceUnknown:
      "Send in Dossier-Device the device_secret of the last login. If its answer was lost, log in "
        + "without one: as a new device. With the device in a cookie, serve page and server from one "
        + "site, or have the operator set the app's device_cookie_same_site to none."
    case .wrongCredentials:
      "Ask for the password or the key again; a password can be reset by mail."
    case .codeInvalid:
      "Have the user type the code anew; after 5 tries or 10 minutes, or when it was used, ask for "
        + "another by POST /v1/login/code/request."
    case .refreshTokenInvalid, .sessionEnded:
      "Log in again. Refresh tokens are good once: see to it that one tab at a time refreshes."
    case .signInToVerify:
      "Verify in a session of the user, or send the password with the token of the mail."
    case .additionalFactorRequired:
      "Ask the user for a code, and send it with flow to POST /v1/login/second-factor."
    case .tokenMissing:
      "Send Authorization: Bearer with an access token, which every login answers."
    case .tokenInvalid: "Refresh, and repeat; the token may be another app's, or cut off."
    case .tokenExpired: "Refresh by POST /v1/token/refresh, and repeat the request."
    case .reauthenticationRequired:
      "Ask the user for the password, send it to POST /v1/reauthenticate, and repeat the request."
    case .notLoopback:
      "Ask on the machine that runs the server, as a probe or a scraper there does."
    case .insufficientScope: "Give the client the scope that detail names, or use another client."
    case .wayInClosed: "The operator opens it by the setting that detail names: dossier app set."
    case .emailUnverified:
      "Have the user verify the address by the mail; POST /v1/email/verify/request sends another."
    case .signUpClosed: "The operator makes users, or sets sign_up to immediate or verify_first."
    case .mfaOff: "The operator sets mfa to optional or required."
    case .switchingForbidden: "Have the user log in, or set the app's switching to allow."
    case .originForbidden:
      "dossier app set APP allowed_origins=ORIGIN, as the browser writes it in the field Origin."
    case .routeNotFound: "Compare method and path with the reference; there is no slash at the end."
    case .notFound:
      "What the path or the body names was deleted, never was, or belongs to somebody else."
    case .appNotFound:
      "Name an app in Dossier-App, or ask by a host name of one: dossier app list shows them."
    case .methodNotAllowed: "Use one of the methods that the field Allow lists."
    case .secondFactorLimit: "Remove a second factor that is not used."
    case .appExists, .issuerExists: "Choose another name."
    case .hostTaken: "Take the host name from the other app first: dossier app host remove."
    case .userExists: "errors says what is taken; change the user who is there, or leave it out."
    case .identityTaken:
      "Log in by that identity instead, or unlink it from the other user first."
    case .identityExists:
      "Unlink the one that is there first; or change the password, or the address. A user who has "
        + "logged in by codes only gets a password by POST /v1/password/reset-request."
    case .wayBackOpen:
      "Wait until then; or give the address back by its mail, POST /v1/email/restore, and change it "
        + "by POST /v1/me/email."
    case .lastIdentity: "Link another way to log in first, or delete the user."
    case .apiKeyLimit: "Delete an API key, or raise the app's api_keys_per_user."
    case .deviceFull: "Remove a user from the device: DELETE /v1/device/users/{user}."
    case .notLoggedIn: "Have that user log in on the device."
    case .emailTaken:
      "Have the user log in, or choose another address. Where an address is to be given back, detail "
        + "says what to do with the user who has it."
    case .noEmail: "Link one with a password: POST /v1/me/identities."
    case .propertyMoved:
      "Ask whose value stays, and repeat with keep=new or keep=old, or with current_version in If-Match."
    case .propertyLimit: "Remove properties first; larger things belong into custom data."
    case .patchTestFailed: "Read the document again and decide anew."
    case .indexExists: "Use the one that is there: dossier index list."
    case .indexLimit: "Remove an index that nobody searches by."
    case .versionMoved:
      "Somebody has changed it meanwhile: read it again, make the change anew, and send the new ETag."
    case .bodyTooLarge, .documentTooLarge: "Send at most as many bytes as limit says."
    case .uriTooLong: "Shorten the query, such as by a filter with fewer terms."
    case .pictureType: "Send a JPEG, PNG, WebP, HEIF, AVIF or GIF file."
    case .mediaType: "Send the Content-Type that detail names."
    case .filterInvalid: "position is the byte at which the filter could not be read on."
    case .pictureTruncated, .pictureDamaged:
      "Have the user choose another file, or upload it again."
    case .picturePixels, .pictureCost: "Scale the picture down before it is sent."
    case .invalid: "errors names each member by a JSON Pointer, with the rule that it breaks."
    case .schemaMismatch: "errors says where; dossier schema show prints the app's schema."
    case .patchNotApplicable: "errors says which operation fails; read the document again."
    case .notIndexed: "Add a term on one of the paths in indexed, or dossier index add the path."
    case .updateRefused: "The code is MongoDB's, and the pointer says which operator it is about."
    case .tooManyAttempts, .tooManyRequests: "Wait for as many seconds as Retry-After says."
    case .headerTooLarge: "Send fewer or shorter header fields; cookies of other pages count, too."
    case .internalError: "Tell the operator the id in instance: the log has the cause under it."
    case .overloaded, .databaseUnavailable, .serverUnavailable, .issuerUnavailable:
      "Try again after as many seconds as Retry-After says; the operator finds the cause in the log."
    case .mailNotConfigured: "The operator sets mail to a relay or a folder."
    case .searchTooSlow: "Add a term on an indexed path that few users match."
    }
  }
}
