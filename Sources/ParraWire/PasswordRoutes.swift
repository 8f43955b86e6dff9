import Accounts
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// Resets a password with a code from a mail.
@EventLoop enum PasswordRoutes {
  nonisolated static func routes(_ base: String) -> [Route] {
    [
      route("\(base)/password/reset/challenge", "Mail a code that sets a new password") {
        (call) async throws(Failure) in
        try await Emails.requestReset(of: try call.identity, call.context)
      },
      route("\(base)/password/reset", "Set a new password by the mailed code") {
        (call) async throws(Failure) in
        guard let code = call.json["code"]?.string, let password = call.json["password"]?.string
        else { throw .invalid([Fault("", "type", "code and password are required strings.")]) }
        try await Emails.resetOnly(code, password: password, call.context)
      },
    ]
  }

  private nonisolated static func route(
    _ pattern: String,
    _ summary: String,
    _ work: @escaping @EventLoop @Sendable (Call) async throws(Failure) -> Void
  ) -> Route {
    Route(
      .post,
      pattern,
      access: .open,
      body: .json(limit: 65_536).lenient(assuming: .json),
      summary: summary
    ) { (call) async throws(Failure) in
      try await work(call)
      return Response(.ok, json: Array("{}".utf8))
    }
  }
}

extension Call {
  /// The email address in the body, under one of the names that the SDK uses.
  var identity: String {
    get throws(Failure) {
      guard let email = ["email", "unknown_identity"].compactMap({ json[$0]?.string }).first else {
        throw .invalid([Fault("", "email", "The identity must be an email address.")])
      }
      return email
    }
  }
}
