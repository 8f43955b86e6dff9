package import Dossier
package import EventLoop
package import HTTP
package import JSON

/// One language that clients speak: its routes, and its words for what goes wrong.
package protocol Wire: Sendable {
  var routes: [Route] { get }
  /// Says in the wire's words why there is nothing else to say.
  ///
  /// - Parameters:
  ///   - refusal: why.
  ///   - id: of the request, which the client may quote to the operator.
  /// - Returns: an error's answer, always.
  func response(to refusal: Refusal, request id: RequestID) -> Response
}

/// Why a request gets no answer of its handler.
package enum Refusal: Error {
  case noSuchPath
  case badPath
  case method(allowed: [Method])
  case mediaType(accepted: [MediaType])
  case bodyTooLong(limit: Int)
  /// The client, or the web server, sent less than it stated.
  case bodyTruncated
  case json(JSONError)
  case patch(pointer: String, reason: String)
  case condition(reason: String)
  case notLoopback
  case failure(Failure)
}

/// Where the body of a request comes from, when it is asked for.
@EventLoop package protocol BodySource: AnyObject {
  /// - Throws: `.bodyTooLong`, `.bodyTruncated`, or `.failure(.overloaded)`.
  func body(limit: Int) async throws(Refusal) -> [UInt8]
  /// Whether nobody waits for the answer any more.
  var isGone: Bool { get }
}
