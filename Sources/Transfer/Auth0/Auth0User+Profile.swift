import Accounts
import Documents
import Encoding
import JSON
import Runtime
import Sessions
import Tenancy

/// Everything but the id and the identities.
extension Auth0User {
  /// Takes the members of the profile that are valid here.
  mutating func takeProfile() {
    for (own, name) in [
      ("name", "name"), ("given_name", "given_name"), ("family_name", "family_name"),
      ("nickname", "nickname"), ("phone", "phone_number"), ("locale", "locale"),
    ] {
      guard let value = json[name], value != .null, value != "" else { continue }
      if let fault = Profiles.fault(own, value) {
        leaveOut("/" + name, fault.code, fault.detail)
      } else {
        row[own] = value
      }
    }
    if let name = json["username"], name != .null {
      leaveOut("/username", "no_username", "Users sign in with their address here.")
    }
    // Auth0 shows an address at Gravatar for users without a picture.
    if let picture = json["picture"], picture != .null,
      picture.string?.hasPrefix("https://s.gravatar.com/") != true
    {
      if let fault = PictureReference.fault(in: picture, at: "/picture") {
        leaveOut(fault.place, fault.code, fault.detail)
      } else {
        row["picture_url"] = picture
      }
    }
    if json["phone_verified"]?.bool == true {
      leaveOut("/phone_verified", "phone_verified", "Phone numbers are not verified here.")
    }
    for (name, value) in json.object ?? JSONObject()
    where !Self.members.contains(name) && value != .null {
      let rule = "Users have no member of this name here."
      leaveOut("/" + JSONPointer.escaped(name.excerpt(100)), "unknown_member", rule)
    }
  }

  /// The members that are read, and those that other members or this server derive.
  private static let members: Set<String> = [
    "user_id", "_id", "alt_id", "email", "email_verified", "identities", "name", "given_name",
    "family_name", "nickname", "phone_number", "phone_verified", "locale", "username", "picture",
    "blocked", "created_at", "updated_at", "last_login", "last_ip", "logins_count",
    "user_metadata", "app_metadata", "mfa_factors", "multifactor", "multifactor_last_modified",
    "roles", "passwordHash", "password_hash", "custom_password_hash", "last_password_reset",
    "password_set_date", "tenant", "connection", "identifiers",
  ]

  mutating func takeHistory() {
    if json["blocked"]?.bool == true { row["blocked"] = true }
    for (own, name) in [("created_at", "created_at"), ("last_login_at", "last_login")] {
      guard let time = json[name]?.string ?? json[name]?["$date"]?.string else { continue }
      if let fault = ImportedUser.fault(inTime: time, at: "/" + name) {
        leaveOut(fault.place, fault.code, fault.detail)
      } else {
        row[own] = .string(time)
      }
    }
    if let count = json["logins_count"]?.number?.int, ImportedUser.loginCounts.contains(count) {
      row["login_count"] = .number(JSONNumber(count))
    }
  }

  /// Takes the metadata; a fault in it fails the row, since its data would be lost.
  mutating func takeDocuments() {
    for (own, name) in [("metadata", "user_metadata"), ("app_metadata", "app_metadata")] {
      if let document = json[name], document != .null { row[own] = document }
    }
  }

  /// Takes the secrets of authenticator apps.
  mutating func takeFactors() {
    var secrets: [JSON] = []
    for (index, factor) in (json["mfa_factors"]?.array ?? []).enumerated() {
      let place = "/mfa_factors/\(index)"
      guard let secret = factor["totp"]?["secret"]?.string else {
        leaveOut(place, "factor", "A second factor must be an authenticator app here.")
        continue
      }
      if ImportedUser.secret(secret) == nil {
        leaveOut(place, "secret", ImportedUser.secretRule)
      } else if secrets.count == SecondFactors.limit {
        leaveOut(place, "factor", "A user may have at most \(SecondFactors.limit) second factors.")
      } else {
        secrets.append(.string(secret))
      }
    }
    if !secrets.isEmpty {
      row["totp_secrets"] = .array(secrets)
    } else if json["mfa_factors"] == nil, json["multifactor"]?.array?.isEmpty == false {
      let rule = "The export has no secret of the second factor: the user enrols again."
      leaveOut("/multifactor", "factor", rule)
    }
  }

  /// Takes the roles, which the app has already.
  mutating func takeRoles() {
    guard let given = json["roles"], given != .null else { return }
    guard let names = given.array, names.count <= RoleLimits.rolesOfUser else {
      let rule = "This must be a list of at most \(RoleLimits.rolesOfUser) names of roles."
      return leaveOut("/roles", "type", rule)
    }
    for (index, name) in names.enumerated() {
      guard let role = name.string.flatMap({ reader.roles[ByteString($0)] }) else {
        let rule = "The app has no role of the name \(name.string?.excerpt(100) ?? "")."
        leaveOut("/roles/\(index)", "no_role", rule)
        continue
      }
      roles.append(role)
    }
  }
}
