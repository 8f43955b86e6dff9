import Outbound
import Testing

@testable import Delivery

@Suite struct MailTemplateTests {
  private let from = MailAddress("dossier@example.com")
  private let to = MailAddress("ada@example.com")

  @Test func `values are inserted as they are`() throws {
    let template = try MailTemplate(
      subject: "{{app}}: confirm\n", text: "Hi {{ name }}, {{link}} {{name}}",
      names: ["app", "name", "link"]
    )
    let values = [
      "app": "R&D", "name": "<b>'A'</b> \"x\" {{link}}", "link": "https://e.com/?a=1&b=2",
    ]
    let message = try template.message(from: from, to: to, values: values)
    #expect(message.subject == "R&D: confirm")
    let name = "<b>'A'</b> \"x\" {{link}}"
    #expect(message.text == "Hi \(name), https://e.com/?a=1&b=2 \(name)")
  }

  @Test(arguments: ["A\r\nBcc: eve@example.com", "A\nB", "A\0B", "A\u{1b}B", "A\u{85}B"])
  func `values cannot break a subject`(_ value: String) throws {
    let template = try MailTemplate(subject: "Hi {{name}}", text: "x", names: ["name"])
    let message = try template.message(from: from, to: to, values: ["name": value])
    #expect(message.subject.hasPrefix("Hi A "))
    let composed = String(decoding: message.composed(), as: UTF8.self)
    #expect(!composed.contains("\nBcc:"))
  }

  @Test func `a long value does not make a subject too long`() throws {
    let template = try MailTemplate(subject: "Hi {{name}}", text: "x", names: ["name"])
    let name = "a" + String(repeating: "\u{301}", count: 5_000)
    let message = try template.message(from: from, to: to, values: ["name": name])
    #expect(message.subject.unicodeScalars.count == 103)
  }

  @Test func `unknown and unclosed placeholders are errors`() {
    #expect(throws: MailTemplateError.unknown("nmae", .text)) {
      try MailTemplate(subject: "{{name}}", text: "{{nmae}}", names: ["name"])
    }
    #expect(throws: MailTemplateError.unknown("", .text)) {
      try MailTemplate(subject: "s", text: "{{}}", names: ["name"])
    }
    #expect(throws: MailTemplateError.unclosed(.subject)) {
      try MailTemplate(subject: "{{name}", text: "t", names: ["name"])
    }
    #expect(throws: MailTemplateError.brokenSubject) {
      try MailTemplate(subject: "a\nb\n", text: "t", names: [])
    }
    #expect("\(MailTemplateError.unknown("nmae", .text))".contains("{{nmae}} in the text"))
  }

  @Test func `single braces are text, and a missing value is empty`() throws {
    let template = try MailTemplate(subject: "s", text: "{a} }} {{x}}.", names: ["x"])
    #expect(try template.message(from: from, to: to, values: [:]).text == "{a} }} .")
  }
}
