/// The first line of the output of `dossier-pictures`; the encoded picture follows.
///
/// Example: `image/jpeg 1024 768 93211` and a line feed. The fields are the media type, the width
/// and height in pixels, and the number of bytes that follow.
package struct PictureHeader: Equatable, Sendable {
  package let type: PictureType
  package let width: Int
  package let height: Int
  package let count: Int

  package init(type: PictureType, width: Int, height: Int, count: Int) {
    self.type = type
    self.width = width
    self.height = height
    self.count = count
  }

  package var line: String { "\(type.rawValue) \(width) \(height) \(count)\n" }

  /// Reads a line without its line feed.
  ///
  /// - Returns: nil if the line is malformed or exceeds `PictureLimits`, since a compromised
  ///   decoder may have written it.
  package init?(line: some Collection<UInt8>) {
    let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    guard words.count == 4, let type = PictureType(rawValue: words[0]),
      let width = Int(words[1]), let height = Int(words[2]), let count = Int(words[3]),
      1...PictureLimits.side ~= width, 1...PictureLimits.side ~= height,
      1...PictureLimits.output ~= count
    else { return nil }
    self.init(type: type, width: width, height: height, count: count)
  }
}

/// The media types of the output.
///
/// JPEG is for opaque pictures. PNG is for the others, mostly logos and drawings, which it keeps
/// exactly. WebP is not used: `picture` claims pass the URL to readers that may not support it.
package enum PictureType: String, Sendable {
  case jpeg = "image/jpeg"
  case png = "image/png"

  /// The first bytes of every file of the type.
  package var signature: [UInt8] {
    switch self {
    case .jpeg: [0xff, 0xd8, 0xff]
    case .png: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    }
  }
}
