/// The entity tag of a document's state, which is its version.
///
/// - Source: RFC 9110 section 8.8.3.
package struct EntityTag: Equatable, Sendable, CustomStringConvertible {
  package let version: Int
  package init(_ version: Int) { self.version = version }
  package var description: String { "\"\(version)\"" }

  /// Parses a tag that this service has written.
  package init?(_ text: String) {
    guard let version = Int(text.dropFirst().dropLast()) else { return nil }
    self.init(version)
  }
}

/// The value of `If-Match` or `If-None-Match`.
package enum TagCondition: Equatable, Sendable {
  case absent
  /// `*`: any existing state.
  case any
  /// One of these versions.
  ///
  /// Foreign tags match nothing and are omitted, so the list may be empty. It is also empty for an
  /// empty field.
  case versions([Int])

  /// Parses a field.
  ///
  /// - Parameters:
  ///   - field: a list of tags, or `*`.
  ///   - weakly: whether `W/"7"` matches like `"7"`: true for `If-None-Match`, false for
  ///     `If-Match`.
  /// - Throws: `TagSyntaxError` if the field is neither.
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
      // List elements may be empty: RFC 9110 section 5.6.1.2.
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

/// The error for a field that is not a list of entity tags.
package struct TagSyntaxError: Error {}

/// The conditions on the stored state under which a request is executed.
///
/// - Source: RFC 9110 section 13; `If-Match` is tested first.
package struct Preconditions: Equatable, Sendable {
  package let match: TagCondition
  package let noneMatch: TagCondition

  package init(match: TagCondition = .absent, noneMatch: TagCondition = .absent) {
    self.match = match
    self.noneMatch = noneMatch
  }

  /// Whether the request has preconditions.
  package var arePresent: Bool { match != .absent || noneMatch != .absent }

  package init(_ request: Request) throws(TagSyntaxError) {
    match = try TagCondition(request.field(.ifMatch), weakly: false)
    noneMatch = try TagCondition(request.field(.ifNoneMatch), weakly: true)
  }
}
