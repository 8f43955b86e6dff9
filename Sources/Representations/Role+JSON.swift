package import JSON
import Runtime
package import Tenancy

extension Role {
  package var json: JSON {
    [
      "id": .string(id.text), "name": .string(name), "description": .string(description),
      "version": .number(JSONNumber(version)), "created_at": .string(createdAt.text),
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
