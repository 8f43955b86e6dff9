package import Documents
import Encoding
import JSON
package import Runtime

/// A search in the subset of Lucene's syntax that Auth0 documents.
///
/// `OR` binds least, `NOT` and `-` most. A term is a field, a colon, and a value, a range or several
/// values in parentheses.
package enum LuceneQuery {
  /// The user with an id.
  case user(String)
  /// Ids and providers are those of the API; see `resolved`.
  case filter(Filter)

  /// Parses a search.
  ///
  /// - Throws: `.queryMalformed` with the offset.
  package init(_ text: String) throws(Failure) {
    guard text.utf8.count <= FilterLimits.length else {
      throw .queryMalformed("A search has at most \(FilterLimits.length) bytes.")
    }
    var parser = LuceneParser(text)
    self = try parser.query()
  }
}

/// Reads a search from its start to its end, once.
private struct LuceneParser {
  private var scanner: LuceneScanner
  private var terms = 0

  init(_ text: String) { scanner = LuceneScanner(text) }

  mutating func query() throws(Failure) -> LuceneQuery {
    if let id = try userID() { return .user(id) }
    let filter = try any(depth: 0)
    guard scanner.isAtEnd else { throw scanner.fault("an operator is expected") }
    return .filter(filter)
  }

  /// Reads a search for one id; nil, without reading, for any other.
  private mutating func userID() throws(Failure) -> String? {
    let start = scanner
    guard scanner.take(word: "user_id:"), let id = try scanner.value(), scanner.isAtEnd,
      !id.isPrefix
    else {
      scanner = start
      return nil
    }
    return id.text
  }

  private mutating func any(depth: Int) throws(Failure) -> Filter {
    var parts = [try all(depth: depth)]
    while scanner.take(keyword: "OR") { parts.append(try all(depth: depth)) }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func all(depth: Int) throws(Failure) -> Filter {
    var parts = [try part(depth: depth)]
    while scanner.take(keyword: "AND") { parts.append(try part(depth: depth)) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func part(depth: Int) throws(Failure) -> Filter {
    guard depth < FilterLimits.depth else { throw scanner.fault("the search is too deep") }
    if scanner.take(keyword: "NOT") || scanner.take("-") {
      return .not(try part(depth: depth + 1))
    }
    if scanner.take("(") {
      let inner = try any(depth: depth + 1)
      guard scanner.take(")") else { throw scanner.fault(") is expected") }
      return inner
    }
    return try term()
  }

  private mutating func term() throws(Failure) -> Filter {
    guard let name = scanner.field() else { throw scanner.fault("a field and : are expected") }
    if name == "_exists_" {
      guard let name = scanner.name() else { throw scanner.fault("a field is expected") }
      let field = try LuceneField(name, scanner)
      guard !field.isExact else { throw scanner.fault("each user has this field") }
      return try made(field.subject, .exists)
    }
    let field = try LuceneField(name, scanner)
    if let range = try range(of: field) { return range }
    if scanner.take("(") {
      var filters = [try comparison(of: field)]
      while scanner.take(keyword: "OR") { filters.append(try comparison(of: field)) }
      guard scanner.take(")") else { throw scanner.fault(") is expected") }
      return filters.count == 1 ? filters[0] : .or(filters)
    }
    return try comparison(of: field)
  }

  private mutating func comparison(of field: LuceneField) throws(Failure) -> Filter {
    guard let value = try scanner.value() else { throw scanner.fault("a value is expected") }
    if value.isPrefix {
      guard field.kind == .text, !field.isUserMetadata, !field.isExact else {
        throw scanner.fault("this field has no search by a prefix")
      }
      return value.text.isEmpty
        ? try made(field.subject, .exists)
        : try made(field.subject, .compares(.beginsWith, .text(value.text)))
    }
    let wanted = try field.value(value, scanner)
    // A member of a document may be a list.
    return try made(
      field.subject,
      field.kind == nil ? .contains(wanted) : .compares(.equal, wanted)
    )
  }

  private mutating func range(of field: LuceneField) throws(Failure) -> Filter? {
    let includesLower = scanner.take("[")
    guard includesLower || scanner.take("{") else { return nil }
    guard !field.isUserMetadata, !field.isExact else {
      throw scanner.fault("this field has no ranges")
    }
    let lower = try scanner.bound()
    guard scanner.take(keyword: "TO") else { throw scanner.fault("TO is expected") }
    let upper = try scanner.bound()
    let includesUpper = scanner.take("]")
    guard includesUpper || scanner.take("}") else { throw scanner.fault("] or } is expected") }
    var filters: [Filter] = []
    if let lower {
      let value = try field.value(lower, scanner)
      filters.append(
        try made(field.subject, .compares(includesLower ? .greaterOrEqual : .greater, value))
      )
    }
    if let upper {
      let value = try field.value(upper, scanner)
      filters.append(
        try made(field.subject, .compares(includesUpper ? .lessOrEqual : .less, value))
      )
    }
    if filters.isEmpty { return try made(field.subject, .exists) }
    return filters.count == 1 ? filters[0] : .and(filters)
  }

  private mutating func made(
    _ subject: FilterSubject,
    _ test: FilterTest
  ) throws(Failure) -> Filter {
    terms += 1
    guard terms <= FilterLimits.terms else {
      throw scanner.fault("a search has at most \(FilterLimits.terms) terms")
    }
    return .term(FilterTerm(subject: subject, test: test))
  }
}

/// A field of a search.
private struct LuceneField {
  let subject: FilterSubject
  /// The kind of its values; nil for a member of a document, which may have any.
  let kind: FilterValue.Kind?
  let isUserMetadata: Bool
  /// Whether the field has no ranges and no prefixes.
  let isExact: Bool
  /// Whether a value is the id of an identity, without its provider.
  private let isIdentity: Bool

  private static let members: [String: ProfileMember] = [
    "email": .email, "email_verified": .emailVerified, "name": .name, "given_name": .givenName,
    "family_name": .familyName, "nickname": .nickname, "phone_number": .phone,
    "blocked": .blocked, "created_at": .createdAt, "updated_at": .updatedAt,
    "last_login": .lastLoginAt, "logins_count": .loginCount,
  ]
  /// Fields whose values are resolved before the search.
  private static let resolved: [String: FilterSubject] = [
    "user_id": .profile(.id), "identities.user_id": .profile(.id),
    "identities.provider": .provider, "identities.connection": .provider,
  ]

  init(_ name: String, _ scanner: LuceneScanner) throws(Failure) {
    isIdentity = name == "identities.user_id"
    if let member = Self.members[name] {
      (subject, kind, isUserMetadata, isExact) = (.profile(member), member.kind, false, false)
      return
    }
    if let resolved = Self.resolved[name] {
      (subject, kind, isUserMetadata, isExact) = (resolved, .text, false, true)
      return
    }
    let path = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    let kinds: [String: DocumentKind] = ["user_metadata": .metadata, "app_metadata": .appMetadata]
    guard let document = kinds[path[0]], (2...FilterLimits.names + 1).contains(path.count),
      path.allSatisfy({ !$0.isEmpty && $0.unicodeScalars.count <= FilterLimits.nameCharacters })
    else { throw scanner.fault("there is no search by \(name.excerpt(100))") }
    subject = .document(document, path: Array(path.dropFirst()))
    (kind, isUserMetadata, isExact) = (nil, document == .metadata, false)
  }

  func value(
    _ value: LuceneScanner.Value,
    _ scanner: LuceneScanner
  ) throws(Failure) -> FilterValue {
    guard value.text.unicodeScalars.count <= FilterLimits.characters else {
      throw scanner.fault("a value has at most \(FilterLimits.characters) characters")
    }
    let isID = subject == .profile(.id) && !isIdentity
    guard !isID || !value.text.utf8.starts(with: Filter.anyProvider.utf8) else {
      throw scanner.fault("a user_id begins with a provider")
    }
    let made: FilterValue? =
      switch kind {
      case .text: .text(isIdentity ? Filter.anyProvider + value.text : value.text)
      case .boolean: LuceneScanner.flag(value.text).map { .boolean($0) }
      case .time: FilterValue.moment(value.text).map { .time($0) }
      case .number: LuceneScanner.isNumber(value.text) ? .number(value.text) : nil
      case nil:
        if value.isQuoted {
          .text(value.text)
        } else if let flag = LuceneScanner.flag(value.text) {
          .boolean(flag)
        } else if LuceneScanner.isNumber(value.text) {
          .number(value.text)
        } else {
          .text(value.text)
        }
      }
    guard let made else { throw scanner.fault("the value does not suit the field") }
    return made
  }
}
