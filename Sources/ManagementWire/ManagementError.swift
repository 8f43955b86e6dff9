import Accounts
import Documents
import EventLoop
import HTTP
import JSON
import OpenID
import Permissions
import Runtime
import Sessions
import Transfer
import WireKit

/// An error of the Management API.
struct ManagementError {
  private let status: Status
  private let message: String
  /// The stable code; nil where the API has none.
  private let code: String?

  private init(_ status: Status, _ code: String?, _ message: String) {
    (self.status, self.code, self.message) = (status, code, message)
  }

  /// Maps an error of the domain, by its type or else by its kind.
  init(_ failure: Failure) {
    switch failure {
    case .notFound:
      self.init(.notFound, "inexistent_user", "The user does not exist.")
    case .roleNotFound:
      self.init(.notFound, "inexistent_role", "The role does not exist.")
    case .roleExists: self.init(.conflict, failure.type.code, "The role already exists.")
    case .unownedResource:
      self.init(
        .forbidden, "unowned_resource",
        "User to be acted on does not match subject in bearer token."
      )
    case .fieldsNotYours: self.init(.forbidden, "insufficient_scope", failure.explanation)
    case .insufficientScope:
      self.init(
        .forbidden, "insufficient_scope",
        "Insufficient scope, expected any of: \(failure["scope"]?.string ?? "")"
      )
    case .userIDMalformed: self.init(.badRequest, "invalid_uri", failure.explanation)
    case .pageTooFar: self.init(.badRequest, "invalid_paging", failure.explanation)
    case .systemAPI: self.init(.forbidden, failure.type.code, failure.explanation)
    case .queryMalformed: self.init(.badRequest, "invalid_query_string", failure.explanation)
    case .notIndexed:
      func names(_ member: String) -> [String] {
        failure[member]?.array?.compactMap(\.string).map { UserMember.path($0) } ?? []
      }
      let missing = names("missing")
      let paths = missing.joined(separator: " or ")
      let advice =
        missing.isEmpty ? "" : " The operator can add one on \(paths): dossier index create."
      let message =
        "The app has more than \(FilterLimits.scanned) users, so each branch of the search needs a "
        + "field with an index. These have one: \(names("indexed").joined(separator: ", "))."
      self.init(.badRequest, "invalid_query_string", message + advice)
    case .notLinkable:
      self.init(.badRequest, failure.type.code, failure.explanation)
    case .noEmail, .noHostName:
      self.init(.badRequest, failure.type.code, failure.type.title)
    case .connectionUnknown:
      self.init(.badRequest, "inexistent_connection", failure.explanation)
    case .userExists, .emailTaken:
      self.init(.conflict, "auth0_idp_error", "The user already exists.")
    case .newEmailTaken:
      self.init(.badRequest, "auth0_idp_error", "The specified new email already exists")
    case .tokenMissing: self.init(.unauthorized, nil, "Missing authentication")
    case .tokenExpired:
      self.init(.unauthorized, nil, "Expired token received for JSON Web Token validation")
    case .tokenInvalid, .sessionEnded: self.init(.unauthorized, nil, "Invalid token")
    case .reauthenticationRequired:
      let message = "Sign the user in again, with max_age, and repeat the request."
      self.init(.unauthorized, failure.type.code, message)
    case .routeNotFound, .methodNotAllowed: self.init(.notFound, nil, "Not Found")
    case .inexistentResource:
      self.init(.notFound, failure.type.code, failure.explanation)
    default: self = Self.ofKind(failure)
    }
  }

  private static func ofKind(_ failure: Failure) -> ManagementError {
    // nginx's own errors have no faults, and its files no apostrophes.
    let message = failure.faults.first.map(message(of:)) ?? failure.explanation
    let status = failure.type.status
    return switch failure.type.kind {
    case .malformed, .invalid:
      ManagementError(.badRequest, "invalid_body", "Payload validation error: \(message)")
    case .unauthenticated: ManagementError(status, nil, message)
    case .forbidden: ManagementError(status, "insufficient_scope", message)
    case .tooMany: ManagementError(status, "too_many_requests", message)
    case .notFound, .gone, .conflict, .precondition, .tooLarge, .unsupportedMedia, .unavailable,
      .internal:
      ManagementError(status, failure.type.code, message)
    }
  }

  /// Returns the text of a fault, with the member as paths of fields spell it.
  private static func message(of fault: FieldError) -> String {
    let detail = fault.detail.hasSuffix(".") ? String(fault.detail.dropLast()) : fault.detail
    if fault.code == FieldError.unknownPropertyCode { return "'\(detail)'." }
    let tokens = JSONPointer(fault.place)?.tokens ?? []
    return "'\(detail)' on property \(tokens.joined(separator: "."))."
  }

  /// The body; Auth0.swift reads `code` and `description`, which the service itself does not send.
  var json: JSON {
    var body = JSONObject()
    body["statusCode"] = .number(JSONNumber(status.code))
    body["error"] = .string(status.reason)
    body["message"] = .string(message)
    body["errorCode"] = code.map(JSON.string)
    if status == .unauthorized, code == nil {
      body["attributes"] = ["error": .string(message)]
    }
    body["code"] = (code ?? (status == .unauthorized ? "unauthorized" : nil)).map(JSON.string)
    body["description"] = .string(message)
    return .object(body)
  }

  var response: Response { Response(status, json: json.serialized()) }
}

extension Failure {
  /// The token of a user names another user.
  static let unownedResource = Failure("unowned_resource", .forbidden)
    .titled("The user of the path is not the user of the token.")
    .remedied("Use the id of the token's user in the path, or send the token of a machine client.")
  static let fieldsNotYours = Failure("fields_not_yours", .forbidden)
    .titled("The token may not change these fields.")
    .remedied("Send user_metadata only, or use a token of a back end.")
  /// A change of an address, which the API refuses by another status than a new user.
  static let newEmailTaken = Failure("new_email_taken", .invalid)
    .titled("Another user has the address.")
    .remedied("Send another address.")
  static let inexistentResource = Failure("inexistent_resource", .notFound)
    .titled("The resource does not exist.")
    .remedied("Read the list of these resources again.")
  static let userIDMalformed = Failure("user_id_malformed", .malformed)
    .titled("The id in the path is not a user id.")
    .remedied("Send an id such as auth0|65f1c0de65f1c0de65f1c0de.")
  static let pageTooFar = Failure("page_too_far", .invalid)
    .titled("You can only page through the first 1000 records.")
    .remedied("Search for fewer users.")
  static let queryMalformed = Failure("query_malformed", .invalid)
    .titled("A parameter of the query is invalid.")
    .remedied("Correct the query by the rule in the detail.")
  static let connectionUnknown = Failure("connection_unknown", .invalid)
    .titled("The connection does not exist.")
    .remedied("Send the connection Username-Password-Authentication.")

  /// Returns the result of a verb of the domain, whose faults are placed as the API names them.
  @EventLoop static func placing<Value>(
    _ form: (String) -> String, _ verb: @EventLoop () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    do throws(Failure) { return try await verb() } catch { throw error.placed(form) }
  }
}
