import Encoding
import EventLoop
package import JSON
import Postgres
package import Runtime
import Sessions
import Tenancy
import WebAuthn

/// The state of a user for managers of passkeys, which pages pass to the browser.
extension Passkeys {
  /// Returns the passkeys of the user of the session, from the newest commit, the newest first.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func current(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [PasskeyInfo] {
    let rows = try await context.read(PasskeyQueries.list, user, context.principal, on: .exclusive)
    return try Found<PasskeyInfo>.items(rows).orGone(context)
  }

  /// Returns what managers of passkeys learn of a user.
  ///
  /// - Parameters:
  ///   - passkeys: all of the user, as `current` returns them: managers hide those that it lacks.
  ///   - user: the user.
  ///   - email: the address of the user.
  ///   - name: the name of the user.
  ///   - app: the app.
  /// - Returns: the members that `PublicKeyCredential.signalAllAcceptedCredentials` and
  ///   `signalCurrentUserDetails` read; nil if the app does not use passkeys.
  package static func signal(
    _ passkeys: [PasskeyInfo], of user: UserID, named email: String?, _ name: String?, in app: App
  ) -> JSON? {
    let settings = app.passkeySettings
    guard settings.isOpen else { return nil }
    let accepted = passkeys.filter {
      $0.relyingPartyID.hasSameBytes(as: settings.relyingPartyID)
    }
    let shown = CreationOptions.User(user, named: email, name, in: app)
    return [
      "rpId": .string(settings.relyingPartyID), "userId": .string(shown.id.base64URL),
      "allAcceptedCredentialIds": .array(accepted.map { .string($0.credentialID.base64URL) }),
      "name": .string(shown.name), "displayName": .string(shown.displayName),
    ]
  }

  /// Returns how many passkeys can sign a user in.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func count(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Int {
    let domain = context.app.passkeySettings.openDomain
    return try await context.read(CredentialQueries.passkeyCount, user, domain, on: .exclusive)
      .first ?? 0
  }
}

extension CreationOptions.User {
  /// Creates the user as managers of passkeys show it.
  ///
  /// - Parameters:
  ///   - user: the user, whose id is the handle.
  ///   - email: the address of the user.
  ///   - name: the name of the user.
  ///   - app: the app, whose name stands for a missing address and name.
  init(_ user: UserID, named email: String?, _ name: String?, in app: App) {
    let shown = email ?? name ?? app.name
    self.init(id: Array(user.text.utf8), name: shown, displayName: name ?? shown)
  }
}
