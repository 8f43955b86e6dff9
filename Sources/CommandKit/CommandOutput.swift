package import JSON

/// The result of a command.
package struct CommandOutput: Sendable {
  private let value: JSON
  /// Text that is printed unchanged in any format.
  private var verbatim: String?
  /// The columns of a list, or nil for all members.
  private let columns: [String]?
  /// The part of the value for people, for instance the changed ones of many settings.
  private let brief: JSON?
  /// A line on standard error, in addition to the result.
  package var remark: String?
  /// The exit status of the process.
  package let status: ExitStatus

  /// Creates an output; null prints nothing.
  package init(
    _ value: JSON, columns: [String]? = nil, brief: JSON? = nil, remark: String? = nil,
    status: ExitStatus = .success
  ) {
    self.status = status
    self.value = value
    self.columns = columns
    self.brief = brief
    self.remark = remark
  }

  /// Creates an output that is printed unchanged.
  package init(text: [UInt8]) {
    self.init(.null)
    let text = String(decoding: text, as: UTF8.self)
    verbatim = text.hasSuffix("\n") ? text : text + "\n"
  }

  /// Returns the JSON itself, or a table for people.
  package func text(asJSON: Bool) -> String {
    if let verbatim { return verbatim }
    if value == .null { return "" }
    return asJSON ? value.text + "\n" : Table.text(brief ?? value, columns: columns)
  }
}
