import Accounts
import Encoding
package import Runtime
import Sessions

/// The settings of clients of Parra.
package struct ParraSettings: SettingsSection {
  /// Whether the app has clients of Parra.
  let isOffered: Bool
  let bundleID: String
  /// The length of a mailed code that logs in.
  let codeDigits: Int

  package init(_ read: inout SettingsReader) {
    isOffered = read.flag(
      "parra", false, safe: false,
      "whether clients of Parra may call the app; they set passwords by codes of 6 digits"
    )
    bundleID = read.text(
      "parra_bundle",
      .text(
        0...155, "bundle_id",
        "This setting must have only letters, digits, hyphens and dots, or be empty.",
        Self.isBundleID
      ),
      "",
      "the bundle id of the application, which clients of Parra receive"
    )
    codeDigits = read.number(
      "parra_code_digits", NetworkCode.digits, AuthenticationFlow.length,
      "digits of the codes by which clients of Parra sign in; a code for a new password has 6"
    )
  }

  private static func isBundleID(_ text: String) -> Bool {
    text.utf8.allSatisfy { $0.isLetterOrDigit || "-.".utf8.contains($0) }
  }
}

extension App {
  var parraSettings: ParraSettings { settings[ParraSettings.self] }
}
