import Runtime
package import JSON
package import Records

/// Claims that an app adds to tokens, each with the source of its value.
package struct ClaimMap: Sendable {
  package struct Entry: Sendable {
    package let claim: String
    package let source: Source
  }

  /// Where the value of a claim comes from.
  package enum Source: Sendable {
    case profile(ProfileMember)
    /// A place in the user's metadata.
    case metadata(JSONPointer)
    /// A place in the user's app metadata.
    case appMetadata(JSONPointer)
    case constant(JSON)
  }

  /// The members of the profile that a claim can show.
  package enum ProfileMember: String, CaseIterable, Sendable {
    case name
    case givenName = "given_name"
    case familyName = "family_name"
    case nickname
    case email
    case emailVerified = "email_verified"
    case phone
    case locale
    case zone
    case picture
    case createdAt = "created_at"
    case updatedAt = "updated_at"
  }

  /// The claims, in the order in which they are stored.
  package let entries: [Entry]

  package static let none = ClaimMap(JSONObject())

  /// Reads a map; entries that this version does not know are left out.
  package init(_ object: JSONObject) {
    entries = object.compactMap { claim, source in
      Source(source).map { Entry(claim: claim, source: $0) }
    }
  }

  package var isEmpty: Bool { entries.isEmpty }

  /// Whether a claim needs the user's metadata.
  package var readsMetadata: Bool {
    entries.contains { if case .metadata = $0.source { true } else { false } }
  }

  /// Whether a claim needs the user's app metadata.
  package var readsAppMetadata: Bool {
    entries.contains { if case .appMetadata = $0.source { true } else { false } }
  }
}

extension ClaimMap.Source {
  /// Parses a source; nil if it is malformed.
  ///
  /// A source is `profile.name`, `metadata./a/b`, `app_metadata./a/b` or `{"value": constant}`.
  package init?(_ json: JSON) {
    if let object = json.object {
      guard object.count == 1, let value = object["value"] else { return nil }
      self = .constant(value)
      return
    }
    guard let text = json.string,
      let dot = text.utf8.firstIndex(of: UInt8(ascii: "."))
    else { return nil }
    let place = String(Substring(text.utf8[text.utf8.index(after: dot)...]))
    switch Substring(text.utf8[..<dot]) {
    case "profile":
      guard let member = ClaimMap.ProfileMember(rawValue: place) else { return nil }
      self = .profile(member)
    case "metadata":
      guard let pointer = JSONPointer(place) else { return nil }
      self = .metadata(pointer)
    case "app_metadata":
      guard let pointer = JSONPointer(place) else { return nil }
      self = .appMetadata(pointer)
    default: return nil
    }
  }
}

/// The rules of a map.
extension ClaimMap {
  /// 50: a token is sent with each request, and a header field has some 8 KiB.
  package static let limit = 50
  private static let lengths = 1...200
  /// In bytes, for a pointer or a constant.
  private static let longestSource = 1_000

  /// Claims that tokens or standards define.
  ///
  /// - Source: RFC 7519, RFC 8693, RFC 9068; OpenID Connect Core, Front-Channel Logout and Back-Channel
  ///   Logout.
  package static let reserved: Set<String> = [
    "iss", "sub", "aud", "exp", "iat", "nbf", "jti", "nonce", "azp", "at_hash", "c_hash",
    "auth_time", "amr", "acr", "sid", "did", "uid", "app", "scope", "client_id", "name",
    "given_name",
    "family_name", "middle_name", "nickname", "preferred_username", "profile", "picture", "website",
    "email", "email_verified", "gender", "birthdate", "zoneinfo", "locale", "phone_number",
    "phone_number_verified", "address", "updated_at", "permissions", "gty", "events", "org_id",
    "org_name", "session_expiry", "ver",
  ]

  /// Returns whether a claim is named by a URL of auth0.com, which SDKs of that service read.
  private static func isOfAuth0(_ claim: String) -> Bool {
    guard let host = ClientURL.host(of: claim) else { return false }
    return ".\(host)".utf8.reversed().starts(with: ".auth0.com".utf8.reversed())
  }

  /// The rule for a column with a map.
  package static let rule = ColumnRule(
    .object,
    all: { value in
      guard let object = value.object else {
        return [ColumnFault("", "type", "This value must be an object.")]
      }
      return faults(in: object)
    })

  /// Returns the faults of a map, with the places of its claims.
  package static func faults(in object: JSONObject) -> [ColumnFault] {
    guard object.count <= limit else {
      return [ColumnFault("", "length", "A map may have at most \(limit) claims.")]
    }
    return object.compactMap { claim, source in
      reason(against: claim, source).map { code, detail in
        ColumnFault("/\(JSONPointer.escaped(claim))", code, detail)
      }
    }
  }

  private static func reason(against claim: String, _ source: JSON) -> ColumnRule.Fault? {
    guard lengths.contains(claim.utf8.count), claim.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7f })
    else {
      return ("claim", "A claim's name must have 1 to 200 bytes, without control characters.")
    }
    if isOfAuth0(claim) || reserved.contains(where: { $0.hasSameBytes(as: claim) }) {
      return ("claim", "Tokens or standards use this claim. Choose another name.")
    }
    if source.serialized().count > longestSource {
      return ("length", "A source may have at most \(longestSource) bytes.")
    }
    guard Source(source) == nil else { return nil }
    let members = ProfileMember.allCases.map(\.rawValue).joined(separator: ", ")
    return (
      "source",
      "A source must be metadata./a/b or app_metadata./a/b with a JSON Pointer, "
        + "{\"value\": constant}, or profile. with one of \(members)."
    )
  }
}
