package import Dossier
import EventLoop
import HTTP
package import JSON

/// The members of a body, read with all that is wrong told at once.
package struct Members {
  private let object: JSONObject
  private let known: [String]
  private var faults: [Fault] = []

  /// - Throws: `.invalid` when the body is no object.
  package init(_ json: JSON, known: [String]) throws(Failure) {
    guard let object = json.object else {
      throw .invalid([Fault("", "type", "The body must be a JSON object.")])
    }
    self.object = object
    self.known = known
    for (name, _) in object where !known.contains(name) && faults.count < Fault.limit {
      faults.append(Self.unknown(name))
    }
  }

  /// What is told of a member that there is not.
  package static func unknown(_ name: String) -> Fault {
    Fault("/" + JSONPointer.escaped(name), "unknown_member", "This member is unknown.")
  }

  /// A string that must be there.
  package mutating func string(_ name: String) -> String {
    value(name, "a string", \.string) ?? ""
  }

  package mutating func flag(_ name: String) -> Bool {
    value(name, "true or false", \.bool) ?? false
  }

  package mutating func object(_ name: String) -> JSONObject {
    value(name, "an object", \.object) ?? JSONObject()
  }

  package mutating func list(_ name: String) -> JSONArray {
    value(name, "an array", \.array) ?? []
  }

  package mutating func strings(_ name: String) -> [String] {
    value(name, "an array of strings", Self.strings) ?? []
  }

  package mutating func id<Of>(_ name: String) -> ID<Of> {
    let text = value(name, "a string", \.string)
    if let text, let id = ID<Of>(text) { return id }
    if text != nil {
      faults.append(Fault("/\(name)", "id", "An id has 24 hexadecimal characters."))
    }
    return ID(trusted: "")
  }

  /// A string that must be there, or null.
  package mutating func stringOrNull(_ name: String) -> String? {
    isNull(name) ? nil : string(name)
  }

  /// Any value that must be there.
  package mutating func json(_ name: String) -> JSON { value(name, "a value") { $0 } ?? .null }

  package func has(_ name: String) -> Bool { object[name] != nil }

  package func isNull(_ name: String) -> Bool { object[name] == .null }

  private static func strings(_ json: JSON) -> [String]? {
    guard let array = json.array else { return nil }
    let strings = array.compactMap(\.string)
    return strings.count == array.count ? strings : nil
  }

  package mutating func refuse(_ fault: Fault) { faults.append(fault) }

  private mutating func value<Value>(
    _ name: String,
    _ kind: String,
    _ reading: (JSON) -> Value?
  ) -> Value? {
    guard let member = object[name] else {
      faults.append(Fault("/\(name)", "missing", "This member is required."))
      return nil
    }
    guard let value = reading(member) else {
      faults.append(Fault("/\(name)", "type", "This member must be \(kind)."))
      return nil
    }
    return value
  }

  /// - Parameter rules: what the domain would find wrong with the values, so that it is told in the
  ///   same answer; where nothing is wrong here, the domain says it when it is its turn.
  /// - Throws: `.invalid` with everything that was wrong.
  package func check(_ rules: @autoclosure () throws(Failure) -> [Fault] = []) throws(Failure) {
    guard !faults.isEmpty else { return }
    let further = try rules().filter { rule in
      !faults.contains { $0.place.utf8.elementsEqual(rule.place.utf8) }
    }
    throw .invalid(faults + further)
  }
}
