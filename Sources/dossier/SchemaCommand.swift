import CommandKit
import Tenancy
import ArgumentParser
import Documents
import Runtime
import HTTP
import JSON

struct SchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Manages the JSON Schemas (draft 2020-12) that written documents must match.",
    subcommands: [Set.self, List.self, Show.self, Delete.self, Check.self]
  )

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sets the schema of a kind of document.",
      discussion: """
        Workers apply the schema within about 10 seconds. Stored documents stay valid until their next \
        write; then the result must match. "schema check" lists documents that do not match; run it \
        with --schema before you set a schema. The server refuses unknown keywords, and references to \
        other documents and vocabularies. format has no effect.
        """)
    @OptionGroup var options: AppOptions
    @Argument(help: .document) var document: DocumentKind

    @Argument(help: "The schema; - is standard input.")
    var file: String

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        let text = try InputFile.read(file, upTo: Schemas.sizeLimit)
        _ = try await context.send(.put, document.pathOfSchema, .text(text), to: options.app)
        return CommandOutput(.null)
      }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints a schema as it was written, also with --json."
    )
    @OptionGroup var options: AppOptions
    @Argument(help: .document) var document: DocumentKind

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        CommandOutput(text: try await context.text(of: document.pathOfSchema, in: options.app))
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the schemas of an app.")
    @OptionGroup var options: AppOptions

    func run() throws {
      options.send(.get, "/v1/schemas", columns: ["kind", "bytes", "updated_at"])
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a schema; documents of the kind are no longer validated.")
    @OptionGroup var options: AppOptions
    @OptionGroup var confirmation: Confirmation
    @Argument(help: .document) var document: DocumentKind

    func run() throws {
      options.send(.delete, document.pathOfSchema, asking: confirmation, "Delete the schema?")
    }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Checks all stored documents of a kind, and lists those that do not match.",
      discussion: """
        Prints a line for each user whose document does not match, with --json as \
        {"id", "errors": [{"pointer", "code", "detail"}]}. Users without such a document are skipped.

        Exit codes: 0 if all match, 17 if some do not, 10 if the app has no schema of this kind; \
        others as in dossier --help.
        """)
    @OptionGroup var options: AppOptions

    @Option(help: "A schema to try instead of the app's; - is standard input.")
    var schema: String?

    @Argument(help: .document) var document: DocumentKind

    func run() throws {
      options.common.run(isLarge: true) { context async throws(CommandFailure) in
        let text: [UInt8]? =
          if let schema { try InputFile.read(schema, upTo: Schemas.sizeLimit) } else { nil }
        return try await context.check(
          document, of: options.app, by: text, asJSON: options.common.output.isJSON
        )
      }
    }
  }
}

extension ArgumentHelp {
  static let document: ArgumentHelp = "The document; hyphens and underscores are both accepted."
}

extension DocumentKind {
  fileprivate var pathOfSchema: String { "/v1/schemas/\(pathName)" }
}

extension DocumentKind: ExpressibleByArgument {
  package init?(argument: String) { self.init(pathName: argument.replacing("_", with: "-")) }
}

extension CommandContext {
  fileprivate func check(
    _ document: DocumentKind, of app: String?, by text: [UInt8]?, asJSON: Bool
  ) async throws(CommandFailure) -> CommandOutput {
    let app = try await record(of: app).id
    var check = try await run { context async throws(Failure) in
      try await SchemaCheck(document, of: app, by: text, context)
    }
    let output = ResultsFile()
    let line = ProgressLine()
    var (documents, mismatches) = (0, 0)
    while true {
      let page = try await run { _ async throws(Failure) in try await check.next() }
      guard let page else { break }
      documents += page.documents
      mismatches += page.mismatches.count
      if !page.mismatches.isEmpty { line.clear() }
      for (user, faults) in page.mismatches {
        try output.write(Array(Self.line(user, faults, asJSON).utf8))
      }
      line.update(rows: documents, "\(documents) documents, \(mismatches) do not fit")
    }
    line.clear()
    return CommandOutput(
      .null, remark: "\(documents) documents, \(mismatches) do not fit",
      status: mismatches > 0 ? .someFailed : .success
    )
  }

  private static func line(_ user: UserID, _ faults: [FieldError], _ isJSON: Bool) -> String {
    guard isJSON else {
      return faults.map { "\(user)  \(Table.visible($0.place)): \(Table.visible($0.detail))\n" }
        .joined()
    }
    let line: JSON = ["id": .string(user.text), "errors": FieldError.json(of: faults)]
    return line.text + "\n"
  }
}
