import Encoding
package import JSON

/// A new passkey, as `navigator.credentials.create` returns it.
///
/// - Source: WebAuthn section 5.1, `RegistrationResponseJSON`.
package struct RegistrationResponse: Sendable {
  package let id: [UInt8]
  package let attachment: AuthenticatorAttachment?
  /// The transports that the client names, without unknown ones.
  package let transports: [AuthenticatorTransport]
  let clientData: [UInt8]
  let attestationObject: [UInt8]

  /// The greatest length of an attestation object in bytes.
  static let attestationLimit = 8_192
  private static let transportLimit = 8

  /// Reads the JSON of a browser.
  ///
  /// Throws `.invalidCredential` with the rule that it breaks.
  package init(_ json: JSON) throws(WebAuthnError) {
    let credential = try CredentialObject(json)
    (id, attachment) = (credential.id, credential.attachment)
    clientData = try credential.bytes("clientDataJSON", 1...ClientData.limit)
    attestationObject = try credential.bytes("attestationObject", 1...Self.attestationLimit)
    transports = try Self.transports(credential.response["transports"])
  }

  private static func transports(
    _ json: JSON?
  ) throws(WebAuthnError) -> [AuthenticatorTransport] {
    guard let json, json != .null else { return [] }
    guard let list = json.array, list.count <= transportLimit else {
      throw .invalidCredential(rule: "its transports are no list of at most \(transportLimit)")
    }
    let names = list.compactMap(\.string)
    return AuthenticatorTransport.allCases.filter { transport in
      names.contains { $0.hasSameBytes(as: transport.rawValue) }
    }
  }
}

/// A signature by a passkey, as `navigator.credentials.get` returns it.
///
/// - Source: WebAuthn section 5.1, `AuthenticationResponseJSON`.
package struct AuthenticationResponse: Sendable {
  package let id: [UInt8]
  package let attachment: AuthenticatorAttachment?
  /// The user handle that the authenticator stored; nil if it returns none.
  package let userHandle: [UInt8]?
  let clientData: [UInt8]
  let authenticatorData: [UInt8]
  let signature: [UInt8]

  /// The greatest length of a signature in bytes.
  static let signatureLimit = 1_024

  /// Reads the JSON of a browser.
  ///
  /// Throws `.invalidCredential` with the rule that it breaks.
  package init(_ json: JSON) throws(WebAuthnError) {
    let credential = try CredentialObject(json)
    (id, attachment) = (credential.id, credential.attachment)
    clientData = try credential.bytes("clientDataJSON", 1...ClientData.limit)
    authenticatorData = try credential.bytes("authenticatorData", 1...AuthenticatorData.limit)
    signature = try credential.bytes("signature", 1...Self.signatureLimit)
    let handle = credential.response["userHandle"]
    let isStated = handle != nil && handle != .null
    userHandle =
      isStated
      ? try credential.bytes("userHandle", CredentialRecord.userHandleLengths) : nil
  }
}

/// Whether an authenticator is part of the device of the client.
package enum AuthenticatorAttachment: String, Sendable {
  case platform
  case crossPlatform = "cross-platform"
}

/// The members that both responses have.
///
/// Browsers add members of their own, so unknown ones are accepted.
private struct CredentialObject {
  let id: [UInt8]
  let attachment: AuthenticatorAttachment?
  let response: JSONObject

  init(_ json: JSON) throws(WebAuthnError) {
    guard let members = json.object else { throw .invalidCredential(rule: "it is no object") }
    guard members["type"] == "public-key" else {
      throw .invalidCredential(rule: "its type is not public-key")
    }
    guard let response = members["response"]?.object else {
      throw .invalidCredential(rule: "it has no response")
    }
    self.response = response
    id = try Self.bytes("id", of: members, AttestedCredential.idLengths)
    guard try Self.bytes("rawId", of: members, AttestedCredential.idLengths) == id else {
      throw .invalidCredential(rule: "its id and its rawId differ")
    }
    attachment = members["authenticatorAttachment"]?.string.flatMap(
      AuthenticatorAttachment.init(rawValue:))
  }

  /// Returns the bytes of a member of the response, which is in base64url without padding.
  func bytes(_ name: String, _ lengths: ClosedRange<Int>) throws(WebAuthnError) -> [UInt8] {
    try Self.bytes(name, of: response, lengths)
  }

  private static func bytes(
    _ name: String, of members: JSONObject, _ lengths: ClosedRange<Int>
  ) throws(WebAuthnError) -> [UInt8] {
    guard let text = members[name]?.string, let bytes = [UInt8](base64URL: text) else {
      throw .invalidCredential(rule: "its \(name) is not base64url without padding")
    }
    guard lengths.contains(bytes.count) else {
      throw .invalidCredential(
        rule: "its \(name) has not \(lengths.lowerBound) to \(lengths.upperBound) bytes")
    }
    return bytes
  }
}
