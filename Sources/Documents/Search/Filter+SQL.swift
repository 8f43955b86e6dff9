extension FilterValue {
  /// The value as a parameter of a statement.
  package var parameter: String {
    switch self {
    case .text(let text), .number(let text), .time(let text): text
    case .boolean(let flag): flag ? "true" : "false"
    }
  }
}

extension FilterTest {
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

extension FilterOperator {
  /// The operator in SQL; the composer handles the others itself.
  package var sql: StaticString {
    switch self {
    case .equal, .unequal, .beginsWith: " = "
    case .less: " < "
    case .lessOrEqual: " <= "
    case .greater: " > "
    case .greaterOrEqual: " >= "
    }
  }
}

extension ProfileMember {
  /// The column, in the form in which it is indexed.
  package var column: StaticString {
    switch self {
    case .id: "user_id"
    case .name: "name collate \"C\""
    case .givenName: "given_name collate \"C\""
    case .familyName: "family_name collate \"C\""
    case .nickname: "nickname collate \"C\""
    case .email: "email_key(email) collate \"C\""
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
}
