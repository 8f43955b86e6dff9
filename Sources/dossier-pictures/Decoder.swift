import CVips
import Glibc
import PictureContract

/// libvips, restricted to five loaders and one thread.
///
/// It was chosen over separate use of four decoders. It rotates, converts colours and shrinks while
/// it decodes, so a photo of 12 megapixels needs only 50 MB.
enum Decoder {
  /// Starts the library.
  ///
  /// It opens files, so this must precede the system call filter.
  static func start() throws(PictureError) {
    // vips would load all its modules (ImageMagick, PDF, JPEG XL …) from a folder under this path.
    // The only module needed is loaded separately.
    unsafe setenv("VIPSHOME", "/nonexistent", 1)
    // The colour library asks for the date, and the C library would then read a file.
    unsafe setenv("TZ", "UTC0", 1)
    tzset()
    // A single heap for all threads. Each further heap would reserve 64 MiB of address space.
    mallopt(M_ARENA_MAX, 1)
    // GLib ends the process if an allocation fails.
    unsafe g_log_set_default_handler(
      { _, level, message, _ in
        guard level.rawValue & G_LOG_LEVEL_ERROR.rawValue != 0 else { return }
        let text = unsafe message.map { unsafe String(cString: $0) } ?? ""
        DossierPictures.end(PictureError(says: text, otherwise: .unforeseen))
      },
      nil
    )
    guard unsafe vips_init("dossier-pictures") == 0 else {
      throw PictureError(.unforeseen, "vips_init")
    }
    loadHEIF()
    vips_concurrency_set(1)
    vips_cache_set_max(0)
    // Its vector code is generated at run time, in memory that is first written and then executed.
    vips_vector_set_enabled(0)
    unsafe vips_operation_block_set("VipsForeignLoad", 1)
    for loader in ["Jpeg", "Png", "Webp", "Heif", "Nsgif"] {
      unsafe vips_operation_block_set("VipsForeignLoad\(loader)", 0)
    }
  }

  /// Loads the HEIF module from the library's folder, unless the library includes it.
  private static func loadHEIF() {
    guard let library = unsafe CVips_library() else { return }
    let folder = unsafe String(cString: library).split(separator: "/").dropLast()
    let version = "\(vips_version(0)).\(vips_version(1))"
    let module = "/\(folder.joined(separator: "/"))/vips-modules-\(version)/vips-heif.so"
    guard let loaded = unsafe g_module_open(module, G_MODULE_BIND_LAZY) else { return }
    unsafe g_module_make_resident(loaded)
  }

  /// Decodes, rotates, fits and encodes a picture.
  ///
  /// - Throws: any status but `.tooLarge`, `.truncated` and `.tooSlow`.
  static func decode(
    _ input: [UInt8], as kind: PictureKind
  ) throws(PictureError) -> (header: PictureHeader, bytes: [UInt8]) {
    // vips reads from this memory until the last image is released.
    let chunks = kind == .png ? PNGChunks(input) : nil
    let input = chunks?.shown ?? input
    let file = UnsafeMutableRawBufferPointer.allocate(byteCount: input.count, alignment: 16)
    defer { unsafe file.deallocate() }
    unsafe file.copyBytes(from: input)
    let header = try unsafe Image(headerOf: file)
    try check(header, kind)
    let isHEIF = kind == .heif || kind == .avif
    let numbers = unsafe isHEIF ? ColourNumbers(heif: file) : chunks?.colour
    let upright =
      if let numbers, numbers != .standard, !header.hasProfile {
        try unsafe fit(file, header, by: numbers)
      } else {
        try unsafe fit(file, header)
      }
    return try encode(upright.colours().pixels())
  }

  /// Returns the upright picture in sRGB, of a file whose colours are described by numbers.
  ///
  /// vips fits 16 bits as bytes, which are too few for the dark tones of linear light.
  private static func fit(
    _ file: UnsafeMutableRawBufferPointer, _ header: borrowing Image, by numbers: ColourNumbers
  ) throws(PictureError) -> Image {
    guard header.isDeep else {
      header.setProfile(numbers.profile(colourCount: header.colourCount))
      return try unsafe fit(file, header)
    }
    let fitted = try header.mapped(numbers.transfer.standardBytes).fitted(into: PictureLimits.side)
    let rest = ColourNumbers(primaries: numbers.primaries, transfer: .standard)
    if rest != .standard { fitted.setProfile(rest.profile(colourCount: header.colourCount)) }
    return try ColourProfile.apply(to: fitted)
  }

  /// Returns the upright picture in sRGB, or in grey.
  ///
  /// vips would fit CMYK through XYZ, which shifts its colours. So its ink becomes light first.
  private static func fit(
    _ file: UnsafeMutableRawBufferPointer, _ header: borrowing Image
  ) throws(PictureError) -> Image {
    guard header.isCMYK else {
      let fitted = try unsafe Image(fitting: file, into: PictureLimits.side)
      fitted.copyProfile(of: header)
      return try ColourProfile.apply(to: fitted)
    }
    // Half as large as the side would blur.
    let least = max(header.width, header.height) / (2 * PictureLimits.side)
    let shrink = [8, 4, 2].first { $0 <= least } ?? 1
    let ink = try unsafe Image(jpeg: file, shrunkBy: shrink)
    return try ColourProfile.apply(to: ink).fitted(into: PictureLimits.side)
  }

  /// Checks the header before any pixel is decoded.
  private static func check(_ image: borrowing Image, _ kind: PictureKind) throws(PictureError) {
    guard image.width * image.height <= PictureLimits.pixels,
      max(image.width, image.height) <= PictureLimits.longestSide
    else { throw PictureError(.tooManyPixels) }
    // The brand of the container promises a coding, but the file may use another one.
    let coding: String? =
      switch kind {
      case .heif: "hevc"
      case .avif: "av1"
      case .jpeg, .png, .webp, .gif: nil
      }
    if let coding, image.text("heif-compression") != coding { throw PictureError(.notAccepted) }
  }

  private static func encode(
    _ image: borrowing Image
  ) throws(PictureError) -> (header: PictureHeader, bytes: [UInt8]) {
    let isOpaque = try image.isOpaque()
    // At 85, and at the size of a profile picture, no artefacts are visible.
    let bytes = try isOpaque ? image.bands(0, count: 3).jpeg(quality: 85) : image.png()
    let header = PictureHeader(
      type: isOpaque ? .jpeg : .png, width: image.width, height: image.height, count: bytes.count
    )
    return (header, bytes)
  }
}
