package import EventLoop
import JSON
package import Postgres
package import Runtime
import Sessions
import Tenancy

/// The scopes that a user has allowed a client.
package struct Consent: RowDecodable {
  package let client: ClientID
  /// Nil if the client was deleted.
  package let name: String?
  /// The identifier of the resource server; empty for the profile alone.
  package let audience: String
  package let scopes: [String]
  package let updatedAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    client = ClientID(trusted: try row.text(0))
    name = row.text(ifAny: 1)
    audience = try row.text(2)
    scopes = try row.text(3).split(separator: " ").map(String.init)
    updatedAt = try row.time(4)
  }
}

/// The consents of users.
@EventLoop package enum Consents {
  /// Returns the scopes of a request that its user has not allowed yet; nil if none is missing.
  ///
  /// A user who has not decided about the client yet is asked, even if no scope is requested.
  /// - Throws: `.databaseUnavailable`.
  package static func missing(
    _ request: AuthorizationRequest, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [String]? {
    request.missing(
      from: try await context.read(
        ConsentQueries.scope, user, request.client, request.audience ?? "", on: .exclusive
      )
    )
  }

  /// Checks that the user still allows the scopes of a request, which another request may revoke.
  ///
  /// - Throws: `.invalidCodeOfClient`.
  static func require(
    _ request: AuthorizationRequest, by user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    let rows = try await transaction.run(
      ConsentQueries.scope, user, request.client, request.audience ?? ""
    )
    guard request.missing(from: rows) == nil else { throw .invalidCodeOfClient }
  }

  /// Stores that the user of the request allows the scopes of a request.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func allow(
    _ request: AuthorizationRequest, by user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    let scopes = request.scopes
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      let stored = try await transaction.run(
        ConsentQueries.scope, user, request.client, request.audience ?? ""
      )
      let all = (stored.first.map { [$0] } ?? []) + (request.missing(from: stored) ?? [])
      _ = transaction.send(
        ConsentQueries.allow, user, request.client, request.audience ?? "",
        all.joined(separator: " ")
      )
      Event(
        "consent",
        of: user,
        detail: [
          "client_id": .string(request.client.text), "scopes": .array(scopes.map(JSON.string)),
        ]
      ).record(in: transaction)
    }
  }

  /// Returns the scopes that the user of the request has allowed, by client.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [Consent] {
    try await context.requireSession(of: user)
    return try await context.read(ConsentQueries.list, user, context.app.id, on: .exclusive)
  }

  /// Takes all consent from a client, and ends its sessions.
  ///
  /// - Throws: `.notFound` if the user has allowed it nothing; `.sessionEnded`,
  ///   `.databaseUnavailable`.
  package static func revoke(
    _ client: ClientID, by user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      let revoked = try await transaction.run(ConsentQueries.revoke, user, client)
      _ = transaction.send(ConsentQueries.endSessions, user, client.text)
      guard !revoked.isEmpty else { throw .notFound }
      Event(
        "consent_revoke", of: user, detail: ["client_id": .string(client.text)]
      ).record(in: transaction)
    }
  }
}

extension AuthorizationRequest {
  /// Returns the scopes that a stored consent lacks; nil if it lacks none.
  fileprivate func missing(from stored: [String]) -> [String]? {
    guard let allowed = stored.first?.split(separator: " ").map(String.init) else { return scopes }
    let missing = scopes.filter { !allowed.has(scope: $0) }
    return missing.isEmpty ? nil : missing
  }
}

package enum ConsentQueries {
  static let scope = Statement<String, UserID, ClientID, String>(
    "consents.scope",
    "select scope from consents where user_id = $1 and client_id = $2 and audience = $3"
  )

  static let allow = Statement<NoRow, UserID, ClientID, String, String>(
    "consents.allow",
    """
    insert into consents (user_id, client_id, audience, scope) values ($1, $2, $3, $4)
    on conflict (user_id, client_id, audience)
      do update set scope = excluded.scope, updated_at = excluded.updated_at
    """)

  /// Returns the consents of a user, with the names of their clients.
  ///
  /// The id of a deleted client may be that of one in another app by now.
  static let list = Statement<Consent, UserID, AppID>(
    "consents.list",
    """
    select c.client_id, n.name, c.audience, c.scope, c.updated_at
    from consents c left join clients n on n.client_id = c.client_id and n.app_id = $2
    where c.user_id = $1 order by n.name, c.client_id, c.audience
    """)

  static let revoke = Statement<String, UserID, ClientID>(
    "consents.revoke",
    "delete from consents where user_id = $1 and client_id = $2 returning client_id"
  )

  static let endSessions = Statement<NoRow, UserID, String>(
    "consents.end_sessions",
    """
    update sessions set ended_at = now(), end_reason = 'consent_revoke'
    where user_id = $1 and client_id = $2 and ended_at is null
    """)
}
