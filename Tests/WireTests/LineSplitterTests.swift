import Testing

@testable import Transfer

/// Tests that lines do not depend on the parts in which they arrive.
@Suite struct LineSplitterTests {
  @Test(arguments: 1...16)
  func `parts of any size have the same lines`(_ size: Int) {
    let bytes = Array("\u{feff}first\r\n\nthird \u{e9}\nlast".utf8)
    var splitter = LineSplitter()
    var lines: [String] = []
    func take(_ isOver: Bool) {
      while let line = splitter.next(isOver: isOver) {
        if case .text(let text) = line { lines.append(String(decoding: text, as: UTF8.self)) }
      }
    }
    for start in stride(from: 0, to: bytes.count, by: size) {
      splitter.add(Array(bytes[start..<min(start + size, bytes.count)]))
      take(false)
    }
    take(true)
    #expect(lines == ["first\r", "", "third \u{e9}", "last"])
    #expect(splitter.position.bytes == bytes.count)
    #expect(splitter.position.lines == 4)
  }

  @Test func `a line over the limit is passed over`() {
    var splitter = LineSplitter()
    let part = Array(repeating: UInt8(ascii: "x"), count: 1_000_000)
    var lines: [Bool] = []
    func take(_ isOver: Bool) {
      while let line = splitter.next(isOver: isOver) {
        if case .tooLong = line { lines.append(false) } else { lines.append(true) }
      }
    }
    for _ in 0..<9 {
      splitter.add(part)
      take(false)
    }
    splitter.add(Array("\nshort\n".utf8))
    take(true)
    #expect(lines == [false, true])
    #expect(splitter.position.bytes == 9_000_007)
  }
}
