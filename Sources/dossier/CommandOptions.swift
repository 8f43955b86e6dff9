import ArgumentParser
import Configuration
import EventLoop
import HTTP
import JSON

/// The output format of a command.
struct OutputOptions: ParsableArguments {
  @Flag(name: .customLong("json"), help: "Prints JSON, for programs, instead of a table.")
  var isJSON = false
}

/// The options of all commands that use the database.
struct CommonOptions: ParsableArguments {
  @OptionGroup var settings: ConfigurationOptions
  @OptionGroup var output: OutputOptions

  /// Runs `body` on the loop, prints its output and ends the process.
  func run(isLarge: Bool = false, _ body: @escaping CommandBody) -> Never {
    settings.run(asJSON: output.isJSON, isLarge: isLarge, body)
  }

  /// Sends a request, prints the response and ends the process.
  ///
  /// - Parameters:
  ///   - method: the method.
  ///   - path: the path.
  ///   - body: the body.
  ///   - app: the app; nil for the default app.
  ///   - columns: the columns of the table.
  ///   - consent: how the operator confirms it; nil if that is not needed.
  ///   - question: what the operator confirms.
  func send(
    _ method: HTTP.Method, _ path: String, _ body: APIRequest.Body = .none, to app: String? = nil,
    columns: [String]? = nil, asking consent: Consent? = nil, _ question: String = ""
  ) -> Never {
    run { context async throws(CommandFailure) in
      try consent?.ask(question)
      return CommandOutput(try await context.send(method, path, body, to: app), columns: columns)
    }
  }
}

/// The options of commands that concern one app.
struct AppOptions: ParsableArguments {
  @OptionGroup var common: CommonOptions

  @Option(help: ArgumentHelp("The app; by default that of the setting app.", valueName: "name"))
  var app: String?

  /// Sends a request to the app, as `CommonOptions.send` does.
  func send(
    _ method: HTTP.Method, _ path: String, _ body: APIRequest.Body = .none,
    columns: [String]? = nil, asking consent: Consent? = nil, _ question: String = ""
  ) -> Never {
    common.send(method, path, body, to: app, columns: columns, asking: consent, question)
  }
}

/// The options of lists with pages.
struct ListOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The greatest number of results.", valueName: "number"))
  var limit = 100

  @Flag(help: "Lists all, without a limit.")
  var all = false

  @Option(help: "The cursor that the previous page printed; continues the list there.")
  var cursor: String?

  func validate() throws {
    guard limit > 0 else { throw ValidationError("--limit must be a number from 1.") }
  }
}
