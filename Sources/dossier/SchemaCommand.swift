import ArgumentParser
import Dossier
import JSON
import RESTWire

struct SchemaCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "What documents must be when they are written, as JSON Schemas (draft 2020-12).",
    subcommands: [Set.self, Show.self, List.self, Remove.self, Check.self]
  )

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sets the schema of a class of documents.",
      discussion: """
        Workers go by it within some 10 seconds. What is stored stays as it is until it is next \
        written, and then what results must fit; "schema check" finds what does not, before with \
        --schema. Refused are keywords that are not known, and unevaluatedProperties, \
        unevaluatedItems, $dynamicRef and references to other schemas. format is without effect.
        """
    )
    @OptionGroup var options: AppOptions
    @Argument(help: .document) var document: DocumentClass

    @Argument(help: "The schema; - is standard input.")
    var file: String

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        let app = options.app ?? console.usualApp
        let text = try InputFile.read(file, upTo: Schemas.sizeLimit)
        _ = try await console.doing { context async throws(Failure) in
          try await Schemas.set(text, for: document, of: app, context)
        }
        return CommandOutput(["app": .string(app), "class": .string(document.pathName)])
      }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Prints a schema as it was written, also with --output json."
    )
    @OptionGroup var options: AppOptions
    @Argument(help: .document) var document: DocumentClass

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        let app = options.app ?? console.usualApp
        let text = try await console.doing { context async throws(Failure) in
          try await Schemas.text(for: document, of: app, context)
        }
        return CommandOutput(text: String(decoding: text, as: UTF8.self))
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the schemas of an app.")
    @OptionGroup var options: AppOptions

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        try await console.list(of: options.app, columns: ["class", "bytes", "updated_at"]) {
          app,
          context async throws(Failure) in
          try await Schemas.list(of: app, context).map(\.json)
        }
      }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes a schema: documents of the class may be anything again."
    )
    @OptionGroup var options: AppOptions
    @Argument(help: .document) var document: DocumentClass

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        let app = options.app ?? console.usualApp
        try await console.doing { context async throws(Failure) in
          try await Schemas.remove(for: document, of: app, context)
        }
        return CommandOutput(["app": .string(app), "class": .string(document.pathName)])
      }
    }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Looks at all stored documents of a class, and tells which do not fit.",
      discussion: """
        Prints a line for each user whose document does not fit, with --output json as \
        {"id", "errors": [{"pointer", "code", "detail"}]}. Users who have no such document are \
        passed over.

        Exit codes: 0 all fit, 17 some do not, 10 the app has no schema for the class; others as \
        dossier --help has them.
        """
    )
    @OptionGroup var options: AppOptions

    @Option(help: "A schema to try instead of the app's; - is standard input.")
    var schema: String?

    @Argument(help: .document) var document: DocumentClass

    func run() throws {
      let format = options.common.output.output
      options.common.settings.run(.table, isLarge: true) { console async throws(CommandFailure) in
        let text: [UInt8]? =
          if let schema { try InputFile.read(schema, upTo: Schemas.sizeLimit) } else { nil }
        return try await console.check(document, of: options.app, by: text, format)
      }
    }
  }
}

extension ArgumentHelp {
  fileprivate static let document: ArgumentHelp = "metadata, app-metadata or custom-data."
}

extension DocumentClass: ExpressibleByArgument {
  package init?(argument: String) { self.init(pathName: argument) }
}

extension OperatorConsole {
  fileprivate func check(
    _ document: DocumentClass,
    of app: String?,
    by text: [UInt8]?,
    _ format: OutputFormat
  ) async throws(CommandFailure) -> CommandOutput {
    let app = try await self.app(app)
    var check = try await doing { context async throws(Failure) in
      try await SchemaCheck(document, of: app, by: text, context)
    }
    let output = ResultsFile()
    let line = ProgressLine()
    var (documents, mismatches) = (0, 0)
    while true {
      let page: SchemaCheck.Page?
      do throws(Failure) {
        page = try await check.next()
      } catch {
        throw .refused(error)
      }
      guard let page else { break }
      documents += page.documents
      mismatches += page.mismatches.count
      if !page.mismatches.isEmpty { line.clear() }
      for (user, faults) in page.mismatches {
        try output.write(Array(Self.line(user, faults, format).utf8))
      }
      line.update(rows: documents, "\(documents) documents, \(mismatches) do not fit")
    }
    line.clear()
    return CommandOutput(
      .null,
      remark: "\(documents) documents, \(mismatches) do not fit",
      status: mismatches > 0 ? .someFailed : .success
    )
  }

  private static func line(_ user: UserID, _ faults: [Fault], _ format: OutputFormat) -> String {
    switch format {
    case .json:
      let line: JSON = ["id": .string(user.text), "errors": Fault.json(of: faults)]
      return line.text + "\n"
    case .table:
      return faults.map { "\(user)  \(Table.visible($0.place)): \(Table.visible($0.detail))\n" }
        .joined()
    }
  }
}
