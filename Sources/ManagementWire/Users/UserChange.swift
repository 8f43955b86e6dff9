import Administration
import Documents
import Encoding
import EventLoop
import IdentitySubjects
import JSON
import OpenID
import Runtime
import Tenancy
import WireKit

/// The body of a change of a user.
struct UserChange {
  private(set) var revision = UserRevision()
  /// Whether to mail a link that verifies the address.
  private(set) var asksToVerify = false
  /// The members that this server lacks.
  private(set) var ignored: [String] = []
  private var reader = MemberReader()
  private var isVerified: Bool?
  private var hasConnection = true

  /// - Throws: `.connectionUnknown`, `.invalid` with every fault.
  init(_ body: JSONObject) throws(Failure) {
    for (name, value) in body { take(name, value) }
    guard hasConnection else { throw .connectionUnknown }
    for other in ["email", "email_verified"] where body["password"] != nil && body[other] != nil {
      reader.refuse("password", "choice", "Cannot update password and \(other) at once.")
    }
    if revision.email != nil {
      revision.email?.isVerified = isVerified ?? false
    } else {
      revision.isEmailVerified = isVerified
    }
    try reader.check()
  }

  private mutating func take(_ name: String, _ value: JSON) {
    switch name {
    case "user_metadata": take(.metadata, value, name)
    case "app_metadata":
      if let key = AppMetadata.reservedKey(in: value) {
        reader.refuse(name, "reserved", "app_metadata cannot have the key \(key).")
      }
      take(.appMetadata, value, name)
    case "name", "nickname", "given_name", "family_name": revision.profile[name] = value
    case "phone_number": revision.profile["phone"] = value
    case "blocked": revision.isBlocked = reader.flag(name, value)
    case "email":
      if value == .null {
        reader.refuse(name, "null", "email cannot be removed: send another address.")
      } else {
        revision.email = reader.string(name, value).map { ($0, isVerified: false) }
      }
    case "email_verified": isVerified = reader.flag(name, value)
    case "picture":
      revision.pictureURL = value
      if value != .null, let fault = PictureReference.fault(in: value, at: "/picture") {
        reader.refuse(fault)
      }
    case "username":
      if value != .null { reader.refuse(UserMember.noUsername) }
    case "phone_verified", "verify_phone_number", "verify_password":
      // There are no text messages, and no connections that ask for a password again.
      _ = reader.flag(name, value)
    case "password": revision.password = reader.string(name, value)
    case "verify_email": asksToVerify = reader.flag(name, value) ?? false
    case "connection":
      // It changes nothing: a user has one address, whichever connections it signs in by.
      let names = ClientSettings.Connection.builtIn.map(\.auth0Name)
      hasConnection =
        value == .null || names.contains { value.string?.hasSameBytes(as: $0) == true }
    case "client_id", "ignored_members": break
    case let name where UserMember.isOfCredentials(name): reader.refuse(.unknownProperty(name))
    default: ignored.append(name)
    }
  }

  private mutating func take(_ kind: DocumentKind, _ value: JSON, _ name: String) {
    if let members = reader.object(name, value) { revision.documents.append((kind, members)) }
  }
}

/// The description of a new user, which becomes that of an import.
struct UserDescription {
  let json: JSON
  /// Whether a mail verifies the address; nil if the body does not say it.
  let asksToVerify: Bool?
  /// The members that this server lacks.
  let ignored: [String]

  /// - Throws: `.connectionUnknown`, `.invalid`.
  init(_ body: JSONObject) throws(Failure) {
    guard let connection = body["connection"]?.string else {
      throw .invalid([.missingProperty("connection")])
    }
    guard connection.hasSameBytes(as: ClientSettings.Connection.password.auth0Name) else {
      throw .connectionUnknown
    }
    var row = JSONObject()
    var (reader, ignored) = (MemberReader(), [String]())
    for (name, value) in body where value != .null {
      if name == "app_metadata", let key = AppMetadata.reservedKey(in: value) {
        reader.refuse(name, "reserved", "app_metadata cannot have the key \(key).")
      }
      switch name {
      case "connection", "client_id", "ignored_members": break
      case "verify_email", "phone_verified": _ = reader.flag(name, value)
      case "user_id":
        row["foreign_id"] = value.string.map { .string(ForeignIDs.prefix + $0) } ?? value
      case "username": reader.refuse(UserMember.noUsername)
      default:
        if let member = UserMember.own[name] {
          row[member] = value
        } else if UserMember.isOfCredentials(name) {
          reader.refuse(.unknownProperty(name))
        } else {
          ignored.append(name)
        }
      }
    }
    for name in ["email", "password"] where row[name]?.string == nil {
      reader.refuse(.missingProperty(name))
    }
    try reader.check()
    json = .object(row)
    asksToVerify = body["verify_email"]?.bool
    self.ignored = ignored
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
  /// Members about credentials: a back end must not believe that a user has what was ignored.
  private static let ofCredentials = [
    "password_hash", "custom_password_hash", "multifactor", "mfa_factors", "identities",
  ]

  /// Returns whether a member is about credentials.
  static func isOfCredentials(_ name: String) -> Bool {
    ofCredentials.contains { $0.hasSameBytes(as: name) }
  }

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

  /// Returns the place of a fault of the domain as the API names it.
  static func renamed(_ place: String) -> String {
    place.isEmpty ? place : "/" + path(String(place.dropFirst()), separator: "/")
  }
}

extension FieldError {
  static let unknownPropertyCode = "unknown_member"

  /// Returns the fault of a member that a body cannot have.
  static func unknownProperty(_ name: String) -> FieldError {
    FieldError(
      "/" + JSONPointer.escaped(name), unknownPropertyCode,
      "Additional properties not allowed: \(name.excerpt(100))"
    )
  }

  /// Returns the fault of a body without a member that it needs.
  static func missingProperty(_ name: String) -> FieldError {
    FieldError("/\(name)", "missing", "Missing required property: \(name).")
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
