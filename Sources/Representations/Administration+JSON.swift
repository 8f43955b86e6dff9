package import Documents
package import Runtime
package import Tenancy
package import JSON

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
