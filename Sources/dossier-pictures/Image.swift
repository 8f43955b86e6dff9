import CVips
import PictureContract

/// A picture of vips: a pipeline whose pixels are computed on demand.
@safe struct Image: ~Copyable {
  typealias Pointer = UnsafeMutablePointer<VipsImage>
  let pointer: Pointer

  /// Takes ownership of a reference.
  ///
  /// - Throws: the error of vips if the pointer is null.
  private init(_ pointer: Pointer?) throws(PictureError) {
    guard let pointer = unsafe pointer else { throw .ofVips }
    unsafe self.pointer = unsafe pointer
  }

  /// Takes ownership of the result of an operation, which returns 0 on success.
  private init(_ make: (UnsafeMutablePointer<Pointer?>) -> Int32) throws(PictureError) {
    var pointer: Pointer?
    let code = unsafe make(&pointer)
    try unsafe self.init(code == 0 ? pointer : nil)
  }

  deinit { unsafe CVips_release(pointer) }

  /// Reads the header.
  ///
  /// `file` must outlive the image.
  init(headerOf file: UnsafeMutableRawBufferPointer) throws(PictureError) {
    try unsafe self.init(CVips_open(file.baseAddress, file.count))
  }

  /// Creates an upright image that fits into a square of `side` pixels.
  ///
  /// Its pixels are grey or RGB in the picture's own colour space. `file` must outlive the image,
  /// and must not be in CMYK.
  init(fitting file: UnsafeMutableRawBufferPointer, into side: Int) throws(PictureError) {
    try unsafe self.init { unsafe CVips_fit(file.baseAddress, file.count, Int32(side), $0) }
  }

  /// Reads a JPEG, shrunk by 1, 2, 4 or 8.
  ///
  /// `file` must outlive the image.
  init(jpeg file: UnsafeMutableRawBufferPointer, shrunkBy shrink: Int) throws(PictureError) {
    try unsafe self.init {
      unsafe CVips_load_jpeg(file.baseAddress, file.count, Int32(shrink), $0)
    }
  }

  /// Returns the upright image, fitted into a square of `side` pixels.
  func fitted(into side: Int) throws(PictureError) -> Image {
    try unsafe Image { unsafe CVips_fit_image(pointer, $0, Int32(side)) }
  }

  /// Returns the image with three bytes of sRGB per pixel, and a fourth for alpha if there is one.
  func colours() throws(PictureError) -> Image {
    let colours = try unsafe Image { unsafe CVips_to_srgb(pointer, $0) }
    return try unsafe Image { unsafe CVips_to_bytes(colours.pointer, $0) }
  }

  /// Returns the image in sRGB, converted by its own profile or by one that vips knows by name.
  func converted(
    from profile: StaticString? = nil, _ intent: VipsIntent
  ) throws(PictureError) -> Image {
    let name = unsafe profile.map { unsafe UnsafeRawPointer($0.utf8Start) }
    return try unsafe Image {
      unsafe CVips_transform(pointer, $0, name?.assumingMemoryBound(to: CChar.self), intent)
    }
  }

  /// Returns the image in bytes, with one for each value of its colours, which have 16 bits.
  func mapped(_ values: [UInt8]) throws(PictureError) -> Image {
    let kept = bandCount - colourCount
    let table = values.indices.flatMap { index in
      Array(repeating: values[index], count: colourCount)
        + Array(repeating: UInt8(index >> 8), count: kept)
    }
    return try unsafe Image {
      unsafe CVips_map(pointer, $0, table, Int32(values.count), Int32(bandCount))
    }
  }

  /// Returns the image with computed pixels, for which the whole file is decoded.
  func pixels() throws(PictureError) -> Image { try unsafe Image(vips_image_copy_memory(pointer)) }

  /// Returns some of the bands: colours, then alpha.
  func bands(_ first: Int, count: Int) throws(PictureError) -> Image {
    try unsafe Image { unsafe CVips_bands(pointer, $0, Int32(first), Int32(count)) }
  }

  var width: Int { Int(unsafe vips_image_get_width(pointer)) }
  var height: Int { Int(unsafe vips_image_get_height(pointer)) }
  var isCMYK: Bool {
    unsafe vips_image_get_interpretation(pointer) == VIPS_INTERPRETATION_CMYK
  }
  var hasAlpha: Bool { unsafe vips_image_hasalpha(pointer) != 0 }
  private var bandCount: Int { Int(unsafe vips_image_get_bands(pointer)) }

  /// The number of bands without alpha.
  var colourCount: Int { bandCount - (hasAlpha ? 1 : 0) }

  /// Returns whether every pixel is opaque.
  func isOpaque() throws(PictureError) -> Bool {
    guard hasAlpha else { return true }
    let alpha = try bands(bandCount - 1, count: 1)
    var least = 0.0
    guard unsafe CVips_least(alpha.pointer, &least) == 0 else { throw .ofVips }
    return least == 255
  }

  /// Returns a text of its metadata, or nil if it is missing.
  func text(_ name: String) -> String? {
    guard unsafe vips_image_get_typeof(pointer, name) != 0 else { return nil }
    var text: UnsafePointer<CChar>?
    guard unsafe vips_image_get_string(pointer, name, &text) == 0 else { return nil }
    return unsafe text.map { unsafe String(cString: $0) }
  }

  var hasProfile: Bool { unsafe vips_image_get_typeof(pointer, VIPS_META_ICC_NAME) != 0 }
  var isDeep: Bool { unsafe vips_image_get_format(pointer) == VIPS_FORMAT_USHORT }

  /// The start of its ICC profile, of at most `limit` bytes, or nil if it has none.
  func profile(upTo limit: Int) -> [UInt8]? {
    guard hasProfile else { return nil }
    var start: UnsafeRawPointer?
    var count = 0
    guard unsafe vips_image_get_blob(pointer, VIPS_META_ICC_NAME, &start, &count) == 0 else {
      return nil
    }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: min(count, limit)))
  }

  /// Takes the profile of an image with the same colours.
  func copyProfile(of other: borrowing Image) {
    unsafe CVips_copy_profile(other.pointer, pointer)
  }

  /// Gives a profile to an image that has none; nil changes nothing.
  func setProfile(_ profile: [UInt8]?) {
    guard let profile else { return }
    unsafe vips_image_set_blob_copy(pointer, VIPS_META_ICC_NAME, profile, profile.count)
  }

  // MARK: Encoding

  func png() throws(PictureError) -> [UInt8] {
    try unsafe encoded { unsafe CVips_png(pointer, $0, $1) }
  }

  func jpeg(quality: Int) throws(PictureError) -> [UInt8] {
    try unsafe encoded { unsafe CVips_jpeg(pointer, $0, $1, Int32(quality)) }
  }

  private func encoded(
    _ save: (UnsafeMutablePointer<UnsafeMutableRawPointer?>, UnsafeMutablePointer<Int>) -> Int32
  ) throws(PictureError) -> [UInt8] {
    var start: UnsafeMutableRawPointer?
    var count = 0
    guard unsafe save(&start, &count) == 0, let start = unsafe start else { throw .ofVips }
    defer { unsafe g_free(start) }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: count))
  }
}

extension PictureError {
  /// The last error of vips.
  static var ofVips: PictureError {
    PictureError(says: unsafe vips_error_buffer().map { unsafe String(cString: $0) } ?? "")
  }

  /// Creates a refusal from a message.
  ///
  /// Libraries report a lack of memory only in the message.
  init(says text: String, otherwise status: PictureStatus = .damaged) {
    let lowercase = text.lowercased()
    // The colour library says it of a profile that is cut off.
    let isRead = lowercase.contains("read from memory")
    let isMemory =
      !isRead && ["memory", "allocate", "creating thread"].contains { lowercase.contains($0) }
    self.init(isMemory ? .tooMuchMemory : status, text)
  }
}
