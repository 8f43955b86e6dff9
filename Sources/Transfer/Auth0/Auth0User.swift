import Tenancy
import Accounts
import Encoding
import JSON
import Runtime
import Sessions

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
