import Accounts
import Documents
import Encoding
import IdentitySubjects
import JSON
import Permissions
import Runtime
import Sessions
import Tenancy

/// A user of Auth0's export on the way into a row of Dossier's import format.
struct Auth0User {
  let json: JSON
  let reader: Auth0Reader
  var row = JSONObject()
  var roles: [RoleID] = []
  private(set) var leftOut: [FieldError] = []
  private var identities: [JSON] = []
  /// The id in full, such as `auth0|65f1c0de`.
  private var id = ""

  init(_ json: JSON, _ reader: Auth0Reader) {
    self.json = json
    self.reader = reader
  }

  mutating func leaveOut(_ place: String, _ code: String, _ reason: String) {
    leftOut.append(FieldError(place, code, reason))
  }

  /// Takes the id, which clients and other systems keep as `sub`.
  ///
  /// - Throws: `.invalid` without a valid one.
  mutating func takeID() throws(Failure) {
    guard let given = json["user_id"]?.string, !given.isEmpty else {
      let rule = "The export needs user_id, which stays the sub of the user."
      throw .invalid([FieldError("/user_id", "required", rule)])
    }
    id = given.utf8.contains(UInt8(ascii: "|")) ? given : ForeignIDs.prefix + given
    guard ForeignIDs.isForeign(id) else {
      throw .invalid([ImportedUser.foreignIDFault("/user_id")])
    }
    row["foreign_id"] = .string(id)
  }

  mutating func takeAddress() {
    guard let email = json["email"]?.string, !email.isEmpty else { return }
    row["email"] = .string(email)
    row["email_verified"] = .bool(json["email_verified"]?.bool ?? false)
  }

  // MARK: Identities

  /// Takes the identities; without a list, the one that the id names.
  ///
  /// - Throws: `.invalid` if the member is no list, or if the list is too long.
  mutating func takeIdentities() throws(Failure) {
    if let listed = json["identities"], listed != .null {
      guard let listed = listed.array, listed.count <= ImportedUser.identityLimit else {
        throw .invalid([ImportedUser.identitiesFault("/identities")])
      }
      for (index, identity) in listed.enumerated() { take(identity, at: "/identities/\(index)") }
    } else if let bar = id.firstIndex(of: "|") {
      take(
        [
          "provider": .string(String(id[..<bar])),
          "user_id": .string(String(id[id.index(after: bar)...])),
        ],
        at: "/user_id"
      )
    }
    if !identities.isEmpty { row["identities"] = .array(identities) }
  }

  private mutating func take(_ identity: JSON, at place: String) {
    guard let provider = identity["provider"]?.string,
      let subject = identity["user_id"]?.string ?? identity["user_id"]?.number?.text
    else { return leaveOut(place, "type", "An identity must have a provider and a user_id.") }
    switch provider {
    case "auth0":
      takePassword(of: identity, subject, at: place)
    // The address alone signs in, by mailed codes.
    case "email":
      if takeAddress(of: identity, at: place) {
        takeAddressIdentity("email", identity, at: place)
      }
    case "sms": leaveOut(place, "no_sms", "Users do not sign in by text messages here.")
    default:
      let names = [identity["connection"]?.string, provider].compactMap(\.self)
      guard let issuer = names.compactMap({ reader.issuers[$0] }).first else {
        let name = names.first ?? provider
        return leaveOut(place, "no_issuer", "The app has no issuer of the name \(name).")
      }
      let stored = IdentityProvider(ofIssuer: issuer).text
      let isThere = identities.contains {
        $0["provider"]?.string?.hasSameBytes(as: stored) == true
          && $0["subject"]?.string?.hasSameBytes(as: subject) == true
      }
      guard !isThere else {
        return leaveOut(place, "duplicate", "This line lists the same identity twice.")
      }
      append(["provider": .string(stored), "subject": .string(subject)], identity, at: place)
    }
  }

  /// Adds an identity; one behind the first keeps the id and the names that its user had.
  private mutating func append(_ taken: JSON, _ identity: JSON, at place: String) {
    guard var taken = taken.object else { return }
    let known = Self.id(of: identity)
    if !known.hasSameBytes(as: id) {
      var profile = JSONObject()
      if ForeignIDs.isForeign(known) { profile["foreign_id"] = .string(known) }
      var others = 0
      for (name, value) in identity["profileData"]?.object ?? JSONObject() {
        switch (name, value) {
        case ("email", .string), ("email_verified", .bool): profile[name] = value
        case ("name", .string), ("given_name", .string), ("family_name", .string),
          ("nickname", .string):
          if Profiles.fault(name, value) == nil { profile[name] = value } else { others += 1 }
        default: others += 1
        }
      }
      if others > 0 {
        leaveOut(
          place + "/profileData",
          "profile_data",
          "Only the address and the names of a linked identity are imported: \(others) other "
            + "members are not."
        )
      }
      taken["profile"] = .object(profile)
    }
    identities.append(.object(taken))
  }

  /// Returns the id of the user who had an identity alone.
  private static func id(of identity: JSON) -> String {
    let subject = identity["user_id"]?.string ?? identity["user_id"]?.number?.text ?? ""
    return "\(identity["provider"]?.string ?? "")|\(subject)"
  }

  /// Adds the identity of the address, or the password to the one that is there.
  private mutating func takeAddressIdentity(
    _ provider: String, _ identity: JSON, at place: String
  ) {
    let index = identities.firstIndex { $0["subject"] == nil }
    guard let index else { return append(["provider": .string(provider)], identity, at: place) }
    guard provider == "password", var known = identities[index].object else { return }
    known["provider"] = .string(provider)
    identities[index] = .object(known)
  }

  /// Takes the address of an identity unless the user has one; returns whether it is the user's.
  @discardableResult
  private mutating func takeAddress(of identity: JSON, at place: String) -> Bool {
    let profile = identity["profileData"]
    guard let email = profile?["email"]?.string, !email.isEmpty else { return row["email"] != nil }
    guard let known = row["email"]?.string else {
      row["email"] = .string(email)
      row["email_verified"] = .bool(profile?["email_verified"]?.bool ?? false)
      return true
    }
    guard known.lowercased() == email.lowercased() else {
      leaveOut(
        place, "second_address", "A user can have only one address; this identity has another."
      )
      return false
    }
    return true
  }

  private mutating func takePassword(of identity: JSON, _ subject: String, at place: String) {
    guard takeAddress(of: identity, at: place) else {
      if row["email"] == nil {
        leaveOut(place, "no_address", "A password needs an address, and the user has none.")
      }
      return
    }
    if case .string? = row["password_hash"] {
      return leaveOut(place, "second_password", "A user can have only one password.")
    }
    row["password_hash"] = .null
    takeAddressIdentity("password", identity, at: place)
    // A hash beside the members of the user is that of its first identity.
    let own = id == ForeignIDs.prefix + subject ? Auth0Hashes.hash(in: json) : nil
    guard let hash = own ?? reader.hashes.hash(of: subject) else {
      let rule = "The export has no hash of its password: the user chooses a new one by mail."
      return leaveOut(place, "no_hash", rule)
    }
    do throws(Failure) {
      row["password_hash"] = .string(try Auth0Password.text(of: hash, at: place))
    } catch {
      leftOut += error.faults
    }
  }
}

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
    "authentication_methods", "roles", "passwordHash", "password_hash", "custom_password_hash",
    "last_password_reset",
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
