import Encoding
import JSON

extension Filter {
  /// Parses a filter.
  ///
  ///     filter  = all *( "or" all )
  ///     all     = part *( "and" part )
  ///     part    = "not" part / "(" filter ")" / term
  ///     term    = path ( "exists" / "in" "(" value *( "," value ) ")" / operator value )
  ///     operator = "=" / "!=" / "<" / "<=" / ">" / ">=" / "^="
  ///     path    = member / ( "metadata" / "app_metadata" / "custom_data" ) 1*( "." name )
  ///     name    = 1*( letter / digit / "_" / "-" ) / JSON string
  ///     value   = JSON string / JSON number / "true" / "false"
  ///
  /// Keywords are in lower case. `not` binds most tightly, `or` least. Spaces are allowed between
  /// all tokens, except within a path.
  /// - Throws: `FilterError`, with the place.
  package static func parse(_ text: some StringProtocol) throws(FilterError) -> Filter {
    var parser = FilterParser(scanner: try FilterScanner(text))
    return try parser.text()
  }
}

private struct FilterParser {
  var scanner: FilterScanner
  private var terms = 0
  private var depth = 0

  init(scanner: FilterScanner) { self.scanner = scanner }

  mutating func text() throws(FilterError) -> Filter {
    let filter = try any()
    guard scanner.isAtEnd else {
      throw scanner.error(.syntax, "Expected `and`, `or` or the end of the filter.")
    }
    return filter
  }

  private mutating func any() throws(FilterError) -> Filter {
    var parts = [try all()]
    while scanner.take(word: "or") { parts.append(try all()) }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func all() throws(FilterError) -> Filter {
    var parts = [try part()]
    while scanner.take(word: "and") { parts.append(try part()) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  /// Parses a part, and skips the spaces after it.
  private mutating func part() throws(FilterError) -> Filter {
    scanner.skipSpace()
    defer { scanner.skipSpace() }
    let start = scanner.offset
    let isNegated = scanner.take(word: "not")
    guard isNegated || scanner.take("(") else { return .term(try term()) }
    depth += 1
    defer { depth -= 1 }
    guard depth <= FilterLimits.depth else {
      throw scanner.error(
        .depth, "Parentheses and `not` may be nested at most \(FilterLimits.depth) levels deep.",
        at: start
      )
    }
    if isNegated { return .not(try part()) }
    let filter = try any()
    guard scanner.take(")") else { throw scanner.error(.syntax, "Expected `)`.") }
    return filter
  }

  private mutating func term() throws(FilterError) -> FilterTerm {
    let start = scanner.offset
    terms += 1
    guard terms <= FilterLimits.terms else {
      throw scanner.error(
        .terms, "A filter may have at most \(FilterLimits.terms) terms.", at: start
      )
    }
    let subject = try subject()
    scanner.skipSpace()
    let place = scanner.offset
    let test = try test(of: subject)
    try check(test, of: subject, at: place)
    return FilterTerm(subject: subject, test: test)
  }

  // MARK: Paths

  private mutating func subject() throws(FilterError) -> FilterSubject {
    let start = scanner.offset
    guard let word = scanner.takeName() else {
      throw scanner.error(.syntax, "Expected a path, `not` or `(`.")
    }
    if let member = ProfileMember(rawValue: word) { return .profile(member) }
    guard let document = DocumentKind(rawValue: word) else {
      let members = ProfileMember.allCases.map(\.rawValue).joined(separator: ", ")
      throw scanner.error(
        .member,
        "A path must begin with metadata, app_metadata or custom_data, or be one of \(members).",
        at: start
      )
    }
    let path = try names()
    guard !path.isEmpty else {
      throw scanner.error(.path, "Expected a dot and the name of a member.")
    }
    return .document(document, path: path)
  }

  mutating func names() throws(FilterError) -> [String] {
    var path: [String] = []
    while scanner.take(".") {
      let start = scanner.offset
      let name = scanner.peek == UInt8(ascii: "\"") ? try scanner.string() : scanner.takeName()
      guard let name else {
        throw scanner.error(.path, "Expected the name of a member.")
      }
      guard name.unicodeScalars.count <= FilterLimits.nameCharacters else {
        throw scanner.error(
          .path, "A name may have at most \(FilterLimits.nameCharacters) characters.", at: start
        )
      }
      path.append(name)
      guard path.count <= FilterLimits.names else {
        throw scanner.error(
          .path, "A path may have at most \(FilterLimits.names) names.", at: start
        )
      }
    }
    return path
  }

  // MARK: Tests

  private mutating func test(of subject: FilterSubject) throws(FilterError) -> FilterTest {
    if scanner.take(word: "exists") { return .exists }
    if scanner.take(word: "in") { return .isOneOf(try values(of: subject)) }
    guard let comparison = scanner.takeOperator() else {
      throw scanner.error(.operator, "Expected one of = != < <= > >= ^= $= *= in exists.")
    }
    scanner.skipSpace()
    return .compares(comparison, try value(of: subject))
  }

  private mutating func values(of subject: FilterSubject) throws(FilterError) -> [FilterValue] {
    scanner.skipSpace()
    guard scanner.take("(") else { throw scanner.error(.syntax, "Expected `(`.") }
    var values: [FilterValue] = []
    repeat {
      scanner.skipSpace()
      let start = scanner.offset
      let value = try value(of: subject)
      guard values.first.map({ $0.kind == value.kind }) != false else {
        throw scanner.error(.kind, "All values of one `in` must be of one kind.", at: start)
      }
      values.append(value)
      guard values.count <= FilterLimits.values else {
        throw scanner.error(
          .terms, "An `in` may have at most \(FilterLimits.values) values.", at: start
        )
      }
      scanner.skipSpace()
    } while scanner.take(",")
    guard scanner.take(")") else { throw scanner.error(.syntax, "Expected `,` or `)`.") }
    return values
  }

  private mutating func value(of subject: FilterSubject) throws(FilterError) -> FilterValue {
    let start = scanner.offset
    let value = try value()
    guard case .profile(let member) = subject else { return value }
    if member.kind == .time, case .text(let text) = value {
      guard let time = FilterValue.moment(text) else {
        throw scanner.error(
          .value, "A time must be like \"2026-01-31\" or \"2026-01-31T12:00:00Z\".", at: start
        )
      }
      return .time(time)
    }
    guard value.kind == member.kind else {
      let kind =
        switch member.kind {
        case .boolean: "true or false"
        case .number: "a number"
        case .text, .time: "a string"
        }
      throw scanner.error(.kind, "\(member.rawValue) must be compared with \(kind).", at: start)
    }
    return value
  }

  private mutating func value() throws(FilterError) -> FilterValue {
    if scanner.take(word: "true") { return .boolean(true) }
    if scanner.take(word: "false") { return .boolean(false) }
    let start = scanner.offset
    switch scanner.peek {
    case UInt8(ascii: "\""):
      let text = try scanner.string()
      guard text.unicodeScalars.count <= FilterLimits.characters else {
        throw scanner.error(
          .value, "A string may have at most \(FilterLimits.characters) characters.", at: start
        )
      }
      return .text(text)
    case let byte? where byte == UInt8(ascii: "-") || byte.isDigit:
      return .number(try scanner.number())
    default:
      throw scanner.error(.value, "Expected a string, a number, true or false.")
    }
  }

  private func check(
    _ test: FilterTest, of subject: FilterSubject, at place: Int
  ) throws(FilterError) {
    if subject == .profile(.names), !test.isOfWords {
      throw scanner.error(.kind, "names must be compared by =, != or ^=.", at: place)
    }
    guard case .compares(let comparison, let value) = test else { return }
    switch comparison {
    case .equal, .unequal: return
    case .beginsWith, .endsWith, .includes:
      guard value.kind != .text else { return }
      let detail = "The value after \(comparison.rawValue) must be a string."
      throw scanner.error(.kind, detail, at: place)
    case _ where value.kind == .boolean:
      throw scanner.error(.kind, "true and false must be compared by = or !=.", at: place)
    default: return
    }
  }
}

extension Filter {
  /// Parses the path of a document's member, such as `metadata.theme`.
  ///
  /// - Throws: `FilterError`, also for a member of the profile.
  package static func path(
    _ text: some StringProtocol
  ) throws(FilterError) -> (document: DocumentKind, names: [String]) {
    var scanner = try FilterScanner(text)
    guard let document = scanner.takeName().flatMap(DocumentKind.init(rawValue:)) else {
      throw scanner.error(
        .member, "A path must begin with metadata, app_metadata or custom_data.", at: 0
      )
    }
    var parser = FilterParser(scanner: scanner)
    let names = try parser.names()
    guard !names.isEmpty, parser.scanner.isAtEnd else {
      throw parser.scanner.error(.path, "Expected a dot and the name of a member.")
    }
    return (document, names)
  }

  /// Returns a path as filters spell it.
  package static func spelled(_ document: DocumentKind, _ names: [String]) -> String {
    document.rawValue + names.map { "." + FilterScanner.spelled($0) }.joined()
  }
}

/// Reads the tokens of a filter; each function advances the offset past its token.
struct FilterScanner {
  private let bytes: [UInt8]
  private(set) var offset = 0

  /// - Throws: `.length`, `.utf8`.
  init(_ text: some StringProtocol) throws(FilterError) {
    bytes = Array(text.utf8)
    guard bytes.count <= FilterLimits.length else {
      throw FilterError(
        rule: .length, position: FilterLimits.length,
        detail: "A filter may have at most \(FilterLimits.length) bytes."
      )
    }
    guard !bytes.contains(0) else {
      throw error(.utf8, "U+0000 cannot be searched for.", at: bytes.firstIndex(of: 0) ?? 0)
    }
  }

  func error(_ rule: FilterError.Rule, _ detail: String, at place: Int? = nil) -> FilterError {
    FilterError(rule: rule, position: place ?? offset, detail: detail)
  }

  // MARK: Looking ahead

  var isAtEnd: Bool { offset == bytes.count }
  var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
      offset += 1
    }
  }

  mutating func take(_ mark: Character) -> Bool {
    guard peek == mark.asciiValue else { return false }
    offset += 1
    return true
  }

  /// Takes a whole word; leaves the offset if the word continues.
  mutating func take(word: String) -> Bool {
    let end = offset + word.utf8.count
    guard bytes[offset...].starts(with: word.utf8), end == bytes.count || !bytes[end].isOfName
    else { return false }
    offset = end
    return true
  }

  mutating func takeOperator() -> FilterOperator? {
    // Longer operators first: `<=` starts with `<`.
    let found = FilterOperator.allCases.sorted { $0.rawValue.count > $1.rawValue.count }.first {
      bytes[offset...].starts(with: $0.rawValue.utf8)
    }
    offset += found?.rawValue.utf8.count ?? 0
    return found
  }

  /// Takes letters, digits, `_` and `-`; returns nil without any.
  mutating func takeName() -> String? {
    let name = bytes[offset...].prefix { $0.isOfName }
    guard !name.isEmpty else { return nil }
    offset += name.count
    return String(decoding: name, as: UTF8.self)
  }

  // MARK: JSON

  /// Takes a JSON string.
  mutating func string() throws(FilterError) -> String {
    let start = offset
    var end = start + 1
    while end < bytes.count, bytes[end] != UInt8(ascii: "\"") {
      end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
    }
    guard end < bytes.count else { throw error(.syntax, "The string does not end.", at: start) }
    offset = end + 1
    return try json(from: start).string ?? ""
  }

  /// Takes a JSON number.
  mutating func number() throws(FilterError) -> String {
    let start = offset
    while let byte = peek, byte.isOfNumber { offset += 1 }
    return try json(from: start).number?.text ?? ""
  }

  private func json(from start: Int) throws(FilterError) -> JSON {
    do throws(JSONError) {
      return try JSON.parse(Array(bytes[start..<offset]))
    } catch let fault {
      throw error(.value, fault.detail, at: start + fault.offset)
    }
  }
}

extension FilterScanner {
  /// Returns a name in a path, quoted if necessary.
  package static func spelled(_ name: String) -> String {
    !name.isEmpty && name.utf8.allSatisfy(\.isOfName) ? name : JSON.string(name).text
  }
}

extension UInt8 {
  fileprivate var isOfName: Bool {
    isLetterOrDigit || self == UInt8(ascii: "_") || self == UInt8(ascii: "-")
  }

  fileprivate var isOfNumber: Bool {
    isDigit || self == UInt8(ascii: "-") || self == UInt8(ascii: "+") || self == UInt8(ascii: ".")
      || self | 0x20 == UInt8(ascii: "e")
  }
}
