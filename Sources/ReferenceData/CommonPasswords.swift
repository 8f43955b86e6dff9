import Glibc

/// Passwords that are guessed first.
///
/// These are the words in the lists of Debian's package `python3-zxcvbn` (what was most frequent in
/// what was stolen elsewhere, words, names), and what those lists leave out because it follows a
/// rule: one block of characters that repeats, such as `asdasdasd`, and characters that follow one
/// another, such as `87654321`.
///
/// The lists stay the text that they are, and are searched when somebody chooses a password: that
/// takes microseconds, beside a hash of tens of milliseconds, and adds nothing to the start of a
/// worker.
package struct CommonPasswords: Sendable {
  /// With a comma on both sides of every word.
  private let text: SearchedText

  private static let comma = UInt8(ascii: ",")

  /// Reads `"passwords": "123456,password,…"` and what is like it out of the package's file.
  ///
  /// - Returns: nil when there is no such list in it.
  init?(file: [UInt8]) {
    let quote = UInt8(ascii: "\"")
    guard file.contains(quote) else { return nil }
    text = SearchedText(file.map { $0 == quote ? Self.comma : $0 })
  }

  /// Whether a password is one of them; letters of ASCII count alike in either case.
  package func contains(_ password: String) -> Bool {
    let word = password.foldedBytes
    return Self.repeats(word) || Self.counts(word) || has(word)
  }

  private func has(_ word: [UInt8]) -> Bool {
    // No word of the lists has a comma: what has one is several of them, or none.
    guard !word.isEmpty, !word.contains(Self.comma) else { return false }
    return text.firstIndex(of: SearchedText([Self.comma] + word + [Self.comma])) != nil
  }

  /// Whether it is one block, of at most half of it, over and over.
  private static func repeats(_ word: [UInt8]) -> Bool {
    // For each start of it the longest end that it begins with, too, and that is shorter than it: what
    // is left of the whole is the shortest block, found in linear time.
    var ends: [Int] = [0]
    ends.reserveCapacity(word.count)
    for byte in word.dropFirst() {
      var length = ends[ends.count - 1]
      while length > 0, word[length] != byte { length = ends[length - 1] }
      ends.append(word[length] == byte ? length + 1 : 0)
    }
    return word.count > 1 && (word.count - ends[word.count - 1]) * 2 <= word.count
  }

  /// Whether each byte is the one after, or each the one before, the last.
  private static func counts(_ word: [UInt8]) -> Bool {
    word.count > 1
      && [1, -1].contains { step in
        zip(word, word.dropFirst()).allSatisfy { Int($1) - Int($0) == step }
      }
  }
}

extension String {
  /// The bytes, with the capital letters of ASCII as small ones and all else as it is.
  fileprivate var foldedBytes: [UInt8] {
    utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
  }

  /// Whether another text is in it; letters of ASCII count alike in either case.
  package func containsFolded(_ other: String) -> Bool {
    SearchedText(foldedBytes).firstIndex(of: SearchedText(other.foldedBytes)) != nil
  }
}

/// Bytes to look for others in, up to the first zero if they have one; the C library does it in
/// linear time.
private struct SearchedText {
  private let bytes: [UInt8]

  init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) + [0] }

  func firstIndex(of other: SearchedText) -> Int? {
    withText { text in
      other.withText { wanted in strstr(text, wanted).map { UnsafePointer($0) - text } }
    }
  }

  private func withText<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    bytes.withUnsafeBytes { all in
      // An array that is not empty has an address.
      body(all.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self))
    }
  }
}
