import Glibc
import Patterns
import Testing

/// The budget bounds the time of a match for every pattern and text.
@Suite struct PatternCostTests {
  private static let thousand = text("a", 1_000)
  private static let million = text("a", 1_000_000)

  private static func text(_ character: String, _ count: Int) -> String {
    String(repeating: character, count: count)
  }

  /// Patterns that would take minutes, or that do much between two calls of the meter.
  private static let hard: [(String, String)] = {
    let characters = (0..<1_200).compactMap { Unicode.Scalar(0x4e00 + 2 * $0) }.map { "\($0)" }
    let groups = String(repeating: "()", count: 1_300)
    let accents = String(repeating: "\u{301}", count: 30_000)
    return [
      ("(a+)+$", "\(thousand)!"),
      ("(a|aa)+$", "\(thousand)!"),
      ("^(a?){400}a{400}$", "\(thousand)!"),
      ("([a-z]+)*[0-9]", million),
      ("[a-z]*[0-9]", million),
      ("(?:.*?,){50}x?P", "\(thousand)\(million)P"),
      (#"(.*).*?\1\1z?y|[0-9]"#, million),
      (#"\X{2}x?y|[0-9]"#, "e\(accents)"),
      ("(?<=.{60000})b|a!", "\(text("a", 100_000))!!"),
      ("(?:[^b]{60000}b|[0-9])", "\(text("a", 59_999))b"),
      ("\(groups)(?:a+)+$", "\(text("a", 30))!"),
      ("^(?:a|b)*!?$", "\(million)?"),
      ("^(?:[^\(characters.joined())]*)+[0-9]", text("大", 300_000)),
      ("^(?:[^\(characters.joined())])+[0-9]?x?!", text("大", 4_000)),
      ("(?=.*!)x?y|[0-9]", million),
      ("(?i)(?:É+)+$", "\(text("é", 10_000))!"),
      ("^(?:(*sr:a+))+$", "\(thousand)!"),
    ]
  }()

  @Test(arguments: hard)
  func `a match ends in time when its budget is spent`(source: String, text: String) throws {
    let pattern = try Pattern(source)
    var steps = 200_000
    let start = processorTime()
    #expect(!pattern.matches(text, spending: &steps))
    #expect(steps < 0)
    // 200,000 steps take 5 to 30 ms, and fewer than 100 ms without optimization.
    #expect(processorTime() - start < 0.4, "\(source.prefix(40))")
  }

  /// Returns the seconds of processor time of this thread, which no other changes.
  private func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  @Test(arguments: [
    ("^[a-z]+$", 250_000), ("^[^b]*$", 250_000), ("b", 100_000), ("^a*b", 250_000),
    (#"^[\w.+-]+@[\w-]+\.[a-z]{2,}$"#, 250_000), ("(?=a)a", 100_000),
  ])
  func `a usual pattern takes few steps for a million characters`(source: String, limit: Int) throws
  {
    var steps = limit
    _ = try Pattern(source).matches(Self.million, spending: &steps)
    #expect(steps >= 0)
  }

  @Test func `a short text takes few steps`() throws {
    var steps = 100
    #expect(try Pattern("^[0-9a-f]{24}$").matches("0123456789abcdef01234567", spending: &steps))
    #expect(steps > 50)
  }

  @Test func `nothing is matched without a budget`() throws {
    var steps = 0
    #expect(!(try Pattern("a").matches("a", spending: &steps)))
    #expect(steps < 0)
  }
}
