internal import JSON

/// The name of a field, or one part of a dotted path.
///
/// Names are equal if their bytes are equal, unlike Swift's strings. Numbers sort numerically,
/// before other names.
struct FieldName: Hashable, Comparable, Sendable {
  let text: String

  init(_ text: some StringProtocol) { self.text = String(text) }

  /// The index that the name denotes in an array: digits without a leading zero.
  var index: Int? {
    let bytes = text.utf8
    guard let first = bytes.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= first,
      bytes.count == 1 || first != UInt8(ascii: "0"),
      bytes.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
    else { return nil }
    return Int(text)
  }

  /// The extra steps for comparing or hashing the name, beyond the step for its value.
  var weight: Int { text.utf8.count / Budget.bytesPerStep }

  static func == (first: FieldName, second: FieldName) -> Bool {
    first.text.hasSameBytes(as: second.text)
  }

  func hash(into hasher: inout Hasher) { ByteString(text).hash(into: &hasher) }

  static func < (first: FieldName, second: FieldName) -> Bool {
    switch (first.index, second.index) {
    case (let first?, let second?): first < second
    case (.some, nil): true
    case (nil, .some): false
    case (nil, nil): first.text.utf8.lexicographicallyPrecedes(second.text.utf8)
    }
  }

  var isDollarPrefixed: Bool { text.utf8.first == UInt8(ascii: "$") }

  /// Whether the name is a positional part of an update's path: `$`, `$[]` or `$[name]`.
  var isPositional: Bool { text == "$" || text.utf8.starts(with: "$[".utf8) }

  /// The maximum number of parts.
  ///
  /// A document cannot be deeper.
  static let pathLimit = JSONLimits.standard.depth

  /// Returns the parts of a dotted path.
  ///
  /// Throws the error `code` if a part is empty, as in `a.`, `.a` and `a..b`. A client that builds
  /// a path from an empty name must not change or find another field. Throws `.overflow` if the
  /// path has too many parts.
  static func parts(
    of path: String, pointer: @autoclosure () -> String,
    ifEmpty code: OperatorError.Code = .emptyFieldName
  ) throws(OperatorError) -> [FieldName] {
    // The split is by bytes. In Swift, a dot followed by a combining accent is one character, and
    // not a dot.
    let parts = path.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= pathLimit else {
      throw OperatorError(
        .overflow, "A path may have at most \(pathLimit) parts.", pointer: pointer()
      )
    }
    guard parts.allSatisfy({ !$0.isEmpty }) else {
      throw OperatorError(
        code, "A part of a path must not be empty: write names with one dot between two.",
        pointer: pointer()
      )
    }
    return parts.map { FieldName(Substring($0)) }
  }
}
