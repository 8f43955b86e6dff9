import CLinux
import Glibc

/// What a descriptor is ready for, or is watched for.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt32
  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static let read = Readiness(rawValue: EPOLLIN.rawValue)
  package static let write = Readiness(rawValue: EPOLLOUT.rawValue)
  /// The peer has closed its sending side, or all of it.
  package static let hangUp = Readiness(
    rawValue: EPOLLRDHUP.rawValue | EPOLLHUP.rawValue | EPOLLERR.rawValue
  )
  package static let readOrWrite: Readiness = [.read, .write]
  package static let readOrHangUp: Readiness = [.read, .hangUp]
  /// Report changes only, not states.
  package static let edges = Readiness(rawValue: EPOLLET.rawValue)

  /// Whether the two have something in common.
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
  ///   - descriptor: open, and watched by nobody else.
  ///   - interest: what to report; hang-ups are always reported.
  ///   - body: called on the loop with what the descriptor is ready for.
  /// - Throws: `EventLoopError` when the kernel refuses the descriptor (a plain file, a closed one).
  package init(
    _ descriptor: Int32,
    for interest: Readiness,
    _ body: @escaping @EventLoop (Readiness) -> Void
  ) throws(EventLoopError) {
    self.descriptor = descriptor
    self.interest = interest
    self.body = body
    Watch.generations &+= 1
    generation = Watch.generations & 0x7fff_ffff
    try EventLoop.reactor.add(self)
  }

  /// Watches for something else from now on.
  package func change(to interest: Readiness) throws(EventLoopError) {
    guard interest != self.interest else { return }
    self.interest = interest
    try EventLoop.reactor.modify(self)
  }

  /// Stops watching; further calls do nothing.
  package func cancel() { EventLoop.reactor.remove(self) }
}

/// A system call of the loop that failed.
package struct EventLoopError: Error, CustomStringConvertible {
  package let call: String
  package let code: Int32

  package init(call: String, code: Int32) {
    self.call = call
    self.code = code
  }

  package var description: String { "\(call): \(systemMessage(code))" }
}

/// The system's words for an error number.
package func systemMessage(_ code: Int32) -> String {
  guard let text = unsafe strerror(code) else { return "error \(code)" }
  return unsafe String(cString: text)
}
