import JSON
import Encoding

/// The reason why an update or a query was rejected or failed.
package struct OperatorError: Error, Equatable {
  /// MongoDB's error codes, which its clients know.
  ///
  /// - Source: `error_codes.yml` of MongoDB. Numbers over 50,000 belong to single checks.
  package enum Code: Int, Sendable {
    case badValue = 2
    case failedToParse = 9
    case typeMismatch = 14
    case overflow = 15
    case pathNotViable = 28
    case cannotBackfillArray = 34
    case conflictingUpdateOperators = 40
    /// The call used up the steps of its `Budget`.
    case maxTimeExpired = 50
    case dollarPrefixedFieldName = 52
    case invalidIDField = 53
    case notSingleValueField = 54
    case emptyFieldName = 56
    case immutableField = 66
    case notExactValueField = 111
    case documentTooLarge = 10334
    case regexOptionsTwice = 51075
    case invalidRegex = 51091
    case invalidRegexOptions = 51108

    /// The name of the code, as in `codeName` of a server's response.
    package var name: String {
      switch self {
      case .badValue: "BadValue"
      case .failedToParse: "FailedToParse"
      case .typeMismatch: "TypeMismatch"
      case .overflow: "Overflow"
      case .pathNotViable: "PathNotViable"
      case .cannotBackfillArray: "CannotBackfillArray"
      case .conflictingUpdateOperators: "ConflictingUpdateOperators"
      case .maxTimeExpired: "MaxTimeMSExpired"
      case .dollarPrefixedFieldName: "DollarPrefixedFieldName"
      case .invalidIDField: "InvalidIdField"
      case .notSingleValueField: "NotSingleValueField"
      case .emptyFieldName: "EmptyFieldName"
      case .immutableField: "ImmutableField"
      case .notExactValueField: "NotExactValueField"
      case .documentTooLarge: "BSONObjectTooLarge"
      case .regexOptionsTwice, .invalidRegex, .invalidRegexOptions: "Location\(rawValue)"
      }
    }
  }

  package let code: Code
  /// A JSON pointer (RFC 6901) to the invalid member of the update, query or document.
  ///
  /// Pointers into array filters begin with `/arrayFilters`.
  package let pointer: String
  /// The dotted path in the document, with the indexes reached.
  ///
  /// Empty for parse errors.
  package let path: String
  /// The violated rule, in one sentence.
  package let detail: String

  init(_ code: Code, _ detail: String, pointer: String = "", path: String = "") {
    self.code = code
    self.pointer = JSONPointer.shortened(pointer)
    self.path = path.excerpt(512)
    self.detail = detail.excerpt(512)
  }
}
