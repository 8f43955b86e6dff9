internal import Dossier
package import HTTP
package import JSON

/// One thing that can be asked, and everything that follows from it: the router, the access check,
/// the limit of the body, the answer to OPTIONS.
package struct Route: Sendable {
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
  /// A user, by an access token with this scope, and by what else shows that it is the user.
  case user(scope: String, proof: Proof)
  /// Whoever proves to be a device.
  case device
  /// A program, by the key of a client of the app with this scope, or of the operator's.
  case client(scope: String)
  /// A program, by the key of a client of the operator's.
  case `operator`
  /// Programs on this machine.
  case loopback

  /// What shows, beside an access token, that it is the user who calls: such a token may be stolen.
  package enum Proof: Sendable, Equatable {
    /// Nothing: a live session is enough.
    case session
    /// A login in this session, or a proof anew, some minutes ago at most; see `Sessions`.
    case fresh
    /// The body brings it, and the domain verifies it.
    case body
  }

  /// A user, by an access token with this scope.
  ///
  /// Whatever decides by what a user can log in asks for a fresh proof, unless the route says that
  /// it does otherwise.
  package static func user(scope: String) -> Access {
    .user(scope: scope, proof: scope == Scopes.updateIdentities ? .fresh : .session)
  }
}

extension Access: CustomStringConvertible {
  package var description: String {
    switch self {
    case .open: "open"
    case .user(let scope, .fresh): "user \(scope) (fresh proof)"
    case .user(let scope, .body): "user \(scope) (proof in the body)"
    case .user(let scope, .session): "user \(scope)"
    case .device: "device"
    case .client(let scope): "client \(scope)"
    case .operator: "operator"
    case .loopback: "loopback"
    }
  }
}

/// What a route reads.
package enum BodyRule: Sendable, Equatable {
  case none
  /// A JSON document, of at most so many bytes.
  case json(limit: Int)
  /// A merge patch or a JSON Patch, of at most so many bytes.
  case patch(limit: Int)
  /// A merge patch, also by the name of plain JSON, of at most so many bytes.
  case mergePatch(limit: Int)
  /// Anything of these types, of at most so many bytes; nobody looks into it.
  case bytes(limit: Int, types: [MediaType])

  package var limit: Int {
    switch self {
    case .none: 0
    case .json(let limit), .patch(let limit), .mergePatch(let limit), .bytes(let limit, _): limit
    }
  }

  package var mediaTypes: [MediaType] {
    switch self {
    case .none: []
    case .json: [.json]
    case .patch: [.mergePatch, .jsonPatch]
    case .mergePatch: [.mergePatch, .json]
    case .bytes(_, let types): types
    }
  }
}

/// A body that has passed the JSON gate; the bytes are as the client sent them.
package enum Body: Sendable {
  case none
  case json(JSON, bytes: [UInt8])
  case mergePatch(JSON, bytes: [UInt8])
  case jsonPatch(JSONPatch)
  case bytes([UInt8])
}
