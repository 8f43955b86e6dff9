import EventLoop
import HostedPages
import HTTP
import OpenID
import Runtime
import Tenancy
import WireKit

/// `/authorize`, to which applications send the browser.
///
/// - Source: OpenID Connect Core section 3.1.2.
@EventLoop enum AuthorizeRoutes {
  nonisolated static let routes = [
    Route(
      .get, "/authorize", access: .open, isCrossOrigin: false,
      summary: "Sign a user in for an application", authorize
    ),
    Route(
      .post, "/authorize", access: .open, body: .of(.form, limit: 16_384).repeating(.any),
      isCrossOrigin: false,
      summary: "Sign a user in for an application, with the parameters in the body", authorize
    ),
  ]

  private static func authorize(_ call: Call) async throws(Failure) -> Response {
    if call.request.method == .post { return try call.redirectToQuery("/authorize") }
    let parameters = try await AuthorizationParameters(call)
    let handOver = HandOver(parameters.request, client: parameters.client)
    if let error = parameters.error { return handOver.response(error, to: call) }
    do throws(Failure) {
      return try await begin(parameters, handOver, call)
    } catch {
      guard let told = parameters.request.error(for: error) else { throw error }
      call.failure = error
      return handOver.response(told, to: call)
    }
  }

  private static func begin(
    _ parameters: AuthorizationParameters, _ handOver: HandOver, _ call: Call
  ) async throws(Failure) -> Response {
    call.findSignInDevice()
    let step = try await Authorizations.step(
      of: Authorization(unstored: parameters.request, for: parameters.client),
      for: parameters.client, at: parameters.server, call.context
    )
    // A page may ask silently as often as it likes. A refusal stores nothing.
    if parameters.request.prompts.contains(.none),
      let error = AuthorizationError(silent: step)
    {
      return handOver.response(error, to: call)
    }
    let authorization = try await Authorizations.begin(
      parameters.request, for: parameters.client, in: call.browser.key, by: step.user, call.context
    )
    return try await AuthorizationSteps.response(
      to: step, of: authorization, handOver, call, isFirst: true
    )
  }
}
