import JSON
import Testing

@testable import Operators

/// Tests the memory that a document and an update take.
@Suite struct SizeTests {
  @Test func `a value takes at most 24 bytes, and a field 40`() {
    #expect(MemoryLayout<BSON>.stride <= 24)
    #expect(MemoryLayout<BSONDocument.Field>.stride <= 40)
    #expect(MemoryLayout<EqualityKey>.stride <= 24)
  }

  /// Only the containers on the path to a change become lists.
  @Test(arguments: [
    #"{"$set":{"x":1}}"#, #"{"$inc":{"b.n":1}}"#, #"{"$push":{"b.c":{"$each":[1,2],"$sort":-1}}}"#,
    #"{"$unset":{"b":1}}"#, #"{"$rename":{"b.n":"m"}}"#,
  ])
  func `unchanged parts of a document stay as parsed`(update: String) throws {
    let text = #"{"a":[[1,{"k":[2]}],{"$oid":"0123456789abcdef01234567"}],"b":{"c":[3],"n":1}}"#
    let outcome = try Update(json(update)).apply(to: document(text), now: now)
    #expect(outcome.isModified)
    #expect(outcome.document["a"]?.array?.source != nil)
  }

  @Test func `inserted values stay as parsed`() throws {
    let update = try Update(json(#"{"$set":{"a":[[{"b":0,"a":[1]}]]}}"#))
    let outcome = try update.apply(to: document("{}"), now: now)
    #expect(outcome.document["a"]?.array?.source != nil)
    #expect(outcome.document.json(.stored).text == #"{"a":[[{"a":[1],"b":0}]]}"#)
  }
}
