import Accounts
import Encoding
package import EventLoop
import JSON
import Postgres
import RateLimiting
import Records
package import Runtime
package import Sessions
import Tenancy

/// The links by which administrators set their password and their authenticator app.
///
/// A link has a token that works once, and for a quarter of an hour. The database stores its keyed
/// hash. Until it is used, the former password and authenticator stay valid.
@EventLoop package enum AdministratorLinks {
  package nonisolated static let lifetime = Duration.seconds(900)
  /// How many codes one link takes.
  private nonisolated static let tries = 10

  /// A new link.
  package struct Link {
    package let token: String
    package let expiresAt: Timestamp
  }

  /// Makes a link in place of an earlier one, and ends the sessions of the administrator.
  ///
  /// - Throws: `.notFound` also for a disabled administrator, `.databaseUnavailable`.
  package static func make(
    for administrator: UserID, _ context: RequestContext
  ) async throws(Failure) -> Link {
    let context = try await context.inAppOfAdministrators()
    let credential = Credential(.administratorLink, of: administrator)
    let hash = credential.hash(context.keys.master)
    let expiresAt = try await context.transaction { transaction async throws(Failure) in
      _ = transaction.send(SessionsQueries.lockUser, administrator)
      let made = try await transaction.run(
        AdministratorLinkQueries.make, administrator, hash, lifetime, tries)
      guard let expiresAt = made.first else { throw .notFound }
      try await Sessions.end(.all, of: administrator, "administrator_link", in: transaction)
      AdministratorRecord.note(
        "administrator_link", administrator, JSONObject(), in: transaction)
      return expiresAt
    }
    return Link(token: credential.text(context.keys.master), expiresAt: expiresAt)
  }

  /// Begins to use a link: returns the address, and a new authenticator app to set up.
  ///
  /// It can be repeated, which replaces the authenticator app that was not confirmed.
  /// - Throws: `.linkExpired` also for a used and an unknown link, `.networkRefused`, `.tooManyAttempts`,
  ///   `.tooManyFactors`, `.databaseUnavailable`.
  package static func open(
    _ token: String, _ context: RequestContext
  ) async throws(Failure) -> (email: String, enrollment: SecondFactors.Enrollment) {
    let context = try await context.inAppOfAdministrators()
    let (user, _, email) = try await administrator(of: token, context)
    let enrollment = try await context.transaction { transaction async throws(Failure) in
      _ = transaction.send(SessionsQueries.lockUser, user)
      return try await SecondFactors.begin(of: user, in: transaction)
    }
    return (email, enrollment)
  }

  /// Uses a link up: sets the password, confirms the new authenticator app by its code, removes all
  /// former credentials and signs the administrator in.
  ///
  /// - Returns: the session, and recovery codes.
  /// - Throws: `.linkExpired` also for a used and an unknown link, `.networkRefused`, `.invalid` for the
  ///   password,
  ///   `.invalidCode`, `.tooManyAttempts`, `.tooManyRequests`, `.overloaded`, `.databaseUnavailable`.
  package static func use(
    _ token: String, password: String, code: String, _ context: RequestContext
  ) async throws(Failure) -> (session: ConsoleSession, recoveryCodes: [String]) {
    let context = try await context.inAppOfAdministrators()
    let (user, hash, email) = try await administrator(of: token, context)
    try await Credentials.check(password, of: email, context)
    // Counted before the code is looked at.
    let tried = try await context.write(AdministratorLinkQueries.spend, user, hash)
    guard !tried.isEmpty else { throw .linkExpired }
    let passwordHash = try await context.passwords.hash(password, for: context.owner)
    var recoveryCodes: [String] = []
    let opened = try await SignIn.complete(
      VerifiedCredential(of: user, .password(hash: passwordHash)),
      secondFactor: SecondFactors.methods, as: .console, context
    ) { transaction async throws(Failure) in
      let used = try await transaction.run(AdministratorLinkQueries.use, user, hash)
      guard !used.isEmpty else { throw .linkExpired }
      let factors = try await transaction.run(SecondFactorQueries.factors, user)
      guard let factor = factors.first(where: { !$0.isConfirmed }) else { throw .invalidCode }
      _ = transaction.send(AdministratorLinkQueries.removeFactors, user)
      try await Users.store(passwordHash, of: user, in: transaction)
      try await Users.revoke(of: user, "password_set", in: transaction)
      recoveryCodes = try await SecondFactors.confirm(
        factor, by: code, of: user, in: transaction)
      Event("password_set", of: user).record(in: transaction)
      return { () async throws(Failure) in }
    }
    return (try await ConsoleSessions.session(opened, context), recoveryCodes)
  }

  /// Returns the administrator whose valid link has a token.
  ///
  /// A refused token is recorded, and counted against the network of the client.
  private static func administrator(
    of token: String, _ context: RequestContext
  ) async throws(Failure) -> (user: UserID, hash: BinaryBytes, email: String) {
    try await RateLimitSet(RateLimit.ofNetwork(.refused, context), context).requireLeft()
    if let credential = Credential(.administratorLink, token, context.keys.master) {
      let (user, hash) = (credential.owner(as: UserID.self), credential.hash(context.keys.master))
      let found = try await context.read(
        AdministratorLinkQueries.find, user, hash, on: .exclusive)
      if let found = found.first {
        guard found.isReached(from: context) else { throw .networkRefused }
        return (user, hash, found.record.email)
      }
    }
    try await RefusedLogin.record("administrator-link", context)
    throw .linkExpired
  }
}

package enum AdministratorLinkQueries {
  /// Stores the hash of a link; returns no row for a disabled administrator.
  static let make = Statement<Timestamp, UserID, BinaryBytes, Duration, Int>(
    "administrator_links.make",
    """
    update administrators set link_hash = $2, link_expires_at = now() + $3::interval,
      link_tries = $4::bigint
    where user_id = $1 and not disabled
    returning link_expires_at
    """)

  /// Returns the administrator whose link is valid.
  static let find = Statement<Stored<AdministratorRecord>, UserID, BinaryBytes>(
    "administrator_links.find",
    """
    select \(AdministratorRecord.table.columns), '' from administrators r
    where r.user_id = $1 and r.link_hash = $2 and r.link_expires_at > now() and r.link_tries > 0
      and not r.disabled
    """)

  /// Counts a try before it is made; returns no row if none is left.
  static let spend = Statement<String, UserID, BinaryBytes>(
    "administrator_links.spend",
    """
    update administrators set link_tries = link_tries - 1
    where user_id = $1 and link_hash = $2 and link_expires_at > now() and link_tries > 0
      and not disabled
    returning user_id
    """)

  /// Uses a link up; returns no row if another request has used it.
  static let use = Statement<String, UserID, BinaryBytes>(
    "administrator_links.use",
    """
    update administrators set link_hash = null, link_expires_at = null, link_tries = 0
    where user_id = $1 and link_hash = $2 and link_expires_at > now() and not disabled
    returning user_id
    """)

  static let removeFactors = Statement<NoRow, UserID>(
    "administrator_links.remove_factors",
    "delete from second_factors where user_id = $1 and confirmed_at is not null"
  )
}

extension Failure {
  package static let linkExpired = Failure("link_expired", .gone)
    .titled("The link is used, expired or unknown.")
    .remedied("Make a new link: dossier administrator link ADDRESS.")
}

/// The address of the console, for links.
@EventLoop package final class ConsoleAddress: DomainService {
  private let origin: String

  /// - Parameter origin: the scheme, host and port of the console.
  package init(_ origin: String) { self.origin = origin }

  /// Returns the URL of the page on which an administrator uses a link.
  ///
  /// The token is in the fragment, which browsers send to no server, and in no `Referer`.
  package func start(with token: String) -> String { "\(origin)/console/-/start#\(token)" }
}
