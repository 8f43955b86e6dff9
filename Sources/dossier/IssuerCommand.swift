import ArgumentParser
import Dossier
import JSON
import RESTWire

struct IssuerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "issuer",
    abstract: "Whose tokens (JWT) an app takes as a way in.",
    subcommands: [Add.self, List.self, Remove.self]
  )

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds an issuer; its tokens are taken at once."
    )
    @OptionGroup var options: AppOptions

    @Option(help: "The iss of its tokens; their users are known by it.")
    var issuer: String

    @Option(help: "What must be in the aud of its tokens.")
    var audience: String

    @Option(name: .customLong("jwks-url"), help: "Where its public keys are: https://…")
    var url: String?

    @Option(
      name: .customLong("jwks-file"),
      help: "A file with its public keys, a JSON Web Key Set."
    )
    var setFile: String?

    @Option(help: "A file with the secret shared with it, 32 bytes or more before the line end.")
    var secretFile: String?

    @Flag(
      name: .customLong("allow-missing-iss"),
      help: "Takes its tokens without iss, too; of one issuer of an app."
    )
    var allowsMissingIssuer = false

    @Flag(
      name: .customLong("allow-missing-aud"),
      help: "Takes its tokens without aud, too: also those that it made for other services."
    )
    var allowsMissingAudience = false

    @Option(
      name: .customLong("claim"),
      help: ArgumentHelp(
        "Which claim a member of the profile is taken from, if not the usual one.",
        valueName: "member=claim"
      )
    )
    var claims: [String] = []

    @Argument(help: "What it is called here: 1 to 63 of a-z, 0-9 and -.")
    var name: String

    func validate() throws {
      guard [url, setFile, secretFile].compactMap(\.self).count == 1 else {
        throw ValidationError("Give one of --jwks-url, --jwks-file and --secret-file.")
      }
      guard claims.allSatisfy({ $0.split(separator: "=", maxSplits: 1).count == 2 }) else {
        throw ValidationError("--claim takes member=claim.")
      }
    }

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        let description = IssuerDescription(
          name: name,
          issuer: issuer,
          audience: audience,
          keys: try keys(),
          claims: mapping,
          allowsMissingIssuer: allowsMissingIssuer,
          allowsMissingAudience: allowsMissingAudience
        )
        let app = options.app ?? console.usualApp
        try await console.doing { context async throws(Failure) in
          try await Issuers.add(description, to: app, context)
        }
        return CommandOutput(["app": .string(app), "name": .string(name)])
      }
    }

    private var mapping: [String: String] {
      var mapping: [String: String] = [:]
      for text in claims {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        mapping[parts[0]] = parts[1]
      }
      return mapping
    }

    private func keys() throws(CommandFailure) -> IssuerDescription.Keys {
      if let url { return .url(url) }
      if let setFile { return .set(try InputFile.json(setFile)) }
      return .secret(try InputFile.secret(secretFile ?? ""))
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the issuers of an app.")
    @OptionGroup var options: AppOptions

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        try await console.list(
          of: options.app,
          columns: ["name", "issuer", "audience", "keys", "jwks_url"]
        ) {
          app,
          context async throws(Failure) in
          try await Issuers.list(of: app, context).map(\.json)
        }
      }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Removes an issuer; the users who came by it stay."
    )
    @OptionGroup var options: AppOptions

    @Argument(help: "Its name.")
    var name: String

    func run() throws {
      options.common.run { console async throws(CommandFailure) in
        let app = options.app ?? console.usualApp
        try await console.doing { context async throws(Failure) in
          try await Issuers.remove(name, from: app, context)
        }
        return CommandOutput(["app": .string(app), "name": .string(name)])
      }
    }
  }
}
