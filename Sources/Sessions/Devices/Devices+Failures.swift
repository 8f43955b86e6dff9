package import Runtime

extension ErrorType {
  package static let deviceUnknown = ErrorType("device_unknown", .unauthenticated)
    .titled("The device secret is missing or not valid.")
    .remedied(
      "Send the device_secret of the last sign-in as Dossier-Device. If that response was lost, "
        + "sign in without a secret, as a new device. If a cookie holds the device, serve the page "
        + "and the server from one site, or set the app's device_cookie_same_site to none; "
        + "localhost and 127.0.0.1 are two sites."
    )
  package static let switchingForbidden = ErrorType("switching_forbidden", .forbidden)
    .titled("The app requires users to sign in when they switch.")
    .remedied("Ask the user to sign in, or set the app's switching to allow.")
  package static let originForbidden = ErrorType("origin_forbidden", .forbidden)
    .titled("Pages of this origin may not use the device cookie.")
    .remedied(
      "Add the origin to the app's setting: dossier app set --app APP allowed_origins=ORIGIN, "
        + "with the value of the Origin header field."
    )
  package static let deviceFull = ErrorType("device_full", .conflict)
    .titled("The device has the maximum number of users.")
    .remedied("Remove a user from the device: DELETE /v1/device/users/{user}.")
  package static let notLoggedIn = ErrorType("not_logged_in", .conflict)
    .titled("The user is not signed in on the device.")
    .remedied("Ask the user to sign in on the device.")

  package static let deviceErrors = [
    deviceUnknown, switchingForbidden, originForbidden, deviceFull, notLoggedIn,
  ]
}

extension Failure {
  package static let deviceUnknown = Failure(.deviceUnknown)
  package static let switchingForbidden = Failure(.switchingForbidden)
  /// A browser sent its cookie for a page whose origin the app does not allow.
  package static let originForbidden = Failure(.originForbidden)
  package static let notLoggedIn = Failure(.notLoggedIn)

  package static func deviceFull(limit: Int) -> Failure { Failure(.deviceFull, limit: limit) }
}
