package import Runtime
package import JSON

extension DocumentKind {
  /// The greatest length of a key, in characters.
  package static let keyLimit = 255
  /// Returns the faults of the keys of a document, or of a merge patch for one.
  ///
  /// Keys of metadata have 1 to `keyLimit` characters without `.` and `$`, at every depth: paths
  /// contain them, here and in the languages of other services' clients. Keys of custom data may be
  /// any.
  /// - Parameters:
  ///   - json: an object.
  ///   - isPatch: whether null removes a member, whose key is then not checked.
  /// - Returns: at most `FieldError.limit` faults.
  package func keyFaults(in json: JSON, isPatch: Bool = false) -> [FieldError] {
    guard self != .customData else { return [] }
    var faults: [FieldError] = []
    var place: [String] = []
    Self.look(at: json, &place, isPatch, &faults)
    return faults
  }

  /// Builds a pointer only for a fault, since each nested value would copy a long name.
  private static func look(
    at json: JSON, _ place: inout [String], _ isPatch: Bool, _ faults: inout [FieldError]
  ) {
    switch json {
    case .array(let elements):
      // A patch replaces whole arrays.
      for (index, element) in elements.enumerated() {
        place.append(String(index))
        look(at: element, &place, false, &faults)
        place.removeLast()
      }
    case .object(let object):
      for (key, value) in object where faults.count < FieldError.limit {
        place.append(key)
        if !isFit(key), !(isPatch && value == .null) {
          let detail =
            "A key of metadata must have 1 to \(keyLimit) characters, and no . or $ among them."
          faults.append(FieldError(JSONPointer(tokens: place).description, "key", detail))
        }
        look(at: value, &place, isPatch, &faults)
        place.removeLast()
      }
    case .null, .bool, .number, .string: break
    }
  }

  private static func isFit(_ key: String) -> Bool {
    !key.isEmpty && key.utf8.allSatisfy { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: "$") }
      && (key.utf8.count <= keyLimit || key.unicodeScalars.count <= keyLimit)
  }
}
