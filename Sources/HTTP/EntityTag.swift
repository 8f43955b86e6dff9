/// The tag of one state of a document: its version.
///
/// - Source: RFC 9110 section 8.8.3.
package struct EntityTag: Equatable, Sendable, CustomStringConvertible {
  package let version: Int
  package init(_ version: Int) { self.version = version }
  package var description: String { "\"\(version)\"" }

  /// Reads one that we have written.
  package init?(_ text: String) {
    guard let version = Int(text.dropFirst().dropLast()) else { return nil }
    self.init(version)
  }
}

/// The value of `If-Match` or `If-None-Match`.
package enum TagCondition: Equatable, Sendable {
  case absent
  /// `*`: any state at all.
  case any
  /// One of these versions. Tags that are no version of ours match nothing and are left out, so
  /// that the list may be empty, as it is for an empty field.
  case versions([Int])

  /// Reads a field.
  ///
  /// - Parameters:
  ///   - field: a list of tags, or `*`.
  ///   - weakly: whether `W/"7"` matches as `"7"` does; so for `If-None-Match`, never for `If-Match`.
  /// - Throws: when it is neither.
  package init(_ field: String?, weakly: Bool) throws(TagSyntaxError) {
    guard let field else {
      self = .absent
      return
    }
    var rest = field.utf8[...]
    Self.skipSpace(&rest)
    if rest.elementsEqual("*".utf8) {
      self = .any
      return
    }
    var versions: [Int] = []
    while !rest.isEmpty {
      // Elements may be empty: RFC 9110 section 5.6.1.2.
      if rest.first == UInt8(ascii: ",") {
        rest.removeFirst()
        Self.skipSpace(&rest)
        continue
      }
      let (tag, isWeak) = try Self.takeTag(&rest)
      if weakly || !isWeak, let version = Int(tag), String(version) == tag {
        versions.append(version)
      }
      Self.skipSpace(&rest)
      guard let separator = rest.popFirst() else { break }
      guard separator == UInt8(ascii: ",") else { throw TagSyntaxError() }
      Self.skipSpace(&rest)
    }
    self = .versions(versions)
  }

  private static func takeTag(
    _ rest: inout Substring.UTF8View
  ) throws(TagSyntaxError) -> (tag: Substring, isWeak: Bool) {
    let isWeak = rest.starts(with: "W/".utf8)
    if isWeak { rest = rest.dropFirst(2) }
    guard rest.popFirst() == UInt8(ascii: "\""),
      let end = rest.firstIndex(of: UInt8(ascii: "\""))
    else { throw TagSyntaxError() }
    let tag = Substring(rest[..<end])
    rest = rest[rest.index(after: end)...]
    return (tag, isWeak)
  }

  private static func skipSpace(_ rest: inout Substring.UTF8View) {
    while let first = rest.first, first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
      rest = rest.dropFirst()
    }
    while let last = rest.last, last == UInt8(ascii: " ") || last == UInt8(ascii: "\t") {
      rest = rest.dropLast()
    }
  }

  package func matches(_ version: Int?) -> Bool {
    switch self {
    case .absent: false
    case .any: version != nil
    case .versions(let versions): version.map(versions.contains) ?? false
    }
  }
}

/// A field that is no list of entity tags.
package struct TagSyntaxError: Error {}

/// What the client asks of the stored state before its request is carried out.
///
/// - Source: RFC 9110 section 13; `If-Match` is tested first.
package struct Preconditions: Equatable, Sendable {
  package let match: TagCondition
  package let noneMatch: TagCondition

  package init(match: TagCondition = .absent, noneMatch: TagCondition = .absent) {
    self.match = match
    self.noneMatch = noneMatch
  }

  /// Whether a request has any.
  package var arePresent: Bool { match != .absent || noneMatch != .absent }

  package init(_ request: Request) throws(TagSyntaxError) {
    match = try TagCondition(request.field(.ifMatch), weakly: false)
    noneMatch = try TagCondition(request.field(.ifNoneMatch), weakly: true)
  }
}
