import CommandKit
import ArgumentParser
import Runtime
import HTTP

struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "The keys that sign the tokens of an app, and the master key that encrypts them.",
    subcommands: [List.self, Rotate.self, Delete.self, Reencrypt.self]
  )

  fileprivate static let columns = [
    "id", "purpose", "algorithm", "current", "created_at", "retires_at",
  ]

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the keys, without secrets.")
    @OptionGroup var options: AppOptions

    func run() throws { options.send(.get, "/v1/keys", columns: KeyCommand.columns) }
  }

  struct Rotate: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Creates a new key for each purpose; all users stay signed in.",
      discussion: """
        Workers sign with the new keys within a minute. The previous keys verify tokens for another \
        day, the longest lifetime of an access token.
        """)
    @OptionGroup var options: AppOptions

    func run() throws { options.send(.post, "/v1/keys/rotate", columns: KeyCommand.columns) }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a key that has leaked, or that no master key decrypts.",
      discussion: """
        The tokens that it signed are refused within a minute, and clients refresh them. If it was \
        the current one, the next login makes another.
        """)
    @OptionGroup var options: AppOptions
    @OptionGroup var confirmation: Confirmation

    @Argument(help: "The key's id, as `dossier key list` shows it.")
    var key: String

    func run() throws {
      let question = "Delete the signing key \(key), and refuse the tokens that it signed?"
      options.send(.delete, "/v1/keys/\(segment(key))", asking: confirmation, question)
    }
  }
}

extension KeyCommand {
  struct Reencrypt: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Encrypts the secrets in the database with the first of the master keys.",
      discussion: """
        To change the master key, add the new key behind the old one on every host, and reload \
        dossierd. Then put it in front, and reload again. Then run this command. Keep the old key in \
        the list as long as credentials that it signed are valid: sessions (60 days by default), \
        devices, API keys and secrets of clients. The command prints how many are left. Without the \
        old key, these credentials are refused.

        If the master key is lost, stop dossierd, set a new key, and run this command with \
        --discard-lost. It removes signing keys, secrets of issuers and queued mail that no key \
        decrypts. All users must sign in again; their passwords stay valid. Create API keys, \
        clients, and issuers with a secret again.
        """)
    @OptionGroup var options: CommonOptions
    @OptionGroup var confirmation: Confirmation

    @Flag(help: "Removes what none of the master keys decrypts.")
    var discardLost = false

    func run() throws {
      options.settings.run(
        asJSON: options.output.isJSON, as: options.person, lacksKey: discardLost
      ) { context async throws(CommandFailure) in
        if discardLost {
          try confirmation.ask("Permanently remove what this master key does not decrypt?")
        }
        return CommandOutput(
          try await context.run { context async throws(Failure) in
            try await MasterKeys.reencrypt(discardingLost: discardLost, context)
          }
        )
      }
    }
  }
}
