import Accounts
import Encoding
import Passkeys
import Runtime
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

/// The form of an error, which the SDK chooses by the route.
///
/// The login screens read the API's form. A refresh must not have it: the SDK then does not see that
/// the session has ended.
enum ErrorForm {
  case api
  case oauth
  case both

  @EventLoop init(of call: Call) {
    // A key of a property may end like a route of the issuer; its pattern does not.
    let path = call.route?.pattern ?? String(call.request.path)
    if case .form(let form) = call.body, form["grant_type"] == "refresh_token" {
      self = .oauth
    } else if path.hasSuffix("/auth/issuers/anonymous/token")
      || path.hasSuffix("/auth/issuers/guest/token")
      || path.hasSuffix("/auth/issuers/public/token")
    {
      self = .oauth
    } else if path.hasSuffix("/auth/token") || path.hasSuffix("/auth/signup") {
      self = .both
    } else {
      self = .api
    }
  }
}

/// An error with the members of both forms that the SDK reads.
struct WireError {
  let status: Status
  let message: String
  let code: APICode
  let grantError: String
  /// The code of the failure, which no other failure has: that of the reference at `/problems`.
  let reason: String

  /// The codes that the SDK decodes.
  ///
  /// It loses the message of an error with another code. None of them is for input that breaks a
  /// rule, so `reason` tells failures apart.
  enum APICode: String {
    case unknownTenant = "invalid_tenant"
    case routeNotFound = "route_not_found"
    case insufficientScope = "insufficient_scope"
    case blocked
  }

  /// The error for a `grant_type` that this server does not offer.
  static let unknownGrantType = WireError(
    .badRequest,
    "The grant type is not offered: use password, passwordless_otp or refresh_token; "
      + "sign_in_with_apple needs a connection of the app to Apple, and webauthn_token passkeys.",
    .insufficientScope, grantError: "unsupported_grant_type", reason: "unsupported_grant_type"
  )

  /// The maximum length of a message.
  private static let longestMessage = 400

  private init(
    _ status: Status, _ message: String, _ code: APICode, grantError: String, reason: String
  ) {
    self.status = status
    self.message = message.excerpt(Self.longestMessage)
    self.code = code
    (self.grantError, self.reason) = (grantError, reason)
  }

  /// Creates the error of a rejected call.
  @EventLoop init(_ failure: Failure, of call: Call) {
    self.init(failure, isOfIssuer: ErrorForm(of: call) != .api)
  }

  /// Creates the error; those of the issuer have a status that the SDK reads.
  init(_ failure: Failure, isOfIssuer: Bool = false) {
    let grantError = Self.grantError(failure)
    let isRefusedGrant = isOfIssuer && failure.type.status.code < 500 && grantError != nil
    self.init(
      isRefusedGrant ? .badRequest : failure.type.status, Self.message(failure), Self.code(failure),
      grantError: grantError ?? "temporarily_unavailable", reason: failure.type.code
    )
  }

  @EventLoop func response(in form: ErrorForm) -> Response {
    Response(status, json: json(in: form).serialized())
  }

  func json(in form: ErrorForm) -> JSON {
    var body = JSONObject()
    if form != .api {
      body["error"] = .string(grantError)
      body["error_description"] = .string(message)
    }
    if form != .oauth {
      body["type"] = status.code < 500 ? "invalid_request" : "api_error"
      body["message"] = .string(message)
      body["code"] = .string(code.rawValue)
    }
    body["reason"] = .string(reason)
    return .object(body)
  }

  private static func code(_ failure: Failure) -> APICode {
    switch failure {
    case .unknownApp, .wireDisabled: .unknownTenant
    case .userBlocked: .blocked
    case _ where [.notFound, .methodNotAllowed].contains(failure.type.status): .routeNotFound
    default: .insufficientScope
    }
  }

  /// Returns the text for the user.
  ///
  /// The login screens say that the password was wrong only if the text contains `invalid`.
  private static func message(_ failure: Failure) -> String {
    switch failure {
    case .wrongCredentials: "invalid identity or password"
    case .passkeyInvalid, .passkeyUnknown: "invalid passkey: \(failure.type.title)"
    case .invalidCode: "invalid code: request another one"
    case .emailTaken: "invalid identity: a user already has this address"
    case .invalid: "invalid input\(failure.faults.first?.sentence ?? ": \(failure.type.title)")"
    default: failure.detail ?? failure.type.title
    }
  }

  /// Returns the error of OAuth; nil if a repeated request may succeed.
  ///
  /// - Source: RFC 6749 section 5.2.
  private static func grantError(_ failure: Failure) -> String? {
    switch failure {
    case .loginMethodDisabled, .signUpClosed: "unauthorized_client"
    case .unknownApp, .wireDisabled: "invalid_client"
    default:
      switch failure.type.kind {
      case .unauthenticated, .forbidden, .conflict, .notFound, .gone: "invalid_grant"
      case .malformed, .invalid, .tooLarge, .unsupportedMedia, .precondition: "invalid_request"
      case .tooMany, .unavailable, .internal: nil
      }
    }
  }
}

extension FieldError {
  /// The member of the body, if it is one, and the rule.
  fileprivate var sentence: String {
    place.isEmpty ? ": \(detail)" : " in \(place.dropFirst()): \(detail)"
  }
}

extension Failure {
  /// Returns the error with the name that the body has for a member of the domain.
  func renaming(_ member: String, to name: String) -> Failure {
    placed { $0 == "/\(member)" ? "/\(name)" : $0 }
  }
}
