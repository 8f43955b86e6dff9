import Encoding

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
