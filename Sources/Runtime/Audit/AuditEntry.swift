package import JSON
package import Postgres

/// An audit event, as it is read.
package struct AuditEntry: Listed {
  package let id: EventID
  package let at: Timestamp
  package let action: String
  package let actor: String
  /// Nil if the event concerns an app or the deployment.
  package let user: UserID?
  package let session: SessionID?
  package let device: DeviceID?
  package let address: String?
  package let agent: String?
  package let detail: JSON
  /// The name of the app; nil for the deployment, and for a deleted app.
  package let app: String?

  package var cursor: EventID { id }

  /// Reads a row of the view `audit_entries`.
  package init(from row: Row) throws(DatabaseError) {
    id = EventID(trusted: try row.text(0))
    at = try row.time(1)
    action = try row.text(2)
    actor = try row.text(3)
    user = row.id(ifAny: 4)
    session = row.id(ifAny: 5)
    device = row.id(ifAny: 6)
    address = row.text(ifAny: 7)
    agent = row.text(ifAny: 8)
    detail = try row.json(9)
    app = row.text(ifAny: 10)
  }
}
