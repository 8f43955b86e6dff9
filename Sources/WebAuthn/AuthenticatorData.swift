/// The statement of an authenticator about a ceremony.
///
/// - Source: WebAuthn section 6.1. The reserved bits of the flags are ignored, and so are the
///   outputs of extensions.
struct AuthenticatorData {
  /// The greatest length in bytes.
  static let limit = 2_048
  /// The length without a credential and without extensions.
  private static let leastLength = 37

  let relyingPartyHash: [UInt8]
  let signCount: UInt32
  /// The new credential; nil unless this is a registration.
  let credential: AttestedCredential?
  private let flags: UInt8

  /// Reads authenticator data.
  ///
  /// Throws `.invalidAuthenticatorData` or `.invalidCBOR` with the rule that the bytes break.
  init(_ bytes: ArraySlice<UInt8>) throws(WebAuthnError) {
    guard bytes.count <= Self.limit else {
      throw .invalidAuthenticatorData(rule: "it is longer than \(Self.limit) bytes")
    }
    guard bytes.count >= Self.leastLength else {
      throw .invalidAuthenticatorData(rule: "it is shorter than \(Self.leastLength) bytes")
    }
    var rest = bytes.dropFirst(Self.leastLength)
    relyingPartyHash = Array(bytes.prefix(32))
    flags = bytes[bytes.startIndex + 32]
    signCount = bytes.dropFirst(33).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    guard flags & 0x18 != 0x10 else {
      throw .invalidAuthenticatorData(rule: "it is backed up, but not eligible for that")
    }
    credential = flags & 0x40 == 0 ? nil : try AttestedCredential(&rest)
    if flags & 0x80 != 0 {
      var reader = CBORReader(rest)
      guard try reader.value().map != nil else {
        throw .invalidAuthenticatorData(rule: "its extensions are not a map")
      }
      rest = reader.rest
    }
    guard rest.isEmpty else {
      throw .invalidAuthenticatorData(rule: "bytes follow its last part")
    }
  }

  /// Whether the user has touched the authenticator.
  var isUserPresent: Bool { flags & 0x01 != 0 }
  /// Whether the user has proved to be its owner, for example by a fingerprint.
  var isUserVerified: Bool { flags & 0x04 != 0 }
  /// Whether the credential may be on several devices.
  var isBackupEligible: Bool { flags & 0x08 != 0 }
  var isBackedUp: Bool { flags & 0x10 != 0 }

  /// Verifies that the data is for a relying party, and that the user was present.
  ///
  /// Throws `.invalidAuthenticatorData` if not.
  func verify(for relyingParty: RelyingParty) throws(WebAuthnError) {
    guard relyingPartyHash == relyingParty.hash else {
      throw .invalidAuthenticatorData(rule: "its RP ID is another one")
    }
    guard isUserPresent else {
      throw .invalidAuthenticatorData(rule: "the user was not present")
    }
  }
}

/// A new credential, as its authenticator states it.
///
/// - Source: WebAuthn section 6.5.1.
struct AttestedCredential {
  /// The lengths that a credential id may have in bytes.
  static let idLengths = 1...1_023

  /// The model of the authenticator.
  let aaguid: [UInt8]
  let id: [UInt8]
  /// The key in COSE's format, with the bytes as they came.
  let publicKey: [UInt8]

  /// Takes a credential from the front of some bytes.
  init(_ rest: inout ArraySlice<UInt8>) throws(WebAuthnError) {
    guard rest.count >= 18 else {
      throw .invalidAuthenticatorData(rule: "it ends within its credential")
    }
    aaguid = Array(rest.prefix(16))
    let length = rest.dropFirst(16).prefix(2).reduce(0) { $0 << 8 | Int($1) }
    rest = rest.dropFirst(18)
    guard Self.idLengths.contains(length) else {
      throw .invalidAuthenticatorData(rule: "its credential id has not 1 to 1023 bytes")
    }
    guard length <= rest.count else {
      throw .invalidAuthenticatorData(rule: "it ends within its credential")
    }
    id = Array(rest.prefix(length))
    rest = rest.dropFirst(length)
    var reader = CBORReader(rest)
    _ = try reader.value()
    publicKey = Array(rest.prefix(rest.count - reader.rest.count))
    rest = reader.rest
  }
}
