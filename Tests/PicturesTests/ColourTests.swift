import Imaging
import Testing

@Suite struct ColourTests {
  @Test(arguments: ["png", "jpg", "webp", "heic", "avif", "gif"])
  func `a picture of each space and profile has its right colours in sRGB`(_ kind: String)
    async throws
  {
    let studio = try await Studio.shared.value
    let names = String(decoding: try studio.file("colours"), as: UTF8.self).split(separator: "\n")
      .map(String.init).filter { $0.hasSuffix(".\(kind)") }
    try #require(!names.isEmpty)
    var pictures: [Picture] = []
    for name in names {
      let result = try await upload(name)
      #expect(throws: Never.self, "\(name)") { try result.get() }
      pictures.append(try result.get())
    }
    let seen = try await studio.colours(of: pictures)
    #expect(seen.count == names.count)
    for (name, colours) in zip(names, seen) {
      let right = try studio.rightColours(of: name)
      let differences = zip(colours.joined(), right.joined()).map { abs($0 - $1) }
      #expect(
        differences.count == 12 && differences.allSatisfy { $0 <= 2 },
        "\(name): \(colours), not \(right)"
      )
    }
  }

  /// There is no right value for CMYK without a profile, but paper is white and its ink has a hue.
  @Test func `CMYK without a profile is converted as a common press prints it`() async throws {
    let studio = try await Studio.shared.value
    let colours = try await studio.colours(of: [upload("cmyk.jpg").get()])[0]
    let (red, green, blue, white) = (colours[0], colours[1], colours[2], colours[3])
    #expect(red[0] > red[1] + 100 && red[0] > red[2] + 100)
    #expect(green[1] > green[0] + 50 && green[1] > green[2] + 50)
    #expect(blue[2] > blue[0] + 50 && blue[2] > blue[1] + 50)
    #expect(white.allSatisfy { $0 >= 245 })
  }
}
