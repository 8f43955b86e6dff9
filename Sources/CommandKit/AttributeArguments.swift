import ArgumentParser
import Encoding
package import JSON
package import Records

/// An argument `name=value`.
package struct NamedValue: ExpressibleByArgument {
  package let name: String
  package let value: String

  package init?(argument: String) {
    guard let sign = argument.firstIndex(of: "="), sign != argument.startIndex else { return nil }
    name = String(argument[..<sign])
    value = String(argument[argument.index(after: sign)...])
  }

  /// The value as JSON if it is JSON, else as text.
  package var json: JSON { (try? JSON.parse(Array(value.utf8))) ?? .string(value) }
}

/// The attributes of a record, or the settings of an app, as an operator types them.
extension RecordShape {
  package static let notation = """
    A value that is JSON of the attribute's type is taken as JSON, any other as text; @FILE is the \
    content of a file, and @- that of standard input. null resets an attribute. \
    attribute.member=value sets a member of an object, and null removes it.
    """

  /// Returns the merge patch of attributes.
  ///
  /// The API reports an unknown one together with the other errors.
  package func patch(of arguments: [NamedValue]) throws(CommandFailure) -> JSONObject {
    var patch = JSONObject()
    for argument in arguments {
      let column = column(named: argument.name)
      if column == nil, let dot = argument.name.firstIndex(of: "."),
        let outer = self.column(named: String(argument.name[..<dot])),
        case .object = outer.rule.kind
      {
        var object = patch[outer.name]?.object ?? JSONObject()
        let member = String(argument.name[argument.name.index(after: dot)...])
        object[member] = Self.member(of: argument)
        patch[outer.name] = .object(object)
      } else {
        let (name, value) = try value(of: argument, column)
        patch[name] = value
      }
    }
    return patch
  }

  /// Returns the value of a member of an object: JSON if it is an object or null, else text.
  private static func member(of argument: NamedValue) -> JSON {
    let json = argument.json
    return json == .null || json.object != nil ? json : .string(argument.value)
  }

  private func value(
    of argument: NamedValue, _ column: Column?
  ) throws(CommandFailure) -> (String, JSON) {
    let isSecret = column?.has(.secret) == true
    guard argument.value.hasPrefix("@") else {
      guard !isSecret || argument.value == "null" else {
        throw CommandFailure(
          "\(argument.name): other users see the arguments of a command. Give a file: "
            + "\(argument.name)=@FILE, or @- for standard input.", .usage)
      }
      return (argument.name, column?.rule.value(of: argument.value) ?? .string(argument.value))
    }
    let path = String(argument.value.dropFirst())
    if isSecret {
      let twin = "\(argument.name)_base64"
      guard self.column(named: twin) != nil else {
        return (argument.name, .string(try InputFile.password(path)))
      }
      return (twin, .string(try InputFile.secret(path).paddedBase64))
    }
    if case .object = column?.rule.kind { return (argument.name, try InputFile.json(path)) }
    return (argument.name, .string(String(decoding: try InputFile.read(path), as: UTF8.self)))
  }
}

extension [Column] {
  /// The columns with their descriptions.
  package var table: String {
    let width = map(\.name.count).max() ?? 0
    return map { column in
      let padding = String(repeating: " ", count: width - column.name.count)
      return "  \(column.name)\(padding)  \(column.meaning)"
    }.joined(separator: "\n")
  }
}

extension JSON {
  /// Returns some members of an object.
  package func brief(_ members: [String]) -> JSON {
    .object(JSONObject(members.compactMap { name in self[name].map { (name, $0) } }))
  }
}
