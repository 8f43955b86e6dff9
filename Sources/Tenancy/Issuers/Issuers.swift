package import Runtime
import EventLoop
package import JSON
package import Postgres
import WebTokens
import Encoding

/// A token issuer that an app is to accept.
package struct IssuerDescription: Sendable {
  /// The operator's name for the issuer.
  package let name: String
  /// The `iss` of its tokens; the identity provider of its users is `jwt:` and this value.
  package let issuer: String
  /// The required `aud` of its tokens.
  package let audience: String
  package let keys: Keys
  /// Whether its tokens may omit `iss`; one issuer of an app may.
  package let allowsMissingIssuer: Bool
  /// Whether its tokens may omit `aud`; then a token for another service also logs in.
  package let allowsMissingAudience: Bool
  /// Claim names, or dotted paths, by member of the profile, or by a name of the operator's choice.
  package let claims: [String: String]

  package enum Keys: Sendable {
    /// An `https://…` URL, fetched on demand, and again as the server's cache headers say.
    case url(String)
    /// A JSON Web Key Set with public keys.
    case set(JSON)
    /// A secret shared with the issuer: for HS256, from 48 bytes also HS384, from 64 also HS512.
    case secret([UInt8])
  }

  package init(
    name: String, issuer: String, audience: String, keys: Keys, claims: [String: String] = [:],
    allowsMissingIssuer: Bool = false, allowsMissingAudience: Bool = false
  ) {
    self.name = name
    self.issuer = issuer
    self.audience = audience
    self.keys = keys
    self.claims = claims
    self.allowsMissingIssuer = allowsMissingIssuer
    self.allowsMissingAudience = allowsMissingAudience
  }
}

/// An issuer as operators see it, without its secret.
package struct IssuerInfo: RowDecodable {
  package let name: String
  package let issuer: String
  package let audience: String
  /// The source of the keys that verify its tokens: `url`, `set` or `secret`.
  package let keys: String
  package let jwksURL: String?
  /// Claim names, or dotted paths, by member of the profile, or by a name of the operator's choice.
  package let claims: JSON
  package let createdAt: Timestamp
  package let allowsMissingIssuer: Bool
  package let allowsMissingAudience: Bool

  package init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    issuer = try row.text(1)
    audience = try row.text(2)
    keys = try row.text(3)
    jwksURL = row.text(ifAny: 4)
    claims = try row.json(5)
    createdAt = try row.time(6)
    allowsMissingIssuer = try row.bool(7)
    allowsMissingAudience = try row.bool(8)
  }
}

/// The issuers whose JWTs log users in.
package enum Issuers {
  /// The most entries of an app with one `iss`: a token is compared with the keys of each.
  static let mostEntries = 10

  /// Adds an issuer to an app, which accepts its tokens at once.
  ///
  /// - Parameters:
  ///   - issuer: one of at most `mostEntries` with its `iss`; at most 1,024 bytes for `issuer` and
  ///     `audience`, 64 KiB for a key set.
  ///   - app: the name of the app.
  ///   - context: the context of the request.
  /// - Throws: `.invalid`, also if another issuer may omit the same claim, or too many have its
  ///   `iss`; `.issuerExists`, `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func add(
    _ issuer: IssuerDescription, to app: String, _ context: RequestContext
  ) async throws(Failure) {
    let faults = issuer.faults()
    guard faults.isEmpty else { throw .invalid(faults) }
    let id = try await Apps.record(of: app, context).id
    var (url, set, sealed): (String?, TextBytes?, BinaryBytes?) = (nil, nil, nil)
    switch issuer.keys {
    case .url(let text): url = text
    case .set(let json): set = TextBytes(json.serialized())
    case .secret(let secret):
      let master = context.keys.master
      sealed = BinaryBytes(try master.sealed(secret, as: "issuer \(id) \(issuer.name)"))
    }
    var claims = JSONObject()
    for (member, claim) in issuer.claims { claims[member] = .string(claim) }
    let mapping = TextBytes(claims.serialized())
    try await context.transaction { transaction async throws(Failure) in
      // Serializes additions to one app.
      _ = transaction.send(AppsAdministrationQueries.lock, app)
      let others = try await transaction.run(IssuerAdministrationQueries.list, app)
      try issuer.check(against: others.compactMap(\.item))
      _ = transaction.send(
        IssuerAdministrationQueries.add, id, issuer.name, issuer.issuer, issuer.audience, url, set,
        sealed, mapping, issuer.allowsMissingIssuer, issuer.allowsMissingAudience
      )
      Event(
        "issuer_add", detail: ["name": .string(issuer.name), "issuer": .string(issuer.issuer)]
      ).record(in: transaction, app: id)
    }
  }

  /// Returns the issuers of an app without secrets, sorted by name.
  ///
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func list(
    of app: String, _ context: RequestContext
  ) async throws(Failure) -> [IssuerInfo] {
    let found = try await context.list(IssuerAdministrationQueries.list, app)
    guard let found else { throw .unknownApp }
    return found
  }

  /// Removes an issuer, and keeps its users.
  ///
  /// Its tokens are rejected until an issuer with the same `iss` is added, under any name.
  /// - Throws: `.notFound`, `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func remove(
    _ name: String, from app: String, _ context: RequestContext
  ) async throws(Failure) {
    let id = try await Apps.record(of: app, context).id
    try await context.act("issuer_remove") { transaction async throws(Failure) in
      try await transaction.run(IssuerAdministrationQueries.remove, id, name).first
    } recording: { name in
      (id, ["name": .string(name)])
    }
  }
}

extension IssuerDescription {
  /// Throws `.issuerExists` if the name is taken, `.invalid` if another issuer may omit the same
  /// claim.
  fileprivate func check(against others: [IssuerInfo]) throws(Failure) {
    guard !others.contains(where: { $0.name.hasSameBytes(as: name) }) else { throw .issuerExists }
    guard others.count(where: { $0.issuer.hasSameBytes(as: issuer) }) < Issuers.mostEntries else {
      throw .invalid([
        FieldError(
          "/issuer",
          "count",
          "An app can have \(Issuers.mostEntries) entries with one iss. Remove one whose key is no "
            + "longer used, or put several keys into one key set."
        )
      ])
    }
    if allowsMissingIssuer, others.contains(where: \.allowsMissingIssuer) {
      throw .invalid([
        FieldError(
          "/allow_missing_iss",
          "ambiguous",
          "Another issuer of the app already accepts tokens without iss, and only one may. Remove "
            + "that issuer, or add this one without allow_missing_iss."
        )
      ])
    }
    if allowsMissingAudience,
      others.contains(where: { $0.allowsMissingAudience && $0.issuer.hasSameBytes(as: issuer) })
    {
      throw .invalid([
        FieldError(
          "/allow_missing_aud",
          "ambiguous",
          "Another issuer of the app with this iss already accepts tokens without aud, and only "
            + "one may. Remove that issuer, or add this one without allow_missing_aud."
        )
      ])
    }
  }

  fileprivate func faults() -> [FieldError] {
    var faults: [FieldError] = []
    if let fault = OperatorName.fault(in: name) { faults.append(fault) }
    for (pointer, text) in [("/issuer", issuer), ("/audience", audience)]
    where !(1...1_024).contains(text.utf8.count) {
      faults.append(FieldError(pointer, "length", "This member must have 1 to 1024 bytes."))
    }
    if claims.count > IdentityClaims.countLimit {
      let rule = "At most \(IdentityClaims.countLimit) claims can be taken."
      faults.append(FieldError("/claims", "length", rule))
    }
    for (member, claim) in claims {
      let pointer = "/claims/\(JSONPointer.escaped(member))"
      if !IdentityClaims.isName(member) {
        let rule = "A name must have 1 to 64 ASCII letters, digits and underscores, and not be id."
        faults.append(FieldError(pointer, "name", rule))
      } else if !(1...200).contains(claim.unicodeScalars.count) {
        faults.append(
          FieldError(pointer, "length", "A claim's name must have 1 to 200 characters.")
        )
      }
    }
    if let fault = keys.fault() { faults.append(fault) }
    return faults
  }
}

extension IssuerDescription.Keys {
  /// In bytes: a key must be at least as long as its hash (RFC 7518 section 3.2).
  private static let secretLengths = 32...1_024

  fileprivate func fault() -> FieldError? {
    switch self {
    case .url(let url):
      let isFit =
        (url.hasPrefix("https://") || url.hasPrefix("http://")) && url.utf8.count <= 2_048
        && url.utf8.allSatisfy { $0.isVisible }
      return isFit
        ? nil
        : FieldError(
          "/jwks_url",
          "url",
          "This must be a URL in ASCII that begins with https://, or with http:// if the server's "
            + "setting issuer_network is any."
        )
    case .set(let json):
      return IssuerKeys.fault(inKeySet: json).map { FieldError("/jwks", $0.code, $0.detail) }
    case .secret(let secret):
      return Self.secretLengths.contains(secret.count)
        ? nil : FieldError("/secret", "length", "A shared secret must have 32 to 1024 bytes.")
    }
  }
}

package enum IssuerAdministrationQueries {
  static let add = Statement<
    NoRow, AppID, String, String, String, String?, TextBytes?, BinaryBytes?, TextBytes, Bool, Bool
  >(
    "issuers.add",
    """
    insert into issuers (
      app_id, name, issuer, audience, jwks_url, jwks, secret, claims, allows_missing_iss,
      allows_missing_aud)
    values ($1, $2, $3, $4, $5, $6::jsonb, $7, $8::jsonb, $9, $10)
    """)

  /// Returns at least one row if the app exists.
  static let list = Statement<Found<IssuerInfo>, String>(
    "issuers.list",
    """
    select i.name, i.issuer, i.audience,
      case when i.jwks_url is not null then 'url' when i.jwks is not null then 'set'
        else 'secret' end, i.jwks_url, i.claims, i.created_at,
      i.allows_missing_iss, i.allows_missing_aud
    from apps a left join issuers i on i.app_id = a.app_id
    where a.name = $1 order by i.name
    """)

  static let remove = Statement<String, AppID, String>(
    "issuers.remove", "delete from issuers where app_id = $1 and name = $2 returning name"
  )

  package static let all: [any PreparedStatement] = [add, list, remove]
}
