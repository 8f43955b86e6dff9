import Accounts
import Administration
import Declarations
import EventLoop
import HTTP
import JSON
import Outbound
import Representations
import Runtime
import WireKit

/// `/v1/sign-in-checks`, for API clients: why a user cannot sign in.
@EventLoop enum SignInCheckResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .post, "/v1/sign-in-checks", access: .client(scope: Scopes.readUsers),
      takes: .body(.json(limit: 4_096), question), gives: [.ok(.signInCheck)],
      refuses: [.notFound],
      summary: "Find why a user cannot sign in, with the action that removes each reason", check
    ).needing(.support)
  ]

  private nonisolated static let question = Fields(
    "SignInQuestion",
    "The user who cannot sign in: an email, with or without a user, or a user_id.",
    .optional(.text("email", .address)),
    .optional(.user("user_id")),
    .optional(.text("client_id", .clientOfUser)),
    .optional(.text("network", .networkOfUser))
  ).like(["email": "ada@example.org", "network": .string(Example.networkAddress)])

  private static func check(
    _ call: Call, _ email: String?, _ user: UserID?, _ client: String?, _ network: String?
  ) async throws(Failure) -> Response {
    var faults: [FieldError] = []
    if (email == nil) == (user == nil) {
      faults.append(FieldError("", "choice", "Send either email or user_id."))
    }
    if let email, email.utf8.count > 320 || email.utf8.contains(0) {
      faults.append(FieldError("/email", "length", "An address has at most 320 bytes."))
    }
    let address = network.flatMap(IPAddress.init)
    if network != nil, address == nil {
      faults.append(
        FieldError(
          "/network", "address", "This must be an IP address, such as 198.51.100.7 or 2001:db8::1."
        ))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    let question = user.map(SignInCheck.Question.user) ?? .email(email ?? "")
    let found = try await SignInCheck.run(of: question, at: client, from: address, call.context)
    return Response(.ok, json: found.json.serialized())
  }
}

extension SignInCheck {
  fileprivate var json: JSON {
    [
      "user_id": JSON(user?.text), "email": JSON(email), "can_sign_in": .bool(!methods.isEmpty),
      "methods": .array(methods.map { .string($0.name) }),
      "reasons": .array(reasons.map(\.json)),
      "second_factor": .bool(hasSecondFactor),
      "mails": .array(
        mails.map { ["mail": $0.json, "text": .string($0.sentence)] }),
    ]
  }
}

extension SignInReason {
  fileprivate var json: JSON {
    [
      "code": .string(code.rawValue), "reason": .string(sentence),
      "prevents": .array(prevented.map { .string($0.name) }), "until": JSON(until),
      "facts": .object(facts),
      "action": [
        "command": JSON(remedy.command), "method": .string(remedy.method),
        "path": .string(remedy.path), "body": remedy.body ?? .null,
      ],
    ]
  }
}

extension Shape {
  fileprivate static let clientOfUser = Shape.text(1...64)
    .saying("the client that the user signs in to").like(.string(Example.client))
  fileprivate static let networkOfUser = Shape.text
    .saying("an IP address of the user, whose rate limits count too").like("198.51.100.7")

  fileprivate static let signInCheck = Shape.object([
    "user_id": .id(Example.ada).orNull.saying("null if no user has the address"),
    "email": .address.orNull,
    "can_sign_in": .flag.saying("whether a method is left that no reason prevents").like(false),
    "methods": .list(of: .text.like("password"))
      .saying("the methods that work: password, email_code, passkey, api_key, jwt, connections"),
    "reasons": .list(of: signInReason).saying("in the order in which to look at them"),
    "second_factor": .flag.saying("whether the user has a second factor").like(true),
    "mails": .list(
      of: .object([
        "mail": .mail,
        "text": .text.saying("one sentence").like(
          "An email with a code to a…@example.org waits since 2026-02-01T08:30:00.340156+00:00."),
      ]).named("CheckedMail", "An email, with its state in words."), atMost: SignInCheck.mostMails
    ).saying("the newest emails to the user or the address"),
  ]).named("SignInCheck", "Why a user cannot sign in.")

  private static let signInReason = Shape.object([
    "code": .choice(SignInReason.Code.allCases.map(\.rawValue)).like("blocked"),
    "reason": .text.saying("one sentence")
      .like("The user has been blocked since 2026-02-01T08:30:00.340156+00:00."),
    "prevents": .list(of: .text.like("password"))
      .saying("the methods that it prevents; empty if it only may have stopped the user"),
    "until": .time(Example.played).orNull.saying("when it ends by itself").like(.null),
    "facts": Shape.members.saying("the facts of the sentence")
      .like(["at": .string(Example.played)]),
    "action": .object([
      "command": .text.orNull.saying("the command line; null if only the user can act")
        .like("dossier user unblock --app default 5eed00000000000000000001"),
      "method": .text.saying("the method of the same request").like("PATCH"),
      "path": .text.saying("its path").like("/v1/users/5eed00000000000000000001"),
      "body": .any.saying("its body; null for none").like(["blocked": false]),
    ]).named("SignInAction", "What removes a reason."),
  ]).named("SignInReason", "A reason why a user cannot sign in, and what removes it.")
}
