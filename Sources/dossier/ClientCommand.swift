import ArgumentParser
import Dossier
import EventLoop
import JSON
import RESTWire

struct ClientCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "client",
    abstract: "Programs that call with a key.",
    subcommands: [Create.self, List.self, Disable.self, Enable.self, Delete.self]
  )

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a client; its key is shown this once.",
      discussion: "Scopes: \(Scopes.management.joined(separator: " "))"
    )
    @OptionGroup var common: CommonOptions

    @Option(help: "The app that it is of.")
    var app: String?

    @Option(name: .customLong("scope"), help: "What it may do; may be given several times.")
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
      common.run { console async throws(CommandFailure) in
        let made = try await console.doing { context async throws(Failure) in
          try await Clients.create(name, app: app, scopes: scopes, context)
        }
        return CommandOutput(
          ["id": .string(made.id.text), "name": .string(name), "key": .string(made.key)],
          remark: "the key is not shown again"
        )
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists clients.")
    @OptionGroup var common: CommonOptions

    @Option(help: "Only those of this app.")
    var app: String?

    func run() throws {
      common.run { console async throws(CommandFailure) in
        if let app { _ = try await console.app(app) }
        return CommandOutput(
          try await console.doing { context async throws(Failure) in
            .array(try await Clients.list(of: app, context).map(\.json))
          },
          columns: ["id", "app", "name", "disabled", "created_at", "scopes"]
        )
      }
    }
  }

  struct Disable: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Disables a client; its next call is refused."
    )
    @OptionGroup var client: ClientArgument

    func run() throws {
      client.run { id, context async throws(Failure) in
        try await Clients.setDisabled(true, id, context)
      }
    }
  }

  struct Enable: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Enables a client again.")
    @OptionGroup var client: ClientArgument

    func run() throws {
      client.run { id, context async throws(Failure) in
        try await Clients.setDisabled(false, id, context)
      }
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a client; its next call is refused."
    )
    @OptionGroup var client: ClientArgument

    func run() throws {
      client.run { id, context async throws(Failure) in
        try await Clients.delete(id, context)
      }
    }
  }
}

struct ClientArgument: ParsableArguments {
  @OptionGroup var common: CommonOptions

  @Argument(help: "The client's id.")
  var id: String

  func run(
    _ act: @escaping @EventLoop @Sendable (ClientID, RequestContext) async throws(Failure) -> Void
  ) -> Never {
    common.run { console async throws(CommandFailure) in
      try await console.doing { context async throws(Failure) in
        guard let id = ClientID(id) else { throw .notFound }
        try await act(id, context)
      }
      return CommandOutput(["id": .string(id)])
    }
  }
}
