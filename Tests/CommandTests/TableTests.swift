import JSON
import Testing

@testable import CommandKit
@testable import dossier

/// The output of commands.
@Suite struct TableTests {
  private func table(_ text: String, _ columns: [String]? = nil) throws -> String {
    Table.text(try JSON.parse(Array(text.utf8)), columns: columns)
  }

  @Test func `a list has a header line and a line for each item`() throws {
    let text = #"[{"id":"1","name":"one"},{"id":"22","name":null}]"#
    #expect(try table(text) == "id  name\n1   one\n22  -\n")
  }

  @Test func `a list shows the columns of its command, in their order`() throws {
    let text = #"[{"id":"1","hosts":["a","b"],"version":3},{"id":"2","hosts":[],"version":10}]"#
    let expected = "version  hosts  none\n3        a b    -\n10       -      -\n"
    #expect(try table(text, ["version", "hosts", "none"]) == expected)
  }

  @Test func `an empty list prints nothing`() throws {
    #expect(try table("[]", ["id"]) == "")
    #expect(CommandOutput([]).text(asJSON: true) == "[]\n")
  }

  @Test func `an object has a line for each member, and its lists follow`() throws {
    let text = #"{"name":"a","settings":{"days":3,"open":true},"list":[{"x":1.50}]}"#
    #expect(
      try table(text)
        == "name           a\nsettings.days  3\nsettings.open  true\n\nlist\nx\n1.50\n"
    )
  }

  @Test func `no text of a user controls the terminal`() throws {
    let text = #"[{"name":"a\u001b[31mb\nc\u202ed\u2028"}]"#
    #expect(try table(text) == "name\na\u{fffd}[31mb⏎c\u{fffd}d\u{fffd}\n")
  }

  @Test func `JSON is printed as it is, and no content as nothing`() throws {
    let value = try JSON.parse(Array(#"{"b":1.0,"a":"ü"}"#.utf8))
    #expect(CommandOutput(value).text(asJSON: true) == "{\"b\":1.0,\"a\":\"ü\"}\n")
    #expect(CommandOutput(.null).text(asJSON: true) == "")
    #expect(CommandOutput(.null).text(asJSON: false) == "")
    #expect(CommandOutput(text: Array("{ }".utf8)).text(asJSON: false) == "{ }\n")
  }
}
