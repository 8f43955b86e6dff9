import Tenancy
package import Delivery
package import Runtime
package import EventLoop
import JSON
import Postgres

/// Mails about accounts, queued in the transaction that decides to send them.
@EventLoop package enum AccountMail {
  /// The mail that a request asks for; its user is looked up at delivery.
  package enum Request: String {
    case verification = "verify"
    case reset
    /// A code that sets a new password.
    case resetCode = "reset_code"
    /// Queues a request without effect, in the same time as the others.
    case nothing
  }

  /// Queues a request for mail to an address.
  ///
  /// The user of the address is looked up when the mail is delivered. Neither the response nor its
  /// time therefore reveals whether a user has the address.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.loginMethodDisabled`,
  ///   `.databaseUnavailable`.
  package static func request(
    _ request: Request,
    _ email: String,
    _ context: RequestContext
  ) async throws(Failure) {
    try context.requireOpen(.password)
    guard context.mailer.isConfigured else { throw .mailNotConfigured }
    let address = try await EmailAddress(email, context)
    try address.requireMail(email)
    let account = try await Accounts.find(address, context)
    // An address without a user is counted too, so that the response reports the same limits.
    try await RequestLimiter.mail(to: address.key, for: account, context)
    try await context.transaction { transaction async throws(Failure) in
      try await self.request(request, email, address, in: transaction, context)
    }
  }

  /// Queues a request in a transaction.
  package static func request(
    _ request: Request,
    _ email: String,
    _ address: EmailAddress,
    code: String? = nil,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    let id = MailID()
    let json: JSON = [
      "request": .string(request.rawValue), "key": .string(address.key),
      "email": .string(address.stored(email)),
      "languages": .array(context.languages.map(JSON.string)),
      "code": code.map(JSON.string) ?? .null,
    ]
    guard let sealed = try? context.keys.master.sealed(json.serialized(), as: QueuedMail.name(id))
    else {
      return context.mailer.lose("a request for mail cannot be sealed")
    }
    context.wakeDelivery()
    _ = try await transaction.run(
      OutboxQueries.add,
      id,
      context.app.id,
      Outbox.requestKind,
      BinaryBytes(sealed),
      Outbox.patience
    )
  }

  /// Replaces a request by its mail; removes it if no user has the address.
  package static func resolve(
    _ due: DueRow,
    _ context: RequestContext
  ) async throws(Failure) -> OutboxWorker.HandledRow {
    guard let opened = try? context.keys.master.opened(due.sealed, as: QueuedMail.name(due.id)),
      let json = try? JSON.parse(opened), let key = json["key"]?.string,
      let request = json["request"]?.string.flatMap(Request.init)
    else { throw .internalError("a request for mail cannot be opened with this master key") }
    context.knownApp = try await context.apps.app(due.app)
    context.languages = json["languages"]?.array?.compactMap(\.string) ?? []
    try await context.transaction { transaction async throws(Failure) in
      // Another worker may have replaced it.
      guard try await !transaction.run(OutboxQueries.takeRequest, due.id).isEmpty else { return }
      let found = try await transaction.run(AccountQueries.find, context.app.id, key).first
      guard let account = found else {
        return try await sendUnknown(json["email"]?.string, request, in: transaction, context)
      }
      guard !account.isBlocked else { return }
      switch request {
      case .nothing: return
      case .resetCode:
        let mail = context.mail(
          withCode: json["code"]?.string ?? "",
          for: .newPassword,
          to: account.email,
          in: account.language
        )
        try await context.queue(mail, .code, for: AuthenticationFlow.lifetime, in: transaction)
      case .verification where account.isVerified && !account.isVerifiedByReader:
        try await sendTaken(to: account, in: transaction, context)
      case .verification, .reset:
        try await EmailToken(
          request == .reset ? .reset : .verify,
          to: account.email,
          of: account.user,
          in: account.language,
          context
        ).queue(in: transaction)
      }
    }
    return .replaced
  }

  /// Mails the code of a flow in a language.
  static func sendCode(
    of flow: AuthenticationFlow.New,
    in language: String?,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    let mail = context.mail(
      withCode: flow.shownCode,
      for: flow.purpose.ofCode,
      to: flow.address.stored(flow.email),
      in: language
    )
    try await context.queue(mail, .code, for: AuthenticationFlow.lifetime, in: transaction)
  }

  /// Informs the reader of an address that no user has it, if the app wants that.
  private static func sendUnknown(
    _ email: String?,
    _ request: Request,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    guard let email, request != .verification, context.app.mailSettings.answersUnknown else {
      return
    }
    try await context.queue(context.mail(.unknown, to: email, in: nil), .unknown, in: transaction)
  }

  /// Informs the owner of an address that a client has tried to register it.
  static func sendTaken(
    to account: Account,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    let mail = context.mail(.taken, to: account.email, in: account.language)
    try await context.queue(mail, .taken, in: transaction)
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
