/// The reasons to reject an uploaded picture.
package enum PictureFailure: Error, Equatable {
  /// More bytes than `limit`; for 413.
  case tooLarge(limit: Int)
  /// Neither JPEG, PNG, WebP, GIF, AVIF nor HEIF with HEVC, by its first bytes; for 415.
  case notAccepted
  /// The file ends before its picture does; for 422, as are the next five.
  case truncated
  /// The file breaks the rules of its format.
  case damaged
  /// By its header, the picture has more pixels than `limit`.
  case tooManyPixels(limit: Int)
  /// Decoding exceeded its processor time or the deadline.
  case tooSlow
  /// Decoding exceeded its memory limit.
  case tooMuchMemory
  /// The file made the decoder crash or attempt something forbidden; logged.
  case hostile(signal: Int32)
  /// The program is missing or failed by itself; for 500, and for the operator's log.
  case unforeseen(String)
}
