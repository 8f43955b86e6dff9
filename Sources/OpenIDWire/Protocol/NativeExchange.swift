import JSON
import HTTP
import WireKit
import Tenancy
import Records
import EventLoop
import Federation
import OpenID
import OpenIDClient
import Runtime
import Sessions

/// A code or token that the SDK of a service has given to a native app, which exchanges it.
///
/// - Source: Auth0, "Native social login".
enum NativeEvidence: String, CaseIterable {
  case appleCode = "apple-authz-code"
  case googleToken = "google-id-token"
  case facebookToken = "facebook-info-session-access-token"

  private static let prefix = "http://auth0.com/oauth/token-type/"

  /// Reads a value of `subject_token_type`; nil for an unknown one.
  init?(type: String) {
    guard type.utf8.starts(with: Self.prefix.utf8) else { return nil }
    self.init(rawValue: String(Substring(type.utf8.dropFirst(Self.prefix.utf8.count))))
  }

  static var types: String { allCases.map { prefix + $0.rawValue }.joined(separator: ", ") }

  private var preset: ProviderPreset {
    switch self {
    case .appleCode: .apple
    case .googleToken: .google
    case .facebookToken: .facebook
    }
  }

  /// Returns the first connection to the service; nil without one.
  func connection(among connections: [Connection]) -> Connection? {
    connections.first { $0.preset == preset }
  }

  /// Returns the account of a code or token.
  ///
  /// - Throws: as `Redirects.account`.
  @EventLoop func account(
    of text: String, name: StatedName?, at connection: Connection, _ context: RequestContext
  ) async throws(Failure) -> ConnectedAccount {
    switch self {
    case .appleCode:
      try await Redirects.account(
        byCode: text, redirectURI: nil, verifier: nil, nonce: nil, name: name, of: connection,
        context)
    case .googleToken:
      try await Redirects.account(
        byToken: text, nonce: nil, name: name, of: connection, context)
    case .facebookToken:
      try await Redirects.account(byAccessToken: text, of: connection, context)
    }
  }
}

extension DirectExchange {
  /// The greatest length of a code or token in bytes.
  private static let longest = 16_384

  /// Returns the tokens for what the SDK of a service has given to the client.
  func tokensByEvidence() async throws(TokenError) -> IssuedTokens {
    let context = call.context
    guard let evidence = NativeEvidence(type: try parameters.required("subject_token_type")) else {
      throw .badRequest("subject_token_type must be one of \(NativeEvidence.types).")
    }
    let text = try parameters.required("subject_token")
    guard text.utf8.count <= Self.longest else {
      throw .badRequest("subject_token may have at most \(Self.longest) bytes.")
    }
    let connections = SignInMethods(context.app, client).connections
    guard let connection = evidence.connection(among: connections) else {
      throw .badRequest("The client has no connection to this service.")
    }
    // The device states it, so it only names a new user.
    let name = parameters["user_profile"].flatMap(StatedName.init)
    return try await complete(
      try await signIn(), wrong: .invalidGrant("The service does not confirm subject_token.")
    ) { style async throws(Failure) in
      try await evidence.account(of: text, name: name, at: connection, context)
        .signIn(as: style, context)
    }
  }
}
