package import ArgumentParser
import EventLoop
package import HTTP
package import JSON
package import Records
package import Tenancy

/// The commands of a record: `create`, `list`, `show`, `set` and `delete`.
///
/// All follow from its declaration; the first required column is the first argument.
package struct RecordCommand<R: CommandRecord>: ParsableCommand {
  package init() {}

  package static var configuration: CommandConfiguration {
    CommandConfiguration(
      commandName: R.words.command, abstract: R.words.meaning,
      subcommands: verbs + R.furtherCommands)
  }

  private static var verbs: [any ParsableCommand.Type] {
    [Create<R>.self, List<R>.self, Show<R>.self, Set<R>.self, Delete<R>.self]
  }
}

/// A record with commands, and what these do beyond its declaration.
package protocol CommandRecord: OwnedRecord {
  static var furtherCommands: [any ParsableCommand.Type] { get }
  /// The lists below its path that `show` adds, such as `permissions`.
  static var lists: [String] { get }
  /// More lines of the help of `create`.
  static var guide: String { get }
  /// Returns members that the commands show before those of a record, or of the body that creates
  /// one.
  static func preface(
    of record: JSON, _ context: CommandContext
  ) async throws(CommandFailure) -> JSONObject
  /// Returns members that `create` shows after those of the new record, and a remark.
  static func addendum(
    to record: JSON, in app: String?, _ context: CommandContext
  ) async throws(CommandFailure) -> (members: JSONObject, remark: String?)
  /// Returns what an operator should know after a change; nil for nothing.
  static func warning(after patch: JSONObject, of record: JSON) -> String?
  /// The effect of the flag `--force` of `delete`; nil if it has none.
  static var force: String? { get }
}

extension CommandRecord {
  package static var furtherCommands: [any ParsableCommand.Type] { [] }
  package static var lists: [String] { [] }
  package static var guide: String { "" }
  package static func preface(
    of record: JSON, _ context: CommandContext
  ) async throws(CommandFailure) -> JSONObject { JSONObject() }
  package static func addendum(
    to record: JSON, in app: String?, _ context: CommandContext
  ) async throws(CommandFailure) -> (members: JSONObject, remark: String?) { (JSONObject(), nil) }
  package static func warning(after patch: JSONObject, of record: JSON) -> String? { nil }
  package static var force: String? { nil }
}

extension ResourceServerRecord: CommandRecord {}
extension IssuerRecord: CommandRecord {}

extension RecordCommand {
  struct Create<Of: CommandRecord>: ParsableCommand {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "create", abstract: "Creates \(Of.article) \(Of.words.one).",
        discussion: """
          \(RecordShape.notation)
          \(Of.guide)
          Attributes:
          \(Of.table.shape.columns.table)
          """)
    }
    @OptionGroup var options: AppOptions

    @Flag(
      name: .customLong("operator"),
      help: ArgumentHelp(
        "Creates one of the operator, with full access to all apps.",
        visibility: Of.words.app == .memberOrNull ? .default : .private))
    var isOperator = false

    @Argument(help: ArgumentHelp(stringLiteral: "\(Of.first.meaning)."))
    var name: String

    @Argument(help: ArgumentHelp("Attributes.", valueName: "attribute=value"))
    var attributes: [NamedValue] = []

    func validate() throws {
      guard !isOperator || options.app == nil && Of.words.app == .memberOrNull else {
        throw ValidationError("\(Of.nounPhrase) of the operator belongs to no app: omit --app.")
      }
    }

    /// Returns the body of the request.
    func body(in app: String) throws(CommandFailure) -> JSONObject {
      var body = try Of.table.shape.patch(of: attributes)
      body[Of.first.name] = .string(name)
      if Of.words.app != .selection { body["app"] = isOperator ? .null : .string(app) }
      return body
    }

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        let body = try body(in: options.app ?? context.defaultApp)
        // Before the write, since a failure after it would lose a secret.
        let preface = try await Of.preface(of: .object(body), context)
        let made = try await context.send(
          .post, Of.words.path, .json(.object(body)),
          to: Of.words.app == .selection ? options.app : nil)
        let (addendum, remark) = try await Of.addendum(to: made, in: options.app, context)
        return CommandOutput(
          made.after(preface).before(addendum),
          remark: remark ?? made["secret"].map { _ in "the secret is not shown again" })
      }
    }
  }

  struct List<Of: CommandRecord>: ParsableCommand {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "list",
        abstract:
          "Lists the \(Of.words.many) of \(Of.words.app == .selection ? "" : "all apps, or of ")"
          + "an app.")
    }
    @OptionGroup var options: AppOptions

    func run() throws {
      let shown = Of.table.shape.columns.filter { $0.has(.required) || $0.has(.listed) }
      let derived = Of.derived.filter(\.isListed).map(\.name)
      let columns =
        (Of.table.hasID ? ["id"] : []) + ["app"] + shown.map(\.name) + derived + ["created_at"]
      if Of.words.app == .selection {
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
      let app = record.options.app
      record.options.common.run { context async throws(CommandFailure) in
        let path = try await record.path(context)
        let found = try await context.send(.get, path, to: app)
        var shown = found.object ?? JSONObject()
        for list in Of.lists {
          shown[list] = try await context.send(.get, "\(path)/\(list)", to: app)
        }
        let preface = try await Of.preface(of: found, context)
        return CommandOutput(JSON.object(shown).after(preface))
      }
    }
  }

  struct Set<Of: CommandRecord>: ParsableCommand {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "set", abstract: "Changes attributes of \(Of.article) \(Of.words.one).",
        discussion: """
          \(RecordShape.notation) The command changes all attributes or none, and prints \
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
        let patch = try Of.table.shape.patch(of: attributes)
        let changed = try await context.send(
          .patch, record.path(context), .mergePatch(.object(patch)), to: record.options.app,
          ifVersion: ifVersion)
        return CommandOutput(
          changed.after(try await Of.preface(of: changed, context)),
          brief: changed.brief(["id", Of.first.name, "version"] + patch.keys),
          remark: Of.warning(after: patch, of: changed))
      }
    }
  }

  struct Delete<Of: CommandRecord>: ParsableCommand {
    static var configuration: CommandConfiguration {
      CommandConfiguration(
        commandName: "delete", abstract: "Deletes \(Of.article) \(Of.words.one).",
        discussion: Of.words.consequence)
    }
    @OptionGroup var record: RecordArgument<Of>
    @OptionGroup var confirmation: Confirmation

    @Flag(
      name: .customLong("force"),
      help: ArgumentHelp(Of.force ?? "", visibility: Of.force == nil ? .private : .default))
    var isForced = false

    func validate() throws {
      guard !isForced || Of.force != nil else { throw ValidationError("--force is not known.") }
    }

    func run() throws {
      record.options.common.run { context async throws(CommandFailure) in
        let path = try await record.path(context) + (isForced ? "?force=true" : "")
        try confirmation.ask("Delete the \(Of.words.one) \(record.key)? \(Of.words.consequence)")
        return CommandOutput(try await context.send(.delete, path, to: record.options.app))
      }
    }
  }
}

/// The argument that names a record.
package struct RecordArgument<R: CommandRecord>: ParsableArguments {
  package init() {}

  @OptionGroup package var options: AppOptions

  @Argument(help: ArgumentHelp(stringLiteral: R.keyMeaning))
  package var key: String

  /// Returns the path of the record.
  ///
  /// - Throws: an error if several records have the name, or of the API.
  @EventLoop package func path(_ context: CommandContext) async throws(CommandFailure) -> String {
    path(of: try await context.id(of: key, as: R.self, in: options.app))
  }

  package func path(of id: String) -> String { "\(R.words.path)/\(segment(id))" }

  /// Sends a request about the record, or below its path, prints it and ends the process.
  package func send(
    _ method: HTTP.Method, _ body: APIRequest.Body = .none, at suffix: String = ""
  ) -> Never {
    options.common.run { context async throws(CommandFailure) in
      let record = try await context.send(method, path(context) + suffix, body, to: options.app)
      return CommandOutput(record.after(try await R.preface(of: record, context)))
    }
  }
}

extension CommandContext {
  /// Returns the id of a record that the operator names by its id, or by an attribute that people know.
  ///
  /// - Parameters:
  ///   - key: the id or the name.
  ///   - record: the kind of the record.
  ///   - app: the app; nil for that of the command, or for all apps if the record is in one list of all.
  /// - Returns: the id; the key itself if no record has it, which the API then reports.
  /// - Throws: an error if several records have the name, or of the API.
  package func id<R: CommandRecord>(
    of key: String, as record: R.Type, in app: String?
  ) async throws(CommandFailure) -> String {
    guard R.table.hasID else { return key }
    let query = R.words.app == .selection ? "" : app.map { "?app=\(segment($0))" } ?? ""
    let list = try await send(
      .get, R.words.path + query, to: R.words.app == .selection ? app : nil)
    let records = list.array ?? []
    func has(_ name: String, _ record: JSON) -> Bool {
      record[name]?.string?.hasSameBytes(as: key) == true
    }
    if records.contains(where: { has("id", $0) }) { return key }
    let named = records.filter { record in R.names.contains { has($0, record) } }
    guard named.count < 2 else {
      throw CommandFailure(
        "\(named.count) \(R.words.many) have the name \(key). Name one by its id.", .conflict)
    }
    return named.first?["id"]?.string ?? key
  }
}

extension CommandRecord {
  /// The attributes by which an operator may name a record that has an id.
  fileprivate static var names: Swift.Set<String> { [first.name, "name"] }

  /// The help of the argument that names a record.
  package static var keyMeaning: String {
    table.hasID ? "Its id or \(names.sorted().joined(separator: " or "))." : "\(first.meaning)."
  }

  /// `a` or `an`, as its name sounds.
  fileprivate static var article: String {
    words.one.first.map { "aeioAEIO".contains($0) } == true ? "an" : "a"
  }

  fileprivate static var nounPhrase: String { "\(article.uppercased()) \(words.one)" }

  /// The column that the first argument of `create` has.
  package static var first: Column {
    table.shape.columns.first { $0.has(.required) } ?? table.shape.columns[0]
  }
}

extension JSON {
  /// Returns an object with other members after its own.
  fileprivate func before(_ addendum: JSONObject) -> JSON {
    guard let object, addendum.count > 0 else { return self }
    return .object(JSONObject(Array(object) + Array(addendum)))
  }

  /// Returns an object with other members before its own.
  fileprivate func after(_ preface: JSONObject) -> JSON {
    guard let object, preface.count > 0 else { return self }
    return .object(JSONObject(Array(preface) + Array(object)))
  }
}
