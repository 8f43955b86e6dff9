import Accounts
import RateLimiting
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// Mails codes, which log in or set a new password.
///
/// The SDK sends a code without its address. So a code works only from the network that asked for it.
@EventLoop enum CodeRoutes {
  nonisolated static func routes(_ base: String) -> [Route] {
    [
      IssuerRoutes.route("\(base)/challenges/passwordless", "Email a code that signs in", logIn),
      IssuerRoutes.route(
        "\(base)/password/reset/challenge", "Email a code that sets a new password"
      ) { (call) async throws(Failure) in
        // The screen of the SDK accepts no other length.
        let digits = NetworkCode.digits.lowerBound
        try await Emails.requestResetCode(of: try call.identity.email, digits: digits, call.context)
        return Response(.ok, json: Array("{}".utf8))
      },
      IssuerRoutes.route("\(base)/password/reset", "Set a new password by the emailed code") {
        (call) async throws(Failure) in
        guard let code = call.json["code"]?.string, let password = call.json["password"]?.string
        else { throw .invalid([FieldError("", "type", "code and password are required strings.")]) }
        try await Emails.reset(byCode: code, password: password, call.context)
        return Response(.ok, json: Array("{}".utf8))
      },
    ]
  }

  /// Mails a code to an address; the response to an unknown one is the same.
  private static func logIn(_ call: Call) async throws(Failure) -> Response {
    let digits = call.context.app.parraSettings.codeDigits
    try await EmailCodes.start(for: try call.identity.email, digits: digits, call.context)
    let lifetime = AuthenticationFlow.lifetime.wholeSeconds
    let end = Timestamp(microseconds: Timestamp.now.microseconds + lifetime * 1_000_000)
    let body: JSON = [
      "strategy": "email", "status": "pending",
      "expires_at": .string(end.milliseconds),
    ]
    return Response(.ok, json: body.serialized())
  }
}

extension Call {
  /// The email address in the body, and its member: one of the names that the SDK uses.
  ///
  /// The SDK's screen for codes sends the address as a phone number.
  var identity: (member: String, email: String) {
    get throws(Failure) {
      for member in ["email", "unknown_identity", "phone_number", "username"] {
        if let email = json[member]?.string { return (member, email) }
      }
      throw .invalid([FieldError("", "email", "The identity must be an email address.")])
    }
  }
}
