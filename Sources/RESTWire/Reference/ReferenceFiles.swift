import Pages
import WireKit

/// The stylesheet and the script of the reference.
enum ReferenceFiles {
  static func path(_ file: VersionedFile) -> String { "/reference/assets/\(file.name)" }

  static let stylesheet: VersionedFile = {
    let sheet = Stylesheet(Branding(name: "Dossier"), layout: ReferenceLayout.rules)
    return VersionedFile(
      "reference", "css", version: sheet.version, type: Stylesheet.mediaType, text: sheet.text
    )
  }()

  static let script = VersionedFile(
    "reference", "js", version: AssetVersion.of(ReferenceScript.text), type: PageScript.mediaType,
    text: ReferenceScript.text
  )
}
