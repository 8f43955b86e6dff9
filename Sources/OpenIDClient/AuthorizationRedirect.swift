import Crypto
import Encoding

/// The request that a browser takes to an issuer.
///
/// - Source: RFC 6749 section 4.1.1; RFC 7636 section 4.3; OpenID Connect Core section 3.1.2.1.
package struct AuthorizationRedirect: Sendable {
  package let clientID: String
  package let redirectURI: String
  package let state: String
  /// The scopes; an empty list stands for those of the preset.
  package var scopes: [String] = []
  /// The nonce, and the secret of the code challenge; sent only to issuers that use them.
  package var (nonce, verifier): (String?, String?)
  /// The values of `prompt`; those that the issuer does not understand are not sent.
  package var prompts: [String] = []
  /// The greatest age of the user's sign-in there, in seconds.
  package var maximumAge: Int?
  /// The address or user name that the user has typed here.
  package var loginHint: String?
  /// The domain of users that the connection is for.
  package var domain: String?
  /// The languages of the user, the preferred one first.
  package var locales: [String] = []

  package init(clientID: String, redirectURI: String, state: String) {
    (self.clientID, self.redirectURI, self.state) = (clientID, redirectURI, state)
  }

  /// Returns the URL of the request.
  ///
  /// A query of the endpoint stays in front.
  package func url(at provider: Provider) -> String {
    let (preset, support) = (provider.preset, provider.preset.parameters)
    var query: [(name: String, value: String)] = [
      ("client_id", clientID), ("redirect_uri", redirectURI), ("response_type", "code"),
    ]
    let scopes = preset.completed(scopes)
    if !scopes.isEmpty { query.append(("scope", scopes.joined(separator: " "))) }
    query.append(("state", state))
    if preset.usesNonce, let nonce { query.append(("nonce", nonce)) }
    if provider.usesPKCE, let verifier {
      query.append(("code_challenge", Array(SHA256.hash(data: Array(verifier.utf8))).base64URL))
      query.append(("code_challenge_method", "S256"))
    }
    if let mode = preset.responseMode { query.append(("response_mode", mode)) }
    let chooser = prompts.contains("select_account") ? support.choosePrompt : nil
    let prompts = chooser.map { [$0] } ?? prompts.filter(support.prompts.contains)
    if !prompts.isEmpty { query.append(("prompt", prompts.joined(separator: " "))) }
    if support.hasMaximumAge, let maximumAge { query.append(("max_age", "\(maximumAge)")) }
    if let name = support.loginHint, let loginHint { query.append((name, loginHint)) }
    if let name = support.domainHint, let domain { query.append((name, domain)) }
    if support.hasLocales, !locales.isEmpty {
      query.append(("ui_locales", locales.joined(separator: " ")))
    }
    let fixed = support.fixed.filter { one in !query.contains { $0.name == one.name } }
    return EndpointURL.extended(provider.authorizationURL, query + fixed)
  }
}

extension ProviderPreset {
  /// Returns the scopes of a request: the given ones, with `openid` if the preset asks for it.
  fileprivate func completed(_ given: [String]) -> [String] {
    guard !given.isEmpty else { return scopes }
    return scopes.contains("openid") && !given.contains("openid") ? ["openid"] + given : given
  }
}
