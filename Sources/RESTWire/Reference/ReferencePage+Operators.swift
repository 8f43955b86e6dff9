import Operators

/// The operators of updates and filters.
extension ReferencePage {
  mutating func addOperators() {
    add("<h2 id=\"operators\">Operators</h2>")
    add("<p>Operators for <code>update</code> in <code>POST …/custom-data/update</code>:</p>")
    add(UpdateOperator.allCases.map { ($0.rawValue, $0.says) })
    add(
      "<p>Paths are names and indexes with dots between them; <code>$</code> is the element that "
    )
    add("the filter found, <code>$[]</code> all, <code>$[name]</code> those that an array filter ")
    add("fits. In <code>filter</code> and <code>array_filters</code>:</p>")
    add(QueryOperator.allCases.map { ($0.rawValue, $0.says) })
    add("<p>Refused by name: ", text: QueryOperator.withheld.joined(separator: " "), "</p>")
    add("<p>Differences from MongoDB:</p><ul>")
    for difference in OperatorLanguage.differences { add("<li>", text: difference, "</li>") }
    add("</ul>")
  }

  private mutating func add(_ operators: [(name: String, says: String)]) {
    add("<table><tr><th>operator</th><th>meaning</th></tr>")
    for (name, says) in operators {
      add("<tr id=\"\(Self.anchor(ofOperator: name))\"><td><code>", text: name, "</code></td>")
      add("<td>", text: says, "</td></tr>")
    }
    add("</table>")
  }
}
