package import Pages

/// The files that each page loads.
package enum ConsoleAssets {
  /// The stylesheet, in the fixed colors of the console.
  package static let stylesheet = Stylesheet(
    Branding(name: "Dossier"),
    layout: String(decoding: PackageResources.console_css, as: UTF8.self)
  )

  /// The script, without which all works too.
  package static let script = String(decoding: PackageResources.console_js, as: UTF8.self)
}
