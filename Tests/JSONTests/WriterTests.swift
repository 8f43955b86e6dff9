import Testing

@testable import JSON

@Suite struct WriterTests {
  /// Tests texts of each length with each byte at each place, next to bytes that carry into neighbours.
  @Test(arguments: [UInt8(ascii: "a"), 0x00, 0x1f, 0x20, 0x21, 0x5d, 0x7e])
  func `each byte is escaped equally at every position`(_ neighbour: UInt8) {
    for length in 1...17 {
      for place in 0..<length {
        for byte in UInt8.min..<0x80 {
          var text = [UInt8](repeating: neighbour, count: length)
          text[place] = byte
          let string = String(decoding: text, as: UTF8.self)
          #expect(JSON.string(string).serialized() == quoted(text))
        }
      }
    }
  }

  @Test func `multi-byte characters are not escaped`() throws {
    for text in ["é", "aé\"é\\é", "😀😀😀\u{7f}", String(repeating: "ü", count: 20) + "\n"] {
      let json = JSON.string(text)
      #expect(json.serialized() == quoted(Array(text.utf8)))
      #expect(try JSON.parse(json.serialized()) == json)
      let read = try JSON.parse(Array(#"{"\#(text.contains("\n") ? "n" : "k")":1}"#.utf8))
      #expect(try JSON.parse(read.serialized()) == read)
    }
  }

  /// Quotes a text byte by byte.
  private func quoted(_ text: [UInt8]) -> [UInt8] {
    var quoted = [UInt8(ascii: "\"")]
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): quoted += [UInt8(ascii: "\\"), byte]
      case 0x0a: quoted += Array(#"\n"#.utf8)
      case 0x0d: quoted += Array(#"\r"#.utf8)
      case 0x09: quoted += Array(#"\t"#.utf8)
      case 0..<0x20, 0x7f:
        quoted += Array("\\u00\(byte < 16 ? "0" : "")\(String(byte, radix: 16))".utf8)
      default: quoted.append(byte)
      }
    }
    return quoted + [UInt8(ascii: "\"")]
  }

  @Test func `the last of two members with one key wins`() {
    let object = JSONObject([("a", 1), ("b", 2), ("a", 3)])
    #expect(object.count == 2)
    #expect(JSON.object(object).text == #"{"a":3,"b":2}"#)
    #expect(JSONObject([("\u{e9}", 1), ("e\u{301}", 2)]).count == 2)
  }

  @Test func `keys compare by bytes`() throws {
    let text = #"{"\#u{e9}":1,"abcdefgh":2,"abcdefgi":3,"":4}"#
    for json in [
      try JSON.parse(Array(text.utf8)), ["\u{e9}": 1, "abcdefgh": 2, "abcdefgi": 3, "": 4],
    ] {
      #expect(json["e\u{301}"] == nil)
      #expect(json["\u{e9}"] == 1)
      #expect(json["abcdefgi"] == 3)
      #expect(json["abcdefg"] == nil)
      #expect(json[""] == 4)
    }
  }
}
