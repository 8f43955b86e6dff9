import Accounts
import Administration
import Declarations
import Representations
import Delivery
import RateLimiting
import Runtime
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/mails`, for the operator: the mail that waits for the relay, and what became of the rest.
@EventLoop enum MailResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/mails", access: .operator, takes: .query(.mailState, .app, .limit, .cursor),
      gives: [.ok(.mails)],
      summary: "List the mail of all apps that waits for the relay, the oldest first, or the mail "
        + "of the last days in a state, the newest first"
    ) { (call) async throws(Failure) in
      let query = try ListQuery(call.request.query, known: ["state", "app"])
      let app = try await AuditResource.record(query["app"], call)?.id
      let state: MailState? = try query.choice("state")
      let (cursor, count): (MailID?, Int) = (try query.cursor(), query.limit)
      let page =
        if let state {
          try await Outbox.page(of: state, in: app, after: cursor, count: count, call.context)
        } else {
          try await Outbox.page(in: app, after: cursor, count: count, call.context)
        }
      return query.response(page, call, \.json)
    }.needing(.deployment),
    Operation(
      .get, "/v1/users/{user}/mails", access: .client(scope: Scopes.readUsers),
      takes: .query(.limit), gives: [.ok(.mails)],
      summary: "List the newest emails to a user: those that wait, and those of the last seven days"
    ) { (call) async throws(Failure) in
      let query = try ListQuery(call.request.query)
      let mails = try await UserMails.list(of: call.captured("user"), call.context)
      return query.response(Page(Array(mails.prefix(query.limit)), next: nil), call, \.json)
    }.needing(.support),
    Operation(
      .post, "/v1/mails/test", access: .operator, takes: .body(.json(limit: 4_096), test),
      gives: [.noContent], refuses: [.mailNotConfigured, .tooManyAttempts],
      summary:
        "Send an email of the app with example values; an administrator gets it at the own address"
    ) { (call, kind, language, email) async throws(Failure) in
      _ = try call.namedApp
      let email = try await recipient(email, call.context)
      let address = try await EmailAddress(email, call.context)
      try await RateLimitSet([.mailsDaily(to: address.key, call.context)], call.context).spend()
      guard let kind = MailKind(named: kind) else {
        let names = MailKind.allCases.map(\.name).joined(separator: ", ")
        throw .invalid([FieldError("/kind", "choice", "A kind must be one of \(names).")])
      }
      try await call.context.sendExample(of: kind, to: email, in: language)
      return Response(.noContent)
    },
    Operation(
      .post, "/v1/mails/retry", access: .operator, gives: [.ok(.mailCount)],
      summary: "Try all mail again at once, including abandoned mail"
    ) { (call) async throws(Failure) in
      response(try await Outbox.retry(nil, call.context))
    }.needing(.deployment),
    Operation(
      .post, "/v1/mails/{mail}/retry", access: .operator, gives: [.ok(.mailCount)],
      summary: "Try a mail again at once, also an abandoned one"
    ) { (call) async throws(Failure) in
      response(try await Outbox.retry(call.captured("mail"), call.context))
    }.needing(.deployment),
    Operation(
      .delete, "/v1/mails/{mail}", access: .operator, gives: [.noContent],
      summary: "Delete a mail from the queue; it is not sent"
    ) { (call) async throws(Failure) in
      try await Outbox.drop(call.captured("mail"), call.context)
      return Response(.noContent)
    }.needing(.deployment),
  ]

  private nonisolated static let test = Fields(
    "MailTest", "An email to send with example values.",
    .text("kind", .text.saying("as the settings name it").like(.string("reset"))),
    .optional(.text("language", .text.saying("a language tag").like(.string("de")))),
    .optional(.text("email", .address))
  ).like(["kind": "reset", "language": "de", "email": "ada@example.org"])

  /// Returns the recipient of a test.
  private static func recipient(
    _ email: String?, _ context: RequestContext
  ) async throws(Failure) -> String {
    if let administrator = context.principal.administrator {
      guard email == nil else {
        throw .invalid([
          FieldError("/email", "fixed", "An administrator gets a test at the own address.")
        ])
      }
      return try await AdministratorRecord.email(of: administrator.id, context)
    }
    guard let email else {
      throw .invalid([FieldError("/email", "missing", "Say who gets the test.")])
    }
    try EmailAddress.check(email, context)
    return email
  }

  private static func response(_ count: Int) -> Response {
    let body: JSON = ["mails": .number(JSONNumber(count))]
    return Response(.ok, json: body.serialized())
  }
}

extension ListedMail {
  var json: JSON {
    [
      "id": .string(id.text), "app": .string(app), "kind": .string(kind),
      "state": .string(state.rawValue), "to": JSON(recipient), "user_id": JSON(user?.text),
      "attempts": .number(JSONNumber(attempts)), "next_attempt_at": JSON(nextAttemptAt),
      "last_error": state == .sent ? .null : JSON(answer),
      "answer": state == .sent ? JSON(answer) : .null, "created_at": .string(createdAt.text),
      "expires_at": JSON(expiresAt), "ended_at": JSON(endedAt),
    ]
  }
}

extension QueryParameter {
  fileprivate static let mailState = QueryParameter(
    name: "state",
    says: "only mail in this state, the newest first; ended deliveries are of the last 7 days",
    shape: .choice(MailState.allCases.map(\.rawValue)).named("MailState", "How far a delivery is."),
    component: "mail_state")
}

extension Shape {
  fileprivate static let mails = Shape.list(of: mail, atMost: PageLimit.most)

  static let mail = Shape.object([
    "id": .id(Example.mail), "app": .slug, "kind": .text.like("reset"),
    "state": .choice(MailState.allCases.map(\.rawValue)).like("waiting"),
    "to": .text.orNull.like("ada@example.org").saying(
      "masked, as in a…@example.org, after the delivery and for support; null if no master key "
        + "decrypts it"),
    "user_id": .id(Example.ada).orNull.saying("null if no user is known"),
    "attempts": .count.like(2),
    "next_attempt_at": .time(Example.played).orNull.saying("null if none follows"),
    "last_error": .text.orNull.like("450 4.2.1 The mailbox is busy."),
    "answer": .text.orNull.saying("the answer by which the relay has accepted it").like(.null),
    "created_at": .time(Example.visited),
    "expires_at": .time(Example.forgotten).orNull.saying("null after the delivery"),
    "ended_at": .time(Example.forgotten).orNull.saying("when the delivery ended").like(.null),
  ]).named("QueuedMail", "A mail without its text.")

  fileprivate static let mailCount = Shape.object(["mails": .count.like(1)])
    .named("MailCount", "The number of mails that are tried again.")
}
