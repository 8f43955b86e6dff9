/// A compiled regular expression, matched in one pass over the text.
///
/// MongoDB's engine is PCRE, which backtracks. Its step limit starts again at every character. It
/// does not count the characters that one step consumes. So even `[a-z]*[0-9]` takes quadratic
/// time. This engine reads the text once and follows all possible matches in parallel. Each one
/// costs a step of the budget. Patterns that cannot be matched this way are rejected.
///
/// RE2 was tried instead (Debian 12 has the release of June 2022):
/// - While its automaton fits its memory, RE2 reads a megabyte in 2 to 40 ms; this engine takes 0.2
///   to 2 s.
/// - Beyond that it works like this engine, but it can be neither stopped nor charged to a budget.
///   `[a-q]?.{900}X` took RE2 0.9 s for 64 KiB with its default 8 MB. `((a{0,30}){0,30})c` took it
///   108 s for 1 MiB with 256 KiB. This engine stops at its budget.
/// - RE2 lacks the option `x`, `$` before a last newline, `\Z`, `\R`, `\h`, `\N`, `(?<name>a)`,
///   `\u00e9` and counts above 1,000. The parser, over half of this module, would have to stay and
///   translate.
/// - Source: the syntax of `pcre2pattern(3)`; Ken Thompson, "Regular expression search algorithm",
///   1968.
package struct Pattern: Sendable {
  package let source: String
  /// The sorted options, a subset of `imsx`.
  package let options: String
  private let program: [Instruction]
  /// Whether any part of the pattern ignores case.
  private let isCaseless: Bool

  private enum Instruction: Sendable {
    case one(ScalarSet)
    case assertion(PatternNode.Assertion)
    case split(Int, Int)
    case jump(Int)
    case match
  }

  /// The maximum length of a pattern in bytes.
  private static let lengthLimit = 4_096
  /// More options than exist.
  private static let optionsLimit = 16
  /// The maximum number of instructions.
  ///
  /// All of them may be active at every character.
  private static let programLimit = 4_096

  /// The two dialects, which differ in a few points.
  package enum Dialect: Sendable {
    /// `$` also matches before a newline that is the last character.
    case pcre
    /// `$` matches only at the end, `.` matches no line terminator, and `\u00e9` and `\u{e9}` are
    /// characters.
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
    _ source: String,
    options: String = "",
    dialect: Dialect = .pcre
  ) throws(PatternError) {
    var flags = PatternParser.Options()
    flags.dialect = dialect
    guard options.utf8.count <= Self.optionsLimit else { throw .options }
    for option in options.utf8 {
      switch option {
      case UInt8(ascii: "i"): flags.isCaseless = true
      case UInt8(ascii: "m"): flags.isMultiline = true
      case UInt8(ascii: "s"): flags.isDotAll = true
      case UInt8(ascii: "x"): flags.isExtended = true
      case UInt8(ascii: "u"): break
      default:
        throw .options
      }
    }
    guard source.utf8.count <= Self.lengthLimit else {
      throw .syntax("A regular expression may have \(Self.lengthLimit) bytes.")
    }
    do throws(PatternParser.Fault) {
      var parser = PatternParser(source, flags)
      var compiler = Compiler()
      try compiler.add(try parser.pattern())
      compiler.program.append(.match)
      program = compiler.program
    } catch {
      throw .syntax("The regular expression is not taken, at byte \(error.offset). \(error.detail)")
    }
    isCaseless = program.contains { instruction in
      if case .one(let set) = instruction { set.isCaseless } else { false }
    }
    self.source = source
    self.options = String(options.sorted())
  }

  /// Translates nodes to instructions.
  ///
  /// Counted nodes are repeated in the program.
  private struct Compiler {
    var program: [Instruction] = []
    /// The number of translated nodes, including those without instructions.
    private var work = 0

    mutating func add(_ node: PatternNode) throws(PatternParser.Fault) {
      work += 1
      guard program.count < Pattern.programLimit, work < 4 * Pattern.programLimit else {
        throw PatternParser.Fault(offset: 0, detail: "It is too large.")
      }
      switch node {
      case .one(let set): program.append(.one(set))
      case .assertion(let assertion): program.append(.assertion(assertion))
      case .sequence(let parts): for part in parts { try add(part) }
      case .alternatives(let branches):
        var ends: [Int] = []
        for branch in branches.dropLast() {
          let split = program.count
          program.append(.match)
          try add(branch)
          ends.append(program.count)
          program.append(.match)
          program[split] = .split(split + 1, program.count)
        }
        if let last = branches.last { try add(last) }
        for end in ends { program[end] = .jump(program.count) }
      case .repeated(let part, let minimum, let maximum):
        for _ in 0..<minimum { try add(part) }
        guard let maximum else {
          let split = program.count
          program.append(.match)
          try add(part)
          program.append(.jump(split))
          program[split] = .split(split + 1, program.count)
          return
        }
        var splits: [Int] = []
        for _ in minimum..<maximum {
          splits.append(program.count)
          program.append(.match)
          try add(part)
        }
        for split in splits { program[split] = .split(split + 1, program.count) }
      }
    }
  }

  // MARK: Matching

  /// Returns whether the text contains a match.
  ///
  /// - Parameters:
  ///   - text: the text, which is read once.
  ///   - spend: receives the steps of each bit of work, and throws an error if the budget is used
  ///     up.
  /// - Returns: true if there is a match.
  /// - Throws: any error of `spend`.
  /// - Complexity: O(*n* × *m*) for the length of the text and the program.
  package func matches<Fault: Error>(
    _ text: String,
    spend: (Int) throws(Fault) -> Void
  ) throws(Fault) -> Bool {
    try spend(program.count / 64)
    var run = Run(count: program.count)
    var rest = text.unicodeScalars.makeIterator()
    var before: Unicode.Scalar?
    var current = rest.next()
    var next = rest.next()
    while true {
      let place = Place(before: before, after: current, isLast: next == nil)
      run.add(0, program, place)
      if run.isMatch { return true }
      // A visit costs less than a step of the budget. Case variants of a non-ASCII letter are
      // strings of their own, so they cost more.
      try spend((isCaseless && current?.isASCII == false ? 8 : 1) + run.takeVisits() / 8)
      guard let scalar = current else { return false }
      before = scalar
      current = next
      next = rest.next()
      run.advance(
        CasedScalar(scalar, isCaseless: isCaseless),
        program,
        Place(before: before, after: current, isLast: next == nil)
      )
    }
  }

  /// A position between two characters.
  private struct Place {
    let before: Unicode.Scalar?
    let after: Unicode.Scalar?
    /// Whether `after` is the last character.
    let isLast: Bool

    func allows(_ assertion: PatternNode.Assertion) -> Bool {
      switch assertion {
      case .textStart: before == nil
      case .lineStart: before == nil || (before == "\n" && after != nil)
      case .textEnd: after == nil
      case .lastLineEnd: after == nil || (after == "\n" && isLast)
      case .lineEnd: after == nil || after == "\n"
      case .wordBoundary: isBoundary
      case .noWordBoundary: !isBoundary
      case .notBeforeNewline: after != "\n"
      }
    }

    private var isBoundary: Bool {
      (before.map(PatternParser.isWord) ?? false) != (after.map(PatternParser.isWord) ?? false)
    }
  }

  /// The instructions that wait for the next character.
  private struct Run {
    private(set) var isMatch = false
    private var waiting: [Int] = []
    private var stack: [Int] = []
    /// The time at which each instruction was last reached.
    private var marks: [Int]
    private var time = 1
    private var visits = 0

    init(count: Int) { marks = [Int](repeating: 0, count: count) }

    /// Follows the program from an instruction to those that wait for a character.
    mutating func add(_ start: Int, _ program: [Instruction], _ place: Place) {
      stack.append(start)
      while let index = stack.popLast() {
        visits += 1
        guard marks[index] != time else { continue }
        marks[index] = time
        switch program[index] {
        case .one: waiting.append(index)
        case .assertion(let assertion): if place.allows(assertion) { stack.append(index + 1) }
        case .split(let first, let second):
          stack.append(second)
          stack.append(first)
        case .jump(let target): stack.append(target)
        case .match: isMatch = true
        }
      }
    }

    mutating func advance(_ scalar: CasedScalar, _ program: [Instruction], _ place: Place) {
      let reached = waiting
      waiting.removeAll(keepingCapacity: true)
      time += 1
      for index in reached {
        visits += 1
        if case .one(let set) = program[index], set.contains(scalar) {
          add(index + 1, program, place)
        }
      }
    }

    mutating func takeVisits() -> Int {
      defer { visits = 0 }
      return visits
    }
  }
}

/// The reason why a regular expression is rejected.
package enum PatternError: Error, Equatable {
  /// An option is unknown.
  case options
  /// The violated rule, in one sentence.
  case syntax(String)
}
