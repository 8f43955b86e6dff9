import Pages
package import WireKit

/// The stylesheet and the script of the reference, which works without the script.
///
/// The stylesheet has the colors and the basic rules of the hosted pages.
package enum ReferenceFiles {
  static func path(_ file: VersionedFile) -> String { "/reference/assets/\(file.name)" }

  package static let all = [stylesheet, script]

  private static let sheet = Stylesheet(
    Branding(name: "Dossier"),
    layout: String(decoding: PackageResources.reference_css, as: UTF8.self)
  )

  static var stylesheetText: String { sheet.text }

  static let stylesheet = VersionedFile(
    "reference", "css", version: sheet.version, type: Stylesheet.mediaType, text: sheet.text
  )

  static let script: VersionedFile = {
    let text = String(decoding: PackageResources.reference_js, as: UTF8.self)
    return VersionedFile(
      "reference", "js", version: AssetVersion.of(text), type: PageScript.mediaType, text: text
    )
  }()
}
