import ConsoleKit
import Runtime
import Testing

/// Tests the words for actions of events.
struct EventWordsTests {
  @Test func `each audit action has words of its own`() {
    #expect(Set(EventType.sources.keys).subtracting(EventWords.actions.keys).sorted() == [])
    #expect(Set(EventWords.actions.keys).subtracting(EventType.sources.keys).sorted() == [])
    #expect(EventWords.action("issuer_create") == "Issuer created")
    #expect(EventWords.action("connection_create") == "Connection created")
    #expect(EventWords.action("no_such_action") == "No such action")
  }

  @Test func `words lead back to one action or actor, in any case`() {
    for (code, words) in EventWords.actions {
      #expect(EventWords.code(ofAction: words.uppercased()) == code)
    }
    for (code, words) in EventWords.actors { #expect(EventWords.code(ofActor: words) == code) }
    #expect(EventWords.code(ofAction: "login") == nil)
    #expect(EventWords.code(ofAction: "") == nil)
    #expect(EventWords.code(ofActor: "operator") == nil)
  }
}
