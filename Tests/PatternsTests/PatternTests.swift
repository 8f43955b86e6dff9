import Patterns
import Testing

@Suite struct PatternTests {
  private func matches(_ pattern: Pattern, _ text: String) -> Bool {
    var steps = 1_000_000
    let isMatch = pattern.matches(text, spending: &steps)
    #expect(steps >= 0, "\(pattern.source) takes too many steps")
    return isMatch
  }

  /// A pattern, its options, texts with a match and texts without.
  private static let patterns: [(String, String, [String], [String])] = [
    ("", "", ["", "a"], []), ("a|b", "", ["xb"], ["c"]),
    ("^a$", "", ["a", "a\n"], ["ab", "a\n\n"]),
    ("^b", "m", ["a\nb"], ["ab"]), ("a$", "m", ["a\nb"], ["ab"]), ("^$", "m", ["a\n\nb"], ["a\n"]),
    (#"\Aa\z"#, "m", ["a"], ["a\n", "b\na"]), (#"a\Z"#, "", ["a\n"], ["a\nb"]),
    ("a.b", "", ["a-b", "aéb", "a\rb"], ["a\nb", "ab"]), ("a.b", "s", ["a\nb"], ["ab"]),
    (#"a\Nb"#, "s", ["a-b"], ["a\nb"]), (#"\bfoo\b"#, "", ["a foo b", "foo"], ["food", "_foo"]),
    (#"o\Bo"#, "", ["foo"], ["o o"]), (#"\d\w\s"#, "", ["1_ ", "9a\n"], ["é1 ", "1é "]),
    (#"\D\W\S"#, "", ["a-b", "éé1"], ["1-b", "ab1"]), (#"^\h\v\H\V$"#, "", ["\t\u{b}ab"], ["  ab"]),
    ("[a-c-]+z", "", ["-z", "bz"], ["dz"]), ("[]a]z", "", ["]z", "az"], ["bz"]),
    ("[^]a]z", "", ["bz"], ["]z", "az"]), (#"[\d\-x]z"#, "", ["1z", "-z", "xz"], ["\\z"]),
    (#"[\]\\]"#, "", ["]", "\\"], ["["]), ("[[:alpha:]_]z", "", ["bz", "_z"], ["1z"]),
    ("[[:^digit:]]z", "", ["az"], ["1z"]), ("[[:x]z", "", ["[z", ":z", "xz"], ["yz"]),
    ("[a-z]", "i", ["Q"], ["1"]), ("[^a]", "i", ["b"], ["A"]), ("é", "i", ["É"], ["e"]),
    ("straße", "i", ["STRAßE"], ["STRASSE"]), ("К", "i", ["к"], ["K"]),
    ("a(?i)b(?-i)c", "", ["aBc"], ["ABc", "aBC"]), ("a(?i:b)c", "", ["aBc"], ["aBC"]),
    ("(a(?i)b|c)d", "", ["aBd", "Cd"], ["aBD"]), ("(?s)a.b", "", ["a\nb"], []),
    ("a b#c\nd", "x", ["abd"], ["a bd"]), ("a[ ]b", "x", ["a b"], ["ab"]),
    ("a(?#x)b", "", ["ab"], ["a"]),
    ("^a*?b+?c??$", "", ["b", "aabbc"], ["a", "cb"]), ("^a{2}$", "", ["aa"], ["a", "aaa"]),
    ("^a{2,}$", "", ["aa", "aaaa"], ["a"]), ("^a{1,2}$", "", ["a", "aa"], ["", "aaa"]),
    ("^a{x}$", "", ["a{x}"], ["a"]), ("{1", "", ["{1"], ["1"]),
    ("^(ab|c)*$", "", ["", "abcab"], ["abca"]), ("^(?:|a)+$", "", ["", "aa"], ["b"]),
    ("(?<name>a)(?P<other>b)(?'third'c)", "", ["abc"], ["ab"]),
    (#"\x41\x{1f600}"#, "", ["A😀"], ["A"]), (#"a\x4１b"#, "", ["a\u{4}１b"], ["aAb"]),
    (#"\.\*\/\-\é"#, "", [".*/-é"], ["a"]), (#"\Qa.b\E."#, "", ["a.bc"], ["a-bc"]),
    (#"a\Rb"#, "", ["a\r\nb", "a\nb", "a\rb"], ["a\r\r\nb"]),
    (#"\R\n"#, "", ["\r\n\n"], ["\r\n"]), ("^.$", "", ["😀", "é"], ["e\u{301}"]),
    (#"^\X$"#, "", ["e\u{301}"], ["ee"]), (#"^\p{Lu}\P{L}"#, "", ["É1"], ["é1"]),
    ("(?=.*[0-9])(?!.*x)^.{3}$", "", ["a1b"], ["abc", "a1x"]),
    ("(?<=a)b(?<!cb)", "", ["ab"], ["b"]),
    (#"^(a|b)\1$"#, "", ["aa", "bb"], ["ab"]), (#"(?<n>a)\k<n>"#, "", ["aa"], ["ab"]),
    ("^a++a", "", [], ["aaa"]), ("^(?>a*)b", "", ["aab"], ["a"]),
    ("(a)?(?(1)b|c)", "", ["ab", "c"], ["b"]),
    ("(*UCP)^\\w$", "", ["é"], ["-"]), ("^\\(?0", "", ["0", "(0"], ["a"]),
    ("^[(?R)]$", "", ["R"], ["a"]),
    ("a\u{1}b", "", ["a\u{1}b"], ["ab"]), ("^a.b$", "", ["a\u{0}b"], ["a\u{0}"]),
    (#"^[\w.+-]+@[\w-]+\.[a-z]{2,}$"#, "i", ["Ada.L+x@Example.org"], ["ada@", "a@b"]),
    ("[^\\x00-\\x7f]", "i", ["É"], ["E"]), ("^[а-яё]+ [а-яё]+$", "i", ["Ада Лавлейс"], ["Ada"]),
  ]

  @Test(arguments: patterns)
  func `a pattern matches what PCRE matches`(
    pattern: String, options: String, found: [String], others: [String]
  ) throws {
    let pattern = try Pattern(pattern, options: options)
    for text in found { #expect(matches(pattern, text), "\(text)") }
    for text in others { #expect(!matches(pattern, text), "\(text)") }
  }

  @Test(arguments: [
    "(", ")", "a)", "[a", "[z-a]", "[a-\\d]", "*a", "a|*", "?", "(?", "(?<", "(?<a", "\\", "a{2,1}",
    "(?<=a+)b", "(a)\\2", "\\k<a>", "\\C", "\\x{110000}", "\\x{d800}", "[[:frob:]]", "(?z)", "(?#a",
    "\\p{Frob}", "\\u00e9", "a{65536}", String(repeating: "a", count: 4_097),
    "((((((a{9}){9}){9}){9}){9}){9})",
  ])
  func `a pattern with an error is refused`(pattern: String) {
    #expect { try Pattern(pattern) } throws: {
      if case PatternError.syntax = $0 { true } else { false }
    }
  }

  @Test(arguments: [
    "(?R)", "a(?0)?", "(a)(?1)", "(a)(?-1)", "(?+1)(a)", "(?<n>a)(?&n)", "(?<n>a)(?P>n)",
    "(a)\\g<1>",
    "(a)\\g'1'", "(a)(?i)(?1)", "(a)(?#b)(?1)", "(?x) (a) # b\n (?1)", "(a)\\E(?1)", "(a)(?C9)(?1)",
    "(?(DEFINE)(?<n>a))(?&n)",
  ])
  func `recursion is refused`(pattern: String) {
    let error = #expect(throws: PatternError.self) { try Pattern(pattern) }
    guard case .syntax(let detail) = error else { return }
    #expect(detail.contains("recursion"))
  }

  private static let ranges: [(String, String)] = [
    ("[\\x{0}-\\x{10ffff}]", "i"), ("[\u{80}-\u{10ffff}]", "i"), ("(?i)[a-\\x{000000010ffff}]", ""),
    ("(?s-mi)(?^i:[a-\\x{fffff}])", ""), ("[a-\\Q\u{10ffff}\\E]", "i"),
    ("(?xx)[a- \u{10ffff}]", "i"),
    ("[a-\\o{4177777}]", "i"), ("[a-\\N{U+10ffff}]", "i"), ("[a-\\E\\Q\\E\u{10ffff}]", "i"),
    (String(repeating: "[一-龥]", count: 2), "i"),
  ]

  @Test(arguments: ranges)
  func `large ranges are refused if case is ignored`(pattern: String, options: String) throws {
    let error = #expect(throws: PatternError.self) { try Pattern(pattern, options: options) }
    guard case .syntax(let detail) = error else { return }
    #expect(detail.contains("ignores case"))
    if options == "i", !pattern.contains("(?") { _ = try Pattern(pattern) }
  }

  @Test func `groups within 251 groups are refused`() throws {
    func nested(_ depth: Int) -> String {
      [String](repeating: "(", count: depth).joined()
        + [String](repeating: ")", count: depth).joined()
    }
    _ = try Pattern(nested(250))
    #expect(throws: PatternError.self) { try Pattern(nested(251)) }
  }

  @Test func `an unknown option is refused`() {
    #expect(throws: PatternError.options) { try Pattern("a", options: "ig") }
  }

  /// A pattern, texts with a match and texts without.
  private static let ecmaScript: [(String, [String], [String])] = [
    ("^a$", ["a"], ["a\n", "ab"]), ("(?m)a$", ["a\nb"], ["ab"]),
    ("^.$", ["é", "\u{85}", "\u{2028}"], ["\n", "\r"]),
    (#"^\u00e9\u{1f600}$"#, ["é😀"], ["e"]), (#"[\u0061-\u0063]"#, ["b"], ["d"]),
    ("^[^]$", ["\n"], [""]), ("a|[]", ["a"], ["b"]), (#"^(?:(a)|b)\1$"#, ["aa", "b"], ["ab"]),
    (#"^(?<year>\d{4})-\k<year>$"#, ["2024-2024"], ["2024-2025"]),
    (#"^\p{Script=Greek}$"#, ["λ"], ["l"]),
    (#"^\cJ\x41$"#, ["\nA"], ["J"]),
  ]

  @Test(arguments: ecmaScript)
  func `ECMAScript has its own meaning`(pattern: String, found: [String], others: [String]) throws {
    let pattern = try Pattern(pattern, dialect: .ecmaScript)
    for text in found { #expect(matches(pattern, text), "\(text)") }
    for text in others { #expect(!matches(pattern, text), "\(text)") }
  }
}
