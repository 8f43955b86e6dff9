import Dossier
import WireKit

extension Problem {
  /// Creates the problem for an upload that is not an acceptable picture.
  init(of failure: PictureFailure) {
    self =
      switch failure {
      case .tooLarge(let limit): Problem(.bodyTooLarge).with("limit", limit)
      case .notAccepted: Problem(.pictureType)
      case .truncated: Problem(.pictureTruncated)
      case .damaged, .hostile: Problem(.pictureDamaged)
      case .tooManyPixels(let limit): Problem(.picturePixels).with("limit", limit)
      case .tooSlow, .tooMuchMemory: Problem(.pictureTooComplex)
      case .unforeseen: Problem(.internalError)
      }
  }
}
