package import Runtime
package import Tenancy
import EventLoop
import HTTP

/// The callers that may use a route.
package indirect enum Access: Sendable, Equatable {
  /// Any caller. The handler protects the resource.
  case open
  /// A user with an access token of this scope, and what `proof` requires.
  case user(scope: String, proof: Proof)
  /// A device that presents its secret.
  case device
  /// A client of the app with a key of this scope, or a client of the operator.
  case client(scope: String)
  /// A client of the operator, authenticated by its key.
  case `operator`
  /// A program on this machine.
  case loopback
  /// The owner of another kind of token. A user also needs what `proof` requires.
  case bearer(BearerKind, proof: Proof)
  /// One of several kinds of access.
  ///
  /// The first kind whose credentials were sent decides. Without credentials, the first of all
  /// decides.
  case anyOf([Access])

  /// The evidence, beside a token, that the user makes the request, since a token may be stolen.
  package enum Proof: Sendable, Equatable {
    /// A live session is enough.
    case session
    /// A fresh session: the user signed in or reauthenticated within the last minutes.
    case fresh
    /// A credential in the body, which the domain verifies.
    case body
  }

  /// Returns access for a user with an access token of this scope.
  ///
  /// The scope for changes of login methods requires a fresh session, unless the route declares
  /// otherwise.
  package static func user(scope: String) -> Access {
    .user(scope: scope, proof: scope == Scopes.updateIdentities ? .fresh : .session)
  }
}

/// A kind of `Bearer` token that one wire adds to access tokens and client secrets.
///
/// Examples are a refresh token and a token of client credentials.
package struct BearerKind: Sendable, Equatable {
  /// The name for readers of the route list.
  package let name: String
  let isOfForm: @Sendable (String) -> Bool
  let identify: @EventLoop @Sendable (String, Call) async throws(Failure) -> BearerOwner

  /// Creates a kind of token.
  ///
  /// - Parameters:
  ///   - name: a name that is unique among all kinds.
  ///   - isOfForm: returns whether a token has the form of this kind, without verification.
  ///   - identify: verifies a token and its scopes for a call whose app is known. The service
  ///     then checks that the owner belongs to the app, and that a required fresh session is there.
  package init(
    _ name: String, isOfForm: @escaping @Sendable (String) -> Bool,
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

/// The owner of a bearer token.
package enum BearerOwner {
  case user(Principal)
  case client(Client)
}

extension Access {
  /// Whether only API clients or operators have it.
  var isOfPrograms: Bool {
    switch self {
    case .client, .operator: true
    case .open, .user, .device, .loopback, .bearer, .anyOf: false
    }
  }
}

extension Access: CustomStringConvertible {
  package var description: String {
    switch self {
    case .open: "open"
    case .user(let scope, .fresh): "user \(scope) (fresh session)"
    case .user(let scope, .body): "user \(scope) (credential in the body)"
    case .user(let scope, .session): "user \(scope)"
    case .device: "device"
    case .client(let scope): "client \(scope)"
    case .operator: "operator"
    case .loopback: "loopback"
    case .bearer(let kind, .fresh): "\(kind.name) (fresh session)"
    case .bearer(let kind, .body): "\(kind.name) (credential in the body)"
    case .bearer(let kind, .session): kind.name
    case .anyOf(let all): all.map(\.description).joined(separator: " or ")
    }
  }
}
