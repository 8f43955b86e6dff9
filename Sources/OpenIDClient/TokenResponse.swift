import Encoding
import HTTP
import JSON

/// The answer of a token endpoint.
///
/// - Source: RFC 6749 sections 5.1 and 5.2; OpenID Connect Core section 3.1.3.3.
package struct TokenResponse: Sendable {
  package let accessToken: String
  /// The ID token, unverified; nil if the answer has none.
  package let idToken: String?
  package let refreshToken: String?
  /// The scopes that the user has granted; nil for those of the request.
  package let scopes: [String]?

  /// The greatest length of a token in bytes.
  package static let tokenLimit = 16_384

  /// Reads an answer: JSON, or a form as older servers send.
  ///
  /// - Parameters:
  ///   - status: the status. Some issuers send errors with 200.
  ///   - body: the body.
  ///   - provider: the issuer.
  /// - Throws: `.refused` with the error code of the issuer, `.invalidTokenResponse` with the rule
  ///   that the answer breaks.
  package init(
    status: Int, body: [UInt8], of provider: Provider
  ) throws(OpenIDClientError) {
    let members = Self.members(body)
    if let error = members?["error"], error != .null {
      // Facebook's Graph API sends an object.
      throw .refused(
        code: ErrorCode.read(error.string ?? error["type"]?.string ?? ""),
        description: ErrorCode.excerpt(
          (members?["error_description"] ?? error["message"])?.string)
      )
    }
    guard (200...299).contains(status) else {
      throw .invalidTokenResponse(rule: "its status is \(status)")
    }
    guard let members else {
      throw .invalidTokenResponse(rule: "it is neither a JSON object nor a form")
    }

    func token(_ name: String) throws(OpenIDClientError) -> String? {
      guard let value = members[name], value != .null else { return nil }
      guard let token = value.string, Self.isToken(token) else {
        throw .invalidTokenResponse(
          rule: "its \(name) is not 1 to \(Self.tokenLimit) visible characters")
      }
      return token
    }

    guard let access = try token("access_token") else {
      throw .invalidTokenResponse(rule: "it has no access_token")
    }
    if let type = members["token_type"] {
      guard type.string?.lowercased() == "bearer" else {
        throw .invalidTokenResponse(rule: "its token_type is not bearer")
      }
    }
    accessToken = access
    idToken = provider.preset.hasIDToken ? try token("id_token") : nil
    guard idToken != nil || !provider.preset.hasIDToken else {
      throw .invalidTokenResponse(rule: "it has no id_token")
    }
    refreshToken = try token("refresh_token")
    // Some servers separate scopes by commas.
    scopes = members["scope"]?.string?.split { $0 == " " || $0 == "," }.map(String.init)
  }

  /// Returns whether a text can be a token, which a header field sends on.
  ///
  /// - Source: RFC 6749 appendix A.12; RFC 6750 section 2.1, which excludes spaces.
  static func isToken(_ text: String) -> Bool {
    (1...tokenLimit).contains(text.utf8.count) && text.utf8.allSatisfy(\.isVisible)
  }

  /// Checks that a token is not valid after a request to revoke it.
  ///
  /// An issuer may answer 400 about a token that is not valid any more.
  /// - Parameters:
  ///   - status: the status.
  ///   - body: the body.
  /// - Throws: `.refused` if the issuer refuses the client, `.invalidTokenResponse` for another
  ///   status.
  /// - Source: RFC 7009 section 2.2.
  package static func verifyRevocation(status: Int, body: [UInt8]) throws(OpenIDClientError) {
    guard !(200...299).contains(status) else { return }
    let members = members(body)
    guard status == 400 || status == 401, let error = members?["error"]?.string else {
      throw .invalidTokenResponse(rule: "its status is \(status)")
    }
    let code = ErrorCode.read(error)
    guard status == 400, code != "invalid_client", code != "unauthorized_client" else {
      let description = ErrorCode.excerpt(members?["error_description"]?.string)
      throw .refused(code: code, description: description)
    }
  }

  private static func members(_ body: [UInt8]) -> JSONObject? {
    if let json = try? JSON.parse(body) { return json.object }
    guard let form = FormValues(body), body.contains(UInt8(ascii: "=")) else { return nil }
    var members = JSONObject()
    for (name, value) in form.pairs { members[name] = .string(value) }
    return members
  }
}
