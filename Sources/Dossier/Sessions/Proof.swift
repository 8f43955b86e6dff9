package import EventLoop
import Postgres

/// Who somebody has proved to be, how, and when: what every way to log in comes to.
///
/// `Sessions.open` makes a session of it. What must be written for the proof to stand, such as the
/// user who comes for the first time, is written in the transaction that opens the session.
@EventLoop package final class Proof {
  package nonisolated let user: UserID
  /// The identity: `anonymous`, `password`, `api-key`, or the provider of an issuer's.
  package nonisolated let provider: String
  /// What was found to be right: the stored hash of a password, the id of an API key, the subject of
  /// an identity; nil for a user who is made with the session.
  let evidence: String?
  /// In seconds since 1970; nil for now.
  package nonisolated let authenticatedAt: Int?
  /// Where, as `Devices.admit` has found it; nil on a new device.
  let device: DeviceProof?
  /// Comes before the session; false when there is no room for the user.
  var preparation: Preparation?
  /// Is sent with the session; what it returns waits for it, when it is certain that the evidence
  /// still stands.
  var conclusion: Conclusion?
  /// What the attempt uses up with the session, where that is not counted before.
  var allowances: Allowances?
  /// What the one too many is told.
  var refusal: Failure?
  /// How it is proved anew when another call has just made the user, or taken it over; nil where none
  /// can have.
  var again: (@EventLoop () async throws(Failure) -> Proof?)?
  /// Comes when the session is there.
  var aftermath: (@EventLoop () -> Void)?

  typealias Preparation = @EventLoop (Transaction) async throws(DatabaseError) -> Bool
  typealias Conclusion = @EventLoop (Transaction) -> Completion
  /// Waits for what was sent.
  typealias Completion = @EventLoop () async throws(DatabaseError) -> Void

  init(
    of user: UserID,
    by provider: String,
    showing evidence: String? = nil,
    at authenticatedAt: Int? = nil,
    on device: DeviceProof?
  ) {
    self.user = user
    self.provider = provider
    self.evidence = evidence
    self.authenticatedAt = authenticatedAt
    self.device = device
  }
}

extension Sessions {
  /// Logs in who has proved who it is.
  ///
  /// - Parameters:
  ///   - proof: used once.
  ///   - style: of the wire.
  ///   - context: of the request that brought the proof.
  /// - Returns: the tokens.
  /// - Throws: `.wrongCredentials` when what was shown does not log in any more, `.deviceUnknown`,
  ///   `.deviceFull`, `.tooManyAttempts`, `.identityTaken`, `.overloaded`, `.unavailable`.
  @EventLoop package static func open(
    for proof: Proof,
    as style: SessionStyle = .native,
    _ context: Context
  ) async throws(Failure) -> Grant {
    var proof = proof
    var hasFailed = false
    while true {
      do throws(Failure) {
        return try await open(for: proof, on: proof.device, as: style, context)
      } catch .identityTaken where proof.again != nil {
        // It came twice at once, and the other was first.
      } catch .wrongCredentials where proof.again != nil && !hasFailed {
        // What was shown may be another user's by now; once, as it may also be nobody's.
        hasFailed = true
      }
      guard let other = try await proof.again?() else {
        throw .unavailable(retryAfter: .seconds(1))
      }
      proof = other
    }
  }

  @EventLoop private static func open(
    for proof: Proof,
    on device: DeviceProof?,
    as style: SessionStyle,
    _ context: Context
  ) async throws(Failure) -> Grant {
    let opening = Opening(proof, on: device, style, context)
    let isOpened: Bool
    do throws(Failure) {
      isOpened = try await context.store.transaction { transaction async throws(DatabaseError) in
        if let prepare = proof.preparation, try await !prepare(transaction) { return false }
        let opened = opening.send(in: transaction)
        let spent = proof.allowances?.sendSpending(in: transaction)
        let concluded = proof.conclusion?(transaction)
        try await opened()
        try await spent?()
        try await concluded?()
        return true
      }
    } catch .deviceUnknown where device != nil {
      // It was that device a moment ago: another login has replaced its secret since.
      return try await open(for: proof, on: nil, as: style, context)
    } catch .tooManyAttempts where proof.allowances != nil {
      // Others who came at the same moment have taken the last; this says so, and to whom.
      try await proof.allowances?.spend()
      throw .overloaded(retryAfter: .seconds(1))
    }
    guard isOpened else { throw proof.refusal ?? .overloaded(retryAfter: .seconds(1)) }
    proof.aftermath?()
    return try await opening.grant()
  }
}
