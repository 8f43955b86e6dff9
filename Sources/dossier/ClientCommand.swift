import ArgumentParser
import Runtime
import HTTP
import JSON

struct ClientCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "client",
    abstract: "API clients, which call with a key.",
    subcommands: [Create.self, List.self, Disable.self, Enable.self, Delete.self]
  )

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Creates a client; its key is shown this once.",
      discussion: "Scopes: \(Scopes.management.joined(separator: " "))"
    )
    @OptionGroup var common: CommonOptions

    @Option(help: ArgumentHelp("The app that it may call.", valueName: "name"))
    var app: String?

    @Option(name: .customLong("scope"), help: "A scope of the client; may be given several times.")
    var scopes: [String] = []

    @Flag(name: .customLong("operator"), help: "Of no app: it may do everything in all of them.")
    var isOperator = false

    @Argument(help: "What people call it.")
    var name: String

    func validate() throws {
      guard isOperator == (app == nil) else {
        throw ValidationError("Give either --app or --operator.")
      }
    }

    func run() throws {
      let body: JSON = [
        "name": .string(name), "app": app.map(JSON.string) ?? .null,
        "scopes": .array(scopes.map(JSON.string)),
      ]
      common.run { context async throws(CommandFailure) in
        CommandOutput(
          try await context.send(.post, "/v1/clients", .json(body)),
          remark: "the key is not shown again"
        )
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the clients of all apps, or of one."
    )
    @OptionGroup var options: AppOptions

    func run() throws {
      options.common.send(
        .get,
        "/v1/clients" + (options.app.map { "?app=\(segment($0))" } ?? ""),
        columns: ["id", "app", "name", "disabled", "created_at", "scopes"]
      )
    }
  }

  struct Disable: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Disables a client; its next call is refused."
    )
    @OptionGroup var client: ClientArgument

    func run() throws { client.send(.patch, .mergePatch(["disabled": true])) }
  }

  struct Enable: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Enables a client again.")
    @OptionGroup var client: ClientArgument

    func run() throws { client.send(.patch, .mergePatch(["disabled": false])) }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a client; its next call is refused."
    )
    @OptionGroup var client: ClientArgument

    func run() throws { client.send(.delete) }
  }
}

struct ClientArgument: ParsableArguments {
  @OptionGroup var common: CommonOptions

  @Argument(help: "The client's id.")
  var id: String

  func send(_ method: HTTP.Method, _ body: APIRequest.Body = .none) -> Never {
    common.send(method, "/v1/clients/\(segment(id))", body)
  }
}
