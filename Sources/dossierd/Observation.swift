import CLinux
import Configuration
import EventLoop
import Glibc
import HTTP
import Outbound
import Postgres
import Runtime
import Telemetry
import WireKit

/// Observes requests and statements for the log and for OpenTelemetry.
@EventLoop enum Observation {
  /// The attributes of this process in traces and metrics.
  nonisolated static let resource = [
    ("service.name", "dossier"), ("service.version", Version.text), ("host.name", HostName.own),
    ("service.instance.id", HostName.own),
  ]

  /// Returns the observer of statements; nil for none.
  ///
  /// - Parameters:
  ///   - logs: whether statements are logged.
  ///   - traces: whether there is a collector.
  /// - Returns: the observer.
  static func observer(logs: Bool, traces: Bool) -> StatementObserver? {
    guard traces else { return logs ? Log.observeStatement : nil }
    return {
      let log = logs ? Log.observeStatement() : nil
      let trace = RequestTrace.current
      return { report in
        log?(report)
        trace?.addStatement(
          report.name, nanoseconds: report.nanoseconds, rows: report.rows,
          failure: report.failure?.rawValue)
      }
    }
  }

  /// Begins the trace of a request; nil if it is not sampled.
  ///
  /// - Parameters:
  ///   - call: the request.
  ///   - tracer: begins traces; nil without a collector.
  ///   - networks: those whose callers decide whether their traces are sampled, beside this machine.
  /// - Returns: the trace.
  static func begin(
    _ call: Call, _ tracer: Tracer?, callersIn networks: [IPNetwork]
  ) -> RequestTrace? {
    guard let tracer else { return nil }
    let request = call.request
    // The context has no address before the request is answered.
    let address = ClientAddress(request.address)
    guard address.isLocal || address.isIn(networks) else { return tracer.begin(nil) }
    guard let field = request.bytes(of: .traceparent) else { return tracer.begin(nil) }
    return tracer.begin(TraceContext(field))
  }

  /// Answers a request, so that its statements belong to it.
  static func observe(
    _ request: Request, _ trace: RequestTrace?, _ answer: @EventLoop () async -> Response
  ) async -> Response {
    await Log.$requestID.withValue(request.id.description) {
      await RequestTrace.$current.withValue(trace) { await answer() }
    }
  }

  private static let methods: [HTTP.Method] = [
    .get, .put, .post, .patch, .delete, .head, .options,
  ]

  /// Ends the trace of a request that has been answered.
  static func end(_ trace: RequestTrace, of call: Call, status: Int) {
    let method = call.request.method
    trace.end(
      RequestTrace.Request(
        method: methods.contains(method) ? method.rawValue : "_OTHER", route: call.route?.pattern,
        app: call.context.knownApp?.name, status: status))
  }
}

extension Worker {
  /// Sends the metrics to the collector every 15 seconds; those of all workers of the supervisor.
  func sendMetrics() {
    guard let collector else { return }
    EventLoop.task { [metrics] in
      while true {
        await collector.send(metrics.families, since: metrics.start)
        await EventLoop.sleep(for: .seconds(15))
      }
    }
  }
}
