import Accounts
import Encoding
import JSON
import Passkeys
package import Runtime
import Tenancy
import WebAuthn

/// The rules of an app for passkeys of imported users.
package struct PasskeyRules: Sendable {
  /// The domain for which the app has passkeys made; empty if it has none.
  let relyingPartyID: String
  /// The most passkeys of a user.
  let limit: Int

  /// The rules of an app without passkeys.
  package static let none = PasskeyRules(relyingPartyID: "", limit: 0)

  package init(relyingPartyID: String, limit: Int) {
    (self.relyingPartyID, self.limit) = (relyingPartyID, limit)
  }

  package init(of app: App) {
    self.init(
      relyingPartyID: app.passkeySettings.relyingPartyID, limit: app.passkeySettings.limit)
  }

  /// The fault of a user with too many.
  func fault(at place: String) -> FieldError {
    FieldError(
      place, "too_many_passkeys",
      "A user may have at most \(limit) passkeys (the app's setting passkeys_per_user).")
  }
}

/// A passkey in a line of an import, with the user handle that its authenticator has stored.
///
/// Members: `credential_id`, `public_key` (in the format of COSE) and `user_handle`, in base64url;
/// `rp_id`, `sign_count`, `backup_eligible`, `backed_up`, `transports`, `aaguid`, `name`,
/// `created_at`, `last_used_at`.
struct ImportedPasskey: Sendable {
  let id: IdentityID
  /// The columns of its row, except that of the user.
  let columns: JSONObject

  /// Reads a passkey.
  ///
  /// - Throws: `.invalid` with each broken rule.
  init(_ json: JSON, at place: String, _ rules: PasskeyRules) throws(Failure) {
    guard let object = json.object else { throw .invalid([.wrongType(place, "an object")]) }
    var reader = PasskeyReader(object, place)
    let relyingPartyID = reader.text("rp_id") ?? rules.relyingPartyID
    if relyingPartyID.isEmpty || !relyingPartyID.hasSameBytes(as: rules.relyingPartyID) {
      reader.refuse("rp_id", "rp_id", Self.rule(about: relyingPartyID, rules))
    }
    let record = CredentialRecord(
      id: reader.bytes("credential_id"), publicKey: reader.bytes("public_key"),
      userHandle: reader.bytes("user_handle"), aaguid: reader.model(),
      relyingPartyID: relyingPartyID, isBackupEligible: reader.flag("backup_eligible"),
      isBackedUp: reader.flag("backed_up"), signCount: reader.count("sign_count"))
    let name = reader.text("name") ?? "Passkey"
    if let fault = Passkeys.fault(in: name, at: place + "/name") { reader.faults.append(fault) }
    let transports = reader.transports()
    var columns = JSONObject([
      ("credential", .string(String(hexadecimal: record.id))),
      ("public_key", .string(String(hexadecimal: record.publicKey))),
      ("user_handle", .string(String(hexadecimal: record.userHandle))),
      ("aaguid", .string(String(hexadecimal: record.aaguid))), ("rp_id", .string(relyingPartyID)),
      ("transports", .string(transports)),
      ("sign_count", .number(JSONNumber(Int(record.signCount)))),
      ("backup_eligible", .bool(record.isBackupEligible)), ("backed_up", .bool(record.isBackedUp)),
      ("name", .string(name)),
    ])
    columns["created_at"] = reader.time("created_at")
    columns["last_used_at"] = reader.time("last_used_at")
    reader.refuseOthers()
    guard reader.faults.isEmpty else { throw .invalid(reader.faults) }
    do throws(WebAuthnError) {
      try record.verify()
    } catch {
      let detail = "The passkey breaks a rule \(error.rule)."
      throw .invalid([FieldError(place, "passkey", detail)])
    }
    id = IdentityID(ofCredential: record.id)
    self.columns = columns
  }

  private static func rule(about id: String, _ rules: PasskeyRules) -> String {
    rules.relyingPartyID.isEmpty
      ? "The app has no passkeys: set passkey_rp_id to the domain of the passkeys first."
      : "The passkey is for the domain \(id.excerpt(100)), and the app's passkey_rp_id is "
        + "\(rules.relyingPartyID). It works at its own domain only."
  }

  /// Reads the passkeys of a line.
  static func list(
    in value: JSON, at place: String, _ rules: PasskeyRules
  ) -> (passkeys: [ImportedPasskey], faults: [FieldError]) {
    guard let elements = value.array else { return ([], [.wrongType(place, "an array")]) }
    guard elements.count <= rules.limit || elements.isEmpty else {
      return ([], [rules.fault(at: place)])
    }
    var passkeys: [ImportedPasskey] = []
    var faults: [FieldError] = []
    for (index, element) in elements.enumerated() {
      do throws(Failure) {
        let passkey = try ImportedPasskey(element, at: "\(place)/\(index)", rules)
        if passkeys.contains(where: { $0.id == passkey.id }) {
          let rule = "This line lists the same passkey twice."
          faults.append(FieldError("\(place)/\(index)", "duplicate", rule))
        }
        passkeys.append(passkey)
      } catch {
        faults += error.faults
      }
    }
    return (passkeys, faults)
  }
}

/// Reads the members of a passkey, and collects the broken rules.
private struct PasskeyReader {
  private let object: JSONObject
  private let place: String
  private var read: Set<String> = []
  var faults: [FieldError] = []

  init(_ object: JSONObject, _ place: String) { (self.object, self.place) = (object, place) }

  mutating func refuse(_ name: String, _ code: String, _ rule: String) {
    faults.append(FieldError("\(place)/\(name)", code, rule))
  }

  /// Returns a member; nil if it is absent.
  private mutating func member(_ name: String) -> JSON? {
    read.insert(name)
    return object[name]
  }

  mutating func text(_ name: String) -> String? {
    guard let value = member(name) else { return nil }
    if value.string == nil { refuse(name, "type", "This member must be a string.") }
    return value.string
  }

  mutating func flag(_ name: String) -> Bool {
    guard let value = member(name) else { return false }
    if value.bool == nil { refuse(name, "type", "This member must be true or false.") }
    return value.bool ?? false
  }

  mutating func count(_ name: String) -> UInt32 {
    guard let value = member(name) else { return 0 }
    let count = value.number?.int.flatMap { UInt32(exactly: $0) }
    if count == nil { refuse(name, "type", "This member must be an integer from 0 to 2^32 - 1.") }
    return count ?? 0
  }

  mutating func bytes(_ name: String) -> [UInt8] {
    let bytes = member(name)?.string.flatMap { [UInt8](base64URL: $0) }
    if bytes == nil { refuse(name, "base64url", "This member must be base64url without padding.") }
    return bytes ?? []
  }

  mutating func time(_ name: String) -> JSON? {
    guard let value = member(name) else { return nil }
    if let fault = ImportedUser.fault(inTime: value.string, at: "\(place)/\(name)") {
      faults.append(fault)
    }
    return value
  }

  /// Returns the model of the authenticator; zeros if it is absent.
  mutating func model() -> [UInt8] {
    guard let text = text("aaguid") else { return [UInt8](repeating: 0, count: 16) }
    let bytes = [UInt8](hexadecimal: text.utf8.filter { $0 != UInt8(ascii: "-") })
    if bytes?.count != 16 { refuse("aaguid", "type", "This member must be a UUID.") }
    return bytes ?? []
  }

  /// Returns the known transports, as the row has them.
  mutating func transports() -> String {
    guard let value = member("transports") else { return "" }
    guard let names = value.array?.map(\.string), !names.contains(nil) else {
      refuse("transports", "type", "This member must be an array of strings.")
      return ""
    }
    return AuthenticatorTransport.allCases.map(\.rawValue).filter(names.contains)
      .joined(separator: " ")
  }

  mutating func refuseOthers() {
    for name in object.keys where !read.contains(name) {
      let known = JSONPointer.escaped(name.excerpt(100))
      refuse(known, "unknown_member", "A passkey has no member of this name.")
    }
  }
}
