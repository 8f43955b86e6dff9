package import JSON
package import Runtime

extension ExternalTokens {
  /// A refresh token of a service, which is revoked there when the identity of its user ends.
  package struct RefreshToken: Sendable {
    package let text: String
    /// The name of the connection.
    package let connection: String
    /// The client at the service that has got the token.
    package let client: String
    /// The issuer, so that the token is never sent to another one.
    package let issuer: String

    /// The greatest length in bytes, so that an account that waits for a link has room for it.
    private static let limit = 4_096

    /// Creates a token; returns nil if it is too long to be kept.
    package init?(_ text: String, connection: String, client: String, issuer: String) {
      guard text.utf8.count <= Self.limit else { return nil }
      (self.text, self.connection, self.client, self.issuer) = (text, connection, client, issuer)
    }

    /// Reads a token that was stored encrypted; returns nil if a member is missing.
    package init?(_ json: JSON) {
      guard let text = json["token"]?.string, let connection = json["connection"]?.string,
        let client = json["client"]?.string, let issuer = json["issuer"]?.string
      else { return nil }
      self.init(text, connection: connection, client: client, issuer: issuer)
    }

    /// The content to encrypt.
    package var json: JSON {
      [
        "token": .string(text), "connection": .string(connection), "client": .string(client),
        "issuer": .string(issuer),
      ]
    }

    /// Returns the name under which a row of `identity_tokens` is encrypted.
    package static func name(_ id: RefreshTokenID) -> String { "token \(id)" }
  }
}

/// The id of a stored refresh token of a service.
package typealias RefreshTokenID = ID<ExternalTokens.RefreshToken>
