extension BSON {
  /// The type of a value, with the number that `$type` accepts.
  enum Kind: Int, CaseIterable, Sendable {
    case minKey = -1
    case double = 1
    case string, object, array, binary, undefined, objectID, bool, date, null, regex
    case dbPointer, javascript, symbol, javascriptWithScope, int, timestamp, long, decimal
    case maxKey = 127

    /// The position of the type in MongoDB's order.
    ///
    /// Only values of the same rank are compared by value.
    ///
    /// - Source: MongoDB manual, "Comparison and sort order".
    var rank: Int {
      switch self {
      case .minKey: -1
      case .undefined: Self.missingRank
      case .null: 5
      case .double, .int, .long, .decimal: 10
      case .string, .symbol: 15
      case .object: 20
      case .array: 25
      case .binary: 30
      case .objectID: 35
      case .bool: 40
      case .date: 45
      case .timestamp: 47
      case .regex: 50
      case .dbPointer: 55
      case .javascript: 60
      case .javascriptWithScope: 65
      case .maxKey: 127
      }
    }

    /// The rank of a missing field.
    static let missingRank = 0

    var isNumber: Bool { rank == Kind.int.rank }

    /// The name that `$type` accepts.
    var alias: String {
      switch self {
      case .minKey: "minKey"
      case .double: "double"
      case .string: "string"
      case .object: "object"
      case .array: "array"
      case .binary: "binData"
      case .undefined: "undefined"
      case .objectID: "objectId"
      case .bool: "bool"
      case .date: "date"
      case .null: "null"
      case .regex: "regex"
      case .dbPointer: "dbPointer"
      case .javascript: "javascript"
      case .symbol: "symbol"
      case .javascriptWithScope: "javascriptWithScope"
      case .int: "int"
      case .timestamp: "timestamp"
      case .long: "long"
      case .decimal: "decimal"
      case .maxKey: "maxKey"
      }
    }

    /// Returns the kinds of an alias, or nil if the alias is unknown.
    static func named(_ alias: String) -> [Kind]? {
      if alias == "number" { return allCases.filter(\.isNumber) }
      return allCases.first { $0.alias == alias }.map { [$0] }
    }
  }

  var kind: Kind {
    switch self {
    case .double: .double
    case .string: .string
    case .document: .object
    case .array: .array
    case .binary: .binary
    case .undefined: .undefined
    case .objectID: .objectID
    case .bool: .bool
    case .date: .date
    case .null: .null
    case .regularExpression: .regex
    case .dbPointer: .dbPointer
    case .javascript(_, let scope): scope == nil ? .javascript : .javascriptWithScope
    case .symbol: .symbol
    case .int32: .int
    case .timestamp: .timestamp
    case .int64: .long
    case .decimal: .decimal
    case .minKey: .minKey
    case .maxKey: .maxKey
    }
  }
}
