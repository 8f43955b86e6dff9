package import Runtime

extension ErrorType {
  package static let pictureType = ErrorType("picture_type", .unsupportedMedia)
    .titled("The file is not a picture in an accepted format.")
    .remedied("Send JPEG, PNG, WebP, HEIF, AVIF or GIF. The server detects the format itself.")
  package static let pictureTruncated = ErrorType("picture_truncated", .invalid)
    .titled("The picture file is truncated.")
    .remedied(fileRemedy)
  package static let pictureDamaged = ErrorType("picture_damaged", .invalid)
    .titled("The picture file is damaged.")
    .remedied(fileRemedy)
  package static let picturePixels = ErrorType("picture_pixels", .invalid)
    .titled("The picture has too many pixels, or a side of more than 16,384.")
    .remedied("Scale the picture down before the upload.")
  package static let pictureTooComplex = ErrorType("picture_too_complex", .invalid)
    .titled("The picture needs too much time or memory to decode.")
    .remedied("Scale the picture down before the upload.")

  package static let pictureErrors = [
    pictureType, pictureTruncated, pictureDamaged, picturePixels, pictureTooComplex,
  ]
}

extension ErrorType {
  private static let fileRemedy = "Ask the user for another file, or upload the file again."
}
