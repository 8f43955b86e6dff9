internal import CPCRE2

/// A regular expression, compiled.
///
/// The engine is PCRE2, as in MongoDB, without its compiler to machine code. It backtracks, so
/// every match has a limit, which grows only as long as the budget of the call pays for it: a
/// hostile pattern ends in `.maxTimeExpired`.
@safe final class Pattern: Sendable {
  let source: String
  /// Sorted, of `imsx`.
  let options: String
  /// Never changed after `init`: PCRE2 matches with one code in any number of threads.
  private nonisolated(unsafe) let code: OpaquePointer

  /// Bytes of a pattern; PCRE2 bounds what it compiles to by 64 KiB, and its nesting by 250.
  private static let lengthLimit = 4_096
  /// Kibibytes for backtracking.
  private static let heapLimit: UInt32 = 4_096

  /// - Parameters:
  ///   - source: the pattern.
  ///   - options: of `imsx`, in any order.
  ///   - pointer: to the pattern, for errors.
  /// - Throws: `.invalidRegex` or `.invalidRegexOptions`.
  init(_ source: String, options: String, pointer: String) throws(OperatorError) {
    var flags = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C
    for option in options.utf8 {
      switch option {
      case UInt8(ascii: "i"): flags |= PCRE2_CASELESS
      case UInt8(ascii: "m"): flags |= PCRE2_MULTILINE
      case UInt8(ascii: "s"): flags |= PCRE2_DOTALL
      case UInt8(ascii: "x"): flags |= PCRE2_EXTENDED
      // Unicode is always on.
      case UInt8(ascii: "u"): break
      default:
        throw OperatorError(
          .invalidRegexOptions,
          "The options of a regular expression are i, m, s and x.",
          pointer: pointer
        )
      }
    }
    guard source.utf8.count <= Self.lengthLimit else {
      throw OperatorError(
        .invalidRegex,
        "A regular expression may have \(Self.lengthLimit) bytes.",
        pointer: pointer
      )
    }
    var error: Int32 = 0
    var offset = 0
    var text = source
    let code = text.withUTF8 { bytes in
      unsafe pcre2_compile_8(bytes.baseAddress, bytes.count, flags, &error, &offset, nil)
    }
    guard let code = unsafe code else {
      throw OperatorError(
        .invalidRegex,
        "The regular expression is not valid at byte \(offset).",
        pointer: pointer
      )
    }
    unsafe self.code = code
    self.source = source
    self.options = String(options.sorted())
  }

  deinit { unsafe pcre2_code_free_8(code) }

  /// Whether the text holds a match.
  ///
  /// - Throws: `.maxTimeExpired`.
  func matches(_ text: String, _ budget: inout Budget) throws(OperatorError) -> Bool {
    var text = text
    var limit = 256 + 4 * text.utf8.count
    // Most texts need far less than the first limit.
    var cost = 4 + limit / 64
    while true {
      try budget.spend(cost)
      let result = text.withUTF8 { bytes in unsafe run(on: bytes, UInt32(limit)) }
      switch result {
      case PCRE2_ERROR_NOMATCH: return false
      case PCRE2_ERROR_MATCHLIMIT, PCRE2_ERROR_DEPTHLIMIT:
        limit *= 8
        cost = limit
      case 0...: return true
      default: throw OperatorError(.maxTimeExpired, "The regular expression takes too much memory.")
      }
    }
  }

  private func run(on bytes: UnsafeBufferPointer<UInt8>, _ limit: UInt32) -> Int32 {
    let context = unsafe pcre2_match_context_create_8(nil)
    defer { unsafe pcre2_match_context_free_8(context) }
    unsafe pcre2_set_match_limit_8(context, limit)
    unsafe pcre2_set_depth_limit_8(context, limit)
    unsafe pcre2_set_heap_limit_8(context, Self.heapLimit)
    // Room for the match as a whole; groups are of no interest.
    let match = unsafe pcre2_match_data_create_8(1, nil)
    defer { unsafe pcre2_match_data_free_8(match) }
    return unsafe pcre2_match_8(
      code,
      bytes.baseAddress,
      bytes.count,
      0,
      PCRE2_NO_UTF_CHECK,
      match,
      context
    )
  }
}
