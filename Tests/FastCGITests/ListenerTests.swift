import EventLoop
import Glibc
import TestSupport
import Testing

@testable import FastCGI

/// Tests how a worker tracks the connections of the web server.
@Suite struct ListenerTests {
  init() { LoopThread.start() }

  private static let request: [UInt8] =
    [1, 1, 0, 1, 0, 8, 0, 0] + [0, 1, 1, 0, 0, 0, 0, 0] + [1, 4, 0, 1, 0, 0, 0, 0]
    + [1, 5, 0, 1, 0, 0, 0, 0]

  /// A listener that answers each request when the test requests it.
  @EventLoop private final class Server {
    private(set) var listener: Listener?
    let port: UInt16
    var exchanges: [Exchange] = []
    var isAnswering = false
    private let socket: Int32

    init() throws {
      let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      unsafe withUnsafeMutablePointer(to: &address) {
        let address = unsafe UnsafeMutableRawPointer($0).assumingMemoryBound(to: sockaddr.self)
        unsafe bind(socket, address, size)
        listen(socket, 8)
        unsafe getsockname(socket, address, &size)
      }
      self.socket = socket
      port = UInt16(bigEndian: address.sin_port)
      let pool = BlockingPool(name: "bodies", threads: 1, waiting: 1)
      listener = try Listener(socket, FastCGISettings(pool: pool)) { [unowned self] exchange in
        exchanges.append(exchange)
        while !isAnswering { await EventLoop.sleep(for: .milliseconds(1)) }
        _ = exchange.sendAtOnce(Array("Status: 200\r\n\r\n".utf8), [])
      }
    }

    func connect() -> Int32 {
      let client = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      let size = socklen_t(MemoryLayout<sockaddr_in>.size)
      unsafe withUnsafePointer(to: &address) {
        let address = unsafe UnsafeRawPointer($0).assumingMemoryBound(to: sockaddr.self)
        #expect(unsafe Glibc.connect(client, address, size) == 0)
      }
      return client
    }

    func end() async {
      isAnswering = true
      await withCheckedContinuation { done in listener?.drain { done.resume() } }
      close(socket)
    }
  }

  @Test @EventLoop func `a request is gone if the web server closes its connection`()
    async throws
  {
    let server = try Server()
    let (left, stays) = (server.connect(), server.connect())
    for client in [left, stays] {
      #expect(unsafe send(client, Self.request, Self.request.count, 0) == Self.request.count)
      let before = server.exchanges.count
      while server.exchanges.count == before { await EventLoop.sleep(for: .milliseconds(1)) }
    }
    let exchanges = server.exchanges
    #expect(!exchanges[0].isGone && !exchanges[1].isGone)
    close(left)
    while !exchanges[0].isGone { await EventLoop.sleep(for: .milliseconds(1)) }
    #expect(!exchanges[1].isGone)
    server.isAnswering = true
    var bytes = [UInt8](repeating: 0, count: 8)
    let count = bytes.count
    while unsafe recv(stays, &bytes, count, Int32(MSG_DONTWAIT)) <= 0 {
      await EventLoop.sleep(for: .milliseconds(1))
    }
    close(stays)
    await server.end()
  }

  @Test @EventLoop func `a request is gone if its connection closes right after it`()
    async throws
  {
    let server = try Server()
    let client = server.connect()
    #expect(unsafe send(client, Self.request, Self.request.count, 0) == Self.request.count)
    close(client)
    while server.exchanges.isEmpty { await EventLoop.sleep(for: .milliseconds(1)) }
    let exchange = server.exchanges[0]
    while !exchange.isGone { await EventLoop.sleep(for: .milliseconds(1)) }
    await server.end()
  }

  /// Reads this number of bytes from a socket.
  @EventLoop private func received(_ client: Int32, _ count: Int) async -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var part = [UInt8](repeating: 0, count: count - bytes.count)
      let size = part.count
      let read = unsafe recv(client, &part, size, Int32(MSG_DONTWAIT))
      if read > 0 { bytes += part[..<read] } else { await EventLoop.sleep(for: .milliseconds(1)) }
    }
    return bytes
  }

  @Test @EventLoop
  func `a draining listener requests a close, and still answers requests that cross it`()
    async throws
  {
    let server = try Server()
    server.isAnswering = true
    let (idle, busy) = (server.connect(), server.connect())
    // A connection stays open after a response.
    for client in [idle, busy] {
      #expect(unsafe send(client, Self.request, Self.request.count, 0) == Self.request.count)
    }
    // The padded response, the end of its stream, and the end of the request.
    let response = await received(idle, 48)
    #expect(await received(busy, 48) == response)
    #expect(response[32..<34] == [1, 3])
    server.isAnswering = false
    #expect(unsafe send(busy, Self.request, Self.request.count, 0) == Self.request.count)
    while server.exchanges.count < 3 { await EventLoop.sleep(for: .milliseconds(1)) }
    var isDrained = false
    server.listener?.drain { isDrained = true }
    let closeRequest: [UInt8] = [1, 7, 0, 1, 0, 0, 0, 0]
    #expect(await received(idle, 8) == closeRequest)
    // The web server sent this request before it read the close record.
    #expect(unsafe send(idle, Self.request, Self.request.count, 0) == Self.request.count)
    server.isAnswering = true
    for client in [idle, busy] {
      #expect(await received(client, 56) == response + closeRequest)
      #expect(!isDrained)
      close(client)
    }
    while !isDrained { await EventLoop.sleep(for: .milliseconds(1)) }
  }
}
