internal import JSON

/// The name of a field, or one part of a dotted path.
///
/// Names are equal when their bytes are, unlike Swift's strings. Numbers come in their order,
/// before other names.
struct FieldName: Hashable, Comparable, Sendable {
  let text: String

  init(_ text: some StringProtocol) { self.text = String(text) }

  /// What it means in an array: digits without a leading zero.
  var index: Int? {
    let bytes = text.utf8
    guard let first = bytes.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= first,
      bytes.count == 1 || first != UInt8(ascii: "0"),
      bytes.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
    else { return nil }
    return Int(text)
  }

  /// The steps that comparing or hashing it takes, beyond the one of the value that it leads to.
  var weight: Int { text.utf8.count / Budget.bytesPerStep }

  static func == (first: FieldName, second: FieldName) -> Bool {
    first.text.hasSameBytes(as: second.text)
  }

  func hash(into hasher: inout Hasher) { ExactString(text).hash(into: &hasher) }

  static func < (first: FieldName, second: FieldName) -> Bool {
    switch (first.index, second.index) {
    case (let first?, let second?): first < second
    case (.some, nil): true
    case (nil, .some): false
    case (nil, nil): first.text.utf8.lexicographicallyPrecedes(second.text.utf8)
    }
  }

  var isDollarPrefixed: Bool { text.utf8.first == UInt8(ascii: "$") }

  /// Whether it is a positional part of an update's path, `$`, `$[]` or `$[name]`.
  var isPositional: Bool { text == "$" || text.utf8.starts(with: "$[".utf8) }

  /// More parts than a document can be deep are of no use to anybody.
  static let pathLimit = JSONLimits.standard.depth

  /// Returns the parts of a dotted path.
  ///
  /// Throws the error `code` if a part is empty, as in `a.`, `.a` and `a..b`: a client that builds
  /// a path from an empty name must not change or find something else. Throws `.overflow` if the
  /// path has too many parts.
  static func parts(
    of path: String,
    pointer: @autoclosure () -> String,
    ifEmpty code: OperatorError.Code = .emptyFieldName
  ) throws(OperatorError) -> [FieldName] {
    // By bytes: a dot with an accent behind it is one of Swift's characters, and no dot.
    let parts = path.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= pathLimit else {
      throw OperatorError(.overflow, "A path may have \(pathLimit) parts.", pointer: pointer())
    }
    guard parts.allSatisfy({ !$0.isEmpty }) else {
      throw OperatorError(
        code,
        "A part of a path must not be empty: write names with one dot between two.",
        pointer: pointer()
      )
    }
    return parts.map { FieldName(Substring($0)) }
  }
}
