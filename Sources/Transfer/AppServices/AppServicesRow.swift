import Tenancy
import Accounts
import Encoding
import JSON
package import Runtime

/// A reader of lines exported from App Services: users as its administration API lists them, or
/// documents of custom data as `mongoexport` writes them.
///
/// The operator says which of the two a file contains. Users wrote their documents themselves, so a
/// document that looks like a user must not become one.
package enum AppServicesRow: ForeignReader {
  /// A user.
  ///
  /// - Parameters:
  ///   - issuer: the token issuer of `custom-token` users, or nil without such users.
  ///   - areEmailsVerified: whether the app required confirmation by mail, so that addresses count
  ///     as verified.
  case user(issuer: String?, areEmailsVerified: Bool)
  /// A document.
  ///
  /// - Parameter userField: the field that holds the id of the document's user.
  case document(userField: String)

  package func translated(_ text: [UInt8]) throws(Failure) -> TranslatedLine {
    let json = try Self.parse(text)
    switch self {
    case .user(let issuer, let areEmailsVerified):
      return TranslatedLine(try Self.user(json, issuer, areEmailsVerified))
    case .document(let field): return TranslatedLine(try Self.document(json, field))
    }
  }

  private static func document(_ json: JSON, _ userField: String) throws(Failure) -> JSONObject {
    guard let id = id(json[userField]) else {
      let rule = "A document must have the id of its user in \(userField)."
      throw .invalid([FieldError("/" + JSONPointer.escaped(userField), "required", rule)])
    }
    var row = JSONObject()
    row["id"] = .string(id)
    row["custom_data"] = json
    return row
  }

  private static func user(
    _ json: JSON, _ issuer: String?, _ areEmailsVerified: Bool
  ) throws(Failure) -> JSONObject {
    guard let id = id(json["_id"]) else {
      throw .invalid([FieldError("/_id", "id", "An id must have 24 hexadecimal digits.")])
    }
    guard let listed = json["identities"]?.array else {
      throw .invalid([FieldError("/identities", "required", "A user must have identities.")])
    }
    var row = JSONObject()
    row["id"] = .string(id)
    var identities: [JSON] = []
    for identity in listed {
      switch identity["provider_type"]?.string {
      case "local-userpass":
        guard let email = identity["provider_data"]?["email"]?.string else { continue }
        row["email"] = .string(email)
        row["email_verified"] = .bool(areEmailsVerified)
        // App Services never reveals hashes, so the user sets a new password by mail.
        row["password_hash"] = .null
      case "custom-token":
        guard let issuer else {
          let rule =
            "This user signs in with custom-token: pass --issuer with the iss of these tokens."
          throw .invalid([FieldError("/identities", "issuer", rule)])
        }
        identities += Self.identity(identity, of: issuer, json["data"])
      case "oauth2-google":
        identities += Self.identity(identity, of: "https://accounts.google.com", json["data"])
      case "oauth2-apple":
        identities += Self.identity(identity, of: "https://appleid.apple.com", json["data"])
      case "oauth2-facebook":
        identities += Self.identity(identity, of: "https://www.facebook.com", json["data"])
      // An anonymous identity has no credential to import. Other providers are not supported.
      default: break
      }
    }
    if !identities.isEmpty { row["identities"] = .array(identities) }
    for (own, name) in [
      ("name", "name"), ("given_name", "first_name"), ("family_name", "last_name"),
    ] {
      if let value = json["data"]?[name]?.string, !value.isEmpty { row[own] = .string(value) }
    }
    if json["disabled"]?.bool == true { row["blocked"] = true }
    if let seconds = Self.seconds(json["creation_date"]) {
      row["created_at"] = .string(CalendarTime(seconds: Int(seconds), nanoseconds: 0).text + "Z")
    }
    return row
  }

  /// Returns an identity with the metadata of its user.
  ///
  /// App Services merges the metadata of all identities. The next sign-in replaces it.
  private static func identity(_ identity: JSON, of issuer: String, _ data: JSON?) -> [JSON] {
    guard let subject = identity["id"]?.string else { return [] }
    let provider = IdentityProvider(ofIssuer: issuer).text
    var row = JSONObject([("provider", .string(provider)), ("subject", .string(subject))])
    let names = ["first_name": "given_name", "last_name": "family_name"]
    var claims = IdentityClaims()
    for (name, value) in data?.object ?? JSONObject() { claims.add(names[name] ?? name, value) }
    if claims.values.count > 0 { row["profile"] = ["claims": .object(claims.values)] }
    return [.object(row)]
  }

  /// Returns an id from text or Extended JSON.
  private static func id(_ json: JSON?) -> String? {
    (json?.string ?? json?["$oid"]?.string).flatMap { UserID($0) }?.text
  }

  /// Returns seconds since 1970 from plain or Extended JSON.
  private static func seconds(_ json: JSON?) -> Double? {
    let wrapped = json?["$numberLong"]?.string ?? json?["$numberInt"]?.string
    let seconds = wrapped.flatMap(Double.init) ?? json?.number?.double
    // Dates up to the year 9999 are valid.
    return seconds.flatMap { (0..<253_402_300_800).contains($0) ? $0 : nil }
  }
}
