import ArgumentParser
import JSON
import OpenID
import Runtime

extension UserCommand {
  struct Applications: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the applications that a user has allowed to use APIs.",
      discussion: """
        --remove revokes all that the user has allowed an application, and ends its sessions. The user \
        is asked again at the next sign-in.
        """)
    @OptionGroup var user: UserArgument

    @Option(help: ArgumentHelp("The application to remove.", valueName: "client"))
    var remove: String?

    func run() throws {
      user.options.common.run { context async throws(CommandFailure) in
        let app = user.options.app
        guard let id = UserID(try await context.user(user.user, of: app)) else {
          throw CommandFailure(.notFound)
        }
        if let remove {
          try await context.run(in: app) { context async throws(Failure) in
            guard let client = ClientID(remove) else { throw .notFound }
            try await Consents.revoke(client, by: id, context)
          }
        }
        let consents = try await context.run(in: app) { context async throws(Failure) in
          try await Consents.list(of: id, context)
        }
        let rows = consents.map { consent -> JSON in
          [
            "client": .string(consent.client.text),
            "name": consent.name.map(JSON.string) ?? .null,
            "audience": .string(consent.audience),
            "scopes": .array(consent.scopes.map(JSON.string)),
            "updated_at": .string(consent.updatedAt.text),
          ]
        }
        return CommandOutput(.array(rows))
      }
    }
  }
}
