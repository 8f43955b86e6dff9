/// The first line of what `dossier-pictures` writes; the encoded picture follows.
///
/// `image/jpeg 1024 768 93211` and a line feed: media type, width and height in pixels, bytes that
/// follow.
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
  /// - Returns: nil when it is malformed or beyond `PictureLimits`; a broken decoder may have
  ///   written it.
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

/// What answers are encoded in.
///
/// JPEG for what is opaque. PNG for what is not: logos and drawings, mostly, which it keeps exact,
/// and the URL of a picture goes out in `picture` claims to readers that may not know WebP.
package enum PictureType: String, Sendable {
  case jpeg = "image/jpeg"
  case png = "image/png"

  /// The bytes that every file of the type starts with.
  package var signature: [UInt8] {
    switch self {
    case .jpeg: [0xff, 0xd8, 0xff]
    case .png: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
    }
  }
}
