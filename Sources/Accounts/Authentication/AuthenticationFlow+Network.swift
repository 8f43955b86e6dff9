import Sessions
import Runtime
import EventLoop
import Encoding
import JSON
package import Postgres

/// A flow whose code names nothing else: the client sends neither a flow nor an address.
///
/// The code works only from the network that asked for it. So an attacker elsewhere can neither guess
/// it nor use up its tries. A code is compared with the newest flow of the network alone, and counts
/// as a try of it. So one guess is a guess at one address. A limit of a day counts the guesses at an
/// address from all networks, since six digits are few. A code that no flow can match is no guess,
/// and does not count.
extension AuthenticationFlow {
  /// Returns the key under which failures of the client's network are stored.
  static func network(of context: RequestContext) -> String {
    String(hexadecimal: context.address.network)
  }

  /// Returns the place of the flows of the client's network.
  static func networkPlace(of context: RequestContext) -> FlowPlace {
    FlowPlace(hashing: network(of: context))
  }

  /// Returns the hash of a code of the network.
  static func networkHash(of code: String, _ context: RequestContext) -> BinaryBytes {
    Credential(.flow, of: context.app.id, salt: [UInt8](repeating: 0, count: 16))
      .hash(with: "\(network(of: context)) \(code)", context.keys.master)
  }

  /// Finds the newest flow that the client's network asked for, and counts the try.
  ///
  /// - Parameters:
  ///   - code: as people type it; spaces and hyphens do not count.
  ///   - purpose: the purpose of the flow.
  ///   - context: the context of the request.
  /// - Returns: the flow.
  /// - Throws: `.invalidCode` for a wrong code, and for one of an older flow; `.tooManyAttempts`,
  ///   `.databaseUnavailable`.
  static func ofNetwork(
    _ code: String, for purpose: Purpose, _ context: RequestContext
  ) async throws(Failure) -> AuthenticationFlow {
    let (network, place) = (network(of: context), networkPlace(of: context))
    let typed = code.withoutSpacesAndHyphens
    let digits = typed.utf8.count
    guard NetworkCode.digits.contains(digits), typed.utf8.allSatisfy(\.isDigit) else {
      throw .invalidCode
    }
    let limiter = FailureLimiter(.networkCode, on: network, context)
    let flow = try await limiter.attempt { () async throws(Failure) -> AuthenticationFlow? in
      let tried = try await context.write(
        NetworkFlowQueries.spend, place, context.app.id, purpose.rawValue,
        networkHash(of: typed, context)
      )
      guard let row = tried.first else { return nil }
      let guess = try await RequestLimiter.guess(digits: digits, at: row.key, context)
      guard row.isRight else {
        try await Event(loginFailureBy: "email").record(context)
        throw .invalidCode
      }
      try await guess.giveBack()
      return AuthenticationFlow(row, at: place, for: purpose)
    }
    try await limiter.takeBack()
    guard let flow else { throw .invalidCode }
    return flow
  }

  private init(_ row: NetworkFlowRow, at place: FlowPlace, for purpose: Purpose) {
    (id, self.place) = (row.id, place)
    self.purpose = purpose
    address = EmailAddress(key: row.key)
    email = row.email
    (hash, user) = (nil, nil)
  }
}

/// A flow of a network, and whether the code is its own.
struct NetworkFlowRow: RowDecodable {
  let id: FlowID
  let key: String
  let email: String
  let isRight: Bool

  init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    key = try row.text(1)
    email = try row.text(2)
    isRight = try row.bool(3)
  }
}

package enum NetworkFlowQueries {
  /// Counts a try of the newest flow of the network, and returns it; no row if no try is left.
  ///
  /// An older flow takes no code, also once the tries of the newest are used up.
  /// - Parameter 4: the hash of the code.
  static let spend = Statement<NetworkFlowRow, FlowPlace, AppID, String, BinaryBytes>(
    "network_flows.spend",
    """
    update authentication_flows f set tries = f.tries - 1
    where f.place = $1 and f.app_id = $2 and f.purpose = $3 and f.tries > 0
      and f.expires_at > now()
      and f.flow_id = (
        select m.flow_id from authentication_flows m
        where m.place = $1 and m.app_id = $2 and m.purpose = $3 and m.expires_at > now()
        order by m.expires_at desc, m.flow_id desc limit 1)
    returning f.flow_id, f.email_key, f.email, f.code_hash = $4
    """)

  package static let all: [any PreparedStatement] = [spend]
}
