import Accounts
import Runtime
import EventLoop
import HTTP
import JSON
import WireKit

/// Registers users, verifies addresses and resets passwords: `/auth/providers/local-userpass`.
///
/// realm-web sends the access token of the current user. These routes ignore it.
@EventLoop enum EmailPasswordRoutes {
  nonisolated static let routes = [
    route("register", "Register an address and a password", register),
    route("confirm", "Verify an address by the emailed token", confirm),
    route("confirm/send", "Email a token that verifies an address") {
      (call) async throws(Failure) in
      try await answering(call, "email") { (values) async throws(Failure) in
        try await Emails.requestVerification(of: values[0], call.context)
        return Response(.noContent)
      }
    },
    route("confirm/call", "Refuse to run a confirmation function") { (call) async throws(Failure) in
      try await answering(call, "email") { (values) throws(Failure) in
        let reason =
          call.context.app.accountSettings.signUp == .verifyFirst
          ? "confirmation functions are not offered" : "automatic confirmation is enabled"
        return ServiceError(
          .badRequest, "cannot run confirmation for \(values[0]): \(reason)", .badRequest
        ).response(to: call)
      }
    },
    route("reset", "Set a new password by the emailed token", reset),
    route("reset/send", "Email a token that sets a new password") {
      (call) async throws(Failure) in
      try await answering(call, "email") { (values) async throws(Failure) in
        try await Emails.requestReset(of: values[0], call.context)
        return Response(.noContent)
      }
    },
    route("reset/call", "Refuse to run a reset function") { (call) async throws(Failure) in
      try await answering(call, "email") { (values) in
        ServiceError(
          .badRequest, "failed to reset password for user \"\(values[0])\"", .badRequest
        ).response(to: call)
      }
    },
  ]

  private nonisolated static func route(
    _ path: String, _ summary: String, _ handler: @escaping Route.Handler
  ) -> Route {
    Route(
      .post, "\(AppServicesWire.appPrefix)/auth/providers/local-userpass/\(path)", access: .open,
      body: .json(limit: 65_536).lenient(assuming: .json), summary: summary, handler
    )
  }

  /// Handles a call whose body has these string members.
  ///
  /// Other members are ignored.
  private static func answering(
    _ call: Call, _ names: String...,
    by body: @EventLoop ([String]) async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    var values: [String] = []
    for name in names {
      guard let value = call.json[name]?.string else {
        return ServiceError(.badRequest, "'\(name)' is a required string", .badRequest).response(
          to: call
        )
      }
      values.append(value)
    }
    return try await body(values)
  }

  private static func register(_ call: Call) async throws(Failure) -> Response {
    try await answering(call, "email", "password") { (values) async throws(Failure) in
      let credentials = Credentials(email: values[0], password: values[1])
      if !call.context.app.appServicesSettings.opensRegistration {
        try call.context.requireImmediateSignUp()
      }
      do throws(Failure) {
        try await Users.registerOnly(credentials, call.context)
      } catch let error where error.is(.invalid) {
        return try refused(error.faults, call)
      }
      return Response(.created, json: Array("{}".utf8))
    }
  }

  private static func confirm(_ call: Call) async throws(Failure) -> Response {
    try await answering(call, "token") { (values) async throws(Failure) in
      guard isMailed(values[0]) else {
        return ServiceError.badRequest("invalid token data").response(to: call)
      }
      // The protocol sends neither a password nor a session with the token.
      try await Emails.verifyByReader(values[0], call.context)
      return Response(.noContent)
    }
  }

  private static func reset(_ call: Call) async throws(Failure) -> Response {
    try await answering(call, "token", "password") { (values) async throws(Failure) in
      guard isMailed(values[0]) else {
        return ServiceError.badRequest("invalid token data").response(to: call)
      }
      do throws(Failure) {
        try await Emails.resetOnly(values[0], password: values[1], call.context)
      } catch let error where error.is(.invalid) {
        return try refused(error.faults, call)
      }
      return Response(.noContent)
    }
  }

  /// Returns the error for a rejected address or password, in the form of App Services.
  private static func refused(_ faults: [FieldError], _ call: Call) throws(Failure) -> Response {
    let fault = faults.first
    let app = call.context.app
    let text =
      switch (fault?.place, fault?.code) {
      case ("/email", _): "email invalid"
      case (_, "length"):
        "password must be between \(app.accountSettings.passwordMinLength) and "
          + "\(Credentials.longestPassword) characters"
      default: fault?.detail ?? "bad request"
      }
    return ServiceError.badRequest(text).response(to: call)
  }

  /// Returns whether a token has the form of a mailed token.
  private static func isMailed(_ token: String) -> Bool {
    ["ds_verify_", "ds_reset_"].contains { prefix in
      // 60 bytes in base64url follow.
      token.hasPrefix(prefix) && token.utf8.count == prefix.utf8.count + 80
    }
  }
}
