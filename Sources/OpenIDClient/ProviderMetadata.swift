import Encoding
import JSON

/// The discovery document, in which an issuer publishes its endpoints and abilities.
///
/// - Source: OpenID Connect Discovery section 3; RFC 8414 section 2; RFC 9207 section 3.
package struct ProviderMetadata: Sendable {
  /// The `issuer`, as the document states it.
  package let issuer: String
  package let authorizationURL: String
  package let tokenURL: String
  package let userinfoURL: String?
  /// The URL of the key set.
  package let keysURL: String
  package let endSessionURL: String?
  package let revocationURL: String?
  /// Whether the issuer promises `iss` in each callback.
  package let promisesIssuer: Bool
  /// The methods by which a client may authenticate; nil if the document does not state them.
  package let authenticationMethods: [String]?
  /// The scopes that the issuer lists; nil if it lists none.
  package let scopes: [String]?
  /// The methods of code challenges; nil if the document does not state them.
  package let challengeMethods: [String]?
  /// Whether the issuer reports that a user has signed out.
  package let logsOutByBackchannel: Bool

  /// The greatest length of a document in bytes.
  package static let limit = 65_536
  private static let listLimit = 100

  /// Reads a document.
  ///
  /// - Parameters:
  ///   - bytes: the body of the answer.
  ///   - preset: the preset of the connection.
  ///   - settings: the operator's settings.
  /// - Throws: `.invalidMetadata` with the rule that it breaks.
  package init(
    _ bytes: [UInt8], of preset: ProviderPreset, _ settings: ProviderSettings
  ) throws(OpenIDClientError) {
    guard bytes.count <= Self.limit else {
      throw .invalidMetadata(rule: "it is longer than \(Self.limit) bytes")
    }
    guard let document = (try? JSON.parse(bytes))?.object else {
      throw .invalidMetadata(rule: "it is not a JSON object")
    }
    guard let issuer = document["issuer"]?.string, issuer.utf8.count <= 1_024 else {
      throw .invalidMetadata(rule: "it has no issuer")
    }
    guard preset.mayState(issuer, settings) else {
      throw .invalidMetadata(rule: "its issuer is not the configured one")
    }
    self.issuer = issuer

    func url(_ member: String) throws(OpenIDClientError) -> String? {
      guard let value = document[member] else { return nil }
      guard let url = value.string else { throw .invalidMetadata(rule: "its \(member) is no text") }
      if let fault = EndpointURL.fault(in: url, allowingPlainHTTP: settings.allowsPlainHTTP) {
        throw .invalidMetadata(rule: "its \(member) \(fault)")
      }
      return url
    }
    func requiredURL(_ member: String) throws(OpenIDClientError) -> String {
      guard let url = try url(member) else { throw .invalidMetadata(rule: "it has no \(member)") }
      return url
    }
    func list(_ member: String) throws(OpenIDClientError) -> [String]? {
      guard let value = document[member] else { return nil }
      guard let list = value.array, list.count <= Self.listLimit else {
        throw .invalidMetadata(rule: "its \(member) is no list of at most \(Self.listLimit) texts")
      }
      return list.compactMap(\.string)
    }

    authorizationURL = try requiredURL("authorization_endpoint")
    tokenURL = try requiredURL("token_endpoint")
    keysURL = try requiredURL("jwks_uri")
    userinfoURL = try url("userinfo_endpoint")
    endSessionURL = try url("end_session_endpoint")
    revocationURL = try url("revocation_endpoint")
    if let types = try list("response_types_supported"), !types.contains("code") {
      throw .invalidMetadata(rule: "its response_types_supported have no code")
    }
    authenticationMethods = try list("token_endpoint_auth_methods_supported")
    scopes = try list("scopes_supported")
    challengeMethods = try list("code_challenge_methods_supported")
    promisesIssuer = document["authorization_response_iss_parameter_supported"] == true
    logsOutByBackchannel = document["backchannel_logout_supported"] == true
  }
}

/// The rules for the URL of an issuer's endpoint.
package enum EndpointURL {
  /// The greatest length of a URL in bytes, as for outgoing calls.
  private static let limit = 2_048

  /// Returns the rule that a URL breaks, as a clause after its name; nil if it is valid.
  package static func fault(in url: String, allowingPlainHTTP: Bool) -> String? {
    guard url.utf8.count <= limit else { return "is longer than \(limit) bytes" }
    guard url.utf8.allSatisfy(\.isVisible) else { return "is not ASCII without spaces" }
    let schemes = allowingPlainHTTP ? ["https://", "http://"] : ["https://"]
    guard let scheme = schemes.first(where: { url.utf8.starts(with: $0.utf8) }) else {
      return "does not begin with https://"
    }
    let rest = url.utf8.dropFirst(scheme.utf8.count)
    let authority = rest.prefix { !"/?#\\".utf8.contains($0) }
    guard let first = authority.first, first != UInt8(ascii: ":") else { return "has no host" }
    guard !authority.contains(UInt8(ascii: "@")) else { return "has a user" }
    guard !rest.contains(UInt8(ascii: "#")) else { return "has a fragment" }
    return nil
  }

  /// Returns a URL with a path behind its own, and with members behind those of its query.
  static func extended(
    _ url: String, path: String = "", _ query: [(name: String, value: String)]
  ) -> String {
    let parts = url.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let known = parts.count > 1 && !parts[1].isEmpty ? [String(parts[1])] : []
    let all = (known + (query.isEmpty ? [] : [FormBody.text(query)])).joined(separator: "&")
    return parts[0] + path + (all.isEmpty ? "" : "?\(all)")
  }
}

/// The text of a form or a query.
enum FormBody {
  static func text(_ members: [(name: String, value: String)]) -> String {
    members.map { "\(PercentCoding.encode($0.name))=\(PercentCoding.encode($0.value))" }
      .joined(separator: "&")
  }
}
