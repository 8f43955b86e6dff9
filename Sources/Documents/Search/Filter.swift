import Accounts
import Encoding
import JSON

/// A search filter for users: terms combined with `and`, `or` and `not`.
///
/// A term is false if the value is missing or of another kind; its `not` is then true.
package indirect enum Filter: Sendable, Equatable {
  case term(FilterTerm)
  case not(Filter)
  case and([Filter])
  case or([Filter])

  /// All terms, in the order of the text.
  package var terms: [FilterTerm] {
    switch self {
    case .term(let term): [term]
    case .not(let inner): inner.terms
    case .and(let parts), .or(let parts): parts.flatMap(\.terms)
    }
  }

  /// The members that its terms test, without the values.
  package var members: [String] { terms.map(\.subject.name) }

  /// Whether a term tests a document.
  package var asksDocuments: Bool {
    terms.contains {
      if case .document = $0.subject { true } else { false }
    }
  }
}

/// One comparison.
package struct FilterTerm: Sendable, Equatable {
  package let subject: FilterSubject
  package let test: FilterTest

  package init(subject: FilterSubject, test: FilterTest) {
    self.subject = subject
    self.test = subject.canonical(test)
  }
}

/// The value that a term tests.
package enum FilterSubject: Sendable, Equatable {
  case profile(ProfileMember)
  case document(DocumentKind, path: [String])
  /// The provider of an identity of the user.
  case provider

  /// The name in filters.
  var name: String {
    switch self {
    case .profile(let member): member.rawValue
    case .document(let document, let path): Filter.spelled(document, path)
    case .provider: "provider"
    }
  }

  /// Returns a test whose addresses and domains are in the form that is stored.
  fileprivate func canonical(_ test: FilterTest) -> FilterTest {
    let canonical: (String) -> String
    switch self {
    case .profile(.email): canonical = EmailAddress.canonical
    case .profile(.emailDomain): canonical = EmailAddress.canonicalDomain
    default: return test
    }
    return switch test {
    case .compares(let comparison, .text(let text)): .compares(comparison, .text(canonical(text)))
    case .isOneOf(let values):
      .isOneOf(values.map { if case .text(let text) = $0 { .text(canonical(text)) } else { $0 } })
    default: test
    }
  }
}

/// The test of a term.
package enum FilterTest: Sendable, Equatable {
  /// There is a value other than null.
  case exists
  case compares(FilterOperator, FilterValue)
  /// Equals one of these values, which are of one kind and not empty.
  case isOneOf([FilterValue])
  /// A member of a document passes all comparisons. They are of one kind, and none is `unequal`.
  ///
  /// Lists are transparent: one of the elements passes, also if the list is inside the path.
  case contains([FilterComparison])
  /// A member of a document has a value: null, and empty objects and lists, are none.
  case isFilled

  /// The kind of values for which the test can be true; nil for any.
  var kind: FilterValue.Kind? {
    switch self {
    case .exists, .isFilled: nil
    case .compares(_, let value): value.kind
    case .contains(let comparisons): comparisons.first?.value.kind
    case .isOneOf(let values): values.first?.kind
    }
  }
}

/// A comparison with a value.
package struct FilterComparison: Sendable, Equatable {
  package let comparison: FilterOperator
  package let value: FilterValue

  package init(_ comparison: FilterOperator, _ value: FilterValue) {
    (self.comparison, self.value) = (comparison, value)
  }
}

package enum FilterOperator: String, Sendable, Equatable, CaseIterable {
  case equal = "="
  /// Also true if there is no value.
  case unequal = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="
  case beginsWith = "^="
  case endsWith = "$="
  case includes = "*="

  /// Whether it compares parts of texts, which no index finds.
  package var isUnindexed: Bool { self == .endsWith || self == .includes }
}

/// A value in a filter.
package enum FilterValue: Sendable, Equatable {
  case text(String)
  /// The number as spelled.
  case number(String)
  case boolean(Bool)
  /// A time of RFC 3339; a date alone means its start in UTC.
  case time(String)

  package enum Kind: String, Sendable {
    case text
    case number
    case boolean
    case time
  }

  /// Returns a time in a form that PostgreSQL accepts; nil outside the years from 1 and zones up to
  /// 15:59.
  package static func moment(_ text: String) -> String? {
    guard let time = CalendarTime(text), time.day.year > 0 else { return nil }
    guard let zone = time.zone else { return text + "T00:00:00Z" }
    return abs(zone) < 16 * 60 ? text : nil
  }

  package var kind: Kind {
    switch self {
    case .text: .text
    case .number: .number
    case .boolean: .boolean
    case .time: .time
    }
  }
}

/// A member of the profile that filters can test.
package enum ProfileMember: String, Sendable, CaseIterable {
  case id
  /// Compared case-insensitively, with compatible characters equal, as are the other names.
  case name
  case givenName = "given_name"
  case familyName = "family_name"
  case nickname
  /// Each word of the four names; a value of several words matches if all of them do.
  case names
  /// Compared as addresses are: case-insensitively, with compatible characters equal.
  case email
  /// The part of the address after the `@`.
  case emailDomain = "email_domain"
  case phone
  case locale
  case zone
  case createdAt = "created_at"
  case updatedAt = "updated_at"
  case lastLoginAt = "last_login_at"
  case loginCount = "login_count"
  case anonymous
  case blocked
  case emailVerified = "email_verified"

  package var kind: FilterValue.Kind {
    switch self {
    case .createdAt, .updatedAt, .lastLoginAt: .time
    case .loginCount: .number
    case .anonymous, .blocked, .emailVerified: .boolean
    default: .text
    }
  }

  /// Whether an index of the database schema covers the member, in every app.
  ///
  /// Excluded are members with few distinct values, and those that logins or all changes write.
  package var isIndexed: Bool {
    switch self {
    case .id, .name, .givenName, .familyName, .nickname, .names, .email, .emailDomain, .phone,
      .createdAt:
      true
    default: false
    }
  }
}

extension FilterValue {
  /// The value as a parameter of a statement.
  package var parameter: String {
    switch self {
    case .text(let text), .number(let text), .time(let text): text
    case .boolean(let flag): flag ? "true" : "false"
    }
  }

  fileprivate var json: JSON {
    switch self {
    case .text(let text), .time(let text): .string(text)
    case .number(let text): .number(JSONNumber(text))
    case .boolean(let flag): .bool(flag)
    }
  }
}

extension FilterTest {
  /// Returns a path of SQL/JSON that exists if the test is true, and its variables; nil for a test
  /// for which lists are not transparent.
  ///
  /// The path is lax: each step looks into the elements of a list.
  func jsonPath(from names: [String]) -> (path: String, variables: String)? {
    let place = "$" + names.map { ".\(JSON.string($0).text)" }.joined()
    switch self {
    case .isFilled:
      let types = ["object", "array", "null"].map { "@.type() != \"\($0)\"" }
      return ("\(place).** ? (\(types.joined(separator: " && ")))", "{}")
    case .contains(let comparisons):
      var variables = JSONObject()
      let terms = comparisons.enumerated().map { number, one in
        if let pattern = one.pattern { return "@ like_regex \(JSON.string(pattern).text)" }
        variables["v\(number)"] = one.value.json
        return "@ \(one.jsonPath) $v\(number)"
      }
      return ("\(place) ? (\(terms.joined(separator: " && ")))", JSON.object(variables).text)
    case .exists, .compares, .isOneOf: return nil
    }
  }

  /// Whether only the document can tell: an index has no row for each element of a list, one for a
  /// list inside the path, and only the start of a long text.
  var readsDocument: Bool {
    switch self {
    case .exists, .isFilled, .contains: true
    case .compares(let comparison, _): comparison.isUnindexed
    case .isOneOf: false
    }
  }

  /// Whether the values of an index that pass the test are a range, which may be long.
  var isRange: Bool {
    switch self {
    case .compares(.equal, _), .isOneOf: false
    case .compares, .exists, .isFilled, .contains: true
    }
  }

  /// Whether it can test words.
  var isOfWords: Bool {
    switch self {
    case .exists, .compares(.equal, _), .compares(.unequal, _), .compares(.beginsWith, _): true
    default: false
    }
  }

  /// The SQL type of the array of values of an `in`.
  var arrayType: StaticString {
    switch kind {
    case .number: "numeric[]"
    case .boolean: "boolean[]"
    case .time: "timestamptz[]"
    case .text, nil: "text[]"
    }
  }
}

extension FilterComparison {
  /// The operator in a path of SQL/JSON.
  fileprivate var jsonPath: String {
    switch comparison {
    case .equal, .unequal: "=="
    case .beginsWith: "starts with"
    default: comparison.rawValue
    }
  }

  /// The pattern of a comparison that only a pattern can express; nil for others.
  ///
  /// The value stands for itself: a backslash escapes each mark of ASCII.
  fileprivate var pattern: String? {
    guard comparison.isUnindexed else { return nil }
    var pattern = ""
    for scalar in value.parameter.unicodeScalars {
      let isMark = scalar.isASCII && scalar.value > 0x20 && !UInt8(ascii: scalar).isLetterOrDigit
      if isMark { pattern += "\\" }
      pattern.unicodeScalars.append(scalar)
    }
    return comparison == .endsWith ? pattern + "$" : pattern
  }
}

extension FilterOperator {
  /// The operator in SQL; the composer handles the others itself.
  package var sql: StaticString {
    switch self {
    case .equal, .unequal, .beginsWith, .endsWith, .includes: " = "
    case .less: " < "
    case .lessOrEqual: " <= "
    case .greater: " > "
    case .greaterOrEqual: " >= "
    }
  }
}

extension SearchIndex {
  /// The column of `search_values` that has its values.
  var column: StaticString {
    switch kind {
    case .text, .time: "v.text_value"
    case .number: "v.number_value"
    case .boolean: "v.boolean_value"
    }
  }
}

extension ProfileMember {
  /// The column, in the form in which it is indexed.
  package var column: StaticString {
    switch self {
    case .id: "user_id"
    case .name: "name_key(name) collate \"C\""
    case .givenName: "name_key(given_name) collate \"C\""
    case .familyName: "name_key(family_name) collate \"C\""
    case .nickname: "name_key(nickname) collate \"C\""
    case .names: "name_lexemes(app_id, name, given_name, family_name, nickname)"
    case .email: "email_key(email) collate \"C\""
    case .emailDomain: "split_part(email_key(email), '@', -1) collate \"C\""
    case .phone: "phone collate \"C\""
    case .locale: "locale collate \"C\""
    case .zone: "zone collate \"C\""
    case .createdAt: "created_at"
    case .updatedAt: "updated_at"
    case .lastLoginAt: "last_login_at"
    case .loginCount: "login_count"
    case .anonymous: "anonymous"
    case .blocked: "(blocked_at is not null)"
    case .emailVerified: "email_verified"
    }
  }

  /// The column of a member that is compared by a key, and the start of the call for its values.
  var keyed: (column: StaticString, call: StaticString)? {
    switch self {
    case .name: ("name", "name_key(")
    case .givenName: ("given_name", "name_key(")
    case .familyName: ("family_name", "name_key(")
    case .nickname: ("nickname", "name_key(")
    case .names: ("coalesce(name, given_name, family_name, nickname)", "name_query(")
    case .email, .emailDomain: ("email", "email_key(")
    default: nil
    }
  }
}

/// The limits of a filter.
package enum FilterLimits {
  /// Bytes of the text, so that a URL with it, percent-encoded, passes through proxies.
  package static let length = 2_000
  /// Nested parentheses and `not`.
  package static let depth = 16
  /// Terms: each may be a lookup for every user that another term finds.
  package static let terms = 32
  /// Values of one `in`.
  package static let values = 100
  /// Characters of a string: one less than an index stores of a value.
  package static let characters = 255
  /// Candidates that a page looks up by their ids.
  ///
  /// If more users satisfy an indexed term, a page walks the users in the order of their ids until
  /// it is full.
  package static let candidates = 10_000
  /// Users of an app that a filter without an index may read, if none of them matches.
  package static let scanned = 50_000
  /// Names in a path.
  package static let names = 8
  /// Characters of a name in a path.
  package static let nameCharacters = 128
}

/// The place and the reason of an error in a filter.
package struct FilterError: Error, Sendable, Equatable {
  package enum Rule: String, Sendable {
    case length = "filter.length"
    case utf8 = "filter.utf8"
    case depth = "filter.depth"
    case terms = "filter.terms"
    case syntax = "filter.syntax"
    case path = "filter.path"
    case member = "filter.member"
    case `operator` = "filter.operator"
    case value = "filter.value"
    case kind = "filter.kind"
  }

  package let rule: Rule
  /// The offset in the text, in bytes from 0.
  package let position: Int
  /// The rule, in one sentence.
  package let detail: String
}
