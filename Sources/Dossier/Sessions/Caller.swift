/// Who calls: what a verified access token says.
///
/// Whether the session still counts is for the statement to check that does the call's work.
package struct Caller: Sendable {
  package let user: UserID
  package let session: SessionID
  package let device: DeviceID
  package let app: AppID
  package let scopes: Scopes
}

/// What a token allows, by OAuth's names.
package struct Scopes: Sendable, Equatable {
  package static let readUser = "read:current_user"
  package static let updateMetadata = "update:current_user_metadata"
  package static let updateIdentities = "update:current_user_identities"
  /// What a user's own session may do.
  package static let user = Scopes("\(readUser) \(updateMetadata) \(updateIdentities)")

  /// Space-separated, as on the wire.
  package let text: String
  private let names: Set<Substring>

  package init(_ text: String) {
    self.text = text
    names = Set(text.split(separator: " "))
  }

  package func contains(_ scope: String) -> Bool { names.contains(scope[...]) }
}

/// From where a call came, for the session list and the audit trail.
package struct Origin: Sendable {
  package let address: String?
  package let agent: String?

  /// - Parameters:
  ///   - address: the client's, as a trusted web server gave it.
  ///   - agent: the `User-Agent`; cut to 512 characters.
  package init(address: String?, agent: String?) {
    self.address = address
    self.agent = agent.map { String($0.prefix(512)) }
  }
}
