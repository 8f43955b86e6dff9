import Declarations
package import Runtime
import EventLoop
package import HTTP
import JSON
package import WireKit

/// Dossier's own REST API, `/v1`.
package struct RESTWire: Wire {
  package init() {}

  package var routes: [Route] { Self.chapters.flatMap(\.operations).map(\.route) }
  package var prefixes: [String] { ["/v1"] }
  package var fields: [FieldName] { [.app, .device] }
  package var deviceField: FieldName? { .device }

  package var crossOrigin: CrossOriginFields {
    CrossOriginFields(
      sent: [
        .authorization, .contentType, .app, .device, .ifMatch, .ifNoneMatch, .idempotencyKey,
        .requestID,
      ] + FieldName.ofClients,
      exposed: [
        .entityTag, .link, .location, .rateLimit, .rateLimitPolicy, .retryAfter, .authenticate,
        .requestID, .idempotentReplayed,
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
  /// The secret of the device, or `cookie` to store the secret in a cookie.
  package static let device = FieldName("Dossier-Device")
}
