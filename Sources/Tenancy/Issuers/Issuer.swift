import Encoding
package import EventLoop
package import JSON
package import Postgres
package import Records
package import Runtime
import WebTokens

/// An issuer whose tokens (JWT) sign users in to an app.
package typealias Issuer = Stored<IssuerRecord>

/// The attributes of an issuer, as an operator sets them.
///
/// The keys that verify its tokens are one of a URL, a key set, and a secret shared with it.
package struct IssuerRecord: OwnedRecord {
  package let name: String
  /// The `iss` of its tokens, which also names their identities; tokens may omit it if allowed.
  package let issuer: String
  package let audience: String
  package let jwksURL: String?
  package let jwks: JSON?
  /// Whether a creation or a change has the secret, which is stored apart and sealed.
  let givesSecret: Bool
  package let allowsMissingIssuer: Bool
  package let allowsMissingAudience: Bool
  fileprivate let mapping: JSONObject

  package init(_ read: inout RecordReader) {
    name = read.requiredText(
      "name", .slug, "the name of the issuer here", .immutable, .example("login-page"))
    issuer = read.requiredText(
      "issuer", .shortText, "the iss of its tokens, which identifies their users", .immutable,
      .example("https://login.example.com"))
    audience = read.requiredText(
      "audience", .shortText, "the value that the aud of its tokens must contain",
      .example("adventure"))
    jwksURL = read.optional(
      "jwks_url", .urlOfService,
      "the URL of its public keys, fetched on demand and again as its cache headers say",
      .example("https://login.example.com/.well-known/jwks.json"), read: \.string)
    jwks = read.optional(
      "jwks", .keySet, "its public keys, a JSON Web Key Set, in place of jwks_url",
      read: { $0.object.map(JSON.object) })
    let secret = read.optional(
      "secret", ColumnRule(.text(0...1_024)),
      "a secret shared with it, in place of jwks_url: 32 bytes or more for HS256, 48 for HS384, "
        + "64 for HS512", .secret, read: \.string)
    let bytes = read.optional(
      "secret_base64", ColumnRule(.text(0...2_048)), "the secret of any bytes, in base 64",
      .secret, read: \.string)
    givesSecret = secret != nil || bytes != nil
    mapping = read.object(
      "claims", .claims,
      "the claims, or dotted paths, of members of the profile, and of other names",
      .example(["nickname": "preferred_username"]))
    allowsMissingIssuer = read.flag(
      "allow_missing_iss", false, safe: false,
      "whether tokens without iss count as its tokens; only one issuer of an app may")
    allowsMissingAudience = read.flag(
      "allow_missing_aud", false, safe: false,
      "whether its tokens may omit aud; then a token for another service also signs in")
  }

  package static let words = RecordWords(
    command: "issuer", type: "Issuer", one: "issuer", many: "issuers", app: .selection,
    "An issuer whose tokens (JWT) sign users in to an app.",
    consequence: "Its users stay, and cannot sign in by it until it is back, under any name.")

  package static let derived = [
    DerivedMember<IssuerRecord>(
      "keys", ColumnRule(.choice(["url", "set", "secret"])), "the source of the keys"
    ) { .string($0.sourceOfKeys) }
  ]

  package static let table = RecordTable<IssuerRecord>(
    "issuers", key: "name", own: [.text("name"), .text("issuer"), .sealed("secret")],
    .init(
      list: "issuers.list", show: "issuers.show", lock: "issuers.lock", insert: "issuers.add",
      change: "issuers.change", delete: "issuers.remove"))
}

// MARK: Rules

extension ColumnRule {
  fileprivate static let shortText = ColumnRule(.text(1...1_024)) { value in
    guard let text = value.string, (1...1_024).contains(text.utf8.count) else {
      return ("length", "This member must have 1 to 1024 bytes.")
    }
    // Pages and emails show it.
    return DisplayName.fault(in: text, at: "").map { ($0.code, $0.detail) }
  }

  /// The URL of a service that workers call.
  package static let urlOfService = ColumnRule.text(
    0...2_048, "url",
    "This must be a URL in ASCII that begins with https://, or with http:// if the server's "
      + "setting issuer_network is any."
  ) { url in
    (url.hasPrefix("https://") || url.hasPrefix("http://")) && url.utf8.allSatisfy(\.isVisible)
  }

  fileprivate static let keySet = ColumnRule(.object, IssuerKeys.fault)

  fileprivate static let claims = ColumnRule(
    .object,
    all: { value in
      let claims = value.object ?? JSONObject()
      guard value.object != nil, claims.count <= IdentityClaims.countLimit else {
        let rule = "At most \(IdentityClaims.countLimit) claims can be taken."
        return [ColumnFault("", "length", rule)]
      }
      return claims.compactMap { member, claim in
        let place = "/\(JSONPointer.escaped(member))"
        guard let name = claim.string else {
          return ColumnFault(place, "type", "This member must be a string.")
        }
        guard IdentityClaims.isName(member) else {
          let rule =
            "A name must have 1 to 64 ASCII letters, digits and underscores, and not be id."
          return ColumnFault(place, "name", rule)
        }
        guard (1...200).contains(name.unicodeScalars.count) else {
          return ColumnFault(place, "length", "A claim's name must have 1 to 200 characters.")
        }
        return nil
      }
    })
}

extension IssuerRecord {
  package static var taken: Failure { .issuerExists }
  package static func key(of new: JSONObject) -> String { new["name"]?.string ?? "" }

  /// The most entries of an app with one `iss`: a token is compared with the keys of each.
  static let mostEntries = 10

  /// In bytes: a key must be at least as long as its hash (RFC 7518 section 3.2).
  private static let secretLengths = 32...1_024

  package static func faults(
    in record: IssuerRecord, _ change: RecordChange, of stored: Issuer?
  ) -> [ColumnFault] {
    var faults: [ColumnFault] = []
    if record.givesSecret, !secretLengths.contains(secret(in: change.after)?.count ?? 0) {
      faults.append(
        ColumnFault("/secret", "length", "A shared secret must have 32 to 1024 bytes."))
    }
    let given = ["jwks_url", "jwks", "secret", "secret_base64"].count { name in
      change.after[name] ?? .null != .null
    }
    // A stored secret is not among the values.
    let isKept =
      stored?.sealed != nil && change.patch["secret"] == nil && change.patch["secret_base64"] == nil
    if given != 1, given != 0 || !isKept {
      let rule = "Send exactly one of jwks_url, jwks, secret and secret_base64."
      faults.append(ColumnFault("", "choice", rule))
    }
    return faults
  }

  @EventLoop package static func check(
    _ record: IssuerRecord, _ key: String, in app: AppID?, _ transaction: Transaction
  ) async throws(Failure) {
    if let fault = ClientSettings.Connection.fault(inName: key) { throw .invalid([fault]) }
    guard let app else { return }
    let others = try await table.others(than: key, in: app, transaction)
    let same = others.filter { $0.issuer.hasSameBytes(as: record.issuer) }
    guard same.count < mostEntries else {
      throw .invalid([
        FieldError(
          "/issuer", "count",
          "An app can have \(mostEntries) entries with one iss. Remove one whose key is no longer "
            + "used, or put several keys into one key set.")
      ])
    }
    if record.allowsMissingIssuer, others.contains(where: \.allowsMissingIssuer) {
      throw .invalid([
        FieldError(
          "/allow_missing_iss", "ambiguous",
          "Another issuer of the app already accepts tokens without iss, and only one may. Remove "
            + "that issuer, or add this one without allow_missing_iss.")
      ])
    }
    if record.allowsMissingAudience, same.contains(where: \.allowsMissingAudience) {
      throw .invalid([
        FieldError(
          "/allow_missing_aud", "ambiguous",
          "Another issuer of the app with this iss already accepts tokens without aud, and only "
            + "one may. Remove that issuer, or add this one without allow_missing_aud.")
      ])
    }
  }

  private static func secret(in members: JSONObject) -> [UInt8]? {
    if let text = members["secret"]?.string { return Array(text.utf8) }
    return members["secret_base64"]?.string.flatMap { [UInt8](paddedBase64: $0) }
  }

  @EventLoop package static func secrets(
    of record: IssuerRecord, _ patch: JSONObject, _ key: String, in app: AppID?, isNew: Bool,
    _ context: RequestContext
  ) throws(Failure) -> RecordSecrets {
    var secrets = RecordSecrets()
    if let app, let secret = secret(in: patch) {
      secrets.stored["secret"] = try context.keys.master.sealed(
        secret, as: "issuer \(app) \(key)")
    } else if ["jwks_url", "jwks"].contains(where: { patch[$0] ?? .null != .null }) {
      // A key of another kind takes its place.
      secrets.stored["secret"] = .some(nil)
    }
    return secrets
  }
}

// MARK: What sign-ins read

extension Stored<IssuerRecord> {
  /// The shared secret, encrypted with a master key.
  package var secret: [UInt8]? { sealed }

  /// Where its keys come from: `url`, `set` or `secret`.
  package var sourceOfKeys: String {
    record.jwksURL != nil ? "url" : record.jwks != nil ? "set" : "secret"
  }
}

extension Stored<IssuerRecord> {
  /// Returns whether a token with these audiences is for the app; nil if the token names none.
  package func isMeant(by audiences: [String]?) -> Bool {
    audiences?.contains { $0.hasSameBytes(as: record.audience) } ?? record.allowsMissingAudience
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
      let path = ClaimPath(record.mapping[member]?.string ?? usual)
      guard let text = path.value(in: claims)?.string else { continue }
      profile[member] = .string(text)
    }
    return profile
  }

  /// Returns the claims that the identity keeps: the members of the profile, and the names of the
  /// operator.
  package func identityClaims(from claims: JSONObject) -> IdentityClaims {
    var kept = IdentityClaims()
    for (member, usual) in Self.usualMapping.sorted(by: { $0.key < $1.key }) {
      kept.add(member, ClaimPath(record.mapping[member]?.string ?? usual).value(in: claims))
    }
    for (name, claim) in record.mapping where Self.usualMapping[name] == nil {
      kept.add(name, claim.string.flatMap { ClaimPath($0).value(in: claims) })
    }
    kept.absent = record.mapping.map(\.key).filter { kept.values[$0] == nil }
    return kept
  }
}

package enum IssuerQueries {
  /// Returns the issuers with an `iss`: several if they have several audiences.
  ///
  /// Without an `iss`, it returns the one issuer that allows that.
  static let named = Statement<Issuer, AppID, String?>(
    "issuers.named",
    """
    select \(IssuerRecord.table.columns), '' from issuers r
    where r.app_id = $1
      and case when $2::text is null then (r.attributes ->> 'allow_missing_iss')::boolean
        else r.issuer = $2 end
    order by r.name
    """)

  package static let issuers = Statement<String, AppID>(
    "issuers.issuers", "select distinct issuer from issuers where app_id = $1"
  )
}
