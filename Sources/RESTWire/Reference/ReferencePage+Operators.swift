import Operators

/// The operators of updates and filters.
extension ReferencePage {
  static func operators() -> ReferencePage {
    var introduction = Markup()
    introduction.add(
      "<p>",
      prose: "Paths are names and indexes with dots between them. In an update, `$` is the element "
        + "that the filter found, and `$[]` is every element. `$[name]` is every element that "
        + "matches an array filter.",
      "</p>"
    )
    var example = Markup()
    example.add(
      "Body of an update",
      example: #"""
        {"filter": {"level": {"$gte": 7}},
         "update": {"$inc": {"level": 1},
                    "$push": {"items": "rope"}}}
        """#
    )
    var differences = Markup()
    differences.add("<ul>")
    for difference in OperatorLanguage.differences {
      differences.add("<li>", text: difference, "</li>")
    }
    differences.add("</ul><p class=\"withheld\">Refused by name: ")
    differences.add("", text: QueryOperator.withheld.joined(separator: " "), "</p>")
    return ReferencePage(
      slug: "operators",
      title: "Update and filter operators",
      summary: "The operators of MongoDB that updates and filters may use.",
      words: "query",
      example: example.html,
      introduction: introduction.html,
      sections: [
        ReferenceSection(
          id: "update-operators",
          title: "Update operators",
          detail: "The operators of update in a change of custom data.",
          prose: "<p>In <code>update</code>, each operator has an object of paths.</p>",
          rows: UpdateOperator.allCases.map { row($0.rawValue, $0.says, "update-") }
        ),
        ReferenceSection(
          id: "filter-operators",
          title: "Filter operators",
          detail: "The operators of filter and array_filters.",
          prose: "<p>For <code>filter</code> and <code>array_filters</code>.</p>",
          rows: QueryOperator.allCases.map { row($0.rawValue, $0.says, "filter-") }
        ),
        ReferenceSection(
          id: "differences", title: "Differences from MongoDB",
          detail: "For apps that come from MongoDB.", prose: differences.html
        ),
      ]
    )
  }

  private static func row(_ name: String, _ says: String, _ prefix: String) -> ReferenceRow {
    let id = prefix + name.filter { $0 != "$" }
    var row = Markup()
    row.add("<li id=\"\(id)\"><code class=\"name\">", text: name, "</code>")
    row.add("<p>", prose: TypeMarkup.sentence(says), "</p></li>")
    return ReferenceRow(id: id, title: name, detail: TypeMarkup.sentence(says), markup: row.html)
  }
}
