import Declarations
import Documents
import HTTP
import JSON
import Runtime
import WireKit

/// The chapter of errors, and the page of each.
extension ReferencePage {
  static func errors() -> ReferencePage {
    var introduction = Markup()
    introduction.add(
      "<p>",
      prose:
        "An error is a problem of RFC 9457. Decide by its `code`, which is stable. `type` is the "
        + "address of the page below. With `Retry-After`, repeat the request after that time.",
      "</p>"
    )
    var example = Markup()
    example.addProblem(Failure.versionConflict.type)
    return ReferencePage(
      slug: "errors",
      title: "Errors",
      summary: "All codes of errors by status, each with its cause and remedy.",
      words: "problems failures status codes",
      example: example.html,
      introduction: introduction.html,
      sections: statuses().map { status, types in
        ReferenceSection(
          id: "status-\(status.code)", title: "\(status.code) \(status.reason)",
          detail: "The errors with this status.", rows: types.map(row)
        )
      }
    )
  }

  /// Returns the page of one kind of error.
  static func problem(_ type: ErrorType, in chapters: [Chapter]) -> ReferencePage {
    var text = Markup()
    text.add("<p class=\"route\"><b>\(type.status.code)</b> ", text: type.status.reason, "</p>")
    text.add("<h2>What to do</h2><p>", prose: type.remedy, "</p><h2>Routes</h2>")
    if type.isCommon {
      text.add("<p>Every route may return it.</p>")
    } else {
      text.add("<ul class=\"index\">")
      for chapter in chapters {
        for operation in chapter.operations where operation.problems.contains(type) {
          let place = ReferenceAudience.all.link(slug(chapter.title), operation.id)
          text.add("<li><a href=\"\(place)\">", text: operation.route.summary, "</a> ")
          text.add("<code>", text: operation.route.name, "</code></li>")
        }
      }
      text.add("</ul>")
    }
    var example = Markup()
    example.addProblem(type)
    return ReferencePage(
      slug: "errors", title: type.code, summary: type.title, example: example.html,
      introduction: text.html
    )
  }

  private static func statuses() -> [(Status, [ErrorType])] {
    let groups = Dictionary(grouping: RESTWire.problems, by: \.status.code)
    return groups.sorted { $0.key < $1.key }.compactMap { _, types in
      types.first.map { ($0.status, types) }
    }
  }

  private static func row(_ type: ErrorType) -> ReferenceRow {
    var row = Markup()
    row.add("<li id=\"\(type.code)\"><a href=\"/problems/\(type.code)\">")
    row.add("<code class=\"name\">\(type.code)</code></a>")
    if type.isCommon { row.add(" <span class=\"kind\">on any route</span>") }
    row.add("<p>", prose: type.title, "</p></li>")
    return ReferenceRow(
      id: type.code, title: type.code, detail: type.title, markup: row.html,
      address: "/problems/\(type.code)"
    )
  }
}

extension Markup {
  /// Appends the body of an error as an example.
  fileprivate mutating func addProblem(_ type: ErrorType) {
    add(
      "Response \(type.status.code) \(type.status.reason)",
      example: Problem(Failure(type)).json(of: nil).lines()
    )
  }
}
