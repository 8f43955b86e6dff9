package import Runtime
package import JSON
package import Postgres

/// An issuer whose tokens an app accepts.
package struct Issuer: RowDecodable {
  package let name: String
  /// The `iss` of its tokens, which also names their identities; tokens may omit it if allowed.
  package let issuer: String
  private let audience: String
  private let allowsMissingAudience: Bool
  package let jwksURL: String?
  package let jwks: [UInt8]?
  /// The shared secret, encrypted with a master key.
  package let secret: [UInt8]?
  private let mapping: JSONObject

  package init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    audience = try row.text(1)
    jwksURL = row.text(ifAny: 2)
    jwks = row.isNull(3) ? nil : try row.bytes(3)
    secret = try row.binary(ifAny: 4)
    issuer = try row.text(6)
    allowsMissingAudience = try row.bool(7)
    mapping = (try? JSON.parse(try row.bytes(5)))?.object ?? JSONObject()
  }

  /// Returns whether a token with these audiences is for the app; nil if the token names none.
  package func isMeant(by audiences: [String]?) -> Bool {
    audiences?.contains { $0.hasSameBytes(as: audience) } ?? allowsMissingAudience
  }

  /// The default claim of each profile member.
  ///
  /// - Source: OpenID Connect Core section 5.1.
  static let usualMapping = [
    "name": "name", "given_name": "given_name", "family_name": "family_name",
    "nickname": "nickname", "phone": "phone_number", "locale": "locale", "zone": "zoneinfo",
    "email": "email",
  ]

  /// Returns the members of the profile that the claims state.
  package func profile(from claims: JSONObject) -> JSONObject {
    var profile = JSONObject()
    for (member, usual) in Self.usualMapping {
      guard let text = Self.claim(mapping[member]?.string ?? usual, in: claims)?.string else {
        continue
      }
      profile[member] = .string(text)
    }
    return profile
  }

  /// Returns the claims that the identity keeps: the members of the profile, and the names of the
  /// operator.
  package func identityClaims(from claims: JSONObject) -> IdentityClaims {
    var kept = IdentityClaims()
    for (member, usual) in Self.usualMapping.sorted(by: { $0.key < $1.key }) {
      kept.add(member, Self.claim(mapping[member]?.string ?? usual, in: claims))
    }
    for (name, claim) in mapping where Self.usualMapping[name] == nil {
      kept.add(name, claim.string.flatMap { Self.claim($0, in: claims) })
    }
    kept.absent = mapping.map(\.key).filter { kept.values[$0] == nil }
    return kept
  }

  /// Returns a claim by its name, or by the dotted path to a member of it.
  ///
  /// In a path, `\.` is a dot of a name, as at App Services.
  private static func claim(_ name: String, in claims: JSONObject) -> JSON? {
    if let claim = claims[name] { return claim }
    var keys: [[UInt8]] = [[]]
    for byte in name.utf8 {
      let isEscaped = keys[keys.count - 1].last == UInt8(ascii: "\\")
      switch byte {
      case UInt8(ascii: ".") where isEscaped:
        keys[keys.count - 1].removeLast()
        keys[keys.count - 1].append(byte)
      case UInt8(ascii: "."): keys.append([])
      default: keys[keys.count - 1].append(byte)
      }
    }
    let path = keys.map { String(decoding: $0, as: UTF8.self) }
    return path.dropFirst().reduce(claims[path[0]]) { $0?[$1] }
  }
}

package enum IssuerQueries {
  /// Returns the issuers with an `iss`: several if they have several audiences.
  ///
  /// Without an `iss`, it returns the one issuer that allows that.
  static let named = Statement<Issuer, AppID, String?>(
    "issuers.named",
    """
    select name, audience, jwks_url, jwks::text, secret, claims::text, issuer, allows_missing_aud
    from issuers
    where app_id = $1 and case when $2::text is null then allows_missing_iss else issuer = $2 end
    order by name
    """)

  package static let issuers = Statement<String, AppID>(
    "issuers.issuers", "select distinct issuer from issuers where app_id = $1"
  )

  package static let all: [any PreparedStatement] = [named, issuers]
}
