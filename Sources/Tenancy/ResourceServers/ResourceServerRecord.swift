package import JSON
package import Postgres
package import Runtime
import Encoding

/// An API as operators see it.
package struct ResourceServerRecord: RowDecodable {
  package let server: ResourceServer
  /// The scopes as they are stored.
  package let scopes: JSONObject
  /// The claims as they are stored.
  package let claims: JSONObject
  package let appID: AppID
  /// The name of the app.
  package let app: String
  package let version: Int
  package let createdAt: Timestamp

  package var id: ResourceServerID { server.id }

  package init(from row: Row) throws(DatabaseError) {
    server = try ResourceServer(from: row)
    scopes = try row.json(3).object ?? JSONObject()
    claims = try row.json(7).object ?? JSONObject()
    appID = try row.id(10)
    app = try row.text(11)
    version = try row.int(12)
    createdAt = try row.time(13)
  }
}

/// An API to create.
package struct ResourceServerDescription: Sendable {
  /// The name of its app.
  package let app: String
  /// The audience of its tokens: 1 to 600 printable ASCII characters without spaces.
  package let identifier: String
  /// A label of 1 to 100 characters.
  package let name: String
  package let details: ResourceServerChange

  package init(app: String, identifier: String, name: String, _ details: ResourceServerChange) {
    (self.app, self.identifier, self.name, self.details) = (app, identifier, name, details)
  }
}

/// A change of an API; nil keeps a member.
package struct ResourceServerChange: Sendable {
  package var name: String?
  /// A merge patch of the scopes, each with its description; null removes one.
  package var scopes = JSONObject()
  /// Whether the scopes replace all scopes before.
  package var replacesScopes = false
  /// From 60 to 2,592,000.
  package var tokenSeconds: Int?
  package var allowsOfflineAccess: Bool?
  package var skipsConsent: Bool?
  package var enforcesPolicies: Bool?
  package var tokenDialect: TokenDialect?
  /// A merge patch of the claims; null removes one.
  package var claims = JSONObject()

  package init() {}

  /// The members that it changes, for an audit event.
  var audited: JSONObject {
    var detail = JSONObject()
    if let name { detail["name"] = .string(name) }
    if scopes.count > 0 { detail["scopes"] = AuditedSettings.shown(scopes) }
    if let tokenSeconds { detail["token_seconds"] = .number(JSONNumber(tokenSeconds)) }
    if let allowsOfflineAccess { detail["allows_offline_access"] = .bool(allowsOfflineAccess) }
    if let skipsConsent { detail["skips_consent"] = .bool(skipsConsent) }
    if let enforcesPolicies { detail["enforce_policies"] = .bool(enforcesPolicies) }
    if let tokenDialect { detail["token_dialect"] = .string(tokenDialect.rawValue) }
    if claims.count > 0 { detail["claims"] = AuditedSettings.shown(claims) }
    return detail
  }
}

extension ResourceServerRecord {
  /// Returns the members that a change would change, by the names that `/v1` has for them.
  package func differences(by change: ResourceServerChange) -> [String] {
    let scopes = change.replacesScopes ? change.scopes : scopes.merging(change.scopes)
    let seconds = Int(server.tokenLifetime.components.seconds)
    func differs<Value: Equatable>(_ new: Value?, _ old: Value) -> Bool {
      new.map { $0 != old } ?? false
    }
    let members = [
      ("name", change.name.map { !$0.hasSameBytes(as: server.name) } ?? false),
      ("scopes", scopes != self.scopes), ("token_seconds", differs(change.tokenSeconds, seconds)),
      ("allows_offline_access", differs(change.allowsOfflineAccess, server.allowsOfflineAccess)),
      ("skips_consent", differs(change.skipsConsent, server.skipsConsent)),
      ("enforce_policies", differs(change.enforcesPolicies, server.enforcesPolicies)),
      ("token_dialect", differs(change.tokenDialect, server.tokenDialect)),
      ("claims", claims.merging(change.claims) != claims),
    ]
    return members.filter(\.1).map(\.0)
  }
}

/// The rules for APIs.
package enum ResourceServerRules {
  /// A minute to thirty days.
  package static let tokenSeconds = 60...2_592_000
  package static let defaultTokenSeconds = 86_400
  /// 200: users see the descriptions of those that a client requests.
  package static let mostScopes = 200
  private static let scopeLengths = 1...200
  /// Scopes that OpenID Connect defines.
  private static let reservedScopes: Set<String> = [
    "openid", "profile", "email", "address", "phone", "offline_access",
  ]

  static func faults(in change: ResourceServerChange) -> [FieldError] {
    var faults: [FieldError] = []
    if let name = change.name, let fault = OperatorName.labelFault(in: name) {
      faults.append(fault)
    }
    if let seconds = change.tokenSeconds, !tokenSeconds.contains(seconds) {
      faults.append(
        FieldError(
          "/token_seconds", "range", "This member must be a whole number in \(tokenSeconds)."
        )
      )
    }
    return faults
  }

  /// Returns the faults of the scopes after a change.
  static func faults(inScopes scopes: JSONObject) -> [FieldError] {
    guard scopes.count <= mostScopes else {
      return [FieldError("/scopes", "length", "An API may have at most \(mostScopes) scopes.")]
    }
    return scopes.compactMap { name, description in
      reason(against: name, description).map { code, detail in
        FieldError("/scopes/\(JSONPointer.escaped(name))", code, detail)
      }
    }
  }

  private static func reason(against name: String, _ description: JSON) -> SettingRule.Fault? {
    guard scopeLengths.contains(name.utf8.count), isScope(name) else {
      return (
        "scope",
        "A scope must have 1 to 200 printable ASCII characters, without spaces, quotes and backslashes."
      )
    }
    if reservedScopes.contains(where: { $0.hasSameBytes(as: name) }) {
      return ("scope", "OpenID Connect defines this scope. Choose another name.")
    }
    let isDescription = description.string.map(OperatorName.isDescription) ?? false
    return isDescription ? nil : ("description", OperatorName.descriptionRule)
  }

  /// - Source: RFC 6749 section 3.3.
  private static func isScope(_ name: String) -> Bool {
    name.utf8.allSatisfy { byte in
      byte.isVisible && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
  }
}
