import Glibc
import PictureContract

/// Reads an untrusted picture from descriptor 0 and writes a clean one to descriptor 1.
///
/// The output is a `PictureHeader` line and a JPEG or PNG in sRGB, upright and without metadata. It
/// fits into 1024 x 1024 pixels and is never enlarged. Of an animation, only the first frame is
/// used. Descriptor 1 must be a pipe or socket, since the program may not write files. The program
/// rejects a picture with a `PictureStatus`, and writes the reason to descriptor 2.
@main enum DossierPictures {
  static func main() {
    do throws(PictureError) {
      try Confinement.limit()
      try Decoder.start()
      try Confinement.filter()
      let input = try readAll(upTo: PictureLimits.input)
      let kind = try PictureKind(input)
      let picture = try Decoder.decode(input, as: kind)
      try writeAll(Array(picture.header.line.utf8))
      try writeAll(picture.bytes)
    } catch {
      end(error)
    }
    // The libraries' threads still exist, and their exit handlers are skipped.
    _exit(PictureStatus.success.rawValue)
  }

  /// Writes the reason to descriptor 2 and exits.
  static func end(_ refusal: PictureError) -> Never {
    let line = refusal.status.meaning + (refusal.detail.isEmpty ? "" : ": \(refusal.detail)")
    try? writeAll(line.utf8.prefix(300).map { 0x20..<0x7f ~= $0 ? $0 : 0x20 } + [0x0a], on: 2)
    _exit(refusal.status.rawValue)
  }

  private static func readAll(upTo limit: Int) throws(PictureError) -> [UInt8] {
    var failed = false
    // One byte more than the limit, to detect longer input.
    let input = unsafe [UInt8](unsafeUninitializedCapacity: limit + 1) { buffer, count in
      while count < buffer.count {
        let start = unsafe buffer.baseAddress.map { unsafe $0 + count }
        let read = unsafe Glibc.read(0, start, buffer.count - count)
        if read < 0, errno == EINTR { continue }
        if read < 0 { failed = true }
        guard read > 0 else { return }
        count += read
      }
    }
    guard !failed else { throw PictureError(.unforeseen, "read") }
    guard input.count <= limit else { throw PictureError(.tooLarge) }
    return input
  }

  private static func writeAll(_ bytes: [UInt8], on descriptor: Int32 = 1) throws(PictureError) {
    var done = 0
    while done < bytes.count {
      let wrote = unsafe bytes.withUnsafeBytes { buffer in
        unsafe write(descriptor, buffer.baseAddress.map { unsafe $0 + done }, bytes.count - done)
      }
      if wrote < 0, errno == EINTR { continue }
      guard wrote > 0 else { throw PictureError(.unforeseen, "write") }
      done += wrote
    }
  }
}

/// The reason why there is no picture.
struct PictureError: Error {
  let status: PictureStatus
  /// The library's message, for operators.
  let detail: String

  init(_ status: PictureStatus, _ detail: String = "") {
    self.status = status
    self.detail = detail
  }
}
