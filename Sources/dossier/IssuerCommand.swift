import ArgumentParser
import HTTP
import JSON
import Encoding

struct IssuerCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "issuer", abstract: "Issuers whose tokens (JWT) an app accepts for sign-in.",
    subcommands: [Add.self, List.self, Remove.self]
  )

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Adds an issuer; its tokens are accepted at once."
    )
    @OptionGroup var options: AppOptions

    @Option(help: "The iss of its tokens, which identifies their users.")
    var issuer: String

    @Option(help: "The value that the aud of its tokens must contain.")
    var audience: String

    @Option(name: .customLong("jwks-url"), help: "The URL of its public keys: https://…")
    var url: String?

    @Option(
      name: .customLong("jwks-file"), help: "A file with its public keys, a JSON Web Key Set."
    )
    var setFile: String?

    @Option(help: "A file with the secret shared with it, 32 bytes or more before the line end.")
    var secretFile: String?

    @Flag(
      name: .customLong("allow-missing-iss"),
      help: "Accepts tokens without iss as tokens of this issuer; only one issuer of an app may."
    )
    var allowsMissingIssuer = false

    @Flag(
      name: .customLong("allow-missing-aud"),
      help: "Accepts tokens without aud, including those for other services."
    )
    var allowsMissingAudience = false

    @Option(
      name: .customLong("claim"),
      help: ArgumentHelp(
        """
        The claim, or the dotted path to a member of it, from which a member of the profile is taken, \
        in place of the default. Another name is metadata of the identity: a text, a number or a \
        boolean, but no list. In a path, \\. is a dot of a name.
        """,
        valueName: "member=claim"
      )
    )
    var claims: [NamedValue] = []

    @Argument(help: "The name of the issuer here: 1 to 63 of a-z, 0-9 and -.")
    var name: String

    func validate() throws {
      guard [url, setFile, secretFile].compactMap(\.self).count == 1 else {
        throw ValidationError("Give one of --jwks-url, --jwks-file and --secret-file.")
      }
    }

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        var body = JSONObject([
          ("name", .string(name)), ("issuer", .string(issuer)), ("audience", .string(audience)),
          ("claims", .object(mapping)), ("allow_missing_iss", .bool(allowsMissingIssuer)),
          ("allow_missing_aud", .bool(allowsMissingAudience)),
        ])
        if let url { body["jwks_url"] = .string(url) }
        if let setFile { body["jwks"] = try InputFile.json(setFile) }
        if let secretFile {
          body["secret_base64"] = .string(try InputFile.secret(secretFile).paddedBase64)
        }
        let json = JSON.object(body)
        return CommandOutput(
          try await context.send(.post, "/v1/issuers", .json(json), to: options.app)
        )
      }
    }

    private var mapping: JSONObject {
      JSONObject(claims.map { ($0.name, .string($0.value)) })
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the issuers of an app.")
    @OptionGroup var options: AppOptions

    func run() throws {
      options.send(
        .get, "/v1/issuers", columns: ["name", "issuer", "audience", "keys", "jwks_url"])
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Removes an issuer; its users stay.")
    @OptionGroup var options: AppOptions
    @OptionGroup var consent: Consent

    @Argument(help: "Its name.")
    var name: String

    func run() throws {
      let question = "Remove the issuer \(name)? Its users cannot sign in by it until it is back."
      options.send(.delete, "/v1/issuers/\(segment(name))", asking: consent, question)
    }
  }
}
