/// Which release of Dossier this is: what `--version` prints, and the version of the package.
package enum Version {
  package static let text = "0.5.0"
}
