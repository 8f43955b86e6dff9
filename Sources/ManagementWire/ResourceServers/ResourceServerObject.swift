import Documents
import Encoding
import JSON
import Runtime
import Tenancy
import WireKit

/// An API as the Management API shows it.
enum ResourceServerObject {
  /// Returns an API.
  static func json(_ record: ResourceServerRecord, at issuer: String) -> JSONObject {
    let server = record.server
    let seconds = JSON.number(JSONNumber(Int(server.tokenLifetime.components.seconds)))
    let scopes = server.scopes.map { scope -> JSON in
      ["value": .string(scope.name), "description": .string(scope.description)]
    }
    return JSONObject([
      ("id", .string(server.id.text)), ("name", .string(server.name)),
      ("identifier", .string(ManagementAPI.audience(of: server.identifier, at: issuer))),
      ("is_system", .bool(server.isManagementAPI)), ("scopes", .array(scopes)),
      ("signing_alg", "RS256"), ("token_lifetime", seconds), ("token_lifetime_for_web", seconds),
      ("allow_offline_access", .bool(server.allowsOfflineAccess)),
      ("skip_consent_for_verifiable_first_party_clients", .bool(server.skipsConsent)),
      ("enforce_policies", .bool(server.enforcesPolicies)),
      ("token_dialect", .string(server.tokenDialect.rawValue)),
    ])
  }
}

/// The body of a creation or a change of an API.
struct ResourceServerBody {
  private(set) var change = ResourceServerChange()
  private(set) var identifier: String?
  /// The members that this server lacks.
  private(set) var ignored: [String] = []
  private var reader = MemberReader()
  /// Nil if the body does not say.
  private var secondsForWeb: JSON?

  /// - Throws: `.invalid` with every fault.
  init(_ body: JSONObject) throws(Failure) {
    for (name, value) in body { take(name, value) }
    // Auth0 has it for a flow that this server lacks.
    if let secondsForWeb, secondsForWeb != body["token_lifetime"] {
      ignored.append("token_lifetime_for_web")
    }
    try reader.check()
  }

  /// Returns the API that a body describes.
  ///
  /// - Parameters:
  ///   - app: the name of its app.
  ///   - stored: returns the stored form of an identifier.
  /// - Returns: the API.
  /// - Throws: `.invalid` without an identifier.
  func description(
    in app: String, _ stored: (String) -> String = { $0 }
  ) throws(Failure) -> ResourceServerDescription {
    guard let identifier else { throw .invalid([.missingProperty("identifier")]) }
    return ResourceServerDescription(
      app: app, identifier: stored(identifier), name: change.name ?? identifier.excerpt(100), change
    )
  }

  private mutating func take(_ member: String, _ value: JSON) {
    switch member {
    case "identifier": identifier = reader.string(member, value)
    case "name": change.name = reader.string(member, value)
    case "scopes": takeScopes(value)
    case "token_lifetime":
      change.tokenSeconds = reader.require(value.number?.int, member, "a whole number")
    case "token_lifetime_for_web": secondsForWeb = value
    case "allow_offline_access": change.allowsOfflineAccess = reader.flag(member, value)
    case "skip_consent_for_verifiable_first_party_clients":
      change.skipsConsent = reader.flag(member, value)
    case "enforce_policies": change.enforcesPolicies = reader.flag(member, value)
    case "token_dialect":
      change.tokenDialect = value.string.flatMap(TokenDialect.init)
      if change.tokenDialect == nil {
        let names = TokenDialect.allCases.map(\.rawValue).joined(separator: " or ")
        reader.refuse(member, "choice", "This member must be \(names).")
      }
    case "signing_alg":
      if value != "RS256" { reader.refuse(member, "choice", "This member must be RS256.") }
    // Back ends send what they have read.
    case "ignored_members", "id", "is_system": break
    default: ignored.append(member)
    }
  }

  private mutating func takeScopes(_ value: JSON) {
    change.replacesScopes = true
    var scopes = JSONObject()
    for (index, scope) in (value.array ?? []).enumerated() {
      if let name = scope["value"]?.string {
        let description = scope["description"] ?? .null
        scopes[name] = description == .null ? "" : description
      } else {
        let rule = "Missing required property: value."
        reader.refuse(FieldError("/scopes/\(index)", "missing", rule))
      }
    }
    _ = reader.require(value.array, "scopes", "an array")
    change.scopes = scopes
  }
}
