package import Runtime
package import EventLoop

/// The source of a request body, read on demand.
@EventLoop package protocol BodySource: AnyObject {
  /// Reads the whole body.
  ///
  /// - Throws: `.bodyTooLarge`, `.bodyTruncated`, or `.overloaded`.
  func body(limit: Int) async throws(Failure) -> [UInt8]
  /// Whether the client no longer waits for the response.
  var isGone: Bool { get }
}
