import Accounts
import EventLoop
import HTTP
import JSON
import OpenID
import Passkeys
import Runtime
import Sessions
import Tenancy
import WireKit

/// An error of the endpoints that programs call.
///
/// Clients of the profile `auth0` get the statuses, codes and descriptions that Auth0's SDKs compare.
/// - Source: RFC 6749 section 5.2; RFC 6750 section 3.1; RFC 8707 section 2.
struct TokenError: Error {
  let status: Status
  let code: String
  let description: String
  /// The error for clients of the profile `auth0`; nil if it is the same.
  private let auth0: (status: Status, code: String, description: String)?
  /// Further members of the body.
  var members: [(String, JSON)] = []
  /// When the client may try again; nil if the error does not depend on time.
  fileprivate(set) var retryAfter: Duration?

  init(
    _ status: Status, _ code: String, _ description: String,
    auth0: (status: Status, code: String)? = nil, auth0Description: String? = nil
  ) {
    (self.status, self.code, self.description) = (status, code, description)
    self.auth0 = auth0.map { ($0.status, $0.code, auth0Description ?? description) }
  }

  static func badRequest(_ description: String) -> TokenError {
    TokenError(.badRequest, "invalid_request", description)
  }

  static func invalidGrant(_ description: String, auth0Description: String? = nil) -> TokenError {
    TokenError(
      .badRequest, "invalid_grant", description, auth0: (.forbidden, "invalid_grant"),
      auth0Description: auth0Description
    )
  }

  /// The error for a code or its proof, with the cause and what to do.
  private static func invalidGrant(_ failure: Failure, auth0Description: String) -> TokenError {
    .invalidGrant(
      "\(failure.type.title) \(failure.explanation)", auth0Description: auth0Description
    )
  }

  /// The error for an API that does not exist, or for which the client has no grant.
  static func invalidTarget(_ description: String) -> TokenError {
    TokenError(.badRequest, "invalid_target", description, auth0: (.forbidden, "access_denied"))
  }

  /// The error for a user who may not sign in.
  private static func unauthorized(_ description: String) -> TokenError {
    TokenError(.badRequest, "invalid_grant", description, auth0: (.forbidden, "unauthorized"))
  }

  /// The error for a wrong secret, or for a missing one.
  static let wrongSecret = TokenError(
    .unauthorized, "invalid_client",
    "The secret or the assertion of the client is missing or wrong.",
    auth0: (.unauthorized, "access_denied"), auth0Description: "Unauthorized"
  )
  /// The same error at the siblings of the token endpoint.
  static let invalidClient = TokenError(
    .unauthorized, "invalid_client", wrongSecret.description,
    auth0: (.unauthorized, "invalid_client"), auth0Description: "Unauthorized"
  )
  static let unknownClient = TokenError(.unauthorized, "invalid_client", "Unknown client")

  static let unauthorizedClient = TokenError(
    .badRequest, "unauthorized_client", "This client may not use this grant_type.",
    auth0: (.forbidden, "unauthorized_client")
  )

  static let unsupportedGrantType = TokenError(
    .badRequest, "unsupported_grant_type",
    "grant_type must be one of grant_types_supported in the discovery document.",
    auth0: (.forbidden, "unsupported_grant_type")
  )

  /// Maps an error of the domain, by its type or else by its kind.
  init(_ failure: Failure) {
    switch failure {
    case .invalidCodeOfClient:
      self = .invalidGrant(failure, auth0Description: "Invalid authorization code")
    case .otherRedirect: self = .invalidGrant(failure.type.title)
    case .invalidVerifier:
      self = .invalidGrant(failure, auth0Description: "Failed to verify code verifier")
    case .invalidRefreshToken: self = .invalidGrant("Unknown or invalid refresh token.")
    case .refreshOfBlockedUser: self = .invalidGrant("user is blocked")
    case .refreshOfDeletedUser:
      self = .invalidGrant("The refresh_token was generated for a user who doesn't exist anymore.")
    case .passkeyInvalid, .passkeyUnknown, .passkeyFlowExpired, .userVerificationMissing,
      .passkeyExists, .emailTaken:
      self = .invalidGrant(failure.type.title)
    case .userBlocked: self = .unauthorized("user is blocked")
    case .emailUnverified: self = .unauthorized(failure.type.title)
    case .tooManyAttempts: self.init(.tooManyRequests, "too_many_attempts", failure.type.title)
    case .invalid: self = .badRequest(failure.faults.first?.detail ?? failure.type.title)
    case .scopeNotGranted, .unknownScopes:
      self.init(.badRequest, "invalid_scope", failure.explanation)
    case .clientScopesNotGranted:
      self.init(
        .badRequest, "invalid_scope", failure.explanation, auth0: (.forbidden, "access_denied")
      )
    case .audienceNotGranted: self = .invalidTarget(failure.explanation)
    case .tokenMissing, .tokenInvalid, .tokenExpired, .sessionEnded:
      self.init(.unauthorized, "invalid_token", failure.explanation)
    case .insufficientScope: self.init(.forbidden, "insufficient_scope", failure.explanation)
    default:
      let code =
        switch failure.type.kind {
        case .tooMany: "too_many_requests"
        case .unavailable: "temporarily_unavailable"
        case .internal: "server_error"
        case .notFound, .gone: "not_found"
        case .unauthenticated: "invalid_token"
        case .forbidden: "access_denied"
        case .malformed, .invalid, .conflict, .precondition, .tooLarge, .unsupportedMedia:
          "invalid_request"
        }
      self.init(failure.type.status, code, failure.detail ?? failure.type.title)
    }
  }

  var json: JSON {
    .object(
      JSONObject([("error", .string(code)), ("error_description", .string(description))] + members)
    )
  }

  /// Returns the response to a client of a profile.
  @EventLoop func response(
    to call: Call, for profile: ClientSettings.ClaimsProfile = .oidc
  ) -> Response {
    if profile == .auth0, let auth0 {
      var error = TokenError(auth0.status, auth0.code, auth0.description)
      (error.members, error.retryAfter) = (members, retryAfter)
      return error.response(to: call)
    }
    var response = Response(status, json: json.serialized())
    response.add(.pragma, literal: "no-cache")
    if code == "insufficient_scope" {
      response.add(.authenticate, literal: "Bearer error=\"insufficient_scope\"")
    }
    if let retryAfter { response.add(.retryAfter, String(retryAfter.wholeSeconds)) }
    guard status == .unauthorized else { return response }
    if code == "invalid_token", !call.request.has(.authorization) {
      response.add(.authenticate, literal: "Bearer")
    } else if code == "invalid_token" {
      response.add(.authenticate, "Bearer error=\"invalid_token\"")
    } else if code == "invalid_client" || BasicCredentials.areSent(by: call.request) {
      response.add(.authenticate, "Basic realm=\"oauth\"")
    }
    return response
  }
}

extension Call {
  /// Returns the error for a failure that the endpoint itself reports.
  func error(for failure: Failure) -> TokenError {
    self.failure = failure
    var error = TokenError(failure)
    error.retryAfter = failure.retryAfter
    return error
  }

  /// Returns the result of a verb of the domain; throws its failure in the form of the endpoint.
  func attempt<Value>(
    _ verb: @EventLoop () async throws(Failure) -> Value
  ) async throws(TokenError) -> Value {
    do throws(Failure) { return try await verb() } catch { throw self.error(for: error) }
  }
}

extension FieldName {
  static let pragma = FieldName("Pragma")
}
