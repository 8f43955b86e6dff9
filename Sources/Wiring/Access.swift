package import Dossier
import EventLoop
import HTTP

/// Who may call a route.
package indirect enum Access: Sendable, Equatable {
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
  /// Whoever has a token of another kind, and what else shows that it is the user, where it is one.
  case bearer(BearerKind, proof: Proof)
  /// Whoever one of these lets in: the first whose credentials were sent decides, or, when none were,
  /// the first.
  case anyOf([Access])

  /// What shows, beside a token, that it is the user who calls: a token may be stolen.
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

/// A kind of token that comes as `Bearer` beside access tokens and keys of clients: one of a wire's
/// own, such as a refresh token or that of client credentials.
package struct BearerKind: Sendable, Equatable {
  /// For people.
  package let name: String
  let isOfForm: @Sendable (String) -> Bool
  let identify: @EventLoop @Sendable (String, Call) async throws(Failure) -> BearerOwner

  /// - Parameters:
  ///   - name: one of its own among all kinds.
  ///   - isOfForm: whether a token says that it is of this kind; nothing is verified by that.
  ///   - identify: verifies a token for a call, whose app is known, and its scopes. That whoever has
  ///     it is of that app, and has given a fresh proof where the route asks for one, is looked at
  ///     afterwards.
  package init(
    _ name: String,
    isOfForm: @escaping @Sendable (String) -> Bool,
    identify: @escaping @EventLoop @Sendable (String, Call) async throws(Failure) -> BearerOwner
  ) {
    self.name = name
    self.isOfForm = isOfForm
    self.identify = identify
  }

  package static func == (first: BearerKind, second: BearerKind) -> Bool {
    first.name == second.name
  }
}

/// Whose a bearer token is.
package enum BearerOwner {
  case user(Principal)
  case client(Client)
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
    case .bearer(let kind, .fresh): "\(kind.name) (fresh proof)"
    case .bearer(let kind, .body): "\(kind.name) (proof in the body)"
    case .bearer(let kind, .session): kind.name
    case .anyOf(let all): all.map(\.description).joined(separator: " or ")
    }
  }
}
