package import Dossier
package import EventLoop
package import HTTP
package import JSON

extension Route {
  /// What answers a call; the failures it throws are told in the words of the wire.
  package typealias Handler = @EventLoop (Call) async throws(Failure) -> Response
}

/// A request on its way through a handler.
@EventLoop package struct Call {
  package let request: Request
  package let captures: [String: String]
  package let body: Body
  package let preconditions: Preconditions
  package let asker: Asker

  /// Whose data the call is about: the user's who calls, or on a program's route that of `{user}`.
  package var caller: Caller {
    get throws(Failure) {
      if let caller = asker.caller { return caller }
      guard let client = asker.client else { throw .unauthenticated(.missing) }
      guard let user = captures["user"].flatMap({ UserID($0) }) else { throw .notFound }
      let app = try context.app.id
      return Caller(.client(client.id), scopes: client.scopes, on: user, of: app)
    }
  }

  /// What the domain is to know of the call, on a route that is not the server's own.
  package var context: Context {
    get throws(Failure) {
      guard let context = asker.context else { throw .unknownApp }
      return context
    }
  }

  package var store: Store { asker.store }

  /// The user who calls, on an open route that it may help to say so; nil without a token.
  package func callerIfAny(scope: String) async throws(Failure) -> Caller? {
    guard request.field(.authorization) != nil else { return nil }
    let context = try context
    let caller = try await context.tokens.caller(of: request.bearerToken, app: context.app.id)
    guard caller.scopes.contains(scope) else { throw .forbidden(scope: scope) }
    return caller
  }

  /// Who administers, on a route whose access is a program's.
  package var administrator: Administrator {
    get throws(Failure) {
      guard let client = asker.client else { throw .unknownClient }
      return Administrator(
        .client(client.id),
        scopes: client.scopes,
        store: store,
        origin: request.origin
      )
    }
  }

  /// The body of a route that reads JSON, or a merge patch alone.
  package var json: JSON {
    switch body {
    case .json(let json, _), .mergePatch(let json, _): json
    case .none, .jsonPatch, .bytes: .null
    }
  }
}

/// Who asks which app.
@EventLoop package struct Asker {
  package let store: Store
  /// Nil on the server's own routes, and on the operator's when the app named is none.
  package let context: Context?
  package let caller: Caller?
  /// Whether the client holds its device in a cookie, or wants to.
  package let usesCookie: Bool
  /// The program that asks.
  package let client: Client?

  init(
    store: Store,
    context: Context? = nil,
    caller: Caller? = nil,
    usesCookie: Bool = false,
    client: Client? = nil
  ) {
    self.store = store
    self.context = context
    self.caller = caller
    self.usesCookie = usesCookie
    self.client = client
  }
}
