package import Accounts
import Documents
package import Runtime
package import Sessions
package import Transfer
package import JSON

/// JSON of a user's identities, keys, sessions, events, devices and versions.

extension IdentityInfo {
  package var json: JSON {
    [
      "id": .string(id.text), "provider": .string(provider), "subject": .string(subject),
      "verified": .bool(isVerified), "created_at": .string(createdAt.text),
    ]
  }
}

extension APIKeyInfo {
  var json: JSON {
    [
      "id": .string(id.text), "name": .string(name), "disabled": .bool(isDisabled),
      "created_at": .string(createdAt.text), "last_used_at": JSON(lastUsedAt),
    ]
  }
}

extension SessionInfo {
  /// Returns the session as its user sees it from the session `current`.
  func json(current: SessionID?) -> JSON {
    var members = json.object ?? JSONObject()
    members["current"] = .bool(id == current)
    return .object(members)
  }

  package var json: JSON {
    [
      "id": .string(id.text), "device_id": .string(device.text), "provider": .string(provider),
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
      "detail": detail,
    ]
  }
}

extension DeviceUser {
  var json: JSON {
    [
      "user_id": .string(user.text), "chosen_at": .string(chosenAt.text),
      "state": .string(state.name), "anonymous": .bool(isAnonymous), "name": JSON(name),
      "nickname": JSON(nickname), "picture": JSON(picture.map(PictureResource.path)),
      "email": JSON(email),
    ]
  }
}

extension DeviceUser.State {
  fileprivate var name: String {
    switch self {
    case .active: "active"
    case .inactive: "inactive"
    case .loggedOut: "logged_out"
    }
  }
}

extension DocumentVersion {
  var json: JSON {
    [
      "version": .number(JSONNumber(version)), "changed_at": .string(changedAt.text),
      "actor": .string(actor), "deleted": .bool(isDeleted),
    ]
  }
}

extension Export {
  /// Returns the whole export as one JSON object.
  package var text: [UInt8] {
    var pictures: [JSON] = []
    if let picture {
      pictures = [
        [
          "path": .string(PictureResource.path(picture.name)),
          "created_at": .string(picture.createdAt.text),
        ]
      ]
    }
    let start: JSON = ["profile": profile.json, "pictures": .array(pictures)]
    return start.serialized().dropLast() + Array(",".utf8) + members + Array("}".utf8)
  }
}
