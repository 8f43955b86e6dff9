import Encoding
import JSON

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
    case .email, .emailDomain: ("email", "email_key(")
    default: nil
    }
  }
}
