import JSON
package import Postgres

/// One whose tokens an app takes.
struct Issuer: RowDecodable {
  let name: String
  let audience: String
  let jwksURL: String?
  let jwks: [UInt8]?
  /// Sealed.
  let secret: [UInt8]?
  private let mapping: JSONObject

  init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    audience = try row.text(1)
    jwksURL = row.text(ifAny: 2)
    jwks = row.isNull(3) ? nil : try row.bytes(3)
    secret = try row.binary(ifAny: 4)
    mapping = (try? JSON.parse(try row.bytes(5)))?.object ?? JSONObject()
  }

  /// Which claim each member of the profile is taken from, unless the operator says otherwise.
  ///
  /// - Source: OpenID Connect Core section 5.1.
  static let usualMapping = [
    "name": "name", "given_name": "given_name", "family_name": "family_name",
    "nickname": "nickname", "phone": "phone_number", "locale": "locale", "zone": "zoneinfo",
    "email": "email",
  ]

  /// Members of the profile from claims; what would break a rule of the profile is left out.
  func profile(from claims: JSONObject, _ settings: AppSettings) -> JSONObject {
    var profile = JSONObject()
    for (member, usual) in Self.usualMapping {
      guard let text = claims[mapping[member]?.string ?? usual]?.string else { continue }
      let isFit =
        member == "email"
        ? EmailAddress.fault(in: text, at: "", mixed: settings.allowsMixedScripts) == nil
        : Profiles.fault(member, .string(text)) == nil
      if isFit { profile[member] = .string(text) }
    }
    return profile
  }
}

package enum IssuerQueries {
  /// An issuer may be there several times, with several audiences.
  static let named = Statement<Issuer, AppID, String>(
    "issuers.named",
    """
    select name, audience, jwks_url, jwks::text, secret, claims::text from issuers
    where app_id = $1 and issuer = $2 order by name
    """
  )

  static let kinds = Statement<String, AppID>(
    "issuers.kinds",
    "select distinct 'jwt:' || issuer from issuers where app_id = $1"
  )

  package static let all: [any PreparedStatement] = [named, kinds]
}
