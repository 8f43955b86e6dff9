/// Operations on a document, all of them or none.
///
/// - Source: RFC 6902.
package struct JSONPatch: Sendable {
  let operations: [Operation]

  enum Operation: Sendable {
    case add(JSONPointer, JSON)
    case remove(JSONPointer)
    case replace(JSONPointer, JSON)
    case move(from: JSONPointer, JSONPointer)
    case copy(from: JSONPointer, JSONPointer)
    case test(JSONPointer, JSON)
  }

  /// More operations than any client has use for; bounds the work of one request.
  private static let limit = 1_000

  /// Reads a patch; members that RFC 6902 does not name are passed over, as it asks.
  ///
  /// - Throws: `.malformed`.
  package init(_ json: JSON) throws(JSONPatchError) {
    guard let array = json.array else {
      throw .malformed(pointer: "", reason: "A JSON Patch is an array of operations.")
    }
    guard array.count <= Self.limit else {
      throw .malformed(pointer: "", reason: "A patch may have \(Self.limit) operations.")
    }
    var operations: [Operation] = []
    for (index, element) in array.enumerated() {
      operations.append(try Self.operation(element, at: "/\(index)"))
    }
    self.operations = operations
  }

  private static func operation(
    _ json: JSON,
    at place: String
  ) throws(JSONPatchError) -> Operation {
    guard let object = json.object else {
      throw .malformed(pointer: place, reason: "An operation is an object.")
    }
    func pointer(_ member: String) throws(JSONPatchError) -> JSONPointer {
      guard let pointer = object[member]?.string.flatMap(JSONPointer.init) else {
        throw .malformed(
          pointer: "\(place)/\(member)",
          reason: "The member \(member) must be a JSON Pointer."
        )
      }
      return pointer
    }
    func value() throws(JSONPatchError) -> JSON {
      guard let value = object["value"] else {
        throw .malformed(pointer: "\(place)/value", reason: "The member value is required.")
      }
      return value
    }
    switch object["op"]?.string {
    case "add": return .add(try pointer("path"), try value())
    case "remove": return .remove(try pointer("path"))
    case "replace": return .replace(try pointer("path"), try value())
    case "move": return .move(from: try pointer("from"), try pointer("path"))
    case "copy": return .copy(from: try pointer("from"), try pointer("path"))
    case "test": return .test(try pointer("path"), try value())
    default:
      throw .malformed(
        pointer: "\(place)/op",
        reason: "op is add, remove, replace, move, copy or test."
      )
    }
  }

  /// Applies all operations in order.
  ///
  /// - Parameters:
  ///   - document: stays as it is.
  ///   - maximumBytes: about how large the document may grow on the way; copies can double it.
  ///   - depth: of the result.
  /// - Returns: the document that results.
  /// - Throws: `.testFailed` or `.notApplicable`, with the operation's place in the patch.
  package func apply(
    to document: JSON,
    maximumBytes: Int = 4_194_304,
    depth: Int = JSONLimits.standard.depth
  ) throws(JSONPatchError) -> JSON {
    var result = document
    var copied = 0
    for (index, operation) in operations.enumerated() {
      do throws(PatchFault) {
        switch operation {
        case .add(let path, let value): try result.add(value, at: path.tokens[...])
        case .remove(let path): _ = try result.remove(at: path.tokens[...])
        case .replace(let path, let value): try result.replace(with: value, at: path.tokens[...])
        case .move(let from, let path):
          guard !from.isProperPrefix(of: path) else {
            throw .place("A value cannot be moved into itself.")
          }
          let value = try result.remove(at: from.tokens[...])
          try result.add(value, at: path.tokens[...])
        case .copy(let from, let path):
          let value = try result.value(at: from.tokens[...])
          copied += value.serialized().count
          guard copied <= maximumBytes else { throw .place("The patch copies too much.") }
          try result.add(value, at: path.tokens[...])
        case .test(let path, let value):
          guard try result.value(at: path.tokens[...]) == value else { throw .test }
        }
      } catch {
        throw error.error(at: "/\(index)")
      }
    }
    guard result.depth <= depth else {
      throw .notApplicable(pointer: "", reason: "Arrays and objects may be \(depth) deep.")
    }
    return result
  }
}

/// Why a patch was not carried out; pointers lead into the patch.
package enum JSONPatchError: Error, Equatable {
  case malformed(pointer: String, reason: String)
  case testFailed(pointer: String)
  case notApplicable(pointer: String, reason: String)
}

enum PatchFault: Error {
  case test
  case place(String)

  fileprivate func error(at pointer: String) -> JSONPatchError {
    switch self {
    case .test: .testFailed(pointer: pointer)
    case .place(let reason): .notApplicable(pointer: pointer, reason: reason)
    }
  }
}
