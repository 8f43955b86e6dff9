import EventLoop
import Federation
import HostedPages
import HTTP
import Pages
import Records
import Runtime
import WireKit

/// The redirect URIs of connections, to which other services send browsers: `/u/callback/{connection}`.
///
/// They lead on to what began the redirect, which the state names. A service also reports sign-outs
/// there: `/u/backchannel-logout/{connection}`.
@EventLoop enum CallbackRoutes {
  private nonisolated static let path = "/u/callback/{connection}"
  private nonisolated static let summary = "Take the response of another service"

  nonisolated static let routes = [
    Route(.get, path, access: .open, isCrossOrigin: false, summary: summary, forward),
    // Some services send a form, without the cookies of this server.
    Route(
      .post, path, access: .open, body: .of(.form, limit: 32_768), isCrossOrigin: false,
      summary: summary, forward
    ),
    Route(
      .post, "/u/backchannel-logout/{connection}", access: .open,
      body: .of(.form, limit: 32_768), isCrossOrigin: false,
      summary: "End the sessions of a user who has signed out at another service", logout
    ),
  ]

  private static func forward(_ call: Call) throws(Failure) -> Response {
    // Only a service that answers by a form may send one from another site.
    let connection = call.context.app.connections.named(call.text("connection"))
    guard call.request.method == .get || connection?.answersByForm == true else {
      throw .redirectStateInvalid
    }
    let (path, response) = try RedirectResponse.forwarding(
      call.parameters(), of: call.text("connection"), call.context)
    guard let target = LocalPath("\(path)?\(RedirectResponse.parameter)=\(response)") else {
      throw .redirectStateInvalid
    }
    var answer = Response(.seeOther, redirectingTo: target.text)
    answer.add(.referrerPolicy, literal: "no-referrer")
    return answer
  }

  /// - Source: OpenID Connect Back-Channel Logout sections 2.5 and 2.8.
  private static func logout(_ call: Call) async -> Response {
    var response: Response
    do throws(TokenError) {
      try await call.attempt { () async throws(Failure) in
        guard let connection = call.context.app.connections.named(call.text("connection")) else {
          throw .unknownConnection
        }
        let token = try call.parameters()["logout_token"] ?? ""
        try await IssuerLogout.end(by: token, at: connection, call.context)
      }
      response = Response(.ok)
    } catch {
      response = error.response(to: call)
    }
    response.add(.cacheControl, literal: "no-store")
    return response
  }
}
