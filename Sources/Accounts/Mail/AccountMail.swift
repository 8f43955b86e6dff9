import IdentitySubjects
import Tenancy
package import Delivery
package import Runtime
package import EventLoop
import JSON
import Postgres

/// Mails about accounts, queued in the transaction that decides to send them.
@EventLoop package enum AccountMail {
  /// Queues a request for mail to an address.
  ///
  /// The user of the address is looked up when the mail is delivered. Neither the response nor its
  /// time therefore reveals whether a user has the address.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.loginMethodDisabled`,
  ///   `.databaseUnavailable`.
  package static func request(
    _ purpose: EmailToken.Purpose, _ email: String, _ context: RequestContext
  ) async throws(Failure) {
    try context.requireOpen(.password)
    let (address, _) = try await prepare(to: email, context)
    try await context.transaction { transaction async throws(Failure) in
      try request(purpose, email, address, in: transaction)
    }
  }

  /// Checks that a mail can be sent to an address, and counts it, whether or not a user has it.
  ///
  /// An address without a user takes as long, and meets the same limits.
  /// - Returns: the address, and its user.
  /// - Throws: `.mailNotConfigured`, `.invalid`, `.tooManyAttempts`, `.databaseUnavailable`.
  static func prepare(
    to email: String, _ context: RequestContext
  ) async throws(Failure) -> (EmailAddress, Account?) {
    try context.mailer.requireConfigured()
    // An imported user may have an address that mixes scripts.
    if let fault = EmailAddress.fault(in: email, at: "/email", mixed: true) {
      throw .invalid([fault])
    }
    let address = try await EmailAddress(email, context)
    let account = try await Accounts.find(address, context)
    try await RequestLimiter.mail(to: address.key, for: account, context)
    return (address, account)
  }

  /// Returns the mail that verifies the address of a user; nil if none is sent.
  static func verification(
    of user: UserID, _ email: String, _ address: EmailAddress, _ context: RequestContext
  ) async throws(Failure) -> EmailToken? {
    guard context.mailer.isConfigured,
      try await RequestLimiter.mayMail(to: address.key, for: nil, context)
    else { return nil }
    return EmailToken(.verify, to: EmailAddress.canonical(email), of: user, in: nil, context)
  }

  /// Queues a request in a transaction.
  ///
  /// - Parameters:
  ///   - purpose: the purpose of the mail; nil sends none, and takes as long.
  ///   - email: the address as the client wrote it.
  ///   - address: its key.
  ///   - code: a code that the mail has in place of a token.
  ///   - transaction: the transaction.
  /// - Throws: `.internalError`.
  package static func request(
    _ purpose: EmailToken.Purpose?, _ email: String, _ address: EmailAddress, code: String? = nil,
    in transaction: Transaction
  ) throws(Failure) {
    let context = transaction.context
    let json: JSON = [
      "purpose": purpose.map { .string($0.rawValue) } ?? .null, "key": .string(address.key),
      "email": .string(EmailAddress.canonical(email)),
      "languages": .array(context.languages.map(JSON.string)),
      "code": code.map(JSON.string) ?? .null,
    ]
    try transaction.queue(json, Outbox.requestKind, of: context.app.id, for: Outbox.patience)
  }

  /// Replaces a request by its mail; removes it if no user has the address.
  package static func resolve(
    _ due: DueRow, _ context: RequestContext
  ) async throws(Failure) -> OutboxWorker.HandledRow {
    guard let json = context.keys.master.openedJSON(due.sealed, as: QueuedMail.name(due.id)),
      let key = json["key"]?.string
    else {
      throw .internalError(reason: "a request for mail cannot be opened with this master key")
    }
    context.knownApp = try await context.apps.app(due.app)
    context.languages = json["languages"]?.array?.compactMap(\.string) ?? []
    try await context.transaction { transaction async throws(Failure) in
      // Another worker may have replaced it.
      guard try await !transaction.run(OutboxQueries.takeRequest, due.id).isEmpty else { return }
      let (holder, app) = (SubjectQueries.holder, context.app.id)
      let user = try await transaction.run(holder, app, .email, key).first
      let found = try await transaction.run(AccountQueries.read, user ?? UserID(), key).first
      let purpose = json["purpose"]?.string.flatMap(EmailToken.Purpose.init)
      guard let account = found else {
        return sendUnknown(json["email"]?.string, purpose, in: transaction)
      }
      guard let purpose, !account.isBlocked else { return }
      if let code = json["code"]?.string {
        let mail = context.mail(
          withCode: code, for: .newPassword, to: account.email, in: account.language
        )
        transaction.queue(
          mail, .code, about: account.user, for: AuthenticationFlow.lifetime)
      } else if purpose == .verify, !account.isTakenOverByMail {
        sendTaken(to: account, in: transaction)
      } else {
        EmailToken(
          purpose, to: account.email, of: account.user, in: account.language, context
        ).queue(in: transaction)
      }
    }
    return .replaced
  }

  /// Stores a flow and mails its code, or informs the user who has the address.
  ///
  /// - Returns: the flow, which the client sends with the code.
  static func begin(
    _ flow: AuthenticationFlow.New, takenBy account: Account?, in language: String?,
    _ context: RequestContext
  ) async throws(Failure) -> String {
    try await context.transaction { transaction async throws(Failure) in
      flow.write(in: transaction)
      send(flow, takenBy: account, in: language, transaction)
    }
    return flow.text(context)
  }

  /// Mails the code of a flow, or informs the user who has the address.
  static func send(
    _ flow: AuthenticationFlow.New, takenBy account: Account?, in language: String?,
    _ transaction: Transaction
  ) {
    if let account {
      sendTaken(to: account, in: transaction)
    } else {
      sendCode(of: flow, in: language, in: transaction)
    }
  }

  /// Mails the code of a flow in a language to the reader of an address, whom an account may know.
  static func sendCode(
    of flow: AuthenticationFlow.New, to account: Account? = nil, in language: String?,
    in transaction: Transaction
  ) {
    let mail = transaction.context.mail(
      withCode: flow.shownCode, for: flow.purpose.ofCode, to: EmailAddress.canonical(flow.email),
      in: language
    )
    let user = flow.user ?? account?.user
    transaction.queue(mail, .code, about: user, for: AuthenticationFlow.lifetime)
  }

  /// Informs the reader of an address that no user has it, if the app wants that.
  private static func sendUnknown(
    _ email: String?, _ purpose: EmailToken.Purpose?, in transaction: Transaction
  ) {
    let context = transaction.context
    guard let email, purpose != .verify, context.app.mailSettings.answersUnknown else {
      return
    }
    transaction.queue(context.mail(.unknown, to: email, in: nil), .unknown, about: nil)
  }

  /// Informs the owner of an address that a client has tried to register it.
  private static func sendTaken(to account: Account, in transaction: Transaction) {
    let mail = transaction.context.mail(.taken, to: account.email, in: account.language)
    transaction.queue(mail, .taken, about: account.user)
  }
}

extension AuthenticationFlow.Purpose {
  fileprivate var ofCode: CodePurpose {
    switch self {
    case .signIn, .passwordless, .networkSignIn, .secondFactor, .enroll: .signIn
    case .networkReset: .newPassword
    case .register, .link: .registration
    case .changeEmail: .newAddress
    }
  }
}
