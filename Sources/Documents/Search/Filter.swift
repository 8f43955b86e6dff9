import Accounts
import Encoding

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
    case .id, .name, .givenName, .familyName, .nickname, .email, .emailDomain, .phone, .createdAt:
      true
    default: false
    }
  }
}
