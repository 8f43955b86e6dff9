package import Localization

extension Languages {
  /// The languages of `deploy/languages`.
  package static let shipped: Languages = {
    do {
      return try Languages(in: folder)
    } catch {
      preconditionFailure("\(error)")
    }
  }()

  package static let folder = "\(SourceFiles.repository)/deploy/languages"
}

extension Catalog {
  package static let english = shipped("en")
  package static let german = shipped("de")

  /// Returns a language of `deploy/languages`.
  package static func shipped(_ tag: String) -> Catalog {
    guard let catalog = Languages.shipped.best(for: tag) else {
      preconditionFailure("deploy/languages has no \(tag)")
    }
    return catalog
  }
}
