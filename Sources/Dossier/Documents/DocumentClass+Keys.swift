import JSON

extension DocumentClass {
  /// Characters of a key.
  package static let keyLimit = 255
  /// What is wrong with the keys of a document, or of what is merged into one.
  ///
  /// Keys of metadata have 1 to `keyLimit` characters without `.` and `$`, at every depth: paths
  /// name them, here and in the languages of other services' clients. Those of custom data may be
  /// any.
  /// - Parameters:
  ///   - json: an object.
  ///   - isPatch: whether null removes a member, which any key may have.
  /// - Returns: at most `Fault.limit`.
  func keyFaults(in json: JSON, isPatch: Bool = false) -> [Fault] {
    guard self != .customData else { return [] }
    var faults: [Fault] = []
    var place: [String] = []
    Self.look(at: json, &place, isPatch, &faults)
    return faults
  }

  /// A pointer is put together where it is told and nowhere else: a long name would be copied for
  /// each value within it.
  private static func look(
    at json: JSON,
    _ place: inout [String],
    _ isPatch: Bool,
    _ faults: inout [Fault]
  ) {
    switch json {
    case .array(let elements):
      // A patch puts arrays in whole.
      for (index, element) in elements.enumerated() {
        place.append(String(index))
        look(at: element, &place, false, &faults)
        place.removeLast()
      }
    case .object(let object):
      for (key, value) in object where faults.count < Fault.limit {
        place.append(key)
        if !isFit(key), !(isPatch && value == .null) {
          let detail =
            "A key of metadata has 1 to \(keyLimit) characters, and no . or $ among them."
          faults.append(Fault(JSONPointer(tokens: place).description, "key", detail))
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
