import ArgumentParser
import HTTP
import JSON
import Records
import Tenancy
import Encoding

/// The commands of a record: `create`, `list`, `show`, `set` and `delete`.
///
/// All follow from its declaration; the first required column is the first argument.
struct RecordCommand<R: CommandRecord>: ParsableCommand {
  static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: R.words.command, abstract: R.words.meaning,
      subcommands: verbs + R.furtherCommands)
  }

  private static var verbs: [any ParsableCommand.Type] {
    [Create<R>.self, List<R>.self, Show<R>.self, Set<R>.self, Delete<R>.self]
  }
}

/// A record with commands, and what these do beyond its declaration.
protocol CommandRecord: OwnedRecord {
  static var furtherCommands: [any ParsableCommand.Type] { get }
  /// The lists below its path that `show` adds, such as `permissions`.
  static var lists: [String] { get }
}

extension CommandRecord {
  static var furtherCommands: [any ParsableCommand.Type] { [] }
  static var lists: [String] { [] }
}

extension ResourceServerRecord: CommandRecord {}
extension IssuerRecord: CommandRecord {}

extension RecordCommand {
  struct Create<Of: CommandRecord>: ParsableCommand {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "create", abstract: "Creates \(Of.article) \(Of.words.one).",
        discussion: """
          \(RecordArguments<Of>.notation)

          Attributes:
          \(Of.table.shape.columns.table)
          """, aliases: ["add"])
    }
    @OptionGroup var options: AppOptions

    @Argument(help: ArgumentHelp(stringLiteral: "\(RecordArguments<Of>.first.meaning)."))
    var name: String

    @Argument(help: ArgumentHelp("Attributes.", valueName: "attribute=value"))
    var attributes: [NamedValue] = []

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        var body = try RecordArguments<Of>.patch(of: attributes)
        body[RecordArguments<Of>.first.name] = .string(name)
        if !Of.words.isOfNamedApp { body["app"] = .string(options.app ?? context.defaultApp) }
        let made = try await context.send(
          .post, Of.words.path, .json(.object(body)), to: Of.words.isOfNamedApp ? options.app : nil)
        return CommandOutput(made)
      }
    }
  }

  struct List<Of: CommandRecord>: ParsableCommand {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "list",
        abstract: "Lists the \(Of.words.many) of \(Of.words.isOfNamedApp ? "" : "all apps, or of ")"
          + "an app.")
    }
    @OptionGroup var options: AppOptions

    func run() throws {
      let required = Of.table.shape.columns.filter { $0.has(.required) }.map(\.name)
      let key = required.contains(Of.table.keyName) ? [] : ["id"]
      let columns = key + ["app"] + required + Of.derived.map(\.name) + ["created_at"]
      if Of.words.isOfNamedApp {
        options.send(.get, Of.words.path, columns: columns)
      } else {
        let query = options.app.map { "?app=\(segment($0))" } ?? ""
        options.common.send(.get, Of.words.path + query, columns: columns)
      }
    }
  }

  struct Show<Of: CommandRecord>: ParsableCommand {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "show",
        abstract: "Shows \(Of.article) \(Of.words.one)"
          + Of.lists.map { " with its \($0)" }.joined() + ".")
    }
    @OptionGroup var record: RecordArgument<Of>

    func run() throws {
      let (path, app) = (record.path, record.options.app)
      record.options.common.run { context async throws(CommandFailure) in
        var shown = try await context.send(.get, path, to: app).object ?? JSONObject()
        for list in Of.lists {
          shown[list] = try await context.send(.get, "\(path)/\(list)", to: app)
        }
        return CommandOutput(.object(shown))
      }
    }
  }

  struct Set<Of: CommandRecord>: ParsableCommand {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "set", abstract: "Changes attributes of \(Of.article) \(Of.words.one).",
        discussion: """
          \(RecordArguments<Of>.notation) The command changes all attributes or none, and prints \
          those; with --json, all.

          Attributes:
          \(Of.table.shape.columns.filter { !$0.has(.immutable) }.table)
          """)
    }
    @OptionGroup var record: RecordArgument<Of>

    @Option(help: "Changes nothing unless the stored version is this one.")
    var ifVersion: Int?

    @Argument(help: ArgumentHelp("Attributes.", valueName: "attribute=value"))
    var attributes: [NamedValue]

    func run() throws {
      record.options.common.run { context async throws(CommandFailure) in
        let patch = try RecordArguments<Of>.patch(of: attributes)
        let changed = try await context.send(
          .patch, record.path, .mergePatch(.object(patch)), to: record.options.app,
          ifVersion: ifVersion)
        var brief = JSONObject()
        for name in ["id", RecordArguments<Of>.first.name, "version"] + patch.keys {
          brief[name] = changed[name]
        }
        return CommandOutput(changed, brief: .object(brief))
      }
    }
  }

  struct Delete<Of: CommandRecord>: ParsableCommand {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "delete", abstract: "Deletes \(Of.article) \(Of.words.one).",
        discussion: Of.words.consequence, aliases: ["remove"])
    }
    @OptionGroup var record: RecordArgument<Of>
    @OptionGroup var consent: Consent

    func run() throws {
      let question = "Delete the \(Of.words.one) \(record.key)? \(Of.words.consequence)"
      record.options.send(.delete, record.path, asking: consent, question)
    }
  }
}

/// The argument that names a record.
struct RecordArgument<R: CommandRecord>: ParsableArguments {
  @OptionGroup var options: AppOptions

  @Argument(
    help: ArgumentHelp(
      R.table.shape.column(named: R.table.keyName).map { "\($0.meaning)." } ?? "Its id."))
  var key: String

  var path: String { "\(R.words.path)/\(segment(key))" }
}

extension OwnedRecord {
  /// `a` or `an`, as its name sounds.
  fileprivate static var article: String {
    words.one.first.map { "aeioAEIO".contains($0) } == true ? "an" : "a"
  }
}

/// The attributes of a record as an operator types them.
enum RecordArguments<R: OwnedRecord> {
  /// The column that the first argument of `create` has.
  static var first: Column {
    R.table.shape.columns.first { $0.has(.required) } ?? R.table.shape.columns[0]
  }

  static var notation: String {
    """
    A value that is JSON of the attribute's type is taken as JSON, any other as text; @FILE is the \
    content of a file, and @- that of standard input. null resets an attribute. \
    attribute.member=value sets a member of an object, and null removes it.
    """
  }

  /// Returns the merge patch of attributes.
  ///
  /// The API reports an unknown one together with the other errors.
  static func patch(of arguments: [NamedValue]) throws(CommandFailure) -> JSONObject {
    var patch = JSONObject()
    for argument in arguments {
      let column = R.table.shape.column(named: argument.name)
      if column == nil, let dot = argument.name.firstIndex(of: "."),
        let outer = R.table.shape.column(named: String(argument.name[..<dot])),
        case .object = outer.rule.kind
      {
        var object = patch[outer.name]?.object ?? JSONObject()
        let member = String(argument.name[argument.name.index(after: dot)...])
        object[member] = try Self.member(of: argument)
        patch[outer.name] = .object(object)
      } else {
        let (name, value) = try Self.value(of: argument, column)
        patch[name] = value
      }
    }
    return patch
  }

  /// Returns the value of a member of an object: JSON if it is an object or null, else text.
  private static func member(of argument: NamedValue) throws(CommandFailure) -> JSON {
    let json = argument.json
    return json == .null || json.object != nil ? json : .string(argument.value)
  }

  private static func value(
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
      let secret = try InputFile.secret(path)
      guard R.table.shape.column(named: twin) == nil else {
        return (twin, .string(secret.paddedBase64))
      }
      return (argument.name, .string(try InputFile.password(path)))
    }
    if case .object = column?.rule.kind { return (argument.name, try InputFile.json(path)) }
    return (argument.name, .string(String(decoding: try InputFile.read(path), as: UTF8.self)))
  }
}
