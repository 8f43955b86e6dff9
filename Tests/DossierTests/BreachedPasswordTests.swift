import FoundationEssentials
import Glibc
import Testing

@testable import BreachedPasswords

@Suite struct BreachedPasswordTests {
  private let folder = "/tmp/dossier-breached-\(UInt64.random(in: 0 ... .max))"
  private var path: String { "\(folder)/set" }

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  private func remove() { try? FileManager.default.removeItem(atPath: folder) }

  private func write(_ hashes: some Sequence<UInt64>, sorting capacity: Int) throws -> Int {
    var writer = try BreachedPasswordSetWriter(path, sorting: capacity)
    for hash in hashes { try writer.add(hash) }
    return try writer.finish()
  }

  private func withFile(_ body: (HashFile) throws -> Void) throws {
    let descriptor = open(path, O_RDONLY)
    defer { close(descriptor) }
    try body(HashFile(descriptor, path))
  }

  private var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder) }
  }

  /// Evenly distributed numbers.
  private static func hashes(_ count: Int) -> [UInt64] {
    var state: UInt64 = 7
    return (0..<count).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ state >> 29
    }
  }

  /// With 1,024 hashes in a read, these take one and several; 700 hashes in memory make many runs.
  @Test(arguments: [1, 2, 1_024, 1_025, 5_000], [700, 100_000])
  func `a set has the hashes that were added, in any order, and no other`(
    count: Int, capacity: Int
  ) throws {
    defer { remove() }
    let hashes = Self.hashes(count)
    for order in [hashes, hashes.sorted(), hashes.sorted(by: >), hashes + hashes.reversed()] {
      #expect(try write(order, sorting: capacity) == Set(hashes).count)
      #expect(try files == ["set"])
      try BreachedPasswordSet(path).check()
      try withFile { file in
        let stored = try file.hashes(from: 0, to: file.count)
        #expect(stored == Set(hashes).sorted())
        let known = Set(hashes)
        for hash in hashes.prefix(50) {
          #expect(try file.contains(hash))
          #expect(try file.contains(hash &+ 1) == known.contains(hash &+ 1))
        }
        for hash in [UInt64.min, .max] { #expect(try file.contains(hash) == known.contains(hash)) }
      }
    }
  }

  @Test func `hashes that are not evenly distributed are found`() throws {
    defer { remove() }
    let hashes = (0..<60).map { UInt64(1) << $0 } + (0..<5_000).map { UInt64.max - $0 * $0 }
    _ = try write(hashes, sorting: 1_000)
    try withFile { file in
      let missed = try hashes.shuffled().prefix(500).filter { try !file.contains($0) }
      let found = try [0, 3, 1 << 62, UInt64.max - 2].filter { try file.contains($0) }
      #expect(missed.isEmpty && found.isEmpty)
    }
  }

  @Test func `a password is found by its hash`() throws {
    defer { remove() }
    var lines = HashLines()
    var writer = try BreachedPasswordSetWriter(path)
    // The hash of "password", as Have I Been Pwned lists it, and a word in UTF-8.
    let list =
      "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:9659365\r\n"
      + "c3f06f47ee3a57cdb2a7a2e3e8bf4a3ac0c0e0a4\r\n"
    for byte in list.utf8 { try lines.read([byte]) { try writer.add($0) } }
    try lines.finish { try writer.add($0) }
    #expect(try writer.finish() == 2)
    let set = BreachedPasswordSet(path)
    #expect(try set.contains("password"))
    #expect(try !set.contains("Password") && !set.contains("password ") && !set.contains(""))
  }

  @Test(arguments: [
    ("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:1\n5BAA", "line 2 has no SHA-1 hash"),
    ("password\n", "line 1 has no SHA-1 hash"),
    ("\n\n5BAA61E4C9B93F3F0682250B6CF8331B7EE68FDG:1", "line 3 has no SHA-1 hash"),
    ("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:\n", "line 1 has more than a hash"),
    ("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:-1", "line 1 has more than a hash"),
    ("5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8FF", "line 1 has more than a hash"),
    (String(repeating: "5", count: 200), "line 1 is too long"),
  ])
  func `an invalid line is refused with its number and rule`(list: String, words: String) {
    var lines = HashLines()
    var refusal = ""
    do {
      try lines.read(Array(list.utf8)) { _ in }
      try lines.finish { _ in }
    } catch {
      refusal = "\(error)"
    }
    #expect(refusal.hasPrefix(words), "\(refusal)")
    #expect(refusal.hasSuffix("a line is HASH or HASH:COUNT"))
  }

  @Test func `a file of another format is refused, and a failed run leaves the set alone`() throws {
    defer { remove() }
    let set = BreachedPasswordSet(path)
    func refusal(_ body: () throws -> Void) -> String {
      do { try body() } catch { return "\(error)" }
      return "none"
    }
    #expect(refusal(set.check) == "\(path): No such file or directory")
    _ = try write([1, 2, 3], sorting: 10)
    #expect(refusal(set.check) == "none")
    #expect(refusal { _ = try write([], sorting: 10) } == "the list has no hash")
    #expect(refusal(set.check) == "none")
    // A second run does not write the file of the first one.
    let writer = try BreachedPasswordSetWriter(path)
    #expect(refusal { _ = try write([4], sorting: 10) }.contains("set.runs exists"))
    withExtendedLifetime(writer) {}
    let valid = try Data(contentsOf: URL(filePath: path))
    for content in [
      Data(), valid.prefix(15), valid.prefix(16), valid.dropLast(), Data("dossier-sha1-32\n".utf8),
      valid + valid.suffix(8), Data(repeating: 0, count: 40),
    ] {
      try content.write(to: URL(filePath: path))
      #expect(refusal(set.check).contains("is not a set of breached passwords"))
    }
    #expect(refusal(BreachedPasswordSet("/dev/null").check).contains("is not a set"))
    #expect(refusal(BreachedPasswordSet(folder).check).contains("is not a set"))
  }
}
