import JSON
import Operators
import Testing

@Suite struct InsertionTests {
  /// - Source: `upsert_fields.js` in MongoDB's tests.
  @Test(arguments: [
    (#"{"x":1}"#, #"{"a":1}"#), (#"{"x":{"$all":[1,2]}}"#, #"{"a":1}"#),
    (#"{"$and":[{"x":1},{"x":1}]}"#, #"{"a":1}"#),
    (#"{"$and":[{"x":{"$eq":1}},{"x":2}]}"#, #"{"a":1}"#),
    (#"{"x.x":1}"#, #"{"a":1}"#), (#"{"x":{"x.x":1}}"#, #"{"a":1}"#),
    (#"{"x":1,"x.x":1}"#, #"{"a":1}"#), (#"{"x":{},"x.x":1}"#, #"{"a":1}"#),
    (#"{"x":{"x":1},"x.y":1}"#, #"{"a":1}"#), (#"{"x":[1,{"x":1}],"x.x":1}"#, #"{"a":1}"#),
    (#"{"_id":1,"x":[1,{"x":1}],"x.x":1}"#, #"{"a":1,"_id":1}"#),
    (#"{"_id":{"$all":[1]}}"#, #"{"a":1,"_id":1}"#), (#"{"$or":[{"_id":1}]}"#, #"{"a":1,"_id":1}"#),
    (#"{"_id":{"$in":[1,2]}}"#, #"{"a":1}"#), (#"{"_id":{"$gt":1}}"#, #"{"a":1}"#),
  ])
  func `an upsert with a replacement takes only the id from the query`(
    query: String, document: String
  ) throws {
    var budget = Budget()
    let update = try Update(json(#"{"a":1}"#))
    let made = try update.insertion(for: Query(json(query)), now: now, &budget)
    #expect(made.json(.stored).text == document)
  }

  @Test(arguments: [
    (#"{"_id.x":1,"_id.y":2}"#, #"{"a":1}"#, 111), (#"{"_id":1,"_id.x":1}"#, #"{"a":1}"#, 111),
    (#"{"$and":[{"_id":1},{"_id":2}]}"#, #"{"a":1}"#, 54),
    (#"{"_id":{"$all":[1,2]}}"#, #"{"a":1}"#, 54), (#"{"_id":[1,2]}"#, #"{"a":1}"#, 53),
    (#"{"_id":1}"#, #"{"_id":2}"#, 66),
  ])
  func `an upsert with a replacement needs one whole id`(
    query: String, replacement: String, code: Int
  ) throws {
    let (query, update) = (try Query(json(query)), try Update(json(replacement)))
    let error = #expect(throws: OperatorError.self) {
      var budget = Budget()
      _ = try update.insertion(for: query, now: now, &budget)
    }
    #expect(error?.code.rawValue == code)
  }
}
