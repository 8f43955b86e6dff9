import EventLoop
import HTTP
import OpenID
import Pages
import Runtime
import Tenancy
import WireKit

extension Visit {
  /// Finds the authorization of a page or a form, and handles the request.
  ///
  /// If the authorization has expired, a new one begins with the same request and address.
  static func respond(
    to call: Call, _ work: @EventLoop (Visit) async throws(Failure) -> Response
  ) async throws(Failure) -> Response {
    do throws(Failure) {
      return try await work(Visit(call))
    } catch .authorizationExpired {
      return try await restart(call)
    }
  }

  /// Begins an expired authorization again, and tells the user so on the first page.
  ///
  /// The request is checked again, because clients change. Of the old state, only the address and the
  /// language remain.
  /// - Throws: `.authorizationExpired` if none of this browser is remembered, or the resource server
  ///   is gone; `.unknownApplication`, `.unregisteredRedirect`, `.tooManyAttempts`,
  ///   `.databaseUnavailable`.
  private static func restart(_ call: Call) async throws(Failure) -> Response {
    let context = call.context
    guard let id = AuthorizationID(call.text("authorization")), let browser = call.knownBrowser,
      let expired = try await Authorizations.expired(id, in: browser, context)
    else { throw .authorizationExpired }
    let request = expired.request
    if request.client != .pages {
      guard let client = try await Clients.client(request.client, of: context.app.id, context)
      else { throw .unknownApplication }
      guard client.mayReceive(at: request.redirect, by: request.mode) else {
        throw .unregisteredRedirect(request.redirect, client: client.name)
      }
      if request.audience != nil, try await request.server(context) == nil {
        throw .authorizationExpired
      }
    }
    let visit = Visit(call, try await Authorizations.begin(request, in: browser, context))
    let form = call.request.method == .post ? try? call.form(of: id.text) : nil
    visit.state.email = form?["email"] ?? expired.state.email
    return try await visit.finish(.errors([FormError(.signInExpired)], on: .signIn))
  }
}
