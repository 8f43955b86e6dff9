/// A directive of nginx's configuration.
///
/// Files named by `include` are not read.
package struct NginxDirective {
  package let words: [String]
  package private(set) var block: [NginxDirective] = []

  /// This directive and all directives in its block, at any depth.
  package var all: [NginxDirective] { [self] + block.flatMap(\.all) }

  /// Returns the words that follow the name of the first directive of that name in the block.
  package func values(of name: String) -> [String]? {
    block.first { $0.words.first == name }.map { Array($0.words.dropFirst()) }
  }

  /// Parses a file.
  ///
  /// Errors that nginx would reject, such as a missing brace, are ignored.
  package static func list(_ text: String) -> [NginxDirective] {
    var lists: [[NginxDirective]] = [[]]
    var words: [String] = []
    func end() {
      if !words.isEmpty { lists[lists.count - 1].append(NginxDirective(words: words)) }
      words = []
    }
    func close() {
      end()
      guard lists.count > 1 else { return }
      let block = lists.removeLast()
      let opened = lists[lists.count - 1].count - 1
      lists[lists.count - 1][opened].block = block
    }
    var bytes = Array(text.utf8)[...]
    while let byte = bytes.first {
      switch byte {
      case UInt8(ascii: "#"):
        bytes = bytes.drop { $0 != UInt8(ascii: "\n") }
      case UInt8(ascii: ";"):
        end()
        bytes.removeFirst()
      case UInt8(ascii: "{"):
        if words.isEmpty { words = [""] }
        end()
        lists.append([])
        bytes.removeFirst()
      case UInt8(ascii: "}"):
        close()
        bytes.removeFirst()
      case let space where [0x20, 0x09, 0x0a, 0x0d].contains(space):
        bytes.removeFirst()
      default: words.append(word(&bytes))
      }
    }
    while lists.count > 1 { close() }
    return lists[0]
  }

  /// Takes a word, with or without quotes.
  private static func word(_ bytes: inout ArraySlice<UInt8>) -> String {
    var word: [UInt8] = []
    let quote = bytes.first.flatMap {
      [UInt8(ascii: "\""), UInt8(ascii: "'")].contains($0) ? $0 : nil
    }
    if quote != nil { bytes.removeFirst() }
    while let byte = bytes.first {
      if let quote {
        bytes.removeFirst()
        if byte == quote { break }
      } else {
        let isVariable = byte == UInt8(ascii: "{") && word.last == UInt8(ascii: "$")
        guard isVariable || !" \t\r\n;{".utf8.contains(byte) else { break }
        bytes.removeFirst()
      }
      if byte == UInt8(ascii: "\\"), let escaped = bytes.popFirst() {
        word += escaped == quote ? [escaped] : [byte, escaped]
      } else {
        word.append(byte)
      }
    }
    return String(decoding: word, as: UTF8.self)
  }
}
