import Documents
import Testing

@Suite struct FilterTests {
  private func theme(_ value: String) -> Filter {
    .term(
      FilterTerm(
        subject: .document(.metadata, path: ["theme"]), test: .compares(.equal, .text(value))
      )
    )
  }

  private func beta(_ value: Bool) -> Filter {
    .term(
      FilterTerm(
        subject: .document(.metadata, path: ["beta"]), test: .compares(.equal, .boolean(value))
      )
    )
  }

  // MARK: Valid filters

  @Test func `not binds more tightly than and, which binds more tightly than or`() throws {
    let (a, b, c) = (theme("a"), theme("b"), beta(true))
    let terms = (#"metadata.theme="a""#, #"metadata.theme = "b""#, "metadata.beta = true")
    #expect(
      try Filter.parse("\(terms.0) or \(terms.1) and not \(terms.2)")
        == .or([a, .and([b, .not(c)])])
    )
    #expect(
      try Filter.parse("not(\(terms.0) or \(terms.1))and \(terms.2)")
        == .and([.not(.or([a, b])), c])
    )
    #expect(try Filter.parse("\(terms.0) and \(terms.1) and \(terms.2)") == .and([a, b, c]))
    #expect(try Filter.parse(" ( ( \(terms.0) ) )\n") == a)
    #expect(try Filter.parse("not not \(terms.2)") == .not(.not(c)))
  }

  @Test(arguments: FilterOperator.allCases)
  func `each operator is parsed with and without spaces`(comparison: FilterOperator) throws {
    let filter = Filter.term(
      FilterTerm(subject: .profile(.name), test: .compares(comparison, .text("x")))
    )
    #expect(try Filter.parse(#"name\#(comparison.rawValue)"x""#) == filter)
    #expect(try Filter.parse(#"name \#(comparison.rawValue) "x""#) == filter)
  }

  @Test(arguments: [
    (#""a\"b\\c\/d""#, #"a"b\c/d"#), (#""\u00e9\ud83d\ude00""#, "é😀"), (#""\n\t""#, "\n\t"),
    (#""' -- $1""#, "' -- $1"), (#""""#, ""),
  ])
  func `strings are JSON strings`(literal: String, value: String) throws {
    #expect(try Filter.parse("metadata.theme = \(literal)") == theme(value))
  }

  @Test(arguments: ["0", "-1.50", "7e2", "1E-7", "12345678901234567890"])
  func `numbers keep their spelling`(text: String) throws {
    let filter = try Filter.parse("custom_data.a.b-2 >= \(text)")
    let subject = FilterSubject.document(.customData, path: ["a", "b-2"])
    #expect(
      filter
        == .term(FilterTerm(subject: subject, test: .compares(.greaterOrEqual, .number(text))))
    )
  }

  @Test func `names in a path are words or strings`() throws {
    let filter = try Filter.parse(#"app_metadata.and."in \"x\"".7 exists"#)
    let subject = FilterSubject.document(.appMetadata, path: ["and", #"in "x""#, "7"])
    #expect(filter == .term(FilterTerm(subject: subject, test: .exists)))
    let (document, names) = try Filter.path(#"metadata."a b".c"#)
    #expect(document == .metadata && names == ["a b", "c"])
    #expect(Filter.spelled(document, names) == #"metadata."a b".c"#)
  }

  @Test func `values after in have one kind`() throws {
    let filter = try Filter.parse(#"phone in("a" , "b")"#)
    let test = FilterTest.isOneOf([.text("a"), .text("b")])
    #expect(filter == .term(FilterTerm(subject: .profile(.phone), test: test)))
  }

  @Test(arguments: [
    ("2024-02-29", "2024-02-29T00:00:00Z"), ("2026-01-31T23:59:59Z", "2026-01-31T23:59:59Z"),
    ("2026-01-31T12:00:00.123+05:30", "2026-01-31T12:00:00.123+05:30"),
  ])
  func `a time is a date, or has a zone`(text: String, read: String) throws {
    let filter = try Filter.parse(#"created_at < "\#(text)""#)
    let test = FilterTest.compares(.less, .time(read))
    #expect(filter == .term(FilterTerm(subject: .profile(.createdAt), test: test)))
  }

  // MARK: Invalid filters

  private static let long = String(repeating: "x", count: 256)

  @Test(arguments: [
    ("", 0, "syntax"), ("   ", 3, "syntax"), ("()", 1, "syntax"), ("(name exists", 12, "syntax"),
    ("name exists)", 11, "syntax"), ("name exists name exists", 12, "syntax"),
    ("name exists and", 15, "syntax"), ("name exists AND name exists", 12, "syntax"),
    ("and name exists", 0, "member"), ("not", 3, "syntax"), ("nothing = 1", 0, "member"),
    ("password = 1", 0, "member"), ("profile.name = 1", 0, "member"), ("= 1", 0, "syntax"),
    ("metadata = 1", 8, "path"), ("metadata. = 1", 9, "path"), ("metadata .a = 1", 8, "path"),
    ("metadata.a..b = 1", 11, "path"), ("metadata.a.\"b = 1", 11, "syntax"),
    ("metadata.a.b.c.d.e.f.g.h.i = 1", 25, "path"), ("name.x = \"a\"", 4, "operator"),
    ("name", 4, "operator"), ("name ~ \"x\"", 5, "operator"), ("name == \"x\"", 6, "value"),
    ("name is null", 5, "operator"), ("name existsx", 5, "operator"), ("name = x", 7, "value"),
    ("name = 'x'", 7, "value"), ("name = null", 7, "value"), ("name = ", 7, "value"),
    ("name = \"x", 7, "syntax"), ("name = \"x\\\"", 7, "syntax"), ("name = \"\\q\"", 8, "value"),
    ("name = \"\\u0000\"", 8, "value"), ("name = \"\\ud800\"", 8, "value"),
    ("name = \"a\nb\"", 9, "value"), ("metadata.n = 01", 14, "value"),
    ("metadata.n = 1.", 15, "value"),
    ("metadata.n = 1e999", 13, "value"), ("metadata.n = --1", 14, "value"),
    ("name = 1", 7, "kind"), ("blocked = \"true\"", 10, "kind"), ("email < true", 8, "kind"),
    ("created_at > 1", 13, "kind"), ("created_at > \"yesterday\"", 13, "value"),
    ("created_at > \"2023-02-29\"", 13, "value"),
    ("created_at > \"2026-01-01T00:00:00\"", 13, "value"),
    ("created_at > \"2026-01-01T24:00:00Z\"", 13, "value"),
    ("created_at > \"2026-01-01T00:00:00+16:00\"", 13, "value"),
    ("created_at ^= \"2026-01-01\"", 11, "kind"), ("blocked > true", 8, "kind"),
    ("metadata.n ^= 1", 11, "kind"), ("metadata.b <= false", 11, "kind"),
    ("name in \"x\"", 8, "syntax"), ("name in ()", 9, "value"), ("name in (\"x\"", 12, "syntax"),
    ("name in (\"x\",)", 13, "value"), ("metadata.n in (1, \"x\")", 18, "kind"),
    ("name = \"\(long)\"", 7, "value"), ("metadata.\(long) = 1", 9, "path"),
    ("name = \"\0\"", 8, "utf8"),
  ])
  func `an error in a filter has its position`(text: String, position: Int, rule: String) {
    let error = #expect(throws: FilterError.self) { try Filter.parse(text) }
    #expect(error?.position == position)
    #expect(error?.rule.rawValue == "filter.\(rule)")
  }

  @Test(arguments: [
    ("login_count = \"1\"", "login_count must be compared with a number."),
    ("blocked = 1", "blocked must be compared with true or false."),
    ("name = 1", "name must be compared with a string."),
    ("created_at = 1", "created_at must be compared with a string."),
  ])
  func `an error names the kind of the values of a member`(text: String, detail: String) {
    #expect(parseError(text)?.detail == detail)
  }

  @Test func `length, depth and the number of terms are bounded`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "(", count: depth) + "name exists" + String(repeating: ")", count: depth)
    }
    func joined(_ count: Int) -> String {
      Array(repeating: "name exists", count: count).joined(separator: " or ")
    }
    func listed(_ count: Int) -> String {
      "metadata.n in (" + Array(repeating: "1", count: count).joined(separator: ",") + ")"
    }
    func padded(_ length: Int) -> String {
      "name exists" + String(repeating: " ", count: length - 11)
    }
    for (fits, breaks, position, rule) in [
      (nested(16), nested(17), 16, FilterError.Rule.depth),
      ("not " + nested(15), String(repeating: "not ", count: 17) + "name exists", 64, .depth),
      (joined(32), joined(33), 32 * 15, .terms), (listed(100), listed(101), 15 + 200, .terms),
      (padded(2_000), padded(2_001), 2_000, .length),
    ] {
      #expect(throws: Never.self) { try Filter.parse(fits) }
      let error = #expect(throws: FilterError.self) { try Filter.parse(breaks) }
      #expect(error?.rule == rule)
      #expect(error?.position == position)
    }
  }

  @Test func `the parser neither traps nor hangs on any input`() {
    let words = [
      "(", ")", "not ", " and ", " or ", "name", "metadata", ".", "\"", "\\", "= ", "in ", "exists",
      ",", "1", "-", "true", "\u{e9}", "^=", "<", "\u{1F600}", " ",
    ]
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let text = (0..<Int.random(in: 0...12, using: &generator)).compactMap { _ in
        words.randomElement(using: &generator)
      }.joined()
      if let error = (try? Filter.parse(text)) == nil ? parseError(text) : nil {
        #expect((0...text.utf8.count).contains(error.position), "\(text)")
      }
    }
  }

  private func parseError(_ text: String) -> FilterError? {
    do throws(FilterError) {
      _ = try Filter.parse(text)
      return nil
    } catch {
      return error
    }
  }
}
