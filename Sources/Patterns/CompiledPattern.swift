import CPCRE2

/// A pattern as PCRE2 has compiled it.
///
/// The library only reads it afterwards, so threads may share it.
@safe final class CompiledPattern: Sendable {
  private nonisolated(unsafe) let code: OpaquePointer
  private let price: PatternPrice

  enum Option: Unicode.Scalar {
    case caseless = "i"
    case multiline = "m"
    case dotAll = "s"
    case extended = "x"

    var bits: UInt32 {
      switch self {
      case .caseless: PCRE2_CASELESS
      case .multiline: PCRE2_MULTILINE
      case .dotAll: PCRE2_DOTALL
      case .extended: PCRE2_EXTENDED
      }
    }
  }

  /// The maximum depth of nested groups, which bounds the stack of the compiler.
  private static let depthLimit: UInt32 = 250
  /// The maximum number of tries from one position; the budget ends a match far earlier.
  private static let matchLimit: UInt32 = 10_000_000
  /// The maximum memory of a match in KiB.
  ///
  /// PCRE2 remembers where it may go back to. A frame takes 128 bytes and 16 for each group, and
  /// each round of `(?:a|b)*` needs two.
  private static let heapLimit: UInt32 = 16_384

  init(_ source: String, _ options: Set<Option>, _ dialect: Pattern.Dialect) throws(PatternError) {
    // The meter depends on a callout before each item.
    var bits = PCRE2_UTF | PCRE2_AUTO_CALLOUT | PCRE2_NEVER_BACKSLASH_C
    for option in options { bits |= option.bits }
    let context = unsafe pcre2_compile_context_create_8(nil)
    defer { unsafe pcre2_compile_context_free_8(context) }
    unsafe pcre2_set_parens_nest_limit_8(context, Self.depthLimit)
    switch dialect {
    case .pcre: unsafe pcre2_set_newline_8(context, UInt32(PCRE2_NEWLINE_LF))
    case .ecmaScript:
      bits |= PCRE2_ALT_BSUX | PCRE2_DOLLAR_ENDONLY | PCRE2_ALLOW_EMPTY_CLASS
      bits |= PCRE2_MATCH_UNSET_BACKREF
      unsafe pcre2_set_newline_8(context, UInt32(PCRE2_NEWLINE_ANYCRLF))
      unsafe pcre2_set_compile_extra_options_8(context, PCRE2_EXTRA_ALT_BSUX)
    }
    var (code, offset) = (Int32(0), 0)
    let bytes = Array(source.utf8)
    let compiled = unsafe bytes.withUnsafeBufferPointer { pattern in
      unsafe pcre2_compile_8(pattern.baseAddress, pattern.count, bits, &code, &offset, context)
    }
    guard let compiled = unsafe compiled else { throw .refused(Self.message(code), at: offset) }
    unsafe self.code = unsafe compiled
    do throws(PatternError) {
      price = try unsafe PatternPrice(compiled, bytes)
    } catch {
      // All members must be set before `deinit` can run.
      unsafe pcre2_code_free_8(compiled)
      throw error
    }
  }

  deinit { unsafe pcre2_code_free_8(code) }

  private static func message(_ code: Int32) -> String {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe bytes.withUnsafeMutableBufferPointer { bytes in
      unsafe pcre2_get_error_message_8(code, bytes.baseAddress, bytes.count)
    }
    return String(decoding: bytes.prefix(max(Int(count), 0)), as: UTF8.self)
  }

  func matches(_ text: String, spending steps: inout Int) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      var meter = PatternMeter(price, textLength: bytes.count, steps: steps)
      let result = unsafe withUnsafeMutablePointer(to: &meter) { unsafe match(bytes, $0) }
      steps = meter.steps
      // No match is an answer. Any other error is a limit.
      if result < 0, result != PCRE2_ERROR_NOMATCH { steps = min(steps, -1) }
      return result >= 0 && steps >= 0
    }
  }

  private func match(
    _ bytes: UnsafeBufferPointer<UInt8>, _ meter: UnsafeMutablePointer<PatternMeter>
  ) -> Int32 {
    guard unsafe meter.pointee.steps >= 0 else { return PCRE2_ERROR_CALLOUT }
    let general = unsafe PatternMeter.allocator(meter)
    defer { unsafe pcre2_general_context_free_8(general) }
    let context = unsafe pcre2_match_context_create_8(general)
    defer { unsafe pcre2_match_context_free_8(context) }
    let data = unsafe pcre2_match_data_create_8(1, general)
    defer { unsafe pcre2_match_data_free_8(data) }
    unsafe pcre2_set_match_limit_8(context, Self.matchLimit)
    unsafe pcre2_set_heap_limit_8(context, Self.heapLimit)
    unsafe pcre2_set_callout_8(context, PatternMeter.callout, meter)
    // Strings of Swift are valid UTF-8. An empty one may have no address.
    let none: [UInt8] = [0]
    return unsafe none.withUnsafeBufferPointer { none in
      let start = unsafe bytes.baseAddress ?? none.baseAddress
      let check = PCRE2_NO_UTF_CHECK
      return unsafe pcre2_match_8(code, start, bytes.count, 0, check, data, context)
    }
  }
}

extension PatternError {
  static func refused(_ reason: String, at offset: Int) -> PatternError {
    .syntax("The regular expression is not accepted, at byte \(offset): \(reason).")
  }
}
