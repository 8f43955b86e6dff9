import Documents
import Encoding
import JSON
import OpenID
import Runtime
import Sessions
import Tenancy

/// The body of a change of a user.
struct UserChange {
  private(set) var revision = UserRevision()
  /// Whether to mail a link that verifies the address.
  private(set) var asksToVerify = false
  private var faults: [Fault] = []
  private var isVerified: Bool?

  /// - Throws: `.invalid` with every fault.
  init(_ body: JSONObject) throws(Failure) {
    for (name, value) in body { take(name, value) }
    for other in ["email", "email_verified"] where body["password"] != nil && body[other] != nil {
      faults.append(Fault("/password", "choice", "Cannot update password and \(other) at once."))
    }
    if revision.email != nil {
      revision.email?.isVerified = isVerified ?? false
    } else if isVerified == false {
      faults.append(Fault("/email_verified", "value", "A verified address stays verified."))
    } else {
      revision.verifiesEmail = isVerified ?? false
    }
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  private mutating func take(_ name: String, _ value: JSON) {
    let place = "/" + JSONPointer.escaped(name)
    switch name {
    case "user_metadata": take(.metadata, value, place)
    case "app_metadata":
      if let key = AppMetadata.reservedKey(in: value) {
        faults.append(Fault(place, "reserved", "app_metadata cannot have the key \(key)."))
      }
      take(.appMetadata, value, place)
    case "name", "nickname", "given_name", "family_name": revision.profile[name] = value
    case "phone_number": revision.profile["phone"] = value
    case "blocked": revision.isBlocked = flag(value, place)
    case "email":
      revision.email = value.string.map { ($0, isVerified: false) }
      if revision.email == nil { faults.append(Fault(place, "type", "This member is a string.")) }
    case "email_verified": isVerified = flag(value, place)
    case "picture":
      revision.pictureURL = value
      if value != .null, PictureReference(value) == nil { faults.append(PictureReference.fault) }
    case "username":
      faults.append(Fault(place, "username", "This connection has no usernames."))
    case "password":
      revision.password = value.string
      if value.string == nil { faults.append(Fault(place, "type", "This member is a string.")) }
    case "verify_email": asksToVerify = flag(value, place) ?? false
    case "connection":
      if value.string?.hasSameBytes(as: ClientSettings.Connection.password.auth0Name) != true {
        faults.append(Fault(place, "connection", "The connection does not exist."))
      }
    case "client_id": break
    default:
      faults.append(.unknownProperty(name))
    }
  }

  private mutating func take(_ kind: DocumentKind, _ value: JSON, _ place: String) {
    guard let members = value.object else {
      faults.append(Fault(place, "type", "This member is an object."))
      return
    }
    revision.documents.append((kind, members))
  }

  private mutating func flag(_ value: JSON, _ place: String) -> Bool? {
    if case .bool(let flag) = value { return flag }
    faults.append(Fault(place, "type", "This member is true or false."))
    return nil
  }
}

/// The description of a new user, which becomes that of an import.
struct UserDescription {
  let json: JSON
  /// The URL of a picture elsewhere; nil for none.
  let pictureURL: JSON?

  /// The members of the API, and those of an import.
  private static let members = [
    "email": "email", "password": "password", "email_verified": "email_verified",
    "phone_number": "phone", "blocked": "blocked", "given_name": "given_name",
    "family_name": "family_name", "name": "name", "nickname": "nickname",
    "user_metadata": "metadata", "app_metadata": "app_metadata",
  ]
  /// Members that ask for a mail, or that only other connections have.
  private static let ignored: Set<String> = ["connection", "verify_email", "client_id"]

  /// - Throws: `.connectionUnknown`, `.invalid`.
  init(_ body: JSONObject) throws(Failure) {
    guard let connection = body["connection"]?.string else {
      throw .invalid([Fault("/connection", "missing", "Missing required property: connection.")])
    }
    guard connection.hasSameBytes(as: ClientSettings.Connection.password.auth0Name) else {
      throw Failure(.connectionUnknown)
    }
    var row = JSONObject()
    var faults: [Fault] = []
    for (name, value) in body where !Self.ignored.contains(name) && value != .null {
      let place = "/" + JSONPointer.escaped(name)
      if name == "app_metadata", let key = AppMetadata.reservedKey(in: value) {
        faults.append(Fault(place, "reserved", "app_metadata cannot have the key \(key)."))
      }
      if name == "picture" {
        if PictureReference(value) == nil { faults.append(PictureReference.fault) }
      } else if name == "user_id" {
        row["foreign_id"] = value.string.map { .string(ForeignIDs.prefix + $0) } ?? value
      } else if let member = Self.members[name] {
        row[member] = value
      } else {
        faults.append(.unknownProperty(name))
      }
    }
    for name in ["email", "password"] where row[name]?.string == nil {
      faults.append(Fault("/\(name)", "missing", "Missing required property: \(name)."))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    json = .object(row)
    pictureURL = body["picture"].flatMap { $0 == .null ? nil : $0 }
  }
}

/// The URL of a picture elsewhere, which clients show and this server never fetches.
struct PictureReference {
  static let fault = Fault("/picture", "url", "This member is a URL of http or https.")
  private static let longest = 2_048

  /// Returns nil for a value that is no such URL.
  init?(_ value: JSON) {
    guard let text = value.string, text.utf8.count <= Self.longest,
      text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") }),
      RedirectTarget(text).origin != nil, !RedirectTarget(text).name.isEmpty
    else { return nil }
  }
}

extension Fault {
  /// Returns the fault of a member that a body cannot have.
  static func unknownProperty(_ name: String) -> Fault {
    Fault(
      "/" + JSONPointer.escaped(name),
      "unknown_member",
      "Additional properties not allowed: \(name.excerpt(100))."
    )
  }
}

/// The keys that app metadata cannot have.
enum AppMetadata {
  private static let reserved: Set<String> = [
    "__tenant", "_id", "blocked", "clientID", "created_at", "email_verified", "email",
    "globalClientID", "global_client_id", "identities", "lastIP", "lastLogin", "loginsCount",
    "metadata", "multifactor_last_modified", "multifactor", "updated_at", "user_id",
  ]

  /// Returns a reserved key of an object; nil if it has none.
  static func reservedKey(in value: JSON) -> String? {
    value.object?.first { reserved.contains($0.key) }?.key
  }
}
