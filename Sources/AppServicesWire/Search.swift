import JSON
import Operators

/// A query with its projection.
struct Search: Sendable {
  private let query: Query
  private let projection: Projection

  /// Reads both from the arguments, by the names that the operation uses.
  ///
  /// The sort is checked but has no effect on a single document.
  init(_ arguments: Arguments, query: String, projection: String) throws(ServiceError) {
    let (condition, fields) = (try arguments.document(query), try arguments.document(projection))
    let patterns = PatternAllowance()
    let read = try mongo { () throws(OperatorError) in try Query(condition, patterns) }
    self.query = read
    self.projection = try mongo { () throws(OperatorError) in
      try Projection(fields, of: read, patterns)
    }
    let order = try arguments.document("sort")
    _ = try mongo { () throws(OperatorError) in try SortOrder(order) }
    // Only the type is checked. Any limit allows one document, since zero means no limit.
    _ = try arguments.integer("limit")
  }

  func finds(_ document: BSONDocument?, _ budget: inout Budget) throws(ServiceError) -> Bool {
    guard let document else { return false }
    return try mongo { () throws(OperatorError) in try query.matches(document, &budget) }
  }

  func result(_ document: BSONDocument?, _ budget: inout Budget) throws(ServiceError) -> JSON? {
    let shown = try mongo { () throws(OperatorError) -> BSONDocument? in
      guard let document, let match = try query.match(document, &budget) else { return nil }
      return try projection.apply(to: document, position: match.position, &budget)
    }
    return try shown?.canonical
  }

  /// Returns the document after an update, in which the query has no position.
  ///
  /// - Throws: an error if the projection is positional, as MongoDB does.
  func changed(_ document: BSONDocument, _ budget: inout Budget) throws(ServiceError) -> JSON {
    guard !projection.isPositional else {
      throw .mongo(
        "BadValue", "cannot use a positional projection and return the new document", at: ""
      )
    }
    return try mongo { () throws(OperatorError) in try projection.apply(to: document, &budget) }
      .canonical
  }
}

extension BSONDocument {
  /// The document as an operation returns it.
  ///
  /// - Throws: an error if it has a malformed wrapper. Other APIs store them, and some clients
  ///   crash when they read one.
  var canonical: JSON {
    get throws(ServiceError) {
      if let place = malformedWrapper {
        throw .lookalike("document has", at: place)
      }
      return json(.canonical)
    }
  }
}

/// The stages of an aggregation over at most one document.
struct Pipeline: Sendable {
  private enum Stage: Sendable {
    case match(Query)
    case project(Projection)
    case sort
    case limit(Int)
    case skip(Int)
    case count(String)
  }

  private let stages: [Stage]

  /// More stages than any client needs.
  private static let limit = 100

  init(_ stages: [JSON]) throws(ServiceError) {
    guard stages.count <= Self.limit else {
      throw .database("a pipeline may have at most \(Self.limit) stages")
    }
    let patterns = PatternAllowance()
    var read: [Stage] = []
    for stage in stages { read.append(try Self.stage(stage, patterns)) }
    self.stages = read
  }

  private static func stage(_ json: JSON, _ patterns: PatternAllowance) throws(ServiceError)
    -> Stage
  {
    guard let object = json.object, object.count == 1, let name = object.keys.first,
      let operand = object[name]
    else {
      throw .database("a stage of a pipeline must be a document with one field")
    }
    switch name {
    case "$match":
      return .match(try mongo { () throws(OperatorError) in try Query(operand, patterns) })
    case "$project":
      guard let fields = operand.object, fields.count > 0 else {
        throw .database("$project must be a document that is not empty")
      }
      return .project(try mongo { () throws(OperatorError) in try Projection(operand) })
    case "$sort":
      _ = try mongo { () throws(OperatorError) in try SortOrder(operand) }
      return .sort
    case "$limit": return .limit(try number(operand, "$limit", from: 1))
    case "$skip": return .skip(try number(operand, "$skip", from: 0))
    case "$count":
      guard let field = operand.string, !field.isEmpty, !field.hasPrefix("$"),
        !field.utf8.contains(UInt8(ascii: "."))
      else { throw .database("$count must be the name of a field") }
      return .count(field)
    default: throw .database("Unrecognized pipeline stage name: '\(name)'")
    }
  }

  private static func number(
    _ operand: JSON, _ name: String, from least: Int
  ) throws(ServiceError) -> Int {
    let number = try mongo { () throws(OperatorError) in try BSON(operand) }.integer
    guard let number, number >= least else {
      throw .database("\(name) must be a whole number of at least \(least)")
    }
    return number
  }

  func run(on document: BSONDocument?, _ budget: inout Budget) throws(ServiceError) -> BSONDocument?
  {
    var current = document
    for stage in stages {
      guard let document = current else { return nil }
      switch stage {
      case .match(let query):
        let isMatch = try mongo { () throws(OperatorError) in
          try query.matches(document, &budget)
        }
        if !isMatch { current = nil }
      case .project(let projection):
        current = try mongo { () throws(OperatorError) in
          try projection.apply(to: document, &budget)
        }
      case .sort, .limit: break
      case .skip(let count): if count > 0 { current = nil }
      case .count(let field):
        var counted = JSONObject()
        counted[field] = 1
        let json = JSON.object(counted)
        current = try mongo { () throws(OperatorError) in try BSONDocument(json) }
      }
    }
    return current
  }
}
