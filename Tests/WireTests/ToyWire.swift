import Accounts
import Runtime
import Sessions
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

/// A wire for tests that uses every feature of a wire.
///
/// - The path names the app. At `/toy/whose`, only the token does.
/// - Errors are one line of text, or a redirect on one route.
/// - Bodies are forms, files, and JSON without a type.
/// - It has its own tokens and session style, and one route among those of REST.
struct ToyWire: Wire {
  var prefixes: [String] { ["/toy"] }
  var fields: [FieldName] { [.toy, .toyDevice] }
  var deviceField: FieldName? { .toyDevice }
  var crossOrigin: CrossOriginFields { CrossOriginFields(sent: [.toy], exposed: [.toy]) }

  @EventLoop func app(of call: Call) throws(Failure) -> AppReference {
    if call.request.path == "/toy/whose" {
      guard case .token(let token) = BearerToken(call.request.field(.authorization)),
        let id = AccessTokens.app(of: token)
      else { throw .tokenMissing }
      return .id(id)
    }
    if let name = call.captures["app"] { return .named(name) }
    let parts = call.request.path.split(separator: "/")
    return parts.count > 1 ? .named(String(parts[1])) : .host
  }

  @EventLoop func response(to failure: Failure, of call: Call) -> Response {
    let (status, word) = Self.answer(to: failure)
    if call.route?.pattern == "/toy/{app}/authorize" {
      var response = Response(.seeOther)
      response.add(.location, "https://app.example/?error=\(word)")
      return response
    }
    var response = Response(status)
    let app = call.app?.name ?? "no app"
    response.body = Array("toy: \(word) (\(app))".utf8)
    response.add(.contentType, "text/plain")
    return response
  }

  func page(for failure: Failure, at prefix: String) -> WebServerPage {
    WebServerPage(MediaType(rawValue: "text/plain"), "toy: \(failure.type.code)")
  }

  /// Returns the status and the word for an error.
  private static func answer(to failure: Failure) -> (status: Status, word: String) {
    switch failure {
    case .routeNotFound: (.notFound, "nowhere")
    case .methodNotAllowed: (.methodNotAllowed, "other_methods")
    case .requestMalformed: (.badRequest, "bad_form")
    case .bodyTooLarge: (.contentTooLarge, "too_large")
    case .mediaType: (.badRequest, "bad_type")
    case .reauthenticationRequired: (.unauthorized, "who_are_you_now")
    case .invalidRefreshToken: (.badRequest, "no")
    default:
      failure.type.kind == .unauthenticated ? (.unauthorized, "who_are_you") : (.badRequest, "no")
    }
  }

  /// Identifies a ticket by the access token within it.
  private static let ticket = BearerKind("ticket") {
    $0.hasPrefix("ticket-")
  } identify: {
    (token, call) async throws(Failure) in
    // The user of a token that no requested app knows.
    if token == "ticket-lost" {
      return .user(Principal(.operator, in: AppID(), scopes: .everything))
    }
    let context = call.context
    let token = String(token.dropFirst("ticket-".count))
    return .user(try await context.tokens.principal(of: token, app: context.app.id))
  }

  /// The token of an API client, as with OAuth's client credentials.
  private static let credentials = BearerKind("credentials") {
    $0.hasPrefix("credentials-")
  } identify: {
    (token, call) async throws(Failure) in
    let key = String(token.dropFirst("credentials-".count))
    return .client(try await Clients.client(by: key, call.context))
  }

  private static let style = SessionStyle("toy", scopes: Scopes(Scopes.readUser)) { context in
    [
      ("name", "Toy"), ("sub", "another"), ("app", .string(context.app.id.text)), ("did", "1"),
      ("scope", "all"),
    ]
  }

  var routes: [Route] {
    [
      Route(
        .post, "/toy/{app}/echo", access: .open,
        body: .of(.form, .multipart(Multipart.Limits(parts: 2, content: 8)), limit: 1_024),
        summary: "Say what was sent"
      ) { call in
        switch call.body {
        case .form(let form): text("\(call.text("app")) \(form["a"] ?? "-")")
        case .multipart(let parts): text("\(parts["a"]?.content.count ?? 0) bytes")
        default: text("nothing")
        }
      },
      Route(
        .post, "/toy/{app}/lenient", access: .open, body: .json(limit: 64).lenient(assuming: .json),
        summary: "Read JSON without a type, or nothing"
      ) { call in
        if case .none = call.body { text("nothing") } else { text(call.json.text) }
      },
      Route(
        .get,
        "/toy/{name}/me",
        access: .anyOf([
          .bearer(Self.ticket, proof: .session), .bearer(Self.credentials, proof: .session),
          .user(scope: Scopes.readUser), .client(scope: Scopes.readUsers),
        ]),
        summary: "Say who calls"
      ) { call in
        text(call.client == nil ? "user \(call.context.principal.user?.text ?? "")" : "program")
      },
      Route(
        .post, "/toy/{app}/change", access: .bearer(Self.ticket, proof: .fresh),
        summary: "Do what a stolen ticket must not"
      ) { _ in text("done") },
      Route(
        .post, "/toy/{app}/token", access: .open, body: .of(.form, limit: 1_024),
        summary: "Log in, or refresh"
      ) { (call) async throws(Failure) in
        guard case .form(let form) = call.body else { throw .notFound }
        let context = call.context
        let style = Self.style
        let session =
          if let token = form["refresh_token"] {
            try await Sessions.refresh(token, as: style, context)
          } else {
            try await Users.signInAnonymously(as: style, context)
          }
        let grant = try await session.tokens(context)
        return text(
          """
          access_token=\(grant.accessToken)&refresh_token=\(grant.refreshToken)\
          &device=\(session.deviceSecret ?? "")
          """)
      },
      Route(.get, "/toy/{app}/device", access: .device, summary: "Say that it is known") { _ in
        text("known")
      },
      Route(
        .get, "/v1/apps/{app}/toy", access: .user(scope: Scopes.readUser),
        summary: "Answer among the paths of another wire"
      ) { call in text(call.text("app")) },
      Route(
        .get, "/toy/whose", access: .user(scope: Scopes.readUser),
        summary: "Say which app the token is of"
      ) { call in text(call.app?.name ?? "") },
      Route(
        .get, "/toy/{app}/authorize", access: .user(scope: Scopes.readUser), summary: "Lead on"
      ) { _ in text("on") },
    ]
  }
}

private func text(_ text: String) -> Response {
  var response = Response(.ok)
  response.body = Array(text.utf8)
  return response
}

extension FieldName {
  static let toy = FieldName("Toy-Field")
  static let toyDevice = FieldName("Toy-Device")
}
