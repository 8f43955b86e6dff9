import JSON
import Runtime
import WebTokens
import Records

extension IssuerKeys {
  /// In bytes: room for a hundred RSA keys.
  private static let longestSet = 65_536

  /// The private members of keys, and the secret of a symmetric key.
  ///
  /// - Source: RFC 7518 sections 6.2.2, 6.3.2 and 6.4.1.
  private static let privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

  /// Returns the fault of a JWK Set that an operator stores; nil if it is valid.
  static func fault(inKeySet set: JSON) -> ColumnRule.Fault? {
    guard set.serialized().count <= longestSet else {
      return ("length", "A key set may have at most \(longestSet) bytes.")
    }
    let keys = set["keys"]?.array ?? []
    guard keys.allSatisfy({ key in privateMembers.allSatisfy { key[$0] == nil } }) else {
      return ("private_key", "The key set holds a key that is not public.")
    }
    return IssuerKeys(set: set).isUsable
      ? nil : ("no_key", "The key set has no key in `keys` that can verify.")
  }
}
