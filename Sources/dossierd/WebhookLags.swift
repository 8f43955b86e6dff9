import EventLoop
import Webhooks

/// The webhooks that are furthest behind their events.
///
/// Each worker measures all webhooks, so the one that answers needs no counts of others.
struct WebhookLags {
  private var furthest: [WebhookLag] = []

  /// The most samples, so that many webhooks do not fill Prometheus.
  private static let most = 20

  mutating func replace(by lags: [WebhookLag]) {
    furthest = Array(lags.sorted { $0.seconds > $1.seconds }.prefix(Self.most))
  }

  func write(to text: inout some MetricsOutput) {
    text.family(
      "dossier_webhook_lag_seconds", "gauge",
      "Age of the oldest event that a webhook has still to get; the \(Self.most) longest.")
    for lag in furthest { text.sample([("app", lag.app), ("webhook", lag.webhook)], lag.seconds) }
  }
}

extension Metrics {
  func count(_ report: WebhookWorker.Report) {
    switch report {
    case .delivered: add(1, to: .webhookDeliveries)
    case .failed: add(1, to: .webhookFailures)
    case .disabled(let reason): Log.write("warning", reason)
    case .lags(let lags): webhookLags.replace(by: lags)
    case .outage(let reason): Log.write("error", "webhooks have to wait: \(reason)")
    }
  }
}
