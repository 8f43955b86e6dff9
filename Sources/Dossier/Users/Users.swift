import EventLoop
import Postgres

/// Users: how they come in, and how they go.
package enum Users {
  /// Makes a user that nobody else can log in as, and logs it in.
  ///
  /// - Throws: `.unavailable`, `.overloaded`.
  @EventLoop package static func loginAnonymously(
    app: App,
    from origin: Origin,
    _ tokens: AccessTokens,
    in store: Store
  ) async throws(Failure) -> Sessions.Grant {
    let user = UserID()
    let opening = Sessions.Opening(user: user, app: app, provider: "anonymous", origin: origin)
    let master = store.keys.master
    try await store.transaction { (transaction) async throws(DatabaseError) in
      _ = try await transaction.run(UsersQueries.createAnonymous, user, app.id, IdentityID())
      try await opening.write(in: transaction, master)
    }
    return try await Sessions.grant(opening, tokens, in: store)
  }

  /// Makes a user with an email address and a password, and logs it in.
  ///
  /// - Throws: `.invalid`, `.emailTaken`, `.overloaded`, `.unavailable`.
  @EventLoop package static func register(
    _ credentials: Credentials,
    app: App,
    from origin: Origin,
    _ tokens: AccessTokens,
    in store: Store
  ) async throws(Failure) -> Sessions.Grant {
    try credentials.checkForRegistration()
    let hash = try await store.passwords.hash(credentials.password)
    let user = UserID()
    let opening = Sessions.Opening(user: user, app: app, provider: "password", origin: origin)
    let master = store.keys.master
    try await store.transaction { (transaction) async throws(DatabaseError) in
      _ = try await transaction.run(
        UsersQueries.createWithPassword,
        user,
        app.id,
        IdentityID(),
        credentials.email,
        hash
      )
      try await opening.write(in: transaction, master)
    }
    return try await Sessions.grant(opening, tokens, in: store)
  }

  /// Logs a user in by email address and password.
  ///
  /// Takes as long for an address that nobody has.
  /// - Throws: `.wrongCredentials`, `.overloaded`, `.unavailable`.
  @EventLoop package static func login(
    _ credentials: Credentials,
    app: App,
    from origin: Origin,
    _ tokens: AccessTokens,
    in store: Store
  ) async throws(Failure) -> Sessions.Grant {
    let found = try await store.read(UsersQueries.password, app.id, credentials.email).first
    let (isRight, renewed) = try await store.passwords.verify(
      credentials.password,
      against: found?.hash
    )
    guard isRight, let found, !found.isBlocked else { throw .wrongCredentials }
    let opening = Sessions.Opening(
      user: found.user,
      app: app,
      provider: "password",
      origin: origin
    )
    let master = store.keys.master
    try await store.transaction { (transaction) async throws(DatabaseError) in
      if let renewed {
        _ = try await transaction.run(UsersQueries.renewHash, found.user, renewed)
      }
      try await opening.write(in: transaction, master)
    }
    return try await Sessions.grant(opening, tokens, in: store)
  }

  /// Deletes the caller, with all that is stored of it; the audit trail keeps that it was.
  ///
  /// - Throws: `.versionMoved`, `.unauthenticated`, `.unavailable`.
  @EventLoop package static func delete(
    _ caller: Caller,
    if condition: VersionCondition,
    from origin: Origin,
    in store: Store
  ) async throws(Failure) {
    let rows = try await store.write(
      UsersQueries.delete,
      caller.user,
      caller.session,
      EventID(),
      origin.address,
      origin.agent,
      condition.oneOf.map(VersionList.init)
    )
    guard let isDeleted = rows.first else { throw .unauthenticated(.sessionEnded) }
    guard !isDeleted else { return }
    throw .versionMoved(current: try await Profile.read(of: caller, in: store).version)
  }
}

/// An email address and a password, as somebody typed them.
package struct Credentials: Sendable {
  package let email: String
  package let password: String

  package init(email: String, password: String) {
    self.email = email
    self.password = password
  }

  /// 254: the longest path of SMTP (RFC 5321 section 4.5.3.1.3) without its brackets.
  private static let emailLimit = 254
  /// NIST SP 800-63B section 5.1.1.2 asks for at least 8.
  private static let shortest = 8
  /// Long enough for any passphrase; bounds what is hashed.
  private static let longest = 1_024

  func checkForRegistration() throws(Failure) {
    var faults: [Fault] = []
    if !isEmail {
      faults.append(Fault("/email", "email", "This is not an email address."))
    }
    if password.unicodeScalars.count < Self.shortest || password.utf8.count > Self.longest {
      faults.append(
        Fault(
          "/password",
          "length",
          "A password has at least \(Self.shortest) characters and at most \(Self.longest) bytes."
        )
      )
    }
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  /// Whether mail could be sent there: only what is certainly wrong is refused.
  private var isEmail: Bool {
    let parts = email.split(separator: "@", omittingEmptySubsequences: false)
    return parts.count == 2 && email.utf8.count <= Self.emailLimit && !parts[0].isEmpty
      && parts[1].split(separator: ".", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
      && email.unicodeScalars.allSatisfy {
        !$0.properties.isWhitespace && $0.properties.generalCategory != .control
      }
  }
}
