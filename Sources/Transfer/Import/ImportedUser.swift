import Accounts
package import Documents
import Encoding
import Glibc
import IdentitySubjects
package import JSON
import PasswordHashes
package import Runtime
import Sessions
package import Tenancy

/// A user in a line of an import; absent members stay unchanged.
///
/// Members: `id`, `foreign_id`, `email`, `email_verified`, `password_hash`, `totp_secrets`,
/// `passkeys`, those of the profile that its user may change, `picture_url`, `blocked`, `created_at`,
/// `last_login_at`, `login_count`, `identities`, `metadata`, `app_metadata`, `custom_data`,
/// `properties`.
package struct ImportedUser: Sendable {
  package enum Password: Sendable, Equatable {
    /// The line has no password.
    ///
    /// The user keeps its password. A user with an address and no other login method gets an
    /// unknown one.
    case untold
    /// A password whose hash is unknown; it permits no login until the user resets it by mail.
    case unknown
    case hash(String)
  }

  package struct Identity: Sendable, Equatable {
    package let provider: IdentityProvider
    package let subject: String
    /// What is known of its user before it was linked; empty for the first identity.
    var profile = JSONObject()
    /// The place among the identities of the user, from 1; that of the address is 0 by default.
    var place = 0

    package static func == (first: Identity, second: Identity) -> Bool {
      first.provider == second.provider && first.subject.hasSameBytes(as: second.subject)
    }
  }

  private(set) var id: UserID?
  /// The id by which Auth0's clients know the user.
  private(set) var foreignID: String?
  package var email: String?
  private(set) var isVerified: Bool?
  package var password = Password.untold
  private(set) var profile = JSONObject()
  /// The URL of a picture elsewhere.
  private(set) var pictureURL: String?
  private(set) var isBlocked: Bool?
  private(set) var createdAt: String?
  private(set) var lastLoginAt: String?
  private(set) var loginCount: Int?
  private(set) var identities: [Identity] = []
  /// The identity of the address, if the list of identities names it; its subject is empty.
  private(set) var addressIdentity: Identity?
  /// The secrets of authenticator apps.
  private(set) var totpSecrets: [[UInt8]] = []
  private(set) var passkeys: [ImportedPasskey] = []
  let passkeyRules: PasskeyRules
  /// The roles of a foreign line.
  package var roles: [RoleID] = []
  /// The parts of a foreign line that are not in this user, with the reasons.
  package var leftOut: [FieldError] = []
  private(set) var documents: [(kind: DocumentKind, body: JSON)] = []

  /// The document closest to its limit, which is reported if the database finds one too large.
  var fullestDocument: DocumentKind? {
    documents.max {
      $0.body.serialized().count * $1.kind.limit < $1.body.serialized().count * $0.kind.limit
    }?.kind
  }

  private(set) var properties: JSONObject?
  private let mixesScripts: Bool

  /// The identities, and then the foreign id.
  ///
  /// Each belongs to at most one user of an app.
  var subjects: [Identity] {
    identities + (foreignID.map { [Identity(provider: .foreign, subject: $0)] } ?? [])
  }

  /// Whether the user has a password, known or to be set by mail.
  var hasPassword: Bool {
    password != .untold
      || email != nil && (addressIdentity.map { $0.provider == .password } ?? identities.isEmpty)
  }
  /// How the user signs in by its address: with a password, or with mailed codes; nil for neither.
  var addressProvider: IdentityProvider? { hasPassword ? .password : addressIdentity?.provider }
  /// Whether the row has a login method.
  var signsIn: Bool { addressProvider != nil || !identities.isEmpty || !passkeys.isEmpty }

  /// Limits for lines: exports may contain longer plain numbers, stored before there was a limit.
  private static let limits = JSONLimits(
    depth: JSONLimits.holding.depth, numberLength: JSONLimits.holding.numberLength,
    plainNumberLength: .max
  )

  /// Reads a line.
  ///
  /// - Parameters:
  ///   - text: JSON.
  ///   - stringLimit: the greatest length of a property's string, in characters.
  ///   - mixesScripts: whether the app accepts addresses with mixed scripts.
  ///   - schemas: the schemas of the documents.
  ///   - passkeys: the app's rules for passkeys.
  /// - Throws: `.invalid`, with every fault; `.internalError` if a schema is unusable.
  package init(
    _ text: [UInt8], stringLimit: Int, mixesScripts: Bool = false,
    schemas: DocumentSchemas = DocumentSchemas(), passkeys: PasskeyRules = .none
  ) throws(Failure) {
    let json: JSON
    do throws(JSONError) {
      json = try JSON.parse(text, limits: Self.limits)
    } catch {
      throw .invalid([FieldError(error)])
    }
    try self.init(
      json, stringLimit: stringLimit, mixesScripts: mixesScripts, schemas: schemas,
      passkeys: passkeys)
  }

  /// Reads a user from parsed JSON.
  ///
  /// - Throws: as for a line.
  package init(
    _ json: JSON, stringLimit: Int, mixesScripts: Bool, schemas: DocumentSchemas,
    passkeys: PasskeyRules = .none
  ) throws(Failure) {
    (self.mixesScripts, passkeyRules) = (mixesScripts, passkeys)
    guard let object = json.object else {
      throw .invalid([FieldError("", "type", "A user must be an object.")])
    }
    var faults: [FieldError] = []
    for (name, value) in object {
      faults += take(name, value, "/" + JSONPointer.escaped(name), stringLimit)
    }
    for (document, body) in documents {
      guard let schema = try schemas.schema(for: document) else { continue }
      faults += schema.mismatches(in: body).map { $0.inside("/\(document.rawValue)") }
    }
    if email == nil, object["email"] == nil {
      if case .hash = password { faults.append(Self.missing("A password")) }
      if password == .unknown { faults.append(Self.missing("A password")) }
      if isVerified == true { faults.append(Self.missing("email_verified")) }
      if addressIdentity != nil { faults.append(Self.missing("The identity of an address")) }
    }
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  package static func missing(_ what: String) -> FieldError {
    FieldError("/email", "required", "\(what) requires the member email.")
  }

  private mutating func take(
    _ name: String, _ value: JSON, _ place: String, _ stringLimit: Int
  ) -> [FieldError] {
    switch name {
    case "id":
      id = value.string.flatMap { UserID($0) }
      return id == nil ? [FieldError(place, "id", "An id must have 24 hexadecimal digits.")] : []
    case "email":
      email = value.string.map(EmailAddress.canonical)
      return EmailAddress.fault(in: email ?? "", at: place, mixed: mixesScripts).map { [$0] } ?? []
    case "email_verified":
      isVerified = value.bool
      return isVerified == nil ? [Self.flag(place)] : []
    case "blocked":
      isBlocked = value.bool
      return isBlocked == nil ? [Self.flag(place)] : []
    case "created_at":
      createdAt = value.string
      return Self.fault(inTime: createdAt, at: place).map { [$0] } ?? []
    case "last_login_at":
      lastLoginAt = value.string
      return Self.fault(inTime: lastLoginAt, at: place).map { [$0] } ?? []
    case "login_count":
      loginCount = value.number?.int
      let isCount = loginCount.map(Self.loginCounts.contains) ?? false
      let rule = "This member must be an integer from 0 to 2^53 - 1."
      return isCount ? [] : [FieldError(place, "type", rule)]
    case "picture_url":
      pictureURL = value.string
      return PictureReference.fault(in: value, at: place).map { [$0] } ?? []
    case "foreign_id":
      foreignID = value.string
      return foreignID.map(ForeignIDs.isForeign) ?? false ? [] : [Self.foreignIDFault(place)]
    case "password_hash": return takePassword(value, place)
    case "totp_secrets":
      let (secrets, faults) = Self.secrets(in: value, at: place)
      totpSecrets = secrets
      return faults
    case "passkeys":
      let (all, faults) = ImportedPasskey.list(in: value, at: place, passkeyRules)
      passkeys = all
      return faults
    case "identities":
      let (all, faults) = Self.identities(in: value, at: place)
      identities = all.filter { !$0.isAddress }
      addressIdentity = all.first(where: \.isAddress)
      return faults
    case "properties": return takeProperties(value, place, stringLimit)
    default:
      if let document = DocumentKind(rawValue: name) { return take(document, value, place) }
      if let fault = Profiles.fault(name, value) { return [fault] }
      profile[name] = value
      return []
    }
  }

  /// The integers that every JSON parser reads.
  package static let loginCounts = 0...(1 << 53 - 1)

  private static func flag(_ place: String) -> FieldError {
    FieldError.wrongType(place, "true or false")
  }

  private mutating func takePassword(_ value: JSON, _ place: String) -> [FieldError] {
    if value == .null {
      password = .unknown
      return []
    }
    guard let text = value.string else {
      return [.wrongType(place, "a string or null")]
    }
    do throws(PasswordHashError) {
      password = .hash(try PasswordHash.imported(text).text)
      return []
    } catch {
      return [Self.fault(of: error, at: place)]
    }
  }

  static func fault(of error: PasswordHashError, at place: String) -> FieldError {
    switch error {
    case .unknownAlgorithm:
      FieldError(
        place,
        "hash_algorithm",
        "Hashes of bcrypt ($2a$ $2b$ $2y$), SHA-crypt ($5$ $6$), $argon2id$, $argon2i$, $scrypt$, "
          + "$pbkdf2-sha1$, $pbkdf2-sha256$ and $pbkdf2-sha512$ are supported."
      )
    case .malformed(let rule): FieldError(place, "hash_format", rule)
    case .tooCostly(let rule): FieldError(place, "hash_cost", rule)
    }
  }

  private mutating func take(_ document: DocumentKind, _ value: JSON, _ place: String)
    -> [FieldError]
  {
    guard value.object != nil else {
      return [FieldError(place, "type", "A document must be an object.")]
    }
    documents.append((document, value))
    let depth = JSONLimits.standard.depth
    guard value.extent.depth <= depth else {
      let rule = "Arrays and objects may be nested at most \(depth) levels deep."
      return [FieldError(place, JSONError.Reason.depth.rawValue, rule)]
    }
    let faults = document.keyFaults(in: value).map { $0.inside(place) }
    guard faults.isEmpty else { return faults }
    // The database decides about smaller ones, as it expands numbers.
    guard value.serialized().count > document.limit else { return [] }
    return [FieldError(place, "document_size", "It may have at most \(document.limit) bytes.")]
  }

  private mutating func takeProperties(
    _ value: JSON, _ place: String, _ stringLimit: Int
  ) -> [FieldError] {
    guard let object = value.object else {
      return [FieldError(place, "type", "This must be an object.")]
    }
    properties = object
    var faults = PropertySet.faults(in: object, stringLimit: stringLimit)
    if object.count > PropertySet.limit {
      let rule = "A user may have at most \(PropertySet.limit) properties."
      faults.append(FieldError("", "too_many_properties", rule))
    }
    return faults.map { $0.inside(place) }
  }
}

extension ImportedUser {
  /// A user has a handful; this bounds the work of one line in the database.
  static let identityLimit = 100

  static func identities(
    in value: JSON, at place: String
  ) -> (identities: [Identity], faults: [FieldError]) {
    guard let elements = value.array, elements.count <= Self.identityLimit else {
      return ([], [identitiesFault(place)])
    }
    var identities: [Identity] = []
    var faults: [FieldError] = []
    for (index, element) in elements.enumerated() {
      let pointer = "\(place)/\(index)"
      guard let object = element.object, let provider = object["provider"]?.string,
        object.keys.allSatisfy(["provider", "subject", "profile"].contains),
        object["subject"]?.string != nil || object["subject"] == nil
      else {
        faults.append(
          FieldError(pointer, "type", "An identity must have a provider and a subject.")
        )
        continue
      }
      let identity = Identity(
        provider: IdentityProvider(provider), subject: object["subject"]?.string ?? "",
        profile: object["profile"]?.object ?? JSONObject(), place: index + 1
      )
      if let fault = identity.fault(at: pointer) {
        faults.append(fault)
      } else if let profile = object["profile"], !Identity.isProfile(profile) {
        faults.append(FieldError(pointer + "/profile", "profile", Identity.profileRule))
      } else if identities.contains(where: {
        $0 == identity || $0.isAddress && identity.isAddress
      }) {
        faults.append(FieldError(pointer, "duplicate", "This line lists the same identity twice."))
      }
      identities.append(identity)
    }
    return (identities, faults)
  }

  static func identitiesFault(_ place: String) -> FieldError {
    FieldError(place, "type", "This must be an array of at most \(identityLimit).")
  }

  /// Reads the secrets of authenticator apps, in base32.
  static func secrets(
    in value: JSON, at place: String
  ) -> (secrets: [[UInt8]], faults: [FieldError]) {
    let limit = SecondFactors.limit
    guard let elements = value.array, elements.count <= limit else {
      return ([], [FieldError(place, "type", "This must be an array of at most \(limit).")])
    }
    var secrets: [[UInt8]] = []
    var faults: [FieldError] = []
    for (index, element) in elements.enumerated() {
      if let secret = element.string.flatMap(secret) {
        secrets.append(secret)
      } else {
        faults.append(FieldError("\(place)/\(index)", "secret", secretRule))
      }
    }
    return (secrets, faults)
  }

  /// Returns the bytes of a secret; nil if it is invalid.
  static func secret(_ text: String) -> [UInt8]? {
    guard text.utf8.count <= 2 * secretLength.upperBound else { return nil }
    return [UInt8](base32: text).flatMap { secretLength.contains($0.count) ? $0 : nil }
  }

  static var secretRule: String {
    "A secret must be base32 of \(secretLength.lowerBound) to \(secretLength.upperBound) bytes."
  }

  /// The length of secrets that authenticator apps use, in bytes.
  private static let secretLength = 10...64

  static func foreignIDFault(_ place: String) -> FieldError {
    FieldError(
      place, "foreign_id",
      "A foreign id must be a provider, | and an id: at most \(ForeignIDs.longest) bytes of ASCII."
    )
  }
}

extension ImportedUser.Identity {
  /// Whether it is that of the row's address, and has no subject of its own.
  var isAddress: Bool { subject.isEmpty && provider.isAddress }

  fileprivate static let profileRule =
    "A profile must be an object of at most 4096 bytes without id. Its foreign_id is an id such as "
    + "auth0|123."

  fileprivate static func isProfile(_ json: JSON) -> Bool {
    guard json.object != nil, json.serialized().count <= 4_096, json["id"] == nil else {
      return false
    }
    guard let id = json["foreign_id"] else { return true }
    return id.string.map(ForeignIDs.isForeign) ?? false
  }

  fileprivate func fault(at pointer: String) -> FieldError? {
    if isAddress { return nil }
    // Rows have other members for what Dossier manages.
    guard provider.issuer != nil, provider != .foreign else {
      return FieldError(
        pointer + "/provider",
        "provider",
        "The provider must be an issuer, such as jwt:https://issuer.example.com, or password or "
          + "email without a subject."
      )
    }
    for (name, text, limit) in [("provider", provider.text, 1_028), ("subject", subject, 1_024)] {
      let isFit =
        (1...limit).contains(text.utf8.count)
        && !text.hasControlCharacters
      guard isFit else {
        return FieldError(
          "\(pointer)/\(name)", "length", "It must have 1 to \(limit) bytes in one line."
        )
      }
    }
    return nil
  }
}

/// The times of a line.
extension ImportedUser {
  /// How far the clock of another system may be ahead, in seconds.
  private static let clockDifference = 300

  /// Returns the rule that the time of a past event breaks; nil if it is valid.
  static func fault(inTime text: String?, at place: String) -> FieldError? {
    guard let time = text.flatMap(readTime) else {
      let rule = "A time must have the form 2025-04-30T12:00:00Z (RFC 3339)."
      return FieldError(place, "time", rule)
    }
    guard time.seconds <= Glibc.time(nil) + clockDifference else {
      return FieldError(place, "future", "This time must not be in the future.")
    }
    return nil
  }

  /// Reads an RFC 3339 time, from 1970 on and less than 15 hours from UTC.
  ///
  /// Its letters may be in either case.
  private static func readTime(_ text: String) -> CalendarTime? {
    guard let time = CalendarTime(text.uppercased()), let zone = time.zone,
      time.day.year >= 1970, abs(zone) < 15 * 60
    else { return nil }
    return time
  }
}
