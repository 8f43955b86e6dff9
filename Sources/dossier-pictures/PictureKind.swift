import PictureContract

/// The kind of a file by its first bytes, with a check that the file is complete.
///
/// Only accepted kinds reach a decoder. Decoders disagree about truncation, and libpng accepts a
/// missing end without pixels. Every format here marks its end.
enum PictureKind {
  case jpeg
  case png
  case webp
  case heif
  case avif
  /// Only the first frame is used.
  case gif

  /// Checks the file.
  ///
  /// - Throws: `.notAccepted` if the kind is unknown, `.truncated` if the file is incomplete.
  /// - Source: ISO/IEC 10918-1 Annex B; PNG third edition, section 5; WebP container specification;
  ///   ISO/IEC 14496-12 section 4.2 and 23008-12 section 10; AV1 Image File Format section 7;
  ///   GIF89a, sections 17 to 27.
  init(_ bytes: [UInt8]) throws(PictureError) {
    let file = File(bytes: bytes)
    let isWhole: Bool
    if file.has([0xff, 0xd8, 0xff], at: 0) {
      self = .jpeg
      isWhole = file.isWholeJPEG
    } else if file.has(PictureType.png.signature, at: 0) {
      self = .png
      isWhole = file.isWholePNG
    } else if file.has("RIFF", at: 0), file.has("WEBP", at: 8) {
      self = .webp
      isWhole = file.little(4).map { $0 + 8 <= bytes.count } ?? false
    } else if file.has("ftyp", at: 4), Self.brands.contains(where: { file.has($0, at: 8) }) {
      self = .heif
      isWhole = file.isWholeHEIF
    } else if file.has("ftypavif", at: 4) || file.has("ftypavis", at: 4) {
      self = .avif
      isWhole = file.isWholeHEIF
    } else if file.has("GIF87a", at: 0) || file.has("GIF89a", at: 0) {
      self = .gif
      isWhole = file.hasGIFFrame
    } else {
      throw PictureError(.notAccepted)
    }
    guard isWhole else { throw PictureError(.truncated) }
  }

  /// The major brands of pictures coded in HEVC, and `mif1`, which allows any coding.
  private static let brands = ["heic", "heix", "heim", "heis", "mif1"]
}

private struct File {
  let bytes: [UInt8]

  func has(_ expected: [UInt8], at offset: Int) -> Bool {
    bytes.dropFirst(offset).starts(with: expected)
  }

  func has(_ expected: String, at offset: Int) -> Bool { has(Array(expected.utf8), at: offset) }

  /// Returns a big-endian number of some bytes, or nil beyond the end.
  func big(_ offset: Int, count: Int = 4) -> Int? {
    guard offset <= bytes.count - count else { return nil }
    return bytes[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
  }

  func little(_ offset: Int) -> Int? {
    guard offset <= bytes.count - 4 else { return nil }
    return bytes[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// Whether an end marker follows the start of a scan.
  ///
  /// Thumbnails in segments do not count.
  var isWholeJPEG: Bool {
    var offset = 2
    while let marker = big(offset, count: 2), let length = big(offset + 2, count: 2) {
      guard marker != 0xffff else {
        offset += 1
        continue
      }
      offset += 2 + length
      // In a scan's data, 0xff is followed by zero, a restart marker, or the marker that ends the
      // scan.
      if marker == 0xffda { return hasEndMarker(from: offset) }
      guard marker > 0xff00, length >= 2 else { return true }  // Damaged: for the decoder to say.
    }
    return false
  }

  private func hasEndMarker(from start: Int) -> Bool {
    var offset = start
    while offset + 1 < bytes.count {
      if bytes[offset] == 0xff, bytes[offset + 1] == 0xd9 { return true }
      offset += 1
    }
    return false
  }

  var isWholePNG: Bool {
    var offset = 8
    while let length = big(offset) {
      let isEnd = has("IEND", at: offset + 4)
      offset += 12 + length
      if isEnd { return offset <= bytes.count }
    }
    return false
  }

  /// Whether the first frame is complete.
  ///
  /// Later frames are not used.
  var hasGIFFrame: Bool {
    guard let flags = byte(10) else { return false }
    var offset = 13 + Self.colours(flags)
    while let kind = byte(offset) {
      switch kind {
      case 0x21:
        guard let next = endOfBlocks(from: offset + 2) else { return false }
        offset = next
      case 0x2c:
        guard let flags = byte(offset + 9) else { return false }
        return endOfBlocks(from: offset + 11 + Self.colours(flags)) != nil
      default: return true  // Damaged: for the decoder to say.
      }
    }
    return false
  }

  /// Returns the bytes of a colour table.
  private static func colours(_ flags: Int) -> Int { flags & 0x80 == 0 ? 0 : 3 << (flags & 7 + 1) }

  /// Returns the end of a chain of blocks.
  ///
  /// Each block follows its length, and the last length is zero.
  private func endOfBlocks(from start: Int) -> Int? {
    var offset = start
    while let length = byte(offset) {
      offset += 1 + length
      if length == 0 { return offset }
    }
    return nil
  }

  private func byte(_ offset: Int) -> Int? {
    offset < bytes.count ? Int(bytes[offset]) : nil
  }

  /// Whether its top-level boxes end at the end of the file.
  var isWholeHEIF: Bool {
    var offset = 0
    while offset < bytes.count {
      guard var length = big(offset) else { return false }
      if length == 0 { return true }
      if length == 1 {
        guard let wide = big(offset + 8, count: 8) else { return false }
        length = wide
      }
      guard length >= 8 else { return true }  // Damaged.
      guard length <= bytes.count - offset else { return false }
      offset += length
    }
    return true
  }
}
