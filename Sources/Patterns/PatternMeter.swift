import CPCRE2
import Glibc

/// The price in steps of PCRE2's work on one pattern.
///
/// PCRE2 calls back before each item of the pattern that it tries. So its work is bounded by the
/// calls, by the distance in the text from one call to the next, and by what an item can do before
/// it fails. Measured on one core: a call takes 45 ns, a character 1 to 3 ns.
struct PatternPrice {
  /// The price of a call.
  private(set) var item = 1
  /// The price of 256 bytes of text.
  private(set) var bytes = 16
  /// Whether one item may read the whole text and fail.
  private(set) var readsText = false

  /// Reads the price off the items of the pattern.
  ///
  /// - Throws: `.syntax` if an item has no bounded price. Recursion looks for itself among all
  ///   recursions under way: 16 µs each at a depth of 20,000.
  init(_ code: OpaquePointer, _ source: [UInt8]) throws(PatternError) {
    let items = unsafe Self.items(code)
    var (count, classLength) = (0, 0)
    for item in items {
      let text = source[item.clamped(to: 0..<source.count)]
      guard !Self.isRecursion(text) else {
        throw .refused("recursion, as (?R) or (?1), is not supported", at: item.lowerBound)
      }
      count = max(count, Self.largestCount(text))
      // Classes are searched one entry after the other.
      if text.first == UInt8(ascii: "[") { classLength = max(classLength, text.count) }
      readsText = readsText || text.starts(with: "\\X".utf8) || text.starts(with: "(*".utf8)
    }
    readsText = unsafe readsText || Self.info(code, PCRE2_INFO_BACKREFMAX, UInt32(0)) > 0
    bytes += classLength
    // Each try copies a frame.
    item += unsafe max(Self.info(code, PCRE2_INFO_FRAMESIZE, 0) - 128, 0) / 64
    item += Int(unsafe Self.info(code, PCRE2_INFO_MAXLOOKBEHIND, UInt32(0))) / 64
    item += count * bytes / 512
  }

  /// The places of the items in the pattern.
  private static func items(_ code: OpaquePointer) -> [Range<Int>] {
    var items: [Range<Int>] = []
    _ = unsafe withUnsafeMutablePointer(to: &items) { items in
      unsafe pcre2_callout_enumerate_8(
        code,
        { block, items in
          guard let block = unsafe block?.pointee else { return 0 }
          let start = unsafe Int(block.pattern_position)
          unsafe items?.assumingMemoryBound(to: [Range<Int>].self).pointee
            .append(start..<start + Int(block.next_item_length))
          return 0
        },
        items
      )
    }
    return items
  }

  private static func info<Value: BitwiseCopyable>(
    _ code: OpaquePointer, _ what: Int32, _ value: Value
  ) -> Value {
    var value = value
    _ = unsafe pcre2_pattern_info_8(code, UInt32(what), &value)
    return value
  }

  /// Returns whether an item is `(?R)`, `(?1)`, `(?-1)`, `(?&name)`, `(?P>name)` or `\g<name>`.
  private static func isRecursion(_ item: ArraySlice<UInt8>) -> Bool {
    if item.starts(with: "\\g<".utf8) || item.starts(with: "\\g'".utf8) { return true }
    guard item.starts(with: "(?".utf8) else { return false }
    var rest = item.dropFirst(2)
    if rest.starts(with: "P>".utf8) { return true }
    if rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
    return rest.first.map { "R&+0123456789".utf8.contains($0) } ?? false
  }

  /// Returns the largest number after a brace, which may be how often the item is repeated.
  private static func largestCount(_ item: ArraySlice<UInt8>) -> Int {
    item.split(separator: UInt8(ascii: "{"), omittingEmptySubsequences: false).dropFirst()
      .map { rest in
        rest.prefix { (0x30...0x39).contains($0) }
          .reduce(0) { min($0 * 10 + Int($1 - 0x30), 65_535) }
      }.max() ?? 0
  }
}

/// The remaining steps of one match.
struct PatternMeter {
  private(set) var steps: Int
  private let item: Int
  private let bytes: Int
  /// The position in the text at the latest call.
  private var position = 0

  init(_ price: PatternPrice, textLength: Int, steps: Int) {
    item = price.item + (price.readsText ? textLength / 32 : 0)
    bytes = price.bytes
    // One item may read the whole text before the next call, so the budget must suffice for that.
    let canRead = textLength * price.bytes / 256 <= steps
    // The start of a match, and the search for its first character.
    self.steps = canRead ? steps - 4 - textLength / 32 : -1
  }

  /// Charges one item, and stops the match if no steps are left.
  static let callout: Callout = { block, meter in
    guard let block = unsafe block, let meter = unsafe meter else { return PCRE2_ERROR_CALLOUT }
    let position = unsafe block.pointee.current_position
    return unsafe meter.assumingMemoryBound(to: PatternMeter.self).pointee.pay(upTo: position)
  }

  typealias Callout =
    @convention(c) (UnsafeMutablePointer<pcre2_callout_block_8>?, UnsafeMutableRawPointer?) -> Int32

  private mutating func pay(upTo position: Int) -> Int32 {
    steps -= item + (abs(position - self.position) + 1) * bytes / 256
    self.position = position
    return steps < 0 ? PCRE2_ERROR_CALLOUT : 0
  }

  /// Charges an allocation beyond the 20 KiB that each match takes.
  ///
  /// Fresh memory takes 0.25 µs for a frame of 128 bytes.
  private mutating func pay(forBytes count: Int) -> Bool {
    if count > 32_768 { steps -= count / 64 }
    return steps >= 0
  }

  /// Returns a source of memory for a match that charges what it gives out.
  static func allocator(_ meter: UnsafeMutablePointer<PatternMeter>) -> OpaquePointer? {
    unsafe pcre2_general_context_create_8(
      { size, meter in
        let meter = unsafe meter?.assumingMemoryBound(to: PatternMeter.self)
        let isPaid = unsafe meter?.pointee.pay(forBytes: size) ?? false
        return isPaid ? unsafe malloc(size) : nil
      },
      { memory, _ in unsafe free(memory) },
      meter
    )
  }
}
