import Accounts
import EventLoop
import HTTP
import JSON
import OpenID
import Runtime
import Tenancy
import WireKit

/// `/passwordless/start`, which mails a code for the token endpoint.
@EventLoop enum PasswordlessRoutes {
  nonisolated static let routes = [
    Route(
      .post, "/passwordless/start", access: .open, body: .token,
      summary: "Email a code, which the client exchanges for tokens", start
    )
  ]

  /// The response to an unknown address is that to a known one.
  private static func start(_ call: Call) async -> Response {
    await ClientAuthentication.response(to: call) {
      (parameters, client) async throws(TokenError) in
      guard DirectGrant.emailCode.isAllowed(for: client, in: call.context.app) else {
        throw .unauthorizedClient
      }
      let connection = ClientSettings.Connection.emailCode.auth0Name
      guard parameters["connection"]?.hasSameBytes(as: connection) == true else {
        throw .badRequest("connection must be \(connection).")
      }
      guard parameters["send"] == "code" else {
        throw .badRequest("send must be code; links are not supported.")
      }
      let email = try parameters.required("email")
      let flow = try await call.attempt { () async throws(Failure) in
        try await EmailCodes.start(for: email, call.context)
      }
      let body: JSON = [
        "_id": .string(flow.text), "email": .string(email), "email_verified": false,
      ]
      return Response(.ok, json: body.serialized())
    }
  }
}
