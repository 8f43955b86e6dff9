import ArgumentParser
import Dossier

struct KeyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "key",
    abstract: "The keys that sign the access tokens of an app.",
    subcommands: [List.self, Rotate.self]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the keys, without secrets.")
    @OptionGroup var options: AppOptions

    func run() throws {
      options.common.run { session async throws(CommandFailure) in
        try await session.keys(of: options.app)
      }
    }
  }

  struct Rotate: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Makes a new key; nobody is logged out.",
      discussion: """
        Workers sign with it within a minute. The keys before verify for another day, the longest \
        that an access token can be good for.
        """
    )
    @OptionGroup var options: AppOptions

    func run() throws {
      options.common.run { session async throws(CommandFailure) in
        let app = options.app ?? session.usualApp
        try await session.doing { administrator async throws(Failure) in
          try await SigningKeys.rotate(of: app, by: administrator)
        }
        return try await session.keys(of: app)
      }
    }
  }
}

extension Session {
  fileprivate func keys(of app: String?) async throws(CommandFailure) -> Outcome {
    try await list(
      of: app,
      columns: ["id", "purpose", "algorithm", "current", "created_at", "retires_at"]
    ) { app, administrator async throws(Failure) in
      try await SigningKeys.list(of: app, for: administrator)
    }
  }
}
