import Encoding
package import EventLoop
import Events
package import Outbound
import Records
import Runtime

/// Sends events to log systems.
///
/// Batches and tests have places of their own, so that neither waits for the other.
@EventLoop package final class LogStreamSender: DomainService {
  private let settings: HTTPSourceSettings
  private let syslog: LocalDatagrams
  private let sender: SyslogSender
  private lazy var batches = HTTPSource(settings)
  private lazy var tests: HTTPSource = {
    var settings = settings
    (settings.most, settings.mostOfApp, settings.mostOfReceiver) = (16, 2, 1)
    // A request waits for it, and nginx waits 15 seconds for that. So none waits for a place.
    settings.waiting = 0
    settings.reach.timeout = .seconds(10)
    return HTTPSource(settings)
  }()

  /// Writes an event of a stream to the log of this process, and returns whether it could.
  ///
  /// Nil in a process without a log, such as a command.
  package var writesLine: (@EventLoop (_ event: [UInt8], _ stream: String) -> Bool)?

  /// The bytes of an answer that are read.
  private static let limit = 4_096
  /// The batches at once of a worker, and of one app.
  nonisolated static let (most, mostOfApp) = (64, 5)
  /// The batches at once that only apps without another batch may begin.
  nonisolated static let reserve = 32
  /// How long syslog may have no room.
  private static let patience = Duration.seconds(10)

  /// - Parameters:
  ///   - settings: the networks and authorities that the operator allows.
  ///   - socket: the path of the socket of syslog.
  ///   - sender: this process, as messages of syslog name it.
  package init(_ settings: HTTPSourceSettings, syslog socket: String, _ sender: SyslogSender) {
    var settings = settings
    settings.reach.connectTimeout = .seconds(3)
    settings.reach.timeout = .seconds(15)
    settings.limit = Self.limit
    // The worker limits the batches.
    (settings.most, settings.mostOfApp, settings.mostOfReceiver) = (Self.most, Self.most, 1)
    settings.keptConnections = 16
    (self.settings, self.sender) = (settings, sender)
    syslog = LocalDatagrams(to: socket)
  }

  /// Returns whether receivers may have an address.
  package func allows(_ address: IPAddress) -> Bool { settings.allows(address) }

  /// The result of a batch.
  package struct Result: Sendable {
    /// How many of the first events were accepted.
    package let count: Int
    package let status: Int?
    /// A word for the failure; nil if all events were accepted.
    package let error: String?
    package let duration: Duration
  }

  /// Sends events in their order.
  ///
  /// - Parameters:
  ///   - messages: the events, with their positions in the feed.
  ///   - stream: the stream.
  ///   - isTest: whether an operator waits for the result.
  ///   - master: the key that decrypts the header field.
  /// - Returns: the result.
  func send(
    _ messages: [(message: FeedMessage, position: Int)], to stream: LogStream,
    isTest: Bool = false, _ master: MasterKey
  ) async -> Result {
    let start = EventLoop.now()
    let (count, status, error) =
      switch stream.kind {
      case .http:
        await post(messages.map(\.message), to: stream, isTest: isTest, master)
      case .syslog: await sendToSyslog(messages, of: stream.name)
      case .file: write(messages.map(\.message), of: stream.name)
      }
    let duration = Duration.nanoseconds(Int64(EventLoop.now() - start))
    return Result(count: count, status: status, error: error, duration: duration)
  }

  private typealias Outcome = (count: Int, status: Int?, error: String?)

  private func post(
    _ messages: [FeedMessage], to stream: LogStream, isTest: Bool, _ master: MasterKey
  ) async -> Outcome {
    var lines: [UInt8] = []
    for message in messages {
      lines += message.body
      lines.append(UInt8(ascii: "\n"))
    }
    var call = HTTPCall(
      stream.url ?? "", bytes: Gzip.compressed(lines), type: "application/x-ndjson")
    call.accept = "*/*"
    call.readsBody = false
    call.fields = [("Content-Encoding", "gzip")]
    do throws(Failure) {
      if let field = try stream.headerField(master) { call.fields.append(field) }
    } catch {
      return (0, nil, "unreadable_header")
    }
    do throws(FetchError) {
      let owner = CallOwner(app: stream.app, receiver: stream.key)
      let status = try await (isTest ? tests : batches).send(call, for: owner).status
      let isAccepted = (200...299).contains(status)
      return isAccepted ? (messages.count, status, nil) : (0, status, "status")
    } catch {
      return (0, nil, error.word)
    }
  }

  private func sendToSyslog(
    _ messages: [(message: FeedMessage, position: Int)], of stream: String
  ) async -> Outcome {
    let latest = EventLoop.now() &+ Self.patience.nanoseconds
    for (index, (message, position)) in messages.enumerated() {
      let bytes = SyslogMessage(message, at: position, of: stream, from: sender).bytes
      do throws(FetchError) {
        try await syslog.send(bytes, until: latest)
      } catch .tooLarge {
        return (index, nil, "message_too_large")
      } catch {
        return (index, nil, error.word)
      }
    }
    return (messages.count, nil, nil)
  }

  private func write(_ messages: [FeedMessage], of stream: String) -> Outcome {
    guard let writesLine else { return (0, nil, "no_log") }
    for (index, message) in messages.enumerated() where !writesLine(message.body, stream) {
      return (index, nil, "log_not_writable")
    }
    return (messages.count, nil, nil)
  }
}

extension RequestContext {
  @EventLoop var logStreamSender: LogStreamSender { dependencies[LogStreamSender.self] }
}
