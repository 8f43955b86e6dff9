import Encoding
import JSON
package import Records
package import Runtime

/// The settings of passkeys.
package struct PasskeySettings: RecordPart {
  /// Whether users may sign in with passkeys.
  package enum Use: String, CaseIterable, Sendable {
    case off
    case optional
    /// Pages ask for a passkey before a password.
    case first
    /// Users need one to sign up, and to sign in.
    case required
  }

  package let use: Use
  /// The domain for which passkeys are made; empty if the app has none.
  package let relyingPartyID: String
  /// The origins of web pages and apps that may use the passkeys, beside that of the RP ID.
  package let origins: [String]
  package let limit: Int
  /// Whether pages offer a passkey after a sign-in with a password.
  package let isOffered: Bool

  package init(_ read: inout RecordReader) {
    use = read.choice(
      "passkey", Use.off, safe: .off,
      "whether users may sign in with passkeys: optional lets each user have some, beside other "
        + "login methods or alone; first lets pages ask for a passkey before a password; required "
        + "lets users sign up with a passkey only, and completes sign-ins with a password or an "
        + "emailed code by a passkey; all three need passkey_rp_id")
    relyingPartyID = read.text(
      "passkey_rp_id",
      .text(
        0...253, "domain",
        "This setting must be a domain name in lower case, localhost, or empty.", Self.isDomain),
      "",
      "the domain for which passkeys are made, best that of the pages (the WebAuthn RP ID); after a "
        + "change no earlier passkey works")
    origins = read.texts(
      "passkey_origins", .originsOfPasskeys,
      "further origins that may use the passkeys: of web pages, such as https://app.example.com, or "
        + "of Android apps, such as android:apk-key-hash: and the hash of the certificate")
    limit = read.number("passkeys_per_user", 0...100, 20, "the most passkeys of a user")
    isOffered = read.flag(
      "passkey_offer", true, safe: false,
      "whether pages offer a passkey after a sign-in with a password")
  }

  /// Whether users may sign in with passkeys, and the app has a domain for them.
  package var isOpen: Bool { use != .off && !relyingPartyID.isEmpty }
  /// The domain whose passkeys sign in; empty for none.
  package var openDomain: String { isOpen ? relyingPartyID : "" }
  /// Whether pages ask for a passkey before a password.
  package var comesFirst: Bool { isOpen && use != .optional }
  /// Whether sign-ups, and sign-ins with a password or a mailed code, need a passkey.
  package var isRequired: Bool { isOpen && use == .required }

  private static func isDomain(_ text: String) -> Bool {
    guard !text.isEmpty, !text.hasSameBytes(as: "localhost") else { return true }
    return HostName.isDomain(text)
  }
}

extension ColumnRule {
  /// A list of origins, as browsers and Android state them.
  fileprivate static var originsOfPasskeys: ColumnRule {
    .texts(
      atMost: 20, "origin",
      "An origin must be https:// with a host name in lower case, or android:apk-key-hash: with "
        + "43 characters of base64url.", isOrigin)
  }

  private static func isOrigin(_ text: String) -> Bool {
    let android = "android:apk-key-hash:"
    if text.utf8.starts(with: android.utf8) {
      let hash = text.dropFirst(android.count)
      return hash.utf8.count == 43 && [UInt8](base64URL: String(hash)) != nil
    }
    let scheme = "https://"
    guard text.utf8.starts(with: scheme.utf8) else { return false }
    let parts = text.dropFirst(scheme.count).split(
      separator: ":", maxSplits: 1, omittingEmptySubsequences: false
    ).map(String.init)
    guard HostName.isDomain(parts[0]) else { return false }
    // Browsers leave the usual port out.
    return parts.count == 1
      || UInt16(parts[1]).map { $0 > 0 && $0 != 443 && "\($0)".hasSameBytes(as: parts[1]) } == true
  }
}

private enum HostName {
  /// Returns whether a text is a domain name of several labels, as browsers write it.
  static func isDomain(_ text: String) -> Bool {
    let labels = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    let isName = labels.allSatisfy { label in
      (1...63).contains(label.count)
        && label.allSatisfy {
          $0.isDigit || $0 == UInt8(ascii: "-")
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
        }
    }
    // The last label of a domain is no number, unlike that of an IP address.
    return text.utf8.count <= 253 && labels.count > 1 && isName
      && labels.last?.contains { !$0.isDigit } == true
  }
}

extension App {
  package var passkeySettings: PasskeySettings { settings[PasskeySettings.self] }
}
