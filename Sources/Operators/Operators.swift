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
    case .and: "all queries of an array match"
    case .or: "at least one query of an array matches"
    case .nor: "no query of an array matches"
    case .comment: "ignored"
    case .equal: "the value, or an element of the array, equals the operand"
    case .notEqual: "neither the value nor an element of the array equals the operand"
    case .greater: "greater than the operand, and of the same type"
    case .greaterOrEqual: "greater than or equal to the operand, and of the same type"
    case .less: "less than the operand, and of the same type"
    case .lessOrEqual: "less than or equal to the operand, and of the same type"
    case .oneOf: "equals one of the values, or matches one of the regular expressions"
    case .noneOf: "equals none of the values, and matches none of the regular expressions"
    case .not: "the operators or the regular expression do not match"
    case .exists: "true: the field exists; false: it does not exist"
    case .type: "the value has one of the types, by name or number"
    case .all: "an array with all these values, or with an element for each $elemMatch"
    case .size: "an array with this number of elements"
    case .elementMatch: "one element of the array matches all conditions"
    case .regex: "a string that matches a regular expression of PCRE2, without recursion"
    case .options: "the options i, m, s and x of $regex"
    case .modulo: "a number with this remainder: [divisor, remainder]"
    case .bitsAllSet: "all these bits of a whole number or binary data are 1: a mask or positions"
    case .bitsAllClear: "all these bits of a whole number or binary data are 0: a mask or positions"
    case .bitsAnySet: "at least one of these bits is 1: a mask or positions"
    case .bitsAnyClear: "at least one of these bits is 0: a mask or positions"
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
    case .set: "sets the value at a path"
    case .setOnInsert: "sets a value if the update creates the document"
    case .unset: "removes a field; an element of an array becomes null"
    case .increment: "adds a number"
    case .multiply: "multiplies by a number"
    case .minimum: "sets a value if the stored one is absent or greater"
    case .maximum: "sets a value if the stored one is absent or less"
    case .rename: "moves a value to another path"
    case .currentDate: "sets the current time, as a date or a timestamp"
    case .bit: "combines a whole number with and, or or xor"
    case .push: "appends to an array; with $each also $position, $sort and $slice"
    case .addToSet: "appends a value that the array does not contain; with $each several"
    case .pop: "removes the last element (1) or the first (-1)"
    case .pull: "removes the elements that equal a value or match a query"
    case .pullAll: "removes the elements that equal one of the values"
    }
  }
}

/// The differences from MongoDB, for applications that migrate.
package enum OperatorLanguage {
  package static let differences = [
    "The fields of objects have a fixed order: shorter names come first, and names of one length are "
      + "in the order of their bytes. Objects in updates and filters get this order before they are "
      + "compared or stored. The operands of operators, such as $sort and $bit, keep their order.",
    "Objects with the same fields in another order are therefore equal for filters, $in, $addToSet, "
      + "$pull and $pullAll. $lt, $gt, $min, $max and $sort compare objects in the fixed order. "
      + "Responses have the fixed order.",
    "A well-formed wrapper such as {\"$oid\": …} is a value of Extended JSON. A malformed wrapper is "
      + "plain data and not an error.",
    "The parts of a path must not be empty: a., .a and a..b are refused, in filters too. Paths of "
      + "filters and sorts must not contain $ or $[]. The path of a projection may end with $.",
    "A field whose name begins with a dollar can be changed below the top level. At the top level, an "
      + "update can remove it, and can set it only in a new document.",
    "A new document has no _id unless the filter or the update gives it one.",
    "Strings compare by their bytes. Collations and update pipelines are not supported.",
    "An update may have at most 1,000 paths of 64 parts and 64 array filters; a filter at most 1,000 "
      + "conditions; a request at most 64 regular expressions. An operation that takes too many "
      + "steps on a document fails with MaxTimeMSExpired.",
  ]
}
