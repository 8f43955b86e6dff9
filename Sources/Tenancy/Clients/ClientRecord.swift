package import JSON
package import Postgres
package import Runtime
import Records

/// A client as operators see it, without its secret.
package struct ClientRecord: RowDecodable {
  package let id: ClientID
  package let appID: AppID?
  /// The name of the app; nil for an operator client.
  package let app: String?
  package let kind: ClientKind
  package let name: String
  package let scopes: [String]
  package let settings: AppSettings
  package let version: Int
  package let isDisabled: Bool
  package let createdAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    appID = row.id(ifAny: 1)
    app = row.text(ifAny: 2)
    kind = try row.clientKind(3)
    name = try row.text(4)
    scopes = try row.text(5).split(separator: " ").map(String.init)
    settings = AppSettings(stored: try row.bytes(6), .client)
    version = try row.int(7)
    isDisabled = try row.bool(8)
    createdAt = try row.time(9)
  }

  /// The settings in force, and the names of those that differ from their defaults.
  package var listedSettings: (values: JSONObject, chosen: [String]) {
    var listed = RecordShape.client.listed(settings.chosen)
    if kind.isPublic {
      listed.values["pkce"] = .string(ClientSettings.PKCE.required.rawValue)
    }
    return listed
  }
}

/// A client to create.
package struct ClientDescription: Sendable {
  /// A label of 1 to 100 characters.
  package let name: String
  /// The name of its app; nil for an operator client, which has no scopes.
  package let app: String?
  package let kind: ClientKind
  /// The id that it had at another server; nil for a new one.
  package let id: String?
  /// The secret that it had there; nil for a new one.
  package let secret: GivenSecret?
  /// Some of `Scopes.management`; none for a client without a secret.
  package let scopes: [String]
  package let settings: JSONObject

  package init(
    name: String, app: String?, kind: ClientKind, id: String? = nil, secret: GivenSecret? = nil,
    scopes: [String] = [], settings: JSONObject = JSONObject()
  ) {
    (self.name, self.app, self.kind) = (name, app, kind)
    (self.id, self.secret) = (id, secret)
    (self.scopes, self.settings) = (scopes, settings)
  }
}

/// A change of a client; nil keeps a member.
package struct ClientChange: Sendable {
  package var name: String?
  package var scopes: [String]?
  package var isDisabled: Bool?
  /// A merge patch of the settings; null resets a setting to its default.
  package var settings = JSONObject()

  package init() {}

  /// The members that it changes, for an audit event.
  var audited: JSONObject {
    var detail = JSONObject()
    if let name { detail["name"] = .string(name) }
    if let scopes { detail["scopes"] = .array(scopes.map(JSON.string)) }
    if let isDisabled { detail["disabled"] = .bool(isDisabled) }
    if settings.count > 0 { detail["settings"] = .object(RecordChange.shown(settings)) }
    return detail
  }
}

/// The rules for clients.
enum ClientRules {
  static func faults(inScopes scopes: [String], of kind: ClientKind, isOperator: Bool)
    -> [FieldError]
  {
    if isOperator, !scopes.isEmpty {
      return [
        FieldError(
          "/scopes", "operator",
          "A client of the operator may do everything, so it cannot have scopes."
        )
      ]
    }
    if kind.isPublic, !scopes.isEmpty {
      return [FieldError("/scopes", "kind", "A client without a secret cannot have scopes.")]
    }
    return scopes.enumerated().compactMap { index, scope in
      guard !Scopes.management.contains(where: scope.hasSameBytes) else { return nil }
      let all = Scopes.management.joined(separator: ", ")
      return FieldError("/scopes/\(index)", "choice", "A scope must be one of \(all).")
    }
  }

  /// Returns the stored settings after a change.
  ///
  /// - Parameters:
  ///   - stored: the settings before.
  ///   - change: a merge patch; null resets a setting to its default.
  ///   - kind: the kind of the client.
  /// - Returns: the settings.
  /// - Throws: `.invalid` with pointers into a body with `settings`.
  static func settings(
    _ stored: JSONObject, changedBy change: JSONObject, of kind: ClientKind
  ) throws(Failure) -> JSONObject {
    let changed = RecordShape.client.change(of: stored, by: change, at: "/settings")
    var faults = changed.faults.map(FieldError.init)
    let hasOptionalPKCE = changed.after["pkce"] == .string(ClientSettings.PKCE.optional.rawValue)
    if kind.isPublic, change["pkce"] != nil, hasOptionalPKCE {
      faults.append(
        FieldError("/settings/pkce", "kind", "A client without a secret must always use PKCE.")
      )
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    return changed.after
  }
}
