import CFastCGI
package import EventLoop
import Glibc

/// One request and its response.
///
/// It lives until its handler returns; nothing of it may be kept longer.
@safe @EventLoop package final class Exchange {
  private let peer: Peer
  private let parameters: ParameterTable
  private let bodyIsHere: Bool
  /// Whether the web server keeps the connection for its next request.
  let keeps: Bool
  private var isOver = false
  /// The number of response bytes.
  package private(set) var sent = 0

  init(_ peer: Peer, bodyIsHere: Bool, keeps: Bool) {
    self.peer = peer
    parameters = peer.parameters
    self.bodyIsHere = bodyIsHere
    self.keeps = keeps
  }

  private var pool: BlockingPool { peer.pool }

  /// Whether the web server has closed the connection.
  ///
  /// It does so if its client has disconnected or its own time-out has passed. Then no one receives
  /// the response.
  package var isGone: Bool { peer.isGone }

  /// Returns a parameter as sent, such as `REQUEST_METHOD`, borrowed until the request is over.
  @_lifetime(borrow self)
  package func bytes(of name: StaticString) -> Span<UInt8>? {
    guard !isOver, let value = unsafe parameters.value(of: name) else { return nil }
    return unsafe _overrideLifetime(Span(_unsafeElements: value), borrowing: self)
  }

  /// Returns a header field, such as `If-Match`, borrowed until the request is over.
  @_lifetime(borrow self)
  package func bytes(ofField name: StaticString) -> Span<UInt8>? {
    guard !isOver, let value = unsafe parameters.value(ofField: name) else { return nil }
    return unsafe _overrideLifetime(Span(_unsafeElements: value), borrowing: self)
  }

  /// Returns a parameter as text; invalid UTF-8 is repaired.
  package func parameter(_ name: StaticString) -> String? {
    guard !isOver, let value = unsafe parameters.value(of: name) else { return nil }
    return unsafe String(decoding: value, as: UTF8.self)
  }

  // MARK: The body

  /// Reads the body.
  ///
  /// - Parameter limit: the largest size, in bytes.
  /// - Returns: as many bytes as the client stated.
  /// - Throws: `.tooLong` before any read, if the stated length exceeds the limit; `.truncated`
  ///   if the web server disconnects, or sends less than it stated; `.overloaded` if no thread is
  ///   free for a large body.
  package func readBody(limit: Int) async throws(FastCGIError) -> [UInt8] {
    let stated = parameter("CONTENT_LENGTH").flatMap { Int($0) } ?? 0
    guard stated <= limit else { throw .tooLong }
    guard stated > 0 else { return [] }
    let body: [UInt8]
    if bodyIsHere {
      body = unsafe Self.read(stated, from: Stream(peer.request.pointee.in))
    } else {
      let stream = unsafe Stream(peer.request.pointee.in)
      do throws(BlockingPoolError) {
        body = try await pool.run { Self.read(stated, from: stream) }
      } catch {
        throw .overloaded
      }
    }
    peer.bodyIsRead()
    guard body.count == stated else { throw .truncated }
    return body
  }

  private nonisolated static func read(_ count: Int, from stream: Stream) -> [UInt8] {
    unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      let start = unsafe UnsafeMutableRawPointer(buffer.baseAddress.unsafelyUnwrapped)
      filled = unsafe Int(
        FCGX_GetStr(start.assumingMemoryBound(to: CChar.self), Int32(count), stream.pointer)
      )
    }
  }

  // MARK: The response

  /// Passes the response to libfcgi, which sends it, unless it is too large for the loop to write.
  ///
  /// If the web server has disconnected meanwhile, this is not an error here.
  /// - Returns: false if the response is too large; then call `send`.
  package func sendAtOnce(_ head: [UInt8], _ body: [UInt8]) -> Bool {
    guard head.count + body.count <= FastCGISettings.window else { return false }
    sent += head.count + body.count
    let stream = unsafe Stream(peer.request.pointee.out)
    Self.write(head, to: stream)
    Self.write(body, to: stream)
    return true
  }

  /// Passes a large response to libfcgi, on another thread.
  package func send(_ head: [UInt8], _ body: [UInt8]) async {
    sent += head.count + body.count
    let stream = unsafe Stream(peer.request.pointee.out)
    Self.write(head, to: stream)
    if (try? await pool.run { Self.write(body, to: stream) }) == nil {
      // No thread is free. A slow response is better than none, and the send time-out bounds it.
      Self.write(body, to: stream)
    }
  }

  private nonisolated static func write(_ bytes: [UInt8], to stream: Stream) {
    unsafe bytes.withUnsafeBytes { bytes in
      _ = unsafe FCGX_PutStr(
        bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), stream.pointer
      )
    }
  }

  /// Ends the response and discards the rest of the body, so that the next request can follow.
  ///
  /// - Returns: false if the body has not arrived completely; then call `finish`.
  func finishAtOnce() -> Bool {
    guard bodyIsHere else { return false }
    isOver = true
    unsafe Self.drain(Stream(peer.request.pointee.in))
    unsafe FCGX_Finish_r(peer.request)
    return true
  }

  /// Ends the response to a request with a large body that was refused or not read.
  func finish() async {
    isOver = true
    let stream = unsafe Stream(peer.request.pointee.in)
    let drained: Void? = try? await pool.run { Self.drain(stream) }
    if drained == nil { return peer.close() }
    unsafe FCGX_Finish_r(peer.request)
  }

  private nonisolated static func drain(_ stream: Stream) {
    guard unsafe FCGX_HasSeenEOF(stream.pointer) == 0 else { return }
    // This size is allocated on the stack.
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1_024) { scratch in
      while unsafe FCGX_GetStr(scratch.baseAddress, 1_024, stream.pointer) == 1_024 {}
    }
  }
}

/// A libfcgi stream that is passed to a thread of the pool.
///
/// Safe to send: while the pool uses it, the exchange waits, and no other code accesses it.
@safe private struct Stream: Sendable {
  nonisolated(unsafe) let pointer: UnsafeMutablePointer<FCGX_Stream>?

  init(_ pointer: UnsafeMutablePointer<FCGX_Stream>?) { unsafe self.pointer = pointer }
}
