import Glibc

/// Common passwords, which attackers guess first.
///
/// They are the words in the lists of Debian's package `python3-zxcvbn`: frequent leaked passwords,
/// dictionary words and names. Three rules add passwords that those lists omit: a repeated block of
/// characters, such as `asdasdasd`, consecutive characters, such as `87654321`, and a common password
/// between a few digits and signs, such as `Password1!`.
///
/// The lists remain text, and are searched when a user chooses a password. The search takes
/// microseconds; a hash takes tens of milliseconds. It adds nothing to the start of a worker.
package struct CommonPasswords: Sendable {
  /// The lists, with a comma on both sides of every word.
  private let text: SearchedText

  private static let comma = UInt8(ascii: ",")

  /// Reads the lists, such as `"passwords": "123456,password,…"`, from the package's file.
  ///
  /// - Returns: nil if the file contains no such list.
  init?(file: [UInt8]) {
    let quote = UInt8(ascii: "\"")
    guard file.contains(quote) else { return nil }
    text = SearchedText(file.map { $0 == quote ? Self.comma : $0 })
  }

  /// Returns whether a password is common.
  ///
  /// The case of ASCII letters is ignored.
  package func contains(_ password: String) -> Bool {
    let word = password.foldedBytes
    return [word, Self.core(of: word)].contains { word in
      Self.repeats(word) || Self.counts(word) || has(word)
    }
  }

  /// The digits and signs around a word that hardly slow a guess.
  private static let mostAround = 5

  /// Returns a word without the digits and signs before and after it; empty if there are too many.
  private static func core(of word: [UInt8]) -> [UInt8] {
    func isPart(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || byte >= 0x80
    }
    guard let first = word.firstIndex(where: isPart), let last = word.lastIndex(where: isPart),
      first + word.count - 1 - last <= mostAround
    else { return [] }
    return Array(word[first...last])
  }

  private func has(_ word: [UInt8]) -> Bool {
    // No word of the lists contains a comma. Text with a comma could match several words.
    guard !word.isEmpty, !word.contains(Self.comma) else { return false }
    return text.firstIndex(of: SearchedText([Self.comma] + word + [Self.comma])) != nil
  }

  /// Returns whether a word is a repetition of one block, at least twice.
  private static func repeats(_ word: [UInt8]) -> Bool {
    // For each prefix, the length of its longest proper prefix that is also its suffix. The rest of
    // the word is the shortest block. The search takes linear time.
    var ends: [Int] = [0]
    ends.reserveCapacity(word.count)
    for byte in word.dropFirst() {
      var length = ends[ends.count - 1]
      while length > 0, word[length] != byte { length = ends[length - 1] }
      ends.append(word[length] == byte ? length + 1 : 0)
    }
    return word.count > 1 && (word.count - ends[word.count - 1]) * 2 <= word.count
  }

  /// Returns whether each byte is one more than the byte before it, or each is one less.
  private static func counts(_ word: [UInt8]) -> Bool {
    word.count > 1
      && [1, -1].contains { step in
        zip(word, word.dropFirst()).allSatisfy { Int($1) - Int($0) == step }
      }
  }
}

extension String {
  /// The bytes with ASCII letters in lower case.
  fileprivate var foldedBytes: [UInt8] {
    utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
  }

  /// Returns whether the string contains another one.
  ///
  /// The case of ASCII letters is ignored.
  package func containsFolded(_ other: String) -> Bool {
    SearchedText(foldedBytes).firstIndex(of: SearchedText(other.foldedBytes)) != nil
  }

  /// Returns whether the string contains another one with no letter before and after it.
  ///
  /// The case of ASCII letters is ignored. Each character outside ASCII counts as a letter.
  package func containsFoldedWord(_ other: String) -> Bool {
    let (text, word) = (foldedBytes, other.foldedBytes)
    func isLetter(_ index: Int) -> Bool {
      text.indices.contains(index)
        && (text[index] >= 0x80 || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(text[index]))
    }
    return text.indices.contains { start in
      text[start...].starts(with: word) && !isLetter(start - 1) && !isLetter(start + word.count)
    }
  }
}

/// A byte string to search, or to search for, up to its first zero byte.
///
/// The C library searches in linear time.
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
