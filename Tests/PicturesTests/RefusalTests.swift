import Imaging
import Runtime
import EventLoop
import PictureContract
import Testing

@Suite struct RefusalTests {
  @Test(arguments: ["wrong.bmp", "wrong.tiff", "wrong.pdf"])
  func `other formats are not accepted`(_ name: String) async throws {
    #expect(try await upload(name).refusal?.is(.pictureType) == true)
  }

  @Test(arguments: [
    "", "x", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "<?xml version=\"1.0\"?><svg/>",
    "a text of some length that is no picture at all", "%!PS-Adobe-3.0", "#!/bin/sh\necho",
  ])
  func `texts are not accepted`(_ text: String) async throws {
    _ = try await Studio.shared.value
    #expect(try await upload(Array(text.utf8)).refusal?.is(.pictureType) == true)
  }

  @Test func `ten mebibytes are accepted, and one more byte is refused`() async throws {
    // A JPEG may have trailing data, such as the films of some phones.
    let picture = try await Studio.shared.value.file("small.jpg")
    let limit = PictureLimits.input
    let full = picture + [UInt8](repeating: 0, count: limit - picture.count)
    #expect(try await upload(full).get().width == 64)
    #expect(try await upload(full + [0]).refusal?.is(.bodyTooLarge) == true)
  }

  @Test func `the program itself reads no more than its limit`() async throws {
    _ = try await Studio.shared.value
    let bytes = [UInt8](repeating: 0xff, count: PictureLimits.input + 1)
    let outcome = try Subprocess(path: Studio.program)
      .run(input: bytes, limit: 1_000, deadline: .seconds(86_400))
    #expect(outcome.ending == .exited(PictureStatus.tooLarge.rawValue))
    #expect(String(decoding: outcome.complaint, as: UTF8.self).hasPrefix("the file is larger"))
  }

  @Test(arguments: [
    "small.jpg", "progressive.jpg", "small.png", "small.webp", "small.heic", "small.avif",
  ])
  func `a truncated file is refused`(_ name: String) async throws {
    let file = try await Studio.shared.value.file(name)
    let last = (file.count - 16)..<file.count
    let lengths = Array(stride(from: 1, to: file.count - 16, by: 23)) + Array(last)
    let results = try await uploadAll(lengths.map { Array(file[..<$0]) })
    for (length, result) in zip(lengths, results) {
      let types = [Failure.pictureTruncated, .pictureDamaged, .pictureType].map(\.type)
      #expect(
        result.refusal.map { types.contains($0.type) } == true, "\(name)[..<\(length)]: \(result)")
    }
    #expect(results.last?.refusal?.is(.pictureTruncated) == true)
  }

  @Test(arguments: [
    "private.jpg", "progressive.jpg", "private.png", "small.webp", "private.heic", "private.avif",
    "animated.gif",
  ])
  func `flipped bits result in a picture or a refusal`(_ name: String) async throws {
    let file = try await Studio.shared.value.file(name)
    var random = Numbers(state: UInt64(name.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }))
    let files = (0..<100).map { _ in
      var flipped = file
      for _ in 0...Int.random(in: 0..<4, using: &random) {
        flipped[Int.random(in: 0..<file.count, using: &random)] ^=
          1 << UInt8.random(in: 0..<8, using: &random)
      }
      return flipped
    }
    for (index, result) in try await uploadAll(files).enumerated() {
      switch result {
      case .success(let picture):
        #expect(picture.width <= 1_024 && picture.height <= 1_024)
      case .failure(let failure):
        let isOfServer = failure.is(.internalError)
        let isOutput = failure.report?.hasSuffix("signal 0") == true
        #expect(!isOfServer && !isOutput, "\(name) \(index): \(failure)")
      }
    }
  }

  @Test func `decompression bombs are refused by their header`() async throws {
    #expect(try await upload("bomb.png").refusal?.is(.picturePixels) == true)
    #expect(try await upload("column.png").refusal?.is(.picturePixels) == true)
  }

  /// Each text would expand to 50 MB, and all together would exceed the processor time.
  @Test func `texts in a PNG are not decompressed`() async throws {
    #expect(try await upload("texts.png").get().width == 8)
  }

  @Test func `a JPEG with endless scans is refused`() async throws {
    #expect(try await upload("scans.jpg").refusal?.is(.pictureDamaged) == true)
  }

  @Test func `a picture that needs too much memory is refused`() async throws {
    // It needs nearly all that the program allows itself, which keeps a lower limit.
    let script = try await Studio.shared.value.script(
      "exec /usr/bin/prlimit --as=\(PictureLimits.memory - 100_000_000) \(Studio.program)"
    )
    let file = try await Studio.shared.value.file("interlaced.png")
    #expect(try await upload(file, program: script).refusal?.is(.pictureTooComplex) == true)
  }

  @Test func `a picture that needs too much processor time is refused`() async throws {
    let studio = try await Studio.shared.value
    let file = try studio.file("slow.png")
    // The processor time of a process continues over `exec`, and the program keeps a lower limit.
    // So it starts with less and less of its one second, until the rest is too short.
    for spent in stride(from: 0, to: 1_000, by: 50) {
      let program = try await studio.script(
        """
        exec /usr/bin/python3 -c 'import os, time
        while time.process_time() * 1000 < \(spent): pass
        os.execv("/usr/bin/prlimit", ["prlimit", "--cpu=1:3", "\(Studio.program)"])'
        """)
      let result = try await upload(file, program: program)
      if result.refusal?.is(.pictureTooComplex) == true { return }
      #expect(throws: Never.self) { try result.get() }
    }
    Issue.record("a picture of 49 megapixels took less than 50 ms")
  }

  private func uploadAll(_ files: [[UInt8]]) async throws -> [Result<Picture, Failure>] {
    try await withThrowingTaskGroup(of: (Int, Result<Picture, Failure>).self) { group in
      for (index, file) in files.enumerated() {
        group.addTask { (index, try await upload(file)) }
      }
      var results: [Int: Result<Picture, Failure>] = [:]
      for try await (index, result) in group { results[index] = result }
      return files.indices.compactMap { results[$0] }
    }
  }
}

/// A generator with the same numbers in each run.
///
/// - Source: SplitMix64, public domain.
private struct Numbers: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var word = state
    word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
    word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
    return word ^ (word >> 31)
  }
}
