import Encoding
import EventLoop
import JSON
package import Postgres
package import Records
package import Runtime

/// A client as an app that the systems of phones know: by Apple's or by Android's name of it.
package struct NativeApp: RecordPart {
  private let appleTeamID: String
  private let appleBundleID: String
  /// The package of the app for Android; empty for none.
  package let androidPackage: String
  /// The fingerprints of the certificates with which it is signed, as Android's tools print them.
  package let androidCertificates: [String]

  package init(_ read: inout RecordReader) {
    appleTeamID = read.text(
      "apple_team_id", .appleTeamID, "",
      "the id of the team of the app at Apple, such as A1B2C3D4E5; empty for none",
      .auth0("mobile/ios/team_id"))
    appleBundleID = read.text(
      "apple_bundle_id", .appleBundleID, "",
      "the bundle id of the app at Apple, such as com.example.app; empty for none",
      .auth0("mobile/ios/app_bundle_identifier"))
    androidPackage = read.text(
      "android_package", .androidPackage, "",
      "the package of the app for Android, such as com.example.app; empty for none",
      .auth0("mobile/android/app_package_name"))
    androidCertificates = read.texts(
      "android_certificates", .androidCertificates,
      "SHA-256 fingerprints of the certificates with which the app for Android is signed",
      .auth0("mobile/android/sha256_cert_fingerprints"))
  }

  /// Its id for Apple: that of the team and that of the bundle; nil without both.
  package var appleID: String? {
    appleTeamID.isEmpty || appleBundleID.isEmpty ? nil : "\(appleTeamID).\(appleBundleID)"
  }

  /// The origins of the app for Android, as the system states them.
  package var androidOrigins: [String] {
    androidCertificates.compactMap { CertificateFingerprint($0)?.origin }
  }

  /// The faults of a client that has half of what a system needs.
  var faults: [ColumnFault] {
    func fault(_ missing: String, beside other: String) -> ColumnFault {
      ColumnFault("/\(missing)", "missing", "An app with \(other) needs \(missing) too.")
    }
    var faults: [ColumnFault] = []
    switch (appleTeamID.isEmpty, appleBundleID.isEmpty) {
    case (true, false): faults.append(fault("apple_team_id", beside: "apple_bundle_id"))
    case (false, true): faults.append(fault("apple_bundle_id", beside: "apple_team_id"))
    default: break
    }
    switch (androidPackage.isEmpty, androidCertificates.isEmpty) {
    case (true, false): faults.append(fault("android_package", beside: "android_certificates"))
    case (false, true): faults.append(fault("android_certificates", beside: "android_package"))
    default: break
    }
    return faults
  }
}

extension ColumnRule {
  fileprivate static let appleTeamID = ColumnRule.text(
    0...20, "team_id",
    "The id of a team has 10 of A-Z and 0-9, as Apple's page Membership shows it."
  ) { id in
    id.isEmpty || id.utf8.count == 10 && id.utf8.allSatisfy { $0.isDigit || $0.isUpperCase }
  }

  fileprivate static let appleBundleID = ColumnRule.text(
    0...155, "bundle_id", "A bundle id has A-Z, a-z, 0-9, - and dots between them."
  ) { id in
    id.isEmpty
      || parts(of: id).allSatisfy { part in
        !part.isEmpty && part.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") }
      }
  }

  fileprivate static let androidPackage = ColumnRule.text(
    0...255, "package",
    "A package has two or more parts with dots between them; each begins with a letter, and has "
      + "A-Z, a-z, 0-9 and _."
  ) { name in
    let all = parts(of: name)
    return name.isEmpty
      || all.count > 1
        && all.allSatisfy { part in
          part.first.map { $0.isLetterOrDigit && !$0.isDigit } == true
            && part.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "_") }
        }
  }

  private static func parts(of name: String) -> [Substring.UTF8View] {
    name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
  }

  /// 20: an app has one for each of its builds and stores.
  fileprivate static let androidCertificates = ColumnRule.texts(
    atMost: 20, "fingerprint",
    "A SHA-256 fingerprint has 32 bytes in hexadecimal, with or without colons between them: "
      + "keytool -list -v prints it.",
    storing: { CertificateFingerprint($0)?.text ?? $0 }
  ) { CertificateFingerprint($0) != nil }
}

/// The SHA-256 fingerprint of a certificate with which an app for Android is signed.
struct CertificateFingerprint {
  private let bytes: [UInt8]

  /// Parses a fingerprint in either case, with colons between all bytes or without any.
  init?(_ text: String) {
    let parts = text.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == 1 || parts.allSatisfy({ $0.count == 2 }),
      let bytes = [UInt8](hexadecimal: parts.joined()), bytes.count == 32
    else { return nil }
    self.bytes = bytes
  }

  /// The fingerprint as Android's tools print it: in upper case, with colons.
  var text: String {
    var text: [UInt8] = []
    for byte in bytes {
      if !text.isEmpty { text.append(UInt8(ascii: ":")) }
      text.append(hexadecimal: byte, inUpperCase: true)
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The origin that Android states for an app that is signed with the certificate.
  var origin: String { "android:apk-key-hash:\(bytes.base64URL)" }
}

// MARK: The native apps of an app

/// The native apps of an app's clients, as the worker last read them.
package struct NativeApps: AppPart {
  fileprivate var all: [NativeApp] = []

  package static func load(
    _ database: Database, _ known: [AppID: NativeApps]
  ) async throws(DatabaseError) -> [AppID: NativeApps] {
    var parts: [AppID: NativeApps] = [:]
    for row in try await database.read(NativeAppQueries.all) {
      parts[row.app, default: NativeApps()].all.append(row.nativeApp)
    }
    return parts
  }
}

extension App {
  /// The native apps of its clients, in the order of the creation of these.
  package var nativeApps: [NativeApp] { part(NativeApps.self)?.all ?? [] }
}

/// A native app of a client.
struct NativeAppRow: RowDecodable {
  let app: AppID
  let nativeApp: NativeApp

  init(from row: Row) throws(DatabaseError) {
    app = try row.id(0)
    let stored = try row.bytes(1)
    var reader = RecordReader((try? JSON.parse(stored))?.object)
    nativeApp = NativeApp(&reader)
  }
}

package enum NativeAppQueries {
  /// Returns the settings of all clients with a native app that are not disabled.
  ///
  /// The operator does not answer for an app of a third party, so it must not use the passkeys.
  static let all = Statement<NativeAppRow>(
    "native_apps.all",
    """
    select c.app_id, c.settings
    from clients c
    where c.app_id is not null and c.disabled_at is null
      and coalesce(c.settings -> 'apple_bundle_id', c.settings -> 'android_package') is not null
      and coalesce(c.settings -> 'first_party', 'true'::jsonb) = 'true'::jsonb
    order by c.created_at, c.client_id
    """)
}
