import Patterns
import Testing

@Suite struct PatternTests {
  private func matches(_ pattern: String, _ options: String, _ text: String) throws -> Bool {
    try Pattern(pattern, options: options).matches(text) { _ in }
  }

  /// A pattern, its options, texts with a match and texts without.
  @Test(arguments: [
    ("", "", ["", "a"], []), ("a|b", "", ["xb"], ["c"]),
    ("^a$", "", ["a", "a\n"], ["ab", "a\n\n"]),
    ("^b", "m", ["a\nb"], ["ab"]), ("a$", "m", ["a\nb"], ["ab"]), ("^$", "m", ["a\n\nb"], ["a\n"]),
    (#"\Aa\z"#, "m", ["a"], ["a\n", "b\na"]), (#"a\Z"#, "", ["a\n"], ["a\nb"]),
    ("a.b", "", ["a-b", "aéb"], ["a\nb", "ab"]), ("a.b", "s", ["a\nb"], ["ab"]),
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
    ("^a{,2}$", "", ["a{,2}"], ["a"]), ("^a{x}$", "", ["a{x}"], ["a"]), ("{1", "", ["{1"], ["1"]),
    ("^(ab|c)*$", "", ["", "abcab"], ["abca"]), ("^(?:|a)+$", "", ["", "aa"], ["b"]),
    ("(?<name>a)(?P<other>b)(?'third'c)", "", ["abc"], ["ab"]),
    (#"\x41\x{1f600}"#, "", ["A😀"], ["A"]), (#"a\x4１b"#, "", ["a\u{4}１b"], ["aAb"]),
    (#"\.\*\/\-\é"#, "", [".*/-é"], ["a"]), (#"\Qa.b\E."#, "", ["a.bc"], ["a-bc"]),
    (#"a\Rb"#, "", ["a\r\nb", "a\nb", "a\rb"], ["a\r\r\nb"]),
    (#"\R\n"#, "", ["\r\n\n"], ["\r\n"]), ("^.$", "", ["😀", "é"], ["e\u{301}"]),
    (#"^[\w.+-]+@[\w-]+\.[a-z]{2,}$"#, "i", ["Ada.L+x@Example.org"], ["ada@", "a@b"]),
  ])
  func `what a pattern finds`(
    pattern: String,
    options: String,
    found: [String],
    others: [String]
  ) throws {
    for text in found { #expect(try matches(pattern, options, text), "\(text)") }
    for text in others { #expect(try !matches(pattern, options, text), "\(text)") }
  }

  @Test(arguments: [
    "(", ")", "a)", "[a", "[z-a]", "[a-\\d]", "*a", "a|*", "?", "(?", "(?<", "(?<a", "\\", "a{2,1}",
    "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", "a++", "a*+", "(a)\\1", "\\g1", "\\k<a>", "(?R)",
    "(?1)", "(?(1)a)", "(*FAIL)", "\\p{L}", "\\C", "\\G", "\\K", "\\X", "\\xzz{", "\\x{110000}",
    "\\x{d800}", "\\x{}", "\\x{４１}", "\\x４１", "[[:frob:]]", "(?z)", "(?#a", "\\0",
  ])
  func `what is no pattern, or cannot be matched in one pass, is refused`(pattern: String) {
    #expect {
      try Pattern(pattern)
    } throws: {
      if case PatternError.syntax = $0 { true } else { false }
    }
  }

  @Test func `options that are not known are refused`() {
    #expect(throws: PatternError.options) { try Pattern("a", options: "ig") }
  }

  /// A pattern, texts with a match and texts without.
  @Test(arguments: [
    ("^a$", ["a"], ["a\n", "ab"]), ("(?m)a$", ["a\nb"], ["ab"]),
    ("^.$", ["é", "\u{85}"], ["\n", "\r", "\u{2028}", "\u{2029}"]),
    (#"^\u00e9\u{1f600}$"#, ["é😀"], ["e"]), (#"[\u0061-\u0063]"#, ["b"], ["d"]),
  ])
  func `what ECMAScript has otherwise`(pattern: String, found: [String], others: [String]) throws {
    let pattern = try Pattern(pattern, dialect: .ecmaScript)
    for text in found { #expect(pattern.matches(text) { _ in }, "\(text)") }
    for text in others { #expect(!pattern.matches(text) { _ in }, "\(text)") }
  }

  @Test func `a match ends when its caller has had enough`() throws {
    struct Enough: Error {}
    var steps = 0
    #expect(throws: Enough.self) {
      try Pattern("(a?){1000}b").matches(String(repeating: "a", count: 10_000)) { cost in
        steps += cost
        if steps > 100_000 { throw Enough() }
      }
    }
    #expect(steps < 101_000)
  }
}
