package import Runtime

extension Failure {
  package static let passkeyInvalid = Failure("passkey_invalid", .unauthenticated)
    .titled("The passkey does not sign this user in.")
    .remedied("Begin again. The log has the broken rule under the request id.")
  /// The app has no such passkey, as the newest commit states.
  package static let passkeyUnknown = Failure("passkey_unknown", .unauthenticated)
    .titled("No user of the app has this passkey.")
    .remedied(
      "Sign in in another way. A page may call PublicKeyCredential.signalUnknownCredential, which "
        + "removes the passkey from the user's device.")
  package static let passkeyFlowExpired = Failure("flow_expired", .malformed)
    .titled("The flow has expired, or does not belong to this request.")
    .remedied("Ask for new options. Their flow is valid for ten minutes, once, for one purpose.")
  package static let userVerificationMissing = Failure("user_verification_missing", .invalid)
    .titled("The device has not verified its user.")
    .remedied("Set up a screen lock, a PIN or a fingerprint on the device, and begin again.")
  package static let passkeyExists = Failure("passkey_exists", .conflict)
    .titled("A user already has this passkey.")
    .remedied("Sign in with it.")
  package static let tooManyPasskeys = Failure("too_many_passkeys", .conflict)
    .titled("The user has the maximum number of passkeys.")
    .remedied("Remove one that is no longer used, or raise the app's passkeys_per_user.")
  package static let passkeyDomainInUse = Failure("passkey_domain_in_use", .conflict)
    .titled("Users have passkeys for the present domain of the app.")
    .remedied(
      "Keep passkey_rp_id. Or change it with force=true (dossier app set --force, dossier apply "
        + "--force): these passkeys then work no longer, and users sign in in another way.")
  package static let passkeysOff = Failure("passkeys_off", .forbidden)
    .titled("The app does not use passkeys.")
    .remedied("Set passkey=optional and passkey_rp_id with dossier app set.")
}
