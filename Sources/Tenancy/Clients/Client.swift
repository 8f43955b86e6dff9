package import Runtime
package import Postgres

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
