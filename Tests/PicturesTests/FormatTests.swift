import Imaging
import PictureContract
import Testing

@Suite struct FormatTests {
  @Test(arguments: [
    "small.jpg", "progressive.jpg", "small.png", "palette.png", "opaque.png", "small.webp",
    "lossless.webp", "animated.webp", "animated.png", "small.heic", "small.avif", "small.gif",
    "animated.gif",
  ])
  func `an opaque picture becomes a JPEG of the same size`(_ name: String) async throws {
    let picture = try await upload(name).get()
    let sight = try await Studio.shared.value.look(at: picture)
    #expect(picture.type == .jpeg && picture.width == 64 && picture.height == 48)
    #expect(sight.format == "JPEG" && sight.mode == "RGB" && sight.size == "64x48")
    // Pillow's palette has no pure white.
    #expect(name == "palette.png" || sight.quarters == upright)
  }

  @Test(arguments: ["grey.jpg", "cmyk.jpg", "sixteen.png"])
  func `other color spaces become 8-bit sRGB`(_ name: String) async throws {
    let sight = try await Studio.shared.value.look(at: upload(name).get())
    #expect(sight.format == "JPEG" && sight.mode == "RGB" && sight.size == "64x48")
  }

  @Test(arguments: ["alpha.png", "alpha.webp", "alpha.heic", "alpha.avif"])
  func `a transparent picture becomes a transparent PNG`(_ name: String) async throws {
    let picture = try await upload(name).get()
    let sight = try await Studio.shared.value.look(at: picture)
    #expect(picture.type == .png)
    #expect(sight.format == "PNG" && sight.mode == "RGBA" && sight.alpha == "(2, 253)")
    #expect(sight.quarters == upright)
  }

  @Test(arguments: 1...8, ["jpg", "png", "webp"])
  func `the orientation of a camera is applied`(_ orientation: Int, _ kind: String) async throws {
    let picture = try await upload("turned-\(orientation).\(kind)").get()
    let sight = try await Studio.shared.value.look(at: picture)
    #expect(sight.size == "64x48" && sight.quarters == upright && sight.metadata.isEmpty)
  }

  @Test func `a picture with 16 bits and a gamma is turned too`() async throws {
    let picture = try await upload("turned-deep.png").get()
    let sight = try await Studio.shared.value.look(at: picture)
    #expect(sight.size == "64x48" && sight.quarters == upright && sight.metadata.isEmpty)
  }

  @Test(arguments: [
    "private.jpg", "private.png", "private-alpha.png", "private.webp", "private.heic",
    "private.avif",
  ])
  func `locations, profiles and texts are removed`(_ name: String) async throws {
    let file = try await Studio.shared.value.file(name)
    let secret = "SECRET-OF-THE-OWNER"
    // Otherwise the test proves nothing.
    #expect(file.contains(secret))
    let picture = try await upload(file).get()
    let marks = [
      secret, "Exif", "ICC_PROFILE", "ns.adobe.com", "eXIf", "iCCP", "tEXt", "iTXt", "zTXt",
    ]
    for mark in marks { #expect(!picture.bytes.contains(mark), "\(mark) in \(name)") }
    #expect(try await Studio.shared.value.look(at: picture).metadata.isEmpty)
  }

  @Test(arguments: [
    ("large.jpg", 1024, 512), ("tall.png", 256, 1024), ("exact.jpg", 1024, 1024), ("one.png", 1, 1),
    ("thin.png", 1024, 1),
  ])
  func `large pictures are scaled down, and small ones keep their size`(_ file: (String, Int, Int))
    async throws
  {
    let picture = try await upload(file.0).get()
    #expect(picture.width == file.1 && picture.height == file.2)
    let sight = try await Studio.shared.value.look(at: picture)
    #expect(sight.size == "\(file.1)x\(file.2)")
  }
}

extension [UInt8] {
  /// Returns whether the bytes of the text occur.
  func contains(_ text: String) -> Bool {
    let wanted = Array(text.utf8)
    guard count >= wanted.count else { return false }
    return (0...count - wanted.count).contains {
      self[$0..<$0 + wanted.count].elementsEqual(wanted)
    }
  }
}
