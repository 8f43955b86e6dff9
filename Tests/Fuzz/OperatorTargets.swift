import JSON
@testable import Operators

extension FuzzTarget {
  private static let wrappers = [
    "$oid", "$symbol", "$numberInt", "$numberLong", "$numberDouble", "$numberDecimal", "$binary",
    "base64", "subType", "$uuid", "$code", "$scope", "$timestamp", "t", "i", "$regularExpression",
    "pattern", "options", "$dbPointer", "$ref", "$id", "$date", "$minKey", "$maxKey", "$undefined",
    "0123456789abcdef01234567", "00112233-4455-6677-8899-aabbccddeeff", "2020-01-01T00:00:00Z",
    "1E+6144", "0E-6176", "-9.999999999999999999999999999999999E+6144", "sNaN", "NaN", "Infinity",
  ]

  /// Lines: a document, an update or a projection, a query, array filters.
  static let operators = FuzzTarget(
    "operators",
    isJSON: true,
    words: wrappers + [
      "$set", "$unset", "$setOnInsert", "$inc", "$mul", "$min", "$max", "$rename", "$currentDate",
      "$type", "date", "timestamp", "$bit", "and", "or", "xor", "$push", "$each", "$position",
      "$sort", "$slice", "$addToSet", "$pull", "$pullAll", "$pop", "$eq", "$ne", "$gt", "$gte",
      "$lt", "$lte", "$in", "$nin", "$and", "$or", "$nor", "$not", "$exists", "$all", "$size",
      "$elemMatch", "$regex", "$options", "_id", "a", "b", "a.b", "a.0", "a.$[]", "a.$[x]", "x",
      "x.b", "0", "a.$[].b", "a.$",
    ],
    bound: MemoryBound(factor: 200, base: 4_194_304)
  ) { input in
    guard let values = values(input, atLeast: 3),
      let document = try? BSONDocument(values[0])
    else { return }
    let query = try? Query(values[2])
    if let query {
      var budget = Budget()
      let match = try? query.match(document, &budget)
      if let match, let projection = try? Projection(values[1], of: query),
        let shown = try? projection.apply(to: document, position: match.position, &budget)
      {
        expectStorable(shown.json(.stored), "a projection")
      }
      if let made = try? query.insertion(&budget) {
        expectStorable(made.json(.stored), "an insertion")
      }
    }
    guard
      let update = try? Update(values[1], arrayFilters: JSONArray(Array(values.dropFirst(3))))
    else { return }
    for isInsertion in [false, true] {
      let limit = 65_536
      var budget = Budget(growth: limit)
      guard
        let outcome = try? update.apply(
          to: document, now: 1_700_000_000_500, isInsertion: isInsertion, &budget
        )
      else { continue }
      guard outcome.isModified else {
        expect(outcome.document == document, "a document that was not modified is another")
        continue
      }
      let stored = outcome.document.json(.stored)
      expectStorable(stored, "what was updated")
      let size = stored.serialized().count
      expect(size <= 8 * (input.count + limit), "the update made \(size) bytes of \(input.count)")
      guard let again = try? BSONDocument(stored) else {
        fatalError("what was updated is not read again: \(stored.text)")
      }
      // A document that has become a wrapper by an update has the wrapper's value.
      expect(again.json(.stored).text == stored.text, "what was updated is written as another")
    }
  }

  static let extendedJSON = FuzzTarget(
    "extended-json", isJSON: true, words: wrappers, bound: MemoryBound(factor: 200, base: 262_144)
  ) { input in
    let values = values(input, atLeast: 1)?.compactMap { try? BSON($0) } ?? []
    for value in values.prefix(4) {
      expect(value == value, "a value is not itself")
      for form in [ExtendedJSONForm.canonical, .relaxed, .stored] {
        let json = value.json(form)
        expectStorable(json, "a value")
        guard let again = try? BSON(json) else {
          fatalError("a value is not read again: \(json.text)")
        }
        // `{"$date": 5000000000}` is plain data, but its form for clients parses as a date.
        guard form == .stored || BSON.malformedWrapper(in: value.json(.stored)) == nil else {
          continue
        }
        expect(BSON.compare(again, value) == .same, "\(json.text) is read as another by value")
        expect(
          form != .stored || again == value, "\(json.text), which is stored, is read as another"
        )
        expect(
          hash(again) == hash(value), "\(json.text) is read as an equal value with another hash"
        )
      }
      for other in values.prefix(4) {
        let order = BSON.compare(value, other)
        expect(
          BSON.compare(other, value) == order.reversed, "an order depends on what is asked first"
        )
        expect(order != .same || hash(value) == hash(other), "equal values have two hashes")
      }
    }
  }

  private static func hash(_ value: BSON) -> Int { EqualityKey(value).hashValue }
}
