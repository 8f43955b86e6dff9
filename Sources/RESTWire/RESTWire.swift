import EventLoop
package import HTTP
import JSON
package import Postgres
package import Wiring

/// Dossier's own REST API, `/v1`.
package struct RESTWire: Wire {
  package init() {}

  /// The statements that are not the domain's.
  package static let statements: [any PreparedStatement] = [ProfileResource.form]

  /// Where the picture is shown that a profile names.
  package static func path(ofPicture name: String) -> String { PictureResource.path(name) }

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

  @EventLoop package func response(to refusal: Refusal, of call: Call) -> Response {
    Problem(of: refusal).response(call.request.id)
  }

  package func page(for refusal: WebServerRefusal) -> WebServerPage {
    let problem = Problem(of: refusal)
    return WebServerPage(Problem.mediaType, problem.json(of: nil).text)
  }
}

extension FieldName {
  /// Names the app that is asked, where neither the host name nor the deployment tells.
  package static let app = FieldName("Dossier-App")
  /// What libraries and tools for tracing add to the requests of a page; nobody here reads them.
  static let ofClients = [
    FieldName("Cache-Control"), FieldName("Pragma"), FieldName("X-Requested-With"),
    FieldName("Traceparent"), FieldName("Tracestate"), FieldName("Baggage"),
    FieldName("Sentry-Trace"),
  ]
  /// The secret of the device, or the wish to hold it in a cookie.
  package static let device = FieldName("Dossier-Device")
}
