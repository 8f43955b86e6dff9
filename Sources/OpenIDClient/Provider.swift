import Encoding
import JSON

/// An operator's settings of a connection, beside its preset.
package struct ProviderSettings: Sendable {
  /// The issuer, and its endpoints; nil for those of the preset or of the discovery document.
  package var (issuer, authorizationURL): (String?, String?)
  package var (tokenURL, userinfoURL): (String?, String?)
  /// The tenants whose users may sign in; none allows all.
  package var tenants: [String] = []
  /// Whether URLs may begin with `http://`, for tests on one machine.
  package var allowsPlainHTTP = false

  package init() {}
}

/// An issuer as a client uses it: the preset, changed by the operator and by the discovery document.
package struct Provider: Sendable {
  package let preset: ProviderPreset
  /// The issuer in identities; `{tenantid}` in it stands for the tenant of the user.
  package let issuer: String
  package let authorizationURL: String
  package let tokenURL: String
  package let userinfoURL: String?
  /// The URL of the key set; nil if there are no ID tokens.
  package let keysURL: String?
  package let endSessionURL: String?
  package let revocationURL: String?
  package let authentication: ClientAuthentication
  package let usesPKCE: Bool
  /// The scopes that the issuer lists; nil if it lists none.
  package let scopes: [String]?
  /// Whether the issuer reports that a user has signed out there.
  package let logsOutByBackchannel: Bool
  /// Whether each callback must have `iss`.
  package let promisesIssuer: Bool
  /// Other values of `iss` that mean the issuer.
  private let otherIssuers: [String]
  /// The issuer of all tenants, if there are several.
  private let template: String?

  /// Joins what is known of an issuer.
  ///
  /// - Parameters:
  ///   - preset: the preset of the connection.
  ///   - settings: the operator's settings.
  ///   - metadata: the discovery document; nil if `discoveryURL` is nil.
  /// - Throws: `.invalidSettings` if an endpoint is missing or invalid.
  package init(
    _ preset: ProviderPreset, _ settings: ProviderSettings, _ metadata: ProviderMetadata?
  ) throws(OpenIDClientError) {
    func endpoint(
      _ name: String, _ values: String?...
    ) throws(OpenIDClientError) -> String? {
      guard let url = values.compactMap(\.self).first else { return nil }
      let fault = EndpointURL.fault(in: url, allowingPlainHTTP: settings.allowsPlainHTTP)
      if let fault { throw .invalidSettings(rule: "its \(name) \(fault)") }
      return url
    }
    let fixed = preset.endpoints
    guard
      let authorizationURL = try endpoint(
        "authorization_url", settings.authorizationURL, metadata?.authorizationURL,
        fixed?.authorization)
    else { throw .invalidSettings(rule: "it has no authorization_url") }
    guard
      let tokenURL = try endpoint("token_url", settings.tokenURL, metadata?.tokenURL, fixed?.token)
    else { throw .invalidSettings(rule: "it has no token_url") }
    userinfoURL = try endpoint(
      "userinfo_url", settings.userinfoURL, metadata?.userinfoURL, fixed?.userinfo)
    guard preset.hasIDToken || userinfoURL != nil else {
      throw .invalidSettings(rule: "it has no userinfo_url")
    }
    guard let issuer = settings.issuer ?? preset.issuer else {
      throw .invalidSettings(rule: "it has no issuer")
    }
    guard !preset.isDiscovered || metadata != nil else {
      throw .invalidSettings(rule: "its issuer has no discovery document")
    }
    (self.preset, self.authorizationURL, self.tokenURL) = (preset, authorizationURL, tokenURL)
    self.issuer = preset.hasTenants ? metadata?.issuer ?? issuer : issuer
    template = preset.hasTenants ? issuer : nil
    otherIssuers = settings.issuer == nil ? preset.otherIssuers : []
    keysURL = metadata?.keysURL
    endSessionURL = metadata?.endSessionURL
    revocationURL = metadata?.revocationURL ?? preset.revocationPath.map { issuer + $0 }
    scopes = metadata?.scopes
    logsOutByBackchannel = metadata?.logsOutByBackchannel ?? false
    promisesIssuer = metadata?.promisesIssuer ?? false
    usesPKCE = preset.usesPKCE && metadata?.challengeMethods?.contains("S256") ?? true
    authentication = Self.authentication(preset, metadata?.authenticationMethods)
  }

  /// Returns the way of the preset, or the other one if the issuer allows only that.
  private static func authentication(
    _ preset: ProviderPreset, _ allowed: [String]?
  ) -> ClientAuthentication {
    let usual = preset.authentication
    guard let allowed, !allowed.contains(usual.metadataName) else { return usual }
    let other: ClientAuthentication = usual == .basic ? .post : .basic
    return usual != .signedSecret && allowed.contains(other.metadataName) ? other : usual
  }

  /// Returns the URL at which the user signs out of the issuer; nil if it has none.
  ///
  /// The issuer then sends the browser to the redirect URI with the state, if the operator has
  /// registered the URI there.
  /// - Source: OpenID Connect RP-Initiated Logout section 2.
  package func signOutURL(clientID: String, redirectURI: String, state: String) -> String? {
    endSessionURL.map {
      EndpointURL.extended(
        $0,
        [
          ("client_id", clientID), ("post_logout_redirect_uri", redirectURI), ("state", state),
        ])
    }
  }

  /// Whether an error code reports that the user has cancelled.
  package func isCancellation(_ code: String) -> Bool {
    preset.cancellations.contains { $0.utf8.elementsEqual(code.utf8) }
  }

  /// Returns the issuer in identities for an `iss`; nil if the `iss` is of another issuer.
  ///
  /// With tenants, the `iss` must be that of the tenant which the same token states.
  func canonicalIssuer(_ stated: String, tenant: String?) -> String? {
    guard issuer.contains(ProviderPreset.tenantPlaceholder) else {
      return ([issuer] + otherIssuers).contains { $0.hasSameBytes(as: stated) } ? issuer : nil
    }
    guard let tenant, TenantTemplate(issuer).issuer(of: tenant)?.hasSameBytes(as: stated) == true
    else { return nil }
    return stated
  }

  /// Returns whether an `iss` is that of another tenant of a service with tenants.
  func isOfOtherTenant(_ stated: String, _ tenant: String?) -> Bool {
    guard let tenant, let template else { return false }
    return TenantTemplate(template).issuer(of: tenant)?.hasSameBytes(as: stated) == true
  }

  /// Verifies that the `iss` of a callback is that of the issuer.
  ///
  /// - Throws: `.invalidCallback` if it is another one, or missing though the issuer promises it.
  /// - Source: RFC 9207 section 2.4.
  package func verifyIssuer(of callback: CallbackParameters) throws(OpenIDClientError) {
    guard let stated = callback.issuer else {
      guard !promisesIssuer else {
        throw .invalidCallback(rule: "it has no iss, which the issuer promises")
      }
      return
    }
    let isOurs =
      ([issuer] + otherIssuers).contains { $0.hasSameBytes(as: stated) }
      || TenantTemplate(issuer).matches(stated)
    guard isOurs else { throw .invalidCallback(rule: "its iss is of another issuer") }
  }
}

extension ProviderPreset {
  /// Returns the URL of the discovery document; nil if the endpoints are known without one.
  ///
  /// - Throws: `.invalidSettings` if the operator must name the issuer, or names an invalid one.
  /// - Source: OpenID Connect Discovery section 4.
  package func discoveryURL(_ settings: ProviderSettings) throws(OpenIDClientError) -> String? {
    guard isDiscovered else { return nil }
    guard let issuer = settings.issuer ?? issuer else {
      throw .invalidSettings(rule: "it has no issuer")
    }
    if let fault = EndpointURL.fault(in: issuer, allowingPlainHTTP: settings.allowsPlainHTTP) {
      throw .invalidSettings(rule: "its issuer \(fault)")
    }
    guard !issuer.utf8.contains(UInt8(ascii: "?")) else {
      throw .invalidSettings(rule: "its issuer has a query")
    }
    let tenant = settings.tenants.count == 1 ? settings.tenants[0] : "common"
    let base = TenantTemplate(issuer).issuer(of: tenant) ?? issuer
    return base + (base.utf8.last == UInt8(ascii: "/") ? "" : "/")
      + ".well-known/openid-configuration"
  }

  /// Returns whether the discovery document may state an issuer.
  ///
  /// It must be the configured one, by bytes. With tenants, it may also be the template for all, or
  /// that of a tenant.
  package func mayState(_ issuer: String, _ settings: ProviderSettings) -> Bool {
    guard let configured = settings.issuer ?? self.issuer else { return false }
    let others = settings.issuer == nil ? otherIssuers : []
    if ([configured] + others).contains(where: { $0.hasSameBytes(as: issuer) }) { return true }
    return tenantTemplate(of: settings.issuer)?.matches(issuer) ?? false
  }

  /// Returns the template of the issuers of all tenants; nil if the issuer has no tenants.
  ///
  /// The issuer of the connection may be that of one tenant; nil stands for that of the preset.
  package func tenantTemplate(of configured: String?) -> TenantTemplate? {
    guard hasTenants, let issuer = configured ?? self.issuer else { return nil }
    let template = TenantTemplate(issuer).isTemplate ? issuer : Self.template(of: issuer)
    return template.map { TenantTemplate($0) }
  }

  /// Returns an issuer with the placeholder in place of the first segment of its path.
  private static func template(of issuer: String) -> String? {
    let parts = issuer.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count > 3, !parts[3].isEmpty else { return nil }
    return (parts[..<3] + [tenantPlaceholder[...]] + parts[4...]).joined(separator: "/")
  }
}

/// An issuer with a placeholder for the tenant.
package struct TenantTemplate {
  private let (before, after): (Substring, Substring)
  /// The text before the tenant, with which all its issuers begin.
  package var prefix: String { String(before) }
  let isTemplate: Bool

  package init(_ text: String) {
    let place = text.firstRange(of: ProviderPreset.tenantPlaceholder)
    isTemplate = place != nil
    before = place.map { text[..<$0.lowerBound] } ?? text[...]
    after = place.map { text[$0.upperBound...] } ?? ""
  }

  /// Returns the issuer of a tenant; nil if this is no template, or if no tenant has such a name.
  func issuer(of tenant: String) -> String? {
    guard isTemplate, Self.isTenant(tenant.utf8[...]) else { return nil }
    return before + tenant + after
  }

  /// Returns whether an issuer is the template itself, or that of one tenant.
  package func matches(_ issuer: String) -> Bool {
    let bytes = issuer.utf8
    guard isTemplate, bytes.count > before.utf8.count + after.utf8.count,
      bytes.starts(with: before.utf8), bytes.reversed().starts(with: after.utf8.reversed())
    else { return false }
    let tenant = bytes.dropFirst(before.utf8.count).dropLast(after.utf8.count)
    return tenant.elementsEqual(ProviderPreset.tenantPlaceholder.utf8) || Self.isTenant(tenant)
  }

  /// Returns whether a text can be a tenant: an id or a domain.
  private static func isTenant(_ text: Substring.UTF8View) -> Bool {
    (1...255).contains(text.count)
      && text.allSatisfy { $0.isLetterOrDigit || "-._".utf8.contains($0) }
  }
}
