import Tenancy
import Encoding
import JSON
import Runtime
import Sessions

extension ImportedUser {
  /// A user has a handful; this bounds the work of one line in the database.
  static let identityLimit = 100

  static func identities(
    in value: JSON, at place: String
  ) -> (identities: [Identity], faults: [FieldError]) {
    guard let elements = value.array, elements.count <= Self.identityLimit else {
      return ([], [identitiesFault(place)])
    }
    var identities: [Identity] = []
    var faults: [FieldError] = []
    for (index, element) in elements.enumerated() {
      let pointer = "\(place)/\(index)"
      guard let object = element.object, let provider = object["provider"]?.string,
        object.keys.allSatisfy(["provider", "subject", "profile"].contains),
        object["subject"]?.string != nil || object["subject"] == nil
      else {
        faults.append(
          FieldError(pointer, "type", "An identity must have a provider and a subject.")
        )
        continue
      }
      let identity = Identity(
        provider: IdentityProvider(provider), subject: object["subject"]?.string ?? "",
        profile: object["profile"]?.object ?? JSONObject(), place: index + 1
      )
      if let fault = identity.fault(at: pointer) {
        faults.append(fault)
      } else if let profile = object["profile"], !Identity.isProfile(profile) {
        faults.append(FieldError(pointer + "/profile", "profile", Identity.profileRule))
      } else if identities.contains(where: {
        $0 == identity || $0.isAddress && identity.isAddress
      }) {
        faults.append(FieldError(pointer, "duplicate", "This line lists the same identity twice."))
      }
      identities.append(identity)
    }
    return (identities, faults)
  }

  static func identitiesFault(_ place: String) -> FieldError {
    FieldError(place, "type", "This must be an array of at most \(identityLimit).")
  }

  /// Reads the secrets of authenticator apps, in base32.
  static func secrets(
    in value: JSON, at place: String
  ) -> (secrets: [[UInt8]], faults: [FieldError]) {
    let limit = SecondFactors.limit
    guard let elements = value.array, elements.count <= limit else {
      return ([], [FieldError(place, "type", "This must be an array of at most \(limit).")])
    }
    var secrets: [[UInt8]] = []
    var faults: [FieldError] = []
    for (index, element) in elements.enumerated() {
      if let secret = element.string.flatMap(secret) {
        secrets.append(secret)
      } else {
        faults.append(FieldError("\(place)/\(index)", "secret", secretRule))
      }
    }
    return (secrets, faults)
  }

  /// Returns the bytes of a secret; nil if it is invalid.
  static func secret(_ text: String) -> [UInt8]? {
    guard text.utf8.count <= 2 * secretLength.upperBound else { return nil }
    return [UInt8](base32: text).flatMap { secretLength.contains($0.count) ? $0 : nil }
  }

  static var secretRule: String {
    "A secret must be base32 of \(secretLength.lowerBound) to \(secretLength.upperBound) bytes."
  }

  /// The length of secrets that authenticator apps use, in bytes.
  private static let secretLength = 10...64

  static func foreignIDFault(_ place: String) -> FieldError {
    FieldError(
      place, "foreign_id",
      "A foreign id must be a provider, | and an id: at most \(ForeignIDs.longest) bytes of ASCII."
    )
  }
}

extension ImportedUser.Identity {
  /// Whether it is that of the row's address, and has no subject of its own.
  var isAddress: Bool { subject.isEmpty && provider.isAddress }

  fileprivate static let profileRule =
    "A profile must be an object of at most 4096 bytes without id. Its foreign_id is an id such as "
    + "auth0|123."

  fileprivate static func isProfile(_ json: JSON) -> Bool {
    guard json.object != nil, json.serialized().count <= 4_096, json["id"] == nil else {
      return false
    }
    guard let id = json["foreign_id"] else { return true }
    return id.string.map(ForeignIDs.isForeign) ?? false
  }

  fileprivate func fault(at pointer: String) -> FieldError? {
    if isAddress { return nil }
    // Rows have other members for what Dossier manages.
    guard provider.issuer != nil, provider != .foreign else {
      return FieldError(
        pointer + "/provider",
        "provider",
        "The provider must be an issuer, such as jwt:https://issuer.example.com, or password or "
          + "email without a subject."
      )
    }
    for (name, text, limit) in [("provider", provider.text, 1_028), ("subject", subject, 1_024)] {
      let isFit =
        (1...limit).contains(text.utf8.count)
        && !text.hasControlCharacters
      guard isFit else {
        return FieldError(
          "\(pointer)/\(name)", "length", "It must have 1 to \(limit) bytes in one line."
        )
      }
    }
    return nil
  }
}
