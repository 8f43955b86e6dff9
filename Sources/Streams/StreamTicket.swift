import JSON
package import Runtime

/// The permission to receive a stream, from a worker to `dossier-streams`.
///
/// The web server hands it over in the query of an internal path. It is encrypted, so no client can
/// make or read one.
package struct StreamTicket: Sendable {
  package let subject: Subject

  /// The source of the events.
  package enum Subject: Sendable {
    case user(UserSubject)
    case feed(FeedSubject)
  }

  /// The changes of a user, for a session.
  package struct UserSubject: Sendable {
    package let user: UserID
    package let session: SessionID
    /// The cursor that the client has; nil for the present state.
    package let cursor: String?
    /// Whether the app hides app metadata from its users.
    package let hidesAppMetadata: Bool
    /// When the access token expires, in seconds since 1970.
    package let expiresAt: Int

    package init(
      user: UserID, session: SessionID, cursor: String?, hidesAppMetadata: Bool, expiresAt: Int
    ) {
      (self.user, self.session, self.cursor) = (user, session, cursor)
      (self.hidesAppMetadata, self.expiresAt) = (hidesAppMetadata, expiresAt)
    }
  }

  /// The events of an app after a position.
  package struct FeedSubject: Sendable {
    /// The id of the feed.
    package let feed: String
    package let position: Int
    /// Nil for all types.
    package let types: EventTypes?
    /// Nil for all users.
    package let user: UserID?

    package init(feed: String, position: Int, types: EventTypes?, user: UserID?) {
      (self.feed, self.position) = (feed, position)
      (self.types, self.user) = (types, user)
    }
  }

  private static let purpose = "stream ticket"
  /// The time for the way through the web server.
  private static let lifetime = Duration.seconds(10)
  /// A ticket has about 500 bytes; one that names all types of events has twice as many.
  private static let longest = 4_096

  package init(_ subject: Subject) { self.subject = subject }

  /// Returns the encrypted text of the ticket.
  ///
  /// - Throws: `.internalError`.
  package func text(_ master: MasterKey) throws(Failure) -> String {
    try master.sealedText(content, as: Self.purpose, for: Self.lifetime)
  }

  private var content: JSONObject {
    switch subject {
    case .user(let subject):
      JSONObject([
        ("user", .string(subject.user.text)), ("session", .string(subject.session.text)),
        ("cursor", subject.cursor.map(JSON.string) ?? .null),
        ("hides", .bool(subject.hidesAppMetadata)),
        ("expires_at", .number(JSONNumber(subject.expiresAt))),
      ])
    case .feed(let subject):
      JSONObject([
        ("feed", .string(subject.feed)), ("position", .number(JSONNumber(subject.position))),
        ("types", subject.types.map { .string($0.text) } ?? .null),
        ("user", subject.user.map { .string($0.text) } ?? .null),
      ])
    }
  }

  /// Reads a ticket; returns nil for a forged one and for an old one.
  package init?(_ text: String, _ master: MasterKey) {
    guard text.utf8.count <= Self.longest,
      let (json, hasExpired) = master.openedText(text, as: Self.purpose), !hasExpired
    else { return nil }
    if let feed = json["feed"]?.string, let position = json["position"]?.number?.int {
      let names = json["types"]?.string
      let types = names.flatMap { EventTypes(matching: $0) }
      // A worker of a later version may know a type that this program does not.
      guard (names == nil) == (types == nil) else { return nil }
      subject = .feed(
        FeedSubject(
          feed: feed, position: position, types: types,
          user: json["user"]?.string.map { UserID(trusted: $0) }))
    } else if let user = json["user"]?.string, let session = json["session"]?.string,
      let expiresAt = json["expires_at"]?.number?.int
    {
      subject = .user(
        UserSubject(
          user: UserID(trusted: user), session: SessionID(trusted: session),
          cursor: json["cursor"]?.string, hidesAppMetadata: json["hides"] == .bool(true),
          expiresAt: expiresAt))
    } else {
      return nil
    }
  }

  /// Reads the ticket in the query of the internal path; returns nil without a valid one.
  package init?(inQuery query: String, _ master: MasterKey) {
    let name = "ticket="
    guard query.hasPrefix(name) else { return nil }
    self.init(String(query.dropFirst(name.count)), master)
  }

  /// Returns the internal path that hands the ticket over.
  ///
  /// - Throws: `.internalError`.
  package func path(_ master: MasterKey) throws(Failure) -> String {
    "/-/streams/open?ticket=\(try text(master))"
  }
}
