package import Dossier
package import EventLoop
package import HTTP

/// One language that clients speak: its routes, how it names the app, and its words for what goes
/// wrong.
///
/// All that a wire has of its own is declared here; whatever serves wires is made of it, nginx's
/// files too.
package protocol Wire: Sendable {
  var routes: [Route] { get }
  /// Paths below which all is the wire's, `/v1`: it answers there also what no route does.
  var prefixes: [String] { get }
  /// Header fields that it reads beside those that are read of every request; see `WebServer`.
  var fields: [FieldName] { get }
  /// Header fields that it reads and no client sends: the web server writes them, in the place of any
  /// that a client would.
  var writtenFields: [WrittenField] { get }
  /// The field in which a client shows the secret of its device, or asks for a cookie that holds it;
  /// nil where devices prove nothing.
  var deviceField: FieldName? { get }
  /// Fields that pages of other origins may send and read.
  var crossOrigin: CrossOriginFields { get }
  /// Which app a request is for.
  ///
  /// Asked also when no route was found; `call` then has the request alone.
  /// - Throws: when the request cannot be understood without it.
  @EventLoop func app(of call: Call) throws(Failure) -> AppReference
  /// Says in the wire's words why there is nothing else to say.
  ///
  /// - Parameters:
  ///   - refusal: why.
  ///   - call: all that was known by then: the request always, route and app where they were found.
  /// - Returns: whatever such a client expects for an error, a redirect too.
  @EventLoop func response(to refusal: Refusal, of call: Call) -> Response
  /// What the web server answers when it asks no worker, or reaches none.
  func page(for refusal: WebServerRefusal) -> WebServerPage
}

extension Wire {
  package var prefixes: [String] { [] }
  package var fields: [FieldName] { [] }
  package var writtenFields: [WrittenField] { [] }
  package var deviceField: FieldName? { nil }
  package var crossOrigin: CrossOriginFields { CrossOriginFields(sent: [], exposed: []) }
}

/// What a request says of the app that it is for.
package enum AppReference: Sendable {
  case named(String)
  /// The one that has the host that was asked, else the deployment's own.
  case host
  /// The one that a token says it is of, which is to be verified by that app's keys.
  case id(AppID)
}

/// A header field that the web server writes.
package struct WrittenField: Sendable {
  package let name: FieldName
  /// Of nginx's variables, `$scheme`.
  package let expression: String

  package init(_ name: FieldName, _ expression: String) {
    self.name = name
    self.expression = expression
  }
}

/// Header fields beside those that the Fetch Standard lets any page send or read.
package struct CrossOriginFields: Sendable {
  package let sent: [FieldName]
  package let exposed: [FieldName]

  package init(sent: [FieldName], exposed: [FieldName]) {
    self.sent = sent
    self.exposed = exposed
  }
}

/// A wire that a service speaks, with what follows from its declarations.
package final class ServedWire: Sendable {
  let wire: any Wire
  let crossOrigin: CrossOrigin
  let deviceField: FieldName?
  private let prefixes: [[UInt8]]

  init(_ wire: any Wire) {
    self.wire = wire
    crossOrigin = CrossOrigin(wire.crossOrigin)
    deviceField = wire.deviceField
    prefixes = wire.prefixes.map { Array($0.utf8) }
  }

  /// How much of a path is the wire's own; nil when it is another's.
  func ownedLength(of path: Substring) -> Int? {
    var path = path
    return path.withUTF8 { path in
      prefixes.filter { Self.isOwned(path, below: $0) }.map(\.count).max()
    }
  }

  private static func isOwned(_ path: UnsafeBufferPointer<UInt8>, below prefix: [UInt8]) -> Bool {
    guard path.count >= prefix.count else { return false }
    for index in prefix.indices where path[index] != prefix[index] { return false }
    return path.count == prefix.count || path[prefix.count] == UInt8(ascii: "/")
  }
}
