import DomainNames
import Encoding
package import JSON
import WebTokens

/// The profile of a user as an issuer states it.
///
/// A member that is malformed or too long is missing, except for the subject.
package struct ProviderProfile: Sendable {
  /// The issuer as it is in identities.
  package let issuer: String
  package let subject: String
  /// The address, whether the issuer has verified it or not.
  package let email: String?
  /// Whether the issuer has verified the address, by the rule of its preset.
  package let isEmailVerified: Bool
  package private(set) var name: String?
  package private(set) var givenName: String?
  package private(set) var familyName: String?
  package let nickname: String?
  /// The URL of the picture, which begins with `https://`.
  package let picture: String?
  package let locale: String?
  /// The domain of the organization that manages the account.
  package let hostedDomain: String?
  package let tenant: String?
  private let consumerTenant: String?

  /// Reads a profile.
  ///
  /// - Parameters:
  ///   - provider: the issuer.
  ///   - claims: the claims of the ID token; nil if the issuer sends none.
  ///   - userinfo: the answers to the requests, in their order.
  ///   - mapping: the places that the operator has set.
  ///   - stated: the name of the callback, which fills what the issuer leaves out.
  /// - Throws: `.invalidUserinfo` if there is no subject, or if an answer has another one.
  package init(
    from provider: Provider, _ claims: IDTokenClaims?, _ userinfo: [Userinfo],
    mapping: ProfileMapping = ProfileMapping(), stated: StatedName? = nil
  ) throws(OpenIDClientError) {
    let preset = provider.preset
    var sources = userinfo.map(\.members)
    let reader = ProfileReader(places: mapping.places(of: preset))
    let named = sources.compactMap { reader.subject(in: $0) }
    guard let subject = claims?.subject ?? named.first else {
      throw .invalidUserinfo(rule: "it has no subject of 1 to 255 bytes")
    }
    // OpenID Connect Core section 5.3.2: an answer without the subject is not of the user.
    if claims != nil, named.count < sources.count {
      throw .invalidUserinfo(rule: "it has no sub")
    }
    guard named.allSatisfy(subject.hasSameBytes) else {
      throw .invalidUserinfo(rule: "its subject is not that of the sign-in")
    }
    self.subject = subject
    issuer = claims?.issuer ?? provider.issuer
    if let claims { sources.insert(claims.members, at: 0) }

    let address = reader.email(in: sources)
    hostedDomain = reader.first(.hostedDomain, in: sources) { ProfileText.domain($0) }
    email = address?.email
    isEmailVerified =
      address.map { [hostedDomain] address in
        preset.emailRule.hasVerified(address, hostedDomain: hostedDomain)
      } ?? false
    name = reader.first(.name, in: sources) { ProfileText.name($0, ProfileText.nameLimit) }
    givenName = reader.first(.givenName, in: sources) {
      ProfileText.name($0, ProfileText.partLimit)
    }
    familyName = reader.first(.familyName, in: sources) {
      ProfileText.name($0, ProfileText.partLimit)
    }
    nickname = reader.first(.nickname, in: sources) { ProfileText.name($0, ProfileText.nameLimit) }
    picture =
      preset.pictureTemplate.flatMap { ProfileReader.picture($0, in: sources) }
      ?? reader.first(.picture, in: sources, ProfileText.pictureURL)
    locale = reader.first(.locale, in: sources, ProfileText.locale)
    tenant = reader.first(.tenant, in: sources) { ProfileText.isSubject($0) ? $0 : nil }
    consumerTenant = preset.consumerTenant
    if let stated { add(stated) }
  }

  private mutating func add(_ stated: StatedName) {
    guard name == nil, givenName == nil, familyName == nil else { return }
    (givenName, familyName) = (stated.givenName, stated.familyName)
    name = ProfileText.name(stated.full, ProfileText.nameLimit)
  }

  /// Returns the address if the connection trusts it, else nil.
  ///
  /// An address is not trusted if its part before the @ is not ASCII. The letters may look like those
  /// of another address here, and the issuer has proved nothing about that one.
  package func trustedEmail(_ trust: EmailTrust) -> String? {
    guard let email, email.utf8.prefix(while: { $0 != UInt8(ascii: "@") }).allSatisfy({ $0 < 0x80 })
    else { return nil }
    return switch trust {
    case .never: nil
    case .verified: isEmailVerified ? email : nil
    case .always: email
    }
  }

  /// Verifies that a connection allows the user's tenant and domain.
  ///
  /// - Parameters:
  ///   - tenants: the allowed tenants; none allows all. `consumers` stands for users without an
  ///     organization, and `organizations` for all others.
  ///   - domains: the allowed domains in ASCII; none allows all. The issuer states the domain of
  ///     the user's organization, or the user has a trusted address there.
  ///   - trust: the trust of the connection in addresses.
  /// - Throws: `.tenantNotAllowed`, `.domainNotAllowed`.
  package func verifyAccess(
    tenants: [String], domains: [String], trust: EmailTrust
  ) throws(OpenIDClientError) {
    guard tenants.isEmpty || tenants.contains(where: isOfTenant) else { throw .tenantNotAllowed }
    guard !domains.isEmpty else { return }
    // An organization may have addresses of domains that are not its own.
    guard let own = hostedDomain ?? trustedEmail(trust).flatMap(ProfileText.domain(ofEmail:)),
      domains.contains(where: { DomainName.areSame($0, own) })
    else { throw .domainNotAllowed }
  }

  private func isOfTenant(_ allowed: String) -> Bool {
    guard let tenant else { return false }
    switch (allowed, consumerTenant) {
    case ("common", _?): return true
    case ("consumers", let consumers?): return tenant.hasSameBytes(as: consumers)
    case ("organizations", let consumers?): return !tenant.hasSameBytes(as: consumers)
    default: return tenant.lowercased().hasSameBytes(as: allowed.lowercased())
    }
  }
}

extension EmailRule {
  /// Returns whether the issuer has verified an address.
  fileprivate func hasVerified(
    _ address: (email: String, isFlagged: Bool), hostedDomain: String?
  ) -> Bool {
    switch self {
    case .claim: address.isFlagged
    case .authority(let ownDomain):
      address.isFlagged
        && (hostedDomain != nil
          || ProfileText.domain(ofEmail: address.email).map {
            DomainName.areSame($0, ownDomain)
          } == true)
    case .always: true
    case .never: false
    }
  }
}

/// The places of the profile that an operator has set, for issuers with other names than usual.
package struct ProfileMapping: Sendable {
  private var places: [ProfileMember: ClaimPath] = [:]

  package init() {}

  /// Reads `{"name": "displayName", "email": "contact.mail"}`.
  ///
  /// - Parameters:
  ///   - members: the place of each member: a name, or a dotted path.
  ///   - preset: the preset of the connection.
  /// - Throws: `.invalidSettings` with the rule that it breaks.
  package init(_ members: JSONObject, of preset: ProviderPreset) throws(OpenIDClientError) {
    for (name, place) in members {
      guard let member = ProfileMember(rawValue: name) else {
        let names = ProfileMember.allCases.map(\.rawValue).joined(separator: ", ")
        throw .invalidSettings(rule: "its claims may only have \(names)")
      }
      guard let path = place.string, (1...200).contains(path.utf8.count) else {
        throw .invalidSettings(rule: "the value of \(name) in its claims is not 1 to 200 bytes")
      }
      // Tokens of the same issuer sign in without this connection, by their sub.
      guard member != .subject || !preset.hasIDToken else {
        throw .invalidSettings(rule: "its subject is the sub of the ID token")
      }
      places[member] = ClaimPath(path)
    }
  }

  /// The members with a place that the operator has set.
  var members: Set<ProfileMember> { Set(places.keys) }

  func places(of preset: ProviderPreset) -> [ProfileMember: [ClaimPath]] {
    preset.places.merging(places.mapValues { [$0] }) { $1 }
  }
}

/// Reads the members of a profile from the places where an issuer has them.
private struct ProfileReader {
  let places: [ProfileMember: [ClaimPath]]

  private func values(_ member: ProfileMember, in source: JSONObject) -> [JSON] {
    places[member, default: []].compactMap { $0.value(in: source) }
  }

  func subject(in source: JSONObject) -> String? {
    values(.subject, in: source).lazy.compactMap(ProfileText.digitsOrText).first {
      ProfileText.isSubject($0)
    }
  }

  /// Returns the first valid text of a member.
  func first(
    _ member: ProfileMember, in sources: [JSONObject], _ valid: (String) -> String?
  ) -> String? {
    for source in sources {
      for value in values(member, in: source) {
        if let text = value.string.flatMap(valid) { return text }
      }
    }
    return nil
  }

  /// Returns the first valid address, and whether the same source states that it is verified.
  func email(in sources: [JSONObject]) -> (email: String, isFlagged: Bool)? {
    for source in sources {
      for value in values(.email, in: source) {
        guard let email = value.string.flatMap(ProfileText.email) else { continue }
        return (email, values(.emailVerified, in: source).first.map(ProfileText.isTrue) ?? false)
      }
    }
    return nil
  }

  /// Fills in a template of a URL; returns nil if a claim is missing.
  static func picture(_ template: String, in sources: [JSONObject]) -> String? {
    var url = ""
    for part in template.split(separator: "{", omittingEmptySubsequences: false) {
      let pieces = part.split(separator: "}", maxSplits: 1, omittingEmptySubsequences: false)
      if pieces.count > 1 {
        let path = ClaimPath(String(pieces[0]))
        guard
          let value = sources.lazy.compactMap({ path.value(in: $0) })
            .compactMap(ProfileText.digitsOrText).first,
          value.utf8.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "_") })
        else { return nil }
        url += value
      }
      url += pieces[pieces.count - 1]
    }
    return ProfileText.pictureURL(url)
  }
}
