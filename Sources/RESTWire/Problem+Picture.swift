import Dossier
import HTTP
import JSON
import Wiring

extension Problem {
  /// Why an upload is not taken as a picture.
  init(_ failure: PictureFailure) {
    switch failure {
    case .tooLarge(let limit):
      self.init(.contentTooLarge, "body_too_large", "The picture has too many bytes.")
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .notAccepted:
      self.init(
        .unsupportedMediaType,
        "picture_type",
        "The file is not a picture of an accepted kind.",
        detail: "JPEG, PNG, WebP and HEIF are accepted, told by their bytes."
      )
    case .truncated:
      self.init(.unprocessable, "picture_truncated", "The file ends before its picture does.")
    case .damaged:
      self.init(.unprocessable, "picture_damaged", "The file breaks the rules of its format.")
    case .tooManyPixels(let limit):
      self.init(.unprocessable, "picture_pixels", "The picture has too many pixels.")
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .tooSlow:
      self.init(.unprocessable, "picture_cost", "The picture takes too long to decode.")
    case .tooMuchMemory:
      self.init(.unprocessable, "picture_cost", "The picture takes too much memory to decode.")
    case .hostile:
      self.init(.unprocessable, "picture_damaged", "The file breaks the rules of its format.")
    case .overloaded(let seconds):
      self.init(.unavailable, "overloaded", "More is asked than can be done soon.")
      fields = [(.retryAfter, String(seconds))]
    case .unforeseen: self.init(.failure(.unforeseen("")))
    }
  }
}
