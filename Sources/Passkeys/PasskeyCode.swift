import Accounts
import EventLoop
package import JSON
import Postgres
package import Runtime
package import Sessions
import Tenancy

/// Codes for clients that show a passkey at one route, and get their tokens at another.
///
/// A code is the result of the ceremony, encrypted, which the second route verifies again. So the
/// first one writes nothing, and the ceremony lets the code be used once.
extension Passkeys {
  package nonisolated static let codeLifetime = Duration.seconds(60)

  /// Verifies what a device has returned, and returns a code for it.
  ///
  /// - Parameters:
  ///   - credential: what the device has returned.
  ///   - flow: the flow of the options.
  ///   - purpose: `.signIn` or `.register`, as the route states.
  ///   - context: the context of the request.
  /// - Returns: the code.
  /// - Throws: as `shown`, for `.register` as `register`.
  package static func code(
    for credential: JSON, _ flow: String, _ purpose: PasskeyCeremony.Purpose,
    _ context: RequestContext
  ) async throws(Failure) -> String {
    try requireOpen(context)
    let ceremony = try PasskeyCeremony(flow, for: [purpose], context)
    if purpose == .signIn {
      _ = try await shown(credential, ceremony, context)
    } else {
      try check(credential, ceremony, context)
    }
    let json = JSONObject([("flow", .string(flow)), ("credential", credential)])
    return try context.keys.master.sealedText(json, as: codeName(context), for: codeLifetime)
  }

  /// Signs in or registers by a code.
  ///
  /// - Throws: `.invalidCode` for a forged or expired code; as `finish`.
  package static func finish(
    byCode code: String, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    guard let (json, hasExpired) = context.keys.master.openedText(code, as: codeName(context)),
      !hasExpired, let flow = json["flow"]?.string, let credential = json["credential"]
    else { throw .invalidCode }
    return try await finish(credential, flow, by: nil, as: style, context)
  }

  private static func codeName(_ context: RequestContext) -> String {
    "passkey code \(context.app.id)"
  }
}
