package import EventLoop
import JSON
import Postgres

/// Short codes, sent by mail, to log in or to sign up.
///
/// A code works only for the client that asked for it, which shows the value that it got then. So
/// an attacker cannot use up the tries of another client. A user who reads a code aloud to a
/// stranger does not let the stranger in. Tries are counted by code alone. Each code needs a mail,
/// so the limits of mail bound how many codes an attacker can guess at.
@EventLoop package enum EmailCodes {
  /// As people type it: digits.
  static let length = 8
  /// How often one may be mistyped.
  nonisolated static let tries = 5
  package nonisolated static let lifetime = Duration.seconds(600)

  /// Mails a code to an address, whether or not somebody has it.
  ///
  /// - Returns: what is to be shown with the code.
  /// - Throws: `.invalid`, `.wayInClosed`, `.mailNotConfigured`, `.tooManyAttempts`, `.unavailable`.
  package static func request(
    for email: String,
    by caller: Caller? = nil,
    _ context: Context
  ) async throws(Failure) -> String {
    try context.requireOpen(.emailCode)
    try EmailAddress.check(email, context)
    guard context.store.mailer.isConfigured else { throw .mailNotConfigured }
    let address = try await EmailAddress(email, context)
    // One read, whoever has the address, or nobody.
    let reader = try await Emails.reader(of: address.key, context)
    try await RequestGuard.mail(to: address.key, for: reader, by: caller, context)
    let master = context.store.keys.master
    let handle = Credential(.emailCode, of: CodeID())
    let code = newCode()
    let stored = reader?.isHolder == true ? reader?.email : nil
    let to = stored ?? address.stored(email)
    let app = context.app
    let hash = handle.hash(with: code, master)
    let message = try? AppMail.message(
      .code,
      to: to,
      in: reader?.isHolder == true ? reader?.language : nil,
      app,
      ["code": "\(code.prefix(length / 2)) \(code.suffix(length / 2))"]
    )
    if message == nil { context.store.mailer.lose("a code to log in by cannot be written") }
    try await context.store.transaction { transaction async throws(DatabaseError) in
      _ = try await transaction.run(
        EmailCodeQueries.write,
        app.id,
        handle.owner(as: CodeID.self),
        address.key,
        to,
        hash,
        tries,
        lifetime
      )
      guard let message else { return }
      try await context.store.queue(message, .code, of: app.id, for: lifetime, in: transaction)
    }
    return handle.text(master)
  }

  /// Proves by a code who has its address: who has proved it before, else who claims it, else a new
  /// user.
  ///
  /// Who only claims it may have been made by somebody else, who knows the password: as when the
  /// address is proved by a new password, everything ends that could log in, here the password too.
  /// - Throws: `.invalidCode`, `.wrongCredentials` for a blocked user, `.wayInClosed`,
  ///   `.deviceUnknown`, `.deviceFull`, `.unavailable`.
  package static func prove(
    _ code: String,
    by request: String,
    _ context: Context
  ) async throws(Failure) -> Proof {
    try context.requireOpen(.emailCode)
    let master = context.store.keys.master
    guard let handle = Credential(.emailCode, request, master) else { throw .invalidCode }
    let id = handle.owner(as: CodeID.self)
    let found = try await context.store.read(EmailCodeQueries.look, context.app.id, id)
    guard let asked = found.first else { throw .invalidCode }
    let tried = try await context.store.write(EmailCodeQueries.spend, context.app.id, id)
    guard let stored = tried.first else { throw .invalidCode }
    let typed = code.filter { $0 != " " && $0 != "-" }
    guard areSame(handle.hash(with: typed, master).bytes, stored.bytes) else {
      let holder = try await Emails.reader(of: asked.key, context)
      try await AuditEvent(
        "login_failure",
        of: holder?.isHolder == true ? holder?.user : nil,
        by: "anyone",
        detail: ["provider": "email"]
      ).record(context)
      throw .invalidCode
    }
    return try await proof(asked, id, context)
  }

  private static func proof(
    _ asked: AskedCode,
    _ id: CodeID,
    _ context: Context
  ) async throws(Failure) -> Proof {
    let reader = try await Emails.reader(of: asked.key, context)
    let user = reader?.user ?? UserID()
    let proof = Proof(
      of: user,
      by: "email",
      showing: asked.key,
      on: try await Devices.admit(user, context)
    )
    proof.refusal = .invalidCode
    if reader?.isHolder != true {
      proof.preparation = { (transaction) async throws(DatabaseError) in
        try await makeOwner(user, isNew: reader == nil, asked, in: transaction, context)
      }
      // Another has proved the address at that moment.
      proof.again = { () async throws(Failure) in
        try await self.proof(asked, id, context)
      }
    }
    proof.conclusion = { transaction in
      let used = transaction.send(EmailCodeQueries.use, context.app.id, asked.key)
      let forgotten = Attempts.sendForget(of: asked.key, context, in: transaction)
      return { () async throws(DatabaseError) in
        guard try await used.rows().contains(where: { $0.hasSameBytes(as: id.text) }) else {
          throw DatabaseError(.undone, "the code was used", constraint: "code_used")
        }
        try await forgotten()
      }
    }
    return proof
  }

  /// Makes an address that nobody has proved the user's; false when the user does not claim it any
  /// more.
  private static func makeOwner(
    _ user: UserID,
    isNew: Bool,
    _ asked: AskedCode,
    in transaction: Transaction,
    _ context: Context
  ) async throws(DatabaseError) -> Bool {
    let app = context.app.id
    try await EmailAddress(key: asked.key).lock(in: app, context.store, transaction)
    if isNew {
      let reader = try await transaction.run(EmailQueries.reader, app, asked.key, nil, nil, nil)
      guard reader.isEmpty else { throw .overtaken }
      _ = try await transaction.run(
        EmailCodeQueries.create,
        user,
        app,
        IdentityID(),
        asked.email,
        asked.key,
        PasswordHash.none
      )
      _ = try await transaction.run(EmailQueries.supersede, app, asked.email, user, "anyone")
      return true
    }
    _ = try await transaction.run(IdentitiesQueries.lock, user)
    let isFirst = try await Emails.prove(asked.email, of: user, in: app, by: "anyone", transaction)
    guard isFirst != nil else { return false }
    _ = try await transaction.run(PasswordQueries.set, user, PasswordHash.none)
    try await Emails.endSessions(of: user, "email_confirm", in: transaction, context)
    try await Emails.endOtherWaysIn(of: user, app, by: "anyone", context.origin, in: transaction)
    try await WayInChange.emailConfirmed.record(ofReader: user, in: transaction, context)
    return true
  }

  private static func newCode() -> String {
    let most = (0..<length).reduce(1) { power, _ in power * 10 }
    let digits = String(Int.random(in: 0..<most))
    return String(repeating: "0", count: length - digits.count) + digits
  }
}

package typealias CodeID = ID<EmailCodes>
