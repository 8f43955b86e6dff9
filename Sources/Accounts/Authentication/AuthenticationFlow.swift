import Encoding
package import EventLoop
import JSON
import PasswordHashes
import Postgres
import RateLimiting
package import Runtime
import Tenancy

/// A sign-in, a registration, a link or a change of address that waits for a mailed code.
///
/// A code works only for the client that has the flow. So an attacker cannot use up the tries of
/// another client. A user who reads a code aloud to a stranger does not let the stranger in. Each
/// code needs a mail, so the limits of mail bound how many codes an attacker can guess.
///
/// In a `passwordless` flow, the code names its address instead, since Auth0's SDKs know no flow. There,
/// an attacker can use up the tries of the newest code.
///
/// Parra's SDK sends neither. There, the code works only from the network that asked for it.
@EventLoop package struct AuthenticationFlow {
  package enum Purpose: String, Sendable {
    case signIn = "sign_in"
    /// A sign-in by a code that names its address instead of the flow.
    case passwordless
    /// A sign-in by a code that names nothing, from the network that asked for it.
    case networkSignIn = "network_sign_in"
    /// A new password by such a code.
    case networkReset = "network_reset"
    case register
    case link
    case changeEmail = "change_email"
    case secondFactor = "second_factor"
    case enroll

    fileprivate var isOfNetwork: Bool { self == .networkSignIn || self == .networkReset }
  }

  /// The user, the address or the network whose flows a database keeps together.
  package enum Place {}

  /// The number of digits of a code.
  package nonisolated static let length = 8
  /// How often a code may be mistyped.
  nonisolated static let tries = 5
  package nonisolated static let lifetime = Duration.seconds(600)

  package let id: FlowID
  let place: FlowPlace
  let purpose: Purpose
  package let address: EmailAddress
  /// The address as the caller wrote it.
  package let email: String
  /// The hash of the password of a registration or a link.
  package let hash: String?
  /// The user who links or changes the address.
  package let user: UserID?

  // MARK: Beginning

  /// A new flow and its code.
  package struct New {
    let purpose: Purpose
    package let email: String
    package let address: EmailAddress
    package var hash: String?
    package var user: UserID?
    fileprivate let credential: Credential
    fileprivate let code: String

    @EventLoop init(
      _ purpose: Purpose, _ email: String, _ address: EmailAddress, hash: String? = nil,
      user: UserID? = nil, digits: Int = AuthenticationFlow.length
    ) {
      (self.purpose, self.email, self.address) = (purpose, email, address)
      (self.hash, self.user) = (hash, user)
      code = AuthenticationFlow.newCode(digits)
      let place = user.map(FlowPlace.init(of:)) ?? FlowPlace(of: address)
      credential =
        purpose == .passwordless
        ? AuthenticationFlow.unsalted(FlowID(), at: place)
        : Credential(.flow, of: FlowID(), part: place)
    }

    /// Makes another code of a flow that waits for one, which takes the place of the code before.
    fileprivate init(
      _ purpose: Purpose, _ credential: Credential, _ email: String, _ address: EmailAddress
    ) {
      (self.purpose, self.credential) = (purpose, credential)
      (self.email, self.address) = (email, address)
      code = AuthenticationFlow.newCode(AuthenticationFlow.length)
    }

    /// Returns what the client sends with the code.
    @EventLoop package func text(_ context: RequestContext) -> String {
      credential.text(context.keys.master)
    }

    package var id: FlowID { credential.owner() }

    /// The code as people read it.
    var shownCode: String {
      "\(code.prefix(code.count / 2)) \(code.dropFirst(code.count / 2))"
    }

    /// Stores the flow.
    @EventLoop package func write(in transaction: Transaction) {
      let context = transaction.context
      let master = context.keys.master
      _ = transaction.send(
        FlowQueries.write,
        purpose.isOfNetwork ? networkPlace(of: context) : credential.part(),
        context.app.id,
        credential.owner(as: FlowID.self),
        purpose.rawValue,
        address.key,
        EmailAddress.canonical(email),
        hash,
        purpose.isOfNetwork
          ? networkHash(of: code, context) : credential.hash(with: code, master),
        tries,
        lifetime
      )
    }
  }

  /// Returns the credential of a flow that no client sends, so that it can be made again.
  private static func unsalted(_ id: FlowID, at place: FlowPlace) -> Credential {
    Credential(.flow, of: id, part: place, salt: [UInt8](repeating: 0, count: 16))
  }

  private nonisolated static func newCode(_ length: Int) -> String {
    let most = (0..<length).reduce(1) { power, _ in power * 10 }
    return String(Int.random(in: 0..<most), digits: length)
  }

  // MARK: Completing

  /// Returns the newest `passwordless` flow of an address, in the form of other flows; nil for none.
  ///
  /// - Throws: `.databaseUnavailable`.
  static func newest(
    of address: EmailAddress, _ context: RequestContext
  ) async throws(Failure) -> String? {
    let place = FlowPlace(of: address)
    return try await context.read(
      FlowQueries.newest, place, context.app.id, address.key, Purpose.passwordless.rawValue,
      on: .exclusive
    ).first.map { unsalted($0, at: place).text(context.keys.master) }
  }

  /// Finds the flow of a code, and counts the try.
  ///
  /// - Parameters:
  ///   - code: as people type it; spaces and hyphens do not count.
  ///   - text: the flow as the client sends it.
  ///   - purposes: the purposes that the flow may have.
  ///   - context: the context of the request.
  /// - Throws: `.invalidCode` for a wrong code, a flow that has ended or one of another purpose;
  ///   `.databaseUnavailable`.
  package init(
    _ code: String, _ text: String, for purposes: [Purpose], _ context: RequestContext
  ) async throws(Failure) {
    let master = context.keys.master
    guard let credential = Credential(.flow, text, master) else { throw .invalidCode }
    (id, place) = (credential.owner(), credential.part())
    let tried = try await context.write(FlowQueries.spend, place, context.app.id, id)
    guard let row = tried.first, let purpose = Purpose(rawValue: row.purpose),
      purposes.contains(purpose), let stored = row.codeHash, let key = row.key,
      let email = row.email
    else { throw .invalidCode }
    self.purpose = purpose
    address = EmailAddress(key: key)
    self.email = email
    hash = row.passwordHash
    user = [.link, .changeEmail].contains(purpose) ? UserID(trusted: place.text) : nil
    let typed = code.withoutSpacesAndHyphens
    guard areSame(credential.hash(with: typed, master).bytes, stored) else {
      let account = try await Accounts.find(address, context)
      let user = account?.isVerified == true ? account?.user : nil
      try await Event(loginFailureBy: "email", of: user).record(context)
      throw .invalidCode
    }
  }

  /// Uses the flow up, with all others of its purpose and address at its place.
  ///
  /// - Throws: `.invalidCode` if another request has used it up.
  package func use(in transaction: Transaction) async throws(Failure) {
    let used = try await transaction.run(
      FlowQueries.use, place, transaction.app.id, address.key, purpose.rawValue
    )
    guard used.contains(id) else { throw .invalidCode }
  }
}

package typealias FlowID = ID<AuthenticationFlow>
package typealias FlowPlace = ID<AuthenticationFlow.Place>

extension FlowPlace {
  package init(of user: UserID) { self.init(trusted: user.text) }
  package init(of address: EmailAddress) { self.init(hashing: address.key) }
}

/// A flow as it is stored.
struct FlowRow: RowDecodable {
  let purpose: String
  let key: String?
  let email: String?
  let passwordHash: String?
  let codeHash: [UInt8]?
  let provider: IdentityProvider?
  let evidence: String?
  /// In seconds since 1970.
  let authenticatedAt: Int?
  let issuerSession: String?

  init(from row: Row) throws(DatabaseError) {
    purpose = try row.text(0)
    key = row.text(ifAny: 1)
    email = row.text(ifAny: 2)
    passwordHash = row.text(ifAny: 3)
    codeHash = try row.binary(ifAny: 4)
    provider = row.text(ifAny: 5).map { IdentityProvider($0) }
    evidence = row.text(ifAny: 6)
    authenticatedAt = try row.time(ifAny: 7)?.seconds
    issuerSession = row.text(ifAny: 8)
  }
}

package enum FlowQueries {
  static let write = Statement<
    NoRow, FlowPlace, AppID, FlowID, String, String, String, String?, BinaryBytes, Int, Duration
  >(
    "flows.write",
    """
    insert into authentication_flows (
      place, app_id, flow_id, purpose, email_key, email, password_hash, code_hash, tries,
      expires_at)
    values ($1, $2, $3, $4, $5, btrim($6), $7, $8, $9::bigint, now() + $10::interval)
    """)

  /// Counts a try before it is made; returns no row if none is left.
  static let spend = Statement<FlowRow, FlowPlace, AppID, FlowID>(
    "flows.spend",
    """
    update authentication_flows set tries = tries - 1
    where place = $1 and app_id = $2 and flow_id = $3 and tries > 0 and expires_at > now()
    returning purpose, email_key, email, password_hash, code_hash, provider, evidence,
      authenticated_at, issuer_session
    """)

  /// Returns the newest flow of an address and a purpose; no row if all have expired.
  static let newest = Statement<FlowID, FlowPlace, AppID, String, String>(
    "flows.newest",
    """
    select flow_id from authentication_flows
    where place = $1 and app_id = $2 and email_key = $3 and purpose = $4 and expires_at > now()
    order by expires_at desc, flow_id desc limit 1
    """)

  /// Deletes all flows of an address and a purpose at a place, and returns their ids.
  static let use = Statement<FlowID, FlowPlace, AppID, String, String>(
    "flows.use",
    """
    delete from authentication_flows
    where place = $1 and app_id = $2 and email_key = $3 and purpose = $4
    returning flow_id
    """)
}

extension AuthenticationFlow {
  /// Returns how many codes a flow accepts; nil if it has expired.
  ///
  /// A flow that was used up counts as expired.
  /// - Throws: `.databaseUnavailable`.
  package static func triesLeft(
    of text: String, _ context: RequestContext
  ) async throws(Failure) -> Int? {
    guard let credential = Credential(.flow, text, context.keys.master) else { return nil }
    return try await context.read(
      FlowQueries.tries, credential.part(as: FlowPlace.self), context.app.id,
      credential.owner(as: FlowID.self), on: .exclusive
    ).first
  }
}

extension AuthenticationFlow {
  /// Replaces the code of a registration, which keeps its password and its flow.
  ///
  /// The new code has all tries and the whole lifetime.
  /// - Parameters:
  ///   - text: the flow as the client sends it.
  ///   - email: the address of the registration.
  ///   - address: its key.
  ///   - transaction: the transaction.
  /// - Returns: the flow with the new code; nil if it has expired, or is of another address.
  /// - Throws: `.databaseUnavailable`.
  static func replaceCode(
    ofRegistration text: String, _ email: String, _ address: EmailAddress,
    in transaction: Transaction
  ) async throws(Failure) -> New? {
    let context = transaction.context
    guard let credential = Credential(.flow, text, context.keys.master) else { return nil }
    let flow = New(.register, credential, email, address)
    let changed = try await transaction.run(
      FlowQueries.replaceCode, credential.part(as: FlowPlace.self), context.app.id,
      credential.owner(as: FlowID.self), Purpose.register.rawValue, address.key,
      credential.hash(with: flow.code, context.keys.master), tries, lifetime)
    return changed.isEmpty ? nil : flow
  }
}

extension FlowQueries {
  /// Gives a flow another code; returns no row if it has expired, or is of another address.
  ///
  /// - Parameter 7: the tries of the new code.
  static let replaceCode = Statement<
    FlowID, FlowPlace, AppID, FlowID, String, String, BinaryBytes, Int, Duration
  >(
    "flows.replace_code",
    """
    update authentication_flows
    set code_hash = $6, tries = $7::bigint, expires_at = now() + $8::interval
    where place = $1 and app_id = $2 and flow_id = $3 and purpose = $4 and email_key = $5
      and expires_at > now()
    returning flow_id
    """)

  /// Returns how many tries a flow has left; no row if it has expired.
  static let tries = Statement<Int, FlowPlace, AppID, FlowID>(
    "flows.tries",
    """
    select tries::bigint from authentication_flows
    where place = $1 and app_id = $2 and flow_id = $3 and expires_at > now()
    """)
}

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
}
