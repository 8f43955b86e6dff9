import EventLoop
package import JSON
package import Postgres

/// An issuer that an app is to take tokens of.
package struct IssuerDescription: Sendable {
  /// The operator's word for it.
  package let name: String
  /// The `iss` of its tokens; users who came by it have the provider `jwt:` and this.
  package let issuer: String
  /// What must be in the `aud` of its tokens.
  package let audience: String
  package let keys: Keys
  /// Whether its tokens may leave out `iss`; one issuer of an app may.
  package let allowsMissingIssuer: Bool
  /// Whether its tokens may leave out `aud`: then a token that it made for another service logs in.
  package let allowsMissingAudience: Bool
  /// Members of the profile, each with the claim it is taken from where that is not the usual one.
  package let claims: [String: String]

  package enum Keys: Sendable {
    /// `https://…`; fetched when it is needed, and again as its server says.
    case url(String)
    /// A JSON Web Key Set with public keys.
    case set(JSON)
    /// Shared with the issuer, for HS256; of 48 bytes or more also for HS384, of 64 for HS512.
    case secret([UInt8])
  }

  package init(
    name: String,
    issuer: String,
    audience: String,
    keys: Keys,
    claims: [String: String] = [:],
    allowsMissingIssuer: Bool = false,
    allowsMissingAudience: Bool = false
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

/// An issuer as those see it who administer it: without its secret.
package struct IssuerInfo: RowDecodable {
  package let name: String
  package let issuer: String
  package let audience: String
  package let keys: Keys
  package let jwksURL: String?
  /// Members of the profile with the claims they are taken from, where those are not the usual ones.
  package let claims: JSON
  package let createdAt: Timestamp
  package let allowsMissingIssuer: Bool
  package let allowsMissingAudience: Bool

  /// What its tokens are verified by.
  package enum Keys: String, Sendable {
    case url
    case set
    case secret
  }

  package init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    issuer = try row.text(1)
    audience = try row.text(2)
    keys = Keys(rawValue: try row.text(3)) ?? .secret
    jwksURL = row.text(ifAny: 4)
    claims = try row.json(5)
    createdAt = try row.time(6)
    allowsMissingIssuer = try row.bool(7)
    allowsMissingAudience = try row.bool(8)
  }
}

/// Those whose JWTs are a way into an app.
package enum Issuers {
  /// Adds an issuer to an app; its tokens are taken at once.
  ///
  /// - Parameters:
  ///   - issuer: at most 1,024 bytes for `issuer` and `audience`, 64 KiB for a key set.
  ///   - app: the name of the app.
  ///   - context: the context of the request.
  /// - Throws: `.invalid`, also when another issuer may leave out the same claim, `.issuerExists`,
  ///   `.unknownApp`, `.unavailable`.
  @EventLoop package static func add(
    _ issuer: IssuerDescription,
    to app: String,
    _ context: RequestContext
  ) async throws(Failure) {
    let faults = await issuer.faults()
    guard faults.isEmpty else { throw .invalid(faults) }
    let id = try await Apps.record(of: app, context).id
    var (url, set, sealed): (String?, TextBytes?, BinaryBytes?) = (nil, nil, nil)
    switch issuer.keys {
    case .url(let text): url = text
    case .set(let json): set = TextBytes(json.serialized())
    case .secret(let secret):
      let master = context.keys.master
      guard let bytes = try? master.sealed(secret, as: "issuer \(id) \(issuer.name)") else {
        throw .unforeseen("the secret of an issuer cannot be sealed")
      }
      sealed = BinaryBytes(bytes)
    }
    var claims = JSONObject()
    for (member, claim) in issuer.claims { claims[member] = .string(claim) }
    let mapping = TextBytes(JSON.object(claims).serialized())
    try await context.transaction { transaction async throws(Failure) in
      // Additions to one app follow one another.
      _ = try await transaction.run(AppsAdministrationQueries.lock, app)
      let others = try await transaction.run(IssuerAdministrationQueries.list, app)
      try issuer.check(against: others.compactMap(\.item))
      _ = try await transaction.run(
        IssuerAdministrationQueries.add,
        id,
        issuer.name,
        issuer.issuer,
        issuer.audience,
        url,
        set,
        sealed,
        mapping,
        issuer.allowsMissingIssuer,
        issuer.allowsMissingAudience
      )
      try await Event(
        "issuer_add",
        detail: ["name": .string(issuer.name), "issuer": .string(issuer.issuer)]
      ).record(in: transaction, app: id, context)
    }
  }

  /// The issuers of an app by name, without secrets.
  ///
  /// - Throws: `.unknownApp`, `.unavailable`.
  @EventLoop package static func list(
    of app: String,
    _ context: RequestContext
  ) async throws(Failure) -> [IssuerInfo] {
    let found = try await context.list(IssuerAdministrationQueries.list, app)
    guard let found else { throw .unknownApp }
    return found
  }

  /// Removes an issuer: its users stay, and its tokens are no way in until one of its `iss` is added
  /// again, by whatever name.
  ///
  /// - Throws: `.notFound`, `.unknownApp`, `.unavailable`.
  @EventLoop package static func remove(
    _ name: String,
    from app: String,
    _ context: RequestContext
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
  /// Throws `.issuerExists` for a name that is taken, `.invalid` where another issuer may leave out
  /// the same claim.
  fileprivate func check(against others: [IssuerInfo]) throws(Failure) {
    guard !others.contains(where: { $0.name.hasSameBytes(as: name) }) else { throw .issuerExists }
    if allowsMissingIssuer, others.contains(where: \.allowsMissingIssuer) {
      throw .invalid([
        Fault(
          "/allow_missing_iss",
          "ambiguous",
          "Another issuer of the app may leave out iss, and a token without it would be of either. "
            + "Remove that issuer, or let this one send iss."
        )
      ])
    }
    if allowsMissingAudience,
      others.contains(where: { $0.allowsMissingAudience && $0.issuer.hasSameBytes(as: issuer) })
    {
      throw .invalid([
        Fault(
          "/allow_missing_aud",
          "ambiguous",
          "Another issuer of the app with this iss may leave out aud. Remove that issuer, or let "
            + "this one send aud."
        )
      ])
    }
  }

  fileprivate func faults() async -> [Fault] {
    var faults: [Fault] = []
    if let fault = OperatorName.fault(in: name, at: "/name") { faults.append(fault) }
    for (pointer, text) in [("/issuer", issuer), ("/audience", audience)]
    where !(1...1_024).contains(text.utf8.count) {
      faults.append(Fault(pointer, "length", "This member has 1 to 1024 bytes."))
    }
    for (member, claim) in claims {
      let pointer = "/claims/\(JSONPointer.escaped(member))"
      if Issuer.usualMapping[member] == nil {
        let all = Issuer.usualMapping.keys.sorted().joined(separator: ", ")
        faults.append(Fault(pointer, "unknown_member", "Claims can be taken for \(all)."))
      } else if !(1...200).contains(claim.unicodeScalars.count) {
        faults.append(Fault(pointer, "length", "A claim's name has 1 to 200 characters."))
      }
    }
    if let fault = keys.fault() { faults.append(fault) }
    return faults
  }
}

extension IssuerDescription.Keys {
  /// In bytes: room for a hundred RSA keys.
  private static let longestSet = 65_536
  /// In bytes: a key is as long as its hash at least (RFC 7518 section 3.2).
  private static let secretLengths = 32...1_024

  fileprivate func fault() -> Fault? {
    switch self {
    case .url(let url):
      let isFit =
        (url.hasPrefix("https://") || url.hasPrefix("http://")) && url.utf8.count <= 2_048
        && url.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f }
      return isFit
        ? nil : Fault("/jwks_url", "url", "The keys are at a URL in ASCII, https://… .")
    case .set(let json):
      guard json.serialized().count <= Self.longestSet else {
        return Fault("/jwks", "length", "A key set has at most \(Self.longestSet) bytes.")
      }
      let keys = json["keys"]?.array ?? []
      // What is not to leave the issuer: RSA and elliptic curves call it d, symmetric keys k.
      guard keys.allSatisfy({ $0["d"] == nil && $0["k"] == nil }) else {
        return Fault("/jwks", "private_key", "The key set holds a key that is not public.")
      }
      return IssuerKeys(set: json).isUsable
        ? nil : Fault("/jwks", "no_key", "The key set has no key in `keys` that can verify.")
    case .secret(let secret):
      return Self.secretLengths.contains(secret.count)
        ? nil : Fault("/secret", "length", "A shared secret has 32 to 1024 bytes.")
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
    """
  )

  /// One row at least when there is such an app.
  static let list = Statement<Found<IssuerInfo>, String>(
    "issuers.list",
    """
    select i.name, i.issuer, i.audience,
      case when i.jwks_url is not null then 'url' when i.jwks is not null then 'set'
        else 'secret' end, i.jwks_url, i.claims, i.created_at,
      i.allows_missing_iss, i.allows_missing_aud
    from apps a left join issuers i on i.app_id = a.app_id
    where a.name = $1 order by i.name
    """
  )

  static let remove = Statement<String, AppID, String>(
    "issuers.remove",
    "delete from issuers where app_id = $1 and name = $2 returning name"
  )

  package static let all: [any PreparedStatement] = [add, list, remove]
}
