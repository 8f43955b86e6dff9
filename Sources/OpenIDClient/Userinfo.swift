import Crypto
import Encoding
import JSON
import WebTokens

/// A request for the profile of a user, with the access token of the sign-in.
package struct UserinfoRequest: Sendable {
  package let url: String
  /// The token of the field `Authorization`.
  package let bearer: String
  fileprivate let query: UserinfoQuery

  /// Reads the answer.
  ///
  /// - Parameters:
  ///   - status: the status.
  ///   - body: the body.
  /// - Returns: nil if the user or the issuer has denied these members, and the sign-in can go on.
  /// - Throws: `.invalidUserinfo` with the rule that the answer breaks.
  package func answer(status: Int, body: [UInt8]) throws(OpenIDClientError) -> Userinfo? {
    if query.mayBeDenied, [401, 403, 404].contains(status) { return nil }
    guard (200...299).contains(status) else {
      throw .invalidUserinfo(rule: "its status is \(status)")
    }
    return try Userinfo(body, query.content)
  }
}

/// An answer about a user.
package struct Userinfo: Sendable {
  let members: JSONObject

  /// The greatest length of an answer in bytes.
  package static let limit = 65_536

  /// - Throws: `.invalidUserinfo` with the rule that the answer breaks.
  init(_ body: [UInt8], _ content: UserinfoContent) throws(OpenIDClientError) {
    guard body.count <= Self.limit else {
      throw .invalidUserinfo(rule: "it is longer than \(Self.limit) bytes")
    }
    guard let json = try? JSON.parse(body) else {
      throw .invalidUserinfo(rule: "it is not JSON")
    }
    switch content {
    case .members:
      guard let object = json.object else { throw .invalidUserinfo(rule: "it is no JSON object") }
      members = object
    case .emails:
      guard let list = json.array else { throw .invalidUserinfo(rule: "it is no JSON array") }
      // A user may have many addresses; only the primary one is taken.
      let primary = list.first { $0["primary"] == true }
      var members = JSONObject()
      if let email = primary?["email"] { members[UserinfoContent.primaryEmail] = email }
      if let state = primary?["verified"] { members[UserinfoContent.primaryEmailState] = state }
      self.members = members
    }
  }
}

extension Provider {
  /// Returns the requests for what the ID token lacks of the profile.
  ///
  /// - Parameters:
  ///   - claims: the claims of the ID token; nil if the issuer sends none.
  ///   - mapping: the places that the operator has set.
  ///   - accessToken: the access token.
  ///   - credentials: the client.
  /// - Returns: the requests in their order; an empty list if the token has all.
  package func userinfoRequests(
    after claims: IDTokenClaims?, mapping: ProfileMapping = ProfileMapping(), accessToken: String,
    _ credentials: ClientCredentials
  ) -> [UserinfoRequest] {
    guard let userinfoURL else { return [] }
    switch preset.profileSource {
    case .token: return []
    case .tokenThenUserinfo:
      let (known, places) = (claims?.members ?? JSONObject(), mapping.places(of: preset))
      let hasAll = mapping.members.union([.email, .name]).allSatisfy { member in
        places[member, default: []].contains { $0.value(in: known) != nil }
      }
      if hasAll { return [] }
    case .userinfo: break
    }
    let proof = preset.provesSecret ? proof(of: accessToken, credentials) : []
    return preset.userinfo.map { query in
      UserinfoRequest(
        url: EndpointURL.extended(userinfoURL, path: query.path, query.query + proof),
        bearer: accessToken, query: query)
    }
  }

  /// Returns the parameter which proves that the sender of a token knows the client secret.
  ///
  /// - Source: Facebook, "Securing Graph API Requests".
  private func proof(
    of accessToken: String, _ credentials: ClientCredentials
  ) -> [(name: String, value: String)] {
    guard case .text(let secret) = credentials.secret else { return [] }
    let code = HMAC<SHA256>.authenticationCode(
      for: Array(accessToken.utf8), using: SymmetricKey(data: Array(secret.utf8)))
    return [("appsecret_proof", String(hexadecimal: Array(code)))]
  }
}

/// The question whose access token a text is.
///
/// An app sends the access token of a user in place of a code. Any other app of the issuer has such
/// tokens too, so the issuer must state that this one is ours.
/// - Source: Facebook, "Manually Build a Login Flow", "Inspecting access tokens".
package struct TokenInspection: Sendable {
  package let url: String
  private let clientID: String

  /// - Returns: nil if the issuer has no such endpoint.
  /// - Throws: `.invalidGrant` if the text cannot be a token.
  package init?(
    of accessToken: String, _ credentials: ClientCredentials, at provider: Provider
  ) throws(OpenIDClientError) {
    guard let name = provider.preset.tokenInspection, let userinfoURL = provider.userinfoURL,
      case .text(let secret) = credentials.secret
    else { return nil }
    guard TokenResponse.isToken(accessToken) else {
      throw .invalidGrant(
        rule: "it is not 1 to \(TokenResponse.tokenLimit) visible characters of ASCII")
    }
    clientID = credentials.id
    let path = userinfoURL.split(separator: "?", omittingEmptySubsequences: false)[0]
    let folder = path.reversed().drop { $0 != "/" }.reversed()
    url = EndpointURL.extended(
      String(folder) + name,
      [("input_token", accessToken), ("access_token", "\(credentials.id)|\(secret)")])
  }

  /// Verifies by the answer that the token is valid, and of our client.
  ///
  /// - Throws: `.invalidUserinfo` with the rule that it breaks.
  package func verify(status: Int, body: [UInt8]) throws(OpenIDClientError) {
    guard (200...299).contains(status) else {
      throw .invalidUserinfo(rule: "its status is \(status)")
    }
    let data = (try? JSON.parse(body))?["data"]
    guard let app = data?["app_id"].flatMap(ProfileText.digitsOrText),
      app.hasSameBytes(as: clientID)
    else { throw .invalidUserinfo(rule: "its app_id is not the client") }
    guard data?["is_valid"] == true else {
      throw .invalidUserinfo(rule: "its is_valid is not true")
    }
  }
}
