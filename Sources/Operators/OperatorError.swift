import JSON
import Notation

/// Why an update or a query was refused, or could not be carried out.
package struct OperatorError: Error, Equatable {
  /// MongoDB's error codes, which its clients know.
  ///
  /// - Source: `error_codes.yml` of MongoDB; the numbers over 50,000 are those of single checks.
  package enum Code: Int, Sendable {
    case badValue = 2
    case failedToParse = 9
    case typeMismatch = 14
    case overflow = 15
    case pathNotViable = 28
    case cannotBackfillArray = 34
    case conflictingUpdateOperators = 40
    /// More work than one call may cause: the steps of `Budget` are used up.
    case maxTimeExpired = 50
    case dollarPrefixedFieldName = 52
    case invalidIDField = 53
    case notSingleValueField = 54
    case emptyFieldName = 56
    case immutableField = 66
    case documentTooLarge = 10334
    case regexOptionsTwice = 51075
    case invalidRegex = 51091
    case invalidRegexOptions = 51108

    /// The name that goes with the number, as in `codeName` of a server's answer.
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
      case .documentTooLarge: "BSONObjectTooLarge"
      case .regexOptionsTwice, .invalidRegex, .invalidRegexOptions: "Location\(rawValue)"
      }
    }
  }

  package let code: Code
  /// The member at fault, by RFC 6901: into the update, the query or the document that was read;
  /// those of array filters begin with `/arrayFilters`.
  package let pointer: String
  /// The dotted path in the document, with the indexes that were reached; empty while parsing.
  package let path: String
  /// The rule, in one sentence.
  package let detail: String

  init(_ code: Code, _ detail: String, pointer: String = "", path: String = "") {
    self.code = code
    self.pointer = JSONPointer.shortened(pointer)
    self.path = path.excerpt(512)
    self.detail = detail.excerpt(512)
  }
}
