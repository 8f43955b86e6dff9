import Documents
import Encoding
import JSON
import Runtime
import Sessions
import Tenancy

/// The body of a change of a user.
struct UserChange {
  private(set) var revision = UserRevision()
  /// Whether to mail a link that verifies the address.
  private(set) var asksToVerify = false
  private var faults: [Fault] = []

  /// - Throws: `.invalid` with every fault.
  init(_ body: JSONObject) throws(Failure) {
    for (name, value) in body { take(name, value) }
    if body["password"] != nil, body["email_verified"] != nil {
      faults.append(
        Fault("/password", "choice", "Cannot update password and email_verified at once.")
      )
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
    case "email_verified":
      guard let isVerified = flag(value, place) else { return }
      guard isVerified else {
        faults.append(Fault(place, "value", "A verified address stays verified."))
        return
      }
      revision.verifiesEmail = true
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
      if name == "user_id" {
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
