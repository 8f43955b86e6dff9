/// A compiled regular expression of PCRE2, matched within a budget.
///
/// MongoDB uses PCRE2 too. The library backtracks, and its own limits do not bound the time: the
/// match limit starts again at every character of the text, and it does not count the characters
/// that one step consumes. With a match limit of 1,000, `[a-z]*[0-9]` took 2.9 s for 50,000
/// letters. So `PatternMeter` charges every item that the library tries, and stops it.
///
/// - Source: `pcre2pattern(3)`, `pcre2api(3)`, `pcre2callout(3)`.
package struct Pattern: Sendable {
  package let source: String
  /// The sorted options, a subset of `imsux`.
  package let options: String
  private let code: CompiledPattern

  /// The maximum length of a pattern in bytes.
  private static let lengthLimit = 4_096
  /// More options than exist.
  private static let optionsLimit = 16

  /// The two dialects, which differ in a few points.
  package enum Dialect: Sendable {
    /// PCRE2's own syntax, with line feed as the newline.
    case pcre
    /// PCRE2's syntax with the meaning of ECMAScript where it has options for that:
    /// - `$` matches only at the end of the text.
    /// - `.` matches no line feed and no carriage return.
    /// - `\u00e9` and `\u{e9}` are characters.
    /// - `[]` matches nothing and `[^]` any character.
    /// - A reference to a group without a match matches the empty text.
    ///
    /// - Source: ECMA-262, section 22.2.
    case ecmaScript
  }

  /// Compiles a pattern.
  ///
  /// - Parameters:
  ///   - source: the pattern.
  ///   - options: letters of `imsx` in any order. `u` is ignored, since Unicode is always on.
  ///   - dialect: the dialect of the pattern.
  /// - Throws: `.options` if an option is unknown, `.syntax` if the pattern is rejected.
  package init(
    _ source: String, options: String = "", dialect: Dialect = .pcre
  ) throws(PatternError) {
    var flags: Set<CompiledPattern.Option> = []
    guard options.utf8.count <= Self.optionsLimit else { throw .options }
    for letter in options.unicodeScalars where letter != "u" {
      guard let flag = CompiledPattern.Option(rawValue: letter) else { throw .options }
      flags.insert(flag)
    }
    guard source.utf8.count <= Self.lengthLimit else {
      throw .syntax("A regular expression may have at most \(Self.lengthLimit) bytes.")
    }
    let isCaseless = flags.contains(.caseless) || CaselessRanges.canIgnoreCase(source)
    guard !isCaseless || CaselessRanges.areSmall(source) else {
      throw .syntax("A regular expression that ignores case has too large ranges of characters.")
    }
    code = try CompiledPattern(source, flags, dialect)
    self.source = source
    self.options = String(options.sorted())
  }

  /// Returns whether the text contains a match.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - steps: the budget, from which the work is subtracted. A step takes at most 80 ns. If the
  ///     budget or the memory of a match does not suffice, `steps` becomes negative.
  /// - Returns: true if there is a match and `steps` is not negative.
  package func matches(_ text: String, spending steps: inout Int) -> Bool {
    code.matches(text, spending: &steps)
  }
}

/// The reason why a regular expression is rejected.
package enum PatternError: Error, Equatable {
  /// An option is unknown.
  case options
  /// The violated rule, in one sentence.
  case syntax(String)
}
