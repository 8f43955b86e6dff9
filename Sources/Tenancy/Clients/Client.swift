import EventLoop
import Glibc
import JSON
package import Postgres
package import Runtime
import WebTokens

/// An OAuth client: a program that signs users in, or the back end of an app.
package struct Client: Sendable {
  package let id: ClientID
  /// Nil for an operator client, which may do everything in every app.
  package let app: AppID?
  package let kind: ClientKind
  package let name: String
  /// Its scopes at the management API.
  package var scopes: Scopes
  package let settings: ClientSettings

  package var isOperator: Bool { app == nil }

  /// Whether it must use PKCE.
  ///
  /// A client with a secret may leave it out by default, since many libraries do. It then guards
  /// itself against injected codes by `nonce`.
  /// - Source: RFC 9700 section 2.1.1.
  package var requiresPKCE: Bool { kind.isPublic || settings.pkce == .required }

  /// Returns whether the client may work on the app at all.
  package func belongs(to app: AppID) -> Bool { isOperator || self.app == app }
}

extension Client: RowDecodable {
  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    app = row.id(ifAny: 1)
    kind = try row.clientKind(2)
    name = try row.text(3)
    scopes = app == nil ? .everything : Scopes(try row.text(4))
    let stored = try row.bytes(5)
    // Most back ends have no settings; to read none takes time in each of their requests.
    settings =
      stored.elementsEqual("{}".utf8) ? .defaults : ClientSettings(stored: stored)
  }
}

extension Row {
  func clientKind(_ column: Int) throws(DatabaseError) -> ClientKind {
    guard let kind = ClientKind(rawValue: try text(column)) else {
      throw DatabaseError(.unexpectedColumn, "column \(column) is no kind of client")
    }
    return kind
  }
}

/// The kinds of OAuth clients.
package enum ClientKind: String, CaseIterable, Sendable {
  /// A program on the user's machine, such as a mobile app.
  case native
  /// A web page without a server of its own.
  case singlePage = "single_page"
  /// A web application with a server.
  case web
  /// A program without users.
  case machine

  /// Whether the program cannot keep a secret, and so has none.
  ///
  /// - Source: RFC 6749 section 2.1.
  package var isPublic: Bool {
    switch self {
    case .native, .singlePage: true
    case .web, .machine: false
    }
  }
}

/// A token by which a client has proven who it is.
package struct ClientAssertion: Sendable {
  /// Its `jti`.
  package let id: String
  /// How long to remember the id: until the token has expired by the clock of each server.
  package let memory: Duration

  /// How long a token may live, in seconds, with the leeway of the client's clock.
  fileprivate static let longest = 300.0 + leeway
  fileprivate static let leeway = 60.0
}

extension Client {
  /// Returns what a token asserts that proves that its sender is this client.
  ///
  /// The client signs the token with one of its own keys. A token for several servers is refused:
  /// each of them could send it to the others.
  /// - Parameters:
  ///   - text: the token.
  ///   - issuer: the issuer that the token must be for.
  /// - Returns: nil for any other token. The caller checks that the id was not used before.
  /// - Source: RFC 7523 section 3; OpenID Connect Core section 9.
  @EventLoop package func assertion(_ text: String, for issuer: String) -> ClientAssertion? {
    guard let keys = settings.assertionKeys, let assertion = try? ExternalToken(text),
      assertion.issuer?.hasSameBytes(as: id.text) == true,
      assertion.subject.hasSameBytes(as: id.text),
      let audiences = assertion.audiences, audiences.count == 1,
      audiences[0].hasSameBytes(as: issuer),
      let name = assertion.members["jti"]?.string, !name.isEmpty
    else { return nil }
    let now = Double(time(nil))
    guard assertion.expires > now, assertion.expires <= now + ClientAssertion.longest,
      assertion.begins ?? 0 <= now + ClientAssertion.leeway,
      assertion.timeInFuture(from: Int(now + ClientAssertion.leeway)) == nil,
      assertion.token.algorithm?.hasPrefix("HS") == false,
      IssuerKeys(set: keys).verify(assertion.token)
    else { return nil }
    let left = (assertion.expires - now + ClientAssertion.leeway).rounded(.up)
    return ClientAssertion(id: name, memory: .seconds(Int(left)))
  }

  /// Returns the id of the client that a token names, unverified.
  package static func named(by text: String) -> String? { (try? ExternalToken(text))?.subject }
}
