import ArgumentParser
import Dossier
import RESTWire

struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "The keys that sign the tokens of an app, and the master key that seals them.",
    subcommands: [List.self, Rotate.self, Remove.self, Reseal.self]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the keys, without secrets.")
    @OptionGroup var options: AppOptions

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        try await console.keys(of: options.app)
      }
    }
  }

  struct Rotate: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a new key for each purpose; nobody is logged out.",
      discussion: """
        Workers sign with them within a minute. The keys before verify for another day, the longest \
        that an access token can be good for.
        """
    )
    @OptionGroup var options: AppOptions

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        let app = options.app ?? console.usualApp
        try await console.doing { context async throws(Failure) in
          try await SigningKeys.rotate(of: app, context)
        }
        return try await console.keys(of: app)
      }
    }
  }
}

extension KeyCommand {
  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes a key, which somebody else has got or nobody can open.",
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
      options.common.run { console async throws(CommandFailure) in
        try consent.ask("Remove the signing key \(key), and refuse the tokens that it signed?")
        let app = options.app ?? console.usualApp
        try await console.doing { context async throws(Failure) in
          try await SigningKeys.remove(key, of: app, context)
        }
        return try await console.keys(of: app)
      }
    }
  }

  struct Reseal: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Seals the secrets in the database anew, with the first of the master keys.",
      discussion: """
        To change the master key: add the new one behind the old one wherever dossierd runs, and \
        reload; then put it in front, and reload; then run this. The old one stays in the list for \
        as long as credentials count that were issued by it: sessions (60 days, usually), devices, \
        API keys and keys of clients, of which this prints how many are older. Without it these are \
        refused.

        When the master key is lost: stop dossierd, give it a new one, and run this with \
        --discard-lost. Signing keys, secrets of issuers and mail in the queue that nobody can open \
        are removed. All users log in anew, with the passwords that they have; API keys, clients \
        and issuers with a secret have to be made again.
        """
    )
    @OptionGroup var options: CommonOptions
    @OptionGroup var consent: Consent

    @Flag(help: "Removes what none of the master keys opens.")
    var discardLost = false

    func run() throws {
      options.settings.run(options.output.output, lacksKey: discardLost) {
        console async throws(CommandFailure) in
        if discardLost {
          try consent.ask("Remove for good what this master key does not open?")
        }
        return CommandOutput(
          try await console.doing { context async throws(Failure) in
            try await MasterKeys.reseal(discardingLost: discardLost, context)
          }
        )
      }
    }
  }
}

extension OperatorConsole {
  fileprivate func keys(of app: String?) async throws(CommandFailure) -> CommandOutput {
    try await list(
      of: app,
      columns: ["id", "purpose", "algorithm", "current", "created_at", "retires_at"]
    ) { app, context async throws(Failure) in
      try await SigningKeys.list(of: app, context).map(\.json)
    }
  }
}
