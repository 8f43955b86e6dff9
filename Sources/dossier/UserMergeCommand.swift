import CommandKit
import ArgumentParser
import HTTP
import JSON
import OpenID
import Runtime

extension UserMerges.Choice: ExpressibleByArgument {}

/// Merges of users.
extension UserCommand {
  struct Merge: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Merges another user into a user, and deletes the other one.",
      discussion: """
        The user keeps id, profile and documents, and gets the identities, properties, roles, \
        permissions, consents and members that only the other one has. Sessions, API keys, passkeys \
        and second factors of the other one end. For seven days, `dossier user undo-merge` creates \
        the other user again.

          dossier user merge ada@example.com ada@old.example.com --dry-run
        """)
    @OptionGroup var user: UserArgument
    @OptionGroup var confirmation: Confirmation

    @Argument(help: "The other user's id or email address.")
    var other: String

    @Option(help: "Keeps, takes or merges the metadata that both have.")
    var metadata: UserMerges.Choice = .merge

    @Option(help: "Keeps, takes or merges the app metadata that both have.")
    var appMetadata: UserMerges.Choice = .merge

    @Option(help: "Keeps, takes or merges the custom data that both have.")
    var customData: UserMerges.Choice = .merge

    @Flag(help: "Only shows both users, and the documents after the merge.")
    var dryRun = false

    func run() throws {
      user.run { context, path async throws(CommandFailure) in
        let app = user.options.app
        let other = try await context.user(other, of: app)
        if !dryRun { try confirmation.ask("Merge the user \(other) into this one, and delete it?") }
        let body: JSON = [
          "from": .string(other), "metadata": .string(metadata.rawValue),
          "app_metadata": .string(appMetadata.rawValue),
          "custom_data": .string(customData.rawValue), "dry_run": .bool(dryRun),
        ]
        let done = try await context.send(.post, "\(path)/merge", .json(body), to: app)
        let undo = done["merge_id"]?.string.map {
          "to undo it within seven days: dossier user undo-merge \($0)"
        }
        return CommandOutput(done, remark: undo)
      }
    }
  }

  struct UndoMerge: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "undo-merge",
      abstract: "Creates a user again that was merged into another one in the last seven days.",
      discussion: """
        Its identities go back to it. It has no sessions, API keys, second factors and picture. The \
        other user keeps the data that it has got.
        """)
    @OptionGroup var options: AppOptions

    @Argument(help: "The id of the merge.")
    var merge: String

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        let path = "/v1/merges/\(segment(merge))/undo"
        return CommandOutput(try await context.send(.post, path, to: options.app))
      }
    }
  }
}
