package import Documents
package import JSON
import Permissions
import Runtime
package import Tenancy
package import Records

// JSON for operators.

extension AppRecord {
  /// The app with all settings, and the names of those that differ from their defaults.
  package func json(_ catalog: RecordShape) -> JSON {
    let listed = catalog.listed(app.settings.chosen)
    return [
      "id": .string(id.text), "name": .string(name), "hosts": .array(app.hosts.map(JSON.string)),
      "settings": .object(listed.values), "chosen": .array(listed.chosen.map(JSON.string)),
      "version": .number(JSONNumber(app.version)), "created_at": .string(createdAt.text),
      "updated_at": .string(updatedAt.text),
    ]
  }

  /// The app as an entry of a list.
  package var summary: JSON {
    [
      "id": .string(id.text), "name": .string(name), "hosts": .array(app.hosts.map(JSON.string)),
      "version": .number(JSONNumber(app.version)), "created_at": .string(createdAt.text),
    ]
  }
}

extension Stored {
  /// The record with every column, and what follows from them.
  ///
  /// It has no secret but one that it has just got.
  package var json: JSON {
    let values = values
    var object = JSONObject()
    if R.table.hasID { object["id"] = .string(key) }
    if R.words.app != .nothing { object["app"] = app.isEmpty ? .null : .string(appName) }
    for (name, value) in values { object[name] = value }
    for member in R.derived { object[member.name] = member.value(self) }
    object["version"] = .number(JSONNumber(version))
    object["created_at"] = JSON(Timestamp(stored: created))
    if let newSecret { object["secret"] = .string(newSecret) }
    for (name, value) in extras { object[name] = value }
    return .object(object)
  }
}

extension SigningKeyInfo {
  package var json: JSON {
    [
      "id": .string(id), "purpose": .string(purpose), "algorithm": .string(algorithm),
      "current": .bool(retiresAt == nil), "created_at": .string(createdAt.text),
      "retires_at": JSON(retiresAt), "public_key": publicKey.jwk,
    ]
  }
}

extension SearchIndex {
  package var json: JSON {
    [
      "id": .string(id.text), "path": .string(path), "kind": .string(kind.rawValue),
      "state": .string(state.rawValue), "created_at": JSON(createdAt),
    ]
  }
}

extension SearchPath {
  package var json: JSON {
    switch self {
    case .declared(let index): index.json
    // The database schema indexes members of the profile. These indexes have no id.
    case .member(let member):
      [
        "id": .null, "path": .string(member.rawValue), "kind": .string(member.kind.rawValue),
        "state": "ready", "created_at": .null,
      ]
    }
  }
}

extension SchemaInfo {
  package var json: JSON {
    [
      "kind": .string(document.pathName), "bytes": .number(JSONNumber(bytes)),
      "updated_at": .string(updatedAt.text),
    ]
  }
}

extension ClientGrant {
  package var json: JSON {
    [
      "resource_server": .string(server.text), "identifier": .string(identifier),
      "name": .string(name), "scopes": .array(scopes.map(JSON.string)),
    ]
  }
}

extension Permission {
  package var json: JSON { .object(members) }

  /// The permission of a user, with the roles that give it.
  package var jsonWithSources: JSON {
    var object = members
    object["direct"] = .bool(sources.contains { $0.role == nil })
    object["roles"] = .array(sources.filter { $0.role != nil }.map { .string($0.name) })
    return .object(object)
  }

  private var members: JSONObject {
    JSONObject([
      ("resource_server", .string(server.text)), ("identifier", .string(identifier)),
      ("name", .string(serverName)), ("scope", .string(scope)),
      ("description", .string(description)),
    ])
  }
}
