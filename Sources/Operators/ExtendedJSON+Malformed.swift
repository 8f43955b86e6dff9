package import JSON

/// Objects with the name of a wrapper that are not well-formed wrappers, such as `{"$oid": "x"}`.
///
/// This module treats them as documents. Strict readers of Extended JSON take them for values, and
/// some crash. So the APIs for such clients must reject them.
extension BSON {
  /// Returns the JSON pointer of the first malformed wrapper in a value, or nil.
  package static func malformedWrapper(in json: JSON) -> String? {
    switch json {
    case .null, .bool, .string, .number: return nil
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        if let place = malformedWrapper(in: element) { return "/\(index)" + place }
      }
      return nil
    case .object(let object):
      if let value = Wrapper.value(of: object) {
        guard case .javascript(_, let scope?) = value else { return nil }
        return scope.malformedWrapper.map { "/$scope" + $0 }
      }
      for (name, member) in object {
        if Wrapper.named(name) != nil { return "" }
        if let place = malformedWrapper(in: member) {
          return "/" + JSONPointer.escaped(name) + place
        }
      }
      return nil
    }
  }

  fileprivate var malformedWrapper: String? {
    switch self {
    case .document(let document): document.malformedWrapper
    case .array(let elements): elements.malformedWrapper
    case .javascript(_, let scope): scope?.malformedWrapper.map { "/$scope" + $0 }
    default: nil
    }
  }
}

extension BSONArray {
  fileprivate var malformedWrapper: String? {
    if let source { return BSON.malformedWrapper(in: source) }
    for (index, element) in enumerated() {
      if let place = element.malformedWrapper { return "/\(index)" + place }
    }
    return nil
  }
}

extension BSONDocument {
  /// The JSON pointer of the first malformed wrapper, or nil.
  ///
  /// The top level is never a wrapper.
  package var malformedWrapper: String? {
    for field in self {
      if Wrapper.named(field.name.text) != nil { return "" }
      if let place = field.value.malformedWrapper {
        return "/" + JSONPointer.escaped(field.name.text) + place
      }
    }
    return nil
  }
}
