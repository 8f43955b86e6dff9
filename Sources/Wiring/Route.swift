package import Dossier
package import EventLoop
package import HTTP
package import JSON

/// One thing that can be asked, and everything that follows from it: the router, the access check,
/// the limit of the body, the answer to OPTIONS.
package struct Route: Sendable {
  package typealias Handler = @EventLoop (Call) async throws(Failure) -> Response

  package let method: Method
  package let pattern: String
  package let access: Access
  package let body: BodyRule
  package let summary: String
  package let handler: Handler

  package init(
    _ method: Method,
    _ pattern: String,
    access: Access,
    body: BodyRule = .none,
    summary: String,
    _ handler: @escaping Handler
  ) {
    self.method = method
    self.pattern = pattern
    self.access = access
    self.body = body
    self.summary = summary
    self.handler = handler
  }

  /// What logs and metrics call it: never the path, which holds ids.
  package var name: String { "\(method.rawValue) \(pattern)" }
}

/// Who may call a route.
package enum Access: Sendable, Equatable {
  /// Anybody; what protects it is in the handler.
  case open
  /// A user, by an access token with this scope.
  case user(scope: String)
  /// Programs on this machine.
  case loopback
}

/// What a route reads.
package enum BodyRule: Sendable, Equatable {
  case none
  /// A JSON document, of at most so many bytes.
  case json(limit: Int)
  /// A merge patch or a JSON Patch, of at most so many bytes.
  case patch(limit: Int)

  package var limit: Int {
    switch self {
    case .none: 0
    case .json(let limit), .patch(let limit): limit
    }
  }

  package var mediaTypes: [MediaType] {
    switch self {
    case .none: []
    case .json: [.json]
    case .patch: [.mergePatch, .jsonPatch]
    }
  }
}

/// A body that has passed the JSON gate; the bytes are as the client sent them.
package enum Body: Sendable {
  case none
  case json(JSON, bytes: [UInt8])
  case mergePatch(JSON, bytes: [UInt8])
  case jsonPatch(JSONPatch)
}

/// A request on its way through a handler.
@EventLoop package struct Call {
  package let request: Request
  package let captures: [String: String]
  package let body: Body
  package let preconditions: Preconditions
  package let store: Store
  package let tokens: AccessTokens
  private let servedApp: App?
  private let verifiedCaller: Caller?

  init(
    request: Request,
    captures: [String: String],
    body: Body,
    preconditions: Preconditions,
    app: App?,
    store: Store,
    tokens: AccessTokens,
    caller: Caller?
  ) {
    self.request = request
    self.captures = captures
    self.body = body
    self.preconditions = preconditions
    servedApp = app
    self.store = store
    self.tokens = tokens
    verifiedCaller = caller
  }

  /// Who calls, on a route whose access is a user's.
  package var caller: Caller {
    get throws(Failure) {
      guard let verifiedCaller else { throw .unauthenticated(.missing) }
      return verifiedCaller
    }
  }

  /// The app that is asked, on a route that is not the server's own.
  package var app: App {
    get throws(Failure) {
      guard let servedApp else { throw .notFound }
      return servedApp
    }
  }

  /// From where the call comes.
  package var origin: Origin {
    Origin(address: request.address, agent: request.field(.userAgent))
  }

  /// The body of a route that reads JSON.
  package var json: JSON {
    if case .json(let json, _) = body { return json }
    return .null
  }
}
