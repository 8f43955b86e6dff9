import CLinux
import Glibc

/// The events of a descriptor.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let read = Readiness(rawValue: EPOLLIN.rawValue)
  package static let write = Readiness(rawValue: EPOLLOUT.rawValue)
  /// The peer has closed its sending side, or the whole connection.
  package static let hangUp = Readiness(
    rawValue: EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
  )
  package static let readOrWrite: Readiness = [.read, .write]
  package static let readOrHangUp: Readiness = [.read, .hangUp]
  /// Reports changes only (edge-triggered).
  package static let edges = Readiness(rawValue: EPOLLET.rawValue)

  /// Returns whether the two sets have a common element.
  package func overlaps(_ other: Readiness) -> Bool { rawValue & other.rawValue != 0 }
}

/// An interest in the readiness of one descriptor, until cancelled.
///
/// Cancel it before the descriptor is closed. It does not own the descriptor.
@EventLoop package final class Watch {
  package let descriptor: Int32
  let generation: UInt32
  private(set) var interest: Readiness
  let body: @EventLoop (Readiness) -> Void
  private static var generations: UInt32 = 0

  /// Starts watching.
  ///
  /// - Parameters:
  ///   - descriptor: an open descriptor without another watch.
  ///   - interest: the events to report; hang-ups are always reported.
  ///   - body: called on the loop with the current events.
  /// - Throws: `EventLoopError` if the kernel refuses the descriptor, such as a plain or closed
  ///   file.
  package init(
    _ descriptor: Int32, for interest: Readiness, _ body: @escaping @EventLoop (Readiness) -> Void
  ) throws(EventLoopError) {
    self.descriptor = descriptor
    self.interest = interest
    self.body = body
    Watch.generations &+= 1
    generation = Watch.generations & 0x7fff_ffff
    try EventLoop.reactor.add(self)
  }

  /// Changes the events to report.
  package func change(to interest: Readiness) throws(EventLoopError) {
    guard interest != self.interest else { return }
    self.interest = interest
    try EventLoop.reactor.modify(self)
  }

  /// Stops watching; further calls do nothing.
  package func cancel() { EventLoop.reactor.remove(self) }
}

extension Watch {
  /// Waits until a descriptor is ready, or its peer has hung up.
  ///
  /// - Parameters:
  ///   - readiness: the events to wait for.
  ///   - descriptor: an open descriptor without another watch.
  ///   - latest: the time at which the wait ends, by `EventLoop.now()`.
  /// - Returns: false if it is not ready in time, or cannot be watched.
  package static func wait(
    for readiness: Readiness, of descriptor: Int32, until latest: UInt64
  ) async -> Bool {
    let now = EventLoop.now()
    guard now < latest else { return false }
    return await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Bool, Never>) in
      var (watch, timer): (Watch?, Timer?)
      @EventLoop func end(_ isReady: Bool) {
        guard let ended = timer else { return }
        ended.cancel()
        watch?.cancel()
        (watch, timer) = (nil, nil)
        unsafe continuation.resume(returning: isReady)
      }
      timer = Timer(after: .nanoseconds(Int64(clamping: latest - now))) { end(false) }
      watch = try? Watch(descriptor, for: readiness) { _ in end(true) }
      if watch == nil { end(false) }
    }
  }
}

/// A failed system call of the loop.
package struct EventLoopError: Error, CustomStringConvertible {
  package let call: String
  package let code: Int32

  package init(call: String, code: Int32) {
    self.call = call
    self.code = code
  }

  package var description: String { "\(call): \(systemMessage(code))" }
}

/// Returns the system's message for an error number.
package func systemMessage(_ code: Int32) -> String {
  guard let text = unsafe strerror(code) else { return "error \(code)" }
  return unsafe String(cString: text)
}
