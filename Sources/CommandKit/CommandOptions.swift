package import ArgumentParser
package import Configuration
import EventLoop
package import HTTP
import JSON

/// The output format of a command.
package struct OutputOptions: ParsableArguments {
  package init() {}

  @Flag(name: .customLong("json"), help: "Prints JSON, for programs, instead of a table.")
  package var isJSON = false
}

/// The options of all commands that use the database.
package struct CommonOptions: ParsableArguments {
  package init() {}

  @OptionGroup package var settings: ConfigurationOptions
  @OptionGroup package var output: OutputOptions

  @Option(
    name: .customLong("as"),
    help: ArgumentHelp(
      "The person who runs the command, for the audit log: the address of an administrator, or a "
        + "name. The default is DOSSIER_AS, the user of sudo, or the user of the system.",
      valueName: "name"))
  package var person: String?

  /// Runs `body` on the loop, prints its output and ends the process.
  package func run(
    isLarge: Bool = false, writers: Int? = nil, _ body: @escaping CommandBody
  ) -> Never {
    settings.run(asJSON: output.isJSON, as: person, isLarge: isLarge, writers: writers, body)
  }

  /// Sends a request, prints the response and ends the process.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - path: the path.
  ///   - body: the body.
  ///   - app: the app; nil for the default app.
  ///   - columns: the columns of the table.
  ///   - confirmation: how the operator confirms it; nil if that is not needed.
  ///   - question: what the operator confirms.
  package func send(
    _ method: HTTP.Method, _ path: String, _ body: APIRequest.Body = .none, to app: String? = nil,
    columns: [String]? = nil, asking confirmation: Confirmation? = nil, _ question: String = ""
  ) -> Never {
    run { context async throws(CommandFailure) in
      try confirmation?.ask(question)
      return CommandOutput(try await context.send(method, path, body, to: app), columns: columns)
    }
  }
}

/// The options of commands that concern one app.
package struct AppOptions: ParsableArguments {
  package init() {}

  @OptionGroup package var common: CommonOptions

  @Option(help: ArgumentHelp("The app; by default that of the setting app.", valueName: "name"))
  package var app: String?

  /// Sends a request to the app, as `CommonOptions.send` does.
  package func send(
    _ method: HTTP.Method, _ path: String, _ body: APIRequest.Body = .none,
    columns: [String]? = nil, asking confirmation: Confirmation? = nil, _ question: String = ""
  ) -> Never {
    common.send(method, path, body, to: app, columns: columns, asking: confirmation, question)
  }
}

/// The options of lists with pages.
package struct ListOptions: ParsableArguments {
  package init() {}

  @Option(help: ArgumentHelp("The greatest number of results.", valueName: "number"))
  package var limit = 100

  @Flag(help: "Lists all, without a limit.")
  package var all = false

  @Option(help: "The cursor that the previous page printed; continues the list there.")
  package var cursor: String?

  package func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit must be a number from 1.") }
  }
}
