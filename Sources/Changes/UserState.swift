internal import Crypto
package import JSON
package import Postgres
package import Runtime

/// The state of a user: a number for each part, which differs after a change of the part.
package struct UserState: Equatable, Sendable {
  /// In the order of `UserPart.allCases`.
  private(set) var numbers: [Int]

  /// - Parameter numbers: one for each part, in the order of `UserPart.allCases`.
  init(_ numbers: [Int]) { self.numbers = numbers }

  package subscript(part: UserPart) -> Int {
    get { numbers[Self.place(of: part)] }
    set { numbers[Self.place(of: part)] = newValue }
  }

  /// The version of a part, as its entity tag has it; nil for a part without one.
  package func version(of part: UserPart) -> Int? { part.hasVersion ? max(0, self[part]) : nil }

  /// A number for the entity tag of the whole state, which a JavaScript number can hold.
  package var tag: Int {
    SHA256.hash(data: MarkedCursor.bytes(of: numbers)).prefix(6).reduce(0) { $0 << 8 | Int($1) }
  }

  /// Returns the parts whose numbers differ.
  package func parts(unlike other: UserState) -> [UserPart] {
    UserPart.allCases.filter { self[$0] != other[$0] }
  }

  private static func place(of part: UserPart) -> Int {
    UserPart.allCases.firstIndex(of: part) ?? 0
  }
}

extension UserState: RowDecodable {
  package init(from row: Row) throws(DatabaseError) {
    numbers = []
    for place in UserPart.allCases.indices { numbers.append(try row.int(place)) }
  }
}

extension UserState {
  /// Returns an object with changed parts, each with its version if it has one.
  package func changed(_ parts: [UserPart]) -> JSONObject {
    JSONObject(
      parts.map { part in
        let version = version(of: part).map { [("version", JSON.number(JSONNumber($0)))] } ?? []
        return (part.rawValue, .object(JSONObject(version)))
      })
  }
}
