import Documents
import JSON
import Pages
import TestSupport
import Testing

@testable import ConsolePages

@Suite struct ConsoleTests {
  private func json(_ text: String) -> JSON { (try? JSON.parse(Array(text.utf8))) ?? .null }

  @Test func `a difference has the lines that were removed and added`() {
    #expect(
      Difference(from: "a\nb\nc", to: "a\nx\ny\nc").lines == [
        .same("a"), .removed("b"), .added("x"), .added("y"), .same("c"),
      ])
    #expect(Difference(from: "a\nb", to: "a\nb").isEmpty)
    #expect(Difference(from: "", to: "a").lines == [.removed(""), .added("a")])
    #expect(Difference(from: "a\nb\na\nb", to: "b\na").lines.contains(.same("b")))
  }

  @Test func `a long difference is made without comparing each pair of lines`() {
    let old = (0..<5_000).map { "a\($0)" }.joined(separator: "\n")
    let new = (0..<5_000).map { "b\($0)" }.joined(separator: "\n")
    #expect(Difference(from: "x\n\(old)\ny", to: "x\n\(new)\ny").lines.count == 10_002)
  }

  @Test func `changes of different members are merged`() {
    let merge = DocumentMerge(
      base: json(#"{"a":1,"b":{"c":1,"d":2},"gone":1,"list":[1]}"#),
      theirs: json(#"{"a":2,"b":{"c":1,"d":3},"gone":1,"list":[1],"new":1}"#),
      mine: json(#"{"a":1,"b":{"c":4,"d":2},"list":[1,2]}"#))
    #expect(merge.conflicts.isEmpty)
    #expect(merge.merged == json(#"{"a":2,"b":{"c":4,"d":3},"list":[1,2],"new":1}"#))
  }

  @Test func `a member that both have changed keeps the own value and is named`() {
    let merge = DocumentMerge(
      base: json(#"{"a":1,"b":{"c/d":1},"e":1}"#), theirs: json(#"{"a":2,"b":{"c/d":2}}"#),
      mine: json(#"{"a":3,"b":{"c/d":3},"e":4}"#))
    #expect(merge.merged == json(#"{"a":3,"b":{"c/d":3},"e":4}"#))
    #expect(merge.conflicts == ["/a", "/b/c~1d", "/e"])
    let same = DocumentMerge(base: json("{}"), theirs: json(#"{"a":1}"#), mine: json(#"{"a":1}"#))
    #expect(same.conflicts.isEmpty)
  }

  @Test func `an own deletion of a member that they have changed is a conflict`() {
    let merge = DocumentMerge(base: json(#"{"a":1}"#), theirs: json(#"{"a":2}"#), mine: json("{}"))
    #expect(merge.merged == json("{}"))
    #expect(merge.conflicts == ["/a"])
  }

  @Test func `texts of users are escaped and cannot turn the text around them`() {
    #expect(Part.name("<b>\u{202e}x\u{0}").html == "<bdi>&lt;b&gt;\u{fffd}x\u{fffd}</bdi>")
    #expect(Part.address("a@b@c").html == "<bdi>a@b@<wbr>c</bdi>")
    var field = ConsoleField("text", "Text", .json, value: "</textarea><script>")
    field.mistake = "<i>"
    #expect(!field.markup.html.contains("<script>"))
    #expect(!field.markup.html.contains("<i>"))
    let password = ConsoleField("password", "Password", .password(isNew: false), value: "secret")
    #expect(!password.markup.html.contains("secret"))
  }

  @Test func `times in a sentence are shown as times, and the rest as text`() {
    #expect(
      Part.sentence("<b> since 2026-11-30T09:42:35.123456+00:00, 2026-11-30T09:42:35Z.").html
        == "<bdi>&lt;b&gt; since <time datetime=\"2026-11-30T09:42:35.123456+00:00\">2026-11-30 09:42</time>, "
        + "<time datetime=\"2026-11-30T09:42:35Z\">2026-11-30 09:42</time>.</bdi>")
    #expect(Part.sentence("2026-11-30 \u{202e}").html == "<bdi>2026-11-30 \u{fffd}</bdi>")
  }

  @Test func `a field has suggestions, which are escaped`() {
    var field = ConsoleField("action", "Action")
    #expect(!field.markup.html.contains("datalist"))
    field.suggestions = ["a\"b"]
    #expect(field.markup.html.contains(#"list="action-list""#))
    #expect(
      field.markup.html.contains(
        #"<datalist id="action-list"><option value="a&quot;b"></datalist>"#))
  }

  @Test
  func `the error of a rule names its field in the summary, and a missing value in plain words`() {
    let missing = Mistake.rule("missing", "This member is required.", field: "logo_url")
    #expect(missing.label == "Logo URL" && missing.text == "Enter a value.")
    let other = Mistake.rule("color", "No color.", field: "brand_color")
    #expect(other.label == "Brand color" && other.text == "No color.")
    #expect(Mistake("Enter a key.", field: "key").label == nil)
  }

  @Test func `paths of the console escape their segments`() {
    #expect(
      LocalPath.console("a/b", "?x", query: [("q", "a&b"), ("none", "")]).text
        == "/console/a%2Fb/%3Fx?q=a%26b")
  }

  @Test func `the stylesheet and the script keep their budgets`() {
    #expect(ConsoleAssets.stylesheet.text.utf8.count <= 27 * 1_024)
    #expect(ConsoleAssets.script.utf8.count <= 12_000)
  }

  @Test func `an editor shows a document with one member in each line`() {
    #expect(
      json(#"{"a":{"b":[]},"c":[1,{}]}"#).edited == """
        {
          "a": {
            "b": []
          },
          "c": [
            1,
            {}
          ]
        }
        """)
    #expect(json("[\"a\u{202e}b\u{200f}\"]").edited == "[\n  \"a\\u202eb\\u200f\"\n]")
  }
}
