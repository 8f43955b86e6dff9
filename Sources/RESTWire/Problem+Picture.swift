import Dossier
import HTTP
import JSON
import Wiring

extension Problem {
  /// Why an upload is not taken as a picture.
  init(_ failure: PictureFailure) {
    switch failure {
    case .tooLarge(let limit):
      self.init(type: .bodyTooLarge)
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .notAccepted:
      self.init(
        type: .pictureType,
        detail: "JPEG, PNG, WebP and HEIF are accepted, told by their bytes."
      )
    case .truncated: self.init(type: .pictureTruncated)
    case .damaged: self.init(type: .pictureDamaged)
    case .tooManyPixels(let limit):
      self.init(type: .picturePixels)
      extensions = [("limit", .number(JSONNumber(limit)))]
    case .tooSlow: self.init(type: .pictureCost)
    case .tooMuchMemory: self.init(type: .pictureCost)
    case .hostile: self.init(type: .pictureDamaged)
    case .overloaded(let seconds):
      self.init(type: .overloaded)
      fields = [(.retryAfter, String(seconds))]
    case .unforeseen: self.init(.failure(.unforeseen("")))
    }
  }
}
