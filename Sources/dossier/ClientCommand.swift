import CommandKit
import ArgumentParser
import Delivery
import EventLoop
import HTTP
import JSON
import Records
import Runtime
import Tenancy

extension ClientRecord: CommandRecord {
  static var furtherCommands: [any ParsableCommand.Type] {
    [
      ClientCommand.Rotate.self, ClientCommand.Disable.self, ClientCommand.Enable.self,
      ClientCommand.Grant.self, ClientCommand.Grants.self, ClientCommand.Revoke.self,
      ClientCommand.Import.self,
    ]
  }

  static var guide: String {
    """

      dossier client create "My app" kind=native callback_urls=com.example.app://callback

    The secret of a client of kind web or machine is shown only this once. One that moves here keeps \
    its id and its secret, so its program stays as it is:

      dossier client create "My app" kind=web id=OLD_ID secret=@FILE

    An id is unique in the deployment. Such a secret is valid at /oauth, and not for /v1, which \
    needs one that this server made. Pages may call the server from new origins within about 10 \
    seconds.

    """
  }

  /// Returns the domain of a client that signs users in, as SDKs ask for it: `host` or `host:port`.
  static func preface(
    of client: JSON, _ context: CommandContext
  ) async throws(CommandFailure) -> JSONObject {
    guard let app = client["app"]?.string, let kind = client["kind"]?.string,
      kind != ClientKind.machine.rawValue
    else { return JSONObject() }
    let origin = try await context.run(in: app) { (context) async throws(Failure) in
      context.mailer.pages?.origin(of: context.app)
    }
    let url = origin ?? context.issuer
    let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
    return JSONObject([("domain", .string(String(url[start...])))])
  }
}

/// The commands of clients beyond those of each record.
enum ClientCommand {
  struct Rotate: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replaces the secret of a client; its next call with the old one is refused."
    )
    @OptionGroup var client: RecordArgument<ClientRecord>
    @OptionGroup var confirmation: Confirmation

    func run() throws {
      client.options.common.run { context async throws(CommandFailure) in
        try confirmation.ask(
          "Replace the secret of the client \(client.key), and refuse the old one?")
        return CommandOutput(
          try await context.send(.post, "\(client.path(context))/secret"),
          remark: "the secret is not shown again"
        )
      }
    }
  }

  struct Disable: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Disables a client; its next call is refused."
    )
    @OptionGroup var client: RecordArgument<ClientRecord>

    func run() throws { client.send(.patch, .mergePatch(["disabled": true])) }
  }

  struct Enable: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Enables a client again.")
    @OptionGroup var client: RecordArgument<ClientRecord>

    func run() throws { client.send(.patch, .mergePatch(["disabled": false])) }
  }

  struct Grant: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sets the scopes that a client gets at an API by its secret, without a user."
    )
    @OptionGroup var grant: GrantArguments

    @Option(name: .customLong("scope"), help: "A scope of the API; may be given several times.")
    var scopes: [String] = []

    func validate() throws {
      guard !scopes.isEmpty else {
        throw ValidationError("Name each --scope. `dossier client revoke` removes the grant.")
      }
    }

    func run() throws {
      let body: JSON = ["scopes": .array(scopes.map(JSON.string))]
      grant.send(.put, .json(body))
    }
  }

  struct Grants: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the APIs for which a client gets tokens by its secret."
    )
    @OptionGroup var client: RecordArgument<ClientRecord>

    func run() throws {
      client.options.common.run { context async throws(CommandFailure) in
        CommandOutput(
          try await context.send(.get, "\(client.path(context))/grants"),
          columns: ["resource_server", "identifier", "name", "scopes"]
        )
      }
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes the scopes of a client at an API; its tokens stay valid until they expire."
    )
    @OptionGroup var grant: GrantArguments

    func run() throws { grant.send(.delete) }
  }
}

struct GrantArguments: ParsableArguments {
  @OptionGroup var client: RecordArgument<ClientRecord>

  @Argument(help: .resourceServer)
  var server: String

  /// Sends a request about the grant, prints the response and ends the process.
  func send(_ method: HTTP.Method, _ body: APIRequest.Body = .none) -> Never {
    client.options.common.run { context async throws(CommandFailure) in
      let path = try await client.path(context)
      let server = try await context.id(
        of: server, as: ResourceServerRecord.self, in: client.options.app)
      let grant = "\(path)/grants/\(segment(server))"
      return CommandOutput(try await context.send(method, grant, body))
    }
  }
}

extension ArgumentHelp {
  /// The argument that names an API.
  static var resourceServer: ArgumentHelp {
    ArgumentHelp("The API's id, identifier or name.", valueName: "resource-server")
  }
}
