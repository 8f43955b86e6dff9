/// The release of Dossier, as `--version` and the package show it.
package enum Version {
  package static let text = "0.5.0"
}
