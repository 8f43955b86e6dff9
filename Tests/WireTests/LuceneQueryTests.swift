import Documents
import ManagementWire
import Runtime
import Testing

@Suite struct LuceneQueryTests {
  private static func filter(_ text: String) throws(Failure) -> Filter? {
    if case .filter(let filter) = try LuceneQuery(text) { filter } else { nil }
  }

  private static func nickname(_ value: String, _ comparison: FilterOperator = .equal) -> Filter {
    .term(FilterTerm(subject: .profile(.nickname), test: .compares(comparison, .text(value))))
  }

  private static func planned(_ test: FilterTest) -> Filter {
    .term(FilterTerm(subject: .document(.appMetadata, path: ["plan"]), test: test))
  }

  private static func plan(_ value: FilterValue, _ comparison: FilterOperator = .equal) -> Filter {
    planned(.contains([FilterComparison(comparison, value)]))
  }

  private static func signIns(_ comparison: FilterOperator, _ number: String) -> Filter {
    .term(FilterTerm(subject: .profile(.loginCount), test: .compares(comparison, .number(number))))
  }

  private static func signedIn(_ bounds: (FilterOperator, String)...) -> Filter {
    let parts = bounds.map { comparison, time in
      let test = FilterTest.compares(comparison, .time(time + "T00:00:00Z"))
      return Filter.term(FilterTerm(subject: .profile(.lastLoginAt), test: test))
    }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private static func word(_ text: String) -> Filter {
    .or(
      [.email, .name, .givenName, .familyName, .nickname].map {
        .term(FilterTerm(subject: .profile($0), test: .compares(.includes, .text(text))))
      }
    )
  }

  private static let forms: [(String, Filter)] = [
    ("nickname:a", nickname("a")), (#"nickname:"a b""#, nickname("a b")),
    (#"nickname:a\ b"#, nickname("a b")), ("nickname:a*", nickname("a", .beginsWith)),
    ("nickname:*a*", nickname("a", .includes)), ("nickname:*a", nickname("a", .endsWith)),
    ("nickname:(a OR b)", .or([nickname("a"), nickname("b")])),
    ("nickname:(a AND b)", .and([nickname("a"), nickname("b")])),
    ("nickname:(a AND NOT b)", .and([nickname("a"), .not(nickname("b"))])),
    ("nickname:(a OR b AND c)", .or([nickname("a"), .and([nickname("b"), nickname("c")])])),
    (
      "nickname:((a OR b) AND -c)",
      .and([.or([nickname("a"), nickname("b")]), .not(nickname("c"))])
    ),
    (
      "nickname:([a TO b] OR x*)",
      .or([
        .and([nickname("a", .greaterOrEqual), nickname("b", .lessOrEqual)]),
        nickname("x", .beginsWith),
      ])
    ),
    (
      "nickname:a AND (nickname:b OR NOT nickname:c)",
      .and([nickname("a"), .or([nickname("b"), .not(nickname("c"))])])
    ),
    (
      "nickname:a && (!nickname:b || ! nickname:c)&&nickname:d",
      .and([
        nickname("a"), .or([.not(nickname("b")), .not(nickname("c"))]), nickname("d"),
      ])
    ),
    ("nickname:(a && !b || c)", .or([.and([nickname("a"), .not(nickname("b"))]), nickname("c")])),
    ("nickname:a AND!nickname:b", .and([nickname("a"), .not(nickname("b"))])),
    ("nickname:a&&b!", nickname("a&&b!")), ("nickname:a||b", nickname("a||b")),
    ("app_metadata.plan:(1 AND pro)", .and([plan(.number("1")), plan(.text("pro"))])),
    (#"app_metadata.plan:"1""#, plan(.text("1"))), ("app_metadata.plan:true", plan(.boolean(true))),
    ("app_metadata.plan:p*", plan(.text("p"), .beginsWith)),
    (
      "app_metadata.plan:[1 TO 2}",
      planned(
        .contains([
          FilterComparison(.greaterOrEqual, .number("1")), FilterComparison(.less, .number("2")),
        ])
      )
    ),
    ("_exists_:app_metadata.plan", planned(.isFilled)), ("app_metadata.plan:*", planned(.isFilled)),
    ("app_metadata.plan:[* TO *]", planned(.isFilled)),
    (
      "email:*@a",
      .term(FilterTerm(subject: .profile(.emailDomain), test: .compares(.equal, .text("a"))))
    ),
    ("_exists_:logins_count", signIns(.greater, "0")),
    ("logins_count:[2 TO *]", .and([signIns(.greaterOrEqual, "2"), signIns(.greater, "0")])),
    // The examples of Auth0, and their kind.
    (
      "last_login:{2017-11 TO 2017-12]",
      signedIn((.greaterOrEqual, "2017-12-01"), (.less, "2018-01-01"))
    ),
    (
      "last_login:[2017-12-01 TO 2017-12-31]",
      signedIn((.greaterOrEqual, "2017-12-01"), (.less, "2018-01-01"))
    ),
    (
      "last_login:[2017-12 TO 2018-01}",
      signedIn((.greaterOrEqual, "2017-12-01"), (.less, "2018-01-01"))
    ),
    (
      "last_login:[2017-12 TO 2018-01]",
      signedIn((.greaterOrEqual, "2017-12-01"), (.less, "2018-02-01"))
    ),
    ("last_login:[* TO 2017-12-31]", signedIn((.less, "2018-01-01"))),
    ("last_login:[2017 TO *]", signedIn((.greaterOrEqual, "2017-01-01"))),
    ("last_login:{2017 TO *]", signedIn((.greaterOrEqual, "2018-01-01"))),
    (
      "last_login:[2017 TO 9999]", signedIn((.greaterOrEqual, "2017-01-01"), (.less, "10000-01-01"))
    ),
    ("last_login:2020-02-28", signedIn((.greaterOrEqual, "2020-02-28"), (.less, "2020-02-29"))),
    ("last_login:2017", signedIn((.greaterOrEqual, "2017-01-01"), (.less, "2018-01-01"))),
    (
      "last_login:{2017-11-30T00:00:00 TO 2017-12-01T00:00:00Z]",
      signedIn((.greater, "2017-11-30"), (.lessOrEqual, "2017-12-01"))
    ),
    ("ada", word("ada")), (#""ada b""#, word("ada b")),
    (
      "email.domain:example.com",
      .term(
        FilterTerm(subject: .profile(.emailDomain), test: .compares(.equal, .text("example.com")))
      )
    ),
  ]

  @Test(arguments: forms)
  func `a search has this filter`(text: String, filter: Filter) throws {
    #expect(try Self.filter(text) == filter)
  }

  /// Tests that the error names the byte and the rule.
  @Test(arguments: [
    ("AND ada", "at byte 0: a field and :, or a word, are expected"),
    (":ada", "at byte 0: a field and :, or a word, are expected"),
    ("nickname:a nickname:b", "at byte 11: AND or OR is expected"),
    ("nickname:(a b)", "at byte 12: AND, OR or ) is expected"),
    ("&& ada", "at byte 0: a field and :, or a word, are expected"),
    ("nickname:a && || nickname:b", "at byte 14: a field and :, or a word, are expected"),
    ("nickname:a & nickname:b", "at byte 11: AND or OR is expected"),
    ("created_at:[2017-13 TO *]", "at byte 25: the value does not suit the field"),
    ("created_at:2017-02-29", "at byte 21: the value does not suit the field"),
    ("created_at:0000", "at byte 15: the value does not suit the field"),
    ("created_at:2017-1", "at byte 17: the value does not suit the field"),
    ("nickname:(a OR )", "at byte 15: a value is expected"),
    ("nickname:a*a", "at byte 11: an asterisk is only allowed at the start and the end of a value"),
    ("nickname:a?", "at byte 10: the wildcard ? is not supported"),
    ("last_ip:1", "at byte 8: there is no search by last_ip"),
    ("username:ada", "at byte 9: there is no search by username"),
    ("user_metadata.a:b*", "at byte 18: this field has no search with an asterisk"),
    ("user_metadata.a:[1 TO 2]", "at byte 17: this field has no ranges"),
    ("app_metadata.a:[1 TO b]", "at byte 23: the bounds are of different kinds"),
    ("created_at:[x TO *]", "at byte 19: the value does not suit the field"),
    ("nickname:a AND _exists_:user_id", "at byte 31: every user has this field"),
  ])
  func `a search is refused`(text: String, error: String) {
    let failure = #expect(throws: Failure.self) { try LuceneQuery(text) }
    #expect(failure?.explanation == "The search is invalid \(error).")
  }

  @Test func `a search has limits`() throws {
    let deep = String(repeating: "(", count: 17) + "nickname:a" + String(repeating: ")", count: 17)
    let values = (0...FilterLimits.terms).map { "\($0)" }
    let long = String(repeating: "a", count: FilterLimits.characters + 1)
    for text in [
      deep, "nickname:\(deep.replacing("nickname:", with: ""))", "nickname:a\0", "nickname:\(long)",
      "nickname:(\(values.joined(separator: " OR ")))", "nickname:\(long)*",
    ] {
      #expect(throws: Failure.self) { try LuceneQuery(text) }
    }
    let most = values.dropLast().joined(separator: " AND ")
    #expect(try Self.filter("nickname:(\(most))")?.terms.count == FilterLimits.terms)
  }

  @Test func `a search for one id needs no filter`() throws {
    guard case .user(let id) = try LuceneQuery(#"user_id:"auth0|1""#) else {
      Issue.record("a filter")
      return
    }
    #expect(id == "auth0|1")
  }
}
