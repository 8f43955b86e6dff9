package import Documents
package import JSON
package import Runtime
package import Tenancy

// JSON for operators.

extension AppRecord {
  /// The app with all settings, and the names of those that differ from their defaults.
  package func json(_ catalog: SettingsCatalog) -> JSON {
    let listed = catalog.listed(app.settings)
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

extension IssuerInfo {
  package var json: JSON {
    [
      "name": .string(name), "issuer": .string(issuer), "audience": .string(audience),
      "keys": .string(keys), "jwks_url": JSON(jwksURL), "claims": claims,
      "allow_missing_iss": .bool(allowsMissingIssuer),
      "allow_missing_aud": .bool(allowsMissingAudience),
      "created_at": .string(createdAt.text),
    ]
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
