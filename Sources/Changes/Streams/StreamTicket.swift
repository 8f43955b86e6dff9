import JSON
package import Runtime

/// The permission to receive the changes of a user, from a worker to `dossier-streams`.
///
/// The web server hands it over in the query of an internal path. It is encrypted, so no client can
/// make or read one.
package struct StreamTicket: Sendable {
  package let user: UserID
  package let session: SessionID
  /// The cursor that the client has; nil for the present state.
  package let cursor: String?
  /// Whether the app hides app metadata from its users.
  package let hidesAppMetadata: Bool
  /// When the access token expires, in seconds since 1970.
  package let expiresAt: Int

  private static let purpose = "stream ticket"
  /// The time for the way through the web server.
  private static let lifetime = Duration.seconds(10)
  /// A ticket has about 500 bytes.
  private static let longest = 2_048

  package init(
    user: UserID, session: SessionID, cursor: String?, hidesAppMetadata: Bool, expiresAt: Int
  ) {
    (self.user, self.session, self.cursor) = (user, session, cursor)
    (self.hidesAppMetadata, self.expiresAt) = (hidesAppMetadata, expiresAt)
  }

  /// Returns the encrypted text of the ticket.
  ///
  /// - Throws: `.internalError`.
  package func text(_ master: MasterKey) throws(Failure) -> String {
    let content = JSONObject([
      ("user", .string(user.text)), ("session", .string(session.text)),
      ("cursor", cursor.map(JSON.string) ?? .null), ("hides", .bool(hidesAppMetadata)),
      ("expires_at", .number(JSONNumber(expiresAt))),
    ])
    return try master.sealedText(content, as: Self.purpose, for: Self.lifetime)
  }

  /// Reads a ticket; returns nil for a forged one and for an old one.
  package init?(_ text: String, _ master: MasterKey) {
    guard text.utf8.count <= Self.longest,
      let (json, hasExpired) = master.openedText(text, as: Self.purpose), !hasExpired,
      let user = json["user"]?.string, let session = json["session"]?.string,
      let expiresAt = json["expires_at"]?.number?.int
    else { return nil }
    self.init(
      user: UserID(trusted: user), session: SessionID(trusted: session),
      cursor: json["cursor"]?.string, hidesAppMetadata: json["hides"] == .bool(true),
      expiresAt: expiresAt)
  }

  /// Reads the ticket in the query of the internal path; returns nil without a valid one.
  package init?(inQuery query: String, _ master: MasterKey) {
    let name = "ticket="
    guard query.hasPrefix(name) else { return nil }
    self.init(String(query.dropFirst(name.count)), master)
  }

  /// Returns the internal path that hands the ticket over.
  package static func path(_ ticket: String) -> String { "/-/streams/me?ticket=\(ticket)" }
}
