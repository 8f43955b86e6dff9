import Accounts
import Administration
import Documents
import EventLoop
import HTTP
import JSON
import Runtime
import Tenancy
import WireKit

/// `/dbconnections`: sign-up and reset of a password, without a page.
@EventLoop enum DatabaseConnectionRoutes {
  nonisolated static let prefix = "/dbconnections"

  nonisolated static let routes = [
    Route(
      .post, "\(prefix)/signup", access: .open, body: .json(limit: 65_536).holdingDocuments,
      summary: "Create a user with an address and a password", signUp
    ),
    Route(
      .post, "\(prefix)/change_password", access: .open, body: .json(limit: 16_384),
      summary: "Email a link that resets the password", changePassword
    ),
  ]

  nonisolated static func own(_ path: Substring) -> Bool {
    path.utf8.starts(with: "\(prefix)/".utf8)
  }

  /// Creates a user as a registration does, by the app's setting `sign_up`.
  private static func signUp(_ call: Call) async throws(Failure) -> Response {
    let body = call.json
    try await check(body, call)
    try call.context.requireImmediateSignUp()
    let credentials = try Credentials(email: text("email", body), password: text("password", body))
    let members = try members(of: body)
    let user = try await UserAdministration.register(credentials, with: members, call.context)
    var answer = JSONObject()
    answer["_id"] = .string(user.text)
    answer["email"] = .string(credentials.email.lowercased())
    answer["email_verified"] = false
    for (name, value) in members.profile { answer[name] = value }
    answer["picture"] = members.pictureURL
    return Response(.ok, json: answer.serialized())
  }

  private static let profileMembers = ["name", "given_name", "family_name", "nickname"]
  /// The fields of metadata that a stranger may write, and their length.
  private static let (mostFields, longestField) = (10, 500)

  /// Returns what a sign-up says about the user.
  ///
  /// - Throws: `.invalid`.
  private static func members(of body: JSON) throws(Failure) -> UserRevision {
    var members = UserRevision()
    for name in profileMembers {
      if let value = body[name], value != .null, value != "" { members.profile[name] = value }
    }
    guard body["username"] == nil || body["username"] == .null || body["username"] == "" else {
      throw .invalid([UserMember.noUsername])
    }
    if let picture = body["picture"], picture != .null, picture != "" {
      if let fault = PictureReference.fault(in: picture, at: "/picture") { throw .invalid([fault]) }
      members.pictureURL = picture
    }
    guard let metadata = body["user_metadata"], metadata != .null else { return members }
    guard let object = metadata.object, object.count <= mostFields,
      object.allSatisfy({ ($0.value.string?.unicodeScalars.count ?? .max) <= longestField })
    else {
      let detail =
        "user_metadata may have at most \(mostFields) strings of \(longestField) characters"
      throw .invalid([FieldError("/user_metadata", "length", detail)])
    }
    if object.count > 0 { members.documents.append((.metadata, object)) }
    return members
  }

  /// Mails a link; the response is the same for an unknown address.
  private static func changePassword(_ call: Call) async throws(Failure) -> Response {
    try await check(call.json, call)
    try await Emails.requestReset(of: text("email", call.json), call.context)
    var response = Response(.ok)
    response.body = Array("We have just sent you an email to reset your password.".utf8)
    response.add(.contentType, literal: "text/html; charset=utf-8")
    return response
  }

  /// Checks the client and the connection of a request.
  private static func check(_ body: JSON, _ call: Call) async throws(Failure) {
    let context = call.context
    guard let id = ClientID(try text("client_id", body)),
      let client = try await Clients.client(id, of: context.app.id, context),
      client.kind != .machine,
      client.settings.allows(.password)
    else { throw .applicationUnknown }
    guard
      try text("connection", body).hasSameBytes(as: ClientSettings.Connection.password.auth0Name)
    else {
      throw .connectionUnknown
    }
  }

  private static func text(_ name: String, _ body: JSON) throws(Failure) -> String {
    guard let text = body[name]?.string, !text.isEmpty else {
      throw .invalid([FieldError("/\(name)", "missing", "missing \(name) parameter")])
    }
    return text
  }
}

/// An error of `/dbconnections`, whose form is its own.
struct SignUpError {
  private let status: Status
  private let name: String
  private let code: String
  private let description: String

  init(_ failure: Failure) {
    let isWeak = failure.faults.contains { $0.place == "/password" && $0.code != "missing" }
    status =
      switch (failure, failure.type.kind) {
      case (.signUpClosed, _), (.loginMethodDisabled, _), (_, .conflict), (_, .invalid),
        (_, .malformed):
        .badRequest
      default: failure.type.status
      }
    name = isWeak ? "PasswordStrengthError" : "BadRequestError"
    code =
      switch failure {
      case .emailTaken: "user_exists"
      case .signUpClosed, .loginMethodDisabled: "signup_disabled"
      case .applicationUnknown: "unauthorized"
      case .connectionUnknown: "invalid_connection"
      default:
        isWeak
          ? "invalid_password"
          : failure.type.kind == .tooMany
            ? "too_many_requests" : "invalid_signup"
      }
    description =
      failure.is(.emailTaken)
      ? "The user already exists." : failure.faults.first?.detail ?? failure.explanation
  }

  var json: JSON {
    [
      "name": .string(name), "code": .string(code), "description": .string(description),
      "statusCode": .number(JSONNumber(status.code)),
    ]
  }

  var response: Response { Response(status, json: json.serialized()) }
}

extension Failure {
  static let applicationUnknown = Failure("application_unknown", .invalid)
    .titled("No application has this id.")
    .remedied("Compare client_id with the id of the application in this app.")
}
