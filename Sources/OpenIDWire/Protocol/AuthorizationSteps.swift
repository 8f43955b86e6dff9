import EventLoop
import Federation
import HostedPages
import HTTP
import OpenID
import Records
import Pages
import Runtime
import Tenancy
import WireKit

/// Leads an authorization from page to page, and then back to the client.
@EventLoop enum AuthorizationSteps {
  /// Returns the response that continues an authorization.
  ///
  /// - Parameters:
  ///   - authorization: the authorization.
  ///   - call: a form of its browser, whose device was found.
  /// - Returns: a redirect to the next page, or the response for the client.
  /// - Throws: `.unknownApplication` if the client was removed meanwhile, `.unregisteredRedirect` if
  ///   its callback URL was; `.authorizationExpired`, `.databaseUnavailable`.
  static func next(_ authorization: Authorization, _ call: Call) async throws(Failure) -> Response {
    let context = call.context
    let (client, handOver) = try handOver(authorization)
    if let code = authorization.code {
      // The key of a browser is no proof: the user of the code must be signed in there.
      let users = try await BrowserUsers.list(context)
      guard users.contains(where: { $0.user == authorization.state.user }) else {
        throw .authorizationExpired
      }
      return handOver.response(code: code, to: call, afterForm: true)
    }
    let server = try await authorization.request.server(context)
    let step = try await Authorizations.step(of: authorization, for: client, at: server, context)
    return try await response(to: step, of: authorization, handOver, call)
  }

  /// Returns the response to a step: a redirect to its page, or the response for the client.
  ///
  /// - Parameters:
  ///   - step: the step.
  ///   - authorization: the authorization.
  ///   - handOver: the way to its client.
  ///   - call: a request of its browser, whose device was found.
  ///   - isFirst: whether the call is the authorization request itself, so that a redirect to the
  ///     client may follow.
  /// - Returns: the response.
  /// - Throws: `.authorizationExpired`, `.databaseUnavailable`.
  static func response(
    to step: AuthorizationStep, of authorization: Authorization, _ handOver: HandOver, _ call: Call,
    isFirst: Bool = false
  ) async throws(Failure) -> Response {
    let context = call.context
    func redirect(to page: SignInPage) -> Response {
      call.redirect(to: page.path(of: authorization))
    }
    switch step {
    case .signIn:
      if isFirst, let name = try await service(of: authorization, call) {
        return call.redirect(to: ConnectionPages.path(to: name, of: authorization))
      }
      let startsSignUp = authorization.request.startsSignUp
      return redirect(to: startsSignUp ? .signUp : .signIn)
    case .stepUp: return redirect(to: .signIn)
    case .showPasskey: return redirect(to: .passkey)
    case .chooseAccount: return redirect(to: .choose)
    case .otherUser: return handOver.response(.otherUser, to: call, afterForm: !isFirst)
    case .consent: return redirect(to: .consent)
    case .confirm: return redirect(to: .confirm)
    case .finish(let user):
      context.principal = user.principal(in: context.app.id)
      let code = try await AuthorizationCodes.issue(
        for: authorization, to: context.principal, context
      )
      return handOver.response(code: code, to: call, afterForm: !isFirst)
    }
  }

  /// Returns the service at which an authorization begins without a page; nil to show one.
  ///
  /// The client names it, or has no other way to sign in. After a sign-out the user gets the page,
  /// since the session at the service would sign in again at once.
  private static func service(
    of authorization: Authorization, _ call: Call
  ) async throws(Failure) -> String? {
    if case .named(let name)? = authorization.request.connection { return name }
    let methods = SignInMethods(
      call.context.app, authorization.client, only: authorization.request.connection)
    guard methods.connections.count == 1, !methods.takesPassword, !methods.takesCode,
      try await !BrowserUsers.areKnown(call.context)
    else { return nil }
    return methods.connections[0].key
  }

  /// Returns the response of a user who does not want to go on.
  static func deny(_ authorization: Authorization, _ call: Call) throws(Failure) -> Response {
    try handOver(authorization).1.response(.accessDenied, to: call, afterForm: true)
  }

  /// Returns the page for a blocked user, with a link that tells the client.
  static func blocked(_ authorization: Authorization, _ call: Call) throws(Failure) -> Response {
    let (client, handOver) = try handOver(authorization)
    let page = Page.blocked(
      support: call.context.app.brandingSettings.support,
      client: handOver.link(.userBlocked).map { (client.name, $0) }
    )
    return call.response(with: page, .forbidden)
  }

  private static func handOver(
    _ authorization: Authorization
  ) throws(Failure) -> (Client, HandOver) {
    let request = authorization.request
    let client = try authorization.requiredClient()
    // The URL was registered when the request came.
    guard client.mayReceive(at: request.redirect, by: request.mode) else {
      throw .unregisteredRedirect(request.redirect, client: client.name)
    }
    return (client, HandOver(request, client: client))
  }
}

extension Authorization {
  /// Returns the client of an authorization that is not of the pages.
  ///
  /// - Throws: `.unknownApplication` if it was removed meanwhile.
  func requiredClient() throws(Failure) -> Client {
    guard let client else { throw .unknownApplication }
    return client
  }
}
