package import ConsolePages
import Encoding
import EventLoop
package import HTTP
import HostedPages
package import JSON
package import Pages
package import Records
import WireKit

/// A form whose fields are the columns of a record.
///
/// The field of a column shows its name, meaning and default, so a new column needs no line here.
package struct RecordForm {
  package let columns: [Column]
  /// Labels of columns that people know by another name.
  package var labels: [String: String]
  /// The parts of the form; columns of none stand in the last one, *Advanced*.
  package var groups: [Group]
  /// The values that a person ticks in a list column, by its name, each with its label.
  package var options: [String: [(value: String, label: String)]] = [:]

  package init(columns: [Column], labels: [String: String] = [:], groups: [Group] = []) {
    (self.columns, self.labels, self.groups) = (columns, labels, groups)
  }

  /// Fields that belong together.
  package struct Group {
    /// Nil for the first fields.
    package let title: String?
    package let columns: [String]
    /// Whether the page shows its title only, unless a field has a value of its own or an error.
    package let isClosed: Bool

    package init(_ title: String?, _ columns: [String], isClosed: Bool = false) {
      (self.title, self.columns, self.isClosed) = (title, columns, isClosed)
    }
  }

  /// Returns the fields in their groups, with the errors of a form.
  ///
  /// Parameters are as for `fields`.
  package func markup(_ values: JSONObject?, _ form: FormValues?, _ mistakes: [Mistake]) -> Markup {
    let fields = fields(values, form)
    guard !groups.isEmpty else { return fields.markup(mistakes) }
    let grouped = groups.flatMap(\.columns)
    let rest = columns.map(\.name).filter { !grouped.contains($0) }
    let parts = (groups + [Group("Advanced", rest, isClosed: true)]).map { group -> Markup in
      let own = group.columns.compactMap { name in fields.first { $0.name == name } }
      guard !own.isEmpty else { return "" }
      let markup = own.markup(mistakes)
      guard let title = group.title else { return markup }
      guard group.isClosed else { return Part.group(title, markup) }
      let isOpen = own.contains { field in
        mistakes.contains { $0.field == field.name } || isChosen(field)
      }
      return Part.group(title, isOpen: isOpen, markup)
    }
    return "\(parts)"
  }

  /// Returns whether a field shows another value than the default.
  private func isChosen(_ field: ConsoleField) -> Bool {
    guard let column = columns.first(where: { $0.name == field.name }) else { return false }
    if case .flag = column.rule.kind {
      return (field.value == "true") != (column.usual.bool == true)
    }
    return field.value != Self.text(of: column.usual, column.rule)
  }

  /// Returns the fields.
  ///
  /// - Parameters:
  ///   - values: the stored values; nil for a new record.
  ///   - form: the refused form, whose values are kept; nil without one.
  /// - Returns: the fields.
  package func fields(_ values: JSONObject?, _ form: FormValues?) -> [ConsoleField] {
    columns.map { column in
      let stored = values?[column.name] ?? (column.has(.required) ? .null : column.usual)
      let value = form.map { typed(column, $0) } ?? Self.text(of: stored, column.rule)
      let label = label(of: column)
      var field = ConsoleField(
        column.name, label,
        options[column.name].map { .ticks($0) } ?? Self.kind(of: column, isNew: values == nil),
        value: value, hint: hint(of: column))
      if label.lowercased() != column.name { field.code = column.name }
      return field
    }
  }

  /// Returns the names of the columns with their values, for those who may not change them.
  package func definitions(_ values: JSONObject?) -> Markup {
    Part.definitions(
      columns.map { column in
        let value = Self.text(of: values?[column.name] ?? .null, column.rule)
        return (
          label(of: column), "\(Part.name(value))<br><span>\(Part.identifier(column.name))</span>"
        )
      })
  }

  private func label(of column: Column) -> String {
    labels[column.name] ?? NameWords.label(column.name)
  }

  private func hint(of column: Column) -> Markup {
    var sentences = [column.meaning.prefix(1).uppercased() + column.meaning.dropFirst() + "."]
    if case .number(let range) = column.rule.kind {
      sentences.append("\(range.lowerBound) to \(range.upperBound).")
    }
    if case .texts = column.rule.kind, options[column.name] == nil {
      sentences.append("One on each line.")
    }
    if !column.has(.required), !column.has(.secret) {
      var usual = Self.text(of: column.usual, column.rule)
      if case .flag = column.rule.kind { usual = column.usual.bool == true ? "on" : "off" }
      if !usual.isEmpty, usual.utf8.count < 60, !usual.utf8.contains(UInt8(ascii: "\n")) {
        sentences.append("Default: \(usual).")
      }
    }
    return "\(sentences.joined(separator: " "))"
  }

  private static func kind(of column: Column, isNew: Bool) -> ConsoleField.Kind {
    if column.has(.secret) { return .password(isNew: true) }
    switch column.rule.kind {
    case .flag: return .checkbox
    case .number: return .number
    case .choice(let words):
      // Without a default, no word may look chosen.
      let isOpen = column.usual == .null || isNew && column.has(.required)
      let none = [("", column.has(.required) ? "Choose" : "Default")]
      return .choice((isOpen ? none : []) + words.map { ($0, NameWords.label($0)) })
    case .choices(let words): return .choices(words)
    case .text where column.name.hasSuffix("_color"): return .color
    case .text(let length):
      return length.upperBound > 1_000 && !column.name.hasSuffix("_url") ? .lines : .text
    case .texts, .members: return .lines
    case .object: return .json
    }
  }

  /// Returns a value as its field shows it.
  package static func text(of value: JSON, _ rule: ColumnRule) -> String {
    switch value {
    case .null: return ""
    case .string(let text): return text
    case .array(let items):
      let texts = items.map { $0.string ?? $0.text }
      if case .choices = rule.kind { return texts.joined(separator: " ") }
      return texts.joined(separator: "\n")
    default:
      if value.object?.count == 0 { return "" }
      return value.object == nil ? value.text : value.edited
    }
  }

  /// Returns the value of a form as its field shows it.
  private func typed(_ column: Column, _ form: FormValues) -> String {
    if let options = options[column.name] {
      let chosen = options.map(\.value).filter { form["\(column.name):\($0)"] != nil }
      return chosen.joined(separator: "\n")
    }
    if case .choices(let words) = column.rule.kind {
      return words.filter { form["\(column.name):\($0)"] != nil }.joined(separator: " ")
    }
    return (form[column.name] ?? "").replacing("\r\n", with: "\n")
  }

  /// Returns the values of a form that differ from the stored ones.
  ///
  /// - Parameters:
  ///   - form: the form.
  ///   - values: the stored values; nil for a new record.
  /// - Returns: a merge patch, and the errors of texts that are no values.
  package func patch(_ form: FormValues, _ values: JSONObject?) -> (JSONObject, [Mistake]) {
    var (patch, mistakes) = (JSONObject(), [Mistake]())
    for column in columns {
      let text = typed(column, form)
      if column.has(.secret) {
        if !text.isEmpty { patch[column.name] = .string(text) }
        continue
      }
      let stored = values?[column.name] ?? column.usual
      // Also a value with another spelling, such as 08, is not changed by a form that shows it.
      if values != nil, text == Self.text(of: stored, column.rule) { continue }
      let value: JSON
      switch column.rule.kind {
      case .flag: value = .bool(text == "true")
      case .text, .choice: value = text.isEmpty && isEmpty(column.usual) ? .null : .string(text)
      case .object:
        guard !text.isEmpty else {
          value = .null
          break
        }
        do throws(JSONError) {
          value = try JSON.parse(Array(text.utf8))
        } catch {
          mistakes.append(Mistake(error.text(in: text), field: column.name))
          continue
        }
      case .number, .choices, .texts, .members:
        value = text.isEmpty && !isList(column) ? .null : column.rule.value(of: text)
      }
      // A box that is not checked has no value in a form.
      if values != nil, value == stored { continue }
      // A new record takes the defaults itself.
      if values == nil, value == .null || !column.has(.required) && value == column.usual {
        continue
      }
      if let object = value.object, let old = stored.object {
        patch[column.name] = .object(Self.replacement(of: old, by: object))
      } else {
        patch[column.name] = value
      }
    }
    return (patch, mistakes)
  }

  /// Returns the stored values of the fields of a patch, for a record that someone else has changed.
  package func differences(of patch: JSONObject, from values: JSONObject?) -> [Mistake] {
    patch.keys.map { name in
      let rule = columns.first { $0.name == name }?.rule ?? ColumnRule(.object)
      return Mistake("Now it is “\(Self.text(of: values?[name] ?? .null, rule))”.", field: name)
    }
  }

  private func isEmpty(_ value: JSON) -> Bool { value == .null || value.string?.isEmpty == true }

  private func isList(_ column: Column) -> Bool {
    switch column.rule.kind {
    case .choices, .texts, .members: true
    default: false
    }
  }

  /// Returns the merge patch that makes an object equal to another.
  private static func replacement(of old: JSONObject, by new: JSONObject) -> JSONObject {
    var patch = new
    for name in old.keys where new[name] == nil { patch[name] = .null }
    return patch
  }
}

extension JSONError {
  /// Returns the rule that a text breaks, with line and column.
  package func text(in text: String) -> String {
    let before = text.utf8.prefix(offset)
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    let start = before.lastIndex(of: UInt8(ascii: "\n")).map { text.utf8.index(after: $0) }
    let column = text[(start ?? text.startIndex)..<before.endIndex].unicodeScalars.count + 1
    return "Line \(line), column \(column): \(detail)"
  }
}
