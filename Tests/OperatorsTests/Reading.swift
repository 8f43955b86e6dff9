import JSON
import Operators

func json(_ text: String) throws -> JSON {
  try JSON.parse(Array(text.utf8), limits: .holding)
}
func value(_ text: String) throws -> BSON { try BSON(json(text)) }
func document(_ text: String) throws -> BSONDocument { try BSONDocument(json(text)) }

/// The moment of every test: 2023-11-14T22:13:20.500Z.
let now: Int64 = 1_700_000_000_500

extension Query {
  func matches(_ document: BSONDocument) throws -> Bool {
    var budget = Budget()
    return try matches(document, &budget)
  }

  func match(_ document: BSONDocument) throws -> Match? {
    var budget = Budget()
    return try match(document, &budget)
  }

  func insertion() throws -> BSONDocument {
    var budget = Budget()
    return try insertion(&budget)
  }
}

extension Update {
  func apply(
    to document: BSONDocument, now: Int64, position: Int? = nil, isInsertion: Bool = false
  ) throws -> UpdatedDocument {
    var budget = Budget()
    return try apply(to: document, now: now, position: position, isInsertion: isInsertion, &budget)
  }
}

/// Reads and applies an update, and returns the stored form of the result.
func applying(
  _ update: String, to text: String, filters: [String] = [], isInsertion: Bool = false
) throws -> (text: String, isModified: Bool) {
  let update = try Update(
    try json(update), arrayFilters: JSONArray(try filters.map { try json($0) })
  )
  let outcome = try update.apply(to: try document(text), now: now, isInsertion: isInsertion)
  return (outcome.document.json(.stored).text, outcome.isModified)
}
