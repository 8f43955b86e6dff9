internal import Crypto
import Encoding
import Glibc
package import JSON
package import Postgres
import Synchronization

/// The id of a resource, of one of the types below.
package protocol Identifier: Hashable, Sendable, Bindable, LosslessStringConvertible {
  var text: String { get }

  /// Wraps text that is known to be an id, from the database or a verified token.
  init(trusted text: String)
}

extension Identifier {
  package var description: String { text }

  package func appendText(to bytes: inout [UInt8]) -> Bool { text.appendText(to: &bytes) }
}

/// The id of a resource: 24 hexadecimal characters in lower case; the first 8 are the time in
/// seconds.
///
/// The type parameter `Of` prevents confusing ids of different kinds.
/// - Source: the ObjectId of BSON, which clients of App Services expect.
package struct ID<Of>: Identifier {
  package let text: String

  package init(trusted text: String) { self.text = text }

  /// Creates a new id.
  package init() { text = ObjectIDSource.next() }

  /// Parses a client's text; returns nil unless it is 24 hexadecimal digits.
  package init?(_ text: some StringProtocol) {
    guard text.utf8.count == 24, text.utf8.allSatisfy(\.isHexadecimalDigit) else { return nil }
    self.text = text.lowercased()
  }

  package init(bytes: some Sequence<UInt8>) { text = String(hexadecimal: bytes) }

  // The function of the protocol would look its conformance up in each call.
  package func appendText(to bytes: inout [UInt8]) -> Bool {
    text.appendText(to: &bytes)
  }

  /// Makes the id of a text, the same each time.
  package init(hashing text: String) {
    self.init(bytes: SHA256.hash(data: Array(text.utf8)).prefix(12))
  }

  /// The 12 bytes of the digits.
  package var bytes: [UInt8] { [UInt8](hexadecimal: text.utf8) ?? [] }
}

/// The kinds of resources that have ids.
package enum Kinds {
  package enum App {}
  package enum User {}
  package enum Identity {}
  package enum Device {}
  package enum Session {}
  package enum APIKey {}
  package enum ResourceServer {}
  package enum Role {}
  package enum Index {}
  package enum Schema {}
  package enum Event {}
  package enum Import {}
  package enum Job {}
  package enum Merge {}
}

package typealias AppID = ID<Kinds.App>
package typealias UserID = ID<Kinds.User>
package typealias IdentityID = ID<Kinds.Identity>
package typealias DeviceID = ID<Kinds.Device>
package typealias SessionID = ID<Kinds.Session>
package typealias APIKeyID = ID<Kinds.APIKey>
package typealias ResourceServerID = ID<Kinds.ResourceServer>
package typealias RoleID = ID<Kinds.Role>
package typealias IndexID = ID<Kinds.Index>
package typealias SchemaID = ID<Kinds.Schema>
package typealias EventID = ID<Kinds.Event>
package typealias ImportID = ID<Kinds.Import>
package typealias JobID = ID<Kinds.Job>
package typealias MergeID = ID<Kinds.Merge>

/// The id of a client: one as other resources have it, or the one that it had at another server.
///
/// Tokens repeat it as their audience, so it is compared by its bytes. It is unique in the
/// deployment.
/// - Source: RFC 6749 section 2.2, whose characters it limits to those that a path and a name of a
///   principal can contain.
package struct ClientID: Identifier {
  package let text: String

  package init(trusted text: String) { self.text = text }

  /// Creates a new id.
  package init() { text = ObjectIDSource.next() }

  /// Parses a client's text; returns nil if it breaks `rule`.
  package init?(_ text: some StringProtocol) {
    let text = String(text)
    let bytes = text.utf8.span
    guard 1...Self.longest ~= bytes.count, bytes[0].isLetterOrDigit else { return nil }
    for index in bytes.indices
    where !bytes[index].isLetterOrDigit && !Self.isMark(bytes[index]) { return nil }
    self.text = text
  }

  package static let rule =
    "An id must have 1 to \(longest) letters, digits and - . _ ~, and begin with a letter or a digit."
  package static let pattern = "^[A-Za-z0-9][A-Za-z0-9._~-]{0,\(longest - 1)}$"

  /// The account page, which signs its user in as a client does; no client may have this id.
  package static let pages = ClientID(trusted: String(repeating: "0", count: 24))

  private static let longest = 64

  private static func isMark(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
    default: false
    }
  }
}

/// Generates ids that sort by time.
///
/// The first 52 bits are the time in units of 2^-20 seconds; the first 4 bytes are the seconds, as
/// in BSON. They increase with each id of a process. The other 44 bits are random, and constant in
/// a process. `new_object_id()` in the database makes ids of the same form.
enum ObjectIDSource {
  private static let process = UInt64.random(in: 0..<1 << 44)
  private static let latest = Atomic<UInt64>(0)

  static func next() -> String {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let now =
      UInt64(UInt32(truncatingIfNeeded: time.tv_sec)) << 20
      | (UInt64(truncatingIfNeeded: time.tv_nsec) << 20) / 1_000_000_000
    var last = latest.load(ordering: .relaxed)
    while true {
      let next = max(now, last &+ 1)
      let (isDone, found) = latest.compareExchange(
        expected: last, desired: next, ordering: .relaxed
      )
      if isDone { return text(next) }
      last = found
    }
  }

  /// Returns the digits of 52 bits of time and the process's 44 bits.
  private static func text(_ ticks: UInt64) -> String {
    let high = ticks << 12 | process >> 32
    var bytes: [UInt8] = []
    bytes.reserveCapacity(12)
    for shift: UInt64 in [56, 48, 40, 32, 24, 16, 8, 0] {
      bytes.append(UInt8(truncatingIfNeeded: high >> shift))
    }
    for shift: UInt64 in [24, 16, 8, 0] {
      bytes.append(UInt8(truncatingIfNeeded: process >> shift))
    }
    return String(hexadecimal: bytes)
  }
}

/// Columns as values of the domain.
extension Row {
  package func id<ID: Identifier>(_ column: Int) throws(DatabaseError) -> ID {
    ID(trusted: try text(column))
  }

  package func id<ID: Identifier>(ifAny column: Int) -> ID? {
    text(ifAny: column).map(ID.init(trusted:))
  }

  /// Reads a column of type `json` or `jsonb`, which earlier limits may have allowed.
  package func json(_ column: Int) throws(DatabaseError) -> JSON {
    guard let json = try? JSON.parse(try bytes(column), limits: .stored) else {
      throw DatabaseError(.unexpectedColumn, "column \(column) is not JSON")
    }
    return json
  }
}

extension ID: RowDecodable {
  package init(from row: Row) throws(DatabaseError) { self = try row.id(0) }
}

extension JSONLimits {
  /// The limits for text from PostgreSQL: documents stored under earlier limits stay readable.
  package static let stored = JSONLimits(depth: 512, numberLength: .max)
}
