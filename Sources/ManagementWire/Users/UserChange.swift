import Documents
import Encoding
import EventLoop
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
  private var faults: [FieldError] = []
  private var isVerified: Bool?
  private var hasConnection = true

  /// - Throws: `.connectionUnknown`, `.invalid` with every fault.
  init(_ body: JSONObject) throws(Failure) {
    for (name, value) in body { take(name, value) }
    guard hasConnection else { throw Failure(.connectionUnknown) }
    for other in ["email", "email_verified"] where body["password"] != nil && body[other] != nil {
      faults.append(
        FieldError("/password", "choice", "Cannot update password and \(other) at once.")
      )
    }
    if revision.email != nil {
      revision.email?.isVerified = isVerified ?? false
    } else {
      revision.isEmailVerified = isVerified
    }
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  private mutating func take(_ name: String, _ value: JSON) {
    let place = "/" + JSONPointer.escaped(name)
    switch name {
    case "user_metadata": take(.metadata, value, place)
    case "app_metadata":
      if let key = AppMetadata.reservedKey(in: value) {
        faults.append(FieldError(place, "reserved", "app_metadata cannot have the key \(key)."))
      }
      take(.appMetadata, value, place)
    case "name", "nickname", "given_name", "family_name": revision.profile[name] = value
    case "phone_number": revision.profile["phone"] = value
    case "blocked": revision.isBlocked = flag(value, place)
    case "email":
      revision.email = value.string.map { ($0, isVerified: false) }
      if value == .null {
        faults.append(FieldError(place, "null", "email cannot be removed: send another address."))
      } else if revision.email == nil {
        faults.append(.wrongType(place, "a string"))
      }
    case "email_verified": isVerified = flag(value, place)
    case "picture":
      revision.pictureURL = value
      if value != .null, let fault = PictureReference.fault(in: value, at: place) {
        faults.append(fault)
      }
    case "username":
      if value != .null { faults.append(UserMember.noUsername) }
    case "phone_verified", "verify_phone_number", "verify_password":
      // There are no text messages, and no connections that ask for a password again.
      _ = flag(value, place)
    case "password":
      revision.password = value.string
      if value.string == nil {
        faults.append(.wrongType(place, "a string"))
      }
    case "verify_email": asksToVerify = flag(value, place) ?? false
    case "connection":
      // It changes nothing: a user has one address, whichever connections it signs in by.
      let names = ClientSettings.Connection.allCases.map(\.auth0Name)
      hasConnection =
        value == .null || names.contains { value.string?.hasSameBytes(as: $0) == true }
    case "client_id": break
    default:
      faults.append(.unknownProperty(name))
    }
  }

  private mutating func take(_ kind: DocumentKind, _ value: JSON, _ place: String) {
    guard let members = value.object else {
      faults.append(.wrongType(place, "an object"))
      return
    }
    revision.documents.append((kind, members))
  }

  private mutating func flag(_ value: JSON, _ place: String) -> Bool? {
    if case .bool(let flag) = value { return flag }
    faults.append(.wrongType(place, "true or false"))
    return nil
  }
}

/// The description of a new user, which becomes that of an import.
struct UserDescription {
  let json: JSON
  /// Whether a mail verifies the address; nil if the body does not say it.
  let asksToVerify: Bool?

  /// - Throws: `.connectionUnknown`, `.invalid`.
  init(_ body: JSONObject) throws(Failure) {
    guard let connection = body["connection"]?.string else {
      throw .invalid([FieldError("/connection", "missing", "Missing required property: connection")]
      )
    }
    guard connection.hasSameBytes(as: ClientSettings.Connection.password.auth0Name) else {
      throw Failure(.connectionUnknown)
    }
    var row = JSONObject()
    var faults: [FieldError] = []
    for (name, value) in body where value != .null {
      let place = "/" + JSONPointer.escaped(name)
      if name == "app_metadata", let key = AppMetadata.reservedKey(in: value) {
        faults.append(FieldError(place, "reserved", "app_metadata cannot have the key \(key)."))
      }
      switch name {
      case "connection", "client_id": break
      case "verify_email", "phone_verified":
        if value.bool == nil { faults.append(.wrongType(place, "true or false")) }
      case "user_id":
        row["foreign_id"] = value.string.map { .string(ForeignIDs.prefix + $0) } ?? value
      case "username": faults.append(UserMember.noUsername)
      default:
        if let member = UserMember.own[name] {
          row[member] = value
        } else {
          faults.append(.unknownProperty(name))
        }
      }
    }
    for name in ["email", "password"] where row[name]?.string == nil {
      faults.append(FieldError("/\(name)", "missing", "Missing required property: \(name)"))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    json = .object(row)
    asksToVerify = body["verify_email"]?.bool
  }
}

/// The members of users, by the names of the API and of the domain.
enum UserMember {
  /// The members of an import, by those of the API.
  static let own = [
    "email": "email", "password": "password", "email_verified": "email_verified",
    "phone_number": "phone", "blocked": "blocked", "given_name": "given_name",
    "family_name": "family_name", "name": "name", "nickname": "nickname",
    "picture": "picture_url", "user_metadata": "metadata", "app_metadata": "app_metadata",
  ]
  /// Members of which only the name differs, by those of the domain.
  private static let names = [
    "phone": "phone_number", "picture_url": "picture", "metadata": "user_metadata",
    "foreign_id": "user_id", "id": "user_id", "last_login_at": "last_login",
    "login_count": "logins_count", "email_domain": "email.domain",
  ]
  static let noUsername = FieldError("/username", "username", "This connection has no usernames.")

  /// Returns a path of the domain, whose names are separated, as the API spells it.
  static func path(_ path: String, separator: Character = ".") -> String {
    let first = path.prefix { $0 != separator }
    return (names[String(first)] ?? String(first)) + path.dropFirst(first.count)
  }

  /// Returns the result of a verb of the domain, whose faults are named as the members of the API.
  @EventLoop static func naming<Value>(
    _ verb: @EventLoop () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    do throws(Failure) { return try await verb() } catch {
      throw error.placed { $0.isEmpty ? $0 : "/" + path(String($0.dropFirst()), separator: "/") }
    }
  }
}

extension FieldError {
  static let unknownPropertyCode = "unknown_member"

  /// Returns the fault of a member that a body cannot have.
  static func unknownProperty(_ name: String) -> FieldError {
    FieldError(
      "/" + JSONPointer.escaped(name),
      unknownPropertyCode,
      "Additional properties not allowed: \(name.excerpt(100))"
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
