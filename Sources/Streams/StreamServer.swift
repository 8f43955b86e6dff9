import CLinux
package import EventLoop
import Glibc
package import Postgres
package import Runtime

/// The streams of a host, on one thread.
///
/// A stream has no thread, no task and no timer of its own.
@EventLoop package final class StreamServer {
  private let descriptor: Int32
  private let master: MasterKey
  private let users: UserStreams
  private let feeds: FeedStreams
  private var watch: Watch?
  private var streams: [ObjectIdentifier: EventStream] = [:]
  private var networks: [[UInt8]: Int] = [:]
  private var (opened, refused) = (0, 0)
  private var isDraining = false
  private var second = 0

  /// The limits of open streams.
  package enum Limit {
    package static let program = 20_000
    package static let network = 500
  }

  /// Refusals take a moment, so there is some room above the limit of the program.
  private static let room = 500
  private static let heartbeatSeconds = 25

  /// Starts to accept connections.
  ///
  /// - Parameters:
  ///   - descriptor: a listening socket, which does not block and which the caller closes.
  ///   - master: the master key, which encrypts tickets.
  ///   - database: the database, which the caller starts.
  /// - Throws: `EventLoopError` if the socket cannot be watched.
  package init(
    on descriptor: Int32, _ master: MasterKey, _ database: Database
  ) throws(EventLoopError) {
    (self.descriptor, self.master) = (descriptor, master)
    users = UserStreams(master, database)
    feeds = FeedStreams(master, database)
    try listen()
    tick()
  }

  /// The number of connections.
  package var count: Int { streams.count }

  /// Lets all clients connect again, and accepts no more connections.
  package func drain() {
    isDraining = true
    watch?.cancel()
    watch = nil
    for stream in Array(streams.values) { stream.reconnect() }
  }

  // MARK: Connections

  private func listen() throws(EventLoopError) {
    watch = try Watch(descriptor, for: .read) { [unowned self] _ in accept() }
  }

  private func accept() {
    while !isDraining {
      let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      let connection = accept4(descriptor, nil, nil, flags)
      guard connection >= 0 else {
        if errno == EINTR || errno == ECONNABORTED { continue }
        if errno != EAGAIN { pause() }
        return
      }
      guard streams.count < Limit.program + Self.room,
        let stream = try? EventStream(connection, self)
      else {
        close(connection)
        continue
      }
      streams[ObjectIdentifier(stream)] = stream
    }
  }

  /// Accepts again after a moment, since no descriptor or memory is left.
  private func pause() {
    watch?.cancel()
    watch = nil
    _ = Timer(after: .milliseconds(100)) { [weak self] in
      guard let self, !isDraining else { return }
      do { try listen() } catch { pause() }
    }
  }

  /// Opens the stream of a request, or refuses it.
  func open(_ stream: EventStream, _ head: SCGIHead) {
    if head.query == "metrics" { return stream.answer(StreamEvent.metrics(metrics)) }
    guard let ticket = StreamTicket(inQuery: head.query, master) else {
      return refuse(stream, "403 Forbidden")
    }
    let address = ClientAddress(head.address)
    // Clients on this machine are not limited, as in nginx.
    let network = address.isLocal ? nil : address.network
    let isFull =
      network.map { networks[$0, default: 0] >= Limit.network } == true
      || streams.count > Limit.program
    guard !isFull, let subscription = subscription(of: stream, to: ticket, head.lastEventID) else {
      return refuse(stream, "429 Too Many Requests")
    }
    opened += 1
    if let network { networks[network, default: 0] += 1 }
    stream.begin(subscription, network: network)
  }

  private func subscription(
    of stream: EventStream, to ticket: StreamTicket, _ lastEventID: String?
  ) -> (any Subscription)? {
    switch ticket.subject {
    case .user(let user): users.subscribe(stream, to: user, after: lastEventID)
    case .feed(let feed): feeds.subscribe(stream, to: feed, after: lastEventID)
    }
  }

  private func refuse(_ stream: EventStream, _ status: String) {
    refused += 1
    stream.refuse(status)
  }

  func forget(_ stream: EventStream) {
    streams[ObjectIdentifier(stream)] = nil
    guard let network = stream.network else { return }
    let count = networks[network, default: 1] - 1
    networks[network] = count > 0 ? count : nil
  }

  /// The numbers of the program, in Prometheus's text format.
  private var metrics: String {
    let all = streams.values.count { $0.subscription != nil }
    return """
      # HELP dossier_streams Open streams, by what they tell.
      # TYPE dossier_streams gauge
      dossier_streams{of="user"} \(all - feeds.count)
      dossier_streams{of="feed"} \(feeds.count)
      # HELP dossier_streams_users Users with open streams.
      # TYPE dossier_streams_users gauge
      dossier_streams_users \(users.count)
      # HELP dossier_streams_opened_total Streams that were opened.
      # TYPE dossier_streams_opened_total counter
      dossier_streams_opened_total \(opened)
      # HELP dossier_streams_refused_total Streams that were refused, by a limit or without a ticket.
      # TYPE dossier_streams_refused_total counter
      dossier_streams_refused_total \(refused)
      # HELP dossier_streams_read_timestamp_seconds When the states of users were last read.
      # TYPE dossier_streams_read_timestamp_seconds gauge
      dossier_streams_read_timestamp_seconds \(users.readAt)

      """
  }

  /// Checks the times of all streams, and sends each a heartbeat in its second.
  private func tick() {
    second = (second + 1) % Self.heartbeatSeconds
    let now = EventLoop.now()
    for stream in Array(streams.values) {
      stream.check(at: now, beats: Int(stream.descriptor) % Self.heartbeatSeconds == second)
    }
    _ = Timer(after: .seconds(1)) { [weak self] in self?.tick() }
  }
}
