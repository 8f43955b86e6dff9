import Declarations
import Encoding
import EventLoop
import HTTP
import JSON
import Representations
import Runtime
import Sessions
import Transfer
import WireKit

/// `/v1/me/support-codes` and `/v1/support-sessions`.
@EventLoop enum SupportResource {
  /// The operations of the user.
  ///
  /// The end needs no recent sign-in, so that a user can end it at any time.
  nonisolated static let ofUsers: [Operation] = [
    Operation(
      .post, "/v1/me/support-codes",
      access: .user(scope: Scopes.updateIdentities, proof: .session),
      gives: [.created(code, "The code.")],
      refuses: [.tooManyRequests],
      summary: "Make a code by which support sees the account, in place of an earlier one"
    ) { (call) async throws(Failure) in
      let code = try await SupportSessions.makeCode(of: call.user, call.context)
      let body: JSON = [
        "code": .string(code.text), "expires_at": .string(code.expiresAt.text),
      ]
      return Response(.created, json: body.serialized()).sentOnce()
    },
    Operation(
      .delete, "/v1/me/support-sessions",
      access: .user(scope: Scopes.updateIdentities, proof: .session), gives: [.noContent],
      summary: "End the sessions in which support sees the account, and delete the code"
    ) { (call) async throws(Failure) in
      try await SupportSessions.endAll(of: call.user, call.context)
      return Response(.noContent)
    },
  ]

  /// For the operator and administrators.
  nonisolated static let operations: [Operation] = [
    Operation(
      .post, "/v1/support-sessions", access: .operator,
      takes: .body(.json(limit: 4_096), opening), gives: [.created(opened, "The session.")],
      refuses: [.tooManyAttempts],
      summary: "Use a code of a user up, and open a session of 30 minutes that only reads", open
    ).needing(.support, stepUp: true),
    Operation(
      .get, "/v1/support-sessions/{session}", access: .operator, gives: [.ok(view)],
      summary: "Read what the user of an own session of support sees", read
    ).needing(.support),
    Operation(
      .delete, "/v1/support-sessions/{session}", access: .operator, gives: [.noContent],
      summary: "End an own session of support"
    ) { (call) async throws(Failure) in
      _ = try call.namedApp
      try await SupportSessions.end(call.captured("session"), call.context)
      return Response(.noContent)
    }.needing(.support),
  ]

  private nonisolated static let opening = Fields(
    "SupportOpening", "The code that the user has told, and the reason, which the user reads.",
    .text("code", .text.saying("spaces, hyphens and case do not count").like(.string("7k2m-x4qd"))),
    .text(
      "reason",
      .text(1...SupportSessions.longestReason).saying("why support needs it").like(
        .string("The game does not save.")))
  )

  private static func open(
    _ call: Call, _ code: String, _ reason: String
  ) async throws(Failure) -> Response {
    _ = try call.namedApp
    guard (1...SupportSessions.longestReason).contains(reason.unicodeScalars.count),
      !reason.hasControlCharacters
    else {
      throw .invalid([
        FieldError(
          "/reason", "length",
          "A reason must have 1 to \(SupportSessions.longestReason) characters in one line.")
      ])
    }
    do throws(Failure) {
      let (session, token) = try await SupportSessions.open(by: code, for: reason, call.context)
      var body = session.json
      body["access_token"] = .string(token)
      return Response(.created, json: JSON.object(body).serialized()).sentOnce()
    } catch .invalidCode {
      throw .invalid([
        FieldError("/code", "code", "This code is wrong or used, or more than 10 minutes old.")
      ])
    }
  }

  /// Reads as the user of the session, so a session that has ended reads nothing.
  private static func read(_ call: Call) async throws(Failure) -> Response {
    _ = try call.namedApp
    let session = try await SupportSessions.find(call.captured("session"), call.context)
    call.context.principal = session.principal(in: call.context.app.id)
    let export = try await Export.all(of: session.user, call.context)
    var bytes = JSON.object(session.json).serialized()
    bytes.removeLast()
    bytes += Array(#","data":"#.utf8) + export.text + [UInt8(ascii: "}")]
    return Response(.ok, json: bytes)
  }

  private nonisolated static let code = Shape.object([
    "code": .text.saying("valid for 10 minutes, and once").like("7k2m-x4qd"),
    "expires_at": .time(Example.played),
  ]).named("SupportCode", "A code that a user tells support.").sentOnce()

  private nonisolated static let session: KeyValuePairs<String, Shape> = [
    "id": .id(Example.session), "user_id": .id(Example.ada),
    "administrator_id": .id(Example.administrator).orNull.saying("null for the operator"),
    "created_at": .time(Example.visited), "expires_at": .time(Example.played),
  ]

  private nonisolated static let opened = Shape.object(
    members: session.map { (key: $0.key, value: $0.value) } + [
      (
        key: "access_token",
        value: .text.saying("a JWT with the claim act, which only reads")
          .like(.string(Example.accessToken))
      )
    ]
  ).named("SupportSession", "A session in which support sees an account.").sentOnce()

  private nonisolated static let view = Shape.object(
    members: session.map { (key: $0.key, value: $0.value) } + [
      (
        key: "data",
        value: Shape.members.saying("as GET /v1/me/export; the example is an excerpt")
          .like(Example.export)
      )
    ]
  ).named("SupportView", "A session of support, with what the user sees.")
}

extension SupportSession {
  fileprivate var json: JSONObject {
    JSONObject([
      ("id", .string(id.text)), ("user_id", .string(user.text)),
      ("administrator_id", JSON(administrator?.text)), ("created_at", .string(createdAt.text)),
      ("expires_at", .string(expiresAt.text)),
    ])
  }
}
