package import Tenancy
package import Runtime
package import Postgres

/// A live session, as its user sees it.
package struct SessionInfo: Listed {
  package let id: SessionID
  package let device: DeviceID
  /// The identity by which it was opened.
  package let provider: IdentityProvider
  package let address: String?
  package let agent: String?
  package let createdAt: Timestamp
  package let refreshedAt: Timestamp
  package let expiresAt: Timestamp

  package var cursor: SessionID { id }

  /// Reads a row of the view `live_sessions`.
  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    device = try row.id(1)
    provider = IdentityProvider(try row.text(2))
    address = row.text(ifAny: 3)
    agent = row.text(ifAny: 4)
    createdAt = try row.time(5)
    refreshedAt = try row.time(6)
    expiresAt = try row.time(7)
  }
}
