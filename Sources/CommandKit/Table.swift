import Encoding
package import JSON

/// Formats JSON as columns of text.
package enum Table {
  /// Returns a list of objects as a table, or an object with one line per member.
  ///
  /// The lists of an object follow its lines.
  package static func text(_ value: JSON, columns: [String]? = nil) -> String {
    if let rows = value.array { return list(rows, columns) }
    guard let object = value.object else { return "" }
    var lines: [[String]] = []
    var lists = ""
    for (name, member) in object {
      if let inner = member.object, inner.count > 0 {
        lines += inner.map { ["\(name).\($0.key)", cell($0.value)] }
      } else if let rows = member.array, rows.contains(where: { $0.object != nil }) {
        lists += "\n\(name)\n" + list(rows, nil)
      } else {
        lines.append([name, cell(member)])
      }
    }
    return aligned(lines) + lists
  }

  private static func list(_ rows: JSONArray, _ columns: [String]?) -> String {
    let columns = columns ?? rows.first?.object?.keys ?? []
    guard !rows.isEmpty else { return "" }
    return aligned([columns] + rows.map { row in columns.map { cell(row[$0] ?? .null) } })
  }

  private static func cell(_ value: JSON) -> String {
    switch value {
    case .null: "-"
    case .string(let text): visible(text)
    case .number(let number): number.text
    case .bool(let flag): flag ? "true" : "false"
    case .array(let elements) where elements.allSatisfy({ $0.string != nil }):
      elements.isEmpty ? "-" : elements.map(cell).joined(separator: " ")
    case .array, .object: visible(value.text)
    }
  }

  /// Returns the text with control characters replaced, since some of it comes from users.
  package static func visible(_ text: String) -> String {
    let scalars = text.unicodeScalars.map { scalar -> Unicode.Scalar in
      if scalar == "\n" { return "⏎" }
      return scalar.isPrinted ? scalar : "\u{fffd}"
    }
    return String(String.UnicodeScalarView(scalars))
  }

  private static func aligned(_ rows: [[String]]) -> String {
    let count = rows.first?.count ?? 0
    let widths = (0..<count).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        line += cell
        if column < count - 1 {
          line += String(repeating: " ", count: widths[column] - cell.count + 2)
        }
      }
      return line + "\n"
    }.joined()
  }
}
