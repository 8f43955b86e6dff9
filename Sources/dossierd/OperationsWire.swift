import AppServicesWire
import ConsoleWire
import EventLoop
import HTTP
import ManagementWire
import OpenIDWire
import ParraWire
import RESTWire
import Runtime
import Tenancy
import WireKit

/// The routes for operators and monitoring.
struct OperationsWire: Wire {
  let readiness: ReadinessCheck
  let metrics: @EventLoop @Sendable () -> String

  private var words: RESTWire { RESTWire() }

  @EventLoop func app(of call: Call) -> AppReference { words.app(of: call) }

  @EventLoop func response(to failure: Failure, of call: Call) -> Response {
    words.response(to: failure, of: call)
  }

  func page(for failure: Failure, at prefix: String) -> WebServerPage {
    words.page(for: failure, at: prefix)
  }

  var routes: [Route] {
    [
      Route(.get, "/healthz", access: .loopback, summary: "Whether the worker answers") { _ in
        text(.ok, "ok\n")
      },
      Route(.get, "/readyz", access: .loopback, summary: "Whether requests can be served") {
        [readiness] _ in
        if let fault = await readiness.fault() {
          return text(.unavailable, "not ready: \(fault)\n")
        }
        return text(.ok, "ready\n")
      },
      Route(.get, "/metrics", access: .loopback, summary: "Counters of all workers") {
        [metrics] _ in
        text(.ok, metrics())
      },
    ]
  }
}

private func text(_ status: Status, _ text: String) -> Response {
  var response = Response(status)
  response.body = Array(text.utf8)
  response.add(.contentType, "text/plain; charset=utf-8")
  response.add(.cacheControl, "no-store")
  if status == .unavailable { response.add(.retryAfter, "1") }
  return response
}

/// The wires of all APIs.
///
/// The first one answers paths that belong to none.
let clientWires: [any Wire] = [
  RESTWire(), AppServicesWire(), ParraWire(), OpenIDWire(), ManagementWire(), ConsoleWire(),
]
