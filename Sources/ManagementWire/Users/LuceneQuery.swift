package import Documents
import Encoding
import EventLoop
import Federation
import IdentitySubjects
import JSON
import OpenID
package import Runtime
import Tenancy
import Records

/// A search in the subset of Lucene's syntax that Auth0 documents.
///
/// `OR` (`||`) binds least, then `AND` (`&&`); `NOT`, `!` and `-` bind most. A term is a field, a
/// colon, and a value, a range or a group of both in parentheses. A value alone is a part of the
/// address or of a name.
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
      throw .queryMalformed("A search may have at most \(FilterLimits.length) bytes.")
    }
    guard !text.utf8.contains(0) else { throw .queryMalformed("A search must not contain U+0000.") }
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
    guard scanner.isAtEnd else { throw scanner.fault("AND or OR is expected") }
    return .filter(filter)
  }

  /// Reads a search for one id; nil, without reading, for any other.
  private mutating func userID() throws(Failure) -> String? {
    let start = scanner
    guard scanner.take(word: "user_id:"), let id = try scanner.value(), scanner.isAtEnd,
      !id.hasWildcard
    else {
      scanner = start
      return nil
    }
    return id.text
  }

  /// Reads terms, or the values of a field in parentheses.
  private mutating func any(of field: LuceneField? = nil, depth: Int) throws(Failure) -> Filter {
    var parts = [try all(of: field, depth: depth)]
    while scanner.take(keyword: "OR") || scanner.take(word: "||") {
      parts.append(try all(of: field, depth: depth))
    }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func all(of field: LuceneField?, depth: Int) throws(Failure) -> Filter {
    var parts = [try part(of: field, depth: depth)]
    while scanner.take(keyword: "AND") || scanner.take(word: "&&") {
      parts.append(try part(of: field, depth: depth))
    }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func part(of field: LuceneField?, depth: Int) throws(Failure) -> Filter {
    guard depth < FilterLimits.depth else { throw scanner.fault("the search is too deep") }
    if scanner.take(keyword: "NOT") || scanner.take("!") || scanner.take("-") {
      return .not(try part(of: field, depth: depth + 1))
    }
    return try positive(of: field, depth: depth)
  }

  private mutating func positive(of field: LuceneField?, depth: Int) throws(Failure) -> Filter {
    if scanner.take("(") {
      let inner = try any(of: field, depth: depth + 1)
      guard scanner.take(")") else { throw scanner.fault("AND, OR or ) is expected") }
      return inner
    }
    guard let field else { return try term(depth: depth) }
    if let range = try range(of: field) { return range }
    return try comparison(of: field)
  }

  private mutating func term(depth: Int) throws(Failure) -> Filter {
    guard let name = scanner.field() else { return try word() }
    if name == "_exists_" {
      guard let name = scanner.name() else { throw scanner.fault("a field is expected") }
      let field = try LuceneField(name, scanner)
      guard !field.isExact else { throw scanner.fault("every user has this field") }
      return try existence(of: field)
    }
    let field = try LuceneField(name, scanner)
    return try positive(of: field, depth: depth)
  }

  private static let keywords = ["AND", "OR", "NOT", "TO", "&&", "||"]

  /// Reads a value without a field: a part of the address or of a name.
  private mutating func word() throws(Failure) -> Filter {
    let start = scanner
    guard let value = try scanner.value(), !value.text.isEmpty,
      value.isQuoted || !Self.keywords.contains(value.text) && !value.text.contains(":")
    else { throw start.fault("a field and :, or a word, are expected") }
    let text = try LuceneField.text(value, scanner)
    var parts: [Filter] = []
    for member in [ProfileMember.email, .name, .givenName, .familyName, .nickname] {
      parts.append(try made(.profile(member), .compares(.includes, text)))
    }
    return .or(parts)
  }

  /// Returns the filter for users whose object has a field.
  private mutating func existence(of field: LuceneField) throws(Failure) -> Filter {
    switch field.subject {
    // A user without a sign-in has no count, and only a blocked user has the field.
    case .profile(.loginCount): try made(field.subject, .compares(.greater, .number("0")))
    case .profile(.blocked): try made(field.subject, .compares(.equal, .boolean(true)))
    case .profile(.emailVerified): try made(.profile(.email), .exists)
    default: try made(field.subject, field.exists)
    }
  }

  private mutating func comparison(of field: LuceneField) throws(Failure) -> Filter {
    guard let value = try scanner.value() else { throw scanner.fault("a value is expected") }
    guard value.hasWildcard else {
      return try made(field, field.comparisons(with: value, scanner))
    }
    guard field.kind == .text || field.kind == nil, !field.isUserMetadata, !field.isExact else {
      throw scanner.fault("this field has no search with an asterisk")
    }
    if value.text.isEmpty { return try existence(of: field) }
    let text = try LuceneField.text(value, scanner)
    guard value.isSuffix else { return try made(field, [FilterComparison(.beginsWith, text)]) }
    guard !value.isPrefix else { return try made(field, [FilterComparison(.includes, text)]) }
    // The index on the domain finds these.
    let parts = value.text.split(separator: "@", omittingEmptySubsequences: false)
    if field.subject == .profile(.email), parts.count == 2, parts[0].isEmpty, !parts[1].isEmpty {
      return try made(.profile(.emailDomain), .compares(.equal, .text(String(parts[1]))))
    }
    return try made(field, [FilterComparison(.endsWith, text)])
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
    var bounds: [FilterComparison] = []
    if let lower { bounds.append(try field.bound(from: lower, includes: includesLower, scanner)) }
    if let upper { bounds.append(try field.bound(to: upper, includes: includesUpper, scanner)) }
    guard bounds.first?.value.kind == bounds.last?.value.kind else {
      throw scanner.fault("the bounds are of different kinds")
    }
    return bounds.isEmpty ? try existence(of: field) : try made(field, bounds)
  }

  /// Returns the filter for values that pass all comparisons.
  private mutating func made(
    _ field: LuceneField, _ comparisons: [FilterComparison]
  ) throws(Failure) -> Filter {
    guard field.kind != nil else { return try made(field.subject, .contains(comparisons)) }
    var parts: [Filter] = []
    for one in comparisons {
      parts.append(try made(field.subject, .compares(one.comparison, one.value)))
    }
    // A user whose object lacks the field does not match.
    if field.subject == .profile(.loginCount) || field.subject == .profile(.emailVerified) {
      parts.append(try existence(of: field))
    }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func made(
    _ subject: FilterSubject, _ test: FilterTest
  ) throws(Failure) -> Filter {
    terms += 1
    guard terms <= FilterLimits.terms else {
      throw scanner.fault("a search may have at most \(FilterLimits.terms) terms")
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
    "email": .email, "email.domain": .emailDomain, "email_verified": .emailVerified,
    "name": .name, "given_name": .givenName,
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

  /// The test whether there is a value.
  var exists: FilterTest { kind == nil ? .isFilled : .exists }

  /// Returns the text of a value, also of one that looks like a number.
  static func text(
    _ value: LuceneScanner.Value, _ scanner: LuceneScanner
  ) throws(Failure) -> FilterValue {
    guard value.text.unicodeScalars.count <= FilterLimits.characters else {
      throw scanner.fault("a value may have at most \(FilterLimits.characters) characters")
    }
    return .text(value.text)
  }

  /// Returns the comparisons of a value that has no asterisk: a month has all of its times.
  func comparisons(
    with value: LuceneScanner.Value, _ scanner: LuceneScanner
  ) throws(Failure) -> [FilterComparison] {
    guard kind != .time || LucenePeriod(value.text)?.next == nil else {
      return [
        try bound(from: value, includes: true, scanner),
        try bound(to: value, includes: true, scanner),
      ]
    }
    return [FilterComparison(.equal, try self.value(value, scanner))]
  }

  /// Returns the lower bound of a range, from the start or from the end of a period.
  func bound(
    from value: LuceneScanner.Value, includes: Bool, _ scanner: LuceneScanner
  ) throws(Failure) -> FilterComparison {
    if !includes, kind == .time, let next = LucenePeriod(value.text)?.next {
      return FilterComparison(.greaterOrEqual, .time(next))
    }
    return FilterComparison(
      includes ? .greaterOrEqual : .greater, try self.value(value, scanner)
    )
  }

  /// Returns the upper bound of a range, to the end or to the start of a period.
  func bound(
    to value: LuceneScanner.Value, includes: Bool, _ scanner: LuceneScanner
  ) throws(Failure) -> FilterComparison {
    if includes, kind == .time, let next = LucenePeriod(value.text)?.next {
      return FilterComparison(.less, .time(next))
    }
    return FilterComparison(includes ? .lessOrEqual : .less, try self.value(value, scanner))
  }

  private func value(
    _ value: LuceneScanner.Value, _ scanner: LuceneScanner
  ) throws(Failure) -> FilterValue {
    let text = try Self.text(value, scanner)
    let isID = subject == .profile(.id) && !isIdentity
    guard !isID || !value.text.utf8.starts(with: Filter.anyProvider.utf8) else {
      throw scanner.fault("a user_id must begin with a provider")
    }
    let made: FilterValue? =
      switch kind {
      case .text: isIdentity ? .text(Filter.anyProvider + value.text) : text
      case .boolean: LuceneScanner.flag(value.text).map { .boolean($0) }
      case .time: LucenePeriod(value.text).map { .time($0.start) }
      case .number: LuceneScanner.isNumber(value.text) ? .number(value.text) : nil
      case nil:
        if value.isQuoted {
          text
        } else if let flag = LuceneScanner.flag(value.text) {
          .boolean(flag)
        } else if LuceneScanner.isNumber(value.text) {
          .number(value.text)
        } else {
          text
        }
      }
    guard let made else { throw scanner.fault("the value does not suit the field") }
    return made
  }
}

extension Filter {
  /// The prefix of an identity's id whose provider is unknown, in place of `auth0|`.
  static let anyProvider = "|"

  /// Returns the filter with ids of users and providers as they are stored, in place of the API's.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop func resolved(_ context: RequestContext) async throws(Failure) -> Filter {
    switch self {
    case .term(let term): return .term(try await term.resolved(context))
    case .not(let inner): return .not(try await inner.resolved(context))
    case .and(let parts): return .and(try await Self.resolved(parts, context))
    case .or(let parts): return .or(try await Self.resolved(parts, context))
    }
  }

  @EventLoop private static func resolved(
    _ parts: [Filter], _ context: RequestContext
  ) async throws(Failure) -> [Filter] {
    var resolved: [Filter] = []
    for part in parts { resolved.append(try await part.resolved(context)) }
    return resolved
  }
}

extension FilterTerm {
  @EventLoop fileprivate func resolved(
    _ context: RequestContext
  ) async throws(Failure) -> FilterTerm {
    guard case .compares(.equal, .text(let text)) = test else { return self }
    let stored: [String]
    if subject == .provider, let prefix = context.app.connections.named(auth0: text)?.providerPrefix
    {
      return FilterTerm(subject: subject, test: .compares(.beginsWith, .text(prefix)))
    }
    switch subject {
    case .profile(.id): stored = try await Self.users(text, context).map(\.text)
    case .provider: stored = try await Self.providers(text, context)
    case .profile, .document: return self
    }
    // No user has an empty id or provider.
    let values = stored.isEmpty ? [""] : stored
    return FilterTerm(subject: subject, test: .isOneOf(values.map(FilterValue.text)))
  }

  @EventLoop private static func users(
    _ id: String, _ context: RequestContext
  ) async throws(Failure) -> [UserID] {
    guard id.utf8.starts(with: Filter.anyProvider.utf8) else {
      return try await ForeignIDs.user(of: id, context).map { [$0] } ?? []
    }
    let part = String(Substring(id.utf8.dropFirst(Filter.anyProvider.utf8.count)))
    return try await UserLinks.users(ofIdentity: part, context)
  }

  /// Returns the stored names of a provider or connection.
  @EventLoop private static func providers(
    _ name: String, _ context: RequestContext
  ) async throws(Failure) -> [String] {
    switch name {
    case "auth0", ClientSettings.Connection.password.auth0Name:
      return ["password", "linked-password"]
    case "email", "anonymous": return [name]
    default:
      if let connection = context.app.connections.named(auth0: name),
        let provider = connection.provider
      {
        return [provider.text]
      }
      return try await IssuerRecord.table.list(of: context.app.id, context).filter {
        $0.name.hasSameBytes(as: name) || $0.issuer.hasSameBytes(as: name)
      }.map { IdentityProvider(ofIssuer: $0.issuer).text }
    }
  }
}
