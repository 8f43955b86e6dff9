import ArgumentParser
import HTTP
import JSON

extension ClientCommand {
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
      grant.client.common.send(.put, grant.path, .json(body))
    }
  }

  struct Grants: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the APIs for which a client gets tokens by its secret."
    )
    @OptionGroup var client: ClientArgument

    func run() throws {
      client.common.send(
        .get, "\(client.path)/grants", columns: ["resource_server", "identifier", "name", "scopes"]
      )
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes the scopes of a client at an API; its tokens stay valid until they expire."
    )
    @OptionGroup var grant: GrantArguments

    func run() throws { grant.client.common.send(.delete, grant.path) }
  }
}

struct GrantArguments: ParsableArguments {
  @OptionGroup var client: ClientArgument

  @Argument(help: ArgumentHelp("The API's id.", valueName: "resource-server"))
  var server: String

  var path: String { "\(client.path)/grants/\(segment(server))" }
}
