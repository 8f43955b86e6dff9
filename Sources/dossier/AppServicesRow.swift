import Dossier
import JSON
import Notation

/// Reads lines that App Services has made: users as its administration lists them, or documents of
/// custom data as `mongoexport` writes them.
///
/// The operator says which of the two a file has. Users wrote their documents themselves, so that
/// a document that looks like a user must not become one.
enum AppServicesRow: Sendable {
  /// - Parameters:
  ///   - issuer: whose tokens the users of `custom-token` bring; nil when there are none.
  ///   - areEmailsConfirmed: whether the app asked for a confirmation by mail, so that addresses are
  ///     verified.
  case user(issuer: String?, areEmailsConfirmed: Bool)
  /// - Parameter userField: the field that holds the id of the document's user.
  case document(userField: String)

  /// The line as an import has it.
  ///
  /// - Throws: `.invalid` for a line that is something else.
  func translated(_ text: [UInt8]) throws(Failure) -> [UInt8] {
    let json: JSON
    do throws(JSONError) {
      json = try JSON.parse(text)
    } catch {
      throw .invalid([Fault(error.pointer, error.reason.rawValue, error.detail)])
    }
    switch self {
    case .user(let issuer, let areEmailsConfirmed):
      return JSON.object(try Self.user(json, issuer, areEmailsConfirmed)).serialized()
    case .document(let field): return JSON.object(try Self.document(json, field)).serialized()
    }
  }

  private static func document(_ json: JSON, _ userField: String) throws(Failure) -> JSONObject {
    guard let id = id(json[userField]) else {
      let rule = "A document has the id of its user in \(userField)."
      throw .invalid([Fault("/" + JSONPointer.escaped(userField), "required", rule)])
    }
    var row = JSONObject()
    row["id"] = .string(id)
    row["custom_data"] = json
    return row
  }

  private static func user(
    _ json: JSON,
    _ issuer: String?,
    _ areEmailsConfirmed: Bool
  ) throws(Failure) -> JSONObject {
    guard let id = id(json["_id"]) else {
      throw .invalid([Fault("/_id", "id", "An id has 24 hexadecimal digits.")])
    }
    guard let listed = json["identities"]?.array else {
      throw .invalid([Fault("/identities", "required", "A user has identities.")])
    }
    var row = JSONObject()
    row["id"] = .string(id)
    var identities: [JSON] = []
    for identity in listed {
      switch identity["provider_type"]?.string {
      case "local-userpass":
        guard let email = identity["provider_data"]?["email"]?.string else { continue }
        row["email"] = .string(email)
        row["email_verified"] = .bool(areEmailsConfirmed)
        // The service never shows hashes: a new one is chosen by mail.
        row["password_hash"] = .null
      case "custom-token":
        guard let issuer else {
          let rule = "Users of custom-token need --issuer, whose tokens they bring."
          throw .invalid([Fault("/identities", "issuer", rule)])
        }
        identities += Self.identity(identity, of: issuer)
      case "oauth2-google":
        identities += Self.identity(identity, of: "https://accounts.google.com")
      case "oauth2-apple":
        identities += Self.identity(identity, of: "https://appleid.apple.com")
      // Anonymous users come by their data alone; of others there is no way in here.
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

  private static func identity(_ identity: JSON, of issuer: String) -> [JSON] {
    guard let subject = identity["id"]?.string else { return [] }
    return [["provider": .string("jwt:\(issuer)"), "subject": .string(subject)]]
  }

  /// An id as text or as Extended JSON.
  private static func id(_ json: JSON?) -> String? {
    (json?.string ?? json?["$oid"]?.string).flatMap { UserID($0) }?.text
  }

  /// Seconds from 1970 on, plain or as Extended JSON.
  private static func seconds(_ json: JSON?) -> Double? {
    let wrapped = json?["$numberLong"]?.string ?? json?["$numberInt"]?.string
    let seconds = wrapped.flatMap(Double.init) ?? json?.number?.double
    // Until the year 9999.
    return seconds.flatMap { (0..<253_402_300_800).contains($0) ? $0 : nil }
  }
}
