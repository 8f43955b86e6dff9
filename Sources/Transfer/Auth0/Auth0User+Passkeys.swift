import JSON
import Runtime

/// The passkeys of Auth0, as `GET /api/v2/users/{id}/authentication-methods` lists them.
extension Auth0User {
  mutating func takePasskeys() {
    guard let given = json["authentication_methods"], given != .null else { return }
    guard let methods = given.array else {
      return leaveOut("/authentication_methods", "type", "This must be a list of methods.")
    }
    var passkeys: [JSON] = []
    for (index, method) in methods.enumerated() {
      let place = "/authentication_methods/\(index)"
      guard let type = method["type"]?.string, type == "passkey" else {
        // Others are in members of their own, or mere statements about the address.
        if method["type"]?.string?.hasPrefix("webauthn-") == true {
          leaveOut(place, "factor", "A WebAuthn key that was only a second factor is no passkey.")
        }
        continue
      }
      let passkey = Self.passkey(of: method)
      do throws(Failure) {
        _ = try ImportedPasskey(passkey, at: place, reader.passkeys)
        guard passkeys.count < reader.passkeys.limit else {
          throw .invalid([reader.passkeys.fault(at: place)])
        }
        passkeys.append(passkey)
      } catch {
        for fault in error.faults { leaveOut(fault.place, fault.code, fault.detail) }
      }
    }
    if !passkeys.isEmpty { row["passkeys"] = .array(passkeys) }
  }

  /// Returns a method in the form of an import.
  private static func passkey(of method: JSON) -> JSON {
    var passkey = JSONObject()
    for (own, name) in [
      ("credential_id", "key_id"), ("public_key", "public_key"), ("user_handle", "user_handle"),
    ] {
      passkey[own] = method[name]?.string.map { .string(base64URL($0)) }
    }
    for (own, name) in [
      ("rp_id", "relying_party_id"), ("rp_id", "relying_party_identifier"), ("name", "name"),
      ("aaguid", "aaguid"), ("backed_up", "credential_backed_up"), ("transports", "transports"),
      ("created_at", "created_at"), ("last_used_at", "last_auth_at"),
    ] {
      if let value = method[name], value != .null, value != "" { passkey[own] = value }
    }
    passkey["backup_eligible"] = .bool(method["credential_device_type"] == "multi_device")
    return .object(passkey)
  }

  /// Returns base64 of either alphabet, with padding or without it, as base64url without padding.
  private static func base64URL(_ text: String) -> String {
    let digits = text.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.reversed().map { digit in
      switch digit {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      default: digit
      }
    }
    return String(decoding: digits, as: UTF8.self)
  }
}
