package import Accounts
import EventLoop
package import JSON
import Postgres
package import Runtime
import Sessions
import Tenancy

/// Passkeys that complete a sign-in.
extension Passkeys {
  /// Begins to add a passkey in a sign-in that needs one.
  ///
  /// The options name no passkeys of the user, who is not signed in yet.
  /// - Parameters:
  ///   - flow: the flow of the second step.
  ///   - context: the context of the request.
  /// - Returns: the options, and their flow; nil if the sign-in is finished or has expired, or does
  ///   not enroll a passkey.
  /// - Throws: `.passkeysOff`, `.databaseUnavailable`.
  package static func beginEnrolling(
    in flow: String, _ context: RequestContext
  ) async throws(Failure) -> Begun? {
    try requireOpen(context)
    guard let user = try await SecondFactorFlow.userAddingPasskey(in: flow, context),
      let owner = try await context.read(PasskeyQueries.owner, user, on: .exclusive).first
    else { return nil }
    let ceremony = PasskeyCeremony(.enroll, of: user, in: context.app)
    return Begun(
      flow: try ceremony.text(context),
      options: options(
        of: ceremony, for: user, named: owner.email, owner.name, excluding: [], context))
  }

  /// Verifies what completes a sign-in: the signature of a passkey, or a new passkey.
  ///
  /// - Parameters:
  ///   - credential: what the browser has returned.
  ///   - flow: the flow of the options, whose purpose decides.
  ///   - context: the context of the request.
  /// - Returns: the user, and the writes that use the signature once or add the passkey.
  /// - Throws: as `shown`; the writes throw `.passkeyExists`, `.tooManyPasskeys` and
  ///   `.emailRestorePending` for a new passkey.
  package static func secondStep(
    _ credential: JSON, _ flow: String, _ context: RequestContext
  ) async throws(Failure) -> ShownPasskey {
    try requireOpen(context)
    let ceremony = try PasskeyCeremony(flow, for: [.signIn, .enroll], context)
    guard ceremony.purpose == .enroll else { return try await shown(credential, ceremony, context) }
    guard let user = ceremony.user else { throw .passkeyFlowExpired }
    let made = try NewPasskey(credential, ceremony, for: user, named: nil, context)
    return ShownPasskey(VerifiedCredential(of: user, .passkey(made.id)), isNew: true) {
      transaction async throws(Failure) in
      try await Identities.requireNoRestore(of: user, in: transaction)
      try await made.add(by: ceremony, in: transaction)
      try await Identities.finish(.passkey, of: user, in: transaction)
      return { () async throws(Failure) in }
    }
  }
}
