import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// A wire that no client speaks, which has of everything what the real ones need of it.
///
/// Its app is in the path, but for `/toy/whose`, where only the token tells; its errors are one line
/// of text, or on one route a redirect; its bodies are forms, files, and JSON without a type.
struct ToyWire: Wire {
  var prefixes: [String] { ["/toy"] }
  var fields: [FieldName] { [.toy] }
  var crossOrigin: CrossOriginFields { CrossOriginFields(sent: [.toy], exposed: [.toy]) }

  @EventLoop func app(of call: Call) throws(Failure) -> AppReference {
    if call.request.path == "/toy/whose" {
      guard case .token(let token) = BearerToken(call.request.field(.authorization)),
        let id = AccessTokens.app(of: token)
      else { throw .unauthenticated(.missing) }
      return .id(id)
    }
    let parts = call.request.path.split(separator: "/")
    return parts.count > 1 ? .named(String(parts[1])) : .host
  }

  @EventLoop func response(to refusal: Refusal, of call: Call) -> Response {
    if call.route?.pattern == "/toy/{app}/authorize" {
      var response = Response(.seeOther)
      response.add(.location, "https://app.example/?error=\(Self.word(for: refusal))")
      return response
    }
    var response = Response(Self.status(of: refusal))
    let app = call.app?.name ?? "no app"
    response.body = Array("toy: \(Self.word(for: refusal)) (\(app))".utf8)
    response.add(.contentType, "text/plain")
    return response
  }

  func page(for refusal: WebServerRefusal) -> WebServerPage {
    WebServerPage(MediaType(rawValue: "text/plain"), "toy: \(refusal.rawValue)")
  }

  private static func word(for refusal: Refusal) -> String {
    switch refusal {
    case .noSuchPath: "nowhere"
    case .method: "other_methods"
    case .form, .multipart: "bad_form"
    case .mediaType: "bad_type"
    case .failure(.unauthenticated), .failure(.unknownClient): "who_are_you"
    default: "no"
    }
  }

  private static func status(of refusal: Refusal) -> Status {
    switch refusal {
    case .noSuchPath: .notFound
    case .method: .methodNotAllowed
    case .failure(.unauthenticated), .failure(.unknownClient): .unauthorized
    default: .badRequest
    }
  }

  /// A token that says it is a ticket is one, and lets in as nobody in particular.
  private static let ticket = BearerKind("ticket") {
    $0.hasPrefix("ticket-")
  } identify: {
    (token, call) async throws(Failure) in
    guard token == "ticket-7", let app = call.app else { throw .unauthenticated(.malformed) }
    return .user(
      Caller(.operator, scopes: Scopes(""), on: UserID(trusted: "no one"), of: app.id)
    )
  }

  var routes: [Route] {
    [
      Route(
        .post,
        "/toy/{app}/echo",
        access: .open,
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
        .post,
        "/toy/{app}/lenient",
        access: .open,
        body: .json(limit: 64).lenient(assuming: .json),
        summary: "Read JSON without a type, or nothing"
      ) { call in
        if case .none = call.body { text("nothing") } else { text(call.json.text) }
      },
      Route(
        .get,
        "/toy/{name}/me",
        access: .anyOf([
          .user(scope: Scopes.readUser), .client(scope: Scopes.readUsers), .bearer(Self.ticket),
        ]),
        summary: "Say who calls"
      ) { call in
        text(call.client == nil ? "user \(call.user?.user.text ?? "")" : "program")
      },
      Route(
        .get,
        "/toy/whose",
        access: .user(scope: Scopes.readUser),
        summary: "Say which app the token is of"
      ) { call in text(call.app?.name ?? "") },
      Route(
        .get,
        "/toy/{app}/authorize",
        access: .user(scope: Scopes.readUser),
        summary: "Lead on"
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
}
