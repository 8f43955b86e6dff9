import ArgumentParser
import Runtime
import HTTP

struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "The keys that sign the tokens of an app, and the master key that encrypts them.",
    subcommands: [List.self, Rotate.self, Remove.self, Reencrypt.self]
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
      abstract: "Creates a new key for each purpose; all users stay logged in.",
      discussion: """
        Workers sign with them within a minute. The keys before verify for another day, the longest \
        lifetime of an access token.
        """
    )
    @OptionGroup var options: AppOptions

    func run() throws { options.send(.post, "/v1/keys/rotate", columns: KeyCommand.columns) }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes a key that has leaked, or that no master key decrypts.",
      discussion: """
        The tokens that it signed are refused within a minute, and clients refresh them. If it was \
        the current one, the next login makes another.
        """
    )
    @OptionGroup var options: AppOptions
    @OptionGroup var consent: Consent

    @Argument(help: "Its id, as `dossier key list` shows it.")
    var key: String

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        try consent.ask("Remove the signing key \(key), and refuse the tokens that it signed?")
        return CommandOutput(
          try await context.send(.delete, "/v1/keys/\(segment(key))", to: options.app)
        )
      }
    }
  }
}

extension KeyCommand {
  struct Reencrypt: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Encrypts the secrets in the database with the first of the master keys.",
      discussion: """
        To change the master key: add the new one behind the old one wherever dossierd runs, and \
        reload; then put it in front, and reload; then run this. The old one stays in the list for \
        as long as credentials count that were issued by it: sessions (60 days, usually), devices, \
        API keys and secrets of clients, of which this prints how many are older. Without it these are \
        refused.

        When the master key is lost: stop dossierd, give it a new one, and run this with \
        --discard-lost. It removes signing keys, secrets of issuers and mail in the queue that no \
        key decrypts. All users log in again, with the passwords that they have; API keys, clients \
        and issuers with a secret have to be created again.
        """
    )
    @OptionGroup var options: CommonOptions
    @OptionGroup var consent: Consent

    @Flag(help: "Removes what none of the master keys decrypts.")
    var discardLost = false

    func run() throws {
      options.settings.run(asJSON: options.output.isJSON, lacksKey: discardLost) {
        context async throws(CommandFailure) in
        if discardLost {
          try consent.ask("Remove for good what this master key does not decrypt?")
        }
        return CommandOutput(
          try await context.run { context async throws(Failure) in
            try await MasterKeys.reseal(discardingLost: discardLost, context)
          }
        )
      }
    }
  }
}
