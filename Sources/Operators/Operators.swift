/// The query operators.
///
/// The parser and the reference use this list.
package enum QueryOperator: String, CaseIterable, Sendable {
  case and = "$and"
  case or = "$or"
  case nor = "$nor"
  case comment = "$comment"
  case equal = "$eq"
  case notEqual = "$ne"
  case greater = "$gt"
  case greaterOrEqual = "$gte"
  case less = "$lt"
  case lessOrEqual = "$lte"
  case oneOf = "$in"
  case noneOf = "$nin"
  case not = "$not"
  case exists = "$exists"
  case type = "$type"
  case all = "$all"
  case size = "$size"
  case elementMatch = "$elemMatch"
  case regex = "$regex"
  case options = "$options"
  case modulo = "$mod"
  case bitsAllSet = "$bitsAllSet"
  case bitsAllClear = "$bitsAllClear"
  case bitsAnySet = "$bitsAnySet"
  case bitsAnyClear = "$bitsAnyClear"

  /// The condition that the operator tests, for the reference.
  package var says: String {
    switch self {
    case .and: "all queries of an array hold"
    case .or: "a query of an array holds"
    case .nor: "no query of an array holds"
    case .comment: "nothing; it is passed over"
    case .equal: "equal to a value, or a value of an array is"
    case .notEqual: "not equal to it"
    case .greater: "greater than a value of the same type"
    case .greaterOrEqual: "greater than it or equal to it"
    case .less: "less than a value of the same type"
    case .lessOrEqual: "less than it or equal to it"
    case .oneOf: "equal to a value of a list, or matched by a regular expression in it"
    case .noneOf: "not so"
    case .not: "operators, or a regular expression, that do not hold"
    case .exists: "there is such a field"
    case .type: "of one of these types, by name or number"
    case .all: "an array with all these values, or with elements for each $elemMatch"
    case .size: "an array of so many elements"
    case .elementMatch: "an array with one element that all conditions hold of"
    case .regex:
      "a string that matches a regular expression of PCRE2, without recursion"
    case .options: "i, m, s and x, beside $regex"
    case .modulo: "a number that leaves a remainder: [divisor, remainder]"
    case .bitsAllSet: "a whole number or binary data with all these bits 1: a mask or positions"
    case .bitsAllClear: "with all of them 0"
    case .bitsAnySet: "with one of them 1"
    case .bitsAnyClear: "with one of them 0"
    }
  }

  /// The names of MongoDB's query operators that are rejected.
  package static let withheld = [
    "$expr", "$where", "$text", "$jsonSchema", "$geoIntersects", "$geoWithin", "$near",
    "$nearSphere", "$rand", "$sampleRate",
  ]
}

/// The update operators.
///
/// The parser and the reference use this list.
package enum UpdateOperator: String, CaseIterable, Sendable {
  case set = "$set"
  case setOnInsert = "$setOnInsert"
  case unset = "$unset"
  case increment = "$inc"
  case multiply = "$mul"
  case minimum = "$min"
  case maximum = "$max"
  case rename = "$rename"
  case currentDate = "$currentDate"
  case bit = "$bit"
  case push = "$push"
  case addToSet = "$addToSet"
  case pop = "$pop"
  case pull = "$pull"
  case pullAll = "$pullAll"

  /// The effect of the operator, for the reference.
  package var says: String {
    switch self {
    case .set: "puts a value at a path"
    case .setOnInsert: "does so when the document is made"
    case .unset: "removes a field; of an array, leaves null"
    case .increment: "adds a number"
    case .multiply: "multiplies by a number"
    case .minimum: "puts a value that is less than the one there"
    case .maximum: "puts a value that is greater"
    case .rename: "moves a value to another path"
    case .currentDate: "puts the time, as a date or a timestamp"
    case .bit: "combines a whole number with and, or or xor"
    case .push: "adds to an array; with $each also $position, $sort and $slice"
    case .addToSet: "adds what an array does not have; with $each several"
    case .pop: "removes the last element (1) or the first (-1)"
    case .pull: "removes the elements that a value or a query fits"
    case .pullAll: "removes the elements equal to one of a list"
    }
  }
}

/// The differences from MongoDB, for applications that migrate.
package enum OperatorLanguage {
  package static let differences = [
    "The fields of objects have no order of their own: PostgreSQL puts shorter names first, and the "
      + "others by their bytes. Objects in an update or a filter are brought into that order before "
      + "they are compared or stored, so that an object is equal to itself. What depends on the order "
      + "is otherwise: objects with the same fields in two orders are equal for a filter, $in, "
      + "$addToSet, $pull and $pullAll; $lt, $gt, $min, $max and $sort compare objects by the names "
      + "in that order; and documents are answered in it. The operands of operators themselves, as "
      + "of $sort and $bit, keep their order.",
    "An object is a value of Extended JSON when it is a well-formed wrapper such as {\"$oid\": …}. One "
      + "that is not is data, and no error, whichever way it comes in.",
    "A path has no empty part: a., .a and a..b are refused, in filters too. Filters, projections and "
      + "sorts have no $ and no $[] in a path.",
    "A field whose name begins with a dollar can be changed below the top level. At the top level it can be "
      + "removed, and set when the document is made.",
    "A new document has no _id unless the filter or the update gives it one.",
    "Strings compare by their bytes; there are no collations, and no pipelines.",
    "An update may have 1,000 paths of 64 parts and 64 array filters; a filter 1,000 conditions; a "
      + "request 64 regular expressions. What takes too many steps on a document is MaxTimeMSExpired.",
  ]
}
