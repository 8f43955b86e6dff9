/// A patch whose operations are applied all or not at all.
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

  /// The most operations, more than any client needs; bounds the work of one request.
  private static let limit = 1_000

  /// Parses a patch.
  ///
  /// Members that RFC 6902 does not define are ignored, as it requires.
  ///
  /// - Throws: `.malformed` if the patch is invalid.
  package init(_ json: JSON) throws(JSONPatchError) {
    guard let array = json.array else {
      throw .malformed(pointer: "", reason: "A JSON Patch must be an array of operations.")
    }
    guard array.count <= Self.limit else {
      throw .malformed(pointer: "", reason: "A patch may have at most \(Self.limit) operations.")
    }
    var operations: [Operation] = []
    for (index, element) in array.enumerated() {
      operations.append(try Self.operation(element, at: "/\(index)"))
    }
    self.operations = operations
  }

  private static func operation(
    _ json: JSON, at place: String
  ) throws(JSONPatchError) -> Operation {
    guard let object = json.object else {
      throw .malformed(pointer: place, reason: "An operation must be an object.")
    }
    func pointer(_ member: String) throws(JSONPatchError) -> JSONPointer {
      guard let pointer = object[member]?.string.flatMap(JSONPointer.init) else {
        throw .malformed(
          pointer: "\(place)/\(member)", reason: "The member \(member) must be a JSON Pointer."
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
        pointer: "\(place)/op", reason: "op must be add, remove, replace, move, copy or test."
      )
    }
  }

  /// Applies all operations in order.
  ///
  /// - Parameters:
  ///   - document: the document, which is not changed.
  ///   - maximumBytes: the approximate limit for copied bytes; copies of copies double the size
  ///     each time.
  ///   - depth: the limit for the depth of the document, also between operations.
  /// - Returns: the resulting document.
  /// - Throws: `.testFailed` or `.notApplicable`, with the operation's location in the patch.
  package func apply(
    to document: JSON, maximumBytes: Int = 4_194_304, depth: Int = JSONLimits.standard.depth
  ) throws(JSONPatchError) -> JSON {
    var application = Application(result: document, copies: maximumBytes, depth: depth)
    for (index, operation) in operations.enumerated() {
      do throws(PatchFault) {
        try application.carryOut(operation)
      } catch {
        throw error.error(at: "/\(index)")
      }
    }
    return application.result
  }
}

/// The state of a document while a patch is applied.
private struct Application {
  var result: JSON
  /// The bytes that may still be copied.
  var copies: Int
  let depth: Int
  var budget = PatchBudget()

  init(result: JSON, copies: Int, depth: Int) {
    self.result = result
    self.copies = copies
    self.depth = depth
  }

  mutating func carryOut(_ operation: JSONPatch.Operation) throws(PatchFault) {
    switch operation {
    case .add(let path, let value): try add(value, at: path)
    case .remove(let path): _ = try result.remove(at: path.tokens[...], &budget)
    case .replace(let path, let value):
      try check(value, at: path)
      try result.replace(with: value, at: path.tokens[...])
    case .move(let from, let path):
      guard !from.isProperPrefix(of: path) else {
        throw .place("A value cannot be moved into itself.")
      }
      try add(try result.remove(at: from.tokens[...], &budget), at: path)
    case .copy(let from, let path):
      let value = try result.value(at: from.tokens[...])
      try budget.spend(value.extent.values / 4)
      copies -= value.serialized().count
      guard copies >= 0 else { throw .place("The patch copies too much.") }
      try add(value, at: path)
    case .test(let path, let value):
      let found = try result.value(at: path.tokens[...])
      try budget.spend(value.extent.values / 4)
      guard found == value else { throw .test }
    }
  }

  private mutating func add(_ value: JSON, at path: JSONPointer) throws(PatchFault) {
    try check(value, at: path)
    try result.add(value, at: path.tokens[...], &budget)
  }

  private mutating func check(_ value: JSON, at path: JSONPointer) throws(PatchFault) {
    let extent = value.extent
    try budget.spend(extent.values / 4)
    guard path.tokens.count + extent.depth <= depth else {
      throw .place("Arrays and objects may be nested at most \(depth) levels deep.")
    }
  }
}

/// The error of a patch; pointers locate the operation in the patch.
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
