import DomainNames
import Encoding
package import EventLoop
import Glibc
package import JSON
package import OpenIDClient
import Postgres
package import Records
package import Runtime
package import Tenancy

/// A service to which an app sends its users to sign in, such as Google.
package typealias Connection = Stored<ConnectionRecord>

/// The attributes of a connection, as an operator sets them.
///
/// A preset knows the endpoints, the scopes and the habits of a service. Attributes replace its
/// endpoints, such as for a service of the operator's own.
package struct ConnectionRecord: OwnedRecord {
  package let name: String
  package let preset: ProviderPreset
  /// The name that people see on its button.
  package let label: String
  package let clientID: String
  let givesSecret: Bool
  let team: String?
  let key: String?
  let issuer: String?
  let authorizationURL: String?
  let tokenURL: String?
  let userinfoURL: String?
  let scopes: [String]
  let claims: JSONObject
  let emailTrust: EmailTrust?
  let link: LinkPolicy
  package let allowsSignUp: Bool
  let refreshesProfile: Bool
  let tenants: [String]
  let domains: [String]
  /// The client ids of the app on other platforms, for which it takes ID tokens too.
  package let audiences: [String]
  let trustsSecondFactor: Bool
  let connectionScopes: [String]
  /// Where clients of App Services may send browsers with a result, compared by bytes.
  package let appServicesRedirects: [String]
  let secretExpiresAt: String?
  let position: Int
  package let isEnabled: Bool

  /// The effect of a sign-in whose address another user has.
  package enum LinkPolicy: String, CaseIterable, Sendable {
    /// The user signs in here once, and then has both ways.
    case ask
    /// The identity is linked at once, if both sides have verified the address.
    case auto
    case never
  }

  package init(_ read: inout RecordReader) {
    name = read.requiredText(
      "name", .slug, "the name of the connection, which its redirect URI has", .immutable,
      .example("google"))
    let chosen = read.optional(
      "preset", ColumnRule(.choice(ProviderPreset.all.map(\.name))),
      "the service; by default the one that the name is, or else oidc, any issuer of OpenID Connect",
      .immutable, .listed, .example("google"), read: { $0.string.flatMap(ProviderPreset.named) })
    preset = chosen ?? ProviderPreset.named(name) ?? .oidc
    let given = read.text(
      "label", .labelOfButton, "",
      "the name on its button; by default that of the service, or the name of the connection")
    label = given.isEmpty ? preset.issuer == nil ? name : preset.title : given
    read.show("preset", .string(preset.name))
    read.show("label", .string(label))
    clientID = read.requiredText(
      "client_id", .clientID, "the id that the service has given the app",
      .example("1234567890-abc.apps.googleusercontent.com"))
    let secret = read.optional(
      "client_secret", ColumnRule(.text(0...8_192)),
      "the secret that the service has given the app; for Apple, the private key in PEM", .secret,
      read: \.string)
    givesSecret = secret != nil
    team = read.optional(
      "team_id", ColumnRule(.text(0...32)), "the id of the team at Apple", read: \.string)
    key = read.optional(
      "key_id", ColumnRule(.text(0...32)), "the id of the private key at Apple", read: \.string)
    issuer = read.optional(
      "issuer", .urlOfService, "the issuer, whose discovery document has the endpoints",
      .immutable, .example("https://login.example.com"), read: \.string)
    authorizationURL = read.optional(
      "authorization_url", .urlOfService, "the authorization endpoint, in place of the discovered",
      read: \.string)
    tokenURL = read.optional(
      "token_url", .urlOfService, "the token endpoint, in place of the discovered", read: \.string)
    userinfoURL = read.optional(
      "userinfo_url", .urlOfService, "the URL of the profile, in place of the discovered",
      read: \.string)
    scopes = read.texts(
      "scopes", .scopesOfService, "the scopes that it asks for; none for those of the preset")
    claims = read.object(
      "claims", ColumnRule(.object),
      "the claims, or dotted paths, of members of the profile: subject, email, email_verified, "
        + "name, given_name, family_name, nickname, picture, locale",
      .example(["nickname": "login"]))
    emailTrust = read.optional(
      "email_trust", ColumnRule(.choice(EmailTrust.allCases.map(\.rawValue))),
      "which of its addresses count as the user's own: never, verified, always; by default never "
        + "for oidc and oauth2, and verified for others",
      read: { $0.string.flatMap(EmailTrust.init(rawValue:)) })
    link = read.choice(
      "link", .ask, safe: .never,
      "what follows if another user has the address: ask, the user signs in once to link; auto, it "
        + "is linked if both sides have verified it; never, the sign-in is refused")
    allowsSignUp = read.flag(
      "sign_up", true, safe: false, "whether a sign-in makes a user if none has the identity")
    refreshesProfile = read.flag(
      "refresh_profile", false, safe: false,
      "whether each sign-in copies the names of the service; otherwise only the first one does")
    tenants = read.texts(
      "tenants", .wordsOfService,
      "the ids of the tenants of Microsoft whose users may sign in; none for all")
    domains = read.texts(
      "domains", .wordsOfService,
      "the domains whose verified addresses may sign in; none for all")
    audiences = read.texts(
      "audiences", .wordsOfService, "the client ids of native apps, whose ID tokens also count")
    trustsSecondFactor = read.flag(
      "trusts_amr", false, safe: false,
      "whether a second factor at the service counts here (amr with mfa)")
    connectionScopes = read.texts(
      "connection_scopes", .scopesOfService,
      "scopes that a client may add with connection_scope")
    appServicesRedirects = read.texts(
      "app_services_redirects", .urlsOfPages,
      "URLs to which clients of App Services may send browsers with the result, compared as typed")
    secretExpiresAt = read.optional(
      "secret_expires_at", .day,
      "the day on which the secret expires, such as 2027-05-31; dossier "
        + "doctor warns before it", read: \.string)
    position = read.number(
      "position", 0...1_000, 0, "the place of its button: smaller numbers stand first")
    isEnabled = read.flag("enabled", true, safe: false, "whether users can sign in by it", .listed)
  }

  package static let words = RecordWords(
    command: "connection", type: "Connection", one: "connection", many: "connections",
    app: .selection,
    "A service to which an app sends its users to sign in, such as Google.",
    consequence: "Its users stay, and cannot sign in by it until it is back, under any name.")

  package static let derived = [
    DerivedMember<ConnectionRecord>(
      "has_secret", ColumnRule(.flag), isListed: false, "whether it has a client_secret"
    ) { .bool($0.sealed != nil) }
  ]

  package static let table = RecordTable<ConnectionRecord>(
    "connections", key: "name", own: [.text("name"), .sealed("client_secret")],
    order: "r.created_at, r.name",
    .init(
      list: "connections.list", show: "connections.show", lock: "connections.lock",
      insert: "connections.add", change: "connections.change", delete: "connections.remove"))
}

// MARK: Rules

extension ColumnRule {
  fileprivate static let clientID = ColumnRule.text(
    1...255, "client_id", "A client id must have 1 to 255 printable ASCII characters."
  ) { $0.utf8.allSatisfy(\.isVisible) }

  fileprivate static let scopesOfService = words(of: 200) { word in
    word.utf8.allSatisfy { $0.isVisible && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
  }

  fileprivate static let wordsOfService = words(of: 255) { $0.utf8.allSatisfy(\.isVisible) }

  fileprivate static let urlsOfPages = words(
    of: ClientURL.longest,
    "This must be a URL with https, with http on this machine, or with the scheme of an app; and "
      + "without a fragment."
  ) { ClientURL.reason(against: $0) == nil }

  fileprivate static let labelOfButton = ColumnRule(.text(0...60)) { value in
    guard let label = value.string, !label.isEmpty else { return nil }
    return OperatorName.labelFault(in: label).map { ($0.code, $0.detail) }
  }

  /// A list of at most 50 words without spaces.
  private static func words(
    of longest: Int, _ rule: String? = nil, _ isValid: @escaping @Sendable (String) -> Bool
  ) -> ColumnRule {
    let usual = "This must be text of 1 to \(longest) bytes in ASCII, without spaces."
    return .texts(atMost: 50, "word", rule ?? usual) { word in
      (1...longest).contains(word.utf8.count) && isValid(word)
    }
  }

  fileprivate static let day = ColumnRule.text(
    10...10, "day", "This must be a day, such as 2027-05-31."
  ) { day in
    let parts = day.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [4, 2, 2], let year = Int(parts[0]), let month = Int(parts[1]),
      let date = Int(parts[2])
    else { return false }
    return CalendarDay(year, month, date) != nil
  }
}

extension ConnectionRecord {
  package static var taken: Failure { .connectionExists }
  package static func key(of new: JSONObject) -> String { new["name"]?.string ?? "" }

  /// Returns whether a text can be the `tid` of a token, or stands for several of them.
  private static func isTenant(_ text: String) -> Bool {
    if ["common", "organizations", "consumers"].contains(where: text.hasSameBytes) { return true }
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    return groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && groups.allSatisfy { $0.utf8.allSatisfy(\.isHexadecimalDigit) }
  }

  /// The most connections of an app: people read their buttons.
  private static let most = 20

  package static func faults(
    in record: ConnectionRecord, _ change: RecordChange, of stored: Connection?
  ) -> [ColumnFault] {
    var faults: [ColumnFault] = []
    func require(_ name: String, _ isThere: Bool, _ reason: String) {
      if !isThere { faults.append(ColumnFault("/\(name)", "missing", reason)) }
    }
    let preset = record.preset
    if preset.issuer == nil {
      require("issuer", record.issuer != nil, "This preset needs the issuer.")
    }
    if !preset.isDiscovered, preset.endpoints == nil {
      for (name, url) in [
        ("authorization_url", record.authorizationURL), ("token_url", record.tokenURL),
        ("userinfo_url", record.userinfoURL),
      ] {
        require(name, url != nil, "This preset needs its endpoints.")
      }
    }
    // The tokens name a tenant by its id, never by a domain.
    if preset.consumerTenant != nil {
      for (index, tenant) in record.tenants.enumerated() where !isTenant(tenant) {
        let rule =
          "This must be the id of a tenant, such as 8eaef023-2b34-4da1-9baa-8bc8c9d6a490, or "
          + "common, organizations or consumers."
        faults.append(ColumnFault("/tenants/\(index)", "tenant", rule))
      }
    }
    let signsSecret = preset.authentication == .signedSecret
    if signsSecret {
      require("team_id", record.team != nil, "Apple's secret needs the id of the team.")
      require("key_id", record.key != nil, "Apple's secret needs the id of the key.")
    }
    let hasSecret =
      record.givesSecret || stored?.sealed != nil && change.patch["client_secret"] == nil
    require(
      "client_secret", hasSecret || preset.issuer == nil,
      "This preset needs the secret of the app.")
    if let stored, stored.sealed != nil, change.patch["client_secret"] == nil,
      record.sendsSecretElsewhere(than: stored.record)
    {
      let reason = "The secret would go to another URL than before. Send it again."
      require("client_secret", false, reason)
    }
    do throws(OpenIDClientError) {
      _ = try record.mapping
    } catch {
      faults.append(ColumnFault("/claims", "claims", "This cannot be read: \(error.rule)."))
    }
    if let secret = change.patch["client_secret"]?.string, signsSecret {
      do throws(OpenIDClientError) {
        _ = try record.signingKey(secret)
      } catch {
        let rule = "This must be the private key of team_id with key_id, but \(error.rule)."
        faults.append(ColumnFault("/client_secret", "private_key", rule))
      }
    }
    return faults
  }

  /// Returns whether its secret goes to other URLs than that of another version.
  private func sendsSecretElsewhere(than other: ConnectionRecord) -> Bool {
    tokenURL != other.tokenURL
      || preset.tokenInspection != nil && userinfoURL != other.userinfoURL
  }

  @EventLoop package static func check(
    _ record: ConnectionRecord, _ key: String, in app: AppID?, _ transaction: Transaction
  ) async throws(Failure) {
    if let fault = ClientSettings.Connection.fault(inName: key) { throw .invalid([fault]) }
    let namesake = ProviderPreset.all.first { preset in
      preset.issuer != nil && preset.auth0Name.hasSameBytes(as: key)
    }
    if let namesake, namesake.name != record.preset.name {
      let rule = "Auth0's API knows users of \(namesake.title) by this name. Choose another."
      throw .invalid([FieldError("/name", "reserved", rule)])
    }
    guard let app else { return }
    guard try await table.others(than: key, in: app, transaction).count < most else {
      throw .invalid([FieldError("/name", "count", "An app can have \(most) connections.")])
    }
  }

  @EventLoop package static func secrets(
    of record: ConnectionRecord, _ patch: JSONObject, _ key: String, in app: AppID?, isNew: Bool,
    _ context: RequestContext
  ) throws(Failure) -> RecordSecrets {
    var secrets = RecordSecrets()
    if let app, let secret = patch["client_secret"] {
      secrets.stored["client_secret"] = .some(
        try secret.string.map { (text) throws(Failure) in
          try context.keys.master.sealed(Array(text.utf8), as: sealName(of: key, in: app))
        })
    }
    return secrets
  }

  /// The places of the profile that the operator has set.
  var mapping: ProfileMapping {
    get throws(OpenIDClientError) { try ProfileMapping(claims, of: preset) }
  }

  fileprivate func signingKey(_ secret: String) throws(OpenIDClientError) -> ClientSecretKey {
    try ClientSecretKey(pem: secret, keyID: key ?? "", teamID: team ?? "")
  }

  static func sealName(of key: String, in app: AppID) -> String { "connection \(app) \(key)" }
}

// MARK: What sign-ins read

extension Stored<ConnectionRecord> {
  var emailTrust: EmailTrust { record.emailTrust ?? record.preset.emailTrust }

  /// Whether the service sends its response by a form.
  package var answersByForm: Bool { record.preset.responseMode != nil }

  /// Whether the users with an address are led to it as soon as they have entered the address.
  package func isOf(domain: String) -> Bool {
    record.domains.contains { DomainName.areSame($0, domain) }
  }

  /// The scopes that each of its redirects asks for: its own, or those of its preset.
  var usualScopes: [String] { record.scopes.isEmpty ? record.preset.scopes : record.scopes }

  /// The days until its secret expires; nil if no day is set.
  package var daysOfSecret: Int? {
    guard let parts = record.secretExpiresAt?.split(separator: "-").map({ Int($0) }),
      parts.count == 3, let year = parts[0], let month = parts[1], let day = parts[2],
      let last = CalendarDay(year, month, day)
    else { return nil }
    return last.number - CalendarTime(seconds: time(nil), nanoseconds: 0).day.number
  }

  /// Returns whether it is meant by a name: its own, or that of Auth0 for its preset.
  package func isNamed(_ name: String) -> Bool {
    record.name.hasSameBytes(as: name) || auth0Name?.hasSameBytes(as: name) == true
  }

  /// The provider of its identities; nil if each of its tokens names one, as those of Microsoft do.
  package var provider: IdentityProvider? {
    record.preset.hasTenants
      ? nil : (record.issuer ?? record.preset.issuer).map(IdentityProvider.init(ofIssuer:))
  }

  /// The start of the providers of its identities if each tenant has its own; nil otherwise.
  package var providerPrefix: String? {
    record.preset.tenantTemplate(of: record.issuer)
      .map { IdentityProvider(ofIssuer: $0.prefix).text }
  }

  /// The name of Auth0 for its service; nil for a service that the operator names.
  var auth0Name: String? { record.preset.issuer == nil ? nil : record.preset.auth0Name }

  /// Returns whether its users have identities of an issuer, such as that of a tenant of Microsoft.
  package func isOf(issuer: String) -> Bool {
    record.preset.mayState(issuer, settings(allowsPlainHTTP: true))
  }

  /// Returns the first of its client ids that a claim `aud` names; nil for none.
  func client(among audience: JSON?) -> String? {
    guard let audience else { return nil }
    let stated = (audience.array ?? [audience]).compactMap(\.string)
    return ([record.clientID] + record.audiences).first { known in
      stated.contains(where: known.hasSameBytes)
    }
  }

  /// Returns whether its users have identities of a provider.
  package func isOf(_ provider: IdentityProvider) -> Bool {
    provider.issuer.map { isOf(issuer: $0) } ?? false
  }

  /// Returns the id and the secret of the app at the service.
  ///
  /// - Parameters:
  ///   - id: the client id of a native app of Apple, which has the same key; nil for that of the
  ///     connection.
  ///   - context: the context of the request.
  /// - Returns: the id and the secret.
  /// - Throws: `.internalError` if the master key does not decrypt the secret.
  @EventLoop func credentials(
    as id: String? = nil, _ context: RequestContext
  ) throws(Failure) -> ClientCredentials {
    let id = id ?? record.clientID
    guard let sealed else { return ClientCredentials(id: id, secret: .none) }
    let name = ConnectionRecord.sealName(of: key, in: AppID(trusted: app))
    guard let opened = context.keys.master.opened(sealed, as: name) else {
      throw .internalError(
        reason: "this master key does not decrypt the secret of connection \(key)")
    }
    let secret = String(decoding: opened, as: UTF8.self)
    guard record.preset.authentication == .signedSecret else {
      return ClientCredentials(id: id, secret: .text(secret))
    }
    do throws(OpenIDClientError) {
      return ClientCredentials(id: id, secret: .key(try record.signingKey(secret)))
    } catch {
      throw .connectionUnavailable(reason: "connection \(key): \(error.rule)")
    }
  }

  /// The attributes that the client of the service needs.
  func settings(allowsPlainHTTP: Bool) -> ProviderSettings {
    var settings = ProviderSettings()
    settings.issuer = record.issuer
    settings.authorizationURL = record.authorizationURL
    (settings.tokenURL, settings.userinfoURL) = (record.tokenURL, record.userinfoURL)
    settings.tenants = record.tenants
    settings.allowsPlainHTTP = allowsPlainHTTP
    return settings
  }
}

extension Failure {
  package static let connectionExists = Failure("connection_exists", .conflict)
    .titled("The app already has a connection with that name.")
    .remedied("Choose another name, or change the connection.")
}
