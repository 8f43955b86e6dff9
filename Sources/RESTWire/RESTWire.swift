import Declarations
import Documents
import EventLoop
package import HTTP
import JSON
package import Runtime
package import WireKit

/// Dossier's own REST API, `/v1`.
package struct RESTWire: Wire {
  package init() {}

  package var routes: [Route] { Self.chapters.flatMap(\.operations).map(\.route) }
  package var prefixes: [String] { ["/v1"] }
  package var fields: [FieldName] { [.app, .device, .prefer] }
  package var deviceField: FieldName? { .device }

  package var crossOrigin: CrossOriginFields {
    CrossOriginFields(
      sent: [
        .authorization, .contentType, .app, .device, .ifMatch, .ifNoneMatch, .idempotencyKey,
        .prefer, .requestID,
      ] + FieldName.ofClients,
      exposed: [
        .entityTag, .link, .location, .rateLimit, .rateLimitPolicy, .retryAfter, .authenticate,
        .requestID, .idempotentReplayed, .totalCount,
      ]
    )
  }

  @EventLoop package func app(of call: Call) -> AppReference {
    call.request.field(.app).map(AppReference.named) ?? .host
  }

  @EventLoop package func response(to failure: Failure, of call: Call) -> Response {
    Problem(failure).response(call.request.id)
  }

  package func page(for failure: Failure, at prefix: String) -> WebServerPage {
    WebServerPage(Problem.mediaType, Problem(failure).json(of: nil).text)
  }
}

extension FieldName {
  /// The app of the request, if neither the host name nor the deployment selects it.
  package static let app = FieldName("Dossier-App")
  /// Fields that libraries and tracing tools add to requests of pages.
  ///
  /// The server ignores them.
  static let ofClients = [
    FieldName("Cache-Control"), FieldName("Pragma"), FieldName("X-Requested-With"),
    FieldName("Traceparent"), FieldName("Tracestate"), FieldName("Baggage"),
    FieldName("Sentry-Trace"),
  ]
}

/// A path of user data: `/v1/me` for the user, `/v1/users/{user}` for API clients.
struct BasePath {
  let prefix: String
  let read: Access
  let write: Access

  static let me = BasePath(
    prefix: "/v1/me", read: .user(scope: Scopes.readUser),
    write: .user(scope: Scopes.updateMetadata)
  )
  /// The access to credentials and sessions.
  static let meIdentities = BasePath(
    prefix: "/v1/me", read: .user(scope: Scopes.readUser),
    write: .user(scope: Scopes.updateIdentities)
  )
  static let users = BasePath(
    prefix: "/v1/users/{user}", read: .client(scope: Scopes.readUsers),
    write: .client(scope: Scopes.updateUsers)
  )
  static let usersAppMetadata = BasePath(
    prefix: "/v1/users/{user}", read: .client(scope: Scopes.readAppMetadata),
    write: .client(scope: Scopes.updateAppMetadata)
  )
}

extension Response {
  /// Returns a response with a document and its version.
  init(_ status: Status, _ stored: StoredDocument) {
    self.init(status, json: stored.body, tag: EntityTag(stored.version))
  }
}
