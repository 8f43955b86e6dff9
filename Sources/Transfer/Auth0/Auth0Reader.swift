import IdentitySubjects
package import JSON
package import Runtime

/// A reader of Auth0's export of users, which joins each with its password hash.
package struct Auth0Reader: ForeignReader {
  /// The `iss` of each issuer of the app, by its name.
  ///
  /// Names are those of Auth0's connections, such as `google-oauth2`.
  let issuers: [String: String]
  /// The roles of the app, by name.
  let roles: [ByteString: RoleID]
  let passkeys: PasskeyRules
  let hashes: Auth0Hashes

  package init(
    issuers: [String: String], roles: [ByteString: RoleID] = [:], passkeys: PasskeyRules = .none,
    hashes: Auth0Hashes = Auth0Hashes()
  ) {
    (self.issuers, self.roles, self.passkeys) = (issuers, roles, passkeys)
    self.hashes = hashes
  }

  package func translated(_ text: [UInt8]) throws(Failure) -> TranslatedLine {
    let json = try Self.parse(text)
    guard json.object != nil else {
      throw .invalid([FieldError("", "type", "A user must be an object.")])
    }
    var user = Auth0User(json, self)
    try user.takeID()
    user.takeAddress()
    try user.takeIdentities()
    user.takeProfile()
    user.takeHistory()
    user.takeDocuments()
    user.takeFactors()
    user.takePasskeys()
    user.takeRoles()
    guard ["email", "identities", "passkeys"].contains(where: { user.row[$0] != nil }) else {
      let rule = "A user needs an email address, a passkey, or an identity of an issuer of the app."
      throw .invalid(user.leftOut + [FieldError("/email", "no_login_method", rule)])
    }
    return TranslatedLine(user.row, roles: user.roles, leftOut: user.leftOut)
  }
}

/// Password hashes of Auth0's database connections, by the ids of their users.
package struct Auth0Hashes: Sendable {
  private var hashes: [String: JSON] = [:]

  package init() {}

  package var count: Int { hashes.count }

  /// Adds a line of the file of password hashes.
  ///
  /// - Throws: `.invalid` if the line has another form, or if its user has a hash already.
  package mutating func add(_ text: [UInt8]) throws(Failure) {
    let json = try Auth0Reader.parse(text)
    guard let id = json["alt_id"]?.string ?? json["_id"]?["$oid"]?.string ?? json["_id"]?.string
    else {
      throw .invalid([FieldError("/_id", "required", "A hash must have the id of its user.")])
    }
    guard let hash = Self.hash(in: json) else {
      let rule = "A line must have a hash in passwordHash or custom_password_hash."
      throw .invalid([FieldError("/passwordHash", "required", rule)])
    }
    let name = Self.name(id)
    guard hashes[name] == nil else {
      throw .invalid([FieldError("/_id", "duplicate", "An earlier line has the hash of this user.")]
      )
    }
    hashes[name] = hash
  }

  /// Returns the hash of the user with an id, with or without `auth0|`.
  func hash(of id: String) -> JSON? { hashes[Self.name(id)] }

  /// Returns the hash in a line of either file; nil without one.
  static func hash(in json: JSON) -> JSON? {
    for name in ["passwordHash", "password_hash", "custom_password_hash"] {
      if let hash = json[name], hash != .null { return hash }
    }
    return nil
  }

  private static func name(_ id: String) -> String {
    let prefix = ForeignIDs.prefix
    return id.hasPrefix(prefix) ? String(id.dropFirst(prefix.count)) : id
  }
}
