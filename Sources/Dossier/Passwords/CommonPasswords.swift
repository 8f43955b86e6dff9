import Glibc

/// Passwords that everybody uses, as Debian's package `python3-zxcvbn` lists them: the 30,000 that
/// were most frequent in what was stolen elsewhere.
///
/// The list stays the text that it is, and is searched when somebody chooses a password: that takes
/// microseconds, beside a hash of tens of milliseconds, and adds nothing to the start of a worker.
package struct CommonPasswords: Sendable {
  /// `,123456,password,`, with a comma before the first and after the last.
  private let text: SearchedText

  private static let comma = UInt8(ascii: ",")

  /// Reads `"passwords": "123456,password,…"` out of the package's file.
  ///
  /// - Returns: nil when there is no such list in it.
  init?(file: [UInt8]) {
    let name = #""passwords": ""#
    let file = SearchedText(file)
    guard let start = file.firstIndex(of: SearchedText(name.utf8)) else { return nil }
    let list = file.bytes(from: start + name.utf8.count, upTo: UInt8(ascii: "\""))
    guard list.contains(Self.comma) else { return nil }
    text = SearchedText([Self.comma] + list + [Self.comma])
  }

  /// Whether a password is one of them; letters of ASCII count alike in either case.
  package func contains(_ password: String) -> Bool {
    let word = password.foldedBytes
    // No password of the list has a comma: what has one is several of them, or none.
    guard !word.contains(Self.comma) else { return false }
    return text.firstIndex(of: SearchedText([Self.comma] + word + [Self.comma])) != nil
  }
}

extension String {
  /// The bytes, with the capital letters of ASCII as small ones and all else as it is.
  fileprivate var foldedBytes: [UInt8] {
    utf8.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
  }

  /// Whether another text is in it; letters of ASCII count alike in either case.
  func containsFolded(_ other: String) -> Bool {
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

  func bytes(from start: Int, upTo end: UInt8) -> [UInt8] {
    withText { text in
      let length = strcspn(text + start, [CChar(bitPattern: end), 0])
      return Array(bytes[start..<start + length])
    }
  }

  private func withText<Result>(_ body: (UnsafePointer<CChar>) -> Result) -> Result {
    bytes.withUnsafeBytes { all in
      // An array that is not empty has an address.
      body(all.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self))
    }
  }
}
