import JSON
package import Records

/// The shapes of a record, which follow from its columns.
extension Record {
  /// The record in a response.
  package static var shape: Shape {
    Shape.object(members: members, optional: further).named(words.type, words.meaning)
  }

  /// The record in the response to its creation, which has a secret that the server made.
  package static var made: Shape {
    guard let shownOnce else { return shape }
    let secret = Shape.text.saying(shownOnce).like(.string(Example.secretOfClient))
    return Shape.object(members: members, optional: [(key: "secret", value: secret)] + further)
      .named("\(words.type)WithSecret", "\(words.meaning) With its new secret.")
  }

  /// The members that only some responses have.
  private static var further: [(key: String, value: Shape)] {
    extras.map { extra in
      let shape =
        switch extra.kind {
        case .time: Shape.time(Example.appMade)
        case .seconds: Shape.count.like(0)
        }
      return (key: extra.name, value: shape.saying(extra.meaning))
    }
  }

  private static var members: [(key: String, value: Shape)] {
    var members: [(key: String, value: Shape)] = []
    if table.hasID { members.append((key: "id", value: .parameter(words.parameter))) }
    if words.app != .nothing {
      members.append((key: "app", value: words.app == .memberOrNull ? .slug.orNull : .slug))
    }
    for column in table.shape.columns
    where !column.has(.secret) && !(table.hasID && column.name == table.keyName) {
      members.append((key: column.name, value: shown(column)))
    }
    for member in derived {
      members.append(
        (key: member.name, value: described(member.rule, member.name, member.meaning)))
    }
    return members + [
      (key: "version", value: .count.like(1)), (key: "created_at", value: .time(Example.appMade)),
    ]
  }

  /// The body that creates a record.
  package static var description: Shape {
    var required = appOfNew.map { [(key: "app", value: $0)] } ?? []
    var optional: [(key: String, value: Shape)] = []
    var example = JSONObject(required.isEmpty ? [] : [("app", "default")])
    for column in table.shape.columns {
      let member = (key: column.name, value: taken(column))
      if column.has(.required) { required.append(member) } else { optional.append(member) }
    }
    for column in table.shape.columns {
      if let value = column.example { example[column.name] = value }
    }
    return Shape.object(members: required, optional: optional, isClosed: true)
      .named("\(words.type)Description", "The attributes of a new record: \(words.meaning)")
      .like(.object(example))
  }

  /// The member `app` of a new record; nil if none names the app.
  private static var appOfNew: Shape? {
    switch words.app {
    case .member: .slug
    case .memberOrNull: .slug.orNull.saying("null makes it one of the operator, for all apps")
    case .selection, .nothing: nil
    }
  }

  /// The merge patch that changes a record.
  package static var patch: Shape {
    let columns = table.shape.columns.filter { !$0.has(.immutable) }
    var example = JSONObject()
    for column in columns {
      if example.count == 0, let value = column.example { example[column.name] = value }
    }
    return Shape.object(
      optional: columns.map {
        (
          key: $0.name,
          value: $0.has(.required) ? taken($0) : taken($0).orNull.saying($0.meaning)
        )
      }, isClosed: true
    )
    .named("\(words.type)Patch", "A merge patch; null resets a member to its default.")
    .like(.object(example))
  }
}

extension Record {
  /// Returns the shape of a column in a response.
  private static func shown(_ column: Column) -> Shape {
    column.usual == .null ? taken(column).orNull.saying(column.meaning) : taken(column)
  }

  /// Returns the shape of a column in a request.
  private static func taken(_ column: Column) -> Shape {
    let shape = described(column.rule, column.name, column.meaning)
    let example = column.example ?? (column.has(.required) ? .null : column.usual)
    return example == .null ? shape : shape.like(example)
  }

  /// Returns the shape of an attribute.
  ///
  /// Client generators make a type of each shape of words or members, so these have names.
  private static func described(
    _ rule: ColumnRule, _ attribute: String, _ meaning: String
  ) -> Shape {
    let shape = Shape.value(of: rule).saying(meaning)
    return switch rule.kind {
    case .choice, .object: shape.named(name(of: attribute), meaning)
    case .texts: shape.like([])
    case .flag: shape.like(true)
    default: shape
    }
  }

  /// Returns the name of the type of an attribute, such as `ResourceServerTokenDialect`.
  private static func name(of attribute: String) -> String {
    attribute.split(separator: "_").reduce(words.type) {
      $0 + $1.prefix(1).uppercased() + $1.dropFirst()
    }
  }
}

extension Shape {
  /// Returns the shape of the values that a rule allows.
  package static func value(of rule: ColumnRule) -> Shape {
    switch rule.kind {
    case .flag: .flag
    case .number(let range): .integer(range)
    case .choice(let choices): .choice(choices)
    case .choices(let choices): .list(of: .choice(choices), atMost: choices.count)
    case .text(let length): .text(length)
    case .texts(let limit): .list(of: .text, atMost: limit)
    case .members: .any
    case .object: .map(of: .any)
    }
  }
}
