/// Parses the syntax of PCRE that can be matched in one pass over a text.
///
/// Supported are:
/// - literals and escapes
/// - `.`
/// - classes with ranges, escapes and POSIX names
/// - the assertions `^ $ \A \z \Z \b \B`
/// - all groups that only group
/// - options within the pattern
/// - alternatives
/// - greedy and lazy repetition
///
/// Lookaround, backreferences, and atomic or possessive matching are rejected.
struct PatternParser {
  struct Fault: Error {
    /// The offset in bytes.
    let offset: Int
    let detail: String
  }

  struct Options {
    var isCaseless = false
    var isMultiline = false
    var isDotAll = false
    var isExtended = false
    var dialect = Pattern.Dialect.pcre
  }

  private let scalars: [Unicode.Scalar]
  private var position = 0
  private var options: Options
  private var depth = 0

  /// The limit of PCRE2.
  private static let depthLimit = 250
  private static let repeatLimit = 65_535
  /// The maximum depth of nested repetitions.
  private static let nestingLimit = 4

  init(_ source: String, _ options: Options) {
    scalars = Array(source.unicodeScalars)
    self.options = options
  }

  mutating func pattern() throws(Fault) -> PatternNode {
    let node = try alternatives()
    guard position == scalars.count else { throw fault("There is a parenthesis too many.") }
    return node
  }

  private mutating func alternatives() throws(Fault) -> PatternNode {
    var branches = [try sequence()]
    while take("|") { branches.append(try sequence()) }
    return branches.count == 1 ? branches[0] : .alternatives(branches)
  }

  private mutating func sequence() throws(Fault) -> PatternNode {
    var parts: [PatternNode] = []
    while true {
      skipComments()
      guard let scalar = peek, scalar != "|", scalar != ")" else { break }
      guard let atom = try atom() else { continue }
      parts.append(try repeated(atom))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func skipComments() {
    guard options.isExtended else { return }
    while let scalar = peek {
      if scalar == "#" {
        while let next = peek, next != "\n" {
          _ = next
          position += 1
        }
      } else if scalar.properties.isWhitespace, scalar.isASCII {
        position += 1
      } else {
        return
      }
    }
  }

  // MARK: Atoms

  /// Parses an atom.
  ///
  /// Returns nil for an option or a comment.
  private mutating func atom() throws(Fault) -> PatternNode? {
    guard let scalar = next() else { return nil }
    switch scalar {
    case "(": return try group()
    case "[": return .one(try scalarClass())
    case ".":
      if options.isDotAll { return .one(.all) }
      return .one(isECMAScript ? .allButLineTerminators : .allButNewline)
    case "^": return .assertion(options.isMultiline ? .lineStart : .textStart)
    case "$":
      return .assertion(options.isMultiline ? .lineEnd : isECMAScript ? .textEnd : .lastLineEnd)
    case "\\": return try escape()
    case "*", "+", "?": throw fault("There is nothing to repeat.")
    case "{":
      position -= 1
      guard try counts() == nil else { throw fault("There is nothing to repeat.") }
      position += 1
      return literal(scalar)
    default: return literal(scalar)
    }
  }

  private func literal(_ scalar: Unicode.Scalar) -> PatternNode {
    .one(ScalarSet([scalar.value...scalar.value], isCaseless: options.isCaseless))
  }

  private mutating func group() throws(Fault) -> PatternNode? {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit else {
      throw fault("Groups may be \(Self.depthLimit) deep.")
    }
    let outer = options
    if peek == "*" { throw fault("A verb such as (*FAIL) is not offered.") }
    if take("?") {
      if take("#") {
        while let scalar = next() { if scalar == ")" { return nil } }
        throw fault("The comment does not end.")
      }
      if take("P") ? peek == "<" : peek == "<" || peek == "'" {
        try name()
      } else if try inlineOptions() {
        return nil
      }
    }
    let node = try alternatives()
    guard take(")") else { throw fault("A parenthesis is missing.") }
    options = outer
    return node
  }

  private mutating func name() throws(Fault) {
    let end: Unicode.Scalar = next() == "<" ? ">" : "'"
    guard let first = peek, Self.isWord(first), !Self.isDigit(first) else {
      throw fault("Looking around, as (?=a) or (?<!a), is not offered.")
    }
    while let scalar = peek, Self.isWord(scalar) { position += 1 }
    guard take(end) else { throw fault("The name of a group does not end.") }
  }

  /// Parses `:`, `i-m:` or `i-m)`.
  ///
  /// Returns true for the last form, which applies to the rest of the group.
  private mutating func inlineOptions() throws(Fault) -> Bool {
    var isOn = true
    while let scalar = next() {
      switch scalar {
      case "-" where isOn: isOn = false
      case "i": options.isCaseless = isOn
      case "m": options.isMultiline = isOn
      case "s": options.isDotAll = isOn
      case "x": options.isExtended = isOn
      case ":": return false
      case ")": return true
      default: throw fault(Self.refusal(ofGroup: scalar))
      }
    }
    throw fault("A parenthesis is missing.")
  }

  private static func refusal(ofGroup scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "=", "!": "Looking around, as (?=a) or (?<!a), is not offered."
    case ">": "A group that does not give back, as (?>a), is not offered."
    case "(": "A condition, as (?(1)a|b), is not offered."
    case "R", "&", "P", "+", "0"..."9": "Recursion, as (?R) or (?1), is not offered."
    case "|": "A group that numbers its branches anew, as (?|a|b), is not offered."
    case "C": "A callout, as (?C), is not offered."
    default: "There is no group (?\(scalar)."
    }
  }

  // MARK: Repetition

  private mutating func repeated(_ atom: PatternNode) throws(Fault) -> PatternNode {
    var node = atom
    var count = 0
    while true {
      skipComments()
      let bounds: (Int, Int?)
      switch peek {
      case "*": bounds = (0, nil)
      case "+": bounds = (1, nil)
      case "?": bounds = (0, 1)
      case "{":
        guard let counted = try counts() else { return node }
        bounds = counted
        position -= 1
      default: return node
      }
      position += 1
      count += 1
      guard count <= Self.nestingLimit else { throw fault("This is repeated too often.") }
      // Greedy and lazy repetition match the same texts here.
      if peek == "+" { throw fault("Repetition that does not give back, as a++, is not offered.") }
      _ = take("?")
      node = .repeated(node, bounds.0, bounds.1)
    }
  }

  /// Parses `{3}`, `{3,}` or `{3,5}`.
  ///
  /// Returns nil and reads nothing if the brace is literal.
  private mutating func counts() throws(Fault) -> (Int, Int?)? {
    let start = position
    position += 1
    var minimum: Int?
    var maximum: Int?
    minimum = number()
    maximum = minimum
    if minimum != nil, take(",") { maximum = number() }
    guard let minimum, take("}") else {
      position = start
      // The brace is parsed as an atom of its own.
      return nil
    }
    guard minimum <= Self.repeatLimit, (maximum ?? 0) <= Self.repeatLimit else {
      throw fault("A repetition may count to \(Self.repeatLimit).")
    }
    guard minimum <= maximum ?? minimum else { throw fault("The bounds are in the wrong order.") }
    return (minimum, maximum)
  }

  private mutating func number() -> Int? {
    var value: Int?
    while let scalar = peek, Self.isDigit(scalar) {
      value = min((value ?? 0) * 10 + Int(scalar.value - 48), 1_000_000)
      position += 1
    }
    return value
  }

  // MARK: Scalars

  var peek: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

  mutating func next() -> Unicode.Scalar? {
    guard let scalar = peek else { return nil }
    position += 1
    return scalar
  }

  mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard peek == scalar else { return false }
    position += 1
    return true
  }

  var isCaseless: Bool { options.isCaseless }
  var isECMAScript: Bool { options.dialect == .ecmaScript }

  /// Parses the literal text of `\Q…\E`, up to `\E` or the end of the pattern.
  mutating func quoted() -> PatternNode {
    var parts: [PatternNode] = []
    while let scalar = next() {
      if scalar == "\\", take("E") { break }
      parts.append(literal(scalar))
    }
    return .sequence(parts)
  }

  func fault(_ detail: String) -> Fault {
    let offset = scalars[..<position].reduce(0) { $0 + UTF8.width($1) }
    return Fault(offset: offset, detail: detail)
  }

  static func isDigit(_ scalar: Unicode.Scalar) -> Bool { ("0"..."9").contains(scalar) }

  /// Returns whether `\w` matches the character, in ASCII.
  static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    isDigit(scalar) || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
  }
}
