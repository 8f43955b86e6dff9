/// The exit statuses of `dossier-pictures`.
///
/// Numbers are never reused.
///
/// An end by a signal has other causes:
/// - SIGSEGV: the file crashed the decoder.
/// - SIGSYS: the decoder made a forbidden system call.
/// - SIGKILL: the system ran out of memory.
package enum PictureStatus: Int32, CaseIterable, Error, Sendable {
  case success = 0
  case tooLarge = 10
  case notAccepted = 11
  case truncated = 12
  case damaged = 13
  case tooManyPixels = 14
  case tooSlow = 15
  case tooMuchMemory = 16
  case unforeseen = 70

  /// The status as one line of text.
  package var meaning: String {
    switch self {
    case .success: "the picture is on descriptor 1"
    case .tooLarge: "the file is larger than \(PictureLimits.input) bytes"
    case .notAccepted: "neither JPEG, PNG, WebP, GIF, AVIF nor HEIF with HEVC"
    case .truncated: "the file ends before its picture does"
    case .damaged: "the file breaks the rules of its format"
    case .tooManyPixels:
      "the picture has more than \(PictureLimits.pixels) pixels, or "
        + "\(PictureLimits.longestSide) on a side"
    case .tooSlow: "decoding took more than \(PictureLimits.processorTime) s of processor time"
    case .tooMuchMemory: "decoding took more than \(PictureLimits.memory) bytes of address space"
    case .unforeseen: "the program or its surroundings failed, not the file"
    }
  }
}
