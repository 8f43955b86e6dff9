/// The limits of `dossier-pictures` on input, output and resources.
package enum PictureLimits {
  /// Bytes of an uploaded file: 10 MiB, a photo of 24 megapixels at high quality.
  package static let input = 10 * 1_024 * 1_024
  /// Pixels of an uploaded picture, by its header: 50 megapixels, the maximum of phones and
  /// full-frame cameras.
  package static let pixels = 50_000_000
  /// Pixels of each side of an uploaded picture.
  ///
  /// A PNG with one column restarts its decoder for each pixel. It takes seconds, where other
  /// pictures take one.
  package static let longestSide = 16_384
  /// The side, in pixels, of the square that the output fits into.
  package static let side = 1_024
  /// Bytes of the output: 1024 x 1024 pixels of 4 bytes do not compress in the worst case.
  package static let output = 5 * 1_024 * 1_024
  /// Bytes of address space.
  ///
  /// Code takes about 200 MiB. At 50 megapixels, a HEIF, a progressive JPEG without subsampling or
  /// an interlaced PNG takes 300 MiB more, and an interlaced 16-bit PNG with a profile 415 MiB.
  package static let memory = 640 * 1_024 * 1_024
  /// Seconds of processor time: three times the slowest kinds, HEIF and interlaced PNG at 50
  /// megapixels.
  package static let processorTime = 10
}
