package import JSON
import Runtime
package import Tenancy

extension ClientRecord {
  /// The client as an entry of a list.
  package var summary: JSON { .object(common) }

  /// The client with the settings in force, and the names of those that differ from their defaults.
  ///
  /// It has its secret at creation and rotation only.
  package func json(secret: String? = nil) -> JSON {
    let listed = listedSettings
    var object = common
    object["settings"] = .object(listed.values)
    object["chosen"] = .array(listed.chosen.map(JSON.string))
    if let secret { object["secret"] = .string(secret) }
    return .object(object)
  }

  private var common: JSONObject {
    JSONObject([
      ("id", .string(id.text)), ("app", JSON(app)), ("kind", .string(kind.rawValue)),
      ("name", .string(name)), ("scopes", .array(scopes.map(JSON.string))),
      ("disabled", .bool(isDisabled)), ("version", .number(JSONNumber(version))),
      ("created_at", .string(createdAt.text)),
    ])
  }
}

extension ResourceServerRecord {
  package var json: JSON {
    [
      "id": .string(id.text), "app": .string(app), "identifier": .string(server.identifier),
      "name": .string(server.name), "scopes": .object(scopes),
      "token_seconds": .number(JSONNumber(Int(server.tokenLifetime.components.seconds))),
      "allows_offline_access": .bool(server.allowsOfflineAccess),
      "skips_consent": .bool(server.skipsConsent),
      "enforce_policies": .bool(server.enforcesPolicies),
      "token_dialect": .string(server.tokenDialect.rawValue), "claims": .object(claims),
      "version": .number(JSONNumber(version)), "created_at": .string(createdAt.text),
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
