import Encoding
package import EventLoop
import Events
import JSON
package import Outbound
import Records
import Runtime

/// Calls the receivers of webhooks.
///
/// Deliveries and tests have places of their own, so that neither waits for the other.
@EventLoop package final class WebhookCalls: DomainService {
  private let settings: HTTPSourceSettings
  private lazy var deliveries = HTTPSource(settings)
  private lazy var tests: HTTPSource = {
    var settings = settings
    (settings.most, settings.mostOfApp, settings.mostOfReceiver) = (16, 2, 1)
    // A request waits for it, and nginx waits 15 seconds for that. So none waits for a place.
    settings.waiting = 0
    settings.reach.timeout = .seconds(10)
    return HTTPSource(settings)
  }()

  /// The bytes of an answer that are read, and those that are stored.
  private static let (limit, kept) = (4_096, 512)
  /// The attempts at once of a worker, of one app, and of one webhook.
  nonisolated static let (most, mostOfApp, mostOfWebhook) = (64, 16, 4)
  /// The attempts at once that only apps without another attempt may begin.
  nonisolated static let reserve = 32

  /// - Parameter settings: the networks and authorities that the operator allows.
  package init(_ settings: HTTPSourceSettings) {
    var settings = settings
    settings.reach.connectTimeout = .seconds(3)
    settings.reach.timeout = .seconds(15)
    settings.limit = Self.limit
    settings.most = Self.most
    settings.mostOfApp = Self.most
    settings.mostOfReceiver = Self.mostOfWebhook
    settings.keptConnections = 16
    self.settings = settings
  }

  /// Returns whether receivers may have an address.
  package func allows(_ address: IPAddress) -> Bool { settings.allows(address) }

  /// The result of a call.
  package struct Result: Sendable {
    package let outcome: WebhookSchedule.Outcome
    package let status: Int?
    /// A word for the failure; nil for an answer.
    package let error: String?
    /// The beginning of the answer.
    package let answer: String?
    package let duration: Duration
  }

  /// Sends a message.
  ///
  /// - Parameters:
  ///   - message: the event.
  ///   - webhook: the receiver.
  ///   - isTest: whether an operator waits for the result.
  ///   - context: the context.
  /// - Returns: the result.
  /// - Throws: `.internalError` if the keys cannot be read.
  func send(
    _ message: FeedMessage, to webhook: Webhook, isTest: Bool = false, _ context: RequestContext
  ) async throws(Failure) -> Result {
    let body = message.body
    var call = HTTPCall(webhook.url, json: String(decoding: body, as: UTF8.self))
    call.accept = "*/*"
    call.readsBody = false
    call.fields = try webhook.keys(context.keys.master)
      .fields(for: body, id: message.id, at: Timestamp.now.seconds)
    let owner = CallOwner(app: webhook.app, receiver: webhook.key)
    let start = EventLoop.now()
    func result(
      _ outcome: WebhookSchedule.Outcome, _ status: Int? = nil, _ error: String? = nil,
      _ answer: String? = nil
    ) -> Result {
      let duration = Duration.nanoseconds(Int64(EventLoop.now() - start))
      return Result(
        outcome: outcome, status: status, error: error, answer: answer, duration: duration)
    }
    do throws(FetchError) {
      let answer = try await (isTest ? tests : deliveries).send(call, for: owner)
      let outcome = WebhookSchedule.outcome(status: answer.status, retryAfter: answer.retryAfter)
      return result(
        outcome, answer.status, outcome == .delivered ? nil : "status",
        Self.text(answer.body.prefix(Self.kept)))
    } catch {
      return result(.failed(pause: nil), nil, error.word)
    }
  }

  /// Returns bytes of a receiver as text that the database can store.
  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.filter { $0 != 0 }, as: UTF8.self)
  }
}

extension RequestContext {
  @EventLoop var webhookCalls: WebhookCalls { dependencies[WebhookCalls.self] }
}
