package import Accounts
package import Documents
package import JSON
package import Runtime
package import Sessions
import Tenancy

// JSON of a user's identities, keys, sessions, events and versions.

extension IdentityInfo {
  /// Returns the identity with what its service states about its owner.
  package func json(in app: App) -> JSON {
    let email = provider.isAddress ? subject : claims["email"]?.string
    return [
      "id": .string(id.text), "provider": .string(provider.text), "subject": .string(subject),
      "verified": .bool(isVerified), "connection": JSON(provider.connection(in: app)),
      "email": JSON(email), "name": JSON(claims["name"]?.string),
      "created_at": .string(createdAt.text),
    ]
  }
}

extension APIKeyInfo {
  package var json: JSON {
    [
      "id": .string(id.text), "name": .string(name), "disabled": .bool(isDisabled),
      "created_at": .string(createdAt.text), "last_used_at": JSON(lastUsedAt),
    ]
  }
}

extension SessionInfo {
  /// Returns the session as its user sees it from the session `current`.
  package func json(current: SessionID?) -> JSON {
    var members = json.object ?? JSONObject()
    members["current"] = .bool(id == current)
    return .object(members)
  }

  package var json: JSON {
    [
      "id": .string(id.text), "device_id": .string(device.text), "provider": .string(provider.text),
      "address": JSON(address), "agent": JSON(agent),
      "created_at": .string(createdAt.text), "refreshed_at": .string(refreshedAt.text),
      "expires_at": .string(expiresAt.text),
    ]
  }
}

extension AuditEntry {
  package var json: JSON {
    [
      "id": .string(id.text), "at": .string(at.text), "action": .string(action),
      "actor": .string(actor), "session_id": JSON(session?.text),
      "device_id": JSON(device?.text), "address": JSON(address), "agent": JSON(agent),
      "detail": detail, "request_id": JSON(request),
    ]
  }
}

extension DocumentVersion {
  package var json: JSON {
    [
      "version": .number(JSONNumber(version)), "changed_at": .string(changedAt.text),
      "actor": .string(actor), "session_id": JSON(session?.text), "deleted": .bool(isDeleted),
    ]
  }
}

extension JSON {
  /// Creates a string, or null for nil.
  package init(_ text: String?) { self = text.map(JSON.string) ?? .null }

  package init(_ time: Timestamp?) { self.init(time?.text) }
}
