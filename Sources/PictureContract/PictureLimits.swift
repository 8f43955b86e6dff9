/// What `dossier-pictures` takes, gives, and may use.
package enum PictureLimits {
  /// Bytes of an uploaded file: 10 MiB, a photo of 24 megapixels at a high quality.
  package static let input = 10 * 1_024 * 1_024
  /// Pixels of an uploaded picture, by its header: 50 megapixels, what phones and full-frame cameras
  /// make.
  package static let pixels = 50_000_000
  /// Pixels of each side of an uploaded picture.
  ///
  /// A PNG of one column starts its decoder anew for each pixel, and takes seconds for what others do
  /// in one.
  package static let longestSide = 16_384
  /// The side, in pixels, of the square that an answer fits into.
  package static let side = 1_024
  /// Bytes of an answer: 1024 x 1024 pixels of 4 bytes do not compress in the worst case.
  package static let output = 5 * 1_024 * 1_024
  /// Bytes of address space.
  ///
  /// Code takes about 200 MiB; a HEIF, a progressive JPEG without subsampling or an interlaced PNG of
  /// 50 megapixels 300 more. Only an interlaced PNG of 16 bits that large does not fit.
  package static let memory = 576 * 1_024 * 1_024
  /// Seconds of processor time: three times what the slowest kinds, HEIF and interlaced PNG of 50
  /// megapixels, took.
  package static let processorTime = 10
}
